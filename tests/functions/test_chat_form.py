"""POST /chat takes files in a form, and they become files of the chat."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel, call, results, say
from tests.fakes.speech import KEY, SpeechEndpoint
from tests.functions.agent.workspace.test_pictures import pictures_in
from tests.functions.media.files import make_pdf, make_picture, write_lines
from tests.functions.media.sounds import make_m4a, make_ogg
from tests.functions.serving import Served, serving
from tests.library import copy_capabilities
from tests.tables import each_row

SESSION = keys.session_of("main", "http:admin:main")


def upload(*files: tuple[Any, ...]) -> list[tuple[str, tuple[Any, ...]]]:
    """Files as a form has them, each with its name, its content and mostly no type."""
    return [("file", file) for file in files]


def list_received(runtime: AgentRuntime) -> list[str]:
    return sorted(head.path for head in runtime.app.open_workspace(SESSION).scan())


@pytest.fixture
def opened(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel, tmp_path: Path
) -> AgentRuntime:
    library = copy_capabilities(tmp_path / "library", "files", "read-file")
    return runtime(llm_url=model.url, library=str(library))


def test_the_files_of_a_form_are_seen_and_read(opened: AgentRuntime, model: ScriptedModel) -> None:
    model.then(
        call(("sigil_query", {"query": "read a file that I sent"})),
        call(("cap_read_file", {"path": "received/invoice.pdf"})),
        say("A square and an invoice."),
    )
    files = upload(
        ("square.png", make_picture("PNG")), ("invoice.pdf", make_pdf([write_lines("Total 7")]))
    )
    with serving(opened) as server:
        asked = {"text": "what are these?", "session": "main"}
        answer = server.post("/chat", data=asked, files=files).json()

    assert answer["reply"] == "A square and an invoice."
    assert len(pictures_in(model.bodies[0])) == 1
    assert "Total 7" in results(model.bodies[-1])[-1]
    invoice, picture = list_received(opened)
    assert invoice == "received/invoice.pdf"
    assert re.fullmatch(r"received/square-\w{8}\.jpg", picture)


def test_the_same_form_again_keeps_its_files_once(
    opened: AgentRuntime, model: ScriptedModel
) -> None:
    model.then(say("one"), say("two"))
    with serving(opened) as server:
        for _ in range(2):
            files = upload(("a.txt", b"hello"))
            assert server.post("/chat", data={"text": "keep it"}, files=files).status_code == 200

    workspace = opened.app.open_workspace(SESSION)
    assert [each.version for each in workspace.list_versions("received/a.txt")] == [1]


def test_files_without_words_and_a_stream_of_the_answer(
    opened: AgentRuntime, model: ScriptedModel
) -> None:
    model.then(say("hello file"))
    with serving(opened) as server:
        accept = {"accept": "text/event-stream"}
        answer = server.post("/chat", files=upload(("a.txt", b"hello")), headers=accept)

    assert "event: reply" in answer.text
    assert "hello file" in answer.text


def test_a_recording_is_heard_and_is_no_command(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    with SpeechEndpoint() as speech:
        speech.said = "/stop"
        opened = runtime(llm_url=model.url, stt_url=speech.address, stt_key=KEY)
        with serving(opened) as server:
            for name, body, type in (
                ("memo.ogg", make_ogg(5), "application/octet-stream"),
                ("memo.m4a", make_m4a(5, b"mp42"), "audio/mp4"),
            ):
                model.then(say("You said stop."))
                answer = server.post("/chat", files=upload((name, body, type))).json()
                assert answer["reply"] == "You said stop."
                assert "[voice, 5 s, transcribed] /stop" in str(model.bodies[-1])
            model.then(say("unasked"))
            film = ("film.mp4", make_m4a(5, b"mp42"), "video/mp4")
            told = server.post("/chat", files=upload(film)).json()["reply"]

    shown = ENGLISH.file_named.format(name="film.mp4")
    assert told.endswith(ENGLISH.file_problems["not_supported"].format(name=shown))
    assert len(speech.requests) == 2


@each_row(
    ("fields", "files", "status", "words"),
    [
        ({"session": "main"}, [], 400, "text is a string of 1 to 100,000 characters"),
        ({"text": "hi", "session": "a b"}, [], 400, "session is a name"),
        ({"text": "x" * 100_001}, [], 400, "text is a string of 1 to 100,000 characters"),
        ({"text": "x" * 500_000}, [], 400, "exceeded"),
        ({"text": "hi", "sesion": "a"}, [], 400, "sesion"),
        ({"text": "hi"}, [("a.txt", b"x")] * 7, 400, "6"),
        ({"text": "hi"}, [("a.txt", b"x" * 20_000_001)], 413, "a.txt has more than 20 MB"),
        ({"text": "hi"}, [("a.txt", b"x" * 15_000_000)] * 3, 413, "over 39 MiB"),
    ],
)
def test_a_form_that_is_refused_leaves_nothing(
    opened: AgentRuntime,
    model: ScriptedModel,
    fields: dict[str, str],
    files: list[tuple[str, bytes]],
    status: int,
    words: str,
) -> None:
    with serving(opened) as server:
        answer = _send(server, fields, files)

    assert answer.status_code == status, answer.text
    assert words in answer.json()["error"]["message"]
    assert list_received(opened) == []
    assert model.bodies == []


def _send(server: Served, fields: dict[str, str], files: list[tuple[str, bytes]]) -> httpx.Response:
    """Send a form, also one without files."""
    parts = [(name, (None, value)) for name, value in fields.items()]
    return server.post("/chat", files=[*parts, *upload(*files)])


@each_row(
    ("kind", "body"),
    [
        ("multipart/form-data", b"--x\r\n\r\n"),
        ("multipart/form-data; boundary=x", b"no form"),
        (
            "multipart/form-data; boundary=x",
            b"--x\r\nContent-Disposition: form-data\r\n\r\nhi\r\n--x--",
        ),
        ("multipart/form-data; boundary=x", b"--x\r\nbad header\r\n\r\nhi\r\n--x--"),
        (
            "multipart/form-data; boundary=x",
            b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\ncut',
        ),
        (
            "multipart/form-data; boundary=x",
            b'--x\r\nContent-Disposition: form-data; name="file"\r\n\r\nno file\r\n--x--\r\n',
        ),
        (
            "multipart/form-data; boundary=x",
            b'--x\r\nContent-Disposition: form-data; name="text"; filename="t"\r\n\r\nhi\r\n--x--\r\n',
        ),
    ],
)
def test_what_is_no_form_is_refused_with_a_sentence(
    opened: AgentRuntime, model: ScriptedModel, kind: str, body: bytes
) -> None:
    with serving(opened) as server:
        answer = server.post("/chat", content=body, headers={"content-type": kind})

    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["code"] == "EINVAL"
    assert model.bodies == []


def test_a_stranger_uploads_nothing(opened: AgentRuntime) -> None:
    with serving(opened) as server:
        answer = httpx.post(
            f"{server.url}/chat", data={"text": "hi"}, files=upload(("a.txt", b"hello"))
        )

    assert answer.status_code == 401
    assert list_received(opened) == []
