"""A picture is seen in the turn of its message, and again when the model asks for it."""

from __future__ import annotations

import base64
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from functions.agent.memory.helpers import NoReader
from functions.agent.workspace.files import Workspace, Writer
from functions.media.file_types import FileType, find_type
from functions.personal_data import PersonalData
from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from sigil.errors import BackendError
from sigil.storage.kv import keys
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel, call, results, say
from tests.fakes.server import json_answer
from tests.functions.chats import Chats
from tests.functions.media.files import make_pdf, make_picture, write_lines
from tests.functions.people import OWNER, platform
from tests.library import copy_capabilities
from tests.machine import until

FIND = call(("sigil_query", {"query": "read a file that I sent"}))


@pytest.fixture
def open_chats(
    runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel, tmp_path: Path
) -> Callable[..., Chats]:
    names = ("files", "write-file", "read-file", "edit-file", "list-files", "diff-file")
    library = copy_capabilities(tmp_path / "library", *names)

    def opened(**settings: Any) -> Chats:
        made = runtime(llm_url=model.url, library=str(library), **platform(bot), **settings)
        return Chats(made, bot)

    return opened


@pytest.fixture
def chats(open_chats: Callable[..., Chats]) -> Chats:
    return open_chats()


def send_photo(chats: Chats, number: int, caption: str = "", body: bytes = b"") -> None:
    """Send a photo as Telegram has it: in several sizes, the largest last."""
    chats.bot.sent_files["large"] = body or make_picture("JPEG", (800, 600))
    size = len(chats.bot.sent_files["large"])
    photo = [
        {"file_id": "small", "width": 80, "height": 60, "file_size": 900},
        {"file_id": "large", "width": 800, "height": 600, "file_size": size},
    ]
    chats.write(number, "", photo=photo, **({"caption": caption} if caption else {}))
    chats.work_off()


def add_photo(chats: Chats, number: int) -> list[dict[str, Any]]:
    """Let Telegram have one more photo, and return it as a message has it."""
    chats.bot.sent_files[f"p{number}"] = make_picture("PNG", (100 + number, 80))
    return [{"file_id": f"p{number}", "width": 100 + number, "height": 80, "file_size": 900}]


def pictures_in(body: dict[str, Any]) -> list[bytes]:
    """The pictures of a request."""
    parts = [
        part
        for message in body["messages"]
        if isinstance(message["content"], list)
        for part in message["content"]
    ]
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    return [base64.b64decode(url.removeprefix("data:image/jpeg;base64,")) for url in urls]


def test_a_photo_is_seen_in_each_request_of_its_turn_and_later_when_it_is_asked_for(
    chats: Chats, model: ScriptedModel
) -> None:
    model.then(FIND, say("A red square."))
    send_photo(chats, 1, "what is it?")

    assert [len(pictures_in(body)) for body in model.bodies] == [1, 1]
    (picture,) = pictures_in(model.bodies[0])
    assert find_type(picture) is FileType.JPEG
    assert chats.list_texts() == ["A red square."]
    said = model.bodies[0]["messages"][-1]["content"][0]["text"]
    path = said.partition("kept as ")[2].partition(":")[0]
    assert path.startswith("received/photo-")
    assert f"[photo: unnamed, kept as {path}: read-file shows it again with look]" in said

    # beside another call, whose result comes last
    look = call(("cap_read_file", {"path": path, "look": True}), ("sigil_query", {"query": "x"}))
    model.then(say("It was a square."), look, say("Blue, above at the left."))
    chats.write(2, "thanks")
    chats.work_off()
    chats.write(3, "which colour has its corner?")
    chats.work_off()

    assert [len(pictures_in(body)) for body in model.bodies[2:]] == [0, 0, 1]
    assert pictures_in(model.bodies[-1]) == [picture]
    last = model.bodies[-1]["messages"][-2:]
    assert [message["role"] for message in last] == ["tool", "user"]
    assert last[1]["content"][0]["text"].startswith("[runtime]")
    assert chats.list_texts()[-1] == "Blue, above at the left."
    history = "\n".join(chats.list_history())
    assert "base64" not in history


def test_a_large_picture_is_made_small_and_loses_where_it_was_taken(
    chats: Chats, model: ScriptedModel
) -> None:
    model.then(say("I see."))
    exif = make_picture("JPEG", (3000, 2000), exif=b"Exif\0\0MM\0*\0\0\0\x08\0\0")
    send_photo(chats, 1, "look", exif)

    (picture,) = pictures_in(model.bodies[0])
    assert b"Exif" not in picture
    assert len(picture) < 1_000_000
    workspace = chats.runtime.app.open_workspace("main#telegram:42")
    assert [head.size for head in workspace.scan()] == [len(picture)]


def test_a_model_that_takes_no_pictures_is_told_and_so_is_the_person(
    chats: Chats, model: ScriptedModel
) -> None:
    def refuse(body: dict[str, Any]) -> Any:
        if pictures_in(body):
            return json_answer({"error": {"message": "image_url is not supported"}}, 400)
        return say("I cannot see it.")

    model.then(refuse, refuse, refuse)
    send_photo(chats, 1, "what is it?")
    send_photo(chats, 2, "and this?")

    assert len(model.bodies) == 3  # the refusal is remembered
    assert "an image was left out" in str(model.bodies[1])
    assert chats.list_texts() == [f"{ENGLISH.no_pictures}\n\nI cannot see it."] * 2


def test_a_setting_says_that_the_model_takes_no_pictures(
    open_chats: Callable[..., Chats], model: ScriptedModel
) -> None:
    chats = open_chats(llm_images="no")
    model.then(say("I cannot see it."))
    send_photo(chats, 1, "what is it?")

    assert pictures_in(model.bodies[0]) == []
    assert chats.list_texts() == [f"{ENGLISH.no_pictures}\n\nI cannot see it."]


def test_the_offline_model_says_that_it_sees_nothing(
    runtime: Callable[..., AgentRuntime], bot: BotApi
) -> None:
    chats = Chats(runtime(**platform(bot)), bot)
    send_photo(chats, 1, "what is it?")

    assert chats.list_texts()[-1].startswith(ENGLISH.no_pictures)


def test_a_pdf_is_read_page_by_page_and_looked_at(chats: Chats, model: ScriptedModel) -> None:
    pages = [write_lines(f"Page {number} of the invoice") for number in (1, 2, 3)]
    chats.bot.sent_files["f1"] = make_pdf(pages, title="Invoice 7", outline=[("Totals", 3)])
    model.then(
        FIND,
        call(("cap_read_file", {"path": "received/invoice.pdf"})),
        call(("cap_read_file", {"path": "received/invoice.pdf", "page": 2})),
        call(("cap_read_file", {"path": "received/invoice.pdf", "from": 40})),
        call(("cap_read_file", {"path": "received/invoice.pdf", "page": 3, "look": True})),
        say("It is about three pages."),
    )
    file = {"file_id": "f1", "file_name": "invoice.pdf", "file_size": 900, "mime_type": "x/y"}
    chats.write(1, "", document=file, caption="what does it say?")
    chats.work_off()

    first = str(model.bodies[0]["messages"][-1]["content"])
    assert "kept as received/invoice.pdf (3 pages): read-file reads it]" in first
    found = results(model.bodies[-1])
    assert '"title":"Invoice 7","outline":["Totals · 3"],"page":1' in found[1]
    assert "Page 1 of the invoice" in found[1]
    assert '"pages":3' in found[1]
    assert "Page 2 of the invoice" in found[2]
    assert "received/invoice.pdf is read by pages, and not by lines" in found[3]
    assert '"look":"received/invoice-3.jpg"' in found[4]
    assert len(pictures_in(model.bodies[-1])) == 1
    assert chats.list_texts() == ["It is about three pages."]


def test_the_text_of_a_document_is_made_once_and_goes_with_it(
    chats: Chats, model: ScriptedModel
) -> None:
    long = write_lines(*(f"line {number:04d} of the page" for number in range(900)))
    pages = [write_lines(f"This is page {number} of the report") for number in range(1, 40)]
    chats.bot.sent_files["f1"] = make_pdf([*pages, long])
    model.then(say("ok"))
    file = {"file_id": "f1", "file_name": "report.pdf", "file_size": 900, "mime_type": "x/y"}
    chats.write(1, "", document=file, caption="keep it")
    chats.work_off()
    reader = vars(chats.runtime.app.helpers.reader)
    opened = reader.pop("_reader")
    reader["_reader"] = NoReader()  # nothing is opened from here on
    path = "received/report.pdf"
    model.then(
        FIND,
        call(("cap_read_file", {"path": path, "page": 39})),
        call(("cap_read_file", {"path": path, "page": 40})),
        call(("cap_read_file", {"path": path, "page": 40, "part": 3})),
        call(("cap_read_file", {"path": path, "page": 40, "part": 4})),
        say("That is all."),
    )
    chats.write(2, "what is on the last pages?")
    chats.work_off()
    reader["_reader"] = opened

    found = results(model.bodies[-1])[1:]
    assert '"text":"This is page 39 of the report","pages":40}' in found[0]
    assert "line 0000 of the page" in found[1]
    assert '"part":1,"parts":3,"pages":40}' in found[1]
    assert "line 0899 of the page" in found[2]
    assert "has 3 parts" in found[3]
    artifacts = chats.runtime.stores.artifacts
    files = chats.runtime.app.open_workspace(keys.session_of("main", f"telegram:{OWNER}"))
    version = files.load_version(path)
    text = artifacts.get(version.pages)
    assert b"This is page 39" in text
    artifacts.delete(version.pages)  # as it is after a backup, which leaves it out
    model.then(call(("cap_read_file", {"path": path, "page": 2})), say("Page 2."))
    chats.write(3, "and what is on page 2?")
    chats.work_off()
    assert "This is page 2 of the report" in results(model.bodies[-1])[-1]
    artifacts.put(text)
    personal = PersonalData(chats.runtime.app, artifacts)
    personal.erase(personal.find(f"telegram:{OWNER}"))
    for name in (version.artifact, version.pages):
        with pytest.raises(BackendError):
            artifacts.get(name)


def test_only_what_people_sent_here_is_looked_at(chats: Chats, model: ScriptedModel) -> None:
    model.then(
        FIND,
        call(("cap_write_file", {"path": "x.jpg", "content": "hello"})),
        call(("cap_read_file", {"path": "x.jpg", "look": True})),
        call(("cap_read_file", {"path": "received/none.jpg", "look": True})),
        say("No."),
    )
    chats.write(1, "look at x.jpg")
    chats.work_off()

    errors = results(model.bodies[-1])[-2:]
    assert "none of the pictures" in errors[0]
    assert "there is no file" in errors[1]
    assert pictures_in(model.bodies[-1]) == []


@pytest.mark.parametrize(
    ("album", "caption"),
    [({"media_group_id": "77"}, {"caption": "what are these?"}), ({}, {})],
    ids=["an album", "one by one"],
)
def test_photos_that_were_sent_together_are_one_message(
    chats: Chats, model: ScriptedModel, album: dict[str, str], caption: dict[str, str]
) -> None:
    model.then(say("Three squares."))
    for number in (1, 2, 3):  # each is a second younger than the one before
        words = caption if number == 2 else {}
        chats.write(number, "", photo=add_photo(chats, number), **album, **words)
    chats.work_off()

    assert [len(pictures_in(body)) for body in model.bodies] == [3]
    assert chats.list_texts() == ["Three squares."]


@pytest.mark.parametrize(
    "fields", [{}, {"media_group_id": "77", "caption": "what are these?"}], ids=["alone", "album"]
)
def test_more_photos_of_a_message_are_waited_for(
    chats: Chats, model: ScriptedModel, fields: dict[str, str]
) -> None:
    model.then(say("Two squares."))
    now = int(chats.runtime.app.clock.now()) + 1
    chats.write(1, "", photo=add_photo(chats, 1), date=now, **fields)
    chats.take_next()
    assert model.bodies == []
    assert chats.runtime.queue.take(0.0) is None  # it comes again a little later

    album = {name: text for name, text in fields.items() if name != "caption"}
    chats.write(2, "", photo=add_photo(chats, 2), date=now, **album)
    until(lambda: bool(chats.work_off()))
    assert [len(pictures_in(body)) for body in model.bodies] == [2]
    assert chats.list_texts() == ["Two squares."]


def test_pictures_of_the_same_name_are_seen_each(chats: Chats, model: ScriptedModel) -> None:
    model.then(say("Two squares."))
    for number in (1, 2):
        add_photo(chats, number)
        file = {"file_id": f"p{number}", "file_name": "image.png", "mime_type": "image/png"}
        chats.write(number, "", document=file, media_group_id="77")
    chats.work_off()

    (body,) = model.bodies
    assert len(set(pictures_in(body))) == 2


def test_old_pictures_go_after_a_month_and_when_there_is_no_room(
    chats: Chats, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = chats.runtime.app.open_workspace("main#telegram:42")
    monkeypatch.setattr("functions.agent.workspace.files.TOTAL_BYTES", 25_000)
    for number in range(1, 5):
        model.then(say("I see."))
        send_photo(chats, number, "look", make_picture("JPEG", (800, 600 + number)))
    kept = [head.path for head in files.scan()]
    assert 0 < len(kept) < 4
    assert pictures_in(model.bodies[-1])

    later = chats.runtime.app.clock.now() + 31 * 86_400
    old = Workspace(
        chats.runtime.stores.kv, chats.runtime.stores.artifacts, files.scope, lambda: later
    )
    old.write("notes.md", b"stays", Writer("telegram:42"))
    assert old.sweep()
    assert [head.path for head in files.scan()] == ["notes.md"]


def test_a_drawing_leaves_as_a_picture_that_the_platform_shows(
    chats: Chats, model: ScriptedModel
) -> None:
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="90" height="60"><rect width="9"/></svg>'
    model.then(say(f"Here it is.\n\n```svg\n{svg}\n```"), say("```svg\n<svg><script/></svg>\n```"))
    chats.write(1, "draw a box")
    chats.work_off()
    chats.write(2, "draw a box that runs")
    chats.work_off()

    (sent,) = [each for each in chats.bot.requests if each.path.endswith("/sendPhoto")]
    assert b"\x89PNG\r\n\x1a\n" in sent.body
    assert b'filename="picture.png"' in sent.body
    assert chats.bot.calls("sendDocument") == []
    assert chats.list_texts()[0] == "Here it is."
    assert "<script/>" in chats.list_texts()[-1]


def test_where_nothing_opens_files_texts_are_read_and_pictures_are_answered(
    open_chats: Callable[..., Chats], model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "functions.media.file_reader", None)
    chats = open_chats()
    loaded = vars(chats.runtime.app.helpers.reader)
    loaded.pop("_reader", None)
    chats.bot.sent_files["f1"] = b"milk, 2\n"
    file = {"file_id": "f1", "file_name": "list.csv", "file_size": 8, "mime_type": "text/csv"}
    model.then(say("milk"))
    chats.write(1, "", document=file, caption="what is it?")
    chats.work_off()
    send_photo(chats, 2)

    assert "kept as received/list.csv" in str(model.bodies[0])
    told = ENGLISH.file_problems["no_reader"].format(name=ENGLISH.file_unnamed)
    assert chats.list_texts() == ["milk", told]
    loaded.pop("_reader", None)
