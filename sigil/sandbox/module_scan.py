"""Reads an uploaded module's sections before any compiler sees it, and says in one line why it is
refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sigil.errors import one_line
from sigil.sandbox import wasi_functions
from sigil.sandbox.runtime_features import MEMORY_BYTES, TABLE_ELEMENTS, TABLES

I32, I64 = 0x7F, 0x7E

Signature = tuple[tuple[int, ...], tuple[int, ...]]
"""Parameter and result types of a function, as the bytes of the format."""


@dataclass(frozen=True, slots=True)
class Abi:
    """What a module may import and has to export. `only` says the former in an error; `needs` are
    imports that it cannot do without.
    """

    imports: Mapping[tuple[bytes, bytes], Signature]
    exports: Mapping[bytes, Signature]
    optional: Mapping[bytes, tuple[Signature, ...]]
    only: str
    needs: Mapping[tuple[bytes, bytes], str]


def _preview1(kinds: str) -> Signature:
    parameters, _, results = kinds.partition(" ")
    return tuple(I64 if kind == "I" else I32 for kind in parameters), tuple(I32 for _ in results)


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
        (wasi_functions.MODULE, name): _preview1(kinds)
        for name, kinds in wasi_functions.FUNCTIONS.items()
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
"""Types, globals, exports, element and data segments: at most so many each."""

_IMPORTS_MOST = 64
_VALUE_TYPES = frozenset({0x7F, 0x7E, 0x7D, 0x7C, 0x7B, 0x70, 0x6F})
_ORDER = {section: place for place, section in enumerate((1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 10, 11))}
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


class UnfitModule(Exception):
    """The module cannot be taken; the text says why, in one clean line."""


@dataclass(frozen=True, slots=True)
class ModuleShape:
    """What the scan learnt. `bulk`: bytes that a compiler has to work on (everything but data and
    custom sections).

    `memory`: bytes that the module's own memory starts with.
    """

    bulk: int
    memory: int = 0


class SectionReader:
    """A cursor over one section's bytes; every read is checked against the section's end."""

    __slots__ = ("at", "data", "end")

    def __init__(self, data: bytes, at: int, end: int) -> None:
        self.data, self.at, self.end = data, at, end

    def byte(self) -> int:
        if self.at >= self.end:
            raise UnfitModule(f"the module is cut short at byte {self.at}")
        self.at += 1
        return self.data[self.at - 1]

    def u32(self) -> int:
        """An unsigned LEB128 of at most 32 bits; five bytes at most and no bits beyond the 32nd."""
        value = 0
        for shift in (0, 7, 14, 21, 28):
            part = self.byte()
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

    def take(self, count: int) -> bytes:
        start = self.at
        self.skip(count)
        return self.data[start : self.at]

    def name(self) -> bytes:
        return self.take(self.u32())

    def count(self, what: str, limit: int) -> int:
        number = self.u32()
        if number > limit:
            raise UnfitModule(f"{number} {what}: at most {limit}")
        return number

    def value_types(self) -> tuple[int, ...]:
        return tuple(
            self._value_type() for _ in range(self.count("values in a function's type", LOCALS))
        )

    def _value_type(self) -> int:
        kind = self.byte()
        if kind not in _VALUE_TYPES:
            raise UnfitModule(f"a type at byte {self.at - 1} is not supported")
        return kind


def scan(wasm: bytes, abi: Abi = SIGIL) -> ModuleShape:
    """Return the shape of an upload that keeps to `abi` and the published limits; `UnfitModule`
    otherwise.
    """
    module = _Module(abi)
    bulk = 0
    for section, reader in sections(wasm):
        module.read(section, reader)
        bulk += _bulk(section, reader)
    module.finish()
    return ModuleShape(bulk, module.pages << 16)


def measure(wasm: bytes) -> ModuleShape:
    """The shape of a module that is not an upload; only the frame of its sections is checked."""
    return ModuleShape(sum(_bulk(section, reader) for section, reader in sections(wasm)))


def sections(wasm: bytes) -> Iterator[tuple[int, SectionReader]]:
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
        section = reader.byte()
        size = reader.u32()
        body = SectionReader(wasm, reader.at, reader.at + size)
        reader.skip(size)
        if section != _CUSTOM:
            place = _ORDER.get(section)
            if place is None:
                raise UnfitModule(f"section {section} is not supported")
            if place <= last:
                raise UnfitModule(f"section {section} is out of order")
            last = place
        yield section, body


def _bulk(section: int, reader: SectionReader) -> int:
    return 0 if section in (_CUSTOM, _DATA) else reader.end - reader.at


class _Module:
    """Collects what the checks need while the sections pass by."""

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

    def read(self, section: int, reader: SectionReader) -> None:
        at = reader.at
        if section == _CUSTOM:
            self._custom(reader)
        elif section == _START:
            raise UnfitModule("a start section is not allowed: export sigil_start instead")
        elif section in _COUNTED:
            reader.count(_COUNTED[section], ENTRIES)
        elif section in _READERS:
            _READERS[section](self, reader)
            if reader.at != reader.end:
                raise UnfitModule(f"section {section} has {reader.end - reader.at} bytes too many")
        reader.at = at

    def _custom(self, reader: SectionReader) -> None:
        if reader.end - reader.at > CUSTOM_BYTES:
            raise UnfitModule(
                f"a custom section has {reader.end - reader.at} bytes: at most {CUSTOM_BYTES}"
            )
        reader.name()

    def _types(self, reader: SectionReader) -> None:
        for _ in range(reader.count("types", ENTRIES)):
            if reader.byte() != 0x60:
                raise UnfitModule(f"a type at byte {reader.at - 1} is not a plain function type")
            self.types.append((reader.value_types(), reader.value_types()))

    def _imports(self, reader: SectionReader) -> None:
        for _ in range(reader.count("imports", _IMPORTS_MOST)):
            name = (reader.name(), reader.name())
            signature = self.abi.imports.get(name)
            if signature is None:
                raise UnfitModule(f"imports {_shown(name[0])}.{_shown(name[1])}: {self.abi.only}")
            if reader.byte() != 0 or self._signature(reader.u32()) != signature:
                raise UnfitModule(f"imports {_shown(name[0])}.{_shown(name[1])} with a wrong type")
            self.needs.pop(name, None)
            self.functions.append(-1)
            self.imported += 1

    def _functions(self, reader: SectionReader) -> None:
        self.functions += [reader.u32() for _ in range(reader.count("functions", FUNCTIONS))]

    def _tables(self, reader: SectionReader) -> None:
        for _ in range(reader.count("tables", TABLES)):
            if reader.byte() not in (0x70, 0x6F):
                raise UnfitModule(f"a table's type at byte {reader.at - 1} is not supported")
            if _limits(reader) > TABLE_ELEMENTS:
                raise UnfitModule(f"a table starts with more than {TABLE_ELEMENTS} elements")

    def _memory(self, reader: SectionReader) -> None:
        self.memories = reader.count("memories", 1)
        self.pages = _limits(reader) if self.memories else 0
        if self.pages > MEMORY_PAGES:
            raise UnfitModule(f"the memory starts with more than {MEMORY_PAGES} pages")

    def _exports(self, reader: SectionReader) -> None:
        for _ in range(reader.count("exports", ENTRIES)):
            name, kind, index = reader.name(), reader.byte(), reader.u32()
            if name in self.exports:
                raise UnfitModule(f"exports {_shown(name)} twice")
            self.exports[name] = (kind, index)

    def _code(self, reader: SectionReader) -> None:
        self.bodies = reader.count("function bodies", FUNCTIONS)
        for _ in range(self.bodies):
            size = reader.u32()
            _locals(SectionReader(reader.data, reader.at, min(reader.at + size, reader.end)))
            reader.skip(size)

    def _data_count(self, reader: SectionReader) -> None:
        reader.count("data segments", ENTRIES)

    def _signature(self, index: int) -> Signature | None:
        return self.types[index] if index < len(self.types) else None

    def finish(self) -> None:
        if self.bodies != len(self.functions) - self.imported:
            raise UnfitModule("the functions and their bodies differ in number")
        if self.exports.get(b"memory") != (2, 0) or not self.memories:
            raise UnfitModule("exports no memory")
        for name, signature in self.abi.exports.items():
            self._exported(name, (signature,))
        for name, allowed in self.abi.optional.items():
            if name in self.exports:
                self._exported(name, allowed)
        for reason in self.needs.values():
            raise UnfitModule(reason)

    def _exported(self, name: bytes, allowed: tuple[Signature, ...]) -> None:
        if name not in self.exports:
            raise UnfitModule(f"exports no {name.decode()}")
        kind, index = self.exports[name]
        if (
            kind != 0
            or not self.imported <= index < len(self.functions)
            or self._signature(self.functions[index]) not in allowed
        ):
            raise UnfitModule(f"exports {name.decode()} with a wrong type")


_READERS = {
    _TYPE: _Module._types,
    _IMPORT: _Module._imports,
    _FUNCTION: _Module._functions,
    _TABLE: _Module._tables,
    _MEMORY: _Module._memory,
    _EXPORT: _Module._exports,
    _CODE: _Module._code,
    _DATA_COUNT: _Module._data_count,
}


def _limits(reader: SectionReader) -> int:
    """The minimum of a memory's or table's limits; shared, 64-bit and other sized ones are
    refused.
    """
    flags = reader.byte()
    if flags not in (0, 1):
        raise UnfitModule(f"limits at byte {reader.at - 1} are not plain 32-bit ones")
    minimum = reader.u32()
    if flags:
        reader.u32()
    return minimum


def _locals(reader: SectionReader) -> None:
    total = 0
    for _ in range(reader.count("groups of locals in a function", LOCALS)):
        total += reader.u32()
        reader.byte()
        if total > LOCALS:
            raise UnfitModule(f"a function has more than {LOCALS} locals")


def _shown(name: bytes) -> str:
    return one_line(name.decode("utf-8", "replace"), 40)
