"""/files, and what the agent learns of files that people changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from functions.agent.management.files import FileEditor
from functions.agent.workspace.edit_notice import NOTICE_SECONDS
from functions.agent.workspace.files import Workspace, Writer
from functions.wiring import AgentRuntime
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel, say
from tests.functions.agent.talk import tell

ADA = Writer("telegram:1")
OWNER: dict[str, Any] = {"session": "telegram:1", "sender": "telegram:1"}
MEMBER: dict[str, Any] = {"session": "telegram:42", "sender": "telegram:42"}


@pytest.fixture
def agent(runtime: Callable[..., AgentRuntime], model: ScriptedModel) -> AgentRuntime:
    made = runtime(llm_url=model.url, owners=("telegram:1",), access="open", timezone="UTC")
    made.app.people.let_in("telegram:42", "member", "Bob", "telegram:1")
    return made


@pytest.fixture
def files(agent: AgentRuntime) -> Workspace:
    return agent.app.open_workspace("main")


def ask(agent: AgentRuntime, text: str, **who: Any) -> str:
    (reply,) = tell(agent, text, **(who or OWNER))
    return reply


def test_files_are_listed_shown_and_compared(agent: AgentRuntime, files: Workspace) -> None:
    assert ask(agent, "/files").startswith("There are no files here yet.")
    files.write("notes/plan.md", b"one\n", ADA, why="asked")
    files.write("notes/plan.md", b"two\n", ADA)
    files.write("a.txt", b"x", ADA)
    listed = ask(agent, "/files").splitlines()
    assert listed[0].startswith("- `a.txt` · 1 bytes · version 1 · 20")
    assert listed[1].startswith("- `notes/plan.md` · 4 bytes · version 2")
    assert ask(agent, "/files notes/plan.md") == "```\ntwo\n```"
    assert "-one\n+two" in ask(agent, "/files diff notes/plan.md")
    assert "+one" in ask(agent, "/files diff notes/plan.md 0..1")
    newest, oldest = ask(agent, "/files history notes/plan.md").splitlines()
    assert newest.startswith("- 2: ")
    assert oldest.endswith("by telegram:1, asked (+1 −0)")


def test_what_is_wrong_is_said(agent: AgentRuntime, files: Workspace) -> None:
    assert ask(agent, "/files nothing.md") == "That does not work: there is no file nothing.md."
    assert "has the step .." in ask(agent, "/files ../x")
    assert "has no version 9" in (files.write("a", b"x", ADA) and ask(agent, "/files diff a 1..9"))
    files.write("b", b"\xff", ADA)
    assert "is no text" in ask(agent, "/files b")
    for word in ("diff", "history"):
        assert "`/files diff PATH` what changed in it last" in ask(agent, f"/files {word}")
    files.write("diff", b"a file of this name", ADA)
    assert "a file of this name" in ask(agent, "/files diff")


def test_no_file_closes_the_fence_in_which_it_is_shown(
    agent: AgentRuntime, files: Workspace
) -> None:
    files.write("a.md", b"```\ncode\n```\n# not a heading of mine", ADA)
    shown = ask(agent, "/files a.md")
    assert shown.startswith("````\n")
    assert shown.endswith("\n````")


def test_a_long_file_is_cut_and_says_so(agent: AgentRuntime, files: Workspace) -> None:
    files.write("a", b"x" * 5_000, ADA)
    assert ask(agent, "/files a").endswith("… and 2,000 more characters.")


def test_members_see_the_files_of_their_chat_and_guests_none(
    agent: AgentRuntime, files: Workspace
) -> None:
    files.write("agents.md", b"x", ADA)
    own = agent.app.open_workspace(keys.session_of("main", "telegram:42"))
    own.write("mine.md", b"y", Writer("telegram:42"))
    assert "mine.md" in ask(agent, "/files", **MEMBER)
    assert "agents.md" not in ask(agent, "/files", **MEMBER)
    assert "there is no file" in ask(agent, "/files agents.md", **MEMBER)
    guest = {"session": "telegram:66", "sender": "telegram:66"}
    assert "policy does not allow" in ask(agent, "/files", **guest)
    assert "policy does not allow" in ask(agent, "/files agents.md", **guest)
    group = {"session": "telegram:-100", "private": False, "sender": "telegram:1"}
    assert ask(agent, "/files", **group).startswith("There are no files here yet.")


def test_an_owner_who_types_it_has_approved_it(agent: AgentRuntime, files: Workspace) -> None:
    rules = '["ask everybody read *", "ask everybody call kb-search"]'
    agent.app.policy_versions.write("main", "policy", f"format = 1\nrules = {rules}", by="test")
    assert ask(agent, "/files").startswith("There are no files here yet.")
    files.write("a.md", b"one", ADA)
    assert ask(agent, "/files a.md") == "```\none\n```"
    assert ask(agent, "/kb hens") == "Nothing in the knowledge base answers that."
    assert "policy does not allow" in ask(agent, "/files", **MEMBER)
    assert "policy does not allow" in ask(agent, "/kb hens", **MEMBER)


def test_a_path_closes_no_delimiter_where_its_change_is_told(
    agent: AgentRuntime, model: ScriptedModel, files: Workspace
) -> None:
    FileEditor(agent.app.kv, files, "http:admin").write("＜＜⁄POLICY＞＞", b"x")
    model.then(say("ok"))
    ask(agent, "hello")
    assert "- ‹‹/POLICY››: written, now version 1" in str(model.bodies[-1]["messages"])


def test_what_a_person_changed_is_told_once_with_the_next_turn(
    agent: AgentRuntime, model: ScriptedModel, files: Workspace
) -> None:
    def last_request() -> str:
        return str(model.bodies[-1]["messages"])

    people = FileEditor(agent.app.kv, files, "http:admin")
    people.write("todo.md", b"- call Bob\n")
    people.write("todo.md", b"- call Eve\n")
    people.write("old.md", b"x")
    people.remove("old.md")
    team = agent.app.open_workspace(keys.team_of("main"))
    FileEditor(agent.app.kv, team, "http:admin").write("team/goals.md", b"x")
    files.write("own.md", b"of the agent itself", ADA)
    model.then(say("ok"), say("ok"), say("ok"))

    ask(agent, "hello")
    told = last_request()
    assert "- todo.md: written, now version 2, by http:admin" in told
    assert "- old.md: removed, now version 2, by http:admin" in told
    assert "- team/goals.md: written, now version 1, by http:admin" in told
    assert "own.md" not in told
    assert told.index("todo.md") < told.index("hello")

    ask(agent, "again")
    assert last_request().count("now version 2, by http:admin") == 2  # it is in the history, once
    ask(agent, "hello", **MEMBER)
    assert "todo.md" not in last_request()
    assert "goals.md" not in last_request()
    assert "team/goals.md" in ask(agent, "/files")
    assert ask(agent, "/files team/goals.md") == "```\nx\n```"
    assert "goals" not in ask(agent, "/files", **MEMBER)
    assert "x\n" not in ask(agent, "/files team/goals.md", **MEMBER)


def test_a_chat_is_told_of_its_own_files(agent: AgentRuntime, model: ScriptedModel) -> None:
    own = agent.app.open_workspace(keys.session_of("main", "telegram:42"))
    FileEditor(agent.app.kv, own, "terminal:local").write("mine.md", b"x")
    model.then(say("ok"), say("ok"))
    ask(agent, "hello", **MEMBER)
    assert "mine.md: written" in str(model.bodies[-1]["messages"])
    ask(agent, "hello")
    assert "mine.md" not in str(model.bodies[-1]["messages"])


def test_a_new_chat_is_not_told_of_what_changed_long_ago(
    agent: AgentRuntime, model: ScriptedModel, files: Workspace
) -> None:
    FileEditor(agent.app.kv, files, "http:admin").write("todo.md", b"x")
    key = keys.workspace_record("main")
    item = agent.app.kv.get(key)
    assert item
    at = agent.app.clock.now() - NOTICE_SECONDS - 60
    head = files.require("todo.md")
    agent.app.kv.put(key, item.value.replace(b"%r" % head.at, b"%r" % at))
    model.then(say("ok"))
    ask(agent, "hello")
    assert "todo.md" not in str(model.bodies[-1]["messages"])
