"""``discreet predict``: what a model file says of rows that may be seen."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from discreet.cli import common
from discreet.cli.outcome import CommandError
from discreet.cli.printing import check_out, print_lines, tell
from discreet.cli.rows import TABLES, check_parquet, read_rows, write_rows

__all__ = ["predict"]

#: What whoever sees predictions should know.
WARNING = (
    "the guarantee is for the people whom the model was fitted to; these predictions are about the people in "
    "these rows, and tell whoever sees them about those: keep them as you keep the rows."
)


def predict(
    model: Annotated[
        str | None, typer.Argument(help="A model file that `discreet fit` wrote.")
    ] = None,
    rows: Annotated[
        str | None,
        typer.Argument(metavar="[DATA]", help="Rows to predict for: .csv, .csv.gz or .parquet."),
    ] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", "-p", help="A column for each class's probability.")
    ] = False,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", help="A column of the rows to pass on; repeat it."),
    ] = None,
    ledger: Annotated[
        str | None,
        typer.Option("--ledger", "-l", help="Refuse a model that this ledger didn't pay for."),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", help="Write predictions to a .csv or .parquet file."),
    ] = None,
    force: common.Force = False,
    as_json: common.Json = False,
    quiet: common.Quiet = False,
) -> None:
    """Predict for rows with a model file: post-processing, so nothing is charged.

    The rows are read as they are, without protection: give rows that you may see.

    \b
    Examples:
      discreet predict model.json new.csv --out predictions.csv
      discreet predict model.json new.csv --keep patient --probabilities
    """
    if model is None or rows is None:
        raise CommandError(
            "give a model file and rows, as in: discreet predict model.json new.csv."
        )
    check_out(out, force, TABLES)
    if out is not None:
        check_parquet(out)
    fitted = _load(model, ledger)
    first = _first_step(fitted)
    named = hasattr(first, "feature_names_in_")
    needed, kept = read_rows(rows, first.columns_, named, keep or ())
    found = {**kept, **_answer(fitted, _as_matrix(needed, named), probabilities)}
    if out is not None:
        write_rows(found, out)
        tell(f"written to {out}", quiet)
    if as_json or out is None:
        _print(found, as_json)
    tell(WARNING, quiet)


def _load(path: str, ledger: str | None) -> Any:
    from discreet.models import load

    book = None if ledger is None else common.open_ledger(ledger, read_only=True)
    fitted = load(path, ledger=book)
    if not hasattr(fitted, "predict") and not hasattr(fitted, "transform"):
        raise CommandError(
            f"{path} holds a {type(fitted).__name__}, which makes up rows and predicts nothing: use its "
            "sample in Python, or `discreet publish`."
        )
    return fitted


def _first_step(fitted: Any) -> Any:
    """The step of a pipeline that knows the columns; any other model itself."""
    for _, step in getattr(fitted, "steps", ()):
        if hasattr(step, "columns_"):
            return step
    return fitted


def _as_matrix(needed: dict[str, Any], named: bool) -> Any:
    import numpy as np

    return needed if named else np.column_stack(list(needed.values()))


def _answer(fitted: Any, rows: Any, probabilities: bool) -> dict[str, Any]:
    if probabilities and not hasattr(fitted, "predict_proba"):
        raise CommandError(
            f"--probabilities: a {type(fitted).__name__} has none; leave the option out."
        )
    if not hasattr(fitted, "predict"):
        columns = fitted.transform(rows).T
        return {f"column {place}": cells for place, cells in enumerate(columns, start=1)}
    found = {"prediction": fitted.predict(rows)}
    if probabilities:
        shares = fitted.predict_proba(rows)
        found |= {
            f"probability of {label}": shares[:, place]
            for place, label in enumerate(fitted.classes_.tolist())
        }
    return found


def _print(found: dict[str, Any], as_json: bool) -> None:
    from discreet.cli.printing import print_table
    from discreet.show import Table, write_document

    columns = {
        name: cells.tolist() if hasattr(cells, "tolist") else list(cells)
        for name, cells in found.items()
    }
    if as_json:
        print_lines(write_document("predictions", 1, {"columns": columns}))
        return
    print_table(Table(tuple(columns), list(zip(*columns.values(), strict=True)), "Predictions"))
