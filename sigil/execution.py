"""One call of a capability: its arguments made valid, its program run with what it was granted, its failure signed."""

from __future__ import annotations

from collections.abc import Mapping

from sigil import schema
from sigil.errors import SigilError
from sigil.manifest import Manifest
from sigil.permissions import granted
from sigil.protocol import Json
from sigil.sandbox.pool import Sandbox
from sigil.sandbox.program import Limits, Outcome, Program
from sigil.strict import dumps


def call(sandbox: Sandbox, manifest: Manifest, program: Program, arguments: Mapping[str, Json]) -> Outcome:
    """Run `program` on `arguments`; every failure carries the capability's name as its source."""
    try:
        valid = schema.accept(manifest.input, arguments)
        return sandbox.run(program, dumps(valid), granted(manifest), Limits(timeout_ms=manifest.limits.timeout_ms))
    except SigilError as problem:
        problem.source = problem.source or manifest.name
        raise
