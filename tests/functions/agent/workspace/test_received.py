"""Texts that people send stand in the files of their chat."""

from __future__ import annotations

import itertools
import logging
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from functions.agent.workspace import daily_bytes
from functions.agent.workspace.path import RECEIVED, parse_path
from functions.agent.workspace.received import make_name, may_open
from functions.personal_data import PersonalData
from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime, LazyFileReader
from sigil.storage.kv import keys
from tests.fakes.bot_api import TOKEN, BotApi
from tests.fakes.model import ScriptedModel, call, results, say
from tests.fakes.server import Answer
from tests.functions.chats import Chats
from tests.functions.people import OWNER, platform, update
from tests.library import copy_capabilities
from tests.tables import each_row

GUEST = 66
MEMBER = 55
US = int(TOKEN.partition(":")[0])


@pytest.fixture
def chats(
    runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel, tmp_path: Path
) -> Chats:
    names = ("files", "write-file", "read-file", "edit-file", "list-files", "diff-file")
    library = copy_capabilities(tmp_path / "library", *names)
    return Chats(runtime(llm_url=model.url, library=str(library), **platform(bot)), bot)


def document(id: str, name: str, size: int = 10, mime: str = "text/plain") -> dict[str, Any]:
    return {"file_id": id, "file_name": name, "file_size": size, "mime_type": mime}


def list_received(chats: Chats, chat: int = OWNER) -> list[str]:
    session = keys.session_of("main", f"telegram:{chat}")
    return [head.path for head in chats.runtime.app.open_workspace(session).scan()]


def test_a_text_that_somebody_sends_is_read_by_the_model(
    chats: Chats, bot: BotApi, model: ScriptedModel
) -> None:
    bot.sent_files["f1"] = b"milk, 2\noats, 1\n"
    model.then(
        call(("sigil_query", {"query": "read the file that I sent"})),
        call(("cap_read_file", {"path": "received/list.csv"})),
        say("milk and oats"),
    )
    chats.write(1, "", document=document("f1", "list.csv", mime="text/csv"), caption="what is it?")
    chats.work_off()
    first = str(model.bodies[0]["messages"])
    assert 'list.csv", kept as received/list.csv: read-file reads it]' in first.replace("\\", "")
    assert "milk, 2" not in first
    assert '"text":"milk, 2\\noats, 1\\n"' in results(model.bodies[-1])[-1]
    assert chats.list_texts()[-1] == "milk and oats"
    assert "cannot open" not in str(chats.list_texts())
    head = chats.runtime.app.open_workspace(keys.session_of("main", f"telegram:{OWNER}")).require(
        "received/list.csv"
    )
    assert (head.by, head.version) == (f"telegram:{OWNER}", 1)


def test_a_text_alone_is_a_message_to_the_model(
    chats: Chats, bot: BotApi, model: ScriptedModel
) -> None:
    bot.sent_files["f1"] = b"hello"
    model.then(say("thank you"))
    chats.write(1, "", document=document("f1", "a.txt"))
    chats.work_off()
    assert chats.list_texts()[-1] == "thank you"
    assert list_received(chats) == ["received/a.txt"]


def test_a_long_text_keeps_its_name(chats: Chats, bot: BotApi, model: ScriptedModel) -> None:
    bot.sent_files["f1"] = b"one line of many\n" * 20_000
    model.then(say("ok"))
    chats.write(1, "", document=document("f1", "server.log"))
    chats.work_off()
    assert list_received(chats) == ["received/server.log"]


@each_row(
    ("body", "name", "size", "reason"),
    [
        (b"%PDF-1.7\xff", "a.pdf", 10, "broken"),
        (b"\xff\xfe\x00", "a.txt", 3, "not_supported"),
        (b"a\0b", "a.txt", 3, "not_supported"),
        (b"", "a.txt", 3, "empty"),
        (b"x", "a.txt", 20_000_001, "too_large"),
        (b"x" * 20_000_001, "a.txt", 10, "too_large"),
        (b"MZ\x90\0", "<b>.exe", 10, "not_supported"),
    ],
)
def test_what_cannot_be_opened_is_answered_with_the_reason(
    chats: Chats, bot: BotApi, body: bytes, name: str, size: int, reason: str
) -> None:
    bot.sent_files["f1"] = body
    number = len(bot.messages) + 1
    file = document("f1", name, size, "application/pdf")
    chats.write(number, "", document=file, date=1_700_000_000 + 60 * number)
    chats.work_off()
    shown = ENGLISH.file_named.format(name=name)
    told = ENGLISH.file_problems[reason].format(name=shown)
    assert chats.list_texts()[-1] == told[:1].upper() + told[1:]
    assert list_received(chats) == []


def test_a_message_with_many_files_names_those_that_are_not_opened(
    chats: Chats, bot: BotApi, model: ScriptedModel
) -> None:
    for number in range(1, 8):
        bot.sent_files[f"f{number}"] = b"%d" % number
    model.then(say("six of them"))
    body = orjson.dumps(update(1, "what is in these?"))
    (event,) = chats.runtime.channels["telegram"].read_update(body).events
    files = [
        {"kind": "document", "file_id": f"f{number}", "name": f"{number}.txt", "size": 1}
        for number in range(1, 8)
    ]
    chats.runtime.queue.put(replace(event, attachments=tuple(files)))
    chats.work_off()
    told = ENGLISH.file_problems["too_many"].format(name=ENGLISH.file_named.format(name="7.txt"))
    assert chats.list_texts() == [f"{told}\n\nsix of them"]
    assert len(list_received(chats)) == 6


def test_files_of_one_name_in_one_message_are_kept_under_names_of_their_own(
    chats: Chats, bot: BotApi, model: ScriptedModel
) -> None:
    bodies = (b"first", b"second", b"first")
    for number, body in enumerate(bodies):
        bot.sent_files[f"f{number}"] = body
    model.then(say("three"))
    update_body = orjson.dumps(update(1, "what is in these?"))
    (event,) = chats.runtime.channels["telegram"].read_update(update_body).events
    files = [
        {"kind": "document", "file_id": f"f{number}", "name": name, "size": 1}
        for number, name in enumerate(("list.csv", "List.csv", "list.csv"))
    ]
    chats.runtime.queue.put(replace(event, attachments=tuple(files)))
    chats.work_off()
    workspace = chats.runtime.app.open_workspace(keys.session_of("main", f"telegram:{OWNER}"))
    kept = {path: workspace.read(path).body for path in list_received(chats)}
    assert kept == {"received/list.csv": b"first", "received/List-16367aac.csv": b"second"}
    heard = str(model.bodies[0]["messages"])
    assert heard.count("kept as received/list.csv") == 2
    assert heard.count("kept as received/List-16367aac.csv") == 1


def test_without_a_reader_of_files_texts_are_read_and_the_rest_is_named(
    chats: Chats, bot: BotApi, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    # so it is in the worker's package on AWS
    monkeypatch.setitem(sys.modules, "functions.media.file_reader", None)
    helpers = replace(chats.runtime.app.helpers, reader=LazyFileReader())
    runtime = replace(chats.runtime, app=replace(chats.runtime.app, helpers=helpers))
    chats = replace(chats, runtime=runtime)
    bot.sent_files |= {"f1": b"milk, 2", "f2": b"\x89PNG\r\n\x1a\n"}
    svg = '<svg xmlns="http://www.w3.org/2000/svg"><rect width="9" height="9"/></svg>'
    model.then(
        call(("sigil_query", {"query": "read the file that I sent"})),
        call(("cap_read_file", {"path": "received/list.csv"})),
        say(f"a drawing of it\n\n```svg\n{svg}\n```"),
    )
    chats.write(1, "", document=document("f1", "list.csv"))
    chats.write(200, "", document=document("f2", "a.png"))
    chats.work_off()
    assert '"text":"milk, 2"' in results(model.bodies[-1])[-1]
    (drawing,) = [each for each in bot.requests if each.path.endswith("/sendDocument")]
    assert b'filename="picture.svg"' in drawing.body
    name = ENGLISH.file_named.format(name="a.png")
    told = ENGLISH.file_problems["no_reader"].format(name=name)
    assert chats.list_texts() == ["a drawing of it", told]


def test_a_file_that_does_not_come_keeps_no_message_back(
    chats: Chats, bot: BotApi, model: ScriptedModel, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "uncaged")
    for number, failure in enumerate((Answer(500), Answer(200, b"no JSON"), Answer(cut=True)), 1):
        bot.reply(failure, method="getFile")
        model.then(say(f"answer {number}"))
        file = document("f1", "a.txt")
        chats.write(number, "", document=file, caption=f"look {number}")
        chats.work_off()
        assert chats.list_texts()[-1].endswith(f"answer {number}")
        assert chats.list_texts()[-1].startswith("I could not fetch “a.txt”.")
    assert list_received(chats) == []
    told = [vars(each)["facts"] for each in caplog.records if each.getMessage() == "unopened"]
    assert [each["reason"] for each in told] == ["not_fetched"] * 3
    assert all(each["cause"].startswith("telegram: ") for each in told), "owners find out why"


def test_what_guests_send_is_not_fetched(chats: Chats, bot: BotApi) -> None:
    bot.sent_files["f1"] = b"hello"
    chats.write(1, "", GUEST, document=document("f1", "a.txt"))
    chats.work_off()
    assert bot.calls("getFile") == []
    assert list_received(chats, GUEST) == []
    assert chats.list_texts() == ["I open files for members alone, so I have not opened “a.txt”."]


def test_a_member_may_send_so_many_bytes_a_day_and_an_owner_any(
    chats: Chats,
    bot: BotApi,
    model: ScriptedModel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(daily_bytes, "DAILY_BYTES", 1_000)
    app = chats.runtime.app
    app.people.let_in(f"telegram:{MEMBER}", "member", "Eve", f"telegram:{OWNER}")
    store = chats.runtime.stores.kv
    row = keys.received_bytes(keys.session_of("main", f"telegram:{MEMBER}"), "").partition
    numbers = itertools.count(1)

    def send(body: bytes, stated: int, sender: int = MEMBER) -> str:
        number = next(numbers)
        bot.sent_files[f"f{number}"] = body
        model.then(say("thank you"))
        file = document(f"f{number}", f"{number}.txt", stated)
        chats.write(number, "", sender, document=file, date=1_700_000_000 + 60 * number)
        chats.work_off()
        return chats.list_texts()[-1]

    used_up = "The 100 MB of files that may come into this chat in a day are used up"
    assert send(b"x" * 600, 600) == "thank you"
    assert used_up in send(b"x" * 600, 600), "as it says how large it is"
    assert len(bot.calls("getFile")) == 1
    assert used_up in send(b"x" * 600, 0), "as it is cut off"
    assert used_up in send(b"x", 0), "what was cut off came"
    assert send(b"x" * 2_000, 0, OWNER) == "thank you"
    ((_, item),) = store.scan(row)
    session = keys.session_of("main", f"telegram:{MEMBER}")
    daily = daily_bytes.DailyBytes(store, session, "UTC", app.clock.now)
    (file, *_) = orjson.loads(item.value)["recent"]
    daily.count(file, 600)
    assert (daily.read_left("another"), daily.read_left(file.rpartition(":")[0])) == (0, 600)
    assert orjson.loads(item.value)["total"] == 1_000
    personal = PersonalData(app, chats.runtime.stores.artifacts)
    personal.erase(personal.find(f"telegram:{MEMBER}"))
    assert not list(store.scan(row))


def test_a_message_that_was_handled_or_erased_brings_no_file_again(
    chats: Chats, bot: BotApi, model: ScriptedModel
) -> None:
    bot.sent_files["f1"] = b"hello"
    model.then(say("ok"))
    chats.write(1, "", document=document("f1", "a.txt"))
    chats.work_off()
    chats.write(1, "", document=document("f1", "a.txt"))
    chats.work_off()
    assert len(bot.calls("getFile")) == 1

    runtime = chats.runtime
    personal = PersonalData(runtime.app, runtime.stores.artifacts)
    personal.erase(personal.find(f"telegram:{OWNER}"))
    assert list_received(chats) == []
    chats.write(2, "", document=document("f1", "a.txt"))
    chats.work_off()
    assert list_received(chats) == []


def test_the_same_name_again_is_another_version(
    chats: Chats, bot: BotApi, model: ScriptedModel
) -> None:
    for number in (1, 2):
        bot.sent_files[f"f{number}"] = b"%d" % number
        model.then(say("ok"))
        chats.write(number, "", document=document(f"f{number}", "a.txt"))
        chats.work_off()
    files = chats.runtime.app.open_workspace(keys.session_of("main", f"telegram:{OWNER}"))
    assert [each.version for each in files.list_versions("received/a.txt")] == [2, 1]


@each_row(
    ("name", "kept"),
    [
        ("notes.md", "notes.md"),
        ("../../etc/passwd.txt", "etc_passwd.txt"),
        ("a\\b:c*?.csv", "a_b_c__.csv"),
        ("  .hidden.txt", "hidden.txt"),
        ("文件 一.md", "文件 一.md"),
        ("cafe\u0301.txt", "café.txt"),
        ("a\u202etxt.md", "atxt.md"),
        ("x" * 300 + ".txt", "x" * 80 + ".txt"),
        ("con.txt", ""),
        ("", ""),
        ("....", ""),
    ],
)
def test_a_name_from_outside_becomes_one_that_a_file_may_have(name: str, kept: str) -> None:
    made = make_name(name, b"body")
    assert parse_path(f"{RECEIVED}/{made}")
    assert made == (kept or "230d8358dc8e.txt")


def test_films_and_sounds_are_not_fetched() -> None:
    text = {"kind": "document", "file_id": "f", "name": "a.md", "size": 5, "mime": ""}
    assert may_open(text)
    assert may_open({**text, "kind": "photo"})
    for other in ({"kind": "video"}, {"file_id": ""}, {"mime": "video/mp4"}, {"path": "x"}):
        assert not may_open({**text, **other})


def answer_to(number: int, sender: int = OWNER, **message: Any) -> dict[str, Any]:
    """The message that another one answers, as Telegram repeats it there."""
    who = {"id": sender, "is_bot": sender == US, "first_name": "Ada"}
    chat = {"id": OWNER, "type": "private"}
    return {"message_id": number, "from": who, "chat": chat, "date": 1, **message}


def test_a_reply_to_a_text_brings_the_text(chats: Chats, bot: BotApi, model: ScriptedModel) -> None:
    bot.sent_files["f1"] = b"milk, 2\n"
    for number, sender in ((1, OWNER), (2, 4711), (3, US)):
        model.then(say("it is short"))
        answered = answer_to(5, sender, document=document("f1", "report.txt", mime=""))
        chats.write(number, "summarize this file", reply_to_message=answered)
        chats.work_off()
        asked = model.bodies[-1]["messages"][-1]["content"]
        name = {OWNER: "the sender", US: "you"}.get(sender, '"Ada" · 4711')
        named = '[document: "report.txt", kept as received/report.txt: read-file reads it]'
        assert f"[in reply to {name}] {named}" in asked
        assert chats.list_texts()[-1] == "it is short"
    files = chats.runtime.app.open_workspace(keys.session_of("main", f"telegram:{OWNER}"))
    assert [each.version for each in files.list_versions("received/report.txt")] == [1]


def test_a_reply_to_a_text_that_was_replaced_since_names_its_version(
    chats: Chats, bot: BotApi, model: ScriptedModel
) -> None:
    for number in (1, 2):
        bot.sent_files[f"f{number}"] = b"%d" % number
        model.then(say("ok"))
        chats.write(number, "", document=document(f"f{number}", "a.txt"))
        chats.work_off()
    chats.write(3, "and this?", reply_to_message=answer_to(1, document=document("f1", "a.txt")))
    chats.work_off()
    asked = model.bodies[-1]["messages"][-1]["content"]
    assert "kept as received/a.txt, version 1: read-file reads it]" in asked
    files = chats.runtime.app.open_workspace(keys.session_of("main", f"telegram:{OWNER}"))
    assert files.require("received/a.txt").version == 2


def test_what_cannot_be_opened_of_an_answered_message_is_told(
    chats: Chats, bot: BotApi, model: ScriptedModel
) -> None:
    pdf = document("f1", "a.pdf", mime="application/pdf")
    video = {"file_id": "v", "duration": 5}
    model.then(say("alas"), say("it is mine"))
    # the second one came while the first had to wait
    chats.write(1, "what does it say?", reply_to_message=answer_to(5, document=pdf))
    chats.write(2, "and this?", reply_to_message=answer_to(5, video=video))
    chats.work_off()
    chats.write(3, "and yours?", reply_to_message=answer_to(5, US, document=pdf))
    chats.work_off()
    name = ENGLISH.file_named.format(name="a.pdf")
    lost = ENGLISH.file_problems["not_fetched"].format(name=name)
    told = f"{ENGLISH.cannot_open_beside.format(kinds='videos')}\n{lost}"
    assert chats.list_texts() == [f"{told}\n\nalas", "it is mine"]
    read = "\n".join(chats.list_history())
    for line in ("[in reply to the sender] [document", "[in reply to you] [document"):
        assert f'{line}: "a.pdf", which you cannot open]' in read


def test_a_reply_of_a_guest_to_a_text_fetches_nothing(chats: Chats, bot: BotApi) -> None:
    answered = answer_to(5, document=document("f1", "report.txt"))
    chats.write(1, "summarize this file", GUEST, reply_to_message=answered)
    chats.work_off()
    assert bot.calls("getFile") == []
