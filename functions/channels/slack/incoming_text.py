"""The text of a message as Slack writes it: `<@U1>`, `<https://example.com|label>`, `&amp;`
(https://docs.slack.dev/messaging/formatting-message-text#retrieving-messages).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from functions.channels.visible_text import clean_text
from functions.events import TEXT_LIMIT

MENTION = re.compile(r"<@([UW][A-Z0-9]{1,30})(?:\|[^<>]{0,200})?>", re.ASCII)
"""A person or a bot who is named; the name is no longer written behind the id by Slack itself."""
CHANNEL = re.compile(r"<#([CG][A-Z0-9]{1,30})\|?>", re.ASCII)
"""A channel without its name, which Slack seldom writes behind the id any more."""
_DATE = re.compile(r"!date\^([0-9]{1,11})\^.*", re.ASCII | re.DOTALL)
_TOKEN = re.compile(r"<([^<>]{1,4000})>")
_SPACES = " \t\n\u00a0:,"


def find_mentions(text: str) -> tuple[str, ...]:
    """Return the ids of those whom a message names, each once."""
    return tuple(dict.fromkeys(MENTION.findall(text)))


def read_text(text: str) -> str:
    """Return a message as its sender typed it, but for `<@U1>` and `<#C1>`, which stay so until
    somebody knows the names.
    """
    text = _TOKEN.sub(_read_token, text[: 2 * TEXT_LIMIT])
    text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return clean_text(text)[:TEXT_LIMIT]


def strip_mention(text: str, id: str) -> str:
    """Return a text without the mention of `id` that it begins with."""
    match = MENTION.match(text.lstrip())
    if match is None or match[1] != id:
        return text
    return text.lstrip()[match.end() :].lstrip(_SPACES)


def name_mentions(text: str, names: Mapping[str, str]) -> str:
    """Return a text with the names of those whom it mentions, by their ids."""
    return MENTION.sub(lambda match: f"@{names.get(match[1], match[1])}", text)


def find_channels(text: str) -> tuple[str, ...]:
    """Return the ids of the channels of which a message does not tell the names, each once."""
    return tuple(dict.fromkeys(CHANNEL.findall(text)))


def name_channels(text: str, names: Mapping[str, str]) -> str:
    """Return a text with the names of channels, by their ids; one without a name is `#channel`."""
    return CHANNEL.sub(lambda match: f"#{names.get(match[1]) or 'channel'}", text)


def _read_token(match: re.Match[str]) -> str:
    """Return what a person sees of `<…>`."""
    if MENTION.fullmatch(match[0]) or CHANNEL.fullmatch(match[0]):
        return match[0]
    target, _, label = match[1].partition("|")
    if target[:1] in "#@!":
        # a channel, a group of people, everybody, a date
        mark = "#" if target.startswith("#") else "@"
        date = _DATE.fullmatch(target)
        if date:
            return label or f"{datetime.fromtimestamp(int(date[1]), UTC):%Y-%m-%d %H:%M} UTC"
        name = "group" if target.startswith("!subteam^") else target[1:].partition("^")[0]
        name = label or name
        return name if name.startswith(mark) else f"{mark}{name}"
    bare = re.sub(r"\A(?:https?://|mailto:|tel:)", "", target).rstrip("/")
    if label.rstrip("/") in ("", target, bare):
        return label or target  # what was typed, which Slack made a link of
    return f"{label} ({target})"
