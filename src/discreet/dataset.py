"""The one door to private rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar, final

from discreet import events
from discreet.answers import Answerer, answerer
from discreet.doors import KeptRows, PaidEngine, PaidPlan, Selection, flat, hide_bars
from discreet.engines import Engine, open_engine
from discreet.engines.remembering import remembered
from discreet.ledger import Book
from discreet.measures import Measure
from discreet.mechanisms import BestOf, Mechanism
from discreet.noise import entropy
from discreet.noise.generators import count_libraries, find_generators, renew
from discreet.queries import CodedQuery, Keep, Query
from discreet.rational import whole
from discreet.release import Plan, Release
from discreet.schema import Schema, order_codes
from discreet.step import CodedRows, Step
from discreet.unit import REPLACE_ONE, Relation, Unit, as_unit

__all__ = ["PrepaidDoor", "PrivateDataset"]

How = Measure | Mechanism
T = TypeVar("T")


@final
class PrivateDataset:
    """Rows behind a door: what is asked is charged to a ledger first, and then noised.

    Parameters
    ----------
    data : data frame, array, mapping of names to arrays, or path of a CSV file
        Polars (eager or lazy), pandas, DuckDB; a two-dimensional array has the schema's columns in
        order.
    schema : Schema
        The public facts about its columns.
    unit : Unit or relation, optional
        Who is protected; the ledger's unit by default. ``dp.PUBLIC`` for rows that anyone may see.
    ledger : Ledger or account
        Where answers are charged; none for public rows.
    rows : int, optional
        The public number of rows under ``dp.REPLACE_ONE``; arrays and eager frames give their length.
        It is a constant, never compared with the data.

    Privacy
    -------
    Every answer satisfies the measure it was charged with, for the unit, if the schema is public and
    nothing else reads the rows. A lazy frame's own plan is trusted: it must work row by row, and must
    not fail because of a cell. The door stops mistakes, not a hostile analyst in the same process.
    No cell can make it raise, or change a shape or a message. Proof page: ``docs/proofs/coding.md``.

    Notes
    -----
    Threads may share a data set. DuckDB relations, and tables of an Ibis connection, are read by one thread
    at a time; their connection must not be used elsewhere meanwhile.
    """

    def __init__(
        self,
        data: Any,
        schema: Schema,
        *,
        unit: Unit | Relation | None = None,
        ledger: Book | None = None,
        rows: int | None = None,
    ) -> None:
        if not isinstance(schema, Schema):
            raise TypeError(f"schema must be a dp.Schema, not {type(schema).__name__}.")
        if ledger is not None and not isinstance(ledger, Book):
            raise TypeError(
                f"ledger must be a dp.Ledger or one of its accounts, not {type(ledger).__name__}."
            )
        self._schema = schema
        self._unit = self._agreed_unit(unit, ledger)
        self._ledger = ledger
        self._engine: Engine = open_engine(data, schema, self.unit)
        self._rows: int | None = None
        self._paid: PaidPlan | None = None
        if rows is not None:
            self._rows = whole(rows, "rows")
            if self.unit.relation is not REPLACE_ONE:
                raise ValueError(
                    "rows may be declared under dp.REPLACE_ONE only: otherwise the number of rows is "
                    "private (or, on public rows, simply there)."
                )
        elif self.unit.length_is_public:
            self._rows = self._engine.length()

    @property
    def schema(self) -> Schema:
        """The public facts about its columns."""
        return self._schema

    @property
    def unit(self) -> Unit:
        """Who is protected."""
        return self._unit

    @property
    def ledger(self) -> Book | None:
        """Where answers are charged; None for public rows."""
        return self._ledger

    @property
    def rows(self) -> int | None:
        """The public number of rows, where it is public."""
        return self._rows

    @staticmethod
    def _agreed_unit(unit: Unit | Relation | None, ledger: Book | None) -> Unit:
        if unit is None:
            if ledger is None:
                raise ValueError(
                    "ledger must be given, as in dp.PrivateDataset(data, schema, "
                    "ledger=dp.Ledger(limit=dp.PureDP(1))), or unit=dp.PUBLIC if anyone may see the rows."
                )
            return ledger.unit
        chosen = as_unit(unit)
        if chosen.is_public:
            if ledger is not None:
                raise ValueError(
                    "ledger must not be given with dp.PUBLIC: nothing is charged there."
                )
            return chosen
        if ledger is None:
            raise ValueError(
                "ledger must be given: a private data set charges every answer, as in "
                "ledger=dp.Ledger(limit=dp.PureDP(1), unit=unit)."
            )
        if ledger.unit != chosen:
            raise ValueError(
                f"unit: the ledger protects another unit ({ledger.unit}) than this data set ({chosen}). "
                "One ledger is for one population and one unit."
            )
        return chosen

    def plan(self, asked: Query | Step, how: How | None = None, *, rows: int | None = None) -> Plan:
        """What an answer would cost and how noisy it would be, without touching a row.

        Parameters
        ----------
        asked : Query or Step
        how : Measure or Mechanism
            As in `release`; a step needs none.
        rows : int, optional
            A public guess of the number of rows, where the error depends on it.
        """
        if isinstance(asked, Step):
            return Plan(asked, asked.event(self.schema, self.unit), None, None, None)
        prepared = self._prepared(asked, how)
        guess = self.rows if rows is None else whole(rows, "rows")
        error = prepared.expected_error
        stderr = None
        if guess is not None or not prepared.error_needs_rows:
            stderr = error(1 if guess is None else guess)
        return Plan(asked, prepared.event, prepared.measure, stderr, error)

    def release(self, query: Query, how: How) -> Release:
        """The noised answer to a query, charged before a row is read.

        Parameters
        ----------
        query : Query
        how : Measure or Mechanism
            ``dp.PureDP(epsilon)``, ``dp.ApproxDP(epsilon, delta)``, ``dp.ZCDP(rho)``: the mechanism with
            the least noise that gives it; or a mechanism, such as ``dp.mechanisms.Gaussian(1, 1e-6)``.

        Raises
        ------
        BudgetExceeded
            When the ledger has less left. Nothing was read.
        """
        prepared = self._prepared(query, how)
        entry = self._charge(prepared.event, prepared.measure, repr(query))
        return prepared.answer(self._engine, entry, self._is_private())

    def run(self, step: Step, measure: Measure | None = None) -> Any:
        """The result of a step, its event charged before it sees a row."""
        event = self._checked_step(step).event(self.schema, self.unit)
        self._charge(event, measure, repr(step))
        return self._run(step)

    @contextmanager
    def prepaid(self, event: events.Event, measure: Measure | None = None) -> Iterator[PrepaidDoor]:
        """A door with one charge for a plan fixed in advance.

        Each release inside must be the plan's next event and charges nothing more. Leaving early
        refunds nothing. Threads may share the door: events are taken in the order in which they ask.
        """
        if not isinstance(event, events.Event):
            raise TypeError("event must come from discreet.events.")
        entry = self._charge(event, measure, "prepaid plan")
        door = PrepaidDoor(self, event, measure, entry)
        try:
            yield door
        finally:
            door.close()

    def _charge(self, event: events.Event, measure: Measure | None, note: str) -> Any:
        if self._paid is not None:
            return self._paid.spend(event)
        if self._ledger is None:
            return None
        if entropy.is_fixed():
            note += " [noise from a fixed seed: NOT PRIVATE]"
        return self._ledger.charge(event, measure, note=note)

    def _view(self, engine: PaidEngine, paid: PaidPlan, is_whole: bool) -> PrivateDataset:
        """These rows, or a part of them, for one plan that was paid already."""
        view = object.__new__(PrivateDataset)
        view._schema, view._unit, view._ledger = self._schema, self._unit, self._ledger
        view._engine = engine
        view._rows = self._rows if is_whole else None
        view._paid = paid
        return view

    def _prepared(self, query: Query, how: How | None) -> Answerer:
        if not isinstance(query, Query):
            raise TypeError(
                f"query must be a query such as dp.Count() or dp.Mean('age'), not {type(query).__name__}."
            )
        return answerer(query, how, self.schema, self.unit, self.rows)

    def _is_private(self) -> bool:
        return not self.unit.is_public and not entropy.is_fixed()

    @staticmethod
    def _checked_step(step: Step) -> Step:
        if not isinstance(step, Step):
            raise TypeError(f"step must be a Step, not {type(step).__name__}.")
        return step

    def _run(self, step: Step) -> Any:
        names = tuple(self.schema.base) if step.columns is None else tuple(step.columns)
        keep = None
        if self.unit.id_column is not None:
            keep = Keep(self.unit.id_column, self.unit.rows_per_person, order_codes(self.schema))
        query = CodedQuery((), (), None, (), keep)
        codes = tuple(self.schema.code(name) for name in names)
        return step.run(CodedRows(self._engine.rows(query, codes), names, self.schema))

    def __repr__(self) -> str:
        return f"PrivateDataset({self.schema!r},\n  unit: {self.unit})"

    def __reduce__(self) -> Any:
        raise TypeError("a private data set can't be pickled or copied: that would copy its rows.")


@final
class PrepaidDoor:
    """The door inside ``with data.prepaid(...)``; made there only."""

    def __init__(
        self, data: PrivateDataset, event: events.Event, measure: Measure | None, entry: Any
    ) -> None:
        self._data, self._measure, self.entry = data, measure, entry
        self._paid = PaidPlan(event, entry)
        rounds = sum(1 for _ in islice(flat(event), 3))
        self._engine = remembered(data._engine, rounds)

    def release(self, query: Query, how: How) -> Release:
        """The noised answer to a query that is next in the plan."""
        prepared = self._data._prepared(query, how)
        self._paid.spend(prepared.event)
        return prepared.answer(self._engine, self.entry, self._data._is_private())

    def run(self, step: Step) -> Any:
        """The result of a step that is next in the plan."""
        self._data._checked_step(step)
        self._paid.spend(step.event(self._data.schema, self._data.unit))
        return self._data._run(step)

    def select(
        self,
        selection: Selection,
        run: Callable[[int, tuple[PrivateDataset, ...]], tuple[float, T]],
    ) -> tuple[float, T]:
        """The best outcome, alone, of a random number of runs; the selection must be next in the plan.

        Parameters
        ----------
        selection : Selection
        run : callable
            From the number of a setting and one data set for each of its events to a score and a
            result. Each data set takes its event once, charges nothing, and can't be read after the
            run. It must keep nothing else of a run: their number and their other outcomes are secret.
            Its warnings are not shown. Python's and numpy's generators, torch's if that was imported, and
            those that `run` holds are seeded anew before each run, and put back afterwards: what a run
            drew from them doesn't tell which run it was. What a library without a known generator
            draws, or a process that a run starts, must not tell it either.
            Where no event costs anything, on public rows, every setting is tried once, in order.

        Privacy
        -------
        That of ``selection.event(unit)``. Proof page: ``docs/proofs/search.md``.
        """
        unit = self._data.unit
        self._paid.spend(selection.event(unit))
        engine = KeptRows(self._data._engine)

        def once(at: int) -> tuple[float, T]:
            return self._once(selection, at, run, engine)

        if selection.is_free(unit):
            return max(map(once, range(len(selection.settings))), key=lambda outcome: outcome[0])

        def alone() -> tuple[float, T]:
            at, known = selection.draw(), count_libraries()
            with hide_bars():  # each trace of a run would tell how many there were
                outcome = once(at)
                if count_libraries() == known:
                    return outcome
                # a library came with this run, its generator in a state that anyone knows: the run is
                # forgotten, and made again with a state of its own
                with renew(find_generators(run)):
                    return once(at)

        runner: BestOf[T] = BestOf(selection.one_run(unit), selection.shape, selection.gamma)
        return runner.run(alone, reach=run)

    def _once(
        self,
        selection: Selection,
        at: int,
        run: Callable[[int, tuple[PrivateDataset, ...]], tuple[float, T]],
        engine: Engine,
    ) -> tuple[float, T]:
        plans = [PaidPlan(event, self.entry) for event in selection.settings[at]]
        try:
            views = (
                self._data._view(PaidEngine(engine, plan, part), plan, part is None)
                for plan, part in zip(plans, selection.parts(at), strict=True)
            )
            return run(at, tuple(views))
        finally:
            for plan in plans:
                plan.close()

    def close(self) -> None:
        """Nothing more can be asked."""
        self._paid.close()
