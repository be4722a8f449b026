"""One call of a capability and the calls within it: arguments made valid, programs run with what
they were granted, failures signed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Protocol

from sigil import strict_json
from sigil.access.grants import home_of, how_to_grant
from sigil.errors import Refused, SigilError, ToolError, UsageError, one_line
from sigil.manifest import schema
from sigil.manifest.languages import HOST
from sigil.manifest.model import Manifest
from sigil.manifest.permission_rules import parse_call_rule, parse_http_rule, parse_secret_rule
from sigil.manifest.permissions import (
    CALL,
    HTTP,
    MCP,
    SECRET,
    declared_calls,
    requested_permissions,
)
from sigil.protocol import Caller, Json
from sigil.run.call_chain import CallLink, FailureRecorder, NestedFailure, on_behalf_of
from sigil.run.dependencies import DEPTH_MOST, circle, inside
from sigil.run.host_calls.context import Begun, Facilities, Part
from sigil.run.host_calls.dispatch import HostCallDispatcher
from sigil.run.host_calls.fetch import NetworkRights
from sigil.run.host_calls.placeholders import Values, scrub, scrub_text, split_body, split_text
from sigil.run.mcp_client import document
from sigil.run.mcp_client.servers import MARGIN_SECONDS, ServerAccess, Servers
from sigil.sandbox.pool import Sandbox
from sigil.sandbox.program import Grants, Outcome, SandboxLimits
from sigil.sandbox.tenants import Tenant, tenant_of

CALLS_MOST = 32
LINES_MOST = 100
PATIENCE_MS = 30_000


class CallLog(Protocol):
    """A log of every call, those within a call too."""

    def record_start(self, part: Part, caller: str) -> Begun:
        """A call for `caller` begins; `Refused` EDEGRADED while the version rests for it."""

    def record_success(self, begun: Begun) -> None:
        """It has an answer."""

    def record_failure(self, begun: Begun, problem: SigilError, *, blamed: bool) -> None:
        """It failed. `blamed`: by the part's own code, and not by what it called or by who called
        it.
        """


class NoCallLog:
    """No books, as in a rehearsal."""

    def record_start(self, part: Part, caller: str) -> Begun:
        return Begun(part)

    def record_success(self, begun: Begun) -> None:
        """Nothing is written."""

    def record_failure(self, begun: Begun, problem: SigilError, *, blamed: bool) -> None:
        """Nothing is written."""


@dataclass(slots=True)
class _CallTree:
    """The state that the calls within one call share."""

    caller: Caller
    calls: int = 0
    logs: list[str] = field(default_factory=list)

    def hear(self, callee: CallLink, name: str, lines: Sequence[str]) -> None:
        """Keep what a callee said, under its name. What a capability logs is its home's: of another
        namespace nothing is told.
        """
        if callee.home in self.caller.sees:
            self.logs += [f"{name}: {line}" for line in lines][: LINES_MOST - len(self.logs)]


class Executor:
    """Runs capabilities in a sandbox, their services answered out of `facilities`, every call
    written down in `recorder`.

    What runs counts for whoever asks, or all of it for `tenant`.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        facilities: Facilities,
        recorder: CallLog | None = None,
        servers: Servers | None = None,
        tenant: Tenant | None = None,
    ) -> None:
        self._sandbox = sandbox
        self._facilities = facilities
        self._recorder = recorder or NoCallLog()
        self._servers = servers or Servers()
        self._tenant = tenant

    def run(self, part: Part, arguments: Mapping[str, Json], caller: Caller) -> Outcome:
        """Run `part` on `arguments`; every failure carries the capability's name as its source."""
        tree, limit = _CallTree(caller), part.manifest.limits.timeout_ms
        root = CallLink(
            part, limit, part, home_of(part.namespace, caller), on_behalf_of(caller, part)
        )
        try:
            outcome = self._run(arguments, tree, (root,), SandboxLimits(timeout_ms=limit))
        except SigilError as problem:
            problem.logs = (*tree.logs, *problem.logs)[:LINES_MOST]
            raise
        return (
            replace(outcome, logs=(*tree.logs, *outcome.logs)[:LINES_MOST])
            if tree.logs
            else outcome
        )

    def _run(
        self,
        arguments: Mapping[str, Json],
        tree: _CallTree,
        path: tuple[CallLink, ...],
        limits: SandboxLimits,
    ) -> Outcome:
        link = path[-1]
        if link.part.manifest.lang == HOST:
            raise inside(link.part.name, link.part.name)
        begun = self._recorder.record_start(link.part, link.caller)
        try:
            outcome = self._run_program(arguments, tree, path, limits)
        except SigilError as problem:
            self._recorder.record_failure(begun, problem, blamed=link.blame is link.part)
            raise
        self._recorder.record_success(begun)
        return outcome

    def _run_program(
        self,
        arguments: Mapping[str, Json],
        tree: _CallTree,
        path: tuple[CallLink, ...],
        limits: SandboxLimits,
    ) -> Outcome:
        """Run the program of the last link of `path`, with its secrets taken out of what it says.

        A failure is judged, see `CallLink.judge`, and carries the capability's name.
        """
        link = path[-1]
        part = link.part
        secrets = _LazySecrets(dict)
        try:
            body = strict_json.dumps(schema.accept(part.manifest.input, arguments))
            _require_no_mark(body, part.manifest)
            grants = offered(part.manifest)
            services = None
            if grants.services:
                granted = self._facilities.granted(part, link.home)
                secrets = _LazySecrets(lambda: self._read_secrets(link, granted))
                services = self._open_services(tree, path, granted, secrets)
            tenant = self._tenant or tenant_of(tree.caller)
            outcome = self._sandbox.run(part.program, body, grants, limits, services, tenant=tenant)
            return _scrubbed(outcome, secrets.known)
        except SigilError as failure:
            problem = link.judge(failure)
            _sign(problem, part.name, secrets.known)
            raise problem from None

    def _open_services(
        self,
        tree: _CallTree,
        path: tuple[CallLink, ...],
        granted: frozenset[str],
        secrets: _LazySecrets,
    ) -> FailureRecorder:
        """Return what answers the requests of a run: network, own store, calls, an MCP server."""
        link = path[-1]
        part = link.part
        rights = _rights(link, granted, secrets)
        call_server = None
        if part.manifest.lang == "mcp":
            call_server = _ServerCalls(
                part, self._servers, rights, granted, self._facilities
            ).answer
        dispatcher = HostCallDispatcher(
            rights,
            self._facilities.web,
            self._facilities.store(part, link.home),
            _NestedCalls(self, tree, path, granted).answer,
            call_server,
        )
        return FailureRecorder(dispatcher, link)

    def _read_secrets(self, link: CallLink, granted: frozenset[str]) -> Values:
        """Return the values of the secrets that were granted and are set, by name."""
        names: set[str] = set()
        for text in granted:
            if text.startswith(SECRET):
                names.add(parse_secret_rule(text.removeprefix(SECRET)).name)
            if text.startswith(MCP):
                names.update(document.secrets_in(text.removeprefix(MCP)))
        agent = link.home.partition("~")[0]
        found: dict[str, str] = {}
        for name in sorted(names):
            value = self._facilities.secret(agent, name)
            if value is not None:
                found[name] = value
        return found

    def within(
        self, call: str, given: Json, seconds: float, tree: _CallTree, path: tuple[CallLink, ...]
    ) -> Json:
        """The output of another capability, called by the last one of `path` within its time; with
        the other's grants.

        `call`: as it is declared. The version that runs is the one that was recorded when the
        caller was deployed.
        """
        caller, rule = path[-1], parse_call_rule(call)
        callee = self._facilities.callee(caller.part, call)
        if callee.identity in {link.part.identity for link in path}:
            raise Refused("ECYCLE", circle([*(link.part.name for link in path), callee.name]))
        tree.calls += 1
        if len(path) >= DEPTH_MOST or tree.calls > CALLS_MOST:
            most = (
                f"calls go at most {DEPTH_MOST} deep, and there are at most {CALLS_MOST} within one"
            )
            raise NestedFailure(Refused("ELIMIT", most), most, path[0].part)
        left = max(int(seconds * 1000), 1)
        limits = SandboxLimits(
            timeout_ms=min(callee.manifest.limits.timeout_ms, left),
            patience_ms=min(PATIENCE_MS, left),
        )
        link, started = caller.to(callee, left), time.perf_counter()
        try:
            outcome = self._run(given, tree, (*path, link), limits)
        except SigilError as problem:
            tree.hear(link, rule.full_name, problem.logs)
            caller.lose((time.perf_counter() - started) * 1000, link.blame)
            message = split_text(
                f"{rule.full_name}: {problem.message}", _own_secrets(caller.part.manifest)
            )
            raise NestedFailure(problem, message, link.blame, host=link.troubled) from None
        tree.hear(link, rule.full_name, outcome.logs)
        return strict_json.loads(split_body(outcome.output, _own_secrets(caller.part.manifest)))


@dataclass(frozen=True, slots=True)
class _NestedCalls:
    """The calls of one part."""

    execution: Executor
    tree: _CallTree
    path: tuple[CallLink, ...]
    granted: frozenset[str]

    def answer(self, name: str, given: Json, seconds: float) -> Json:
        part = self.path[-1].part
        for text in declared_calls(part.manifest):
            rule = parse_call_rule(text)
            if rule.full_name == name and rule.namespace and f"{CALL}{text}" not in self.granted:
                raise Refused(
                    "EPERM",
                    f"a call of {name} waits for an owner's grant:"
                    f" {how_to_grant(part.namespace, part.name)}",
                )
            if rule.full_name == name:
                return self.execution.within(text, given, seconds, self.tree, self.path)
        raise Refused(
            "EPERM",
            f"a call of {one_line(name, 80)} is not declared: add permissions.call to the manifest",
        )


@dataclass(frozen=True, slots=True)
class _ServerCalls:
    """The MCP server that one part stands for. Its document came with the part's own module, which
    was made of nothing else.
    """

    part: Part
    servers: Servers
    rights: NetworkRights
    granted: frozenset[str]
    facilities: Facilities

    def answer(self, argument: Json, seconds: float) -> Json:
        wanted = document.read(strict_json.dumps(argument["document"]))
        for text in wanted.server.mcp:
            if f"{MCP}{text}" not in self.granted:
                grant = how_to_grant(self.part.namespace, self.part.name)
                raise Refused(
                    "EPERM",
                    f"the program of {wanted.server.name} waits for an owner's grant: {grant}",
                )
        means = ServerAccess(
            self.rights,
            self.facilities.web,
            time.monotonic() + max(seconds - MARGIN_SECONDS, seconds / 2),
        )
        try:
            return self.servers.call(wanted, argument["input"], means)
        except ToolError as problem:
            if problem.code != "ETIMEDOUT":
                raise
            raise NestedFailure(problem, problem.message, self.part) from None


class _LazySecrets:
    """A part's secrets, read at the first need. `known`: those that were read."""

    def __init__(self, read: Callable[[], Values]) -> None:
        self._read = read
        self._values: Values | None = None

    def __call__(self) -> Values:
        if self._values is None:
            self._values = self._read()
        return self._values

    @property
    def known(self) -> Values:
        return self._values or {}


def _require_no_mark(given: bytes, manifest: Manifest) -> None:
    """Refuse an input that holds the mark of one of the capability's own secrets: it may stand in a
    request, and be filled there.

    What is sent to an MCP server is filled in its own headers alone.
    """
    if name := next(
        (name for name in sorted(_own_secrets(manifest)) if split_body(given, (name,)) != given), ""
    ):
        message = f"the input holds {{{{{name}}}}}, which stands for a secret here"
        raise UsageError("EINVAL", message, suggestion="leave it out, or write it in another way")


def _own_secrets(manifest: Manifest) -> set[str]:
    """The secrets whose marks are filled in what it sends."""
    return {
        parse_secret_rule(text).name
        for text in manifest.permissions.secrets
        if manifest.lang != "mcp"
    }


def _rights(link: CallLink, granted: frozenset[str], values: _LazySecrets) -> NetworkRights:
    wanted = requested_permissions(link.part.manifest)
    http = {
        text: parse_http_rule(text.removeprefix(HTTP)) for text in wanted if text.startswith(HTTP)
    }
    secrets = {
        text: parse_secret_rule(text.removeprefix(SECRET))
        for text in wanted
        if text.startswith(SECRET)
    }
    return NetworkRights(
        link.part.name,
        tuple(rule for text, rule in http.items() if text in granted),
        tuple(rule for text, rule in http.items() if text not in granted),
        tuple(rule for text, rule in secrets.items() if text in granted),
        tuple(rule for text, rule in secrets.items() if text not in granted),
        values,
        link.home,
    )


def _sign(problem: SigilError, name: str, values: Values) -> None:
    """Give the failure its source and take secrets out of it."""
    problem.source = problem.source or name
    if values:
        problem.message = scrub_text(problem.message, values)
        problem.args = (f"{problem.code}: {problem.message}",)
        problem.logs = tuple(scrub_text(line, values) for line in problem.logs)


def _scrubbed(outcome: Outcome, values: Values) -> Outcome:
    """The outcome without secrets: a guest has never seen one, but a server may have told it in a
    way that nobody thought of.
    """
    output = scrub(outcome.output, values)
    if output != outcome.output:
        with suppress(UsageError):
            strict_json.loads(output)
            return replace(
                outcome,
                output=output,
                logs=tuple(scrub_text(line, values) for line in outcome.logs),
            )
        raise ToolError("EOUTPUT", "the output holds a secret")
    return (
        replace(outcome, logs=tuple(scrub_text(line, values) for line in outcome.logs))
        if values
        else outcome
    )


def offered(manifest: Manifest) -> Grants:
    """Return what the sandbox passes on: everything declared. What waits for an owner is told apart
    where it is asked for, by name.
    """
    wants = manifest.permissions
    called = bool(wants.call or manifest.requires)
    return _grants(
        (wants.clock, wants.random, wants.log),
        (bool(wants.http), wants.kv, called, manifest.lang == "mcp"),
    )


@lru_cache(maxsize=64)
def _grants(own: tuple[bool, bool, bool], served: tuple[bool, bool, bool, bool]) -> Grants:
    clock, random, log = own
    services = frozenset(
        name for name, wanted in zip(("http", "kv", "call", "mcp"), served, strict=True) if wanted
    )
    return Grants(clock=clock, random=random, log=log, services=services)
