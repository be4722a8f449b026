"""The executor runs one call of a capability and the calls within it.

It validates the arguments, runs the programs with what they were granted, and signs failures with
the name of the capability that failed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from math import inf
from typing import Protocol

from sigil import strict_json
from sigil.access.grants import home_of, how_to_grant
from sigil.errors import Refused, SigilError, ToolError, UsageError, one_line
from sigil.manifest.arguments import accept
from sigil.manifest.languages import CODELESS
from sigil.manifest.model import Manifest
from sigil.manifest.permission_rules import (
    HttpRule,
    SecretRule,
    parse_call_rule,
    parse_http_rule,
    parse_secret_rule,
)
from sigil.manifest.permissions import (
    CALL,
    HTTP,
    MCP,
    SECRET,
    WEB,
    declared_calls,
    requested_permissions,
)
from sigil.protocol import Caller, Json, KeptFile
from sigil.run.call_chain import CallLink, FailureRecorder, NestedFailure, on_behalf_of
from sigil.run.dependencies import DEPTH_MOST, describe_circle, refuse_without_code
from sigil.run.host_calls.context import HostServices, Runnable, StartedCall
from sigil.run.host_calls.dispatch import HostCallDispatcher
from sigil.run.host_calls.fetch import NetworkRights, WebRight
from sigil.run.host_calls.placeholders import Values, scrub, scrub_text, split_body, split_text
from sigil.run.mcp_client import document
from sigil.run.mcp_client.media import FILES_MOST, UnusableFileError
from sigil.run.mcp_client.progress import ProgressWatch
from sigil.run.mcp_client.servers import MARGIN_SECONDS, ServerAccess, Servers
from sigil.running_call import INTERRUPTED, current_call
from sigil.sandbox.pool import Sandbox
from sigil.sandbox.program import Grants, Outcome, SandboxLimits
from sigil.sandbox.tenants import Tenant, tenant_of
from sigil.storage.kept_files import FileContent

CALLS_MOST = 32
LINES_MOST = 100
PATIENCE_MS = 30_000


class CallLog(Protocol):
    """A log of every call, those within a call too."""

    def record_start(self, capability: Runnable, caller: str, session: str = "") -> StartedCall:
        """Record that a call on behalf of `caller` begins, in the chat `session` if it is not
        empty.

        Raises `Refused` EDEGRADED while the version rests for it.
        """

    def record_success(
        self, call: StartedCall, input_bytes: int = 0, logs: Sequence[str] = ()
    ) -> None:
        """Record that the call has an answer, how large its input was, and what it logged."""

    def record_failure(
        self, call: StartedCall, problem: SigilError, *, blamed: bool, input_bytes: int = 0
    ) -> None:
        """Record that the call failed.

        `blamed` says that the capability's own code did, and neither what it called nor its caller.
        """


class NoCallLog:
    """A log that records nothing, for golden tests."""

    def record_start(self, capability: Runnable, caller: str, session: str = "") -> StartedCall:
        return StartedCall(capability)

    def record_success(
        self, call: StartedCall, input_bytes: int = 0, logs: Sequence[str] = ()
    ) -> None:
        """Record nothing."""

    def record_failure(
        self, call: StartedCall, problem: SigilError, *, blamed: bool, input_bytes: int = 0
    ) -> None:
        """Record nothing."""


@dataclass(slots=True)
class _CallTree:
    """The state that the calls within one call share."""

    caller: Caller
    calls: int = 0
    logs: list[str] = field(default_factory=list)
    files: list[KeptFile] = field(default_factory=list)

    def add_logs(self, callee: CallLink, name: str, lines: Sequence[str]) -> None:
        """Add the lines that a callee logged, under its name.

        The logs of another namespace are left out: they are its home's.
        """
        if callee.home in self.caller.sees:
            most = LINES_MOST - len(self.logs)
            self.logs += [f"{name}: {line}" for line in lines][:most]


class Executor:
    """Runs capabilities in a sandbox.

    `host_services` answer their host calls, and `recorder` records every call. The sandbox's time
    counts for the caller, or all of it for `tenant`.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        host_services: HostServices,
        recorder: CallLog | None = None,
        servers: Servers | None = None,
        tenant: Tenant | None = None,
    ) -> None:
        self._sandbox = sandbox
        self._host_services = host_services
        self._recorder = recorder or NoCallLog()
        self._servers = servers or Servers()
        self._tenant = tenant

    def run(self, capability: Runnable, arguments: Mapping[str, Json], caller: Caller) -> Outcome:
        """Run a capability; every failure carries the capability's name as its source."""
        tree = _CallTree(caller)
        limit = capability.manifest.limits.timeout_ms
        if capability.manifest.lang == "mcp":
            limit = max(limit, int(current_call().seconds * 1000))
        root = CallLink(
            capability,
            limit,
            capability,
            home_of(capability.namespace, caller),
            on_behalf_of(caller, capability),
        )
        try:
            outcome = self._run_link(arguments, tree, (root,), SandboxLimits(timeout_ms=limit))
        except SigilError as problem:
            problem.logs = (*tree.logs, *problem.logs)[:LINES_MOST]
            raise
        if not tree.logs and not tree.files:
            return outcome
        logs = (*tree.logs, *outcome.logs)[:LINES_MOST]
        return replace(outcome, logs=logs, files=tuple(tree.files))

    def _run_link(
        self,
        arguments: Mapping[str, Json],
        tree: _CallTree,
        path: tuple[CallLink, ...],
        limits: SandboxLimits,
    ) -> Outcome:
        """Run the last link of `path`, and record how the call ended.

        The granted secrets are taken out of the output. A failure is judged, see `CallLink.judge`,
        and carries the capability's name.
        """
        link = path[-1]
        capability = link.capability
        if capability.manifest.lang in CODELESS:
            raise refuse_without_code(capability.manifest, capability.name)
        call = self._recorder.record_start(capability, link.caller, tree.caller.session)
        secrets = None
        body = b""
        try:
            body = strict_json.dumps(accept(capability.manifest.input, arguments))
            _require_no_placeholder(body, capability.manifest)
            grants = derive_grants(capability.manifest)
            services = None
            if grants.services:
                granted = self._host_services.list_granted(capability, link.home)
                secrets = _LazySecrets(self._host_services, link, granted)
                services = self._open_services(tree, path, secrets)
            tenant = self._tenant or tenant_of(tree.caller)
            outcome = self._sandbox.run(
                capability.program, body, grants, limits, services, tenant=tenant
            )
            if secrets and secrets.known:
                outcome = _scrub_outcome(outcome, secrets.known)
        except SigilError as failure:
            problem = link.judge(failure)
            problem.source = problem.source or capability.name
            if problem.code == INTERRUPTED:
                link.blame = None  # whoever cancelled it says nothing of the capability
            if secrets and secrets.known:
                problem.message = scrub_text(problem.message, secrets.known)
                problem.args = (f"{problem.code}: {problem.message}",)
                problem.logs = tuple(scrub_text(line, secrets.known) for line in problem.logs)
            self._recorder.record_failure(
                call, problem, blamed=link.blame is capability, input_bytes=len(body)
            )
            raise problem from None
        self._recorder.record_success(call, len(body), outcome.logs)
        return outcome

    def _open_services(
        self, tree: _CallTree, path: tuple[CallLink, ...], secrets: _LazySecrets
    ) -> FailureRecorder:
        """Return the services of a run: the network, its own store, calls, and an MCP server."""
        link = path[-1]
        capability = link.capability
        granted = secrets.granted
        http: list[HttpRule] = []
        http_waiting: list[HttpRule] = []
        secret: list[SecretRule] = []
        secret_waiting: list[SecretRule] = []
        web = WebRight.UNDECLARED
        for text in requested_permissions(capability.manifest):
            if text == WEB:
                web = WebRight.GRANTED if text in granted else WebRight.WAITING
            elif text.startswith(HTTP):
                http_rule = parse_http_rule(text.removeprefix(HTTP))
                (http if text in granted else http_waiting).append(http_rule)
            elif text.startswith(SECRET):
                secret_rule = parse_secret_rule(text.removeprefix(SECRET))
                (secret if text in granted else secret_waiting).append(secret_rule)
        rights = NetworkRights(
            capability.name,
            tuple(http),
            tuple(http_waiting),
            tuple(secret),
            tuple(secret_waiting),
            secrets,
            link.home,
            web,
            partial(self._host_services.count_web_request, link.home.partition("~")[0]),
        )
        call_server = None
        if capability.manifest.lang == "mcp":
            call_server = _ServerCalls(
                capability, self._servers, rights, secrets, self._host_services, tree
            ).answer
        dispatcher = HostCallDispatcher(
            rights,
            self._host_services.open_web,
            self._host_services.open_store(capability, link.home),
            _NestedCalls(self, tree, path, granted).answer,
            call_server,
        )
        return FailureRecorder(dispatcher, link)

    def call_nested(
        self,
        call: str,
        arguments: Mapping[str, Json],
        seconds: float,
        tree: _CallTree,
        path: tuple[CallLink, ...],
    ) -> Json:
        """Return the output of another capability, called by the last one of `path`.

        It runs within the caller's time and with grants of its own. `call` is written as it is
        declared; the version that runs is the one recorded when the caller was deployed.
        """
        caller = path[-1]
        name = parse_call_rule(call).full_name
        callee = self._host_services.load_callee(caller.capability, call)
        if callee.identity in {link.capability.identity for link in path}:
            names = [link.capability.name for link in path]
            raise Refused("ECYCLE", describe_circle([*names, callee.name]))
        tree.calls += 1
        if len(path) >= DEPTH_MOST or tree.calls > CALLS_MOST:
            message = (
                f"calls go at most {DEPTH_MOST} deep, and there are at most {CALLS_MOST} within one"
            )
            raise NestedFailure(Refused("ELIMIT", message), message, path[0].capability)
        left = max(int(seconds * 1000), 1)
        limits = SandboxLimits(
            timeout_ms=min(callee.manifest.limits.timeout_ms, left),
            patience_ms=min(PATIENCE_MS, left),
        )
        link = caller.link_callee(callee, left)
        own_secrets = _list_own_secrets(caller.capability.manifest)
        started = time.perf_counter()
        try:
            outcome = self._run_link(arguments, tree, (*path, link), limits)
        except SigilError as problem:
            tree.add_logs(link, name, problem.logs)
            caller.take_time((time.perf_counter() - started) * 1000, link.blame)
            message = split_text(f"{name}: {problem.message}", own_secrets)
            host = link.has_foreign_failure
            raise NestedFailure(problem, message, link.blame, host=host) from None
        tree.add_logs(link, name, outcome.logs)
        return strict_json.loads(split_body(outcome.output, own_secrets))


@dataclass(frozen=True, slots=True)
class _NestedCalls:
    """Answers the calls that one capability makes of others."""

    executor: Executor
    tree: _CallTree
    path: tuple[CallLink, ...]
    granted: frozenset[str]

    def answer(self, name: str, arguments: Mapping[str, Json], seconds: float) -> Json:
        capability = self.path[-1].capability
        for text in declared_calls(capability.manifest):
            rule = parse_call_rule(text)
            if rule.full_name != name:
                continue
            if rule.namespace and f"{CALL}{text}" not in self.granted:
                command = how_to_grant(capability.namespace, capability.name)
                raise Refused("EPERM", f"a call of {name} waits for an owner's grant: {command}")
            return self.executor.call_nested(text, arguments, seconds, self.tree, self.path)
        raise Refused(
            "EPERM",
            f"a call of {one_line(name, 80)} is not declared: add permissions.call to the manifest",
        )


@dataclass(frozen=True, slots=True)
class _ServerCalls:
    """Answers the calls of the MCP server to which one capability belongs.

    The server's document came with the capability's own module, which was made of nothing else.
    """

    capability: Runnable
    servers: Servers
    rights: NetworkRights
    secrets: _LazySecrets
    host_services: HostServices
    tree: _CallTree

    def answer(self, argument: Json, seconds: float) -> Json:
        if not isinstance(argument, dict):
            raise ToolError("EINVAL", "the argument is an object", source="mcp")
        tool = document.read_document(strict_json.dumps(argument["document"]))
        for text in tool.server.mcp:
            if f"{MCP}{text}" not in self.secrets.granted:
                command = how_to_grant(self.capability.namespace, self.capability.name)
                raise Refused(
                    "EPERM",
                    f"the program of {tool.server.name} waits for an owner's grant: {command}",
                )
        call = current_call()
        end = time.monotonic() + max(seconds - MARGIN_SECONDS, seconds / 2)
        self.secrets.until = end
        idle = seconds
        if not call.is_patient:
            idle = self.capability.manifest.limits.timeout_ms / 1000
        watch = ProgressWatch(call, end, max(idle - MARGIN_SECONDS, idle / 2), self._scrub_message)
        access = ServerAccess(
            self.rights, self.host_services.open_web, end, self.secrets.replace_rejected, watch
        )
        try:
            return self.servers.call_tool(tool, argument["input"], access, self._keep_file)
        except ToolError as problem:
            if problem.code != "ETIMEDOUT":
                raise
            raise NestedFailure(problem, problem.message, self.capability) from None

    def _scrub_message(self, text: str) -> str:
        """Return what the server says of the call without the secrets that it was sent."""
        return scrub_text(text, self.secrets.known)

    def _keep_file(self, file: FileContent) -> None:
        """Keep a file of the tool's for whoever began the call.

        The tool may have changed something, so a file that cannot be kept does not fail the call.
        """
        if len(self.tree.files) >= FILES_MOST:
            raise UnusableFileError(f"a call may leave {FILES_MOST} files")
        if scrub(file.body, self.secrets.known) != file.body:
            raise UnusableFileError("it holds a secret")
        try:
            self.tree.files.append(self.host_services.keep_file(file, self.tree.caller))
        except SigilError as problem:
            raise UnusableFileError(f"it cannot be kept now: {problem.message}") from None


class _LazySecrets:
    """The secrets that a capability was granted and that are set, by name.

    They are read when the first is needed; `known` has those read so far. `granted` are all the
    permissions that were granted. `until` is when the call that needs them ends at the latest, a
    time of the monotonic clock.
    """

    def __init__(
        self, host_services: HostServices, link: CallLink, granted: frozenset[str]
    ) -> None:
        self.granted = granted
        self.until = inf
        self._seconds = link.allowed / 1000
        self._host_services = host_services
        self._agent = link.home.partition("~")[0]
        self._values: Values | None = None

    def __call__(self) -> Values:
        if self._values is not None:
            return self._values
        self.until = min(self.until, time.monotonic() + self._seconds)
        rules: dict[str, list[SecretRule]] = {}
        for text in self.granted:
            if text.startswith(SECRET):
                rule = parse_secret_rule(text.removeprefix(SECRET))
                rules.setdefault(rule.name, []).append(rule)
            if text.startswith(MCP):
                for name in document.list_secrets(text.removeprefix(MCP)):
                    rules.setdefault(name, [])
        values: dict[str, str] = {}
        for name in sorted(rules):
            value = self._host_services.get_secret(self._agent, name, rules[name], self.until)
            if value is not None:
                values[name] = value
        self._values = values
        return values

    def replace_rejected(self, name: str) -> bool:
        """Return whether a server that rejected a secret's value may be sent another one now."""
        rejected = self().get(name)
        if rejected is None:
            return False
        value = self._host_services.replace_secret(self._agent, name, rejected, self.until)
        if value is None:
            return False
        self._values = {**self(), name: value}
        return True

    @property
    def known(self) -> Values:
        return self._values or {}


def _require_no_placeholder(body: bytes, manifest: Manifest) -> None:
    """Raise `UsageError` when the input has the placeholder of one of the capability's own secrets.

    It might end up in a request and be filled there. What is sent to an MCP server is filled
    in its own headers alone.
    """
    for name in sorted(_list_own_secrets(manifest)):
        if split_body(body, (name,)) != body:
            message = f"the input holds {{{{{name}}}}}, which is the placeholder of a secret here"
            raise UsageError("EINVAL", message, suggestion="leave it out, or write it another way")


def _list_own_secrets(manifest: Manifest) -> set[str]:
    """Return the names of the secrets whose placeholders are filled in its requests."""
    if manifest.lang == "mcp":
        return set()
    return {parse_secret_rule(text).name for text in manifest.permissions.secrets}


def _scrub_outcome(outcome: Outcome, values: Values) -> Outcome:
    """Return the outcome without secrets.

    A guest has never seen one, but a server may have sent it in an unexpected form.
    Raises `ToolError` EOUTPUT when the output is no JSON without them.
    """
    output = scrub(outcome.output, values)
    if output != outcome.output:
        try:
            strict_json.loads(output)
        except UsageError:
            raise ToolError("EOUTPUT", "the output holds a secret") from None
    logs = tuple(scrub_text(line, values) for line in outcome.logs)
    return replace(outcome, output=output, logs=logs)


def derive_grants(manifest: Manifest) -> Grants:
    """Return what the sandbox passes on: everything that is declared.

    What waits for an owner is refused by the service that is asked for it, by name.
    """
    permissions = manifest.permissions
    names = []
    if permissions.http or permissions.web:
        names.append("http")
    if permissions.kv:
        names.append("kv")
    if permissions.call or manifest.requires:
        names.append("call")
    if manifest.lang == "mcp":
        names.append("mcp")
    return _share_grants(permissions.clock, permissions.random, permissions.log, tuple(names))


@lru_cache(maxsize=64)
def _share_grants(clock: bool, random: bool, log: bool, services: tuple[str, ...]) -> Grants:
    """Return equal grants as one value, which the sandbox recognizes at once."""
    return Grants(clock=clock, random=random, log=log, services=frozenset(services))
