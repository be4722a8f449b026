"""A day with a team of three, in a group and in two private chats: people see how it goes, answer
its plans and questions, stop it and let it go on, and open what it has written.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

from functions import progress_message
from functions.agent.team.member import Members
from tests.fakes.model import call, results, say
from tests.functions.agent.team.crew import Body, TeamModel, contents, search, spawning
from tests.functions.people import GROUP, OWNER, Live, post_update
from tests.machine import until, within

MEMBER = 7
GROUP_ID = int(GROUP["id"])
FILE = "team/plan.md"


@pytest.fixture
def model() -> Iterator[TeamModel]:
    with TeamModel() as server:
        yield server


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show work at once, and change what is shown as often as that."""
    monkeypatch.setattr(progress_message, "FIRST_SECONDS", 0.005)
    monkeypatch.setattr(progress_message, "PAUSE_SECONDS", 0.005)


class Day:
    """The people, their chats, and what the teammates do when they are asked."""

    def __init__(self, agent: Live, model: TeamModel) -> None:
        self.agent = agent
        self.model = model
        self.plans = iter(["rewrite everything", "mend the lexer"])
        self.carol_is_asked = threading.Event()
        self.carol_may_answer = threading.Event()
        model.plans |= {"alice": self.play_alice, "bob": self.play_bob, "carol": self.play_carol}

    def play_alice(self, body: Body) -> dict[str, Any]:
        """Hand in plans until one is approved, then write a file and be done."""
        read = "\n".join(contents(body))
        if "<<TASK>>" not in read:
            return say("[SILENT]")
        if not re.search(r"plan [0-9a-f]{8}: approved", read):
            return call(("cap_plan_approval", {"plan": next(self.plans)}))
        return self._write_and_be_done(body)

    def play_bob(self, body: Body) -> dict[str, Any]:
        """Ask the lead before anything else."""
        read = "\n".join(contents(body))
        if "<<TASK>>" in read:
            return self._write_and_be_done(body)
        if "request_id=" in read:
            return say(f"Then {'white' if 'white ones' in read else 'brown'}.")
        if results(body):
            return say("[SILENT]")
        return call(("cap_send_message", {"to": "lead", "content": "Brown or white eggs?"}))

    def play_carol(self, body: Body) -> dict[str, Any]:
        """Work without an end where the task says so, else until it may be done."""
        read = "\n".join(contents(body))
        if "<<TASK>>" not in read:
            return say("[SILENT]")
        if "for ever" in read:
            return search(len(body["messages"]))
        if not results(body):
            return call(("cap_list_tasks", {}))
        self.carol_is_asked.set()
        assert self.carol_may_answer.wait(within(20))
        return self._write_and_be_done(body)

    def _write_and_be_done(self, body: Body) -> dict[str, Any]:
        task = re.findall(r"<<TASK>>\nTask #\d+: ([^\n]*)", "\n".join(contents(body)))[-1]
        if any("has been written" in each or '"path"' in each for each in results(body)):
            return say("written")
        return call(("cap_write_file", {"path": FILE, "content": f"for {task}"}))

    def hear(self, chat: int, wanted: str, after: int = 0) -> str:
        """Return the first text in a chat, after so many, that has these words."""

        def find() -> list[str]:
            return [text for text in self.agent.list_texts(chat)[after:] if wanted in text]

        self.agent.until(lambda: bool(find()))
        return find()[0]

    def see(self, text: str, wanted: str, chat: int = OWNER) -> str:
        """Write in a private chat, and return the first text after that which has these words."""
        before = self.count(chat)
        self.agent.write(text, chat)
        return self.hear(chat, wanted, before)

    def count(self, chat: int) -> int:
        return len(self.agent.list_texts(chat))

    def ask_in_group(self, text: str, **message: Any) -> None:
        """Write to the agent in the group, as the member."""
        kind = "bot_command" if text.startswith("/") else "mention"
        text = text.replace(" ", "@Sigil_Bot ", 1) if kind != "mention" else f"@Sigil_Bot {text}"
        entity = {"type": kind, "offset": 0, "length": text.index(" ")}
        self.agent.write(text, MEMBER, chat=GROUP, entities=[entity], **message)

    def press(self, command: str, chat: dict[str, Any]) -> None:
        """Press a button below a message in a chat, as the owner."""
        user = {"id": OWNER, "is_bot": False, "first_name": "Ada"}
        message = {"message_id": 1, "date": 1_780_000_000, "chat": chat}
        pressed = {"id": "77", "from": user, "message": message, "data": command}
        body = {"update_id": 999_001, "callback_query": pressed}
        assert post_update(self.agent.server, body).status_code == 200

    def quote(self, text: str) -> dict[str, Any]:
        """Return a message of the agent's in the owner's chat, which a reply points at."""
        number = int(self.agent.bot.token.partition(":")[0])
        us = {"id": number, "is_bot": True, "first_name": "Sigil", "username": "Sigil_Bot"}
        chat = {"id": OWNER, "type": "private"}
        return {"message_id": 900, "date": 1, "chat": chat, "from": us, "text": text}


def find_plan(said: str) -> str:
    return said.partition("request_id=")[2][:8]


def test_people_see_answer_stop_and_resume_their_team_and_open_its_files(
    live: Callable[..., AbstractContextManager[Live]], model: TeamModel
) -> None:
    with live(library="builtin", ticks=6) as agent:
        day = Day(agent, model)
        people = agent.server.runtime.app.people
        members = Members(agent.server.runtime.stores.kv, "main")
        people.let_in_by_id(f"telegram:{MEMBER}", f"telegram:{OWNER}")

        # a question of a teammate is answered by a reply
        model.then(*spawning("alice", "bob", "carol"))
        agent.write("spawn alice, bob and carol")
        question = day.hear(OWNER, "bob asks (")
        agent.write("white ones", reply_to_message=day.quote(question))
        day.hear(OWNER, "Then white.")

        # a plan is refused with words, and the next one approved by a button
        day.ask_in_group("/tasks add parse @alice")
        refused = find_plan(day.hear(GROUP_ID, "rewrite everything"))
        before = day.count(GROUP_ID)
        day.ask_in_group(f"/deny {refused} too much at once")
        newer = find_plan(day.hear(GROUP_ID, "mend the lexer", before))
        day.see("/team", f"waits for an answer to its plan {newer}")
        day.press(f"/approve {newer}", GROUP)
        day.hear(GROUP_ID, "#1 done by alice: written")

        # a member's own to-do is nobody's work until it is given away
        day.see("/tasks add buy eggs", "It stays yours", MEMBER)
        agent.write("/tasks assign 2 bob", MEMBER)
        day.hear(MEMBER, "#2 done by bob: written")

        # how work goes is seen, a halt ends it, and an unlock goes on with it
        agent.write("/tasks add paint @carol")
        assert day.carol_is_asked.wait(within(20))
        day.hear(OWNER, "carol: #3 paint")
        assert ", leg 1, " in day.see("/team", "carol (coder): working #3, for ")
        day.see("/halt all", "Halted")
        day.carol_may_answer.set()
        until(lambda: members.read("carol").status == "idle")
        day.see("/unlock", "Unlocked. They go on: carol")
        day.hear(OWNER, "#3 done by carol: written")

        # a limit is told as that limit
        agent.write("/tasks add sort for ever @carol")
        stuck = day.hear(OWNER, "#4 is stuck")
        assert "UNCAGED_TICKS" in stuck

        # each chat opens its own file
        for chat, wanted in ((OWNER, "for paint"), (MEMBER, "for buy eggs")):
            day.see(f"/files {FILE}", wanted, chat)
        day.ask_in_group(f"/files {FILE}")
        day.hear(GROUP_ID, "for parse")

        # whom a person stops, nothing wakes but a person
        day.see("/team stop all", "will shut down at once")
        until(lambda: all(members.read(name).status == "shutdown" for name in model.plans))
        asked = len(model.of("alice"))
        day.see("/tasks add print @alice", "Added #5")
        assert day.see("/team", "Team: main").count("stopped by you") == 3
        assert len(model.of("alice")) == asked

        # no message that showed work stands there as if it went on
        def list_heads() -> set[str]:
            shown = [text for text in agent.list_texts(OWNER) if re.match("Team.*\nalice: ", text)]
            return {text.partition("\n")[0] for text in shown}

        agent.until(lambda: list_heads() == {"Team: nobody is at work any more."})
