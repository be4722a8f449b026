"""Run by the peers' own interpreter: the median of a fresh call of each, in milliseconds, as one
JSON object.
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


def p50(call: Callable[[], object]) -> float:
    call()
    times = []
    for _ in range(CALLS):
        started = time.perf_counter()
        call()
        times.append((time.perf_counter() - started) * 1e3)
    return statistics.median(times)


def quickjs() -> float:
    import quickjs  # type: ignore[import-not-found,unused-ignore]

    def call() -> str:
        run = quickjs.Context().eval(
            "(text) => { const input = JSON.parse(text); return JSON.stringify(input) }"
        )
        answer: str = run(TEXT)
        return answer

    assert json.loads(call())["format"] == "base64"
    return p50(call)


def monty() -> float:
    import pydantic_monty  # type: ignore[import-not-found,unused-ignore]

    with pydantic_monty.Monty() as pool:

        def call() -> object:
            with pool.checkout() as session:
                return session.feed_run("value", inputs={"value": json.loads(TEXT)})

        assert call() == json.loads(TEXT)
        return p50(call)


def extism() -> float:
    import extism  # type: ignore[import-not-found,unused-ignore]
    from extism.extism import CompiledPlugin  # type: ignore[import-not-found,unused-ignore]

    compiled = CompiledPlugin({"wasm": [{"path": sys.argv[1]}]}, wasi=False)

    def call() -> bytes:
        return bytes(extism.Plugin(compiled).call("run", TEXT.encode()))

    assert call() == TEXT.encode()
    return p50(call)


def main() -> None:
    found = {}
    for peer in (quickjs, monty, extism):
        try:
            found[peer.__name__] = peer()
        except Exception as problem:  # noqa: BLE001 (entry point: a peer that changed must not end the others' run)
            print(f"{peer.__name__}: {problem!r}", file=sys.stderr)
    Path(sys.argv[2]).write_text(json.dumps(found), encoding="ascii")


main()
