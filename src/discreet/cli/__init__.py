"""The command line: ``discreet COMMAND``.

Each command is a module here with ``add(parser)`` and ``run(arguments)``; nothing heavy is imported
before a command runs.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence
from importlib import import_module

from discreet import __version__

__all__ = ["main"]

#: The commands and what they do, in the order of the help.
COMMANDS = {
    "claims": "the guarantees: what is claimed, on what proof, with which status",
    "audit": "attack the guarantees of this toolkit, or a mechanism of yours",
}

#: Exit codes besides 0: something was found; the command line was wrong.
FOUND, WRONG = 1, 2


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    found = argparse.ArgumentParser(
        prog="discreet", description="Differential privacy in which every guarantee can be checked."
    )
    found.add_argument("--version", action="version", version=f"discreet {__version__}")
    commands = found.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, help_text in COMMANDS.items():
        command = commands.add_parser(
            name, help=help_text, description=help_text.capitalize() + "."
        )
        import_module(f"discreet.cli.{name}").add(command)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # for terminals without Greek letters
    chosen = parser().parse_args(arguments)
    try:
        return int(import_module(f"discreet.cli.{chosen.command}").run(chosen))
    except CommandError as error:
        sys.stderr.write(f"discreet {chosen.command}: {error}\n")
        return WRONG
    except BrokenPipeError:
        sys.stderr.close()
        return FOUND
    except KeyboardInterrupt:
        sys.stderr.write("\nstopped.\n")
        return 130


class CommandError(Exception):
    """Something is wrong with what was typed; the text is for the person who typed it."""
