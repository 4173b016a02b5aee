"""Which rows of a person count, found in numpy: the reference for all engines."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from discreet.coding.cells import Array, Integers, Mask, persons_of
from discreet.coding.chunks import Chunk
from discreet.coding.questions import ORDER_PRIME, PersonLimit

#: Rows that are mixed or sorted at a time: what is computed of them stays in the processor's cache.
BLOCK = 1 << 15
#: Bits of a row's place in a block, and of its place in the public order.
_PLACE_BITS, _MIX_BITS = 16, 31
#: Spreads ids over blocks: 2^64 over the golden ratio, odd.
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


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
    ids, named = read_ids(rows.column(keep.id_column))
    at = np.flatnonzero(counted & named)
    mix = mix_codes(rows, keep)[at]
    order, persons = sort_by_person(ids[at], mix)
    same = np.zeros(len(at), np.bool_)  # as the row before
    same[1:] = (persons[1:] == persons[:-1]) & (np.diff(mix[order]) == 0)
    tied = same.copy()
    tied[:-1] |= same[1:]
    if same.any():
        again = order[tied]
        rest = rows.take(at[again])
        codes = [rest.code(code) for code in dict.fromkeys((*keep.order, *keep.ties))]
        if last is not None:
            codes.append(last[at[again]])
        order[tied] = again[np.lexsort([*reversed(codes), np.cumsum(~same)[tied]])]
    return at[order], persons


def mix_codes(rows: Chunk, keep: PersonLimit) -> Integers:
    """The place of each row in the public order, before ties: a mix of its codes, part by part."""
    mix = np.zeros(rows.length, np.int64)
    for start in range(0, rows.length, BLOCK):
        part = slice(start, start + BLOCK)
        some = rows.take(part)
        for code, mixer in zip(keep.order, keep.mixers, strict=True):
            mix[part] += (some.code(code) + 1) * mixer % ORDER_PRIME
        mix[part] %= ORDER_PRIME
    return mix


def sort_by_person(ids: Array, mix: Integers) -> tuple[Integers, Integers]:
    """Sort rows by id and then by `mix`: their order, and the number of the person of each in that order.

    Sorting all rows at once would miss the cache at each comparison, so rows are first spread over blocks,
    all rows of a person in one. Blocks follow each other in no order that means anything.
    """
    order = np.empty(len(ids), np.int64)
    persons = np.empty(len(ids), np.int64)
    first = 0
    for start, block in _blocks(ids):
        stop = start + len(block)
        within, numbers = _sort_block(ids[block], mix[block])
        order[start:stop] = block[within]
        persons[start:stop] = numbers + first
        first += int(numbers[-1]) + 1
    return order, persons


def _sort_block(ids: Array, mix: Integers) -> tuple[Integers, Integers]:
    """`sort_by_person` for one block; numbers of persons start at 0."""
    small = len(ids) <= 1 << _PLACE_BITS
    order = np.argsort(ids) if small else np.lexsort((mix, ids))
    found = ids[order]
    new = np.zeros(len(ids), np.int64)
    new[1:] = found[1:] != found[:-1]
    persons = np.cumsum(new)
    if not small:
        return order, persons
    # person, mix and place share one word: words are sorted faster than places of words
    words = (persons << (_PLACE_BITS + _MIX_BITS)) | (mix[order] << _PLACE_BITS) | order
    words.sort()
    return words & ((1 << _PLACE_BITS) - 1), persons


def _blocks(ids: Array) -> Iterator[tuple[int, Integers]]:
    """Rows in blocks of at most about 3/2 `BLOCK` rows, equal ids in one; where each block starts."""
    bits = min(16, (2 * len(ids) // (3 * BLOCK)).bit_length())
    if bits == 0 or ids.dtype.kind not in "biufmM":
        if len(ids):
            yield 0, np.arange(len(ids))
        return
    places = np.empty(len(ids), np.uint8 if bits <= 8 else np.uint16)
    for start in range(0, len(ids), BLOCK):
        words = _words_of(ids[start : start + BLOCK]) * _SPREAD
        places[start : start + BLOCK] = words >> np.uint64(64 - bits)
    order = np.argsort(places, kind="stable")  # so few bits are sorted by counting
    start = 0
    for end in np.cumsum(np.bincount(places, minlength=1 << bits)).tolist():
        if end > start:
            yield start, order[start:end]
        start = end


def _words_of(ids: Array) -> npt.NDArray[np.uint64]:
    """A word for each id, the same for equal ones."""
    if ids.dtype.kind == "f":
        return (ids.astype(np.float64) + 0.0).view(np.uint64)  # -0 is 0
    return ids.astype(np.uint64 if ids.dtype.kind == "u" else np.int64).view(np.uint64)


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


def read_ids(ids: Array) -> tuple[Array, Mask]:
    """Ids that can be sorted, equal where persons are the same; and which cells are ids at all."""
    if ids.dtype.kind in "OU":
        persons = persons_of(ids.astype(object))
        return persons, persons >= 0
    if ids.dtype.kind in "mM":
        return ids, ~np.isnat(ids)
    if ids.dtype.kind in "fc":
        with np.errstate(all="ignore"):
            return ids, np.isfinite(ids)
    return ids, np.ones(len(ids), np.bool_)


def number_persons(ids: Array) -> Integers:
    """Numbers 0, 1, ... for equal ids; -1 where there is none."""
    found, named = read_ids(ids)
    with np.errstate(all="ignore"):
        persons = np.unique(found, return_inverse=True)[1].astype(np.int64)
    return np.where(named, persons, -1)
