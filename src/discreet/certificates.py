"""Releases and plans as JSON, with the certificate inside: what ran, what was charged, who is protected."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from discreet.check_report import CheckReport
from discreet.events import event_from_dict
from discreet.layout import Asked, Layout, lay_out
from discreet.ledger import Entry
from discreet.measures import measure_from_dict
from discreet.queries import (
    BoundsValue,
    Interval,
    MarginalsValue,
    MomentsValue,
    NoiseInterval,
    Sampling,
)
from discreet.show import decode_value, encode_value, read_document, write_document
from discreet.unit import Unit

__all__ = [
    "DEFAULT_LEVELS",
    "VERSION",
    "StoredIntervals",
    "describe_interval",
    "read_plan",
    "read_release",
    "write_plan",
    "write_release",
]

#: Raised when the form of these documents changes; old forms stay readable.
VERSION = 1
#: The levels at which intervals are written down.
DEFAULT_LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99, 0.999)
#: Values that are more than numbers and arrays; no others are built from a text.
_RECORDS: dict[str, Callable[..., Any]] = {
    kind.__name__: kind for kind in (BoundsValue, MarginalsValue, MomentsValue)
}


@final
@dataclass(frozen=True)
class StoredIntervals:
    """The intervals of a release that was read back, at the levels that were written down."""

    intervals: tuple[Any, ...]
    kind: str = "noise interval"

    def __call__(self, level: float) -> Any:
        """The interval at a level."""
        for interval in self.intervals:
            if interval.level == level:
                return interval
        if not self.intervals:
            raise ValueError(f"this release has no {self.kind}.")
        known = ", ".join(f"{interval.level:g}" for interval in self.intervals)
        raise ValueError(
            f"level must be one that was written down: {known}. Give to_json(levels=[{level:g}]) for others "
            "before the release is written."
        )


def describe_interval(interval: NoiseInterval) -> str:
    """What an interval covers, in words."""
    share = f"{interval.level:.6g}"
    match interval.unit:
        case "rank":
            return f"rank: how many rows from the asked rank, with probability {share}."
        case "score":
            return f"score: how far below the best score, with probability {share}."
    return f"lower, upper: the answer without noise, each with probability {share}; noise alone."


def write_release(release: Any, levels: Sequence[float]) -> str:
    """A release as JSON."""
    value = release.value
    if hasattr(value, "to_layout"):
        raise TypeError(
            f"a release of {type(value).__name__} can't be written as JSON or pickled, since its ranges "
            "need the whole design: use release.to_frame() or release.to_csv(path)."
        )
    body = {
        "query": repr(release.query),
        "layout": lay_out(release.query, value, release.labels).to_dict(),
        "value": encode_value(value),
        "stderr": encode_value(release.stderr),
        "labels": encode_value(release.labels),
        "intervals": _write_intervals(release, levels),
        "population": _write_population(release, levels),
        "checked": None if release.checked is None else release.checked.to_plain(),
        "note": release.note,
        "certificate": _certify(release),
    }
    return write_document("release", VERSION, body)


def read_release(text: object) -> dict[str, Any]:
    """The fields of a release from its JSON."""
    with read_document(text, "release", VERSION) as body:
        certificate = body["certificate"]
        intervals = [
            NoiseInterval(
                decode_value(one["lower"], _RECORDS),
                decode_value(one["upper"], _RECORDS),
                float(one["level"]),
                str(one["unit"]),
            )
            for one in body["intervals"]
        ]
        for name in ("is_private", "is_made_up"):
            if not isinstance(certificate[name], bool):
                raise TypeError(name)
        entry, unit = certificate["entry"], certificate["unit"]
        return {
            "query": Asked(str(body["query"]), Layout.from_dict(body["layout"])),
            "value": decode_value(body["value"], _RECORDS),
            "stderr": decode_value(body["stderr"], _RECORDS),
            "labels": decode_value(body["labels"]),
            "event": event_from_dict(certificate["event"]),
            "measure": measure_from_dict(certificate["measure"]),
            "entry": None if entry is None else Entry.from_dict(entry),
            "is_private": certificate["is_private"],
            "is_made_up": certificate["is_made_up"],
            "_interval": StoredIntervals(tuple(intervals)),
            "unit": None if unit is None else Unit.from_dict(unit),
            "note": str(body["note"]),
            "_sampling": _read_population(body["population"]),
            "checked": None if body["checked"] is None else CheckReport.from_plain(body["checked"]),
        }


def write_plan(plan: Any) -> str:
    """A plan as JSON."""
    body = {
        "asked": repr(plan.asked),
        "layout": lay_out(plan.asked, plan.stderr, plan.labels).to_dict(),
        "stderr": encode_value(plan.stderr),
        "labels": encode_value(plan.labels),
        "note": plan.note,
        "event": plan.event.to_dict(),
        "measure": None if plan.measure is None else plan.measure.to_dict(),
    }
    return write_document("plan", VERSION, body)


def read_plan(text: object) -> dict[str, Any]:
    """The fields of a plan from its JSON."""
    with read_document(text, "plan", VERSION) as body:
        measure = body["measure"]
        return {
            "asked": Asked(str(body["asked"]), Layout.from_dict(body["layout"])),
            "event": event_from_dict(body["event"]),
            "measure": None if measure is None else measure_from_dict(measure),
            "stderr": decode_value(body["stderr"], _RECORDS),
            "_error": None,
            "note": str(body["note"]),
            "labels": decode_value(body["labels"]),
        }


def _write_intervals(release: Any, levels: Sequence[float]) -> list[dict[str, Any]]:
    """Noise intervals at each level."""
    return [
        {**ends, "unit": interval.unit}
        for interval, ends in _iter_intervals(release._interval, release.noise_interval, levels)
    ]


def _write_population(release: Any, levels: Sequence[float]) -> dict[str, Any] | None:
    """Intervals for the population at each level, where the query bought them."""
    if release._sampling is None:
        return None
    source = release._sampling.interval
    found = [
        {**ends, "about": interval.about}
        for interval, ends in _iter_intervals(source, release.interval, levels)
    ]
    return {
        "is_disjoint": release._sampling.is_disjoint,
        "grain": encode_value(release._sampling.grain),
        "intervals": found,
    }


def _iter_intervals(
    source: Any, find: Callable[[float], Any], levels: Sequence[float]
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Intervals at each level, and their ends as plain data; those that were written down before stay."""
    stored = source if isinstance(source, StoredIntervals) else None
    for level in [one.level for one in stored.intervals] if stored is not None else levels:
        try:
            interval = find(level)
        except ValueError:
            if not 0 < level < 1:
                raise
            continue  # a choice has none
        ends = {"lower": encode_value(interval.lower), "upper": encode_value(interval.upper)}
        yield interval, {"level": float(level), **ends}


def _read_population(body: Any) -> Sampling | None:
    if body is None:
        return None
    if not isinstance(body["is_disjoint"], bool):
        raise TypeError("is_disjoint")
    intervals = [
        Interval(
            decode_value(one["lower"], _RECORDS),
            decode_value(one["upper"], _RECORDS),
            float(one["level"]),
            str(one["about"]),
        )
        for one in body["intervals"]
    ]
    stored = StoredIntervals(tuple(intervals), "interval for the population")
    grain = decode_value(body["grain"], _RECORDS) if "grain" in body else 0.0
    return Sampling(stored, body["is_disjoint"], grain)


def _certify(release: Any) -> Mapping[str, Any]:
    unit, entry = release.unit, release.entry
    return {
        "is_private": release.is_private,
        "is_made_up": release.is_made_up,
        "measure": release.measure.to_dict(),
        "event": release.event.to_dict(),
        "unit": None if unit is None else unit.to_dict(),
        "protected": None if unit is None else str(unit),
        "entry": None if entry is None else entry.to_dict(),
    }
