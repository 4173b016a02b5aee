"""Outputs of many runs in a common form: numbers in rows, or things with a kind."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Raised", "Sample", "collect", "is_vectorised"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Raised:
    """A run that raised instead of returning: an exception is an output too."""

    name: str


@dataclass(frozen=True)
class Sample:
    """Outputs of runs on one input.

    `numbers` has one row for each run, where all outputs are numbers of one shape; else it is None, and
    `kinds` tells the outer form of each output (length, type, keys, exception), `wholes` its text.
    """

    numbers: Floats | None
    kinds: npt.NDArray[np.str_] | None
    wholes: npt.NDArray[np.str_] | None
    whole_numbers: bool = False

    def __len__(self) -> int:
        if self.numbers is not None:
            return len(self.numbers)
        assert self.kinds is not None
        return len(self.kinds)

    def part(self, start: int, stop: int) -> Sample:
        """Some of the runs."""
        cut = slice(start, stop)
        return Sample(
            None if self.numbers is None else self.numbers[cut],
            None if self.kinds is None else self.kinds[cut],
            None if self.wholes is None else self.wholes[cut],
            self.whole_numbers,
        )


def is_vectorised(mechanism: Callable[..., Any]) -> bool:
    """Whether a mechanism takes the number of runs, as ``mechanism(data, trials)``."""
    try:
        return "trials" in inspect.signature(mechanism).parameters
    except (TypeError, ValueError):
        return False


def collect(mechanism: Callable[..., Any], data: Any, trials: int) -> Any:
    """Outputs of `trials` runs: an array with runs first, or a list. Exceptions become outputs."""
    if is_vectorised(mechanism):
        try:
            outputs = mechanism(data, trials=trials)
        except Exception as error:  # a mechanism may fail in any way: that is what is looked for
            return [Raised(type(error).__name__)] * trials
        if len(outputs) != trials:
            raise ValueError(
                f"mechanism(data, trials={trials}) must return {trials} outputs, got {len(outputs)}."
            )
        return outputs
    found = []
    for _ in range(trials):
        try:
            found.append(mechanism(data))
        except Exception as error:  # as above
            found.append(Raised(type(error).__name__))
    return found


def samples(here: Any, there: Any) -> tuple[Sample, Sample]:
    """Both sides in a common form: numbers if all outputs of both are numbers of one shape."""
    arrays = [_array(side) for side in (here, there)]
    first, second = arrays
    if first is not None and second is not None and first.shape[1:] == second.shape[1:]:
        whole = all(a.dtype.kind in "iub" for a in (first, second))
        flat = [np.asarray(a, np.float64).reshape(len(a), -1) for a in (first, second)]
        return Sample(flat[0], None, None, whole), Sample(flat[1], None, None, whole)
    return _things(here), _things(there)


def _array(outputs: Any) -> npt.NDArray[Any] | None:
    if isinstance(outputs, np.ndarray) and outputs.dtype.kind in "iubf":
        return outputs
    rows = [_numbers(output) for output in outputs]
    if any(row is None for row in rows) or len({np.shape(row) for row in rows}) > 1:
        return None
    keys = {tuple(o) if isinstance(o, Mapping) else None for o in outputs}
    if len(keys) > 1 or len({_loose(o) for o in outputs}) > 1:
        return None
    return np.array(rows)


def _numbers(output: Any) -> Any:
    """The numbers in an output; None if it is something else."""
    if isinstance(output, bool | int | float | np.number | np.bool_):
        return output
    if isinstance(output, np.ndarray):
        return output if output.dtype.kind in "iubf" else None
    if isinstance(output, Mapping):
        output = list(output.values())
    if isinstance(output, list | tuple):
        parts = [_numbers(part) for part in output]
        if any(part is None for part in parts) or len({np.shape(part) for part in parts}) > 1:
            return None
        return np.array(parts)
    return None


def _loose(output: Any) -> str:
    """The type of an output, where all numbers count as one."""
    if isinstance(output, bool | int | float | np.number | np.bool_):
        return "number"
    return type(output).__name__


def _things(outputs: Sequence[Any]) -> Sample:
    outputs = list(outputs)
    kinds = np.array([_kind(output) for output in outputs])
    wholes = np.array([_text(output) for output in outputs])
    return Sample(None, kinds, wholes)


def _kind(output: Any) -> str:
    if isinstance(output, Raised):
        return f"an exception {output.name}"
    if output is None:
        return "nothing"
    if isinstance(output, np.ndarray):
        return f"an array of shape {output.shape} of {output.dtype}"
    if isinstance(output, Mapping):
        return f"a mapping with the keys {list(output)}"
    if isinstance(output, Sequence | set | frozenset):
        return f"a {type(output).__name__} of length {len(output)}"
    return f"a {type(output).__name__}"


def _text(output: Any) -> str:
    if isinstance(output, np.ndarray):
        return f"{output.shape}{output.tolist()}"
    return repr(sorted(output, key=repr) if isinstance(output, set | frozenset) else output)
