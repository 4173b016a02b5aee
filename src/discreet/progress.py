"""A bar on the terminal for what takes a while: what share was done, and how long the rest may take."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Set to 1 to show bars wherever standard error goes, to 0 never to show one.
SWITCH = "DISCREET_PROGRESS"
#: Seconds before a bar appears, and between its steps.
PATIENCE, PACE = 1.0, 0.2
WIDTH = 30
#: The bars that are open, the innermost last.
_bars: list[threading.Event] = []


def find_no_share() -> float:
    """The share of what can't say how far it is."""
    return -1.0


def is_wanted() -> bool:
    """Whether bars are shown: as the environment says, or on a terminal outside notebooks."""
    switch = os.environ.get(SWITCH, "").strip().lower()
    if switch:
        return switch not in ("0", "no", "off", "false")
    return sys.stderr.isatty() and "ipykernel" not in sys.modules


@contextmanager
def show(title: str, share: Callable[[], float]) -> Iterator[None]:
    """Inside the block, show `share()` (0 to 1; negative: not known) every now and then.

    Of bars inside each other the innermost is shown: it knows most.
    """
    if not is_wanted():
        yield
        return
    over = threading.Event()
    thread = threading.Thread(target=_draw, args=(title, share, over), daemon=True)
    _bars.append(over)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        _bars.remove(over)


def _draw(title: str, share: Callable[[], float], over: threading.Event) -> None:
    if over.wait(PATIENCE):
        return
    begin = time.monotonic() - PATIENCE
    is_drawn = False
    while not over.wait(PACE):
        if _bars[-1:] != [over]:
            continue
        try:
            part = min(float(share()), 1.0)
        except Exception:  # the bar must never be why an answer fails
            break
        full = round(max(part, 0.0) * WIDTH)
        bar = "#" * full + "-" * (WIDTH - full)
        passed = time.monotonic() - begin
        told = "    " if part < 0 else f"{part:4.0%}"
        _write(f"\r{title} [{bar}] {told} {passed:5.0f} s{_expect(part, passed)}")
        is_drawn = True
    if is_drawn:
        _write("\r\033[K" if sys.stderr.isatty() else "\n")


def _expect(part: float, passed: float) -> str:
    """How long the rest will take if it goes on like this; nothing before a hundredth was done."""
    return f", about {passed * (1 - part) / part:.0f} s left" if part >= 0.01 else ""


def _write(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        pass


@contextmanager
def hide_bars() -> Iterator[None]:
    """Inside, no progress bar is shown."""
    bars = os.environ.get(SWITCH)
    os.environ[SWITCH] = "0"
    try:
        yield
    finally:
        if bars is None:
            os.environ.pop(SWITCH, None)
        else:
            os.environ[SWITCH] = bars
