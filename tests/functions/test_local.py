"""All entry points in one process: what comes in over HTTP, and what leaves."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from functions.texts.languages import load_texts
from functions.wiring import AgentRuntime
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel, say
from tests.functions.people import SECRET, post_update, private_platform, update
from tests.functions.serving import Served, serving
from tests.machine import until, within
from tests.sigil.mcp.messages import SHOUT, call

HASHED = "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9"
CREATE = """make a SHA-256 capability sha256-hash
```js
const d = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(input.text));
return [...new Uint8Array(d)].map((b) => b.toString(16).padStart(2, '0')).join('');
```"""


@pytest.fixture
def platform(bot: BotApi) -> dict[str, Any]:
    return private_platform(bot)


def test_the_first_dialogue_over_the_webhook(
    runtime: Callable[..., AgentRuntime], bot: BotApi, platform: dict[str, Any]
) -> None:
    with serving(runtime(library="builtin", **platform)) as server:
        assert post_update(server, update(1, "encode hello world in base64")).status_code == 200
        bot.wait_for(2)
        assert bot.wait_for_messages(1)[0]["text"].startswith("aGVsbG8gd29ybGQ=")
    assert "offline model" in bot.messages[0]["text"]
    assert bot.messages[0]["chat_id"] == 42
    assert bot.calls("sendChatAction")


def test_the_second_dialogue_over_the_webhook(
    runtime: Callable[..., AgentRuntime], bot: BotApi, platform: dict[str, Any]
) -> None:
    with serving(runtime(**platform)) as server:
        post_update(server, update(1, CREATE))
        assert "Created" in bot.wait_for_messages(1)[0]["text"]
        post_update(server, update(2, "hash hello world"))
        assert bot.wait_for_messages(2)[1]["text"].startswith(HASHED)


def test_both_dialogues_over_chat(runtime: Callable[..., AgentRuntime]) -> None:
    with serving(runtime(library="builtin")) as server:
        answer = server.post(
            "/chat", json={"session": "s1", "text": "encode hello world in base64"}
        ).json()
        assert answer["reply"].startswith("aGVsbG8gd29ybGQ=")
        assert answer["tools"] == ["sigil_query", "cap_encode"]
        assert answer["rounds"] == 3
        assert set(answer["usage"]) == {"prompt_tokens", "completion_tokens", "estimated"}
    with serving(runtime(library="none", agent="second")) as server:
        assert (
            "Created"
            in server.post("/chat", json={"session": "s1", "text": CREATE}).json()["reply"]
        )
        assert (
            server.post("/chat", json={"session": "s1", "text": "hash hello world"})
            .json()["reply"]
            .startswith(HASHED)
        )


def test_the_agents_own_texts_are_in_the_language_of_the_settings(
    runtime: Callable[..., AgentRuntime],
) -> None:
    with serving(runtime(language="de")) as server:
        german, english = (load_texts(code).meanings["help"] for code in ("de", "en"))
        assert german in server.post("/chat", json={"text": "/help"}).json()["reply"]
        # a chat that shows another language gets that
        server.post("/chat", json={"text": "what is the time, and what can you do for me?"})
        assert english in server.post("/chat", json={"text": "/help"}).json()["reply"]
        # a time that is told in another language is said again in that
        told = server.post("/chat", json={"text": "/remind morgen 19.30 essen"}).json()["reply"]
        assert told.startswith("Ich sage dann „essen“")
        assert "um 19:30 Uhr" in told


def test_what_a_command_cost_is_told_with_its_reply(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    model.then(say("# Soul\n\n## Personality\nDry."))
    with serving(runtime(llm_url=model.url)) as server:
        answer = server.post("/chat", json={"text": "/soul be dry"}).json()
        assert answer["reply"] == "Soul updated."
        assert answer["usage"]["prompt_tokens"] > 100
        assert answer["usage"]["completion_tokens"] == 10
        assert (
            f"{answer['usage']['prompt_tokens']} tokens of prompts"
            in server.post("/chat", json={"text": "/usage"}).json()["reply"]
        )


def test_a_redelivered_update_is_answered_once(
    runtime: Callable[..., AgentRuntime],
    bot: BotApi,
    model: ScriptedModel,
    platform: dict[str, Any],
) -> None:
    model.then(say("one"), say("two"))
    with serving(runtime(llm_url=model.url, **platform)) as server:
        for _ in range(3):
            assert post_update(server, update(7, "hi")).status_code == 200
        bot.wait_for_messages(1)
        assert post_update(server, update(7, "hi")).status_code == 200
        post_update(server, update(8, "next"))
        assert [message["text"] for message in bot.wait_for_messages(2)] == ["one", "two"]
    assert len(model.bodies) == 2


def test_a_group_is_answered_only_when_it_addresses_the_bot(
    runtime: Callable[..., AgentRuntime],
    bot: BotApi,
    model: ScriptedModel,
    platform: dict[str, Any],
) -> None:
    group = {"id": -100, "type": "supergroup"}
    mention = [{"type": "mention", "offset": 0, "length": 10}]
    model.then(say("at your service"))
    with serving(runtime(llm_url=model.url, **platform)) as server:
        post_update(server, update(1, "just talking", chat=group))
        post_update(server, update(2, "@other_bot hi", chat=group, entities=mention))
        post_update(server, update(3, "@sigil_bot hi", chat=group, entities=mention))
        post_update(server, update(4, "@sigil_bot hi", chat=group, entities=mention, sender=66))
        post_update(
            server,
            update(
                5, "/help", chat=group, entities=[{"type": "bot_command", "offset": 0, "length": 5}]
            ),
        )
        replies = bot.wait_for_messages(2)
    assert [reply["chat_id"] for reply in replies] == [-100, -100]
    # the answer to a command that only reads waits for no turn, and so may come first
    turn, commands = sorted((reply["text"] for reply in replies), key=len)
    assert turn == "at your service"
    assert "/new" in commands
    assert len(model.bodies) == 1


def test_a_stranger_is_told_an_id_and_nothing_else(
    runtime: Callable[..., AgentRuntime],
    bot: BotApi,
    model: ScriptedModel,
    platform: dict[str, Any],
) -> None:
    with serving(runtime(llm_url=model.url, **platform)) as server:
        post_update(server, update(1, "hi", sender=66))
        assert "telegram:66" in bot.wait_for_messages(1)[0]["text"]
    assert not model.bodies


def test_a_stranger_in_a_group_gets_no_sign_of_life(
    runtime: Callable[..., AgentRuntime],
    bot: BotApi,
    model: ScriptedModel,
    platform: dict[str, Any],
) -> None:
    start, help_ = (
        {"entities": [{"type": "bot_command", "offset": 0, "length": length}]} for length in (6, 5)
    )
    with serving(runtime(llm_url=model.url, **platform)) as server:
        post_update(
            server, update(1, "/start", sender=66, chat={"id": -100, "type": "supergroup"}, **start)
        )
        post_update(
            server, update(2, "/help", sender=66, chat={"id": -100, "type": "supergroup"}, **help_)
        )
        post_update(server, update(3, "/start", chat={"id": -100, "type": "supergroup"}, **start))
        bot.wait_for_messages(1)
    assert len(bot.calls("sendChatAction")) == 1
    assert len(bot.messages) == 1


def test_in_a_group_nobody_stops_what_somebody_else_asked_for(
    runtime: Callable[..., AgentRuntime],
    bot: BotApi,
    model: ScriptedModel,
    platform: dict[str, Any],
) -> None:
    def hang(body: dict[str, Any]) -> dict[str, Any]:
        model.closing.wait(20)
        return say("never")

    group = {"id": -100, "type": "supergroup"}
    command, mention = (
        [{"type": "bot_command", "offset": 0, "length": 5}],
        [{"type": "mention", "offset": 0, "length": 10}],
    )
    model.then(hang, hang)
    with serving(runtime(llm_url=model.url, **{**platform, "access": "open"})) as server:
        post_update(server, update(1, "@sigil_bot work", sender=77, chat=group, entities=mention))
        model.wait_for(1)
        post_update(server, update(2, "/stop", sender=66, chat=group, entities=command))
        assert (
            bot.wait_for_messages(1)[0]["text"]
            == "In a group only my owner can stop what somebody else asked for."
        )
        post_update(server, update(3, "/stop", sender=77, chat=group, entities=command))
        assert bot.wait_for_messages(2)[1]["text"] == "Stopped."
        post_update(server, update(4, "@sigil_bot more", sender=77, chat=group, entities=mention))
        model.wait_for(2)
        post_update(server, update(5, "/stop", chat=group, entities=command))
        assert bot.wait_for_messages(3)[2]["text"] == "Stopped."
        turns = server.client.get("/runs", params={"reason": "message"}).json()["items"]
        runs = [server.client.get(f"/runs/{each['id']}").json() for each in turns]
        assert [(run["why"], run["steps"][-1]["by"]) for run in runs] == [
            ("told", "owner"),
            ("told", "sender"),
        ]


def test_a_long_answer_is_split_and_each_part_is_valid(
    runtime: Callable[..., AgentRuntime],
    bot: BotApi,
    model: ScriptedModel,
    platform: dict[str, Any],
) -> None:
    model.then(say("**bold** " + "wörter und 漢字 😀 " * 900))
    with serving(runtime(llm_url=model.url, **platform)) as server:
        post_update(server, update(1, "tell me much"))
        parts = bot.wait_for_messages(4)
    assert all(len(part["text"].encode("utf-16-le")) // 2 <= 4096 for part in parts)
    assert parts[0]["entities"][0]["type"] == "bold"


def test_a_reply_that_the_platform_does_not_take_yet_is_sent_later_without_a_second_turn(
    runtime: Callable[..., AgentRuntime],
    bot: BotApi,
    model: ScriptedModel,
    platform: dict[str, Any],
) -> None:
    model.then(say("patience"))
    bot.fail(429, "Too Many Requests", parameters={"retry_after": 1})
    with serving(runtime(llm_url=model.url, **platform)) as server:
        post_update(server, update(1, "hi"))
        assert [message["text"] for message in bot.wait_for_messages(1)] == ["patience"]
    assert len(model.bodies) == 1


def test_a_forged_webhook_is_refused_and_makes_no_event(
    runtime: Callable[..., AgentRuntime], platform: dict[str, Any], subtests: pytest.Subtests
) -> None:
    home = runtime(**platform)
    body = json.dumps(update(1, "hi")).encode()
    with serving(home) as server:
        for secret in (None, "", "wrong", SECRET[:-1], SECRET + "\u00e9"):
            with subtests.test(secret=secret):
                headers = (
                    {} if secret is None else {"x-telegram-bot-api-secret-token": secret.encode()}
                )
                response = server.client.post("/webhook/telegram", content=body, headers=headers)
                assert response.status_code == 401
                assert response.json()["error"]["code"] == "EAUTH"
    assert home.stores.kv.scan("ready") == []


FORGED = {
    "kind": "task",
    "agent": "main.alice",
    "by": "telegram:42",
    "cause": "x",
    "root": "x",
    "hops": 3,
    "task": "x",
    "data": {"home": "telegram:42"},
    "sender": {"id": "telegram:42"},
}


def test_nothing_from_outside_makes_an_event_of_the_runtimes_own(
    runtime: Callable[..., AgentRuntime], platform: dict[str, Any], model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, access="open", **platform)
    body = update(1, "hi", 66) | FORGED
    body["message"] |= FORGED
    (event,) = home.channels["telegram"].read_update(json.dumps(body).encode()).events
    assert (event.kind, event.agent, event.session) == ("message", "main", "telegram:66")
    assert (event.by, event.cause, event.root, event.hops, event.task) == ("", "", "", 0, "")
    assert not event.data
    assert event.behalf == "telegram:66"
    model.then(say("hello"))
    with serving(home) as server:
        answer = server.post("/chat", json={"text": "hi", **FORGED})
        assert answer.json()["reply"] == "hello"
        for session in ("own:main", "own:w-1", "main.alice#own:main"):
            refused = server.post("/chat", json={"text": "hi", "session": session})
            assert refused.status_code == 400
    first = model.bodies[0]["messages"][-1]["content"]
    assert first.partition("\n")[0].endswith("· http]")
    assert not home.stores.kv.scan("ready~work")


def test_a_webhook_without_a_secret_in_the_settings_refuses_everything(
    runtime: Callable[..., AgentRuntime], platform: dict[str, Any]
) -> None:
    with serving(runtime(**{**platform, "telegram_secret": ""})) as server:
        assert post_update(server, update(1, "hi"), "").status_code == 401


BROKEN = [
    b"",
    b"{",
    b"[" * 100_000,
    b'{"update_id": ' + b"9" * 5000 + b"}",
    b"\xff\xfe",
    b'"\\ud800"',
    b"NaN",
    b"[]",
    b"5",
]


def test_broken_bodies_are_never_500_and_a_platform_need_not_repeat_them(
    runtime: Callable[..., AgentRuntime], platform: dict[str, Any], subtests: pytest.Subtests
) -> None:
    with serving(runtime(**platform)) as server:
        for body in BROKEN:
            with subtests.test(body=body[:20]):
                assert post_update(server, body).status_code == 200
                assert server.post("/chat", content=body).status_code == 400


def test_unknown_kinds_of_updates_are_fine_and_ignored(
    runtime: Callable[..., AgentRuntime], platform: dict[str, Any]
) -> None:
    home = runtime(**platform)
    with serving(home) as server:
        for body in (
            {},
            {"update_id": 1},
            {"update_id": 2, "callback_query": {}},
            {"update_id": 3, "message": 5},
            {"message": {"text": []}},
        ):
            assert post_update(server, body).status_code == 200
    assert home.stores.kv.scan("ready") == []


def test_unknown_platforms_large_bodies_and_missing_tokens(
    runtime: Callable[..., AgentRuntime], platform: dict[str, Any]
) -> None:
    with serving(runtime(**platform)) as server:
        assert server.post("/webhook/nowhere", content=b"{}").status_code == 404
        # too big, and yet surely Telegram's, which would send it again for a day
        assert post_update(server, b" " * (1 << 20) + b"{}").status_code == 200
        assert server.post("/chat", content=b" " * (1 << 20) + b"{}").status_code == 413
        for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Basic x"}):
            bare = httpx.post(f"{server.url}/chat", json={"text": "hi"}, headers=headers)
            assert (bare.status_code, bare.json()["error"]["code"]) == (401, "EAUTH")
            assert httpx.get(f"{server.url}/chat/a/b", headers=headers).status_code == 401
        assert httpx.get(f"{server.url}/health").json()["ok"] is True


WRONG: list[object] = [
    {},
    {"text": ""},
    {"text": 5},
    {"text": "x", "session": "a/b"},
    {"text": "x", "session": 5},
    {"text": "x" * 100_001},
    [],
]


def test_chat_says_what_is_wrong(
    runtime: Callable[..., AgentRuntime], subtests: pytest.Subtests
) -> None:
    with serving(runtime()) as server:
        for body in WRONG:
            with subtests.test(body=str(body)[:40]):
                response = server.post("/chat", json=body)
                assert (response.status_code, response.json()["error"]["code"]) == (400, "EINVAL")


def test_an_answer_that_takes_long_is_polled(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    from functions import local

    go = threading.Event()
    monkeypatch.setattr(local, "WAIT_SECONDS", 0.2)

    def slow(body: dict[str, Any]) -> dict[str, Any]:
        go.wait(within(10))
        return say("at last")

    model.then(slow)
    with serving(runtime(llm_url=model.url)) as server:
        first = server.post("/chat", json={"session": "slow", "text": "hi"})
        assert first.status_code == 202
        poll = first.json()["poll"]
        assert server.client.get(poll).status_code == 202
        go.set()
        reply = server.runtime.replies.wait(
            "main#http:admin:slow", f"http:{poll.rpartition('/')[2]}", 10
        )
        assert reply["reply"] == "at last"
        unread = server.client.get("/chat/slow").json()
        assert [each["reply"] for each in unread["replies"]] == ["at last"]
        assert server.client.get(poll).json()["reply"] == "at last"
        assert server.client.get("/chat/slow/unknown").status_code == 404
        wait_until_read(server, "slow")


def wait_until_read(server: Served, session: str) -> None:
    """Wait until nothing is unread in the session: an answer is noted as read once it was sent."""
    until(lambda: not server.client.get(f"/chat/{session}").json()["replies"], "all is read")


def test_what_is_said_to_a_session_that_nobody_listens_to_is_read_page_by_page(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    model.then(say("answered"))
    with serving(runtime(llm_url=model.url)) as server:
        assert server.post("/chat", json={"text": "hi"}).json()["reply"] == "answered"
        wait_until_read(server, "main")
        for number in range(3):
            row = {"reply": f"reminder {number}", "rounds": 0}
            server.runtime.replies.keep("main#http:admin:main", f"say:{number}", row)

        def read(**query: object) -> dict[str, Any]:
            return dict(server.client.get("/chat/main", params=query).json())  # type: ignore[arg-type]

        first = read(limit=2)
        assert [each["reply"] for each in first["replies"]] == ["reminder 0", "reminder 1"]
        assert (first["more"], first["lost"], first["replies"][0]["rounds"]) == (True, 0, 0)
        assert first["next"] == first["replies"][-1]["id"]
        second = read(after=first["next"])
        assert [each["event"] for each in second["replies"]] == ["say:2"]
        assert second["more"] is False
        assert read(after=second["next"]) == {**second, "replies": []}
        assert read(limit=2) == first  # who reads them does not take them away
        for query in ({"limit": 0}, {"limit": 201}, {"after": "x"}, {"after": "1/../2"}):
            assert server.client.get("/chat/main", params=query).status_code == 400
        assert server.client.get("/chat/.main").status_code == 400
        assert httpx.get(f"{server.url}/chat/main").status_code == 401


def test_stop_over_http_is_answered_itself_and_ends_the_turn(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    import threading

    def hang(body: dict[str, Any]) -> dict[str, Any]:
        model.closing.wait(20)
        return say("never")

    model.then(hang)
    with serving(runtime(llm_url=model.url)) as server:
        answers: list[str] = []
        asking = threading.Thread(
            target=lambda: answers.append(
                server.post("/chat", json={"session": "h", "text": "hang"}).json()["reply"]
            )
        )
        asking.start()
        model.wait_for(1)
        stopped = server.post("/chat", json={"session": "h", "text": "/stop"}).json()["reply"]
        asking.join()
    assert stopped == "The running turn was told to stop."
    assert answers == ["Stopped."]


def test_stop_is_heard_even_when_every_worker_hangs(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    import threading

    def hang(body: dict[str, Any]) -> dict[str, Any]:
        model.closing.wait(20)
        return say("never")

    model.then(hang, hang)
    with serving(runtime(llm_url=model.url, workers=2)) as server:
        answers: list[str] = []

        def ask(session: str) -> None:
            answers.append(
                server.post("/chat", json={"session": session, "text": "hang"}).json()["reply"]
            )

        asking = [threading.Thread(target=ask, args=(session,)) for session in ("a", "b")]
        for thread in asking:
            thread.start()
        model.wait_for(2)
        for session in ("a", "b"):
            assert (
                "told to stop"
                in server.post("/chat", json={"session": session, "text": "/stop"}).json()["reply"]
            )
        for thread in asking:
            thread.join()
    assert answers == ["Stopped."] * 2


def test_many_chats_are_answered_side_by_side_each_in_order(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def echo(body: dict[str, Any]) -> dict[str, Any]:
        return say(body["messages"][-1]["content"].rpartition("\n")[2])

    model.then(*[echo for _ in range(40)])
    with (
        serving(runtime(llm_url=model.url, tokens_per_day=0)) as server,
        ThreadPoolExecutor(16) as pool,
    ):

        def talk(number: int) -> list[str]:
            return [
                server.post(
                    "/chat", json={"session": f"s{number}", "text": f"{number}-{turn}"}
                ).json()["reply"]
                for turn in range(2)
            ]

        assert list(pool.map(talk, range(20))) == [
            [f"{number}-0", f"{number}-1"] for number in range(20)
        ]


def test_the_mcp_server_beside_the_agent_answers(runtime: Callable[..., AgentRuntime]) -> None:
    with serving(runtime()) as server:
        made = server.post("/mcp", json=call(1, "sigil_deploy", **SHOUT)).json()["result"]
        said = server.post(
            "/mcp", json=call(2, "sigil_run", capability="shout", input={"text": "hi"})
        ).json()

    assert not made["isError"]
    assert said == {
        "jsonrpc": "2.0",
        "id": 2,
        "result": {
            "content": [{"type": "text", "text": "HI"}],
            "structuredContent": {"output": "HI"},
            "isError": False,
        },
    }
