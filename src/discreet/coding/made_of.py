"""What codes and conditions are made of: other codes, cells, columns of the table."""

from __future__ import annotations

from discreet.coding.branches import NodeTests
from discreet.coding.codes import (
    AllOf,
    AnyOf,
    Between,
    Branches,
    Calendar,
    Category,
    Closest,
    Code,
    Condition,
    Cuts,
    Ladder,
    Leaf,
    LeftOver,
    Linear,
    Lookup,
    NoneOf,
    OneOf,
    Part,
    Total,
)

__all__ = ["base_columns", "count_trees", "leaves", "partial_codes", "sources"]


def sources(code: Code | Condition) -> tuple[Code | Condition, ...]:
    """What a code or condition is directly made of."""
    match code:
        case Linear(source=source) | Cuts(source=source) | Calendar(source=source):
            return (source,)
        case Closest(sources=sources) | Lookup(sources=sources) | Part(sources=sources):
            return sources
        case Total(sources=sources):
            return sources
        case LeftOver(part=part, whole=whole, own=own):
            return (part, whole, own)
        case Branches(tests=NodeTests() as nodes):
            return nodes.codes  # each once, in order of first use
        case Branches(tests=tests):
            return tuple(test for test in tests if test is not None)
        case Between(code=inner) | OneOf(code=inner):
            return (inner,)
        case AllOf(parts=parts) | AnyOf(parts=parts):
            return parts
        case NoneOf(part=inner):
            return (inner,)
        case _:
            return ()


def count_trees(code: Code | Condition) -> int:
    """How many trees a code is made of: one, or several such as the bin of a forest's score."""
    if isinstance(code, Branches):
        return 1
    return sum(map(count_trees, sources(code)))


def leaves(*codes: Code | Condition) -> tuple[Leaf, ...]:
    """The codes of cells that these codes are made of, each once, in order of first use."""
    found: list[Leaf] = []
    for code in codes:
        found += [code] if isinstance(code, Leaf) else leaves(*sources(code))
    return tuple(dict.fromkeys(found))


def base_columns(*codes: Code | Condition) -> tuple[str, ...]:
    """The columns of the table that these codes read, each once, in order of first use."""
    return tuple(dict.fromkeys(leaf.column for leaf in leaves(*codes)))


def partial_codes(*codes: Code | Condition) -> tuple[Category | Ladder, ...]:
    """The codes that some cells have none of (-1): rows in which one is missing are left out.

    Leaves of a tree and parts of the rows need none: a row without a value passes no test, and is
    mixed as any other.
    """
    found: list[Category | Ladder] = []
    for code in codes:
        if isinstance(code, Category | Ladder):
            found += [code] if isinstance(code, Ladder) or code.otherwise < 0 else []
        elif not isinstance(code, Branches | Part):
            found += partial_codes(*sources(code))
    return tuple(dict.fromkeys(found))
