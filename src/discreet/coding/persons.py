"""Which rows of a person count, found in numpy: the reference for all engines."""

from __future__ import annotations

import numpy as np

from discreet.coding.cells import Array, Integers, Mask, persons_of
from discreet.coding.chunks import Chunk
from discreet.coding.questions import ORDER_PRIME, PersonLimit


def keep_rows(rows: Chunk, keep: PersonLimit, counted: Mask) -> Mask:
    """Of each person's rows that count, the first `most` in the public order; none without id."""
    order, persons = person_order(rows, keep, counted)
    if keep.once:
        first = ~_equals_last(rows, keep, order, persons)
        order, persons = order[first], persons[first]
    mask = np.zeros(len(counted), np.bool_)
    mask[order[ranks_within(persons) < keep.max_rows]] = True
    return mask


def _equals_last(rows: Chunk, keep: PersonLimit, order: Integers, persons: Integers) -> Mask:
    """Whether a row equals the one before it in person and in all codes of the order."""
    same = np.zeros(len(order), np.bool_)
    same[1:] = persons[1:] == persons[:-1]
    for code in keep.order:
        values = rows.code(code)[order]
        same[1:] &= values[1:] == values[:-1]
    return same


def person_order(
    rows: Chunk, keep: PersonLimit, counted: Mask, last: Integers | None = None
) -> tuple[Integers, Integers]:
    """The rows that count, person by person and in the public order, and their persons.

    Rows that are equal in all codes are ordered by `last`, if given.
    """
    persons = number_persons(rows.column(keep.id_column))
    at = np.flatnonzero(counted & (persons >= 0))
    mix = np.zeros(len(at), np.int64)
    for code, mixer in zip(keep.order, keep.mixers, strict=True):
        mix += (rows.code(code)[at] + 1) * mixer % ORDER_PRIME
    persons = persons[at]
    key = persons * ORDER_PRIME + mix % ORDER_PRIME
    order = np.argsort(key, kind="stable")
    same = np.diff(key[order]) == 0
    tied = np.zeros(len(at), np.bool_)
    tied[1:] |= same
    tied[:-1] |= same
    if same.any():
        again = order[tied]
        codes = [rows.code(code)[at[again]] for code in dict.fromkeys((*keep.order, *keep.ties))]
        if last is not None:
            codes.append(last[at[again]])
        order[tied] = again[np.lexsort([*reversed(codes), key[again]])]
    return at[order], persons[order]


def ranks_within(persons: Integers) -> Integers:
    """0, 1, ... along each run of equal persons."""
    begins = np.ones(len(persons), np.bool_)
    begins[1:] = persons[1:] != persons[:-1]
    starts = np.flatnonzero(begins)
    return np.arange(len(persons)) - starts[np.cumsum(begins) - 1] if len(persons) else persons


def count_texts(
    texts: list[str], codes: Integers, persons: Integers, maximum: int, groups: int
) -> dict[str, int]:
    """How often each text occurs.

    Rows are in each person's order: of each person, the first `maximum` rows count, and of these the rows
    in the first `groups` different texts.
    """
    kept = ranks_within(persons) < maximum
    persons, codes = persons[kept], codes[kept]
    pairs = persons * max(1, len(texts)) + codes
    _, first, pair_of = np.unique(pairs, return_index=True, return_inverse=True)
    new = np.zeros(len(pairs), np.int64)
    new[first] = 1
    before = np.cumsum(new)
    begins = np.flatnonzero(ranks_within(persons) == 0)
    offset = np.repeat(before[begins] - 1, np.diff(np.append(begins, len(persons))))
    number = (before - offset)[first]  # 1, 2, ... for the different texts of a person
    codes = codes[number[pair_of] <= groups]
    counts = np.bincount(codes, minlength=len(texts))
    if len(counts) and not counts.all():
        texts, counts = [texts[at] for at in np.flatnonzero(counts)], counts[counts > 0]
    return dict(zip(texts, counts.tolist(), strict=True))


def number_persons(ids: Array) -> Integers:
    """Numbers 0, 1, ... for equal ids; -1 where there is none."""
    if ids.dtype.kind in "OU":
        return persons_of(ids.astype(object))
    with np.errstate(all="ignore"):
        persons = np.unique(ids, return_inverse=True)[1].astype(np.int64)
        if ids.dtype.kind in "mM":
            return np.where(np.isnat(ids), -1, persons)
        return np.where(np.isfinite(ids), persons, -1) if ids.dtype.kind in "fc" else persons
