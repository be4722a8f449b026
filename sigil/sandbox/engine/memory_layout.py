"""Finds the allocations of the engine's start that ordinary calls write to, so that they can lie side
by side.

A fresh instance shares the image's pages until it writes to one, and every first write costs a page
fault, a few microseconds. The places that calls write to (counts of references, mostly) would lie on
some twenty pages. So the engine is started once to be watched: a few ordinary calls run again and
again, each time a little further, the changes until then are looked up among the allocations, and
the real start gets the numbers of those allocations. A plan that fits badly costs time and changes
nothing else.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from itertools import count

from sigil.sandbox.engine.unstarted import LayoutPlan, UnstartedEngine

_SMALL = 1016  # heap.h: larger blocks are laid out by their chunk
_HEAD = 8
_PAGE = 4096
_STRIDE = 499  # instructions between two comparisons
_NOT_ZERO = re.compile(rb"[^\0]")
_ORDINARY = (
    """
    const words = input.text.split(" ").filter(Boolean).map(word => word.toUpperCase());
    const sum = input.list.reduce((a, b) => a + b, 0);
    return { words, sum, text: JSON.stringify(input), keys: Object.keys(input), top: Math.max(...input.list) };
    """,
    """
    const { text } = input;
    if (typeof text !== "string" || !/^[a-z ]+$/.test(text)) return null;
    return text.trim().replace("q", "Q").length + String(parseInt("7", 10));
    """,
    """
    const error = new Error("no such unit");
    error.code = "EINVAL";
    throw error;
    """,
    """
    for (const [key, value] of Object.entries(input)) if (Array.isArray(value)) return `${key}: ${value.join()}`;
    """,
    """
    export default { async fetch(request) { return Response.json(await request.json()); } };
    """,
)
_INPUT = json.dumps({"text": "the quick brown fox", "list": [3, 1, 2]}).encode()


def plan_layout(compiled: bytes, code: bytes) -> LayoutPlan:
    """Plan for the small allocations of a start with the prelude's `code` that ordinary calls write
    to.
    """
    observer = _WriteObserver(compiled, code)
    for body in _ORDINARY:
        observer.observe(body.encode())
    return observer.make_plan()


class _WriteObserver:
    """One engine that has reported its allocations; before each run it is set back to the end of its
    start.
    """

    def __init__(self, compiled: bytes, code: bytes) -> None:
        self._numbers: dict[int, int] = {}  # by address: that of the last allocation there
        self._changed: set[int] = set()
        self._seen: dict[int, bytes] = {}
        self._engine = UnstartedEngine(compiled, self._note_allocation)
        self._engine.start(code, None)
        self._image = self._engine.read_memory()

    def observe(self, body: bytes) -> None:
        """Load and run `body`, comparing the memory every few instructions."""
        self._run_in_steps("sigil_load", body)
        loaded = self._engine.read_memory()
        self._run_in_steps("sigil_run", _INPUT, loaded)

    def make_plan(self) -> LayoutPlan:
        """Return the plan for the allocations that were written to so far."""
        order = sorted(self._numbers)
        hot: dict[int, int] = {}
        for changed in self._changed:
            address = order[bisect_right(order, changed + _HEAD) - 1]
            length = int.from_bytes(self._image[address - 4 : address], "little")
            if length <= _SMALL and changed < address + length:
                hot[self._numbers[address]] = length + _HEAD
        return LayoutPlan(tuple(sorted(hot)), sum(hot.values()))

    def _note_allocation(self, address: int, number: int) -> int:
        self._numbers[address] = number
        return 0

    def _run_in_steps(self, name: str, data: bytes, start: bytes | None = None) -> None:
        """Call the export `name` on `data` again and again, each time a little further, until it
        returns; note the changes each time.
        """
        for fuel in count(_STRIDE, _STRIDE):
            self._engine.restore(start or self._image)
            finished = self._engine.call_within(fuel, name, *self._engine.copy_in(data))
            memory = self._engine.read_memory()
            for page in range(0, len(self._image), _PAGE):
                # Compared with what was seen last, which is quicker: a byte that has changed since
                # then differs from the image now, or did so then and was added.
                before = self._seen.get(page) or self._image[page : page + _PAGE]
                after = memory[page : page + _PAGE]
                if after == before:
                    continue
                self._seen[page] = after
                differences = int.from_bytes(before, "little") ^ int.from_bytes(after, "little")
                for byte in _NOT_ZERO.finditer(differences.to_bytes(_PAGE, "little")):
                    self._changed.add(page + byte.start())
            if finished:
                return
