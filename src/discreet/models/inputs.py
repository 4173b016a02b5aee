"""From what a person gives to ``fit`` to rows behind a door, and to public facts.

No row is read, unless the rows were declared public.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from discreet.coding.plain import package_of
from discreet.columns import Base, Categorical, Real
from discreet.dataset import PrivateDataset
from discreet.ledger.own import OwnLedger
from discreet.matching import ColumnMismatch
from discreet.models.facts import Facts, ledger_kind
from discreet.models.features import choose_features, see_target
from discreet.models.kinds import refuse_text
from discreet.models.reading import (
    choose_unit,
    column_array,
    column_names,
    kind_of,
    pair,
    read_cells,
    read_matrix,
    target_array,
    target_name,
)
from discreet.rational import as_integer
from discreet.schema import Schema
from discreet.unit import Unit

if TYPE_CHECKING:
    from discreet.models.base import PrivateEstimator

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Opened:
    """Rows behind a door, the public facts, and whether X came with names."""

    data: PrivateDataset
    facts: Facts
    named: bool
    own_ledger: bool


def open_input(
    estimator: PrivateEstimator,
    X: Any,
    y: Any,
    groups: Any,
    target: str | None,
    features: Sequence[str] | None = None,
) -> Opened:
    """The data set that a fit reads, and what is public about it."""
    found = _open_linear(estimator, X, y, groups, target)
    chosen = _choose(estimator, found.facts, features)
    facts = _on_scale(estimator, see_target(chosen, found.facts.schema))
    if facts is found.facts:
        return found
    return replace(found, data=found.data.with_schema(facts.schema), facts=facts)


def _choose(estimator: PrivateEstimator, facts: Facts, features: Sequence[str] | None) -> Facts:
    """The facts with the features that were named; a word, if derived columns are left out."""
    if features is not None:
        return choose_features(facts, features, estimator._numbers_only, type(estimator).__name__)
    if facts.schema.derived:
        names = ", ".join(facts.schema.derived)
        warnings.warn(
            f"derived columns ({names}) are not learned from: to learn from some, name all features, as in "
            f"fit(..., features={[*facts.features[:1], next(iter(facts.schema.derived))]}).",
            UserWarning,
            stacklevel=4,
        )
    return facts


def _on_scale(estimator: PrivateEstimator, facts: Facts) -> Facts:
    """The facts with features of wide bounds on their logarithmic scale, for a model that scales."""
    if not estimator._log_scaling:
        return facts
    kept = () if facts.target is None else (facts.target,)
    schema = facts.schema.on_scale(facts.features, kept)
    return facts if schema is facts.schema else replace(facts, schema=schema)


def _open_linear(
    estimator: PrivateEstimator, X: Any, y: Any, groups: Any, target: str | None
) -> Opened:
    if target is not None and not isinstance(target, str):
        raise TypeError(f"target must be the name of a column, not {type(target).__name__}.")
    if isinstance(X, PrivateDataset):
        estimator._check_settings(X.unit)
        return _open_dataset(estimator, X, y, groups, target)
    unit = choose_unit(estimator.unit, estimator.ledger)
    estimator._check_settings(unit)
    if _get_parameter(estimator, "schema") and (
        doubled := [n for n in _DOMAIN if _get_parameter(estimator, n)]
    ):
        raise ValueError(
            f"schema and {doubled[0]} must not both be given: the schema declares every column, "
            "the target too."
        )
    names = column_names(X)
    if names is not None:
        table = _table_of_frame(estimator, X, names, y, unit, target)
    else:
        table = _table_of_array(estimator, X, y, unit, target)
    source = _add_groups(table, groups, unit)
    _check_classes(estimator, table, y)
    ledger, own = estimator.ledger, False
    if not unit.is_public and ledger is None:
        estimator._check_own_ledger()
        accept = getattr(estimator, "accept_assumed", False)
        ledger = OwnLedger(estimator._measure(), unit, accept)
        own = True
    data = PrivateDataset(source, table.schema, unit=unit, ledger=ledger)
    facts = Facts(table.schema, unit, table.features, table.target, data.rows, ledger_kind(ledger))
    return Opened(data, facts, table.named, own)


#: Parameters that declare columns one by one, instead of a schema.
_DOMAIN = ("bounds", "classes", "target_bounds", "categories")


def _check_classes(estimator: PrivateEstimator, table: _Table, y: Any) -> None:
    """Raise if the classes that were declared can't match the target's type, which is public."""
    if not _get_parameter(estimator, "classes") or table.target is None:
        return
    column = table.schema[table.target]
    kind_found = _target_kind(table, table.target, y)
    if not isinstance(column, Categorical) or kind_found is None:
        return
    if (is_text := isinstance(column.values[0], str)) == (kind_found == "text"):
        return
    shown = ", ".join(map(repr, column.values[:4])) + (", ..." if len(column.values) > 4 else "")
    kind, other = ("text", "numbers") if is_text else ("numbers", "text")
    where = "y" if y is not None else f"column {table.target!r}"
    raise ColumnMismatch(
        f"classes=[{shown}] are {kind}, but {where} holds {other}: declare the classes as they stand there, "
        f"such as classes={[0, 1] if is_text else ['no', 'yes']}, or change the type of {where}."
    )


def _target_kind(table: _Table, target: str, y: Any) -> str | None:
    """Whether the target holds text or numbers, by its type alone; None where the type doesn't say."""
    names = column_names(table.source)
    if names is None or target not in names or not hasattr(table.source, "__getitem__"):
        return None
    try:
        column = table.source[target]
    except TypeError:  # a lazy frame
        return None
    kind = kind_of(column) if kind_of(y) is None else kind_of(y)
    if kind is None and isinstance(column, np.ndarray):
        kind = {"U": "text", "S": "text", "T": "text", "O": "object"}.get(
            column.dtype.kind, "number"
        )
    return {"text": "text", "number": "number", "boolean": "number"}.get(kind or "")


def _get_parameter(estimator: Any, name: str) -> bool:
    return getattr(estimator, name, None) is not None


def _open_dataset(
    estimator: PrivateEstimator, data: PrivateDataset, y: Any, groups: Any, target: str | None
) -> Opened:
    again = [n for n in ("schema", "unit", "ledger", *_DOMAIN) if _get_parameter(estimator, n)]
    again += [name for name, value in (("y", y), ("groups", groups)) if value is not None]
    if again:
        raise ValueError(
            f"{again[0]} must not be given with a PrivateDataset: it brings its own columns, schema, unit "
            "and ledger."
        )
    schema = data.schema
    name = target_name(estimator, schema, data.unit, target)
    features = tuple(n for n in schema.base if n not in (name, data.unit.id_column))
    _check_features(features)
    facts = Facts(schema, data.unit, features, name, data.rows, ledger_kind(data.ledger))
    return Opened(data, facts, True, False)


@dataclass(frozen=True)
class _Table:
    """A frame, or columns as arrays, with all that is public about them."""

    source: Any
    schema: Schema
    features: tuple[str, ...]
    target: str | None
    named: bool


def _table_of_frame(
    estimator: PrivateEstimator, X: Any, names: list[str], y: Any, unit: Unit, target: str | None
) -> _Table:
    schema: Schema | None = estimator.schema
    name = target
    if schema is not None:
        name = target_name(estimator, schema, unit, target)
    elif estimator._target != "none" and name is None:
        if y is None:
            raise ValueError(_needs_target(estimator))
        name = _free_name("target", names)
    declared = names if schema is None else [n for n in names if n in schema.base]
    features = tuple(n for n in declared if n not in (name, unit.id_column))
    _check_features(features)
    source = X
    if y is not None and estimator._target != "none":
        assert name is not None
        wanted = [n for n in names if n in features or n == unit.id_column]
        columns = {n: column_array(X, n) for n in wanted}
        source = {**columns, name: target_array(estimator, y, unit)}
        _check_lengths(source, "X and y")
    if schema is None:
        cells: dict[str, Array] = {}
        if unit.is_public:
            used = (*features, *([] if name is None or estimator._target == "none" else [name]))
            cells = {
                n: np.asarray(source[n] if source is not X else column_array(X, n)) for n in used
            }
        schema = _build_schema(estimator, features, name, unit, cells)
    if source is not X or package_of(X) in ("pandas", "polars", "pyarrow"):
        refuse_text(X, features, schema)
    return _Table(source, schema, features, name, True)


def _table_of_array(
    estimator: PrivateEstimator, X: Any, y: Any, unit: Unit, target: str | None
) -> _Table:
    matrix = read_matrix(estimator, X, unit)
    if y is None and estimator._target != "none":
        raise ValueError(_needs_target(estimator))
    schema: Schema | None = estimator.schema
    width = matrix.shape[1]
    if schema is None:
        features = tuple(f"x{j}" for j in range(width))
        name = None if estimator._target == "none" else target or "target"
        if name in features:
            raise ValueError(f"target must not be the name of a feature: {name!r} is one.")
    else:
        name = target_name(estimator, schema, unit, target)
        features = tuple(n for n in schema.base if n not in (name, unit.id_column))
        if len(features) != width:
            raise ValueError(
                f"X has {width} columns, but the schema declares {len(features)} features "
                f"({', '.join(features[:8])}{', ...' if len(features) > 8 else ''})."
            )
    columns: dict[str, Array] = {n: matrix[:, j] for j, n in enumerate(features)}
    if estimator._target != "none":
        assert name is not None
        columns[name] = target_array(estimator, y, unit)
        _check_lengths(columns, "X and y")
    if schema is None:
        schema = _build_schema(estimator, features, name, unit, columns if unit.is_public else {})
    if package_of(X) == "pandas":  # whose columns are numbered, not named
        refuse_text(
            dict(zip(features, (X.iloc[:, j] for j in range(width)), strict=True)), features, schema
        )
    return _Table(columns, schema, features, name, False)


def _build_schema(
    estimator: PrivateEstimator,
    features: tuple[str, ...],
    target: str | None,
    unit: Unit,
    cells: Mapping[str, Array],
) -> Schema:
    """The schema that the parameters declare; what they leave open is read only from public rows."""
    columns = estimator._declared_features(features)
    if columns is None:
        if not unit.is_public or not cells:
            raise ValueError(estimator._undeclared_message())
        columns = estimator._infer_features(features, [cells[name] for name in features])
    declared: dict[str, Base] = dict(columns)
    if target is not None and estimator._target == "class":
        declared[target] = _classes(estimator, unit, cells.get(target))
    elif target is not None and estimator._target == "number":
        declared[target] = _target_range(estimator, unit, cells.get(target))
    return Schema(declared)


def _classes(estimator: Any, unit: Unit, cells: Array | None) -> Categorical:
    classes = getattr(estimator, "classes", None)
    if classes is None:
        if not unit.is_public or cells is None:
            raise ValueError(
                "classes must be declared, as in classes=[0, 1]: they are never taken from private rows. "
                "Rows that anyone may see are fitted with unit=dp.PUBLIC."
            )
        classes = cells
    if isinstance(classes, str):  # whose letters aren't meant
        raise TypeError("classes must be a list, as in classes=[0, 1], not str.")
    return Categorical(*np.unique(np.asarray(classes)).tolist())


def _target_range(estimator: Any, unit: Unit, cells: Array | None) -> Real:
    bounds = getattr(estimator, "target_bounds", None)
    if bounds is None:
        if not unit.is_public or cells is None:
            raise ValueError(
                "target_bounds must be declared, as in target_bounds=(0, 100): they are never taken from "
                "private rows. Rows that anyone may see are fitted with unit=dp.PUBLIC."
            )
        bounds = (float(cells.min()), float(cells.max()))
    lower, upper = pair(bounds, "target_bounds")
    return Real(float(lower), float(upper))


def _add_groups(table: _Table, groups: Any, unit: Unit) -> Any:
    """The source with the column of ids that the unit asks for."""
    if unit.id_column is None:
        if groups is not None:
            raise ValueError(
                "groups needs a unit that limits the rows of one person, as in "
                "unit=dp.Unit(dp.ADD_REMOVE, id_column='person', max_rows=3)."
            )
        return table.source
    if groups is None:
        present = column_names(table.source) or []
        if table.named and unit.id_column in present:
            return table.source
        raise ValueError(
            f"groups must be given: the unit limits the rows of one person by {unit.id_column!r}. Pass "
            "one id per row, as in fit(X, y, groups=ids)."
        )
    ids = read_cells(groups)
    if ids.ndim != 1:
        raise ValueError("groups must be one-dimensional: one id per row.")
    if unit.id_column in table.features or unit.id_column == table.target:
        raise ValueError(f"the id column {unit.id_column!r} must not be a feature or the target.")
    names = column_names(table.source) or []
    columns = {n: column_array(table.source, n) for n in names if n in table.schema.base}
    joined = {**columns, unit.id_column: ids}
    _check_lengths(joined, "X and groups")
    return joined


def _check_lengths(columns: Mapping[str, Any], what: str) -> None:
    if len({len(column) for column in columns.values()}) > 1:
        raise ValueError(f"{what} must have the same number of rows.")


def _check_features(features: tuple[str, ...]) -> None:
    if not features:
        raise ValueError("X has 0 feature(s), while a minimum of 1 is required.")


def _free_name(name: str, taken: list[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _needs_target(estimator: Any) -> str:
    return (
        f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None. "
        "Pass y, or name the target column of a data frame, as in fit(frame, target='income')."
    )


def plan_facts(
    estimator: PrivateEstimator,
    data: Any,
    n_features: int | None,
    rows: int | None,
    target: str | None = None,
    chosen: Sequence[str] | None = None,
) -> Facts:
    """The facts of a fit as far as they are known without rows."""
    if data is not None:
        if not isinstance(data, PrivateDataset):
            raise TypeError(f"data must be a dp.PrivateDataset, not {type(data).__name__}.")
        return open_input(estimator, data, None, None, target, chosen).facts
    unit = choose_unit(estimator.unit, estimator.ledger)
    schema: Schema | None = estimator.schema
    if schema is not None:
        target = target_name(estimator, schema, unit, target)
        features = tuple(n for n in schema.base if n not in (target, unit.id_column))
    else:
        width = n_features or getattr(estimator, "n_features_in_", 0) or estimator._declared_width()
        if not width:
            raise ValueError("n_features must be given: the parameters don't declare it.")
        features = tuple(f"x{j}" for j in range(as_integer(width, "n_features", minimum=1)))
        target = None if estimator._target == "none" else target or "target"
        schema = _build_schema(estimator, features, target, unit, {})
    known = rows if unit.length_is_public else None
    facts = Facts(schema, unit, features, target, known, ledger_kind(estimator.ledger))
    return _on_scale(estimator, _choose(estimator, facts, chosen))
