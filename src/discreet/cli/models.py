"""``discreet fit``, ``discreet predict``, ``discreet publish``: models and tables from private rows."""

from __future__ import annotations

import typer

from discreet.cli.fitting import fit
from discreet.cli.predicting import predict
from discreet.cli.publishing import publish

__all__ = ["add_model_commands"]


def add_model_commands(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("fit")(fit)
    app.command("predict")(predict)
    app.command("publish")(publish)
