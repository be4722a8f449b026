"""Measures what it costs to show an answer while the model writes it: the processor time of reading
its stream and telling its words, and how soon the first of them is with a client over HTTP.

The floor of the reading is the same stream read as a whole.
"""

from __future__ import annotations

import json
import statistics
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from functions.agent.model import event_stream
from functions.agent.model.streamed_words import StreamedWords
from functions.wiring import open_runtime
from scripts.benchmarks.rows import Row
from tests.channel_settings import make_settings
from tests.fakes.model import ScriptedModel, say
from tests.fakes.server import Answer
from tests.functions.serving import serving

RUNS: Final = 7
WORDS: Final = 1_000
READING_MS: Final = 10.0
FIRST_WORD_MS: Final = 100.0
STREAM: Final = {"accept": "text/event-stream"}
_WORD: Final = "wordy "


def run(data: Path | None) -> Iterator[Row]:
    """Measure in milliseconds, the least of several runs."""
    pieces = [_make_event({"delta": {"content": _WORD}}) for _ in range(WORDS)]
    end = _make_event({"delta": {}, "finish_reason": "stop"}) + b"data: [DONE]\n\n"
    told = min(_time_reading(pieces, end) for _ in range(RUNS))
    whole = min(_time_whole(pieces, end) for _ in range(RUNS))
    yield Row(f"{WORDS:,} words, read and told", told, "ms", target=READING_MS, floor=whole)
    with TemporaryDirectory() as folder, ScriptedModel() as model:
        runtime = open_runtime(
            make_settings(data=folder, library="none", runners=1, llm_url=model.url)
        )
        try:
            with serving(runtime) as server:
                late = [_time_first_word(server.client, model) for _ in range(RUNS)]
        finally:
            runtime.close()
    yield Row("the first word at a client", statistics.median(late), "ms", target=FIRST_WORD_MS)


def _time_reading(pieces: list[bytes], end: bytes) -> float:
    told: list[str | None] = []
    words = StreamedWords(told.append)
    before = time.process_time()
    for piece in pieces:
        words.take(piece)
    words.take(end)
    words.settle((_WORD * len(pieces)).strip())
    took = time.process_time() - before
    assert len(told) >= len(pieces) - 1
    return took * 1e3


def _time_whole(pieces: list[bytes], end: bytes) -> float:
    before = time.process_time()
    assert event_stream.read_body(b"".join(pieces) + end)
    return (time.process_time() - before) * 1e3


def _time_first_word(client: Any, model: ScriptedModel) -> float:
    """Return the milliseconds from the moment at which the endpoint wrote a word to the one at which
    a client read it.
    """
    written: list[float] = []
    over = threading.Event()

    def speak() -> Iterator[bytes]:
        written.append(time.monotonic())
        yield _make_event({"delta": {"content": "first second"}})
        over.wait(20)
        yield _make_event({"delta": {}, "finish_reason": "stop"}) + b"data: [DONE]\n\n"

    model.start_over(Answer(200, speak()), say("done"))
    body = {"session": "bench", "text": "say something"}
    with client.stream("POST", "/chat", json=body, headers=STREAM) as response:
        lines = response.iter_lines()
        next(line for line in lines if line == "event: words")
        read = time.monotonic()
        over.set()
        for _ in lines:
            pass
    return (read - written[0]) * 1e3


def _make_event(choice: dict[str, Any]) -> bytes:
    return b"data: %s\n\n" % json.dumps({"choices": [choice]}).encode()
