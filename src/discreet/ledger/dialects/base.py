"""What a database must tell a ledger about itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from sqlalchemy import Engine

__all__ = ["Dialect", "Failure"]


@dataclass(frozen=True)
class Failure:
    """Why a transaction failed, for people and for the next step.

    Attributes
    ----------
    reason : str
        A clause without a full stop and without any secret.
    passing : bool
        Whether a new connection may work: this one was lost, or the server is just restarting.
    """

    reason: str
    passing: bool


class Dialect(ABC):
    """The database of one ledger."""

    #: The address as people and pickles may see it: without secrets, and the same from every
    #: directory.
    url: str
    #: What the driver raises by itself.
    errors: tuple[type[Exception], ...]
    #: How long a charge waits for others.
    wait_seconds: float = 120
    #: How long lost connections are made anew before the ledger gives up.
    patience_seconds: float = 20

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
