"""What compiled code depends on beside the module: the runtime, its settings, the processor."""

from __future__ import annotations

import platform
import sys
from hashlib import sha256
from pathlib import Path

from sigil.sandbox import runtime_features, spawn

_BASELINE = "x86_64-unknown-linux-gnu"


def target() -> str:
    """The target of code that is kept: on x86-64 Linux one that uses no feature of a single
    processor, else empty (this one).
    """
    return _BASELINE if sys.platform == "linux" and platform.machine() == "x86_64" else ""


def fingerprint() -> bytes:
    """32 bytes that change when code compiled before must not be used any more."""
    settings = repr((runtime_features.STACK_BYTES, runtime_features.OFF, runtime_features.ON))
    parts = (*_runtime(), settings, sys.platform, platform.machine(), target() or _processor())
    return sha256("\n".join(parts).encode()).digest()


def _runtime() -> tuple[str, ...]:
    """Names of the wheel's metadata folder, which hold its version, and the library's size."""
    library = Path(spawn.library())
    return (
        *sorted(path.name for path in library.parents[2].glob("wasmtime-*.dist-info")),
        str(library.stat().st_size),
    )


def _processor() -> str:
    """The features of this processor, as the kernel names them."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith(("flags", "Features"))), "")
