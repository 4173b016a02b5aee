"""What server and nodes agree on: the network, the settings, and each node's own rows."""

import torch
from torch import nn

NODES, ROUNDS, CHANCE = 3, 2, 1
LOSS = nn.CrossEntropyLoss(reduction="none")
SETTINGS = {"sampling_rate": CHANCE, "rounds": ROUNDS}
SITES = {"max_grad_norm": 0.3, "block": 8}


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))


def table(part):
    x = torch.randn(20 + part, 4, generator=torch.Generator().manual_seed(part))
    return x, (x[:, 0] + x[:, 1] > 0).long()


def descend(model, data):
    """A training without chance, so that a simulation gives the same weights."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    LOSS(model(data[0]), data[1]).mean().backward()
    optimizer.step()


def plain(model):
    return torch.optim.SGD(model.parameters(), lr=0.5)
