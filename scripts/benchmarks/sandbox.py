"""Measures how fast the sandbox answers, beside the same call without a child process, and what a
child costs.
"""

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
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Final

import wasmtime

import sigil
from scripts.benchmarks.rows import Row
from sigil.errors import ToolError
from sigil.sandbox import spawn
from sigil.sandbox.javascript_module import make_module, read_source
from sigil.sandbox.pool import Sandbox
from sigil.sandbox.program import Kind, Program, SandboxLimits
from sigil.sandbox.runtime.driver import Driver
from sigil.sandbox.runtime.memory_images import MemoryImages

CALLS: Final = 2_000
PROGRAMS: Final = 60
STARTS: Final = 7
INPUT: Final = b'{"text":"hello world","format":"base64"}'
LIMITS: Final = (64 << 20, 256 << 10)
ENGINE: Final = Path(sigil.__file__).parent / "sandbox" / "engine" / "engine.wasm"
JS: Final = make_module("return input")
LARGE: Final = make_module(
    "".join(
        f"""// Computes the number {n} of the table from its two arguments, and remembers it there for the next time.
function computeTheNumber{n}(first, second) {{
  const product = first * {n} + second;
  const remembered = table['number {n}'];
  if (remembered !== undefined && product > 7) {{
    return remembered + product;
  }}
  let sum = 0;
  for (let step = 0; step < product; step++) {{
    sum += step * second;
    if (sum > 1000) break;
  }}
  table['number {n}'] = sum;
  return sum;
}}
"""
        for n in range(105)
    )
    + "const table = {};\nreturn input"
)
ECHO: Final = bytes(
    wasmtime.wat2wasm(
        """(module (memory (export "memory") 2) (global $n (mut i32) (i32.const 0))
        (func (export "sigil_alloc") (param i32) (result i32) (i32.const 1024))
        (func (export "sigil_run") (param i32 i32) (result i32) (global.set $n (local.get 1)) (i32.const 0))
        (func (export "sigil_out_ptr") (result i32) (i32.const 1024)) (func (export "sigil_out_len") (result i32) (global.get $n)))"""
    )
)


def run(data: Path | None) -> Iterator[Row]:
    """Milliseconds of wall time as the caller sees them; a floor is the same fresh instance driven
    in this process.
    """
    bare_echo, bare_js, bare_large = _bare()
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(Sandbox(engine=ENGINE, cache=Path(folder), children=1)) as sandbox,
    ):
        yield Row(
            "first JavaScript answer ever (compiles the engine)",
            timed(lambda: sandbox.run(program(JS, "js"), INPUT)),
            "ms",
        )
        echo, js, large = (
            _calls(sandbox, ECHO, "sigil"),
            _calls(sandbox, JS, "js"),
            _calls(sandbox, LARGE, "js"),
        )
        yield Row(
            "a module's echo through a locked child, p50",
            statistics.median(echo),
            "ms",
            0.08,
            floor=bare_echo,
        )
        yield Row(
            "JavaScript echo through a locked child, p50",
            statistics.median(js),
            "ms",
            0.13,
            floor=bare_js,
        )
        yield Row(
            "JavaScript echo through a locked child, p95",
            statistics.quantiles(js, n=20)[-1],
            "ms",
            floor=bare_js,
        )
        yield Row(
            "the same with 50 KB of source, p50",
            statistics.median(large),
            "ms",
            0.25,
            floor=bare_large,
        )
        fresh = [
            timed(
                lambda n=n: sandbox.run(  # type: ignore[misc]
                    program(make_module(f"return [{n}, input]"), "js"), INPUT
                )
            )
            for n in range(PROGRAMS)
        ]
        yield Row(
            "first answer of a new capability, p50",
            statistics.median(fresh),
            "ms",
            3.0,
            floor=statistics.median(js),
        )
        yield from _child(sandbox)
    with closing(Sandbox(engine=ENGINE, cache=None, children=1, mode="plain")) as sandbox:
        plain = statistics.median(_calls(sandbox, JS, "js"))
        yield Row(
            "JavaScript echo on the plain path, p50", plain, "ms", floor=statistics.median(js)
        )
    yield Row(
        "fresh calls a second, two children",
        _throughput(),
        "1/s",
        8000,
        at_least=True,
        floor=1e3 / statistics.median(js),
    )
    yield from _starts()


def _bare() -> tuple[float, float, float]:
    """p50 of a call of the echo, of the JavaScript echo and of a large source, without a child."""
    driver = Driver(spawn.library())
    echo, engine = (
        driver.prepare(driver.compile(module)) for module in (ECHO, ENGINE.read_bytes())
    )
    images = MemoryImages(driver, engine)
    scripts = [images.take(read_source(module).encode(), LIMITS[0]) for module in (JS, LARGE)]
    calls = [partial(images.call, each, INPUT, LIMITS, bytes) for each in scripts]
    calls.insert(0, partial(driver.call, echo, None, INPUT, LIMITS, bytes))
    first, second, third = (statistics.median(timed(call) for _ in range(CALLS)) for call in calls)
    return first, second, third


def _throughput() -> float:
    """Calls a second of two threads over two children."""
    with (
        closing(Sandbox(engine=ENGINE, cache=None, children=2)) as sandbox,
        ThreadPoolExecutor(2) as threads,
    ):
        each = program(JS, "js")
        list(threads.map(lambda _: sandbox.run(each, INPUT), range(20)))
        started = time.perf_counter()
        done = [
            threads.submit(lambda: [sandbox.run(each, INPUT) for _ in range(CALLS)])
            for _ in range(2)
        ]
        for thread in done:
            thread.result()
        return 2 * CALLS / (time.perf_counter() - started)


def _calls(sandbox: Sandbox, module: bytes, kind: Kind) -> list[float]:
    each = program(module, kind)
    sandbox.run(each, INPUT)
    return [timed(lambda: sandbox.run(each, INPUT)) for _ in range(CALLS)]


def _child(sandbox: Sandbox) -> Iterator[Row]:
    (pid,) = sandbox.pids()
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", "input()"], stdin=subprocess.PIPE
    ) as bare:
        time.sleep(0.2)
        floor = _resident(bare.pid)
        assert bare.stdin is not None
        bare.stdin.write(b"\n")
    yield Row("resident memory of a child (floor: bare Python)", _resident(pid), "MiB", floor=floor)


def _starts() -> Iterator[Row]:
    echo, first, replaced = program(ECHO, "sigil"), [], []
    for _ in range(STARTS):
        with closing(Sandbox(engine=ENGINE, cache=None, children=1)) as sandbox:
            first.append(timed(lambda: sandbox.run(echo, INPUT)))
            (pid,) = sandbox.pids()
            os.kill(pid, signal.SIGSTOP)
            replaced.append(timed(lambda: _hung(sandbox, echo)))
    floor = statistics.median(
        timed(lambda: subprocess.run([sys.executable, "-I", "-S", "-c", ""], check=True))
        for _ in range(STARTS)
    )
    yield Row("start of a child to its first answer", statistics.median(first), "ms", floor=floor)
    yield Row(
        "a child hangs: from its end at 1 + 100 ms to the next answer",
        statistics.median(replaced) - 101,
        "ms",
        60,
        floor=floor,
    )


def _hung(sandbox: Sandbox, echo: Program) -> None:
    with suppress(ToolError):
        sandbox.run(echo, INPUT, limits=SandboxLimits(timeout_ms=1))
    sandbox.run(echo, INPUT)


def program(module: bytes, kind: Kind) -> Program:
    return Program(sha256(module).hexdigest(), kind, lambda: module)


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1e3


def _resident(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]
