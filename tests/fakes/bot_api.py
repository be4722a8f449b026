"""Telegram's Bot API as a local server: it validates like Telegram, records every request and fails
when told to.

`with BotApi() as api: Telegram(api.token, "secret", api=api.url)`
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email import message_from_bytes
from email.message import Message
from typing import Any
from urllib.parse import parse_qsl, unquote

from tests.fakes.bot_api_rules import (
    draft_problem,
    message_problem,
    photo_problem,
    webhook_problem,
)
from tests.fakes.server import Answer, Recorded, RecordingServer, json_answer
from tests.machine import within

TOKEN = "4242:TEST-token_of-a-bot"
LONGEST_POLL = 2.0
TEXTS = frozenset(
    "action callback_query_id caption file_id language_code secret_token text url".split()
)
"""Parameters that are texts; every other one travels in a form as JSON."""


@dataclass(slots=True)
class Failure:
    """The answer to the next `times` requests of `method` (empty: of any)."""

    answer: Answer
    method: str
    times: int


class BotApi(RecordingServer):
    """`messages` holds the `sendMessage` requests that were accepted, in order, `documents` those
    of `sendDocument`, `photos` those of `sendPhoto`; `webhook` what setWebhook was given.

    `drafts` has what private chats show of an answer that is being written, until a message comes;
    `knows_drafts` is False for a server from before they were there.

    `sent_files` has what people sent, by the id of the file. `unknown_chats`: those that nobody has opened with the bot. `delivery`: what getWebhookInfo tells beside that, such as `last_error_message`.
    """

    def __init__(self, token: str = TOKEN, username: str = "Sigil_Bot") -> None:
        super().__init__()
        self.token = token
        self.username = username
        self.messages: list[dict[str, Any]] = []
        self.documents: list[dict[str, Any]] = []
        self.photos: list[dict[str, Any]] = []
        self.drafts: dict[int, dict[str, Any]] = {}
        self.knows_drafts = True
        self.webhook: dict[str, Any] = {}
        self.delivery: dict[str, Any] = {}
        self.updates: list[dict[str, Any]] = []
        self.unknown_chats: set[int] = set()
        self.sent_files: dict[str, bytes] = {}
        self._failures: list[Failure] = []

    # ---- for tests

    def fail(
        self,
        status: int,
        description: str = "",
        *,
        times: int = 1,
        method: str = "sendMessage",
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        """Answer the next requests with an error, in Telegram's form."""
        body = {
            "ok": False,
            "error_code": status,
            "description": description,
            "parameters": dict(parameters or {}),
        }
        self.reply(json_answer(body, status), times=times, method=method)

    def reply(self, answer: Answer, *, times: int = 1, method: str = "sendMessage") -> None:
        """Answer the next requests with `answer`, whatever it is (`Answer(hang=True)`,
        `Answer(cut=True)`, a body that is no JSON).
        """
        self._failures.append(Failure(answer, method, times))

    def recover(self) -> None:
        """Fail no more."""
        with self.changed:
            self._failures.clear()

    def wait_for_messages(self, count: int) -> list[dict[str, Any]]:
        """Return the messages, as soon as there are `count` of them."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.messages) >= count, within(20)), (
                self.messages
            )
            return list(self.messages)

    def calls(self, method: str) -> list[dict[str, Any]]:
        """The parameters of every request of `method`, refused ones too."""
        return [
            read_params(request) for request in self.requests if request.path.endswith(f"/{method}")
        ]

    def deliver(self, update: dict[str, Any]) -> None:
        """Put `update` where getUpdates finds it."""
        with self.changed:
            self.updates.append(update)
            self.changed.notify_all()

    # ---- the server

    def answer(self, request: Recorded) -> Answer:
        path = unquote(request.path.partition("?")[0])
        prefix, _, method = path.rpartition("/")
        if path.startswith(f"/file/bot{self.token}/documents/"):
            return Answer(200, self.sent_files[method])
        if not prefix.endswith(f"/bot{self.token}"):
            return _refusal(401 if "/bot" in prefix else 404, "Unauthorized")
        with self.changed:
            failure = next(
                (
                    failure
                    for failure in self._failures
                    if failure.times and failure.method in ("", method)
                ),
                None,
            )
            if failure:
                failure.times -= 1
                return failure.answer
        return self._method(method, read_params(request))

    def _method(self, method: str, params: dict[str, Any]) -> Answer:
        methods: dict[str, Callable[[dict[str, Any]], Answer]] = {
            "getMe": self._get_me,
            "sendMessage": self._send_message,
            "editMessageText": self._edit_message,
            "sendDocument": self._send_document,
            "sendPhoto": self._send_photo,
            "sendChatAction": self._send_chat_action,
            **({"sendMessageDraft": self._send_draft} if self.knows_drafts else {}),
            "answerCallbackQuery": self._answer_callback_query,
            "setWebhook": self._set_webhook,
            "deleteWebhook": self._delete_webhook,
            "getWebhookInfo": self._get_webhook_info,
            "getUpdates": self._get_updates,
            "setMyCommands": self._set_my_commands,
            "getFile": self._get_file,
        }
        return (
            methods[method](params)
            if method in methods
            else _refusal(404, "Not Found: method not found")
        )

    def _set_my_commands(self, params: dict[str, Any]) -> Answer:
        scope = params.get("scope") or {}
        if scope.get("chat_id") in self.unknown_chats:
            return _refusal(400, "Bad Request: chat not found")
        return _ok(True)

    def _get_file(self, params: dict[str, Any]) -> Answer:
        """https://core.telegram.org/bots/api#getfile"""
        body = self.sent_files.get(params["file_id"])
        if body is None:
            return _refusal(400, "Bad Request: invalid file_id")
        path = f"documents/{params['file_id']}"
        id = params["file_id"]
        return _ok({"file_id": id, "file_unique_id": id, "file_size": len(body), "file_path": path})

    def _get_me(self, params: dict[str, Any]) -> Answer:
        bot = int(self.token.partition(":")[0])
        return _ok({"id": bot, "is_bot": True, "first_name": "Sigil", "username": self.username})

    def _send_message(self, params: dict[str, Any]) -> Answer:
        problem = _chat_problem(params) or message_problem(
            params.get("text"), params.get("entities", ())
        )
        if problem:
            return _refusal(400, f"Bad Request: {problem}")
        with self.changed:
            self.messages.append(params)
            self.drafts.pop(params["chat_id"], None)
            number = len(self.messages)
            self.changed.notify_all()
        return _ok(
            {
                "message_id": number,
                "chat": _make_chat(params),
                "date": 0,
                "text": params["text"],
            }
        )

    def _edit_message(self, params: dict[str, Any]) -> Answer:
        """https://core.telegram.org/bots/api#editmessagetext"""
        number = params.get("message_id")
        problem = _chat_problem(params) or message_problem(
            params.get("text"), params.get("entities", ())
        )
        with self.changed:
            if not problem and not (type(number) is int and 0 < number <= len(self.messages)):
                problem = "message to edit not found"
            elif not problem:
                assert isinstance(number, int)
                shown = self.messages[number - 1]
                if shown["chat_id"] != params["chat_id"]:
                    problem = "message to edit not found"
                elif shown["text"] == params["text"]:
                    problem = (
                        "message is not modified: specified new message content and reply markup"
                        " are exactly the same as a current content and reply markup of the message"
                    )
                else:
                    shown["text"] = params["text"]
                    self.changed.notify_all()
        if problem:
            return _refusal(400, f"Bad Request: {problem}")
        return _ok({"message_id": number, "chat": _make_chat(params), "date": 0})

    def _send_draft(self, params: dict[str, Any]) -> Answer:
        """https://core.telegram.org/bots/api#sendmessagedraft"""
        problem = _chat_problem(params) or draft_problem(params)
        if problem:
            return _refusal(400, f"Bad Request: {problem}")
        with self.changed:
            self.drafts[params["chat_id"]] = params
            self.changed.notify_all()
        return _ok(True)

    def _send_photo(self, params: dict[str, Any]) -> Answer:
        """https://core.telegram.org/bots/api#sendphoto, the file uploaded with the request."""
        file = params.get("photo")
        problem = _chat_problem(params)
        if not isinstance(file, dict) or not file["content"]:
            problem = problem or "there is no photo in the request"
        else:
            problem = problem or photo_problem(file["content"])
        if problem:
            return _refusal(400, f"Bad Request: {problem}")
        with self.changed:
            self.photos.append(params)
            self.changed.notify_all()
        return _ok({"message_id": len(self.messages), "chat": _make_chat(params), "date": 0})

    def _send_document(self, params: dict[str, Any]) -> Answer:
        """https://core.telegram.org/bots/api#senddocument, the file uploaded with the request."""
        file = params.get("document")
        problem = _chat_problem(params) or (
            ""
            if isinstance(file, dict) and file["content"]
            else "there is no document in the request"
        )
        problem = problem or (
            "message caption is too long" if len(params.get("caption", "")) > 1024 else ""
        )
        if problem:
            return _refusal(400, f"Bad Request: {problem}")
        with self.changed:
            self.documents.append(params)
            self.changed.notify_all()
        return _ok({"message_id": len(self.messages), "chat": _make_chat(params), "date": 0})

    def _send_chat_action(self, params: dict[str, Any]) -> Answer:
        problem = _chat_problem(params) or (
            "" if params.get("action") == "typing" else "wrong parameter action in request"
        )
        return _refusal(400, f"Bad Request: {problem}") if problem else _ok(True)

    def _answer_callback_query(self, params: dict[str, Any]) -> Answer:
        if not params.get("callback_query_id"):
            return _refusal(400, "Bad Request: query is too old and response timeout expired")
        return _ok(True)

    def _set_webhook(self, params: dict[str, Any]) -> Answer:
        problem = webhook_problem(params)
        if problem:
            return _refusal(400, f"Bad Request: {problem}")
        self.webhook = params if params.get("url") else {}
        self._drop(params)
        return _ok(True)

    def _delete_webhook(self, params: dict[str, Any]) -> Answer:
        self.webhook = {}
        self._drop(params)
        return _ok(True)

    def _drop(self, params: dict[str, Any]) -> None:
        if params.get("drop_pending_updates"):
            with self.changed:
                self.updates = []

    def _get_webhook_info(self, params: dict[str, Any]) -> Answer:
        """https://core.telegram.org/bots/api#webhookinfo; the secret is never told."""
        with self.changed:
            pending = len(self.updates)
        info = {
            "url": self.webhook.get("url", ""),
            "has_custom_certificate": False,
            "pending_update_count": pending,
        }
        if self.webhook:
            info["max_connections"] = self.webhook.get("max_connections", 40)
            info |= {
                key: self.webhook[key] for key in ("allowed_updates",) if self.webhook.get(key)
            }
        return _ok(info | self.delivery)

    def _get_updates(self, params: dict[str, Any]) -> Answer:
        """Long polling: waits for an update; an offset confirms those before it."""
        if self.webhook:
            return _refusal(409, "Conflict: can't use getUpdates method while webhook is active")
        offset = params.get("offset", 0)
        with self.changed:
            self.updates = [update for update in self.updates if update["update_id"] >= offset]
            self.changed.wait_for(
                lambda: self.updates or self.closing.is_set(),
                min(params.get("timeout", 0), LONGEST_POLL),
            )
            return _ok(self.updates[: params.get("limit", 100)])


def _decode(content: bytes) -> str | bytes:
    """A file's content as text, where it is one."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content


def read_params(request: Recorded) -> dict[str, Any]:
    """A request's parameters, from JSON or from a form; a file in it is {"name", "content"}."""
    kind = request.headers.get("content-type", "")
    if kind.startswith("application/x-www-form-urlencoded"):
        return {name: _read_field(name, text) for name, text in parse_qsl(request.body.decode())}
    if not kind.startswith("multipart/form-data"):
        return dict(request.json()) if request.body else {}
    form = message_from_bytes(f"content-type: {kind}\r\n\r\n".encode() + request.body)
    fields: dict[str, Any] = {}
    for part in form.get_payload():
        assert isinstance(part, Message)
        name, content = (
            part.get_param("name", header="content-disposition"),
            part.get_payload(decode=True),
        )
        assert isinstance(name, str)
        assert isinstance(content, bytes)
        if part.get_filename():
            fields[name] = {"name": part.get_filename(), "content": _decode(content)}
        else:
            fields[name] = _read_field(name, content.decode())
    return fields


def _read_field(name: str, text: str) -> Any:
    """A field of a form: what is no text travels as JSON."""
    return text if name in TEXTS else json.loads(text)


def _chat_problem(params: dict[str, Any]) -> str:
    if type(params.get("chat_id")) is not int:
        return "chat_id is empty"
    reply = params.get("reply_parameters", {})
    return (
        "message to be replied not found"
        if reply and type(reply.get("message_id")) is not int
        else ""
    )


def _make_chat(params: dict[str, Any]) -> dict[str, Any]:
    kind = "private" if params["chat_id"] > 0 else "supergroup"
    return {"id": params["chat_id"], "type": kind}


def _ok(result: object) -> Answer:
    return json_answer({"ok": True, "result": result})


def _refusal(status: int, description: str) -> Answer:
    return json_answer({"ok": False, "error_code": status, "description": description}, status)
