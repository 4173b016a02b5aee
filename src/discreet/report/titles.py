"""What was asked, in plain words: headings for people who don't write Python."""

from __future__ import annotations

import ast
from typing import Any

__all__ = ["title_of"]

#: Longer questions keep the form in which they were asked.
MAX_LENGTH = 5_000
_KINDS = {
    "Count": "Number of rows",
    "CountPeople": "Number of persons",
    "Sum": "Sum of {}",
    "SumEstimate": "Sum of {}",
    "Mean": "Mean of {}",
    "MeanEstimate": "Mean of {}",
    "Variance": "Variance of {}",
    "Moments": "Count, mean and variance of {}",
    "Bounds": "Bounds of {}",
}
#: Options that say how noise is made, not what is asked.
_SILENT = ("mechanism", "bits")
_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Eq: "is", ast.NotEq: "is not", ast.Lt: "<", ast.LtE: "≤", ast.Gt: ">", ast.GtE: "≥",
}  # fmt: skip


def title_of(asked: object) -> str:
    """A question in plain words, from the form in which it is printed; that form where there are none.

    Examples
    --------
    >>> import discreet as dp
    >>> title_of(dp.Mean("hours", by=["sex", "band"], where="age >= 18"))
    'Mean of hours by sex and band, where age ≥ 18'
    """
    text = repr(asked)
    if len(text) > MAX_LENGTH:
        return text
    try:
        call: Any = ast.parse(text, mode="eval").body
        return _read_call(call)
    except (
        SyntaxError,
        ValueError,
        LookupError,
        AttributeError,
        TypeError,
        RecursionError,
        MemoryError,
    ):
        return text


def _read_call(call: Any) -> str:
    names = [str(ast.literal_eval(node)) for node in call.args]
    options = {pair.arg: pair.value for pair in call.keywords if pair.arg not in _SILENT}
    kind = call.func.id
    if kind in ("Quantile", "QuantileEstimate"):
        found = f"{_name_ranks(options.pop('q'))} of {_join(names)}"
    else:
        found = _KINDS[kind].format(_join(names))
    if "by" in options:
        by = ast.literal_eval(options.pop("by"))
        found += f" by {_join([by] if isinstance(by, str) else list(by))}"
    if "max_rows" in options:
        limit = int(ast.literal_eval(options.pop("max_rows")))
        found += f", {limit} row{'s' if limit > 1 else ''} of each person"
    if "where" in options:
        condition = ast.parse(str(ast.literal_eval(options.pop("where"))), mode="eval").body
        found += f", where {_say(condition)}"
    if options:
        raise ValueError("something else was asked.")
    return found


def _join(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _name_ranks(node: ast.expr) -> str:
    if isinstance(node, ast.List):
        return f"Quantiles {_join([ast.unparse(one).replace(' ', '') for one in node.elts])}"
    rank = ast.unparse(node).replace(" ", "")
    return "Median" if rank == "1/2" else f"Quantile {rank}"


def _say(node: Any, is_inner: bool = False) -> str:
    """A condition in words."""
    if isinstance(node, ast.BoolOp):
        word = " and " if isinstance(node.op, ast.And) else " or "
        parts: list[Any] = list(node.values)
        if isinstance(node.op, ast.And):  # that a compared cell isn't missing goes without saying
            tested = {
                _name(one.left)
                for one in parts
                if isinstance(one, ast.Compare) and not _is_presence(one)
            }
            parts = [one for one in parts if not (_is_presence(one) and _name(one.left) in tested)]
        told = word.join(_say(one, len(parts) > 1) for one in parts)
        return f"({told})" if is_inner and len(parts) > 1 else told
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        operand: Any = node.operand
        if _is_presence(operand):
            return f"{_name(operand.left)} is missing"
        return f"not ({_say(operand)})"
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        raise ValueError("a condition of another kind.")
    if _is_presence(node):
        return f"{_name(node.left)} is not missing"
    value = ast.literal_eval(node.comparators[0])
    if isinstance(node.ops[0], ast.In):
        return f"{_name(node.left)} is {' or '.join(map(str, value))}"
    if isinstance(node.ops[0], ast.NotIn):
        return f"{_name(node.left)} is not {' or '.join(map(str, value))}"
    return f"{_name(node.left)} {_SIGNS[type(node.ops[0])]} {value}"


def _is_presence(node: Any) -> bool:
    """Whether a test is that a cell isn't missing."""
    return (
        isinstance(node, ast.Compare)
        and isinstance(node.ops[0], ast.IsNot)
        and isinstance(node.comparators[0], ast.Constant)
        and node.comparators[0].value is None
    )


def _name(node: Any) -> str:
    """A column's name, or what ``col('a name')`` names."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "col":
        return str(ast.literal_eval(node.args[0]))
    raise ValueError("no name of a column.")
