"""Agents below the root: each answers in sessions of its own, with the root's people and channels."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace

import pytest

from functions import worker
from functions.agent.agents.bindings import UNBOUND, bind, read_binding
from functions.agent.agents.record import AgentRecord, add_agent, change_state
from functions.agent.app import App
from functions.agent.commands import control
from functions.agent.mailbox import Mail, Mailbox
from functions.agent.turn.loop import ROUND_SECONDS
from functions.alerts import Alert
from functions.events import NOBODY, Event, Sender
from functions.personal_data import PersonalData
from functions.queues import dead_letters
from functions.queues.waiting_events import group_of
from functions.wiring import AgentRuntime
from sigil.errors import UsageError
from sigil.protocol import Caller
from sigil.storage.kv import keys
from sigil.storage.kv.base import list_partitions
from sigil.storage.kv.update import scan_all
from sigil.storage.stored import dumps
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.talk import event
from tests.functions.people import Live, platform

Lives = Callable[..., AbstractContextManager[Live]]


@pytest.fixture
def home(runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel) -> AgentRuntime:
    """A root with the agent alice below it, and a platform."""
    made = runtime(llm_url=model.url, **platform(bot))
    add(made, "alice")
    return made


def add(home: AgentRuntime, name: str, **fields: object) -> None:
    record = AgentRecord("agent", "enabled", 1.0, "terminal:local")
    add_agent(home.stores.kv, "main", name, replace(record, **fields))  # type: ignore[arg-type]


def work(home: AgentRuntime, *events: Event) -> None:
    """Put the events and work on all that waits."""
    for each in events:
        home.queue.put(each)
    for queue in (home.control, home.queue, home.work):
        while queue and (delivery := queue.take(0.0)):
            worker.process(delivery, replace(home, queue=queue))


def message(text: str, chat: int = 42) -> Event:
    return event(text, f"telegram:{chat}", f"telegram:{chat}")


def task(agent: str, text: str = "count the hens") -> Event:
    made = replace(message(text), agent=agent, kind="task", session="own:main")
    return replace(made, sender=Sender("terminal:local"), by="telegram:42")


def list_texts(bot: BotApi, chat: int = 42) -> list[str]:
    return [sent["text"] for sent in bot.messages if sent["chat_id"] == chat]


def list_reasons(home: AgentRuntime) -> list[str]:
    return [letter.reason for letter in dead_letters.scan_dead_letters(home.stores.kv)]


def read_system(model: ScriptedModel, number: int = -1) -> str:
    return str(model.bodies[number]["messages"][0]["content"])


def test_a_bound_chat_talks_to_another_agent_and_comes_back(
    home: AgentRuntime, bot: BotApi, model: ScriptedModel
) -> None:
    model.then(say("root one"), say("alice one"), say("alice two"), say("root two"))
    work(home, message("hello"))
    work(home, message("/agent alice"))
    work(home, message("hi alice"), message("/status"))
    assert "alice" in read_system(model)
    assert [each["content"] for each in model.bodies[-1]["messages"][1:]] != []
    assert "hello" not in str(model.bodies[-1])
    work(home, message("still there?"))
    assert "alice one" in str(model.bodies[-1])
    work(home, message("/agent main"))
    work(home, message("and you?"))
    assert "alice" not in str(model.bodies[-1])
    texts = list_texts(bot)
    assert [text for text in texts if text.endswith((" one", " two"))] == [
        "root one",
        "alice one",
        "alice two",
        "root two",
    ]
    child = keys.session_of("main.alice", "telegram:42")
    assert len(home.app.sessions.open(child).document.messages) == 4


def test_a_message_that_comes_again_after_the_binding_goes_where_it_went(
    home: AgentRuntime, bot: BotApi, model: ScriptedModel
) -> None:
    first = message("hello")
    model.then(say("once"))
    work(home, first)
    work(home, message("/agent alice"))
    work(home, first)
    assert list_texts(bot).count("once") == 1
    assert len(model.bodies) == 1


def test_a_binding_made_twice_at_the_shell_sends_nothing_to_a_third_agent(
    home: AgentRuntime,
) -> None:
    kv = home.stores.kv
    bind(kv, "main", "telegram:42", "alice", order="5", by="terminal:local")
    # the session of alice has worked on nothing yet
    bind(kv, "main", "telegram:42", "bob", order="", by="terminal:local")
    binding = read_binding(kv, "main", "telegram:42")
    assert [binding.find_agent(order) for order in ("5", "6")] == ["", "bob"]


def test_only_an_owner_binds_a_chat(home: AgentRuntime, bot: BotApi) -> None:
    work(home, message("/agent alice", 66))
    assert list_texts(bot, 66) == ["Only my owner can do that."]


@pytest.mark.parametrize("state", ["disabled", "archived"])
def test_a_chat_of_an_agent_that_is_switched_off_gets_the_root_and_is_told_once(
    home: AgentRuntime, bot: BotApi, model: ScriptedModel, state: str
) -> None:
    work(home, message("/agent alice"))
    change_state(home.stores.kv, "main", "alice", state)  # type: ignore[arg-type]
    model.then(say("one"), say("two"))
    work(home, replace(message("the hens laid"), kind="say"))
    assert list_texts(bot)[-1] == "the hens laid"
    work(home, message("hello"))
    work(home, message("again"))
    told, untold = list_texts(bot)[-2:]
    assert told.startswith("one")
    assert "The agent alice is switched off or gone" in told
    assert untold == "two"


def test_an_event_of_no_agent_is_a_dead_letter_with_the_reason(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    add(home, "bob")
    change_state(home.stores.kv, "main", "bob", "disabled")
    add(home, "carol")
    change_state(home.stores.kv, "main", "carol", "archived")
    names = ("main.bob", "main.carol", "main.dave", "main.Alice", "main.alice.x", "main.", "other")
    work(home, *(task(name) for name in names))
    assert sorted(list_reasons(home)) == [
        "the agent 'main.bob' is disabled",
        "the agent 'main.carol' is archived",
        "there is no agent 'main.' here",
        "there is no agent 'main.Alice' here",
        "there is no agent 'main.alice.x' here",
        "there is no agent 'main.dave' here",
    ]
    assert model.bodies == []


def test_no_message_reaches_an_agent_but_through_a_bound_chat(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    work(home, replace(message("hello"), agent="main.alice"))
    assert list_reasons(home) == ["no message comes to 'main.alice' but through a bound chat"]
    assert model.bodies == []


def test_a_record_overrides_the_settings(
    runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, llm_model="plain", **platform(bot))
    add(home, "alice", model="clever", access="owners", ticks=3, session_tokens=7, tokens=9)
    found = home.agents.find("main.alice", home.app)
    assert not hasattr(found, "reason")
    assert found.rules.access == "owners"
    assert (found.limits.ticks, found.limits.session_tokens, found.limits.agent_tokens) == (3, 7, 9)
    assert found is home.agents.find("main.alice", home.app)
    work(home, message("/agent alice"))
    model.then(say("clever one"))
    work(home, message("hello"))
    assert model.bodies[-1]["model"] == "clever"


def test_an_agents_record_that_cannot_be_used_is_a_reason_and_harms_nobody(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    kv = home.stores.kv
    add(home, "bob", guide="nobodys")
    whole = dumps(AgentRecord("agent", "enabled", 1.0, "terminal:local"))
    damaged = [whole[:cut] for cut in range(len(whole))]
    for number in range(0, len(whole), 3):
        damaged.append(whole[:number] + b"\x00" + whole[number + 1 :])
    for value in damaged:
        kv.put(keys.agent_record("main", "carol"), value)
        found = home.agents.find("main.carol", home.app)
        assert "damaged" in getattr(found, "reason", ""), value
    work(home, task("main.bob"), task("main.carol"))
    reasons = sorted(list_reasons(home))
    assert reasons[0].startswith("the agent 'main.bob' cannot be opened: there is no guide")
    assert reasons[1] == "the record of the agent 'main.carol' is damaged"
    model.then(say("well"))
    work(home, message("hello"))
    assert len(model.bodies) == 1


def test_an_event_of_an_agent_whose_record_is_of_a_newer_version_waits_for_that_version(
    home: AgentRuntime,
) -> None:
    home.stores.kv.put(keys.agent_record("main", "bob"), b'{"format": 2}')
    waiting = task("main.bob")
    work(home, waiting)
    assert list_reasons(home) == []
    inbox = keys.inbox_event(group_of(waiting), "").partition
    assert len(home.stores.kv.scan(inbox)) == 1


def test_a_name_with_a_meaning_of_its_own_is_refused(home: AgentRuntime) -> None:
    for name in ("main", "Alice", "a.b", "root", "1st", "", "a" * 33, "ä", "a/b", "a#b", "a~b"):
        with pytest.raises(UsageError):
            add(home, name)
    with pytest.raises(UsageError, match="already"):
        add(home, "alice")


@pytest.mark.parametrize("name", ["main.alice", ".alice", "main."])
def test_an_agent_of_the_settings_has_no_dot(
    runtime: Callable[..., AgentRuntime], name: str
) -> None:
    with pytest.raises(UsageError, match="has a dot"):
        runtime(agent=name)


def test_a_halt_of_the_root_stops_its_agents_and_a_halt_of_one_stops_no_other(
    home: AgentRuntime, bot: BotApi, model: ScriptedModel
) -> None:
    add(home, "bob")
    work(home, message("/agent alice"))
    model.then(say("alice"), say("root"))
    work(home, message("/halt"))  # in the chat of alice
    assert "Halted: alice" in list_texts(bot)[-1]
    work(home, message("hello"), task("main.alice"))
    assert model.bodies == []
    work(home, message("hello", 44))
    assert list_texts(bot, 44) == ["alice"]
    work(home, message("/unlock"))
    work(home, message("hello"))
    assert list_texts(bot)[-1] == "root"

    work(home, message("/halt all"))
    asked = len(model.bodies)
    work(home, message("hello"), message("hello", 44), task("main.alice"), task("main.bob"))
    assert len(model.bodies) == asked
    control.unlock("", home.app, "terminal:local")
    model.then(say("again"))
    work(home, message("hello again"))
    assert list_texts(bot)[-1] == "again"


def test_the_roots_budget_holds_for_the_sum_of_all_and_an_agents_own_for_its_own(
    runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, tokens_per_day=150, **platform(bot))
    add(home, "alice")
    add(home, "bob", tokens=50)
    work(home, message("/agent alice"))
    bind(home.stores.kv, "main", "telegram:43", "bob", order="", by="terminal:local")
    usage = {"usage": {"prompt_tokens": 50, "completion_tokens": 10}}
    model.then(*({**say(str(number)), **usage} for number in range(9)))
    work(home, message("one", 43))
    work(home, message("two", 43))
    assert len(model.bodies) == 1
    assert "This agent's own budget" in list_texts(bot, 43)[-1]
    work(home, message("three"))
    assert "Agent alice used 60 of all tokens" in ask_status(home, bot)
    work(home, message("four", 44))
    assert len(model.bodies) == 3
    work(home, message("five"), message("six", 44), task("main.alice"))
    assert len(model.bodies) == 3
    assert "My budget of tokens is used up" in list_texts(bot)[-1]
    spent = home.app.make_breakers("main#telegram:42").count_period()
    assert spent.total == 180


def ask_status(home: AgentRuntime, bot: BotApi) -> str:
    work(home, message("/status all"))
    return list_texts(bot)[-1]


def test_what_a_bound_chat_said_is_exported_and_erased_with_the_person(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    kv = home.stores.kv
    bind(kv, "main", "telegram:66", "alice", order="", by="telegram:66")
    model.then(say("noted"), say("in the group"))
    work(home, message("my secret-word is rosebud", 66))
    group = event("rosebud in the group", "telegram:-7", "telegram:66", private=False)
    bind(kv, "main", "telegram:-7", "alice", order="", by="telegram:42")
    work(home, group)
    work(home, replace(task("main.alice"), by="telegram:66"))
    change_state(kv, "main", "alice", "archived")

    data = PersonalData(home.app, home.stores.artifacts)
    exported = dumps(data.export(data.find("telegram:66"))).decode()
    assert "secret-word is rosebud" in exported
    assert "rosebud in the group" in exported
    erased = data.erase(data.find("telegram:66"))
    assert erased.removed["conversations"] == 1
    left = [
        item.value
        for partition in list_partitions(kv)
        for _, item in scan_all(kv, partition)
        if b"rosebud" in item.value
    ]
    assert left == []
    assert read_binding(kv, "main", "telegram:66").agent == ""
    assert data.count(data.find("telegram:66")) == {}


def test_work_on_behalf_of_a_person_is_erased_with_them(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    kv = home.stores.kv
    who = "telegram:77"
    words = "words of theirs"
    home.app.people.let_in(who, "member", "Bob", "telegram:42")
    model.then(say("done"), say("read"))
    Mailbox(kv, "main").deliver(Mail("read", "carol", words, 1.0, by=who))
    work(home, replace(task("main", words), by=who))
    assert str(model.bodies).count(words) == 2
    assert not kv.scan(keys.mail("main", 0.0, "").partition)
    waiting = replace(task("main.alice", words), by=who)
    work(home, replace(waiting, agent="main.ghost"))  # a dead letter
    home.queue.put(waiting)
    for scope in ("main.bob", keys.session_of("main", "telegram:-5")):
        Mailbox(kv, scope).deliver(Mail("m", "carol", words, 1.0, by=who))
    opened = home.app.sessions.open(keys.session_of("main", "own:main"))
    post = replace(waiting, id="post", kind="say", session="telegram:-5")
    home.app.sessions.save(opened, replace(opened.document, posts=(post,)))

    def list_left() -> list[str]:
        found = ((name, item) for name in list_partitions(kv) for _, item in scan_all(kv, name))
        return [name for name, item in found if words.encode() in item.value]

    assert len(list_left()) == 5
    assert len(home.app.sessions.open(opened.key).document.messages) == 4
    data = PersonalData(home.app, home.stores.artifacts)
    data.erase(data.find(who))
    assert list_left() == []


def test_what_an_agent_deploys_is_its_sessions_alone(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    spec = {"name": "cluck", "description": "Cluck like a hen.", "execute": "return 'cluck'"}
    work(home, message("/agent alice"))
    model.then(call(("sigil_deploy", spec)), call(("cap_cluck", {})), say("done"))
    work(home, message("learn to cluck"))
    assert "cluck" in str(model.bodies[-1]["messages"][-1])
    registry = home.app.registry
    alice = home.agents.find("main.alice", home.app)
    assert isinstance(alice, App)
    mine = alice.make_caller("telegram:42")
    assert [row["namespace"] for row in registry.list(mine)] == ["main~telegram:42#main.alice"]
    for other in (
        Caller("main", owner=True),
        home.app.make_caller("telegram:42", owner=True),
        alice.make_caller("telegram:44"),
    ):
        assert list(registry.list(other)) == []
    assert not alice.make_caller("telegram:42", owner=True).owner


@pytest.mark.parametrize(
    ("session", "own"),
    [
        ("telegram:7#main.alice", "main.alice#telegram:7"),
        ("telegram:7", "main#telegram:7"),
        ("telegram:7#other.alice", "main#telegram:7%23other.alice"),
        ("telegram:7#main", "main#telegram:7%23main"),
        ("#main.alice", "main#%23main.alice"),
    ],
)
def test_a_callers_session_belongs_to_an_agent_of_its_own_root_alone(
    session: str, own: str
) -> None:
    assert keys.session_of_caller("main", session) == own


def test_a_turn_of_a_bound_chat_that_is_handed_on_goes_on_with_its_agent(
    home: AgentRuntime, bot: BotApi, model: ScriptedModel
) -> None:
    work(home, message("/agent alice"))
    home.queue.put(message("work"))
    delivery = home.queue.take(0.0)
    assert delivery is not None
    worker.process(delivery, home, time.monotonic() + ROUND_SECONDS / 2)
    assert model.bodies == []
    bind(home.stores.kv, "main", "telegram:42", "", order="9", by="?")
    model.then(say("worked"))
    work(home)
    assert list_texts(bot)[-1] == "worked"
    assert "You are alice" in read_system(model)
    child = home.app.sessions.open(keys.session_of("main.alice", "telegram:42")).document
    assert child.turn is None
    assert [each.content for each in child.messages if each.role == "assistant"] == ["worked"]


def test_a_bound_group_hears_what_the_root_would_hear(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    def write(text: str, addressed: tuple[str, ...] = ("@uncaged",)) -> Event:
        written = event(text, "telegram:-7", "telegram:42", private=False)
        return replace(written, addressed=addressed)

    home = replace(home, channels={})
    bind(home.stores.kv, "main", "telegram:-7", "alice", order="", by="?")
    work(home, write("/listen on"))
    work(home, write("the hens are out", NOBODY))
    model.then(say("seen"))
    work(home, write("where are they?"))
    assert "the hens are out" in str(model.bodies[-1])


def test_a_damaged_binding_binds_nothing_and_a_newer_one_keeps_the_message(
    home: AgentRuntime, bot: BotApi, model: ScriptedModel
) -> None:
    kv = home.stores.kv
    key = keys.chat_binding("main", "telegram:42")
    bind(kv, "main", "telegram:42", "alice", order="", by="?")
    item = kv.get(key)
    assert item is not None
    whole = item.value
    for cut in range(len(whole)):
        kv.put(key, whole[:cut])
        assert read_binding(kv, "main", "telegram:42") == UNBOUND
    model.then(say("the root"), say("alice"))
    work(home, message("hello"))
    assert list_texts(bot) == ["the root"]
    kv.put(key, b'{"format":2}')
    later = message("are you there?")
    work(home, later)
    assert len(model.bodies) == 1
    assert len(kv.scan(keys.inbox_event(group_of(later), "").partition)) == 1
    assert list_reasons(home) == []


def test_no_door_leads_to_an_agent(live: Lives, model: ScriptedModel) -> None:
    with live() as agent:
        add(agent.server.runtime, "alice")
        post = agent.server.post
        for name in ("main.alice", "alice", "telegram/main.alice", "main.alice/telegram"):
            assert post(f"/webhook/{name}", json={}).status_code in (401, 404, 405)
            assert post(f"/chat/{name}", json={"text": "hello"}).status_code in (404, 405)
        model.then(say("the root"))
        body = {"session": "main.alice", "text": "hello", "agent": "main.alice"}
        assert post("/chat", json=body).json()["reply"] == "the root"
        assert "You are main" in read_system(model)
        assert post("/halt", json={"agent": "main.alice"}).status_code == 400
        assert post("/halt", json={"session": "main.alice"}).status_code == 400
        status = agent.server.client.get("/status", params={"session": "own:main"}).json()
        assert status["agent"] == "main"


def test_an_alert_names_the_agent(home: AgentRuntime, model: ScriptedModel) -> None:
    heard: list[Alert] = []

    class Hearing:
        def notify(self, alert: Alert) -> None:
            heard.append(alert)

    home = replace(home, notifier=Hearing())
    work(home, message("/agent alice"))
    work(home, message("/halt"))
    work(home, message("/unlock"))
    work(home, message("/halt all"))
    assert [(each.event, each.agent) for each in heard] == [
        ("SYSTEM_HALT", "main.alice"),
        ("SYSTEM_HALT", "main"),
    ]
