"""Measures large pages, from the store to the screen: a chat of 200 long messages, and a run of 300
nodes; and how soon a page is painted over a slow line.

Chromium paints them, in the environment of `scripts/tool browser`. The floor of what it paints is
the processor time that it takes for that.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import httpx

from functions.agent.access.web_codes import WebCodes
from functions.agent.conversation.messages import Message, Role
from functions.agent.session.document import Document
from functions.wiring import AgentRuntime, open_runtime
from scripts.benchmarks.page_runs import ROOT_RUN, fill_runs
from scripts.benchmarks.rows import Row
from sigil.storage.kv import keys
from tests.channel_settings import make_settings

ROOT: Final = Path(__file__).parents[2]
DRIVER: Final = ROOT / "tests" / "functions" / "page" / "ui" / "paint_driver.py"
PERSON: Final = "terminal:local"
LONG, SHORT, TREE = "long", "short", "tree"
MESSAGES: Final = {LONG: 200, SHORT: 10}
CHARACTERS: Final = {LONG: 3_800, SHORT: 300}
RESIDENT: Final = 80
"""So many messages are in the window; those before have left it."""
CHUNK: Final = 30
RUNS: Final = 5
LOOKS: Final = 20
CHAT_KB: Final = 100.0
CHAT_CPU_MS: Final = 150.0
CHAT_PAINT_MS: Final = 600.0
TREE_PAINT_MS: Final = 300.0
COLD_MS: Final = 1_300.0
WARM_MS: Final = 500.0
RUN_PATH: Final = f"/ui/runs/{ROOT_RUN}"
Serve = Callable[..., AbstractContextManager[tuple[str, Any]]]


def measure_paint(
    serve: Serve, count_bytes: Callable[[httpx.Response], int], read_cpu: Callable[[int], float]
) -> Iterator[Row]:
    """Measure over a server in a process of its own, whose store was filled before."""
    with TemporaryDirectory() as folder:
        runtime = open_runtime(make_settings(data=folder, library="none", runners=1))
        try:
            for name in (LONG, SHORT):
                _fill_chat(runtime, name)
            fill_runs(runtime)
            codes = WebCodes(runtime.stores.kv, "main", runtime.app.clock.now)
            code, other = codes.make(PERSON, "owner"), codes.make(PERSON, "owner")
        finally:
            runtime.close()
        with serve(folder, UNCAGED_LIBRARY="none") as (url, process):
            headers = {"sec-fetch-site": "same-origin", "accept": "text/html"}
            with httpx.Client(base_url=url, headers=headers, timeout=60) as browser:
                assert browser.post("/ui/login", data={"code": code}).status_code == 303
                browser.get(f"/ui/chat/{SHORT}")  # imports what all chats need
                before = read_cpu(process.pid)
                opened = browser.get(f"/ui/chat/{LONG}")
                first = (read_cpu(process.pid) - before) * 1e3
                assert opened.is_success, opened.text
                name = f"a chat of {MESSAGES[LONG]} x {CHARACTERS[LONG]:,} characters"
                yield Row(name, count_bytes(opened) / 1024, "KB", target=CHAT_KB)
                yield Row(f"{name}, first look", first, "ms", target=CHAT_CPU_MS)
                before = read_cpu(process.pid)
                for _ in range(LOOKS):
                    browser.get(f"/ui/chat/{LONG}")
                later = (read_cpu(process.pid) - before) * 1e3 / LOOKS
                yield Row(f"{name}, later looks", later, "ms", target=CHAT_CPU_MS)
            painted = _paint(url, other)
        if painted is None:
            print("  there is no Chromium: nothing was painted (apt-get install chromium)")
            return
        slow = "first paint, 400 kbit/s and 300 ms"
        for key, row, most in (
            (LONG, f"{name}, painted", CHAT_PAINT_MS),
            (TREE, "run of 300 nodes, painted", TREE_PAINT_MS),
            ("cold", f"{slow}, cold", COLD_MS),
            ("warm", f"{slow}, warm", WARM_MS),
        ):
            took, work = painted[key]
            yield Row(row, took, "ms", target=most, floor=work)


def _fill_chat(runtime: AgentRuntime, name: str) -> None:
    """Write a chat of the person who looks, whose words are those of our documentation."""
    paths = sorted((ROOT / "docs").rglob("*.md"))
    words = "\n\n".join(path.read_text(encoding="utf-8") for path in paths)
    size = CHARACTERS[name]
    count = len(words) // size  # what comes again was said long before
    messages = []
    for number in range(MESSAGES[name]):
        role: Role = "assistant" if number % 2 else "user"
        begin = number % count * size
        text = words[begin : begin + size]
        messages.append(Message(role, text, at=time.time() - 10_000 + number))
    app = runtime.app
    key = keys.session_of(app.name, f"web:{PERSON}:{name}")
    document = Document().add(*messages)
    left = document.messages[:-RESIDENT]
    for begin in range(0, len(left), CHUNK):
        app.sessions.archive(key, left[begin : begin + CHUNK])
    resident = Document(messages=document.messages[-RESIDENT:], next_seq=document.next_seq)
    app.sessions.save(app.sessions.open(key), resident)


def _paint(url: str, code: str) -> dict[str, tuple[float, float]] | None:
    """Return after how many milliseconds Chromium has painted what, and how many of them it
    worked; None where there is no Chromium.
    """
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if not chromium:
        return None
    tool = [str(ROOT / "scripts" / "tool"), "browser"]
    programs = subprocess.run(tool, capture_output=True, text=True, check=True).stdout.strip()
    told = {
        "url": url,
        "code": code,
        "chromium": chromium,
        "runs": RUNS,
        "whole": {LONG: f"/ui/chat/{LONG}", TREE: RUN_PATH},
        "slow": f"/ui/chat/{SHORT}",
    }
    done = subprocess.run(
        [f"{programs}/python", str(DRIVER)],
        input=json.dumps(told),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    return dict(json.loads(done.stdout))
