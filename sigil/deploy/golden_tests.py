"""Golden tests hold a capability to what its author promised, before anybody else may call it.

A test runs with an empty store and everything granted that is declared, and the web answers only
what the test itself states.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Protocol

import orjson

from sigil.builtin_tools import SUGGESTED_CALL
from sigil.errors import BackendError, Refused, SigilError, ToolError, UsageError, one_line
from sigil.manifest.model import Limits as ManifestLimits
from sigil.manifest.model import Manifest, Test
from sigil.manifest.permission_rules import CallRule, SecretRule, parse_call_rule
from sigil.manifest.permissions import requested_permissions
from sigil.network.exchange import HttpAnswer, HttpRequest
from sigil.network.headers import Headers
from sigil.network.urls import Target
from sigil.protocol import Caller, Json, KeptFile
from sigil.run import dependencies
from sigil.run.executor import Executor
from sigil.run.host_calls.context import HostServices, Runnable
from sigil.run.host_calls.kv_service import KvService
from sigil.sandbox.javascript_module import read_source
from sigil.sandbox.pool import Sandbox, TenantSandbox
from sigil.sandbox.program import Grants, Outcome, Program, SandboxLimits
from sigil.sandbox.spawn import make_starved_error
from sigil.sandbox.tenants import SOLE_TENANT, Tenant
from sigil.storage.kept_files import FileContent
from sigil.storage.kv import KV
from sigil.storage.kv.memory import MemoryKV
from sigil.strict_json import dumps

FIX_AND_DEPLOY = "fix the code or the test and deploy again"
UNRETURNED = "each call returned null: return the value that the test expects"
NO_OUTPUT = " gave null, expected "
NO_JSON = b"!"
"""An input that the engine refuses once the source is loaded, so that nothing of it has run."""
LOADING_MS = 500
UNLOADABLE = {
    "ESYNTAX": "",
    "ESTACK": "it is nested too deep to be read",
    "ENOMEM": "it takes too much memory to be read",
}
"""The codes of JavaScript that no input could ever reach, each with a message.

Where it is empty, the engine's own message says more.
"""
FAILED_SHOWN = 3
LINE_SHOWN = 80
VALUE_SHOWN = 80
BEFORE_SHOWN = 20
"""Characters of a value that are shown before its first difference from the other one."""
BUDGET_SECONDS = 10.0
"""The time for all tests of a deploy together.

A deploy must not outlast the turn that asks for it, nor keep others' calls waiting.
"""
ENOUGH = 0.8
"""A test that used this part of its time of a processor had all that it may have."""
_PLACE = re.compile(r"(.*) \(([0-9]{1,9}):([0-9]{1,9})\)")


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
    """A web that knows these answers alone; `loopback` says whether a test may ask this machine."""

    known: Sequence[WebFixture]
    loopback: bool = False

    def send(self, hop: HttpRequest, seconds: float) -> HttpAnswer:
        """Return the answer that the test states for this very method and address.

        Raises `Refused` ENET when it states none.
        """
        for fixture in self.known:
            try:
                url = Target.parse(fixture.url).url
            except SigilError:
                url = fixture.url
            if fixture.method.upper() == hop.method and url == hop.target.url:
                break
        else:
            raise Refused(
                "ENET",
                f"a test reaches no network: state what {hop.method} {hop.target.url} answers in"
                " the test's http",
                source="http",
            )
        headers: Headers = tuple((name.lower(), value) for name, value in fixture.headers.items())
        if isinstance(fixture.body, str):
            body = fixture.body.encode("utf-8", "replace")
        else:
            body = orjson.dumps(fixture.body)
            if "content-type" not in dict(headers):
                headers = (*headers, ("content-type", "application/json"))
        return HttpAnswer(fixture.status, "", headers, body)

    def close(self) -> None:
        """Do nothing, since nothing is held."""


NO_WEB = FixtureWeb(())


@dataclass(frozen=True, slots=True)
class GoldenTestServices:
    """The `HostServices` of one test.

    `others` finds the capabilities that the tested one calls; they run as in a test, too.
    """

    fixtures: FixtureWeb
    others: HostServices | None = None
    kv: KV = field(default_factory=MemoryKV)

    def open_web(self) -> FixtureWeb:
        return self.fixtures

    def count_web_request(self, agent: str) -> None:
        """Count nothing, since nothing is sent."""

    def open_store(self, part: Runnable, home: str) -> KvService:
        return KvService(self.kv, (home, *part.identity))

    def list_granted(self, part: Runnable, home: str) -> frozenset[str]:
        return frozenset(requested_permissions(part.manifest))

    def get_secret(
        self, namespace: str, name: str, rules: Iterable[SecretRule] = (), end: float = inf
    ) -> str | None:
        """Return the placeholder of the secret as it is: tests know no secrets."""
        return f"{{{{{name}}}}}"

    def replace_secret(self, namespace: str, name: str, rejected: str, end: float) -> str | None:
        """Return None: no placeholder is better than another."""
        return None

    def keep_file(self, file: FileContent, caller: Caller) -> KeptFile:
        """Raise `Refused`: a test keeps nothing."""
        raise Refused("EPERM", "a test keeps no files")

    def find_version(
        self, rule: CallRule, view: str, over: Runnable | None = None
    ) -> Runnable | None:
        return self.others.find_version(rule, view, over) if self.others else None

    def load_pins(self, part: Runnable) -> Mapping[str, str]:
        if self.others and _has_pins(part):
            return self.others.load_pins(part)
        if part.pins is not None:
            return part.pins
        return dependencies.resolve_calls(part.manifest, part.namespace, self)

    def load_callee(self, part: Runnable, call: str) -> Runnable:
        if self.others and _has_pins(part):
            return self.others.load_callee(part, call)
        rule = parse_call_rule(call)
        found = self.find_version(rule, part.namespace)
        if found is None:
            raise UsageError("ENOENT", f"there is no {rule.full_name} to call")
        return found


def _has_pins(part: Runnable) -> bool:
    """Return whether it is decided which versions it calls: it is deployed, or about to be."""
    return part.pins is not None or part.version > 0


@dataclass(frozen=True, slots=True)
class GoldenTestResult:
    """One test's outcome; `problem` is empty when it passed, `advice` says how to correct a test
    that is wrong for sure. `is_late` says that its time was over.
    """

    number: int
    problem: str = ""
    advice: str = ""
    is_late: bool = False


@dataclass(frozen=True, slots=True)
class GoldenTestBench:
    """The sandbox and namespace in which tests run, and the capabilities that they may call.

    `tenant` is whom the runs count for. `pins` are the versions that are called; None when a later
    deploy decides that.
    """

    sandbox: Sandbox
    namespace: str = "tests"
    others: HostServices | None = None
    tenant: Tenant = SOLE_TENANT
    pins: Mapping[str, str] | None = None


def run_as_test(
    bench: GoldenTestBench,
    manifest: Manifest,
    program: Program,
    input: dict[str, Json],
    fixtures: FixtureWeb = NO_WEB,
) -> Outcome:
    """Make one call as a test makes it, and return its outcome.

    Everything declared is granted, the web answers `fixtures`, and the store is empty.
    """
    part = Runnable(bench.namespace, manifest, "", program, pins=bench.pins)
    services = GoldenTestServices(fixtures, bench.others)
    executor = Executor(bench.sandbox, services, tenant=bench.tenant)
    return executor.run(part, input, Caller(bench.namespace.partition("~")[0]))


def run_tests(
    bench: GoldenTestBench, manifest: Manifest, program: Program
) -> list[GoldenTestResult]:
    """Run every test of the manifest, in order."""
    end = time.monotonic() + BUDGET_SECONDS
    results = []
    for number, test in enumerate(manifest.tests, 1):
        if end <= time.monotonic():
            problem = f"not run: all tests together may take {BUDGET_SECONDS:.0f} s"
            results.append(GoldenTestResult(number, problem))
        else:
            results.append(_run_patiently(bench, manifest, program, test, number, end=end))
    return results


def _run_patiently(
    bench: GoldenTestBench,
    manifest: Manifest,
    program: Program,
    test: Test,
    number: int,
    *,
    end: float,
) -> GoldenTestResult:
    """Run one test, with more time again where a busy machine gave it little of its processor.

    `BackendError` EBUSY when it got too little until `end`: nothing is wrong with the capability.
    """
    limit = manifest.limits.timeout_ms
    used = 0.0
    result = None
    while True:
        left = int((end - time.monotonic()) * 1000)
        if result and left <= 0:
            raise make_starved_error(f"test {number}")
        limited = manifest
        if result or limit > left:
            limits = ManifestLimits(timeout_ms=max(min(limit, left), 1))
            limited = manifest.model_copy(update={"limits": limits})
        before = bench.sandbox.count_processor_seconds()
        result = _run_test(bench, limited, program, test, number)
        spent = bench.sandbox.count_processor_seconds() - before
        used += spent * 1000
        # one that was ended takes its count along
        if not result.is_late or spent < 0 or used >= manifest.limits.timeout_ms * ENOUGH:
            return result
        limit *= 4


def require_passing_tests(bench: GoldenTestBench, manifest: Manifest, program: Program) -> int:
    """Run all tests, and return how many those were.

    Raises `Refused` ETESTS, which says which failed and why, or EMODULE when the program does not
    load.
    """
    require_loadable(bench.sandbox, manifest, program, bench.tenant)
    failed = [result for result in run_tests(bench, manifest, program) if result.problem]
    if not failed:
        return len(manifest.tests)
    problems = [f"test {result.number}: {result.problem}" for result in failed[:FAILED_SHOWN]]
    if len(failed) > FAILED_SHOWN:
        problems.append(f"and {len(failed) - FAILED_SHOWN} more")
    tests = "1 test" if len(manifest.tests) == 1 else f"{len(manifest.tests)} tests"
    is_unreturned = program.kind == "js" and all(NO_OUTPUT in each.problem for each in failed)
    advice = next((result.advice for result in failed if result.advice), FIX_AND_DEPLOY)
    raise Refused(
        "ETESTS",
        f"{len(failed)} of {tests} failed: {'; '.join(problems)}",
        source=manifest.name,
        suggestion=UNRETURNED if is_unreturned else advice,
    )


def require_loadable(
    sandbox: Sandbox, manifest: Manifest, program: Program, tenant: Tenant = SOLE_TENANT
) -> None:
    """Raise `Refused` EMODULE when no call could ever reach the code.

    Of JavaScript it says the line, which is quoted.
    """
    runner = sandbox.for_tenant(tenant)
    if program.kind == "js":
        problem = _try_loading(runner, program, NO_JSON)
        if problem and problem.code in UNLOADABLE:
            message = UNLOADABLE[problem.code] or _quote_line(problem.message, program)
            raise _unloadable(message, manifest)
    if not manifest.tests:
        problem = _try_loading(runner, program, b"{}")
        if problem and problem.code == "EMODULE":
            raise _unloadable(problem.message, manifest)


def _try_loading(sandbox: TenantSandbox, program: Program, input: bytes) -> ToolError | None:
    """Return the error of a short run, None when there was none."""
    try:
        sandbox.run(program, input, Grants(), SandboxLimits(timeout_ms=LOADING_MS))
    except ToolError as problem:
        return problem
    return None


def _unloadable(message: str, manifest: Manifest) -> Refused:
    return Refused(
        "EMODULE", message, source=manifest.name, suggestion="fix the code and deploy again"
    )


def _quote_line(message: str, program: Program) -> str:
    """Return `PROBLEM (2:3)` as `line 2, column 3: PROBLEM: CODE`, with the code of that place."""
    place = _PLACE.fullmatch(message)
    if not place:
        return message
    line = int(place[2])
    column = int(place[3])
    located = f"line {line}, column {column}: {place[1]}"
    lines = read_source(program.load()).split("\n")
    if line > len(lines):
        return located
    begin = max(column - LINE_SHOWN // 2, 0)
    code = one_line(lines[line - 1][begin : begin + LINE_SHOWN])
    return f"{located}: `{code}`" if code else located


def _run_test(
    bench: GoldenTestBench, manifest: Manifest, program: Program, test: Test, number: int
) -> GoldenTestResult:
    """Run one test."""
    fixtures = FixtureWeb(test.http)
    if test.http and bench.others:
        # a test may ask this machine where the capability itself may
        fixtures = FixtureWeb(test.http, bench.others.open_web().loopback)
    try:
        output = orjson.loads(run_as_test(bench, manifest, program, test.input, fixtures).output)
    except BackendError:
        raise
    except SigilError as failure:
        if failure.code == test.error:
            return GoldenTestResult(number)
        problem = _describe_failure(test, f"{failure.code} ({failure.message})")
        advice = _advise_on_input(test, failure, number)
        return GoldenTestResult(number, problem, advice, is_late=failure.code == "ETIMEDOUT")
    if test.error is None and _is_same(output, test.output):
        return GoldenTestResult(number)
    problem = _describe_failure(test, *_show_difference(output, test.output))
    advice = "" if test.error is not None else _advise_on_output(output, test.output, number)
    return GoldenTestResult(number, problem, advice)


def _advise_on_input(test: Test, failure: SigilError, number: int) -> str:
    """Return how to correct a test whose input the schema refuses, empty for any other failure."""
    if failure.code != "EINVAL" or test.error is not None or not failure.suggestion:
        return ""
    advice = failure.suggestion
    if advice.startswith(f"{SUGGESTED_CALL}{{"):
        advice = f'write "input": {advice.removeprefix(SUGGESTED_CALL)}'
    return f"the schema refuses the input of test {number}: {advice}"


def _advise_on_output(got: Json, expected: Json, number: int) -> str:
    """Return how to correct a test that expects the same value in another form, empty for any other
    difference.
    """
    numbers = (int, float)
    if isinstance(got, bool) or isinstance(expected, bool):
        return ""
    if isinstance(got, numbers) and isinstance(expected, numbers):
        if math.isclose(got, expected, rel_tol=1e-9, abs_tol=1e-9):
            return "round in the code, such as Math.round(x * 100) / 100, and in the test alike"
        return ""
    is_form = isinstance(got, numbers) != isinstance(expected, numbers)
    if is_form and _to_text(got).strip('"') == _to_text(expected).strip('"'):
        return f'test {number} expects another type than it gets: write "output": {_shorten(got)}'
    return ""


def _describe_failure(test: Test, got: str, expected: str = "") -> str:
    if test.error is not None:
        expected = test.error
    elif not expected:
        expected = _shorten(test.output)
    return one_line(f"{_shorten(test.input)} gave {got}, expected {expected}", 240)


def _show_difference(got: Json, expected: Json) -> tuple[str, str]:
    """Return both values as short texts.

    Of two that would look the same once they are cut, what surrounds the first difference is shown.
    """
    texts = (_to_text(got), _to_text(expected))
    same = min(map(len, texts))
    for place, (ours, theirs) in enumerate(zip(*texts, strict=False)):
        if ours != theirs:
            same = place
            break
    if same < VALUE_SHOWN - 1:
        return one_line(texts[0], VALUE_SHOWN), one_line(texts[1], VALUE_SHOWN)
    start = same - BEFORE_SHOWN
    return (
        one_line(f"…{texts[0][start:]}", VALUE_SHOWN),
        one_line(f"…{texts[1][start:]}", VALUE_SHOWN),
    )


def _shorten(value: Json) -> str:
    return one_line(_to_text(value), VALUE_SHOWN)


def _to_text(value: Json) -> str:
    try:
        return dumps(value).decode()
    except UsageError:
        return "something nested too deep to show"


def _is_same(left: Json, right: Json) -> bool:
    """Return whether two values are equal as JSON: 1 and 1.0 are, 1 and true are not."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_is_same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_is_same, left, right))
    return bool(left == right)
