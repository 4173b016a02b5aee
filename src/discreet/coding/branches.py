"""The leaves that rows reach in a public tree, found level by level: apart because it is a loop of its own.

On each level every row reads the code of its node's column and compares it with that node's constant, or
looks it up among the node's members. Codes of all trees stand in one table: a forest fetches them once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import numpy as np
import numpy.typing as npt

from discreet.coding.cells import Integers
from discreet.coding.codes import Between, Code, OneOf

Tests = tuple[Between | OneOf | None, ...]

#: Rows handled at once: what a level reads and writes then stays near the processor.
TILE = 2**13
#: On this many levels every test is asked of all rows.
TOP_LEVELS = 4
#: Codes beyond this size are compared as they are, node by node.
LARGEST = 2**31 - 2
#: What no code reaches.
NEVER = 2**31 - 1
#: Where a node without a list looks for members: beyond the end of all lists, where there are none.
FAR = 2**40
#: The most codes that stand side by side.
MAX_PLACES = 512


@final
class CodeTable:
    """Codes of the same rows side by side, each fetched when a tree first needs it."""

    def __init__(self, length: int, fetch: Callable[[Code], Integers]) -> None:
        self._length, self._fetch = length, fetch
        self._places: dict[Code, int] = {}
        self._cells = np.empty((0, length), np.int32)

    def leaves(self, tests: Tests) -> Integers | None:
        """The leaf of each row; None where the tests need codes that don't fit."""
        # by identity: trees name few codes, and each many times
        used = list({id(test.code): test.code for test in tests if test is not None}.values())
        if not all(-LARGEST <= code.low <= code.high <= LARGEST for code in used):
            return None
        if len({*self._places, *used}) > MAX_PLACES:
            return None
        self._place(used)
        nodes = _Nodes(len(tests), self._length)
        columns = {id(code): _Column(code, self._places[code]) for code in used}
        for node, test in enumerate(tests):
            if test is not None and not nodes.add(node, test, columns[id(test.code)]):
                return None
        return _Walk(nodes, self._length).leaves(self._cells.reshape(-1))

    def _place(self, codes: list[Code]) -> None:
        new = [code for code in dict.fromkeys(codes) if code not in self._places]
        if new:
            fetched = [self._fetch(code).astype(np.int32) for code in new]
            self._cells = np.concatenate([self._cells, np.stack(fetched)])
            self._places |= {code: len(self._places) + at for at, code in enumerate(new)}


@final
class _Column:
    """The largest value of a code, whether tests may list its values, and where it stands in the table."""

    def __init__(self, code: Code, place: int) -> None:
        self.high, self.place = code.high, place
        self.can_list = code.low >= -1 and code.high < TILE


@final
class _Nodes:
    """The constants of a tree's nodes, in heap order."""

    def __init__(self, count: int, length: int) -> None:
        self._length = length
        self.starts = [0] * count
        self.least = [NEVER] * count
        self.offsets = [FAR] * count
        self.members: list[npt.NDArray[np.bool_]] = []
        self._end = 0

    def add(self, node: int, test: Between | OneOf, column: _Column) -> bool:
        """Enter a test; False where it is neither one comparison nor a list of few small codes."""
        self.starts[node] = column.place * self._length
        if isinstance(test, Between):
            self.least[node] = max(test.low, -LARGEST)
            return test.high >= column.high and test.low <= LARGEST
        if not column.can_list:
            return False
        width = column.high + 2  # from -1 on
        listed = np.zeros(width, np.bool_)
        listed[[member + 1 for member in test.members if -1 <= member < width - 1]] = True
        self.members.append(listed)
        self.offsets[node] = self._end + 1
        self._end += width
        return True


@final
class _Walk:
    """The way of rows through a tree's nodes."""

    def __init__(self, nodes: _Nodes, length: int) -> None:
        self._levels = len(nodes.starts).bit_length()
        self._length = length
        self._starts = np.array(nodes.starts, np.intp)
        self._least = np.array(nodes.least, np.int32)
        self._offsets = np.array(nodes.offsets, np.intp)
        self._members = np.concatenate([*nodes.members, [False]]) if nodes.members else None

    def leaves(self, cells: npt.NDArray[np.int32]) -> Integers:
        """The leaf of each row, the rows' codes standing one column after the other."""
        result = np.zeros(self._length, np.int64)
        for first in range(0, self._length, TILE):
            rows = np.arange(first, min(first + TILE, self._length), dtype=np.intp)
            result[first : first + TILE] = self._walk(cells, rows)
        return result

    def _walk(self, cells: npt.NDArray[np.int32], rows: npt.NDArray[np.intp]) -> Any:
        top = min(TOP_LEVELS, self._levels)
        node = self._start(cells, rows, top)
        places, values = np.empty_like(node), np.empty(len(rows), np.int32)
        least = np.empty_like(values)
        for level in range(top, self._levels):
            here = slice(2**level - 1, 2 ** (level + 1) - 1)
            # without a mode, numpy would write to a copy first; all places are in range
            self._starts[here].take(node, out=places, mode="clip")
            places += rows
            cells.take(places, out=values, mode="clip")
            self._least[here].take(node, out=least, mode="clip")
            right = values >= least
            if self._members is not None:  # rows whose node lists their code go right, too
                self._offsets[here].take(node, out=places, mode="clip")
                places += values
                right |= self._members.take(places, mode="clip")
            node *= 2
            node += right
        return node

    def _start(
        self, cells: npt.NDArray[np.int32], rows: npt.NDArray[np.intp], levels: int
    ) -> npt.NDArray[np.intp]:
        """The nodes below the first levels: these have few tests, so each is asked of all rows."""
        answers = [self._ask(node, cells, rows) for node in range(2**levels - 1)]
        reached = np.zeros(len(rows), np.uint8)
        chosen: list[npt.NDArray[np.bool_]] = []
        for level in range(levels):
            asked = answers[2**level - 1 : 2 ** (level + 1) - 1]
            for right in reversed(chosen):  # the last choice tells neighbours apart
                asked = [
                    a ^ ((a ^ b) & right) for a, b in zip(asked[::2], asked[1::2], strict=True)
                ]
            chosen.append(asked[0])
            reached *= 2
            reached += asked[0]
        return reached.astype(np.intp)

    def _ask(
        self, node: int, cells: npt.NDArray[np.int32], rows: npt.NDArray[np.intp]
    ) -> npt.NDArray[np.bool_]:
        """What the test of one node says of all rows."""
        first = int(self._starts[node]) + int(rows[0])
        values = cells[first : first + len(rows)]
        offset = int(self._offsets[node])
        if offset != FAR:
            assert self._members is not None
            return self._members.take(values + np.intp(offset))
        return np.asarray(values >= self._least[node])
