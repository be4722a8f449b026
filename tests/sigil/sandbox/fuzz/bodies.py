"""Random function bodies that a validator accepts: every instruction finds its operands on the
stack.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from sigil.sandbox.engine.wasm import signed, unsigned, vector

I32, I64, F32, F64 = 0x7F, 0x7E, 0x7D, 0x7C
KINDS = (I32, I32, I32, I64, F32, F64)
DEPTH = 3

Signature = tuple[tuple[int, ...], tuple[int, ...]]


class Op(NamedTuple):
    """An instruction: its bytes, what it pops (the last on top), what it pushes."""

    code: bytes
    pops: tuple[int, ...]
    pushes: tuple[int, ...]


def _table() -> list[Op]:
    ops: list[Op] = []
    families = (
        (I32, 0x45, (0x46, 0x50), (0x67, 0x6A), (0x6A, 0x79)),
        (I64, 0x50, (0x51, 0x5B), (0x79, 0x7C), (0x7C, 0x8B)),
    )
    for kind, eqz, compare, unary, binary in families:
        ops.append(Op(bytes([eqz]), (kind,), (I32,)))
        ops += [Op(bytes([code]), (kind, kind), (I32,)) for code in range(*compare)]
        ops += [Op(bytes([code]), (kind,), (kind,)) for code in range(*unary)]
        ops += [Op(bytes([code]), (kind, kind), (kind,)) for code in range(*binary)]
    floats = (
        (F32, (0x5B, 0x61), (0x8B, 0x92), (0x92, 0x99)),
        (F64, (0x61, 0x67), (0x99, 0xA0), (0xA0, 0xA7)),
    )
    for kind, compare, unary, binary in floats:
        ops += [Op(bytes([code]), (kind, kind), (I32,)) for code in range(*compare)]
        ops += [Op(bytes([code]), (kind,), (kind,)) for code in range(*unary)]
        ops += [Op(bytes([code]), (kind, kind), (kind,)) for code in range(*binary)]
    conversions = {
        I32: ((0xA7, I64), (0xA8, F32), (0xA9, F32), (0xAA, F64), (0xAB, F64), (0xBC, F32)),
        I64: ((0xAC, I32), (0xAD, I32), (0xAE, F32), (0xB0, F64), (0xBD, F64)),
        F32: ((0xB2, I32), (0xB4, I64), (0xB6, F64), (0xBE, I32)),
        F64: ((0xB7, I32), (0xB9, I64), (0xBB, F32), (0xBF, I64)),
    }
    ops += [
        Op(bytes([code]), (source,), (kind,))
        for kind, pairs in conversions.items()
        for code, source in pairs
    ]
    ops += [
        Op(bytes([0xFC, code]), (source,), (I32,))
        for code, source in ((0, F32), (1, F32), (2, F64), (3, F64))
    ]
    ops += [
        Op(b"\x3f\0", (), (I32,)),
        Op(b"\x40\0", (I32,), (I32,)),
        Op(b"\x01", (), ()),
        Op(b"\x00", (), ()),
    ]
    ops += [Op(b"\xfc\x0b\0", (I32, I32, I32), ()), Op(b"\xfc\x0a\0\0", (I32, I32, I32), ())]
    return ops


PLAIN = _table()
_LOADS = (
    (0x28, I32, 2),
    (0x29, I64, 3),
    (0x2A, F32, 2),
    (0x2B, F64, 3),
    (0x2C, I32, 0),
    (0x2F, I32, 1),
    (0x35, I64, 2),
)
_STORES = (
    (0x36, I32, 2),
    (0x37, I64, 3),
    (0x38, F32, 2),
    (0x39, F64, 3),
    (0x3A, I32, 0),
    (0x3B, I32, 1),
    (0x3E, I64, 2),
)
_NUMBERS = (
    0,
    1,
    2,
    3,
    8,
    64,
    255,
    1024,
    4096,
    65535,
    65536,
    131071,
    131072,
    0x7FFFFFFF,
    -1,
    -2,
    -8,
    -65536,
    -0x80000000,
)


class Body:
    """Writes one function. `functions`: signatures by index; `globals_`: the kinds of the variables
    that may be set.
    """

    def __init__(
        self,
        random: Random,
        functions: Sequence[Signature],
        globals_: Sequence[int],
        own: Signature,
    ) -> None:
        self._random = random
        self._functions = functions
        self._globals = globals_
        self._own = own
        self._locals = [random.choice(KINDS) for _ in range(random.randrange(6))]
        self._kinds = (*own[0], *self._locals)
        self._stack: list[int] = []
        self._depth = 0
        self._out = bytearray()

    def made(self, length: int) -> bytes:
        """The function's bytes as a code section has them."""
        for _ in range(length):
            self._step()
        self._leave(self._own[1])
        groups = vector([b"\x01" + bytes([kind]) for kind in self._locals])
        body = groups + bytes(self._out) + b"\x0b"
        return unsigned(len(body)) + body

    def _step(self) -> None:
        choice = self._random.random()
        if choice < 0.45:
            self._op(self._random.choice(PLAIN[:-4] if self._random.random() < 0.97 else PLAIN))
        elif choice < 0.60:
            self._access()
        elif choice < 0.72:
            self._call()
        elif choice < 0.82:
            self._variable()
        elif choice < 0.94:
            self._block()
        else:
            self._constant(self._random.choice(KINDS))

    def _op(self, op: Op) -> None:
        if op.code in (b"\x00",) and self._depth == 0 and self._random.random() < 0.9:
            return
        self._want(op.pops)
        self._out += op.code
        self._stack += op.pushes

    def _access(self) -> None:
        code, kind, align = self._random.choice(_LOADS + _STORES)
        offset = unsigned(self._random.choice((0, 0, 0, 4, 65_536, 0xFFFFFFFF)))
        stores = code >= 0x36
        self._want((I32, kind) if stores else (I32,))
        self._out += bytes([code, self._random.randint(0, align)]) + offset
        self._stack += () if stores else (kind,)

    def _call(self) -> None:
        index = self._random.randrange(len(self._functions))
        pops, pushes = self._functions[index]
        self._want(pops)
        self._out += b"\x10" + unsigned(index)
        self._stack += pushes

    def _variable(self) -> None:
        if self._globals and self._random.random() < 0.4:
            index = self._random.randrange(len(self._globals))
            self._reach(self._globals[index], index, 0x23, 0x24)
        elif self._kinds:
            index = self._random.randrange(len(self._kinds))
            self._reach(self._kinds[index], index, 0x20, self._random.choice((0x21, 0x22)))

    def _reach(self, kind: int, index: int, get: int, put: int) -> None:
        code = self._random.choice((get, put))
        if code != get:
            self._want((kind,))
        self._out += bytes([code]) + unsigned(index)
        if code in (get, 0x22):
            self._stack.append(kind)

    def _block(self) -> None:
        """A block, loop or if without a result; within it, a chance to go on or out."""
        if self._depth >= DEPTH:
            return
        form = self._random.choice((0x02, 0x03, 0x04))
        if form == 0x04:
            self._want((I32,))
        outer, self._stack = self._stack, []
        self._depth += 1
        self._out += bytes([form, 0x40])
        for _ in range(self._random.randrange(8)):
            self._step()
        self._want((I32,))
        self._out += b"\x0d" + unsigned(self._random.randrange(self._depth))
        self._leave(())
        self._out += b"\x0b"
        self._depth -= 1
        self._stack = outer

    def _want(self, kinds: tuple[int, ...]) -> None:
        """Have `kinds` on top of the stack: take them as they lie, or push them."""
        if kinds and tuple(self._stack[-len(kinds) :]) == kinds:
            del self._stack[-len(kinds) :]
            return
        for kind in kinds:
            self._constant(kind)
        if kinds:
            del self._stack[-len(kinds) :]

    def _leave(self, kinds: tuple[int, ...]) -> None:
        self._out += b"\x1a" * len(self._stack)
        self._stack.clear()
        for kind in kinds:
            self._constant(kind)
        self._stack.clear()

    def _constant(self, kind: int) -> None:
        number = self._random.choice(_NUMBERS)
        if kind == I32:
            self._out += b"\x41" + signed(number)
        elif kind == I64:
            self._out += b"\x42" + signed(self._random.choice((number, 1 << 62, -1 << 63)))
        else:
            self._out += bytes([0x43 if kind == F32 else 0x44]) + self._random.randbytes(
                4 if kind == F32 else 8
            )
        self._stack.append(kind)
