"""Files that people send to a deployed agent: the worker hands them to the function that opens
them, under Lambda's real runtime interface.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from functions.events import Event
from functions.media.invocation import MAX_SENT_BYTES
from functions.media.lambda_reader import LambdaFileReader
from functions.media.results import Reason, UnreadableFile
from sigil.errors import BackendError
from sigil.storage import aws
from tests.deploy.requests import batch, failures, happened
from tests.deploy.runtime import Deployment
from tests.fakes.model import call, say
from tests.functions.media.files import make_pdf, make_picture, make_svg, write_lines
from tests.library import copy_capabilities
from tests.servers.lambda_invocations import LambdaInvocations
from tests.servers.lambda_runtime import LambdaFunction

CHAT = 95
FIND = call(("sigil_query", {"query": "read a file that I sent"}))
LONG = b"".join(b"row %07d of a table that is long\n" % number for number in range(150_000))


@dataclass(frozen=True, slots=True)
class Deployed:
    """A worker, and the door through which it invokes the function that opens files."""

    worker: LambdaFunction
    door: LambdaInvocations
    at: Deployment

    def send(self, number: int, name: str, body: bytes, kind: str = "document") -> None:
        """Deliver a message with one file, and wait for the end of its turn."""
        self.at.platform.sent_files[f"f{number}"] = body
        file: Any = {"kind": kind, "file_id": f"f{number}", "name": name, "size": len(body)}
        event: Event = replace(happened(number, "what is this?", chat=CHAT), attachments=(file,))
        assert failures(self.worker.invoke(batch(event)).payload) == []

    @property
    def orders(self) -> list[dict[str, Any]]:
        """What the function was asked, without the bytes."""
        return [
            {
                name: bool(value) if name in ("data", "url") else value
                for name, value in order.items()
            }
            for order in (request.json() for request in self.door.requests)
        ]


@pytest.fixture(scope="module")
def deployed_media(
    running: Deployment, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployed]:
    media = running.function("media")
    folder = tmp_path_factory.mktemp("library")
    library = {"UNCAGED_LIBRARY": str(copy_capabilities(folder, "read-file"))}
    with LambdaInvocations({"stack-media": media}) as door:
        worker = running.function(
            "worker",
            **{**running.with_model(), **library},
            UNCAGED_OWNERS=f"telegram:{CHAT}",
            UNCAGED_MEDIA="lambda:stack-media",
            AWS_ENDPOINT_URL_LAMBDA=door.url,
        )
        yield Deployed(worker, door, running)


def test_a_picture_a_document_and_a_long_text_are_opened_by_a_function_without_rights(
    deployed_media: Deployed,
) -> None:
    at = deployed_media.at
    pdf = make_pdf([write_lines("The total is 42 EUR"), write_lines("Page two")])
    at.model.then(say("a red picture"))
    deployed_media.send(1, "photo.png", make_picture("PNG"), "photo")
    at.model.then(FIND, call(("cap_read_file", {"path": "received/invoice.pdf"})), say("42 EUR"))
    deployed_media.send(2, "invoice.pdf", pdf)
    at.model.then(call(("cap_read_file", {"path": "received/long.csv", "page": 2})), say("rows"))
    deployed_media.send(3, "long.csv", LONG)

    requests = at.model.chats
    (picture,) = [part for part in requests[0]["messages"][-1]["content"] if part["type"] != "text"]
    assert picture["image_url"]["url"].startswith("data:image/jpeg;base64,/9j/")
    assert "The total is 42 EUR" in requests[3]["messages"][-1]["content"]
    assert "row 0000" in requests[5]["messages"][-1]["content"]
    assert at.texts(CHAT) == ["a red picture", "42 EUR", "rows"]
    assert len(LONG) > MAX_SENT_BYTES
    assert all("data" in order or "url" in order for order in deployed_media.orders)
    assert [order["verb"] for order in deployed_media.orders if "url" in order][:1] == ["read"]
    assert not _list_lent(at), "what was lent is gone"


def test_a_drawing_leaves_as_a_picture_and_as_the_document_that_it_is(
    deployed_media: Deployed,
) -> None:
    at = deployed_media.at
    drawing = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><path d="M0 0h9v9z"/></svg>'
    )
    made = {"name": "draw-it", "description": "draw", "execute": f"return '{drawing}'"}
    made |= {"schema": {"type": "object", "properties": {}}}
    answer = say("[as SVG](file:picture.svg)")
    at.model.then(call(("sigil_deploy", made)), call(("cap_draw_it", {})), answer)
    assert (
        failures(deployed_media.worker.invoke(batch(happened(4, "draw", chat=CHAT))).payload) == []
    )
    sent = [request for request in at.platform.requests if b'filename="picture' in request.body]
    document, picture = sent[-2:]
    assert drawing.encode() in document.body
    assert b"\x89PNG" in picture.body
    assert [order["verb"] for order in deployed_media.orders[-2:]] == ["draw", "draw"]


def test_what_is_not_opened_is_answered_with_a_sentence(deployed_media: Deployed) -> None:
    at = deployed_media.at
    before = len(deployed_media.door.requests)
    deployed_media.send(11, "film.mkv", b"\x1a\x45\xdf\xa3" + b"\0" * 5_000)
    deployed_media.send(12, "cut.pdf", make_pdf([write_lines("x")])[:200])

    asked = [order["count"] for order in deployed_media.orders[before:]]
    assert asked == [500, 1], "of the first file nothing: it is of no type that is opened"
    closed, damaged = at.texts(CHAT)[-2:]
    assert "I cannot open files like “film.mkv”" in closed
    assert "“cut.pdf” is damaged or incomplete" in damaged


def test_the_worker_opens_nothing_that_the_function_does_not_open_for_it(
    deployed_media: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_LAMBDA", deployed_media.door.url)
    aws._make_client.cache_clear()
    reader = LambdaFileReader("stack-media")

    drawn = reader.draw(make_svg())
    assert (drawn.type, reader.find_type(drawn.data)) == ("image/png", "png")
    with pytest.raises(UnreadableFile) as caught:
        reader.read(LONG)  # nothing lends it
    assert caught.value.reason == Reason.TOO_LARGE
    with pytest.raises(BackendError) as missing:
        LambdaFileReader("no-such-function").scale(make_picture("PNG"))
    assert missing.value.message == "function no-such-function: it does not exist here"
    media = deployed_media.at.function("media")
    for order in ({"verb": "run"}, {"verb": "read", "url": "file:///etc/passwd"}, {"odd": 1}, None):
        answer = media.invoke(order)
        assert (answer.failed, [*answer.payload]) == ("", ["answer"])


def _list_lent(at: Deployment) -> list[str]:
    bucket, _, prefix = at.store["UNCAGED_ARTIFACTS"].removeprefix("s3://").partition("/")
    found = aws.client("s3").list_objects_v2(Bucket=bucket, Prefix=f"{prefix}/lent/")
    return [each["Key"] for each in found.get("Contents", [])]
