"""GitHub's events are read as ours
(https://docs.github.com/en/webhooks/webhook-events-and-payloads).

They are read tolerantly: a field that is odd counts as absent. Only what people write is an event,
once: new comments, new issues and pull requests, and reviews. Edits, deletions, labels and what
other bots write are none. A comment is known by its id, so that a delivery that is sent again, or
that several webhooks send, is the same event.

An issue or a pull request has the session `github:OWNER.REPOSITORY.NUMBER`. Nothing there is
private.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from functions.channels.base import Received
from functions.channels.github.places import Answered, Issue
from functions.channels.visible_text import clean_text
from functions.events import QUOTE_LIMIT, TEXT_LIMIT, Event, Quote, Sender, order_of
from functions.overheard import make_overheard
from sigil.errors import one_line
from sigil.json_fields import as_integer, as_mapping, as_string
from sigil.protocol import Json

Fields = Mapping[str, Json]
EVENTS: Final = (
    "issue_comment",
    "issues",
    "pull_request",
    "pull_request_review",
    "pull_request_review_comment",
)
"""What a webhook has to send us."""
_QUIET: Final[Mapping[str, tuple[str, ...]]] = {
    "issue_comment": ("deleted", "edited", "pinned", "unpinned"),
    "issues": (
        *("assigned", "closed", "deleted", "demilestoned", "edited", "field_added"),
        *("field_removed", "labeled", "locked", "milestoned", "pinned", "reopened"),
        *("transferred", "typed", "unassigned", "unlabeled", "unlocked", "unpinned", "untyped"),
    ),
    "ping": ("",),
    "pull_request": (
        *("assigned", "auto_merge_disabled", "auto_merge_enabled", "closed"),
        *("converted_to_draft", "demilestoned", "dequeued", "edited", "enqueued", "labeled"),
        *("locked", "milestoned", "ready_for_review", "reopened", "review_request_removed"),
        *("review_requested", "synchronize", "unassigned", "unlabeled", "unlocked"),
    ),
    "pull_request_review": ("dismissed", "edited"),
    "pull_request_review_comment": ("deleted", "edited"),
}
"""The actions of what a webhook sends us in which nobody says anything new."""
_WRITTEN: Final = (
    ("issue_comment", "created"),
    ("issues", "opened"),
    ("pull_request", "opened"),
    ("pull_request_review", "submitted"),
    ("pull_request_review_comment", "created"),
)
"""The events with which somebody says something, and their actions."""
MARKER: Final = "<!-- uncaged:"
"""Our own comments end with this; nobody sees it."""
TITLE_CHARACTERS: Final = 300
DESCRIPTION_CHARACTERS: Final = 500
MENTIONS_MOST: Final = 50
_LOGIN: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,62})(?:\[bot\])?", re.ASCII)
_MENTION: Final = re.compile(r"(?<![A-Za-z0-9_@/.`-])@([A-Za-z0-9][A-Za-z0-9_-]{0,62})", re.ASCII)
_NOT_SAID: Final = re.compile(
    r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1|\Z)|<!--.*?(?:-->|\Z)|^ {0,3}>.*?$"
    r"|(?<!`)(`++)[^`\n]++\2(?!`)",
    re.DOTALL | re.MULTILINE,
)
"""Code, comments of HTML, and quotes: whoever is named there is not addressed."""
_COMMAND: Final = re.compile(r"\s*/uncaged(?![\w/-])[ \t]*", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class GitHubBot:
    """The bot whose events are read: the channel's `name` (`github`), the `agent` whose sessions
    its chats are, and the repositories where it answers, in lower case.
    """

    name: str
    agent: str
    repositories: frozenset[str]


def read_payload(kind: str, payload: Fields, bot: GitHubBot) -> Received:
    """Return what a delivery of a kind brings. Those whom it names are its `addressed` until we
    know our own name.
    """
    action = as_string(payload.get("action"))
    name = f"{kind}.{action}" if action else kind
    if (kind, action) not in _WRITTEN:
        return Received(ignored=() if action in _QUIET.get(kind, ()) else (name or "event",))
    found = _read_event(kind, payload, bot)
    if found is None:
        return Received(ignored=_name_unread(name, payload, bot))
    if not found.text.strip():
        return Received()  # such as a review that only approves
    command = _read_command(found.text)
    if command is not None:
        return Received((replace(found, text=command),))
    named = find_mentions(found.text)
    if named:
        return Received((replace(found, addressed=named),))
    return Received(overheard=(make_overheard(found),))


def _name_unread(name: str, payload: Fields, bot: GitHubBot) -> tuple[str, ...]:
    """Return the kind of what brings no event of a person's, none for what bots write."""
    repository = as_string(as_mapping(payload.get("repository")).get("full_name"))
    if repository and repository.lower() not in bot.repositories:
        return (f"repository {repository}",)
    is_person = _read_sender(payload.get("sender"), bot) is not None
    written = [as_mapping(payload.get(field)) for field in ("comment", "review", "issue")]
    is_ours = any(MARKER in as_string(each.get("body")) for each in written)
    return (name,) if is_person and not is_ours else ()


def find_mentions(text: str) -> tuple[str, ...]:
    """Return whom a text addresses by `@name`, in lower case and each once."""
    said = _NOT_SAID.sub(" ", text)
    names = (match[1].lower() for match in _MENTION.finditer(said))
    return tuple(dict.fromkeys(names))[:MENTIONS_MOST]


def strip_mention(text: str, login: str) -> str:
    """Return a text without the name that it begins with."""
    match = _MENTION.match(text.lstrip())
    if match is None or match[1].lower() != login.lower():
        return text
    return text.lstrip()[match.end() :].lstrip(" \t\n:,")


def _read_event(kind: str, payload: Fields, bot: GitHubBot) -> Event | None:
    """Return the event of something that a person wrote; None when it is none."""
    action = payload.get("action")
    issue = as_mapping(payload.get("pull_request" if kind.startswith("pull") else "issue"))
    match kind, action:
        case "issue_comment" | "pull_request_review_comment", "created":
            written = as_mapping(payload.get("comment"))
        case "pull_request_review", "submitted":
            written = as_mapping(payload.get("review"))
        case "issues" | "pull_request", "opened":
            written = issue
        case _:
            return None
    repository = as_string(as_mapping(payload.get("repository")).get("full_name"))
    number = as_integer(issue.get("number"), 1)
    id = as_integer(written.get("id"), 1)
    sender = _read_sender(payload.get("sender"), bot)
    if repository.lower() not in bot.repositories or not number or not id or sender is None:
        return None
    place = Issue(repository, number)
    body = as_string(written.get("body"))
    if MARKER in body:
        return None
    text = clean_text(body)
    if written is issue:
        text = f"{clean_text(as_string(issue.get('title')))}\n\n{text}"
    answered = Answered("issue")
    if kind == "issue_comment":
        answered = Answered("comment", id)
    elif kind == "pull_request_review_comment":
        # a thread is answered by its first comment alone
        answered = Answered("review", id, as_integer(written.get("in_reply_to_id"), 1) or id)
    quotes = _list_quotes(issue, written, bot)
    at = _read_time(written.get("submitted_at") or written.get("created_at"))
    return Event(
        id=f"{bot.name}:{kind}:{id}",
        kind="message",
        agent=bot.agent,
        session=place.name_session(bot.name),
        sender=sender,
        text=text[:TEXT_LIMIT],
        at=at,
        order=order_of(at, id),
        reply_to=answered.write(),
        quotes=quotes,
    )


def _read_sender(value: Json, bot: GitHubBot) -> Sender | None:
    """Return the person who wrote, None for bots and apps."""
    fields = as_mapping(value)
    id = as_integer(fields.get("id"), 1)
    login = as_string(fields.get("login"))
    if not id or fields.get("type") != "User" or not _LOGIN.fullmatch(login):
        return None
    return Sender(f"{bot.name}:{id}", login)


def _list_quotes(issue: Fields, written: Fields, bot: GitHubBot) -> tuple[Quote, ...]:
    """Return what a comment is about: the beginning of the issue, and in a review the lines of code
    above it.
    """
    if written is issue:
        return ()
    title = one_line(clean_text(as_string(issue.get("title"))), TITLE_CHARACTERS)
    description = clean_text(as_string(issue.get("body")))
    text = f"{title}\n\n{description}".strip()
    author = _read_sender(issue.get("user"), bot) or Sender("")
    shown = text[: TITLE_CHARACTERS + DESCRIPTION_CHARACTERS]
    quotes = [Quote("reply", shown, author.name, author.id, length=len(text))]
    lines = clean_text(as_string(written.get("diff_hunk")))
    if lines:
        # the comment stands below the last of them
        file = one_line(as_string(written.get("path")), 300)
        passage = f"{file}\n{lines[-(QUOTE_LIMIT - len(file) - 1) :]}"
        quotes.append(Quote("passage", passage, length=len(file) + 1 + len(lines)))
    return tuple(quotes)


def _read_command(text: str) -> str | None:
    """Return what `/uncaged …` says: `/uncaged status` is our command `/status`, and
    `/uncaged what is new?` a message. None for a text that does not begin so.
    """
    from functions.texts.en import TEXTS

    match = _COMMAND.match(text)
    if match is None:
        return None
    rest = text[match.end() :].strip().lstrip("/") or "help"
    word = re.match(r"[A-Za-z]+", rest)
    if word and word[0].lower() in TEXTS.meanings:
        return f"/{word[0].lower()}{rest[word.end() :]}"
    return rest


def _read_time(value: Json) -> float:
    """Return the seconds of a time such as `2026-11-28T10:00:00Z`."""
    try:
        return max(datetime.fromisoformat(as_string(value)).timestamp(), 0.0)
    except (ValueError, OverflowError, OSError):
        return 0.0
