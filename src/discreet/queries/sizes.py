"""How large sums can become, from public facts alone: they must stay within 64 bits in every engine."""

from __future__ import annotations

import math

from discreet.coding import Code, CodedQuery, Linear

__all__ = ["MAX_ROWS", "MAX_SUMMAND", "MAX_TOTAL", "check_totals", "largest_summand"]

#: No sum is larger: what noise adds, below 2^60, leaves it within int64.
MAX_TOTAL = 2**62
#: No table has more rows; where their number is private, this is what stands for it.
MAX_ROWS = 2**40
#: No row adds more to a sum: so 2^32 rows can always be added up.
MAX_SUMMAND = 2**30


def largest_summand(query: CodedQuery) -> int:
    """The largest size of what one row that counts can add to a sum."""
    sizes: dict[int, int] = {}  # by identity: queries of many columns share their codes

    def size_of(code: Code) -> int:
        if id(code) not in sizes:
            sizes[id(code)] = max(map(abs, _range(code, query)))
        return sizes[id(code)]

    largest = 0
    for term in query.terms:
        size = abs(term.weight) * math.prod(map(size_of, term.codes))
        if size > max(largest, MAX_SUMMAND) and len(term.codes) == 2:
            size = min(size, abs(term.weight) * _largest_product(*term.codes, query))
        largest = max(largest, size)
    return largest


def _range(code: Code, query: CodedQuery) -> tuple[int, int]:
    """The least and the largest code of a row that counts."""
    if isinstance(code, Linear):
        ends = [code.scale * end + code.offset for end in _range(code.source, query)]
        return min(ends), max(ends)
    return (0 if code in query.known else code.low), code.high


def _largest_product(one: Code, other: Code, query: CodedQuery) -> int:
    """The largest product of two codes; exact where both are linear in one and the same code."""
    first, second = _as_linear(one), _as_linear(other)
    if first.source != second.source:
        return math.prod(max(map(abs, _range(code, query))) for code in (first, second))
    low, high = _range(first.source, query)
    # (a·k + b)(c·k + d) is largest in size at an end of the range, or beside its vertex
    twice = 2 * first.scale * second.scale
    mixed = first.scale * second.offset + second.scale * first.offset
    vertex = -mixed // twice if twice else low
    places = (min(max(k, low), high) for k in (low, high, vertex, vertex + 1))
    return max(
        abs((first.scale * k + first.offset) * (second.scale * k + second.offset)) for k in places
    )


def _as_linear(code: Code) -> Linear:
    return code if isinstance(code, Linear) else Linear(code, 1, 0)


def check_totals(query: CodedQuery, rows: int | None) -> None:
    """Raise if a sum could leave 64 bits; `rows` is the public number of rows, where it is public.

    Where the number is private, tables of 2^62/summand rows are taken: at least 2^32, which no table has.
    """
    largest = largest_summand(query)
    if largest > MAX_SUMMAND:
        raise ValueError(
            f"one row could add {largest:.3g} to a sum of this query, which is more than the 2^30 that "
            "always fit into 64 bits: use a coarser grid (bits=...), or smaller values of a score."
        )
    if rows is not None and (rows > MAX_ROWS or rows * largest > MAX_TOTAL):
        most = min(MAX_ROWS, MAX_TOTAL // max(1, largest))
        raise ValueError(
            f"rows: this query adds up at most {most} rows, so that its sums fit into 64 bits, but "
            f"rows={rows} was declared. Ask for parts of the rows, or on a coarser grid."
        )
