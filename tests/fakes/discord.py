"""Discord as a local server: it validates like Discord, records every request and fails when told
to. It signs interactions as Discord does.

`with DiscordServer() as server: Discord(server.token, server.public_key, server.url, files=server.url)`
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import Message
from typing import Any, Protocol
from urllib.parse import urlsplit

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from functions.channels.discord.channel import Discord
from tests.fakes.server import Answer, Recorded, RecordingServer, json_answer

APPLICATION = 880000000000000001
TOKEN = "ODgwMDAwMDAwMDAwMDAwMDAx.test-token.of_a-bot_of-discord"
EPOCH = 1_420_070_400_000
LOADING = 128
NAME = re.compile(r"[-_a-z0-9]{1,32}")
FILE_BYTES = 10 * 1024 * 1024


KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


def make_public_key() -> str:
    """The application's public key, as the developer portal shows it."""
    return KEY.public_key().public_bytes_raw().hex()


def sign(body: bytes, at: float) -> dict[str, str]:
    """The headers that Discord sends with a body at a time."""
    signed = str(int(at))
    return {
        "x-signature-ed25519": KEY.sign(signed.encode() + body).hex(),
        "x-signature-timestamp": signed,
        "content-type": "application/json",
        "user-agent": "Discord-Interactions/1.0 (+https://discord.com)",
    }


def make_user(id: int, username: str, called: str | None = None, **fields: Any) -> dict[str, Any]:
    """A user as Discord describes one to everybody."""
    own = {"id": str(id), "username": username, "global_name": called}
    return {**own, "discriminator": "0", "avatar": None, "bot": False, **fields}


def make_own_message(id: int, channel: int) -> dict[str, Any]:
    """An empty message of the bot, as Discord tells of it."""
    return {
        "id": str(id),
        "channel_id": str(channel),
        "author": make_user(APPLICATION, "sigil", bot=True),
        "type": 0,
        "content": "",
        "flags": 0,
        "timestamp": "2026-11-28T10:00:00.000000+00:00",
        "edited_timestamp": None,
        "tts": False,
        "pinned": False,
        "mention_everyone": False,
        "mentions": [],
        "mention_roles": [],
        "attachments": [],
        "embeds": [],
        "components": [],
    }


@dataclass(slots=True)
class Interaction:
    """An interaction as Discord keeps it: the messages with which it was answered, the first of
    them under `original` (None: deleted, or never there). Until it is `answered` nobody knows it.
    """

    id: int
    token: str
    channel: int
    original: dict[str, Any] | None = None
    answered: bool = False
    over: bool = False
    followups: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class Failure:
    """The answer to the next `times` requests of `method` whose path has `part` in it."""

    answer: Answer
    method: str
    part: str
    times: int


class HasGatewayAnswers(Protocol):
    """The gateway beside the API."""

    def answer(self, request: Recorded, path: str) -> Answer | None:
        """The answer to a request about the gateway, None for any other."""


class DiscordServer(RecordingServer):
    """`posted` holds the messages that the bot posted into channels, `commands` what was
    registered, `endpoint` the address for interactions.

    `closed` are the channels into which the bot may not write. `files` has what people sent, by
    path. `checks_endpoint`: whether an address is PINGed when it is set, as Discord does.
    """

    def __init__(self) -> None:
        super().__init__()
        self.token = TOKEN
        self.public_key = make_public_key()
        self.posted: list[dict[str, Any]] = []
        self.commands: list[dict[str, Any]] = []
        self.endpoint = ""
        self.flags = 1 << 19 | 1 << 23
        self.checks_endpoint: str | None = None
        self.closed: set[int] = set()
        self.files: dict[str, bytes] = {}
        self.interactions: dict[str, Interaction] = {}
        self.users: dict[int, dict[str, Any]] = {}
        self.channels: dict[int, dict[str, Any]] = {}
        self.roles: dict[int, list[dict[str, Any]]] = {}
        """What the bot may ask for by ids: people, channels, and the roles of servers."""
        self.gateway: HasGatewayAnswers | None = None
        self._failures: list[Failure] = []
        self._nonces: dict[tuple[int, str], dict[str, Any]] = {}
        self._last = 0

    # ---- for tests

    def fail(
        self,
        status: int,
        code: int = 0,
        *,
        method: str = "",
        part: str = "",
        times: int = 1,
        **body: Any,
    ) -> None:
        """Answer the next requests with an error, in Discord's form."""
        said = {"code": code, "message": "told to fail", **body}
        self.reply(json_answer(said, status), method=method, part=part, times=times)

    def reply(self, answer: Answer, *, method: str = "", part: str = "", times: int = 1) -> None:
        """Answer the next requests with `answer`, whatever it is."""
        self._failures.append(Failure(answer, method, part, times))

    def snowflake(self, at: float | None = None) -> int:
        """An id of now, larger than every other."""
        made = int((time.time() if at is None else at) * 1000 - EPOCH) << 22
        self._last = max(self._last + 1, made) if at is None else made
        return self._last

    def sign(self, body: bytes, at: float | None = None) -> dict[str, str]:
        """The headers that Discord sends with a body."""
        return sign(body, time.time() if at is None else at)

    def interact(
        self,
        data: Mapping[str, Any],
        *,
        kind: int = 2,
        user: int = 42,
        called: str = "Ada",
        channel: int = 5,
        guild: int = 0,
        at: float | None = None,
        member: bool = True,
        **fields: Any,
    ) -> dict[str, Any]:
        """An interaction of a person, in a server (`guild`) or in the private chat with the bot."""
        id = self.snowflake(at)
        token = f"aW50ZXJhY3Rpb24-{id}"
        self.interactions[token] = Interaction(id, token, channel)
        person = make_user(user, called.lower(), called)
        owners = {"0": str(guild)} if member else {"1": str(user)}
        made: dict[str, Any] = {
            "id": str(id),
            "application_id": str(APPLICATION),
            "type": kind,
            "data": dict(data),
            "channel_id": str(channel),
            "channel": {"id": str(channel), "type": 0 if guild else 1},
            "token": token,
            "version": 1,
            "app_permissions": "562949953601536",
            "locale": "en-US",
            "entitlements": [],
            "authorizing_integration_owners": owners,
            "context": 0 if guild else 1,
            "attachment_size_limit": FILE_BYTES,
        }
        if guild:
            made |= {"guild_id": str(guild), "member": {"user": person, "nick": None, "roles": []}}
        else:
            made |= {"user": person}
        return made | fields

    def command(self, name: str, words: str = "", **fields: Any) -> dict[str, Any]:
        """The interaction of a command with its only text."""
        option = "text" if name == "ask" else "words"
        options = [{"name": option, "type": 3, "value": words}] if words else []
        data = {"id": "77", "name": name, "type": 1, "options": options}
        return self.interact(data, **fields)

    def press(self, custom_id: str, **fields: Any) -> dict[str, Any]:
        """The interaction of a press of a button."""
        data = {"custom_id": custom_id, "component_type": 2}
        return self.interact(data, kind=3, message={"id": "9", "flags": 0}, **fields)

    def take_answer(self, interaction: Mapping[str, Any], status: int, body: bytes) -> None:
        """Do what Discord does with the answer to an interaction."""
        with self.changed:
            self._take_answer(self.interactions[interaction["token"]], status, body)

    def _take_answer(self, known: Interaction, status: int, body: bytes) -> None:
        answer = json.loads(body) if status == 200 else {}
        known.answered = True
        if answer.get("type") == 5:
            known.original = make_own_message(known.id, known.channel) | {"flags": LOADING}
        elif answer.get("type") not in (6, 8):
            known.over = True  # "the application did not respond"

    def deliver(self, interaction: Mapping[str, Any], url: str) -> httpx.Response:
        """Send an interaction to the address of the application, and take its answer."""
        body = json.dumps(interaction).encode()
        response = httpx.post(url, content=body, headers=self.sign(body), timeout=30)
        if interaction["type"] != 1:
            self.take_answer(interaction, response.status_code, response.content)
        return response

    def find(self, interaction: Mapping[str, Any]) -> Interaction:
        """What came of an interaction."""
        return self.interactions[interaction["token"]]

    def texts(self) -> list[str]:
        """The contents of all messages that people see, in no order across interactions."""
        seen = []
        for each in self.interactions.values():
            if each.original and not each.original["flags"] & LOADING:
                seen.append(each.original["content"])
            seen += [message["content"] for message in each.followups]
        return seen + [message["content"] for message in self.posted]

    # ---- the server

    def answer(self, request: Recorded) -> Answer:
        path = urlsplit(request.path).path
        with self.changed:
            for failure in self._failures:
                fits = failure.method in ("", request.method) and failure.part in path
                if failure.times and fits:
                    failure.times -= 1
                    return failure.answer
        if path.startswith(("/attachments/", "/ephemeral-attachments/")):
            body = self.files.get(request.path.removeprefix("/"))
            return Answer(404) if body is None else Answer(200, body)
        steps = path.strip("/").split("/")
        if steps[0] == "interactions" and steps[3:] == ["callback"]:
            with self.changed:
                return self._take_callback(request, int(steps[1]), steps[2])
        if steps[0] == "webhooks" and len(steps) >= 3:
            with self.changed:
                return self._answer_interaction(request, steps)
        agent = request.headers.get("user-agent", "")
        if not re.fullmatch(r"DiscordBot \(https?://[^ ]+ [^)]+\)( .*)?", agent):
            return _refuse(403, 40333, "internal network error")
        if request.headers.get("authorization") != f"Bot {self.token}":
            return _refuse(401, 0, "401: Unauthorized")
        told = self.gateway.answer(request, path) if self.gateway else None
        if told:
            return told
        if path == "/users/@me":
            return json_answer(make_user(APPLICATION, "sigil", bot=True))
        if path in ("/applications/@me", "/oauth2/applications/@me"):
            return self._application(request)
        if path == f"/applications/{APPLICATION}/commands" and request.method == "PUT":
            return self._put_commands(request.json())
        if request.method == "GET" and (named := self._find_named(steps)) is not None:
            return json_answer(named)
        if steps[0] == "channels" and len(steps) == 3:
            with self.changed:
                return self._channel(request, int(steps[1]), steps[2])
        if steps[0] == "channels" and steps[2:3] == ["messages"] and request.method == "PATCH":
            with self.changed:
                return self._edit(request, steps[1], steps[3])
        return _refuse(404, 0, "404: Not Found")

    def _find_named(self, steps: list[str]) -> object:
        match steps:
            case ["users", id]:
                return self.users.get(int(id))
            case ["channels", id]:
                return self.channels.get(int(id))
            case ["guilds", id, "roles"]:
                return self.roles.get(int(id))
        return None

    def _edit(self, request: Recorded, channel: str, id: str) -> Answer:
        """https://discord.com/developers/docs/resources/message#edit-message"""
        shown = [each for each in self.posted if (each["channel_id"], each["id"]) == (channel, id)]
        if not shown:
            return _refuse(404, 10008, "Unknown Message")
        fields = read_fields(request)
        problem = _find_problem(fields, edit=True)
        if problem:
            return problem
        shown[0] |= {"content": fields["content"].strip()}
        self.changed.notify_all()
        return json_answer(shown[0])

    def _take_callback(self, request: Recorded, id: int, token: str) -> Answer:
        """Take the first answer to an interaction that went over the gateway."""
        known = self.interactions.get(token)
        late = time.time() * 1000 > (id >> 22) + EPOCH + 3_000
        if known is None or known.id != id or late:
            return _refuse(404, 10062, "Unknown interaction")
        if known.answered:
            return _refuse(400, 40060, "Interaction has already been acknowledged.")
        if request.json().get("type") not in (4, 5, 6, 7, 8, 9):
            return _refuse(400, 50035, "Invalid Form Body")
        self._take_answer(known, 200, request.body)
        self.changed.notify_all()
        if "with_response=" not in request.path:
            return Answer(204)
        kind = request.json()["type"]
        return json_answer({"interaction": {"id": str(id), "type": 2}, "resource": {"type": kind}})

    def _answer_interaction(self, request: Recorded, steps: list[str]) -> Answer:
        known = self.interactions.get(steps[2])
        if known is None or not known.answered or steps[1] != str(APPLICATION):
            return _refuse(404, 10015, "Unknown Webhook")
        if known.over or time.time() * 1000 > (known.id >> 22) + EPOCH + 900_000:
            return _refuse(401, 50027, "Invalid Webhook Token")
        if len(steps) == 3 and request.method == "POST":
            fields = read_fields(request)
            problem = _find_problem(fields, edit=False)
            if problem:
                return problem
            if known.original and known.original["flags"] & LOADING:
                known.original |= {"content": "", "attachments": [], **_shown(fields)}
                known.original["flags"] &= ~LOADING
                return json_answer(known.original)
            made = make_own_message(self.snowflake(), known.channel)
            known.followups.append(made | _shown(fields))
            self.changed.notify_all()
            return json_answer(known.followups[-1])
        if steps[3:] != ["messages", "@original"]:
            return _refuse(404, 0, "404: Not Found")
        if known.original is None:
            return _refuse(404, 10008, "Unknown Message")
        if request.method == "GET":
            return json_answer(known.original)
        if request.method == "DELETE":
            known.original = None
            self.changed.notify_all()
            return Answer(204)
        fields = read_fields(request)
        problem = _find_problem(fields, edit=True)
        if problem:
            return problem
        kept = {} if "components" in fields else {"components": known.original["components"]}
        known.original |= {"attachments": [], **_shown(fields), **kept}
        known.original["flags"] &= ~LOADING
        self.changed.notify_all()
        return json_answer(known.original)

    def _channel(self, request: Recorded, channel: int, what: str) -> Answer:
        if channel in self.closed:
            return _refuse(403, 50001, "Missing Access")
        if what == "typing":
            return Answer(204)
        fields = read_fields(request)
        problem = _find_problem(fields, edit=False)
        if problem:
            return problem
        nonce = fields.get("nonce")
        if nonce is not None and (not isinstance(nonce, str) or len(nonce) > 25):
            return _refuse(400, 50035, "Invalid Form Body")
        if nonce and fields.get("enforce_nonce") and (channel, nonce) in self._nonces:
            return json_answer(self._nonces[channel, nonce])
        message = make_own_message(self.snowflake(), channel) | _shown(fields)
        if nonce:
            self._nonces[channel, nonce] = message
        self.posted.append(message)
        self.changed.notify_all()
        return json_answer(message)

    def _application(self, request: Recorded) -> Answer:
        if request.method == "PATCH":
            url = request.json()["interactions_endpoint_url"] or ""
            if url and self.checks_endpoint is not None and not self._ping(self.checks_endpoint):
                said = {"interactions_endpoint_url": {"_errors": [{"code": "BASE_TYPE_BAD"}]}}
                return json_answer(
                    {"code": 50035, "message": "Invalid Form Body", "errors": said}, 400
                )
            self.endpoint = url
        return json_answer(
            {
                "id": str(APPLICATION),
                "name": "Sigil",
                "description": "",
                "icon": None,
                "bot_public": True,
                "bot_require_code_grant": False,
                "owner": make_user(41, "owner"),
                "interactions_endpoint_url": self.endpoint or None,
                "verify_key": self.public_key,
                "flags": self.flags,
            }
        )

    def _ping(self, url: str) -> bool:
        """Whether an address answers a PING, and refuses one that is signed wrongly."""
        body = json.dumps({"type": 1, "id": "1", "application_id": str(APPLICATION)}).encode()
        good = httpx.post(url, content=body, headers=self.sign(body))
        wrong = httpx.post(url, content=body, headers=self.sign(body + b" "))
        return good.status_code == 200 and good.json() == {"type": 1} and wrong.status_code == 401

    def _put_commands(self, commands: Any) -> Answer:
        """https://discord.com/developers/docs/interactions/application-commands"""
        names = [command.get("name", "") for command in commands]
        good = len(commands) <= 100 and len(set(names)) == len(names)
        for command in commands:
            options = command.get("options", [])
            described = [command, *options]
            good = good and all(NAME.fullmatch(each["name"]) for each in described)
            good = good and all(1 <= len(each["description"]) <= 100 for each in described)
            for each in described:
                local = each.get("description_localizations", {})
                good = good and set(local) <= {"de", "zh-CN"}
                good = good and all(1 <= len(text) <= 100 for text in local.values())
            required = [bool(option.get("required")) for option in options]
            good = good and required == sorted(required, reverse=True) and len(options) <= 25
            good = good and all(option["type"] in (3, 11) for option in options)
            good = good and set(command.get("contexts", [])) <= {0, 1, 2}
        if not good:
            return _refuse(400, 50035, "Invalid Form Body")
        self.commands = commands
        return json_answer(commands)


def open_discord(server: DiscordServer, pauses: Sequence[float] = (0.0, 0.0)) -> Discord:
    """A bot that talks to the server."""
    url = server.url
    return Discord(server.token, server.public_key, url, files=url, pauses=pauses)


def read_fields(request: Recorded) -> dict[str, Any]:
    """A message's fields, from JSON or from a form with files: `files` has (name, content)."""
    kind = request.headers.get("content-type", "")
    if not kind.startswith("multipart/form-data"):
        return dict(request.json()) if request.body else {}
    form = message_from_bytes(f"content-type: {kind}\r\n\r\n".encode() + request.body)
    fields: dict[str, Any] = {}
    files = []
    for part in form.get_payload():
        assert isinstance(part, Message)
        content = part.get_payload(decode=True)
        assert isinstance(content, bytes)
        if part.get_param("name", header="content-disposition") == "payload_json":
            fields = json.loads(content)
        else:
            files.append((part.get_filename(), content))
    return fields | {"files": files}


def _shown(fields: dict[str, Any]) -> dict[str, Any]:
    """A message as Discord shows it."""
    files = fields.get("files", [])
    return {
        "content": fields.get("content", "").strip(),
        "flags": fields.get("flags", 0),
        "components": fields.get("components", []),
        "attachments": [
            {
                "id": str(number),
                "filename": name,
                "size": len(body),
                "url": f"https://cdn.discordapp.com/attachments/1/{number}/{name}",
                "proxy_url": f"https://media.discordapp.net/attachments/1/{number}/{name}",
            }
            for number, (name, body) in enumerate(files)
        ],
        "files": [[name, body.decode(errors="replace")] for name, body in files],
        "reply": fields.get("message_reference"),
    }


def _find_problem(fields: dict[str, Any], *, edit: bool) -> Answer | None:
    content = fields.get("content", "")
    files = fields.get("files", [])
    if not isinstance(content, str) or len(content) > 2000:
        return _refuse(400, 50035, "Invalid Form Body")
    if not content.strip() and not files:
        return _refuse(400, 50006, "Cannot send an empty message")
    if fields.get("allowed_mentions") != {"parse": []}:
        raise AssertionError("somebody could be mentioned")
    if sum(len(body) for _, body in files) > FILE_BYTES:
        return _refuse(413, 40005, "Request entity too large")
    if len(fields.get("attachments", [])) != len(files):
        return _refuse(400, 50035, "Invalid Form Body")
    rows = fields.get("components", [])
    buttons = [button for row in rows for button in row["components"]]
    ids = [button["custom_id"] for button in buttons]
    fits = all(
        button["type"] == 2
        and button["style"] in (1, 2, 3, 4)
        and 1 <= len(button["label"]) <= 80
        and 1 <= len(button["custom_id"]) <= 100
        for button in buttons
    )
    if len(rows) > 5 or any(len(row["components"]) > 5 for row in rows):
        return _refuse(400, 50035, "Invalid Form Body")
    if not fits or len(set(ids)) != len(ids):
        return _refuse(400, 50035, "Invalid Form Body")
    if edit and fields.get("flags", 0) & ~4:
        return _refuse(400, 50035, "Invalid Form Body")
    return None


def _refuse(status: int, code: int, message: str) -> Answer:
    return json_answer({"code": code, "message": message}, status)
