"""Reads the sections of an uploaded module before any compiler sees it, and refuses an unfit module
with one line that says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sigil.errors import one_line
from sigil.sandbox.runtime import wasi_functions
from sigil.sandbox.runtime.config import MEMORY_BYTES, TABLE_ELEMENTS, TABLES

I32, I64 = 0x7F, 0x7E

Signature = tuple[tuple[int, ...], tuple[int, ...]]
"""Parameter and result types of a function, as the bytes of the format."""


@dataclass(frozen=True, slots=True)
class Abi:
    """The imports that a module may have and the exports that it must have.

    `optional`: exports that it may have. `only` names the imports in an error. `needs`: imports
    that it must have, with the error for a module without them.
    """

    imports: Mapping[tuple[bytes, bytes], Signature]
    exports: Mapping[bytes, Signature]
    optional: Mapping[bytes, tuple[Signature, ...]]
    only: str
    needs: Mapping[tuple[bytes, bytes], str]


def _read_signature(letters: str) -> Signature:
    """Read a signature of `wasi_functions`."""
    kinds = {"i": I32, "I": I64}
    parameters, _, results = letters.partition(" ")
    return tuple(kinds[letter] for letter in parameters), tuple(kinds[letter] for letter in results)


SIGIL = Abi(
    imports={
        (b"sigil", b"call"): ((I32, I32), (I32,)),
        (b"sigil", b"take"): ((I32,), ()),
    },
    exports={
        b"sigil_alloc": ((I32,), (I32,)),
        b"sigil_run": ((I32, I32), (I32,)),
        b"sigil_out_ptr": ((), (I32,)),
        b"sigil_out_len": ((), (I32,)),
    },
    optional={b"sigil_start": (((), ()), ((), (I32,)))},
    only="only sigil.call and sigil.take exist",
    needs={},
)
COMMAND = Abi(
    imports={
        (wasi_functions.MODULE, name): _read_signature(letters)
        for name, letters in wasi_functions.FUNCTIONS.items()
    },
    exports={wasi_functions.START: ((), ())},
    optional={},
    only="a command has the functions of wasi_snapshot_preview1 alone",
    needs={
        (
            wasi_functions.MODULE,
            b"fd_write",
        ): "imports no fd_write: a command writes its answer to stdout"
    },
)
ABIS: Mapping[str, Abi] = {"sigil": SIGIL, "wasi": COMMAND}


MAGIC = b"\0asm\x01\0\0\0"
MODULE_BYTES = 2 << 20
CUSTOM_BYTES = 64 << 10
FUNCTIONS = 20_000
LOCALS = 1_000
MEMORY_PAGES = MEMORY_BYTES >> 16
ENTRIES = 20_000
"""The most types, globals, exports, element and data segments, each."""

_IMPORTS_MOST = 64
_VALUE_TYPES = frozenset({0x7F, 0x7E, 0x7D, 0x7C, 0x7B, 0x70, 0x6F})
_ORDER = {
    section: position for position, section in enumerate((1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 10, 11))
}
(
    _CUSTOM,
    _TYPE,
    _IMPORT,
    _FUNCTION,
    _TABLE,
    _MEMORY,
    _GLOBAL,
    _EXPORT,
    _START,
    _ELEMENT,
    _CODE,
    _DATA,
    _DATA_COUNT,
) = range(13)
_COUNTED = {_GLOBAL: "globals", _ELEMENT: "element segments", _DATA: "data segments"}
"""Sections of which only the number of entries is bounded; the compiler checks the rest."""


class UnfitModule(Exception):
    """The module cannot be taken; the text says why, in one clean line."""


@dataclass(frozen=True, slots=True)
class ModuleShape:
    """The size of a module. `bulk`: the bytes that a compiler has to work on, which are all but
    data and custom sections.

    `memory`: the bytes that the module's own memory starts with.
    """

    bulk: int
    memory: int = 0


class SectionReader:
    """A cursor over one section's bytes; every read is checked against the section's end."""

    __slots__ = ("at", "data", "end")

    def __init__(self, data: bytes, at: int, end: int) -> None:
        self.data = data
        self.at = at
        self.end = end

    def read_byte(self) -> int:
        if self.at >= self.end:
            raise UnfitModule(f"the module is cut short at byte {self.at}")
        self.at += 1
        return self.data[self.at - 1]

    def read_u32(self) -> int:
        """Read an unsigned LEB128 number of at most 32 bits: at most five bytes, and no bits beyond
        the 32nd.
        """
        value = 0
        for shift in (0, 7, 14, 21, 28):
            part = self.read_byte()
            if shift == 28 and part > 0x0F:
                break
            value |= (part & 0x7F) << shift
            if part < 0x80:
                return value
        raise UnfitModule(f"a number at byte {self.at - 1} does not fit 32 bits")

    def skip(self, count: int) -> None:
        if count > self.end - self.at:
            raise UnfitModule(f"the module is cut short at byte {self.at}")
        self.at += count

    def read_name(self) -> bytes:
        length = self.read_u32()
        start = self.at
        self.skip(length)
        return self.data[start : self.at]

    def read_count(self, what: str, limit: int) -> int:
        """Read a number of things; `what` names them when they are more than `limit`."""
        number = self.read_u32()
        if number > limit:
            raise UnfitModule(f"{number} {what}: at most {limit}")
        return number

    def read_value_types(self) -> tuple[int, ...]:
        types = []
        for _ in range(self.read_count("values in a function's type", LOCALS)):
            kind = self.read_byte()
            if kind not in _VALUE_TYPES:
                raise UnfitModule(f"a type at byte {self.at - 1} is not supported")
            types.append(kind)
        return tuple(types)


def scan(wasm: bytes, abi: Abi = SIGIL) -> ModuleShape:
    """Return the shape of an upload that keeps to `abi` and the published limits; `UnfitModule`
    otherwise.
    """
    check = _ModuleCheck(abi)
    bulk = 0
    for section, reader in read_sections(wasm):
        check.read_section(section, reader)
        bulk += _measure_bulk(section, reader)
    check.finish()
    return ModuleShape(bulk, check.pages << 16)


def measure(wasm: bytes) -> ModuleShape:
    """Return the shape of a module that is not an upload; only the frame of its sections is
    checked.
    """
    return ModuleShape(
        sum(_measure_bulk(section, reader) for section, reader in read_sections(wasm))
    )


def read_sections(wasm: bytes) -> Iterator[tuple[int, SectionReader]]:
    """Yield the sections in order, each with a reader over its body; `UnfitModule` when the frame
    is broken.
    """
    if len(wasm) > MODULE_BYTES:
        raise UnfitModule(f"the module has {len(wasm)} bytes: at most {MODULE_BYTES}")
    if not wasm.startswith(MAGIC):
        raise UnfitModule("not a binary WebAssembly core module of version 1")
    reader = SectionReader(wasm, len(MAGIC), len(wasm))
    last = -1
    while reader.at < reader.end:
        section = reader.read_byte()
        size = reader.read_u32()
        body = SectionReader(wasm, reader.at, reader.at + size)
        reader.skip(size)
        if section != _CUSTOM:
            position = _ORDER.get(section)
            if position is None:
                raise UnfitModule(f"section {section} is not supported")
            if position <= last:
                raise UnfitModule(f"section {section} is out of order")
            last = position
        yield section, body


def _measure_bulk(section: int, reader: SectionReader) -> int:
    return 0 if section in (_CUSTOM, _DATA) else reader.end - reader.at


class _ModuleCheck:
    """Checks one section after the other, and at the end what they have to say together."""

    def __init__(self, abi: Abi) -> None:
        self.abi = abi
        self.needs = dict(abi.needs)
        self.types: list[Signature] = []
        self.functions: list[int] = []
        self.imported = 0
        self.memories = 0
        self.pages = 0
        self.bodies = 0
        self.exports: dict[bytes, tuple[int, int]] = {}

    def read_section(self, section: int, reader: SectionReader) -> None:
        """Check one section; `reader` is at its beginning again afterwards."""
        begin = reader.at
        if section == _CUSTOM:
            size = reader.end - reader.at
            if size > CUSTOM_BYTES:
                raise UnfitModule(f"a custom section has {size} bytes: at most {CUSTOM_BYTES}")
            reader.read_name()
            reader.at = reader.end
        elif section == _TYPE:
            for _ in range(reader.read_count("types", ENTRIES)):
                if reader.read_byte() != 0x60:
                    at = reader.at - 1
                    raise UnfitModule(f"a type at byte {at} is not a plain function type")
                self.types.append((reader.read_value_types(), reader.read_value_types()))
        elif section == _IMPORT:
            self._check_imports(reader)
        elif section == _FUNCTION:
            for _ in range(reader.read_count("functions", FUNCTIONS)):
                self.functions.append(reader.read_u32())
        elif section == _TABLE:
            for _ in range(reader.read_count("tables", TABLES)):
                if reader.read_byte() not in (0x70, 0x6F):
                    raise UnfitModule(f"a table's type at byte {reader.at - 1} is not supported")
                if _read_minimum(reader) > TABLE_ELEMENTS:
                    raise UnfitModule(f"a table starts with more than {TABLE_ELEMENTS} elements")
        elif section == _MEMORY:
            self.memories = reader.read_count("memories", 1)
            self.pages = _read_minimum(reader) if self.memories else 0
            if self.pages > MEMORY_PAGES:
                raise UnfitModule(f"the memory starts with more than {MEMORY_PAGES} pages")
        elif section == _EXPORT:
            for _ in range(reader.read_count("exports", ENTRIES)):
                name = reader.read_name()
                kind = reader.read_byte()
                index = reader.read_u32()
                if name in self.exports:
                    raise UnfitModule(f"exports {_printable(name)} twice")
                self.exports[name] = (kind, index)
        elif section == _START:
            raise UnfitModule("a start section is not allowed: export sigil_start instead")
        elif section == _CODE:
            self._check_bodies(reader)
        elif section == _DATA_COUNT:
            reader.read_count("data segments", ENTRIES)
        else:
            reader.read_count(_COUNTED[section], ENTRIES)
            reader.at = reader.end
        if reader.at != reader.end:
            raise UnfitModule(f"section {section} has {reader.end - reader.at} bytes too many")
        reader.at = begin

    def _check_imports(self, reader: SectionReader) -> None:
        for _ in range(reader.read_count("imports", _IMPORTS_MOST)):
            owner = reader.read_name()
            name = reader.read_name()
            label = f"{_printable(owner)}.{_printable(name)}"
            signature = self.abi.imports.get((owner, name))
            if signature is None:
                raise UnfitModule(f"imports {label}: {self.abi.only}")
            if reader.read_byte() != 0 or self._type_at(reader.read_u32()) != signature:
                raise UnfitModule(f"imports {label} with a wrong type")
            self.needs.pop((owner, name), None)
            self.functions.append(-1)
            self.imported += 1

    def _check_bodies(self, reader: SectionReader) -> None:
        self.bodies = reader.read_count("function bodies", FUNCTIONS)
        for _ in range(self.bodies):
            size = reader.read_u32()
            body = SectionReader(reader.data, reader.at, min(reader.at + size, reader.end))
            total = 0
            for _ in range(body.read_count("groups of locals in a function", LOCALS)):
                total += body.read_u32()
                body.read_byte()
                if total > LOCALS:
                    raise UnfitModule(f"a function has more than {LOCALS} locals")
            reader.skip(size)

    def _type_at(self, index: int) -> Signature | None:
        return self.types[index] if index < len(self.types) else None

    def finish(self) -> None:
        """Check the module as a whole, after its last section."""
        if self.bodies != len(self.functions) - self.imported:
            raise UnfitModule("the functions and their bodies differ in number")
        if self.exports.get(b"memory") != (2, 0) or not self.memories:
            raise UnfitModule("exports no memory")
        for name, signature in self.abi.exports.items():
            self._require_export(name, (signature,))
        for name, allowed in self.abi.optional.items():
            if name in self.exports:
                self._require_export(name, allowed)
        for reason in self.needs.values():
            raise UnfitModule(reason)

    def _require_export(self, name: bytes, allowed: tuple[Signature, ...]) -> None:
        if name not in self.exports:
            raise UnfitModule(f"exports no {name.decode()}")
        kind, index = self.exports[name]
        if (
            kind != 0
            or not self.imported <= index < len(self.functions)
            or self._type_at(self.functions[index]) not in allowed
        ):
            raise UnfitModule(f"exports {name.decode()} with a wrong type")


def _read_minimum(reader: SectionReader) -> int:
    """Read the limits of a memory or a table and return the minimum. Limits that are shared, of 64
    bits or of other page sizes are refused.
    """
    flags = reader.read_byte()
    if flags not in (0, 1):
        raise UnfitModule(f"limits at byte {reader.at - 1} are not plain 32-bit ones")
    minimum = reader.read_u32()
    if flags:
        reader.read_u32()
    return minimum


def _printable(name: bytes) -> str:
    return one_line(name.decode("utf-8", "replace"), 40)
