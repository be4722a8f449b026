"""DingTalk's API as a local server, and the messages that it posts: it validates as DingTalk does,
records every request and fails when told to.

`with DingTalkServer() as server: open_dingtalk(server)`
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC

from functions.channels.base import PlatformRequest
from functions.channels.dingtalk.channel import DingTalk
from tests.fakes.forms import read_form
from tests.fakes.pace import Pace
from tests.fakes.server import Answer, Recorded, RecordingServer, json_answer

APP = "dinga1b2c3d4e5f6"
SECRET = "the-secret-of-the-app"
AES_KEY = base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()[:43]
ROBOT = "$:LWCP_v1:$01B/44e/ph+R21B/X+43WLnAcUVO5BKL"
ALICE = "manager4711"
BOB = "032615015535634423"
GROUP = "cid5DEAySu/Fk+mtMwii4NLYQ=="
CHAT = "cidh6ezDLHQau9V23Es/xSLNoiDDmPuN354KylQ2BaIhuM="
SESSION = "3dc9981636af125faaf72220d6242ff7"
NOW = 1_770_000_000
TEMPLATE = "382e4302-551d-4880-bf29-a30acfab2e71.schema"
PARAM_BYTES = 15_000
WEBHOOK_BYTES = 20_000


def sign(body: bytes, time: float = NOW, secret: str = SECRET) -> PlatformRequest:
    """A request as DingTalk signs it."""
    stamp = str(int(time * 1000))
    digest = hmac.new(secret.encode(), f"{stamp}\n{secret}".encode(), hashlib.sha256).digest()
    headers = {"timestamp": stamp, "sign": base64.b64encode(digest).decode()}
    return PlatformRequest(headers, body)


def encrypt(plain: bytes, key: str = AES_KEY, receiver: str = APP) -> str:
    """What DingTalk and WeCom make of a message."""
    secret = base64.b64decode(f"{key}=")
    data = os.urandom(16) + len(plain).to_bytes(4) + plain + receiver.encode()
    padding = 32 - len(data) % 32
    cipher = Cipher(AES(secret), CBC(secret[:16])).encryptor()
    sealed = cipher.update(data + bytes([padding]) * padding) + cipher.finalize()
    return base64.b64encode(sealed).decode()


def make_message(id: str, said: Mapping[str, Any] | str, **message: Any) -> dict[str, Any]:
    """A private message of Alice, or what `message` makes of it."""
    content: dict[str, Any] = {"msgtype": "text", "text": {"content": said}}
    if not isinstance(said, str):
        content = {"content": dict(said)}
    return {
        "conversationId": CHAT,
        "chatbotCorpId": "ding8196cd9a2b2405da24f2f5cc6abecb85",
        "chatbotUserId": ROBOT,
        "msgId": f"msg{id}==",
        "senderNick": "Alice",
        "isAdmin": False,
        "senderStaffId": ALICE,
        "senderId": "$:LWCP_v1:$gzXDEXQDiM8piyLH4HRRcg==",
        "senderCorpId": "ding8196cd9a2b2405da24f2f5cc6abecb85",
        "sessionWebhook": f"https://oapi.dingtalk.com/robot/sendBySession?session={SESSION}",
        "sessionWebhookExpiredTime": (NOW + 5400) * 1000,
        "createAt": NOW * 1000,
        "conversationType": "1",
        "robotCode": APP,
        **content,
        **message,
    }


def in_group(**message: Any) -> dict[str, Any]:
    """The fields of a message in a group that names the robot."""
    return {
        "conversationType": "2",
        "conversationId": GROUP,
        "conversationTitle": "Plans",
        "isInAtList": True,
        "atUsers": [{"dingtalkId": ROBOT}],
        **message,
    }


@dataclass(slots=True)
class Failure:
    """The answer to the next `times` requests whose path ends with `path`."""

    answer: Answer
    path: str
    times: int


class DingTalkServer(RecordingServer):
    """`messages` holds the messages that were accepted, in order: each with `to` (a person, a group
    or `session …`), its `kind` and its `content`.

    `sessions` are the ones that take answers, `staff` the people of the organization, `sent_files`
    what people sent, by its code; `cards` are the ones that were sent, by their ids, and stand among
    the messages as well; `signs` has what stands below messages.
    """

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[dict[str, Any]] = []
        self.uploads: list[dict[str, Any]] = []
        self.sessions = {SESSION}
        self.staff = {ALICE, BOB}
        self.groups = {GROUP}
        self.sent_files: dict[str, bytes] = {}
        self.signs: set[str] = set()
        self.cards: dict[str, dict[str, Any]] = {}
        self.may_use_cards = True
        self.pace = Pace(20, 1.0)
        self.file_address = ""
        self.open_stream: Callable[[Mapping[str, Any]], Answer] = lambda body: Answer(404)
        self.token = 0
        self._failures: list[Failure] = []

    # ---- for tests

    def fail(self, code: str | int, status: int = 400, *, path: str = "", times: int = 1) -> None:
        """Answer the next requests with an error, in the form of the half of the API that it is."""
        if isinstance(code, int):
            answer = json_answer({"errcode": code, "errmsg": "no"})
        else:
            answer = json_answer({"code": code, "message": "no", "requestid": "R"}, status)
        self.reply(answer, path=path, times=times)

    def reply(self, answer: Answer, *, path: str = "", times: int = 1) -> None:
        """Answer the next requests whose path ends with `path` with `answer`."""
        self._failures.append(Failure(answer, path, times))

    def calls(self, path: str) -> list[Recorded]:
        """The requests whose path ends so."""
        return [each for each in self.requests if urlsplit(each.path).path.endswith(path)]

    def texts(self) -> list[str]:
        """What was written, message by message; a file by its kind."""
        return [message["content"].get("text", message["kind"]) for message in self.messages]

    # ---- the server

    def answer(self, request: Recorded) -> Answer:
        path = urlsplit(request.path).path
        query = {name: values[0] for name, values in parse_qs(urlsplit(request.path).query).items()}
        with self.changed:
            for failure in self._failures:
                if failure.times and path.endswith(failure.path):
                    failure.times -= 1
                    return failure.answer
        if path == "/v1.0/gateway/connections/open":
            return self.open_stream(request.json())
        if path.startswith("/files/"):
            return Answer(200, self.sent_files[path.removeprefix("/files/")])
        if path == "/v1.0/oauth2/accessToken":
            return self._give_token(request.json())
        if path == "/robot/sendBySession":
            return self._answer_session(query.get("session", ""), request)
        if path == "/media/upload":
            return self._take_file(query, request)
        if request.headers.get("x-acs-dingtalk-access-token") != f"t-{self.token}":
            return _refusal("InvalidAuthentication", 401)
        if path.startswith("/v1.0/card/"):
            return self._change_card(request.method, path, request.json())
        if request.json().get("robotCode") != APP:
            return _refusal("resource.not.found", 404)
        routes = {
            "/v1.0/robot/oToMessages/batchSend": self._send_to_people,
            "/v1.0/robot/groupMessages/send": self._send_to_group,
            "/v1.0/robot/messageFiles/download": self._tell_file,
            "/v1.0/robot/emotion/reply": self._put_sign,
            "/v1.0/robot/emotion/recall": self._remove_sign,
        }
        if path not in routes:
            return _refusal("InvalidAction.NotFound", 404)
        return routes[path](request.json())

    def _give_token(self, given: Mapping[str, Any]) -> Answer:
        if given != {"appKey": APP, "appSecret": SECRET}:
            return _refusal("invalidClientIdOrSecret", 400)
        self.token += 1
        return json_answer({"accessToken": f"t-{self.token}", "expireIn": 7200})

    def _answer_session(self, session: str, request: Recorded) -> Answer:
        if session not in self.sessions:
            return json_answer({"errcode": 300001, "errmsg": "session 不存在"})
        body = request.json()
        content = body.get(body.get("msgtype"))
        if body.get("msgtype") != "markdown" or not content:
            return json_answer({"errcode": 300001, "errmsg": "message param is null"})
        if len(request.body) > WEBHOOK_BYTES:
            return json_answer({"errcode": 460101, "errmsg": "message too long"})
        if problem := _content_problem(content):
            return json_answer({"errcode": 300001, "errmsg": problem})
        self._keep(f"session {session}", "markdown", content)
        return json_answer({"errcode": 0, "errmsg": "ok"})

    def _send_to_people(self, body: Mapping[str, Any]) -> Answer:
        if not body.get("userIds"):
            return _refusal("invalidParameter.userIds.empty", 400)
        gone = [id for id in body["userIds"] if id not in self.staff]
        if gone:
            return json_answer({"processQueryKey": "k", "invalidStaffIdList": gone})
        return self._send(body["userIds"][0], body)

    def _send_to_group(self, body: Mapping[str, Any]) -> Answer:
        if body.get("openConversationId") not in self.groups:
            return _refusal("invalidParameter.robot.notInGroup", 400)
        return self._send(body["openConversationId"], body)

    def _send(self, to: str, body: Mapping[str, Any]) -> Answer:
        kind = body.get("msgKey")
        param = str(body.get("msgParam"))
        if kind not in ("sampleMarkdown", "sampleFile", "sampleImageMsg"):
            return _refusal("invalidParameter.msgKey.invalid", 400)
        if len(param.encode()) > PARAM_BYTES:
            return _refusal("invalidParameter.msgParam.overLength", 400)
        content = json.loads(param)
        if kind == "sampleMarkdown" and (problem := _content_problem(content)):
            return _refusal(f"invalidParameter.msgParam.{problem}", 400)
        if kind != "sampleMarkdown" and not all(content.values()):
            return _refusal("invalidParameter.msgParam.invalid", 400)
        self._keep(to, str(kind), content)
        return json_answer({"processQueryKey": "k"})

    def _keep(self, to: str, kind: str, content: Mapping[str, Any]) -> None:
        with self.changed:
            self.messages.append({"to": to, "kind": kind, "content": dict(content)})
            self.changed.notify_all()

    def _change_card(self, method: str, path: str, body: Mapping[str, Any]) -> Answer:
        """https://open.dingtalk.com/document/orgapp/api-streamingupdate"""
        if not self.may_use_cards:
            return _refusal("Forbidden.AccessDenied.AccessTokenPermissionDenied", 403)
        if not self.pace.takes("cards"):
            return _refusal("Forbidden.AccessDenied.QpsLimitForApi", 403)
        if (method, path) == ("POST", "/v1.0/card/instances/createAndDeliver"):
            return self._send_card(body)
        card = self.cards.get(body.get("outTrackId", ""))
        if card is None:
            return _refusal("param.outTrackId.notExist", 400)
        if (method, path) == ("PUT", "/v1.0/card/instances"):
            content = body["cardData"]["cardParamMap"].get("content")
            card["is_last"] = True
        elif (method, path) == ("PUT", "/v1.0/card/streaming"):
            if card["is_last"]:
                return _refusal("card.streaming.finished", 400)
            content = body.get("content")
            if body.get("key") != "content" or not body.get("guid") or not body.get("isFull"):
                return _refusal("param.invalid", 400)
            if body["guid"] in card["guids"]:
                return _refusal("param.guid.repeated", 400)
            card["guids"].append(body["guid"])
        else:
            return _refusal("InvalidAction.NotFound", 404)
        if not content or len(content.encode()) > PARAM_BYTES:
            return _refusal("param.content.overLength", 400)
        with self.changed:
            card["is_last"] = card["is_last"] or body.get("isFinalize", False)
            card["content"]["text"] = content
            self.changed.notify_all()
        return json_answer({"success": True, "result": True})

    def _send_card(self, body: Mapping[str, Any]) -> Answer:
        kind, _, to = str(body.get("openSpaceId")).removeprefix("dtv1.card//").partition(".")
        models = {"IM_ROBOT": "imRobotOpenDeliverModel", "IM_GROUP": "imGroupOpenDeliverModel"}
        known = {"IM_ROBOT": self.staff, "IM_GROUP": self.groups}
        if to not in known.get(kind, ()):
            return _refusal("param.openSpaceId.invalid", 400)
        if body.get(models[kind], {}).get("robotCode") != APP:
            return _refusal("param.robotCode.invalid", 400)
        if body.get("cardTemplateId") != TEMPLATE:
            return _refusal("param.cardTemplate.notExist", 400)
        id = body.get("outTrackId", "")
        if not id or id in self.cards:
            return _refusal("param.outTrackId.repeated", 400)
        with self.changed:
            content = {"title": "", "text": body["cardData"]["cardParamMap"].get("content", "")}
            card = {"to": to, "kind": "card", "content": content, "is_last": False, "guids": []}
            self.cards[id] = card
            self.messages.append(card)
            self.changed.notify_all()
        sent = {"spaceType": kind, "spaceId": to, "success": True, "errorMsg": ""}
        return json_answer(
            {"success": True, "result": {"outTrackId": id, "deliverResults": [sent]}}
        )

    def _take_file(self, query: Mapping[str, str], request: Recorded) -> Answer:
        if query.get("access_token") != f"t-{self.token}":
            return json_answer({"errcode": 40014, "errmsg": "不合法的access_token"})
        file = read_form(request)["media"]
        is_picture = file.content.startswith((b"\x89PNG", b"\xff\xd8", b"GIF8", b"BM"))
        if query.get("type") not in ("image", "file") or not file.content:
            return json_answer({"errcode": 40004, "errmsg": "不合法的媒体文件类型"})
        if (query["type"] == "image" and not is_picture) or file.name.endswith(".html"):
            return json_answer({"errcode": 40005, "errmsg": "不合法的文件类型"})
        with self.changed:
            self.uploads.append({"type": query["type"], "name": file.name, "file": file.content})
            return json_answer({"errcode": 0, "media_id": f"@lAD{len(self.uploads)}"})

    def _tell_file(self, body: Mapping[str, Any]) -> Answer:
        code = body.get("downloadCode")
        if code not in self.sent_files:
            return _refusal("unknownError.downloadCode", 400)
        return json_answer(
            {"downloadUrl": self.file_address or f"{self.url}/files/{code}?sign=a%2Bb"}
        )

    def _put_sign(self, body: Mapping[str, Any]) -> Answer:
        known = body.get("openConversationId") in (CHAT, GROUP) and body.get("openMsgId")
        if not known or body.get("emotionType") != 2 or not body["textEmotion"]["emotionId"]:
            return _refusal("invalidParameter", 400)
        with self.changed:
            self.signs.add(body["openMsgId"])
            self.changed.notify_all()
        return json_answer({"success": True})

    def _remove_sign(self, body: Mapping[str, Any]) -> Answer:
        with self.changed:
            self.signs.discard(body["openMsgId"])
            self.changed.notify_all()
        return json_answer({"success": True})


def _content_problem(content: Mapping[str, Any]) -> str:
    if not str(content.get("title", "")).strip():
        return "title is null"
    return "" if str(content.get("text", "")).strip() else "text is null"


def find_buttons(text: str) -> list[tuple[str, str]]:
    """The labels of a message's buttons, and the address behind each."""
    return re.findall(r"\[([^\]]*)\]\((dtmd://[^)]*)\)", text)


def _refusal(code: str, status: int) -> Answer:
    return json_answer({"code": code, "message": "no", "requestid": "R"}, status)


def open_dingtalk(server: DingTalkServer, aes_key: str = "") -> DingTalk:
    """A robot that talks to the server."""
    return DingTalk(APP, SECRET, aes_key, api=server.url, old_api=server.url, now=lambda: NOW + 1.0)
