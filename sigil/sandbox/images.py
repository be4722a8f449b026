"""Memory images: what loading a JavaScript source changes in the engine's memory, kept once and written back before each call.

A capability is then a few pages of data, not code: nothing is compiled for it, and nothing is parsed again. The image is taken when no
call is on the stack, from the same build of the engine that it is written to: the engine keeps its state in its memory alone, and
its stack pointer is back where it began. A source that asks its host while it is loaded (for the time, for random numbers) would freeze
the answer, and one that fails says so each time: those have no image and are loaded at each call.
"""

from __future__ import annotations

import ctypes
from typing import NamedTuple

from sigil.sandbox.door import Door
from sigil.sandbox.driver import Driver, Host, Loaded

IMAGE_BYTES = 4 << 20
"""An image has at most so many bytes; a larger one is not kept."""
_PAGE = 4096


class Image(NamedTuple):
    """`size`: of the memory; `pages`: (address, bytes) of what loading changed; `door`: where it takes input and puts output."""

    size: int
    pages: tuple[tuple[int, bytes], ...]
    door: Door

    @property
    def weight(self) -> int:
        return sum(len(content) for _, content in self.pages)


class Script(NamedTuple):
    """A loaded source. `image`: None when it has to be loaded at each call."""

    source: bytes
    image: Image | None


class Images:
    """The engine of one runner and the sources that it can run."""

    def __init__(self, driver: Driver, engine: Loaded) -> None:
        self._driver = driver
        self._engine = engine
        self._base = self._pristine()

    def take(self, source: bytes, memory_bytes: int) -> Script:
        """Load `source` once, in a memory of at most `memory_bytes`. `Stopped` when that does not end by itself."""
        asked: list[bytes] = []
        store = self._driver.open(memory_bytes, asked.append)
        try:
            self._driver.enter(self._engine)
            failed = self._load(source)
            image = None if failed or asked else self._changed(self._driver.invoke(b"sigil_tidy"))
        finally:
            self._driver.close(store)
        return Script(source, image if image and image.weight <= IMAGE_BYTES else None)

    def call(self, script: Script, data: bytes, limits: tuple[int, int], host: Host) -> tuple[bool, bytes]:
        """Run `script` on `data` in a fresh instance: whether it succeeded and its output. `limits`: memory and output in bytes."""
        store = self._driver.open(limits[0], host)
        try:
            self._driver.enter(self._engine)
            if script.image and script.image.size <= limits[0]:
                self._write(script.image)
                if len(data) <= script.image.door.room:
                    return self._driver.pass_through(script.image.door, data, limits[1])
            elif self._load(script.source):
                return False, self._driver.output(limits[1])
            return self._driver.answer(data, limits[1])
        finally:
            self._driver.close(store)

    def _load(self, source: bytes) -> int:
        return self._driver.invoke(b"sigil_load", self._driver.give(source), len(source))

    def _write(self, image: Image) -> None:
        if image.size > len(self._base):
            self._driver.grow(image.size)
        memory = self._driver.place(0, image.size)
        for address, content in image.pages:
            ctypes.memmove(memory + address, content, len(content))

    def _pristine(self) -> bytes:
        store = self._driver.open(1 << 40, _nobody)
        try:
            self._driver.enter(self._engine)
            return self._memory()
        finally:
            self._driver.close(store)

    def _memory(self) -> bytes:
        size = self._driver.size()
        return ctypes.string_at(self._driver.place(0, size), size)

    def _changed(self, door: int) -> Image:
        memory = self._memory()
        return Image(len(memory), tuple(_differences(self._base, memory)), Door.at(door, memory))


def _differences(before: bytes, after: bytes) -> list[tuple[int, bytes]]:
    """(address, bytes) of the runs of pages that differ; what lies beyond `before` was zero."""
    runs: list[tuple[int, bytes]] = []
    begin = None
    old, new, zero = memoryview(before), memoryview(after), bytes(_PAGE)
    for at in range(0, len(after) + 1, _PAGE):
        page = new[at : at + _PAGE]
        same = page == (old[at : at + _PAGE] if at < len(before) else zero[: len(page)])
        if same and begin is not None:
            runs.append((begin, after[begin:at]))
            begin = None
        elif not same and begin is None:
            begin = at
    return runs


def _nobody(_request: bytes) -> bytes | None:
    return None
