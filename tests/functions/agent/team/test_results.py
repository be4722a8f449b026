"""What comes of a teammate's work is said by itself in the chat that wanted it, whatever that chat
is doing meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from functions.agent.team.board import Board, NewTask
from tests.fakes.model import say
from tests.functions.agent.team.crew import HOME, Body, TeamModel, contents, spawning
from tests.functions.people import OWNER, Live
from tests.machine import until, within

Lives = Callable[..., AbstractContextManager[Live]]


def work_when(begin: threading.Event) -> Callable[[Body], dict[str, Any]]:
    """Return a plan that does a task as soon as it may begin."""

    def work(body: Body) -> dict[str, Any]:
        if "<<TASK>>" not in "\n".join(contents(body)):
            return say("[SILENT]")
        assert begin.wait(within(20))
        return say("the parser reads lists")

    return work


def add_task(agent: Live) -> Board:
    board = Board(agent.server.runtime.stores.kv, "main", agent.server.runtime.app.clock.now)
    board.add(NewTask(subject="parse", by=HOME, home=HOME))
    return board


def test_a_result_comes_while_its_chat_is_busy_and_is_said_behind_the_answer(
    live: Lives, model: TeamModel
) -> None:
    is_busy, is_reported = threading.Event(), threading.Event()

    def answer_late(body: Body) -> dict[str, Any]:
        is_busy.set()
        assert is_reported.wait(within(20))
        return say("a long answer")

    model.plans["alice"] = work_when(is_busy)
    model.then(*spawning("alice"), answer_late)
    with live(library="builtin") as agent:
        board = add_task(agent)
        assert agent.ask("spawn alice") == "They work."
        agent.write("think for long")
        until(lambda: not board.has_open(), "alice has done it")
        is_reported.set()
        said = agent.replies(OWNER, 3)
        assert said[1:] == ["a long answer", "#1 done by alice: the parser reads lists"]
        # the chat knows of it from then on, and it is there for whoever asks later
        model.then(say("yes"))
        assert agent.ask("is it done?") == "yes"
        known = model.of("")[-1]["messages"]
        (heard,) = [each for each in known if "the parser reads lists" in str(each)]
        # as data of alice, who may write anything: the lead has not said it
        assert heard["role"] == "user"
        assert '<inbox>[{"from":"alice"' in heard["content"]
        assert "#1 done by alice: the parser reads lists" in heard["content"]
        assert "the parser reads lists" in agent.ask("/tasks 1")


def test_a_result_comes_though_the_turn_of_its_chat_timed_out_meanwhile(
    live: Lives, model: TeamModel
) -> None:
    is_busy, is_over = threading.Event(), threading.Event()

    def never_answer(body: Body) -> dict[str, Any]:
        is_busy.set()
        assert is_over.wait(within(30))
        return say("too late")

    model.plans["alice"] = work_when(is_busy)
    model.then(*spawning("alice"), never_answer)
    with live(library="builtin", turn_seconds=within(2)) as agent:
        board = add_task(agent)
        assert agent.ask("spawn alice") == "They work."
        agent.write("think for ever")
        until(lambda: not board.has_open(), "alice has done it")
        said = agent.replies(OWNER, 3)
        is_over.set()
        assert said[1] != "too late"
        assert said[2] == "#1 done by alice: the parser reads lists"
