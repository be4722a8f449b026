"""The files that a team names in a chat are there for that chat, and for no other one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pytest

from functions.agent.agents.record import AgentRecord, add_agent
from functions.agent.management.files import FileEditor
from functions.agent.team.gist import make_gist
from functions.agent.workspace.files import Writer
from functions.agent_data import AgentData
from functions.personal_data import PersonalData
from sigil.storage.kv import keys
from tests.fakes.model import call, results, say
from tests.functions.agent.talk import event, tell
from tests.functions.agent.team.crew import Body, Crew, TeamModel, contents, spawning
from tests.functions.people import OWNER
from tests.tables import each_row

MEMBER, OTHER = "telegram:7", "telegram:8"
FIND = ("sigil_query", {"query": "read a file"})
NAMED = ("alice:notes.md", "team/plan.md")


@dataclass(frozen=True)
class Chat:
    """A chat, and who writes there."""

    session: str
    sender: str
    private: bool = True

    @property
    def who(self) -> dict[str, Any]:
        return {"session": self.session, "sender": self.sender, "private": self.private}

    def write(self, crew: Crew, text: str) -> str:
        """Write a message, let everybody work, and return what was said last in the chat."""
        crew.runtime.queue.put(event(text, **self.who))
        crew.chats.work_off()
        session = keys.session_of("main", self.session)
        return crew.runtime.app.sessions.open(session).document.messages[-1].content

    def read(self, crew: Crew, path: str) -> str:
        """Return what the command shows of a file."""
        (reply,) = tell(crew.runtime, f"/files {path}", **self.who)
        return reply

    def let_lead_read(self, crew: Crew, path: str) -> str:
        """Return what the lead reads of a file."""
        crew.model.then(call(FIND), call(("cap_read_file", {"path": path})), say("read"))
        self.write(crew, f"read {path}")
        return results(crew.model.of("")[-1])[-1]


PRIVATE = Chat(MEMBER, MEMBER)
GROUP = Chat("telegram:-100", MEMBER, private=False)
CHATS = {
    "owner": Chat(f"telegram:{OWNER}", f"telegram:{OWNER}"),
    "member": PRIVATE,
    "group": GROUP,
    "topic": Chat("telegram:-100:5", MEMBER, private=False),
    "terminal": Chat("terminal:main", "terminal:local"),
    "http": Chat("http:admin:main", "http:admin"),
}


@pytest.fixture
def team(crew: Crew, model: TeamModel) -> Crew:
    """A team of one, which writes two files for each task and names its chat in them."""
    for who in (MEMBER, OTHER):
        crew.runtime.app.people.let_in(who, "member", who, f"telegram:{OWNER}")

    def work(body: Body) -> dict[str, Any]:
        said = contents(body)
        subjects = re.findall(r"<<TASK>>\nTask #\d+: (\S+)", "\n".join(said))
        if not subjects:
            return say("[SILENT]")
        if body["messages"][-1]["role"] == "tool":
            return say("written")
        paths = ("team/plan.md", "notes.md")
        fields = {"content": f"for {subjects[-1]}"}
        return call(*(("cap_write_file", {"path": path, **fields}) for path in paths))

    model.plans["alice"] = work
    model.then(*spawning("alice"))
    crew.write("spawn alice")
    return crew


@each_row("kind", CHATS)
def test_the_files_of_a_done_line_open_in_its_chat_and_in_no_other(team: Crew, kind: str) -> None:
    chat = CHATS[kind]
    said = chat.write(team, f"/tasks add {kind} @alice")
    assert f" done by alice: written\\nFiles: {', '.join(NAMED)}" in said
    for path in NAMED:
        assert f"for {kind}" in chat.read(team, path)
        assert f"for {kind}" in chat.let_lead_read(team, path)
        for other in (Chat(OTHER, OTHER), Chat("telegram:-200", MEMBER, private=False)):
            assert "there is no file" in other.read(team, path)
        # the files of owners are one whole, and have nothing of other chats
        of_owners = f"for {kind}" in CHATS["owner"].read(team, path)
        assert of_owners is (kind in ("owner", "terminal", "http"))
    assert "team/plan.md" in chat.read(team, "")


def test_the_files_of_a_chat_outlive_its_team_and_go_with_their_person(team: Crew) -> None:
    app = team.runtime.app
    kv, artifacts = app.kv, team.runtime.stores.artifacts
    for chat in (PRIVATE, GROUP):
        chat.write(team, "/tasks add hens @alice")
    team.write("/team stop all")
    for chat in (PRIVATE, GROUP):
        assert all("for hens" in chat.read(team, path) for path in NAMED)

    AgentData(kv, artifacts, "main", "alice", app.clock).purge(lambda _: False)
    for chat in (PRIVATE, GROUP):
        assert "for hens" in chat.read(team, "team/plan.md")
        assert "there is no teammate alice" in chat.read(team, "alice:notes.md")

    data = PersonalData(app, artifacts)
    data.erase(data.find(MEMBER))
    left = [app.open_workspace(keys.session_of("main", chat.session)) for chat in (PRIVATE, GROUP)]
    kept = [[(head.path, head.by) for head in files.scan()] for files in left]
    assert kept == [[], [("team/plan.md", MEMBER)]]


def test_an_erasure_takes_what_a_teammate_has_of_a_private_chat(team: Crew) -> None:
    PRIVATE.write(team, "/tasks add hens @alice")
    app = team.runtime.app
    data = PersonalData(app, team.runtime.stores.artifacts)
    data.erase(data.find(MEMBER))
    scopes = [keys.session_of(agent, MEMBER) for agent in ("main", "main.alice")]
    assert [list(app.open_workspace(scope).scan()) for scope in scopes] == [[], []]


def test_a_teammate_reads_what_people_sent_and_what_the_chat_has(team: Crew) -> None:
    app = team.runtime.app
    for chat in (PRIVATE, Chat(OTHER, OTHER)):
        files = app.open_workspace(keys.session_of("main", chat.session))
        files.write("received/list.csv", f"sent by {chat.sender}".encode(), Writer(chat.sender))
        files.write("plan.md", f"plan of {chat.sender}".encode(), Writer(chat.sender))
    assert make_gist(app, keys.session_of("main", MEMBER), MEMBER, MEMBER).splitlines() == [
        "Files: main:plan.md, received/list.csv"
    ]
    paths = ("received/list.csv", "main:plan.md", "main:../plan.md", "bob:plan.md")
    calls = [("cap_read_file", {"path": path}) for path in paths]
    steps = iter([call(*calls), say("read")])
    team.model.plans["alice"] = lambda _: next(steps, say("[SILENT]"))
    PRIVATE.write(team, "/tasks add read them @alice")
    received, plan, outside, missing = results(team.model.of("alice")[-1])[-4:]
    assert f"sent by {MEMBER}" in received
    assert f"plan of {MEMBER}" in plan
    assert "has the step .." in outside
    assert "there is no teammate bob" in missing


def test_an_agent_that_is_no_teammate_keeps_its_own_files_to_itself(team: Crew) -> None:
    app = team.runtime.app
    owner = f"telegram:{OWNER}"
    add_agent(app.kv, "main", "clerk", AgentRecord("agent", "enabled", 0.0, owner))
    app.open_workspace("main.clerk").write("notes.md", b"of the clerk", Writer(owner))
    assert "there is no teammate clerk" in CHATS["owner"].read(team, "clerk:notes.md")
    assert "there is no teammate clerk" in CHATS["owner"].let_lead_read(team, "clerk:notes.md")


def test_a_rule_about_a_path_holds_whosever_file_it_is(team: Crew) -> None:
    PRIVATE.write(team, "/tasks add hens @alice")
    rules = 'format = 1\nrules = ["deny member read notes*"]'
    team.runtime.app.policy_versions.write("main", "policy", rules, by="terminal:local")
    assert "for hens" not in PRIVATE.read(team, "alice:notes.md")
    assert "EPERM" in PRIVATE.let_lead_read(team, "alice:notes.md")
    assert "for hens" in PRIVATE.let_lead_read(team, "team/plan.md")


def test_a_change_of_what_a_team_shares_is_told_to_who_works_for_that_chat(team: Crew) -> None:
    app = team.runtime.app
    files = app.open_workspace(keys.session_of("main", GROUP.session))
    editor = FileEditor(app.kv, files, f"telegram:{OWNER}")
    editor.write("team/plan.md", b"another one")
    editor.write("lunch.md", b"nothing of a team")
    GROUP.write(team, "/tasks add hens @alice")
    told = "\n".join(contents(team.model.of("alice")[-1]))
    assert f"- team/plan.md: written, now version 1, by telegram:{OWNER}" in told
    assert "lunch.md" not in told
