"""What is done at the end of a process, also of one that `multiprocessing` forked."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing import util

__all__ = ["also_in_children"]


def also_in_children(act: Callable[[], object]) -> None:
    """Have what `atexit` or `weakref.finalize` would do done in such a child, too: it runs neither.

    In other processes this does nothing. A child that is killed or terminated does nothing at its end.

    Examples
    --------
    >>> from discreet.ending import also_in_children
    >>> also_in_children(lambda: print("never said: this process runs what atexit has"))
    """
    if multiprocessing.parent_process() is not None:
        util.Finalize(None, act, exitpriority=0)
