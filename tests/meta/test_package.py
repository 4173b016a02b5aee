"""Facts about the package itself."""

from __future__ import annotations

import ast
import doctest
import importlib
import importlib.util
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import discreet
from discreet import events, guarantees, mechanisms, testing
from discreet.queries import Query

ROOT = Path(__file__).parents[2]
#: `make test-deep` runs these tests with it.
HAS_TORCH = importlib.util.find_spec("torch") is not None
#: `make test-federated` runs these tests with it.
NEEDS_FLOWER = {"discreet.deep.federated.flower"}
LEFT_OUT = {"discreet.demo"} | (set() if importlib.util.find_spec("flwr") else NEEDS_FLOWER)
#: Packages that need more than a small installation has.
NEEDS = {"discreet.deep": HAS_TORCH, "discreet.studio.": importlib.util.find_spec("starlette")}
PACKAGES = [
    module.name
    for module in pkgutil.walk_packages(discreet.__path__, "discreet.")
    if module.name not in LEFT_OUT
    and all(there or not module.name.startswith(start) for start, there in NEEDS.items())
]


LISTING = [
    name for name in ["discreet", *PACKAGES] if hasattr(importlib.import_module(name), "__all__")
]


@pytest.mark.parametrize("name", LISTING)
def test_what_a_module_lists_is_there_once_and_is_what_star_imports_give(name):
    module = importlib.import_module(name)
    assert len(set(module.__all__)) == len(module.__all__)
    missing = [item for item in module.__all__ if not hasattr(module, item)]
    assert not missing
    space = {}
    exec(f"from {name} import *", space)
    assert set(space) - {"__builtins__"} == set(module.__all__)


def test_every_package_that_has_names_lists_them():
    silent = [
        source.parent.name
        for source in (ROOT / "src" / "discreet").rglob("__init__.py")
        if "import " in source.read_text() and "__all__" not in source.read_text()
    ]
    assert not silent


def test_the_public_surface_is_read_from_the_stub_whole():
    stub = ast.parse((ROOT / "src" / "discreet" / "__init__.pyi").read_text())
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    assert discreet.__all__ == sorted(alias.name for node in imports for alias in node.names)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = discreet.nothing
    assert set(discreet.__all__) <= set(dir(discreet))


def test_every_estimator_is_an_attribute_away():
    homes = {kind.__module__.split(".")[1:3][-1] for kind in testing.estimators.estimator_classes()}
    assert homes - {"erm", "masked_data"} <= set(dir(discreet.models))
    code = "import discreet as dp; dp.models.linear_model.Ridge, dp.models.naive_bayes.GaussianNB"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = discreet.models.nothing


@pytest.mark.parametrize("name", ["queries", "models", "audit", "publish", "testing"])
def test_packages_are_attributes_from_the_first_line(name):
    code = f"import discreet as dp; print(dp.{name}.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"discreet.{name}"


def test_import_is_light():
    heavy = [
        "torch",
        "pandas",
        "polars",
        "matplotlib",
        "pyspark",
        "duckdb",
        "sklearn",
        "dp_accounting",
    ]
    code = f"import sys, discreet; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_version_is_stated_once():
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert discreet.__version__ == stated
    assert f"version: {stated}" in (ROOT / "CITATION.cff").read_text()
    assert f"## {stated}" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("claim", guarantees.all_claims(), ids=lambda claim: claim.name)
def test_a_claim_names_what_exists(claim):
    page = ROOT / "docs" / "proofs" / claim.proof
    assert page.is_file()
    for function in claim.functions:
        if function.startswith("discreet.deep.") and not HAS_TORCH:
            continue
        assert pkgutil.resolve_name(function)
    assert guarantees.claim(claim.name) is claim


def test_claim_names_are_different_and_unknown_ones_raise():
    names = [claim.name for claim in guarantees.all_claims()]
    assert len(set(names)) == len(names)
    with pytest.raises(KeyError, match="no claim"):
        guarantees.claim("everything is fine")


def test_every_event_mechanism_distribution_and_query_has_an_example():
    assert testing.missing(events.Event, testing.EVENTS) == []
    assert testing.missing(mechanisms.AdditiveMechanism, testing.MECHANISMS) == []
    assert testing.missing(mechanisms.Distribution, testing.DISTRIBUTIONS) == []
    assert testing.missing(Query, testing.QUERIES + testing.DISCOVERIES + testing.SEVERAL) == []


def test_a_forgotten_one_would_be_noticed():
    assert testing.missing(events.Event, testing.EVENTS[1:2]) != []


def test_every_additive_distribution_has_a_claim():
    told = {function for claim in guarantees.all_claims() for function in claim.functions}
    for distribution in testing.DISTRIBUTIONS:
        if isinstance(distribution, mechanisms.NoNoise):
            continue
        assert f"{type(distribution).__module__}.{type(distribution).__name__}.run" in told


def written_pages() -> list[Path]:
    """Pages that somebody wrote, and not those that the site is made of."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    return [page for page in pages if ROOT / "docs" / "_made" not in page.parents]


def test_links_in_the_documents_lead_somewhere():
    followed = 0
    for page in written_pages():
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if "://" not in target and not target.startswith("mailto:"):
                followed += 1
                assert (page.parent / target).exists(), f"{page.name}: {target}"
    assert followed > 50


def test_proof_pages_named_in_docstrings_exist():
    named = 0
    for source in (ROOT / "src").rglob("*.py"):
        for name in re.findall(r"docs/proofs/(\w+\.md)", source.read_text()):
            named += 1
            assert (ROOT / "docs" / "proofs" / name).is_file(), f"{source.name}: {name}"
    assert named > 5


def test_python_blocks_of_the_readme_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})


def test_the_second_run_of_the_readme_prints_the_refusal_and_the_statement(tmp_path):
    block = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[-1]
    (tmp_path / "first.py").write_text(block)
    printed = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "first.py"], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert done.stderr == ""
        printed.append(done.stdout)
    for text in printed:
        assert text.count("Nothing was charged and nothing may be read") == 1
        assert text.count("Privacy statement of this ledger") == 1
        assert text.index("Nothing was charged") < text.index("Privacy statement")
    assert "entries    4" in printed[0]
    assert "entries    5" in printed[1]


#: Modules whose examples need a library that not every environment has.
NEEDED = {
    "discreet.accounting.google": "dp_accounting",
    "discreet.publish.imaging.codes": "zxingcpp",
    "discreet.publish.imaging.panels": "segno",
    "discreet.publish.tables.growing": "pyarrow",
    "discreet.publish.tables.writing": "pyarrow",
}
PARTS = sorted({".".join(name.split(".")[:2]) for name in PACKAGES})


def run_examples(names: list[str]) -> int:
    """Run the examples of modules; how many lines there were."""
    tried = 0
    for name in names:
        if name in NEEDED and importlib.util.find_spec(NEEDED[name]) is None:
            continue
        with testing.fixed_noise(0):  # what an example says of its noise is likely, not sure
            result = doctest.testmod(importlib.import_module(name))
        assert result.failed == 0, name
        tried += result.attempted
    return tried


@pytest.mark.parametrize("part", PARTS)
def test_examples_in_docstrings_run(part):
    run_examples([name for name in PACKAGES if name == part or name.startswith(f"{part}.")])


def test_examples_are_found_and_a_wrong_one_would_be_noticed(monkeypatch):
    assert run_examples(["discreet"]) > 5
    monkeypatch.setattr(discreet, "__doc__", ">>> 1 + 1\n3\n")
    with pytest.raises(AssertionError, match="discreet"):
        run_examples(["discreet"])
