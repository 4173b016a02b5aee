"""What can be wrong in a line that a guarantee rests on: patterns on the syntax tree, and what they become.

An operator looks at a node and yields what stands there now and what a weakened copy has in its place. It
knows the toolkit's nouns (samplers, sensitivities, units, events, measures) and no place in the code, so a
new mechanism is found without being listed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from copy import deepcopy

__all__ = ["LATER", "OPERATORS", "Operator", "Owner", "Swap"]

Swap = tuple[ast.AST, ast.AST | None]  # what stands there, what comes in its place (None: nothing)
Owner = tuple[str, str]  # the module, and the name of the function in it
Operator = Callable[[ast.AST, Owner], Iterator[Swap]]

#: Samplers, and which argument is their scale, their rate, or the chance of a lie.
SCALED = {
    "discrete_laplace": 0,
    "discrete_gaussian": 0,
    "fill_laplace": 0,
    "geometric": 0,
    "norm_gamma": 2,
    "rounded_gaussian": 0,
}
RATED = {"bernoulli_exp": 0, "bingham": 0, "select": 1}
COINS = {"bernoulli": 0, "respond": 2}
UNIFORM = ("permutation", "random_words", "uniform_below")
WORDS = ("words", "bits")

#: Packages that see rows, or what is noised of them.
ROWS = ("coding", "deep", "engines", "mechanisms", "models", "noise", "publish", "queries")
MEASURES = ("PureDP", "ApproxDP", "ZCDP", "GaussianDP", "Renyi")
#: Events by what their first argument is: a scale, of which more costs less, or an epsilon.
SCALES = (
    "DiscreteLaplace",
    "Gaussian",
    "DiscreteGaussian",
    "KeyThreshold",
    "PermuteAndFlip",
    "NoisyMax",
    "SparseVector",
    "LaplaceObjective",
    "GaussianObjective",
)
EPSILONS = ("Exponential", "RandomizedResponse", "PartialResponse", "Staircase")
REFUSALS = ("NoBound", "Refusal", "_refusal", "refusal", "no_noise_refused", "BudgetExceeded")
#: Checks that keep something out. Those of public names, types and shapes are not among them: they only word
#: an error that would come anyway.
CHECKS = (
    "_check_settings",
    "_check_finite",
    "_check_inner",
    "_check_own_ledger",
    "_check_regulariser",
    "_check_scale",
    "check_token",
    "check_admissible",
    "check_again",
    "check_measure",
    "check_norm_gamma",
    "check_totals",
)
#: Modules that are gates: every refusal there keeps something out.
GATES = (
    "discreet.dataset",
    "discreet.ledger.units",
    "discreet.ledger.filters",
    "discreet.ledger.own",
    "discreet.ledger.payers",
    "discreet.ledger.plans",
    "discreet.ledger.splitting",
    "discreet.ledger.terms",
    "discreet.selection",
)
#: Where prices are computed as plain numbers.
PRICES = (
    "discreet.accounting.curves",
    "discreet.accounting.thresholds",
    "discreet.accounting.objective",
    "discreet.measures.gaussian",
)


def name_of(node: ast.AST) -> str:
    """The last name of what is called: ``noise.select`` is ``select``."""
    if isinstance(node, ast.Call):
        return name_of(node.func)
    return getattr(node, "attr", None) or getattr(node, "id", "")


def _is_named(node: ast.Call, name: str) -> bool:
    """Whether a call is written with one of these owners, or with none."""
    function = node.func
    if isinstance(function, ast.Name):
        return function.id == name and name != "select"
    owners = ("noise", "bingham")
    return isinstance(function, ast.Attribute) and ast.unparse(function) in {
        f"{owner}.{name}" for owner in owners
    }


def _sampler(node: ast.AST, *kinds: object) -> str:
    """The name of the sampler that is called here, if it is of one of the kinds."""
    if not isinstance(node, ast.Call):
        return ""
    found = name_of(node)
    wanted = any(found in kind for kind in kinds)  # type: ignore[operator]
    return found if wanted and _is_named(node, found) else ""


def _distribution(node: ast.AST) -> bool:
    """Whether ``….distribution.run(totals)`` is called here."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "run"
        and "distribution" in ast.unparse(node.func.value)
    )


def _stream(node: ast.AST, owner: Owner, *names: str) -> bool:
    """Whether random words are taken from the stream here."""
    return (
        owner[0].startswith("discreet.noise.")
        and isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in names
        and ("stream" in ast.unparse(node.func.value) or "entropy" in ast.unparse(node.func.value))
    )


def _parse(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _with(form: str, **parts: ast.AST) -> ast.expr:
    """An expression in which names stand for parts."""

    class Fill(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            return deepcopy(parts[node.id]) if node.id in parts else node

    return Fill().visit(_parse(form))


def _argument(node: ast.Call, at: int) -> ast.expr | None:
    if at < len(node.args):
        return node.args[at]
    return None


def _with_argument(node: ast.Call, at: int, form: str) -> ast.expr:
    """A call with one argument put through a form in which ``x`` stands for it."""
    new = deepcopy(node)
    new.args[at] = _with(form, x=node.args[at])
    return new


def halve_noise(node: ast.AST, owner: Owner) -> Iterator[Swap]:
    """Half the scale, twice the rate, half the chance of a lie, half of what was added."""
    if found := _sampler(node, SCALED, RATED, COINS):
        assert isinstance(node, ast.Call)
        at = {**SCALED, **RATED, **COINS}[found]
        if _argument(node, at) is not None:
            yield node, _with_argument(node, at, "2 * x" if found in RATED else "x / 2")
    elif _distribution(node):
        assert isinstance(node, ast.Call)
        yield node, _with("_mutant.halve(run, x)", run=node.func, x=node.args[0])


def drop_noise(node: ast.AST, owner: Owner) -> Iterator[Swap]:
    """No noise, the best candidate, no lie, the order as it was, random words that are 0."""
    found = _sampler(node, SCALED, RATED, COINS, UNIFORM)
    if found == "fill_laplace":
        assert isinstance(node, ast.Call)
        yield node, _with("x.fill(0)", x=node.args[1])
    elif found in SCALED or found in ("uniform_below", "random_words"):
        yield node, _with("0 * x", x=node)
    elif found in RATED:
        assert isinstance(node, ast.Call)
        yield node, _with_argument(node, RATED[found], "2**20 * x")
    elif found in COINS:
        assert isinstance(node, ast.Call)
        yield node, _with_argument(node, COINS[found], "0 * x")
    elif found == "permutation":
        assert isinstance(node, ast.Call)
        yield node, _with("_mutant.in_order(x)", x=node.args[0])
    elif _distribution(node):
        assert isinstance(node, ast.Call)
        yield node, deepcopy(node.args[0])
    elif _stream(node, owner, *WORDS):
        yield node, _with("0 * x", x=node)
    elif _stream(node, owner, "fill"):
        assert isinstance(node, ast.Call)
        yield node, _with("x.fill(0)", x=node.args[0])


def reuse_draw(node: ast.AST, owner: Owner) -> Iterator[Swap]:
    """What was drawn the first time here is taken again."""
    if _distribution(node):
        assert isinstance(node, ast.Call)
        yield node, _with("_mutant.again_added(run, x)", run=node.func, x=node.args[0])
    elif _sampler(node, SCALED, RATED, COINS, UNIFORM) == "fill_laplace":
        assert isinstance(node, ast.Call)
        yield node, _with("_mutant.again_filled(x, lambda: call)", x=node.args[1], call=node)
    elif _sampler(node, SCALED, RATED, COINS, UNIFORM) or _stream(node, owner, *WORDS):
        yield node, _with("_mutant.again(lambda: call)", call=node)
    elif _stream(node, owner, "fill"):
        assert isinstance(node, ast.Call)
        yield node, _with("_mutant.again_filled(x, lambda: call)", x=node.args[0], call=node)


def drop_clip(node: ast.AST, owner: Owner) -> Iterator[Swap]:
    """What was held within bounds is taken as it is."""
    if not isinstance(node, ast.Call) or owner[0].split(".")[1] not in ROWS:
        return
    if name_of(node) in ("clip", "minimum", "maximum") and isinstance(node.func, ast.Attribute):
        is_numpy = ast.unparse(node.func.value) == "np"
        kept = node.args[0] if is_numpy else node.func.value
        out = [keyword.value for keyword in node.keywords if keyword.arg == "out"]
        same = not out or ast.unparse(out[0]) == ast.unparse(kept)
        if isinstance(kept, ast.Starred):
            return
        yield (
            node,
            deepcopy(kept) if same else _with("_mutant.copy_to(o, x)", o=out[0], x=kept),
        )
    elif name_of(node) == "clip_rows":
        yield node, deepcopy(node.args[0])
    elif name_of(node) == "clip_factors":  # as if every gradient were short
        yield node, _with_argument(node, 0, "0 * x")


def off_by_one(node: ast.AST, owner: Owner) -> Iterator[Swap]:
    """A sensitivity that is one too small."""
    if isinstance(node, ast.Call) and name_of(node) in ("Sensitivity", "Extent"):
        for argument in node.args:
            if not isinstance(argument, ast.Starred) and ast.unparse(argument) != "0":
                yield argument, _with("x - 1", x=argument)
    elif isinstance(node, ast.Return) and _is_distance(owner) and _is_number(node.value):
        yield node.value, _with("x - 1", x=node.value)


def _is_distance(owner: Owner) -> bool:
    """Whether a function's result is how far something moves."""
    last = owner[1].rpartition(".")[2]
    chooses = last == "spread" and owner[0].startswith("discreet.queries")
    return "sensitivity" in last or last in ("_reach", "reach") or chooses


def _is_number(node: ast.AST | None) -> bool:
    """Whether an expression is written as a number, not as a whole `Sensitivity`."""
    numbers = isinstance(node, ast.BinOp | ast.Name) or (
        isinstance(node, ast.Call) and name_of(node) in ("max", "min", "sum", "ceil")
    )
    calls = [] if node is None else [part for part in ast.walk(node) if isinstance(part, ast.Call)]
    return numbers and not any(name_of(call) in ("Sensitivity", "Extent") for call in calls)


def forget_max_rows(node: ast.AST, owner: Owner) -> Iterator[Swap]:
    """One person has one row."""
    match node:
        case ast.Attribute(attr="rows_per_person" | "max_rows", ctx=ast.Load()):
            yield node, ast.Constant(1)


def forget_replacement(node: ast.AST, owner: Owner) -> Iterator[Swap]:
    """A row that is replaced counts as one that is added."""
    match node:
        case ast.Compare(
            ops=[ast.Is() | ast.IsNot() as how],
            comparators=[ast.Name(id="REPLACE_ONE" | "ADD_REMOVE" as relation)],
        ):
            is_added = (relation == "ADD_REMOVE") == isinstance(how, ast.Is)
            yield node, ast.Constant(is_added)


def count_own_rows(node: ast.AST, owner: Owner) -> Iterator[Swap]:
    """Each part of a question counts the rows that suit it, not those that count in all."""
    if isinstance(node, ast.Call) and name_of(node) in ("replace", "within"):
        new = deepcopy(node)
        new.keywords = [keyword for keyword in node.keywords if keyword.arg != "known"]
        if len(new.keywords) < len(node.keywords):
            yield node, new


def charge_less(node: ast.AST, owner: Owner) -> Iterator[Swap]:
    """An event that says less than what runs: fewer rounds, a part left out, more noise than is drawn."""
    if not isinstance(node, ast.Call) or not node.args:
        return
    called = name_of(node)
    builds = owner[0].split(".")[1] in (
        "dataset",
        "mechanisms",
        "models",
        "publish",
        "queries",
        "selection",
    )
    if called == "times" and isinstance(node.func, ast.Attribute):
        yield node, _with_argument(node, 0, "1")
    elif called == "Repeat" and len(node.args) == 2:
        yield node, _with_argument(node, 1, "max(x - 1, 0)")
    elif called == "Compose" and len(node.args) > 1:
        new = deepcopy(node)
        new.args = new.args[:-1]
        yield node, new
    elif called == "Compose" and isinstance(node.args[0], ast.Starred):
        yield node, _with("f(*tuple(x)[:-1])", f=node.func, x=node.args[0].value)
    elif called == "Parallel" and len(node.args) == 2:
        yield node, _with_argument(node, 1, "1")
    elif called == "OneOf" and builds:
        yield node, _with_argument(node, 0, "tuple(x)[:1]")
    elif called == "RepeatAndSelect":
        yield node, deepcopy(node.args[0])
    elif builds and called in SCALES and _is_event(node, owner):
        yield node, _with_argument(node, 0, "2 * x")
    elif builds and called in EPSILONS and _is_event(node, owner):
        yield node, _with_argument(node, 0, "x / 2")


def _is_event(node: ast.Call, owner: Owner) -> bool:
    """Whether ``Gaussian(…)`` is the event, not the mechanism of that name."""
    written = ast.unparse(node.func)
    return written.startswith("events.") or written in ("Response", "PartialResponse")


def halve_cost(node: ast.AST, owner: Owner) -> Iterator[Swap]:
    """A price that is half of what was proved."""
    priced = owner[0].startswith(("discreet.accounting.", "discreet.measures.convert"))
    if priced and isinstance(node, ast.Call) and name_of(node) in MEASURES and node.args:
        for argument in node.args:
            if name_of(node) != "Renyi" and not _is_constant(argument):
                yield argument, _with("x / 2", x=argument)
    elif owner[0] in PRICES and isinstance(node, ast.Return) and not _is_constant(node.value):
        assert node.value is not None
        yield node.value, _with("x / 2", x=node.value)


def _is_constant(node: ast.AST | None) -> bool:
    """Whether an expression is no number that was computed."""
    names = [part.id for part in ast.walk(node or ast.Pass()) if isinstance(part, ast.Name)]
    return isinstance(node, ast.Tuple) or not set(names) - {"Fraction", "math"}


def skip_check(node: ast.AST, owner: Owner) -> Iterator[Swap]:
    """What should be refused is let through."""
    match node:
        case ast.Expr(value=ast.Call() as call) if name_of(call) in CHECKS or (
            name_of(call) == "check" and owner[0] in GATES
        ):
            yield node, None
        case ast.If(body=[ast.Raise(exc=error)]) if error is not None:
            if name_of(error) in REFUSALS or owner[0] in GATES:
                yield node.test, ast.Constant(False)


def read_first(node: ast.AST, owner: Owner) -> Iterator[Swap]:
    """The charge comes after what it pays for."""
    match node:
        case (
            ast.Expr(value=ast.Call(func=ast.Attribute(attr="_charge")))
            | ast.Assign(value=ast.Call(func=ast.Attribute(attr="_charge")))
        ) if owner[0] == "discreet.dataset":
            yield node, LATER


#: Stands for a statement that is carried out at the end of its function.
LATER = ast.Constant("later")


OPERATORS: dict[str, Operator] = {
    "halve-noise": halve_noise,
    "drop-noise": drop_noise,
    "reuse-draw": reuse_draw,
    "drop-clip": drop_clip,
    "off-by-one": off_by_one,
    "forget-max-rows": forget_max_rows,
    "forget-replacement": forget_replacement,
    "count-own-rows": count_own_rows,
    "charge-less": charge_less,
    "halve-cost": halve_cost,
    "skip-check": skip_check,
    "read-first": read_first,
}
