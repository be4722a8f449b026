"""Makes plain JavaScript of a source that is said to be JavaScript and has types in it."""

from __future__ import annotations

import re

from sigil.compile.typescript import ProgramRunner, strip_types
from sigil.errors import Refused, ToolError
from sigil.sandbox.javascript_module import make_module
from sigil.sandbox.program import NO_GRANTS, Program, Rank, SandboxLimits
from sigil.storage.artifacts import artifact_name

_NO_JSON = b"!"
"""An input that the engine refuses once the source is loaded, so that nothing of it has run."""
_LIMITS = SandboxLimits(timeout_ms=500)
_TYPES = re.compile(
    r"\b(?:interface|type|enum|namespace|declare|abstract)\s+[A-Za-z_$]"
    r"|[\w$)\]}?]\s*:\s*(?:string|number|boolean|any|unknown|void|null|object|[A-Z][\w$.]*)\b"
    r"|\b(?:as|satisfies)\s+[A-Za-z_${\[]|[\w$)\]]!\s*[.;,)\[]|[\w$]<[A-Z]?[a-z]"
)
"""What only types look like, among other things: such a source is worth a closer look."""


def drop_types(source: str, name: str, sandbox: ProgramRunner) -> str:
    """Return the source, without its types when it is no JavaScript with them and is JavaScript
    without them.
    """
    if not _TYPES.search(source) or _can_be_read(source, sandbox):
        return source
    try:
        plain = strip_types(source, name, sandbox)
    except Refused:
        return source
    return plain if _can_be_read(plain, sandbox) else source


def _can_be_read(source: str, sandbox: ProgramRunner) -> bool:
    """Return whether the engine reads the source as JavaScript."""
    module = make_module(source)
    program = Program(artifact_name(module), "js", lambda: module, Rank.EPHEMERAL)
    try:
        sandbox.run(program, _NO_JSON, NO_GRANTS, _LIMITS)
    except ToolError as problem:
        return problem.code != "ESYNTAX"
    return True
