"""Native code, compiled once in a child process and kept under a seal; a file that was changed is
compiled again, never trusted.

`deserialize` runs whatever it is given, so a kept file opens with an HMAC over its code, the
module's digest and everything that the code depends on. Code travels to the runners as a descriptor
of a sealed anonymous file: they share its pages, this process maps none of them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

from sigil.sandbox.code_store import Vault
from sigil.sandbox.compile_job import Press
from sigil.sandbox.fingerprint import fingerprint
from sigil.sandbox.sealed_memory import Code
from sigil.sandbox.shipped_code import shipped
from sigil.sandbox.tenants import NOBODY, Tenant

_HELD = 32
_HELD_BYTES = 64 << 20


def untold() -> None:
    """Nobody waits to hear that something is compiled."""


class Codes:
    """Native code by module. Thread-safe; two threads that want the same module compile it once."""

    def __init__(self, folder: Path | None, press: Press) -> None:
        self._folder = folder
        self._press = press
        self._lock = threading.Lock()
        self._busy: dict[str, threading.Lock] = {}
        self._held: OrderedDict[str, Code] = OrderedDict()
        self._vault: Vault | None = None

    def held(self, digest: str) -> Code | None:
        """The code of the module with this sha256 (hex) when it is at hand."""
        with self._lock:
            code = self._held.get(digest)
            if code is not None:
                self._held.move_to_end(digest)
            return code

    def code(
        self, wasm: bytes, tenant: Tenant = NOBODY, compiling: Callable[[], None] = untold
    ) -> Code:
        """The code of `wasm`: at hand, kept, or compiled now. `Unfit` when it cannot be compiled
        within the limits.

        A turn at the compilers comes before the module's lock: nobody waits here for somebody
        else's turn. `compiling` is called before it is compiled, which takes a while.
        """
        digest = sha256(wasm).hexdigest()
        code = self._found(digest)
        if code:
            return code
        with self._press.turn(tenant):
            return self._made_once(digest, wasm, compiling)

    def _made_once(self, digest: str, wasm: bytes, compiling: Callable[[], None]) -> Code:
        with self._lock:
            busy = self._busy.setdefault(digest, threading.Lock())
        try:
            with busy:
                return self._found(digest) or self._hold(
                    digest, self._made(digest, wasm, compiling)
                )
        finally:
            with self._lock:
                self._busy.pop(digest, None)

    def _found(self, digest: str) -> Code | None:
        code = self.held(digest)
        if code:
            return code
        kept = self._kept(digest)
        return self._hold(digest, kept) if kept else None

    def close(self) -> None:
        with self._lock:
            self._held.clear()

    def _hold(self, digest: str, code: Code) -> Code:
        with self._lock:
            self._held[digest] = code
            while len(self._held) > _HELD or (
                len(self._held) > 1 and sum(each.size for each in self._held.values()) > _HELD_BYTES
            ):
                self._held.popitem(last=False)
        return code

    def _kept(self, digest: str) -> Code | None:
        return next((code for vault in self._vaults() if (code := vault.read(digest))), None)

    def _vaults(self) -> Iterator[Vault]:
        came = shipped()
        if came:
            yield came
        ours = self._open()
        if ours:
            yield ours

    def _made(self, digest: str, wasm: bytes, compiling: Callable[[], None]) -> Code:
        compiling()
        code = self._press.work("compile", wasm)
        vault = self._open()
        if vault:
            vault.write(digest, code)
        return code

    def _open(self) -> Vault | None:
        with self._lock:
            if self._vault is None and self._folder is not None:
                self._vault = Vault(self._folder, fingerprint())
            return self._vault
