"""A plan that was paid in advance: it pays for its own events, in their order, and for nothing else."""

from __future__ import annotations

import threading
from itertools import islice
from typing import final

from discreet.events import Compose, Event, Repeat, iter_leaves
from discreet.ledger.book import Book
from discreet.ledger.chain import Entry, new_token
from discreet.ledger.payers import Payer
from discreet.ledger.progress import has_parts
from discreet.measures import Measure
from discreet.noise import entropy

__all__ = ["PaidPlan"]


@final
class PaidPlan(Payer):
    """Events that were paid in advance, to be asked in their order, in this process, while it is open.

    Threads may share it: the events of one answer are taken together, and no event is taken twice.

    Parameters
    ----------
    event : Event
        The whole plan.
    entry : Entry or None
        The entry that paid for it; None on public rows.
    book : Book, optional
        The ledger or account that has the entry.
    token : str, optional
        The plan's own name in the ledger. With it each step is entered in the ledger, at no cost, before
        its rows are read; a plan that is resumed under the same token continues after the last step that
        was begun, so that none is ever read twice.

    Examples
    --------
    >>> import discreet as dp
    >>> ledger, step = dp.Ledger(limit=dp.PureDP(2)), dp.events.DiscreteLaplace(2)
    >>> entry = ledger.charge(dp.events.Repeat(step, 2))  # two steps, paid once
    >>> plan = dp.ledger.PaidPlan(entry.event, entry)
    >>> plan.charge(step) is plan.charge(step) is entry
    True
    >>> try:
    ...     plan.charge(step)
    ... except ValueError as error:
    ...     print(str(error).split(":")[0])
    this is not the plan that was paid for
    """

    def __init__(
        self,
        event: Event,
        entry: Entry | None,
        book: Book | None = None,
        token: str | None = None,
    ) -> None:
        self.entry, self._book = entry, book
        self._token = None if book is None else token
        self._answers = self.begun = 0
        if book is not None and token is not None:
            if has_parts(book, token):
                raise ValueError(
                    "token: rows that are written in batches have this token; choose another one."
                )
            self._answers, self.begun = _progress(book, token)
        self._left = islice(iter_leaves(event), self.begun, None)
        self._open, self._owner = True, entropy.current_process()
        self._lock = threading.RLock()

    @property
    def book(self) -> Book | None:
        return self._book

    def check(self) -> None:
        """Raise unless rows may be read under this plan, here and now."""
        # before the lock, which a thread of the parent may hold
        if self._owner != entropy.current_process():
            raise RuntimeError(
                "a prepaid door can't be used in a forked process: the plan is paid for once."
            )
        if not self._open:
            raise ValueError("this prepaid door is closed: its with-block has ended.")

    def charge(
        self,
        event: Event,
        measure: Measure | None = None,
        *,
        note: str = "",
        token: str | None = None,
    ) -> Entry | None:
        """Take the next events of the plan, which must be these; the entry that paid for them."""
        self.check()
        with self._lock:
            self.check()  # another thread may have closed it in the meantime
            taken = 0
            for asked in iter_leaves(event):
                planned = next(self._left, None)
                taken += 1
                if planned != asked:
                    self.close()
                    wanted = "nothing more" if planned is None else repr(planned)
                    raise ValueError(
                        f"this is not the plan that was paid for: next in it is {wanted}, but {asked!r} "
                        "was asked. The door is closed now."
                    )
            if taken:
                self._enter(taken)
        return self.entry

    def _enter(self, taken: int) -> None:
        """Make it durable that these steps were begun; refuse them if somebody else began them."""
        if self._token is not None and self._book is not None:
            mine = f"{taken} steps of a plan that was paid before are begun [{new_token()}]"
            # costs nothing, and says how far the plan is
            upto = Repeat(Compose(), self.begun + taken)
            name = _step_token(self._token, self._answers)
            try:
                entered = self._book.charge(upto, note=mine, token=name)
            except ValueError:
                entered = None
            if entered is None or entered.note != mine:
                self.close()
                raise ValueError(
                    "this step of the plan was begun before, here or elsewhere: it is paid for once. "
                    "The door is closed now; open the plan again to continue after it."
                )
        self._answers += 1
        self.begun += taken

    def close(self) -> None:
        """Pay for nothing more."""
        self._open = False


def _step_token(token: str, answer: int) -> str:
    return f"step {answer} of {token}"


def _progress(book: Book, token: str) -> tuple[int, int]:
    """How many answers of a plan were begun, and how many of its events they took."""

    def entered(answer: int) -> Entry | None:
        return book.find(_step_token(token, answer))

    none, some = 1, 0  # `some` answers were begun, and fewer than `none`: they are entered in order
    while entered(none - 1) is not None:
        some, none = none, 2 * none
    while none - some > 1:
        middle = (some + none) // 2
        some, none = (middle, none) if entered(middle - 1) is not None else (some, middle)
    last = None if some == 0 else entered(some - 1)
    if last is None:
        return 0, 0
    assert isinstance(last.event, Repeat)
    return some, last.event.count
