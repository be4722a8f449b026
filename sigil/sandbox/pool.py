"""The sandbox: runs foreign modules in child processes and answers in our own words."""

from __future__ import annotations

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
from sigil.sandbox.runtime_features import MEMORY_BYTES
from sigil.sandbox.tenants import NOBODY, FairQueue, Tenant
from sigil.sandbox.worker_pool import WorkerPool

TEXT_BYTES = 256 << 10
TIMEOUT_LIMIT_MS = 60_000
UPLOAD_PATIENCE = 60.0
UPLOADS = 2
"""So many foreign modules are made or checked at once, and one of each namespace."""
_GUEST_CODE = re.compile(r"E[A-Z0-9]{2,15}", re.ASCII)
_RUNTIME_CODES = frozenset(
    (
        *(
            "ENOTRESIDENT",
            "ENOTOOL",
            "EDAMAGED",
            "EINTERRUPTED",
            "ESTOPPED",
            "EUNAVAILABLE",
            "EBUSY",
            "ETESTS",
            "ETIMEDOUT",
        ),
        *("EHOSTMEM", "EBREACH"),
    )
)
"""Codes by which the runtime decides; a guest that claims one gets EGUEST."""
_OUR_CODES = frozenset(("ETIMEDOUT", "ENOMEM", "ESTACK", "ETRAP", "ELIMIT", "EMODULE"))
_DIGEST = re.compile(r"[A-Za-z0-9:._-]{1,128}", re.ASCII)


class Sandbox:
    """Runs programs, each call in a fresh instance, each instance in one of at most `children`
    child processes.

    Whoever shares it says so by a `tenant`: the children, and the compilers, go round among the
    namespaces that wait, and none has the last one: with more than one child, one more is started
    when a namespace has them all and another one comes.

    Nothing is started before the first call. `engine`: the JavaScript engine's module. `cache`: a
    folder for compiled code; None, or a folder that cannot be written, costs a compilation (about a
    second) at the first use. `way`: `plain` does without pooled memory, a filter of system calls
    and memory images; `auto` uses what the machine has of them, `fast` fails without. `clock`: the
    seconds since 1970, by which programs expire. Thread-safe.
    """

    def __init__(
        self,
        *,
        engine: Path,
        cache: Path | None,
        children: int = 2,
        way: str = "auto",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._way = way
        self._wanted = choose_isolation(way)
        self._compile_jobs = CompileJobs()
        self._uploads = FairQueue(
            UPLOADS, most=1
        )  # fewer than there are compilers: a run that needs one finds it
        self._native_code = NativeCodeCache(cache, self._compile_jobs)
        self._code_cache = CodeCache(engine, self._native_code)
        self._workers = WorkerPool(children, self._wanted, strict=way == "fast", clock=clock)
        self._finalizer = weakref.finalize(self, self._workers.close)

    def run(
        self,
        program: Program,
        input: bytes,
        grants: Grants = NO_GRANTS,
        limits: SandboxLimits = DEFAULT_LIMITS,
        services: Services | None = None,
        *,
        tenant: Tenant = NOBODY,
    ) -> Outcome:
        """Return the answer of `program` to `input`, one JSON value in UTF-8 (at most 1 MiB).
        `services` answers what `grants` allow of them.

        It counts for `tenant`, and so does what it calls.

        `ToolError`: what the guest says (its own code, or EGUEST), or what stopped it: ETIMEDOUT,
        ENOMEM, ESTACK, ETRAP, EOUTPUT, ELIMIT, EMODULE. `BackendError` EUNAVAILABLE: no child
        process, no engine, or the sandbox is closed.
        """
        if len(input) > INPUT_LIMIT:
            raise ToolError("ELIMIT", f"the input is larger than {INPUT_LIMIT} bytes")
        order = _order(program, input, grants, limits)
        work = _Work(program, order, limits.patience_ms / 1000, services or NoServices(), tenant)
        started, kind, payload, cold = self._run_order(work)
        if kind is FrameKind.FAILED:
            raise _failure(payload, order)
        output, logs = _answer(payload, order)
        if kind is FrameKind.GUEST:
            raise _with_logs(logs, _guest_error(output))
        return Outcome(_require_json(output), logs, (perf_counter() - started) * 1000, cold)

    def warm(self, progress: Callable[[str], None]) -> None:
        """Load the engine's native code before somebody waits for an answer; `progress` is called
        first when it has to be compiled.

        An engine that is missing is reported by the call that needs it: others may go on without.
        """
        with suppress(BackendError):
            self._code_cache.warm(lambda: progress("compiling the JavaScript engine, once"))

    def check(
        self, wasm: bytes, abi: Literal["sigil", "wasi"] = "sigil", *, tenant: Tenant = NOBODY
    ) -> None:
        """Check that an upload keeps to its ABI and compiles within the limits; `Refused` EMODULE
        says why not.
        """
        try:
            with self.compiling(tenant=tenant):
                scan(wasm, ABIS[abi])
                self._native_code.code(wasm, tenant)
        except UnfitModule as unfit:
            raise Refused("EMODULE", str(unfit)) from None

    def assemble(self, text: bytes, *, tenant: Tenant = NOBODY) -> bytes:
        """Return the module that a WAT text (UTF-8, at most 256 KiB) describes, not checked yet;
        `Refused` EMODULE when it is none.
        """
        if len(text) > TEXT_BYTES:
            raise Refused("EMODULE", f"the text has {len(text)} bytes: at most {TEXT_BYTES}")
        try:
            with self.compiling(tenant=tenant), self._compile_jobs.turn(tenant):
                return b"".join(self._compile_jobs.work("assemble", text).chunks())
        except UnfitModule as unfit:
            raise Refused("EMODULE", str(unfit)) from None

    @contextmanager
    def compiling(self, *, tenant: Tenant = NOBODY) -> Iterator[None]:
        """Hold the turn in which something foreign is made or checked: one upload of a namespace at
        a time. `BackendError` EBUSY after a minute's wait.
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

    def of(self, tenant: Tenant) -> TenantSandbox:
        """Return this sandbox as one tenant has it."""
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

    def means(self) -> Isolation:
        """Return what the children use, as far as one has been started."""
        return self._workers.means

    def told(self) -> str:
        """Tell which path runs and why, in one line."""
        return describe_isolation(self._way, self._workers.means)

    def close(self) -> None:
        """End all children. Calls in progress and later ones fail with EUNAVAILABLE."""
        self._finalizer()
        self._code_cache.clear()
        self._native_code.close()

    def _run_order(
        self, work: _Work, *, again: bool = True
    ) -> tuple[float, FrameKind, bytes, bool]:
        try:
            return self._run_on_one(work)
        except DeadlinePassed:
            raise _timed_out(work.order) from None
        except GrantViolation:
            raise ToolError(
                "EBREACH", "the sandbox process asked for what it was not granted, and was ended"
            ) from None
        except ProtocolBreach as breach:
            if isinstance(breach, PeerGone) and again:  # it died while it was idle: nothing has run
                return self._run_order(work, again=False)
            if not self._finalizer.alive:
                raise BackendError(
                    "EUNAVAILABLE", "the sandbox was closed", source="sandbox"
                ) from None
            raise ToolError("ETRAP", "the sandbox process ended unexpectedly") from None
        except UnfitModule as unfit:
            raise ToolError("EMODULE", str(unfit)) from None

    def _run_on_one(self, work: _Work) -> tuple[float, FrameKind, bytes, bool]:
        """Run an order on one runner.

        A program that turns out to be code, after a runner was chosen that takes none any more,
        goes to one that does. No runner waits for a compiler: code is compiled before the turn
        comes, and a call that finds that it is not gives its runner back for so long.
        """
        program = work.program
        code = program.kind != "js" or not self._wanted.images
        ready = False
        if not self._workers.has(program.digest):
            if not self._is_at_hand(program):
                self._fetch(work, program.digest)
            ready = True
        for takes_code in (code, True, True):
            lent = self._workers.runner(
                program.digest, work.patience, code=takes_code, tenant=work.tenant
            )
            with suppress(CodeRefused), lent as child:
                if ready or program.digest in child.programs or self._is_at_hand(program):
                    started = perf_counter()
                    return started, *child.run(
                        work.order, partial(self._fetch, work), partial(self._serve, child, work)
                    )
            self._fetch(work, program.digest)
        raise BackendError(
            "EUNAVAILABLE",
            "no runner takes this program's code",
            source="sandbox",
            suggestion="try again in a moment",
        )

    def _serve(
        self, child: RunnerProcess, work: _Work, operation: str, argument: bytes, seconds: float
    ) -> bytes:
        calls = operation == "call"  # what it calls works in its own slot
        with (
            self._workers.calling(child)
            if calls
            else self._workers.parked(child, work.tenant, seconds)
        ):
            return answer_request(work.services, operation, argument, seconds)

    def _is_at_hand(self, program: Program) -> bool:
        return self._code_cache.at_hand(program, images=self._wanted.images)

    def _fetch(self, work: _Work, name: str) -> LoadableCode:
        return self._code_cache.fetch(
            work.program, name, images=self._wanted.images, tenant=work.tenant
        )


@dataclass(frozen=True, slots=True)
class TenantSandbox:
    """A sandbox as one tenant has it: see the verbs of the same names there."""

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
class _Work:
    """One call: what runs, on what, how long it waits for a runner, what answers its requests, and
    for whom it counts.
    """

    program: Program
    order: RunOrder
    patience: float
    services: Services
    tenant: Tenant


def _order(program: Program, input: bytes, grants: Grants, limits: SandboxLimits) -> RunOrder:
    if not _DIGEST.fullmatch(program.digest):
        raise ValueError("not a digest")
    return RunOrder(
        digest=program.digest,
        linked=program.kind == "js",
        grants=_names(grants),
        timeout_ms=min(max(limits.timeout_ms, 1), TIMEOUT_LIMIT_MS),
        memory_bytes=min(max(limits.memory_bytes, 0), MEMORY_BYTES),
        output_bytes=min(max(limits.output_bytes, 0), OUTPUT_LIMIT),
        data=input,
    )


@lru_cache(maxsize=256)
def _names(grants: Grants) -> frozenset[str]:
    return frozenset(name for name in OWN if getattr(grants, name)) | (
        grants.services & SERVICES.keys()
    )


def _failure(payload: bytes, order: RunOrder) -> SigilError:
    try:
        words, logs = unpack_answer(payload)
    except ProtocolBreach:  # the words alone
        words, logs = payload, []
    code, _, message = words.decode("utf-8", "replace").partition(" ")
    if code == "EUNAVAILABLE":
        return BackendError(
            code, "there is no address space for a guest's memory", source="sandbox"
        )
    known = ToolError(code if code in _OUR_CODES else "ETRAP", one_line(message[:LOG_CHARACTERS]))
    return _with_logs(map(_line, logs), _timed_out(order) if code == "ETIMEDOUT" else known)


def _with_logs(logs: Iterable[str], problem: SigilError) -> SigilError:
    problem.logs = tuple(logs)
    return problem


def _timed_out(order: RunOrder) -> ToolError:
    return ToolError("ETIMEDOUT", f"timed out after {order.timeout_ms} ms")


def _answer(payload: bytes, order: RunOrder) -> tuple[bytes, tuple[str, ...]]:
    try:
        output, logs = unpack_answer(payload)
    except ProtocolBreach:
        raise ToolError("ETRAP", "the sandbox process answered nonsense") from None
    if len(output) > order.output_bytes:
        raise ToolError("ELIMIT", f"the output is larger than {order.output_bytes} bytes")
    return output, tuple(map(_line, logs))


def _line(text: str) -> str:
    return one_line(text[: 2 * LOG_CHARACTERS], LOG_CHARACTERS)


def _guest_error(output: bytes) -> ToolError:
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


def _require_json(output: bytes) -> bytes:
    try:
        strict_json.loads(output)
    except UsageError:
        raise ToolError("EOUTPUT", "the output is not one JSON value in UTF-8") from None
    return output


class NoServices:
    """The services of a run that has none, whatever its grants say."""

    def answer(self, operation: str, argument: Json, seconds: float) -> Json:
        raise ToolError("EPERM", f"{operation} is not served here")


def answer_request(services: Services, operation: str, argument: bytes, seconds: float) -> bytes:
    """Return what the guest reads: `{"ok": value}` or `{"error": {"code", "message"}}`."""
    try:
        return _answer_in_time(services, operation, argument, seconds)
    except SigilError as problem:
        return strict_json.dumps(
            {"error": {"code": problem.code, "message": one_line(problem.message)}}
        )


def _answer_in_time(services: Services, operation: str, argument: bytes, seconds: float) -> bytes:
    if seconds <= 0:
        raise ToolError("ETIMEDOUT", f"no time is left for {operation}")
    answer = strict_json.dumps(
        {"ok": services.answer(operation, strict_json.loads(argument), seconds)}
    )
    if len(answer) > ASK_LIMIT + len(b'{"ok":}'):
        raise ToolError("ELIMIT", f"the answer of {operation} is larger than {ASK_LIMIT} bytes")
    return answer
