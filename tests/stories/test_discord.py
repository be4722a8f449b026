"""Discord from outside: signed interactions come in over HTTP, and people see what comes of them."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Any

import orjson
import pytest

from functions.agent.policy.document import open_versions, write_policy
from functions.ingress.socket_listener import ListenedBot
from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from tests.fakes.discord import LOADING, TOKEN, DiscordServer, Interaction, open_discord
from tests.fakes.discord_gateway import BOT, DiscordGateway
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.policy.asking import DOUBLE, QUERY, SPEC
from tests.functions.serving import Served, serving
from tests.machine import within
from tests.servers.programs import ProgramForker, command_of, kill_program

OWNER, GUEST = 42, 66
GUILD, THREAD = 900, 901
CODE = re.compile(r"[0-9A-Z]{4}-[0-9A-Z]{4}")


@dataclass(frozen=True)
class Talk:
    """A served agent, and the Discord that its people sit at."""

    server: Served
    discord: DiscordServer

    def send(self, interaction: dict[str, Any]) -> Interaction:
        """Send an interaction; what came of it once "thinking…" is gone."""
        answer = self.discord.deliver(interaction, f"{self.server.url}/webhook/discord")
        assert answer.json() == {"type": 5}
        found = self.discord.find(interaction)
        with self.discord.changed:
            assert self.discord.changed.wait_for(lambda: not is_thinking(found), within(20))
        return found

    def say(self, text: str, **fields: Any) -> str:
        """The answer to `/ask`."""
        return shown(self.send(self.discord.command("ask", text, **fields)))


def is_thinking(found: Interaction) -> bool:
    return found.original is not None and bool(found.original["flags"] & LOADING)


def shown(found: Interaction) -> str:
    assert found.original
    return str(found.original["content"])


@pytest.fixture
def discord() -> Iterator[DiscordServer]:
    with DiscordServer() as server:
        yield server


@pytest.fixture
def talk(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel, discord: DiscordServer
) -> Callable[..., AbstractContextManager[Talk]]:
    @contextmanager
    def opened(*, gateway: bool = False, **settings: Any) -> Iterator[Talk]:
        given = {"owners": (f"discord:{OWNER}",), "access": "members", **settings}
        made = runtime(
            llm_url=model.url,
            discord_token=discord.token,
            discord_public_key=discord.public_key,
            discord_api=discord.url,
            **given,
        )
        channel = open_discord(discord, pauses=(0.02,) * 200)
        listened = [ListenedBot("discord", channel)] if gateway else []
        with serving(replace(made, channels={"discord": channel}), listened=listened) as server:
            yield Talk(server, discord)
        channel.close()

    return opened


def test_an_owner_asks_in_private_and_a_thread_of_a_server_is_a_chat_of_its_own(
    talk: Callable[..., AbstractContextManager[Talk]], model: ScriptedModel
) -> None:
    model.then(say("it is **4**"), say("in the thread"), say("# Plan\n\n- first"))
    with talk() as chat:
        assert chat.say("what is 2+2?") == "it is **4**"
        assert chat.say("and here?", guild=GUILD, channel=THREAD) == "in the thread"
        assert chat.say("a plan?") == "# Plan\n\n- first"
        said = [str(body["messages"]) for body in model.bodies]
        assert "what is 2+2?" not in said[1]
        assert '\\"Ada\\"' in said[1] or '"Ada"' in said[1]
        assert "what is 2+2?" in said[2]
        assert len(chat.discord.posted) == 0


def test_a_command_is_obeyed_and_a_repeated_interaction_is_answered_once(
    talk: Callable[..., AbstractContextManager[Talk]], model: ScriptedModel
) -> None:
    with talk() as chat:
        new = chat.discord.command("new")
        said = shown(chat.send(new))
        # a copy within the minutes in which its signature counts
        body = orjson.dumps(new)
        copy = chat.server.post("/webhook/discord", content=body, headers=chat.discord.sign(body))
        assert copy.status_code == 200
        assert "discord:42" in shown(chat.send(chat.discord.command("whoami")))
        assert chat.say("/new") == said
        assert chat.discord.texts().count(said) == 2
    assert model.bodies == []


def test_a_stranger_pairs_in_private_and_leaves_no_thinking_on_a_server(
    talk: Callable[..., AbstractContextManager[Talk]], model: ScriptedModel
) -> None:
    model.then(say("hello Eve"))
    eve: dict[str, Any] = {"user": GUEST, "called": "Eve", "channel": 6}
    with talk() as chat:
        on_server = chat.discord.command("ask", "hi", **(eve | {"guild": GUILD}))
        assert chat.send(on_server).original is None
        found = CODE.search(chat.say("hi", **eve))
        assert found
        let_in = shown(chat.send(chat.discord.command("pair", found[0])))
        assert "discord:66" in let_in
        assert [message["content"] for message in chat.discord.posted] == [ENGLISH.let_in]
        assert chat.discord.posted[0]["channel_id"] == "6"
        assert chat.say("hi", **eve) == "hello Eve"


def test_nothing_is_left_thinking_where_an_allowance_is_used_up(
    talk: Callable[..., AbstractContextManager[Talk]], model: ScriptedModel
) -> None:
    model.then(say("hello Bob"))
    bob: dict[str, Any] = {"user": 43, "called": "Bob", "channel": 7}
    with talk(access="open", guest_turns=1) as chat:
        assert chat.say("hi", **bob) == "hello Bob"
        assert "1 turn" in chat.say("again", **bob)  # said once a day
        silent = chat.send(chat.discord.command("ask", "once more", **bob))
        assert silent.original is None
    assert len(model.bodies) == 1


@pytest.mark.parametrize(
    ("halts", "answers"),
    [
        (False, ["the first", None, "the others"]),
        (True, ["", None, "I was halted"]),
    ],
)
def test_of_questions_that_are_answered_together_none_is_left_thinking(
    talk: Callable[..., AbstractContextManager[Talk]],
    model: ScriptedModel,
    halts: bool,
    answers: list[str | None],
) -> None:
    is_asked = Event()
    goes_on = Event()

    def answer_late(body: dict[str, Any]) -> dict[str, Any]:
        is_asked.set()
        assert goes_on.wait(within(20))
        return say("the first")

    model.then(answer_late, say("the others"))
    with talk() as chat:
        ask = chat.discord.command
        questions = [ask("ask", text) for text in ("one", "two", "three")]
        found = [chat.discord.find(question) for question in questions]
        for question in questions:
            answer = chat.discord.deliver(question, f"{chat.server.url}/webhook/discord")
            assert answer.json() == {"type": 5}
            assert is_asked.wait(within(20))
        if halts:
            assert shown(chat.send(ask("halt", "all"))) == ENGLISH.halted
        goes_on.set()
        with chat.discord.changed:
            assert chat.discord.changed.wait_for(
                lambda: not any(map(is_thinking, found)), within(20)
            )
        for each, answer in zip(found, answers, strict=True):
            assert (each.original and shown(each)[: len(answer or "")]) == answer


def test_a_button_approves_what_waits(
    talk: Callable[..., AbstractContextManager[Talk]], model: ScriptedModel
) -> None:
    model.then(call(QUERY), call(DOUBLE), say("it waits"), say("it is 4"))
    with talk() as chat:
        assert chat.server.post("/_api/deploy", json=SPEC).status_code == 201
        chat.server.post("/_api/grant", json={"ref": "double"})
        kv = chat.server.runtime.stores.kv
        policy = 'format = 1\nrules = ["ask everybody call double"]'
        write_policy(open_versions(kv, "main", lambda: 1.0), policy, by="terminal:local")
        asked = chat.send(chat.discord.command("ask", "double 2"))
        assert asked.original
        (row,) = asked.original["components"]
        approve = row["components"][0]["custom_id"]
        assert approve.startswith("/approve ")
        # only an owner's press counts
        press = chat.discord.press(approve, user=GUEST, guild=GUILD, channel=5)
        assert chat.send(press).original is None
        chat.send(chat.discord.press(approve))
        with chat.discord.changed:
            assert chat.discord.changed.wait_for(
                lambda: any("it is 4" in text for text in chat.discord.texts()), within(20)
            ), chat.discord.texts()


def test_a_text_that_comes_with_ask_is_a_file_of_the_chat(
    talk: Callable[..., AbstractContextManager[Talk]], model: ScriptedModel
) -> None:
    path = "ephemeral-attachments/1/2/list.txt?ex=1&is=2&hm=3"
    model.then(say("milk"))
    with talk() as chat:
        chat.discord.files[path] = b"milk and bread"
        file = {
            "id": "3",
            "filename": "list.txt",
            "size": 14,
            "content_type": "text/plain; charset=utf-8",
            "url": f"https://cdn.discordapp.com/{path}",
        }
        options = [{"name": "text", "value": "what is on it?"}, {"name": "file", "value": "3"}]
        data = {
            "name": "ask",
            "type": 1,
            "options": options,
            "resolved": {"attachments": {"3": file}},
        }
        assert shown(chat.send(chat.discord.interact(data))) == "milk"
        assert "received/list.txt" in str(model.bodies[0]["messages"])


def test_what_is_not_discords_gets_401_and_a_ping_an_answer(
    talk: Callable[..., AbstractContextManager[Talk]], discord: DiscordServer
) -> None:
    with talk() as chat:
        url = "/webhook/discord"
        body = orjson.dumps({"type": 1})
        refused = chat.server.post(url, content=body, headers=discord.sign(b"other"))
        assert refused.status_code == 401
        assert chat.server.post(url, content=body).status_code == 401
        ping = chat.server.post(url, content=body, headers=discord.sign(body))
        assert (ping.status_code, ping.json()) == (200, {"type": 1})
        odd = orjson.dumps({"type": 42})
        assert chat.server.post(url, content=odd, headers=discord.sign(odd)).status_code == 200


def wait_for_posts(discord: DiscordServer, count: int) -> list[dict[str, Any]]:
    """What the bot posted, once there are so many messages."""
    with discord.changed:
        assert discord.changed.wait_for(lambda: len(discord.posted) >= count, within(20))
        return list(discord.posted)


def test_ordinary_messages_are_answered_where_the_server_listens(
    talk: Callable[..., AbstractContextManager[Talk]],
    discord: DiscordServer,
    model: ScriptedModel,
) -> None:
    model.then(say("it is **4**"), say("on the server"), say("pizza, as you said"))
    with DiscordGateway(discord) as gateway, talk(gateway=True) as chat:
        gateway.wait_for_session()
        gateway.say("what is 2+2?")
        (private,) = wait_for_posts(discord, 1)
        assert (private["content"], private["channel_id"]) == ("it is **4**", "5")
        assert private["reply"] is None
        # on a server: only what mentions the bot is answered, below it
        gateway.say("is anybody there?", guild=GUILD, channel=6)
        discord.channels[55] = {"type": 0, "guild_id": str(GUILD), "name": "general"}
        everybody = {"id": str(GUILD), "name": "@everyone", "permissions": "1024"}
        discord.roles[GUILD] = [everybody, {"id": "77", "name": "cooks", "permissions": "0"}]
        text = f"<@{BOT}> see <#55> at <t:1700000000:R>, ask <@&77>"
        asked = gateway.say(text, guild=GUILD, channel=6, mentions=(BOT,))
        _, public = wait_for_posts(discord, 2)
        assert (public["content"], public["channel_id"]) == ("on the server", "6")
        assert public["reply"]["message_id"] == asked["id"]
        assert "is anybody there?" not in str(model.bodies[1])
        read = "see #general at 2023-11-14 22:13:20 UTC, ask @cooks"
        assert read in str(model.bodies[1]["messages"][-1]["content"])
        # where an owner wants it, the agent reads along
        gateway.say(f"<@{BOT}> /listen on", guild=GUILD, channel=6, mentions=(BOT,))
        wait_for_posts(discord, 3)
        bob = {"guild": GUILD, "channel": 6, "user": GUEST, "called": "Bob"}
        said = gateway.say("let us have pasta", **bob)
        edited = {"content": "let us have pizza", "edited_timestamp": f"{datetime.now(UTC)}"}
        gateway.emit("MESSAGE_UPDATE", said | edited)
        beer = gateway.say("and beer", **bob)
        gone = {"id": beer["id"], "channel_id": "6", "guild_id": str(GUILD)}
        gateway.emit("MESSAGE_DELETE", gone)
        path = "attachments/1/2/menu.txt?ex=1"
        discord.files[path] = b"pizza"
        url = f"https://cdn.discordapp.com/{path}"
        menu = {"filename": "menu.txt", "content_type": "text/plain", "size": 5, "url": url}
        answered = gateway.message("", user=GUEST, guild=GUILD, channel=6, attachments=[menu])
        here = {"guild": GUILD, "channel": 6, "mentions": (BOT,), "type": 19}
        gateway.say(f"<@{BOT}> what do we eat?", referenced_message=answered, **here)
        assert wait_for_posts(discord, 4)[3]["content"] == "pizza, as you said"
        assert "let us have pizza" in str(model.bodies[2]["messages"])
        assert "kept as received/menu.txt: read-file reads it]" in str(model.bodies[2]["messages"])
        assert "pasta" not in str(model.bodies[2]["messages"])
        assert "beer" not in str(model.bodies[2]["messages"])
        # commands and buttons come the same way
        status = chat.discord.command("whoami")
        gateway.emit("INTERACTION_CREATE", status)
        found = discord.find(status)
        with discord.changed:
            assert discord.changed.wait_for(
                lambda: found.original and not is_thinking(found), within(20)
            )
        assert "discord:42" in shown(found)
    assert any(request.path.endswith("/channels/6/typing") for request in discord.requests)


def test_a_server_that_is_killed_goes_on_at_the_gateway_and_answers_once(
    discord: DiscordServer, tmp_path: Path, compiled: Path, forked: ProgramForker
) -> None:
    compiled.mkdir(exist_ok=True)
    (tmp_path / "compiled").symlink_to(compiled, target_is_directory=True)
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "UNCAGED_DATA": str(tmp_path),
        "UNCAGED_LIBRARY": "none",
        "UNCAGED_LEASE": "1",
        "UNCAGED_OWNERS": f"discord:{OWNER}",
        "SIGIL_RUNNERS": "1",
        "DISCORD_TOKEN": TOKEN,
        "DISCORD_API": discord.url,
        **forked.environment,
    }
    command = [*command_of("functions.cli"), "serve", "--port", "0", "--poll"]

    def serve() -> subprocess.Popen[str]:
        return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)

    with DiscordGateway(discord) as gateway:
        first = serve()
        gateway.wait_for_session()
        gateway.say("/whoami")
        wait_for_posts(discord, 1)
        assert first.stderr
        # the answer is sent and marked as sent; a crash between those two may repeat it
        assert any('"step":"done"' in line for line in first.stderr)
        kill_program(first)
        # what came before its last heartbeat it has noted, and that may be the message as well
        gateway.sends_again = 2
        gateway.say("/usage")
        second = serve()
        wait_for_posts(discord, 2)
        gateway.say("/status")
        wait_for_posts(discord, 3)
        second.send_signal(signal.SIGTERM)
        _, told = second.communicate(timeout=within(60))
    assert "listening  discord" in told
    assert '"step":"listening"' in told
    # what the first server had answered came once more, and was known
    assert len(gateway.of_kind(2)) == 1
    assert gateway.of_kind(6)[0]["seq"] <= 3
    said = [message["content"].split()[0] for message in discord.posted]
    assert len(said) == 3, said
    assert len(discord.commands) > 10
