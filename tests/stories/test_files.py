"""Somebody works with files for three days, on Telegram: a photo is understood, and looked at again
two days later; a voice message is heard; of a PDF of 40 pages the right one is read; a chart comes
back as a picture.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel, call, results, say
from tests.fakes.speech import KEY, SpeechEndpoint
from tests.functions.media.files import make_pdf, make_picture, write_lines
from tests.functions.media.sounds import make_ogg
from tests.functions.people import OWNER, Live
from tests.library import copy_capabilities
from tests.project.tree import ROOT

DAY = 86_400
PAGE = (ROOT / "docs" / "files.md").read_text("utf-8")
CHART = (
    "```svg\n"
    '<svg xmlns="http://www.w3.org/2000/svg" width="90" height="60">'
    '<rect width="9" height="40"/><text x="12" y="20">2025</text></svg>\n'
    "```"
)


@pytest.fixture
def agent(
    live: Callable[..., AbstractContextManager[Live]], bot: BotApi, tmp_path: Path
) -> Iterator[Live]:
    bot.sent_files |= {
        "photo": make_picture("JPEG", (800, 600)),
        "voice": make_ogg(4.0),
        "report": make_pdf(
            [write_lines(f"Page {number}: the sales of that month") for number in range(1, 41)],
            "Yearly report",
            [("Summary", 1), ("Outlook", 40)],
        ),
    }
    library = copy_capabilities(tmp_path / "library", "read-file")
    with SpeechEndpoint() as speech:
        speech.said = "how much is it together?"
        heard = {"stt_url": speech.address, "stt_key": KEY}
        with live(library=str(library), **heard) as agent:
            yield agent


def require_shown(*lines: str, path: str = "") -> None:
    """Assert that these lines stand in the example of docs/files.md."""
    shown = PAGE.partition("```text\nphoto")[2].partition("```")[0]
    for line in lines:
        assert (line.replace(path, "received/photo-….jpg") if path else line) in shown


def pictures_in(body: dict[str, Any]) -> list[bytes]:
    parts = [
        part
        for message in body["messages"]
        if isinstance(message["content"], list)
        for part in message["content"]
        if part["type"] == "image_url"
    ]
    return [base64.b64decode(part["image_url"]["url"].partition(",")[2]) for part in parts]


def test_a_photo_a_voice_message_a_report_and_a_chart(
    agent: Live, bot: BotApi, model: ScriptedModel
) -> None:
    now = int(time.time())
    model.then(say("A receipt over 42 euros."))
    photo = [{"file_id": "photo", "file_unique_id": "p", "width": 800, "height": 600}]
    said = agent.ask("", photo=photo, caption="what is this?", date=now - 2 * DAY)
    assert said == "A receipt over 42 euros."
    require_shown("> what is this?", f"main> {said}")
    (seen,) = pictures_in(model.chats[0])

    path = str(model.chats[0]).partition("kept as ")[2].partition(":")[0]
    model.then(
        call(("sigil_query", {"query": "read a file that I sent"})),
        call(("cap_read_file", {"path": path, "look": True})),
        say("It says 42 euros, of which 7 are tax."),
    )
    said = agent.ask("how much tax is on the receipt?", date=now)
    assert said == "It says 42 euros, of which 7 are tax."
    looked = results(model.chats[3])[-1]
    require_shown("> how much tax", f'{{"path": "{path}", "look": true}}', path=path)
    require_shown(f"← {looked}", f"main> {said}", path=path)
    later = [pictures_in(body) for body in model.chats[1:4]]
    assert later == [[], [], [seen]], "it stands in the one request after it was asked for"

    model.then(say("49 euros."))
    voice = {"file_id": "voice", "file_unique_id": "v", "duration": 4}
    assert agent.ask("", voice=voice, date=now + 60) == "49 euros."
    assert "[voice, 4 s, transcribed] how much is it together?" in str(model.chats[4])
    require_shown("> [voice, 4 s, transcribed] how much is it together?", "main> 49 euros.")
    assert not pictures_in(model.chats[4])

    model.then(
        call(("cap_read_file", {"path": "received/report.pdf", "page": 40})),
        say(f"Here are the sales.\n\n{CHART}"),
    )
    report = {"file_id": "report", "file_unique_id": "r", "file_name": "report.pdf"}
    said = agent.ask("", document=report, caption="draw me the last page", date=now + 120)
    assert said == "Here are the sales."
    require_shown("> draw me the last page", f"← {results(model.chats[6])[-1]}", f"main> {said}")
    agent.until(lambda: bool(bot.photos))
    (sent,) = [each for each in bot.requests if each.path.endswith("/sendPhoto")]
    assert b"\x89PNG\r\n\x1a\n" in sent.body
    assert bot.photos[0]["chat_id"] == OWNER
