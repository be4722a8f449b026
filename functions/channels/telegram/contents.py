"""A message's contents beside its text: files, a place, a contact, a poll, and what it answers or
passes on (https://core.telegram.org/bots/api#message).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from functions.channels.base import Attachment, make_unreadable
from functions.channels.visible_text import clean_text
from functions.events import QUOTE_LIMIT, Quote
from sigil.errors import one_line
from sigil.json_fields import (
    ID_LIMIT,
    Json,
    as_integer,
    as_mapping,
    as_number,
    as_sequence,
    as_string,
)

Message = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class TelegramBot:
    """The bot that an update is for: its id at Telegram, the name of its channel, and its agent."""

    id: int
    name: str = "telegram"
    agent: str = "main"


NAME_CHARACTERS = 100
OPTIONS_MOST = 20
"""Options of a poll, and tasks of a checklist; Telegram allows 12 and 30."""
_OPTION_CHARACTERS = 200
_FORWARDS = ("forward_origin", "forward_date")
_FILES = ("animation", "document", "audio", "video", "voice", "video_note", "sticker")
_UNREADABLE = (
    "story",
    "paid_media",
    "game",
    "invoice",
    "giveaway",
    "giveaway_winners",
    "gift",
    "unique_gift",
    "live_photo",
    "rich_message",
    "passport_data",
    "web_app_data",
    "users_shared",
    "chat_shared",
)
"""Kinds of messages of which nothing can be read and that have no file that we know of."""
_AROUND: Final = frozenset(
    "author_signature business_connection_id caption caption_entities chat date"
    " direct_messages_topic edit_date effect_id entities ephemeral_message_id external_reply"
    " forward_date forward_from forward_from_chat forward_from_message_id forward_origin"
    " forward_sender_name forward_signature from guest_bot_caller_chat guest_bot_caller_user"
    " guest_query_id has_media_spoiler has_protected_content is_automatic_forward is_from_offline"
    " is_paid_post is_topic_message link_preview_options media_group_id message_id"
    " message_thread_id paid_star_count quote receiver_user reply_markup"
    " reply_to_checklist_task_id reply_to_message reply_to_poll_option_id reply_to_story"
    " sender_boost_count sender_business_bot sender_chat sender_tag show_caption_above_media"
    " suggested_post_info text via_bot".split()
)
"""The fields that stand around what a message holds."""
_SERVICE: Final = frozenset(
    "boost_added channel_chat_created chat_background_set chat_owner_changed chat_owner_left"
    " checklist_tasks_added checklist_tasks_done community_chat_added community_chat_joined"
    " community_chat_removed connected_website delete_chat_photo direct_message_price_changed"
    " forum_topic_closed forum_topic_created forum_topic_edited forum_topic_reopened"
    " general_forum_topic_hidden general_forum_topic_unhidden gift_upgrade_sent"
    " giveaway_completed giveaway_created group_chat_created left_chat_member managed_bot_created"
    " message_auto_delete_timer_changed migrate_from_chat_id migrate_to_chat_id new_chat_members"
    " new_chat_photo new_chat_title paid_message_price_changed pinned_message poll_option_added"
    " poll_option_deleted proximity_alert_triggered refunded_payment successful_payment"
    " suggested_post_approval_failed suggested_post_approved suggested_post_declined"
    " suggested_post_paid suggested_post_refunded supergroup_chat_created video_chat_ended"
    " video_chat_participants_invited video_chat_scheduled video_chat_started"
    " write_access_allowed".split()
)
"""What Telegram itself says in a chat: nobody waits for an answer to it."""
_SIDE_LEAST: Final = 800
_SIDE_MOST: Final = 1_568
"""Pixels of the longest side: a model sees no more, and a smaller one may be a thumbnail."""
_FILE_ID = re.compile(r"[A-Za-z0-9_-]{1,256}")
_MIME = re.compile(r"[A-Za-z0-9.+-]{1,64}/[A-Za-z0-9.+-]{1,64}")


def raw_text(message: Message) -> str:
    """Return a message's text, or the caption of what it holds."""
    return as_string(message.get("text")) or as_string(message.get("caption"))


def is_foreign(message: Message) -> bool:
    """Return whether somebody else wrote what the sender of the message passes on."""
    return "via_bot" in message or any(field in message for field in _FORWARDS)


def list_quotes(message: Message, bot: TelegramBot) -> tuple[Quote, ...]:
    """Return what the message answers, what it passes on, and what it holds beside text and files.

    Only one step is followed: what the answered message answered itself is not read.
    """
    quotes = [*_read_reply(message, bot)]
    if is_foreign(message):
        quotes.append(_read_foreign(message, bot))
    quotes.extend(_list_holdings(message, bot))
    return tuple(quotes)


def list_attachments(message: Message) -> tuple[Attachment, ...]:
    """Return the files of a message, to be fetched later; nothing is downloaded here.

    What has no file and cannot be read is among them, without an id.
    """
    files = [_read_file("photo", _choose_size(message), "image/jpeg")]
    files += [_read_file(kind, as_mapping(message.get(kind))) for kind in _FILES]
    found: dict[str, Attachment] = {}
    for file in files:
        if file:
            # an animation comes a second time, as a document
            found.setdefault(file["file_id"], file)
    if found:
        return tuple(found.values())
    return tuple(make_unreadable(kind) for kind in _UNREADABLE if as_mapping(message.get(kind)))


def _choose_size(message: Message) -> Mapping[str, Json]:
    """Return the size of a photo that a model takes as it is: the largest that has to be made no
    smaller. Without one, the largest of all; a thumbnail is none.
    """
    sizes = [as_mapping(size) for size in as_sequence(message.get("photo"))]
    fitting = [size for size in sizes if _SIDE_LEAST <= _measure(size) <= _SIDE_MOST]
    return max(fitting or sizes, key=_measure, default={})


def _measure(size: Mapping[str, Json]) -> int:
    """Return the longest side of a photo, in pixels."""
    return max(as_integer(size.get(side), 0) or 0 for side in ("width", "height"))


def find_kind(message: Message) -> str:
    """Return the name of what a message holds beside its text, empty for nothing."""
    return next((name for name in message if name not in _AROUND), "")


def is_service(message: Message) -> bool:
    """Return whether Telegram itself tells of something in a chat."""
    return any(name in _SERVICE for name in message)


def _read_file(kind: str, fields: Mapping[str, Json], mime: str = "") -> Attachment | None:
    file_id = as_string(fields.get("file_id"))
    if not _FILE_ID.fullmatch(file_id):
        return None
    declared = as_string(fields.get("mime_type"))
    return {
        "kind": kind,
        "file_id": file_id,
        "name": one_line(as_string(fields.get("file_name")), 200),
        "size": as_integer(fields.get("file_size"), 0) or 0,
        "mime": declared if _MIME.fullmatch(declared) else mime,
    }


def _read_reply(message: Message, bot: TelegramBot) -> Iterator[Quote]:
    """Yield the message that is answered, or the passage of it that the sender marked."""
    original = as_mapping(message.get("reply_to_message"))
    # in a topic everything answers the topic's creation, which says nothing
    if "forum_topic_created" in original:
        original = {}
    # what is answered in another chat is here with its files: the sender may see it
    external = as_mapping(message.get("external_reply"))
    passage = as_mapping(message.get("quote"))
    author, by, ours = _read_author(original, bot)
    if external:
        author, by, ours = _read_origin(as_mapping(external.get("origin")), bot)
    answered = original or external
    # a sticker is read by its emoji
    files = [file for file in list_attachments(answered) if file["kind"] != "sticker"]
    marked = as_string(passage.get("text"))
    if marked and (external or passage.get("is_manual") is True):
        yield replace(_make_quote("passage", marked, author, by, ours), files=tuple(files))
    elif answered:
        text = _describe(answered, bot)
        if text or files:
            yield replace(_make_quote("reply", text, author, by, ours), files=tuple(files))
    elif as_mapping(message.get("reply_to_story")):
        yield _make_quote("reply", "[story]")


def _read_foreign(message: Message, bot: TelegramBot) -> Quote:
    """Return the text of a message whose sender did not write it, with where it comes from."""
    text = raw_text(message)
    if any(field in message for field in _FORWARDS):
        author, by, ours = _read_origin(as_mapping(message.get("forward_origin")), bot)
        if not author:
            # the fields before version 7.0 of the Bot API
            author, by, ours = _read_user(message.get("forward_from"), bot)
            author = author or as_string(message.get("forward_sender_name"))
            author = author or _read_title(message.get("forward_from_chat"))
        return _make_quote("forward", text, author, by, ours)
    author, by, ours = _read_user(message.get("via_bot"), bot)
    return _make_quote("bot", text, author, by, ours)


def _read_author(message: Message, bot: TelegramBot) -> tuple[str, str, bool]:
    """Return the name, the id and whether it is our own, of who wrote a message."""
    title = _read_title(message.get("sender_chat"))
    return (title, "", False) if title else _read_user(message.get("from"), bot)


def _read_origin(origin: Mapping[str, Json], bot: TelegramBot) -> tuple[str, str, bool]:
    """Return the same for the origin of a forward (https://core.telegram.org/bots/api#messageorigin)."""
    if as_mapping(origin.get("sender_user")):
        return _read_user(origin.get("sender_user"), bot)
    title = _read_title(origin.get("chat")) or _read_title(origin.get("sender_chat"))
    return title or as_string(origin.get("sender_user_name")), "", False


def _read_user(value: Json, bot: TelegramBot) -> tuple[str, str, bool]:
    user = as_mapping(value)
    number = as_integer(user.get("id"), 1)
    by = "" if number is None else f"{bot.name}:{number}"
    return read_name(user), by, number == bot.id


def read_name(user: Mapping[str, Json]) -> str:
    """Return the name that a person uses, on one line."""
    names = (as_string(user.get("first_name")), as_string(user.get("last_name")))
    return one_line(" ".join(filter(None, names)) or as_string(user.get("username")), 100)


def _read_title(value: Json) -> str:
    chat = as_mapping(value)
    return as_string(chat.get("title")) or as_string(chat.get("username"))


def _make_quote(
    relation: str, text: str, author: str = "", by: str = "", ours: bool = False
) -> Quote:
    # what is cut off anyway is not cleaned
    kept = clean_text(text[: 2 * QUOTE_LIMIT])[:QUOTE_LIMIT].strip()
    name = " ".join(one_line(clean_text(author), NAME_CHARACTERS).split())
    return Quote(relation, kept, name, by, ours, len(text))


def _describe(message: Message, bot: TelegramBot) -> str:
    """Return all that can be read of another message: its text, and a line for what it holds beside
    files.
    """
    lines = [f"[{held.relation}] {held.text}" for held in _list_holdings(message, bot)]
    return "\n".join(filter(None, (raw_text(message), *lines)))


def _list_holdings(message: Message, bot: TelegramBot) -> Iterator[Quote]:
    """Yield what the message holds that can be read, beside its text."""
    # a venue brings its place a second time
    fields = [field for field in _READERS if field in message]
    if "venue" in fields and "location" in fields:
        fields.remove("location")
    for field in fields:
        value = as_mapping(message.get(field))
        if value:
            person = as_integer(value.get("user_id"), 1) if field == "contact" else None
            known_as = f"{bot.name}:{person}" if person else ""
            text = "\n".join(filter(None, (_READERS[field](value), known_as)))
            yield _make_quote(field, text)


def _read_location(location: Mapping[str, Json]) -> str:
    latitude = as_number(location.get("latitude"))
    longitude = as_number(location.get("longitude"))
    return f"latitude {latitude:.6f}, longitude {longitude:.6f}"


def _read_venue(venue: Mapping[str, Json]) -> str:
    place = _read_location(as_mapping(venue.get("location")))
    title = as_string(venue.get("title"))
    return "\n".join(filter(None, (title, as_string(venue.get("address")), place)))


def _read_contact(contact: Mapping[str, Json]) -> str:
    return "\n".join(filter(None, (read_name(contact), as_string(contact.get("phone_number")))))


def _read_poll(poll: Mapping[str, Json]) -> str:
    lines = [as_string(poll.get("question"))]
    for option in map(as_mapping, as_sequence(poll.get("options"))[:OPTIONS_MOST]):
        votes = as_integer(option.get("voter_count"), 0)
        count = f": {votes}" if votes else ""
        lines.append(f"- {one_line(as_string(option.get('text')), _OPTION_CHARACTERS)}{count}")
    return "\n".join(lines)


def _read_checklist(checklist: Mapping[str, Json]) -> str:
    lines = [as_string(checklist.get("title"))]
    for task in map(as_mapping, as_sequence(checklist.get("tasks"))[:OPTIONS_MOST]):
        mark = "x" if as_integer(task.get("completion_date"), 1) else " "
        lines.append(f"- [{mark}] {one_line(as_string(task.get('text')), _OPTION_CHARACTERS)}")
    return "\n".join(lines)


def _read_dice(dice: Mapping[str, Json]) -> str:
    value = as_integer(dice.get("value"), -ID_LIMIT)
    emoji = one_line(as_string(dice.get("emoji")), 20)
    return emoji if value is None else f"{emoji} {value}".strip()


def _read_sticker(sticker: Mapping[str, Json]) -> str:
    return one_line(as_string(sticker.get("emoji")), 20)


_READERS: Final[Mapping[str, Callable[[Mapping[str, Json]], str]]] = {
    "sticker": _read_sticker,
    "location": _read_location,
    "venue": _read_venue,
    "contact": _read_contact,
    "poll": _read_poll,
    "checklist": _read_checklist,
    "dice": _read_dice,
}
"""What a message may hold, and how it is read."""
