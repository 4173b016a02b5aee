"""A made-up table to play with: visits to a hospital, with facts about its columns that anyone may know."""

from __future__ import annotations

import csv
import random
from pathlib import Path

__all__ = ["write_sample"]

FOLDER = "discreet-sample"
ROWS = 5000
WARDS = ("children", "emergency", "medicine", "surgery")
_FACTS = """[columns.ward]
type = "categorical"
values = ["children", "emergency", "medicine", "surgery"]

[columns.age]
type = "integer"
lower = 0
upper = 99

[columns.cost]
type = "real"
lower = 0.0
upper = 2000.0

[columns.day]
type = "date"
first = "2024-01-01"
last = "2024-12-31"

[unit]
relation = "add_remove"
id_column = "patient"
max_rows = 3
"""


def write_sample(root: Path) -> tuple[str, str]:
    """Write the sample below a folder, unless it is there; its table and its schema, as paths below it."""
    folder = root / FOLDER
    folder.mkdir(exist_ok=True)
    table, facts = folder / "visits.csv", folder / "visits.toml"
    if not table.exists():
        with table.open("x", encoding="utf-8", newline="") as file:
            write = csv.writer(file)
            write.writerow(["patient", "ward", "age", "cost", "day"])
            write.writerows(_build_rows())
    if not facts.exists():
        facts.write_text(_FACTS, encoding="utf-8")
    return f"{FOLDER}/{table.name}", f"{FOLDER}/{facts.name}"


def _build_rows() -> list[tuple[str, str, int, str, str]]:
    draw = random.Random(2024)
    scale = dict(zip(WARDS, (120.0, 160.0, 210.0, 320.0), strict=True))
    rows = []
    for visit in range(ROWS):
        ward = draw.choice(WARDS)
        age = draw.randint(0, 17) if ward == "children" else draw.randint(18, 99)
        cost = f"{min(draw.gammavariate(2, scale[ward]), 9999):.2f}"
        day = f"2024-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}"
        rows.append((f"p{visit // 2}", ward, age, cost, day))
    return rows
