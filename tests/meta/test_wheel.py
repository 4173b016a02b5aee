"""A wheel as people install it: code, types, and the pages that certificates and errors name."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

import discreet as dp

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the wheel holds."""
    if find_spec("hatchling") is None:
        pytest.skip("hatchling isn't installed, which builds the wheel")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def named_pages() -> set[str]:
    """The pages that docstrings, errors and claims of the code name."""
    texts = [path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py")]
    return {
        name for text in texts for name in re.findall(r"docs/((?:guides|proofs)/[\w/]+)\.md", text)
    }


def test_the_wheel_holds_every_page_that_the_code_names(installed: Path) -> None:
    named = named_pages()
    assert len(named) > 20
    for name in named:
        assert (installed / "discreet" / "_docs" / f"{name}.md").is_file(), name


def test_the_wheel_holds_code_types_and_pages_and_nothing_else(installed: Path) -> None:
    files = [path.relative_to(installed) for path in installed.rglob("*") if path.is_file()]
    assert {path.parts[0] for path in files} == {"discreet", f"discreet-{dp.__version__}.dist-info"}
    pages = ("discreet", "studio", "templates"), ("discreet", "studio", "static")
    code = [p for p in files if p.parts[0] == "discreet" and p.parts[:3] not in pages]
    endings = {path.suffix for path in code}
    assert {".py", ".pyi", ".md", ".typed", ".json"} >= {end or ".typed" for end in endings}
    figures = {
        str(path) for path in files if path.suffix == ".json" and path.parts[0] == "discreet"
    }
    assert figures == {"discreet/models/recommendations.json"}
    assert (installed / "discreet" / "py.typed").is_file()
    pages = {path for path in files if path.suffix == ".md"}
    assert {f"discreet/_docs/{name}.md" for name in dp.list_pages()} == {str(p) for p in pages}


def test_an_installed_package_reads_its_own_pages(installed: Path, tmp_path: Path) -> None:
    code = (
        "import discreet as dp; print(dp.__file__); print(dp.read_page('docs/proofs/ledger.md')[:8]); "
        "print(dp.read_page('tutorial')[:5])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=True,
    )
    where, ledger, tutorial = done.stdout.splitlines()
    assert where.startswith(str(installed))
    assert (ledger, tutorial) == ("# The le", "# Ten")


def test_a_page_that_is_not_there_is_refused_with_the_nearest() -> None:
    assert dp.read_page("proofs/ledger") == (ROOT / "docs/proofs/ledger.md").read_text("utf-8")
    for wrong, words in (
        ("proofs/ledgers", "Did you mean 'proofs/ledger'"),
        ("ledger", "'guides/ledger' or 'proofs/ledger'"),
        ("../../etc/passwd", "there is no page"),
        ("", r"dp\.list_pages"),
    ):
        with pytest.raises(ValueError, match=words):
            dp.read_page(wrong)
    with pytest.raises(TypeError, match="as text"):
        dp.read_page(3)  # type: ignore[arg-type]
