"""A memory image holds what loading a JavaScript source changes in the engine's memory: it is taken
once and written back before each call.

A capability is then a few pages of data, not code: nothing is compiled for it, and nothing is
parsed again. The image is taken when no call is on the stack, from the same build of the engine
that it is written to: the engine keeps its state in its memory alone, and its stack pointer is back
where it began. A source that asks its host while it is loaded (for the time, for random numbers)
would freeze the answer, and one that fails says so each time: those have no image and are loaded at
each call.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from sigil.sandbox import runtime_features
from sigil.sandbox.driver import Driver, EngineBuffers, Host, Loaded

IMAGE_BYTES = 4 << 20
"""An image has at most so many bytes; a larger one is not kept."""
PACKED_BYTES = 8 << 10
"""A source of so many bytes is loaded twice: the second time of the bytecode that the first time
made.
"""
_PAGE = 4096


class Image(NamedTuple):
    """`size`: of the memory; `pages`: (address, bytes) of what loading changed; `buffers`: where
    it takes input and puts output.
    """

    size: int
    pages: tuple[tuple[int, bytes], ...]
    buffers: EngineBuffers

    @property
    def weight(self) -> int:
        return sum(len(content) for _, content in self.pages)


class Script(NamedTuple):
    """A loaded source. `image`: None when it has to be loaded at each call."""

    source: bytes
    image: Image | None


class MemoryImages:
    """The engine of one runner and the sources that it can run."""

    def __init__(self, driver: Driver, engine: Loaded) -> None:
        self._driver = driver
        self._engine = engine
        self._base = self._pristine()

    def take(self, source: bytes, memory_bytes: int) -> Script:
        """Load `source` once, in a memory of at most `memory_bytes`. `Stopped` when that does not
        end by itself.
        """
        asked: list[bytes] = []
        with self._opened(memory_bytes, asked.append):
            if self._load(source) or asked:
                return Script(source, None)
            packed = self._packed() if len(source) >= PACKED_BYTES else b""
            image = None if packed else self._image()
        if packed:
            image = self._unpacked(packed, memory_bytes)
        return Script(source, image if image and image.weight <= IMAGE_BYTES else None)

    def call(
        self, script: Script, data: bytes, limits: tuple[int, int], host: Host
    ) -> tuple[bool, bytes]:
        """Run `script` on `data` in a fresh instance: whether it succeeded and its output.
        `limits`: memory and output in bytes.
        """
        store = self._driver.open(limits[0], host)
        try:
            self._driver.enter(self._engine)
            if script.image and script.image.size <= limits[0]:
                memory = self._write(script.image)
                if len(data) <= script.image.buffers.room:
                    return self._driver.run_in_buffers(
                        script.image.buffers, data, limits[1], memory
                    )
            elif self._load(script.source):
                return False, self._driver.output(limits[1])
            return self._driver.answer(data, limits[1])
        finally:
            self._driver.close(store)

    def _packed(self) -> bytes:
        """Return what was loaded as bytecode; empty when there is no room for it."""
        if self._driver.invoke(b"sigil_pack"):
            return b""
        return self._driver.output(runtime_features.MEMORY_BYTES)

    def _unpacked(self, code: bytes, memory_bytes: int) -> Image | None:
        """An image that is loaded of bytecode: half as large, for it has none of the holes that a
        parser leaves.
        """
        with self._opened(memory_bytes, _answer_nothing):
            at = self._driver.invoke(b"sigil_hold", len(code))
            if not at:
                return None
            ctypes.memmove(self._driver.place(at, len(code)), code, len(code))
            return None if self._driver.invoke(b"sigil_unpack", at, len(code)) else self._image()

    def _load(self, source: bytes) -> int:
        return self._driver.invoke(b"sigil_load", self._driver.give(source), len(source))

    def _write(self, image: Image) -> int:
        """Where the memory begins that holds `image` now."""
        if image.size > len(self._base):
            self._driver.grow(image.size)
        memory = self._driver.place(0, image.size)
        for address, content in image.pages:
            ctypes.memmove(memory + address, content, len(content))
        return memory

    def _pristine(self) -> bytes:
        with self._opened(1 << 40, _answer_nothing):
            return self._memory()

    @contextmanager
    def _opened(self, memory_bytes: int, host: Host) -> Iterator[None]:
        """A fresh instance of the engine."""
        store = self._driver.open(memory_bytes, host)
        try:
            self._driver.enter(self._engine)
            yield
        finally:
            self._driver.close(store)

    def _memory(self) -> bytes:
        size = self._driver.size()
        return ctypes.string_at(self._driver.place(0, size), size)

    def _image(self) -> Image | None:
        """Return an image of what was loaded until now; None when its buffers cannot be true."""
        address = self._driver.invoke(b"sigil_tidy")
        memory = self._memory()
        buffers = EngineBuffers.at(address, memory)
        if not buffers.fits(len(memory)):
            return None
        pages = _differences(self._base, memory[: buffers.end])
        return Image(buffers.end, tuple(pages), buffers)


def _differences(before: bytes, after: bytes) -> list[tuple[int, bytes]]:
    """Return (address, bytes) of the runs of pages that differ; `before` goes on with zeros."""
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


def _answer_nothing(_request: bytes) -> bytes | None:
    return None
