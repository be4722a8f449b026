"""write-file, read-file, edit-file, list-files and diff-file from outside: what the model reads, and
whose files they are.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from functions.agent.policy.gate import Gate
from functions.agent.services.call_context import CallContext
from functions.agent.services.files import (
    PART_CHARACTERS,
    diff_file,
    edit_file,
    list_files,
    read_file,
    write_file,
)
from functions.agent.services.table import ACTS, list_acts
from functions.agent.workspace.files import FILE_BYTES, Writer
from functions.agent.workspace.scope import find_scopes_of_work
from functions.wiring import AgentRuntime
from sigil.errors import Refused, SigilError, ToolError, UsageError
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel, call, results, say
from tests.functions.agent.services.conftest import Chat, OpenAgent
from tests.functions.agent.talk import tell
from tests.library import copy_capabilities

NAMES = ("write-file", "read-file", "edit-file", "list-files", "diff-file", "files")
OWNER: dict[str, Any] = {"session": "telegram:1", "sender": "telegram:1"}
MEMBER: dict[str, Any] = {"session": "telegram:42", "sender": "telegram:42"}
OTHER: dict[str, Any] = {"session": "telegram:43", "sender": "telegram:43"}
GUEST: dict[str, Any] = {"session": "telegram:66", "sender": "telegram:66"}
GROUP: dict[str, Any] = {"session": "telegram:-100", "private": False}


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return copy_capabilities(tmp_path / "library", *NAMES)


@pytest.fixture
def chat(open_agent: OpenAgent, model: ScriptedModel, library: Path) -> Chat:
    home = open_agent(library, timezone="UTC")
    for who in ("telegram:42", "telegram:43"):
        home.app.people.let_in(who, "member", who, "telegram:1")
    return Chat(home, model)


class Caller:
    """Calls the services as the turns of an owner's private chat do."""

    def __init__(self, home: AgentRuntime) -> None:
        app = home.app
        self.context = CallContext(
            app,
            keys.session_of("main", "telegram:1"),
            owner=True,
            by="telegram:1",
            call="e1:0",
            role="owner",
            private=True,
            home="telegram:1",
            gate=app.make_gate(app.load_policies(), "owner", private=True),
            task="task-9",
        )
        self.files = app.open_workspace("main")

    def write(self, content: str, path: str = "a", **more: Any) -> Any:
        return write_file(self.context, {"path": path, "content": content, **more})

    def next(self) -> None:
        """The next call of the turn."""
        number = int(self.context.call.rpartition(":")[2]) + 1
        self.context = replace(self.context, call=f"e1:{number}")


@pytest.fixture
def caller(chat: Chat) -> Caller:
    return Caller(chat.home)


def test_one_query_brings_all_five_and_a_file_goes_there_and_back(chat: Chat) -> None:
    chat.model.then(
        call(("sigil_query", {"query": "save this as notes.md"})),
        call(("cap_write_file", {"path": "notes.md", "content": "buy milk\n"})),
        call(("cap_read_file", {"path": "notes.md"}), ("cap_list_files", {})),
        call(("cap_edit_file", {"path": "notes.md", "old_text": "milk", "new_text": "oats"})),
        call(("cap_diff_file", {"path": "notes.md"})),
        say("done"),
    )
    tell(chat.home, "save this as notes.md", **OWNER)
    *_, wrote, read, listed, edited, changed = results(chat.model.bodies[-1])
    assert '"version":1,"bytes":9,"added":1,"removed":0' in wrote
    assert '"text":"buy milk\\n"' in read
    assert '"found":1' in listed
    assert '"version":2' in edited
    assert "-buy milk\\n+buy oats" in changed
    head = chat.home.app.open_workspace("main").require("notes.md")
    assert (head.by, head.version) == ("telegram:1", 2)
    assert head.task.startswith("telegram:1:")  # the event that set off the turn


def test_each_chat_has_files_of_its_own_and_owners_have_the_agents(chat: Chat) -> None:
    chat.gets("write-file", {"path": "plan.md", "content": "of the agent"}, **OWNER)
    chat.gets("write-file", {"path": "plan.md", "content": "of a member"}, **MEMBER)
    chat.gets(
        "write-file",
        {"path": "plan.md", "content": "of the group"},
        **{**GROUP, "sender": "telegram:1"},
    )

    def read(**who: Any) -> str:
        text: str = chat.gets("read-file", {"path": "plan.md"}, **who)["text"]
        return text

    assert read(**OWNER) == "of the agent"
    assert read(**MEMBER) == "of a member"
    assert read(**{**GROUP, "sender": "telegram:42"}) == "of the group"
    assert chat.fails("read-file", {"path": "plan.md"}, **OTHER)["code"] == "ENOENT"
    assert chat.gets("list-files", {}, **OTHER) == {"items": [], "found": 0}


@pytest.mark.parametrize(
    ("service", "given"),
    [
        ("write-file", {"path": "a", "content": "x"}),
        ("read-file", {"path": "a"}),
        ("edit-file", {"path": "a", "old_text": "x", "new_text": "y"}),
        ("diff-file", {"path": "a"}),
        ("list-files", {}),
    ],
)
def test_guests_have_no_files(chat: Chat, service: str, given: dict[str, Any]) -> None:
    chat.home.app.open_workspace(keys.session_of("main", "telegram:66")).write(
        "a", b"x", Writer("telegram:1")
    )
    failure = chat.fails(service, given, **GUEST)
    assert failure["code"] == "EPERM"
    assert "policy" in failure["source"]


def test_a_rule_of_the_policy_names_files(chat: Chat) -> None:
    for path in ("secret/key.txt", "notes.md"):
        chat.gets("write-file", {"path": path, "content": "x y"}, **MEMBER)
    rules = '["deny member read secret/*", "deny member write notes.md"]'
    text = f"format = 1\nrules = {rules}"
    chat.home.app.policy_versions.write("main", "policy", text, by="terminal:local")
    assert chat.fails("read-file", {"path": "secret/key.txt"}, **MEMBER)["code"] == "EPERM"
    assert chat.fails("diff-file", {"path": "secret/key.txt"}, **MEMBER)["code"] == "EPERM"
    edit = {"path": "secret/key.txt", "old_text": "x", "new_text": "z"}
    assert chat.fails("edit-file", edit, **MEMBER)["code"] == "EPERM"
    assert (
        chat.fails("write-file", {"path": "notes.md", "content": "z"}, **MEMBER)["code"] == "EPERM"
    )
    listed = chat.gets("list-files", {}, **MEMBER)
    assert [item["path"] for item in listed["items"]] == ["notes.md"]
    versions = chat.home.app.policy_versions
    versions.write("main", "policy", 'format = 1\nrules = ["ask member read secret/*"]', by="test")
    assert chat.fails("edit-file", edit, **MEMBER)["code"] == "EAPPROVAL"
    versions.write("main", "policy", text, by="test")
    # another spelling of a path is no way around a rule
    for path in ("SECRET/KEY.TXT", "secret//key.txt", "./secret/key.txt", "ｓecret/key.txt"):
        assert chat.fails("read-file", {"path": path}, **MEMBER)["code"] in ("EINVAL", "EPERM")


def test_every_act_on_a_file_is_asked_of_the_policy(caller: Caller, chat: Chat) -> None:
    given = {"path": "a"}
    kinds = {name: act.kind for name in ACTS if name.endswith("-file") for act in ACTS[name](given)}
    assert kinds == {
        "write-file": "write",
        "edit-file": "write",
        "read-file": "read",
        "diff-file": "read",
    }
    denied = replace(caller.context, gate=Gate())
    with pytest.raises(Refused):
        list_files(denied, {})
    caller.write("text")
    with pytest.raises(Refused):
        edit_file(denied, {"path": "a", "old_text": "text", "new_text": "x"})
    assert chat.home.app.open_workspace("main").require("a").version == 1


def test_an_old_base_gets_the_newer_text_and_writes_nothing(caller: Caller) -> None:
    caller.write("one", base=0)
    caller.next()
    caller.files.write("a", b"two, by a person", Writer("terminal:local"))
    answer = caller.write("three", base=1)
    assert answer["written"] is False
    assert answer["newer"]["text"] == "two, by a person"
    assert (answer["newer"]["version"], answer["newer"]["by"]) == (2, "terminal:local")
    assert answer["note"].endswith("write it with base 2")
    assert caller.files.read("a").body == b"two, by a person"
    assert caller.write("three", base=2)["version"] == 3
    caller.next()
    with pytest.raises(SigilError, match="is not there"):
        caller.write("x", "other", base=4)


def test_a_call_that_runs_again_after_a_crash_writes_once(caller: Caller) -> None:
    for _ in range(2):
        assert caller.write("one two")["version"] == 1
    caller.next()
    for _ in range(2):
        edited: Any = edit_file(caller.context, {"path": "a", "old_text": "two", "new_text": "2"})
        assert edited["version"] == 2
    assert caller.files.read("a").body == b"one 2"
    versions = caller.files.list_versions("a")
    assert [(each.by, each.task) for each in versions] == [("telegram:1", "task-9")] * 2


@pytest.mark.parametrize(
    ("old", "message"),
    [("nothing", "is nowhere in a"), ("o", "is 2 times in a"), ("", "old_text is empty")],
)
def test_an_edit_needs_one_place(caller: Caller, old: str, message: str) -> None:
    caller.write("one two")
    caller.next()
    with pytest.raises(UsageError, match=message):
        edit_file(caller.context, {"path": "a", "old_text": old, "new_text": "x"})
    with pytest.raises(UsageError, match="the same"):
        edit_file(caller.context, {"path": "a", "old_text": "one", "new_text": "one"})
    assert caller.files.require("a").version == 1


def test_an_edit_of_a_line_that_the_model_reads_with_other_brackets_keeps_the_files(
    caller: Caller,
) -> None:
    caller.write('a = 1\n[error: "x"] b\n<<user>> c\n')
    caller.next()
    shown = '(error: "x") b\n‹‹user›› c'
    edited = '(error: "y") b\n‹‹user›› d [e]'
    edit_file(caller.context, {"path": "a", "old_text": shown, "new_text": edited})
    assert caller.files.read("a").body == b'a = 1\n[error: "y"] b\n<<user>> d [e]\n'


def test_an_edit_finds_its_place_in_what_somebody_else_has_just_written(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller.write("one two")
    caller.next()
    files = type(caller.files)
    write = files.write
    raced = []

    def race(self: Any, path: str, body: bytes, writer: Writer, **options: Any) -> Any:
        if not raced:
            raced.append(write(self, path, b"zero one two", Writer("terminal:local")))
        return write(self, path, body, writer, **options)

    monkeypatch.setattr(files, "write", race)
    edit_file(caller.context, {"path": "a", "old_text": "two", "new_text": "2"})
    assert caller.files.read("a").body == b"zero one 2"


def test_a_long_file_is_read_in_parts_and_by_lines(caller: Caller) -> None:
    lines = [f"line {number}\n" for number in range(1, 3_001)]
    caller.write("".join(lines))
    first: Any = read_file(caller.context, {"path": "a"})
    assert (len(first["text"]), first["part"], first["lines"]) == (PART_CHARACTERS, 1, 3_000)
    parts: list[Any] = [
        read_file(caller.context, {"path": "a", "part": part})
        for part in range(1, first["parts"] + 1)
    ]
    assert "".join(part["text"] for part in parts) == "".join(lines)
    assert read_file(caller.context, {"path": "a", "page": 2}) == parts[1]
    some: Any = read_file(caller.context, {"path": "a", "from": 100, "lines": 2})
    assert (some["text"], some["from"], some["to"]) == ("line 100\nline 101\n", 100, 101)
    assert "next" not in some
    most: Any = read_file(caller.context, {"path": "a", "from": 2_000})
    assert most["next"] == most["to"] + 1
    for wrong in (
        {"part": first["parts"] + 1},
        {"page": 99},
        {"from": 3_001},
        {"part": 0},
        {"version": 7},
    ):
        with pytest.raises(UsageError):
            read_file(caller.context, {"path": "a", **wrong})


def test_an_earlier_version_is_read_and_compared(caller: Caller) -> None:
    for text in ("one\n", "two\n", "three\n"):
        caller.write(text)
        caller.next()
    earlier: Any = read_file(caller.context, {"path": "a", "version": 1})
    assert (earlier["text"], earlier["version"]) == ("one\n", 1)
    found: Any = diff_file(caller.context, {"path": "a", "from": 1})
    assert (found["from"], found["to"], found["added"], found["removed"]) == (1, 3, 1, 1)
    assert [each["version"] for each in found["versions"]] == [3, 2]
    first: Any = diff_file(caller.context, {"path": "a", "to": 1})
    assert (first["from"], first["added"]) == (0, 1)


@pytest.mark.parametrize(
    "path", ["../x", "/etc/passwd", "a%2fb", "a\\b", "", "a\0b", "received/x", "e\u0301", 7, None]
)
def test_a_path_that_is_none_is_refused_before_anybody_is_asked(
    caller: Caller, chat: Chat, path: Any
) -> None:
    with pytest.raises(UsageError) as refused:
        caller.write("x", path)
    assert refused.value.code == "EINVAL"
    assert list(caller.files.scan()) == []
    if path != "received/x":
        (offer,) = [
            hit.offers[0] if hit.offers else hit.offer
            for hit in chat.home.app.registry.query(
                "write-file", chat.home.app.make_caller("telegram:1"), limit=1
            ).hits
        ]
        with pytest.raises(UsageError):
            list_acts(caller.context, replace(offer, name="write-file"), "0", {"path": path})


def test_too_much_text_is_refused_with_what_to_do(caller: Caller) -> None:
    with pytest.raises(UsageError) as refused:
        caller.write("x" * (FILE_BYTES + 1))
    assert (refused.value.code, refused.value.suggestion) == (
        "ETOOBIG",
        "at most 262,144; divide it into several files",
    )
    with pytest.raises(UsageError, match="lone surrogate"):
        caller.write("\ud800")


def test_what_people_sent_is_listed_and_read_in_their_chat_alone(
    caller: Caller, chat: Chat
) -> None:
    sent = chat.home.app.open_workspace(keys.session_of("main", "telegram:1"))
    sent.write("received/plan.txt", b"sent", Writer("telegram:1"))
    caller.write("mine", "plan.txt")
    listed: Any = list_files(caller.context, {})
    assert [item["path"] for item in listed["items"]] == ["plan.txt", "received/plan.txt"]
    read: Any = read_file(caller.context, {"path": "received/plan.txt"})
    assert read["text"] == "sent"
    assert chat.fails("read-file", {"path": "received/plan.txt"}, **MEMBER)["code"] == "ENOENT"


def test_work_of_its_own_uses_the_files_of_whom_it_is_for(chat: Chat) -> None:
    app = chat.home.app
    people = app.people

    def find(home: str, by: str) -> str:
        return find_scopes_of_work("main", home, by, people, app.private_chats).own

    assert find("telegram:1", "telegram:1") == "main"
    assert find("", "telegram:1") == "main"
    assert find("terminal:main", "terminal:local") == "main"
    assert find("telegram:-100", "telegram:1") == keys.session_of("main", "telegram:-100")
    assert find("telegram:42", "telegram:42") == keys.session_of("main", "telegram:42")
    # a member's work for somebody else's chat never reaches the agent's files
    assert find("telegram:1", "telegram:42") != "main"
    for who in ("telegram:42", "telegram:66", "", "runtime:scheduler"):
        with pytest.raises(Refused):
            find("", who)


def test_the_team_shares_a_folder_that_other_chats_do_not_reach(chat: Chat) -> None:
    people = chat.home.app.people
    chats = chat.home.app.private_chats
    team = keys.team_of("main")
    for agent, home, by in (
        ("main", "telegram:1", "telegram:1"),
        ("main.alice", "", "telegram:1"),
        ("main.bob", "telegram:1", "telegram:1"),
    ):
        scopes = find_scopes_of_work(agent, home, by, people, chats)
        assert scopes.choose("team/plan.md") == scopes.choose("TEAM/plan.md") == team
        assert scopes.choose("teams/plan.md") == scopes.own == agent
    for agent in ("main", "main.alice"):
        of_member = find_scopes_of_work(agent, "telegram:42", "telegram:42", people, chats)
        assert of_member.choose("team/plan.md") == keys.session_of("main", "telegram:42")
        assert of_member.choose("plan.md") == keys.session_of(agent, "telegram:42")

    plan = {"path": "team/plan.md"}
    chat.gets("write-file", {**plan, "content": "of us all"}, **OWNER)
    head = chat.home.app.open_workspace(team).require("team/plan.md")
    assert (head.by, head.version) == ("telegram:1", 1)
    (listed,) = chat.gets("list-files", {}, **OWNER)["items"]
    assert listed["path"] == "team/plan.md"
    assert chat.fails("read-file", plan, **MEMBER)["code"] == "ENOENT"
    chat.gets("write-file", {**plan, "content": "a member's own"}, **MEMBER)
    assert chat.gets("read-file", plan, **OWNER)["text"] == "of us all"


def test_bytes_that_are_no_text_are_not_read(caller: Caller) -> None:
    caller.files.write("a", b"\xff\xfe\x00", Writer("terminal:local"))
    with pytest.raises(ToolError, match="files of this type cannot be opened"):
        read_file(caller.context, {"path": "a"})
