"""Feishu's API as a local server, and the events that it posts: it validates as Feishu does, records
every request and fails when told to.

`with FeishuServer() as server: Feishu(APP, SECRET, SECRETS, server.url)`
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC

from functions.channels.base import PlatformRequest
from functions.channels.feishu.channel import SCOPES
from functions.channels.feishu.signature import WebhookSecrets
from tests.fakes.forms import read_form
from tests.fakes.pace import Pace
from tests.fakes.server import Answer, Recorded, RecordingServer, json_answer

APP = "cli_a1b2c3d4e5f6"
APP_SECRET = "the-secret-of-the-app"
SECRETS = WebhookSecrets("the-encrypt-key", "the-verification-token")
BOT = "ou_b07b07b07b07"
ALICE = "ou_a11ce0a11ce0"
BOB = "ou_b0bb0bb0bb0b"
GROUP = "oc_96096096096096"
NOW = 1_770_000_000
CONTENT_BYTES = {"text": 150_000, "interactive": 30_000}


def sign(body: bytes, secrets: WebhookSecrets = SECRETS, time: int = NOW) -> PlatformRequest:
    """A request as Feishu signs it."""
    nonce = "a-nonce"
    signed = f"{time}{nonce}{secrets.encrypt_key}".encode() + body
    headers = {
        "x-lark-request-timestamp": str(time),
        "x-lark-request-nonce": nonce,
        "x-lark-signature": hashlib.sha256(signed).hexdigest(),
    }
    return PlatformRequest(headers, body)


def encrypt(payload: Mapping[str, Any], key: str = SECRETS.encrypt_key) -> bytes:
    """An event's body as Feishu encrypts it."""
    plain = json.dumps(payload).encode()
    length = 16 - len(plain) % 16
    start = os.urandom(16)
    cipher = Cipher(AES(hashlib.sha256(key.encode()).digest()), CBC(start)).encryptor()
    data = start + cipher.update(plain + bytes([length]) * length) + cipher.finalize()
    return json.dumps({"encrypt": base64.b64encode(data).decode()}).encode()


def make_payload(kind: str, event: Mapping[str, Any], id: str = "e1") -> dict[str, Any]:
    """An event of version 2, around `event`."""
    header = {
        "event_id": id,
        "event_type": kind,
        "create_time": f"{NOW}000",
        "token": SECRETS.verification_token,
        "app_id": APP,
        "tenant_key": "t1",
    }
    return {"schema": "2.0", "header": header, "event": dict(event)}


def make_message(
    id: str,
    said: Mapping[str, Any] | str,
    *,
    sender: str = ALICE,
    group: str = "",
    mentions: Mapping[str, tuple[str, str]] | None = None,
    **message: Any,
) -> dict[str, Any]:
    """The event of a message. `mentions`: the id and the name of whom each key names."""
    fields = {"text": said} if isinstance(said, str) else dict(said)
    named = [
        {"key": key, "id": {"open_id": who, "union_id": "on_1"}, "name": name, "tenant_key": "t1"}
        for key, (who, name) in (mentions or {}).items()
    ]
    body = {
        "message_id": f"om_{id}",
        "create_time": f"{NOW}000",
        "chat_id": group or "oc_privat",
        "chat_type": "group" if group else "p2p",
        "message_type": "text",
        "content": json.dumps(fields, ensure_ascii=False),
    }
    if named:
        body["mentions"] = named
    who = {"open_id": sender, "union_id": "on_1", "user_id": None}
    event = {
        "sender": {"sender_id": who, "sender_type": "user", "tenant_key": "t1"},
        "message": body | message,
    }
    return make_payload("im.message.receive_v1", event, f"e-{id}")


def make_press(id: str, value: Mapping[str, Any], *, by: str = ALICE, chat: str) -> dict[str, Any]:
    """The callback of a button of a card."""
    event = {
        "operator": {"open_id": by, "union_id": "on_1", "tenant_key": "t1"},
        "token": "c-update-token",
        "action": {"value": dict(value), "tag": "button"},
        "host": "im_message",
        "context": {"open_message_id": "om_card", "open_chat_id": chat},
    }
    return make_payload("card.action.trigger", event, id)


@dataclass(slots=True)
class Failure:
    """The answer to the next `times` requests whose path ends with `path`."""

    answer: Answer
    path: str
    times: int


class OpensConnections(Protocol):
    """The server of the long connection beside the API."""

    def open(self, request: Recorded) -> Answer:
        """The answer to a request for an address."""


class FeishuServer(RecordingServer):
    """`messages` holds the messages that were accepted, in order, each with `to` (a chat, or the
    message that it answers) and its parsed `content`.

    `names` has the people of the contacts, `members` those of every group, `sent_files` what people
    sent, by its key; `stored` are messages that can be fetched, `forwarded` those that one of them
    passes on, and `gone` those that were recalled. `reactions` has what stands below messages, `scopes` what the app may do.
    """

    def __init__(self) -> None:
        super().__init__()
        self.connection: OpensConnections | None = None
        self.messages: list[dict[str, Any]] = []
        self.uploads: list[dict[str, Any]] = []
        self.reactions: dict[str, str] = {}
        self.names: dict[str, str] = {ALICE: "Alice", BOB: "Bob"}
        self.members: dict[str, str] = {}
        self.sent_files: dict[str, bytes] = {}
        self.stored: dict[str, dict[str, Any]] = {}
        self.forwarded: dict[str, list[dict[str, Any]]] = {}
        self.gone: set[str] = set()
        self.scopes: list[str] = list(SCOPES)
        self.token = 0
        self.cards: dict[str, dict[str, Any]] = {}
        """The cards that were made: what they show, whether they stream, the last number."""
        self.pace = Pace(10, 1.0)
        self._uuids: dict[str, dict[str, Any]] = {}
        self._failures: list[Failure] = []

    # ---- for tests

    def fail(
        self, code: int, status: int = 400, *, path: str = "", times: int = 1, message: str = ""
    ) -> None:
        """Answer the next requests with an error, in Feishu's form."""
        self.reply(json_answer({"code": code, "msg": message}, status), path=path, times=times)

    def reply(self, answer: Answer, *, path: str = "", times: int = 1) -> None:
        """Answer the next requests whose path ends with `path` with `answer`."""
        self._failures.append(Failure(answer, path, times))

    def calls(self, path: str) -> list[Recorded]:
        """The requests whose path ends so."""
        return [each for each in self.requests if urlsplit(each.path).path.endswith(path)]

    def texts(self) -> list[str]:
        """What was written, message by message."""
        return [read_text(each) for each in self.messages if not each.get("recalled")]

    # ---- the server

    def answer(self, request: Recorded) -> Answer:
        path = urlsplit(request.path).path.removeprefix("/open-apis")
        with self.changed:
            for failure in self._failures:
                if failure.times and path.endswith(failure.path):
                    failure.times -= 1
                    return failure.answer
        if path == "/callback/ws/endpoint" and self.connection:
            return self.connection.open(request)
        if path == "/auth/v3/tenant_access_token/internal":
            return self._give_token(request.json())
        if request.headers.get("authorization") != f"Bearer t-{self.token}":
            return _refusal(99991663, "Invalid access token for authorization.")
        for method, form, handle in self._routes():
            match = re.fullmatch(form, path)
            if match and method == request.method:
                return handle(request, *match.groups())
        return Answer(404, b"404 page not found")

    def _routes(self) -> list[tuple[str, str, Callable[..., Answer]]]:
        return [
            ("GET", "/bot/v3/info", self._tell_bot),
            ("GET", "/application/v6/scopes", self._tell_scopes),
            ("POST", "/im/v1/messages", self._send),
            ("POST", "/im/v1/messages/([^/]+)/reply", self._send),
            ("GET", "/im/v1/messages/([^/]+)", self._tell_message),
            ("PATCH", "/im/v1/messages/([^/]+)", self._change_card),
            ("DELETE", "/im/v1/messages/([^/]+)", self._recall),
            ("POST", "/cardkit/v1/cards", self._make_card),
            ("PUT", "/cardkit/v1/cards/([^/]+)", self._replace_card),
            ("PUT", "/cardkit/v1/cards/([^/]+)/elements/([^/]+)/content", self._write_card),
            ("POST", "/im/v1/messages/([^/]+)/reactions", self._react),
            ("DELETE", "/im/v1/messages/([^/]+)/reactions/([^/]+)", self._unreact),
            ("GET", "/im/v1/messages/([^/]+)/resources/([^/]+)", self._give_file),
            ("POST", "/im/v1/(images|files)", self._take_file),
            ("GET", "/contact/v3/users/([^/]+)", self._tell_person),
            ("GET", "/im/v1/chats/([^/]+)/members", self._tell_members),
        ]

    def _give_token(self, given: Mapping[str, Any]) -> Answer:
        if (given.get("app_id"), given.get("app_secret")) != (APP, APP_SECRET):
            return json_answer({"code": 10014, "msg": "app secret invalid"})
        self.token += 1
        token = {"tenant_access_token": f"t-{self.token}", "expire": 7200}
        return json_answer({"code": 0, "msg": "ok", **token})

    def _tell_bot(self, request: Recorded) -> Answer:
        bot = {"activate_status": 2, "app_name": "Sigil", "open_id": BOT}
        return json_answer({"code": 0, "msg": "ok", "bot": bot})

    def _tell_scopes(self, request: Recorded) -> Answer:
        granted = [
            {"scope_name": name, "grant_status": 1, "scope_type": "tenant"} for name in self.scopes
        ]
        asked = {"scope_name": "im:resource", "grant_status": 2, "scope_type": "tenant"}
        return _ok({"scopes": [*granted, asked]})

    def _send(self, request: Recorded, answered: str = "") -> Answer:
        params = request.json()
        if answered in self.gone:
            return _refusal(230011, "The message was recalled.")
        problem = message_problem(params)
        card = self._find_sent_card(params)
        query = parse_qs(urlsplit(request.path).query)
        kind = (query.get("receive_id_type") or [""])[0]
        to = answered or params.get("receive_id", "")
        if not answered and {"chat_id": "oc_", "open_id": "ou_"}.get(kind, "?") != to[:3]:
            problem = "invalid receive_id"
        if problem:
            return _refusal(
                230001, f"Your request contains an invalid request parameter: {problem}"
            )
        uuid = params.get("uuid")
        if "card_id" in params["content"] and card is None:
            return _refusal(230099, "ErrCode: 200740; ErrMsg: card entity does not exist")
        with self.changed:
            if uuid and uuid in self._uuids:
                return _ok(self._uuids[uuid])
            if card and card["message"]:
                return _refusal(230099, "ErrCode: 11246; ErrMsg: card id is already sent")
            message = {**params, "to": to, "content": json.loads(params["content"])}
            self.messages.append(message)
            if card:
                card["message"] = message
                message["content"] = card["shows"]
            answer = {"message_id": f"om_sent{len(self.messages)}"}
            if uuid:
                self._uuids[uuid] = answer
            self.changed.notify_all()
        return _ok(answer)

    def _change_card(self, request: Recorded, id: str) -> Answer:
        """https://open.feishu.cn/document/server-docs/im-v1/message-card/patch"""
        number = int(id.removeprefix("om_sent") or 0) if id.startswith("om_sent") else 0
        with self.changed:
            if not 0 < number <= len(self.messages):
                return _refusal(230011, "The message was recalled.")
            message = self.messages[number - 1]
            if message["msg_type"] != "interactive":
                return _refusal(230001, "This message is NOT a card.")
            problem = message_problem({"msg_type": "interactive", **request.json()})
            if problem:
                return _refusal(230001, problem)
            message["content"] = json.loads(request.json()["content"])
            self.changed.notify_all()
        return _ok({})

    def _find_sent_card(self, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """The card that a message shows by its id."""
        if params.get("msg_type") != "interactive":
            return None
        content = json.loads(params["content"])
        return self.cards.get(str(content.get("data", {}).get("card_id")))

    def _recall(self, request: Recorded, id: str) -> Answer:
        number = int(id.removeprefix("om_sent") or 0) if id.startswith("om_sent") else 0
        with self.changed:
            if not 0 < number <= len(self.messages):
                return _refusal(230001, "invalid message_id")
            if self.messages[number - 1].get("recalled"):
                return _refusal(230011, "The message was recalled.")
            self.messages[number - 1]["recalled"] = True
            self.changed.notify_all()
        return _ok({})

    def _make_card(self, request: Recorded) -> Answer:
        """https://open.feishu.cn/document/cardkit-v1/card/create"""
        shown, refusal = self._read_card(request.json())
        if refusal:
            return refusal
        with self.changed:
            id = f"7355{len(self.cards):08d}"
            self.cards[id] = {"shows": shown, "number": 0, "message": None}
        return _ok({"card_id": id})

    def _read_card(self, given: Mapping[str, Any]) -> tuple[dict[str, Any], Answer | None]:
        """What a card shows, or why Feishu does not take it."""
        if "cardkit:card:write" not in self.scopes:
            return {}, _refusal(99991672, "Access denied. One of the following scopes is required")
        if given.get("type") != "card_json" or not isinstance(given.get("data"), str):
            return {}, _refusal(10002, "invalid request parameter")
        if len(given["data"].encode()) > CONTENT_BYTES["interactive"]:
            return {}, _refusal(200860, "Card content exceeds limit.")
        shown = json.loads(given["data"])
        problem = _card_problem(shown)
        return shown, _refusal(200220, problem) if problem else None

    def _find_change(self, id: str, number: object) -> Answer | None:
        """Why Feishu does not change a card with an id, None when it does."""
        if "cardkit:card:write" not in self.scopes:
            return _refusal(99991672, "Access denied. One of the following scopes is required")
        if id not in self.cards:
            return _refusal(200740, "The card entity does not exist")
        if not self.pace.takes(id):
            return _refusal(99991400, "request trigger frequency limit", 429)
        if not isinstance(number, int) or not self.cards[id]["number"] < number < 2**31:
            return _refusal(300317, "The sequence number did not increment consecutively")
        return None

    def _replace_card(self, request: Recorded, id: str) -> Answer:
        given = request.json()
        with self.changed:
            refusal = self._find_change(id, given.get("sequence"))
            if refusal:
                return refusal
            shown, refusal = self._read_card(given["card"])
            if refusal:
                return refusal
            self.cards[id] |= {"shows": shown, "number": given["sequence"]}
            if self.cards[id]["message"]:
                self.cards[id]["message"]["content"] = shown
            self.changed.notify_all()
        return _ok({})

    def _write_card(self, request: Recorded, id: str, element: str) -> Answer:
        """https://open.feishu.cn/document/cardkit-v1/card-element/content"""
        given = request.json()
        with self.changed:
            refusal = self._find_change(id, given.get("sequence"))
            if refusal:
                return refusal
            card = self.cards[id]
            if not card["shows"]["config"].get("streaming_mode"):
                return _refusal(300309, "Card streaming closed")
            parts = [
                each
                for each in card["shows"]["body"]["elements"]
                if each.get("element_id") == element
            ]
            if not parts:
                return _refusal(300313, "Failed to update element properties")
            if not given.get("content"):
                return _refusal(10002, "invalid request parameter")
            if len(given["content"].encode()) > CONTENT_BYTES["interactive"]:
                return _refusal(200860, "Card content exceeds limit.")
            parts[0]["content"] = given["content"]
            card["number"] = given["sequence"]
            self.changed.notify_all()
        return _ok({})

    def _tell_message(self, request: Recorded, id: str) -> Answer:
        if id not in self.stored:
            return _refusal(230110, "The message was deleted.")
        items = [{"message_id": id, **self.stored[id]}]
        for number, inner in enumerate(self.forwarded.get(id, []), 1):
            items.append({"message_id": f"{id}_{number}", "upper_message_id": id, **inner})
        return _ok({"items": items})

    def _react(self, request: Recorded, message: str) -> Answer:
        kind = request.json()["reaction_type"]["emoji_type"]
        if kind != "Typing":
            return _refusal(231001, "reaction type is invalid.")
        with self.changed:
            self.reactions[message] = kind
            self.changed.notify_all()
        return _ok({"reaction_id": f"ZC-{message}"})

    def _unreact(self, request: Recorded, message: str, reaction: str) -> Answer:
        if reaction != f"ZC-{message}" or message not in self.reactions:
            return _refusal(231003, "The reaction does not exist.")
        with self.changed:
            del self.reactions[message]
            self.changed.notify_all()
        return _ok({})

    def _give_file(self, request: Recorded, message: str, key: str) -> Answer:
        kind = parse_qs(urlsplit(request.path).query).get("type")
        # of a message, its own files are given alone
        told = self.stored.get(message, {}).get("body", {}).get("content", key)
        if kind not in (["image"], ["file"]) or key not in self.sent_files or key not in told:
            return _refusal(234003, "File not in msg.")
        return Answer(200, self.sent_files[key], {"content-type": "application/octet-stream"})

    def _take_file(self, request: Recorded, kind: str) -> Answer:
        fields = _fields(request)
        name = kind.removesuffix("s")
        content = fields.get(name)
        allowed = {"image": ("image_type", ["message"]), "file": ("file_type", ["stream"])}
        field, values = allowed[name]
        if not content or fields.get(field) not in values:
            return _refusal(234001, "Invalid request param.")
        if name == "image" and not content.startswith((b"\x89PNG", b"\xff\xd8", b"GIF8", b"RIFF")):
            return _refusal(234011, "Can't recognize the image format.")
        if name == "file" and not fields.get("file_name"):
            return _refusal(234001, "Invalid request param: file_name.")
        with self.changed:
            self.uploads.append(fields)
            return _ok({f"{name}_key": f"{name}_v3_{len(self.uploads)}"})

    def _tell_person(self, request: Recorded, id: str) -> Answer:
        if id not in self.names:
            return _refusal(41050, "no user authority error")
        return _ok({"user": {"open_id": id, "name": self.names[id]}})

    def _tell_members(self, request: Recorded, chat: str) -> Answer:
        items = [{"member_id": id, "name": name} for id, name in self.members.items()]
        return _ok({"items": items, "has_more": False})


def message_problem(params: Mapping[str, Any]) -> str:
    """Why Feishu refuses a message, empty when it takes it."""
    kind = params.get("msg_type")
    content = params.get("content")
    if not isinstance(content, str):
        return "content is not a string in json format"
    if len(params.get("uuid", "")) > 50:
        return "uuid is longer than 50"
    fields = json.loads(content)
    if len(json.dumps(params, ensure_ascii=False).encode()) > CONTENT_BYTES.get(kind or "", 30_000):
        return "content is too long"
    if kind == "text":
        return "" if str(fields.get("text", "")).strip() else "text is empty"
    if kind in ("image", "file"):
        return "" if fields.get(f"{kind}_key") else f"{kind}_key is empty"
    if kind == "interactive" and fields.get("type") == "card":
        return "" if fields.get("data", {}).get("card_id") else "card_id is empty"
    return _card_problem(fields) if kind == "interactive" else "msg_type is invalid"


def _card_problem(card: Mapping[str, Any]) -> str:
    if card.get("schema") != "2.0":
        return "unsupported card"
    written = "\n".join(
        each["content"] for each in card["body"]["elements"] if each["tag"] == "markdown"
    )
    outside_code = re.sub(r"(`+).*?\1", "", written, flags=re.DOTALL)
    if len(re.findall(r"^ *\|? *:?-+:? *\|", outside_code, re.MULTILINE)) > 5:
        return "ErrCode: 11310; ErrMsg: card table number over limit"
    if re.search(r"!\[[^\]]*\]\((?!img_)", outside_code):
        return "ErrCode: 11232; ErrMsg: image key is invalid"
    return "" if written.strip() else "the card is empty"


def read_text(message: Mapping[str, Any]) -> str:
    """What people read of a message."""
    content = message["content"]
    if message["msg_type"] == "interactive":
        return "\n".join(each.get("content", "") for each in content["body"]["elements"]).strip()
    return str(content.get("text", message["msg_type"]))


def _fields(request: Recorded) -> dict[str, Any]:
    """A form's parameters; a file's content is bytes, with or without a name."""
    return {
        field: part.content if field in ("image", "file") else part.content.decode()
        for field, part in read_form(request).items()
    }


def _ok(data: object) -> Answer:
    return json_answer({"code": 0, "msg": "success", "data": data})


def _refusal(code: int, message: str, status: int = 400) -> Answer:
    return json_answer({"code": code, "msg": message}, status)
