"""The mutants, as data: one line for each site, saying who must catch the copy that is weakened there.

``mutants/<topic>.txt`` has lines of four parts between bars::

    module:function | operator | what stands there, with #2 for the second of its kind | killers

Killers are attacks (``attack:coded-sums``) and tests (``tests/…/test_x.py::test_name``), between commas;
each of them must catch the copy. In place of killers, ``equivalent: …`` says why the copy is as private as
the original, and ``open: …`` that nothing catches it yet. ``after_noise.txt`` names code that sees released
values alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from mutation_sites import Site, all_sites

__all__ = ["Beyond", "Mutant", "all_mutants", "beyond", "compare", "read_mutant", "sites_to_list"]

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Mutant:
    """A site, and what is said about the copy that is weakened there."""

    site: Site
    killers: tuple[str, ...] = ()
    equivalent: str = ""
    open: str = ""

    def __str__(self) -> str:
        said = ", ".join(self.killers)
        if self.equivalent:
            said = f"equivalent: {self.equivalent}"
        return f"{self.site} | {said or f'open: {self.open}'}"


@dataclass(frozen=True)
class Beyond:
    """Functions in which an operator can do no harm, by name with ``*``, and why."""

    functions: str
    operator: str
    reason: str

    def holds(self, site: Site) -> bool:
        """Whether a site is among them."""
        name = f"{site.module}:{site.function}"
        return site.operator == self.operator and fnmatchcase(name, self.functions)


def iter_lines(path: Path) -> Iterator[str]:
    """The lines of a data file that say something."""
    for line in path.read_text("utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            yield line


def read_mutant(line: str) -> Mutant:
    """A line as a mutant; a pattern may itself have bars in it."""
    place, operator, rest = line.split(" | ", 2)
    pattern, said = rest.rsplit(" | ", 1)
    module, _, function = place.partition(":")
    text, mark, number = pattern.rpartition(" #")
    is_numbered = bool(mark) and number.isdigit()
    site = Site(
        module,
        function,
        operator,
        text if is_numbered else pattern,
        int(number) if is_numbered else 1,
    )
    for kind in ("equivalent", "open"):
        if said.startswith(f"{kind}: "):
            return Mutant(site, **{kind: said.removeprefix(f"{kind}: ")})
    return Mutant(site, tuple(said.split(", ")))


@cache
def all_mutants() -> tuple[Mutant, ...]:
    """All lines, in the order of topics."""
    files = sorted((HERE / "mutants").glob("*.txt"))
    return tuple(read_mutant(line) for path in files for line in iter_lines(path))


@cache
def beyond() -> tuple[Beyond, ...]:
    """What is after the noise."""
    lines = iter_lines(HERE / "after_noise.txt")
    return tuple(Beyond(*(part.strip() for part in line.split(" | ", 2))) for line in lines)


def sites_to_list(sites: Iterable[Site] | None = None) -> list[Site]:
    """The sites that need a line."""
    found = all_sites() if sites is None else sites
    return [site for site in found if not any(rule.holds(site) for rule in beyond())]


def compare(
    sites: Iterable[Site], mutants: Iterable[Mutant]
) -> tuple[list[Mutant], list[Site], list[Mutant]]:
    """Lines with the site that they speak of today, sites without a line, and lines without a site.

    A function that moved to another module keeps its lines, if no other of its name lacks them.
    """
    listed = {mutant.site: mutant for mutant in mutants}
    there = list(sites)
    found = [listed.pop(site) for site in there if site in listed]
    lacking = [site for site in there if site not in {mutant.site for mutant in found}]
    moved: dict[tuple[object, ...], list[Site]] = defaultdict(list)
    for site in lacking:
        moved[site.function, site.operator, site.pattern, site.number].append(site)
    for old in list(listed):
        new = moved.get((old.function, old.operator, old.pattern, old.number), [])
        if len(new) == 1:
            mutant = listed.pop(old)
            found.append(Mutant(new[0], mutant.killers, mutant.equivalent, mutant.open))
            lacking.remove(new[0])
    return found, lacking, list(listed.values())
