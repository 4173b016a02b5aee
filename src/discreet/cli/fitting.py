"""``discreet fit``: a private model from a table, in a file with its certificate."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import common
from discreet.cli.outcome import CommandError, tell_charges
from discreet.cli.printing import check_out, print_lines, tell
from discreet.cli.settings import check_known, read_settings, suggest, to_kebab

if TYPE_CHECKING:
    from discreet.dataset import PrivateDataset
    from discreet.models import PrivateEstimator
    from discreet.schema import Schema

__all__ = [
    "PositionalData", "Settings", "Target", "choose_data", "find_kind", "fit", "list_kinds",
    "print_certificate", "read_parameters", "tell_price",
]  # fmt: skip

Model = Annotated[
    str | None, typer.Argument(help="The model by name, such as logistic-regression; see --list.")
]
PositionalData = Annotated[
    str | None, typer.Argument(metavar="[DATA]", help="The table, as with --data.")
]
Target = Annotated[
    str | None,
    typer.Option("--target", "-t", help="The column to learn; by default the schema's last one."),
]
Features = Annotated[
    list[str] | None,
    typer.Option(
        "--features",
        metavar="COLUMN,...",
        help="The columns to learn from, derived ones too; by default all that stand in the table.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="A setting, as in --set alpha=0.1; repeat it."
    ),
]
ModelOut = Annotated[
    str | None, typer.Option("--out", "-o", help="The model file to write, such as model.json.")
]
#: What the table brings, so that it isn't set.
_BROUGHT = ("bounds", "classes", "target_bounds", "categories")
#: Estimators that aren't offered here.
_LEFT_OUT = ("MaskedData",)


def fit(
    model: Model = None,
    table: PositionalData = None,
    list_: Annotated[bool, typer.Option("--list", help="List the models, and end.")] = False,
    target: Target = None,
    features: Features = None,
    settings: Settings = None,
    data: common.Data = None,
    schema: common.SchemaFile = None,
    ledger: common.LedgerPlace = None,
    account: common.Account = None,
    epsilon: common.Epsilon = None,
    delta: common.Delta = None,
    unit: common.DeclaredUnit = None,
    id_column: common.IdColumn = None,
    max_rows: common.MaxRows = None,
    rows: common.Rows = None,
    out: ModelOut = None,
    force: common.Force = False,
    as_json: common.Json = False,
    quiet: common.Quiet = False,
) -> None:
    """Fit a private model to a table, and write it to a file of JSON with its certificate.

    Price and expected time are told before anything is charged. `discreet predict` uses the file.

    \b
    Examples:
      discreet fit --list
      discreet fit logistic-regression visits.csv --schema visits.toml --ledger budget.db --target ill
        --epsilon 1 --out model.json
      discreet fit linear-regression visits.csv -s visits.toml -l budget.db -t cost -e 1
        --features age,month -o cost.json
      discreet fit k-means visits.csv -s visits.toml -l budget.db -e 0.5 --set n_clusters=4 -o wards.json
      discreet fit private-search visits.csv -s visits.toml -l budget.db -t ill -e 2
        --set estimator=gaussian-nb --set scoring=accuracy -o best.json
    """
    if list_:
        _print_list(as_json)
        return
    kind = find_kind(model)
    given = read_parameters(kind, read_settings(settings))
    measure: Any = common.read_epsilon(epsilon, delta, "the fit")
    _check_file(out, force)
    assert out is not None
    chosen = common.read_unit(unit, id_column, max_rows)
    rows_behind = common.open_data(
        choose_data(table, data), schema, ledger, unit=chosen, account=account, rows=rows
    )
    if rows and "expected_rows" in kind._get_param_names():
        given = {"expected_rows": rows, **given}
    estimator = kind(epsilon=measure.epsilon, delta=getattr(measure, "delta", 0), **given)
    learned = read_names(features, rows_behind.schema)
    plan = estimator.plan(rows_behind, rows=rows, target=target, features=learned)

    def act(door: PrivateDataset) -> PrivateEstimator:
        from sklearn.base import clone

        fitted: PrivateEstimator = clone(estimator).fit(door, target=target, features=learned)
        return fitted

    from discreet.cli.rehearsing import rehearse, show_progress

    # what is charged follows from the ledger, too, and a rehearsal has another one
    expected = rehearse(act, rows_behind, measure, rows)
    tell_price(plan.measure, rows_behind, expected.describe(), quiet)
    with show_progress(f"fitting {to_kebab(kind.__name__)}", expected, quiet):
        fitted = act(rows_behind)
    _write_model(fitted, out)
    facts = {"model": kind.__name__, "out": out}
    print_certificate("fit", facts, fitted.privacy_, as_json)
    tell(f"written to {out}", quiet)
    charged = tell_charges()
    if charged:
        tell(f"charged {charged}", quiet)


def read_names(given: list[str] | None, schema: Schema) -> list[str] | None:
    """Names of columns, given one by one or with commas between them."""
    if given is None:
        return None
    parts = [[text] if text in schema else text.split(",") for text in given]
    names = [name.strip() if name not in schema else name for part in parts for name in part]
    if not all(names):
        raise CommandError("--features must name columns, as in --features age,cost.")
    return names


def choose_data(positional: str | None, option: str | None) -> str | None:
    """The table of the argument or of --data; the argument goes before what the environment says."""
    if option == os.environ.get("DISCREET_TABLE") and positional is not None:
        return positional
    if positional is not None and option is not None and positional != option:
        raise CommandError("give the table once: as an argument, or with --data.")
    return option if positional is None else positional


def tell_price(measure: Any, data: PrivateDataset, time: str, quiet: bool) -> None:
    """Say what will be charged, what is left, and how long it may take: before the charge."""
    if data.unit.is_public:
        tell(f"price: nothing, the rows are public; time: {time}", quiet)
        return
    book = data.ledger
    assert book is not None
    tell(f"price: {measure!r} of {book.remaining()!r} that is left; time: {time}", quiet)


def print_certificate(kind: str, facts: Mapping[str, Any], privacy: Any, as_json: bool) -> None:
    """Print what was paid and what that guarantees."""
    if not as_json:
        print_lines(privacy.certificate)
        return
    from discreet.models.files.parts import write_certificate
    from discreet.show import write_document

    body = {**facts, "certificate": write_certificate(privacy)}
    print_lines(write_document(kind, 1, body))


def _write_model(fitted: PrivateEstimator, out: str) -> None:
    """Write the file; if that fails, print the model, since it was paid for."""
    from discreet.models import save, to_json

    try:
        save(fitted, out)
    except ValueError as error:
        print_lines(to_json(fitted))
        raise CommandError(f"--out: {error} The model was printed instead.") from None


def _check_file(out: str | None, force: bool) -> None:
    if out is None:
        raise CommandError("--out must name the model file to write, such as --out model.json.")
    check_out(out, force, (".json",))


def list_kinds() -> dict[str, type[PrivateEstimator]]:
    """The models that are offered, by the names that people type."""
    from discreet.models.files.kinds import estimator_kinds

    found = estimator_kinds()
    return {to_kebab(name): found[name] for name in sorted(found) if name not in _LEFT_OUT}


def find_kind(name: str | None) -> type[PrivateEstimator]:
    """The class of the model with this name."""
    if name is None:
        raise CommandError(
            "say which model to fit, such as logistic-regression; --list shows them."
        )
    kinds = list_kinds()
    if name not in kinds:
        near = suggest(name.lower(), kinds)
        raise CommandError(f"no model is called {name!r}.{near} `discreet fit --list` shows them.")
    return kinds[name]


def read_parameters(kind: type[PrivateEstimator], given: dict[str, Any]) -> dict[str, Any]:
    """Settings as the class takes them; an estimator inside of another is given by its name."""
    for name in _BROUGHT:
        if name in given and name in kind._get_param_names():
            raise CommandError(f"--set {name}: the schema declares it; change the schema file.")
    own = {"epsilon", "delta", "schema", "unit", "ledger", *_BROUGHT}
    check_known(given, set(kind._get_param_names()) - own, to_kebab(kind.__name__))
    if isinstance(given.get("estimator"), str):
        given = {**given, "estimator": _find_inner(kind.__name__, given["estimator"])}
    return given


def _find_inner(kind: str, name: str) -> Any:
    from discreet.models.files.kinds import plain_models

    inner: dict[str, Any] = {
        to_kebab(known.removeprefix("sklearn ")): plain.kind
        for known, plain in plain_models().items()
        if plain.learned
    }
    if kind == "PrivateSearch":
        inner = {key: one for key, one in list_kinds().items() if one.__name__ != kind}
    if name not in inner:
        raise CommandError(
            f"--set estimator: no model is called {name!r}.{suggest(name, inner)} Give one of "
            f"{', '.join(sorted(inner))}."
        )
    return inner[name]()


def _print_list(as_json: bool) -> None:
    """Names of models, with the first line of what is said about each."""
    import inspect

    summaries = {
        name: (inspect.getdoc(kind) or "").partition("\n")[0] for name, kind in list_kinds().items()
    }
    if as_json:
        from discreet.show import write_document

        print_lines(write_document("models", 1, {"models": summaries}))
        return
    from discreet.cli.tables import table

    print_lines(table(("model", "what it is"), list(summaries.items())))
