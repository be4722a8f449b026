"""Commands that only read are answered at once, beside the chat's queue: they wait for no turn, and
change nothing of the session's.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from functions.agent.conversation.messages import Message
from functions.agent.session.document import Document
from functions.agent.session.store import Sessions
from functions.channels.base import Busy, Reply
from functions.queues.base import Delivery
from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from functions.worker import TRIES_MOST, process
from sigil.storage.artifacts import MemoryArtifacts
from sigil.storage.kv import keys
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel, say
from tests.functions.agent.talk import event
from tests.functions.model_steps import Gate, shell
from tests.functions.people import GUEST, OWNER, STRANGER, Live, platform
from tests.servers.programs import ProgramForker

Lives = Callable[..., AbstractContextManager[Live]]
SOON = 10.0
READS = {
    "/status": ENGLISH.status_working,
    "/help": "Just write what you need",
    "/whoami": f"You are telegram:{OWNER}: owner.",
    "/usage": "In this chat: ",
    "/tools": "Always at hand: sigil_query, sigil_deploy.",
    "/context": "My window has ",
    "/recall": "Nothing is remembered of this chat yet.",
    "/recall the blue door": "I found nothing about that",
    "/STATUS@Sigil_Bot": ENGLISH.status_working,
    "/status all": ENGLISH.status_working,
    "/status now": ENGLISH.status_how.replace("`", ""),
}


def document(agent: Live, chat: int = OWNER) -> bytes:
    item = agent.server.runtime.stores.kv.get(
        keys.session_head(keys.session_of("main", f"telegram:{chat}"))
    )
    assert item is not None
    return item.value


def test_they_are_answered_while_a_turn_runs_and_leave_its_session_alone(
    live: Lives, model: ScriptedModel
) -> None:
    gate = Gate(say("at last"))
    model.then(gate)
    with live(workers=1) as agent:
        agent.write("think long")
        model.wait_for(1)
        agent.write("and then this")
        before = document(agent)
        for text, begins in READS.items():
            assert agent.ask(text, seconds=SOON).startswith(begins)
        assert document(agent) == before
        gate.open.set()
        assert agent.replies(OWNER, len(READS) + 2)[-2:] == ["at last", "done"]
    assert [
        message["content"].splitlines()[-1]
        for message in model.bodies[-1]["messages"]
        if message["role"] == "user"
    ] == [
        "think long",
        "and then this",
    ]


def test_a_guest_reads_no_more_than_before_and_a_stranger_nothing(
    live: Lives, model: ScriptedModel
) -> None:
    with live() as agent:
        assert "in all of them" in agent.ask("/usage")
        assert "in all of them" not in agent.ask("/usage", GUEST)
        assert "of 1,500,000" not in agent.ask("/status all", GUEST)
    with live(access="members") as agent:
        assert agent.ask("/status", STRANGER).startswith(
            "I only talk to people whom my owner has let in."
        )
    assert model.bodies == []


def test_http_gets_the_answer_while_the_chats_turn_runs(live: Lives, model: ScriptedModel) -> None:
    gate = Gate(say("at last"))
    model.then(gate)
    with live(workers=1) as agent:
        slow: list[Any] = []
        asking = threading.Thread(
            target=lambda: slow.append(agent.server.post("/chat", json={"text": "think long"}))
        )
        asking.start()
        model.wait_for(1)
        answer = agent.server.post("/chat", json={"text": "/status"})
        assert answer.status_code == 200
        assert answer.json()["reply"].startswith(ENGLISH.status_working)
        gate.open.set()
        asking.join()
    assert slow[0].json()["reply"] == "at last"


def test_the_terminal_gets_it_while_another_has_the_chat(
    live: Lives, model: ScriptedModel, tmp_path: Path, forked: ProgramForker
) -> None:
    gate = Gate(say("at last"))
    model.then(gate)
    with live() as agent:
        more = {"UNCAGED_LLM_URL": model.url, "UNCAGED_LIBRARY": "none"}
        slow: list[Any] = []
        asking = threading.Thread(
            target=lambda: slow.append(
                shell(tmp_path, "chat", "--quiet", "think long", **more, **forked.environment)
            )
        )
        asking.start()
        model.wait_for(1)
        said = shell(tmp_path, "chat", "--quiet", "/status", **more, **forked.environment)
        assert said.stdout.startswith(ENGLISH.status_working), said.stderr
        gate.open.set()
        asking.join()
        assert agent.server.client.get("/health").status_code == 200
    assert slow[0].stdout == "at last\n"


@pytest.fixture
def home(runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel) -> AgentRuntime:
    return runtime(llm_url=model.url, **platform(bot))


def taken(home: AgentRuntime) -> Delivery:
    delivery = home.control.take(0.0)
    assert delivery is not None
    return delivery


def test_an_answer_that_the_platform_does_not_take_comes_later_and_once(
    home: AgentRuntime, bot: BotApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = event("/help", session=f"telegram:{OWNER}", sender=f"telegram:{OWNER}")
    home.queue.put(asked)
    again: list[Delivery] = []
    monkeypatch.setattr(
        type(home.control), "retry", lambda queue, delivery, delay: again.append(delivery)
    )
    bot.fail(502, "Bad Gateway", times=1)
    delivery = taken(home)
    process(delivery, home)
    assert (bot.messages, again) == ([], [delivery])
    process(delivery, home)
    process(delivery, home)  # handed out again though it was done
    assert len(bot.messages) == 1


def test_a_clock_that_is_set_ahead_loses_no_answer(home: AgentRuntime, bot: BotApi) -> None:
    home.queue.put(event("/help", session=f"telegram:{OWNER}", sender=f"telegram:{OWNER}"))
    delivery = taken(home)
    bot.fail(502, "Bad Gateway", times=1)
    process(delivery, home)
    ahead = replace(home.app.clock, now=lambda: time.time() + 86_400.0)
    bot.fail(502, "Bad Gateway", times=1)
    process(delivery, replace(home, app=replace(home.app, clock=ahead)))
    assert bot.messages == []
    process(delivery, home)
    assert len(bot.messages) == 1


def test_an_answer_in_parts_goes_on_where_it_stopped(
    home: AgentRuntime, bot: BotApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.app.documents.write(
        keys.session_of("main", f"telegram:{OWNER}"),
        "memory",
        "word " * 1_200,
        by="t",
        why="",
        expect=0,
    )
    asked = event("/recall", session=f"telegram:{OWNER}", sender=f"telegram:{OWNER}")
    home.queue.put(asked)
    delivery = taken(home)
    channel = home.channels["telegram"]
    send = type(channel).send

    def cut_off(self: Any, reply: Reply, sent: Callable[[int], None]) -> None:
        def then_away(parts: int) -> None:
            sent(parts)
            raise Busy("slow down")

        send(self, reply, then_away)

    with monkeypatch.context() as broken:
        broken.setattr(type(channel), "send", cut_off)
        broken.setattr(type(home.control), "retry", lambda *_: None)
        process(delivery, home)
    assert len(bot.messages) == 1
    process(delivery, home)
    assert len(bot.messages) == 2


def test_stop_waits_for_no_answer_that_cannot_be_sent(home: AgentRuntime, bot: BotApi) -> None:
    home.queue.put(event("/help", session=f"telegram:{OWNER}", sender=f"telegram:{OWNER}"))
    home.queue.put(event("/stop", session=f"telegram:{OWNER}", sender=f"telegram:{OWNER}"))
    bot.fail(502, "Bad Gateway", times=1)
    first, second = taken(home), taken(home)
    assert {first.event.text, second.event.text} == {"/help", "/stop"}


def test_an_inquiry_about_a_chat_that_is_incomplete_is_told_and_not_tried_for_ever(
    home: AgentRuntime, bot: BotApi
) -> None:
    sessions = Sessions(home.stores.kv, MemoryArtifacts())
    session = keys.session_of("main", f"telegram:{OWNER}")
    sessions.save(
        sessions.open(session),
        Document().add(*[Message("user", os.urandom(20_000).hex()) for _ in range(30)]),
    )
    home.queue.put(event("/status", session=f"telegram:{OWNER}", sender=f"telegram:{OWNER}"))
    process(taken(home), home)
    assert [message["text"] for message in bot.messages] == [ENGLISH.lost_memory]
    assert home.control.take(0.0) is None


def test_an_inquiry_that_crashes_the_process_again_and_again_is_given_up(
    home: AgentRuntime, bot: BotApi
) -> None:
    home.queue.put(event("/status", session=f"telegram:{OWNER}", sender=f"telegram:{OWNER}"))
    process(replace(taken(home), tries=TRIES_MOST), home)
    assert [message["text"] for message in bot.messages] == [ENGLISH.gave_up]
    assert home.control.take(0.0) is None
