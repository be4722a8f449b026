"""What Slack sends is read as events: messages of the Events API, slash commands, presses of
buttons (https://docs.slack.dev/apis/events-api).

It is read tolerantly: a field that is odd counts as absent. Messages of people are events, what
they change in them and that they are deleted, presses of our own buttons, commands, and that
somebody took us into a channel. Reactions, other bots and service messages are none. Of a kind of
message that we do not know we only say that we cannot read it.

A mention comes twice where an app hears both `app_mention` and the channel's messages, in any
order. So a message is known by its channel and its time, which no other message there has.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from functions.channels.base import Received, make_unreadable
from functions.channels.slack.attachments import list_attachments
from functions.channels.slack.incoming_text import find_mentions, read_text, strip_mention
from functions.channels.slack.quotes import USER, list_forwards, quote_forward
from functions.channels.slack.reply_address import SlackReplyAddress
from functions.channels.typed_commands import as_command
from functions.events import PRESSED, Event, Sender, order_of
from functions.overheard import make_overheard
from sigil.json_fields import as_mapping, as_sequence, as_string
from sigil.protocol import Json

Payload = Mapping[str, Json]
CHANNEL = re.compile(r"[CDG][A-Z0-9]{1,30}", re.ASCII)
TIME = re.compile(r"([0-9]{1,12})\.([0-9]{1,9})", re.ASCII)
"""The time of a message, which is its id in its channel."""
_TOMBSTONE = "tombstone"
"""The subtype of what is left of a deleted message with a thread below it."""
_TEAM = re.compile(r"[TE][A-Z0-9]{1,30}", re.ASCII)
_TRIGGER = re.compile(r"[A-Za-z0-9.]{1,100}", re.ASCII)
_OF_PEOPLE = ("", "file_share", "me_message", "thread_broadcast")
"""The subtypes of messages that people wrote."""
_QUIET_MESSAGES = frozenset(
    "assistant_app_thread bot_add bot_message bot_remove channel_archive"
    " channel_convert_to_private channel_join channel_leave channel_name"
    " channel_posting_permissions channel_purpose channel_topic channel_unarchive"
    " ekm_access_denied group_archive group_join group_leave group_name group_purpose"
    " group_topic group_unarchive message_replied pinned_item reminder_add tombstone"
    " unpinned_item".split()
)
"""The subtypes of messages to which nobody expects an answer: of bots, and of Slack's own."""
_QUIET_EVENTS = frozenset(
    "file_change file_created file_deleted file_public file_shared file_unshared"
    " member_joined_channel member_left_channel message_metadata_deleted"
    " message_metadata_posted message_metadata_updated reaction_added reaction_removed"
    " user_typing".split()
)
"""Events to which nobody expects an answer. A file that was shared comes with its message."""
_CHANGES = ("message_changed", "message_deleted")
"""The subtypes of what becomes of a message."""
_OWN = "USLACKBOT"


@dataclass(frozen=True, slots=True)
class Bot:
    """Who reads: the channel's `name` (`slack`), and the `agent` whose sessions its chats are."""

    name: str
    agent: str


def read_payload(payload: Payload, bot: Bot) -> Received:
    """Return what the Events API tells of: a message for us, or what people of a channel said to
    nobody in particular.
    """
    event = as_mapping(payload.get("event"))
    kind = as_string(event.get("type"))
    if payload.get("type") != "event_callback":
        return Received(ignored=(as_string(payload.get("type")) or "payload",))
    if kind == "member_joined_channel":
        return Received(tuple(_read_arrival(payload, event, bot)))
    if kind not in ("message", "app_mention"):
        return Received(ignored=() if kind in _QUIET_EVENTS else (kind or "event",))
    subtype = as_string(event.get("subtype"))
    if subtype in _QUIET_MESSAGES:
        return Received()
    if subtype in _CHANGES or "edited" in event:
        return _read_change(payload, event, bot)
    return _read_new(payload, event, bot)


def _read_new(payload: Payload, event: Payload, bot: Bot) -> Received:
    """Return what a message brings that is new."""
    kind = as_string(event.get("type"))
    subtype = as_string(event.get("subtype"))
    name = f"{kind}.{subtype}" if subtype else kind
    found = _read_message(payload, event, bot)
    if found is None:
        return Received(ignored=() if _is_quiet(payload, event) else (name,))
    if not (found.text.strip() or found.attachments or found.quotes):
        has_more = any(event.get(field) for field in ("attachments", "blocks", "files"))
        if not found.private or not (has_more or subtype):
            return Received(ignored=(name,))
        found = replace(found, attachments=(make_unreadable(subtype),))
    elif subtype not in _OF_PEOPLE and not found.private:
        return Received(ignored=(name,))
    if found.is_overheard:
        return Received(overheard=(make_overheard(found),))
    return Received((found,))


def _is_quiet(payload: Payload, event: Payload) -> bool:
    """Return whether a message is our own, another bot's, or nothing that people see."""
    user = event.get("user")
    is_bot = bool(event.get("bot_id")) or user in (_OWN, _find_own_id(payload))
    return is_bot or bool(event.get("hidden"))


def read_command(form: Mapping[str, str], sent_at: int, bot: Bot) -> Received:
    """Return the event of a slash command: `/uncaged status` is our command `/status`, and
    `/uncaged what is new?` a message.

    A command has no time of its own; `sent_at` is that of its request. One that was typed between
    two people is answered where its sender is alone with us.
    """
    channel = form.get("channel_id", "")
    trigger = form.get("trigger_id", "")
    sender = _read_sender(form.get("user_id"), form.get("team_id"), bot)
    if sender is None or not CHANNEL.fullmatch(channel) or not _TRIGGER.fullmatch(trigger):
        return Received(ignored=("slash_commands",))
    typed = read_text(form.get("text", "")).strip()
    own = form.get("command", "").lstrip("/").lower()
    text = as_command(f"!{own} {typed}")
    if text.startswith("!"):
        text = as_command("!" + (typed.lstrip("/!") or "help"))
        if text.startswith("!"):
            text = typed
    private = channel.startswith("D")
    at = float(sent_at)
    to = SlackReplyAddress()
    if not private:
        to = SlackReplyAddress.of_url(channel, form.get("response_url", ""), at)
    event = Event(
        id=f"{bot.name}:{channel}:{trigger}",
        kind="message",
        agent=bot.agent,
        session=sender.id if private else f"{bot.name}:{channel}",
        sender=sender,
        text=text.strip(),
        at=at,
        order=order_of(at, 0),
        reply_to=to.encode(),
        private=private,
    )
    return Received((event,))


def read_press(payload: Payload, bot: Bot) -> Received:
    """Return the event of a press of one of our buttons: the command that the button sends, by the
    person who pressed it, in the chat where it stands. Any other press is none.
    """
    actions = as_sequence(payload.get("actions"))
    action = as_mapping(actions[0] if actions else None)
    command = as_string(action.get("value"))
    pressed = TIME.fullmatch(as_string(action.get("action_ts")))
    user = as_mapping(payload.get("user"))
    team = as_string(user.get("team_id")) or as_mapping(payload.get("team")).get("id")
    sender = _read_sender(user.get("id"), team, bot)
    container = as_mapping(payload.get("container"))
    channel = as_string(as_mapping(payload.get("channel")).get("id"))
    channel = channel or as_string(container.get("channel_id"))
    message = as_mapping(payload.get("message"))
    if (
        payload.get("type") != "block_actions"
        or not PRESSED.fullmatch(command)
        or pressed is None
        or sender is None
        or not CHANNEL.fullmatch(channel)
    ):
        return Received(ignored=(as_string(payload.get("type")) or "interactive",))
    thread = as_string(message.get("thread_ts")) or as_string(container.get("thread_ts"))
    at = float(pressed[0])
    private = channel.startswith("D")
    event = Event(
        id=f"{bot.name}:{channel}:press-{pressed[0]}",
        kind="message",
        agent=bot.agent,
        session=_name_session(bot, channel, thread, sender),
        sender=sender,
        text=command,
        at=at,
        order=_order_of(pressed),
        reply_to=SlackReplyAddress(channel).encode(),
        private=private,
    )
    return Received((event,))


def _read_change(payload: Payload, event: Payload, bot: Bot) -> Received:
    """Return what brings a change of a person's message, or that it was deleted.

    A message changes by what Slack itself adds to it as well, such as the preview of a link: that
    is none. A mention that was added comes as a changed message, and as a mention too.
    """
    from functions.channels.message_changes import receive_changed, receive_deletion

    subtype = event.get("subtype")
    before = as_mapping(event.get("previous_message"))
    message = as_mapping(event.get("message")) if subtype == "message_changed" else event
    if subtype == "message_deleted" or message.get("subtype") == _TOMBSTONE:
        gone = _read_message(payload, _place(before, event), bot)
        at = TIME.fullmatch(as_string(event.get("ts")))
        return receive_deletion([gone] if gone else [], float(at[0]) if at else 0.0)
    edited = as_mapping(message.get("edited"))
    time = TIME.fullmatch(as_string(edited.get("ts")))
    if time is None or edited.get("user") not in (None, message.get("user")):
        return Received()
    if before and _list_words(before) == _list_words(message):
        return Received()
    return receive_changed(_read_new(payload, _place(message, event), bot), float(time[0]))


def _place(message: Payload, event: Payload) -> Payload:
    """Return a message in an event as it came once, in its channel."""
    fields = {name: message[name] for name in message if name not in ("edited", "hidden")}
    return {**fields, "channel": event.get("channel")}


def _list_words(message: Payload) -> tuple[object, ...]:
    """Return the text of a message and the ids of its files."""
    files = map(as_mapping, as_sequence(message.get("files")))
    return message.get("text"), *(file.get("id") for file in files)


def _read_message(payload: Payload, event: Payload, bot: Bot) -> Event | None:
    """Return the event of a person's message, whomever it addresses; None when it is none."""
    time = TIME.fullmatch(as_string(event.get("ts")))
    channel = as_string(event.get("channel"))
    own = _find_own_id(payload)
    team = event.get("user_team") or event.get("team") or payload.get("team_id")
    sender = _read_sender(event.get("user"), team, bot)
    if (
        time is None
        or sender is None
        or sender.name == own
        or not CHANNEL.fullmatch(channel)
        or event.get("bot_id")
        or event.get("hidden")
        or "edited" in event
    ):
        return None
    source = as_string(event.get("text"))
    text = read_text(source)
    if own:
        # who writes our name alone says at least that
        text = strip_mention(text, own) or text
    private = channel.startswith("D")
    addressed = _find_addressed(event, source, own, private=private)
    forwards = list_forwards(event)
    quotes = [quote_forward(shared, own) for shared in forwards]
    files = [file for each in (event, *forwards) for file in list_attachments(each)]
    at = float(time[0])
    return Event(
        id=f"{bot.name}:{channel}:{time[0]}",
        kind="message",
        agent=bot.agent,
        session=_name_session(bot, channel, as_string(event.get("thread_ts")), sender),
        sender=sender,
        text=as_command(text),
        at=at,
        order=_order_of(time),
        attachments=tuple({file["file_id"]: file for file in files}.values()),
        quotes=tuple(quote for quote in quotes if quote),
        reply_to=SlackReplyAddress(channel, time[0]).encode(),
        addressed=addressed,
        private=private,
    )


def _read_arrival(payload: Payload, event: Payload, bot: Bot) -> list[Event]:
    """Return the event that somebody took us into a channel."""
    own = _find_own_id(payload)
    time = TIME.fullmatch(as_string(event.get("event_ts")))
    channel = as_string(event.get("channel"))
    team = event.get("team") or payload.get("team_id")
    sender = _read_sender(event.get("inviter"), team, bot)
    if not own or event.get("user") != own or sender is None or time is None:
        return []
    if not CHANNEL.fullmatch(channel):
        return []
    at = float(time[0])
    arrival = Event(
        id=f"{bot.name}:{channel}:join-{time[0]}",
        kind="message",
        agent=bot.agent,
        session=f"{bot.name}:{channel}",
        sender=sender,
        text="",
        at=at,
        order=_order_of(time),
        reply_to=SlackReplyAddress(channel).encode(),
        addressed=(own,),
        joined=True,
    )
    return [arrival]


def _find_addressed(event: Payload, source: str, own: str, *, private: bool) -> tuple[str, ...]:
    """Return the ids to which a message is addressed; () when it is surely for us, `NOBODY` when
    it is for nobody in particular.
    """
    if private or event.get("type") == "app_mention":
        return ()
    mentioned = find_mentions(source)
    if own and (own in mentioned or event.get("parent_user_id") == own):
        # named, or below a message of ours
        return ()
    if own or not mentioned:
        return ("",)
    return mentioned


def _find_own_id(payload: Payload) -> str:
    """Return our own id as the signed payload tells it; empty when it does not.

    An authorization of a person's is among them where the app acts for people as well.
    """
    for each in map(as_mapping, as_sequence(payload.get("authorizations"))[:10]):
        own = as_string(each.get("user_id"))
        if each.get("is_bot") is True and USER.fullmatch(own):
            return own
    return ""


def _read_sender(user: object, team: object, bot: Bot) -> Sender | None:
    """Return the person who wrote, by a workspace and an id in it, which another may have as well.

    Slack tells no name here, so it is the id until somebody asks.
    """
    id = as_string(user)
    home = as_string(team)
    if not USER.fullmatch(id) or not _TEAM.fullmatch(home) or id == _OWN:
        return None
    return Sender(f"{bot.name}:{home}.{id}", id)


def _name_session(bot: Bot, channel: str, thread: str, sender: Sender) -> str:
    """Return the chat: a person's own is named like them, and a thread is a place of its own."""
    session = sender.id if channel.startswith("D") else f"{bot.name}:{channel}"
    return f"{session}:{thread}" if TIME.fullmatch(thread) else session


def _order_of(time: re.Match[str]) -> str:
    return order_of(float(time[0]), int(time[2]))
