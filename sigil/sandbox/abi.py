"""The two ways in which an upload may talk to its host: `sigil/1`, and the commands of WASI preview
1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sigil.sandbox import wasi_functions

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
