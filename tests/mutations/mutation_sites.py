"""All sites × operators in the code that guarantees rest on, found in its syntax trees."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mutation_operators import OPERATORS, Swap

from discreet.guarantees.dossiers import homes

__all__ = ["SOURCE", "Site", "all_sites", "find_sites", "swaps_in"]

SOURCE = Path(__file__).parents[2] / "src"


@dataclass(frozen=True, order=True)
class Site:
    """One place at which one operator applies.

    Attributes
    ----------
    module, function : str
        The function as ``Class.name``; nested functions belong to the outermost one.
    operator : str
    pattern : str
        What stands there, as Python writes a syntax tree.
    number : int
        Which of the places in this function that read so: 1, 2, ...
    """

    module: str
    function: str
    operator: str
    pattern: str
    number: int = 1

    def __str__(self) -> str:
        more = f" #{self.number}" if self.number > 1 else ""
        return f"{self.module}:{self.function} | {self.operator} | {self.pattern}{more}"

    @property
    def topic(self) -> str:
        """The dossier that its module belongs to."""
        return homes(self.module)[0]


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Outermost functions and methods, by name; of overloaded ones the last."""
    found: dict[str, ast.FunctionDef] = {}

    def look(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef):
                found[f"{prefix}{node.name}"] = node
            elif isinstance(node, ast.ClassDef):
                look(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.If):
                look(node.body, prefix)

    look(tree.body, "")
    yield from found.items()


def swaps_in(tree: ast.Module, module: str) -> Iterator[tuple[Site, ast.FunctionDef, Swap]]:
    """All sites of a module with what would be changed in this very tree."""
    for name, function in _functions(tree):
        seen: Counter[tuple[str, str]] = Counter()
        for node in ast.walk(function):
            for operator, find in OPERATORS.items():
                for old, new in find(node, (module, name)):
                    pattern = " ".join(ast.unparse(old).split())
                    seen[operator, pattern] += 1
                    at = seen[operator, pattern]
                    yield Site(module, name, operator, pattern, at), function, (old, new)


def find_sites(module: str, text: str) -> list[Site]:
    """The sites in a source text."""
    return [site for site, _, _ in swaps_in(ast.parse(text), module)]


def modules() -> Iterator[tuple[str, Path]]:
    """The modules of all dossiers, with their files: code that a guarantee rests on."""
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if homes(name) != ["exempt"] and not name.startswith("discreet.guarantees"):
            yield name, path


@cache
def all_sites() -> tuple[Site, ...]:
    """All sites of the toolkit, in the order of modules."""
    return tuple(
        site for name, path in modules() for site in find_sites(name, path.read_text("utf-8"))
    )
