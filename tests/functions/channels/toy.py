"""A platform of the tests alone: it signs its bodies, sends batches by PUT, and asks who we are."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable
from hashlib import sha256

from functions.channels.base import PlatformAnswer, PlatformRequest, Received, Reply
from functions.events import Event, Sender, order_of
from sigil.errors import Refused, UsageError

SECRET = b"toy-secret"
NOW = 1_800_000_000.0
WINDOW = 300


def sign(body: bytes, at: float = NOW) -> PlatformRequest:
    """The request by which the platform sends a body."""
    stamp = str(int(at))
    digest = hmac.digest(SECRET, stamp.encode() + b":" + body, sha256).hex()
    headers = {"x-toy-time": stamp, "x-toy-signature": digest}
    return PlatformRequest(headers, body, method="PUT", path="transactions/1")


class Toy:
    """A bot of the toy platform, at the time `NOW`."""

    body_most = 1 << 16

    def __init__(self, name: str = "toy") -> None:
        self.name = name
        self.sent: list[Reply] = []
        self.waits: list[str] = []

    def verify_head(self, request: PlatformRequest) -> bool:
        if request.method == "GET":
            if not hmac.compare_digest(request.query.get("token", "").encode(), SECRET):
                raise self._refuse()
            return True
        stamp = request.headers.get("x-toy-time", "")
        if not (stamp.isascii() and stamp.isdigit() and abs(int(stamp) - NOW) <= WINDOW):
            raise self._refuse()
        return False

    def receive(self, request: PlatformRequest) -> Received:
        self.verify_head(request)
        if request.method == "GET":
            challenge = request.query.get("challenge", "").encode()
            return Received(answer=PlatformAnswer(200, challenge, "text/plain"))
        signed = sign(request.body, float(request.headers["x-toy-time"]))
        given = request.headers.get("x-toy-signature", "").encode()
        if not hmac.compare_digest(given, signed.headers["x-toy-signature"].encode()):
            raise self._refuse()
        try:
            rows = json.loads(request.body)["messages"]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise UsageError("EINVAL", "no messages", source=self.name) from None
        events = [self._read(row) for row in rows if not row.get("bot") and not row.get("edited")]
        return Received(tuple(events), PlatformAnswer(200, b"{}"))

    def answer_refused(self, problem: Refused) -> PlatformAnswer:
        return PlatformAnswer(403, b'{"errcode":"TOY_FORBIDDEN"}')

    def accept(self, event: Event) -> Event | None:
        return event

    def send(self, reply: Reply, sent: Callable[[int], None]) -> None:
        self.sent.append(reply)

    def show_waiting(self, event: Event) -> float:
        self.waits.append(f"show {event.id}")
        return 0.0

    def end_waiting(self, event: Event) -> None:
        self.waits.append(f"end {event.id}")

    def acknowledge(self, event: Event) -> None: ...

    def _read(self, row: dict[str, str]) -> Event:
        return Event(
            f"{self.name}:{row['id']}",
            "message",
            "main",
            f"{self.name}:{row['chat']}",
            Sender(f"{self.name}:{row['from']}", ""),
            row["text"],
            NOW,
            order_of(NOW, int(row["id"])),
            reply_to=row.get("token", f"token-of-{row['id']}|1800000900"),
            private="group" not in row,
        )

    def _refuse(self) -> Refused:
        return Refused("EAUTH", "the request is not the toy's", source=self.name)


def make_message(id: int, text: str = "hello", **fields: object) -> dict[str, object]:
    """A message as the platform sends it."""
    return {"id": str(id), "chat": "C1", "from": "U1", "text": text, **fields}


def make_body(*messages: dict[str, object]) -> bytes:
    """A body with messages."""
    return json.dumps({"messages": messages}).encode()
