"""Generators that anyone can replay: renewed during runs whose number is secret.

Python's, numpy's and torch's generators are public: whoever knows their state knows their draws, and
which draws they were. Where the best of several runs is released, what it drew from them would tell which
run it was. So each run begins with states of its own, independent of everything else, and afterwards the
states are what they were before.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import pickle
import random
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, FunctionType, GetSetDescriptorType, ModuleType
from typing import Any

import numpy as np

from discreet.noise import entropy

__all__ = [
    "count_libraries",
    "find_generators",
    "keep_states",
    "read_states",
    "renew",
    "reseed",
    "rewind",
]

#: Types that hold no generator.
_PLAIN = (str, bytes, int, float, type, type(sys), type(None), np.ndarray, np.generic)
#: Modules whose own functions and classes hold no generator but the process's, which are known.
_LIBRARIES = frozenset(
    {
        *sys.stdlib_module_names,
        "discreet",
        "joblib",
        "numpy",
        "pandas",
        "polars",
        "pyarrow",
        "scipy",
    }
    | {"sklearn", "torch"}
)
#: Bits of entropy that a generator is seeded with.
_BITS = 256

_turn = threading.RLock()  # the states are the whole process's: runs of several searches take turns


def _renew_turn() -> None:
    global _turn
    _turn = threading.RLock()  # another thread of the parent may have held it


os.register_at_fork(after_in_child=_renew_turn)


@dataclass(frozen=True)
class _State:
    """How the state of a generator is read, restored and reseeded."""

    get: Callable[[], Any]
    put: Callable[[Any], object]
    seed: Callable[[], object]


@contextmanager
def renew(generators: Sequence[Any] = ()) -> Iterator[None]:
    """Give public generators fresh, independent states inside the block, and restore the old ones afterwards.

    Parameters
    ----------
    generators : sequence
        What `find_generators` found, besides the generators of the whole process.

    Privacy
    -------
    The seeds come from the toolkit's entropy, anew each time: a state that was seeded once for several
    runs could be rolled back from one run to another. One thread at a time is inside; others that use the
    process's generators at the same time see, and shift, its draws.
    """
    with _turn:
        states = {**_process_states(), **{id(each): _state_of(each) for each in generators}}
        # all are read before one is seeded: two may share their bits
        kept = [(state.put, state.get()) for state in states.values()]
        for state in states.values():
            state.seed()
        try:
            yield
        finally:
            for name, state in _process_states().items():
                # its library was imported inside: no trace of its draws is left
                if name not in states:
                    state.seed()
            for put, before in reversed(kept):
                put(before)


@contextmanager
def rewind(generators: Sequence[Any] = ()) -> Iterator[Callable[[], None]]:
    """Give a function that sets public generators back to where the block began; they are so afterwards, too.

    Parameters
    ----------
    generators : sequence
        What `find_generators` found, besides the generators of the whole process.

    Privacy
    -------
    For tries on public rows, of which two must draw the same.
    """
    with _turn:
        back = keep_states(generators)
        try:
            yield back
        finally:
            back()


def keep_states(generators: Sequence[Any] = ()) -> Callable[[], None]:
    """A function that sets public generators back to where they are now.

    Parameters
    ----------
    generators : sequence
        What `find_generators` found, besides the generators of the whole process.
    """
    states = [*_process_states().values(), *map(_state_of, generators)]
    kept = [(state.put, state.get()) for state in states]

    def back() -> None:
        for put, before in reversed(kept):
            put(before)

    return back


def reseed(generators: Sequence[Any] = ()) -> None:
    """Give public generators fresh, independent states.

    Parameters
    ----------
    generators : sequence
        What `find_generators` found, besides the generators of the whole process.
    """
    for state in (*_process_states().values(), *map(_state_of, generators)):
        state.seed()


def read_states(generators: Sequence[Any] = (), *, with_torch: bool = True) -> bytes:
    """What the states of public generators are: the same bytes while nothing is drawn.

    Parameters
    ----------
    generators : sequence
        What `find_generators` found, besides the generators of the whole process.
    with_torch : bool
        Whether those of torch are read, too.
    """
    states = _process_states()
    named = {name: state for name, state in states.items() if with_torch or isinstance(name, str)}
    others = [g for g in generators if with_torch or not type(g).__module__.startswith("torch")]
    read = (state.get() for state in (*named.values(), *map(_state_of, others)))
    return pickle.dumps([each.numpy() if hasattr(each, "numpy") else each for each in read])


def count_libraries() -> int:
    """How many process-wide generators there are; torch's counts only once torch was imported."""
    return len(_process_states())


def find_generators(*roots: Any) -> list[Any]:
    """Find all generators held by the given objects, at any depth.

    Parameters are followed through estimators, objects, their classes, lists, mappings, and what functions
    hold or name, such as a generator of their module. Arrays and tables aren't searched, nor is whatever
    this toolkit keeps rows in, nor are the functions and classes of libraries.
    """
    found: list[Any] = []
    pending, seen = list(roots), {}
    while pending:
        item = pending.pop()
        if id(item) in seen or isinstance(item, _PLAIN):
            continue
        seen[id(item)] = item  # held, so that no other object gets its number
        if _is_generator(item):
            found.append(item)
        else:
            pending += _held_by(item)
    return found


def _held_by(item: Any) -> list[Any]:
    """What an object holds."""
    if isinstance(item, Mapping):
        return [*item.keys(), *item.values()]
    if isinstance(item, list | tuple | set | frozenset):
        return list(item)
    if isinstance(item, functools.partial):
        return [item.func, item.args, item.keywords]
    names = ["__self__", "__defaults__", "__kwdefaults__"]
    is_estimator = _attribute(item, "get_params") is not None
    is_ours = type(item).__module__.startswith("discreet.")
    # our plans and recipes are dataclasses, and what holds rows is not one
    if is_estimator or dataclasses.is_dataclass(item) or not is_ours:
        names.append("__dict__")
        for kind in type(item).__mro__:
            slots = vars(kind).get("__slots__", ())
            names += [slots] if isinstance(slots, str) else slots
    cells = _attribute(item, "__closure__") or ()
    held = [*(_attribute(item, name) for name in names), *(_content(cell) for cell in cells)]
    return [*held, *_globals_of(item), *_class_attributes(item)]


def _is_of_library(thing: Any) -> bool:
    name = "__name__" if isinstance(thing, ModuleType) else "__module__"
    return str(_attribute(thing, name)).partition(".")[0] in _LIBRARIES


def _globals_of(item: Any) -> list[Any]:
    """What a function names in its module."""
    if not isinstance(item, FunctionType) or _is_of_library(item):
        return []
    codes, names = [item.__code__], set[str]()
    while codes:
        code = codes.pop()
        names.update(code.co_names)
        codes += [each for each in code.co_consts if isinstance(each, CodeType)]
    found = [item.__globals__[name] for name in names if name in item.__globals__]
    # of modules and classes that are named, what is named too
    rooms = [each for each in found if isinstance(each, ModuleType | type)]
    rooms = [each for each in rooms if not _is_of_library(each)]
    return [*found, *(vars(room)[name] for room in rooms for name in names if name in vars(room))]


def _class_attributes(item: Any) -> list[Any]:
    """What the classes of an object hold, methods included."""
    kinds = [kind for kind in type(item).__mro__ if not _is_of_library(kind)]
    found = [each for kind in kinds for each in vars(kind).values()]
    wrapped = [_attribute(each, name) for each in found for name in ("__func__", "fget")]
    return [each for each in (*found, *wrapped) if not isinstance(each, str | GetSetDescriptorType)]


def _attribute(item: Any, name: str) -> Any:
    try:
        return getattr(item, name, None)
    except Exception:  # an object's attributes may do anything when asked for
        return None


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a name that has no value yet
        return None


def _is_generator(item: Any) -> bool:
    kinds: tuple[type, ...] = (random.Random, np.random.RandomState, np.random.Generator)
    kinds = (*kinds, np.random.BitGenerator)
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "Generator"):
        kinds = (*kinds, torch.Generator)
    return isinstance(item, kinds) and not isinstance(item, random.SystemRandom)


def _process_states() -> dict[Any, _State]:
    """The generators that belong to nobody in particular, by name."""
    states: dict[Any, _State] = {
        "random": _State(random.getstate, random.setstate, lambda: random.seed(_seed())),
        "numpy": _legacy(
            lambda: np.random.get_state(legacy=False), np.random.set_state, np.random.seed
        ),
    }
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "default_generator"):
        devices = getattr(getattr(torch, "cuda", None), "default_generators", ())
        for at, generator in enumerate((torch.default_generator, *devices)):
            states["torch", at] = _state_of(generator)
    return states


def _state_of(generator: Any) -> _State:
    if isinstance(generator, random.Random):
        return _State(generator.getstate, generator.setstate, lambda: generator.seed(_seed()))
    if isinstance(generator, np.random.RandomState):
        return _legacy(
            lambda: generator.get_state(legacy=False), generator.set_state, generator.seed
        )
    if isinstance(generator, np.random.Generator):
        return _bits(generator.bit_generator)
    if isinstance(generator, np.random.BitGenerator):
        return _bits(generator)
    return _State(
        generator.get_state,
        generator.set_state,
        lambda: generator.manual_seed(_seed() % 2**63),
    )


def _legacy(
    get: Callable[[], Any], put: Callable[[Any], object], begin: Callable[[Any], object]
) -> _State:
    """The state of a `RandomState`, which keeps every second normal draw besides its bits."""

    def seed() -> None:
        try:
            begin(np.frombuffer(_seed().to_bytes(_BITS // 8, "little"), np.uint32))
            return
        except TypeError:  # not a Mersenne Twister, the one kind that can be reseeded in its place
            pass
        kind = getattr(np.random, get()["bit_generator"], None)
        if kind is None:
            raise TypeError(
                "numpy's generator draws its bits from a generator of another library, which can't be "
                "renewed: give an integer as random_state, or one of numpy's own bit generators."
            )
        put(kind(_sequence()).state)  # without a kept normal draw

    return _State(get, put, seed)


def _bits(generator: Any) -> _State:
    def put(state: Any) -> None:
        generator.state = state

    return _State(lambda: generator.state, put, lambda: put(type(generator)(_sequence()).state))


def _sequence() -> np.random.SeedSequence:
    return np.random.SeedSequence(_seed(), pool_size=_BITS // 32)


def _seed() -> int:
    return int.from_bytes(entropy.current().words(_BITS // 64).tobytes(), "little")
