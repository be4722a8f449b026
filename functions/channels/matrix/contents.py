"""What a message says and holds
(https://spec.matrix.org/latest/client-server-api/#mroommessage-msgtypes).

It is read tolerantly: a field that is odd counts as absent.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

from functions.channels.base import Attachment, make_unreadable
from functions.channels.matrix.identifiers import FILE, MESSAGE, USER, find_id
from functions.channels.visible_text import clean_text
from functions.events import QUOTE_LIMIT, TEXT_LIMIT, Quote
from sigil.errors import one_line
from sigil.json_fields import as_integer, as_mapping, as_sequence, as_string
from sigil.protocol import Json

Content = Mapping[str, Json]
MENTIONS_MOST: Final = 50
_TEXTS: Final = ("m.text", "m.emote")
"""The kinds of messages that people write; a notice is what a bot writes."""
_WORDLESS: Final = ("m.sticker", "m.notice", "m.location")
"""What a sticker and a place are stands elsewhere, and a notice is no person's."""
_FILES: Final = {
    "m.image": "photo",
    "m.file": "document",
    "m.audio": "audio",
    "m.video": "video",
    "m.sticker": "sticker",
}
POLLS: Final = ("m.poll.start", "org.matrix.msc3381.poll.start")
"""The kinds of events that begin a poll; the second one was there before the standard."""
UNREADABLE: Final = ("m.call.invite", "m.key.verification.request")
"""Kinds of which nothing can be read that stands for what a person wants."""
_ANSWERS_MOST: Final = 20
_VOICE: Final = "org.matrix.msc3245.voice"
_MIME: Final = re.compile(r"[A-Za-z0-9.+-]{1,64}/[A-Za-z0-9.+-]{1,64}")
_PILL: Final = re.compile(
    r'<a href="https://matrix\.to/#/((?:@|%40)[^"<>]{1,600})"[^<>]{0,200}>([^<>]{0,300})</a>'
)
_HTML_CHARACTERS: Final = 20_000
_END: Final = r"(?![\w-]|:\S)"
"""The end of a name; a colon with more behind it belongs to somebody's id."""
_FALLBACK: Final = re.compile(r"> <@[^\n]*\n(?:>[^\n]*\n)*\n?")
"""The message that is answered, which older clients repeat above the answer."""


@dataclass(frozen=True, slots=True)
class Mentions:
    """Whom a message names: their ids, and how the text calls them where it links to them.

    `declared`: the client says whom the message is to notify, so that a name in its text is none of
    them.
    """

    ids: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    declared: bool = False


@dataclass(frozen=True, slots=True)
class Relation:
    """What a message belongs to: the `thread` that began with a message, and the message that it
    `answers`; each is empty where there is none. `edits` is the older message that it replaces.
    """

    thread: str = ""
    answers: str = ""
    edits: str = ""


def read_relation(content: Content) -> Relation:
    """Return what a message belongs to."""
    relation = as_mapping(content.get("m.relates_to"))
    kind = relation.get("rel_type")
    if kind == "m.replace":
        return Relation(edits=find_id(MESSAGE, relation.get("event_id")) or "?")
    answers = find_id(MESSAGE, as_mapping(relation.get("m.in_reply_to")).get("event_id"))
    if kind != "m.thread":
        return Relation(answers=answers)
    thread = find_id(MESSAGE, relation.get("event_id"))
    # a client without threads shows it as an answer to the thread's last message
    return Relation(thread, "" if relation.get("is_falling_back") is True else answers)


def read_mentions(content: Content) -> Mentions:
    """Return whom a message names."""
    source = as_string(content.get("formatted_body"))[:_HTML_CHARACTERS]
    labels: dict[str, str] = {}
    for match in _PILL.finditer(source):
        id = find_id(USER, unquote(html.unescape(match[1])))
        if id and len(labels) < MENTIONS_MOST:
            labels.setdefault(id, html.unescape(match[2]))
    if "m.mentions" not in content:
        return Mentions(tuple(labels), labels)
    declared = as_sequence(as_mapping(content["m.mentions"]).get("user_ids"))[:MENTIONS_MOST]
    ids = filter(None, (find_id(USER, id) for id in declared))
    return Mentions(tuple(dict.fromkeys((*ids, *labels))), labels, declared=True)


def read_text(kind: str, content: Content) -> str:
    """Return what somebody wrote, or the words below their picture. A kind that we do not know has
    words for those who do not (https://spec.matrix.org/latest/client-server-api/#mroommessage).
    """
    if kind in (*_WORDLESS, *POLLS, *UNREADABLE):
        return ""
    body = (as_string(content.get("body")) or _read_block(content))[: 2 * TEXT_LIMIT]
    if kind in _FILES:
        # the body is the file's name, unless that stands elsewhere
        name = as_string(content.get("filename"))
        body = body if name and name != body else ""
    if read_relation(content).answers:
        body = _FALLBACK.sub("", body, count=1) if body.startswith("> <@") else body
    return clean_text(body)[:TEXT_LIMIT]


def list_attachments(kind: str, content: Content) -> tuple[Attachment, ...]:
    """Return the file of a message, to be fetched later; nothing is downloaded here.

    A file that came encrypted can be seen and not read.
    """
    if kind in UNREADABLE:
        return (make_unreadable(kind),)
    if kind not in _FILES:
        return ()
    info = as_mapping(content.get("info"))
    mime = as_string(info.get("mimetype"))
    name = as_string(content.get("filename")) or as_string(content.get("body"))
    return (
        {
            "kind": "voice" if kind == "m.audio" and _VOICE in content else _FILES[kind],
            "file_id": find_id(FILE, content.get("url")),
            "name": one_line(clean_text(name), 200),
            "size": as_integer(info.get("size"), 0) or 0,
            "mime": mime if _MIME.fullmatch(mime) else "",
        },
    )


def list_holdings(kind: str, content: Content) -> tuple[Quote, ...]:
    """Return what a message holds beside text and files: a place, or a poll."""
    if kind in POLLS:
        return (make_quote("poll", _read_poll(content)),)
    if kind != "m.location":
        return ()
    words = (as_string(content.get("body")), as_string(content.get("geo_uri")))
    return (make_quote("location", "\n".join(filter(None, words))),)


def _read_poll(content: Content) -> str:
    """Return the question of a poll and its answers."""
    poll = as_mapping(content.get("m.poll")) or as_mapping(
        content.get("org.matrix.msc3381.poll.start")
    )
    lines = [one_line(_read_block(as_mapping(poll.get("question"))), 300)]
    for answer in map(as_mapping, as_sequence(poll.get("answers"))[:_ANSWERS_MOST]):
        lines.append(f"- {one_line(_read_block(answer), 200)}")
    return "\n".join(filter(None, lines)) or one_line(_read_block(content), 300)


def _read_block(content: Content) -> str:
    """Return the plain text of what may come in several forms
    (https://spec.matrix.org/latest/client-server-api/#mtext).
    """
    for form in map(as_mapping, as_sequence(content.get("m.text"))[:10]):
        if form.get("mimetype", "text/plain") == "text/plain":
            return as_string(form.get("body"))
    return as_string(content.get("org.matrix.msc1767.text"))


def make_quote(relation: str, text: str, by: str = "", *, ours: bool = False) -> Quote:
    """Return a quote of what stands elsewhere."""
    text = clean_text(text)
    return Quote(relation, text[:QUOTE_LIMIT], by=by, ours=ours, length=len(text))


def strip_name(text: str, names: Iterable[str]) -> str:
    """Return a text without the name that it begins with, if it is one of these."""
    for name in filter(None, names):
        match = re.match(rf"\s*@?{re.escape(name)}{_END}[\s:,]*", text, re.IGNORECASE)
        if match:
            return text[match.end() :]
    return text


def begins_with_name(text: str, names: Iterable[str]) -> bool:
    """Return whether a text is addressed as people do by hand: `name: …`, or `@name`."""
    for name in filter(None, names):
        escaped = re.escape(name)
        form = rf"\s*(?:@{escaped}{_END}|{escaped}\s*[:,](?!\S))"
        if name.startswith("@"):
            form = rf"\s*{escaped}{_END}"
        if re.match(form, text, re.IGNORECASE):
            return True
    return False


def holds_name(text: str, name: str) -> bool:
    """Return whether a name stands in a text as a word."""
    return bool(name) and bool(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE))
