"""LINE's Messaging API for one channel as a local server: it validates like LINE, records every
request and fails when told to.

`with LineServer() as api: Line(TOKEN, SECRET, api.url)`
"""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import dataclass
from hashlib import sha256
from hmac import HMAC
from typing import Any
from uuid import UUID

from functions.channels.base import PlatformRequest
from tests.fakes.server import Answer, Recorded, RecordingServer, json_answer

TOKEN = "line-channel-token"
SECRET = "8c570fa6dd201bb328f1c1eac23a96d8"
BOT = "U" + "b" * 32
PERSON = "U" + "a" * 32
GROUP = "C" + "c" * 32
ROOM = "R" + "d" * 32
NAMES = {PERSON: "Kerry"}
BOT_INFO = {
    "userId": BOT,
    "basicId": "@sigil",
    "displayName": "Sigil",
    "chatMode": "bot",
    "markAsReadMode": "auto",
}
MONTHLY = "You have reached your monthly limit."
RATE = "The API rate limit has been exceeded. Try again later."


@dataclass(slots=True)
class Failure:
    """The answer to the next `times` requests to `path`; `after`: what it asks for is done."""

    path: str
    answer: Answer
    times: int
    after: bool = False


class LineServer(RecordingServer):
    """`messages` holds the messages that were accepted, in order, with `to` and `by` (`reply` or
    `push`). `files` has what people sent by the message's id, `tokens` the reply tokens that are
    spent, and `loading` the chats that show that an answer comes.
    `language` is that of everybody's app.
    """

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[dict[str, Any]] = []
        self.files: dict[str, bytes] = {}
        self.tokens: set[str] = set()
        self.loading: list[str] = []
        self.left: set[str] = set()
        self.endpoint = ""
        self.is_active = True
        self.language = "de"
        self.test = {"success": True, "statusCode": 200, "reason": "OK", "detail": "200"}
        self._accepted: set[str] = set()
        self._failures: list[Failure] = []

    # ---- for tests

    def fail(
        self, path: str, status: int, message: str = "", *, times: int = 1, **headers: str
    ) -> None:
        """Answer the next requests to a path with an error, in LINE's form."""
        answer = json_answer({"message": message}, status)
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        self.reply(path, Answer(status, answer.body, {**answer.headers, **names}), times=times)

    def reply(self, path: str, answer: Answer, *, times: int = 1) -> None:
        """Answer the next requests to a path with `answer`, whatever it is."""
        self._failures.append(Failure(path, answer, times))

    def lose(self, path: str) -> None:
        """Do what the next request to a path asks for, and answer nothing."""
        self._failures.append(Failure(path, Answer(cut=True), 1, after=True))

    def texts(self) -> list[str]:
        """The texts of the messages that were accepted."""
        return [message["text"] for message in self.messages if message["type"] == "text"]

    def count(self, path: str) -> int:
        """How many requests came to a path."""
        return sum(request.path == path for request in self.requests)

    # ---- the server

    def answer(self, request: Recorded) -> Answer:
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return _refusal(401, "Authentication failed due to the following reason: invalid token")
        with self.changed:
            failure = next(
                (each for each in self._failures if each.times and each.path == request.path), None
            )
            if failure:
                failure.times -= 1
                if not failure.after:
                    return failure.answer
        answer = self._answer(request)
        return failure.answer if failure else answer

    def _answer(self, request: Recorded) -> Answer:
        path = request.path
        match request.method, path:
            case "POST", "/v2/bot/message/reply":
                return self._take_reply(request)
            case "POST", "/v2/bot/message/push":
                return self._take_push(request)
            case "POST", "/v2/bot/chat/loading/start":
                return self._start_loading(request.json())
            case "GET", "/v2/bot/info":
                return json_answer(BOT_INFO)
            case "PUT", "/v2/bot/channel/webhook/endpoint":
                self.endpoint = request.json()["endpoint"]
                fits = self.endpoint.startswith("https://") and len(self.endpoint) <= 500
                return json_answer({}) if fits else _refusal(400, "Invalid webhook endpoint URL")
            case "GET", "/v2/bot/channel/webhook/endpoint":
                if not self.endpoint:
                    return _refusal(404, "Webhook endpoint not found")
                return json_answer({"endpoint": self.endpoint, "active": self.is_active})
            case "POST", "/v2/bot/channel/webhook/test":
                return json_answer({"timestamp": "2026-11-28T10:00:00.000Z", **self.test})
        if path.endswith("/content"):
            id = path.split("/")[-2]
            return Answer(200, self.files[id]) if id in self.files else _refusal(404, "Not found")
        person = path.rpartition("/")[2]
        if person in NAMES and path in (
            f"/v2/bot/profile/{person}",
            f"/v2/bot/group/{GROUP}/member/{person}",
            f"/v2/bot/room/{ROOM}/member/{person}",
        ):
            profile = {"userId": person, "displayName": NAMES[person]}
            return json_answer(profile | ({"language": self.language} if "profile" in path else {}))
        return _refusal(404, "Not found")

    def _take_reply(self, request: Recorded) -> Answer:
        body = request.json()
        if "x-line-retry-key" in request.headers:
            return _refusal(400, "X-Line-Retry-Key is not supported")
        token = body["replyToken"]
        problem = _find_problem(body["messages"])
        if problem:
            return problem
        with self.changed:
            if token in self.tokens:
                return _refusal(400, "Invalid reply token")
            self.tokens.add(token)
        return self._accept(body["messages"], "reply", token)

    def _take_push(self, request: Recorded) -> Answer:
        body = request.json()
        key = request.headers.get("x-line-retry-key", "")
        if key:
            UUID(key)
        if body["to"] in self.left:
            return _refusal(400, "Failed to send messages")
        problem = _find_problem(body["messages"])
        if problem:
            return problem
        with self.changed:
            if key and key in self._accepted:
                return _refusal(409, "The retry key is already accepted")
            self._accepted.add(key)
        return self._accept(body["messages"], "push", body["to"])

    def _accept(self, messages: list[dict[str, Any]], by: str, to: str) -> Answer:
        with self.changed:
            first = len(self.messages) + 1
            self.messages += [{**message, "by": by, "to": to} for message in messages]
            self.changed.notify_all()
        ids = [str(900_000 + number) for number in range(first, first + len(messages))]
        return json_answer({"sentMessages": [{"id": id, "quoteToken": f"q{id}"} for id in ids]})

    def _start_loading(self, body: dict[str, Any]) -> Answer:
        seconds = body["loadingSeconds"]
        if not body["chatId"].startswith("U") or seconds % 5 or not 5 <= seconds <= 60:
            return _refusal(400, "The value for the 'chatId' parameter is invalid")
        self.loading.append(body["chatId"])
        return json_answer({}, 202)


def _find_problem(messages: list[dict[str, Any]]) -> Answer | None:
    """https://developers.line.biz/en/reference/messaging-api/#message-objects"""
    if not 1 <= len(messages) <= 5:
        return _invalid("messages", "Size must be between 1 and 5")
    for number, message in enumerate(messages):
        place = f"messages[{number}]"
        if message.get("quoteToken", "q").startswith("bad"):
            return _refusal(400, "Invalid quote token")
        if message["type"] == "text":
            if not 1 <= len(message["text"].encode("utf-16-le")) // 2 <= 5000:
                return _invalid(f"{place}.text", "Length must be between 1 and 5000")
            if "\u0001" in message["text"] or "forbidden" in message["text"]:
                return _invalid(f"{place}.text", "May not be used")
        elif message["type"] == "flex":
            rows = message["contents"]["body"]["contents"]
            if not 1 <= len(message["altText"]) <= 400 or not rows:
                return _invalid(f"{place}.altText", "Length must be between 1 and 400")
            for row in rows:
                action = row["action"]
                if not 1 <= len(action["label"]) <= 20 or not 1 <= len(action["data"]) <= 300:
                    return _invalid(f"{place}.contents", "Invalid action")
        elif message["type"] == "image":
            for name in ("originalContentUrl", "previewImageUrl"):
                url = message[name]
                if not url.startswith("https://") or len(url) > 2_000 or "refused" in url:
                    return _invalid(f"{place}.{name}", "Invalid URL")
            if "quoteToken" in message:
                return _invalid(f"{place}.quoteToken", "May not be used")
        else:
            return _invalid(f"{place}.type", "Unknown type")
    return None


def _invalid(place: str, message: str) -> Answer:
    body = {
        "message": "The request body has 1 error(s)",
        "details": [{"message": message, "property": place}],
    }
    return json_answer(body, 400)


def _refusal(status: int, message: str) -> Answer:
    return json_answer({"message": message}, status)


def make_event(kind: str, number: int = 1, **fields: object) -> dict[str, Any]:
    """An event as LINE tells of it; `fields` take the place of its own."""
    return {
        "type": kind,
        "mode": "active",
        "timestamp": 1_800_000_000_000 + number,
        "source": {"type": "user", "userId": PERSON},
        "webhookEventId": f"01HTEST{number:019d}",
        "deliveryContext": {"isRedelivery": False},
        "replyToken": f"reply{number}",
        **({"follow": {"isUnblocked": False}} if kind == "follow" else {}),
        **fields,
    }


def make_message(
    number: int = 1, text: str = "hello", *, chat: str = "", **message: object
) -> dict[str, Any]:
    """A message; `chat` is a group's or a room's id, and `message` takes the place of its
    fields.
    """
    own = {"type": "text", "id": str(500_000 + number), "quoteToken": f"quote{number}"}
    if "type" not in message:
        own["text"] = text
    source = {"type": "user", "userId": PERSON}
    if chat:
        kind = "group" if chat.startswith("C") else "room"
        source |= {"type": kind, f"{kind}Id": chat}
    return make_event("message", number, message=own | message, source=source)


def mention_us(text: str) -> dict[str, Any]:
    """The field of a message that names us where the text says `@Sigil`, and all where it says
    `@All`.
    """
    found = []
    for name, fields in (("@Sigil", {"isSelf": True, "type": "user"}), ("@All", {"type": "all"})):
        if name in text:
            index = len(text.partition(name)[0].encode("utf-16-le")) // 2
            found.append({"index": index, "length": len(name), **fields})
    return {"mentionees": found}


def make_body(*events: dict[str, Any]) -> bytes:
    """The body of a request."""
    return json.dumps({"destination": BOT, "events": list(events)}).encode()


def sign(body: bytes, secret: str = SECRET) -> PlatformRequest:
    """The request by which LINE sends a body."""
    digest = b64encode(HMAC(secret.encode(), body, sha256).digest()).decode()
    return PlatformRequest({"x-line-signature": digest}, body)
