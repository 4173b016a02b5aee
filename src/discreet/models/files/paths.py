"""Model files on a disk."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path
from typing import Any

from discreet.accounting import satisfies
from discreet.ledger import Entry
from discreet.ledger.book import Book
from discreet.models.files.document import ModelFileError, read_model, to_json
from discreet.models.files.parts import iter_certificates, strip_entry
from discreet.models.privacy import FitPrivacy
from discreet.show.documents import MAX_LENGTH
from discreet.unit import Unit

__all__ = ["check_path", "load", "save"]

#: What to do about a file that isn't one of ours, or isn't as it was.
REMEDY = "copy it again from where it was made, or write the model again with discreet.models.save"

#: In the notes of charges whose noise came from a fixed seed.
_NOT_PRIVATE = "NOT PRIVATE"


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file of JSON, with its certificate.

    The file is complete or isn't there: it is written beside its place, read back, and then moved.

    Parameters
    ----------
    model : fitted model of `discreet.models` or `discreet.publish`
    path : path
        A file of that name is replaced.

    Privacy
    -------
    As `to_json`: post-processing.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> import numpy as np
    >>> from discreet import models
    >>> from discreet.models.naive_bayes import GaussianNB
    >>> X = np.array([[0.1], [0.9]] * 100)
    >>> model = GaussianNB(epsilon=1, bounds=(0, 1), classes=[0, 1]).fit(X, [0, 1] * 100)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "model.json"
    ...     models.save(model, path)
    ...     "certificate" in json.loads(path.read_text("utf-8"))
    True
    """
    file = check_path(path)
    text = to_json(model)
    if len(text) > MAX_LENGTH:
        raise ModelFileError(
            f"the model is too large for a model file, more than {MAX_LENGTH} characters of JSON: fit a "
            "smaller one, with fewer cells, trees or made-up rows."
        )
    try:
        handle, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
        try:
            with open(handle, "w", encoding="utf-8") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(name, 0o666 & ~_mask())
            os.replace(name, file)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ModelFileError(
            f"{file} can't be written ({error.strerror}): give a path where you may write."
        ) from None


def check_path(path: str | os.PathLike[str]) -> Path:
    """Raise unless a model file can be written there; to be asked before a fit is paid for."""
    file = Path(path)
    if file.is_dir():
        raise ModelFileError(f"{file} is a folder: give the name of a file, such as model.json.")
    if not file.parent.is_dir():
        raise ModelFileError(f"the folder {file.parent} isn't there: make it first.")
    if not os.access(file.parent, os.W_OK) or (file.exists() and not os.access(file, os.W_OK)):
        raise ModelFileError(f"{file} can't be written: give a path where you may write.")
    return file


def load(path: str | os.PathLike[str], *, ledger: Book | None = None) -> Any:
    """Read a model that `save` wrote: it predicts the same, bit for bit, and has its certificate.

    No code of the file is run, whoever made it; classes are looked up by name in a list of ours. Its
    parameter ``ledger`` must be set anew before it is fitted again.

    Parameters
    ----------
    path : path
    ledger : Ledger, optional
        Where the fit is said to have been charged: the model is refused if its entry isn't there.

    Privacy
    -------
    A certificate in a file is as true as whoever gave it to you. With `ledger`, the entry that it cites is
    compared with the ledger, and what it promises with what that entry's event gives to the ledger's unit, so
    that the model isn't taken for a fit that was charged elsewhere, or that cost less; the numbers of the
    model can't be compared with anything.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from discreet import models
    >>> from discreet.models.naive_bayes import GaussianNB
    >>> X = np.array([[0.1], [0.9]] * 100)
    >>> model = GaussianNB(epsilon=1, bounds=(0, 1), classes=[0, 1]).fit(X, [0, 1] * 100)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     models.save(model, f"{folder}/model.json")
    ...     models.load(f"{folder}/model.json").privacy_.measure
    PureDP(epsilon=1)
    """
    file = Path(path)
    try:
        text = _read_bytes(file).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ModelFileError(f"{file} is not JSON, so it is no model: {REMEDY}.") from None
    model = read_model(text, str(file), REMEDY)
    if ledger is not None:
        _check_entries(model, ledger, file)
    return model


def _read_bytes(file: Path) -> bytes:
    try:
        found = os.stat(file)
        if not stat.S_ISREG(found.st_mode):
            raise ModelFileError(f"{file} is not a file: give the path of a model file.")
        if found.st_size > MAX_LENGTH:
            raise ModelFileError(
                f"{file} is too large for a model file, more than {MAX_LENGTH} bytes: {REMEDY}."
            )
        with open(file, "rb") as stream:
            return stream.read(MAX_LENGTH + 1)
    except FileNotFoundError:
        raise ModelFileError(f"{file} isn't there: give the path of a model file.") from None
    except OSError as error:
        raise ModelFileError(
            f"{file} can't be read ({error.strerror}): check its permissions."
        ) from None


def _check_entries(model: Any, ledger: Book, file: Path) -> None:
    """Raise unless all that the model's certificates cite is in the ledger."""
    if not isinstance(ledger, Book):
        raise TypeError(f"ledger must be a dp.Ledger, not {type(ledger).__name__}.")
    known = {entry.hash: entry for entry in ledger.entries()}
    for privacy in iter_certificates(model):
        cited = privacy.entry
        found = None if cited is None else known.get(cited.hash)
        if cited is None:
            raise ModelFileError(
                f"{file} says that its rows were declared public and nothing was charged for the model: load "
                "it without ledger=."
            )
        if found is None or not _says_what_was_charged(privacy, found, ledger.unit):
            raise ModelFileError(
                f"{file} was not charged to this ledger as its certificate says: it is a fit of other data, "
                "or the file was changed. Give the ledger that paid for it."
            )


def _says_what_was_charged(privacy: FitPrivacy, entry: Entry, unit: Unit) -> bool:
    """Whether a certificate cites this entry as it is, and promises no more than its event gives."""
    return (
        privacy.entry == strip_entry(entry)
        and privacy.event == entry.event
        and privacy.unit == unit
        and not (privacy.is_private and _NOT_PRIVATE in entry.note)
        and satisfies(privacy.event, privacy.measure)
    )


def _mask() -> int:
    """The bits of permissions that new files don't have here."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
