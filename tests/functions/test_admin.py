"""The person's own switch from outside: what POST /halt, POST /unlock, GET /status and the command
answer, above all to odd requests.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest

from functions.agent.agents.record import AgentRecord, add_agent
from functions.agent.safety.budget import SafetyLimits, name_period
from functions.wiring import AgentRuntime
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel, say
from tests.functions.agent.talk import tell
from tests.functions.model_steps import cascade, failing, shell
from tests.functions.people import GUEST, OWNER, Live, reason, sentence
from tests.selection import sample
from tests.servers.programs import ProgramForker

Lives = Callable[..., AbstractContextManager[Live]]
ODD = [
    b"{",
    b"[" * 5_000,
    b'"telegram:42"',
    b"[]",
    b"null",
    b"\xff\xfe",
    b'{"session": null}',
    b'{"session": 42}',
    b'{"session": ["telegram:42"]}',
    b'{"session": "telegram"}',
    b'{"session": "telegram:42", "force": true}',
    b'{"session": "\\ud800:1"}',
    b'{"sesion": "telegram:42"}',
    b'{"agent": ""}',
    b'{"agent": "main.alice"}',
    b'{"agent": ["alice"]}',
    b'{"agent": "alice", "session": "telegram:42"}',
    b'{"session": "telegram:' + b"4" * 300 + b'"}',
    b"{" + b" " * (1 << 20) + b"}",
]


def test_one_agent_below_the_root_is_halted_and_unlocked(live: Lives) -> None:
    with live() as agent:
        server = agent.server
        kv = server.runtime.stores.kv
        add_agent(kv, "main", "alice", AgentRecord("agent", "enabled", 0.0, "http:admin"))
        assert server.post("/halt", json={"agent": "alice"}).json() == {"halted": "alice"}
        told = server.client.get("/status", params={"agent": "alice"}).json()
        assert (told["agent"], told["state"]) == ("main.alice", "SAFETY_LOCKOUT")
        assert server.client.get("/status").json()["state"] == "WAITING_FOR_EVENT"
        assert server.post("/unlock", json={"agent": "alice"}).json() == {"unlocked": "alice"}
        told = server.client.get("/status", params={"agent": "alice"}).json()
        assert told["state"] == "WAITING_FOR_EVENT"
        absent = server.post("/halt", json={"agent": "bob"})
        assert (absent.status_code, absent.json()["error"]["code"]) == (404, "ENOENT")


def test_odd_requests_are_refused_plainly_and_change_nothing(
    live: Lives, model: ScriptedModel
) -> None:
    with live() as agent:
        for path in ("/halt", "/unlock"):
            for body in ODD:
                answer = agent.server.client.post(path, content=body)
                assert answer.status_code == (413 if len(body) > 1 << 20 else 400), body[:60]
                error = answer.json()["error"]
                assert set(error) == {"source", "code", "message", "suggestion"}
                assert error["message"]
        for session in ("telegram", "x" * 400, "x:" + "y" * 300):
            answer = agent.server.client.get("/status", params={"session": session})
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, "EINVAL")
        for method, path in (("GET", "/halt"), ("DELETE", "/unlock"), ("POST", "/status")):
            assert agent.server.client.request(method, path).status_code == 405
        assert agent.ask("hello") == "done"


NOTHING = {"prompt": 0, "completion": 0, "cached": 0, "estimated": False, "saved": 0, "cost": 0.0}


def test_what_the_switch_answers(live: Lives, model: ScriptedModel) -> None:
    chat = f"telegram:{GUEST}"
    with live() as agent:
        post, status = agent.server.post, agent.server.client.get
        for empty in (b"", b"{}", b" \n", b'{"session": ""}'):
            assert post("/halt", content=empty).json() == {"halted": "*"}
            assert post("/unlock", content=empty).json() == {"unlocked": "*"}
        assert post("/halt", json={"session": chat}).json() == {"halted": chat}
        assert status("/status", params={"session": chat}).json()["state"] == "SAFETY_LOCKOUT"
        assert status("/status").json() | {"period": ""} == {
            "agent": "main",
            "session": "http:admin:main",
            "state": "WAITING_FOR_EVENT",
            "reason": "",
            "consecutive": 0,
            "failed": 0,
            "operations": 0,
            "period": "",
            "spent": 0,
            "most": 1_500_000,
            "total": 0,
            "own": 0,
            "left": 1_500_000,
            "cost": 0.0,
            "failures": [],
            "usage": NOTHING,
            "last": NOTHING,
            "agent_spent": None,
            "agent_most": 0,
            "hp": {
                "hp": 100_000,
                "most": 100_000,
                "floor": 1_000,
                "state": "ok",
                "works_at": None,
                "full_at": None,
            },
            "next": None,
            "turn": None,
        }
        assert agent.ask("hello", GUEST) == reason("halted")
        assert post("/unlock", json={"session": chat}).json() == {"unlocked": chat}
        assert agent.ask("hello", GUEST) == "done"
        assert (
            status("/status", params={"session": "telegram:never-seen"}).json()["state"]
            == "WAITING_FOR_EVENT"
        )


def test_the_switch_is_for_the_admin_token_alone(live: Lives, model: ScriptedModel) -> None:
    with live() as agent:
        holder = agent.server.post("/_api/tokens", json={"namespace": "bob"}).json()
        for header in (
            {},
            {"authorization": "Bearer wrong"},
            {"authorization": f"Bearer {holder.get('token', 'none')}"},
        ):
            for method, path in (("POST", "/halt"), ("POST", "/unlock"), ("GET", "/status")):
                assert httpx.request(
                    method, agent.server.url + path, headers=header
                ).status_code in (401, 403)
        assert agent.ask("hello") == "done"


def test_the_command_halts_shows_and_unlocks_from_another_process(
    live: Lives, model: ScriptedModel, tmp_path: Path, forked: ProgramForker
) -> None:
    model.then(failing({"deep": "1"}), say("What now?"))
    chat = f"telegram:{GUEST}"
    with live() as agent:
        assert agent.ask("go", GUEST) == "What now?"
        halted = shell(tmp_path, "halt", "--session", chat, "--json", **forked.environment)
        assert (halted.returncode, json.loads(halted.stdout)) == (0, {"halted": chat})
        assert agent.ask("hello", GUEST) == reason("halted")
        shown = json.loads(
            shell(
                tmp_path, "agent", "status", "--session", chat, "--json", **forked.environment
            ).stdout
        )
        assert (shown["state"], shown["reason"], shown["failed"]) == ("SAFETY_LOCKOUT", "halted", 1)
        told = agent.status(GUEST)
        assert (told["most"], told["left"]) == (1_500_000, 1_500_000 - told["spent"])
        assert shown | {"most": 1_500_000, "left": told["left"]} == told
        freed = shell(tmp_path, "unlock", "--session", chat, "--json", **forked.environment)
        assert (freed.returncode, json.loads(freed.stdout)) == (0, {"unlocked": chat})
        assert agent.ask("hello", GUEST) == "done"
        text = shell(tmp_path, "agent", "status", "--session", chat, **forked.environment).stdout
        assert text.startswith(
            "State: WAITING_FOR_EVENT\nFailures: 0 in a row, 0 of the last 0 operations\n"
        )
        assert 'Tool "no_such_tool" failed with ENOTOOL.' in text


def test_the_command_says_what_is_wrong(tmp_path: Path, forked: ProgramForker) -> None:
    for arguments in (
        ("halt", "--session", "everybody"),
        ("unlock", "--session", "telegram"),
        ("agent", "status", "--session", "nobody"),
        ("halt", "--session", "x:" + "y" * 400),
    ):
        done = shell(tmp_path, *arguments, **forked.environment)
        assert (done.returncode, done.stdout) == (2, ""), arguments
        assert "Traceback" not in done.stderr
        assert done.stderr.startswith("error: ")
    assert shell(tmp_path, "halt", "telegram:42", **forked.environment).returncode == 2
    assert (
        json.loads(shell(tmp_path, "agent", "status", "--json", **forked.environment).stdout)[
            "state"
        ]
        == "WAITING_FOR_EVENT"
    )


def test_an_unknown_guide_or_strategy_names_those_that_there_are(
    tmp_path: Path, forked: ProgramForker
) -> None:
    for name, known in (
        ("UNCAGED_GUIDE", "default, security, learner, debugger, none"),
        ("UNCAGED_CONTEXT", "window, summary, none"),
    ):
        named = {name: "no such", "UNCAGED_LIBRARY": "none"}
        done = shell(tmp_path, "chat", "hello", **named, **forked.environment)
        assert (done.returncode, done.stdout) == (2, "")
        assert known in done.stderr
        assert "Traceback" not in done.stderr


def _damages() -> list[tuple[str, Any]]:
    """Return each field of a session's safety state, and something that it cannot be; the state as a
    whole has no name.
    """
    fields: dict[str, tuple[Any, ...]] = {
        "reason": ("nonsense", 3, None),
        "since": ("soon", None, -1, 1e300),
        "counters": (None, [], {}, "?"),
        "counters.consecutive": (-1, "1", None, 1.5, True),
        "counters.window": (
            "?",
            None,
            {},
            [1],
            [{}],
            [{"fingerprint": 1, "result": "", "failed": True}],
        ),
        "counters.failures": (
            "?",
            None,
            [1],
            [{"source": "x"}],
            [{"source": 1, "fingerprint": "f"}],
        ),
        "heard": ("never", None, -1, 1e300),
        "period": (5, None),
        "spent": (-1, "1", None),
        "free": (-1, 1.5),
        "task": (5,),
        "ticks": (-1, "many"),
        "told": (0, "yes"),
    }
    fields[""] = ([], "?", 5, {})
    return [(name, value) for name, values in fields.items() for value in sample(values, 2)]


def test_a_damaged_state_locks_the_chat_until_an_owner_mends_it_and_costs_nothing_else(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, owners=("telegram:1",))
    key = keys.session_of("main", "telegram:7")
    model.then(failing(), say("What now?"))
    tell(home, "remember me")
    for path, value in _damages():
        item = home.app.kv.get(keys.session_head(key))
        assert item is not None
        document = json.loads(item.value)
        *way, last = path.split(".")
        place = document["safety"]
        for step in way:
            place = place[step]
        if path:
            place[last] = value
        else:
            document["safety"] = value
        home.app.kv.put(keys.session_head(key), json.dumps(document).encode())

        asked = len(model.bodies)
        assert tell(home, "hello") == [sentence("damaged")], (path, value)
        assert tell(home, "hello") == [sentence("damaged")], (path, value)
        assert len(model.bodies) == asked
        assert tell(home, "/unlock", sender="telegram:1") == ["Unlocked."]
        assert tell(home, "hello") == ["done"], (path, value)
        assert "remember me" in json.dumps(model.bodies[asked]["messages"])


def test_a_damaged_lock_is_closed_until_an_owner_opens_it(
    live: Lives, runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    kv = runtime(llm_url=model.url).app.kv
    with live() as agent:
        odd = (b"", b"{", b"[]", b"{}", b'{"halted": "x", "unlocked": 0, "by": ""}', b"\xff")
        for whom, values in (
            ("main", odd),
            (keys.session_of("main", f"telegram:{GUEST}"), odd[:1]),
        ):
            for value in values:
                kv.put(keys.owner_lock(whom), value)
                assert agent.ask("hello", GUEST) == reason("halted")
                assert (
                    agent.server.post("/unlock", json={"session": f"telegram:{GUEST}"}).status_code
                    == 200
                )
                assert agent.ask("hello", GUEST) == "done"
        assert agent.ask("hello", OWNER) == "done"


def test_a_sum_that_cannot_be_read_stops_its_chat_until_an_owner_says_otherwise(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel, subtests: pytest.Subtests
) -> None:
    home = runtime(llm_url=model.url, owners=("telegram:1",))
    for number, value in enumerate((b"", b"garbage", b"-5", b"1e3", b"\xff", b"null")):
        with subtests.test(value=value):
            chat = f"telegram:8{number}"
            tell(home, "hello", session=chat)
            spent = keys.session_usage(
                "main", name_period(time.time(), SafetyLimits()), keys.session_of("main", chat)
            )
            assert home.app.kv.get(spent)
            home.app.kv.put(spent, value)

            assert tell(home, "hello", session=chat) == [sentence("budget")]
            assert tell(home, "/status", session=chat)[0].startswith(sentence("budget"))
            assert tell(home, "/unlock", session=chat, sender="telegram:1") == ["Unlocked."]
            assert tell(home, "hello") == tell(home, "hello", session=chat) == ["done"]


def test_a_stop_that_cannot_be_read_stops_nothing(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url)
    for value in (b"", b"garbage", b"[]", b"{}", b"5"):
        home.app.kv.put(keys.control_mark(keys.session_of("main", "telegram:7")), value)
        assert tell(home, "hello") == ["done"]


def test_what_stopped_a_chat_is_shown_with_what_failed(live: Lives, model: ScriptedModel) -> None:
    model.then(*cascade())
    with live() as agent:
        assert agent.ask("go") == reason("cascade", owner=True)
        text = agent.ask("/status all")
    assert text.startswith(reason("cascade", owner=True))
    assert text.count("【System Pain Alert】") == 3
    assert text.count('Tool "no_such_tool" failed with ENOTOOL.') == 3
    assert "Stop repeating" not in text
