"""Strips the types from TypeScript, which leaves JavaScript with every line where it was.

sucrase does it (`typescript.js` beside this file, made by scripts/build-typescript). It runs as a
program in the sandbox, so whatever a source does to it ends with that run and within its limits.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Protocol

from sigil import strict_json
from sigil.errors import Refused, ToolError, UsageError, one_line
from sigil.sandbox.javascript_module import make_module
from sigil.sandbox.program import NO_GRANTS, Grants, Outcome, Program, Rank, SandboxLimits
from sigil.storage.artifacts import artifact_name

STRIPPER = Path(__file__).with_name("typescript.js")
LIMITS = SandboxLimits(timeout_ms=20_000, output_bytes=1 << 20)
"""A source of the largest size takes one to two seconds of a processor."""
_DEEP = ("ESTACK", "ENOMEM", "ETIMEDOUT", "ELIMIT")


class ProgramRunner(Protocol):
    """The sandbox, as far as stripping needs it."""

    def run(
        self, program: Program, input: bytes, grants: Grants = ..., limits: SandboxLimits = ...
    ) -> Outcome:
        """Return the answer of a program to `input`."""


def strip_types(source: str, name: str, sandbox: ProgramRunner) -> str:
    """Return the JavaScript of a TypeScript source. `Refused` EMODULE names the line and the column
    that cannot be read.
    """
    try:
        request = strict_json.dumps({"text": source})
        outcome = sandbox.run(_load_stripper(), request, NO_GRANTS, LIMITS)
        answer = strict_json.loads(outcome.output)
    except UsageError:
        raise _refused(
            "the source holds a lone surrogate, which no UTF-8 text can hold", name
        ) from None
    except ToolError as problem:
        if problem.code in _DEEP or "RangeError" in problem.message:
            raise _refused("it is nested too deep, or too long, to be read", name) from None
        raise
    match answer:
        case {"code": str(code)}:
            return code
        case {"message": str(message), "line": int(line), "column": int(column)}:
            raise _refused(f"line {line}, column {column}: {one_line(message, 200)}", name)
    raise _refused("the source cannot be read", name)


@lru_cache(maxsize=1)
def _load_stripper() -> Program:
    module = make_module(f"{STRIPPER.read_text('utf-8')}\nreturn typescript.strip(input.text);")
    return Program(artifact_name(module), "js", lambda: module, Rank.PERSISTENT)


def _refused(message: str, name: str) -> Refused:
    return Refused(
        "EMODULE", message, source=name, suggestion="correct the source and deploy again"
    )
