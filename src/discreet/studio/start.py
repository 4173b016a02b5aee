"""The first page: choose a file, upload one, paste an address, or play with a sample."""

from __future__ import annotations

import os

from discreet.studio.pages import Answer, Route, try_form
from discreet.studio.places import TABLES
from discreet.studio.sample import write_sample
from discreet.studio.studio import Studio
from discreet.studio.visits import Page, Redirect, Visit
from discreet.studio.words import WORDS

__all__ = ["ROUTES", "open_private"]


def open_private(path: str, flags: int) -> int:
    """Open a new file that its owner alone can read."""
    return os.open(path, flags, 0o600)


def go_on(studio: Studio, visit: Visit) -> Answer:
    """The first page that has something to do."""
    if studio.desk is None:
        return show_start(studio, visit)
    return Redirect("/facts")


def show_start(studio: Studio, visit: Visit) -> Page:
    """Choose a table."""
    tables = studio.places.list_tables()
    return Page(
        "start.html",
        {"tables": tables, "endings": ",".join(TABLES), "title": "Choose a table", "here": "start"},
    )


def open_table(studio: Studio, visit: Visit) -> Answer:
    """Open what was chosen or pasted."""

    def act() -> Answer:
        studio.open(studio.places.check_source(visit.form.text("place")))
        return Redirect("/facts")

    return try_form(act, lambda: show_start(studio, visit), visit)


def open_sample(studio: Studio, visit: Visit) -> Answer:
    """Open a made-up table."""
    source, schema = write_sample(studio.places.root)
    desk = studio.open_sample(source, schema)
    desk.say_names()
    desk.save(rows=5000)
    return Redirect("/facts")


def show_words(studio: Studio, visit: Visit) -> Page:
    """What the words mean."""
    return Page("words.html", {"words": WORDS, "title": "What the words mean", "here": "words"})


ROUTES: list[Route] = [
    ("GET", "/", go_on),
    ("GET", "/start", show_start),
    ("POST", "/open", open_table),
    ("POST", "/sample", open_sample),
    ("GET", "/words", show_words),
]
