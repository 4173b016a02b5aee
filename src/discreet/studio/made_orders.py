"""Orders that make something of the rows: models by name, and tables that may be seen."""

from __future__ import annotations

import io
from collections.abc import Mapping
from functools import cached_property
from typing import Any, final

from discreet.cli.fitting import find_kind, list_kinds, read_parameters
from discreet.cli.outcome import CommandError
from discreet.cli.rows import format_rows
from discreet.cli.settings import check_known, read_settings, to_kebab
from discreet.dataset import PrivateDataset
from discreet.measures import ApproxDP, Measure, PureDP
from discreet.report.blocks import Facts, Grid, Section, Words
from discreet.report.guarantee import name_measure
from discreet.show import Table
from discreet.studio.desk import Desk
from discreet.studio.doors import ReleasePayer, open_empty
from discreet.studio.orders import Order, Outcome

__all__ = ["ModelOrder", "TableOrder", "list_models"]


def list_models() -> dict[str, str]:
    """The models that can be fitted here, with the first line of what is said about each."""
    import inspect

    return {
        name: (inspect.getdoc(kind) or "").partition("\n")[0]
        for name, kind in list_kinds().items()
        if "estimator" not in kind._get_param_names()
    }


class _Made(Order):
    """An order with a name, a target and settings."""

    is_long = True

    def __init__(
        self,
        desk: Desk,
        measure: PureDP | ApproxDP,
        name: str,
        target: str | None,
        settings: list[str],
    ) -> None:
        super().__init__(desk, measure)
        self.name, self.target = name, target
        self.typed = settings
        self.settings: Mapping[str, Any] = read_settings(settings)

    def describe(self) -> str:
        target = "" if self.target is None else f", target {self.target}"
        more = "".join(f", {one}" for one in self.typed)
        return f"{self.name}{target}{more}"

    def _plan(self, price: Measure, table: Table | None, words: str) -> Section:
        facts = (("would cost", name_measure(price)), ("what", self.describe()))
        return Section(
            "Price and expected error",
            (Facts(facts), Words(words), *([] if table is None else [Grid(table)])),
        )

    def options(self) -> list[str]:
        words = ["--target", self.target] if self.target is not None else []
        return [*words, *(word for one in self.typed for word in ("--set", one))]


@final
class ModelOrder(_Made):
    """A model by name."""

    kind = "model"
    title = "a model"

    def __init__(
        self,
        desk: Desk,
        measure: PureDP | ApproxDP,
        name: str,
        target: str | None,
        settings: list[str],
    ) -> None:
        if name not in list_models():
            raise CommandError("choose a model of the list.")
        super().__init__(desk, measure, name, target, settings)
        self._class = find_kind(name)
        self.settings = read_parameters(self._class, dict(self.settings))

    def _build(self) -> Any:
        delta = getattr(self.measure, "delta", 0)
        return self._class(epsilon=self.measure.epsilon, delta=delta, **self.settings)

    @property
    def price(self) -> Measure:
        found: Measure = self._fit_plan.measure
        return found

    @property
    def allowance(self) -> Measure:
        return self.measure  # the price follows from the desk's ledger, too

    @cached_property
    def _fit_plan(self) -> Any:
        return self._build().plan(open_empty(self.desk), rows=self.rows, target=self.target)

    def _describe_plan(self) -> Section:
        plan = self._fit_plan
        table = plan.to_table()
        shown = Table(table.columns, table.rows, "Expected standard error of what is learned")
        words = "How well the model predicts depends on the rows, which nobody has looked at yet."
        return self._plan(plan.measure, shown if table.rows else None, words)

    def run(self, door: PrivateDataset, payer: ReleasePayer | None = None) -> Outcome:
        from discreet.models import to_json

        fitted = self._build().fit(door, target=self.target)
        text = to_json(fitted)
        return Outcome(fitted.privacy_.to_json(), {"model.json": text.encode()})

    def call(self) -> list[str]:
        kind = self._class
        home = ".".join(kind.__module__.split(".")[:3])
        given = "".join(f", {name}={value!r}" for name, value in self.settings.items())
        delta = self.write_measure().partition(", ")[2].rstrip(")") or "0"
        epsilon = self.write_measure().partition("(")[2].rstrip(")").partition(",")[0]
        target = "" if self.target is None else f", target={self.target!r}"
        return [
            f"from {home} import {kind.__name__}",
            f"model = {kind.__name__}(epsilon={epsilon}, delta={delta}{given}).fit(data{target})",
            'dp.models.save(model, "model.json")',
        ]

    def options(self) -> list[str]:
        out = ["--out", "model.json", *self.row_options()]
        return ["fit", to_kebab(self._class.__name__), *super().options(), *out]


@final
class TableOrder(_Made):
    """A table that may be seen."""

    kind = "table"
    title = "a table"

    def __init__(
        self,
        desk: Desk,
        measure: PureDP | ApproxDP,
        name: str,
        target: str | None,
        settings: list[str],
    ) -> None:
        from discreet.publish.publishers import list_publishers

        super().__init__(desk, measure, name, target, settings)
        known = {publisher.name: publisher for publisher in list_publishers()}
        if name not in known:
            raise CommandError("choose a way to publish of the list.")
        self._publisher = known[name]
        check_known(self.settings, self._publisher.settings, f"publish {name}")

    def _offer(self, door: PrivateDataset) -> Any:
        if self._publisher.shows_every_row and not door.unit.length_is_public:
            raise CommandError(
                f"{self.name} shows every row, so their number must be public: choose synthetic or masked, "
                "or protect by replacing one row on the page Protect."
            )
        return self._publisher.offer(door, self.measure, self.target, self.settings)

    @cached_property
    def price(self) -> Measure:
        found: Measure = self._offer(open_empty(self.desk)).measure
        return found

    def _describe_plan(self) -> Section:
        words = (
            f"{self._publisher.summary} How far it is from the table depends on the rows; a rehearsal on "
            "made-up rows shows its form."
        )
        return self._plan(self.price, None, words)

    def run(self, door: PrivateDataset, payer: ReleasePayer | None = None) -> Outcome:
        offer = self._offer(door)
        made = offer.publish(door)
        text = io.StringIO(newline="")
        format_rows(made, text)
        certificate = offer.certify(door, None if payer is None else payer.entry).to_json()
        return Outcome(certificate, {"table.csv": text.getvalue().encode("utf-8", "replace")})

    def call(self) -> list[str]:
        measure = self.write_measure()
        settings = dict(self.settings)
        return [
            "from discreet.publish.publishers import find_publisher",
            f"offer = find_publisher({self.name!r}).offer(data, {measure}, {self.target!r}, {settings!r})",
            "table = offer.publish(data)",
        ]

    def options(self) -> list[str]:
        out = ["--out", "table.csv", *self.row_options()]
        return ["publish", self.name, *super().options(), *out]
