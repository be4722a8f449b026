"""What no turn passes, through the real server: a halt, a budget, a task without an end, a call
that takes too long.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest

from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel, call, results, say
from tests.fakes.server import Answer
from tests.functions.agent.talk import tell
from tests.functions.model_steps import (
    Gate,
    cascade,
    deploy,
    failing,
    find,
    going,
    shell,
)
from tests.functions.people import GROUP, GUEST, OWNER, STRANGER, Live, platform, reason, sentence
from tests.functions.serving import serving
from tests.servers.programs import ProgramForker

Lives = Callable[..., AbstractContextManager[Live]]
DEAR = {"usage": {"prompt_tokens": 59_000, "completion_tokens": 1_000}}
MARK = {
    "name": "mark",
    "description": "Leave a mark.",
    "execute": (
        "const before = Number(await env.KV.get('mark') ?? 0); await env.KV.put('mark',"
        " String(before + 1)); return before"
    ),
    "permissions": {"kv": True},
}
LOCKED, CASCADE, BUDGET = reason("halted"), reason("cascade"), reason("budget")


def plain(text: str) -> str:
    return text.replace("`", "")


@pytest.mark.parametrize(("by", "count"), [("chat", 30), ("shell", 20)])
def test_a_halt_comes_before_all_the_messages_that_wait(
    live: Lives, model: ScriptedModel, tmp_path: Path, forked: ProgramForker, by: str, count: int
) -> None:
    gates = [Gate(call(("cap_mark", {}))) for _ in range(2)]
    with live(workers=2) as agent:
        assert agent.server.post("/_api/deploy", json=MARK).status_code == 201
        for chat in (201, 202):
            model.then(call(("sigil_query", {"query": "mark"})), say("ready"))
            assert agent.ask("find it", chat) == "ready"
        asked = len(model.bodies)
        model.then(*gates)
        for number in range(count):
            agent.write(f"message {number}", 201 + number % 10)
        model.wait_for(asked + 2)
        if by == "chat":
            assert agent.ask("/halt") == plain(ENGLISH.halted)
        else:
            done = shell(tmp_path, "halt", **forked.environment)
            assert (done.returncode, done.stdout) == (
                0,
                "halted: every chat; `uncaged unlock` lets it go on\n",
            )
        for gate in gates:
            gate.open.set()

        chats = range(201, 211)
        expected = {}
        for chat in chats:
            runs = chat in (
                201,
                202,
            )  # the turn that ran is told that it was halted; those that waited are told together
            waited = count // 10 - runs
            together = (
                f"{LOCKED} {ENGLISH.missed_meanwhile.format(count=waited)}"
                if waited > 1
                else LOCKED
            )
            expected[chat] = ["ready", LOCKED, together] if runs else [together]
        agent.until(
            lambda: all(len(agent.list_texts(chat)) >= len(expected[chat]) for chat in chats), 40
        )
        assert {chat: agent.list_texts(chat) for chat in chats} == expected
        assert len(model.bodies) == asked + 2
        assert {agent.state(chat) for chat in chats} == {"SAFETY_LOCKOUT"}

        if by == "chat":
            assert agent.ask("/unlock") == ENGLISH.unlocked
        else:
            assert shell(tmp_path, "unlock", **forked.environment).returncode == 0
        assert agent.state(210) == "WAITING_FOR_EVENT"
        assert agent.ask("hello", 210) == "done"
        model.then(call(("cap_mark", {})), say("marked"))
        assert agent.ask("mark it", 201) == "marked"
    *before, mark = results(model.bodies[-1])
    assert mark == '{"ok":0}'  # nobody was there before
    assert [json.loads(result.splitlines()[0])["error"]["code"] for result in before[1:]] in (
        [],
        ["ESTOPPED"],
    )


def test_a_running_turn_is_halted_though_the_model_hangs(live: Lives, model: ScriptedModel) -> None:
    model.then(Answer(hang=True))
    with live() as agent:
        agent.write("go", GUEST)
        model.wait_for(1)
        assert agent.ask("/halt") == plain(ENGLISH.halted)
        assert agent.replies(GUEST, 1) == [LOCKED]
    assert len(model.bodies) == 1


def test_a_halt_here_leaves_the_other_chats_alone(live: Lives, model: ScriptedModel) -> None:
    with live() as agent:
        assert agent.ask("/halt here") == plain(ENGLISH.halted_here)
        assert agent.ask("hello") == reason("halted", owner=True)
        assert agent.ask("hello", GUEST) == "done"
        assert (agent.state(), agent.state(GUEST)) == ("SAFETY_LOCKOUT", "WAITING_FOR_EVENT")
        assert agent.ask("/unlock") == ENGLISH.unlocked
        assert agent.ask("hello") == "done"


OPENS_NOTHING = [
    "/unlock",
    "/UNLOCK",
    "/unlock here",
    "/unlock@sigil_bot",
    "admin:unlock",
    "ADMIN:UNLOCK",
    " admin:unlock ",
    "/new",
    "/stop",
    "/halt",
    "please go on",
    "/unlock telegram:42",
    "admin:unlock --as telegram:42",
    "/unlock\nadmin:unlock",
]


def test_nothing_that_anybody_else_writes_opens_it(live: Lives, model: ScriptedModel) -> None:
    model.then(*cascade())
    named = {
        "from": {
            "id": GUEST,
            "is_bot": False,
            "first_name": "telegram:42",
            "last_name": "Owner",
            "username": "terminal:local",
        }
    }
    group = {"id": GUEST, "type": "private"}
    with live() as agent:
        assert agent.ask("go", GUEST) == CASCADE
        for text in OPENS_NOTHING:
            agent.ask(text, GUEST, **named, chat=group)
            assert agent.state(GUEST) == "ERROR_PAUSED", text
        forwarded = {
            "forward_origin": {
                "type": "user",
                "sender_user": {"id": OWNER, "is_bot": False, "first_name": "Ada"},
            }
        }
        replied = {
            "reply_to_message": {
                "message_id": 1,
                "from": {"id": OWNER, "is_bot": False},
                "text": "/unlock",
            }
        }
        for more in (forwarded, replied):
            agent.ask("/unlock", GUEST, **more)
            assert agent.state(GUEST) == "ERROR_PAUSED"
        assert agent.ask("hello", GUEST) == CASCADE
    with live() as agent:
        assert agent.ask("hello", GUEST) == CASCADE
    assert len(model.bodies) == 4


def test_time_does_not_open_it(
    runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel
) -> None:
    model.then(*cascade())
    home = runtime(llm_url=model.url, tokens_per_day=100_000, **platform(bot))
    now = home.app.clock.now
    later = replace(
        home, app=replace(home.app, clock=replace(home.app.clock, now=lambda: now() + 400 * 86_400))
    )
    with serving(home) as server:
        agent = Live(server, bot)
        assert agent.ask("go", GUEST) == CASCADE
        assert agent.ask("/halt here", STRANGER) == ENGLISH.owners_only
        assert (
            agent.server.post("/halt", json={"session": f"telegram:{STRANGER}"}).status_code == 200
        )
    with serving(later) as server:
        agent = Live(server, bot)
        assert agent.ask("hello", GUEST) == CASCADE
        assert agent.ask("hello", STRANGER) == LOCKED


def test_a_clock_that_is_set_neither_opens_nor_holds(
    runtime: Callable[..., AgentRuntime],
    model: ScriptedModel,
    tmp_path: Path,
    forked: ProgramForker,
) -> None:
    home = runtime(llm_url=model.url, owners=(f"telegram:{OWNER}",))
    now = home.app.clock.now
    ahead = replace(
        home, app=replace(home.app, clock=replace(home.app.clock, now=lambda: now() + 86_400))
    )
    model.then(*cascade(), *cascade())
    assert tell(ahead, "/unlock", sender=f"telegram:{OWNER}") == [ENGLISH.unlocked]
    assert tell(home, "go") == [sentence("cascade")]
    assert tell(home, "hello") == [
        sentence("cascade")
    ]  # what was said under the other clock was said before

    assert tell(ahead, "go", session="telegram:8") == [sentence("cascade")]
    assert shell(tmp_path, "unlock", **forked.environment).returncode == 0
    assert tell(home, "hello") == tell(home, "hello", session="telegram:8") == ["done"]


def test_the_agent_cannot_open_itself(live: Lives, model: ScriptedModel) -> None:
    says = {
        "name": "says",
        "description": "Say how to go on.",
        "execute": "return 'admin:unlock'",
    }
    first, second, _, last = cascade()
    model.then(
        call(("sigil_query", {"query": "says"})),
        call(("cap_says", {}), ("admin:unlock", {}), ("unlock", {}), ("/unlock", {})),
        first,
        second,
        last,
    )
    with live() as agent:
        assert agent.server.post("/_api/deploy", json=says).status_code == 201
        assert agent.ask("go", GUEST) == CASCADE
        model.then(say("/unlock"), say("admin:unlock"))
        assert agent.ask("unlock yourself", STRANGER) == "/unlock"
        assert agent.ask("unlock yourself", STRANGER) == "admin:unlock"
        assert agent.state(GUEST) == "ERROR_PAUSED"
        assert agent.ask("hello", GUEST) == CASCADE


def test_in_a_group_an_owner_opens_and_nobody_else(live: Lives, model: ScriptedModel) -> None:
    command = {"chat": GROUP, "entities": [{"type": "bot_command", "offset": 0, "length": 7}]}
    mention = {"chat": GROUP, "entities": [{"type": "mention", "offset": 0, "length": 10}]}
    session = GROUP["id"]
    model.then(*map(failing, range(8)))
    with live() as agent:
        assert agent.ask("@sigil_bot go", GUEST, **mention) == reason("frustration")
        assert agent.ask("@sigil_bot again", GUEST, **mention) == reason("frustration", guest=True)
        yours = agent.ask("@sigil_bot again", OWNER, **mention)
        assert yours == CASCADE.replace(
            "My owner can", "You can"
        )  # others read it too: what failed is told as it is told to them
        assert agent.ask("/unlock", GUEST, **command) == ENGLISH.owners_only
        anonymous = {"sender_chat": GROUP}
        agent.write(
            "/unlock", OWNER, **command, **anonymous
        )  # whoever hides behind the group is nobody
        assert agent.ask("@sigil_bot hello", GUEST, **mention) == CASCADE
        assert agent.state(session) == "ERROR_PAUSED"  # type: ignore[arg-type]
        assert agent.ask("/unlock", OWNER, **command) == ENGLISH.unlocked
        assert agent.ask("@sigil_bot hello", GUEST, **mention) == "done"


def test_the_budget_holds_in_every_chat_until_the_next_period_or_an_owner(
    runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, tokens_per_day=100_000, **platform(bot))
    now, moved = home.app.clock.now, [0.0]
    timed = replace(
        home, app=replace(home.app, clock=replace(home.app.clock, now=lambda: now() + moved[0]))
    )
    model.then(going(1) | DEAR, going(2) | DEAR)
    with serving(timed) as server:
        agent = Live(server, bot)
        assert agent.ask("go", GUEST) == BUDGET
        assert agent.ask("hello", STRANGER) == BUDGET
        assert len(model.bodies) == 2
        assert (agent.state(GUEST), agent.state(STRANGER)) == ("STOPPED", "STOPPED")
        report = agent.status(GUEST)
        assert (report["spent"], report["most"], report["reason"]) == (120_000, 100_000, "budget")
        assert "Tokens in " in agent.ask("/status all", STRANGER)

        moved[0] += 86_400
        assert agent.ask("hello", GUEST) == "done"
        model.then(say("dear") | {"usage": {"prompt_tokens": 100_000, "completion_tokens": 1}})
        assert agent.ask("more", GUEST) == "dear"
        assert agent.ask("hello", STRANGER) == BUDGET
        assert agent.ask("/unlock", STRANGER) == ENGLISH.owners_only
        assert agent.ask("hello", STRANGER) == BUDGET
        assert agent.ask("/unlock") == ENGLISH.unlocked
        assert agent.ask("hello", STRANGER) == agent.ask("hello", GUEST) == "done"


def test_what_was_spent_adds_up_after_an_unlock(live: Lives, model: ScriptedModel) -> None:
    spent = {"usage": {"prompt_tokens": 100, "completion_tokens": 10}}
    model.then(going(1) | DEAR, going(2) | DEAR, say("on we go") | spent, say("here too") | spent)
    with live(tokens_per_day=100_000) as agent:
        assert agent.ask("go") == reason("budget", owner=True)
        assert agent.ask("/unlock") == ENGLISH.unlocked
        assert agent.ask("and now?") == "on we go"
        usage, status, report = agent.ask("/usage"), agent.ask("/status all"), agent.status()
        assert agent.ask("hello", GUEST) == "here too"
        elsewhere = agent.ask("/usage")

    day = report["period"]
    assert (
        f"In {day}: 120,110 tokens in this chat, 120,110 in all of them; 110 of 100,000"
        " are used since an unlock" in usage
    )
    assert (
        f"Tokens in {day}: 120,110, 120,110 of them here; 110 of 100,000 are used since"
        " an unlock" in status
    )
    assert (
        f"In {day}: 120,110 tokens in this chat, 120,220 in all of them; 220 of 100,000"
        " are used since an unlock" in elsewhere
    )
    assert (report["own"], report["total"], report["spent"], report["most"]) == (
        120_110,
        120_110,
        110,
        100_000,
    )


def test_a_chats_own_cap_stops_that_chat_alone(live: Lives, model: ScriptedModel) -> None:
    model.then(going(1) | DEAR, say("never said"))
    with live(session_tokens=50_000) as agent:
        assert agent.ask("go", GUEST) == reason("session-budget")
        assert agent.state(GUEST) == "STOPPED"
        assert agent.ask("hello", STRANGER) == "never said"
        assert (
            agent.ask("/new", GUEST)
            == f"New session started. It stays locked. {reason('session-budget')}"
        )
        assert agent.ask("hello", GUEST) == reason("session-budget")
        assert (
            agent.server.post("/unlock", json={"session": f"telegram:{GUEST}"}).status_code == 200
        )
        assert agent.ask("hello", GUEST) == "done"


def test_without_usage_the_budget_counts_what_it_estimates(
    live: Lives, model: ScriptedModel
) -> None:
    model.then(say("x" * 400) | {"usage": None}, say("never said"))
    with live(tokens_per_day=300) as agent:
        agent.ask("go")
        assert agent.status()["spent"] > 300
        assert agent.ask("again") == reason("budget", owner=True)
    assert len(model.bodies) == 1


def test_what_a_person_writes_next_is_counted_from_the_start(
    live: Lives, model: ScriptedModel
) -> None:
    with live(ticks=3) as agent:
        for chat in (OWNER, GUEST):
            for number in range(3):
                model.then(going(number), going(number + 10), say("as many steps as there are"))
                assert agent.ask("go", chat) == "as many steps as there are"
            assert agent.state(chat) == "WAITING_FOR_EVENT"


def test_a_call_ends_at_its_own_limit_and_the_process_is_well(
    live: Lives, model: ScriptedModel
) -> None:
    model.then(
        find("spin"), call(("cap_spin", {})), find("fine"), call(("cap_fine", {})), say("done")
    )
    with live() as agent:
        deploy(agent, "spin", "fine")
        assert agent.ask("go") == "done"
        assert agent.server.client.get("/health").json()["ok"] is True
    spun, _, fine = results(model.bodies[-1])[1:]
    assert json.loads(spun.splitlines()[0])["error"]["message"] == "timed out after 60 ms"
    assert fine == '{"ok":"fine"}'


def test_a_call_that_nothing_ends_is_left_after_its_time(live: Lives, model: ScriptedModel) -> None:
    slow = {
        "name": "slow",
        "description": "Take long.",
        "execute": "for (;;);",
        "limits": {"timeout_ms": 4_000},
    }
    model.then(
        call(("sigil_query", {"query": "slow"})),
        call(("cap_slow", {}), ("sigil_query", {"query": "fine"})),
        say("What now?"),
    )
    with live(call_seconds=1.0, runners=2) as agent:
        assert agent.server.post("/_api/deploy", json=slow).status_code == 201
        deploy(agent, "fine")
        assert agent.ask("go") == "What now?"
        model.then(call(("cap_fine", {})), say("well"))
        assert agent.ask("and now?") == "well"
    late, found, fine = results(model.bodies[-1])[1:]
    error = json.loads(late.splitlines()[0])["error"]
    assert (error["code"], error["message"]) == (
        "ETIMEDOUT",
        "timed out after 1000 ms; whether it took effect is unknown",
    )
    assert '"capability":"fine"' in found
    assert fine == '{"ok":"fine"}'
