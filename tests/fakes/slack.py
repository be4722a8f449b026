"""Slack's Web API as a local server: it validates like Slack, records every request and fails when
told to. It also signs what Slack sends.

`with SlackWorkspace() as workspace: Slack(workspace.token, SECRET, api=workspace.url + "/api")`
"""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import parse_qsl, urlencode

from tests.fakes.pace import Pace
from tests.fakes.server import Answer, Recorded, RecordingServer, json_answer
from tests.fakes.slack_rules import (
    CHANNEL,
    list_pings,
    message_problem,
    read_blocks,
    stream_problem,
)

TOKEN = "xoxb-42-4242-TESTtokenOfABot"
SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
TEAM, BOT, CHAT, DIRECT = "T0TEAM001", "U0BOT0001", "C0CHAN001", "D0DIRECT1"
ADA, BOB = "U0ADA0001", "U0BOB0001"
SCOPES = (
    "app_mentions:read,channels:history,channels:read,chat:write,commands,files:read,files:write,"
    "groups:history,groups:read,im:history,im:write,mpim:history,reactions:write,users:read"
)
OPEN = "in_progress"
"""The state of a stream that is not at its end."""


@dataclass(slots=True)
class Failure:
    """The answer to the next `times` requests of `method`."""

    answer: Answer
    method: str
    times: int


def sign(body: bytes, at: float | None = None, secret: str = SECRET) -> dict[str, str]:
    """The headers with which Slack signs a body that it sends `at` a time, which is now."""
    timestamp = str(int(time.time() if at is None else at))
    base = f"v0:{timestamp}:".encode() + body
    digest = hmac.new(secret.encode(), base, hashlib.sha256).hexdigest()
    return {"x-slack-request-timestamp": timestamp, "x-slack-signature": f"v0={digest}"}


def json_request(
    payload: object, at: float | None = None, secret: str = SECRET
) -> tuple[dict[str, str], bytes]:
    """The headers and the body of what the Events API sends."""
    body = json.dumps(payload).encode()
    return {"content-type": "application/json", **sign(body, at, secret)}, body


def form_request(
    fields: Mapping[str, str], at: float | None = None
) -> tuple[dict[str, str], bytes]:
    """The headers and the body of a command, or of a press of a button in `payload`."""
    body = urlencode(fields).encode()
    return {"content-type": "application/x-www-form-urlencoded", **sign(body, at)}, body


def event_payload(event: Mapping[str, Any], **outer: Any) -> dict[str, Any]:
    """What the Events API sends around an event."""
    authorization = {"team_id": TEAM, "user_id": BOT, "is_bot": True, "enterprise_id": None}
    return {
        "token": "verification-token",
        "team_id": TEAM,
        "api_app_id": "A0APP0001",
        "type": "event_callback",
        "event_id": f"Ev{event.get('ts', '')}",
        "event_time": 1_780_000_000,
        "authorizations": [authorization],
        "event": event,
        **outer,
    }


def message(
    text: str, ts: str, user: str = ADA, channel: str = DIRECT, **more: Any
) -> dict[str, Any]:
    """A message as the Events API tells of it."""
    kind = {"D": "im", "G": "group"}.get(channel[0], "channel")
    return {
        "type": "message",
        "user": user,
        "team": TEAM,
        "text": text,
        "ts": ts,
        "event_ts": ts,
        "channel": channel,
        "channel_type": kind,
        **more,
    }


def command(text: str, channel: str = CHAT, user: str = ADA, **more: str) -> dict[str, str]:
    """The fields of the slash command `/uncaged TEXT`."""
    return {
        "token": "verification-token",
        "team_id": TEAM,
        "channel_id": channel,
        "channel_name": "general",
        "user_id": user,
        "command": "/uncaged",
        "text": text,
        "trigger_id": "1337.42.abcdef0123456789",
        **more,
    }


def press(value: str, channel: str = CHAT, user: str = ADA, thread: str = "") -> dict[str, str]:
    """The fields of a press of a button that sends `value`."""
    place = {"type": "message", "message_ts": "1780000000.000100", "channel_id": channel}
    payload = {
        "type": "block_actions",
        "user": {"id": user, "username": "ada", "team_id": TEAM},
        "team": {"id": TEAM, "domain": "example"},
        "container": place | ({"thread_ts": thread} if thread else {}),
        "channel": {"id": channel, "name": "general"},
        "message": {"type": "message", "ts": "1780000000.000100"},
        "actions": [
            {"type": "button", "action_id": "a", "value": value, "action_ts": "1780000009.5"}
        ],
    }
    return {"payload": json.dumps(payload)}


class OpensConnections(Protocol):
    """The server of Socket Mode beside the Web API."""

    def open(self, request: Recorded) -> Answer:
        """The answer to a request for an address."""


class SlackWorkspace(RecordingServer):
    """`messages` holds what was posted and accepted, in order, each with the `seen` text of its
    blocks; a stream is one of them with its `state`, and a deleted one has nothing left. `files` what was uploaded and shared, `responses` what came to the address of a command,
    `statuses` and `reactions` what people see while they wait.

    `people` are the profiles by id, `sent_files` what people sent, by the file's id, and
    `file_fields` what else `files.info` tells of it, `members` the channels where the bot is. `pings` is everything that would have named somebody.
    """

    def __init__(self, token: str = TOKEN) -> None:
        super().__init__()
        self.token = token
        self.scopes = SCOPES
        self.members = {CHAT, DIRECT}
        self.channels: dict[str, dict[str, Any]] = {}
        """What the bot may ask for of channels by their ids."""
        self.people: dict[str, dict[str, Any]] = {
            ADA: {"profile": {"display_name": "Ada", "real_name": "Ada L."}, "locale": "en-US"},
            BOB: {"profile": {"display_name": "", "real_name": "Bob B."}, "locale": "de-DE"},
        }
        self.messages: list[dict[str, Any]] = []
        self.responses: list[dict[str, Any]] = []
        self.files: list[dict[str, Any]] = []
        self.statuses: list[dict[str, str]] = []
        self.reactions: set[tuple[str, str, str]] = set()
        self.first_messages: list[dict[str, Any]] = []
        self.sent_files: dict[str, bytes] = {}
        self.file_fields: dict[str, dict[str, Any]] = {}
        self.pings: list[str] = []
        self.socket: OpensConnections | None = None
        self.pace = Pace(100, 60.0)
        """How often a stream may be added to."""
        self._uploads: dict[str, dict[str, Any]] = {}
        self._failures: list[Failure] = []

    # ---- for tests

    @property
    def api(self) -> str:
        return f"{self.url}/api"

    @property
    def response_url(self) -> str:
        return f"{self.url}/commands/{TEAM}/1/secret"

    def fail(
        self,
        error: str,
        status: int = 200,
        *,
        method: str = "chat.postMessage",
        times: int = 1,
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        """Answer the next requests of `method` with an error, in Slack's form."""
        body = json.dumps({"ok": False, "error": error, **more}).encode()
        content = {"content-type": "application/json", **(headers or {})}
        self.reply(Answer(status, body, content), method=method, times=times)

    def reply(self, answer: Answer, *, method: str = "chat.postMessage", times: int = 1) -> None:
        """Answer the next requests with `answer`, whatever it is."""
        self._failures.append(Failure(answer, method, times))

    def calls(self, method: str) -> list[dict[str, Any]]:
        """The parameters of every request of `method`, refused ones too."""
        return [
            read_params(request) for request in self.requests if request.path.endswith(f"/{method}")
        ]

    # ---- the server

    def answer(self, request: Recorded) -> Answer:
        path = request.path.partition("?")[0]
        name = path.rpartition("/")[2]
        method = name if path.startswith("/api/") else path.split("/")[1]
        with self.changed:
            failure = next((f for f in self._failures if f.times and f.method == method), None)
            if failure:
                failure.times -= 1
                return failure.answer
        if path.startswith("/commands/"):
            return self._respond(request.json())
        if path.startswith("/upload/"):
            self._uploads[name]["content"] = request.body
            return Answer(200, b"OK - 1")
        if method == "apps.connections.open" and self.socket:
            return self.socket.open(request)
        if request.headers.get("authorization") != f"Bearer {self.token}":
            return _refuse("invalid_auth")
        if path.startswith("/files/"):
            return Answer(200, self.sent_files[name])
        return self._method(method, read_params(request))

    def _method(self, method: str, params: dict[str, Any]) -> Answer:
        methods: dict[str, Callable[[dict[str, Any]], Answer]] = {
            "auth.test": self._auth_test,
            "chat.postMessage": self._post_message,
            "chat.update": self._update_message,
            "chat.startStream": self._start_stream,
            "chat.appendStream": self._append_stream,
            "chat.stopStream": self._stop_stream,
            "chat.delete": self._delete_message,
            "users.info": self._users_info,
            "conversations.info": self._conversations_info,
            "conversations.open": self._open_conversation,
            "conversations.replies": self._replies,
            "files.info": self._files_info,
            "files.getUploadURLExternal": self._get_upload_url,
            "files.completeUploadExternal": self._complete_upload,
            "assistant.threads.setStatus": self._set_status,
            "reactions.add": self._add_reaction,
            "reactions.remove": self._remove_reaction,
        }
        return methods[method](params) if method in methods else _refuse("unknown_method")

    def _auth_test(self, params: dict[str, Any]) -> Answer:
        body = {"ok": True, "team_id": TEAM, "team": "Example", "user_id": BOT, "user": "sigil"}
        return Answer(200, json.dumps(body).encode(), {"x-oauth-scopes": self.scopes})

    def _post_message(self, params: dict[str, Any]) -> Answer:
        channel = params.get("channel", "")
        if channel in self.people:
            channel = DIRECT
        if channel not in self.members:
            return _refuse("not_in_channel" if channel.startswith("C") else "channel_not_found")
        problem = message_problem(params.get("text"), params.get("blocks"))
        if problem:
            return _refuse(problem)
        return self._take(self.messages, {**params, "channel": channel})

    def _update_message(self, params: dict[str, Any]) -> Answer:
        """https://docs.slack.dev/reference/methods/chat.update: a channel's id, no person's."""
        if params.get("channel") not in self.members:
            return _refuse("channel_not_found")
        problem = message_problem(params.get("text"), params.get("blocks"))
        if problem:
            return _refuse(problem)
        with self.changed:
            message = self._find_message(params)
            if not message:
                return _refuse("message_not_found")
            if message.get("state") == OPEN:
                return _refuse("streaming_state_conflict")
            blocks = params.get("blocks", [])
            self.pings += list_pings(params["text"], blocks)
            seen = read_blocks(blocks) or _unescape(params["text"])
            message |= {**params, "seen": seen}
            self.changed.notify_all()
        return _ok(channel=params["channel"], ts=params["ts"])

    def _find_message(self, params: dict[str, Any]) -> dict[str, Any]:
        """The message that a request names; empty when there is none."""
        number = int(params.get("ts", "0.0").partition(".")[2] or 0)
        if not 0 < number <= len(self.messages):
            return {}
        message = self.messages[number - 1]
        return message if message.get("channel") == params.get("channel") else {}

    def _start_stream(self, params: dict[str, Any]) -> Answer:
        """https://docs.slack.dev/reference/methods/chat.startStream"""
        channel = params.get("channel", "")
        if channel not in self.members:
            return _refuse("channel_not_found")
        if not params.get("thread_ts"):
            return _refuse("invalid_thread_ts")
        for field in ("recipient_user_id", "recipient_team_id"):
            if channel.startswith("C") and not params.get(field):
                return _refuse(f"missing_{field}")
        if channel.startswith("C") and params["recipient_user_id"] not in self.people:
            return _refuse("user_not_found")
        text = params.get("markdown_text", "")
        if problem := stream_problem(text):
            return _refuse(problem)
        with self.changed:
            self.pings += list_pings(text, [])
            self.messages.append({**params, "seen": text, "state": OPEN})
            self.changed.notify_all()
            return _ok(channel=channel, ts=f"1790000000.{len(self.messages):06d}")

    def _append_stream(self, params: dict[str, Any]) -> Answer:
        text = params.get("markdown_text", "")
        if not self.pace.takes(params.get("channel", "")):
            body = json.dumps({"ok": False, "error": "ratelimited"}).encode()
            return Answer(429, body, {"content-type": "application/json", "retry-after": "2"})
        if problem := stream_problem(text):
            return _refuse(problem)
        return self._add_to_stream(params, text, OPEN)

    def _stop_stream(self, params: dict[str, Any]) -> Answer:
        text = params.get("markdown_text", "")
        if text and (problem := stream_problem(text)):
            return _refuse(problem)
        return self._add_to_stream(params, text, "completed")

    def _add_to_stream(self, params: dict[str, Any], text: str, state: str) -> Answer:
        with self.changed:
            message = self._find_message(params)
            if not message:
                return _refuse("message_not_found")
            if message.get("state") != OPEN:
                return _refuse("message_not_in_streaming_state")
            self.pings += list_pings(text, [])
            message |= {"seen": message["seen"] + text, "state": state}
            self.changed.notify_all()
        return _ok(channel=params["channel"], ts=params["ts"])

    def _delete_message(self, params: dict[str, Any]) -> Answer:
        with self.changed:
            message = self._find_message(params)
            if not message:
                return _refuse("message_not_found")
            if message.get("state") == OPEN:
                return _refuse("cant_delete_message")
            message.clear()
            message["seen"] = ""
            self.changed.notify_all()
        return _ok(channel=params["channel"], ts=params["ts"])

    def _respond(self, body: dict[str, Any]) -> Answer:
        if len(self.responses) == 5:
            return Answer(404, b"used_url")
        if message_problem(body.get("text"), body.get("blocks")):
            return Answer(400, b"invalid_blocks")
        self._take(self.responses, body)
        return Answer(200, b"ok")

    def _take(self, taken: list[dict[str, Any]], posted: dict[str, Any]) -> Answer:
        blocks = posted.get("blocks", [])
        seen = read_blocks(blocks) or _unescape(posted["text"])
        with self.changed:
            self.pings += list_pings(posted["text"], blocks)
            taken.append({**posted, "seen": seen})
            ts = f"1790000000.{len(taken):06d}"
            self.changed.notify_all()
        return _ok(channel=posted.get("channel"), ts=ts)

    def _users_info(self, params: dict[str, Any]) -> Answer:
        person = self.people.get(params.get("user", ""))
        return (
            _ok(user={"id": params["user"], "team_id": TEAM, **person})
            if person
            else _refuse("user_not_found")
        )

    def _conversations_info(self, params: dict[str, Any]) -> Answer:
        channel = self.channels.get(params.get("channel", ""))
        return _ok(channel=channel) if channel else _refuse("channel_not_found")

    def _open_conversation(self, params: dict[str, Any]) -> Answer:
        known = params.get("users") in self.people
        return _ok(channel={"id": DIRECT}) if known else _refuse("user_not_found")

    def _replies(self, params: dict[str, Any]) -> Answer:
        """The first messages of a thread; a bot reads those of its own channels alone."""
        if params.get("channel") not in self.members:
            return _refuse("channel_not_found")
        found = [each for each in self.first_messages if each["ts"] == params.get("ts")]
        for number, message in enumerate(self.messages, 1):
            here = (message.get("channel"), message.get("thread_ts"))
            ts = f"1790000000.{number:06d}"
            if here == (params["channel"], params.get("ts")) and ts > params.get("oldest", ""):
                streamed = {"streaming_state": message["state"]} if "state" in message else {}
                found.append({"type": "message", "user": BOT, "ts": ts, **streamed})
        return _ok(messages=found, has_more=True) if found else _refuse("thread_not_found")

    def _files_info(self, params: dict[str, Any]) -> Answer:
        id = params.get("file", "")
        if id not in self.sent_files:
            return _refuse("file_not_found")
        address = f"{self.url}/files/{id}"
        size = len(self.sent_files[id])
        file = {"id": id, "size": size, "url_private_download": address}
        return _ok(file=file | self.file_fields.get(id, {}))

    def _get_upload_url(self, params: dict[str, Any]) -> Answer:
        if not params.get("filename") or int(params.get("length", 0)) < 1:
            return _refuse("invalid_arguments")
        id = f"F0UP{len(self._uploads):05d}"
        self._uploads[id] = {"name": params["filename"], "length": int(params["length"])}
        return _ok(upload_url=f"{self.url}/upload/{id}", file_id=id)

    def _complete_upload(self, params: dict[str, Any]) -> Answer:
        """https://docs.slack.dev/reference/methods/files.completeUploadExternal."""
        if not CHANNEL.fullmatch(params.get("channel_id", "")):
            return _refuse("invalid_arguments")
        if params["channel_id"] not in self.members:
            return _refuse("channel_not_found")
        for file in params["files"]:
            upload = self._uploads.get(file["id"])
            if upload is None or len(upload.get("content", b"")) != upload["length"]:
                return _refuse("file_update_failed")
            with self.changed:
                place = {"channel": params["channel_id"], "thread": params.get("thread_ts", "")}
                comment = params.get("initial_comment", "")
                self.files.append({**upload, **place, "comment": comment})
                self.changed.notify_all()
        return _ok(
            files=[{"id": file["id"], "title": file.get("title")} for file in params["files"]]
        )

    def _set_status(self, params: dict[str, Any]) -> Answer:
        if params.get("channel_id") not in self.members or not params.get("thread_ts"):
            return _refuse("invalid_arguments")
        self.statuses.append(params)
        return _ok()

    def _add_reaction(self, params: dict[str, Any]) -> Answer:
        key = (params["channel"], params["timestamp"], params["name"])
        if key in self.reactions:
            return _refuse("already_reacted")
        self.reactions.add(key)
        return _ok()

    def _remove_reaction(self, params: dict[str, Any]) -> Answer:
        key = (params["channel"], params["timestamp"], params["name"])
        if key not in self.reactions:
            return _refuse("no_reaction")
        with self.changed:
            self.reactions.remove(key)
            self.changed.notify_all()
        return _ok()


def read_params(request: Recorded) -> dict[str, Any]:
    """A request's parameters from its form, or from JSON, which Slack takes as well; what is no
    text travels in a form as JSON.
    """
    if request.headers.get("content-type", "").startswith("application/json"):
        return dict(request.json())
    fields: dict[str, Any] = dict(parse_qsl(request.body.decode(), keep_blank_values=True))
    for name in ("blocks", "files"):
        if name in fields:
            fields[name] = json.loads(fields[name])
    return fields


def _unescape(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _ok(**fields: Any) -> Answer:
    return json_answer({"ok": True, **fields})


def _refuse(error: str) -> Answer:
    return json_answer({"ok": False, "error": error})
