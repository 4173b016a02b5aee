"""What a database must tell a ledger about itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import ClassVar

from sqlalchemy import Connection, Engine

__all__ = ["Dialect", "Draft", "Failure", "Refusal"]


@dataclass(frozen=True)
class Failure:
    """Why a transaction failed, for people and for the next step.

    Attributes
    ----------
    reason : str
        A clause without a full stop and without any secret.
    passing : bool
        Whether a new connection may work: this one was lost, or the server is just restarting.
    damaged : bool
        Whether what is stored can't be right.
    """

    reason: str
    passing: bool
    damaged: bool = False


class Refusal(Exception):
    """A failure that a dialect notices itself. It ends as a sentence, like a driver's error."""

    def __init__(self, reason: str, *, passing: bool = False) -> None:
        super().__init__(reason)
        self.failure = Failure(reason, passing)


class Draft(ABC):
    """A place where a new ledger is built before it gets its name."""

    dialect: Dialect

    @abstractmethod
    def put_in_place(self) -> bool:
        """Give the closed ledger its name; True if the name was free and the ledger has it now."""


class Dialect(ABC):
    """The database of one ledger."""

    #: The address as people and pickles may see it: without secrets, and the same from every
    #: directory.
    url: str
    #: What the driver raises by itself.
    errors: tuple[type[Exception], ...]
    #: How long a charge waits for others.
    wait_seconds: float = 120
    #: How long to try to connect again before the ledger gives up.
    patience_seconds: float = 20
    #: Whether an existing place without tables may become a ledger.
    accepts_empty: ClassVar[bool] = True
    #: Whether committed entries stay in a log until `checkpoint` moves them.
    keeps_log: bool = False
    #: Whether only this process, and those it tells, know the place.
    is_private: bool = False
    #: Whether nothing is ever written.
    read_only: bool = False
    #: Whether older tables are shown to readers in their newest form.
    shows_old_tables: bool = False

    @abstractmethod
    def exists(self) -> bool:
        """Whether there may be a ledger; raises where none can be kept."""

    @abstractmethod
    def engine(self) -> Engine:
        """An engine whose transactions hold the ledger's lock, unless they have ``reading`` set.

        Those that have it see one state of the ledger, and neither wait for the others nor make
        them wait.
        """

    @abstractmethod
    def prepare(self, engine: Engine) -> None:
        """Set what the database itself remembers, before tables are made."""

    @abstractmethod
    def explain(self, error: Exception, *, known: bool) -> Failure:
        """What an error of the driver means; `known` if the ledger was reached before."""

    def claim(self, content: bytes) -> None:
        """Make the file of a private ledger, with its tables, which are then filled where they stand."""
        raise AssertionError("a server has its database before a ledger is opened in it.")

    def draft(self) -> AbstractContextManager[Draft]:
        """A place to build a new ledger in, for databases where `exists` can be False."""
        raise AssertionError("a server has its database before a ledger is opened in it.")

    @abstractmethod
    def check_place(self, connection: Connection) -> None:
        """Raise `Refusal` if the place isn't the one that was opened; called in each transaction."""

    @abstractmethod
    def check_settled(self, connection: Connection) -> None:
        """Raise a passing `Refusal` if what was read may not have been one state of the ledger."""

    def checkpoint(self, engine: Engine) -> bool:
        """Move committed entries from the log to where a copy finds them; True if all were moved."""
        return True
