"""Weakened copies: a function's code with one site changed, put in place of the right one.

The code object of the function is exchanged, so whoever imported the function runs the weakened copy, too.
"""

from __future__ import annotations

import ast
import importlib
import warnings
from collections.abc import Iterator, Mapping
from types import CodeType, FunctionType
from typing import Any

import numpy as np
from mutation_operators import LATER, Swap
from mutation_sites import SOURCE, Site, swaps_in

__all__ = ["exchange_code", "weaken"]


class Helpers:
    """What weakened copies call, under the name ``_mutant``."""

    def __init__(self) -> None:
        self._drawn: dict[Any, Any] = {}

    def halve(self, run: Any, totals: Any) -> Any:
        return totals + (run(totals) - totals) // 2

    def in_order(self, size: int) -> Any:
        return np.arange(size, dtype=np.int64)

    def again(self, draw: Any) -> Any:
        fresh = draw()
        return self._drawn.setdefault(np.shape(fresh), fresh)

    def again_added(self, run: Any, totals: Any) -> Any:
        return totals + self._drawn.setdefault(np.shape(totals), run(totals) - totals)

    def again_filled(self, out: Any, draw: Any) -> None:
        draw()
        out[...] = self._drawn.setdefault(out.shape, out.copy())

    def copy_to(self, out: Any, values: Any) -> Any:
        out[...] = values
        return out


class _Exchange(ast.NodeTransformer):
    def __init__(self, swap: Swap) -> None:
        self.old, self.new = swap

    def visit(self, node: ast.AST) -> Any:
        if node is self.old:
            return ast.Pass() if self.new is None else ast.copy_location(self.new, node)
        return self.generic_visit(node)


def _put_last(function: ast.FunctionDef, statement: ast.stmt) -> None:
    """Move a statement behind everything else that the function does."""
    at = function.body.index(statement)
    names = [
        node.id
        for target in getattr(statement, "targets", [])
        for node in ast.walk(target)
        if isinstance(node, ast.Name)
    ]
    nothing = "; ".join(f"{name} = None" for name in names) or "pass"
    function.body[at : at + 1] = ast.parse(nothing).body
    last = function.body[-1]
    if not isinstance(last, ast.Return):
        function.body.append(statement)
        return
    kept = ast.parse("_value = 0\nreturn_ = 0").body[0]
    assert isinstance(kept, ast.Assign)
    assert last.value is not None
    kept.value = last.value
    function.body[-1:] = [kept, statement, ast.Return(ast.Name("_value", ast.Load()))]


def _code_of(tree: ast.Module, path: str, name: str, line: int) -> CodeType:
    """The code of one function of a module."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # a copy may say "1 is None"
        whole = compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)
    pending: list[CodeType] = [whole]
    while pending:
        code = pending.pop()
        if code.co_qualname == name and code.co_firstlineno == line:
            return code
        pending += [part for part in code.co_consts if isinstance(part, CodeType)]
    raise LookupError(f"no function {name} at line {line} of {path}")


def _find_functions(names: Mapping[str, Any], path: list[str]) -> Iterator[FunctionType]:
    """The function of this name, below whatever it is wrapped in: properties, caches, decorators."""
    found = names[path[0]]
    if len(path) > 1:
        yield from _find_functions(vars(found), path[1:])
        return
    pending = [found]
    while pending:
        value = pending.pop()
        if isinstance(value, FunctionType):
            yield value
        parts = ("__func__", "__wrapped__", "fget", "func")
        pending += [getattr(value, part) for part in parts if hasattr(value, part)]


def weaken(site: Site) -> None:
    """Put the weakened copy of a function in its place, in this process, for good."""
    module = importlib.import_module(site.module)
    path = module.__file__
    assert path is not None
    assert path.startswith(str(SOURCE))
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    here = [
        (function, swap) for found, function, swap in swaps_in(tree, site.module) if found == site
    ]
    if not here:
        raise LookupError(f"there is no such site: {site}")
    ((function, swap),) = here
    if swap[1] is LATER:
        assert isinstance(swap[0], ast.stmt)
        _put_last(function, swap[0])
    else:
        _Exchange(swap).visit(tree)
    exchange_code(site.module, site.function, function, tree, _HELPERS)


def exchange_code(
    module: str, name: str, function: ast.FunctionDef, tree: ast.Module, helpers: object
) -> None:
    """Give a function the code that it has in a changed tree, in which `helpers` is ``_mutant``."""
    loaded_module = importlib.import_module(module)
    line = min([function.lineno, *(part.lineno for part in function.decorator_list)])
    code = _code_of(tree, str(loaded_module.__file__), name, line)
    loaded = [
        value
        for value in _find_functions(vars(loaded_module), name.split("."))
        if value.__code__.co_qualname == name and value.__code__.co_firstlineno == line
    ]
    if not loaded:
        raise LookupError(f"{module}:{name} is not loaded")
    for value in loaded:
        value.__code__ = code
        value.__globals__["_mutant"] = helpers


_HELPERS = Helpers()
