"""The terminal's conversation beside other workers, and after crashes: real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from functions.events import Event, Sender, order_of
from functions.wiring import AgentRuntime
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel, call, results, say
from tests.fakes.server import Answer, Recorded, RecordingServer
from tests.functions.cli.programs import COMMAND, terminal, uncaged
from tests.functions.serving import serving
from tests.machine import within

SESSION = keys.session_of("main", "terminal:main")


class Shop(RecordingServer):
    """Where something is paid for, once `opened`."""

    def __init__(self) -> None:
        super().__init__()
        self.opened = threading.Event()

    def answer(self, request: Recorded) -> Answer:
        self.opened.wait(within(4))
        return Answer(200, b"paid")


def write(text: str, number: int = 1) -> Event:
    now = time.time()
    return Event(
        id=f"terminal:{text}-{number}",
        kind="message",
        agent="main",
        session="terminal:main",
        sender=Sender("terminal:local", "you"),
        text=text,
        at=now,
        order=order_of(now, number),
        private=True,
    )


def test_a_turn_under_serve_is_waited_for_and_what_it_paid_for_is_known_as_paid(
    runtime: Callable[..., AgentRuntime], environment: dict[str, str], model: ScriptedModel
) -> None:
    with Shop() as shop:
        agent = runtime(llm_url=model.url, loopback=True)
        order = {
            "name": "order",
            "description": "Order it.",
            "execute": f"return (await fetch('{shop.url}/order')).status",
            "permissions": {"http": [f"GET {shop.url.removeprefix('http://')}/order"]},
        }
        model.then(
            call(("sigil_query", {"query": "order"})),
            call(("cap_order", {})),
            say("ordered"),
            say("second"),
        )
        with serving(agent) as server:
            assert server.post("/_api/deploy", json=order).status_code == 201
            assert server.post("/_api/grant", json={"ref": "order"}).status_code == 200
            agent.queue.put(write("order it"))
            shop.wait_for(1, within(20))
            with subprocess.Popen(
                [*COMMAND, "chat", "-q", "two"],
                env={**environment, "UNCAGED_LLM_URL": model.url, "UNCAGED_LIBRARY": "none"},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            ) as second:
                assert second.stderr is not None
                assert "waiting for it" in second.stderr.readline()
                shop.opened.set()
                assert second.communicate(timeout=within(30))[0] == "second\n"

    assert results(model.bodies[2])[-1] == '{"ok":200}'
    assert "EINTERRUPTED" not in str(model.bodies)
    assert len(shop.requests) == 1
    assert len(model.bodies) == 4


def test_a_turn_whose_terminal_was_killed_goes_on_at_the_next_start_at_once(
    runtime: Callable[..., AgentRuntime], environment: dict[str, str], model: ScriptedModel
) -> None:
    def hang(body: dict[str, Any]) -> Answer:
        return Answer(hang=True)

    model.then(hang, say("the first after all"), say("the second"))
    more = {"UNCAGED_LLM_URL": model.url, "UNCAGED_LIBRARY": "none", "UNCAGED_LEASE": "300"}
    with terminal(environment, **more) as screen:
        screen.wait_for_match("› ")
        screen.type("one\n")
        model.wait_for(1, within(20))
        os.killpg(screen.process.pid, signal.SIGKILL)
        screen.process.wait()
    with terminal(environment, **more) as screen:
        screen.wait_for_match("going on with a turn that was interrupted")
        screen.wait_for_match("while you were away(?s:.*)the first after all(?s:.*)› ")
        screen.type("two\n")
        screen.wait_for_match("the second(?s:.*)› ")
    said = [message["role"] for message in model.bodies[-1]["messages"]]
    assert said == ["system", "user", "assistant", "user"]
    # the words of what is told with the unread are not shown beside it
    assert ["stream" in body for body in model.bodies] == [True, False, True]
    kv = runtime().stores.kv
    assert kv.scan(keys.inbox_event(SESSION, "").partition) == []


def test_ctrl_c_takes_a_message_back_that_waits_for_another_terminal(
    environment: dict[str, str], model: ScriptedModel
) -> None:
    go = threading.Event()

    def slow(body: dict[str, Any]) -> dict[str, Any]:
        go.wait(within(20))
        return say("first")

    model.then(slow)
    more = {"UNCAGED_LLM_URL": model.url, "UNCAGED_LIBRARY": "none"}
    with subprocess.Popen(
        [*COMMAND, "chat", "-q", "one"],
        env={**environment, **more},
        stdout=subprocess.PIPE,
        text=True,
    ) as first:
        model.wait_for(1, within(20))
        with terminal(environment, **more) as screen:
            screen.wait_for_match("› ")
            screen.type("two\n")
            screen.wait_for_match("waiting for it")
            screen.process.send_signal(signal.SIGINT)
            screen.wait_for_match("taken back(?s:.*)› ")
        go.set()
        assert first.communicate(timeout=within(30))[0] == "first\n"
    assert uncaged(environment, "chat", "-q", "/history", **more).stdout.count("two") == 0
    assert len(model.bodies) == 1


def test_what_is_said_while_a_line_is_typed_appears_above_it_and_the_line_stays(
    runtime: Callable[..., AgentRuntime], environment: dict[str, str], model: ScriptedModel
) -> None:
    agent = runtime()
    replies = agent.replies
    model.then(say("answered"))
    more = {"UNCAGED_LLM_URL": model.url, "UNCAGED_LIBRARY": "none"}
    # nobody has worked on it when the terminal starts
    agent.queue.put(replace(write("Call Bob."), id="say:1", kind="say", by="terminal:local"))
    with terminal(environment, **more) as screen:
        screen.wait_for_match("while you were away(?s:.*)Call Bob.(?s:.*)› ")
        screen.type("tell me mre\x1b[D\x1b[D")  # the cursor is before `re`
        screen.wait_for_match("mre")
        replies.keep(SESSION, "say:2", {"reply": "The kettle boils."})
        shown = screen.wait_for_match("The kettle boils.(?s:.*)› tell me mre")
        assert "while you were away" not in shown
        screen.type("o\n")
        screen.wait_for_match("answered(?s:.*)› ")
        screen.type("\x04")
        screen.wait_for_end()
        assert screen.process.returncode == 0
    assert str(model.chats[0]["messages"][-1]["content"]).endswith("tell me more")
    assert replies.unread.list_from(SESSION) == []


def test_a_single_question_shows_on_stderr_what_was_said_before_and_a_quiet_one_keeps_it(
    runtime: Callable[..., AgentRuntime], environment: dict[str, str]
) -> None:
    replies = runtime().replies
    replies.keep(SESSION, "say:1", {"reply": "Call Bob."})
    more = {"UNCAGED_LIBRARY": "none"}
    assert uncaged(environment, "chat", "-q", "/help", **more).stderr == ""
    shown = uncaged(environment, "chat", "/whoami", **more)
    assert "Call Bob." in shown.stderr
    assert "Call Bob." not in shown.stdout
    assert "Call Bob." not in uncaged(environment, "chat", "/whoami", **more).stderr


def test_who_waits_for_a_teammate_is_told_once_when_nobody_does_its_work(
    runtime: Callable[..., AgentRuntime], environment: dict[str, str]
) -> None:
    agent = runtime()
    own = replace(write("look"), id="task:1", kind="task", session="own:main", by="terminal:local")
    with terminal(environment, UNCAGED_LIBRARY="none") as screen:
        screen.wait_for_match("› ")
        screen.type("hello\n")
        assert "work beside this" not in screen.wait_for_match("tools:(?s:.*)› ")
        agent.work.put(own)
        screen.type("hello\n")
        screen.wait_for_match(r"work beside this(?s:.*)uncaged\s+serve(?s:.*)› ")
        screen.type("hello\n")
        assert "work beside this" not in screen.wait_for_match("tools:(?s:.*)› ")
        screen.type("\x04")
        screen.wait_for_end()
