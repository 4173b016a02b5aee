"""A topic is one folder with claims, attacks and broken copies, and has one name everywhere."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import discreet.models
from discreet import audit, claims, guarantees
from discreet.cli import main
from discreet.guarantees import all_attacks, all_claims, topics
from discreet.guarantees.dossiers import all_dossiers, rests_on

PROOFS = Path(__file__).parents[2] / "docs" / "proofs"

#: Topics whose claims are proved on other pages: five documents on one, and scaling beside components.
SHARED_PAGES = {
    "masking": "refuted.md",
    "preprocessing": "decomposition.md",
    "queries": "coding.md",
    "student_report": "refuted.md",
    "survey": "refuted.md",
    "thesis": "refuted.md",
    "wavelet_masks": "refuted.md",
}


@pytest.mark.parametrize("topic", topics())
def test_a_topic_has_claims_an_attack_for_each_and_a_page_of_its_name(topic):
    found = import_module(f"discreet.guarantees.{topic}.claims").CLAIMS
    assert found
    for claim in found:
        module = all_attacks()[claim.audit].parts.__module__
        assert module.startswith(f"discreet.guarantees.{topic}.attacks")
    page = SHARED_PAGES.get(topic, f"{topic}.md")
    assert page in all_dossiers()[topic].pages
    assert (PROOFS / page).is_file()


def test_a_package_of_models_with_claims_gives_its_topic_the_name():
    packages = {module.name for module in pkgutil.iter_modules(discreet.models.__path__)}
    own = {"boosting", "cluster", "decomposition", "erm", "linear_model", "m_estimation"}
    own |= {"model_selection", "naive_bayes", "preprocessing", "tree"}
    assert own <= packages & set(topics())
    for topic in own:
        assert any(p.startswith(f"discreet.models.{topic}") for p in all_dossiers()[topic].code)


def test_no_package_of_guarantees_does_anything_when_imported():
    for topic in topics():
        (folder,) = import_module(f"discreet.guarantees.{topic}").__path__
        assert (Path(folder) / "__init__.py").read_text() == ""


def test_listing_claims_imports_no_attack():
    code = (
        "import sys; from discreet.guarantees import all_claims; assert len(all_claims()) > 160\n"
        "from discreet.guarantees.dossiers import all_dossiers; all_dossiers()\n"
        "print([m for m in sys.modules if m in ('numpy', 'scipy') or m.endswith('.attacks')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_claim_is_shown_with_what_it_rests_on(capsys):
    assert main(["claims", "show", "k-means"]) == 0
    shown = capsys.readouterr().out
    assert f"rests on   {', '.join(rests_on('k-means'))}" in shown
    assert "cluster, measures, events, accounting" in shown


def test_old_names_still_work_and_say_where_they_went():
    for name in ("ANY_UNIT", "Claim", "Status", "all_claims", "claim"):
        with pytest.warns(DeprecationWarning, match=f"now discreet.guarantees.{name};"):
            assert getattr(claims, name) is getattr(guarantees, name)
    with pytest.warns(DeprecationWarning, match=r"now discreet\.guarantees\.all_attacks"):
        assert audit.all_attacks is all_attacks
    for module in (claims, audit):
        with pytest.raises(AttributeError, match="no attribute 'nothing'"):
            _ = module.nothing


def test_two_claims_of_one_name_are_refused(monkeypatch):
    module = import_module("discreet.guarantees.noise.claims")
    monkeypatch.setattr(module, "CLAIMS", module.CLAIMS * 2)
    with pytest.raises(ValueError, match="two claims are called 'noise-never-comes-twice'"):
        all_claims.__wrapped__()
