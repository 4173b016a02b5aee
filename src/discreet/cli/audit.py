"""``discreet audit``: attacks on the claims of this toolkit, or on a callable of yours."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.outcome import FOUND, CommandError

if TYPE_CHECKING:
    from discreet.audit import AuditResult

__all__ = ["Wishes", "add_audit", "run"]


_HELP = """Attack guarantees: those of this toolkit, or a mechanism of yours.

Exit code 0: every verdict is as the claim's status says (with --callable: consistent); 1: it is not, or a
single claim that was asked for is violated; 2: wrong arguments.

\b
Examples:
  discreet audit proved --jobs 2
  discreet audit classic-gaussian-formula --json
  discreet audit --callable noise:noisy_count --neighbours '[0, 1]' --epsilon 1
"""


def add_audit(app: typer.Typer) -> None:
    """Add the command."""
    app.command("audit", help=_HELP, short_help="Attack guarantees, ours or yours.")(audit)


@dataclass(frozen=True)
class Wishes:
    """What was typed."""

    names: Sequence[str]
    callable: str | None
    neighbours: str | None
    epsilon: float | None
    delta: float
    trials: int
    rounding: float | None
    confidence: float
    effort: float
    jobs: int
    json: bool
    markdown: bool
    explain: bool
    source: str | None
    quiet: bool


Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME]...", help="Claims, or: all, proved, assumed, refuted."),
]
Callable = Annotated[
    str | None,
    typer.Option("--callable", metavar="MODULE:FUNCTION", help="Audit your own mechanism(data)."),
]
Neighbours = Annotated[
    str | None, typer.Option(metavar="JSON", help="A pair such as '[0, 1]' (--callable).")
]
Epsilon = Annotated[float | None, typer.Option(help="What the callable claims.")]
Delta = Annotated[float, typer.Option(help="What the callable claims.")]
Trials = Annotated[int, typer.Option(help="Runs on each side (--callable).")]
Rounding = Annotated[float | None, typer.Option(help="Audit the ideal mechanism, rounded to this.")]
Confidence = Annotated[float, typer.Option(help="Over the whole run.")]
Effort = Annotated[float, typer.Option(help="Multiplies the runs of attacks.")]
Jobs = Annotated[int, typer.Option(help="Processes that attack side by side.")]
Lines = Annotated[bool, typer.Option("--json", help="A line of JSON for each result.")]
Markdown = Annotated[bool, typer.Option("--markdown", help="A table for a document.")]
Explain = Annotated[
    bool,
    typer.Option(
        "--explain",
        help="Also measure how much each attack notices, and tell all about each claim.",
    ),
]
Source = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="FILE",
        help="Findings of an earlier --explain --json; with --json again, only what is missing is "
        "measured.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]


def audit(
    names: Names = None,
    callable_: Callable = None,
    neighbours: Neighbours = None,
    epsilon: Epsilon = None,
    delta: Delta = 0.0,
    trials: Trials = 100_000,
    rounding: Rounding = None,
    confidence: Confidence = 0.99,
    effort: Effort = 1.0,
    jobs: Jobs = 1,
    as_json: Lines = False,
    markdown: Markdown = False,
    explain: Explain = False,
    source: Source = None,
    quiet: Quiet = False,
) -> int:
    """Attack guarantees."""
    return run(
        Wishes(
            names or [],
            callable_,
            neighbours,
            epsilon,
            delta,
            trials,
            rounding,
            confidence,
            effort,
            jobs,
            as_json,
            markdown,
            explain,
            source,
            quiet,
        )
    )


def run(arguments: Wishes) -> int:
    """Attack, and print what was found."""
    if not 0 < arguments.confidence < 1:
        raise CommandError("--confidence must be between 0 and 1.")
    if not 0 < arguments.effort <= 1000:
        raise CommandError("--effort must be greater than 0, and at most 1000.")
    if arguments.callable is None and arguments.epsilon is not None:
        raise CommandError("--epsilon needs --callable: our own claims state their ε.")
    if arguments.callable is not None:
        if arguments.names:
            raise CommandError("give either names of claims or --callable, not both.")
        return _audit_own(arguments)
    if not arguments.names:
        raise CommandError("say what to audit: all, NAME, or --callable module:function.")
    if arguments.source is not None and not arguments.explain:
        raise CommandError("--from needs --explain: it holds findings of an earlier one.")
    return _explain(arguments) if arguments.explain else _claims(arguments)


def _explain(arguments: Wishes) -> int:
    """Tell all about claims: what was found, and how much each attack notices."""
    from discreet.cli.explain import measured, read, write, write_lines
    from discreet.guarantees import all_claims

    claims = {entry.name: entry for entry in all_claims()}
    chosen = [claims[name] for name in _choose(arguments.names, claims)]
    known = [] if arguments.source is None else read(arguments.source)
    if arguments.source is not None and not arguments.json:
        return write(chosen, known, arguments)
    there = {one.claim for one in known}
    missing = [entry for entry in chosen if entry.name not in there]
    confidence = 1 - (1 - arguments.confidence) / len(chosen)
    tasks = [(entry, confidence, arguments.effort) for entry in missing]
    found = [one for one in known if one.claim in {entry.name for entry in chosen}]
    write_lines(found, arguments)
    with _workers(arguments.jobs) as attacked:
        names = _progress([entry.name for entry in missing], arguments.quiet)
        for _, some in zip(names, attacked(measured, tasks), strict=True):
            write_lines(some, arguments)
            found += some
    return write(chosen, found, arguments)


def _audit_own(arguments: Wishes) -> int:
    from discreet.audit import audit
    from discreet.measures import ApproxDP, Measure, PureDP

    mechanism = _import_object(str(arguments.callable))
    if arguments.epsilon is None:
        raise CommandError("--epsilon must say what the callable claims.")
    pair: Any = getattr(sys.modules[mechanism.__module__], "NEIGHBOURS", None)
    if arguments.neighbours is not None:
        try:
            pair = json.loads(arguments.neighbours)
        except json.JSONDecodeError:
            raise CommandError("--neighbours must be JSON, such as '[0, 1]'.") from None
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        raise CommandError(
            "give --neighbours '[FIRST, SECOND]', or a pair NEIGHBOURS in the callable's module."
        )
    try:
        claim: Measure = PureDP(str(arguments.epsilon))
        if arguments.delta:
            claim = ApproxDP(str(arguments.epsilon), str(arguments.delta))
        result = audit(
            mechanism,
            tuple(pair),
            claim,
            trials=arguments.trials,
            confidence=arguments.confidence,
            rounding=arguments.rounding,
            title=arguments.callable,
        )
    except (RuntimeError, TypeError, ValueError) as error:
        raise CommandError(str(error)) from None
    sys.stdout.write((result.to_json() if arguments.json else repr(result)) + "\n")
    return FOUND if result.is_violated else 0


def _import_object(name: str) -> Any:
    module, _, function = name.partition(":")
    if not module or not function:
        raise CommandError("--callable must be module:function, such as noise:noisy_count.")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(import_module(module), function)
    except KeyboardInterrupt:
        raise
    except (
        BaseException
    ) as error:  # a module may fail, or even exit, in any way while it is imported
        raise CommandError(f"--callable: {type(error).__name__}: {error}.") from None
    if not callable(found):
        raise CommandError(f"--callable: {name} can't be called.")
    return found


def _claims(arguments: Wishes) -> int:
    from discreet.guarantees import all_claims

    claims = {entry.name: entry for entry in all_claims()}
    chosen = _choose(arguments.names, claims)
    # one confidence for the whole run: its risk is shared by the claims
    confidence = 1 - (1 - arguments.confidence) / len(chosen)
    found: dict[str, list[AuditResult]] = {}
    tasks = [(claims[name].audit, confidence, arguments.effort) for name in chosen]
    with _workers(arguments.jobs) as attacked:
        for name, results in zip(
            _progress(chosen, arguments.quiet), attacked(_attack, tasks), strict=True
        ):
            found[name] = results
            if arguments.json:
                for result in results:
                    line = {"claim_name": name, "status": claims[name].status, **result.to_dict()}
                    sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")
    violated = {name for name, results in found.items() if any(r.is_violated for r in results)}
    unexpected = [n for n in chosen if (n in violated) != (claims[n].status == "refuted")]
    if arguments.markdown:
        _print_markdown(found, claims)
    elif not arguments.json:
        _print_table(found, claims, unexpected)
    asked_for_one = len(chosen) == 1 and violated
    return FOUND if unexpected or asked_for_one else 0


def _attack(task: tuple[str, float, float]) -> list[AuditResult]:
    """All results of one attack; runs in a worker."""
    from discreet.audit import run_attack
    from discreet.guarantees import all_attacks

    name, confidence, effort = task
    attack = all_attacks().get(name)
    if attack is None:
        raise CommandError(f"there is no attack called {name!r}.")
    return list(run_attack(attack, confidence=confidence, effort=effort))


@contextmanager
def _workers(jobs: int) -> Iterator[Any]:
    """A `map` over this many processes."""
    if jobs < 1:
        raise CommandError("--jobs must be at least 1.")
    if jobs == 1:
        yield map
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield pool.map


def _print_table(
    found: dict[str, list[AuditResult]], claims: dict[str, Any], unexpected: list[str]
) -> None:
    from discreet.cli.tables import table

    rows = [
        (
            name,
            claims[name].status,
            result.verdict,
            f"{result.claimed:.4g}",
            f"{result.floor:.4g}",
            f"{result.title}: {result.event}",
        )
        for name, results in found.items()
        for result in results
    ]
    heads = ("claim", "status", "verdict", "claimed", "floor", "what tells the inputs apart")
    sys.stdout.write(table(heads, rows) + "\n\n")
    if unexpected:
        sys.stdout.write(f"NOT AS STATED: {', '.join(unexpected)}\n")
    else:
        sys.stdout.write(
            f"{len(found)} claim{'' if len(found) == 1 else 's'}, every verdict as stated: proved ones "
            "consistent, refuted ones caught.\n"
        )


def _print_markdown(found: dict[str, list[AuditResult]], claims: dict[str, Any]) -> None:
    """A table of the sharpest result for each claim."""
    lines = [
        "| claim | status | verdict | claimed | floor | case: event |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, results in found.items():
        sharpest = max(results, key=lambda r: (r.is_violated, r.floor - r.claimed))
        cells = [
            name,
            claims[name].status,
            sharpest.verdict,
            f"{sharpest.claimed:.4g}" if not isinstance(sharpest.claim, str) else "",
            f"{sharpest.floor:.4g}" if not isinstance(sharpest.claim, str) else "",
            f"{sharpest.title}: {sharpest.event}",
        ]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    sys.stdout.write("\n".join(lines) + "\n")


def _choose(names: Sequence[str], claims: dict[str, Any]) -> list[str]:
    chosen: list[str] = []
    for name in names:
        if name == "all":
            chosen += claims
        elif name in ("proved", "assumed", "refuted"):
            chosen += [c for c, entry in claims.items() if entry.status == name]
        elif name in claims:
            chosen.append(name)
        else:
            from difflib import get_close_matches

            near = get_close_matches(name, claims, 3)
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            raise CommandError(f"no claim is called {name!r}.{hint} `discreet claims` lists them.")
    if not chosen:
        raise CommandError("there is no such claim.")
    return list(dict.fromkeys(chosen))


def _progress(names: Sequence[str], quiet: bool) -> Iterator[str]:
    """The names, with a bar on the error stream if a person is looking."""
    shown = not quiet and sys.stderr.isatty()
    start = time.monotonic()
    for index, name in enumerate(names):
        if shown:
            done = "█" * round(20 * index / len(names))
            seconds = time.monotonic() - start
            line = f"\r{done:<20} {index}/{len(names)} {seconds:4.0f} s  {name:<40.40}"
            sys.stderr.write(line)
            sys.stderr.flush()
        yield name
    if shown:
        sys.stderr.write("\r" + " " * 80 + "\r")
