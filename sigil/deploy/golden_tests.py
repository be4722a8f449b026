"""Golden tests hold a capability to what its author promised, before anybody else may call it.

A test runs with everything declared granted, an empty store, and a web that knows the test's own
answers alone.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import orjson

from sigil.errors import BackendError, Refused, SigilError, ToolError, UsageError, one_line
from sigil.manifest.model import Limits as Bounds
from sigil.manifest.model import Manifest, Test
from sigil.manifest.permission_rules import CallRule, parse_call_rule
from sigil.manifest.permissions import requested_permissions
from sigil.network.exchange import HttpAnswer, HttpRequest
from sigil.network.headers import Headers
from sigil.network.urls import Target
from sigil.protocol import Caller, Json
from sigil.run import dependencies
from sigil.run.executor import Executor
from sigil.run.host_calls.context import HostServices, Runnable
from sigil.run.host_calls.kv_service import KvService
from sigil.sandbox.javascript_module import read_source
from sigil.sandbox.pool import Sandbox, TenantSandbox
from sigil.sandbox.program import Grants, Outcome, Program, SandboxLimits
from sigil.sandbox.tenants import NOBODY, Tenant
from sigil.storage.kv import KV
from sigil.storage.kv.memory import MemoryKV
from sigil.strict_json import dumps


class WebFixture(Protocol):
    """An answer of the web in a test."""

    @property
    def url(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> dict[str, str]: ...
    @property
    def body(self) -> Json: ...


@dataclass(frozen=True, slots=True)
class FixtureWeb:
    """A web that knows these answers alone."""

    known: Sequence[WebFixture]
    loopback: bool = False

    def send(self, hop: HttpRequest, seconds: float) -> HttpAnswer:
        """The answer that the test states for this very method and address."""
        for fixture in self.known:
            if fixture.method.upper() == hop.method and _url(fixture.url) == hop.target.url:
                return _answer(fixture)
        what = f"{hop.method} {hop.target.url}"
        raise Refused(
            "ENET",
            f"a test reaches no network: state what {what} answers in the test's http",
            source="http",
        )

    def close(self) -> None:
        """Nothing is held."""


@dataclass(frozen=True, slots=True)
class TestServices:
    """The `HostServices` of one test. `others`: where the capabilities that it calls are; they are
    rehearsed with it.
    """

    fixtures: FixtureWeb
    others: HostServices | None = None
    kv: KV = field(default_factory=MemoryKV)

    def open_web(self) -> FixtureWeb:
        return self.fixtures

    def open_store(self, part: Runnable, home: str) -> KvService:
        return KvService(self.kv, (home, *part.identity))

    def list_granted(self, part: Runnable, home: str) -> frozenset[str]:
        return frozenset(requested_permissions(part.manifest))

    def get_secret(self, namespace: str, name: str) -> str | None:
        """The placeholder stays what it is: tests know no secrets."""
        return f"{{{{{name}}}}}"

    def find_version(
        self, rule: CallRule, view: str, over: Runnable | None = None
    ) -> Runnable | None:
        return self.others.find_version(rule, view, over) if self.others else None

    def load_pins(self, part: Runnable) -> Mapping[str, str]:
        if self.others and _is_decided(part):
            return self.others.load_pins(part)
        return (
            dependencies.resolve_calls(part.manifest, part.namespace, self)
            if part.pins is None
            else part.pins
        )

    def load_callee(self, part: Runnable, call: str) -> Runnable:
        if self.others and _is_decided(part):
            return self.others.load_callee(part, call)
        rule = parse_call_rule(call)
        found = self.find_version(rule, part.namespace)
        if found is None:
            raise UsageError("ENOENT", f"there is no {rule.full_name} to call")
        return found


def _is_decided(part: Runnable) -> bool:
    """Return whether it is settled which versions it calls: it is deployed, or about to be."""
    return part.pins is not None or part.version > 0


def _url(text: str) -> str:
    try:
        return Target.parse(text).url
    except SigilError:
        return text


def _answer(fixture: WebFixture) -> HttpAnswer:
    headers: Headers = tuple((name.lower(), value) for name, value in fixture.headers.items())
    if isinstance(fixture.body, str):
        return HttpAnswer(fixture.status, "", headers, fixture.body.encode("utf-8", "replace"))
    kind: Headers = (
        () if "content-type" in dict(headers) else (("content-type", "application/json"),)
    )
    return HttpAnswer(fixture.status, "", (*headers, *kind), orjson.dumps(fixture.body))


LOADING_MS = 500
NO_JSON = b"!"
"""An input that the engine refuses once the source is loaded, so that nothing of it has run."""
UNREADABLE = {
    "ESYNTAX": "",
    "ESTACK": "it is nested too deep to be read",
    "ENOMEM": "it takes too much memory to be read",
}
"""How JavaScript fails that no input could ever reach, and what is said then; empty: the engine's
own words.
"""
SHOWN, LINE_SHOWN = 3, 80
VALUE_SHOWN, BEFORE_SHOWN = 80, 20
"""Characters of a value in a failed test, and of those before the first difference."""
SILENT = " gave null, expected "
MEND = "mend the code or the test and deploy again"
UNRETURNED = (
    "nothing was returned: end the code itself with return, since a function that it only defines"
    " never runs"
)
NOTHING = FixtureWeb(())
_PLACE = re.compile(r"(.*) \(([0-9]{1,9}):([0-9]{1,9})\)")
BUDGET_SECONDS = 10.0
"""For all tests of a deploy together: a deploy must not outlast the turn that asks for it, nor keep
others' calls waiting.
"""


@dataclass(frozen=True, slots=True)
class TestResult:
    """One test's outcome; `problem` is empty when it passed."""

    number: int
    problem: str = ""


@dataclass(frozen=True, slots=True)
class TestBench:
    """Where tests run: a sandbox, the namespace that the tested one will stand in, and the
    capabilities that it may call.

    `tenant`: whom they count for. `pins`: which versions of the others; None when that is decided
    by a later deploy.
    """

    sandbox: Sandbox
    namespace: str = "tests"
    others: HostServices | None = None
    tenant: Tenant = NOBODY
    pins: Mapping[str, str] | None = None


def run_as_test(
    bench: TestBench,
    manifest: Manifest,
    program: Program,
    given: dict[str, Json],
    fixtures: FixtureWeb = NOTHING,
) -> Outcome:
    """One call as a test makes it: everything declared is granted, the web answers `fixtures`, the
    store is empty.
    """
    part = Runnable(bench.namespace, manifest, "", program, pins=bench.pins)
    execution = Executor(bench.sandbox, TestServices(fixtures, bench.others), tenant=bench.tenant)
    return execution.run(part, given, Caller(bench.namespace.partition("~")[0]))


def run_tests(bench: TestBench, manifest: Manifest, program: Program) -> list[TestResult]:
    """Run every test of the manifest, in order."""
    end = time.monotonic() + BUDGET_SECONDS
    return [
        TestResult(number, _within(end, bench, manifest, program, test))
        for number, test in enumerate(manifest.tests, 1)
    ]


def require_passing_tests(bench: TestBench, manifest: Manifest, program: Program) -> int:
    """Return how many tests passed; `Refused` with ETESTS that says which failed and why, with
    EMODULE when the program does not load.
    """
    require_loadable(bench.sandbox, manifest, program, bench.tenant)
    failed = [verdict for verdict in run_tests(bench, manifest, program) if verdict.problem]
    if failed:
        shown = "; ".join(f"test {verdict.number}: {verdict.problem}" for verdict in failed[:SHOWN])
        more = f"; and {len(failed) - SHOWN} more" if len(failed) > SHOWN else ""
        tests = "1 test" if len(manifest.tests) == 1 else f"{len(manifest.tests)} tests"
        message = f"{len(failed)} of {tests} failed: {shown}{more}"
        silent = program.kind == "js" and all(SILENT in verdict.problem for verdict in failed)
        raise Refused(
            "ETESTS", message, source=manifest.name, suggestion=UNRETURNED if silent else MEND
        )
    return len(manifest.tests)


def require_loadable(
    sandbox: Sandbox, manifest: Manifest, program: Program, tenant: Tenant = NOBODY
) -> None:
    """`Refused` with EMODULE when no call could ever reach the code; of JavaScript with the line,
    which is quoted.
    """
    if program.kind == "js":
        problem = _tried(sandbox.for_tenant(tenant), program, NO_JSON)
        if problem and problem.code in UNREADABLE:
            raise _unloadable(
                UNREADABLE[problem.code] or _placed(problem.message, program), manifest
            )
    problem = None if manifest.tests else _tried(sandbox.for_tenant(tenant), program, b"{}")
    if problem and problem.code == "EMODULE":
        raise _unloadable(problem.message, manifest)


def _tried(sandbox: TenantSandbox, program: Program, given: bytes) -> ToolError | None:
    try:
        sandbox.run(program, given, Grants(), SandboxLimits(timeout_ms=LOADING_MS))
    except ToolError as problem:
        return problem
    return None


def _unloadable(message: str, manifest: Manifest) -> Refused:
    return Refused(
        "EMODULE", message, source=manifest.name, suggestion="mend the code and deploy again"
    )


def _placed(message: str, program: Program) -> str:
    """`what is wrong (2:3)` as `line 2, column 3: what is wrong: CODE`, with what stands there."""
    found = _PLACE.fullmatch(message)
    if not found:
        return message
    line, column = int(found[2]), int(found[3])
    lines = read_source(program.load()).split("\n")
    begin = max(column - LINE_SHOWN // 2, 0)
    text = one_line(lines[line - 1][begin : begin + LINE_SHOWN]) if line <= len(lines) else ""
    return f"line {line}, column {column}: {found[1]}" + (f": `{text}`" if text else "")


def _within(end: float, bench: TestBench, manifest: Manifest, program: Program, test: Test) -> str:
    left = int((end - time.monotonic()) * 1000)
    if left <= 0:
        return f"not run: all tests together may take {BUDGET_SECONDS:.0f} s"
    short = manifest.limits.timeout_ms > left
    limited = manifest.model_copy(update={"limits": Bounds(timeout_ms=left)}) if short else manifest
    return _problem(bench, limited, program, test)


def _problem(bench: TestBench, manifest: Manifest, program: Program, test: Test) -> str:
    try:
        output = orjson.loads(
            run_as_test(bench, manifest, program, test.input, _fixtures(bench, test)).output
        )
    except BackendError:
        raise
    except SigilError as problem:
        return (
            ""
            if problem.code == test.error
            else _instead(test, f"{problem.code} ({problem.message})")
        )
    if test.error is None and _same(output, test.output):
        return ""
    return _instead(test, *_apart(output, test.output))


def _fixtures(bench: TestBench, test: Test) -> FixtureWeb:
    """This machine may be asked in a test where it may be asked in earnest."""
    return (
        FixtureWeb(test.http, bench.others.open_web().loopback)
        if test.http and bench.others
        else FixtureWeb(test.http)
    )


def _instead(test: Test, got: str, wanted: str = "") -> str:
    expected = test.error if test.error is not None else wanted or _short(test.output)
    return one_line(f"{_short(test.input)} gave {got}, expected {expected}", 240)


def _apart(got: Json, wanted: Json) -> tuple[str, str]:
    """Both values; of two that would look the same once they are cut, what stands around the first
    difference.
    """
    left, right = _written(got), _written(wanted)
    same = next(
        (at for at, (ours, theirs) in enumerate(zip(left, right, strict=False)) if ours != theirs),
        min(len(left), len(right)),
    )
    start = same - BEFORE_SHOWN if same >= VALUE_SHOWN - 1 else 0
    shown = [
        one_line(f"{'…' if start else ''}{text[start:]}", VALUE_SHOWN) for text in (left, right)
    ]
    return shown[0], shown[1]


def _short(value: Json) -> str:
    return one_line(_written(value), VALUE_SHOWN)


def _written(value: Json) -> str:
    try:
        return dumps(value).decode()
    except UsageError:
        return "something nested too deep to show"


def _same(left: Json, right: Json) -> bool:
    """Equal as JSON: 1 and 1.0 are, 1 and true are not."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return bool(left == right)
