"""Finds out which of the engine's first allocations calls write to, so that those can lie side by
side.

A fresh instance shares the image's pages until it writes to one, and every first write costs a page
fault, a few microseconds. What calls write to (counts of references, mostly) would lie on some
twenty pages. So the engine is started once to be watched: a few ordinary calls run again and again,
each time a little further, what they changed until then is looked up among the allocations, and the
real start gets those allocations' numbers. A plan that fits badly costs time and changes nothing
else.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator
from itertools import count

from sigil.sandbox.engine.unstarted import Plan, Unstarted

_SMALL = 1016  # heap.h: larger blocks are laid out by their chunk
_HEAD = 8
_PAGE = 4096
_STRIDE = 499  # instructions between two looks
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
)
_INPUT = json.dumps({"text": "the quick brown fox", "list": [3, 1, 2]}).encode()


def written_by_calls(compiled: bytes, code: bytes) -> Plan:
    """The small allocations of a start with the prelude's `code` that ordinary calls write to."""
    watch = _Watch(compiled, code)
    for body in _ORDINARY:
        watch.follow(body.encode())
    return watch.plan()


class _Watch:
    """One engine that has told its allocations, and is set back to where its start ended before
    each try.
    """

    def __init__(self, compiled: bytes, code: bytes) -> None:
        self._numbers: dict[int, int] = {}  # by address: that of the last allocation there
        self._changed: set[int] = set()
        self._seen: dict[int, bytes] = {}
        self._engine = Unstarted(compiled, self._allocated)
        self._engine.prepare(code, None)
        self._image = self._engine.memory()

    def follow(self, body: bytes) -> None:
        """Loads and runs `body`, looking at the memory every few instructions."""
        self._follow("sigil_load", body)
        loaded = self._engine.memory()
        self._follow("sigil_run", _INPUT, loaded)

    def plan(self) -> Plan:
        """What was written to so far."""
        order = sorted(self._numbers)
        hot: dict[int, int] = {}
        for changed in self._changed:
            address = order[bisect_right(order, changed + _HEAD) - 1]
            length = int.from_bytes(self._image[address - 4 : address], "little")
            if length <= _SMALL and changed < address + length:
                hot[self._numbers[address]] = length + _HEAD
        return Plan(tuple(sorted(hot)), sum(hot.values()))

    def _allocated(self, address: int, number: int) -> int:
        self._numbers[address] = number
        return 0

    def _follow(self, step: str, data: bytes, start: bytes | None = None) -> None:
        for fuel in count(_STRIDE, _STRIDE):
            self._engine.restore(start or self._image)
            finished = self._engine.call_within(fuel, step, *self._engine.put(data))
            self._look()
            if finished:
                return

    def _look(self) -> None:
        now = self._engine.memory()
        for page in range(0, len(self._image), _PAGE):
            content = now[page : page + _PAGE]
            if content != self._seen.get(page, self._image[page : page + _PAGE]):
                self._seen[page] = content
                self._changed.update(
                    page + i for i in _differences(self._image[page : page + _PAGE], content)
                )


def _differences(before: bytes, after: bytes) -> Iterator[int]:
    return (i for i in range(_PAGE) if before[i] != after[i])
