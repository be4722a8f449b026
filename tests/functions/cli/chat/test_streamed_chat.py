"""A person at a terminal reads an answer while the model writes it: real processes."""

from __future__ import annotations

import json
import re
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes.model import ScriptedModel, call, say
from tests.fakes.server import Answer
from tests.functions.cli.programs import terminal, uncaged
from tests.machine import within
from tests.tables import each_row

FIRST = "It is *nearly* there.\n\nA second paragraph with 两个 words"

PIECE_SECONDS = 0.05
"""The model pauses for so long before each piece, as one that writes does."""


def streamed(*parts: str | threading.Event, calls: Any = None, finish: str = "stop") -> Answer:
    """An answer that comes in these parts; it waits for the events between them."""

    def write() -> Iterator[bytes]:
        for part in parts:
            if isinstance(part, str):
                time.sleep(PIECE_SECONDS)  # as a model does between two words
                yield _event({"delta": {"content": part}})
            else:
                part.wait(within(20))
        if calls:
            message = call(*calls)["choices"][0]["message"]
            told = [{"index": 0, **each} for each in message["tool_calls"]]
            yield _event({"delta": {"tool_calls": told}})
        yield _event({"delta": {}, "finish_reason": "tool_calls" if calls else finish})
        yield b"data: [DONE]\n\n"

    return Answer(200, write(), {"content-type": "text/event-stream"})


def _event(choice: dict[str, Any]) -> bytes:
    return b"data: %s\n\n" % json.dumps({"choices": [choice]}).encode()


@pytest.fixture
def settings(environment: dict[str, str], model: ScriptedModel) -> dict[str, str]:
    return {**environment, "UNCAGED_LLM_URL": model.url, "UNCAGED_LIBRARY": "none"}


def test_words_are_read_before_the_answer_is_over_and_stand_there_once(
    settings: dict[str, str], model: ScriptedModel
) -> None:
    waits, begins = threading.Event(), threading.Event()
    model.then(streamed(begins, FIRST, " and", waits, " more.\n\n- end"))
    with terminal(settings, "go", columns=30) as screen:
        screen.wait_for("thinking …")
        assert "thinking …" in screen.screen.lines
        begins.set()
        screen.wait_for("两个")
        assert "thinking" not in screen.screen.text
        assert "It is nearly there." in screen.screen.lines
        waits.set()
        screen.wait_for_end()
        lines = screen.screen.lines

    assert lines[:6] == [
        "It is nearly there.",
        "",
        "A second paragraph with 两个",
        "words and more.",
        "",
        " • end",
    ]
    assert lines[6].startswith("tools:")
    assert model.bodies[0]["stream"] is True


def breaks_off() -> Answer:
    def write() -> Iterator[bytes]:
        yield _event({"delta": {"content": "It is lost. Or"}})
        raise ConnectionError

    return Answer(200, write(), {"content-type": "text/event-stream"})


HOSTILE = "safe \x1b]0;owned\x07 \x1b[2J \u202e\x9b31m \r\x1b[9A end."
SHOWN: dict[str, tuple[list[Answer | dict[str, Any]], list[str]]] = {
    "text beside calls stays above them, as a paragraph": (
        [
            streamed("I look", " for it.", calls=[("sigil_query", {"query": "x"})]),
            streamed("There ", "is nothing."),
        ],
        [
            "I look for it.",
            '  → sigil_query {"query": "x"}',
            r"  ← nothing found  \d+ ms",
            "There is nothing.",
        ],
    ),
    "an answer that is verified was a draft": (
        [
            streamed(calls=[("no_such_tool", {})]),
            streamed("It is", " lost."),
            streamed("It is", " found."),
        ],
        [
            "  → no_such_tool .*",
            "  ✗ .*",
            "It is lost.",
            "  · the last call failed: the answer is verified",
            r"\(the text above was only a draft\)",
            "It is found.",
            "",
            ".*no_such_tool.*",
        ],
    ),
    "what broke off was one too": (
        [breaks_off(), say("It is found.")],
        ["It is lost.", r"\(the text above was only a draft\)", "It is found."],
    ),
    "what an answer lacked is added to it": (
        [streamed("It is", " long", finish="length")],
        [r"It is long \[…\]", "", ".*length limit.*"],
    ),
    "words cannot drive the terminal": (
        [streamed(*(HOSTILE[place : place + 4] for place in range(0, len(HOSTILE), 4)))],
        [r"safe .*", ".*end."],
    ),
    "nor can an answer that comes at once": ([say(HOSTILE)], ["safe .*", ".*end."]),
}


def test_what_stands_on_the_screen_when_the_answer_is_over(
    settings: dict[str, str], model: ScriptedModel
) -> None:
    with terminal(settings, rows=60) as screen:
        screen.wait_for_match("› ")
        for name, (script, expected) in SHOWN.items():
            model.then(*script)
            screen.type(f"{name}\n")
            screen.wait_for_match("tools:(?s:.*)› ")
            lines = screen.screen.lines
            lines = lines[lines.index(f"› {name}") + 1 : -1]
            assert lines.pop().startswith("tools:"), name
            assert len(lines) == len(expected), lines
            for line, pattern in zip(lines, expected, strict=True):
                assert line == pattern or re.fullmatch(pattern, line), (name, line)


def test_ctrl_c_keeps_what_came_and_the_next_question_works(
    settings: dict[str, str], model: ScriptedModel
) -> None:
    sent = 0

    def go_on() -> Iterator[bytes]:
        nonlocal sent
        yield _event({"delta": {"content": "A begin.\n\n"}})
        while not model.closing.wait(0.02):
            sent += 1
            yield _event({"delta": {"content": f"word{sent} "}})

    model.then(
        Answer(200, go_on(), {"content-type": "text/event-stream"}), streamed("Here ", "I am.")
    )
    with terminal(settings) as screen:
        screen.wait_for_match("› ")
        screen.type("go on for ever\n")
        screen.wait_for_match("word7 ")
        sent_before = sent
        screen.process.send_signal(signal.SIGINT)
        screen.wait_for_match("stopped here(?s:.*)Stopped.(?s:.*)› ")
        sent_after = sent - sent_before
        stopped = screen.screen.text
        screen.type("are you there?\n")
        screen.wait_for_match("Here I am(?s:.*)tools:(?s:.*)› ")
        shown = screen.screen.text
        screen.leave()

    assert screen.process.returncode == 0
    assert "A begin.\n\nword1 word2 " in stopped
    assert stopped.count("word7 ") == 1
    # in half a second there come 25, and the next ones are shown to nobody
    assert sent_after < within(50)
    last = stopped.partition("(stopped here)")[0].split()[-1]
    assert int(last.removeprefix("word")) <= sent_before + 10
    assert "draft" not in shown


@each_row("flag", ["--quiet", ""])
def test_nothing_streams_where_nobody_looks_on(
    settings: dict[str, str], model: ScriptedModel, flag: str
) -> None:
    model.start_over(say("It is *done*."))
    before = len(model.bodies)
    if flag:
        with terminal(settings, flag, "go") as screen:
            shown = screen.wait_for_end()
    else:
        shown = uncaged(settings, "chat", "go").stdout

    assert shown == "It is *done*.\n"
    assert "stream" not in model.bodies[before]
