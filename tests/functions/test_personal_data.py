"""What is kept of a person is found, exported and erased, whatever the store, and nothing else is."""

from __future__ import annotations

import inspect
import os
import shutil
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from functions import overheard
from functions.agent.access.roles import Rules
from functions.agent.conversation.messages import ERASED, Message
from functions.agent.knowledge.record import make_draft
from functions.agent.memory.history import History, HistoryEntry, Removal, RemovedStatements
from functions.agent.memory.thing import Thing
from functions.agent.memory.things import Things
from functions.agent.runs.event_chain import ChainRun, EventChain
from functions.agent.session.document import Document, GatheredMessage, Turn
from functions.agent.session.overflow import LIMIT
from functions.agent.team.board import Board, NewTask
from functions.agent.turn.turn import run_turn
from functions.agent.workspace.files import INLINE_BYTES, Writer
from functions.channels.known_people import KnownPeople, Profile
from functions.events import Quote
from functions.personal_data import Erasure, PersonalData
from functions.queues import dead_letters
from functions.wiring import AgentRuntime, open_runtime
from sigil.catalog.audit import Audit
from sigil.errors import Conflict, UsageError
from sigil.storage.kv import KV, Key, keys
from sigil.storage.kv.base import list_partitions, scan_everything
from sigil.storage.kv.dynamodb_table import create_table
from sigil.storage.kv.sqlite import SqliteKV
from sigil.storage.kv.update import scan_all
from sigil.storage.stored import dumps
from tests.channel_settings import make_settings
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.talk import event, tell
from tests.selection import sample, thorough
from tests.servers.ministack import unique
from tests.servers.valkey import shared

Open = Callable[..., AgentRuntime]
ADA: dict[str, Any] = {"session": "telegram:42", "sender": "telegram:42"}
DESK: dict[str, Any] = {"session": "terminal:main", "sender": "terminal:local"}
EVE: dict[str, Any] = {"session": "telegram:43", "sender": "telegram:43"}
ON_EVERY_STORE = pytest.mark.parametrize(
    "store", ["sqlite", *thorough("memory", "redis", "dynamodb")], indirect=True
)
GROUP: dict[str, Any] = {"session": "telegram:-100", "private": False}
S, G, E = (keys.session_of("main", f"telegram:{chat}") for chat in (42, -100, 43))
LARGE = os.urandom(LIMIT * 11 // 20).hex()
"""Too large for a chunk of an archive, so it stands beside it."""


@pytest.fixture
def store(request: pytest.FixtureRequest) -> dict[str, str]:
    """Return the setting of a fresh store of the kind that the test names."""
    kind = getattr(request, "param", "sqlite")
    if kind == "redis":
        shared().do("FLUSHALL")
        return {"store": shared().url}
    if kind == "dynamodb":
        request.getfixturevalue("aws_here")
        create_table(table := unique("people"))
        return {"store": f"dynamodb://{table}"}
    return {"store": "memory://"} if kind == "memory" else {}


def fill(home: AgentRuntime, model: ScriptedModel) -> None:
    """Let two people talk, in private and in a group, and leave something of every kind."""
    app = home.app
    (said,) = tell(home, "/link", **ADA)
    for _ in range(2):  # they are two people to the agent, so it asks once more
        code = said.split("/link ")[1].split("`")[0]
        said = tell(home, f"/link {code}", **DESK)[-1]
    for number, (name, who) in enumerate((("ada", ADA), ("eve", EVE)), 1):
        model.then(say(f"secret-{name}-answer"))
        tell(home, f"secret-{name}-private", **who)
        tell(home, "/new", **who)
        tell(home, f"secret-{name}-later", **who)
        model.then(say("I see."))
        tell(home, f"secret-{name}-group", **{**GROUP, "sender": who["sender"]})
        key = keys.session_of("main", who["session"])
        app.sessions.archive(key, [Message("user", f"secret-{name}-large {LARGE} {name}", seq=900)])
        memory = app.sessions.open(key).memory
        app.documents.write(memory, "memory", f"secret-{name}-memory", by="test")
        app.documents.write(memory, "memory", f"secret-{name}-memory-2", by="test")
        History(app.kv, key).add(HistoryEntry(1, 2, 1.0, f"secret-{name}-history"))
        RemovedStatements(app.kv, key).save(Removal(1, 1.0, (f"secret-{name}-statement",)))
        for scope in (memory, G, app.documents.agent):
            things = Things(app.kv, scope, app.helpers.terms)
            things.save(Thing("fact", (name, "said", f"secret-{name}-thing"), "user", 1.0, 1.0,
                              who["sender"]))  # fmt: skip
        for base in (app.open_knowledge("agent"), app.open_knowledge("team")):
            base.add(make_draft(title=f"Of {name}", source="test", text=f"secret-{name}-knowledge",
                                by=who["sender"], time=1.0), may_replace=False)  # fmt: skip
            fields = {"title": f"Another of {name}", "source": "test", "time": 1.0}
            text = f"secret-{name}-replaced"
            made = base.add(make_draft(**fields, text=text, by=who["sender"]), may_replace=False)
            base.update(made.id, make_draft(**fields, text="Of an owner", by="http:admin"))
        board = Board(app.kv, "main", app.clock.now)
        for subject in ("task", "task-done"):
            task = board.add(NewTask(subject=f"secret-{name}-{subject}", by=who["sender"]))
        board.complete(task.id)
        board.add(NewTask(subject="of the group", by="telegram:9", key="group"))
        board.comment(3, who["sender"], f"secret-{name}-note")
        home.queue.put(event(f"secret-{name}-waiting", **who))
        home.queue.put(event(f"secret-{name}-waiting-group", **{**GROUP, "sender": who["sender"]}))
        dead_letters.give_up(app.kv, event(f"secret-{name}-dead", **who), "why", 1.0)
        heard = event(f"secret-{name}-heard", **{**GROUP, "sender": who["sender"]})
        overheard.start_listening(app.kv, G, "test", "")
        message = overheard.make_overheard(replace(heard, reply_to=str(number)))
        overheard.keep_message(app.kv, message)
        home.replies.keep(key, f"say:{name}", {"reply": f"secret-{name}-unread"})
        chain = EventChain(by=who["sender"], runs=(ChainRun(f"1~secret-{name}-chain", "main"),))
        app.kv.put(keys.event_chain("main", f"secret-{name}-first"), dumps(chain))
        own = f"main~{who['session']}"
        app.kv.put(keys.stored_value(own, "main", "notes", "k"), f'"secret-{name}-value"'.encode())
        app.kv.put(keys.stored_usage(own, "main", "notes"), b'{"keys":1}')
        app.kv.put(keys.capability(own, f"of-{name}"), b'{"kept":true}')
        known = KnownPeople("main")
        known.use_store(app.kv)
        known.find(who["sender"], lambda: Profile(f"secret-{name}-called"))  # noqa: B023
        app.people.let_in(who["sender"], "member", f"secret-{name}-name", "test")
        origin = f"telegram {who['sender'][-2:]} member · {name}"
        said = Message("user", f"secret-{name}-archived", seq=800 + number, origin=origin)
        app.sessions.archive(G, [said])
        writer = Writer(who["sender"], "t")
        files = app.open_workspace(key)
        files.write("notes.md", f"secret-{name}-file".encode(), writer)
        files.write(
            "notes.md", f"secret-{name}-file-large {LARGE}"[: 2 * INLINE_BYTES].encode(), writer
        )
        group = app.open_workspace(G)
        group.write(f"received/{name}.txt", f"secret-{name}-sent".encode(), writer)
        group.write(f"report-{name}.md", b"of the group", writer)


SECRETS = (
    "answer private later large memory memory-2 history statement thing waiting dead value name unread knowledge"
    " replaced"
    " called chain file file-large task task-done note"
).split()
GROUP_SECRETS = ("group", "waiting-group", "heard", "archived", "sent")


def dump(home: AgentRuntime) -> Iterator[tuple[Key, str]]:
    """Return every item of the store as text, without the registry's own."""
    for partition in list_partitions(home.app.kv):
        for sort, item in scan_all(home.app.kv, partition):
            body = item.value
            with suppress(zlib.error):
                body = zlib.decompress(body)
            yield Key(partition, sort), body.decode(errors="replace")


def data(home: AgentRuntime, **options: Any) -> PersonalData:
    return PersonalData(home.app, home.stores.artifacts, **options)


def erase(home: AgentRuntime, who: str, **options: Any) -> Erasure:
    personal = data(home, **options)
    return personal.erase(personal.find(who))


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder that was filled once, for tests to copy."""
    folder = tmp_path_factory.mktemp("filled")
    with ScriptedModel() as model:
        settings = {"data": str(folder), "library": "none", "runners": 1, "access": "open"}
        with closing(open_runtime(make_settings(**settings, llm_url=model.url))) as home:
            fill(home, model)
    return folder


@pytest.fixture
def home(
    runtime: Open, model: ScriptedModel, store: dict[str, str], filled: Path, tmp_path: Path
) -> AgentRuntime:
    if not store:
        shutil.copytree(
            filled, tmp_path, ignore=shutil.ignore_patterns("compiled"), dirs_exist_ok=True
        )
    made = runtime(llm_url=model.url, access="open", **store)
    if store:
        fill(made, model)
    return made


@ON_EVERY_STORE
def test_an_export_has_everything_of_a_person_and_nothing_of_another(home: AgentRuntime) -> None:
    personal = data(home)
    for who in ("telegram:42", "terminal:local"):
        person = personal.find(who)
        assert set(person.ids) == {"telegram:42", "terminal:local"}
        assert person.chats == ("telegram:42", "terminal:main")
        exported = orjson.dumps(personal.export(person)).decode()
        for secret in (*SECRETS, *GROUP_SECRETS):
            assert f"secret-ada-{secret}" in exported, secret
        assert LARGE in exported
        assert "secret-eve" not in exported
    rows = personal.export(personal.find("telegram:42"))["records"]
    assert {row["kind"] for row in rows} >= {  # type: ignore[attr-defined]
        "conversations", "documents", "document versions", "things", "history entries", "usage",
        "statements that left a memory", "waiting events", "dead letters", "traces", "access",
        "values of capabilities", "overheard messages", "links",
    }  # fmt: skip


@ON_EVERY_STORE
def test_after_an_erasure_nothing_of_the_person_is_in_the_store(home: AgentRuntime) -> None:
    erased = erase(home, "terminal:local")
    assert erased.removed["messages in groups"] == 2
    assert erased.removed["large bodies"] == 1
    assert any("of-ada" in text for text in erased.kept)
    assert any(text.startswith("files of groups") for text in erased.kept)
    assert home.app.open_workspace(G).find("report-ada.md")
    left = [(key, text) for key, text in dump(home) if "secret-ada" in text or LARGE[:99] in text]
    assert not [key for key, text in left if "secret-ada" in text], left
    named = {key for key, _ in dump(home) if "telegram:42" in "".join(key)}
    assert named == {keys.session_head(S), keys.capability("main~telegram:42", "of-ada")}
    assert home.app.sessions.open(S).document == Document(
        erased=home.app.sessions.open(S).document.erased
    )
    assert erase(home, "telegram:42").removed == {}


def test_an_erasure_leaves_others_alone(home: AgentRuntime) -> None:
    before = orjson.dumps(data(home).export(data(home).find("telegram:43"))["records"])
    erase(home, "telegram:42")
    personal = data(home)
    exported = personal.export(personal.find("telegram:43"))
    assert orjson.dumps(exported["records"]) == before
    for secret in (*SECRETS, *GROUP_SECRETS):
        assert f"secret-eve-{secret}" in orjson.dumps(exported).decode(), secret
    group = [message.content for message in home.app.sessions.open(G).document.messages]
    assert group == [ERASED, "I see.", "secret-eve-group", "I see."]


def test_a_group_s_history_has_no_words_of_the_person_that_no_model_summed_up(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    owner = replace(home.app, rules=Rules(owners=("telegram:42",), access="open"))
    eve = event("secret-eve-raw", **{**GROUP, "sender": "telegram:43"})
    file = {"kind": "document", "name": "secret-ada.pdf"}
    text = "secret-ada-raw\nsecret-ada-second"
    quote = Quote("reply", text, "Ada", "telegram:42", files=(file,))
    home.app.sessions.clear_outbox(run_turn(replace(eve, quotes=(quote,)), home.app))
    model.then(*[say("no")] * 3)  # useless answers: HISTORY gets the messages themselves
    noting = event("/mem secret-ada-noted", **{**GROUP, "sender": "telegram:42"})
    home.app.sessions.clear_outbox(run_turn(noting, owner))
    (entry,) = History(home.app.kv, G).scan()
    assert entry.raw
    for secret in ("ada-group", "ada-raw", "ada-second", "ada-noted", "eve-raw"):
        assert f"secret-{secret}" in entry.text
    exported = orjson.dumps(data(home).export(data(home).find("telegram:42"))["groups"]).decode()
    assert "ada-noted" in exported
    assert "secret-ada-group" in str(orjson.loads(exported)[0]["history"])
    assert "secret-eve" not in exported
    assert erase(home, "telegram:42").removed["history entries"] >= 1
    assert not [key for key, text in dump(home) if "secret-ada" in text]
    (entry,) = History(home.app.kv, G).scan()
    assert "secret-eve-raw" in entry.text
    assert "I see." in entry.text
    assert ERASED in entry.text


def test_what_a_group_s_turn_in_progress_has_of_the_person_goes(
    home: AgentRuntime,
) -> None:
    app = home.app
    file = {"kind": "document", "name": "secret-ada-file.pdf", "file_id": "secret-ada-id"}
    ada = event("secret-ada-open", **{**GROUP, "sender": "telegram:42"})
    ada = replace(ada, attachments=(file,))
    file = {"kind": "document", "name": "secret-ada.pdf"}
    quote = Quote("reply", "secret-ada-quoted", "secret-ada", "telegram:42", files=(file,))
    eve = event("secret-eve-open", **{**GROUP, "sender": "telegram:43"})
    eve = replace(eve, attachments=({"kind": "document", "name": "eve.pdf"},), quotes=(quote,))
    note = Message("user", "secret-ada-noted", seq=90, origin="telegram 42 owner · secret-ada")
    for first, second in ((ada, replace(ada, id="x")), (eve, ada)):
        opened = app.sessions.open(G)
        turn = Turn(first, gathered=(GatheredMessage(3, second),))
        app.sessions.save(opened, replace(opened.document, turn=turn, noted=(note,)))
        found = orjson.dumps(data(home).export(data(home).find("telegram:42"))["groups"])
        assert b"secret-ada-file.pdf" in found
        assert b"secret-ada-noted" in found
        assert b"eve.pdf" not in found
        erase(home, "telegram:42")
        assert not [key for key, text in dump(home) if "secret-ada" in text]
        opened = app.sessions.open(G)
        assert opened.document.turn
        assert (opened.document.turn.event.text == "secret-eve-open") == (first is eve)


def test_the_audit_has_a_hash_of_who_was_erased(home: AgentRuntime) -> None:
    erase(home, "telegram:42")
    audit = Audit(home.app.kv)
    (entry,) = [e for e in audit.read_latest("main") if e.fields["action"] == "erase"]
    assert "telegram:42" not in entry.body.decode()
    assert str(entry.fields["person"]).startswith("sha256:")
    assert not audit.verify("main").problem


def test_what_comes_again_from_a_queue_brings_nothing_back(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    late = event("secret-ada-late", **ADA)
    in_group = event("secret-ada-late-group", **{**GROUP, "sender": "telegram:42"})
    erase(home, "telegram:42")
    before = len(model.bodies)
    for happened in (late, in_group):
        assert run_turn(happened, home.app).document.outbox == ()
    assert len(model.bodies) == before
    assert not [key for key, text in dump(home) if "secret-ada" in text]
    while delivery := home.queue.take(0.0):
        assert "secret-ada" not in delivery.event.text
        home.queue.done(delivery)
    assert tell(home, "hello again", **ADA) == ["done"]
    assert "secret-ada" not in str(model.bodies[-1])


def test_a_running_turn_brings_nothing_back(home: AgentRuntime, model: ScriptedModel) -> None:
    def meanwhile(body: dict[str, Any]) -> dict[str, Any]:
        erase(home, "telegram:42")
        return call(("sigil_query", {"query": "remember this"}))

    model.then(meanwhile)
    with pytest.raises(Conflict):
        run_turn(event("secret-ada-running", **ADA), home.app)
    erase(home, "telegram:42")
    assert not [key for key, text in dump(home) if "secret-ada" in text]


class Interrupted(Exception):
    pass


class InterruptedKV:
    """A store whose process ends when it is to delete more than `most` items."""

    def __init__(self, kv: KV, most: int) -> None:
        self._kv = kv
        self._most = most
        self.deletions = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kv, name)

    def list_partitions(self, prefix: str = "") -> Iterator[str]:
        # isinstance of a protocol asks no __getattr__ since Python 3.12
        store: Any = self._kv
        yield from store.list_partitions(prefix)

    def delete(self, *args: Any, **named: Any) -> None:
        if self.deletions >= self._most:
            raise Interrupted
        self.deletions += 1
        self._kv.delete(*args, **named)


def test_an_erasure_that_was_interrupted_anywhere_goes_on(
    runtime: Open, model: ScriptedModel, filled: Path
) -> None:
    home = runtime(llm_url=model.url, access="open", store="memory://")
    with closing(SqliteKV(filled / "uncaged.db")) as kv:
        items = list(scan_everything(kv))
    bodies = [path.read_bytes() for path in (filled / "artifacts").rglob("*") if path.is_file()]
    assert bodies

    def erase_until(most: int) -> int:
        """Return how many items an erasure has deleted that ends after so many."""
        for item in list(scan_everything(home.app.kv)):
            home.app.kv.delete(item.key)
        for item in items:
            home.app.kv.put(item.key, item.value)
        for body in bodies:
            home.stores.artifacts.put(body)
        failing: Any = InterruptedKV(home.app.kv, most)
        with suppress(Interrupted):
            erase(replace(home, app=replace(home.app, kv=failing)), "telegram:42")
        return int(failing.deletions)

    total = erase_until(10**9)
    assert total > 20
    for number in sample(range(total), 12):
        assert erase_until(number) == number
        erase(home, "telegram:42")
        assert not [key for key, text in dump(home) if "secret-ada" in text], number
        names = {key for key, _ in dump(home) if "telegram:42" in "".join(key)}
        assert names == {keys.session_head(S), keys.capability("main~telegram:42", "of-ada")}


def test_a_body_that_another_chat_has_as_well_stays(home: AgentRuntime) -> None:
    same = [Message("user", "x" + LARGE, seq=950)]
    for key in (S, E):
        home.app.sessions.archive(key, same)
    erase(home, "telegram:42")
    assert home.app.sessions.load_archived(E, 950) == tuple(same)


def test_a_memory_that_others_use_stays_for_them(home: AgentRuntime) -> None:
    tell(home, "/unlink", **ADA)
    personal = data(home)
    assert personal.find("telegram:42").ids == ("telegram:42",)
    erase(home, "telegram:42")
    assert "secret-ada-thing" in tell(home, "/recall", **DESK)[0]
    erase(home, "terminal:local")
    assert not [key for key, text in dump(home) if "secret-ada-thing" in text]


def test_a_memory_whose_record_of_users_is_damaged_stays(home: AgentRuntime) -> None:
    tell(home, "/unlink", **ADA)
    kv = home.app.kv
    (scope,) = [sort for sort, _ in kv.scan(keys.memory_link("").partition)]
    kv.put(keys.memory_link(scope), b"\xff")
    erase(home, "telegram:42")
    assert "secret-ada-thing" in tell(home, "/recall", **DESK)[0]


def test_what_both_knew_when_they_parted_stays_with_the_other(home: AgentRuntime) -> None:
    tell(home, "/unlink", **DESK)
    erase(home, "telegram:42")
    assert "secret-ada-thing" in tell(home, "/recall", **DESK)[0]


def test_what_a_person_does_afterwards_is_theirs_again(home: AgentRuntime) -> None:
    erase(home, "telegram:42")
    tell(home, "/language zh", **ADA)
    personal = data(home)
    records = personal.export(personal.find("telegram:42"))["records"]
    assert "conversations" in str(records)
    assert erase(home, "telegram:42").removed["conversations"] == 1
    assert home.app.sessions.open(S).document.language == ""


def test_long_work_tells_how_far_it_is(home: AgentRuntime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("functions.personal_data.EVERY", 1)
    told: list[str] = []
    personal = data(home, watch=told.append)
    personal.erase(personal.find("telegram:42"))
    assert told[0] == "looking for chats"
    assert "looking through private chats: 0 of 2" in told
    assert "looking through groups: 1 of 2" in told


def test_nobody_is_found_by_what_is_no_id(home: AgentRuntime) -> None:
    for who in ("", "Ada", "telegram:", "telegram:4 2", "telegram:42\n"):
        with pytest.raises(UsageError):
            data(home).find(who)


def test_every_kind_of_key_is_known_to_concern_persons_or_not() -> None:
    kinds = set()
    for name, function in inspect.getmembers(keys, inspect.isfunction):
        if inspect.signature(function).return_annotation != "Key" or name.startswith("_"):
            continue
        arguments: list[Any] = []
        for parameter in inspect.signature(function).parameters.values():
            arguments.append(1 if parameter.annotation in ("int", "float") else "x")
        kinds.add(function(*arguments).partition.partition("#")[0])
    assert kinds | {"ready!", "ready~work"} == keys.PERSONAL | keys.IMPERSONAL
    assert not keys.PERSONAL & keys.IMPERSONAL
    # whoever purges an agent below the root walks through the first three of these
    of_agents = keys.AGENT_PARTITIONS | keys.AGENT_ITEMS | keys.AGENT_CONTENT
    assert of_agents | keys.NOT_OF_AGENTS == kinds | {"ready!", "ready~work"}
    assert not of_agents & keys.NOT_OF_AGENTS


def test_the_owner_by_settings_is_named_among_what_stays(home: AgentRuntime) -> None:
    app = replace(home.app, rules=Rules(owners=("telegram:42",), access="open"))
    erased = erase(replace(home, app=app), "telegram:42")
    assert "UNCAGED_OWNERS, which names telegram:42" in erased.kept


def test_who_changed_the_agent_is_named_there_still(home: AgentRuntime) -> None:
    documents = home.app.documents
    documents.write(documents.agent, "soul", "Calm.", by="telegram:42")
    documents.write(documents.agent, "soul", "Wild.", by="telegram:43")
    assert "their id, where they changed" in str(erase(home, "telegram:42").kept)


def test_a_waiting_message_of_somebody_else_loses_what_it_quotes_of_the_person(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    file = {"kind": "document", "name": "secret-ada.pdf"}
    quote = Quote("reply", "secret-ada-quoted", "secret-ada", "telegram:42", files=(file,))
    eve = event("secret-eve-waits", **{**GROUP, "sender": "telegram:43"})
    own = Quote("reply", "eve", "Eve", "telegram:43")
    home.queue.put(replace(eve, quotes=(quote, own)))
    erase(home, "telegram:42")
    waiting = [text for key, text in dump(home) if "secret-eve-waits" in text]
    assert waiting
    assert not [key for key, text in dump(home) if "secret-ada" in text]
    delivery = home.queue.take(0.0)
    while delivery and "secret-eve-waits" not in delivery.event.text:
        home.queue.done(delivery)
        delivery = home.queue.take(0.0)
    assert delivery
    assert [each.text for each in delivery.event.quotes] == [ERASED, "eve"]


def test_it_says_where_the_id_of_an_owner_stays_who_decided_for_others(
    home: AgentRuntime,
) -> None:
    told = "their id, where they let others in, or chose who answers or listens in a group"
    assert told not in erase(home, "telegram:43").kept
    home.app.people.let_in("telegram:43", "member", "Eve", "telegram:42")
    assert told in erase(home, "telegram:42").kept
    home.app.kv.delete(keys.person("main", "telegram:43"))
    assert told not in erase(home, "telegram:42").kept
    overheard.start_listening(home.app.kv, G, "telegram:42", "0")
    assert told in erase(home, "telegram:42").kept


def test_the_further_ids_of_a_person_do_not_name_them_any_more(home: AgentRuntime) -> None:
    people = home.app.people
    people.let_in("telegram:42", "member", "Ada", "terminal:local")
    people.link("slack:T1.U1", "Ada", "telegram:42", "telegram:42", "member")
    personal = PersonalData(home.app, home.stores.artifacts)

    exported = personal.export(personal.find("telegram:42"))

    assert "slack:T1.U1" in str(exported)
    erase(home, "telegram:42")
    assert people.find_member("slack:T1.U1") is None
    assert home.app.kv.get(keys.person("main", "slack:T1.U1")) is None
