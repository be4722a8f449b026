"""A memory image holds the changes that loading a JavaScript source makes in the engine's memory:
it is taken once and written back before each call.

A capability is then a few pages of data, not code: nothing is compiled for it, and nothing is
parsed again. The image is taken when no call is on the stack, from the same build of the engine
that it is written to: the engine keeps its state in its memory alone, and its stack pointer is back
where it began. A source that asks its host while it is loaded (for the time, for random numbers)
would freeze the answer, and one that fails has to fail each time: those have no image and are
loaded at each call.
"""

from __future__ import annotations

import ctypes

from sigil.sandbox.runtime import config
from sigil.sandbox.runtime.driver import Driver, EngineBuffers, LoadedModule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sigil.sandbox.runtime.driver import Host

IMAGE_BYTES = 4 << 20
"""The most bytes of an image; a larger one is not kept."""
PACKED_BYTES = 8 << 10
"""A source of so many bytes is loaded twice, the second time from the bytecode of the first."""
_PAGE = 4096


class Image:
    """The image of one source. `size`: bytes of the memory; `pages`: (address, bytes) of the
    changes; `buffers`: where it takes its input and puts its output.
    """

    __slots__ = ("buffers", "pages", "size")

    def __init__(
        self, size: int, pages: tuple[tuple[int, bytes], ...], buffers: EngineBuffers
    ) -> None:
        self.size = size
        self.pages = pages
        self.buffers = buffers

    @property
    def weight(self) -> int:
        return sum(len(content) for _, content in self.pages)


class LoadedSource:
    """A loaded source. `image`: None when it has to be loaded at each call."""

    __slots__ = ("image", "source")

    def __init__(self, source: bytes, image: Image | None) -> None:
        self.source = source
        self.image = image


class MemoryImages:
    """The engine of one runner and the sources that it can run."""

    def __init__(self, driver: Driver, engine: LoadedModule) -> None:
        self._driver = driver
        self._engine = engine
        self._base = self._read_fresh_memory()

    def take(self, source: bytes, memory_bytes: int) -> LoadedSource:
        """Load `source` once, in a memory of at most `memory_bytes`. `GuestStopped` when loading it
        does not end by itself.
        """
        requests: list[bytes] = []
        bytecode = b""
        image = None
        with _OpenEngine(self._driver, self._engine, memory_bytes, requests.append):
            if self._load(source) or requests:
                return LoadedSource(source, None)
            # `sigil_pack` makes bytecode of the source; it fails when the memory is too small.
            if len(source) >= PACKED_BYTES and not self._driver.invoke(b"sigil_pack"):
                bytecode = self._driver.read_output(config.MEMORY_BYTES)
            if not bytecode:
                image = self._make_image()
        if bytecode:
            image = self._make_image_of_bytecode(bytecode, memory_bytes)
        if image and image.weight > IMAGE_BYTES:
            image = None
        return LoadedSource(source, image)

    def call(
        self, script: LoadedSource, data: bytes, limits: tuple[int, int], host: Host
    ) -> tuple[bool, bytes]:
        """Run `script` on `data` in a fresh instance; return whether it succeeded, and its output.
        `limits`: memory and output in bytes.
        """
        store = self._driver.open(limits[0], host)
        try:
            self._driver.enter(self._engine)
            if script.image and script.image.size <= limits[0]:
                memory = self._write_image(script.image)
                if len(data) <= script.image.buffers.capacity:
                    return self._driver.run_in_buffers(
                        script.image.buffers, data, limits[1], memory
                    )
            elif self._load(script.source):
                return False, self._driver.read_output(limits[1])
            return self._driver.run(data, limits[1])
        finally:
            self._driver.close(store)

    def _make_image_of_bytecode(self, bytecode: bytes, memory_bytes: int) -> Image | None:
        """Return an image that is loaded from bytecode. It is half as large as one of the source,
        for it has none of the holes that a parser leaves.
        """
        with _OpenEngine(self._driver, self._engine, memory_bytes, _answer_nothing):
            at = self._driver.invoke(b"sigil_hold", len(bytecode))
            if not at:
                return None
            ctypes.memmove(self._driver.address(at, len(bytecode)), bytecode, len(bytecode))
            if self._driver.invoke(b"sigil_unpack", at, len(bytecode)):
                return None
            return self._make_image()

    def _load(self, source: bytes) -> int:
        """Load `source` into the open engine; return 0 when it succeeded."""
        return self._driver.invoke(b"sigil_load", self._driver.copy_in(source), len(source))

    def _write_image(self, image: Image) -> int:
        """Write `image` into the open engine's memory; return where that begins in this process."""
        if image.size > len(self._base):
            self._driver.grow_memory(image.size)
        memory = self._driver.address(0, image.size)
        for address, content in image.pages:
            ctypes.memmove(memory + address, content, len(content))
        return memory

    def _read_fresh_memory(self) -> bytes:
        with _OpenEngine(self._driver, self._engine, 1 << 40, _answer_nothing):
            return self._read_memory()

    def _read_memory(self) -> bytes:
        size = self._driver.memory_size()
        return ctypes.string_at(self._driver.address(0, size), size)

    def _make_image(self) -> Image | None:
        """Return an image of the source that was loaded; None when its buffers cannot be true."""
        address = self._driver.invoke(b"sigil_tidy")
        memory = self._read_memory()
        buffers = EngineBuffers(address, memory)
        if not buffers.fits(len(memory)):
            return None
        pages = _find_changed_runs(self._base, memory[: buffers.end])
        return Image(buffers.end, tuple(pages), buffers)


class _OpenEngine:
    """A fresh instance of the engine, until the end of the `with`."""

    def __init__(self, driver: Driver, engine: LoadedModule, memory_bytes: int, host: Host) -> None:
        self._driver = driver
        self._engine = engine
        self._store = driver.open(memory_bytes, host)

    def __enter__(self) -> None:
        try:
            self._driver.enter(self._engine)
        except BaseException:
            self._driver.close(self._store)
            raise

    def __exit__(self, *_error: object) -> None:
        self._driver.close(self._store)


def _find_changed_runs(before: bytes, after: bytes) -> list[tuple[int, bytes]]:
    """Return (address, bytes) of the runs of pages that differ; `before` goes on with zeros."""
    runs: list[tuple[int, bytes]] = []
    begin = None
    old = memoryview(before)
    new = memoryview(after)
    zeros = bytes(_PAGE)
    for at in range(0, len(after) + 1, _PAGE):
        page = new[at : at + _PAGE]
        expected = old[at : at + _PAGE] if at < len(before) else zeros[: len(page)]
        same = page == expected
        if same and begin is not None:
            runs.append((begin, after[begin:at]))
            begin = None
        elif not same and begin is None:
            begin = at
    return runs


def _answer_nothing(_request: bytes) -> bytes | None:
    return None
