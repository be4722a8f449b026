"""Measures a fresh, isolated call beside the same of other runtimes, in one run: workerd's Worker
Loader, QuickJS, monty and Extism.

The first run installs them from npm and PyPI into `build/peers`; nothing of the product needs them.
"""

from __future__ import annotations

import http.client
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import wasmtime

from scripts.benchmarks.measuring import median_call, read_resident_memory, time_call
from scripts.benchmarks.rows import Row
from scripts.benchmarks.sandbox import ECHO, ENGINE, INPUT, JS, make_program
from sigil.sandbox.javascript_module import make_module
from sigil.sandbox.pool import Sandbox
from sigil.sandbox.program import Kind

HERE: Final = Path(__file__).parent / "peer_programs"
FOLDER: Final = Path(__file__).parent.parent.parent / "build" / "peers"
INTERPRETER: Final = FOLDER / "python" / "bin" / "python"
WORKERD: Final = "workerd@1.20261117.1"
PYTHON: Final = ("quickjs==1.19.4", "pydantic-monty==1.4.0", "extism==1.1.1")
CALLS: Final = 300
LOADED: Final = 60
WORKER: Final = (
    "export default { async fetch(request) { const input = await request.json(); return"
    " Response.json(input); } };"
)
EXTISM: Final = """(module
    (import "extism:host/env" "input_length" (func $length (result i64)))
    (import "extism:host/env" "input_load_u8" (func $load (param i64) (result i32)))
    (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
    (import "extism:host/env" "store_u8" (func $store (param i64 i32)))
    (import "extism:host/env" "output_set" (func $output (param i64 i64)))
    (func (export "run") (result i32) (local $at i64) (local $room i64)
        (local.set $room (call $alloc (call $length)))
        (loop $next
            (call $store (i64.add (local.get $room) (local.get $at)) (call $load (local.get $at)))
            (local.set $at (i64.add (local.get $at) (i64.const 1)))
            (br_if $next (i64.lt_u (local.get $at) (call $length))))
        (call $output (local.get $room) (call $length))
        (i32.const 0)))"""


def run(data: Path | None) -> Iterator[Row]:
    """Measure in milliseconds. The floor of a row is ours, so the ratio is how many times as long the
    peer takes.
    """
    _install_peers()
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(Sandbox(engine=ENGINE, cache=Path(folder), children=1)) as sandbox,
    ):
        js = _time_calls(sandbox, JS, "js")
        module = _time_calls(sandbox, ECHO, "sigil")
        (pid,) = sandbox.pids()
        before = read_resident_memory(pid)
        for number in range(LOADED * 4):
            sandbox.run(make_program(make_module(f"return [{number}, input]"), "js"), INPUT)
        per_script = (read_resident_memory(pid) - before) * 1024 / (LOADED * 4)
    yield Row("ours: a fresh JavaScript call through a child, p50", js, "ms", 0.13)
    yield Row("ours: a fresh call of a module through a child, p50", module, "ms", 0.08)
    with tempfile.TemporaryDirectory() as folder:
        echo, answer = Path(folder) / "echo.wasm", Path(folder) / "answer.json"
        echo.write_bytes(bytes(wasmtime.wat2wasm(EXTISM)))
        program = str(HERE / "python_peers.py")
        subprocess.run([str(INTERPRETER), program, str(echo), str(answer)], check=True)
        found: dict[str, float] = json.loads(answer.read_bytes())
    for name, what, floor in (
        ("quickjs", "native, no boundary", js),
        ("monty", "Python subset", js),
        ("extism", "a module", module),
    ):
        if name in found:
            yield Row(f"{name}: {what}, a fresh call, p50", found[name], "ms", floor=floor)
    with _run_workerd() as (pid, call):
        call("warm")
        warm = median_call(lambda: call("warm"), CALLS)
        before = read_resident_memory(pid)
        times = [time_call(partial(call, f"fresh {number}")) for number in range(LOADED)]
        fresh = statistics.median(times)
        weight = (read_resident_memory(pid) - before) * 1024 / LOADED
    yield Row("workerd: a fresh isolate over HTTP, p50", fresh, "ms", floor=js)
    yield Row("workerd: the same without HTTP's own share, p50", fresh - warm, "ms", floor=js)
    yield Row(
        "ours: memory of a loaded JavaScript capability",
        per_script,
        "KiB",
        floor=weight,
        ratio_target=1 / 8,
    )


def _install_peers() -> None:
    """Install the peers that are missing."""
    if not (FOLDER / "node_modules" / "workerd").is_dir():
        FOLDER.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [
                "npm",
                "install",
                "--no-audit",
                "--no-fund",
                "--silent",
                "--prefix",
                str(FOLDER),
                WORKERD,
            ],
            check=True,
            cwd=FOLDER,
        )
    if not INTERPRETER.exists():
        subprocess.run(
            ["uv", "venv", "--quiet", "--python", sys.executable, str(FOLDER / "python")],
            check=True,
        )
        install = ["uv", "pip", "install", "--quiet", "--only-binary", ":all:"]
        subprocess.run([*install, "--python", str(INTERPRETER), *PYTHON], check=True)


def _time_calls(sandbox: Sandbox, module: bytes, kind: Kind) -> float:
    """Return the median of many calls, after a first one that loads the module."""
    each = make_program(module, kind)
    sandbox.run(each, INPUT)
    return median_call(lambda: sandbox.run(each, INPUT), CALLS * 5)


@contextmanager
def _run_workerd() -> Iterator[tuple[int, Callable[[str], None]]]:
    """Run workerd; yield its process id and a function that calls the worker of a name."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    binary = next(FOLDER.glob("node_modules/@cloudflare/workerd-*/bin/workerd"))
    command = [
        str(binary),
        "serve",
        str(HERE / "workerd.capnp"),
        "--experimental",
        f"--socket-addr=http=127.0.0.1:{port}",
    ]
    with subprocess.Popen(command) as server:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port)

            def call(name: str) -> None:
                connection.request(
                    "POST",
                    "/",
                    json.dumps({"id": name, "source": WORKER, "input": json.loads(INPUT)}),
                )
                answer = connection.getresponse().read()
                assert json.loads(answer) == json.loads(INPUT), answer

            for _ in range(200):
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    time.sleep(0.05)
            yield server.pid, call
        finally:
            server.kill()
