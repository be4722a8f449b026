"""What Feishu tells of people, messages and the bot only when it is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from functions.channels.base import Attachment, NotAllowed
from functions.channels.feishu.api import FeishuApi, FeishuRejected
from functions.channels.feishu.contents import (
    ID,
    Contents,
    make_quote,
    read_contents,
    read_mentions,
)
from functions.channels.known_people import KnownPeople, Profile
from functions.events import Quote
from sigil.errors import BackendError
from sigil.json_fields import as_mapping, as_sequence, as_string
from sigil.protocol import Json

LOOKUP_TIMEOUT: Final = 5.0
FORWARDED: Final = "merge_forward"
"""The kind of a message that passes others on together; it says nothing by itself."""
FORWARDED_MOST: Final = 100
ANSWERED_FILES_MOST: Final = 10
NAMED_MOST: Final = 10
"""So many people in it are asked for; the others keep their ids."""


@dataclass(frozen=True, slots=True)
class AnsweredMessage:
    """A message that is answered: whether it is ours, and what it says, as a quote."""

    ours: bool
    quote: Quote | None


class FeishuDirectory:
    """The people and the bot of one app. Safe to share between threads."""

    def __init__(self, channel: str, app_id: str, people: KnownPeople) -> None:
        self._channel = channel
        self._app_id = app_id
        self._bot = ("", "")
        self._people = people

    def fetch_bot(self, api: FeishuApi) -> tuple[str, str]:
        """Return the bot's id and name; Feishu is asked once. `BackendError` when it does not
        answer.
        """
        if not self._bot[0]:
            try:
                answer = api.call("GET", "/bot/v3/info")
            except FeishuRejected as problem:
                raise BackendError("EUNAVAILABLE", problem.message, source="feishu") from None
            bot = as_mapping(answer.get("bot"))
            self._bot = (as_string(bot.get("open_id")), as_string(bot.get("app_name")))
        if not self._bot[0]:
            raise BackendError(
                "EUNAVAILABLE",
                "Feishu does not tell the bot's id",
                source="feishu",
                suggestion="add the bot to the app's features, and publish a version",
            )
        return self._bot

    def fetch_scopes(self, api: FeishuApi) -> frozenset[str]:
        """Return the permissions that the app was given, nothing when it may not know them;
        `BackendError` without an answer.
        """
        try:
            answer = api.call("GET", "/application/v6/scopes")
        except (NotAllowed, FeishuRejected):
            return frozenset()
        scopes = map(as_mapping, as_sequence(as_mapping(answer.get("data")).get("scopes")))
        return frozenset(
            as_string(scope.get("scope_name"))
            for scope in scopes
            if scope.get("grant_status") == 1 and scope.get("scope_type", "tenant") == "tenant"
        )

    def find_name(self, api: FeishuApi, person: str, chat: str) -> str:
        """Return how a person is called who wrote in a chat, or else their id.

        The contacts know it, or the group's members, whichever the app may read.
        """
        who = f"{self._channel}:{person}"
        profile = self._people.find(who, lambda: Profile(self._fetch_name(api, person, chat)))
        return profile.name or person

    def _fetch_name(self, api: FeishuApi, person: str, chat: str) -> str:
        """Return a person's name, empty when the app may know it from nowhere."""
        path = f"/contact/v3/users/{person}"
        try:
            query = {"user_id_type": "open_id"}
            answer = api.call("GET", path, query=query, timeout=LOOKUP_TIMEOUT)
            user = as_mapping(as_mapping(answer.get("data")).get("user"))
            name = as_string(user.get("name"))
            if name:
                return name
        except (NotAllowed, FeishuRejected):
            # the permission for contacts may be missing, or the person is not in their range
            pass
        if not chat.startswith("oc_"):
            return ""
        try:
            query = {"member_id_type": "open_id", "page_size": "100"}
            path = f"/im/v1/chats/{chat}/members"
            answer = api.call("GET", path, query=query, timeout=LOOKUP_TIMEOUT)
        except (NotAllowed, FeishuRejected):
            return ""
        members = as_sequence(as_mapping(answer.get("data")).get("items"))
        names = {
            as_string(member.get("member_id")): as_string(member.get("name"))
            for member in map(as_mapping, members)
        }
        return names.get(person, "")

    def fetch_forwarded(self, api: FeishuApi, id: str) -> Contents:
        """Return the messages that a message passes on together: a quote, and their files; nothing
        when they cannot be read. `BackendError` when Feishu does not answer.
        """
        try:
            answer = api.call("GET", f"/im/v1/messages/{id}")
        except (NotAllowed, FeishuRejected):
            return Contents()
        return self._read_forwarded(api, _list_items(answer)[1:], id)

    def _read_forwarded(
        self, api: FeishuApi, items: Sequence[Mapping[str, Json]], id: str
    ) -> Contents:
        """Return messages as what somebody passes on in the message with this `id`, by which Feishu
        gives their files.
        """
        names: dict[str, str] = {}
        lines = []
        files: list[Attachment] = []
        for item in items[:FORWARDED_MOST]:
            contents = _read_item(item, id)
            sender = as_mapping(item.get("sender"))
            author = as_string(sender.get("id"))
            is_person = sender.get("sender_type") == "user" and ID.fullmatch(author)
            if is_person and author not in names and len(names) < NAMED_MOST:
                names[author] = self.find_name(api, author, "")
            said = _describe(contents)
            if said:
                lines.append(f"{names.get(author, author)}: {said}")
                files += contents.attachments
        quotes = (make_quote("forward", "\n".join(lines)),) if lines else ()
        return Contents(attachments=tuple(files), quotes=quotes)

    def find_author(self, api: FeishuApi, id: str) -> tuple[str, str]:
        """Return who wrote a message, and the first message of its thread; each is empty where
        there is none or Feishu does not tell. `BackendError` when Feishu does not answer.
        """
        try:
            items = _list_items(api.call("GET", f"/im/v1/messages/{id}"))
        except (NotAllowed, FeishuRejected):
            return "", ""
        message = items[0] if items else {}
        sender = as_mapping(message.get("sender"))
        person = as_string(sender.get("id"))
        is_person = sender.get("sender_type") == "user" and ID.fullmatch(person)
        root = as_string(message.get("root_id")) or id
        in_thread = message.get("thread_id") and ID.fullmatch(root)
        return person if is_person else "", root if in_thread else ""

    def fetch_message(self, api: FeishuApi, id: str, chat: str) -> AnsweredMessage:
        """Return a message that is answered, of this chat (empty: of any); one that cannot be read
        is nobody's.

        `BackendError` when Feishu does not answer.
        """
        try:
            answer = api.call("GET", f"/im/v1/messages/{id}")
        except FeishuRejected:
            return AnsweredMessage(ours=False, quote=None)
        items = _list_items(answer)
        message = items[0] if items else {}
        if chat and message.get("chat_id", chat) != chat:
            return AnsweredMessage(ours=False, quote=None)
        sender = as_mapping(message.get("sender"))
        author = as_string(sender.get("id"))
        ours = sender.get("sender_type") == "app" and author == self._app_id
        contents = _read_item(message, id)
        if message.get("msg_type") == FORWARDED:
            contents = self._read_forwarded(api, items[1:], id)
        text = _read_texts(contents)
        if not (text or contents.attachments) or message.get("deleted") is True:
            return AnsweredMessage(ours, None)
        is_person = sender.get("sender_type") == "user" and ID.fullmatch(author)
        by = f"{self._channel}:{author}" if is_person else ""
        quote = make_quote("reply", text, by, ours=ours)
        files = contents.attachments[:ANSWERED_FILES_MOST]
        return AnsweredMessage(ours, replace(quote, files=files))


def _list_items(answer: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    """Return a message, and behind it those that it passes on."""
    return [*map(as_mapping, as_sequence(as_mapping(answer.get("data")).get("items")))]


def _read_item(message: Mapping[str, Json], id: str) -> Contents:
    kind = as_string(message.get("msg_type"))
    content = as_string(as_mapping(message.get("body")).get("content"))
    return read_contents(kind, content, id, read_mentions(message))


def _read_texts(contents: Contents) -> str:
    """Return all that can be read of a message beside its files."""
    lines = [contents.text, *(quote.text for quote in contents.quotes)]
    return "\n".join(filter(None, lines))


def _describe(contents: Contents) -> str:
    """Return all that can be read of a message, with a line for each file."""
    files = [f"[{file['kind']}]" for file in contents.attachments]
    return "\n".join(filter(None, (_read_texts(contents), *files)))
