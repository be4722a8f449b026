"""A day of ten members and thirty guests who take all that they can, after which an owner still can
do everything.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from functions.agent import approvals, mailbox
from functions.agent.access.roles import Role
from functions.agent.calls import background_calls
from functions.agent.calls.background_calls import CallStarter
from functions.agent.conversation.messages import ToolCall
from functions.agent.knowledge import knowledge_base
from functions.agent.memory import things as memory_things
from functions.agent.policy import proposals
from functions.agent.policy.act import Act
from functions.agent.policy.document import write_policy
from functions.agent.policy.editing import add_rule
from functions.agent.policy.proposals import AskedCall
from functions.agent.policy.rules import FIRST_TEXT
from functions.agent.posts import PostAllowance
from functions.agent.schedules import schedule
from functions.agent.services import agents, board, knowledge, schedules, team, things
from functions.agent.services import files as file_services
from functions.agent.services.call_context import Arguments, CallContext
from functions.agent.shares import divide_places
from functions.agent.team import board as team_board
from functions.agent.workspace import files
from functions.wiring import AgentRuntime
from sigil.errors import Refused
from sigil.protocol import Offer
from sigil.storage.kv import keys
from tests.functions.agent.talk import event, tell
from tests.library import copy_capabilities
from tests.selection import thorough

OWNER = "telegram:1"
GROUP = "telegram:-100"
OFFER = Offer("note", 1, "0" * 64, "Takes long.", {}, background=True)
MEMBERS = tuple(f"telegram:{number}" for number in range(10, 20))
GUESTS = tuple(f"telegram:{number}" for number in range(100, 130))
COMMANDS = {"reminder": "/remind in 2 hours call {number}", "own task": "/tasks add call {number}"}
AGENTS = ("subagent", "teammate")
GUESTS_MAY = {
    ("reminder", "schedule"): True,
    ("own task", "task"): True,
    AGENTS: True,
    ("document",): False,
    ("mail",): True,
    ("file",): True,
    ("thing",): True,
    ("long call",): True,
    ("proposal",): True,
}
"""The kinds of things that share their places, and whether guests may make them."""
KINDS = tuple(GUESTS_MAY)
MAXIMA = (
    (schedule, "SCHEDULES_MOST"),
    (team_board, "OPEN_MOST"),
    (knowledge_base, "CHUNKS_MOST"),
    (proposals, "OPEN_MOST"),
    (mailbox, "MAILS_MOST"),
    (files, "FILES_MOST"),
    (memory_things, "THINGS_MOST"),
    (background_calls, "RUNNING_MOST"),
)
"""Where so many things fit, and no more."""


@dataclass
class Day:
    """An agent, and the people who write to it."""

    home: AgentRuntime
    number: int = 0
    last: str = ""
    refusals: list[str] = field(default_factory=list)

    def tell(self, who: str, text: str) -> str:
        (reply,) = tell(self.home, text, session=who, sender=who)
        return reply

    def open_context(self, who: str, role: Role, chat: str = "") -> CallContext:
        """Return the context of a call in a turn of somebody, in their own chat or in another."""
        app = self.home.app
        gate = app.make_gate(app.load_policies(), role, private=not chat)
        session = keys.session_of("main", chat or who)
        return CallContext(
            app,
            session,
            owner=role == "owner" and not chat,
            by=who,
            call=f"call-{self.number}",
            posts=PostAllowance(32, "main"),
            role=role,
            private=not chat,
            home=chat or who,
            gate=gate,
        )

    def make(self, kind: str, who: str, role: Role) -> None:
        """Make one thing of a kind for somebody, as commands and the tools of a turn do."""
        self.number += 1
        if kind in COMMANDS:
            reply = self.tell(who, COMMANDS[kind].format(number=self.number))
            self.last = reply
            if "places" in reply:
                raise Refused("EQUOTA", reply, suggestion=reply)
        elif kind == "proposal":
            asked = AskedCall("cap_note", f'{{"number": {self.number}}}')
            happened = event("please", session=who, sender=who)
            approvals.ask_owners(self.home.app, happened, role, [Act("call", "note")], asked)
        elif kind == "long call":
            happened = event("please", session=GROUP, sender=who, private=False)
            starter = CallStarter(self.home.app, happened, None, PostAllowance(32, "main"))
            starter.start(ToolCall("1", "cap_note", "{}"), OFFER, "1:0")
        else:
            service, arguments, chat = self.list_calls()[kind]
            service(self.open_context(who, role, chat), arguments)

    def list_calls(self) -> dict[str, tuple[Callable[..., Any], Arguments, str]]:
        """The services that store something where others have to find room too, each with the
        arguments of a call that no one before had, and the chat that is no one's own.
        """
        new = f"n{self.number}"
        limits: dict[str, Any] = {"max_steps": 1, "max_tokens": 1, "max_walltime": 1}
        subagent = {"name": new, "role": "x", "task": "x", "bundle": ["recall"], "fs_scope": "own"}
        mail = {"to": "bob", "content": new}
        page = {"title": new, "text": new, "source": "user"}
        return {
            "schedule": (schedules.schedule_wakeup, {"when": "in 2 hours", "say": new}, ""),
            "task": (board.create_task, {"subject": new}, ""),
            "subagent": (agents.create_subagent, {**subagent, **limits}, ""),
            "teammate": (team.spawn_teammate, {"name": new, "role": "x", "prompt": "x"}, ""),
            "document": (knowledge.ingest, page, ""),
            "mail": (team.send_message, mail, ""),
            "thing": (things.remember, {"key": new, "value": "x", "source": "user"}, GROUP),
            "file": (file_services.write_file, {"path": f"{new}.md", "content": "x"}, GROUP),
        }

    def take_all(self, kind: str, who: str, role: Role, tries: int) -> int:
        """Make as many things as somebody may, and return how many these are."""
        for made in range(tries):
            try:
                self.make(kind, who, role)
            except Refused as refusal:
                self.refusals.append(refusal.suggestion)
                return made
        raise AssertionError(f"{who} took {tries} of {kind}: {self.last}")


@pytest.fixture
def most() -> int:
    return 16


@pytest.fixture
def day(runtime: Callable[..., AgentRuntime], tmp_path: Path, most: int) -> Day:
    library = copy_capabilities(tmp_path / "services", "recall")
    home = runtime(
        library=str(library),
        owners=(OWNER,),
        access="open",
        guest_turns=0,
        guest_tokens=0,
        agents_most=most,
        tokens_per_day=0,
    )
    policy = add_rule(FIRST_TEXT, "allow everybody task")  # guests may not, but where it says so
    write_policy(home.app.policy_versions, policy, by=OWNER)
    for who in MEMBERS:
        home.app.people.let_in(who, "member", who, OWNER)
    return Day(home)


@pytest.mark.parametrize("most", [16, *thorough(64)])
def test_after_a_day_on_which_everybody_takes_all_they_can_an_owner_can_do_everything(
    day: Day, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in MAXIMA:
        monkeypatch.setattr(module, name, most)
    shares = divide_places(most)
    context = day.open_context(OWNER, "owner")
    team.spawn_teammate(context, {"name": "bob", "role": "x", "prompt": "x"})
    for kinds in KINDS:
        of_guests = 0
        of_members = 0
        for kind in kinds:
            of_guests += sum(day.take_all(kind, who, "guest", most) for who in GUESTS)
            of_members += sum(day.take_all(kind, who, "member", most) for who in MEMBERS)
        assert all("owner" in each or "`/stop`" in each for each in day.refusals), kinds
        assert of_guests == (shares.guests if GUESTS_MAY[kinds] else 0), kinds
        assert of_guests + of_members + bool(kinds == AGENTS) == most - shares.reserve, kinds
    for kind in itertools.chain(*KINDS):
        day.make(kind, OWNER, "owner")
    shown = day.tell(OWNER, "/wakeups all").splitlines()
    theirs = [line for line in shown if f"by `{MEMBERS[0]}`" in line]
    assert len(theirs) == shares.person
    for line in theirs:
        dropped = day.tell(OWNER, f"/wakeups drop {line.split('`')[1]}")
        assert dropped.startswith("Dropped: ")
    assert f"by `{MEMBERS[0]}`" not in day.tell(OWNER, "/wakeups all")
    day.make("reminder", MEMBERS[0], "member")  # there is room again
    assert "is done" in day.tell(OWNER, "/tasks done 1")
    day.make("own task", OWNER, "owner")


def test_the_schedules_of_everybody_are_shown_to_owners_in_their_own_chats_alone(
    day: Day,
) -> None:
    day.make("reminder", MEMBERS[0], "member")
    assert day.tell(MEMBERS[0], "/wakeups all") == day.tell(
        MEMBERS[1], "/wakeups drop 0123456789ab"
    )
    assert "Only my owner" in day.tell(GUESTS[0], "/wakeups all")
    (reply,) = tell(day.home, "/wakeups all", session=GROUP, sender=OWNER, private=False)
    assert "private chat" in reply
    assert "no schedule" in day.tell(OWNER, "/wakeups drop 0123456789ab")
