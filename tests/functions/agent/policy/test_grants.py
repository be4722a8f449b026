"""An owner grants in a chat what a capability waits for: asked over webhooks and at the terminal."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import orjson
import pytest

from functions.agent.policy.grants import find_wanting
from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from sigil.protocol import Caller, Offer
from sigil.registry import LocalRegistry
from tests.fakes.matrix import Homeserver
from tests.fakes.model import ScriptedModel, call, results, say
from tests.fakes.server import Answer
from tests.functions.agent.talk import tell
from tests.functions.chats import Chats
from tests.functions.people import GROUP, GUEST, OWNER, Live, post_update
from tests.functions.serving import serving
from tests.sigil.conftest import Scripted
from tests.stories.test_matrix import SETTINGS as MATRIX
from tests.stories.test_matrix import Community
from tests.tables import each_row

Serve = Callable[..., AbstractContextManager[Live]]
_NUMBERS = itertools.count(990_000)
HENS = ("cap_fetch_hens", {"n": 1})
QUERY = ("sigil_query", {"query": "count the hens"})
OWNED = Caller("main", owner=True)


@pytest.fixture
def farm() -> Iterator[Scripted]:
    with Scripted() as made:
        made.says["/hens"] = Answer(200, b"7")
        yield made


def deploy(home: AgentRuntime, farm: Scripted, session: str = "", **more: Any) -> None:
    """Make a capability that counts hens at a farm, which nobody has granted."""
    spec = {
        "name": "fetch-hens",
        "description": "count the hens",
        "schema": {"type": "object", "properties": {"n": {"type": "integer"}}},
        "permissions": {"http": [f"GET {farm.url.removeprefix('http://')}/hens"]},
        "execute": f"return Number(await (await fetch('{farm.url}/hens')).text())",
    }
    caller = Caller("main", session, author="model") if session else OWNED
    home.app.registry.deploy({**spec, **more}, caller)


def press(live: Live, command: str, sender: int = OWNER, chat: int = OWNER) -> None:
    """Press a button below a message in a chat."""
    user = {"id": sender, "is_bot": False, "first_name": "Ada"}
    place = GROUP if chat < 0 else {"id": chat, "type": "private"}
    message = {"message_id": 1, "date": 1_780_000_000, "chat": place}
    pressed = {"id": "77", "from": user, "message": message, "data": command}
    body = {"update_id": next(_NUMBERS), "callback_query": pressed}
    assert post_update(live.server, body).status_code == 200


def read_buttons(live: Live, chat: int = OWNER) -> list[dict[str, str]]:
    """Return the buttons below the last message of a chat, in order."""
    markup = [each for each in live.bot.messages if each["chat_id"] == chat][-1]["reply_markup"]
    shown = markup if isinstance(markup, dict) else orjson.loads(markup)
    return [button for row in shown["inline_keyboard"] for button in row]


def list_audit(live: Live) -> list[dict[str, Any]]:
    """Return what the registry's audit says of grants."""
    registry = live.server.runtime.app.registry
    assert isinstance(registry, LocalRegistry)
    return [{**row} for row in registry.log.rows(OWNED) if row["action"] == "grant"]


def test_an_owner_is_asked_below_the_answer_and_yes_makes_the_call_once(
    live: Serve, model: ScriptedModel, farm: Scripted
) -> None:
    with live(loopback=True) as agent:
        deploy(agent.server.runtime, farm)
        model.then(call(QUERY), call(HENS), say("I may not yet."), say("There are 7 hens."))
        said = agent.ask("count the hens")
        place = farm.url.removeprefix("http://")
        assert said.startswith("I may not yet.\n\nAllow me to use fetch-hens?"), said
        assert f"GET {place}/hens" in said
        yes, no = read_buttons(agent)
        assert (yes["text"], no["text"]) == ("Yes", "No")
        assert not farm.requests
        refusal = results(model.bodies[-1])[-1]
        assert '"code":"EAPPROVAL"' in refusal
        assert "was not granted" in refusal

        press(agent, yes["callback_data"])
        press(agent, yes["callback_data"])
        agent.until(lambda: any("There are 7 hens." in text for text in agent.list_texts(OWNER)))
        # both presses are answered, the second after the first was applied or before
        said_yes = re.compile("Approved: |applied already")
        agent.until(lambda: len([*filter(said_yes.search, agent.list_texts(OWNER))]) == 2)
        assert len(farm.requests) == 1
        (entry,) = list_audit(agent)
        assert entry["session"] == f"telegram:{OWNER}"

        # it works in the next turn, without anybody being asked
        model.then(call(QUERY), call(HENS), say("Still 7."))
        assert agent.ask("again")[-8:] == "Still 7."
        assert len(farm.requests) == 2
        press(agent, yes["callback_data"])
        agent.until(lambda: "applied already" in agent.list_texts(OWNER)[-1])
        press(agent, no["callback_data"])
        assert len(list_audit(agent)) == 1


def test_a_guest_reads_that_an_owner_is_asked_and_cannot_answer(
    live: Serve, model: ScriptedModel, farm: Scripted
) -> None:
    with live(loopback=True) as agent:
        deploy(agent.server.runtime, farm)
        model.then(call(QUERY), call(HENS), say("I have asked."))
        said = agent.ask("count the hens", GUEST)
        assert "My owner decides" in said
        (asked,) = agent.replies(OWNER, 1)
        assert asked.startswith(f"Allow me to use fetch-hens? telegram:{GUEST} needs it"), asked
        yes, no = read_buttons(agent)
        before = len(agent.list_texts(GUEST))
        press(agent, yes["callback_data"], GUEST, GUEST)
        assert "owner" in agent.replies(GUEST, before + 1)[-1]
        press(agent, "/approve 0123456789ab", OWNER)
        agent.until(lambda: "there is no proposal" in agent.list_texts(OWNER)[-1])
        assert not farm.requests
        assert not list_audit(agent)

        # after a no, nobody is asked the same for a day, whoever wants it and with whatever words
        press(agent, no["callback_data"])
        agent.until(lambda: "Denied" in agent.list_texts(OWNER)[-1])
        agent.until(lambda: "is not done." in agent.list_texts(GUEST)[-1])
        model.then(call(QUERY), call(("cap_fetch_hens", {"n": 2})), say("No."))
        told = len(agent.list_texts(OWNER))
        assert agent.ask("please", GUEST) == "No."
        assert "an owner denied" in results(model.bodies[-1])[-1]
        assert len(agent.list_texts(OWNER)) == told


def test_where_there_are_no_buttons_the_commands_stand_below(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel, farm: Scripted
) -> None:
    with Homeserver() as homeserver:
        home = runtime(llm_url=model.url, matrix_homeserver=homeserver.url, loopback=True, **MATRIX)
        with serving(home) as server:
            community = Community(server, homeserver)
            deploy(home, farm)
            model.then(call(QUERY), call(HENS), say("I may not yet."), say("There are 7 hens."))
            community.write("count the hens")
            (said,) = community.read_texts(1)
            (proposal,) = home.app.proposals.list_open()
            assert "Allow me to use `fetch-hens`?" in said
            assert f"- Yes: `!approve {proposal.id}`\n- No: `!deny {proposal.id}`" in said
            community.write(f"!approve {proposal.id}")
            assert "There are 7 hens." in "\n".join(community.read_texts(3))
            assert len(farm.requests) == 1


def test_at_the_terminal_a_command_answers(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel, farm: Scripted
) -> None:
    home = runtime(llm_url=model.url, owners=("terminal:local",), loopback=True)
    deploy(home, farm)
    model.then(call(QUERY), call(HENS), say("wait"))
    (said,) = tell(home, "count the hens")
    (proposal,) = home.app.proposals.list_open()
    assert f"`/approve {proposal.id}` is yes, `/deny {proposal.id}` is no" in said
    (denied,) = tell(home, f"/deny {proposal.id}")
    assert denied == "Denied: grant fetch-hens. It is not done."
    assert not farm.requests


@pytest.fixture
def open_home(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> Callable[[], AgentRuntime]:
    return lambda: runtime(llm_url=model.url, owners=("terminal:local",), loopback=True)


@each_row(
    "rule, told",
    [
        ("deny everybody grant *", '"code":"EPERM".*waits for an owner'),
        ("deny everybody net 127.0.0.1", "the policy does not allow `net 127.0.0.1`: .*(line 2)"),
    ],
)
def test_a_refusal_says_whether_it_was_not_granted_or_policy(
    open_home: Callable[[], AgentRuntime],
    model: ScriptedModel,
    farm: Scripted,
    rule: str,
    told: str,
) -> None:
    home = open_home()
    deploy(home, farm)
    text = f"format = 1\nrules = [{rule!r}]"
    home.app.policy_versions.write("main", "policy", text, by="terminal:local")
    model.then(call(QUERY), call(HENS), say("no"))
    tell(home, "count the hens")
    assert re.search(told, results(model.bodies[-1])[-1])
    assert home.app.proposals.list_open() == []


def test_what_the_policy_asks_about_too_is_approved_with_the_grant(
    open_chats: Callable[..., Chats], model: ScriptedModel, farm: Scripted
) -> None:
    chats = open_chats(loopback=True)
    home = chats.runtime
    deploy(home, farm)
    rules = ["ask guest call fetch-hens", "ask guest net 127.0.0.1"]
    text = f"format = 1\nrules = {rules}"
    home.app.policy_versions.write("main", "policy", text, by="terminal:local")
    model.then(call(QUERY), call(HENS), say("first"), say("second"), say("7 hens"))
    chats.write(1, "count the hens", GUEST)
    chats.work_off()
    for number, acts in enumerate(
        (
            ("call fetch-hens",),
            ("grant fetch-hens", "net 127.0.0.1", "call fetch-hens"),
        ),
        start=2,
    ):
        (proposal,) = home.app.proposals.list_open()
        assert proposal.acts == acts
        assert not farm.requests
        chats.write(number, f"/approve {proposal.id}")
        chats.work_off()
    assert len(farm.requests) == 1
    assert chats.list_texts()[-1].endswith("7 hens")


def test_what_a_chat_made_for_itself_is_granted_nothing(
    open_home: Callable[[], AgentRuntime], model: ScriptedModel, farm: Scripted
) -> None:
    home = open_home()
    deploy(home, farm, "telegram:7")
    model.then(call(QUERY), call(HENS), say("no"))
    tell(home, "count the hens")
    assert "publish it first" in results(model.bodies[-1])[-1]
    assert home.app.proposals.list_open() == []


@each_row(
    "namespace, pending, may_be_granted",
    [
        ("main", ["http:GET a.example/"], True),
        ("library", ["web", "secret:KEY@a.example"], True),
        ("main~telegram:7", ["http:GET a.example/"], False),
        ("main", ["mcp:git uvx mcp-server-git"], False),
    ],
)
def test_a_program_and_what_a_chat_has_are_granted_nowhere_but_at_the_machine(
    namespace: str, pending: list[str], *, may_be_granted: bool
) -> None:
    offer = Offer("git-log", 1, "sha256:1", "the log", {})
    asker = Caller("main", "telegram:7")
    wanting = find_wanting(Shown({"namespace": namespace, "pending": pending}), offer, asker)
    assert wanting
    assert wanting.permissions == tuple(pending)
    assert wanting.may_be_granted is may_be_granted


class Shown:
    """A registry that grants, and shows one capability."""

    granting = None

    def __init__(self, row: dict[str, Any]) -> None:
        self.row = row

    def inspect(self, ref: str, caller: Caller) -> dict[str, Any]:
        return self.row


@pytest.mark.parametrize("act", ["grant *", "net 127.0.0.1", "call fetch-hens"])
def test_what_the_policy_forbids_by_then_is_granted_by_no_yes(
    open_chats: Callable[..., Chats], model: ScriptedModel, farm: Scripted, act: str
) -> None:
    chats = open_chats(loopback=True)
    registry = chats.runtime.app.registry
    assert isinstance(registry, LocalRegistry)
    deploy(chats.runtime, farm)
    model.then(call(QUERY), call(HENS), say("I have asked."), say("I was not allowed to."))
    chats.write(1, "count the hens", GUEST)
    chats.work_off()
    (proposal,) = chats.runtime.app.proposals.list_open()
    text = f"format = 1\nrules = ['deny guest {act}']"
    chats.runtime.app.policy_versions.write("main", "policy", text, by="terminal:local")

    chats.write(2, f"/approve {proposal.id}")
    chats.work_off()

    assert not farm.requests
    assert registry.granting.find_request("fetch-hens", OWNED)["granted"] == []
    assert "I was not allowed to." in chats.list_texts()[-1]
    assert "the policy does not allow" in results(model.bodies[-1])[-1]


def test_who_asks_for_the_same_later_reads_that_they_have_to_ask_again(
    open_chats: Callable[..., Chats], model: ScriptedModel, farm: Scripted
) -> None:
    chats = open_chats(loopback=True)
    deploy(chats.runtime, farm)
    model.then(call(QUERY), call(HENS), say("first"), call(QUERY), call(HENS), say("second"))
    for number, sender in enumerate((GUEST, OWNER), start=1):
        chats.write(number, "count the hens", sender)
        chats.work_off()

    asked, _, again = chats.list_texts()
    assert ENGLISH.grant_asked_before not in asked
    assert again.endswith(ENGLISH.grant_asked_before)
