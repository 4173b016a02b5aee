"""Contrast in both themes, computed from the colours of the style sheet (WCAG 2.2, level AA)."""

from __future__ import annotations

import re

import pytest

from discreet.report import build_report
from discreet.report.theme import DARK, HEAT, LIGHT, STYLE

#: Words on what they stand on: 4.5 to 1.
TEXT = [
    ("ink", "page"),
    ("ink", "panel"),
    ("soft", "page"),
    ("soft", "panel"),
    ("accent", "page"),
    ("notice", "notice-page"),
    ("alarm", "alarm-page"),
]
#: Shapes of charts on the page: 3 to 1.
SHAPES = ["accent", "series1", "series2", "series3", "ink", "soft"]


def channels(colour: str) -> tuple[float, float, float]:
    return tuple(int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))  # type: ignore[return-value]


def luminance(colour: tuple[float, ...]) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: tuple[float, ...], second: tuple[float, ...]) -> float:
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def mix(over: str, under: str, share: float) -> tuple[float, ...]:
    return tuple(
        share * a + (1 - share) * b for a, b in zip(channels(over), channels(under), strict=True)
    )


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_words_and_shapes_stand_out(theme):
    for word, ground in TEXT:
        assert contrast(channels(theme[word]), channels(theme[ground])) >= 4.5, (word, ground)
    for shape in SHAPES:
        assert contrast(channels(theme[shape]), channels(theme["page"])) >= 3, shape
    # numbers in a heat map, whiskers over bars
    for share in (*HEAT, 0.35):
        ground = mix(theme["accent"], theme["page"], share)
        assert contrast(channels(theme["ink"]), ground) >= 4.5, share
    assert contrast(channels(theme["accent"]), channels(theme["panel"])) >= 3


def test_a_pale_colour_would_be_noticed():
    assert contrast(channels("#999999"), channels("#ffffff")) < 4.5
    assert contrast(channels("#000000"), channels("#ffffff")) == pytest.approx(21)
    assert contrast(channels("#767676"), channels("#ffffff")) == pytest.approx(4.54, abs=0.01)


def test_all_colours_come_from_the_themes_and_both_have_the_same():
    assert set(LIGHT) == set(DARK)
    written = set(re.findall(r"#[0-9a-f]{3,8}\b", STYLE))
    assert written == set(LIGHT.values()) | set(DARK.values())
    used = set(re.findall(r"var\(--([\w-]+)\)", STYLE))
    assert used == set(LIGHT) | {"series"}
    assert "url(" not in STYLE
    assert "@import" not in STYLE
    # paper is light, screens follow the reader
    assert "@media screen and (prefers-color-scheme:dark)" in STYLE
    assert STYLE in build_report().to_html()
