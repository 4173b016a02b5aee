"""The doors of a federation: clients or sites whose data nothing reads but rounds that were paid for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, final

from discreet.dataset import agree_on_unit
from discreet.deep.plans import TrainingPlan, check_unit
from discreet.ledger import Book, Entry, Nobody, PaidPlan, Payer
from discreet.measures import Measure
from discreet.noise import entropy
from discreet.rational import as_integer
from discreet.unit import Relation, Unit

__all__ = ["Parties", "PrivateClients", "Rounds", "book_of"]

Party = TypeVar("Party")


class Parties:
    """Who takes part in a federation, behind a door: charged first, then asked."""

    #: What an entry of the ledger says.
    _note = "federated training"

    def __init__(
        self, parties: Sequence[Any], payer: Payer | None, unit: Unit, public_size: int, name: str
    ) -> None:
        self._parties = parties
        self._payer: Payer = Nobody() if payer is None else payer
        self._unit = unit
        self.public_size = as_integer(public_size, name, minimum=1)

    @property
    def unit(self) -> Unit:
        """Who is protected."""
        return self._unit

    @property
    def ledger(self) -> Book | None:
        """Where training is charged; None if everything is public."""
        return self._payer.book

    @contextmanager
    def prepaid(
        self, plan: TrainingPlan, measure: Measure | None, *, token: str | None = None
    ) -> Iterator[Rounds]:
        """The parties for a training fixed in advance, with one charge for all rounds.

        Parameters
        ----------
        plan : TrainingPlan
        measure : Measure, optional
            What it may cost, as in `Ledger.charge`.
        token : str, optional
            A name for the training, to take it up again after a crash: it is charged once, and rounds are
            entered in the ledger before anybody is asked.
        """
        note = self._note
        if entropy.is_fixed():
            note += " [noise from a fixed seed: NOT PRIVATE]"
        entry = self._payer.charge(plan.event, measure, note=note, token=token)
        paid = PaidPlan(plan.event, entry, self._payer.book, token)
        try:
            yield Rounds(plan, paid, self._parties)
        finally:
            paid.close()

    def __reduce__(self) -> Any:
        raise TypeError("parties of a federation can't be pickled or copied: that would copy data.")


@final
class PrivateClients(Parties):
    """Clients behind a door, each with all of its data: what is hidden is whether a client took part at all.

    Parameters
    ----------
    clients : sequence or mapping, optional
        Each client's data, in any form that its training takes; None for clients that are elsewhere and
        answer over a network.
    ledger : Ledger or account
        Its unit names the client, as in ``dp.Unit(dp.ADD_REMOVE, id_column="client", max_rows=1)``: a ledger
        of persons would count something else.
    unit : Unit, optional
        The ledger's by default; ``dp.PUBLIC`` without a ledger.
    public_clients : int
        How many clients there are as far as that is public; never compared with the true number.

    Privacy
    -------
    Neither data nor the number of clients is told. A client's rows may be of any number and any content. For
    one *row* of a client this is no add/remove guarantee: changing a row replaces its client, at twice the
    distance. Proof page: ``docs/proofs/federated.md``.
    """

    _note = "federated training of clients"

    def __init__(
        self,
        clients: Sequence[Any] | Mapping[Any, Any] | None,
        *,
        ledger: Payer | None = None,
        unit: Unit | Relation | None = None,
        public_clients: int,
    ) -> None:
        chosen = agree_on_unit(unit, book_of(ledger))
        if not chosen.is_public:
            if chosen.id_column is None:
                raise ValueError(
                    "ledger: its unit must name the client, as in dp.Ledger(limit=..., unit=dp.Unit("
                    "dp.ADD_REMOVE, id_column='client', max_rows=1)): a client is not a row."
                )
            check_unit(chosen, True)
        held = clients.values() if isinstance(clients, Mapping) else clients or ()
        super().__init__(tuple(held), ledger, chosen, public_clients, "public_clients")

    def __repr__(self) -> str:
        return f"PrivateClients(about {self.public_size},\n  unit: {self.unit})"


@final
class Rounds:
    """Rounds that were paid for: claimed first, then parties are asked."""

    def __init__(self, plan: TrainingPlan, paid: PaidPlan, parties: Sequence[Any]) -> None:
        self._plan, self._paid, self._parties = plan, paid, parties
        self._claimed = 0

    @property
    def entry(self) -> Entry | None:
        """The ledger's entry for the training; None where everything is public."""
        return self._paid.entry

    @property
    def book(self) -> Book | None:
        """The ledger or account that paid."""
        return self._paid.book

    @property
    def begun(self) -> int:
        """How many rounds were claimed so far, here or before a crash."""
        return self._paid.begun

    @property
    def parties(self) -> Sequence[Any]:
        """All parties, to be opened before the first round; `sample` and `everyone` say who is asked."""
        self._paid.check()
        return self._parties

    def claim(self, rounds: int) -> None:
        """Take the next rounds of the plan, for good; in the ledger, if the training has a token.

        Privacy
        -------
        A round that was claimed and not made is lost. None is made twice.
        """
        self._paid.charge(self._plan.several(rounds))
        self._claimed += rounds

    def sample(self, parties: Sequence[Party]) -> list[Party]:
        """Draw who is asked in one claimed round: each party by a coin of its own.

        Privacy
        -------
        Who was drawn is secret, and drawn by the object that makes the event (`PoissonSampler`).
        """
        self._begin()
        return [parties[place] for place in self._plan.sampler.draw(len(parties))]

    def everyone(self, parties: Sequence[Party]) -> list[Party]:
        """All parties, for one claimed round in which each of them draws its own persons."""
        self._begin()
        return list(parties)

    def _begin(self) -> None:
        self._paid.check()
        if self._claimed <= 0:
            raise ValueError("no round is claimed: parties are asked in a round that was paid for.")
        self._claimed -= 1


def book_of(ledger: Payer | None) -> Book | None:
    """The book of who pays; raise for what can't."""
    if ledger is not None and not isinstance(ledger, Payer):
        raise TypeError(
            f"ledger must be a dp.Ledger or one of its accounts, not {type(ledger).__name__}."
        )
    return None if ledger is None else ledger.book
