"""Meta's Graph API for one WhatsApp number as a local server: it validates like WhatsApp, records
every request and fails when told to.

`with GraphApi() as api: WhatsApp(api.number, api.token, "secret", "verify", api=api.url)`
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from email import message_from_bytes
from email.message import Message
from hashlib import sha256
from hmac import HMAC
from typing import Any

from functions.channels.base import PlatformRequest
from tests.fakes.server import Answer, Recorded, RecordingServer, json_answer

TOKEN = "EAAG-test-token"
NUMBER = "106540352242922"
SECRET = "app-secret"
VERIFY_TOKEN = "our-own-token"
PERSON = "16315551181"
SCOPED_PERSON = "US.13491208655302741918"
UPLOADED = ("image/png", "image/jpeg", "application/pdf", "text/plain")
"""Types of which the tests send files, and WhatsApp takes them."""
PHOTO_BYTES = 5 * 1024 * 1024


@dataclass(slots=True)
class Failure:
    """The answer to the next `times` messages."""

    answer: Answer
    times: int


class GraphApi(RecordingServer):
    """`messages` holds the messages that were accepted, in order, and `signs` the requests that
    mark one as read and show that we write. `sent_files` has what people sent, by its id, and
    `uploads` what we uploaded.
    """

    def __init__(self, number: str = NUMBER, token: str = TOKEN) -> None:
        super().__init__()
        self.number = number
        self.token = token
        self.messages: list[dict[str, Any]] = []
        self.signs: list[dict[str, Any]] = []
        self.sent_files: dict[str, bytes] = {}
        self.uploads: dict[str, tuple[str, bytes]] = {}
        self.file_host = ""
        self._failures: list[Failure] = []

    # ---- for tests

    def fail(self, code: int, status: int = 400, *, times: int = 1, **headers: str) -> None:
        """Answer the next messages with an error, in Meta's form."""
        self._failures.append(Failure(_refusal(code, status, **headers), times))

    def reply(self, answer: Answer, *, times: int = 1) -> None:
        """Answer the next messages with `answer`, whatever it is."""
        self._failures.append(Failure(answer, times))

    # ---- the server

    def answer(self, request: Recorded) -> Answer:
        path, _, query = request.path.partition("?")
        if request.headers.get("authorization") != f"Bearer {self.token}":
            return _refusal(190, 401)
        if path == f"/{self.number}/messages" and request.method == "POST":
            return self._take_message(request.json())
        if path == f"/{self.number}/media" and request.method == "POST":
            return self._take_upload(request)
        if path == f"/{self.number}" and "verified_name" in query:
            return json_answer(
                {"verified_name": "Sigil", "display_phone_number": "+1 631-555-1111"}
            )
        id = path.rpartition("/")[2]
        if id in self.sent_files:
            if path.startswith("/files/"):
                return Answer(200, self.sent_files[id])
            url = f"{self.file_host or self.url}/files/{id}?ext=1"
            content = self.sent_files[id]
            return json_answer(
                {
                    "messaging_product": "whatsapp",
                    "id": id,
                    "url": url,
                    "mime_type": "application/octet-stream",
                    "sha256": sha256(content).hexdigest(),
                    "file_size": len(content),
                }
            )
        return _refusal(100, 400)

    def _take_message(self, body: dict[str, Any]) -> Answer:
        if body.get("messaging_product") != "whatsapp":
            return _refusal(100, 400)
        if body.get("status") == "read":
            self.signs.append(body)
            return json_answer({"success": True})
        with self.changed:
            failure = next((each for each in self._failures if each.times), None)
            if failure:
                failure.times -= 1
                return failure.answer
        if self._find_problem(body):
            return _refusal(self._find_problem(body), 400)
        with self.changed:
            self.messages.append(body)
            self.changed.notify_all()
        to = body.get("to") or body.get("recipient")
        return json_answer(
            {
                "messaging_product": "whatsapp",
                "contacts": [{"input": to, "wa_id": to}],
                "messages": [{"id": f"wamid.OUT{len(self.messages)}"}],
            }
        )

    def _find_problem(self, body: dict[str, Any]) -> int:
        """https://developers.facebook.com/docs/whatsapp/cloud-api/reference/messages"""
        to = body.get("to", "")
        if not (to.isdigit() or "." in body.get("recipient", "")):
            return 131009
        kind = body.get("type")
        content = body.get(kind, {})
        if kind == "text":
            return 0 if 1 <= len(content.get("body", "")) <= 4096 else 100
        if kind == "interactive":
            replies = [each["reply"] for each in content["action"]["buttons"]]
            titles = [reply["title"] for reply in replies]
            fits = all(1 <= len(title) <= 20 for title in titles) and len(set(titles)) == len(
                titles
            )
            ids = all(1 <= len(reply["id"]) <= 256 for reply in replies)
            body_fits = 1 <= len(content["body"]["text"]) <= 1024
            return 0 if 1 <= len(replies) <= 3 and fits and ids and body_fits else 131009
        if kind in ("image", "document"):
            return 0 if content.get("id") in self.uploads else 131009
        return 131009

    def _take_upload(self, request: Recorded) -> Answer:
        kind = request.headers["content-type"]
        form = message_from_bytes(f"content-type: {kind}\r\n\r\n".encode() + request.body)
        fields: dict[str, Any] = {}
        for part in form.get_payload():
            assert isinstance(part, Message)
            name = part.get_param("name", header="content-disposition")
            fields[str(name)] = part.get_payload(decode=True)
            if part.get_filename():
                fields["type of file"] = part.get_content_type()
        declared = fields["type"].decode()
        large = declared.startswith("image/") and len(fields["file"]) > PHOTO_BYTES
        if (
            fields["messaging_product"] != b"whatsapp"
            or declared not in UPLOADED
            or fields["type of file"] != declared
            or large
        ):
            return _refusal(100, 400)
        id = str(9_000 + len(self.uploads))
        self.uploads[id] = (declared, fields["file"])
        return json_answer({"id": id})


def _refusal(code: int, status: int, **headers: str) -> Answer:
    problem = {"message": f"(#{code}) refused", "type": "OAuthException", "code": code}
    answer = json_answer({"error": problem}, status)
    return Answer(
        status,
        answer.body,
        {**answer.headers, **{k.replace("_", "-"): v for k, v in headers.items()}},
    )


def make_message(number: int = 1, text: str = "hello", **fields: object) -> dict[str, object]:
    """A message as Meta tells of it; `fields` take the place of its own."""
    content = {"type": "text", "text": {"body": text}}
    own = {"from": PERSON, "id": f"wamid.TEST{number}", "timestamp": str(1_800_000_000 + number)}
    return {**own, **(content if "type" not in fields else {}), **fields}


def make_body(*messages: dict[str, object], **value: object) -> bytes:
    """The body of a request with messages; `value` takes the place of fields beside them."""
    whole = {
        "messaging_product": "whatsapp",
        "metadata": {"display_phone_number": "16315551111", "phone_number_id": NUMBER},
        "contacts": [{"profile": {"name": "Kerry"}, "wa_id": PERSON, "user_id": SCOPED_PERSON}],
        **({"messages": list(messages)} if messages else {}),
        **value,
    }
    entry = {"id": "102290129340398", "changes": [{"value": whole, "field": "messages"}]}
    return json.dumps({"object": "whatsapp_business_account", "entry": [entry]}).encode()


def sign(body: bytes, secret: str = SECRET) -> PlatformRequest:
    """The request by which Meta sends a body."""
    digest = HMAC(secret.encode(), body, sha256).hexdigest()
    return PlatformRequest({"x-hub-signature-256": f"sha256={digest}"}, body)
