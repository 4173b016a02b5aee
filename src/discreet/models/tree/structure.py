"""The public part of trees: where columns may be cut, and how deep to go."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.coding import VALUE_BITS, Code
from discreet.coding.chunks import Chunk
from discreet.columns import Base, Categorical, Numeric, Split, Tree
from discreet.models.rows import Rows
from discreet.rational import rational
from discreet.schema import Schema

Integers = npt.NDArray[np.int64]
Splits = tuple[Split | None, ...]

#: The assumed number of rows where nothing is known about it.
DEFAULT_ROWS = 10_000
#: The most cut points of a column, and of all columns together.
MAX_CUTS, MAX_CANDIDATES = 31, 1024
#: ε·rows below which splits of classes find little: fewer are bought, by a coarser score.
FEW_ROWS = 250
#: ε·rows below which a forest has two trees.
VERY_FEW_ROWS = 100
#: With more columns than that it has four there, of so many levels at least: two see too few of them. AUC on
#: training rows of WDBC was higher by 0.1, with fewer columns it was lower or the same (heart, Pima, …).
MANY_COLUMNS, TREES_OF_MANY, LEVELS_OF_MANY = 16, 4, 5
#: Averaged evidence is multiplied by no more, or by the root of what trees don't see.
MAX_STRETCH = 2.0
#: The most trees of a forest for classes by default, and from how many rows on it is half of that: a fit
#: takes half the time then, while 32 trees were no better on bank, elsewhere by 0.006 of the area.
MAX_TREES, MANY_ROWS = 32, 2000
#: The budget of each level's choices, relative to the level above: deeper nodes have fewer rows.
GROWTH = Fraction(3, 2)
#: The share of a level's budget that buys what is expected in its nodes, for the score "deviation".
EXPECTED = Fraction(1, 6)
#: Geometric cuts halve the distance to the crowded end this many times at most.
HALVINGS = 8


def crowding(column: Numeric) -> float:
    """How likely values are to crowd at the end that is nearer to zero, from the bounds alone.

    0 for bounds like -1 and 1, almost 1 for 0 and 100000: amounts that may be large are mostly small.
    """
    small, large = sorted((abs(float(column.lower)), abs(float(column.upper))))
    return 1.0 - small / large if large else 0.0


def _cuts_at(column: Numeric, codes: Iterable[int]) -> tuple[float, ...]:
    """Cut points between the bounds, each once: values at or above one have its code or a larger one."""
    lower, upper = float(column.lower), float(column.upper)
    if column.is_exact(VALUE_BITS):
        cuts = {lower + code - 0.5 for code in codes}
    else:
        cuts = {column.decode(code, VALUE_BITS) for code in codes}
    return tuple(sorted(cut for cut in cuts if lower < cut < upper))


def _from_crowd(column: Numeric, share: float, low: int, high: int) -> int:
    """The code at a share of the way from the crowded end, within low..high."""
    length = max(1, math.ceil((high - low) * share))
    if abs(float(column.lower)) <= abs(float(column.upper)):
        return low + length
    return high - length + 1


@lru_cache(maxsize=1024)
def cut_points(column: Numeric, maximum: int = MAX_CUTS) -> tuple[float, ...]:
    """Public cut points: about half of them evenly spaced, the others halving towards a crowded end.

    Between bounds that are a few doubles apart there are fewer.
    """
    # a real value equal to the upper bound has a cell of its own: no cut there
    last = column.steps(VALUE_BITS) - (0 if column.is_exact(VALUE_BITS) else 1)
    if last < 1:
        return ()
    if last <= maximum:
        return _cuts_at(column, range(1, last + 1))
    halvings = min(HALVINGS, maximum // 2) if crowding(column) > 0.5 else 0
    even = maximum - halvings
    codes = {max(1, round(last * k / (even + 1))) for k in range(1, even + 1)}
    codes |= {_from_crowd(column, 2.0**-k, 0, last) for k in range(3, 3 + halvings)}
    return _cuts_at(column, codes)


def candidates(columns: Mapping[str, Base]) -> dict[str, tuple[float, ...]]:
    """The cut points of all columns that can be split; none for a category, which is split by value."""
    most = max(2, min(MAX_CUTS, MAX_CANDIDATES // max(1, len(columns))))
    found: dict[str, tuple[float, ...]] = {}
    for name, column in columns.items():
        if isinstance(column, Categorical):
            if len(column.values) > 1:
                found[name] = ()
        elif isinstance(column, Numeric) and (points := cut_points(column, most)):
            found[name] = points
        elif not isinstance(column, Numeric):
            raise ValueError(
                f"column {name!r} must be dp.Real, dp.Integer or dp.Categorical, not {column!r}."
            )
    return found


def coverage(columns: int, depth: int) -> float:
    """The share of the columns' information that a random tree is expected to see, between 0 and 1.

    A column that was cut m times on the way to a leaf is taken to show m/(m + 1) of what it knows; m is
    binomial (depth, 1/columns), so 1 - E[1/(m + 1)] = 1 - (1 - (1 - p)^(depth + 1))/((depth + 1)·p).
    """
    p = 1 / max(1, columns)
    return 1.0 - (1.0 - (1.0 - p) ** (depth + 1)) / ((depth + 1) * p)


def stretch(epsilon: Any, rows: int, trees: int, depth: int, columns: int) -> float:
    """What averaged evidence is multiplied by: a tree sees but a part of what the columns tell."""
    if not depth:
        return 1.0
    unseen = min(trees, 1.0 / coverage(columns, depth))
    if strength(epsilon, rows) < VERY_FEW_ROWS:
        most = float(TREES_OF_MANY)  # little but noise, and each tree's own: evidence adds up
    else:
        most = MAX_STRETCH  # columns tell much the same, and forests would be too sure
    return min(unseen, max(most, math.sqrt(unseen)))


def strength(epsilon: Any, rows: int) -> float:
    """ε·rows, from 2: what decides how much structure a table can bear. Above ε = 100, rows decide."""
    budget = 100.0 if epsilon == math.inf else float(rational(epsilon, "epsilon"))
    return max(2.0, min(budget, 100.0) * rows)


def shown_strength(epsilon: Any, rows: int) -> float:
    """ε·rows, above ε = 1 with √ε: less noise leaves as few rows in a leaf as before."""
    product = strength(epsilon, rows)
    return product / math.sqrt(max(1.0, product / rows))


def class_depth(epsilon: Any, rows: int, shares: bool = True) -> int:
    """Levels of a tree of classes whose splits are bought: log2(ε·rows) less 6, rounded down, from 1 to 8.

    Each level halves the rows of a node and takes a share of the budget, while nodes of few rows may share
    a split (`smoothing.split_blocks`); where they can't, only two thirds of that logarithm, less 3. ε is
    that of `shown_strength`.
    """
    strength = math.log2(shown_strength(epsilon, rows))
    return min(8, max(1, math.floor(strength) - 6 if shares else math.floor(2 * strength / 3 - 3)))


@lru_cache(maxsize=256)
def budget_shares(
    depth: int, first: Fraction, leaves: Fraction, expects: bool
) -> tuple[Fraction, ...]:
    """The parts of a budget in the order in which they are spent: `first`, each level's, the leaves'.

    With `expects` a level's part is two: for what is expected in its nodes, and for their choices.
    """
    weights = [GROWTH**level for level in range(depth)]
    rest, within = 1 - first, [EXPECTED, 1 - EXPECTED] if expects else [Fraction(1)]
    shares = [first] if first else []
    for weight in weights:
        level = rest * (1 - leaves) * weight / sum(weights)
        shares += [level * part for part in within]
    return (*shares, rest * leaves)


def mean_depth(epsilon: Any, rows: int) -> int:
    """Levels of a tree of means whose splits are bought: a third of log2(ε·rows), rounded up, from 1 to 8."""
    return min(8, max(1, math.ceil(math.log2(strength(epsilon, rows)) / 3)))


def forest_size(epsilon: Any, rows: int, columns: int) -> tuple[int, int]:
    """How many random trees for classes, and their levels.

    Trees: 2 where ε·rows is below 100 (4 with more than 16 columns), then a power of two from 8 to 32, or to
    16 from 2000 rows on, with ε·rows at least 50 times as large if that is more than 8. Each tree's leaves
    have that many times the noise of a single tree, and the class shares of all rows √trees times; but one
    random tree may see little.
    Levels: log2(ε·rows) - 2, rounded down, from 2 to 8, since a node has the noise of all leaves below it;
    above ε = 1 with √ε, since less noise leaves as few rows in a leaf as before; a level more where two or
    four trees are the default (four: at least 5), so that they see as many columns.
    """
    product, shown = strength(epsilon, rows), shown_strength(epsilon, rows)
    levels = math.floor(math.log2(shown)) - 2
    if product < VERY_FEW_ROWS and columns > MANY_COLUMNS:
        return TREES_OF_MANY, max(LEVELS_OF_MANY, levels + 1)
    if product < VERY_FEW_ROWS:
        return 2, max(2, levels + 1)
    most = MAX_TREES if rows < MANY_ROWS else MAX_TREES // 2
    trees = min(most, 2 ** max(3, math.floor(math.log2(product / 50))))
    return int(trees), min(8, max(2, levels))


def regression_forest(epsilon: Any, rows: int) -> tuple[int, int]:
    """How many random trees have means in their leaves, and their levels.

    Trees: a power of two up to 32, with ε·rows at least 100 times as large; levels log2(ε·rows) - 6, rounded
    down, from 2 to 8. All means are relative to that of all rows, which is the sum of all leaves and has
    the noise of all of them: √(trees·leaves) of it must be small beside the rows.
    """
    product = strength(epsilon, rows)
    trees = 2 ** min(5, max(0, math.floor(math.log2(product / 100))))
    return int(trees), min(8, max(2, math.floor(math.log2(product)) - 6))


def tree_of_trees(part: str, trees: list[Splits]) -> Splits:
    """One tree whose first levels split the rows into parts, with a tree of its own below each part."""
    above = len(trees).bit_length() - 1
    depth = len(trees[0]).bit_length()
    splits: list[Any] = []
    for level in range(above):
        size = len(trees) >> level
        for node in range(2**level):
            right = range(node * size + size // 2, (node + 1) * size)
            splits.append((part, tuple(right)))
    for level in range(depth):
        for tree in trees:
            splits += tree[2**level - 1 : 2 ** (level + 1) - 1]
    return tuple(splits)


def leaves_of(trees: list[Splits], rows: Rows) -> Integers:
    """The leaf of each row in each tree: shape (rows, trees)."""
    schema = Schema(dict(zip(rows.names, rows.columns, strict=True)))
    codes = rows.codes()
    known: dict[Code, Integers] = {
        schema.code(name): codes[:, place] for place, name in enumerate(rows.names)
    }
    chunk = Chunk({"": np.zeros(rows.length)}, known)
    result = np.zeros((rows.length, len(trees)), np.int64)
    for index, splits in enumerate(trees):
        if any(splits):
            result[:, index] = chunk.code(Tree(splits).code("leaf", schema))
    return result


def free_name(name: str, schema: Schema) -> str:
    """A name that no column of the schema has."""
    while name in schema:
        name += "'"
    return name
