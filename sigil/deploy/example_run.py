"""Runs a capability that is deployed without golden tests once, so that its author sees a value."""

from __future__ import annotations

import orjson

from sigil.deploy.golden_tests import GoldenTestBench, run_as_test
from sigil.errors import BackendError, Halt, SigilError, one_line
from sigil.manifest.example_input import make_example_input
from sigil.manifest.languages import BUNDLE, HOST
from sigil.manifest.model import Limits, Manifest, Permissions
from sigil.protocol import ExampleRun, Json
from sigil.running_call import INTERRUPTED
from sigil.sandbox.program import Program

EXAMPLE_MS = 1_000
"""The time that the run may take at most."""
OUTPUT_CHARACTERS = 1_000
"""A longer output is shown as the beginning of its JSON text."""
PROBLEM_CHARACTERS = 300
_REFUSED_INPUT = "EINVAL"


def run_example(bench: GoldenTestBench, manifest: Manifest, program: Program) -> ExampleRun | None:
    """Run a capability without tests on the example of its schema, and return what came out.

    Return None where nothing can be learnt: it has tests, may have an effect, or refuses an input
    that its schema gives no example of. `BackendError` when the sandbox is out of order, and
    `SigilError` EINTERRUPTED when the deploy is cancelled.
    """
    if manifest.tests or not _is_without_effects(manifest):
        return None
    example = make_example_input(manifest.input)
    limits = Limits(timeout_ms=min(manifest.limits.timeout_ms, EXAMPLE_MS))
    limited = manifest.model_copy(update={"limits": limits})
    fields = dict(example.fields)
    try:
        output = orjson.loads(run_as_test(bench, limited, program, fields).output)
    except (BackendError, Halt):
        raise
    except SigilError as problem:
        if problem.code == INTERRUPTED:
            raise
        if problem.code == _REFUSED_INPUT and not example.given:
            return None
        message = one_line(f"{problem.code} ({problem.message})", PROBLEM_CHARACTERS)
        return ExampleRun(fields, problem=message)
    return ExampleRun(fields, _shorten(output))


def _is_without_effects(manifest: Manifest) -> bool:
    """Return whether a run changes and reads nothing outside: time, chance and the log count as
    nothing.
    """
    if manifest.lang in (BUNDLE, HOST) or manifest.requires:
        return False
    harmless = {"clock": False, "random": False, "log": False}
    return manifest.permissions.model_copy(update=harmless) == Permissions()


def _shorten(output: Json) -> Json:
    """Return the output, or the beginning of its JSON text when that is long."""
    text = orjson.dumps(output).decode()
    if len(text) <= OUTPUT_CHARACTERS:
        return output
    return f"{text[: OUTPUT_CHARACTERS - 1]}…"
