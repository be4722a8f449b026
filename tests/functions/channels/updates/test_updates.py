"""No kind of update of any platform comes without an answer or a line in the log: each row of the
tables is sent, from outside, to a real webhook and a real worker.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

import pytest

from functions import worker
from functions.ingress.ingress import IGNORED_MOST, IGNORED_SECONDS, IgnoredKinds
from functions.wiring import AgentRuntime
from sigil.storage.kv import keys
from tests.fakes.clock import Clock
from tests.fakes.model import ScriptedModel, say
from tests.functions.channels.updates.platform import (
    ANSWER,
    Door,
    open_platform,
)
from tests.functions.channels.updates.table import (
    LINES,
    NOTHING,
    PAGE,
    Row,
    list_platforms,
    list_problems,
    load_rows,
    write_page,
)

RULES = "tests.functions.channels.updates.table"


class AnsweringModel(ScriptedModel):
    """A model that says the same to everything."""

    def __init__(self) -> None:
        super().__init__()
        self.aside = say(ANSWER)

    def forget(self) -> None:
        """Forget what it was asked, and say the same from now on."""
        self.requests.clear()
        self._script = [say(ANSWER)] * 20


@pytest.mark.parametrize("platform", list_platforms())
def test_every_kind_of_update_has_the_end_that_its_row_says(
    platform: str,
    runtime: Callable[..., AgentRuntime],
    caplog: pytest.LogCaptureFixture,
    subtests: pytest.Subtests,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker, "ALBUM_SECONDS", 0.0)  # no more files of a message come here
    rows = load_rows(platform)
    assert not [*list_problems(rows)]
    caplog.set_level(logging.INFO, "uncaged")
    with AnsweringModel() as model, open_platform(platform) as opened:
        served = runtime(llm_url=model.url, **opened.settings)
        with Door(platform, served) as door:
            for row in rows:
                with subtests.test(kind=row.name):
                    sample, first = row.fill()
                    model.forget()
                    if first:
                        opened.deliver(first, door, served)
                        _work_off(served)
                        model.forget()
                    caplog.clear()
                    before = len(opened.list_said())
                    opened.deliver(sample, door, served)
                    _check_log(row, platform, caplog)
                    if row.log == "enqueued":
                        _forget_chats(_work_off(served), served)
                    _check_said(row, opened.list_said()[before:])
                    heard = str([chat["messages"] for chat in model.chats])
                    assert bool(model.chats) == (row.happens == "answered"), heard
                    assert row.heard in heard


def _check_log(row: Row, platform: str, caplog: pytest.LogCaptureFixture) -> None:
    logged = [record for record in caplog.records if record.getMessage() in LINES]
    names = [record.getMessage() for record in logged]
    assert names == ([] if row.log == NOTHING else [row.log])
    if row.log == "ignored":
        assert vars(logged[0])["facts"] == {"channel": platform, "kind": row.kind}


def _check_said(row: Row, said: list[str]) -> None:
    if row.reads == NOTHING:
        assert said == []
    elif row.reads.endswith("…"):
        assert said[0].startswith(row.reads[:-1]), said
    else:
        assert said == [row.reads]


def _work_off(runtime: AgentRuntime) -> set[str]:
    """Work on all that waits, and return the sessions of it."""
    sessions = set()
    for side in filter(None, (runtime.control, runtime.queue, runtime.work)):
        while delivery := side.take(0.0):
            worker.process(delivery, replace(runtime, queue=side))
            sessions.add(keys.session_of(delivery.event.agent, delivery.event.session))
    return sessions


def _forget_chats(sessions: set[str], runtime: AgentRuntime) -> None:
    """Forget the chats: each row is the first that is said there."""
    for session in sessions:
        runtime.stores.kv.delete(keys.session_head(session))


def test_the_page_is_what_the_tables_say() -> None:
    assert PAGE.read_text("utf-8") == write_page(), f"python -m {RULES} writes it anew"


def test_a_kind_that_is_left_aside_is_logged_once_a_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "uncaged")
    clock = Clock()
    kinds = IgnoredKinds(clock)

    def logged() -> list[str]:
        return [vars(record)["facts"]["kind"] for record in caplog.records]

    for _ in range(3):
        kinds.note("slack", "pin_added")
    kinds.note("slack-shop", "pin_added")
    assert logged() == ["pin_added"] * 2
    clock.advance(IGNORED_SECONDS)
    kinds.note("slack", "pin\nadded\u202e" + "x" * 1000)
    kinds.note("slack", "pin_added")
    assert logged()[3] == "pin_added"
    assert logged()[2].isprintable()
    assert len(logged()[2]) < 100
    for number in range(2 * IGNORED_MOST):
        kinds.note("slack", f"made up {number}")
    assert len(logged()) == 2 + IGNORED_MOST
