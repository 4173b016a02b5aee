"""Attacks on wrong processes: `discreet.guarantees.bugs.broken_process`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from discreet.audit.probes import WatchedRows, order_of_charge_and_read
from discreet.audit.registry import Case, Part, attack
from discreet.guarantees.bugs import broken_process as process_bugs


@attack("check-first-spend-last")
def check_first_spend_last() -> Iterator[Part]:
    def door(rows: WatchedRows, pay: Callable[[], None]) -> Any:
        shop = process_bugs.CheckFirstSpendLast(rows, lambda: True, pay)
        return shop.count_above("age", 18, epsilon=1.0)

    yield order_of_charge_and_read(door, {"age": [41, 17, 30]}, title="a count of adults")


@attack("labels-from-the-data")
def labels_from_the_data() -> Iterator[Part]:
    run = partial(process_bugs.counts_of_seen_labels, epsilon=1.0)
    rows = ("asthma", "asthma", "cough")
    yield Case("with and without one rare label", run, (rows, (*rows, "leprosy")), 1.0, 2_000)


@attack("fails-on-nan")
def fails_on_nan() -> Iterator[Part]:
    run = partial(process_bugs.sum_that_checks_its_rows, epsilon=1.0)
    yield Case("one row is NaN", run, ((1.0, 0.0), (1.0, math.nan)), 1.0, 2_000)


@attack("message-quotes-a-row")
def message_quotes_a_row() -> Iterator[Part]:
    run = partial(process_bugs.message_of_a_row, lower=0.0)
    yield Case(
        "one row below the bound", run, ((1.0, 3.0), (1.0, -3.0)), 0.0, 2_000, {"reuse": False}
    )
