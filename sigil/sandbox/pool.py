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
from sigil.sandbox.abi import ABIS
from sigil.sandbox.aot import Codes
from sigil.sandbox.code_cache import Supplies
from sigil.sandbox.compile_job import Press
from sigil.sandbox.host_call_bridge import Closed, answered
from sigil.sandbox.isolation import Means, told, wanted
from sigil.sandbox.module_scan import Unfit, scan
from sigil.sandbox.program import (
    DEFAULT_LIMITS,
    NO_GRANTS,
    Grants,
    Limits,
    Outcome,
    Program,
    Services,
)
from sigil.sandbox.protocol import (
    INPUT_LIMIT,
    LOG_CHARACTERS,
    OUTPUT_LIMIT,
    OWN,
    SERVICES,
    Breach,
    Escape,
    Kind,
    Late,
    Run,
    Unheard,
    unpack_answer,
)
from sigil.sandbox.runner_process import Child, Sealed, Supply
from sigil.sandbox.runtime_features import MEMORY_BYTES
from sigil.sandbox.tenants import NOBODY, FairQueue, Tenant
from sigil.sandbox.worker_pool import Crew

TEXT_BYTES = 256 << 10
TIMEOUT_LIMIT_MS = 60_000
UPLOAD_PATIENCE = 60.0
UPLOADS = 2
"""So many foreign modules are made or checked at once, and one of each namespace."""
_GUEST_CODE = re.compile(r"E[A-Z0-9]{2,15}", re.ASCII)
_NOT_THE_GUESTS = frozenset(
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
        self._wanted = wanted(way)
        self._press = Press()
        self._uploads = FairQueue(
            UPLOADS, most=1
        )  # fewer than there are compilers: a run that needs one finds it
        self._codes = Codes(cache, self._press)
        self._supplies = Supplies(engine, self._codes)
        self._crew = Crew(children, self._wanted, strict=way == "fast", clock=clock)
        self._finalizer = weakref.finalize(self, self._crew.close)

    def run(
        self,
        program: Program,
        input: bytes,
        grants: Grants = NO_GRANTS,
        limits: Limits = DEFAULT_LIMITS,
        services: Services | None = None,
        *,
        tenant: Tenant = NOBODY,
    ) -> Outcome:
        """The answer of `program` to `input`, one JSON value in UTF-8 (at most 1 MiB). `services`
        answers what `grants` allow of them.

        It counts for `tenant`, and so does what it calls.

        `ToolError`: what the guest says (its own code, or EGUEST), or what stopped it: ETIMEDOUT,
        ENOMEM, ESTACK, ETRAP, EOUTPUT, ELIMIT, EMODULE. `BackendError` EUNAVAILABLE: no child
        process, no engine, or the sandbox is closed.
        """
        if len(input) > INPUT_LIMIT:
            raise ToolError("ELIMIT", f"the input is larger than {INPUT_LIMIT} bytes")
        order = _order(program, input, grants, limits)
        work = _Work(program, order, limits.patience_ms / 1000, services or Closed(), tenant)
        started, kind, payload, cold = self._obeyed(work)
        if kind is Kind.FAILED:
            raise _failure(payload, order)
        output, logs = _answer(payload, order)
        if kind is Kind.GUEST:
            raise _with(logs, _guests(output))
        return Outcome(_strict(output), logs, (perf_counter() - started) * 1000, cold)

    def warm(self, progress: Callable[[str], None]) -> None:
        """Have the engine's native code at hand before somebody waits for an answer; that it has to
        be compiled is told first.

        That it cannot be had is told by the call that needs it: others may go on without.
        """
        with suppress(BackendError):
            self._supplies.warm(lambda: progress("compiling the JavaScript engine, once"))

    def check(
        self, wasm: bytes, abi: Literal["sigil", "wasi"] = "sigil", *, tenant: Tenant = NOBODY
    ) -> None:
        """Whether an upload keeps to its ABI and compiles within the limits; `Refused` EMODULE says
        why not.
        """
        try:
            with self.compiling(tenant=tenant):
                scan(wasm, ABIS[abi])
                self._codes.code(wasm, tenant)
        except Unfit as unfit:
            raise Refused("EMODULE", str(unfit)) from None

    def assemble(self, text: bytes, *, tenant: Tenant = NOBODY) -> bytes:
        """The module that a WAT text (UTF-8, at most 256 KiB) describes, not checked yet; `Refused`
        EMODULE when it is none.
        """
        if len(text) > TEXT_BYTES:
            raise Refused("EMODULE", f"the text has {len(text)} bytes: at most {TEXT_BYTES}")
        try:
            with self.compiling(tenant=tenant), self._press.turn(tenant):
                return b"".join(self._press.work("assemble", text).chunks())
        except Unfit as unfit:
            raise Refused("EMODULE", str(unfit)) from None

    @contextmanager
    def compiling(self, *, tenant: Tenant = NOBODY) -> Iterator[None]:
        """While something foreign is made or checked: one upload of a namespace at a time.
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

    def of(self, tenant: Tenant) -> Share:
        """This sandbox as one tenant has it."""
        return Share(self, tenant)

    def stats(self) -> Mapping[str, int]:
        """`children` alive, `busy`, `waiting` callers, `started`, `killed` and `renewed` so far,
        `calls`.

        Of what the children keep: `slots` in use, their `bytes`, `cold` starts and `evictions` so
        far.
        """
        return MappingProxyType(self._crew.counts())

    def pids(self) -> frozenset[int]:
        """The process ids of the children that live."""
        return self._crew.pids()

    def means(self) -> Means:
        """What the children use, as far as one has been started."""
        return self._crew.means

    def told(self) -> str:
        """Which path runs and why, in one line."""
        return told(self._way, self._crew.means)

    def close(self) -> None:
        """End all children. Calls in progress and later ones fail with EUNAVAILABLE."""
        self._finalizer()
        self._supplies.clear()
        self._codes.close()

    def _obeyed(self, work: _Work, *, again: bool = True) -> tuple[float, Kind, bytes, bool]:
        try:
            return self._obeyed_by_one(work)
        except Late:
            raise _timed_out(work.order) from None
        except Escape:
            raise ToolError(
                "EBREACH", "the sandbox process asked for what it was not granted, and was ended"
            ) from None
        except Breach as breach:
            if isinstance(breach, Unheard) and again:  # it died while it was idle: nothing has run
                return self._obeyed(work, again=False)
            if not self._finalizer.alive:
                raise BackendError(
                    "EUNAVAILABLE", "the sandbox was closed", source="sandbox"
                ) from None
            raise ToolError("ETRAP", "the sandbox process ended unexpectedly") from None
        except Unfit as unfit:
            raise ToolError("EMODULE", str(unfit)) from None

    def _obeyed_by_one(self, work: _Work) -> tuple[float, Kind, bytes, bool]:
        """What turns out to be code, after a runner was chosen that takes none any more, goes to
        one that does.

        No runner waits for a compiler: what needs one is compiled before its turn comes, and who
        finds that one is needed all the same gives his runner back for so long.
        """
        program = work.program
        code = program.kind != "js" or not self._wanted.images
        ready = False
        if not self._crew.has(program.digest):
            if not self._is_at_hand(program):
                self._fetch(work, program.digest)
            ready = True
        for takes_code in (code, True, True):
            lent = self._crew.runner(
                program.digest, work.patience, code=takes_code, tenant=work.tenant
            )
            with suppress(Sealed), lent as child:
                if ready or program.digest in child.shelf or self._is_at_hand(program):
                    started = perf_counter()
                    return started, *child.obey(
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
        self, child: Child, work: _Work, operation: str, argument: bytes, seconds: float
    ) -> bytes:
        calls = operation == "call"  # what it calls works in its own slot
        with self._crew.calling(child) if calls else self._crew.parked(child, work.tenant, seconds):
            return answered(work.services, operation, argument, seconds)

    def _is_at_hand(self, program: Program) -> bool:
        return self._supplies.at_hand(program, images=self._wanted.images)

    def _fetch(self, work: _Work, name: str) -> Supply:
        return self._supplies.fetch(
            work.program, name, images=self._wanted.images, tenant=work.tenant
        )


@dataclass(frozen=True, slots=True)
class Share:
    """A sandbox as one tenant has it: see the verbs of the same names there."""

    sandbox: Sandbox
    tenant: Tenant

    def run(
        self,
        program: Program,
        input: bytes,
        grants: Grants = NO_GRANTS,
        limits: Limits = DEFAULT_LIMITS,
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
    order: Run
    patience: float
    services: Services
    tenant: Tenant


def _order(program: Program, input: bytes, grants: Grants, limits: Limits) -> Run:
    if not _DIGEST.fullmatch(program.digest):
        raise ValueError("not a digest")
    return Run(
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


def _failure(payload: bytes, order: Run) -> SigilError:
    try:
        words, logs = unpack_answer(payload)
    except Breach:  # the words alone
        words, logs = payload, []
    code, _, message = words.decode("utf-8", "replace").partition(" ")
    if code == "EUNAVAILABLE":
        return BackendError(
            code, "there is no address space for a guest's memory", source="sandbox"
        )
    known = ToolError(code if code in _OUR_CODES else "ETRAP", one_line(message[:LOG_CHARACTERS]))
    return _with(map(_line, logs), _timed_out(order) if code == "ETIMEDOUT" else known)


def _with(logs: Iterable[str], problem: SigilError) -> SigilError:
    problem.logs = tuple(logs)
    return problem


def _timed_out(order: Run) -> ToolError:
    return ToolError("ETIMEDOUT", f"timed out after {order.timeout_ms} ms")


def _answer(payload: bytes, order: Run) -> tuple[bytes, tuple[str, ...]]:
    try:
        output, logs = unpack_answer(payload)
    except Breach:
        raise ToolError("ETRAP", "the sandbox process answered nonsense") from None
    if len(output) > order.output_bytes:
        raise ToolError("ELIMIT", f"the output is larger than {order.output_bytes} bytes")
    return output, tuple(map(_line, logs))


def _line(said: str) -> str:
    return one_line(said[: 2 * LOG_CHARACTERS], LOG_CHARACTERS)


def _guests(output: bytes) -> ToolError:
    try:
        failure = strict_json.loads(output)
    except UsageError:
        failure = None
    said = failure if isinstance(failure, dict) else {}
    code, message = said.get("code"), said.get("message")
    known = (
        code
        if isinstance(code, str) and _GUEST_CODE.fullmatch(code) and code not in _NOT_THE_GUESTS
        else "EGUEST"
    )
    return ToolError(
        known, one_line(message) if isinstance(message, str) else "failed without a message"
    )


def _strict(output: bytes) -> bytes:
    try:
        strict_json.loads(output)
    except UsageError:
        raise ToolError("EOUTPUT", "the output is not one JSON value in UTF-8") from None
    return output
