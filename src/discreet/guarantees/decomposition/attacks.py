"""Attacks on principal components, computed from a noised matrix or drawn one by one, and whole fits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet import accounting
from discreet.audit.exact import exact, statement
from discreet.audit.registry import Case, Part, attack
from discreet.coding import VALUE_BITS
from discreet.columns import Numeric, Real
from discreet.dataset import PrivateDataset
from discreet.events import Repeat
from discreet.guarantees.fits import (
    RELATIONS,
    ROW,
    SCHEMA,
    Listener,
    add_noise,
    case,
    exact_losses,
    facts,
    fit_case,
    flatten,
    likelihood,
    whole_plan,
)
from discreet.ledger import Ledger
from discreet.measures import ZCDP, PureDP
from discreet.mechanisms import Distribution, Laplace, mechanism_for
from discreet.models.decomposition import PCA
from discreet.models.decomposition.ball import RADIUS, Ball
from discreet.models.decomposition.clipped import SHARES
from discreet.models.decomposition.directions import PrincipalDirections
from discreet.models.inputs import open_input
from discreet.noise import bingham
from discreet.step import CodedRows
from discreet.unit import ADD_REMOVE, REPLACE_ONE, Relation, Unit

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

NAMES = ("x", "y")
EPSILON = 2
#: Where the curve of a Gaussian is tested.
SEEN_DELTA = 0.02
#: Why attacks on drawn directions stay below the claim.
AXIS = (
    "the loss is largest in rare directions: the exact distribution of the angles stands beside it"
)
#: Why attacks on the products of whole clipped fits do.
CENTRE = (
    "the ball's centre is noised anew in each fit, so a row moves products another way each time: "
    "their exact distribution about a known centre stands beside"
)


def ball() -> Ball:
    """A ball around the middle of the unit square that touches its sides."""
    columns = tuple(c for c in SCHEMA.base.values() if isinstance(c, Numeric))
    return Ball(columns, np.array([0.5, 0.5]), 0.5)


def rows(first: int, second: int) -> Integers:
    """A table of this many rows at the end of the first axis, and of the second."""
    full, half = 2**VALUE_BITS, 2 ** (VALUE_BITS - 1)
    return np.array([[full, half]] * first + [[half, full]] * second, np.int64).reshape(-1, 2)


def pair(relation: Relation) -> tuple[Integers, Integers]:
    """Neighbours whose normalisers differ a lot, so that the ratio comes near its bound."""
    return (rows(2, 0), rows(1, 0)) if relation is ADD_REMOVE else (rows(3, 0), rows(2, 1))


def step(relation: Relation, epsilon: int = EPSILON) -> PrincipalDirections:
    """One direction in the plane."""
    return PrincipalDirections(NAMES, ball(), 1, Fraction(epsilon), Unit(relation))


def concentration(made: PrincipalDirections, codes: Integers) -> Floats:
    """The matrix of the quadratic form in the exponent of a direction's density."""
    return np.asarray(float(made.factor()) * ball().gram(codes))


def directions_case(relation: Relation, trials: int = 40_000) -> Case:
    """The angle of many draws of one step."""
    made = step(relation)

    def mechanism(codes: Integers, trials: int) -> Floats:
        return bingham.bingham(concentration(made, codes), trials)

    def score(found: Floats) -> Floats:
        return np.asarray(found[:, 0] ** 2)

    options = {"score": score, "reuse": False}
    title = f"directions, {relation.value}"
    return Case(title, mechanism, pair(relation), PureDP(EPSILON), trials, options, reason=AXIS)


def steps_case(relation: Relation, trials: int = 2000, epsilon: int = 6) -> Case:
    """The same through the step itself; with a larger ε, since runs are few."""
    made = step(relation, epsilon)

    def mechanism(codes: Integers, trials: int) -> Floats:
        found = [made.run(CodedRows(codes, NAMES, SCHEMA))[0] for _ in range(trials)]
        return np.array(found)

    options = {"score": lambda found: found[:, 0] ** 2, "reuse": False}
    title = f"the step, {relation.value}, ε = {epsilon}"
    return Case(title, mechanism, pair(relation), PureDP(epsilon), trials, options, reason=AXIS)


def in_the_plane(relation: Relation, more: int = 20) -> Part:
    """The stated distribution on a fine grid of angles; many rows on one axis bring it near its bound."""
    made, angles = step(relation), np.arange(2000) * np.pi / 2000
    unit_vectors = np.column_stack([np.cos(angles), np.sin(angles)])
    distributions = []
    for codes in (rows(more + 1, 0), rows(more, 0 if relation is ADD_REMOVE else 1)):
        matrix = concentration(made, codes)
        exponent = np.einsum("ni,ij,nj->n", unit_vectors, matrix, unit_vectors)
        weights = np.exp(exponent - exponent.max())
        distributions.append(weights / weights.sum())
    return exact(
        distributions[0],
        distributions[1],
        PureDP(EPSILON),
        title=f"angles in the plane, {relation.value}",
    )


def squares_case(
    relation: Relation, *, distribution: Distribution | None = None, trials: int = 20_000
) -> Case:
    """The noised squares along the axes, of rows on the surface of the ball."""
    unit, made = Unit(relation), ball()
    stated = Laplace(EPSILON).distribution(made.sensitivity(unit))
    chosen = stated if distribution is None else distribution
    first, second = rows(1, 0), (rows(0, 0) if relation is ADD_REMOVE else rows(0, 1))

    def read(codes: Any) -> Integers:
        return made.squares(codes, np.eye(2))

    options = {"score": likelihood(chosen, read(first), read(second))}
    title, losses = f"squares, {relation.value}", exact_losses(stated, read(first), read(second))
    run = add_noise(chosen, read)
    return Case(title, run, (first, second), PureDP(EPSILON), trials, options, losses)


def told_case(trials: int = 600, epsilon: int = 8) -> Case:
    """All that whole fits learn about one row, or none."""
    model = PCA(1, method="exponential", epsilon=epsilon, norm=0.5, accept_assumed=True)

    def mechanism(table: Any, trials: int) -> Floats:
        limit = model._measure().times(trials + 1)
        data = PrivateDataset(table, SCHEMA, ledger=Ledger(limit=limit, accept_assumed=True))
        source = open_input(model, data, None, None, None)
        plan = model._plan(source.facts, None)
        heard = []
        with data.prepaid(Repeat(plan.event, trials)) as door:
            for _ in range(trials):
                listener = Listener(door)
                model._remember(source.facts, source.named)
                model._train(plan, listener)  # type: ignore[arg-type]
                heard.append(np.concatenate([flatten(found) for found in listener.told]))
        return np.array(heard)

    one = {name: np.array([cell]) for name, cell in ROW.items()}
    none = {name: cells[:0] for name, cells in one.items()}
    # the row lies on the diagonal; a direction and its opposite are the same
    options = {"reuse": False, "score": lambda found: found[:, 0] * found[:, 1]}
    return Case(
        "PCA, what fits are told",
        mechanism,
        (one, none),
        PureDP(epsilon),
        trials,
        options,
        reason=AXIS,
    )


def within_the_ball() -> Part:
    """Check that a row's squares along any directions are no more than the ball allows, whatever it holds."""
    draw = np.random.default_rng(0)
    codes = draw.integers(0, 2**VALUE_BITS + 1, (4000, 2))
    inside = ball().rows(codes)
    turned = np.linalg.qr(draw.normal(size=(2, 2)))[0]
    shares = [ball().squares(codes[i : i + 1], turned) for i in range(200)]
    holds = bool(((inside**2).sum(axis=1) <= RADIUS**2).all()) and all(
        part.min() >= 0 and part.sum() <= RADIUS**2 for part in shares
    )
    return statement("rows in the ball", "Σz² <= R², squares >= 0 with sum <= R²", holds, "a row")


def one_charge() -> Part:
    """Check that a ledger without `accept_assumed` refuses the draws."""
    data = {name: np.array([cell]) for name, cell in ROW.items()}
    refused = 0
    for model in (
        PCA(1, method="exponential", schema=SCHEMA),
        PCA(1, method="exponential", schema=SCHEMA, ledger=Ledger(limit=PureDP(1))),
    ):
        try:
            model.fit(np.column_stack(list(data.values())))
        except ValueError:
            refused += 1
    return statement("a ledger that wasn't told", "refuses", refused == 2, f"{2 - refused} fits")


def find_farthest_products(unit: Unit, d: int) -> tuple[int, int]:
    """The largest L1 and squared L2 by which one person's rows move products, in a search over the sphere."""
    made = Ball((Real(0, 1),) * d, np.full(d, 0.5), 1e-6)  # all rows but the middle one are outside
    directions = [np.array(signs) for signs in product((-1, 0, 1), repeat=d)]
    middle, above = 2 ** (VALUE_BITS - 1), np.triu_indices(d)
    found = []
    for direction in directions:
        codes = np.repeat((middle + direction * (middle - 1))[None], unit.rows_per_person, axis=0)
        found.append(made.gram(codes)[above].astype(object))
    moves = found
    if unit.relation is REPLACE_ONE:
        moves = [one - other for one, other in product(found, repeat=2)]
    return max(sum(map(abs, move)) for move in moves), max(sum(move**2) for move in moves)


def products_of(codes: Any) -> Integers:
    """The products that are noised, of rows in the ball of `ball`."""
    return ball().gram(codes)[np.triu_indices(2)]


def products_case(
    relation: Relation,
    measure: PureDP | ZCDP,
    *,
    distribution: Distribution | None = None,
    trials: int = 20_000,
) -> Case:
    """The noised products of one row on the surface of the ball, against none or another."""
    moved = ball().products_sensitivity(Unit(relation))
    stated = mechanism_for(measure, moved).distribution(moved)
    chosen = stated if distribution is None else distribution
    half = 2 ** (VALUE_BITS - 1)
    diagonal = np.array([[2**VALUE_BITS, 2**VALUE_BITS]], np.int64)
    if relation is ADD_REMOVE:
        # L1 is largest on the diagonal, L2 on an axis
        first = diagonal if isinstance(measure, PureDP) else rows(1, 0)
        second = first[:0]
    elif isinstance(measure, PureDP):
        first, second = rows(1, 0), np.array([[half, 2**VALUE_BITS]], np.int64)
    else:
        first, second = rows(1, 0), rows(0, 1)
    claim = (
        measure
        if isinstance(measure, PureDP)
        else accounting.epsilon_at(stated.event(moved), SEEN_DELTA)
    )
    here, there = products_of(first), products_of(second)
    options = {"score": likelihood(chosen, here, there)}
    title = f"products, {relation.value}, {'Laplace' if isinstance(measure, PureDP) else 'Gaussian'} noise"
    losses = exact_losses(stated, here, there) if isinstance(measure, PureDP) else None
    run = add_noise(chosen, products_of)
    return Case(title, run, (first, second), claim, trials, options, losses)


@attack("pca-clipped")
def pca_clipped() -> Iterator[Part]:
    yield within_the_ball()
    for relation in RELATIONS:
        for d in (1, 2, 3):
            unit = Unit(relation, "id", 2)
            bound = Ball((Real(0, 1),) * d, np.full(d, 0.5), 1.0).products_sensitivity(unit)
            l1, l2_squared = find_farthest_products(unit, d)
            yield statement(
                f"{d} columns, {unit}",
                "products move by at most their sensitivity",
                l1 <= bound.l1 and l2_squared <= bound.l2_squared,
                f"L1 {l1 / bound.l1:.3f}, squared L2 {l2_squared / bound.l2_squared:.3f} of it",
                probe="sensitivity",
            )
        for delta in (0.0, 0.01):
            model = PCA(1, method="clipped", epsilon=2.0, delta=delta, schema=SCHEMA, unit=relation)
            yield whole_plan(model, relation)
        yield products_case(relation, PureDP(EPSILON))
        yield products_case(relation, ZCDP(1))
    mean, products = (Fraction(share, sum(SHARES)) for share in SHARES)
    fits = PCA(1, method="clipped", epsilon=5 / mean)
    told = fit_case(fits, PureDP(5), SCHEMA, ROW, told=slice(1))
    yield replace(told, title="PCA, the mean that fits are told")
    fits = PCA(1, method="clipped", epsilon=5 / products)
    told = fit_case(fits, PureDP(5), SCHEMA, ROW, told=slice(1, 2))
    yield replace(told, title="PCA, the products that fits are told", reason=CENTRE)


@attack("pca-exponential")
def pca_exponential() -> Iterator[Part]:
    yield within_the_ball()
    yield one_charge()
    for relation in RELATIONS:
        model = PCA(1, method="exponential", epsilon=2.0, schema=SCHEMA, unit=relation)
        yield whole_plan(model, relation)
        yield in_the_plane(relation)
        yield directions_case(relation)
        yield squares_case(relation)
    yield steps_case(REPLACE_ONE)
    yield told_case()
    dearer = PCA(2, method="exponential", epsilon=2.0, schema=SCHEMA).plan().event
    holds = accounting.satisfies(dearer, PureDP(2)) and not accounting.satisfies(
        dearer, PureDP("199/100")
    )
    yield statement("two components", "cost ε and no less", holds, f"{dearer!r}")


@attack("pca")
def pca() -> Iterator[Part]:
    for relation in RELATIONS:
        for delta in (0.0, 0.01):
            model = PCA(1, epsilon=2.0, delta=delta, schema=SCHEMA, unit=relation)
            query, budget = model._query(facts(relation)), model._how()
            yield whole_plan(model, relation)
            yield case(f"δ = {delta:g}", query, budget, relation)
    yield fit_case(PCA(1, epsilon=6), PureDP(6), SCHEMA, ROW)
