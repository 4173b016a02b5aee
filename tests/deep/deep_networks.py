"""Networks of every kind, small, each with random inputs."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

ROWS, PLACES, WIDTH = 6, 5, 4


def squared(outputs, targets):
    return (outputs.flatten(1) ** 2).sum(dim=1) * (1 + targets)


class Recurrent(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.first = options.get("batch_first", False)
        self.inner = kind(WIDTH, 3, num_layers=2, **options)

    def forward(self, x):
        outputs, ends = self.inner(x if self.first else x.transpose(0, 1))
        end = ends[0] if isinstance(ends, tuple) else ends
        outputs = outputs if self.first else outputs.transpose(0, 1)
        return torch.cat([outputs.flatten(1), end.transpose(0, 1).flatten(1)], dim=1)


class Attention(nn.Module):
    def __init__(self, kind="self", mask=None, **options):
        super().__init__()
        self.kind, self.mask = kind, mask
        self.first = options.get("batch_first", False)
        self.inner = nn.MultiheadAttention(WIDTH, 2, **options)
        self.other = nn.Linear(WIDTH, self.inner.kdim)
        self.third = nn.Linear(WIDTH, self.inner.vdim)

    def forward(self, x):
        key = {"self": x}.get(self.kind)
        key = self.other(x) if key is None else key
        value = self.third(x) if self.kind == "three" else key
        given = [each if self.first else each.transpose(0, 1) for each in (x, key, value)]
        if self.kind == "self":
            given = [given[0]] * 3
        elif self.kind == "two":
            given[2] = given[1]
        hidden = torch.zeros(len(x), PLACES, dtype=torch.bool)
        hidden[:, -1] = True
        causal = torch.triu(torch.ones(PLACES, PLACES, dtype=torch.bool), 1) if self.mask else None
        out, weights = self.inner(
            *given, key_padding_mask=hidden, attn_mask=causal, need_weights=self.mask is None
        )
        out = out if self.first else out.transpose(0, 1)
        return out.flatten(1) if weights is None else torch.cat([out, weights], dim=2).flatten(1)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(7, WIDTH, padding_idx=2)
        self.inner = nn.Linear(WIDTH, WIDTH)

    def forward(self, words):
        return F.linear(torch.tanh(self.inner(self.table(words))), self.table.weight)


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return self.inner(torch.relu_(self.inner(x)))


class Raw(nn.Module):
    """A parameter beside the layers, a scalar, and a weight that is computed."""

    def __init__(self):
        super().__init__()
        self.start = nn.Parameter(torch.randn(PLACES, WIDTH))
        self.scale = nn.Parameter(torch.tensor(0.7))
        self.inner = nn.utils.parametrizations.weight_norm(nn.Linear(WIDTH, 3))

    def forward(self, x):
        return self.inner(x + self.start) * self.scale


class Sliced(nn.Module):
    """Two layers by hand from rows of one weight."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(6, WIDTH))

    def forward(self, x):
        return F.linear(F.linear(x, self.weight[:4]), self.weight)


def sequence():
    return torch.randn(ROWS, PLACES, WIDTH)


def words():
    return torch.randint(0, 7, (ROWS, PLACES))


def image(*extent):
    return lambda: torch.randn(ROWS, WIDTH, *extent)


NETWORKS = {
    "linear": (lambda: nn.Linear(WIDTH, 3), lambda: torch.randn(ROWS, WIDTH)),
    "linear on sequences": (lambda: nn.Linear(WIDTH, 30), sequence),
    "linear without bias": (lambda: nn.Linear(WIDTH, 30, bias=False), sequence),
    "conv1d": (lambda: nn.Conv1d(WIDTH, 6, 3, padding="same", dilation=2), image(9)),
    "conv2d": (lambda: nn.Conv2d(WIDTH, 6, (3, 2), stride=2, padding=(1, 0), groups=2), image(7, 8)),
    "conv2d, even and same": (lambda: nn.Conv2d(WIDTH, 3, 4, padding="same", bias=False), image(5, 6)),
    "conv2d, circular": (lambda: nn.Conv2d(WIDTH, 3, 3, padding=1, padding_mode="circular"), image(5, 6)),
    "conv3d": (lambda: nn.Conv3d(WIDTH, 3, 2, stride=(1, 2, 1)), image(3, 4, 3)),
    "embedding": (lambda: nn.Embedding(7, 3, padding_idx=-1), words),
    "layer norm": (lambda: nn.LayerNorm(WIDTH), sequence),
    "layer norm of two dimensions": (lambda: nn.LayerNorm((PLACES, WIDTH)), sequence),
    "group norm": (lambda: nn.GroupNorm(2, WIDTH), image(5, 6)),
    "lstm": (lambda: Recurrent(nn.LSTM), sequence),
    "lstm, both directions": (lambda: Recurrent(nn.LSTM, bidirectional=True, batch_first=True), sequence),
    "gru": (lambda: Recurrent(nn.GRU, batch_first=True), sequence),
    "gru without bias": (lambda: Recurrent(nn.GRU, bias=False), sequence),
    "rnn": (lambda: Recurrent(nn.RNN), sequence),
    "rnn with relu": (lambda: Recurrent(nn.RNN, nonlinearity="relu"), sequence),
    "attention": (lambda: Attention(), sequence),
    "attention, masked": (lambda: Attention(mask=True, batch_first=True), sequence),
    "attention to another": (lambda: Attention("two", batch_first=True), sequence),
    "attention of three": (lambda: Attention("three"), sequence),
    "attention, apart": (lambda: Attention("three", kdim=6, vdim=8), sequence),
    "transformer": (
        lambda: nn.TransformerEncoderLayer(WIDTH, 2, 8, dropout=0.0, batch_first=True), sequence
    ),
    "decoder": (lambda: Decoder(), sequence),
    "tied": (Tied, words),
    "twice": (Twice, lambda: torch.randn(ROWS, WIDTH)),
    "frozen first layer": (lambda: frozen(), lambda: torch.randn(ROWS, WIDTH)),
}  # fmt: skip
UNKNOWN = {
    "raw": (Raw, sequence),
    "sliced": (Sliced, lambda: torch.randn(ROWS, WIDTH)),
    "places first": (lambda: PlacesFirst(), sequence),
}


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.TransformerDecoderLayer(WIDTH, 2, 8, dropout=0.0, batch_first=True)

    def forward(self, x):
        return self.inner(x, x.flip(1))


class PlacesFirst(nn.Module):
    """The batch in the second dimension inside."""

    def __init__(self):
        super().__init__()
        self.inner = nn.TransformerEncoderLayer(WIDTH, 2, 8, dropout=0.0)

    def forward(self, x):
        return self.inner(x.transpose(0, 1)).transpose(0, 1)


def frozen():
    model = nn.Sequential(nn.Linear(WIDTH, 5), nn.Tanh(), nn.Linear(5, 2))
    model[0].requires_grad_(False)
    return model
