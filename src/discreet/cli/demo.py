"""``discreet demo``: a tour on a table that ships with scikit-learn."""

from __future__ import annotations

import typer

__all__ = ["add_demo"]


def add_demo(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo")(demo)


def demo() -> None:
    """A tour on a real table: schema, ledger, answers, a model, an audit, explained as it goes.

    \b
    Examples:
      discreet demo
    """
    from discreet.demo import main

    main()
