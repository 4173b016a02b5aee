"""JSON documents of ours: what they are and in which version, so that nothing else is taken for one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

__all__ = ["read_document", "write_document"]

#: The longest text that is read as a document: 256 MiB.
MAX_LENGTH = 2**28


def write_document(kind: str, version: int, body: Mapping[str, Any]) -> str:
    """A document as JSON: its kind and version first; never NaN, which JSON doesn't have."""
    data = {"format": f"discreet {kind}", "version": version, **body}
    # a line for each part: indented JSON is written by slow code, and has a line for each number
    parts = (
        f"{json.dumps(key)}: {json.dumps(part, allow_nan=False)}" for key, part in data.items()
    )
    return "{\n" + ",\n".join(parts) + "\n}"


@contextmanager
def read_document(
    text: object,
    kind: str,
    version: int,
    *,
    source: str = "text",
    remedy: str = "give the text that to_json returned, unchanged",
) -> Iterator[dict[str, Any]]:
    """The body of a document of this kind, if it is one; whatever fails inside the block is its fault.

    Parameters
    ----------
    text : str or bytes
        What `write_document` gave.
    kind : str
    version : int
        The newest version that can be read.
    source, remedy : str
        What errors call the text, and what they say to do.

    Raises
    ------
    ValueError
        If the text is not such a document. What stands in it is not repeated.
    """
    if not isinstance(text, str | bytes):
        raise TypeError(
            f"text must be the JSON text of a {kind}, not {type(text).__name__}: read the file first, as "
            "in Path(name).read_text()."
        )
    if len(text) > MAX_LENGTH:
        raise ValueError(f"{source} is too long for a {kind}: more than {MAX_LENGTH} characters.")
    data = _parse(text)
    if data is None:
        raise ValueError(f"{source} is not JSON, so it is no {kind}: {remedy}.")
    if data.get("format") != f"discreet {kind}":
        raise ValueError(f"{source} is not a {kind} that discreet wrote: {remedy}.")
    found = data.get("version")
    if type(found) is not int or not 1 <= found <= version:
        raise ValueError(
            f"{source} is a {kind} of another version than this discreet reads (1 to {version}): read it "
            "with the version that wrote it, or a newer one."
        )
    try:
        yield data
    except (
        AttributeError,
        ArithmeticError,
        AssertionError,
        LookupError,
        MemoryError,
        RecursionError,
        TypeError,
        ValueError,
    ):
        raise ValueError(
            f"{source} says that it is a {kind} of discreet, but it was changed or cut, or another version "
            f"of discreet wrote it: {remedy}."
        ) from None


def _parse(text: str | bytes) -> dict[str, Any] | None:
    try:
        data = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)
