"""Native code that came with the package, compiled when it was made: a first start in a read-only
place compiles nothing.

Its seal is made with a key that everybody knows. It tells damage, and code for another runtime,
other settings or another processor, which is then compiled anew; it does not tell who made it. It
need not: the code lies among this package's own modules, so whoever can change it can change those,
and a secret key beside it would say no more. Code from anywhere else needs a `Vault` of its own.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from sigil.sandbox.code_store import Vault
from sigil.sandbox.compile_job import Press
from sigil.sandbox.fingerprint import fingerprint

FOLDER = Path(__file__).parent / "shipped"
_KNOWN = b"shipped with the package"


def shipped(folder: Path = FOLDER) -> Vault | None:
    """The package's own compiled code; None when it came without."""
    return Vault(folder, fingerprint(), _KNOWN) if folder.is_dir() else None


def ship(wasm: bytes, folder: Path = FOLDER) -> None:
    """Compile `wasm` into the package. `Unfit` or `BackendError` when that fails."""
    folder.mkdir(exist_ok=True)
    Vault(folder, fingerprint(), _KNOWN).write(
        sha256(wasm).hexdigest(), Press().work("compile", wasm)
    )
