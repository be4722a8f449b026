"""GitHub's REST API as a local server: it validates like GitHub, records every request and fails
when told to.

`with GitHubServer() as api: GitHub((REPOSITORY,), TOKEN, SECRET, api.url)`
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from hashlib import sha256
from hmac import HMAC
from typing import Any
from urllib.parse import parse_qs

from functions.channels.base import PlatformRequest
from tests.fakes.server import Answer, Recorded, RecordingServer, json_answer

TOKEN = "github_pat_test"
SECRET = "webhook-secret"
REPOSITORY = "octocat/hello.world"
BOT_ID = 9_000
BOT = "Sigil-Bot"
PERSON_ID = 583_231
PERSON = "octocat"
COMMENT_CHARACTERS = 65_536
NOBODY = re.compile(r"(?<![A-Za-z0-9])@[A-Za-z0-9]")
"""A name that GitHub would mention, outside code."""
_COMMENTS = re.compile(r"/repos/(.+)/(issues|pulls)/([0-9]+)/comments(?:/([0-9]+)/replies)?")
_REACTIONS = re.compile(r"(/repos/.+)/reactions(?:/([0-9]+))?")
_HOOKS = re.compile(r"/repos/([^/]+/[^/]+)/hooks(?:/([0-9]+))?")


@dataclass(slots=True)
class Comment:
    """A comment below an issue, or in the review of a pull request after the one with the id
    `thread`.
    """

    id: int
    place: str
    body: str
    author: int = BOT_ID
    thread: int = 0

    @property
    def text(self) -> str:
        """What people see of it."""
        return re.sub(r"<!--.*?-->", "", self.body).strip()


@dataclass(slots=True)
class Failure:
    """The answer to the next `times` requests whose method and path begin with `begin`."""

    begin: str
    answer: Answer
    times: int
    after: bool = False


@dataclass(slots=True)
class Hook:
    """A webhook of a repository."""

    id: int
    repository: str
    fields: dict[str, Any] = field(default_factory=dict)


class GitHubServer(RecordingServer):
    """`comments` holds the comments that were accepted, in order, `reactions` those that stand
    there, by their ids, and `hooks` the webhooks.
    """

    def __init__(self) -> None:
        super().__init__()
        self.comments: list[Comment] = []
        self.reactions: dict[int, str] = {}
        self.shown: list[str] = []
        self.hooks: list[Hook] = []
        self._failures: list[Failure] = []

    # ---- for tests

    def fail(
        self, begin: str, status: int, message: str = "", *, times: int = 1, **headers: str
    ) -> None:
        """Answer the next requests that begin so (`POST /repos`) with an error."""
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = _refusal(status, message)
        answer = Answer(status, answer.body, {**answer.headers, **names})
        self._failures.append(Failure(begin, answer, times))

    def lose(self, begin: str) -> None:
        """Do what the next request that begins so asks for, and answer nothing."""
        self._failures.append(Failure(begin, Answer(cut=True), 1, after=True))

    def texts(self) -> list[str]:
        """What people see of our comments."""
        return [comment.text for comment in self.comments if comment.author == BOT_ID]

    # ---- the server

    def answer(self, request: Recorded) -> Answer:
        if request.headers.get("authorization") not in (f"Bearer {TOKEN}", f"token {TOKEN}"):
            return _refusal(401, "Bad credentials")
        if not request.headers.get("user-agent"):
            return _refusal(403, "Request forbidden by administrative rules")
        begin = f"{request.method} {request.path}"
        with self.changed:
            failure = next(
                (each for each in self._failures if each.times and begin.startswith(each.begin)),
                None,
            )
            if failure:
                failure.times -= 1
                if not failure.after:
                    return failure.answer
        answer = self._answer(request)
        return failure.answer if failure else answer

    def _answer(self, request: Recorded) -> Answer:
        path, _, query = request.path.partition("?")
        if path == "/user":
            return json_answer({"id": BOT_ID, "login": BOT, "type": "User"})
        if match := _COMMENTS.fullmatch(path):
            place = f"{match[1]}/{match[2]}/{match[3]}"
            if request.method == "GET":
                return self._list_comments(place, parse_qs(query))
            return self._take_comment(place, int(match[4] or 0), request.json())
        if match := _REACTIONS.fullmatch(path):
            return self._react(request, match[1], int(match[2] or 0))
        if match := _HOOKS.fullmatch(path):
            return self._change_hooks(request, match[1], int(match[2] or 0))
        return _refusal(404, "Not Found")

    def _list_comments(self, place: str, query: dict[str, list[str]]) -> Answer:
        assert query["since"][0].endswith("Z")
        size = int(query["per_page"][0])
        first = size * (int(query["page"][0]) - 1)
        rows = [
            {"id": each.id, "body": each.body, "user": {"id": each.author}}
            for each in self.comments
            if each.place == place
        ]
        return json_answer(rows[first : first + size])

    def _take_comment(self, place: str, thread: int, body: dict[str, Any]) -> Answer:
        text = body["body"]
        if not text.strip() or len(text) > COMMENT_CHARACTERS or "forbidden" in text:
            return _refusal(422, "Validation Failed")
        with self.changed:
            comment = Comment(70_000 + len(self.comments), place, text, thread=thread)
            self.comments.append(comment)
            self.changed.notify_all()
        return json_answer({"id": comment.id}, 201)

    def _react(self, request: Recorded, path: str, id: int) -> Answer:
        with self.changed:
            self.changed.notify_all()
            if request.method == "DELETE":
                return Answer(204) if self.reactions.pop(id, "") else _refusal(404, "Not Found")
            if request.json() != {"content": "eyes"}:
                return _refusal(422, "Validation Failed")
            self.reactions[len(self.shown) + 1] = path
            self.shown.append(path)
            return json_answer({"id": len(self.shown), "content": "eyes"}, 201)

    def _change_hooks(self, request: Recorded, repository: str, id: int) -> Answer:
        own = [hook for hook in self.hooks if hook.repository == repository]
        if request.method == "GET":
            return json_answer([{"id": hook.id, **hook.fields} for hook in own])
        if request.method == "DELETE":
            self.hooks = [hook for hook in self.hooks if hook.id != id]
            return Answer(204)
        fields = request.json()
        fields["last_response"] = {"code": None, "status": "unused", "message": None}
        if request.method == "PATCH":
            [hook] = [hook for hook in own if hook.id == id]
            hook.fields |= fields
            return json_answer({"id": id, **hook.fields})
        if fields.pop("name") != "web":
            return _refusal(422, "Validation Failed")
        self.hooks.append(Hook(len(self.hooks) + 1, repository, fields))
        return json_answer({"id": len(self.hooks), **fields}, 201)


def _refusal(status: int, message: str) -> Answer:
    return json_answer({"message": message, "documentation_url": "https://docs.github.com"}, status)


PERSON_FIELDS = {"id": PERSON_ID, "login": PERSON, "type": "User"}
ISSUE = {
    "id": 5_000,
    "number": 7,
    "title": "It does not start",
    "body": "After the update it ends at once.",
    "user": PERSON_FIELDS,
    "created_at": "2026-11-28T10:00:00Z",
}


def make_payload(action: str, **fields: Any) -> dict[str, Any]:
    """A payload as GitHub sends it; `fields` take the place of its own."""
    repository = {"id": 1, "full_name": REPOSITORY}
    return {"action": action, "repository": repository, "sender": PERSON_FIELDS, **fields}


def make_comment(number: int = 1, text: str = "hello", **fields: Any) -> dict[str, Any]:
    """The payload of a comment; `fields` take the place of its own."""
    comment = {
        "id": 600_000 + number,
        "body": text,
        "user": PERSON_FIELDS,
        "created_at": f"2026-11-28T10:00:{number:02d}Z",
    }
    return make_payload("created", **{"issue": ISSUE, "comment": comment, **fields})


def deliver(event: str, payload: object, secret: str = SECRET) -> PlatformRequest:
    """The request by which GitHub sends a payload."""
    return sign(json.dumps(payload).encode(), event, secret)


def sign(body: bytes, event: str = "issue_comment", secret: str = SECRET) -> PlatformRequest:
    """The request by which GitHub sends a body."""
    digest = HMAC(secret.encode(), body, sha256).hexdigest()
    headers = {
        "x-hub-signature-256": f"sha256={digest}",
        "x-github-event": event,
        "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
        "content-type": "application/json",
    }
    return PlatformRequest(headers, body)
