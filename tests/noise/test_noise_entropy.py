"""Streams: one per thread and process, never copied, reproducible only inside `fixed`."""

from __future__ import annotations

import asyncio
import copy
import ctypes
import multiprocessing
import os
import pickle
import threading
from collections.abc import Callable

import numpy as np
import pytest

from discreet import noise
from discreet.events import DiscreteLaplace
from discreet.ledger import LedgerUnavailable
from discreet.ledger.own import OwnLedger
from discreet.measures import PureDP
from discreet.noise import entropy
from discreet.unit import ADD_REMOVE, Unit


def draws() -> list[int]:
    """A few small draws, served from the buffer, and some of a large one."""
    small = [int(word) for _ in range(5) for word in noise.random_words(3)]
    return small + noise.random_words(2000)[:5].tolist()


def in_fork(act: Callable[[], list[int]], fork: Callable[[], int] = os.fork) -> list[int]:
    reader, writer = os.pipe()
    child = fork()
    if child == 0:  # pragma: no cover
        try:
            os.write(writer, pickle.dumps(act()))
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        received: list[int] = pickle.loads(pipe.read())
    os.waitpid(child, 0)
    return received


def in_thread(act: Callable[[], object]) -> object:
    result: list[object] = []
    thread = threading.Thread(target=lambda: result.append(act()))
    thread.start()
    thread.join()
    return result[0]


def test_a_forked_child_draws_other_noise() -> None:
    noise.random_words(3)  # leaves words in the parent's buffer
    first, second = in_fork(draws), in_fork(draws)
    own = draws()
    assert len(set(first) | set(second) | set(own)) == 60
    grandchild = in_fork(lambda: [*draws(), *in_fork(draws)])
    assert len(set(grandchild)) == 40


def test_the_fork_test_notices_a_stream_that_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: with the owner forgotten, child and parent draw the same."""
    monkeypatch.setattr(entropy, "_here", lambda: (0, 0, 0))
    noise.random_words(3)
    child = in_fork(draws)
    assert child == draws()
    monkeypatch.undo()
    assert draws() != child


def test_a_fork_that_python_did_not_see(monkeypatch: pytest.MonkeyPatch) -> None:
    before = entropy.current()
    pid = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: pid + 1)
    assert entropy.current() is not before


@pytest.mark.skipif(entropy._page is None, reason="this kernel marks no pages")
def test_a_fork_that_neither_python_nor_the_process_id_tells(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As in a namespace of its own, where a child can have the number that its parent has outside."""
    monkeypatch.setattr(os, "getpid", lambda: 1)
    fork = ctypes.CDLL(None).fork  # none of Python's hooks runs
    own = OwnLedger(PureDP(1), Unit(ADD_REMOVE))

    def act() -> list[int]:
        try:
            own.charge(DiscreteLaplace(1))
        except LedgerUnavailable:
            return [*draws(), *in_fork(draws, fork)]
        return []

    noise.random_words(3)
    child = in_fork(act, fork)
    assert len(set(child) | set(draws())) == 60
    assert entropy.current_process()[1] == 1
    monkeypatch.setattr(entropy, "_page", None)
    blind = in_fork(draws, fork)
    assert blind == draws()  # the control: without the page both draw the same


def _laplace(_: int) -> list[int]:
    return noise.discrete_laplace(10**12, 8).tolist()


def test_worker_processes_draw_other_noise() -> None:
    noise.discrete_laplace(1, 8)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        results = pool.map(_laplace, range(6), chunksize=1)
    flat = [value for result in results for value in result]
    assert len(set(flat)) == len(flat)


def test_threads_draw_from_streams_of_their_own() -> None:
    here, there, elsewhere = draws(), in_thread(draws), in_thread(draws)
    assert isinstance(there, list)
    assert isinstance(elsewhere, list)
    assert len(set(here) | set(there) | set(elsewhere)) == 60
    assert in_thread(entropy.current) is not entropy.current()


@pytest.mark.parametrize("reproducible", [False, True])
def test_streams_refuse_to_be_copied(reproducible: bool) -> None:
    stream = entropy.current()
    if reproducible:
        with entropy.fixed(1):
            stream = entropy.current()
    for act in (copy.copy, copy.deepcopy, *[lambda s, p=p: pickle.dumps(s, p) for p in range(6)]):
        with pytest.raises(TypeError, match="can't be copied"):
            act(stream)


@pytest.mark.parametrize("seed", [0, -1, 10**30, "a", b"a"])
def test_fixed_is_reproducible_and_restores(seed: int | str | bytes) -> None:
    own = entropy.current()
    with entropy.fixed(seed):
        assert entropy.is_fixed()
        once = draws()
    assert not entropy.is_fixed()
    assert entropy.current() is own
    with entropy.fixed(seed):
        again = draws()
    assert once == again
    assert draws() != once


def test_seeds_of_different_types_differ() -> None:
    results = []
    for seed in (1, "1", b"1", 2):
        with entropy.fixed(seed):
            results.append(tuple(draws()))
    assert len(set(results)) == 4


def test_a_seed_means_the_same_words_everywhere() -> None:
    """Golden: SHA-512 gives the key; AES-256 in counter mode from block 0 gives the words."""
    import hashlib

    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    key = hashlib.sha512(b"discreet fixed noise:int:7").digest()[:32]
    stream = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor().update(bytes(8000))
    with entropy.fixed(7):
        np.testing.assert_array_equal(noise.random_words(1000), np.frombuffer(stream, np.uint64))


def test_fixed_nests_and_survives_exceptions() -> None:
    with entropy.fixed(1):
        outer = entropy.current()
        with entropy.fixed(2):
            assert entropy.current() is not outer
        assert entropy.current() is outer
        with pytest.raises(RuntimeError, match="inside"), entropy.fixed(3):
            raise RuntimeError("inside")
        assert entropy.current() is outer
    assert not entropy.is_fixed()


def test_fixed_is_not_inherited() -> None:
    with entropy.fixed(1):
        assert in_thread(entropy.is_fixed) is False
        assert in_fork(lambda: [int(entropy.is_fixed())]) == [0]
        here = draws()
    with entropy.fixed(1):
        assert in_thread(draws) != here
        assert in_fork(draws) != here

    async def carried() -> bool:  # asyncio.to_thread copies the context into another thread
        with entropy.fixed(1):
            return await asyncio.to_thread(entropy.is_fixed)

    assert asyncio.run(carried()) is False


def test_a_child_that_leaves_the_block_does_not_return_to_the_parents_stream() -> None:
    noise.random_words(3)
    context = entropy.fixed(1)
    context.__enter__()

    def leave() -> list[int]:
        context.__exit__(None, None, None)
        return draws()

    child = in_fork(leave)
    context.__exit__(None, None, None)
    assert not set(child) & set(draws())


@pytest.mark.parametrize("seed", [True, 1.5, None])
def test_a_bad_seed(seed: object) -> None:
    with pytest.raises(TypeError, match="seed"), entropy.fixed(seed):  # type: ignore[arg-type]
        pass


def test_words_are_not_repeated_across_sizes() -> None:
    seen: set[int] = set()
    total = 0
    for size in [1, 2, 500, 511, 512, 513, 1, 3, 20_000, 300, 300, 16_384, 16_385, 40_000]:
        words = noise.random_words(size)
        assert words.dtype == np.uint64
        assert words.size == size
        seen.update(words.tolist())
        total += size
    assert len(seen) == total


def test_bits() -> None:
    with entropy.fixed(1):
        stream = entropy.current()
        for count in (1, 7, 8, 9, 64, 65, 200):
            values = [stream.bits(count) for _ in range(60)]
            assert max(values) < 1 << count
            assert max(values) >= 1 << count - 1
