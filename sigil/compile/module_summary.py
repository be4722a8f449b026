"""Lists the imports and exports of a module by name."""

from __future__ import annotations

from sigil.sandbox.engine import wasm


def list_imports(module: bytes) -> list[str]:
    """Return the imports, `sigil.call`, …, in the module's order. `ValueError` when the bytes are
    no module, or one with a kind of import that we do not check.
    """
    names = []
    reader = _find_section(module, wasm.IMPORT)
    count = reader.unsigned() if reader.has_more() else 0
    for _ in range(count):
        names.append(f"{_read_name(reader)}.{_read_name(reader)}")
        match reader.byte():
            case 0:  # a function
                reader.unsigned()
            case 1:  # a table
                reader.byte()
                _skip_limits(reader)
            case 2:  # a memory
                _skip_limits(reader)
            case 3:  # a global
                reader.take(2)
            case other:
                raise ValueError(f"an import of kind {other}")
    return names


def list_exports(module: bytes) -> list[str]:
    """Return the exports, `memory`, `sigil_run`, …, in the module's order. `ValueError` when the
    bytes are no module.
    """
    names = []
    reader = _find_section(module, wasm.EXPORT)
    count = reader.unsigned() if reader.has_more() else 0
    for _ in range(count):
        names.append(_read_name(reader))
        reader.byte()
        reader.unsigned()
    return names


def _find_section(module: bytes, kind: int) -> wasm.Reader:
    for each, content in wasm.sections(module):
        if each == kind:
            return wasm.Reader(content)
    return wasm.Reader(b"")


def _read_name(reader: wasm.Reader) -> str:
    return reader.block().decode("utf-8", "replace")


def _skip_limits(reader: wasm.Reader) -> None:
    bounded = reader.byte() & 1
    reader.unsigned()
    if bounded:
        reader.unsigned()
