"""What a row makes a network or a data set raise tells nothing, and concerns that row's person alone."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from test_dpsgd import network, public, table, trainer

import discreet as dp
from discreet.deep import PrivateTensors


class Picky(torch.nn.Module):
    """A network that raises, in a way of its own, for a row that it doesn't like."""

    def __init__(self, error: type[Exception]) -> None:
        super().__init__()
        self.inner, self.error = network(), error

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if (x > 1e6).any():
            raise self.error("a secret value")
        return self.inner(x)


@pytest.mark.parametrize("error", [TypeError, AssertionError, KeyError, ZeroDivisionError])
def test_whatever_a_network_raises_tells_nothing_and_leaves_that_person_out(error):
    x, y = table(40)
    plain, odd = Picky(error), Picky(error)
    odd.load_state_dict(plain.state_dict())
    public(plain, x[:39], y[:39])
    x = x.clone()
    x[39] = 1e7
    public(odd, x, y)
    for a, b in zip(plain.parameters(), odd.parameters(), strict=True):
        assert torch.equal(a, b)


class Broken:
    """A map-style data set in which one row can't be read, and others have shapes of their own."""

    def __init__(self, rows: list[Any]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, at: int) -> Any:
        if at == 3:
            raise OSError("patient 3 of ward 7 can't be read")
        return self._rows[at]


def test_rows_that_can_not_be_read_count_as_zeros_and_no_error_tells_of_them():
    x, y = table(30)
    rows = [(x[i], y[i]) for i in range(30)]
    rows[4], rows[5], rows[6] = (x[4][:2], y[4]), "text", (x[6], "text")
    x, y = x.clone(), y.clone()
    x[3:7], y[3:7] = 0, 0
    one, other = network(), network()
    public(one, x, y)
    data = PrivateTensors(
        Broken(rows), unit=dp.PUBLIC, example=(torch.zeros(4), 0), public_size=300
    )
    trainer(other, epsilon=math.inf, sampling_rate=1, steps=1).fit(data)
    for a, b in zip(one.parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b)
