"""What a fit learns, declared: the attributes of each estimator that a model file keeps, with kind and shape.

An estimator lists them in ``_learned``. All of them are functions of released numbers and public facts, so a
file may hold them. What isn't listed is never written, and a test fails for an attribute that is neither
listed nor left out for a reason. A kind also reads what a stranger may have edited, so it checks everything.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, final

import numpy as np

from discreet.columns import Base
from discreet.events import event_from_dict
from discreet.measures import measure_from_dict
from discreet.show import decode_value, encode_value

__all__ = [
    "EVENT",
    "MEASURE",
    "Array",
    "Count",
    "Each",
    "Fact",
    "Flag",
    "IfSet",
    "Inner",
    "Kind",
    "Number",
    "Record",
    "Setting",
    "Splits",
    "Table",
    "Text",
    "Texts",
    "Together",
    "Tools",
    "attributes",
]

#: Whole numbers that a file may hold are below this.
MAX_COUNT = 2**62


@final
@dataclass
class Tools:
    """What is known of a model while its attributes are written or read.

    Attributes
    ----------
    write_model, read_model : callable
        A model inside of this one as plain data, and back.
    write_setting, read_setting : callable
        The value of a parameter as plain data, and back.
    columns : mapping of name to column
        The features.
    sizes : dict
        The lengths of axes by name: an axis that occurs twice must have one length.
    """

    write_model: Callable[[Any], Any]
    read_model: Callable[[Any], Any]
    write_setting: Callable[[Any], Any]
    read_setting: Callable[[Any], Any]
    columns: Mapping[str, Base] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)

    def check_size(self, axis: str | int, length: int) -> None:
        """Raise unless an axis is as long as it is elsewhere."""
        expected = axis if isinstance(axis, int) else self.sizes.setdefault(axis, length)
        if length != expected:
            raise ValueError("an array has another shape than the model that it is for.")


class Kind(ABC):
    """What an attribute holds: how it becomes plain data, and how that is checked and read."""

    @abstractmethod
    def write(self, value: Any, tools: Tools) -> Any:
        """The value as data that JSON can hold."""

    @abstractmethod
    def read(self, data: Any, tools: Tools) -> Any:
        """The value again, bit for bit; an error for anything that `write` doesn't give."""


def attributes(**kinds: Kind) -> Mapping[str, Kind]:
    """What an estimator learns, by the name of the attribute."""
    return MappingProxyType(kinds)


@final
class Array(Kind):
    """An array.

    Parameters
    ----------
    *axes : str or int
        The length of each axis, or a name for it.
    dtype : str
        Arrays of text may have any length of text; ``"labels"`` is any type that classes have.
    finite : bool
        Whether all numbers must be.
    """

    def __init__(self, *axes: str | int, dtype: str = "float64", finite: bool = True) -> None:
        self.axes, self.dtype, self.finite = axes, dtype, finite

    def write(self, value: Any, tools: Tools) -> Any:
        array = np.asarray(value)
        self._check(array)
        if array.dtype.kind in "UO":
            return {"texts": [str(text) for text in array.ravel().tolist()]}
        return encode_value(array)["array"]

    def read(self, data: Any, tools: Tools) -> Any:
        if isinstance(data, Mapping) and set(data) == {"texts"}:
            array = np.array(_read_texts(data["texts"]))
        else:
            array = np.asarray(decode_value({"array": data}))
        self._check(array)
        for axis, length in zip(self.axes, array.shape, strict=True):
            tools.check_size(axis, length)
        if self.finite and array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError("an array holds numbers that are not finite.")
        return array

    def _check(self, array: np.ndarray[Any, Any]) -> None:
        is_text = array.dtype.kind == "U" or (
            array.dtype.kind == "O" and all(isinstance(cell, str) for cell in array.ravel())
        )
        fits = array.dtype.name == self.dtype
        if self.dtype == "labels":
            fits = is_text or array.dtype.kind in "biuf"
        if not fits or array.ndim != len(self.axes):
            raise TypeError("an array is of another type than it is declared.")


@final
class Table(Kind):
    """An array of finite floats of any shape, which whoever reads it must check."""

    def write(self, value: Any, tools: Tools) -> Any:
        return encode_value(np.asarray(value, np.float64))["array"]

    def read(self, data: Any, tools: Tools) -> Any:
        array = np.asarray(decode_value({"array": data}))
        if array.dtype.name != "float64" or not np.isfinite(array).all():
            raise ValueError("an array holds numbers that are not finite.")
        return array


@final
class Number(Kind):
    """A float; infinite ones only where `finite` is false."""

    def __init__(self, *, finite: bool = True) -> None:
        self.finite = finite

    def write(self, value: Any, tools: Tools) -> Any:
        return encode_value(float(value))

    def read(self, data: Any, tools: Tools) -> float:
        found = decode_value(data)
        if type(found) not in (int, float) or math.isnan(found):
            raise TypeError("a number is missing.")
        if self.finite and not math.isfinite(found):
            raise ValueError("a number is not finite.")
        return float(found)


@final
class Count(Kind):
    """A whole number of at least 0, or of at least `minimum`."""

    def __init__(self, minimum: int = 0) -> None:
        self.minimum = minimum

    def write(self, value: Any, tools: Tools) -> Any:
        return int(value)

    def read(self, data: Any, tools: Tools) -> int:
        if type(data) is not int or not self.minimum <= data < MAX_COUNT:
            raise TypeError("a whole number is missing.")
        return data


@final
class Flag(Kind):
    """True or false."""

    def write(self, value: Any, tools: Tools) -> Any:
        return bool(value)

    def read(self, data: Any, tools: Tools) -> bool:
        if not isinstance(data, bool):
            raise TypeError("true or false is missing.")
        return data


@final
class Text(Kind):
    """A piece of text."""

    def write(self, value: Any, tools: Tools) -> Any:
        return _read_texts([value])[0]

    def read(self, data: Any, tools: Tools) -> str:
        return _read_texts([data])[0]


@final
class Texts(Kind):
    """A list of names, or a tuple."""

    def __init__(self, container: type = list) -> None:
        self.container = container

    def write(self, value: Any, tools: Tools) -> Any:
        return _read_texts(list(value))

    def read(self, data: Any, tools: Tools) -> Any:
        return self.container(_read_texts(data))


@final
class Each(Kind):
    """A list (or tuple) of values of one kind, or a mapping of names to them.

    Parameters
    ----------
    kind : Kind
    axis : str or int, optional
        How many there are, or a name for that.
    container : list, tuple or dict
    fresh : tuple of str
        Axes that each value has for itself, so that their lengths may differ.
    """

    def __init__(
        self,
        kind: Kind,
        axis: str | int = "",
        container: type[Any] = list,
        *,
        fresh: tuple[str, ...] = (),
    ) -> None:
        self.kind, self.axis, self.container, self.fresh = kind, axis, container, fresh

    def write(self, value: Any, tools: Tools) -> Any:
        if self.container is dict:
            return [[str(name), self.kind.write(part, tools)] for name, part in value.items()]
        return [self.kind.write(part, tools) for part in value]

    def read(self, data: Any, tools: Tools) -> Any:
        if not isinstance(data, list):
            raise TypeError("a list is missing.")
        if self.axis != "":
            tools.check_size(self.axis, len(data))
        found = []
        for part in data:
            for axis in self.fresh:
                tools.sizes.pop(axis, None)
            if self.container is dict:
                name, inner = part
                found.append((_read_texts([name])[0], self.kind.read(inner, tools)))
            else:
                found.append(self.kind.read(part, tools))
        return self.container(found)


@final
class Together(Kind):
    """A tuple of values of these kinds."""

    def __init__(self, *kinds: Kind) -> None:
        self.kinds = kinds

    def write(self, value: Any, tools: Tools) -> Any:
        pairs = zip(self.kinds, value, strict=True)
        return [kind.write(part, tools) for kind, part in pairs]

    def read(self, data: Any, tools: Tools) -> Any:
        pairs = zip(self.kinds, data, strict=True)
        return tuple(kind.read(part, tools) for kind, part in pairs)


@final
class Record(Kind):
    """An object that is built from its fields; its class is named here, never in a file."""

    def __init__(self, build: Callable[..., Any], /, **fields: Kind) -> None:
        self.build, self.fields = build, fields

    def write(self, value: Any, tools: Tools) -> Any:
        return {name: kind.write(getattr(value, name), tools) for name, kind in self.fields.items()}

    def read(self, data: Any, tools: Tools) -> Any:
        if set(data) != set(self.fields):
            raise ValueError("a record has other fields than it is declared.")
        return self.build(
            **{name: kind.read(data[name], tools) for name, kind in self.fields.items()}
        )


@final
class IfSet(Kind):
    """A value that isn't always there: None, or not set at all."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def write(self, value: Any, tools: Tools) -> Any:
        return None if value is None else self.kind.write(value, tools)

    def read(self, data: Any, tools: Tools) -> Any:
        return None if data is None else self.kind.read(data, tools)


@final
class Splits(Kind):
    """The splits of a public tree in heap order, and with them how many leaves it has."""

    def __init__(self, leaves: str) -> None:
        self.leaves = leaves

    def write(self, value: Any, tools: Tools) -> Any:
        return [None if not split else [split[0], encode_value(split[1])] for split in value]

    def read(self, data: Any, tools: Tools) -> Any:
        splits = tuple(None if split is None else _read_split(split, tools) for split in data)
        # none at all is one leaf, as is the single node of a forest without anything to split
        inner = len(splits) if any(splits) else 0
        if (inner + 1) & inner:
            raise ValueError("a tree must be complete.")
        tools.check_size(self.leaves, inner + 1)
        return splits


@final
class Fact(Kind):
    """A measure or an event: what has a form as plain data of its own."""

    def __init__(self, read: Callable[[Any], Any]) -> None:
        self._read = read

    def write(self, value: Any, tools: Tools) -> Any:
        return value.to_dict()

    def read(self, data: Any, tools: Tools) -> Any:
        return self._read(data)


MEASURE, EVENT = Fact(measure_from_dict), Fact(event_from_dict)


@final
class Inner(Kind):
    """A fitted model inside of this one."""

    def write(self, value: Any, tools: Tools) -> Any:
        return tools.write_model(value)

    def read(self, data: Any, tools: Tools) -> Any:
        return tools.read_model(data)


@final
class Setting(Kind):
    """What parameters hold: plain data, schemas, estimators that aren't fitted."""

    def write(self, value: Any, tools: Tools) -> Any:
        return tools.write_setting(value)

    def read(self, data: Any, tools: Tools) -> Any:
        return tools.read_setting(data)


def _read_texts(data: Any) -> list[str]:
    if not isinstance(data, list) or not all(isinstance(text, str) for text in data):
        raise TypeError("a list of names is missing.")
    return data


def _read_split(data: Any, tools: Tools) -> tuple[str, Any]:
    name, at = data
    if name not in tools.columns:
        raise ValueError("a split is of a column that there is not.")
    return name, decode_value(at)
