"""How a command ends: exit codes, one sentence for every error, and what was charged until then."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.ledger import Book, Entry

__all__ = [
    "CHARGED",
    "EXIT_CODES",
    "FOUND",
    "INTERNAL",
    "LEDGER",
    "REFUSED",
    "STOPPED",
    "WRONG",
    "Charge",
    "CommandError",
    "find_entry",
    "forget_charges",
    "is_told",
    "report_failure",
    "report_lost_reader",
    "report_stop",
    "show_warnings",
    "tell_charges",
    "tell_left",
    "translate",
    "watch_charge",
]

#: What a command ends with, besides 0.
FOUND, WRONG, REFUSED, LEDGER, CHARGED, INTERNAL, STOPPED = 1, 2, 3, 4, 5, 70, 130

EXIT_CODES = {
    0: "all is well",
    FOUND: "it ran, and found something: a violated claim, a suspicious column, a changed ledger",
    WRONG: "what was typed, or a file that it names, can't be used; nothing was charged",
    REFUSED: "the budget doesn't suffice; nothing was charged and nothing was read",
    LEDGER: "the ledger can't be used, or isn't whole",
    CHARGED: "something was charged, and then no answer could be given; the ledger has the entry",
    INTERNAL: "an error of discreet itself; nothing was charged",
    STOPPED: "stopped by Ctrl-C; the last line says whether anything was charged",
}

#: Set to 1 to see where an error of discreet itself comes from.
DEBUG = "DISCREET_DEBUG"


class CommandError(Exception):
    """Something is wrong with what was typed; the text is for the person who typed it."""


@dataclass
class Charge:
    """A charge that this command asked for; without an entry, nobody has heard yet whether it was booked."""

    book: Book
    token: str
    entry: Entry | None = None

    def settle(self) -> Entry | None:
        """The entry in the ledger, if there is one and the ledger can be asked."""
        if self.entry is None:
            self.entry = self.book.find(self.token)
        return self.entry


_charges: list[Charge] = []


def forget_charges() -> None:
    """Begin a command."""
    _charges.clear()


def watch_charge(charge: Charge) -> None:
    """Remember a charge that is about to be made."""
    _charges.append(charge)


def drop_charge(charge: Charge) -> None:
    """Forget a charge that was refused: nothing was booked."""
    _charges.remove(charge)


def tell_charges() -> str:
    """What this command charged, in words; empty if nothing."""
    told, unknown = [], False
    for charge in _charges:
        try:
            entry = charge.settle()
        except Exception:  # the ledger can't be asked: then nobody knows
            unknown = True
            continue
        if entry is not None:
            told.append(f"{entry.booked!r} (entry {entry.number} of {charge.book.url})")
    if unknown:
        told.append(
            "perhaps one more, which the ledger can't confirm now: see `discreet ledger show`"
        )
    return " and ".join(told)


def tell_left() -> str:
    """What the ledgers that this command charged have left, in words."""
    books = {id(charge.book): charge.book for charge in _charges}
    try:
        return " and ".join(f"{book.remaining()!r}" for book in books.values())
    except Exception:  # the answer was given: a ledger that can't be asked now is no failure
        return "not known now"


def find_entry() -> Entry | None:
    """The ledger's entry of this command's last charge; None if nothing was charged."""
    return _charges[-1].settle() if _charges else None


def report_stop(name: str) -> int:
    """The sentence and the exit code after Ctrl-C."""
    charged = tell_charges()
    if charged:
        _write(f"{name}: stopped; charged was {charged}, and nothing is refunded.")
    else:
        _write(f"{name}: stopped; nothing was charged.")
    return STOPPED


def report_lost_reader(name: str) -> int:
    """The sentence and the exit code after whoever read the output went away, as `head` does."""
    with suppress(
        OSError, ValueError
    ):  # what is left in the buffer goes nowhere, without an error at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    charged = tell_charges()
    if charged:
        _write(f"{name}: nobody read the output to its end; charged was {charged}.")
    return CHARGED if charged else FOUND


@contextmanager
def show_warnings(name: str) -> Iterator[None]:
    """Inside, a warning is one line, once, without the place in the code that it comes from."""
    told = set[str]()

    def show(message: Warning | str, *place: Any, **more: Any) -> None:
        words = translate(" ".join(str(message).split()), name)
        if words not in told:
            told.add(words)
            _write(f"{name}: note: {words}")

    with warnings.catch_warnings():
        warnings.filterwarnings("always", category=UserWarning)
        warnings.showwarning = show
        yield


def report_failure(name: str, error: BaseException) -> int:
    """The sentence and the exit code for an error."""
    if type(error).__name__ == "NoArgsIsHelpError":  # nothing was typed: the help says what can be
        error.show()  # type: ignore[attr-defined]
        return WRONG
    code, words = _explain(error, name)
    charged = tell_charges()
    if charged:
        words += f" Charged was {charged}; nothing is refunded."
        code = CHARGED
    if code == INTERNAL and os.environ.get(DEBUG):
        import traceback

        traceback.print_exception(error)
    _write(f"{name}: {words}")
    return code


def _explain(error: BaseException, name: str) -> tuple[int, str]:
    """The exit code and the words for an error that isn't a charge's."""
    if isinstance(error, CommandError):
        return WRONG, translate(" ".join(str(error).split()), name)
    format_message = getattr(error, "format_message", None)
    if format_message is not None:  # what was typed is no option, command or value
        words = " ".join(format_message().split())
        link = "" if words.endswith("?") else ";"
        return WRONG, f"{words.rstrip('.')}{link} --help shows what can be typed."
    if isinstance(error, _library("discreet.ledger", "BudgetExceeded")):
        return REFUSED, str(error)
    if isinstance(error, _library("discreet.ledger", "LedgerError")):
        return LEDGER, translate(str(error), name)
    if is_told(error):
        return WRONG, translate(" ".join(str(error).split()), name)
    return INTERNAL, (
        f"an error of discreet itself, {type(error).__name__}, whose message is withheld because it could "
        f"hold a row's value: run it again with {DEBUG}=1 where nobody else looks, and report it."
    )


#: What the library tells people who write Python, and what to type instead.
_TYPED: tuple[tuple[str, Any], ...] = (
    (r"dp\.Ledger\(limit=(dp\.\w+\([^()]*\))\)", r"`discreet ledger open LEDGER --schema FILE \1`"),
    (r"dp\.PureDP\(([^(),]*)\)", r"--epsilon \1"),
    (r"dp\.ApproxDP\(([^(),]*), ([^(),]*)\)", r"--epsilon \1 --delta \2"),
    (r"dp\.ZCDP\(([^(),]*)\)", r"--rho \1"),
    (r"schema\.derive\((\w+)=dp\.Bins\('?(\w+)'?, (\[[^]]*\])\)\)", r'--derive "\1=bins(\2, \3)"'),
    (r"dp\.(Real|Integer|Date|Categorical)\b", lambda found: found[1].lower()),
    (r"schema\.write\(path\)", "`discreet init`"),
    (r"dp\.Histogram\('(\w+)'\)", r"--histogram \1"),
    (r"dp\.PUBLIC\b", "--unit public"),
    (r"\bdp\.(?=\w)", ""),
)


#: Features as the library names them, and how commands take them.
_FEATURES = re.compile(r"fit\(\.\.\., features=\[([^\]]*)\]\)|features=\[([^\]]*)\]")
_NAMING = {"discreet publish": "--set features="}


def translate(words: str, name: str = "") -> str:
    """A sentence of the library as it helps somebody who typed the command of this name."""
    option = _NAMING.get(name, "--features ")
    words = _FEATURES.sub(lambda found: _name_features(found[1] or found[2], option), words)
    for python, typed in _TYPED:
        words = re.sub(python, typed, words)
    return words


def _name_features(names: str, option: str) -> str:
    """An option that names columns, as it is typed."""
    plain = option + ",".join(name.strip(" '\"") for name in names.split(","))
    first, _, rest = plain.partition(" ")
    return f'{first} "{rest}"' if " " in rest else plain


def _library(module: str, name: str) -> Any:
    """A class of a module, if that was imported: else nothing can have raised it."""
    found = sys.modules.get(module)
    return () if found is None else getattr(found, name, ())


def is_told(error: BaseException) -> bool:
    """Whether an error is one that the library raises for a person: its text never holds a row."""
    if isinstance(error, OSError):
        return True
    kinds = ValueError | TypeError | LookupError | ImportError | RuntimeError
    return isinstance(error, kinds) and _comes_from_us(error)


def _comes_from_us(error: BaseException) -> bool:
    """Whether an error was raised by code of ours, not by a library that may quote what it read."""
    at = error.__traceback__
    module = ""
    while at is not None:
        module = str(at.tb_frame.f_globals.get("__name__", ""))
        at = at.tb_next
    return module.split(".")[0] == "discreet"


def _write(line: str) -> None:
    with suppress(OSError, ValueError):
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
