"""Measures what the page costs: the bytes and requests of the first one and of later ones, and for
each page in the bar the server's processor time and how long a browser beside it waits beyond that;
what large pages cost, and when Chromium has painted them; and what a chat costs that goes on by
itself.

The floor of the round trip is that of a static file on the same connection.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import httpx

from scripts.benchmarks import page_runs
from scripts.benchmarks.page_paint import measure_paint
from scripts.benchmarks.page_streams import measure_streams
from scripts.benchmarks.rows import Row

REQUESTS: Final = 100
TOKEN: Final = "admin-token-of-the-benchmark"
TEXTS: Final = ("encode hello world in base64", "what is 15% of 240", "spell 1204 in words")
MESSAGES: Final = 10
FIRST_KB: Final = 20.0
FIRST_REQUESTS: Final = 5.0
LATER_KB: Final = 6.0
FILLED: Final = "/ui/chat/filled"
CPU_MS: Final = {"/ui/chat": 12.0}
"""The chat page has ten messages and their tools."""
OTHER_CPU_MS: Final = 6.0
WAIT_MS: Final = 2.0
_FILE: Final = re.compile(r'(?:href|src)="(/ui/static/[^"]+)"')
_PAGE: Final = re.compile(r'<li><a href="(/ui[^"?]*)"')
_TICKS: Final = os.sysconf("SC_CLK_TCK")


def run(data: Path | None) -> Iterator[Row]:
    """Measure over `uncaged serve` in a process of its own, with the offline model."""
    with TemporaryDirectory() as folder, _serve(folder) as (url, process):
        pid = process.pid
        headers = {"sec-fetch-site": "same-origin", "accept": "text/html"}
        with httpx.Client(base_url=url, headers=headers, timeout=30) as browser:
            _talk(url)
            signed = browser.post("/ui/login", data={"code": TOKEN})
            assert signed.status_code == 303, signed.text
            first = browser.get("/ui", follow_redirects=True)
            files = list(dict.fromkeys(_FILE.findall(first.text)))
            answers = [first, *(browser.get(path) for path in files)]
            size = sum(map(_count_bytes, answers)) / 1024
            yield Row("first page, nothing cached", size, "KB", target=FIRST_KB)
            yield Row("its requests", float(len(answers)), "", target=FIRST_REQUESTS)
            floor = _measure(browser, files[0], pid)[1]
            bar = first.text.partition("</nav>")[0]
            for path in dict.fromkeys([*_PAGE.findall(bar), "/ui/account"]):
                name = path.removeprefix("/ui")
                opened = browser.get(path, follow_redirects=True)
                there = opened.url.path
                yield Row(f"{name} later", _count_bytes(opened) / 1024, "KB", target=LATER_KB)
                cpu, wait = _measure(browser, there, pid)
                target = CPU_MS.get(f"/ui{name}", OTHER_CPU_MS)
                yield Row(f"{name}, the server's work", cpu, "ms", target=target)
                beyond = max(wait - cpu, 0.0)
                yield Row(f"{name}, waiting beyond it", beyond, "ms", target=WAIT_MS, floor=floor)
            for text in TEXTS * 2:
                browser.post("/ui/chat/filled", data={"text": text})
                while browser.get(FILLED, headers={"accept": "application/json"}).json()["busy"]:
                    time.sleep(0.05)
            cpu, _ = _measure(browser, FILLED, pid)
            yield Row("a chat of twelve messages", cpu, "ms", target=CPU_MS["/ui/chat"])
    yield from page_runs.run(data)
    yield from measure_paint(_serve, _count_bytes, _read_cpu)
    yield from measure_streams(_serve, TOKEN, _read_cpu)


def _measure(browser: httpx.Client, path: str, pid: int) -> tuple[float, float]:
    """Return the milliseconds of processor time that the server needs for a page, and the median of
    how long a request takes on a connection that is kept.
    """
    for _ in range(5):
        browser.get(path)
    before = _read_cpu(pid)
    took = []
    for _ in range(REQUESTS):
        began = time.perf_counter()
        answer = browser.get(path)
        took.append(time.perf_counter() - began)
        assert answer.is_success, (path, answer.status_code)
    cpu = (_read_cpu(pid) - before) / REQUESTS
    return cpu * 1e3, statistics.median(took) * 1e3


def _count_bytes(answer: httpx.Response) -> int:
    """Return what an answer has over the wire: its head, and its body as it was sent."""
    head = sum(len(name) + len(value) + 4 for name, value in answer.headers.raw)
    return head + answer.num_bytes_downloaded


def _talk(url: str) -> None:
    """Fill a chat with messages and tools."""
    with httpx.Client(base_url=url, headers={"authorization": f"Bearer {TOKEN}"}) as client:
        for number in range(MESSAGES // 2):
            text = TEXTS[number % len(TEXTS)]
            sent = client.post("/chat", json={"session": "main", "text": text}, timeout=60)
            assert sent.is_success, sent.text


@contextmanager
def _serve(folder: str, **settings: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run the server over a new store; yield its address and its process."""
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": folder,
        "UNCAGED_DATA": folder,
        "UNCAGED_TOKEN": TOKEN,
        "SIGIL_RATE": "1000000",
        **settings,
    }
    command = [sys.executable, "-m", "functions.cli", "serve", "--port", "0"]
    with subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stderr is not None
        said = ""
        while not (found := re.search(r"listens on (\S+)\n", said)):
            line = process.stderr.readline()
            assert line, said
            said += line
        try:
            yield found[1], process
        finally:
            process.terminate()
            process.communicate()


def _read_cpu(pid: int) -> float:
    """Return the seconds of processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS
