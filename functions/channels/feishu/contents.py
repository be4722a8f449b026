"""A message's contents
(https://open.feishu.cn/document/server-docs/im-v1/message-content-description/message_content): its
text, its files, and what else it holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import orjson

from functions.channels.base import Attachment, make_unreadable
from functions.channels.visible_text import clean_text
from functions.events import QUOTE_LIMIT, TEXT_LIMIT, Quote
from sigil.errors import one_line
from sigil.json_fields import as_mapping, as_sequence, as_string
from sigil.protocol import Json

_MENTION_KEY = re.compile(r"@_(?:user_[0-9]{1,4}|all)", re.ASCII)
ID = re.compile(r"[A-Za-z0-9_-]{1,128}", re.ASCII)
NAME_CHARACTERS: Final = 100
_FILES: Final[Mapping[str, tuple[str, str]]] = {
    "image": ("photo", "image_key"),
    "file": ("document", "file_key"),
    "audio": ("voice", "file_key"),
    "media": ("video", "file_key"),
}
"""The kinds of messages that are a file: what we call it, and the field with its key."""
_ELEMENTS_MOST: Final = 2_000
_ELEMENT_DEPTH: Final = 12


@dataclass(frozen=True, slots=True)
class Mention:
    """Somebody whom a message names: where in its text, by which id, and how people read it."""

    key: str
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Contents:
    """What a message says and holds."""

    text: str = ""
    attachments: tuple[Attachment, ...] = ()
    quotes: tuple[Quote, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Return whether nothing can be read of it."""
        return not (self.text.strip() or self.attachments or self.quotes)


def read_mentions(message: Mapping[str, Json]) -> tuple[Mention, ...]:
    """Return whom the message names; somebody without an id, as everybody is, has an empty one."""
    found = []
    for mention in map(as_mapping, as_sequence(message.get("mentions"))[:100]):
        key = as_string(mention.get("key"))
        # an event has three ids of a person there, a message that is fetched has one
        given = mention.get("id")
        id = as_string(given) or as_string(as_mapping(given).get("open_id"))
        name = one_line(clean_text(as_string(mention.get("name"))), NAME_CHARACTERS)
        if _MENTION_KEY.fullmatch(key):
            found.append(Mention(key, id if ID.fullmatch(id) else "", name))
    return tuple(found)


def read_contents(
    kind: str, content: str, message_id: str, mentions: tuple[Mention, ...] = ()
) -> Contents:
    """Return what a message of a kind holds; `content` is JSON in a string."""
    try:
        fields = as_mapping(orjson.loads(content))
    except orjson.JSONDecodeError:
        fields = {}
    if kind == "text":
        return Contents(_fill_mentions(as_string(fields.get("text")), mentions))
    if kind == "post":
        return _read_post(fields, message_id, mentions)
    if kind in _FILES:
        called, field = _FILES[kind]
        file = _make_file(called, message_id, fields.get(field), fields.get("file_name"))
        return Contents(attachments=(file,))
    if kind in _READERS:
        relation, read = _READERS[kind]
        return Contents(quotes=(make_quote(relation, read(fields)),))
    if kind == "interactive":
        text = "\n".join(filter(None, _list_card_texts(fields)))
        if text.strip():
            return Contents(quotes=(make_quote("forward", text),))
    if kind == "system":
        return Contents()
    unreadable = make_unreadable(kind) if ID.fullmatch(kind) else make_unreadable()
    return Contents(attachments=(unreadable,))


def _fill_mentions(text: str, mentions: tuple[Mention, ...]) -> str:
    """Return the text with names in place of `@_user_1`."""
    text = text[: 2 * TEXT_LIMIT]
    # `@_user_1` is also the beginning of `@_user_10`
    for mention in sorted(mentions, key=lambda mention: -len(mention.key)):
        text = text.replace(mention.key, f"@{mention.name or mention.id}")
    return clean_text(text)[:TEXT_LIMIT]


def _read_post(
    fields: Mapping[str, Json], message_id: str, mentions: tuple[Mention, ...]
) -> Contents:
    """Return the text of a post as markdown, and its pictures and videos.

    A post may come in several languages, each under its name (`zh_cn`). Then the first that says
    something is read: Feishu does not tell which is its writer's.
    """
    if "content" not in fields and "title" not in fields:
        languages = map(as_mapping, fields.values())
        fields = next((each for each in languages if each.get("title") or each.get("content")), {})
    lines = [as_string(fields.get("title"))]
    files: dict[str, Attachment] = {}
    for paragraph in as_sequence(fields.get("content"))[:_ELEMENTS_MOST]:
        pieces = []
        for element in map(as_mapping, as_sequence(paragraph)[:_ELEMENTS_MOST]):
            tag = element.get("tag")
            if tag == "img":
                file = _make_file("photo", message_id, element.get("image_key"))
                files.setdefault(file["file_id"], file)
            elif tag == "media":
                file = _make_file("video", message_id, element.get("file_key"))
                files.setdefault(file["file_id"], file)
            pieces.append(_read_element(element))
        lines.append("".join(pieces))
    text = "\n".join(lines).strip("\n")
    return Contents(_fill_mentions(text, mentions), tuple(files.values()))


def _read_element(element: Mapping[str, Json]) -> str:
    text = as_string(element.get("text"))
    match element.get("tag"):
        case "a":
            href = as_string(element.get("href"))
            return text if href in ("", text) else f"[{text}]({href})"
        case "at":
            # the text's own `@_user_1`, or a name where there is none
            key = as_string(element.get("user_id"))
            return key if key.startswith("@") else f"@{as_string(element.get('user_name')) or key}"
        case "code_block":
            language = as_string(element.get("language")).lower()
            return f"```{language}\n{text}\n```"
        case "emotion":
            return f":{as_string(element.get('emoji_type'))}:"
        case "hr":
            return "---"
        case _:
            return text


def _make_file(kind: str, message_id: str, key: Json, name: Json = "") -> Attachment:
    """Return a file to be fetched later; by a key of no known form it cannot be."""
    return {
        "kind": kind,
        "file_id": f"{message_id}/{key}" if ID.fullmatch(as_string(key)) else "",
        "name": one_line(clean_text(as_string(name)), 200),
        "size": 0,
        "mime": "image/jpeg" if kind == "photo" else "",
    }


def make_quote(relation: str, text: str, by: str = "", *, ours: bool = False) -> Quote:
    """Return what a message holds, or answers, as a quote."""
    # what is cut off anyway is not cleaned
    kept = clean_text(text[: 2 * QUOTE_LIMIT])[:QUOTE_LIMIT].strip()
    return Quote(relation, kept, by=by, ours=ours, length=len(text))


def _read_location(fields: Mapping[str, Json]) -> str:
    place = f"latitude {fields.get('latitude')}, longitude {fields.get('longitude')}"
    return "\n".join(filter(None, (as_string(fields.get("name")), one_line(place, 100))))


def _read_vote(fields: Mapping[str, Json]) -> str:
    options = [f"- {one_line(as_string(each), 200)}" for each in as_sequence(fields.get("options"))]
    return "\n".join([as_string(fields.get("topic")), *options[:20]])


def _read_sticker(fields: Mapping[str, Json]) -> str:
    return ""


def _read_person(fields: Mapping[str, Json]) -> str:
    id = as_string(fields.get("user_id"))
    return id if ID.fullmatch(id) else ""


_READERS: Final = {
    "location": ("location", _read_location),
    "vote": ("poll", _read_vote),
    "sticker": ("sticker", _read_sticker),
    "share_user": ("contact", _read_person),
}
"""The kinds of messages without a text of their own, and how they are read."""


def _list_card_texts(value: Json, depth: int = 0) -> Iterator[str]:
    """Yield the texts of a card, which is a tree of elements."""
    if depth > _ELEMENT_DEPTH:
        return
    if isinstance(value, list):
        for each in value[:_ELEMENTS_MOST]:
            yield from _list_card_texts(each, depth + 1)
    elif isinstance(value, dict):
        for name in ("title", "text", "content"):
            if isinstance(value.get(name), str):
                yield as_string(value[name])
        for each in value.values():
            if isinstance(each, dict | list):
                yield from _list_card_texts(each, depth + 1)
