"""The command line: ``discreet COMMAND``.

Each command is a module here with a function that adds it to `app`; nothing heavy is imported before a
command runs, so that ``discreet --help`` answers at once.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from discreet import __version__
from discreet.cli.outcome import (
    EXIT_CODES,
    FOUND,
    WRONG,
    CommandError,
    forget_charges,
    report_failure,
    report_lost_reader,
    report_stop,
    show_warnings,
)

__all__ = ["FOUND", "WRONG", "CommandError", "app", "main"]

#: The modules of the commands and their functions that add them, in the order of the help.
COMMANDS = {
    "demo": "add_demo",
    "init": "add_init",
    "check": "add_check",
    "describe": "add_describe",
    "query": "add_query",
    "plan": "add_plan",
    "models": "add_model_commands",
    "ledger": "add_ledger",
    "report": "add_report",
    "studio": "add_studio",
    "claims": "add_claims",
    "audit": "add_audit",
    "reproduce": "add_reproduce",
}

_CODES = "\n".join(f"  {code:>3}  {words}" for code, words in EXIT_CODES.items())
_HELP = f"""Differential privacy in which every guarantee can be checked.

From data to a defensible release: `init` declares public facts about a table, `ledger open` sets the budget,
`check` and `plan` prepare, `query` and `describe` answer, `report` shows others what was released.

\b
Examples:
  discreet init visits.csv --out visits.toml
  discreet ledger open budget.db --schema visits.toml --epsilon 2
  discreet query --data visits.csv --schema visits.toml --ledger budget.db --count --by ward --epsilon 0.5

\b
Exit codes:
{_CODES}
"""


class Stopped(BaseException):
    """Ctrl-C."""


class LostReader(BaseException):
    """Whoever read the output went away."""


class Commands(TyperGroup):
    """The commands; every error ends in one sentence on standard error and an exit code."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command; exit with its code, or return it if `standalone_mode` is false."""
        given = list(sys.argv[1:] if args is None else args)
        code = self._run(given, complete_var, windows_expand_args, extra)
        if standalone_mode:
            sys.exit(code)
        return code

    def invoke(self, ctx: Any) -> Any:
        """Run a command; what Typer would swallow in silence passes it under another name."""
        try:
            found = super().invoke(ctx)
            sys.stdout.flush()
        except KeyboardInterrupt:
            raise Stopped from None
        except BrokenPipeError:
            raise LostReader from None
        return found

    def _run(
        self, given: list[str], complete_var: str | None, expand: bool, extra: dict[str, Any]
    ) -> int:
        forget_charges()
        name = f"discreet {given[0]}" if given and given[0] in self.commands else "discreet"
        try:
            with show_warnings(name):
                code = super().main(
                    args=given,
                    prog_name="discreet",
                    complete_var=complete_var or "_DISCREET_COMPLETE",
                    standalone_mode=False,
                    windows_expand_args=expand,
                    **extra,
                )
        except (Stopped, KeyboardInterrupt, typer.Abort):
            return report_stop(name)
        except LostReader:
            return report_lost_reader(name)
        except Exception as error:
            return report_failure(name, error)
        return code if isinstance(code, int) else 0


app = typer.Typer(
    cls=Commands,
    name="discreet",
    help=_HELP,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 110},
)


def _show_version(value: bool) -> None:
    if value:
        typer.echo(f"discreet {__version__}")
        raise typer.Exit


@app.callback()
def _start(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    pass


for _module, _function in COMMANDS.items():
    getattr(import_module(f"discreet.cli.{_module}"), _function)(app)
_start.__doc__ = _HELP


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # for terminals without Greek letters
    return int(app(args=arguments, standalone_mode=False))
