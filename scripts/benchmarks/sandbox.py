"""Measures the time of a sandbox's answer, beside the same call without a child process, and the cost
of a child.
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Final

import wasmtime

import sigil
from scripts.benchmarks.measuring import median_call, read_resident_memory, time_call
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
    """Measure in milliseconds of wall time as the caller sees them; a floor is the same fresh instance
    driven in this process.
    """
    bare_echo, bare_js, bare_large = _measure_without_child()
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(Sandbox(engine=ENGINE, cache=Path(folder), children=1)) as sandbox,
    ):
        yield Row(
            "first JavaScript answer ever (compiles the engine)",
            time_call(lambda: sandbox.run(make_program(JS, "js"), INPUT)),
            "ms",
        )
        echo = _time_calls(sandbox, ECHO, "sigil")
        js = _time_calls(sandbox, JS, "js")
        large = _time_calls(sandbox, LARGE, "js")
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
        fresh = []
        for number in range(PROGRAMS):
            new = make_program(make_module(f"return [{number}, input]"), "js")
            fresh.append(time_call(partial(sandbox.run, new, INPUT)))
        yield Row(
            "first answer of a new capability, p50",
            statistics.median(fresh),
            "ms",
            3.0,
            floor=statistics.median(js),
        )
        yield _measure_memory(sandbox)
    with closing(Sandbox(engine=ENGINE, cache=None, children=1, mode="plain")) as sandbox:
        plain = statistics.median(_time_calls(sandbox, JS, "js"))
        yield Row(
            "JavaScript echo on the plain path, p50", plain, "ms", floor=statistics.median(js)
        )
    yield Row(
        "fresh calls a second, two children",
        _measure_throughput(),
        "1/s",
        8000,
        at_least=True,
        floor=1e3 / statistics.median(js),
    )
    yield from _measure_starts()


def _measure_without_child() -> tuple[float, float, float]:
    """Return the median time of the echo, of the JavaScript echo and of a large source, without a
    child.
    """
    driver = Driver(spawn.library())
    echo, engine = (
        driver.prepare(driver.compile(module)) for module in (ECHO, ENGINE.read_bytes())
    )
    images = MemoryImages(driver, engine)
    scripts = [images.take(read_source(module).encode(), LIMITS[0]) for module in (JS, LARGE)]
    calls = [partial(images.call, each, INPUT, LIMITS, bytes) for each in scripts]
    calls.insert(0, partial(driver.call, echo, None, INPUT, LIMITS, bytes))
    first, second, third = (median_call(call, CALLS) for call in calls)
    return first, second, third


def _measure_memory(sandbox: Sandbox) -> Row:
    """Measure the memory of a child after all these calls, beside that of a bare interpreter."""
    (pid,) = sandbox.pids()
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", "input()"], stdin=subprocess.PIPE
    ) as bare:
        time.sleep(0.2)
        floor = read_resident_memory(bare.pid)
        assert bare.stdin is not None
        bare.stdin.write(b"\n")
    resident = read_resident_memory(pid)
    return Row("resident memory of a child (floor: bare Python)", resident, "MiB", floor=floor)


def _measure_throughput() -> float:
    """Return the calls a second of two threads over two children."""
    with (
        closing(Sandbox(engine=ENGINE, cache=None, children=2)) as sandbox,
        ThreadPoolExecutor(2) as threads,
    ):
        each = make_program(JS, "js")
        list(threads.map(lambda _: sandbox.run(each, INPUT), range(20)))
        started = time.perf_counter()
        done = [
            threads.submit(lambda: [sandbox.run(each, INPUT) for _ in range(CALLS)])
            for _ in range(2)
        ]
        for thread in done:
            thread.result()
        return 2 * CALLS / (time.perf_counter() - started)


def _time_calls(sandbox: Sandbox, module: bytes, kind: Kind) -> list[float]:
    """Return the milliseconds of each of many calls, after a first one that loads the module."""
    each = make_program(module, kind)
    sandbox.run(each, INPUT)
    return [time_call(lambda: sandbox.run(each, INPUT)) for _ in range(CALLS)]


def _measure_starts() -> Iterator[Row]:
    """Measure how long a child takes to its first answer, and to replace one that hangs."""
    echo = make_program(ECHO, "sigil")
    first, replaced = [], []
    for _ in range(STARTS):
        with closing(Sandbox(engine=ENGINE, cache=None, children=1)) as sandbox:
            first.append(time_call(lambda: sandbox.run(echo, INPUT)))
            (pid,) = sandbox.pids()
            os.kill(pid, signal.SIGSTOP)
            started = time.perf_counter()
            with suppress(ToolError):
                sandbox.run(echo, INPUT, limits=SandboxLimits(timeout_ms=1))
            sandbox.run(echo, INPUT)
            replaced.append((time.perf_counter() - started) * 1e3)
    bare = [sys.executable, "-I", "-S", "-c", ""]
    floor = median_call(lambda: subprocess.run(bare, check=True), STARTS)
    yield Row("start of a child to its first answer", statistics.median(first), "ms", floor=floor)
    yield Row(
        "a child hangs: from its end at 1 + 100 ms to the next answer",
        statistics.median(replaced) - 101,
        "ms",
        60,
        floor=floor,
    )


def make_program(module: bytes, kind: Kind) -> Program:
    return Program(sha256(module).hexdigest(), kind, lambda: module)
