"""Sandboxes with real children over the built engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import sigil
from sigil.errors import SigilError
from sigil.sandbox.pool import Sandbox
from sigil.sandbox.program import Program, SandboxLimits

ENGINE = Path(sigil.__file__).parent / "sandbox" / "engine" / "engine.wasm"
SHORT = SandboxLimits(timeout_ms=150)


@pytest.fixture
def opened(compiled: Path) -> Iterator[Callable[..., Sandbox]]:
    """Opens sandboxes that are closed after the test."""
    with ExitStack() as stack:

        def make(**options: object) -> Sandbox:
            sandbox = Sandbox(**{"engine": ENGINE, "cache": compiled, "children": 1, **options})  # type: ignore[arg-type]
            stack.callback(sandbox.close)
            return sandbox

        yield make


@pytest.fixture
def failure(sandbox: Sandbox) -> Callable[..., str]:
    """Run something that fails; return the failure as `CODE: message`."""

    def run(program: Program, data: bytes = b"{}", limits: SandboxLimits = SHORT) -> str:
        with pytest.raises(SigilError) as caught:
            sandbox.run(program, data, limits=limits)
        return f"{caught.value.code}: {caught.value.message}"

    return run
