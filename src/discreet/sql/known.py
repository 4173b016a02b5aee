"""Every construct that a statement may have, with its parts: whatever else stands in a tree is refused.

Readers of single constructs refuse what they meet. This rule holds for what no reader looked at.
"""

from __future__ import annotations

from typing import Any

from discreet.sql.reading import check_parts, kind_of, refuse

__all__ = ["KNOWN", "check_tree"]

_ONE = ("this",)
_TWO = ("this", "expression")
#: The parts of each construct that are read, by the name of its class in sqlglot.
KNOWN: dict[str, tuple[str, ...]] = {
    "Select": (
        "expressions", "from", "from_", "where", "group", "having", "order", "limit", "offset",
    ),
    "From": _ONE, "Table": ("this", "alias"), "TableAlias": _ONE, "Where": _ONE, "Having": _ONE,
    "Group": ("expressions",), "Order": ("expressions",), "Ordered": ("this", "desc"),
    "Limit": ("expression",), "Offset": ("expression",), "Alias": ("this", "alias"),
    "Column": ("this", "table"), "Identifier": ("this", "quoted"), "Star": (), "Var": _ONE,
    "Literal": ("this", "is_string"), "Boolean": _ONE, "Null": (), "Neg": _ONE, "Paren": _ONE,
    "Cast": ("this", "to"), "TryCast": ("this", "to"), "DataType": _ONE,
    "Date": _ONE, "TsOrDsToDate": _ONE, "ToDate": _ONE, "StrToDate": _ONE,
    "Not": _ONE, "And": _TWO, "Or": _TWO, "Is": _TWO, "In": ("this", "expressions"),
    "Between": ("this", "low", "high"),
    **dict.fromkeys(("EQ", "NEQ", "GT", "GTE", "LT", "LTE"), _TWO),
    "Case": ("ifs", "default"), "If": ("this", "true"),
    **dict.fromkeys(("Year", "Quarter", "Month", "DayOfWeekIso"), _ONE),
    "Extract": _TWO, "Anonymous": ("this", "expressions"),
    "Count": _ONE, "Sum": _ONE, "Avg": _ONE, "Median": _ONE, "Distinct": ("expressions",),
    **dict.fromkeys(("Variance", "VariancePop", "Stddev", "StddevPop", "StddevSamp"), _ONE),
    "Quantile": ("this", "quantile"), "PercentileCont": _ONE, "PercentileDisc": _ONE,
    "WithinGroup": _TWO, "Filter": _TWO,
}  # fmt: skip
#: What some databases say beside a table, and others read as another name of it.
_WORDS = frozenset({"FINAL", "SAMPLE", "TABLESAMPLE", "PREWHERE", "ONLY", "LATERAL"})


def check_tree(tree: Any) -> None:
    """Raise if a construct, or a part of one, stands anywhere in a tree that no reader understands."""
    pending = [tree]  # trees may be deeper than calls can be
    while pending:
        node = pending.pop()
        kind = kind_of(node)
        if kind not in KNOWN:
            raise refuse(node, "leave it out")
        check_parts(node, *KNOWN[kind])
        if kind in ("Table", "TableAlias") and _is_word(node.this):
            raise refuse(node, "leave it out, or quote it if it is a name")
        pending += reversed(_list_below(node))


def _list_below(tree: Any) -> list[Any]:
    """The constructs of which one is made."""
    values = [each if isinstance(each, list) else [each] for each in tree.args.values()]
    items = [item for each in values for item in each]
    return [item for item in items if hasattr(item, "args") and hasattr(item, "sql")]


def _is_word(name: Any) -> bool:
    """Whether an unquoted name is a word with a meaning of its own elsewhere."""
    return not name.args.get("quoted") and name.name.upper() in _WORDS
