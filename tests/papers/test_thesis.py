"""The thesis' stories and observations: what stops an attack, what doesn't, and which inequalities hold."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

PAPERS = Path(__file__).parents[2] / "papers"
HERE = PAPERS / "theory_thesis"


def run_inside(code: str) -> Any:
    """Run code beside the document's modules, which have names that others have, too."""
    paths = f"import sys; sys.path[:0] = [{str(HERE)!r}, {str(PAPERS)!r}]\n"
    done = subprocess.run(
        [sys.executable, "-c", f"{paths}import json\n{code}\nprint(json.dumps(found))"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_terry_ross_is_told_whether_she_takes_part_or_not() -> None:
    code = """
import stories
found = [[stories.terry(1.0, part, seed) for seed in range(20)] for part in (True, False)]
"""
    for told in run_inside(code):
        # of 400 errors 0.05 cm is the mean; the noise is beyond 1 cm once in e^20 draws
        assert max(release for release, _ in told) < 1
        assert sum(guess for _, guess in told) / len(told) > 1


def test_bills_are_linked_by_their_days_and_by_the_distances_between_them() -> None:
    code = """
import numpy as np, stories
stories.PATIENTS = 4000
found = {
    how: stories.link_bills(6, how, np.random.default_rng(0), victims=40)
    for how in ("as they are", "together", "one by one")
}
"""
    found = run_inside(code)
    assert found["as they are"] > 0.9
    assert found["together"] > 0.9
    assert found["one by one"] < 0.1


def test_the_weak_triangle_inequality_holds_and_a_stronger_one_does_not() -> None:
    code = """
import numpy as np, chapter3
found = chapter3.observations(seed=0)
draw = np.random.default_rng(0)
p, q, r = draw.dirichlet(np.ones(4), (3, 2000))
sides = [chapter3.divergence(a, b, 2.0) for a, b in ((p, q), (p, r), (r, q))]
found["without larger orders"] = float((sides[0] <= sides[1] + sides[2]).mean())
"""
    found = run_inside(code)
    printed = found.pop("probability preservation, as printed")
    assert printed < 0.99
    assert found.pop("without larger orders") < 0.99
    assert set(found.values()) == {1.0}
