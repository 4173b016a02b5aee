"""The survey's hospitals: federated learning equals learning in one place."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PAPERS = Path(__file__).parents[2] / "papers"
DATA = Path(os.environ.get("DISCREET_DATA", PAPERS.parents[1] / "shared" / "data"))


def test_four_hospitals_learn_as_if_their_patients_were_in_one_place() -> None:
    if not (DATA / "heart_disease_four_sites.csv.gz").is_file():
        pytest.skip("the table of four hospitals is not here; set DISCREET_DATA")
    code = (
        f"import sys; sys.path[:0] = [{str(PAPERS / 'dpml_survey')!r}, {str(PAPERS)!r}]\n"
        "import json, hospitals\nprint(json.dumps(hospitals.hospitals(float('inf'), seed=0)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    together = found["all rows in one place"]
    assert together == found["federated, each patient hidden"]
    assert together > found["always the larger class"] + 0.15
    assert together > found["switzerland alone"] + 0.15  # a site with few healthy patients
