"""The one door to private rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar, final

from discreet import events
from discreet.answers.asking import Asking
from discreet.answers.rehearsal import MadeUpRows
from discreet.checking import Checkable, release_checked
from discreet.coding import Condition, Engine, Places
from discreet.deprecation import former_keyword
from discreet.engines import conceal, list_columns, open_engine
from discreet.engines.code_cache import with_cache
from discreet.engines.wrappers import GuardedEngine, RowCache
from discreet.ledger import NOT_DATA, Book, Entry, Nobody, PaidPlan, Payer, Progress
from discreet.ledger.units import agree_on_unit
from discreet.matching import check_same_kinds
from discreet.measures import Measure
from discreet.mechanisms import BestOf
from discreet.noise import entropy
from discreet.noise.generators import count_libraries, find_generators, renew
from discreet.progress import hide_bars
from discreet.queries import Budget, Prepared, Query, check_budget, expect_budget, not_a_query
from discreet.rational import as_integer
from discreet.release import Plan, Release
from discreet.schema import Schema, not_a_schema
from discreet.selection import Selection
from discreet.sql import AsksSql
from discreet.step import BatchStep, Step, make_batches, not_a_step, read_rows
from discreet.unit import ADD_REMOVE, Relation, Unit

__all__ = ["PrivateDataset", "agree_on_unit", "list_columns"]

T = TypeVar("T")
Run = Callable[[int, "tuple[PrivateDataset, ...]"], tuple[float, T]]


@final
class PrivateDataset(Asking, Checkable, AsksSql):
    """Rows behind a door: what is asked is charged to a ledger first, and then noised.

    Parameters
    ----------
    data : frame, array, mapping, path or URL
        A frame of Polars (eager or lazy), pandas, PyArrow, Dask or PySpark; a DuckDB relation; an Ibis table;
        a PyArrow data set; a NumPy array, structured or with the schema's columns in order; a mapping of
        names to arrays; the path of a CSV file (``.csv``, ``.csv.gz``), of a Parquet file, folder or pattern;
        the URL of a table: ``"postgresql://host/database?table=people"``, ``"duckdb:///file.db?table=people"``.
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
    Every answer satisfies the measure it was charged with, for the unit, if the schema is public and nothing
    else reads the rows. A lazy frame's own plan is trusted: it must work row by row, and not fail because of
    a cell. The door stops mistakes, not a hostile analyst in the same process. No cell can make it raise, or
    change a shape or a message. Proof page: ``docs/proofs/coding.md``.
    Threads may share a data set; DuckDB relations and Ibis tables need their connection for themselves then.
    """

    def __init__(
        self,
        data: Any,
        schema: Schema,
        *,
        unit: Unit | Relation | None = None,
        ledger: Payer | None = None,
        rows: int | None = None,
    ) -> None:
        data = conceal(data)  # debuggers show what a call held, and a URL may hold a password
        if not isinstance(schema, Schema):
            raise not_a_schema(schema)
        if ledger is not None and not isinstance(ledger, Payer):
            raise TypeError(
                "ledger must be a dp.Ledger or one of its accounts, such as dp.Ledger(limit=dp.PureDP(1)), "
                f"not {type(ledger).__name__}."
            )
        self._schema = schema
        self._unit = agree_on_unit(unit, None if ledger is None else ledger.book)
        self._payer: Payer = Nobody() if ledger is None else ledger
        self._made_up = isinstance(data, MadeUpRows)
        self._engine: Engine = open_engine(data, schema, self.unit)
        self._rows: int | None = None
        if rows is not None:
            self._rows = as_integer(rows, "rows")
            if self.unit.relation is ADD_REMOVE:
                raise ValueError(
                    "rows must not be declared under dp.ADD_REMOVE: there the number of rows is private."
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
        return self._payer.book

    @property
    def is_private(self) -> bool:
        """Whether answers are private: not on public rows, and not with noise from a fixed seed."""
        return not self.unit.is_public and not entropy.is_fixed()

    @property
    def is_made_up(self) -> bool:
        """Whether the rows were made up for a rehearsal: then nothing here is about anybody."""
        return self._made_up

    @property
    def entry(self) -> Entry | None:
        """Inside ``with data.prepaid(...)``: the ledger's entry for the plan; None elsewhere."""
        return self._payer.entry if isinstance(self._payer, PaidPlan) else None

    @property
    def begun(self) -> int:
        """Inside ``with data.prepaid(...)``: how many of the plan's events were begun so far."""
        return self._payer.begun if isinstance(self._payer, PaidPlan) else 0

    @property
    def rows(self) -> int | None:
        """The public number of rows, where it is public."""
        return self._rows

    @expect_budget
    @former_keyword("how", "budget")
    def plan(
        self, asked: Query | Step, budget: Budget | None = None, *, rows: int | None = None
    ) -> Plan:
        """What an answer would cost and how noisy it would be, without touching a row.

        Parameters
        ----------
        asked : Query or Step
        budget : Measure or Mechanism
            As in `release`; a step needs none.
        rows : int, optional
            A public guess of the number of rows, where the error depends on it.
        """
        if isinstance(asked, Step):
            event = asked.event(self.schema, self.unit)
            return Plan(asked, event, None, None, None, NOT_DATA * self.is_made_up)
        prepared = self._prepare(asked, budget)
        guess = self.rows if rows is None else as_integer(rows, "rows")
        known = guess is not None or not prepared.error_needs_rows
        stderr = prepared.expected_error(1 if guess is None else guess) if known else None
        told = [asked.tell_limit(asked.narrow(self.unit)), NOT_DATA * self.is_made_up]
        return Plan.from_prepared(asked, prepared, stderr, self.schema, told)

    @expect_budget
    @former_keyword("how", "budget")
    def release(self, query: Query, budget: Budget, *, check: bool | float = False) -> Release:
        """The noised answer to a query, charged before a row is read.

        Parameters
        ----------
        query : Query
        budget : Measure or Mechanism
            ``dp.PureDP(epsilon)``, ``dp.ApproxDP(epsilon, delta)``, ``dp.ZCDP(rho)``: the mechanism with
            the least noise that gives it; or a mechanism, such as ``dp.mechanisms.Gaussian(1, 1e-6)``.
        check : bool or float
            True spends a tenth of the budget, a number that share of it, on a check of the columns that the
            query uses; ``release.checked`` has what it found. See `check`.

        Raises
        ------
        BudgetExceeded
            When the ledger has less left. Nothing was read.
        """
        if check is not False:
            checked: Release = release_checked(self, query, budget, check)
            return checked
        prepared = self._prepare(query, budget)
        entry = self._charge(prepared.event, prepared.measure, repr(query))
        answer = prepared.answer(self._engine)
        return Release.from_answer(
            query, prepared, answer, entry, self.is_private, self.unit, self.is_made_up
        )

    def run(self, step: Step, measure: Measure | None = None) -> Any:
        """The result of a step, its event charged before it sees a row."""
        if not isinstance(step, Step):
            raise not_a_step(step)
        if step.ordered and (self.unit.id_column is not None or not self._engine.is_ordered):
            raise ValueError(
                f"{step!r} rests on the order of rows, which a database, a lazy frame or a limit of rows per "
                "person doesn't keep: give arrays, a data frame in memory or a CSV file, or use "
                "order='random'."
            )
        self._charge(step.event(self.schema, self.unit), measure, repr(step))
        return step.run(read_rows(self._engine, step, self.schema, self.unit))

    def run_batches(
        self,
        step: BatchStep,
        places: Places,
        measure: Measure | None = None,
        *,
        token: str,
    ) -> Iterator[tuple[int, str]]:
        """Run a step on batches of rows, all of it charged once, before a row is read.

        Parameters
        ----------
        step : BatchStep
        places : Places
            In which slot each row stands, and how slots are cut into batches.
        measure : Measure, optional
            What it may cost, as in `Ledger.charge`.
        token : str
            The release's name in the ledger: charged once. Only the same rows may be given with it again.

        Yields
        ------
        tuple of int and str
            The number of a batch and its name, once the ledger has it: neither read nor made again later.
        """
        return self._run_part(step, places, measure, token, Progress(self.ledger, token))

    def _run_part(
        self, step: BatchStep, places: Places, cost: Measure | None, token: str, progress: Progress
    ) -> Iterator[tuple[int, str]]:
        """For growing tables alone: they vouch that a part with its own `progress` holds other persons."""
        self._charge(self.check_batches(step, places), cost, repr(step), token)
        codes = tuple(self.schema.code(name) for name in step.columns)
        return make_batches(self._engine, step, codes, places, progress)

    def check_batches(self, step: BatchStep, places: Places) -> events.Event:
        """What `run_batches` would charge; raises, from public facts alone, where it would be refused."""
        if not isinstance(step, BatchStep):
            raise TypeError(f"step must be a BatchStep, not {type(step).__name__}.")
        if isinstance(self._payer, PaidPlan):
            raise ValueError("rows can't be written in batches inside a plan paid in advance.")
        self._engine.check_places(places)
        return step.event(self.schema, self.unit)

    @contextmanager
    def prepaid(
        self,
        event: events.Event,
        measure: Measure | None = None,
        *,
        token: str | None = None,
        note: str = "prepaid plan",
    ) -> Iterator[PrivateDataset]:
        """These rows for a plan fixed in advance, with one charge for all of it.

        Inside the block each thing asked must be the plan's next event, and charges nothing more. Leaving
        early refunds nothing. Threads may share it: events are taken in the order in which they ask.

        Parameters
        ----------
        event : Event
            The whole plan.
        measure : Measure, optional
            What it may cost, as in `Ledger.charge`.
        token : str, optional
            A name for the plan, to take it up again after a crash: it is charged once, each step is entered
            in the ledger before its rows are read, and ``begun`` tells how many were: none is read twice.
        note : str
            What the plan is for, as the ledger's entry will say it: from public facts alone.
        """
        if not isinstance(event, events.Event):
            raise TypeError("event must come from discreet.events, as data.plan(...).event does.")
        if token is not None and isinstance(self._payer, PaidPlan):
            raise ValueError("token: a part of a plan has no token of its own; give the whole one.")
        entry = self._charge(event, measure, note, token)
        plan = PaidPlan(event, entry, self._payer.book, token)
        rounds = sum(1 for _ in islice(events.iter_leaves(event), 3))
        try:
            yield self._behind(with_cache(self._engine, rounds), plan, self.rows)
        finally:
            plan.close()

    def select(
        self, selection: Selection, run: Run[T], measure: Measure | None = None
    ) -> tuple[float, T]:
        """The best outcome, alone, of a random number of runs, all of it charged before a row is read.

        Parameters
        ----------
        selection : Selection
        run : callable
            From the number of a setting and one data set for each of its events to a score and a result.
            Each data set takes its event once, charges nothing, and can't be read after the run. It must
            keep nothing else of a run: their number and their other outcomes are secret. Its warnings are
            not shown. Python's and numpy's generators, torch's if that was imported, and those that `run`
            holds are seeded anew before each run, and put back afterwards: what a run drew from them
            doesn't tell which run it was. What a library without a known generator draws, or a process that
            a run starts, must not tell it either. Where no event costs anything, on public rows, every
            setting is tried once, in order.
        measure : Measure, optional
            What it may cost, as in `Ledger.charge`.

        Privacy
        -------
        That of ``selection.event(unit)``. Proof page: ``docs/proofs/model_selection.md``.
        """
        entry = self._charge(selection.event(self.unit), measure, "the best of several runs")
        engine = RowCache(with_cache(self._engine, 0))  # for as long as the search lasts

        def once(at: int) -> tuple[float, T]:
            plans = [PaidPlan(event, entry, self._payer.book) for event in selection.settings[at]]
            try:
                return run(at, tuple(self._parts(engine, plans, selection.parts(at))))
            finally:
                for plan in plans:
                    plan.close()

        if selection.is_free(self.unit):
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

        best: BestOf[T] = BestOf(selection.one_run(self.unit), selection.shape, selection.gamma)
        return best.run(alone, reach=run)

    def _parts(
        self, engine: Engine, plans: list[PaidPlan], parts: tuple[Condition | None, ...]
    ) -> Iterator[PrivateDataset]:
        """For each plan the rows where its condition holds, as long as the plan is open."""
        for plan, where in zip(plans, parts, strict=True):
            rows = self.rows if where is None else None
            yield self._behind(GuardedEngine(engine, plan.check, where), plan, rows)

    def with_schema(self, schema: Schema) -> PrivateDataset:
        """The same rows and the same ledger, with columns declared otherwise.

        Parameters
        ----------
        schema : Schema
            Declares columns of these rows, with kinds that fit the same types: other bounds, another
            scale, fewer columns; or derives more, as ``data.schema.derive(...)`` does.

        Privacy
        -------
        Declarations are public, and whatever is asked is charged where the rows' other answers are.
        """
        if not isinstance(schema, Schema):
            raise TypeError(f"schema must be a dp.Schema, not {type(schema).__name__}.")
        check_same_kinds(self.schema, schema)
        self._engine.check(schema, self.unit)
        return self._behind(self._engine, self._payer, self.rows, schema)

    def _behind(self, engine: Engine, payer: Payer, rows: Any, more: Any = None) -> PrivateDataset:
        """The same facts, other rows, another payer; with a schema that derives more, if one is given."""
        schema = more or self.schema
        found = PrivateDataset(engine, schema, unit=self.unit, ledger=payer, rows=rows)
        found._made_up = self._made_up
        return found

    def _charge(
        self, event: events.Event, measure: Measure | None, note: str, token: str | None = None
    ) -> Entry | None:
        if entropy.is_fixed():
            note += " [noise from a fixed seed: NOT PRIVATE]"
        note += f" [{NOT_DATA}]" * self.is_made_up
        return self._payer.charge(event, measure, note=note, token=token)

    def _prepare(self, query: Query, budget: Budget | None) -> Prepared:
        if not isinstance(query, Query):
            raise not_a_query(query)
        return query.prepare(check_budget(budget), self.schema, query.narrow(self.unit), self.rows)

    def __repr__(self) -> str:
        return f"PrivateDataset({self.schema!r},\n  unit: {self.unit}{self.is_made_up * f', {NOT_DATA}'})"

    def __reduce__(self) -> Any:
        raise TypeError(
            "a private data set can't be pickled or copied, which would copy its rows: open it where it is "
            "needed, with the same ledger."
        )
