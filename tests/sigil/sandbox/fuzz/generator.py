"""Random modules: whole ones of either ABI that a validator accepts, and bytes near them."""

from __future__ import annotations

from random import Random

from sigil.sandbox.engine import wasm
from sigil.sandbox.module_scan import COMMAND, SIGIL, Abi
from tests.sigil.sandbox.fuzz.bodies import KINDS, Body, Signature

_INTERESTING = (0, 1, 0x7F, 0x80, 0xFF, 0x40, 0x0B, 0x10, 0x41)


def module(random: Random, abi: Abi) -> bytes:
    """A valid module that keeps to `abi`: random code behind its exports, random data, calls to its
    host with random arguments.
    """
    imports = [
        name
        for name in abi.imports
        if name in abi.needs or random.random() < (0.6 if abi is SIGIL else 0.35)
    ]
    exported = dict(abi.exports)
    extra: list[Signature] = [_signature(random) for _ in range(random.randrange(4))]
    signatures = [*(abi.imports[name] for name in imports), *exported.values(), *extra]
    kinds = [random.choice(KINDS) for _ in range(random.randrange(3))]
    code = [
        Body(random, signatures, kinds, own).made(random.randrange(1, 40))
        for own in signatures[len(imports) :]
    ]
    exports = [wasm.block(b"memory") + b"\x02\0"]
    exports += [
        wasm.block(name) + b"\0" + wasm.unsigned(len(imports) + at)
        for at, name in enumerate(exported)
    ]
    return wasm.module(
        [
            wasm.section(wasm.TYPE, wasm.vector([_type(signature) for signature in signatures])),
            wasm.section(
                wasm.IMPORT, wasm.vector([_import(name, at) for at, name in enumerate(imports)])
            ),
            wasm.section(
                wasm.FUNCTION,
                wasm.vector([wasm.unsigned(len(imports) + at) for at in range(len(code))]),
            ),
            wasm.section(
                wasm.MEMORY, b"\x01\0" + wasm.unsigned(random.choice((1, 2, 2, 17, 256, 1024)))
            ),
            wasm.section(wasm.GLOBAL, wasm.vector([_global(kind) for kind in kinds])),
            wasm.section(wasm.EXPORT, wasm.vector(exports)),
            wasm.section(wasm.CODE, wasm.vector(code)),
            wasm.section(
                wasm.DATA, wasm.vector([_data(random) for _ in range(random.randrange(3))])
            ),
        ]
    )


def mutated(random: Random, data: bytes, other: bytes) -> bytes:
    """`data` with a few changes: bytes, runs, numbers, pieces of `other`."""
    out = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 3, 8))):
        at = random.randrange(len(out) + 1)
        match random.randrange(6):
            case 0 if at < len(out):
                out[at] ^= 1 << random.randrange(8)
            case 1 if at < len(out):
                out[at] = random.choice(_INTERESTING)
            case 2:
                del out[at : at + random.randrange(1, 9)]
            case 3:
                out[at:at] = random.randbytes(random.randrange(1, 5))
            case 4:
                start = random.randrange(len(other) + 1)
                out[at : at + random.randrange(16)] = other[start : start + random.randrange(32)]
            case _:
                out[at : at + 1] = random.choice(
                    (
                        b"\xff\xff\xff\xff\x0f",
                        b"\x80\x80\x80\x80\x08",
                        b"\x80\x80\x80\x80\x80\x01",
                        b"\x80\x01",
                    )
                )
    return bytes(out)


def reordered(random: Random, data: bytes) -> bytes:
    """A module with a section dropped, doubled or moved."""
    parts = [wasm.section(kind, content) for kind, content in wasm.sections(data)]
    at = random.randrange(len(parts))
    match random.randrange(3):
        case 0:
            del parts[at]
        case 1:
            parts.insert(at, parts[at])
        case _:
            parts.insert(random.randrange(len(parts)), parts.pop(at))
    return wasm.module(parts)


def any_abi(random: Random) -> tuple[str, Abi]:
    return random.choice((("sigil", SIGIL), ("wasi", COMMAND)))


def _signature(random: Random) -> Signature:
    parameters, results = (
        [random.choice(KINDS) for _ in range(random.randrange(most))] for most in (4, 2)
    )
    return tuple(parameters), tuple(results)


def _type(signature: Signature) -> bytes:
    return b"\x60" + wasm.block(bytes(signature[0])) + wasm.block(bytes(signature[1]))


def _import(name: tuple[bytes, bytes], at: int) -> bytes:
    return wasm.block(name[0]) + wasm.block(name[1]) + b"\0" + wasm.unsigned(at)


def _global(kind: int) -> bytes:
    start = {
        0x7F: b"\x41\x07",
        0x7E: b"\x42\x07",
        0x7D: b"\x43" + bytes(4),
        0x7C: b"\x44" + bytes(8),
    }[kind]
    return bytes([kind, 1]) + start + b"\x0b"


def _data(random: Random) -> bytes:
    text = random.choice(
        (
            b'{"op":"random","arg":{"n":8}}',
            b'{"op":"log","arg":{"text":"x"}}',
            b'{"ok":1}',
            random.randbytes(24),
        )
    )
    return b"\0\x41" + wasm.signed(random.choice((0, 8, 1024, 65_000))) + b"\x0b" + wasm.block(text)
