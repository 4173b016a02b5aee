"""Where random bits come from: AES-256 in counter mode under a key from the operating system.

Every thread has a stream of its own. A stream is never shared between processes: it remembers the
process it belongs to, and after a fork the child draws a new key, so a word of the parent is never
used twice. Streams refuse to be pickled or copied.

`fixed` replaces the stream by a reproducible one, for tests only: noise that can be
reproduced can be subtracted.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, NoReturn, final

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes

from discreet.noise.arrays import Words

__all__ = ["Stream", "current", "current_process", "fixed", "is_fixed"]

_CHUNK: Final = 1 << 14  # words encrypted at a time: 128 KiB, well inside a second-level cache
_ZEROS: Final = memoryview(bytes(8 * _CHUNK))  # plaintext: the key stream is its encryption


def _key_stream(key: bytes) -> CipherContext:
    # AES-256 in counter mode from block 0: NIST SP 800-38A (2001), section 6.5
    return Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()


@final
class Stream:
    """An endless sequence of uniform 64-bit words, and a second one of single bits.

    `fill` and `words` read the main key stream; `bits` reads a second one, under an independent
    key, which serves the rare draws that need more than their first word. Keeping the two apart
    means that how often a draw is refined doesn't shift the words of later draws.

    Parameters
    ----------
    keys : tuple of bytes
        Two keys of 32 bytes, for the main and for the second key stream.
    reproducible : bool
        Whether the keys came from a seed.
    """

    __slots__ = ("_main", "_second", "owner", "reproducible")

    def __init__(self, keys: tuple[bytes, bytes], *, reproducible: bool) -> None:
        self._main = _key_stream(keys[0])
        self._second = _key_stream(keys[1])
        self.owner = _here()
        self.reproducible = reproducible

    def fill(self, out: Words) -> None:
        """Overwrite `out`, a contiguous one-dimensional array of words, with uniform words."""
        # nothing is kept between calls: after an interrupt, or when a signal handler draws noise in the
        # middle of this loop, words are still fresh
        target = out.view(np.uint8).data
        for start in range(0, 8 * out.size, 8 * _CHUNK):
            part = target[start : start + 8 * _CHUNK]
            self._main.update_into(_ZEROS[: len(part)], part)

    def words(self, size: int) -> Words:
        """Return `size` uniform 64-bit words in a new array."""
        out = np.empty(size, np.uint64)
        self.fill(out)
        return out

    def bits(self, count: int) -> int:
        """Return a uniform integer below ``2**count`` from the second key stream."""
        octets = -(-count // 8)
        return int.from_bytes(self._second.update(bytes(octets)), "little") >> (8 * octets - count)

    def _refuse(self, *_: object) -> NoReturn:
        raise TypeError(
            "an entropy stream can't be copied or pickled: two copies would add the same noise "
            "twice; draw noise in the process that needs it, each has its own stream"
        )

    __copy__ = __deepcopy__ = __reduce__ = __getstate__ = _refuse

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        self._refuse(protocol)


_generation = 0  # number of forks between the first process and this one
_WIPE_ON_FORK: Final = 18  # MADV_WIPEONFORK of Linux 4.14, for which `mmap` has no name


def _mark_process() -> mmap.mmap | None:
    """A page that holds a 1 here, and that the kernel empties in every forked process; None without Linux."""
    if sys.platform != "linux":
        return None
    try:
        page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        page.madvise(_WIPE_ON_FORK)
    except (OSError, ValueError):  # an older kernel
        return None
    page[0] = 1
    return page


_page = _mark_process()


def _count_fork() -> None:
    global _generation
    _generation += 1
    if _page is not None:
        _page[0] = 1


os.register_at_fork(after_in_child=_count_fork)


def current_process() -> tuple[int, int]:
    """What tells this process from those it was forked from: whatever holds secrets belongs to one."""
    # The generation covers a reused process id. A fork that Python didn't see, made by a library, is told by
    # the page, and where there is none by the process id.
    if _page is not None and not _page[0]:
        _count_fork()
    return _generation, os.getpid()


def _here() -> tuple[int, int, int]:
    # the thread covers a context that was carried to another thread
    return *current_process(), threading.get_ident()


class _Own(threading.local):
    stream: Stream | None = None


_own = _Own()
_fixed: ContextVar[Stream | None] = ContextVar("discreet_fixed_stream", default=None)


def current() -> Stream:
    """Return the stream of this thread: its own, or the fixed one inside `fixed`."""
    here = _here()
    stream = _fixed.get()
    if stream is not None and stream.owner == here:
        return stream
    stream = _own.stream
    if stream is None or stream.owner != here:
        stream = Stream((os.urandom(32), os.urandom(32)), reproducible=False)
        _own.stream = stream
    return stream


def is_fixed() -> bool:
    """Tell whether noise drawn here and now is reproducible, and so not private."""
    stream = _fixed.get()
    return stream is not None and stream.owner == _here()


@contextmanager
def fixed(seed: int | str | bytes) -> Iterator[None]:
    """Draw reproducible noise inside a ``with`` block. For tests; **never** for a release.

    Parameters
    ----------
    seed : int, str or bytes
        Equal seeds give equal noise.

    Notes
    -----
    The block covers only the current thread (and asyncio task): another thread, and a child forked inside
    the block, keep drawing from the operating system. Blocks nest.

    Privacy
    -------
    None. Whoever knows the seed can subtract the noise.
    """
    if isinstance(seed, bool) or not isinstance(seed, int | str | bytes):
        raise TypeError(f"seed must be an int, a str or bytes, not {type(seed).__name__}")
    label = f"{type(seed).__name__}:".encode()
    body = seed if isinstance(seed, bytes) else str(seed).encode()
    keys = hashlib.sha512(b"discreet fixed noise:" + label + body).digest()
    token = _fixed.set(Stream((keys[:32], keys[32:]), reproducible=True))
    try:
        yield
    finally:
        _fixed.reset(token)
