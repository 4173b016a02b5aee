"""The guide to dates runs as it stands."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "dates.md"


def test_the_guide_to_dates_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(blocks) == 2
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), names)
    told = names["model"].predict({"day": names["day"]})
    assert (told == names["rows"]["cost"]).mean() > 0.95
    counts = names["visits"].to_dict()
    days = names["day"].astype(datetime.date)
    february = sum((day.year, day.month) == (2024, 2) for day in days)
    assert abs(counts[2024, 2] - february) < 30
    assert abs(counts[2023, 2]) < 30  # left out by the condition
    found = names["schema"]["day"].to_date(names["middle"])
    assert abs(found - datetime.date(2024, 1, 1)) < datetime.timedelta(30)
