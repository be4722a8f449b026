"""The sandbox runs foreign modules in child processes and answers in our own words."""

from __future__ import annotations

import os
import re
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from time import perf_counter
from types import MappingProxyType
from typing import Literal

from sigil import strict_json
from sigil.errors import BackendError, Refused, SigilError, ToolError, UsageError, one_line
from sigil.protocol import Json
from sigil.running_call import RunningCall, current_call, interrupted_error
from sigil.sandbox.code_cache import CodeCache, NativeCodeCache
from sigil.sandbox.compile_job import CompileJobs
from sigil.sandbox.module_scan import ABIS, UnfitModule, scan
from sigil.sandbox.program import (
    DEFAULT_LIMITS,
    NO_GRANTS,
    Grants,
    Outcome,
    Program,
    SandboxLimits,
    Services,
)
from sigil.sandbox.protocol import (
    ASK_LIMIT,
    INPUT_LIMIT,
    LOG_CHARACTERS,
    OUTPUT_LIMIT,
    OWN,
    SERVICES,
    DeadlinePassed,
    FrameKind,
    GrantViolation,
    PeerGone,
    ProtocolBreach,
    RunOrder,
    unpack_answer,
)
from sigil.sandbox.runner_process import (
    CodeRefused,
    Isolation,
    LoadableCode,
    RunnerProcess,
    choose_isolation,
    describe_isolation,
)
from sigil.sandbox.runtime.config import MEMORY_BYTES
from sigil.sandbox.tenants import SOLE_TENANT, FairQueue, Tenant
from sigil.sandbox.worker_pool import WorkerPool

TEXT_BYTES = 256 << 10
TIMEOUT_LIMIT_MS = 60_000
SERVER_TIMEOUT_LIMIT_MS = 3_600_000
"""A program that only waits for an MCP server may take so long. It does nothing meanwhile."""
UPLOAD_PATIENCE = 60.0
UPLOADS = 2
"""The number of foreign modules that are made or checked at once; one of each namespace."""
_GUEST_CODE = re.compile(r"E[A-Z0-9]{2,15}", re.ASCII)
_RUNTIME_CODES = frozenset(
    (
        "ENOTRESIDENT",
        "EAPPROVAL",
        "EASK",
        "ENOTOOL",
        "EDAMAGED",
        "EINTERRUPTED",
        "ESTOPPED",
        "EUNAVAILABLE",
        "EBUSY",
        "ETESTS",
        "ETIMEDOUT",
        "EHOSTMEM",
        "EBREACH",
    )
)
"""Codes by which the runtime decides; a guest that claims one gets EGUEST."""
_OUR_CODES = frozenset(("ETIMEDOUT", "ENOMEM", "ESTACK", "ETRAP", "ELIMIT", "EMODULE"))
_DIGEST = re.compile(r"[A-Za-z0-9:._-]{1,128}", re.ASCII)


class Sandbox:
    """Runs programs, each call in a fresh instance, each instance in one of at most `children`
    child processes.

    Callers that share it name their `tenant`: the namespaces that wait take turns at the children
    and the compilers, and none may take the last one. With more than one child, one more is started
    when a namespace has them all and another one comes.

    Nothing is started before the first call. `engine`: the JavaScript engine's module. `cache`: a
    folder for compiled code; None, or a folder that cannot be written, costs a compilation (about a
    second) at the first use. `mode`: `plain` does without pooled memory, a filter of system calls
    and memory images; `auto` uses those that the machine has, `fast` fails without them. `clock`:
    the seconds since 1970, by which programs expire. Thread-safe.
    """

    def __init__(
        self,
        *,
        engine: Path,
        cache: Path | None,
        children: int = 2,
        mode: str = "auto",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._mode = mode
        self._isolation = choose_isolation(mode)
        self._compile_jobs = CompileJobs()
        # Fewer uploads than there are compilers: a run that needs one finds it.
        self._uploads = FairQueue(UPLOADS, most=1)
        self._native_code = NativeCodeCache(cache, self._compile_jobs)
        self._code_cache = CodeCache(engine, self._native_code)
        self._workers = WorkerPool(children, self._isolation, strict=mode == "fast", clock=clock)
        self._finalizer = weakref.finalize(self, self._workers.close)

    def run(
        self,
        program: Program,
        input: bytes,
        grants: Grants = NO_GRANTS,
        limits: SandboxLimits = DEFAULT_LIMITS,
        services: Services | None = None,
        *,
        tenant: Tenant = SOLE_TENANT,
    ) -> Outcome:
        """Return the answer of `program` to `input`, one JSON value in UTF-8 (at most 1 MiB).
        `services` answers the requests that `grants` allow.

        The run, and whatever it calls, counts for `tenant`.

        `ToolError`: the guest's own failure (its code, or EGUEST), or what stopped it: ETIMEDOUT,
        ENOMEM, ESTACK, ETRAP, EOUTPUT, ELIMIT, EMODULE. `BackendError` EUNAVAILABLE: no child
        process, no engine, or the sandbox is closed. EINTERRUPTED: the call for which it runs was
        cancelled; its runner is ended then, in whatever it is.
        """
        if len(input) > INPUT_LIMIT:
            raise ToolError("ELIMIT", f"the input is larger than {INPUT_LIMIT} bytes")
        order = _make_order(program, input, grants, limits)
        run = _Run(
            program,
            order,
            limits.patience_ms / 1000,
            services or NoServices(),
            tenant,
            current_call(),
        )
        started, kind, payload, cold = self._execute(run)
        if kind == FrameKind.FAILED:
            raise _read_failure(payload, order)
        try:
            output, lines = unpack_answer(payload)
        except ProtocolBreach:
            raise ToolError("ETRAP", "the sandbox process sent an invalid answer") from None
        if len(output) > order.output_bytes:
            raise ToolError("ELIMIT", f"the output is larger than {order.output_bytes} bytes")
        logs = tuple(map(_clean_line, lines))
        if kind == FrameKind.GUEST:
            raise _attach_logs(_read_guest_error(output), logs)
        try:
            strict_json.loads(output)
        except UsageError:
            raise ToolError("EOUTPUT", "the output is not one JSON value in UTF-8") from None
        return Outcome(output, logs, (perf_counter() - started) * 1000, cold)

    def warm(self, progress: Callable[[str], None]) -> None:
        """Load the engine's native code before the first call waits for it; `progress` is called
        first when it has to be compiled.

        An engine that is missing is reported by the call that needs it: others may go on without.
        """
        with suppress(BackendError):
            self._code_cache.warm(lambda: progress("compiling the JavaScript engine, once"))

    def check(
        self, wasm: bytes, abi: Literal["sigil", "wasi"] = "sigil", *, tenant: Tenant = SOLE_TENANT
    ) -> None:
        """Check that an upload keeps to its ABI and compiles within the limits; `Refused` EMODULE
        says why not.
        """
        try:
            with self.compiling(tenant=tenant):
                scan(wasm, ABIS[abi])
                self._native_code.get(wasm, tenant)
        except UnfitModule as unfit:
            raise Refused("EMODULE", str(unfit)) from None

    def assemble(self, text: bytes, *, tenant: Tenant = SOLE_TENANT) -> bytes:
        """Return the module that a WAT text (UTF-8, at most 256 KiB) describes, not checked yet;
        `Refused` EMODULE when it is none.
        """
        if len(text) > TEXT_BYTES:
            raise Refused("EMODULE", f"the text has {len(text)} bytes: at most {TEXT_BYTES}")
        try:
            with self.compiling(tenant=tenant), self._compile_jobs.hold_turn(tenant):
                return b"".join(self._compile_jobs.run("assemble", text).chunks())
        except UnfitModule as unfit:
            raise Refused("EMODULE", str(unfit)) from None

    @contextmanager
    def compiling(self, *, tenant: Tenant = SOLE_TENANT) -> Iterator[None]:
        """Hold a turn in which a foreign module is made or checked, one of a namespace at a time.
        `BackendError` EBUSY after a minute's wait.
        """
        if not self._uploads.acquire(tenant, UPLOAD_PATIENCE):
            raise BackendError(
                "EBUSY",
                "too many modules are being checked",
                source="sandbox",
                suggestion="try again in a minute",
            )
        try:
            yield
        finally:
            self._uploads.release(tenant)

    def for_tenant(self, tenant: Tenant) -> TenantSandbox:
        """Return this sandbox with every call counted for `tenant`."""
        return TenantSandbox(self, tenant)

    def stats(self) -> Mapping[str, int]:
        """Return the counts of `children` alive, `busy`, `waiting` callers, `started`, `killed` and
        `renewed` so far, and `calls`.

        Of the programs in the children: `slots` in use, their `bytes`, `cold` starts and
        `evictions` so far.
        """
        return MappingProxyType(self._workers.counts())

    def pids(self) -> frozenset[int]:
        """Return the process ids of the children that live."""
        return self._workers.pids()

    def count_processor_seconds(self) -> float:
        """Return how long a processor has worked for the children that live; 0.0 where the system
        does not say so.
        """
        ticks = 0
        for pid in self.pids():
            with suppress(OSError, ValueError, IndexError):
                # behind the name, which may have spaces, the 12th and 13th are utime and stime
                fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def isolation(self) -> Isolation:
        """Return the means that the children use, as far as one has been started."""
        return self._workers.isolation

    def describe(self) -> str:
        """Describe in one line the means that the children use, and why not the others."""
        return describe_isolation(self._mode, self._workers.isolation)

    def close(self) -> None:
        """End all children. Calls in progress and later ones fail with EUNAVAILABLE."""
        self._finalizer()
        self._code_cache.clear()
        self._native_code.close()

    def _execute(self, run: _Run, *, retry: bool = True) -> tuple[float, int, bytes, bool]:
        """Run `run`; return when it began (`perf_counter`), the answer's kind and payload, and
        whether the program had to be loaded.
        """
        try:
            return self._execute_on_runner(run)
        except DeadlinePassed:
            raise _timeout_error(run.order) from None
        except GrantViolation:
            raise ToolError(
                "EBREACH", "the sandbox process asked for what it was not granted, and was ended"
            ) from None
        except ProtocolBreach as breach:
            if run.call.is_cancelled:
                raise interrupted_error() from None
            if isinstance(breach, PeerGone) and retry:  # it died while it was idle: nothing has run
                return self._execute(run, retry=False)
            if not self._finalizer.alive:
                raise BackendError(
                    "EUNAVAILABLE", "the sandbox was closed", source="sandbox"
                ) from None
            raise ToolError("ETRAP", "the sandbox process ended unexpectedly") from None
        except UnfitModule as unfit:
            raise ToolError("EMODULE", str(unfit)) from None

    def _execute_on_runner(self, run: _Run) -> tuple[float, int, bytes, bool]:
        """Run `run` on one runner.

        A program that turns out to be code, after a runner was chosen that takes none any more,
        goes to one that does. No runner waits for a compiler: code is compiled before the turn
        comes, and a call that finds that it is not gives its runner back for so long.
        """
        program = run.program
        code = program.kind != "js" or not self._isolation.images
        ready = False
        if not self._workers.has_program(program.digest):
            if not self._is_ready(program):
                self._fetch_code(run, program.digest)
            ready = True
        for takes_code in (code, True, True):
            lent = self._workers.lend(
                program.digest, run.patience, code=takes_code, tenant=run.tenant
            )
            if run.call.is_cancelled:
                raise interrupted_error()
            with suppress(CodeRefused), lent as child, run.call.cancelling(child.interrupt):
                if ready or program.digest in child.programs or self._is_ready(program):
                    started = perf_counter()
                    fetch = partial(self._fetch_code, run)
                    serve = partial(self._serve_request, child, run)
                    return started, *child.run(run.order, fetch, serve)
            self._fetch_code(run, program.digest)
        raise BackendError(
            "EUNAVAILABLE",
            "no runner takes this program's code",
            source="sandbox",
            suggestion="try again in a moment",
        )

    def _serve_request(
        self, child: RunnerProcess, run: _Run, operation: str, argument: bytes, seconds: float
    ) -> bytes:
        if operation == "call":  # the called program works in the slot of this one
            waiting = self._workers.wait_for_call(child)
        else:
            waiting = self._workers.park(child, run.tenant, seconds)
        with waiting:
            return answer_request(run.services, operation, argument, seconds)

    def _is_ready(self, program: Program) -> bool:
        return self._code_cache.is_ready(program, images=self._isolation.images)

    def _fetch_code(self, run: _Run, name: str) -> LoadableCode:
        return self._code_cache.fetch(
            run.program, name, images=self._isolation.images, tenant=run.tenant
        )


@dataclass(frozen=True, slots=True)
class TenantSandbox:
    """A sandbox whose calls all count for one tenant; its methods are those of `Sandbox`."""

    sandbox: Sandbox
    tenant: Tenant

    def run(
        self,
        program: Program,
        input: bytes,
        grants: Grants = NO_GRANTS,
        limits: SandboxLimits = DEFAULT_LIMITS,
        services: Services | None = None,
    ) -> Outcome:
        return self.sandbox.run(program, input, grants, limits, services, tenant=self.tenant)

    def check(self, wasm: bytes, abi: Literal["sigil", "wasi"] = "sigil") -> None:
        self.sandbox.check(wasm, abi, tenant=self.tenant)

    def assemble(self, text: bytes) -> bytes:
        return self.sandbox.assemble(text, tenant=self.tenant)

    def compiling(self) -> AbstractContextManager[None]:
        return self.sandbox.compiling(tenant=self.tenant)


@dataclass(frozen=True, slots=True)
class _Run:
    """One run: the program, its order, the seconds that it waits for a runner, the services that
    answer its requests, the tenant that it counts for, and the call for which it runs.
    """

    program: Program
    order: RunOrder
    patience: float
    services: Services
    tenant: Tenant
    call: RunningCall


def _make_order(program: Program, input: bytes, grants: Grants, limits: SandboxLimits) -> RunOrder:
    """Make the order that the runner gets, with every limit within what the sandbox allows."""
    if not _DIGEST.fullmatch(program.digest):
        raise ValueError("not a digest")
    most = SERVER_TIMEOUT_LIMIT_MS if "mcp" in grants.services else TIMEOUT_LIMIT_MS
    return RunOrder(
        digest=program.digest,
        linked=program.kind == "js",
        grants=_granted_names(grants),
        timeout_ms=min(max(limits.timeout_ms, 1), most),
        memory_bytes=min(max(limits.memory_bytes, 0), MEMORY_BYTES),
        output_bytes=min(max(limits.output_bytes, 0), OUTPUT_LIMIT),
        data=input,
    )


@lru_cache(maxsize=256)
def _granted_names(grants: Grants) -> frozenset[str]:
    own = frozenset(name for name in OWN if getattr(grants, name))
    return own | (grants.services & SERVICES.keys())


def _read_failure(payload: bytes, order: RunOrder) -> SigilError:
    """Read the payload of FAILED: `CODE message`, and log lines when the guest had begun."""
    try:
        words, logs = unpack_answer(payload)
    except ProtocolBreach:
        words, logs = payload, []
    code, _, message = words.decode("utf-8", "replace").partition(" ")
    if code == "EUNAVAILABLE":
        return BackendError(
            code, "there is no address space for a guest's memory", source="sandbox"
        )
    if code == "ETIMEDOUT":
        problem = _timeout_error(order)
    else:
        text = one_line(message[:LOG_CHARACTERS])
        problem = ToolError(code if code in _OUR_CODES else "ETRAP", text)
    return _attach_logs(problem, map(_clean_line, logs))


def _attach_logs(problem: SigilError, logs: Iterable[str]) -> SigilError:
    problem.logs = tuple(logs)
    return problem


def _timeout_error(order: RunOrder) -> ToolError:
    return ToolError("ETIMEDOUT", f"timed out after {order.timeout_ms} ms")


def _clean_line(text: str) -> str:
    return one_line(text[: 2 * LOG_CHARACTERS], LOG_CHARACTERS)


def _read_guest_error(output: bytes) -> ToolError:
    """Read the error that a guest answered with; EGUEST unless it names a code of its own."""
    try:
        failure = strict_json.loads(output)
    except UsageError:
        failure = None
    fields = failure if isinstance(failure, dict) else {}
    code = fields.get("code")
    message = fields.get("message")
    if not isinstance(code, str) or not _GUEST_CODE.fullmatch(code) or code in _RUNTIME_CODES:
        code = "EGUEST"
    if not isinstance(message, str):
        return ToolError(code, "failed without a message")
    return ToolError(code, one_line(message))


class NoServices:
    """The services of a run that has none, whatever its grants say."""

    def answer(self, operation: str, argument: Json, seconds: float) -> Json:
        raise ToolError("EPERM", f"{operation} is not served here")


def answer_request(services: Services, operation: str, argument: bytes, seconds: float) -> bytes:
    """Return the answer as the guest reads it: `{"ok": value}` or `{"error": {"code", "message"}}`.

    `seconds`: what is left of the run's time.
    """
    try:
        if seconds <= 0:
            raise ToolError("ETIMEDOUT", f"no time is left for {operation}")
        value = services.answer(operation, strict_json.loads(argument), seconds)
        answer = strict_json.dumps({"ok": value})
        if len(answer) > ASK_LIMIT + len(b'{"ok":}'):
            raise ToolError("ELIMIT", f"the answer of {operation} is larger than {ASK_LIMIT} bytes")
        return answer
    except SigilError as problem:
        return strict_json.dumps(
            {"error": {"code": problem.code, "message": one_line(problem.message)}}
        )
