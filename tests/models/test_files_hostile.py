"""Files that somebody edited, cut or made up: read as a model that works, or refused in a sentence."""

from __future__ import annotations

import copy
import json
import os
import pickle
import random
import re
import sys
import tracemalloc
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examples import features, schema_for, table_for

import discreet as dp
from discreet import models
from discreet.models.files import document
from discreet.models.files.trial import METHODS
from discreet.models.naive_bayes import GaussianNB
from discreet.publish import Synthesizer
from discreet.show.documents import MAX_LENGTH
from discreet.testing import ESTIMATORS, Example, fixed_noise

#: What a file must never bring about.
FORBIDDEN = (
    "exec",
    "compile",
    "os.system",
    "os.exec",
    "subprocess.Popen",
    "pickle.find_class",
    "socket.connect",
)
_watching: list[str] | None = None


def _hook(event: str, arguments: Any) -> None:
    if _watching is not None and event in FORBIDDEN:
        _watching.append(f"{event} {arguments}")


sys.addaudithook(_hook)


@contextmanager
def nothing_runs() -> Iterator[None]:
    """Check that no code is compiled or run, and no process or connection is started."""
    global _watching
    _watching = []
    try:
        yield
        assert _watching == []
    finally:
        _watching = None


def test_the_watch_notices_what_runs() -> None:
    with pytest.raises(AssertionError), nothing_runs():
        eval("1 + 1")


def one_of_each() -> list[Example]:
    """One example for each class."""
    return list({example.path: example for example in reversed(ESTIMATORS)}.values())


def text_of(example: Example) -> str:
    table = table_for(example, 60)
    sizes: dict[str, Any] = {"bins": 2} if "Histogram" in example.path else {}
    if "Forest" in example.path:
        sizes = {"n_estimators": 2, "max_depth": 3}
    model = example.build(schema=schema_for(example), epsilon=4, unit=dp.PUBLIC, **sizes)
    with fixed_noise(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return models.to_json(model.fit(features(table), table.get("y")))


def read_or_refuse(text: str, rows: Any) -> bool:
    """Whether a text is read; then the model answers for rows, whatever it says of them."""
    model, sentence = None, ""
    with nothing_runs():
        try:
            model = models.from_json(text)
        except models.ModelFileError as error:
            sentence = str(error)
    if sentence:
        assert re.fullmatch(r"text .+\.", sentence)
        return False
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        assert model.privacy_.certificate
        if isinstance(model, Synthesizer):
            model.sample(5)
            return True
        for name in METHODS:
            if hasattr(model, name) and is_for(model, rows):
                assert len(getattr(model, name)(rows)) == len(rows)
    return True


def is_for(model: Any, rows: Any) -> bool:
    """Whether the model was fitted to as many columns; else it says so."""
    if model.n_features_in_ == rows.shape[1]:
        return True
    with pytest.raises(ValueError, match="feature"):
        model.predict(rows) if hasattr(model, "predict") else model.transform(rows)
    return False


def seal(data: dict[str, Any]) -> str:
    """A document with the digest that belongs to it, as a forger would write it."""
    part = {key: one for key, one in data.items() if key not in ("format", "version", "sha256")}
    try:
        return json.dumps({**data, "sha256": document.digest(part)})
    except ValueError:  # numbers that JSON doesn't have
        return json.dumps(data)


LEAVES = (
    None, True, False, 0, -1, 1, 2, 10**9, 2**80, 0.5, -1e308, 1e308, float("nan"), float("inf"), "", "x",
    "__import__('os').system('false')", "os.system", "../../etc/passwd", [], [[]], {}, [None], [1, 2, 3],
    {"float": "nan"}, {"float": "inf"}, {"integer": "9" * 400}, {"tuple": [1]}, {"mapping": []},
    {"record": "Exception", "fields": {}}, {"estimator": {"model": "GaussianNB", "parameters": {}}},
    {"dtype": "object", "shape": [1], "cells": ["x"]}, {"dtype": "float64", "shape": [10**9], "cells": []},
    {"texts": ["a"]}, {"ledger": True}, {"generator": True},
)  # fmt: skip


def edit(data: Any, draw: random.Random) -> None:
    """Change something, somewhere, in place."""
    at = data
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        key = draw.choice(keys)
        inner = at[key]
        if isinstance(inner, dict | list) and inner and draw.random() < 0.85:
            at = inner
            continue
        match draw.randrange(5):
            case 0:
                del at[key]
            case 1 if isinstance(at, list):
                at.insert(draw.randrange(len(at) + 1), copy.deepcopy(inner))
            case 2 if isinstance(at, dict):
                at[draw.choice(["x", "model", "learned", "__class__", "privacy_"])] = inner
            case 3:
                at[key] = copy.deepcopy(at[draw.choice(keys)])
            case _:
                at[key] = copy.deepcopy(draw.choice(LEAVES))
        return


@pytest.mark.parametrize("example", one_of_each(), ids=str)
def test_an_edited_document_is_a_model_that_works_or_is_refused(example: Example) -> None:
    text = text_of(example)
    rows = features(table_for(example, 30, seed=4))
    assert read_or_refuse(text, rows)
    draw, read = random.Random(str(example)), 0
    for _ in range(60):
        data = json.loads(text)
        for _ in range(draw.choice([1, 1, 1, 2, 5])):
            edit(data, draw)
        read += read_or_refuse(seal(data), rows)
    assert read < 50  # most edits are noticed


def put_texts(data: dict[str, Any], place: str, texts: list[str]) -> None:
    """One of the lists of text that a model file has becomes another."""
    match place:
        case "classes":
            data["classes"] = {"texts": texts}
        case "parameter":
            data["parameters"]["classes"] = {"objects": texts}
        case "nested":
            data["parameters"]["classes"] = {"objects": [[text] for text in texts]}
        case "numbers":
            data["parameters"]["classes"] = {"objects": [texts[0], *range(len(texts))]}
        case "column":
            data["columns"][0][1] = dp.Categorical(*texts).to_dict()
        case "many":
            few = [texts[0][:4000], *texts[1:4000]]
            data["parameters"]["classes"] = [{"objects": few} for _ in range(20)]


@pytest.mark.parametrize("place", ["classes", "parameter", "nested", "numbers", "column", "many"])
def test_a_long_text_among_many_short_ones_takes_no_more_room_than_the_file(place: str) -> None:
    """An array gives each text the room of the longest: 100 kB times 10 000 would be 4 GB."""
    X, y = np.repeat([[0.2], [0.8]], 50, axis=0), np.repeat(["a", "b"], 50)
    model = GaussianNB(epsilon=10, bounds=(0, 1), classes=["a", "b"]).fit(X, y)
    data = json.loads(models.to_json(model))
    put_texts(data, place, ["x" * 100_000, *map(str, range(10_000))])
    text = seal(data)
    assert len(text) < 2**21
    tracemalloc.start()
    try:
        with pytest.raises(models.ModelFileError, match="changed or cut"):
            models.from_json(text)
        assert tracemalloc.get_traced_memory()[1] < 2**26
    finally:
        tracemalloc.stop()


def test_what_memory_does_not_hold_is_a_damaged_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(part: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(document, "read_part", fail)
    with pytest.raises(models.ModelFileError, match="changed or cut"):
        models.from_json(text_of(one_of_each()[0]))


def synthetic_text() -> str:
    schema = dp.Schema(a=dp.Categorical("x", "y"), b=dp.Integer(0, 5), c=dp.Real(0, 1))
    rows = {"a": ["x", "y"] * 20, "b": list(range(6)) * 6 + [0] * 4, "c": [0.5] * 40}
    data = dp.PrivateDataset(rows, schema, unit=dp.PUBLIC)
    with fixed_noise(1):
        return models.to_json(Synthesizer(epsilon=1, iterations=20, rounds=1).fit(data))


def test_an_edited_synthesizer_works_or_is_refused() -> None:
    text, draw = synthetic_text(), random.Random(0)
    assert read_or_refuse(text, None)
    for _ in range(150):
        data = json.loads(text)
        edit(data, draw)
        read_or_refuse(seal(data), None)


@pytest.mark.parametrize("example", one_of_each()[:3], ids=str)
def test_bytes_that_were_damaged_are_noticed(example: Example) -> None:
    """Without a new digest, no change of a value gets through."""
    text = text_of(example)
    rows = features(table_for(example, 30, seed=4))
    draw = random.Random(7)
    for _ in range(150):
        at = draw.randrange(len(text))
        damaged = {
            0: text[:at],
            1: text[:at] + draw.choice('0123456789"[]{}e-., x\x00\ud800') + text[at + 1 :],
            2: text[:at] + text[at + draw.randrange(1, 9) :],
            3: text[:at] + text[at:] * 2,
        }[draw.randrange(4)]
        try:
            same = json.loads(damaged) == json.loads(text)
        except ValueError:
            same = False
        assert read_or_refuse(damaged, rows) == same


def a_model(tmp_path: Path) -> Path:
    X, y = np.random.default_rng(0).random((60, 2)), np.arange(60) % 2
    path = tmp_path / "model.json"
    models.save(GaussianNB(bounds=(0, 1), classes=[0, 1]).fit(X, y), path)
    return path


class Bomb:
    def __reduce__(self) -> Any:
        return os.system, ("touch exploded",)


def test_files_of_other_kinds_are_refused_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = a_model(tmp_path)
    whole = json.loads(path.read_text())
    cases: dict[str, tuple[bytes, str]] = {
        "empty": (b"", "not JSON"),
        "pickle": (pickle.dumps(Bomb()), "not JSON"),
        "binary": (bytes(range(256)), "not JSON"),
        "cut": (path.read_bytes()[:-40], "not JSON"),
        "list": (b"[1, 2]", "not JSON"),
        "deep": (b"[" * 100_000, "not JSON"),
        "nested": (b'{"model":' * 50_000 + b"1" + b"}" * 50_000, "not JSON"),
        "NaN": (path.read_bytes().replace(b"0.", b"NaN", 1), "not JSON"),
        "release": (
            dp.Schema(a=dp.Real(0, 1)).to_json().encode(),
            "not a model that discreet wrote",
        ),
        "newer": (json.dumps(whole | {"version": 99}).encode(), "another version"),
        "no version": (json.dumps(whole | {"version": "1"}).encode(), "another version"),
        "changed": (json.dumps(whole | {"named": True}).encode(), "changed or cut"),
        "class": (seal(whole | {"model": "subprocess.Popen"}).encode(), "changed or cut"),
        "other class": (seal(whole | {"model": "KMeans"}).encode(), "changed or cut"),
        "huge number": (seal(whole | {"named": 10**4000}).encode(), "changed or cut"),
    }
    for name, (content, words) in cases.items():
        other = tmp_path / f"{name}.json"
        other.write_bytes(content)
        with nothing_runs(), pytest.raises(models.ModelFileError, match=words) as caught:
            models.load(other)
        sentence = str(caught.value)
        assert str(other) in sentence, name
        assert sentence.endswith("."), name
        assert "save" in sentence or "version" in sentence, name
    assert not (tmp_path / "exploded").exists()


def test_what_is_no_file_is_refused_in_a_sentence(tmp_path: Path) -> None:
    huge = tmp_path / "huge.json"
    with open(huge, "wb") as stream:
        stream.truncate(MAX_LENGTH + 1)
    os.mkfifo(tmp_path / "pipe")
    cases = {
        tmp_path / "missing.json": "isn't there",
        tmp_path: "not a file",
        tmp_path / "pipe": "not a file",
        huge: "too large",
        Path("/dev/zero"): "not a file",
        tmp_path / ("x" * 300): "can't be read",
    }
    for path, words in cases.items():
        with pytest.raises(models.ModelFileError, match=words):
            models.load(path)


def test_numbers_that_are_none_are_refused(tmp_path: Path) -> None:
    data = json.loads(a_model(tmp_path).read_text())
    for cell in ({"float": "nan"}, {"float": "inf"}, None, "x", True):
        edited = copy.deepcopy(data)
        edited["learned"]["theta_"]["cells"][0] = cell
        if cell is True:  # a whole number, for JSON's readers
            models.from_json(seal(edited))
            continue
        with pytest.raises(models.ModelFileError, match="changed or cut"):
            models.from_json(seal(edited))
    for shape in ([4, 1], [2, 2, 1], [2], [2, 3], [-1, -4], [2.0, 2], []):
        edited = copy.deepcopy(data)
        edited["learned"]["theta_"]["shape"] = shape
        with pytest.raises(models.ModelFileError, match="changed or cut"):
            models.from_json(seal(edited))


def _set(*path: str) -> Any:
    *way, key, value = path

    def change(certificate: dict[str, Any]) -> None:
        for step in way:
            certificate = certificate[step]
        certificate[key] = json.loads(value)

    return change


FORGERIES = {
    "a smaller epsilon": _set("measure", "epsilon", '"1/100"'),
    "a smaller amount booked": _set("entry", "booked", "epsilon", '"1/100"'),
    "another unit": _set("unit", "relation", '"replace_one"'),
    "another account": _set("entry", "account", '"/other"'),
    "another number": _set("entry", "number", "2"),
}


@pytest.mark.parametrize("inside", [False, True], ids=["the model's own", "that of a model inside"])
@pytest.mark.parametrize("name", FORGERIES)
def test_a_certificate_that_promises_more_than_the_ledger_booked_is_refused(
    name: str, inside: bool, tmp_path: Path
) -> None:
    ledger = dp.Ledger(limit=dp.PureDP(20))
    model: Any = GaussianNB(bounds=(0, 1), classes=[0, 1])
    if inside:
        model = models.model_selection.ThresholdClassifier(model)
    X = np.array([[0.1], [0.9]] * 50)
    model.set_params(epsilon=10, ledger=ledger).fit(X, [0, 1] * 50)
    path = tmp_path / "model.json"
    models.save(model, path)
    models.load(path, ledger=ledger)
    data = json.loads(path.read_text())
    part = data["learned"]["estimator_"] if inside else data
    FORGERIES[name](part["certificate"])
    path.write_text(seal(data))
    with pytest.raises(models.ModelFileError, match="not charged to this ledger"):
        models.load(path, ledger=ledger)


def test_a_fit_with_a_fixed_seed_is_not_called_private(tmp_path: Path) -> None:
    ledger, path = dp.Ledger(limit=dp.PureDP(2)), tmp_path / "model.json"
    model = GaussianNB(bounds=(0, 1), classes=[0, 1], ledger=ledger)
    with fixed_noise(1):
        models.save(model.fit(np.array([[0.1], [0.9]]), [0, 1]), path)
    assert not models.load(path, ledger=ledger).privacy_.is_private
    data = json.loads(path.read_text())
    data["certificate"]["is_private"] = True
    path.write_text(seal(data))
    with pytest.raises(models.ModelFileError, match="not charged to this ledger"):
        models.load(path, ledger=ledger)
