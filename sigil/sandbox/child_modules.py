"""Packs the code of the modules that the sandbox's child processes import.

To find, to open and to read a module takes a child as long as to run it, and a runner that has met
a guest can open no file. So the server reads them all once and hands the code to every child, in a
file in memory that nothing can change.
"""

from __future__ import annotations

import marshal
import os
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.abc import SourceLoader
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from typing import NamedTuple, cast

from sigil.sandbox.sealed_memory import CodeDraft, SealedCode

_HEADER = struct.Struct("<4sIII")
"""The head of a cached file: the version of its format, flags, and the time and size of its source.
"""
_UNCHECKED_HASH = 1
_WORD = 0xFFFF_FFFF
IMPORTER = "sigil.sandbox.child.module_importer"
_OWN = (
    "sigil",
    "sigil.errors",
    "sigil.sandbox",
    "sigil.sandbox.protocol",
    "sigil.sandbox.child",
    "sigil.sandbox.child.guest_requests",
    "sigil.sandbox.child.landlock",
    "sigil.sandbox.child.lockdown",
    "sigil.sandbox.child.module_compiler",
    IMPORTER,
    "sigil.sandbox.child.runner",
    "sigil.sandbox.child.seccomp",
    "sigil.sandbox.child.source_compiler",
    "sigil.sandbox.child.watchdog",
    "sigil.sandbox.runtime",
    "sigil.sandbox.runtime.capi",
    "sigil.sandbox.runtime.config",
    "sigil.sandbox.runtime.driver",
    "sigil.sandbox.runtime.faults",
    "sigil.sandbox.runtime.memory_images",
    "sigil.sandbox.runtime.wasi",
    "sigil.sandbox.runtime.wasi_functions",
)
_AT_START = ("ctypes", "ctypes._endian", "struct", "types")
JSON = (
    "json",
    "json.decoder",
    "json.encoder",
    "json.scanner",
    "collections",
    "copyreg",
    "enum",
    "functools",
    "keyword",
    "operator",
    "re",
    "re._casefix",
    "re._compiler",
    "re._constants",
    "re._parser",
    "reprlib",
)
"""All that `json` and `re` import, on Python 3.11, 3.12 and 3.13."""


class PackedModules(NamedTuple):
    """The code of the modules, one after the other, in a file, and behind it, by `marshal`, an
    index: the name of each → the folders of a package or None, and where its code begins and ends.

    `boot`: where the index begins, and where the importer's code begins and ends.
    """

    file: SealedCode
    boot: tuple[int, int, int]

    @property
    def place(self) -> str:
        """Return what a child is told of the file: its descriptor and size, then `boot`."""
        return ",".join(map(str, (self.file.descriptor, self.file.size, *self.boot)))


@cache
def pack_modules() -> PackedModules:
    """Read the code of all modules into one file."""
    index: dict[str, tuple[list[str] | None, int, int]] = {}
    pieces: list[bytes] = []
    end = 0
    for spec in _find_modules((*_OWN, *_AT_START, *JSON)):
        piece = _read_code(spec)
        folders = spec.submodule_search_locations
        index[spec.name] = (None if folders is None else list(folders), end, end + len(piece))
        pieces.append(piece)
        end += len(piece)
    pieces.append(marshal.dumps(index))
    with CodeDraft() as draft:
        draft.write(b"".join(pieces))
        return PackedModules(draft.seal(), (end, *index[IMPORTER][1:]))


def _read_code(spec: ModuleSpec) -> bytes:
    """Return the code of a module as `marshal` writes it. As a rule that is what the interpreter
    has cached of it, which is only copied.
    """
    if spec.cached and spec.origin:
        with suppress(OSError):
            cached = Path(spec.cached).read_bytes()
            if _is_valid(cached[: _HEADER.size], spec.origin):
                return cached[_HEADER.size :]
    return marshal.dumps(cast("SourceLoader", spec.loader).get_code(spec.name))


def _is_valid(header: bytes, source: str) -> bool:
    """Return whether a cached file is to be used, as far as that can be told without reading its
    source (PEP 552).
    """
    if len(header) < _HEADER.size or not header.startswith(MAGIC_NUMBER):
        return False
    _, flags, modified, size = _HEADER.unpack(header)
    if flags == _UNCHECKED_HASH:
        return True
    state = os.stat(source)
    return (flags, modified, size) == (0, int(state.st_mtime) & _WORD, state.st_size & _WORD)


def _find_modules(names: tuple[str, ...]) -> Iterator[ModuleSpec]:
    """Find the modules without importing any; a package has to stand before its modules. Those that
    this Python does not have, or not as a file, are left out.
    """
    folders: dict[str, list[str]] = {}
    for name in names:
        package = name.rpartition(".")[0]
        loaded = sys.modules.get(package)
        path = list(loaded.__path__) if loaded else folders.get(package)
        spec = PathFinder.find_spec(name, path if package else None)
        if spec is None:
            continue
        folders[name] = list(spec.submodule_search_locations or ())
        yield spec
