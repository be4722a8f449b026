"""How fast the sandbox answers, beside the same call without a child process, and what a child costs."""

from __future__ import annotations

import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

import wasmtime

import sigil
from scripts.benchmarks.rows import Row
from sigil.compile.javascript import plugin
from sigil.errors import ToolError
from sigil.sandbox import spawn
from sigil.sandbox.driver import Driver
from sigil.sandbox.pool import Sandbox
from sigil.sandbox.program import Kind, Limits, Program

CALLS: Final = 2_000
PROGRAMS: Final = 60
STARTS: Final = 7
INPUT: Final = b'{"text":"hello world","format":"base64"}'
LIMITS: Final = (64 << 20, 256 << 10)
ENGINE: Final = Path(sigil.__file__).parent / "engine" / "engine.wasm"
JS: Final = plugin("return input")
ECHO: Final = bytes(
    wasmtime.wat2wasm("""(module (memory (export "memory") 2) (global $n (mut i32) (i32.const 0))
        (func (export "sigil_alloc") (param i32) (result i32) (i32.const 1024))
        (func (export "sigil_run") (param i32 i32) (result i32) (global.set $n (local.get 1)) (i32.const 0))
        (func (export "sigil_out_ptr") (result i32) (i32.const 1024)) (func (export "sigil_out_len") (result i32) (global.get $n)))""")
)


def run(data: Path | None) -> Iterator[Row]:
    """Milliseconds of wall time as the caller sees them; a floor is the same fresh instance driven in this process."""
    bare_echo, bare_js = _bare()
    with tempfile.TemporaryDirectory() as folder, closing(Sandbox(engine=ENGINE, cache=Path(folder), children=1)) as sandbox:
        yield Row("first JavaScript answer ever (compiles the engine)", _timed(lambda: sandbox.run(_program(JS, "js"), INPUT)), "ms")
        echo, js = _calls(sandbox, ECHO, "sigil"), _calls(sandbox, JS, "js")
        yield Row("wasm echo through a child, p50", statistics.median(echo), "ms", floor=bare_echo)
        yield Row("JavaScript echo through a child, p50", statistics.median(js), "ms", 0.6, floor=bare_js)
        yield Row("JavaScript echo through a child, p95", statistics.quantiles(js, n=20)[-1], "ms", floor=bare_js)
        fresh = [_timed(lambda n=n: sandbox.run(_program(plugin(f"return [{n}, input]"), "js"), INPUT)) for n in range(PROGRAMS)]  # type: ignore[misc]
        yield Row("first answer of a new capability, p50", statistics.median(fresh), "ms", 3.0, floor=statistics.median(js))
        yield from _child(sandbox)
    yield from _starts()


def _bare() -> tuple[float, float]:
    """p50 of a call of the echo and of the JavaScript echo, without a child."""
    driver = Driver(spawn.library())
    echo, js, engine = (driver.prepare(driver.compile(module)) for module in (ECHO, JS, ENGINE.read_bytes()))
    times = []
    for program, base in ((echo, None), (js, engine)):
        times.append(statistics.median(_timed(lambda p=program, b=base: driver.call(p, b, INPUT, LIMITS, bytes)) for _ in range(CALLS)))  # type: ignore[misc]
    return times[0], times[1]


def _calls(sandbox: Sandbox, module: bytes, kind: Kind) -> list[float]:
    program = _program(module, kind)
    sandbox.run(program, INPUT)
    return [_timed(lambda: sandbox.run(program, INPUT)) for _ in range(CALLS)]


def _child(sandbox: Sandbox) -> Iterator[Row]:
    (pid,) = sandbox.pids()
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", "input()"], stdin=subprocess.PIPE) as bare:
        time.sleep(0.2)
        floor = _resident(bare.pid)
        assert bare.stdin is not None
        bare.stdin.write(b"\n")
    yield Row("resident memory of a child (floor: bare Python)", _resident(pid), "MiB", floor=floor)


def _starts() -> Iterator[Row]:
    program, first, replaced = _program(ECHO, "sigil"), [], []
    for _ in range(STARTS):
        with closing(Sandbox(engine=ENGINE, cache=None, children=1)) as sandbox:
            first.append(_timed(lambda: sandbox.run(program, INPUT)))
            (pid,) = sandbox.pids()
            os.kill(pid, signal.SIGSTOP)
            replaced.append(_timed(lambda: _hung(sandbox, program)))
    floor = statistics.median(_timed(lambda: subprocess.run([sys.executable, "-I", "-S", "-c", ""], check=True)) for _ in range(STARTS))
    yield Row("start of a child to its first answer", statistics.median(first), "ms", floor=floor)
    yield Row("a child hangs: killed at 1 + 100 ms, replaced, answer", statistics.median(replaced), "ms", floor=floor)


def _hung(sandbox: Sandbox, program: Program) -> None:
    with suppress(ToolError):
        sandbox.run(program, INPUT, limits=Limits(timeout_ms=1))
    sandbox.run(program, INPUT)


def _program(module: bytes, kind: Kind) -> Program:
    return Program(sha256(module).hexdigest(), kind, lambda: module)


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1e3


def _resident(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]
