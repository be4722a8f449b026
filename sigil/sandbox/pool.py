"""The sandbox: runs foreign modules in child processes and answers in our own words."""

from __future__ import annotations

import re
import threading
import weakref
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from time import perf_counter
from types import MappingProxyType
from typing import Literal

from sigil import strict
from sigil.errors import BackendError, Refused, SigilError, ToolError, UsageError, one_line
from sigil.sandbox.abi import ABIS
from sigil.sandbox.aot import Codes
from sigil.sandbox.child import Child, Sealed, Supply
from sigil.sandbox.crew import Crew
from sigil.sandbox.desk import Closed, answered
from sigil.sandbox.features import MEMORY_BYTES
from sigil.sandbox.frames import (
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
from sigil.sandbox.means import Means, told, wanted
from sigil.sandbox.press import Press
from sigil.sandbox.program import DEFAULT_LIMITS, NO_GRANTS, Grants, Limits, Outcome, Program, Services
from sigil.sandbox.scan import Unfit, scan
from sigil.sandbox.supplies import Supplies

TEXT_BYTES = 256 << 10
TIMEOUT_LIMIT_MS = 60_000
UPLOAD_PATIENCE = 60.0
_GUEST_CODE = re.compile(r"E[A-Z0-9]{2,15}", re.ASCII)
_NOT_THE_GUESTS = frozenset(
    (
        *("ENOTRESIDENT", "ENOTOOL", "EDAMAGED", "EINTERRUPTED", "ESTOPPED", "EUNAVAILABLE", "EBUSY", "ETESTS", "ETIMEDOUT"),
        *("EHOSTMEM", "EBREACH"),
    )
)
"""Codes by which the runtime decides; a guest that claims one gets EGUEST."""
_OUR_CODES = frozenset(("ETIMEDOUT", "ENOMEM", "ESTACK", "ETRAP", "ELIMIT", "EMODULE"))
_DIGEST = re.compile(r"[A-Za-z0-9:._-]{1,128}", re.ASCII)


class Sandbox:
    """Runs programs, each call in a fresh instance, each instance in one of at most `children` child processes.

    Nothing is started before the first call. `engine`: the JavaScript engine's module. `cache`: a folder for compiled code; None,
    or a folder that cannot be written, costs a compilation (about a second) at the first use. `way`: `plain` does without pooled
    memory, a filter of system calls and memory images; `auto` uses what the machine has of them, `fast` fails without. Thread-safe.
    """

    def __init__(self, *, engine: Path, cache: Path | None, children: int = 2, way: str = "auto") -> None:
        self._way = way
        self._wanted = wanted(way)
        self._press = Press()
        self._uploads = threading.Lock()  # one at a time, so that a run that needs a compiler finds one
        self._codes = Codes(cache, self._press)
        self._supplies = Supplies(engine, self._codes)
        self._crew = Crew(children, self._wanted, strict=way == "fast")
        self._finalizer = weakref.finalize(self, self._crew.close)

    def run(
        self,
        program: Program,
        input: bytes,
        grants: Grants = NO_GRANTS,
        limits: Limits = DEFAULT_LIMITS,
        services: Services | None = None,
    ) -> Outcome:
        """The answer of `program` to `input`, one JSON value in UTF-8 (at most 1 MiB). `services` answers what `grants` allow of them.

        `ToolError`: what the guest says (its own code, or EGUEST), or what stopped it: ETIMEDOUT, ENOMEM, ESTACK, ETRAP, EOUTPUT,
        ELIMIT, EMODULE. `BackendError` EUNAVAILABLE: no child process, no engine, or the sandbox is closed.
        """
        if len(input) > INPUT_LIMIT:
            raise ToolError("ELIMIT", f"the input is larger than {INPUT_LIMIT} bytes")
        order = _order(program, input, grants, limits)
        started, kind, payload, cold = self._obeyed(program, order, limits.patience_ms / 1000, services or Closed())
        if kind is Kind.FAILED:
            raise _failure(payload, order)
        output, logs = _answer(payload, order)
        if kind is Kind.GUEST:
            raise _with(logs, _guests(output))
        return Outcome(_strict(output), logs, (perf_counter() - started) * 1000, cold)

    def check(self, wasm: bytes, abi: Literal["sigil", "wasi"] = "sigil") -> None:
        """Whether an upload keeps to its ABI and compiles within the limits; `Refused` EMODULE says why not."""
        try:
            scan(wasm, ABIS[abi])
            self._compiled(wasm)
        except Unfit as unfit:
            raise Refused("EMODULE", str(unfit)) from None

    def _compiled(self, wasm: bytes) -> None:
        if not self._uploads.acquire(timeout=UPLOAD_PATIENCE):
            raise BackendError("EBUSY", "too many modules are being checked", source="sandbox", suggestion="try again in a minute")
        try:
            self._codes.code(wasm)
        finally:
            self._uploads.release()

    def assemble(self, text: bytes) -> bytes:
        """The module that a WAT text (UTF-8, at most 256 KiB) describes, not checked yet; `Refused` EMODULE when it is none."""
        if len(text) > TEXT_BYTES:
            raise Refused("EMODULE", f"the text has {len(text)} bytes: at most {TEXT_BYTES}")
        try:
            return b"".join(self._press.work("assemble", text).chunks())
        except Unfit as unfit:
            raise Refused("EMODULE", str(unfit)) from None

    def stats(self) -> Mapping[str, int]:
        """`children` alive, `busy`, `waiting` callers, `started`, `killed` and `renewed` so far, `calls`.

        Of what the children keep: `slots` in use, their `bytes`, `cold` starts and `evictions` so far.
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

    def _obeyed(
        self, program: Program, order: Run, patience: float, services: Services, *, again: bool = True
    ) -> tuple[float, Kind, bytes, bool]:
        try:
            return self._obeyed_by_one(program, order, patience, services)
        except Late:
            raise _timed_out(order) from None
        except Escape:
            raise ToolError("EBREACH", "the sandbox process asked for what it was not granted, and was ended") from None
        except Breach as breach:
            if isinstance(breach, Unheard) and again:  # it died while it was idle: nothing has run
                return self._obeyed(program, order, patience, services, again=False)
            if not self._finalizer.alive:
                raise BackendError("EUNAVAILABLE", "the sandbox was closed", source="sandbox") from None
            raise ToolError("ETRAP", "the sandbox process ended unexpectedly") from None
        except Unfit as unfit:
            raise ToolError("EMODULE", str(unfit)) from None

    def _obeyed_by_one(self, program: Program, order: Run, patience: float, services: Services) -> tuple[float, Kind, bytes, bool]:
        """What turns out to be code, after a runner was chosen that takes none any more, goes to one that does.

        No runner waits for a compiler: who finds that one is needed gives his runner back for so long.
        """
        code = program.kind != "js" or not self._wanted.images
        for takes_code in (code, True, True):
            with suppress(Sealed), self._crew.runner(program.digest, patience, code=takes_code) as child:
                if program.digest in child.shelf or self._supplies.at_hand(program, images=self._wanted.images):
                    started = perf_counter()
                    return started, *child.obey(order, partial(self._fetch, program), partial(self._serve, child, services))
            self._fetch(program, program.digest)
        raise BackendError("EUNAVAILABLE", "no runner takes this program's code", source="sandbox", suggestion="try again in a moment")

    def _serve(self, child: Child, services: Services, operation: str, argument: bytes, seconds: float) -> bytes:
        with self._crew.parked(child):
            return answered(services, operation, argument, seconds)

    def _fetch(self, program: Program, name: str) -> Supply:
        return self._supplies.fetch(program, name, images=self._wanted.images)


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
    return frozenset(name for name in OWN if getattr(grants, name)) | (grants.services & SERVICES.keys())


def _failure(payload: bytes, order: Run) -> SigilError:
    try:
        words, logs = unpack_answer(payload)
    except Breach:  # the words alone
        words, logs = payload, []
    code, _, message = words.decode("utf-8", "replace").partition(" ")
    if code == "EUNAVAILABLE":
        return BackendError(code, "there is no address space for a guest's memory", source="sandbox")
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
        failure = strict.loads(output)
    except UsageError:
        failure = None
    said = failure if isinstance(failure, dict) else {}
    code, message = said.get("code"), said.get("message")
    known = code if isinstance(code, str) and _GUEST_CODE.fullmatch(code) and code not in _NOT_THE_GUESTS else "EGUEST"
    return ToolError(known, one_line(message) if isinstance(message, str) else "failed without a message")


def _strict(output: bytes) -> bytes:
    try:
        strict.loads(output)
    except UsageError:
        raise ToolError("EOUTPUT", "the output is not one JSON value in UTF-8") from None
    return output
