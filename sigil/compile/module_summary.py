"""What a module asks for and what it offers, by name."""

from __future__ import annotations

from sigil.sandbox.engine import wasm


def list_imports(module: bytes) -> list[str]:
    """`sigil.call`, … in the module's order. ValueError when the bytes are no module of a form that
    we check.
    """
    reader, names = _section(module, wasm.IMPORT), []
    for _ in range(reader.unsigned()) if reader.more() else ():
        names.append(f"{_name(reader)}.{_name(reader)}")
        _skip_type(reader)
    return names


def list_exports(module: bytes) -> list[str]:
    """`memory`, `sigil_run`, … in the module's order. ValueError as above."""
    reader, names = _section(module, wasm.EXPORT), []
    for _ in range(reader.unsigned()) if reader.more() else ():
        names.append(_name(reader))
        reader.byte()
        reader.unsigned()
    return names


def _section(module: bytes, wanted: int) -> wasm.Reader:
    return wasm.Reader(
        next((content for kind, content in wasm.sections(module) if kind == wanted), b"")
    )


def _name(reader: wasm.Reader) -> str:
    return reader.block().decode("utf-8", "replace")


def _skip_type(reader: wasm.Reader) -> None:
    match reader.byte():
        case 0:
            reader.unsigned()
        case 1:
            reader.byte()
            _skip_limits(reader)
        case 2:
            _skip_limits(reader)
        case 3:
            reader.take(2)
        case other:
            raise ValueError(f"an import of kind {other}")


def _skip_limits(reader: wasm.Reader) -> None:
    bounded = reader.byte() & 1
    reader.unsigned()
    if bounded:
        reader.unsigned()
