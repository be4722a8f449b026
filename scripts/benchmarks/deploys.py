"""Measures a deploy of a small capability with three golden tests, beside the same three calls, and
the time until it is found and answers.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from scripts.benchmarks.measuring import time_call
from scripts.benchmarks.rows import Row
from sigil.manifest.model import Manifest
from sigil.manifest.package import Package
from sigil.protocol import Caller
from sigil.settings import Settings
from sigil.wiring import local_registry, open_stores

DEPLOYS: Final = 60
CODES: Final = {
    "js": (
        "const words = input.text.trim().split(/\\s+/); return {{ n: {n}, words: words.length }};"
    ),
    "c": (
        '#include "sigil.h"\nint answer(void) {{ sigil_put("{{\\"n\\":{n},\\"words\\":2}}"); return'
        " 0; }}\n"
    ),
}


def run(data: Path | None) -> Iterator[Row]:
    """Measure in milliseconds of wall time, on SQLite."""
    with tempfile.TemporaryDirectory() as folder:
        settings = replace(Settings(), data=folder, library="none")
        stores = open_stores(settings)
        with closing(local_registry(settings, stores)) as registry:
            caller = Caller("main", owner=True, author="person")
            for lang, count in (("js", DEPLOYS), ("c", 5)):
                registry.deploy_package(_make_package(lang, 0), caller)
                deploys, calls = [], []
                for number in range(1, count + 1):
                    package = _make_package(lang, number)
                    deploys.append(time_call(partial(registry.deploy_package, package, caller)))
                    run = partial(registry.run, f"count-{lang}-{number}", {"text": "a b"}, caller)
                    calls.append(sum(time_call(run) for _ in range(3)))
                yield Row(
                    f"deploy of a small one in {lang} with three tests, p50",
                    statistics.median(deploys),
                    "ms",
                    25.0 if lang == "js" else None,
                    floor=statistics.median(calls),
                )
        stores.kv.close()  # type: ignore[attr-defined]


def _make_package(lang: str, number: int) -> Package:
    tests = [
        {"input": {"text": text}, "output": {"n": number, "words": 2}}
        for text in ("a b", " a  b ", "a\nb")
    ]
    schema = {
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
        "additionalProperties": False,
    }
    document = {
        "name": f"count-{lang}-{number}",
        "description": f"Counts the words of a text, number {number}.",
        "lang": lang,
    }
    manifest = Manifest.model_validate({**document, "input": schema, "tests": tests})
    return Package(manifest, CODES[lang].format(n=number).encode())
