"""Measures the stream of a chat's page: how soon a word is there, what an answer costs while it is
written, how soon it stops, and what pages cost that only look on.
"""

from __future__ import annotations

import json
import os
import re
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from tempfile import TemporaryDirectory
from typing import Any, Final

import httpx

from functions.page.live import STREAMS_EACH
from scripts.benchmarks.rows import Row
from tests.fakes.model import ScriptedModel, say
from tests.fakes.server import Answer

RUNS: Final = 5
WORDS: Final = 450
WORDS_A_SECOND: Final = 45
FIRST_WORD_MS: Final = 100.0
STREAM_PERCENT: Final = 5.0
STREAM_TIMES: Final = 20.0
STOP_MS: Final = 500.0
IDLE: Final = 64
IDLE_SECONDS: Final = 10.0
IDLE_PERCENT: Final = 1.0
ENDING: Final = 60
END_SECONDS: Final = 2.0
CHAT: Final = "/ui/chat/main"
_PARAGRAPH: Final = (
    "The tram to **Belém** leaves before nine, and the river is `quiet` then; ask at the desk.\n\n"
)
Serve = Callable[..., AbstractContextManager[tuple[str, Any]]]


def measure_streams(serve: Serve, token: str, read_cpu: Callable[[int], float]) -> Iterator[Row]:
    """Measure over a server in a process of its own, whose model answers word by word."""
    with TemporaryDirectory() as folder, ScriptedModel() as model:
        owners = [f"telegram:{number}" for number in range(1, IDLE // STREAMS_EACH + 1)]
        settings = {
            "UNCAGED_LLM_URL": model.url,
            "UNCAGED_LIBRARY": "none",
            "UNCAGED_OWNERS": ",".join(owners),
        }
        with serve(folder, **settings) as (url, process):
            limits = httpx.Limits(max_connections=2 * IDLE)
            headers = {"sec-fetch-site": "same-origin"}
            with httpx.Client(base_url=url, headers=headers, timeout=60, limits=limits) as browser:
                assert browser.post("/ui/login", data={"code": token}).status_code == 303
                late = [_time_first_word(browser, model) for _ in range(RUNS)]
                yield _row("the first word on a page", statistics.median(late), "ms", FIRST_WORD_MS)
                stops = [_time_stop(browser, model) for _ in range(RUNS)]
                yield _row("a stop", max(stops), "ms", STOP_MS)
                percent, times = _measure_answer(browser, model, process.pid, read_cpu)
                name = f"{WORDS_A_SECOND} words a second"
                yield _row(f"{name}, the server's work", percent, "%", STREAM_PERCENT)
                yield _row(f"{name}, what is sent of it", times, "x the text", STREAM_TIMES)
                browsers = [_sign_in(folder, url, who) for who in owners]
                with ExitStack() as stack:
                    for number in range(IDLE):
                        _look(stack, browsers[number % len(browsers)])
                    before = read_cpu(process.pid)
                    time.sleep(IDLE_SECONDS)
                    percent = 100 * (read_cpu(process.pid) - before) / IDLE_SECONDS
                yield _row(f"{IDLE} pages that look on", percent, "%", IDLE_PERCENT)
                time.sleep(1.0)  # until they have gone
                with ExitStack() as stack:
                    for number in range(ENDING):
                        _look(stack, browsers[number % len(browsers)])
                    began = time.monotonic()
                    process.send_signal(signal.SIGTERM)
                    process.wait(30)
                    took = time.monotonic() - began
                for each in browsers:
                    each.close()
                yield _row(f"the end of the server with {ENDING}", took, "s", END_SECONDS)


def _sign_in(folder: str, url: str, who: str) -> httpx.Client:
    """Return the browser of a person, of whom each has a part of the streams."""
    command = [sys.executable, "-m", "functions.cli", "web", who, "--json"]
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": folder,
        "UNCAGED_DATA": folder,
        "UNCAGED_OWNERS": who,
    }
    told = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    limits = httpx.Limits(max_connections=2 * STREAMS_EACH)
    headers = {"sec-fetch-site": "same-origin"}
    browser = httpx.Client(base_url=url, headers=headers, timeout=60, limits=limits)
    code = json.loads(told.stdout)["code"]
    assert browser.post("/ui/login", data={"code": code}).status_code == 303
    return browser


def _row(name: str, value: float, unit: str, target: float) -> Row:
    return Row(name, value, unit, target=target)


def _look(stack: ExitStack, browser: httpx.Client) -> Iterator[str]:
    """Look on at the chat; return the lines of the stream behind its first state."""
    answer = stack.enter_context(browser.stream("GET", f"{CHAT}/live"))
    lines = answer.iter_lines()
    first = next(line for line in lines if line.startswith("event: "))
    assert first == "event: state", first
    next(line for line in lines if line.startswith("data: "))
    return lines


def _time_first_word(browser: httpx.Client, model: ScriptedModel) -> float:
    """Return the milliseconds from the moment at which the endpoint wrote a word to the one at
    which a page had it.
    """
    written: list[float] = []
    over = threading.Event()

    def speak() -> Iterator[bytes]:
        written.append(time.monotonic())
        yield _piece("first second")
        over.wait(20)
        yield _end()

    model.start_over(Answer(200, speak()), say("done"))
    with ExitStack() as stack:
        lines = _look(stack, browser)
        browser.post(CHAT, data={"text": "say something"})
        next(line for line in lines if "first" in line and line.startswith("data: "))
        read = time.monotonic()
        over.set()
        _wait_until_over(lines)
    return (read - written[0]) * 1e3


def _time_stop(browser: httpx.Client, model: ScriptedModel) -> float:
    """Return the milliseconds from a stop to the end of the turn."""

    def speak() -> Iterator[bytes]:
        for _ in range(400):
            yield _piece("and so on ")
            time.sleep(0.05)

    model.start_over(Answer(200, speak()), say("done"))
    with ExitStack() as stack:
        lines = _look(stack, browser)
        browser.post(CHAT, data={"text": "say something long"})
        next(line for line in lines if "and so on" in line)
        began = time.monotonic()
        browser.post(f"{CHAT}/stop", data={})
        _wait_until_over(lines)
        return (time.monotonic() - began) * 1e3


def _measure_answer(
    browser: httpx.Client, model: ScriptedModel, pid: int, read_cpu: Callable[[int], float]
) -> tuple[float, float]:
    """Return the share of a core that the server needs while an answer is written, in per cent, and
    how many times its text is sent.
    """
    words = re.findall(r"\S+\s*", _PARAGRAPH * 40)[:WORDS]

    def speak() -> Iterator[bytes]:
        began = time.monotonic()
        for number, word in enumerate(words, 1):
            yield _piece(word)
            time.sleep(max(began + number / WORDS_A_SECOND - time.monotonic(), 0.0))
        yield _end()

    model.start_over(Answer(200, speak()), say("done"))
    with ExitStack() as stack:
        lines = _look(stack, browser)
        before, began = read_cpu(pid), time.monotonic()
        browser.post(CHAT, data={"text": "tell me of Lisbon"})
        size = _wait_until_over(lines, is_busy=False)
        took = time.monotonic() - began
        cpu = read_cpu(pid) - before
    return 100 * cpu / took, size / len("".join(words).encode())


def _wait_until_over(lines: Iterator[str], *, is_busy: bool = True) -> int:
    """Read on until the turn that is under way, or begins now, is over; return how many bytes that
    were.
    """
    size = 0
    for line in lines:
        size += len(line.encode()) + 1
        is_busy = is_busy or '"busy":true' in line or "event: words" in line
        if is_busy and '"busy":false' in line:
            break
    return size


def _piece(text: str) -> bytes:
    return b"data: %s\n\n" % json.dumps({"choices": [{"delta": {"content": text}}]}).encode()


def _end() -> bytes:
    end = json.dumps({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    return f"data: {end}\n\ndata: [DONE]\n\n".encode()
