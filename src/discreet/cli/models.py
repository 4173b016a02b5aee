"""``discreet fit``, ``discreet predict``, ``discreet publish``: models and tables from private rows."""

from __future__ import annotations

import typer

from discreet.cli.fitting import fit
from discreet.cli.predicting import predict
from discreet.cli.publishing import publish

__all__ = ["add_model_commands"]


def add_model_commands(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("fit", short_help="Fit a model, and write its file.")(fit)
    app.command("predict", short_help="Predict with the file of a model.")(predict)
    app.command("publish", short_help="Publish a table or counts of ranges.")(publish)
