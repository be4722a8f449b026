"""A person's private chat is theirs, whatever a platform calls it: signed messages come in, and
people see what is said where.
"""

from __future__ import annotations

import itertools
import json
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from functions import worker
from functions.agent.commands.table import answer_inquiry
from functions.agent.conversation.messages import read_inbox
from functions.agent.memory.thing import Thing
from functions.agent.memory.things import Things
from functions.agent.policy.proposals import make_approval
from functions.agent.schedules.schedule import Schedule, Schedules
from functions.agent.schedules.tick import wake_agents
from functions.agent.schedules.when import When
from functions.agent.workspace.files import Writer
from functions.agent.workspace.scope import find_scopes_of_work
from functions.channels.base import PlatformRequest
from functions.personal_data import PersonalData
from functions.wiring import AgentRuntime
from sigil.protocol import Caller
from sigil.storage.kv import keys
from sigil.storage.kv.base import list_partitions
from sigil.storage.kv.update import scan_all
from tests.fakes import matrix, slack
from tests.fakes.discord import DiscordServer, open_discord
from tests.fakes.matrix import ADA, BOB, DIRECT, GROUP, FakeRoom, Homeserver
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.policy.asking import DOUBLE, QUERY, SPEC
from tests.project.tree import ROOT

HOUR = 3600.0
STUDY = "!study:example.org"
SECRET = "petunia"
READ = ("cap_read_file", {"path": "plan.md"})
FIND_FILE = ("sigil_query", {"query": "read a file"})
_NUMBERS = itertools.count(1)
Open = Callable[..., AgentRuntime]


@dataclass
class Place:
    """An agent on a platform, its owner Ada, whose private chat is `chat`, and Bob, a guest.

    `make_request` makes the request by which the platform tells what somebody says: a text, whether
    Ada says it in private or Bob in a group. `read` returns what was said in the private chat.
    """

    runtime: AgentRuntime
    ada: str
    chat: str
    make_request: Callable[[str, bool], PlatformRequest]
    read: Callable[[], list[str]]

    @property
    def app(self) -> Any:
        return self.runtime.app

    def take(self, request: PlatformRequest) -> None:
        """Take a request of the platform, and work until nothing waits."""
        channel = self.runtime.channels[self.ada.partition(":")[0]]
        for event in channel.receive(request).events:
            self.runtime.queue.put(event)
        self.work_off()

    def work_off(self) -> None:
        sides = [side for side in (self.runtime.queue, self.runtime.work) if side]
        while any(self._take_next(side) for side in sides):
            pass

    def _take_next(self, side: Any) -> bool:
        delivery = side.take(0.0)
        if delivery:
            worker.process(delivery, replace(self.runtime, queue=side))
        return bool(delivery)

    def write(self, text: str) -> None:
        self.take(self.make_request(text, True))

    def write_in_group(self, text: str) -> None:
        self.take(self.make_request(text, False))

    def wake(self, **fields: Any) -> None:
        """Let something that Ada scheduled in her private chat come due."""
        now = time.time()
        when = When(kind="every", every=HOUR, zone="UTC")
        asked = Schedule(id="", when=when, session=self.chat, by=self.ada, since=now, **fields)
        Schedules(self.app.kv, "main").add(asked)
        wake_agents(self.app.kv, self.runtime.queue.put, "main", now + HOUR + 1)
        self.work_off()

    def uses_agents_files(self, chat: str = "") -> bool:
        """Return whether work for Ada that belongs to a chat uses the agent's own files."""
        app = self.app
        home = chat or self.chat
        found = find_scopes_of_work("main", home, self.ada, app.people, app.private_chats)
        return found.own == "main"

    @property
    def personal(self) -> PersonalData:
        return PersonalData(self.app, self.runtime.stores.artifacts)

    def find_secret(self) -> list[str]:
        """Return the partitions of the store that hold the secret, with all that is beside it."""
        return [
            partition
            for partition in list_partitions(self.app.kv)
            for _, item in scan_all(self.app.kv, partition)
            if SECRET in str(item.value)
        ]


@contextmanager
def open_matrix(runtime: Open, url: str) -> Iterator[Place]:
    with Homeserver() as home:
        opened = runtime(
            llm_url=url,
            matrix_homeserver=home.url,
            matrix_user=matrix.BOT,
            matrix_token=matrix.TOKEN,
            matrix_secret=matrix.SECRET,
            owners=(f"matrix:{ADA}",),
        )

        def make_request(text: str, private: bool) -> PlatformRequest:
            who, room = (ADA, DIRECT) if private else (BOB, GROUP)
            return tell(say_in(text, who, room))

        def read() -> list[str]:
            said = [each for each in home.messages if each["room_id"] == DIRECT]
            return [each["content"]["body"] for each in said]

        place = Place(opened, f"matrix:{ADA}", f"matrix:{DIRECT}", make_request, read)
        place.rooms = home.rooms  # type: ignore[attr-defined]
        yield place


def say_in(text: str, who: str = ADA, room: str = DIRECT, **more: Any) -> dict[str, Any]:
    return matrix.make_event(matrix.text(text, matrix.BOT, **more), who, room)


def tell(event: dict[str, Any]) -> PlatformRequest:
    return matrix.push(matrix.encode(event), str(next(_NUMBERS)))


@contextmanager
def open_on_discord(runtime: Open, url: str) -> Iterator[Place]:
    with DiscordServer() as server:
        opened = runtime(
            llm_url=url,
            discord_token=server.token,
            discord_public_key=server.public_key,
            discord_api=server.url,
            owners=("discord:42",),
        )
        channel = open_discord(server)

        def make_request(text: str, private: bool) -> PlatformRequest:
            where = {} if private else {"user": 66, "called": "Bob", "guild": 900, "channel": 42}
            made = server.command("ask", text, **where)
            body = json.dumps(made).encode()
            server.take_answer(made, 200, b'{"type": 5}')
            headers = {name.lower(): value for name, value in server.sign(body).items()}
            return PlatformRequest(headers, body)

        def read() -> list[str]:
            answers = [each.original for each in server.interactions.values() if each.channel == 5]
            posted = [each for each in server.posted if each["channel_id"] == "5"]
            return [each["content"] for each in (*answers, *posted) if each]

        made = replace(opened, channels={"discord": channel})
        yield Place(made, "discord:42", "discord:5", make_request, read)
        channel.close()


@contextmanager
def open_slack(runtime: Open, url: str) -> Iterator[Place]:
    with slack.SlackWorkspace() as workspace:
        ada = f"slack:{slack.TEAM}.{slack.ADA}"
        opened = runtime(
            llm_url=url,
            slack_token=workspace.token,
            slack_secret=slack.SECRET,
            slack_api=workspace.api,
            owners=(ada,),
        )

        def make_request(text: str, private: bool) -> PlatformRequest:
            ts = f"1780000000.{next(_NUMBERS):06d}"
            if private:
                said = slack.message(text, ts, slack.ADA, slack.DIRECT)
            else:
                said = slack.message(f"<@{slack.BOT}> {text}", ts, slack.BOB, slack.CHAT)
            headers, body = slack.json_request(slack.event_payload(said))
            return PlatformRequest({name.lower(): it for name, it in headers.items()}, body)

        def read() -> list[str]:
            said = [each for each in workspace.messages if each["channel"] == slack.DIRECT]
            return [each["seen"] for each in said]

        yield Place(opened, ada, ada, make_request, read)


PLATFORMS = {"matrix": open_matrix, "discord": open_on_discord, "slack": open_slack}


@pytest.fixture
def opens(runtime: Open, tmp_path: Path) -> Open:
    shutil.copytree(ROOT / "capabilities" / "read-file", tmp_path / "library" / "read-file")
    return partial(
        runtime,
        library=str(tmp_path / "library"),
        access="open",
        guest_turns=0,
        guest_tokens=0,
    )


@pytest.fixture(params=PLATFORMS)
def place(opens: Open, model: ScriptedModel, request: pytest.FixtureRequest) -> Iterator[Place]:
    with PLATFORMS[request.param](opens, model.url) as opened:
        yield opened


@pytest.fixture
def on_matrix(opens: Open, model: ScriptedModel) -> Iterator[Place]:
    with open_matrix(opens, model.url) as opened:
        yield opened


def test_an_owners_private_chat_has_what_is_theirs_and_is_erased_as_a_whole(
    place: Place, model: ScriptedModel
) -> None:
    app = place.app
    model.then(say("noted"), say("so it is"))
    place.write(f"my flower is {SECRET}")
    place.write_in_group("what is new?")
    assert "noted" in place.read()[0]

    # work that nobody typed uses the owner's files, in the private chat alone
    app.open_workspace("main").write("plan.md", b"buy milk", Writer("terminal:local", "", ""))
    model.then(call(FIND_FILE), call(READ), say("there is milk to buy"))
    place.wake(text="look at the plan")
    assert "buy milk" in str(model.bodies[-1]["messages"])
    assert place.read()[-1] == "there is milk to buy"
    group = next(
        keys.unescape(partition.partition("#")[2].partition("#")[2])
        for partition in list_partitions(app.kv)
        if partition.startswith("session#main#")
        and keys.escape(place.chat) not in partition
        and "#own" not in partition
    )
    assert not place.uses_agents_files(group)

    # a reminder comes with what snoozes it
    place.wake(say="water it")
    said = app.sessions.open(keys.session_of("main", place.chat)).document
    assert read_inbox(said.messages[-1]) == (("wakeup water it", "water it"),)
    assert place.read()[-1].startswith("water it")

    # an owner is asked in the same chat, and approves there
    app.registry.deploy(SPEC, Caller("main"))
    policy = 'format = 1\nrules = ["ask guest call double"]'
    app.policy_versions.write("main", "policy", policy, by="terminal:local")
    model.then(call(QUERY), call(DOUBLE), say("it waits"), say("4"))
    place.write_in_group("double 2")
    [proposal] = app.proposals.list_open()
    assert "double" in place.read()[-1]
    place.write(f"/approve {proposal.id}")
    assert app.kv.get(keys.stored_value("main", "main", "double", "runs"))

    # all of it is in an export, and nothing is left of it after an erasure
    found = place.personal.find(place.ada)
    assert place.chat in found.chats
    assert group not in found.chats
    exported = place.personal.export(found)
    assert SECRET in str([row for row in exported["records"] if row["chat"] == place.chat])
    place.personal.erase(found)
    assert place.find_secret() == []
    left = place.personal.export(place.personal.find(place.ada))
    assert (left["records"], left["groups"]) == ([], [])


def test_a_room_that_another_comes_into_is_a_group_for_good(
    on_matrix: Place, model: ScriptedModel
) -> None:
    place = on_matrix
    room = place.rooms[DIRECT]  # type: ignore[attr-defined]
    thread = f"{place.chat}:$root"
    model.then(say("noted"), say("hello Bob"), say("hello Ada"))
    # who comes in first is the one whose it is
    joined = {"membership": "join"}
    place.take(tell(matrix.make_event(joined, ADA, kind="m.room.member", state_key=ADA)))
    assert place.uses_agents_files()
    place.write(f"my flower is {SECRET}")
    assert place.uses_agents_files(thread)
    renamed = matrix.make_event(joined, ADA, kind="m.room.member", state_key=ADA)
    renamed["unsigned"] = {"prev_content": joined}
    place.take(tell(renamed))
    assert place.uses_agents_files()

    # at once, before anybody has said a word
    room.members[BOB] = "Bob"
    place.take(tell(matrix.make_event(joined, BOB, kind="m.room.member", state_key=BOB)))
    assert not place.uses_agents_files()
    assert not place.uses_agents_files(thread)
    place.take(tell(say_in("sigil: and mine is a rose", BOB)))
    # Ada is asked in a room of her own from now on
    assert place.app.private_chats.find_all([place.ada]) == {place.ada: place.ada}

    # what Bob wrote stays there, so nothing comes back when he has left
    del room.members[BOB]
    place.take(tell(say_in("/files")))
    place.write("again alone")
    assert not place.uses_agents_files()
    found = place.personal.find(place.ada)
    assert place.chat not in found.chats
    exported = place.personal.export(found)
    assert SECRET in str(exported["groups"])
    assert "rose" not in str(exported)
    place.personal.erase(found)
    assert place.find_secret() == []
    messages = place.app.sessions.open(keys.session_of("main", place.chat)).document.messages
    assert any("rose" in message.content for message in messages)
    # the room is known to be a group, and no more whose it was
    assert place.app.private_chats.is_shared(place.chat)
    assert ADA not in str(list(place.app.private_chats.scan()))


@pytest.mark.parametrize("is_told", [True, False], ids=["told of it", "at their first word"])
def test_a_room_that_another_comes_into_leaves_the_memory_of_the_persons_other_chats(
    on_matrix: Place, model: ScriptedModel, is_told: bool
) -> None:
    place = on_matrix
    rooms = place.rooms  # type: ignore[attr-defined]
    rooms[STUDY] = FakeRoom({ADA: "Ada", matrix.BOT: "Sigil"})
    place.write("/link")
    code = re.findall(r"!link [0-9A-Z-]{14}", place.read()[-1])[0]
    place.take(tell(say_in(code, ADA, STUDY)))
    sessions = [keys.session_of("main", chat) for chat in (place.chat, f"matrix:{STUDY}")]
    scopes = {place.app.sessions.open(session).memory for session in sessions}
    assert len(scopes) == 1
    place.app.documents.write(*scopes, "memory", f"her flower is {SECRET}", by="test")
    things = Things(place.app.kv, *scopes, place.app.helpers.terms)
    things.save(Thing("kv", ("flower", SECRET), "user", 1.0, 1.0, place.ada))

    rooms[DIRECT].members[BOB] = "Bob"
    if is_told:
        came = {"membership": "join"}
        place.take(tell(matrix.make_event(came, BOB, kind="m.room.member", state_key=BOB)))
        assert place.app.sessions.open(sessions[0]).memory not in scopes
    else:
        channel = place.runtime.channels["matrix"]
        [asked] = channel.receive(tell(say_in("/recall flower"))).events
        assert SECRET in answer_inquiry(replace(asked, private=True), place.app)
        assert SECRET not in answer_inquiry(replace(asked, private=False), place.app)
    model.then(say("hello Bob"), say("it is a petunia"))
    place.take(tell(say_in("sigil: what is her flower?", BOB)))
    assert SECRET not in json.dumps(model.chats[-1])
    place.take(tell(say_in("what is my flower?", ADA, STUDY)))
    assert SECRET in json.dumps(model.chats[-1])


def test_a_call_that_was_asked_for_in_private_runs_as_one_of_the_group_that_it_is_now(
    on_matrix: Place, model: ScriptedModel
) -> None:
    place = on_matrix
    app = place.app
    app.open_workspace("main").write("plan.md", b"buy milk", Writer("terminal:local", "", ""))
    policy = 'format = 1\nrules = ["ask owner call read-file"]'
    app.policy_versions.write("main", "policy", policy, by="terminal:local")
    model.then(call(FIND_FILE), call(READ), say("it waits"))
    place.write("what is planned?")
    [proposal] = app.proposals.list_open()
    assert proposal.private
    place.rooms[DIRECT].members[BOB] = "Bob"  # type: ignore[attr-defined]
    joined = matrix.make_event({"membership": "join"}, BOB, kind="m.room.member", state_key=BOB)
    place.take(tell(joined))
    decided = app.proposals.decide(proposal.id, "approved", place.ada)
    place.runtime.queue.put(make_approval(decided))
    place.work_off()
    assert "`read-file` failed: there is no such file" in place.read()[-1]
    assert "buy milk" not in str(model.bodies)


def test_a_group_of_two_is_nobodys_private_chat(on_matrix: Place, model: ScriptedModel) -> None:
    place = on_matrix
    model.then(say("hello"), say("hello again"))
    place.take(tell(say_in("hi", ADA, GROUP)))
    del place.rooms[GROUP].members[BOB]  # type: ignore[attr-defined]
    place.take(tell(matrix.make_event({"membership": "leave"}, BOB, GROUP, "m.room.member")))
    place.take(tell(say_in("alone now", ADA, GROUP)))
    assert not place.uses_agents_files(f"matrix:{GROUP}")
    # another server's person who is named like one of ours with a port owns nothing of theirs
    chats = place.app.private_chats
    assert chats.owns(place.ada, place.ada)
    assert not chats.owns(place.ada, f"{place.ada}:8448")
    assert not chats.owns("discord:42", "discord:42")


def test_a_person_whose_id_is_as_long_as_ids_may_be_is_let_in_and_erased(
    opens: Open, model: ScriptedModel
) -> None:
    with open_matrix(partial(opens, access="members"), model.url) as place:
        eve = f"@{'e' * 60}:{'long.' * 37}org"
        assert len(eve) in range(245, 256)
        room = "!eve:example.org"
        place.rooms[room] = matrix.FakeRoom({matrix.BOT: None, eve: "Eve"})  # type: ignore[attr-defined]
        place.take(tell(say_in("hello?", eve, room)))
        model.then(say("hello Eve"))
        place.write(f"/pair matrix:{eve} member")
        assert place.app.people.find_member(f"matrix:{eve}").role == "member"
        place.take(tell(say_in(f"I like {SECRET}", eve, room)))
        found = place.personal.find(f"matrix:{eve}")
        assert found.chats == (f"matrix:{room}",)
        assert SECRET in str(place.personal.export(found)["records"])
        place.personal.erase(found)
        assert place.find_secret() == []
        assert place.app.people.find_member(f"matrix:{eve}") is None
