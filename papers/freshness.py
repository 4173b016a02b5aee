"""Whether kept figures are those of the code as it stands: the first seeds are run again, beside them.

A number is stale if its fresh mean lies more standard errors from the kept one than chance explains, or if
fresh values lie beyond kept quartiles oftener than it does. The second finds what the first can't: a mean
that a few quotients decide has no useful spread.
"""

from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats
from summaries import Numbers, Summary, markdown

__all__ = ["Check", "Stale", "check_experiment", "compare", "judge", "report"]

#: Standard errors of a difference that chance doesn't explain; its share where few runs are kept.
ERRORS, FEW_RUNS = 5.0, 1e-3
#: Spreads of more than so many distances of quartiles come from a few runs, if at least so many are kept.
WILD, MANY_RUNS = 2.0, 20
#: A place among the kept runs that chance doesn't explain.
RARE = 1e-6
#: Errors of equal numbers, whose mean is rounded, and numbers that are 0 but for rounding; and what sums may
#: differ by between machines.
EQUAL, ROUNDING = 1e-12, 1e-6

Floats = npt.NDArray[np.float64]
Run = Callable[..., Numbers]
Settings = Mapping[str, tuple[Any, ...]]


@dataclass(frozen=True)
class Stale:
    """A number that the code no longer gives."""

    experiment: str
    setting: str
    number: str
    kept: str
    now: str
    why: str


@dataclass
class Check:
    """What was compared, what is stale, and what couldn't be judged."""

    compared: int = 0
    stale: list[Stale] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def judge(kept: Summary, fresh: Iterable[float]) -> str:
    """Say why fresh values aren't of the distribution that was kept; empty if they may be."""
    values = np.asarray(list(fresh), np.float64)
    if kept.count == 1 or kept.error <= EQUAL * abs(kept.mean):
        return "" if comes_out_again(kept, values) else "there was no spread"
    if not np.isfinite([kept.mean, kept.error]).all():
        return _judge_places(kept, values)
    if np.abs([kept.mean, *values]).max() <= EQUAL:
        return ""
    spread = kept.error * math.sqrt(kept.count)
    if kept.count >= MANY_RUNS and spread > WILD * (kept.high - kept.low):
        return _judge_places(kept, values)
    error = spread * math.sqrt(1 / kept.count + 1 / len(values))
    apart = abs(float(values.mean()) - kept.mean) / error
    bar = max(ERRORS, float(stats.t.isf(FEW_RUNS / 2, kept.count - 1)))
    if not apart <= bar:  # what is not a number is never near one
        return f"{apart:.1f} standard errors apart, where {bar:.1f} may be chance"
    return _judge_places(kept, values)


def comes_out_again(kept: Summary, values: Floats) -> bool:
    """Whether all values are the kept mean, but for rounding."""
    return bool(np.isclose(values, kept.mean, rtol=ROUNDING, atol=EQUAL, equal_nan=True).all())


def _judge_places(kept: Summary, values: Floats) -> str:
    """Whether too many values lie beyond a quartile or the median, of which a place in the order is known."""
    runs, count = len(values), kept.count
    for name, edge, share in (
        ("lower quartile", kept.low, 0.25),
        ("median", kept.median, 0.5),
        ("upper quartile", kept.high, 0.75),
    ):
        # The place of the edge among the kept runs, rounded to the side that explains more by chance: so many
        # of new values below a value of rank r among n have a beta-binomial distribution, whatever theirs is.
        for side, beyond, part in (
            ("below", int((values < edge).sum()), share),
            ("above", int((values > edge).sum()), 1 - share),
        ):
            rank = min(math.ceil(part * (count - 1)) + 1, count)
            chance = stats.betabinom.sf(beyond - 1, runs, rank, count + 1 - rank)
            if chance < RARE:
                return f"{beyond} of {runs} runs {side} the kept {name}"
    return ""


def compare(
    name: str, kept: dict[str, dict[str, Summary]], fresh: dict[str, list[Numbers]]
) -> Check:
    """Hold fresh runs of an experiment against what is kept of it.

    What was run once has no spread to judge by: if it doesn't come out again, a note says so.
    """
    found = Check()
    for setting, runs in fresh.items():
        for number in sorted({*kept[setting], *runs[0]}):
            place = name, setting, number
            if number not in kept[setting] or number not in runs[0]:
                words = ("–", "is there") if number in runs[0] else ("is there", "–")
                found.stale.append(Stale(*place, *words, "on one side alone"))
                continue
            summary, values = kept[setting][number], [run[number] for run in runs]
            now = Summary.of(values)
            found.compared += 1
            if not (why := judge(summary, values)):
                continue
            if summary.count == 1:
                words = f"was {summary} and is {now}; one run has no spread to judge by."
                found.notes.append(f"{' / '.join(filter(None, place))} {words}")
                continue
            shown = f"{summary} ({summary.count})", f"{now} ({now.count})"
            found.stale.append(Stale(*place, *shown, why))
    return found


def check_experiment(
    name: str,
    run: Run,
    settings: Settings,
    kept: dict[str, dict[str, Summary]],
    *,
    seconds: float,
    runs: int,
) -> Check:
    """Run first seeds again, at most `runs` of each setting and for so many seconds, and compare.

    Settings whose kept results have no experiment any longer are stale; those that aren't reached in time are
    named in the notes.
    """
    counts = {
        setting: min(runs, max(s.count for s in kept[setting].values()))
        for setting in settings
        if kept.get(setting)
    }
    fresh: dict[str, list[Numbers]] = {}
    tasks = [
        (setting, seed)
        for seed in range(max(counts.values(), default=0))
        for setting in counts
        if seed < counts[setting]
    ]
    for setting, numbers in _run_within(seconds, run, settings, tasks):
        fresh.setdefault(setting, []).append(numbers)
    found = compare(name, kept, fresh)
    for setting in kept:
        if setting not in settings:
            found.stale.append(Stale(name, setting, "all", "is there", "–", "no such setting"))
    if late := [setting for setting in counts if setting not in fresh]:
        shown = ", ".join(late[:3]) + (f" and {len(late) - 3} more" if len(late) > 3 else "")
        found.notes.append(f"{name}: no run ended within {seconds:g} s for {shown or 'it'}.")
    found.notes += [
        f"{name} / {setting}: nothing is kept." for setting in settings if not kept.get(setting)
    ]
    return found


def _run_within(
    seconds: float, run: Run, settings: Settings, tasks: list[tuple[str, int]]
) -> Iterator[tuple[str, Numbers]]:
    """What ends in time, in a process that is stopped then, with all that it began."""
    if not tasks:
        return
    context = get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_serve, args=(sender, run, settings, tasks))
    child.start()
    sender.close()
    end = time.monotonic() + seconds
    try:
        while receiver.poll(max(0.0, end - time.monotonic())):
            try:
                answer = receiver.recv()
            except EOFError:
                break
            if isinstance(answer, BaseException):
                raise answer
            yield answer
    finally:
        with suppress(ProcessLookupError):
            os.killpg(int(child.pid or 0), signal.SIGKILL)
        child.kill()
        child.join()


def _serve(sender: Any, run: Run, settings: Settings, tasks: list[tuple[str, int]]) -> None:
    """Send the numbers of each run as it ends."""
    os.setsid()
    for setting, seed in tasks:
        try:
            found = run(*settings[setting], seed=seed)
            answer: Any = setting, {key: float(value) for key, value in found.items()}
        except Exception as error:  # the parent raises it
            answer = RuntimeError(f"{setting or 'the run'}, seed {seed}: {error!r}")
        sender.send(answer)


def report(found: Check) -> str:
    """What is stale as a table, and what couldn't be judged."""
    lines = list(found.notes)
    if found.stale:
        head = ["experiment", "setting", "number", "kept (runs)", "now (runs)", "why"]
        rows = [[s.experiment, s.setting, s.number, s.kept, s.now, s.why] for s in found.stale]
        lines.append(markdown(head, rows))
    lines.append(f"{found.compared} numbers compared, {len(found.stale)} stale.")
    return "\n".join(lines)
