"""A Matrix homeserver as a local server: it validates like one, records every request and fails
when told to. It also makes the transactions that it pushes to an application service.

`with Homeserver() as server: Matrix(server.url, BOT, TOKEN, SECRET)`
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import count
from typing import Any
from urllib.parse import parse_qs, unquote

import httpx

from functions.channels.base import PlatformRequest
from tests.fakes.server import Answer, Recorded, RecordingServer, json_answer

SERVER = "example.org"
BOT = f"@sigil:{SERVER}"
TOKEN = "syt_c2lnaWw_testtokenofabot_1a2b3c"
SECRET = "hs-token-of-the-homeserver"
ADA, BOB = f"@ada:{SERVER}", f"@bob:{SERVER}"
DIRECT, GROUP = f"!direct:{SERVER}", f"!group:{SERVER}"
NOW = 1_800_000_000.0
EVENT_BYTES = 65_536
ENVELOPE_BYTES = 4_000
"""What signatures, hashes and the events before it add to an event."""
_TAGS = frozenset(
    "del h1 h2 h3 h4 h5 h6 blockquote p a ul ol sup sub li b i u strong em s code hr br div table"
    " thead tbody tr th td caption pre span img details summary".split()
)
_ATTRIBUTES = {"a": {"href", "target"}, "ol": {"start"}, "code": {"class"}}
_NUMBERS = count(1)


@dataclass(slots=True)
class FakeRoom:
    """A room: the names of who has joined it, who was invited, and what was said."""

    members: dict[str, str | None]
    invited: set[str] = field(default_factory=set)
    encrypted: bool = False
    events: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(slots=True)
class Failure:
    """The answer to the next `times` requests whose path holds `part`."""

    answer: Answer
    part: str
    times: int


def make_event(
    content: Mapping[str, Any],
    sender: str = ADA,
    room: str = DIRECT,
    kind: str = "m.room.message",
    **fields: Any,
) -> dict[str, Any]:
    """An event of a room, as homeservers tell of it."""
    number = next(_NUMBERS)
    return {
        "type": kind,
        "event_id": f"${number:043d}",
        "room_id": room,
        "sender": sender,
        "origin_server_ts": int(NOW * 1000) - 10_000 + number % 10_000,
        "content": dict(content),
        "unsigned": {"age": 42},
        **fields,
    }


def text(body: str, *mentions: str, **fields: Any) -> dict[str, Any]:
    """The content of a message as clients of today write it."""
    named = {"user_ids": list(mentions)} if mentions else {}
    return {"msgtype": "m.text", "body": body, "m.mentions": named, **fields}


def pill(user: str, label: str, rest: str) -> dict[str, Any]:
    """What a client adds to a message that begins with a name which it links to."""
    html = f'<a href="https://matrix.to/#/{user}">{label}</a>{rest}'
    return {"format": "org.matrix.custom.html", "formatted_body": html}


def answer_to(event: Mapping[str, Any]) -> dict[str, Any]:
    """The relation of an answer to a message."""
    return {"m.relates_to": {"m.in_reply_to": {"event_id": event["event_id"]}}}


def in_thread(root: str, last: str = "", *, falls_back: bool = True) -> dict[str, Any]:
    """The relation of a message in a thread."""
    relation = {
        "rel_type": "m.thread",
        "event_id": root,
        "m.in_reply_to": {"event_id": last or root},
        "is_falling_back": falls_back,
    }
    return {"m.relates_to": relation}


def invitation(room: str, sender: str = ADA, user: str = BOT) -> dict[str, Any]:
    """The event by which somebody invites us."""
    content = {"membership": "invite", "displayname": "sigil"}
    return make_event(content, sender, room, "m.room.member", state_key=user)


def encode(*events: Mapping[str, Any]) -> bytes:
    """The body of a transaction."""
    return json.dumps({"events": list(events)}).encode()


def push(body: bytes, transaction: str = "1", secret: str = SECRET) -> PlatformRequest:
    """The request by which a homeserver sends a transaction."""
    headers = {"authorization": f"Bearer {secret}", "content-type": "application/json"}
    path = f"_matrix/app/v1/transactions/{transaction}"
    return PlatformRequest(headers, body, method="PUT", path=path)


class Homeserver(RecordingServer):
    """`messages` has what was sent and taken, in order, each with its `room_id` and `event_id`;
    `typing` and `receipts` what people see of us, `uploads` and `files` what we and others have
    uploaded, `account_data` what our account remembers.
    """

    def __init__(self) -> None:
        super().__init__()
        self.rooms: dict[str, FakeRoom] = {
            DIRECT: FakeRoom({BOT: "sigil", ADA: "Ada"}),
            GROUP: FakeRoom({BOT: "Sigil Bot", ADA: "Ada", BOB: None}),
        }
        self.messages: list[dict[str, Any]] = []
        self.typing: list[tuple[str, bool]] = []
        self.receipts: list[tuple[str, str]] = []
        self.declined: list[tuple[str, str]] = []
        """The rooms whose invitation was declined, and why."""
        self.uploads: dict[str, tuple[str, bytes]] = {}
        self.files: dict[str, bytes] = {}
        self.account_data: dict[str, dict[str, Any]] = {}
        self.told: list[tuple[str, dict[str, Any]]] = []
        """What `/sync` tells of: a room, and an event of it, or the state of an invitation."""
        self.room_events = 100
        self.oldest = 0
        """The oldest position that is still known."""
        self.service: dict[str, str] = {}
        """The `id`, `url`, `as_token` and `hs_token` of the application service."""
        self.upload_most = 1 << 20
        self.knows_authenticated_media = True
        self.accounts = {TOKEN: BOT}
        """Whose access tokens are known."""
        self._transactions: dict[tuple[str, str], str] = {}
        self._failures: list[Failure] = []

    # ---- for tests

    def say(self, event: dict[str, Any]) -> dict[str, Any]:
        """Let somebody say something; return the event, which can be answered."""
        self.rooms[event["room_id"]].events[event["event_id"]] = event
        return event

    def deliver(self, *events: dict[str, Any]) -> None:
        """Let `/sync` tell of events."""
        with self.changed:
            for event in events:
                room = event["room_id"]
                self.told.append((room, event))
                if room in self.rooms:
                    self.rooms[room].events[event["event_id"]] = event
            self.changed.notify_all()

    def invite(self, room: str, sender: str = ADA) -> None:
        """Let somebody invite our account, as `/sync` tells of it."""
        event = invitation(room, sender)
        stripped = {name: event[name] for name in ("type", "sender", "state_key", "content")}
        self.rooms.setdefault(room, FakeRoom({sender: None})).invited.add(BOT)
        with self.changed:
            self.told.append((room, stripped))
            self.changed.notify_all()

    def fail(
        self, part: str, errcode: str, status: int = 400, *, times: int = 1, **fields: Any
    ) -> None:
        """Answer the next requests whose path holds `part` with an error, in Matrix' form."""
        body = {"errcode": errcode, "error": "told to fail", **fields}
        self._failures.append(Failure(json_answer(body, status), part, times))

    def reply(self, part: str, answer: Answer, *, times: int = 1) -> None:
        """Answer the next requests whose path holds `part` with `answer`, whatever it is."""
        self._failures.append(Failure(answer, part, times))

    def asked(self, part: str) -> list[Recorded]:
        """The requests whose path holds `part`."""
        return [each for each in self.requests if part in unquote(each.path)]

    # ---- the server

    def answer(self, request: Recorded) -> Answer:
        path, _, query = request.path.partition("?")
        with self.changed:
            for failure in self._failures:
                if failure.times and failure.part in unquote(path):
                    failure.times -= 1
                    return failure.answer
        tokens = {self.service.get("as_token", TOKEN): BOT, **self.accounts}
        caller = tokens.get(request.headers.get("authorization", "").removeprefix("Bearer "))
        if caller is None:
            return refuse("M_UNKNOWN_TOKEN", 401)
        parts = [unquote(part) for part in path.strip("/").split("/")]
        match (request.method, *parts[:3]), parts[3:]:
            case ("GET", "_matrix", "client", "v1"), ["media", "download", server, id]:
                if not self.knows_authenticated_media:
                    return refuse("M_UNRECOGNIZED", 404)
                return self._download(server, id)
            case ("GET", "_matrix", "media", "v3"), ["download", server, id]:
                return self._download(server, id)
            case ("POST", "_matrix", "client", "v1"), ["appservice", id, "ping"]:
                return self._ping(id)
            case ("POST", "_matrix", "media", "v3"), ["upload"]:
                return self._upload(request)
            case (method, "_matrix", "client", "v3"), rest:
                body = request.json() if request.body else {}
                return self._call(caller, method, rest, body, parse_qs(query))
        return refuse("M_UNRECOGNIZED", 404)

    def _ping(self, id: str) -> Answer:
        if id != self.service.get("id"):
            return refuse("M_FORBIDDEN", 403)
        headers = {"authorization": f"Bearer {self.service['hs_token']}"}
        url = f"{self.service['url']}/_matrix/app/v1/ping"
        try:
            answer = httpx.post(url, headers=headers, json={"transaction_id": "1"})
        except httpx.HTTPError:
            return refuse("M_CONNECTION_FAILED", 502)
        if answer.status_code != 200:
            return refuse("M_BAD_STATUS", 502)
        return json_answer({"duration_ms": 1})

    def _call(
        self,
        caller: str,
        method: str,
        parts: list[str],
        body: dict[str, Any],
        query: Mapping[str, list[str]],
    ) -> Answer:
        match [method, *parts]:
            case ["GET", "account", "whoami"]:
                return json_answer({"user_id": caller, "device_id": "ABC"})
            case ["GET", "profile", user]:
                return json_answer({"displayname": "Sigil"} if user == caller else {})
            case ["GET", "sync"]:
                return self._sync(caller, {name: values[0] for name, values in query.items()})
            case [_, "rooms", room, "messages"] if room in self.rooms:
                return self._list_messages(room, query)
            case ["POST", "register"]:
                return refuse("M_USER_IN_USE")
            case ["GET", "joined_rooms"]:
                joined = [id for id, room in self.rooms.items() if caller in room.members]
                return json_answer({"joined_rooms": joined})
            case ["POST", "createRoom"]:
                return self._create(caller, body)
            case [_, "user", user, "account_data", kind] if user == caller:
                return self._account_data(method, kind, body)
            case [_, "user", user, "rooms", room, "account_data", kind] if user == caller:
                return self._account_data(method, f"{room} {kind}", body)
            case [_, "rooms", id, *rest] if id in self.rooms:
                return self._call_room(caller, method, id, rest, body)
        if parts[:1] == ["rooms"]:
            return refuse("M_FORBIDDEN", 403)
        return refuse("M_UNRECOGNIZED", 404)

    def _call_room(
        self, caller: str, method: str, id: str, parts: list[str], body: dict[str, Any]
    ) -> Answer:
        room = self.rooms[id]
        if [method, *parts] == ["POST", "join"]:
            if caller not in room.invited and caller not in room.members:
                return refuse("M_FORBIDDEN", 403)
            room.invited.discard(caller)
            room.members.setdefault(caller, "Sigil Bot")
            return json_answer({"room_id": id})
        if [method, *parts] == ["POST", "leave"] and caller in room.invited:
            room.invited.discard(caller)
            with self.changed:
                self.declined.append((id, body["reason"]))
                self.changed.notify_all()
            return json_answer({})
        if caller not in room.members:
            return refuse("M_FORBIDDEN", 403)
        match [method, *parts]:
            case ["PUT", "send", "m.room.message", transaction]:
                return self._send(caller, id, transaction, body)
            case ["PUT", "redact", event, transaction] if event in room.events:
                return self._redact(caller, id, event, transaction)
            case ["GET", "joined_members"]:
                members = {
                    user: {"display_name": name, "avatar_url": None}
                    for user, name in room.members.items()
                }
                return json_answer({"joined": members})
            case ["GET", "event", event] if event in room.events:
                return json_answer(room.events[event])
            case ["GET", "state", "m.room.encryption"] if room.encrypted:
                return json_answer({"algorithm": "m.megolm.v1.aes-sha2"})
            case ["PUT", "typing", user] if user == caller:
                if body["typing"] and not 0 < body["timeout"] <= 120_000:
                    return refuse("M_BAD_JSON")
                with self.changed:
                    self.typing.append((id, body["typing"]))
                    self.changed.notify_all()
                return json_answer({})
            case ["POST", "receipt", "m.read", event] if event.startswith("$"):
                self.receipts.append((event, body["thread_id"]))
                return json_answer({})
        return refuse("M_NOT_FOUND", 404)

    def _send(self, caller: str, room: str, transaction: str, content: dict[str, Any]) -> Answer:
        with self.changed:
            if (caller, transaction) in self._transactions:
                return json_answer({"event_id": self._transactions[caller, transaction]})
        problem = self._find_problem(room, content)
        if problem:
            return refuse(problem, 413 if problem == "M_TOO_LARGE" else 400)
        event = make_event(content, caller, room, origin_server_ts=int(time.time() * 1000))
        with self.changed:
            self._transactions[caller, transaction] = event["event_id"]
            self.rooms[room].events[event["event_id"]] = event
            self.told.append((room, event))
            relation = content.get("m.relates_to", {})
            if relation.get("rel_type") == "m.replace":
                for shown in self.messages:
                    if shown["event_id"] == relation["event_id"]:
                        shown["content"] = content["m.new_content"]
            else:
                self.messages.append(event)
            self.changed.notify_all()
        return json_answer({"event_id": event["event_id"]})

    def _redact(self, caller: str, room: str, event: str, transaction: str) -> Answer:
        """https://spec.matrix.org/latest/client-server-api/#redactions"""
        with self.changed:
            if (caller, transaction) in self._transactions:
                return json_answer({"event_id": self._transactions[caller, transaction]})
            if self.rooms[room].events[event]["sender"] != caller:
                return refuse("M_FORBIDDEN", 403)
            content = {"redacts": event}
            made = make_event(content, caller, room, "m.room.redaction", redacts=event)
            self._transactions[caller, transaction] = made["event_id"]
            self.rooms[room].events[event]["content"] = {}
            self.messages = [each for each in self.messages if each["event_id"] != event]
            self.told.append((room, made))
            self.changed.notify_all()
        return json_answer({"event_id": made["event_id"]})

    def _find_problem(self, room: str, content: dict[str, Any]) -> str:
        """Return the errcode of a message that a homeserver, or its clients, would not take."""
        if len(json.dumps(content, ensure_ascii=False).encode()) + ENVELOPE_BYTES > EVENT_BYTES:
            return "M_TOO_LARGE"
        kind = content.get("msgtype")
        if not content.get("body") or content.get("m.mentions") != {}:
            return "M_BAD_JSON"
        if ("formatted_body" in content) != (content.get("format") == "org.matrix.custom.html"):
            return "M_BAD_JSON"
        if find_odd_html(content.get("formatted_body", "")):
            return "M_BAD_JSON"
        if kind in ("m.image", "m.file"):
            if content.get("url") not in self.uploads:
                return "M_BAD_JSON"
        elif kind not in ("m.text", "m.notice"):
            return "M_BAD_JSON"
        relation = content.get("m.relates_to", {})
        ids = [relation.get("event_id"), relation.get("m.in_reply_to", {}).get("event_id")]
        if any(id and id not in self.rooms[room].events for id in ids):
            return "M_UNKNOWN"
        return ""

    def _sync(self, caller: str, query: Mapping[str, str]) -> Answer:
        """https://spec.matrix.org/latest/client-server-api/#get_matrixclientv3sync."""
        json.loads(query["filter"])
        since = int(query["since"].removeprefix("s")) if "since" in query else 0
        if since and since < self.oldest:
            return refuse("M_UNKNOWN")
        with self.changed:
            if "since" in query:
                seconds = min(int(query["timeout"]) / 1000, 25)
                self.changed.wait_for(
                    lambda: len(self.told) > since or self.closing.is_set(), seconds
                )
            told = self.told[since:]
            following = f"s{len(self.told)}"
        join: dict[str, Any] = {}
        invite: dict[str, Any] = {}
        for room, event in told:
            if "event_id" not in event:
                if caller not in self.rooms[room].members:
                    invite[room] = {"invite_state": {"events": [event]}}
                continue
            shown = {name: value for name, value in event.items() if name != "room_id"}
            timeline = join.setdefault(room, {"timeline": {"events": [], "limited": False}})
            timeline["timeline"]["events"].append(shown)
        for room in join.values():
            timeline = room["timeline"]
            left_out = len(timeline["events"]) - self.room_events
            if left_out > 0:
                timeline["events"] = timeline["events"][left_out:]
                timeline |= {"limited": True, "prev_batch": f"b{left_out}"}
        return json_answer({"next_batch": following, "rooms": {"join": join, "invite": invite}})

    def _list_messages(self, room: str, query: Mapping[str, list[str]]) -> Answer:
        """The page of events before a position, newest first."""
        since = int(query["to"][0].removeprefix("s"))
        end = int(query["from"][0].removeprefix("b"))
        events = [event for where, event in self.told[since:] if where == room][:end]
        page = events[-self.room_events :][::-1]
        answer: dict[str, Any] = {"chunk": page}
        if len(events) > len(page):
            answer["end"] = f"b{len(events) - len(page)}"
        return json_answer(answer)

    def _create(self, caller: str, body: dict[str, Any]) -> Answer:
        id = f"!made{len(self.rooms)}:{SERVER}"
        self.rooms[id] = FakeRoom({caller: "Sigil"}, set(body["invite"]))
        return json_answer({"room_id": id})

    def _account_data(self, method: str, key: str, body: dict[str, Any]) -> Answer:
        if method == "PUT":
            self.account_data[key] = body
            return json_answer({})
        if key not in self.account_data:
            return refuse("M_NOT_FOUND", 404)
        return json_answer(self.account_data[key])

    def _upload(self, request: Recorded) -> Answer:
        if len(request.body) > self.upload_most:
            return refuse("M_TOO_LARGE", 413)
        address = f"mxc://{SERVER}/Up{len(self.uploads)}"
        self.uploads[address] = (request.headers["content-type"], request.body)
        return json_answer({"content_uri": address})

    def _download(self, server: str, id: str) -> Answer:
        address = f"mxc://{server}/{id}"
        if address not in self.files:
            return refuse("M_NOT_FOUND", 404)
        return Answer(200, self.files[address], {"content-type": "application/octet-stream"})


class _HtmlReader(HTMLParser):
    """Notes the first element or attribute that may not be in a message."""

    def __init__(self) -> None:
        super().__init__()
        self.odd = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = {name for name, _ in attrs}
        if tag not in _TAGS or names - _ATTRIBUTES.get(tag, set()):
            self.odd = self.odd or f"{tag} {sorted(names)}"
        for name, value in attrs:
            if name == "href" and not (value or "").startswith(("https:", "http:", "mailto:")):
                self.odd = self.odd or f"address {value}"
            if name == "class" and not (value or "").startswith("language-"):
                self.odd = self.odd or f"class {value}"


def find_odd_html(html: str) -> str:
    """Return what in a message's HTML clients would take away; empty when it is all allowed."""
    reader = _HtmlReader()
    reader.feed(html)
    return reader.odd


def refuse(errcode: str, status: int = 400) -> Answer:
    """An error in Matrix' form."""
    return json_answer({"errcode": errcode, "error": "refused"}, status)
