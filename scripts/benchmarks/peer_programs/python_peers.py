"""Measures the peers that are Python packages, in an interpreter of their own, and writes the median
milliseconds of a fresh call of each as one JSON object.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

CALLS = 300
TEXT = '{"text":"hello world","format":"base64"}'


def measure_median(call: Callable[[], object]) -> float:
    call()
    times = []
    for _ in range(CALLS):
        started = time.perf_counter()
        call()
        times.append((time.perf_counter() - started) * 1e3)
    return statistics.median(times)


def measure_quickjs() -> float:
    import quickjs  # type: ignore[import-not-found,unused-ignore]

    def call() -> str:
        run = quickjs.Context().eval(
            "(text) => { const input = JSON.parse(text); return JSON.stringify(input) }"
        )
        answer: str = run(TEXT)
        return answer

    assert json.loads(call())["format"] == "base64"
    return measure_median(call)


def measure_monty() -> float:
    import pydantic_monty  # type: ignore[import-not-found,unused-ignore]

    with pydantic_monty.Monty() as pool:

        def call() -> object:
            with pool.checkout() as session:
                return session.feed_run("value", inputs={"value": json.loads(TEXT)})

        assert call() == json.loads(TEXT)
        return measure_median(call)


def measure_extism() -> float:
    import extism  # type: ignore[import-not-found,unused-ignore]
    from extism.extism import CompiledPlugin  # type: ignore[import-not-found,unused-ignore]

    compiled = CompiledPlugin({"wasm": [{"path": sys.argv[1]}]}, wasi=False)

    def call() -> bytes:
        return bytes(extism.Plugin(compiled).call("run", TEXT.encode()))

    assert call() == TEXT.encode()
    return measure_median(call)


def main() -> None:
    found = {}
    peers = {"quickjs": measure_quickjs, "monty": measure_monty, "extism": measure_extism}
    for name, measure in peers.items():
        try:
            found[name] = measure()
        except Exception as problem:  # noqa: BLE001 (entry point: a peer that changed must not end the others' run)
            print(f"{name}: {problem!r}", file=sys.stderr)
    Path(sys.argv[2]).write_text(json.dumps(found), encoding="ascii")


main()
