"""The leaves that rows reach in a public tree, found level by level: apart because it is a loop of its own.

On each level every row reads the code of its node's column and compares it with that node's constant, or
looks it up among the node's members. Codes of all trees stand in one table: a forest fetches them once.
A forest has thousands of nodes, so what they ask is kept in arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final, overload

import numpy as np
import numpy.typing as npt

from discreet.coding.cells import Integers
from discreet.coding.codes import Between, Code, OneOf

Test = Between | OneOf | None

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
class NodeTests(Sequence[Test]):
    """The tests of a tree's nodes in heap order, in arrays; one is made when somebody looks at it.

    Parameters
    ----------
    codes : tuple of Code
    which : array of int
        The place of each node's code in `codes`; -1 for a node without a test.
    minimum : array of int64
        A node says yes where its code is at least this.
    members : dict of int to tuple of int
        For nodes that list codes instead: these.
    """

    def __init__(
        self,
        codes: tuple[Code, ...],
        which: npt.NDArray[np.intp],
        minimum: Integers,
        members: dict[int, tuple[int, ...]],
    ) -> None:
        self.codes, self.which, self.minimum, self.members = codes, which, minimum, members
        self._hash: int | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # without the hash, which other processes make in their own way
        return NodeTests, (self.codes, self.which, self.minimum, self.members)

    def __len__(self) -> int:
        return len(self.which)

    @overload
    def __getitem__(self, at: int) -> Test: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Test, ...]: ...
    def __getitem__(self, at: int | slice) -> Test | tuple[Test, ...]:
        if isinstance(at, slice):
            return tuple([self[node] for node in range(*at.indices(len(self)))])
        node = range(len(self))[at]
        if self.which[node] < 0:
            return None
        code = self.codes[self.which[node]]
        if node in self.members:
            return OneOf(code, self.members[node])
        return Between(code, int(self.minimum[node]), code.high)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NodeTests | tuple) and self[:] == other[:]

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self[:])
        return self._hash


def _pack(tests: Sequence[Test]) -> NodeTests | None:
    """Tests in arrays; None where one has an upper end."""
    if isinstance(tests, NodeTests):
        return tests
    # by identity: trees name few codes, and each many times
    used = list({id(test.code): test.code for test in tests if test is not None}.values())
    places = {id(code): place for place, code in enumerate(used)}
    which, least = np.full(len(tests), -1, np.intp), np.zeros(len(tests), np.int64)
    members: dict[int, tuple[int, ...]] = {}
    for node, test in enumerate(tests):
        if test is None:
            continue
        which[node] = places[id(test.code)]
        if isinstance(test, OneOf):
            members[node] = test.members
        elif test.high < test.code.high:
            return None
        else:
            least[node] = min(max(test.low, -LARGEST), NEVER)
    return NodeTests(tuple(used), which, least, members)


@final
class CodeTable:
    """Codes of the same rows side by side, each fetched when a tree first needs it."""

    def __init__(self, length: int) -> None:
        self._length = length
        self._places: dict[Code, int] = {}
        self._cells = np.empty((0, length), np.int32)

    def leaves(self, tests: Sequence[Test], fetch: Callable[[Code], Integers]) -> Integers | None:
        """The leaf of each row; None where the tests need codes that don't fit.

        Whoever fetches isn't kept, which may hold this table: rows shall be let go of at once.
        """
        nodes = _pack(tests)
        if nodes is None:
            return None
        used = nodes.codes
        if not used:
            return np.zeros(self._length, np.int64)
        if not all(-LARGEST <= code.low <= code.high <= LARGEST for code in used):
            return None
        listed = {int(nodes.which[node]) for node in nodes.members}
        if not all(used[at].low >= -1 and used[at].high < TILE for at in listed):
            return None
        if len({*self._places, *used}) > MAX_PLACES:
            return None
        # the last for nodes without a test
        places = np.array([*self._place(used, fetch), 0], np.intp)
        return _Walk(nodes, places, self._length).leaves(self._cells.reshape(-1))

    def _place(self, codes: tuple[Code, ...], fetch: Callable[[Code], Integers]) -> list[int]:
        """Where codes stand in the table, which new ones join.

        A code made of another tree's leaves puts that tree's codes here while it is fetched, so what is
        new is known only after that.
        """
        fetched = {
            code: fetch(code).astype(np.int32)
            for code in dict.fromkeys(codes)
            if code not in self._places
        }
        new = [code for code in fetched if code not in self._places]
        if new:
            self._places |= {code: len(self._places) + at for at, code in enumerate(new)}
            self._cells = np.concatenate([self._cells, np.stack([fetched[code] for code in new])])
        return [self._places[code] for code in codes]


@final
class _Walk:
    """The way of rows through a tree's nodes."""

    def __init__(self, nodes: NodeTests, places: npt.NDArray[np.intp], length: int) -> None:
        self._levels = len(nodes).bit_length()
        self._length = length
        self._starts = places[nodes.which] * length
        self._least = np.clip(nodes.minimum, -LARGEST, NEVER).astype(np.int32)
        self._least[nodes.which < 0] = NEVER
        self._offsets = np.full(len(nodes), FAR, np.intp)
        self._members = self._list(nodes) if nodes.members else None

    def _list(self, nodes: NodeTests) -> npt.NDArray[np.bool_]:
        """Which codes the nodes list: the codes from -1 on of one node after the other, then a no."""
        highs = [code.high for code in nodes.codes]
        end, yes = 0, []
        for node, members in nodes.members.items():
            high = highs[nodes.which[node]]
            yes += [end + 1 + code for code in members if -1 <= code <= high]
            self._offsets[node], self._least[node] = end + 1, NEVER
            end += high + 2
        found = np.zeros(end + 1, np.bool_)
        found[yes] = True
        return found

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
            return self._members.take(values + np.intp(offset), mode="clip")  # raises for no row
        return np.asarray(values >= self._least[node])
