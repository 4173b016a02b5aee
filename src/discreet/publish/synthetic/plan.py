"""What a synthesizer asks, in which order and with which shares of the budget: public facts alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import Any, final

from discreet.columns import MAX_CELLS
from discreet.ledger.caps import rho_cap
from discreet.measures import ZCDP, ApproxDP, Measure, PureDP
from discreet.models.facts import Facts, Question
from discreet.publish.synthetic.junction import Clique
from discreet.publish.synthetic.layout import DEFAULT_BINS, Layout
from discreet.queries import CellCounts, FarMarginals, Joint
from discreet.rational import as_integer

#: Shares of ρ (or ε): counts of each column; choosing the tree, measuring it; choosing and measuring each
#: marginal of a round.
FIRST, CHOOSE_TREE, MEASURE_TREE, CHOOSE, MEASURE = 40, 10, 70, 1, 9
#: Rounds after the tree measure so many marginals together, unless something else is asked for: none below
#: this ρ, where they don't pay.
DEFAULT_MARGINALS, MIN_RHO = 12, Fraction(1, 200)
#: How many marginals a round measures; fewer with a large budget: what one of them tells of others then
#: shows in the next round, and is not measured twice.
PER_ROUND, FEW_PER_ROUND = 6, 3
#: Cells of a column of numbers, unless something else is asked for, with a large budget: so that ages and
#: hours keep their whole numbers.
MORE_BINS = 128
#: From this ρ on a budget is large.
LARGE_RHO = Fraction(1, 10)

WORKLOADS = ("all-2way", "all-3way", "joint")


@final
@dataclass(frozen=True, eq=False)
class Stage:
    """Marginals to choose, if any, and marginals to measure, with what each may cost.

    The queries are stand-ins of the same price for those that earlier answers decide.
    """

    choose: Question | None
    measure: Question
    count: int


@final
@dataclass(frozen=True, eq=False)
class Recipe:
    """All that a fit does.

    Attributes
    ----------
    layout : Layout
    target : int or None
        The place of the column with which every pair is measured.
    first : Question
        The counts of each column's cells, by target if there is one; of all combinations of cells with
        ``workload="joint"``.
    stages : tuple of Stage
        The tree, then further rounds.
    candidates : mapping of clique to weight
        The marginals from which rounds choose.
    """

    layout: Layout
    target: int | None
    first: Question
    stages: tuple[Stage, ...]
    candidates: Mapping[Clique, int]

    def questions(self) -> list[Question]:
        """All that is asked, in order."""
        found = [self.first]
        for stage in self.stages:
            found += [stage.measure] if stage.choose is None else [stage.choose, stage.measure]
        return found

    @property
    def free(self) -> tuple[int, ...]:
        """The columns that the tree joins: all but the target."""
        return tuple(p for p in range(len(self.layout.axes)) if p != self.target)

    def tree_candidates(self) -> tuple[Clique, ...]:
        """The pairs of which a tree is made, then single columns, for when no pair is small enough."""
        return (*combinations(self.free, 2), *((place,) for place in self.free))

    def round_candidates(self) -> dict[Clique, Clique]:
        """The marginals from which rounds draw, each with the one that is measured: with the target.

        Single columns and the workload; without the target where there would be too many cells to count.
        """
        found = {}
        for clique in (*((place,) for place in self.free), *self.candidates):
            wide = self.extend(clique)
            cells = math.prod(self.layout.sizes[place] for place in wide)
            found[clique] = wide if cells <= MAX_CELLS else clique
        return found

    def extend(self, clique: Clique) -> Clique:
        """A marginal together with the target."""
        more = () if self.target is None else (self.target,)
        return tuple(sorted({*clique, *more}))


def read_workload(workload: Any, names: Sequence[str], target: int | None) -> dict[Clique, int]:
    """The marginals that matter, as places of columns, each with its whole weight."""
    free = [place for place in range(len(names)) if place != target]
    if isinstance(workload, str):
        if workload not in WORKLOADS:
            raise ValueError(
                f"workload must be one of {', '.join(map(repr, WORKLOADS))}, or names of columns, as in "
                f"[('age', 'income'), ('sex', 'income')], got {workload!r}."
            )
        width = 3 if workload == "all-3way" and len(free) > 2 else 2
        return dict.fromkeys(combinations(free, width), 1)
    if not isinstance(workload, Iterable) or any(
        isinstance(columns, str) or not isinstance(columns, Iterable) for columns in workload
    ):
        raise TypeError(
            "workload must be a list of tuples of names, as in [('age', 'income')], or a mapping of such "
            "tuples to weights."
        )
    weights = workload if isinstance(workload, Mapping) else dict.fromkeys(map(tuple, workload), 1)
    found: dict[Clique, int] = {}
    for columns, weight in weights.items():
        unknown = [name for name in columns if name not in names]
        if unknown:
            raise ValueError(f"workload: {unknown[0]!r} is not a column of the table.")
        clique = tuple(sorted({names.index(name) for name in columns} - {target}))
        if clique:
            found[clique] = max(found.get(clique, 0), as_integer(weight, "workload", minimum=1))
    if not found:
        raise ValueError("workload must name one or more columns beside the target.")
    return found


@lru_cache(maxsize=256)
def find_rho(target: ApproxDP) -> Fraction:
    """The largest ρ, from below, such that whatever is ρ-zCDP is (ε, δ)-DP.

    Gaussian noise alone would bear more; draws of the exponential mechanism are bounded by their ρ only.
    """
    rho = rho_cap(Fraction(target.epsilon), target.delta)
    if rho == 0:
        raise ValueError("delta is too small for this epsilon: use a larger one, or delta=0.")
    return rho


def split_budget(measure: Measure, shares: Sequence[int]) -> tuple[Measure, ...]:
    """What each question may cost: shares of ε, or of ρ."""
    total = sum(shares)
    assert isinstance(measure, PureDP | ApproxDP)
    if isinstance(measure.epsilon, float):
        return (PureDP(math.inf),) * len(shares)
    if isinstance(measure, PureDP):
        return tuple(PureDP(measure.epsilon * share / total) for share in shares)
    rho = find_rho(measure)
    return tuple(ZCDP(rho * share / total) for share in shares)


def marginals_per_round(measure: Measure) -> int:
    """How many marginals a round measures: from public facts alone."""
    return FEW_PER_ROUND if _size_of(measure) >= LARGE_RHO else PER_ROUND


def default_rounds(measure: Measure) -> int:
    """How many rounds follow the tree: from public facts alone."""
    if _size_of(measure) < MIN_RHO:
        return 0
    return DEFAULT_MARGINALS // marginals_per_round(measure)


def default_bins(measure: Measure) -> int:
    """Into how many cells a column of numbers is cut: more where noise leaves them apart."""
    return MORE_BINS if _size_of(measure) >= LARGE_RHO else DEFAULT_BINS


def _size_of(measure: Measure) -> Fraction | float:
    """What a budget is worth, as a ρ."""
    assert isinstance(measure, PureDP | ApproxDP)
    if isinstance(measure.epsilon, float):
        return math.inf
    return measure.epsilon**2 / 2 if isinstance(measure, PureDP) else find_rho(measure)


def make_recipe(
    facts: Facts, layout: Layout, measure: Measure, workload: Any, rounds: int | None
) -> Recipe:
    """Plan and price all questions of a fit."""
    names, axes = list(layout.columns), layout.axes
    target = None if facts.target is None else names.index(facts.target)
    if isinstance(workload, str) and workload == "joint":
        whole = facts.ask(CellCounts(*axes), measure)
        return Recipe(layout, target, whole, (), {})
    if len(axes) == 1:
        return Recipe(layout, target, facts.ask(CellCounts(*axes), measure), (), {})
    shape = Recipe(layout, target, None, (), {})  # type: ignore[arg-type]
    free = shape.free
    singles = Joint(*(CellCounts(*(axes[c] for c in shape.extend((p,)))) for p in free))
    candidates = read_workload(workload, names, target)
    tree = max(1, len(free) - 1)
    count = default_rounds(measure) if rounds is None else as_integer(rounds, "rounds")
    count = count if len(free) > 2 else 0  # the tree has it all
    has_choice = len(free) > 2
    shares = [FIRST, *([CHOOSE_TREE] if has_choice else []), MEASURE_TREE]
    per_round = marginals_per_round(measure)
    shares += [CHOOSE * per_round, MEASURE * per_round] * count
    budgets = list(split_budget(measure, shares))
    first = facts.ask(singles, budgets.pop(0))
    shape = Recipe(layout, target, first, (), candidates)

    def stage(marginals: Mapping[Clique, int], draws: int, chosen: bool) -> Stage:
        far = None
        if chosen:
            query = FarMarginals(
                [[axes[c] for c in clique] for clique in marginals],
                weights=list(marginals.values()),
                draws=draws,
                rule=_any_rule,
            )
            far = facts.ask(query, budgets.pop(0))
        stand_in = Joint(*([CellCounts(axes[0])] * draws))
        return Stage(far, facts.ask(stand_in, budgets.pop(0)), draws)

    stages = [stage({c: candidates.get(c, 1) for c in shape.tree_candidates()}, tree, has_choice)]
    weights = {c: candidates.get(c, 1) for c in shape.round_candidates()}
    stages += [stage(weights, per_round, True) for _ in range(count)]
    return Recipe(layout, target, first, tuple(stages), candidates)


def _any_rule(chosen: tuple[int, ...]) -> Any:
    raise RuntimeError("a stand-in of a plan is never asked.")
