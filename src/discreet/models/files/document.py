"""The text of a model file: what it is, in which version, and whether it is as it was written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from discreet.models.files.parts import iter_certificates, read_part, write_part
from discreet.models.files.room import check_room
from discreet.models.files.trial import try_out
from discreet.show import read_document, write_document

__all__ = ["VERSION", "ModelFileError", "from_json", "read_model", "to_json"]

#: Raised when the form of model files changes; old forms stay readable.
VERSION = 1


class ModelFileError(ValueError):
    """A model file that can't be written or read; the text says why, and what to do.

    Examples
    --------
    >>> from discreet import models
    >>> try:
    ...     models.from_json("{}")
    ... except models.ModelFileError as error:
    ...     print(error)
    text is not a model that discreet wrote: give the text that to_json returned, unchanged.
    """


def to_json(model: Any) -> str:
    """Write a fitted model as JSON text, with its certificate; `from_json` gives the same model again.

    Parameters
    ----------
    model : fitted model of `discreet.models` or `discreet.publish`

    Privacy
    -------
    Post-processing: the text holds parameters, public facts, what was learned (functions of released
    numbers, each listed by its class) and the certificate. It holds no row of the fit nor anything about
    a single one, of the ledger only number, account, time and hash of an entry, and no generator of random
    numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import models
    >>> from discreet.models.naive_bayes import GaussianNB
    >>> X, y = np.repeat([[0.2], [0.8]], 50, axis=0), np.repeat([0, 1], 50)
    >>> model = GaussianNB(epsilon=10, bounds=(0, 1), classes=[0, 1]).fit(X, y)
    >>> again = models.from_json(models.to_json(model))
    >>> bool((again.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    for _ in iter_certificates(model):
        pass  # raises unless it is fitted
    try:
        part = write_part(model)
        text = write_document("model", VERSION, {**part, "sha256": digest(part)})
    except (TypeError, ValueError) as error:
        raise ModelFileError(str(error)) from None
    from_json(text)  # one that can't be read would be noticed too late
    return text


def from_json(text: str) -> Any:
    """Read a model that `to_json` wrote. Nothing in the text is run, and its guarantee isn't checked.

    Parameters
    ----------
    text : str

    Privacy
    -------
    The certificate is what the text says: it is as true as whoever gave it to you. To compare it with the
    ledger, use ``load(path, ledger=...)``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import models
    >>> from discreet.models.naive_bayes import GaussianNB
    >>> X = np.array([[0.1], [0.9]] * 100)
    >>> model = GaussianNB(epsilon=1, bounds=(0, 1), classes=[0, 1]).fit(X, [0, 1] * 100)
    >>> again = models.from_json(models.to_json(model))
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    return read_model(text, "text", "give the text that to_json returned, unchanged")


def read_model(text: str, source: str, remedy: str) -> Any:
    """The model in a text; errors call it `source` and say to `remedy`."""
    try:
        with read_document(text, "model", VERSION, source=source, remedy=remedy) as body:
            part = {key: one for key, one in body.items() if key not in _HEAD}
            if body["sha256"] != digest(part):
                raise ValueError("the digest is another one.")
            check_room(part)
            model = read_part(part)
            for _ in iter_certificates(model):
                pass
            try_out(model)
            return model
    except (TypeError, ValueError) as error:
        raise ModelFileError(str(error)) from None


_HEAD = ("format", "version", "sha256")


def digest(part: Mapping[str, Any]) -> str:
    """SHA-256 of what a file says, however it is laid out: against accidents, not against forgers."""
    plain = json.dumps(part, sort_keys=True, allow_nan=False, separators=(",", ":"))
    return hashlib.sha256(plain.encode()).hexdigest()
