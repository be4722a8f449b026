"""WeCom's API as a local server, and the messages that it posts: it validates as WeCom does,
records every request and fails when told to.

`with WeComServer() as server: open_wecom(server)`
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

from functions.channels.base import PlatformRequest
from functions.channels.wecom.channel import WeCom
from tests.fakes.dingtalk import encrypt
from tests.fakes.forms import read_form
from tests.fakes.server import Answer, Recorded, RecordingServer, json_answer

CORP = "ww8196cd9a2b2405da"
AGENT = "1000002"
SECRET = "the-secret-of-the-app"
TOKEN = "QDG6eK"
AES_KEY = base64.b64encode(b"fedcba9876543210fedcba9876543210").decode()[:43]
ALICE = "ZhangSan"
BOB = "bob.builder"
NOW = 1_770_000_000
TEXT_BYTES = 2_048


def sign(encrypted: str, time: float = NOW, token: str = TOKEN) -> dict[str, str]:
    """The query by which WeCom proves what it encrypted."""
    nonce = "a-nonce"
    parts = sorted((token, str(int(time)), nonce, encrypted))
    signature = hashlib.sha1("".join(parts).encode()).hexdigest()
    return {"msg_signature": signature, "timestamp": str(int(time)), "nonce": nonce}


def pack(
    plain: bytes, time: float = NOW, *, key: str = AES_KEY, receiver: str = CORP
) -> PlatformRequest:
    """A request as WeCom sends it."""
    encrypted = encrypt(plain, key, receiver)
    body = (
        f"<xml><ToUserName><![CDATA[{CORP}]]></ToUserName>"
        f"<Encrypt><![CDATA[{encrypted}]]></Encrypt>"
        f"<AgentID><![CDATA[{AGENT}]]></AgentID></xml>"
    )
    headers = {"content-type": "text/xml"}
    return PlatformRequest(headers, body.encode(), sign(encrypted, time))


def ask_challenge(plain: bytes = b"1616140317555161061", time: float = NOW) -> PlatformRequest:
    """The request by which WeCom asks an address whether it is the agent's."""
    echo = encrypt(plain, AES_KEY, CORP)
    return PlatformRequest({}, b"", {**sign(echo, time), "echostr": echo}, "GET")


def make_message(id: int, said: Mapping[str, Any] | str, **message: Any) -> bytes:
    """A message of Alice, or what `message` makes of it."""
    content = {"MsgType": "text", "Content": said} if isinstance(said, str) else dict(said)
    fields = {
        "ToUserName": CORP,
        "FromUserName": ALICE,
        "CreateTime": NOW,
        **content,
        "MsgId": id,
        "AgentID": AGENT,
        **message,
    }
    inner = "".join(
        f"<{name}>{value}</{name}>"
        if isinstance(value, int)
        else f"<{name}><![CDATA[{value}]]></{name}>"
        for name, value in fields.items()
        if value is not None
    )
    return f"<xml>{inner}</xml>".encode()


def make_press(key: str, *, task: str = "t1", at: int = NOW, by: str = ALICE) -> bytes:
    """The event of a button of a card, which may be changed by the code `of-` and the task."""
    fields = {"MsgType": "event", "Event": "template_card_event", "EventKey": key, "TaskId": task}
    fields |= {"ResponseCode": f"of-{task}"}
    return make_message(0, fields, MsgId=None, FromUserName=by, CreateTime=at)


@dataclass(slots=True)
class Failure:
    """The answer to the next `times` requests whose path ends with `path`."""

    answer: Answer
    path: str
    times: int


class WeComServer(RecordingServer):
    """`messages` holds the messages that were accepted, in order; one that was a repeat is not
    there twice. `names` are the people of the organization, `sent_files` what people sent, by its
    id, and `ended_cards` the codes of the cards whose buttons have ended.
    """

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[dict[str, Any]] = []
        self.uploads: list[dict[str, Any]] = []
        self.names: dict[str, str] = {ALICE: "Alice", BOB: "Bob"}
        self.sent_files: dict[str, bytes] = {}
        self.ended_cards: list[str] = []
        self.token = 0
        self._seen: set[bytes] = set()
        self._failures: list[Failure] = []

    # ---- for tests

    def fail(self, code: int, *, path: str = "", times: int = 1) -> None:
        """Answer the next requests with an error, in WeCom's form."""
        self.reply(json_answer({"errcode": code, "errmsg": "no"}), path=path, times=times)

    def reply(self, answer: Answer, *, path: str = "", times: int = 1) -> None:
        """Answer the next requests whose path ends with `path` with `answer`."""
        self._failures.append(Failure(answer, path, times))

    def calls(self, path: str) -> list[Recorded]:
        """The requests whose path ends so."""
        return [each for each in self.requests if urlsplit(each.path).path.endswith(path)]

    def texts(self) -> list[str]:
        """What was written, without what nobody sees; a file or a card by its kind."""
        return [_text_of(message) for message in self.messages]

    # ---- the server

    def answer(self, request: Recorded) -> Answer:
        path = urlsplit(request.path).path.removeprefix("/cgi-bin")
        query = {name: values[0] for name, values in parse_qs(urlsplit(request.path).query).items()}
        with self.changed:
            for failure in self._failures:
                if failure.times and path.endswith(failure.path):
                    failure.times -= 1
                    return failure.answer
        if path == "/gettoken":
            return self._give_token(query)
        if query.get("access_token") != f"t-{self.token}":
            return _refusal(40014)
        if path == "/message/send" and request.method == "POST":
            return self._send(request)
        if path == "/message/update_template_card":
            card = request.json()
            fits = (card["agentid"], card["userids"]) == (int(AGENT), [ALICE])
            if not fits or card["response_code"] in self.ended_cards:
                return _refusal(42014)
            assert card["button"]["replace_name"]
            self.ended_cards.append(card["response_code"])
            return _ok({})
        if path == "/media/upload" and request.method == "POST":
            return self._take_file(query, request)
        if path == "/media/get":
            return self._give_file(query.get("media_id", ""))
        if path == "/user/get":
            name = self.names.get(query.get("userid", ""))
            return _ok({"name": name}) if name is not None else _refusal(60111)
        if path == "/agent/get":
            return _ok({"name": "Sigil"}) if query.get("agentid") == AGENT else _refusal(40056)
        return Answer(404, b"")

    def _give_token(self, query: Mapping[str, str]) -> Answer:
        if (query.get("corpid"), query.get("corpsecret")) != (CORP, SECRET):
            return _refusal(40001)
        self.token += 1
        return _ok({"access_token": f"t-{self.token}", "expires_in": 7200})

    def _send(self, request: Recorded) -> Answer:
        body = request.json()
        if body.get("agentid") != int(AGENT):
            return _refusal(40056)
        if body.get("touser") not in self.names:
            return json_answer({"errcode": 81013, "errmsg": "user & party & tag all invalid"})
        problem = _message_problem(body)
        if problem:
            return _refusal(problem)
        with self.changed:
            if body.get("enable_duplicate_check") == 1:
                if request.body in self._seen:
                    return _ok({})
                self._seen.add(request.body)
            self.messages.append(body)
            self.changed.notify_all()
        return _ok({"msgid": f"m{len(self.messages)}"})

    def _take_file(self, query: Mapping[str, str], request: Recorded) -> Answer:
        file = read_form(request)["media"]
        kind = query.get("type")
        is_picture = file.content.startswith((b"\x89PNG", b"\xff\xd8"))
        if kind not in ("image", "file") or not file.name or len(file.content) < 5:
            return _refusal(40004)
        if kind == "image" and not is_picture:
            return _refusal(40009)
        with self.changed:
            self.uploads.append({"type": kind, "name": file.name, "file": file.content})
            return _ok({"media_id": f"MEDIA{len(self.uploads)}"})

    def _give_file(self, media: str) -> Answer:
        if media not in self.sent_files:
            return _refusal(40007)
        headers = {"content-type": "text/plain", "content-disposition": "attachment"}
        return Answer(200, self.sent_files[media], headers)


def _message_problem(body: Mapping[str, Any]) -> int:
    """The code with which WeCom refuses a message, 0 when it takes it."""
    kind = body.get("msgtype")
    content = body.get(str(kind)) or {}
    if kind in ("text", "markdown"):
        text = content.get("content", "")
        return 0 if text.strip() and len(text.encode()) <= TEXT_BYTES else 40058
    if kind in ("image", "file"):
        return 0 if content.get("media_id") else 40007
    if kind == "template_card":
        whole = content.get("main_title", {}).get("title") and content.get("task_id")
        rows = content.get("button_list", [])
        keys = all(row.get("text") and row.get("key") for row in rows)
        return 0 if whole and keys and 1 <= len(rows) <= 6 else 40058
    return 40008


def _text_of(message: Mapping[str, Any]) -> str:
    kind = message["msgtype"]
    text = str(message[kind].get("content", kind))
    return text.rstrip("\u200b\u200c\u200d\u2060")


def _ok(fields: Mapping[str, object]) -> Answer:
    return json_answer({"errcode": 0, "errmsg": "ok", **fields})


def _refusal(code: int) -> Answer:
    return json_answer({"errcode": code, "errmsg": "no, hint: [1], from ip: 127.0.0.1"})


def open_wecom(server: WeComServer) -> WeCom:
    """An app that talks to the server."""
    return WeCom(CORP, AGENT, SECRET, TOKEN, AES_KEY, api=server.url, now=lambda: NOW + 1.0)
