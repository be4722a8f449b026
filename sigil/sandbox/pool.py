"""The sandbox: runs foreign modules in child processes and answers in our own words."""

from __future__ import annotations

import re
import weakref
from collections.abc import Mapping
from functools import partial
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from types import MappingProxyType
from typing import NoReturn

from sigil import strict
from sigil.errors import BackendError, Refused, ToolError, UsageError, one_line
from sigil.sandbox.aot import Codes
from sigil.sandbox.child import Supply
from sigil.sandbox.crew import Crew
from sigil.sandbox.features import MEMORY_BYTES
from sigil.sandbox.frames import ENGINE, GRANTS, INPUT_LIMIT, LOG_CHARACTERS, OUTPUT_LIMIT, Breach, Kind, Late, Run, Unheard, unpack_answer
from sigil.sandbox.press import Press
from sigil.sandbox.program import DEFAULT_LIMITS, NO_GRANTS, Grants, Limits, Outcome, Program
from sigil.sandbox.scan import Unfit, measure, scan
from sigil.sandbox.sealed import Code

TEXT_BYTES = 256 << 10
TIMEOUT_LIMIT_MS = 60_000
INLINE_BYTES = 4 << 10
"""Modules with no more than this for a compiler to do are compiled by the runner itself, in a millisecond."""

_NATIVE = 4
"""Native code is about so many times as large as the module."""
_IMAGE_BYTES = 16 << 20
"""A runner keeps an image of a module's first memory, at most so large."""

_GUEST_CODE = re.compile(r"E[A-Z0-9]{2,15}", re.ASCII)
_NOT_THE_GUESTS = frozenset(
    ("ENOTRESIDENT", "ENOTOOL", "EDAMAGED", "EINTERRUPTED", "ESTOPPED", "EUNAVAILABLE", "EBUSY", "ETESTS", "ETIMEDOUT")
)
"""Codes by which the runtime decides; a guest that claims one gets EGUEST."""
_OUR_CODES = frozenset(("ETIMEDOUT", "ENOMEM", "ESTACK", "ETRAP", "ELIMIT", "EMODULE"))
_DIGEST = re.compile(r"[A-Za-z0-9:._-]{1,128}", re.ASCII)


class Sandbox:
    """Runs programs, each call in a fresh instance, each instance in one of at most `children` child processes.

    Nothing is started before the first call. `engine`: the JavaScript engine's module. `cache`: a folder for compiled code; None,
    or a folder that cannot be written, costs a compilation (about a second) at the first use. Thread-safe.
    """

    def __init__(self, *, engine: Path, cache: Path | None, children: int = 2) -> None:
        self._engine = engine
        self._engine_code: Code | None = None
        self._press = Press()
        self._codes = Codes(cache, self._press)
        self._crew = Crew(children)
        self._finalizer = weakref.finalize(self, self._crew.close)

    def run(self, program: Program, input: bytes, grants: Grants = NO_GRANTS, limits: Limits = DEFAULT_LIMITS) -> Outcome:
        """The answer of `program` to `input`, one JSON value in UTF-8 (at most 1 MiB).

        `ToolError`: what the guest says (its own code, or EGUEST), or what stopped it: ETIMEDOUT, ENOMEM, ESTACK, ETRAP, EOUTPUT,
        ELIMIT, EMODULE. `BackendError` EUNAVAILABLE: no child process, no engine, or the sandbox is closed.
        """
        if len(input) > INPUT_LIMIT:
            raise ToolError("ELIMIT", f"the input is larger than {INPUT_LIMIT} bytes")
        order = _order(program, input, grants, limits)
        started, kind, payload, cold = self._obeyed(program, order)
        if kind is Kind.FAILED:
            _failed(payload, order)
        output, logs = _answer(payload, order)
        if kind is Kind.GUEST:
            _guest_failed(output)
        return Outcome(_strict(output), logs, (perf_counter() - started) * 1000, cold)

    def check(self, wasm: bytes) -> None:
        """Whether an upload keeps to the ABI `sigil/1` and compiles within the limits; `Refused` EMODULE says why not."""
        try:
            scan(wasm)
            self._codes.code(wasm)
        except Unfit as unfit:
            raise Refused("EMODULE", str(unfit)) from None

    def assemble(self, text: bytes) -> bytes:
        """The module that a WAT text (UTF-8, at most 256 KiB) describes, not checked yet; `Refused` EMODULE when it is none."""
        if len(text) > TEXT_BYTES:
            raise Refused("EMODULE", f"the text has {len(text)} bytes: at most {TEXT_BYTES}")
        try:
            return b"".join(self._press.work("assemble", text).chunks())
        except Unfit as unfit:
            raise Refused("EMODULE", str(unfit)) from None

    def stats(self) -> Mapping[str, int]:
        """`children` alive, `busy`, `waiting` callers, `started` and `killed` so far, `calls`."""
        return MappingProxyType(self._crew.counts())

    def pids(self) -> frozenset[int]:
        """The process ids of the children that live."""
        return self._crew.pids()

    def close(self) -> None:
        """End all children. Calls in progress and later ones fail with EUNAVAILABLE."""
        self._finalizer()
        self._engine_code = None
        self._codes.close()

    def _obeyed(self, program: Program, order: Run, *, again: bool = True) -> tuple[float, Kind, bytes, bool]:
        try:
            with self._crew.runner() as child:
                started = perf_counter()
                return started, *child.obey(order, partial(self._fetch, program))
        except Late:
            raise _timed_out(order) from None
        except Breach as breach:
            if isinstance(breach, Unheard) and again:  # it died while it was idle: nothing has run
                return self._obeyed(program, order, again=False)
            if not self._finalizer.alive:
                raise BackendError("EUNAVAILABLE", "the sandbox was closed", source="sandbox") from None
            raise ToolError("ETRAP", "the sandbox process ended unexpectedly") from None
        except Unfit as unfit:
            raise ToolError("EMODULE", str(unfit)) from None

    def _fetch(self, program: Program, name: str) -> Supply:
        if name == ENGINE:
            return Supply(self._the_engine(), 0)
        wasm = program.load()
        shape = scan(wasm) if program.kind == "sigil" else measure(wasm)
        weight = _NATIVE * len(wasm) + min(shape.memory, _IMAGE_BYTES)
        held = self._codes.held(sha256(wasm).hexdigest())
        return Supply(held or (wasm if shape.bulk <= INLINE_BYTES else self._codes.code(wasm)), weight)

    def _the_engine(self) -> Code:
        if self._engine_code is None:
            try:
                self._engine_code = self._codes.code(self._engine.read_bytes())
            except (OSError, Unfit) as problem:
                reason = f"no JavaScript engine: {one_line(str(problem))}"
                raise BackendError("EUNAVAILABLE", reason, source="sandbox", suggestion="run scripts/build-engine") from None
        return self._engine_code


def _order(program: Program, input: bytes, grants: Grants, limits: Limits) -> Run:
    if not _DIGEST.fullmatch(program.digest):
        raise ValueError("not a digest")
    return Run(
        digest=program.digest,
        linked=program.kind == "js",
        grants=frozenset(name for name in GRANTS if getattr(grants, name)),
        pending=frozenset(grants.pending),
        timeout_ms=min(max(limits.timeout_ms, 1), TIMEOUT_LIMIT_MS),
        memory_bytes=min(max(limits.memory_bytes, 0), MEMORY_BYTES),
        output_bytes=min(max(limits.output_bytes, 0), OUTPUT_LIMIT),
        data=input,
    )


def _failed(payload: bytes, order: Run) -> NoReturn:
    code, _, message = payload.decode("utf-8", "replace").partition(" ")
    if code == "ETIMEDOUT":
        raise _timed_out(order)
    if code == "EUNAVAILABLE":
        raise BackendError(code, one_line(message), source="sandbox")
    raise ToolError(code if code in _OUR_CODES else "ETRAP", one_line(message))


def _timed_out(order: Run) -> ToolError:
    return ToolError("ETIMEDOUT", f"timed out after {order.timeout_ms} ms")


def _answer(payload: bytes, order: Run) -> tuple[bytes, tuple[str, ...]]:
    try:
        output, logs = unpack_answer(payload)
    except Breach:
        raise ToolError("ETRAP", "the sandbox process answered nonsense") from None
    if len(output) > order.output_bytes:
        raise ToolError("ELIMIT", f"the output is larger than {order.output_bytes} bytes")
    return output, tuple(one_line(line, LOG_CHARACTERS) for line in logs)


def _guest_failed(output: bytes) -> NoReturn:
    try:
        failure = strict.loads(output)
    except UsageError:
        failure = None
    said = failure if isinstance(failure, dict) else {}
    code, message = said.get("code"), said.get("message")
    known = code if isinstance(code, str) and _GUEST_CODE.fullmatch(code) and code not in _NOT_THE_GUESTS else "EGUEST"
    raise ToolError(known, one_line(message) if isinstance(message, str) else "failed without a message")


def _strict(output: bytes) -> bytes:
    try:
        strict.loads(output)
    except UsageError:
        raise ToolError("EOUTPUT", "the output is not one JSON value in UTF-8") from None
    return output
