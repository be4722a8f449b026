"""Ordinary messages of Discord are read as events, or as overheard, or not at all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from functions.channels.base import Received
from functions.channels.discord.incoming_text import Kind
from functions.channels.discord.messages import Reader, read_message
from functions.events import Event, Quote
from tests.fakes.discord import APPLICATION
from tests.selection import examples
from tests.tables import each_row

OWN, ADA, BOB, ROLE = 9, 42, 43, 77

READER = Reader("discord", "main", APPLICATION, OWN)
ID = 1_100_000_000_000_000_000


def message(text: str = "hi", **fields: Any) -> dict[str, Any]:
    """A message in the private chat with the bot."""
    return {
        "id": str(ID),
        "channel_id": "5",
        "channel_type": 1,
        "type": 0,
        "author": {"id": str(ADA), "username": "ada", "global_name": "Ada"},
        "content": text,
        "mentions": [],
        **fields,
    }


def in_server(text: str = "hi", **fields: Any) -> dict[str, Any]:
    server = {"guild_id": "900", "channel_type": 0, "member": {"nick": "Countess"}}
    return message(text, **{**server, **fields})


def user(id: int, name: str = "", **fields: Any) -> dict[str, Any]:
    return {"id": str(id), "username": name or f"user{id}", **fields}


def read(body: dict[str, Any], roles: tuple[int, ...] = ()) -> Received:
    return read_message(body, READER, roles)


def event_of(body: dict[str, Any], roles: tuple[int, ...] = ()) -> Event:
    (event,) = read(body, roles).events
    return event


def test_a_private_message_is_for_us_and_answered_below_nothing() -> None:
    event = event_of(message("what is 2+2?"))
    assert event.private
    assert event.id == f"discord:{APPLICATION}:{ID}"
    assert (event.session, event.sender.id, event.sender.name) == ("discord:5", "discord:42", "Ada")
    assert (event.text, event.addressed, event.reply_to) == ("what is 2+2?", (), "")
    assert event.at == (ID >> 22) / 1000 + 1_420_070_400


@each_row(
    ("text", "said"),
    [
        (f"<@{OWN}> what is new?", "what is new?"),
        (f"<@!{OWN}>, <@{OWN}>: what is new?", "what is new?"),
        (f"what is new? <@{OWN}>", "what is new?"),
        (f"ask <@{OWN}> or <@{BOB}>", "ask @sigil or @Bob"),
        (f"<@{OWN}> /status", "/status"),
        (f"<@{OWN}> <:wave:12345> <a:dance:1>", ":wave: :dance:"),
        (f"<@{OWN}> who is <@99>?", "who is <@99>?"),
        (
            f"<@{OWN}> at <t:1700000000:R> or <t:1700000040>?",
            "at 2023-11-14 22:13:20 UTC or 2023-11-14 22:14 UTC?",
        ),
        (f"<@{OWN}> <t:99999999999999:F>", "<t:99999999999999:F>"),
        (f"<@{OWN}> try </remind:12> or </team stop:12>", "try /remind or /team stop"),
        (f"<@{OWN}> see <id:customize> and <id:odd>", "see #Channels & Roles and #odd"),
        (
            f"<@{OWN}> `<@{BOB}> <t:1:R>` and ```\n<a:dance:1>```",
            f"`<@{BOB}> <t:1:R>` and ```\n<a:dance:1>```",
        ),
        (f"<@{OWN}> in <#55>, <@&{ROLE}>", f"in #general, <@&{ROLE}>"),
    ],
)
def test_who_mentions_us_means_us(text: str, said: str) -> None:
    mentioned = [user(OWN, "sigil"), user(BOB, "bob", global_name="Bob")]
    channels = [{"id": "55", "name": "general"}]
    event = event_of(in_server(text, mentions=mentioned, mention_channels=channels))
    assert (event.text, event.addressed, event.private) == (said, (), False)
    assert (event.sender.name, event.reply_to) == ("Countess", str(ID))


def test_a_mention_of_our_role_is_one_of_us() -> None:
    body = in_server(f"<@&{ROLE}> what is new?", mention_roles=[str(ROLE)])
    assert event_of(body, (ROLE,)).text == "what is new?"
    assert read(body).overheard


def test_an_answer_to_a_message_of_ours_is_for_us_and_quotes_it() -> None:
    ours = {"author": user(OWN, "sigil"), "content": "shall I?"}
    body = in_server("yes", type=19, referenced_message=ours, message_reference={"type": 0})
    event = event_of(body)
    assert event.quotes == (Quote("reply", "shall I?", "sigil", "discord:9", True, 8),)
    url = "https://cdn.discordapp.com/attachments/1/2/report.txt?ex=1"
    file = {"filename": "report.txt", "content_type": "text/plain", "size": 3, "url": url}
    silent = {"author": user(OWN, "sigil"), "content": "", "attachments": [file]}
    here = {"type": 0, "channel_id": body["channel_id"]}
    (quote,) = event_of(body | {"referenced_message": silent, "message_reference": here}).quotes
    assert (quote.text, quote.ours) == ("", True)
    assert [each["file_id"] for each in quote.files] == ["attachments/1/2/report.txt?ex=1"]
    elsewhere = {"type": 0, "channel_id": "555"}
    moved = body | {"referenced_message": silent, "message_reference": elsewhere}
    assert event_of(moved).quotes == ()
    theirs = {"author": user(BOB, global_name="Bob"), "content": "shall we?"}
    # Discord lists the author of the answered message among the mentioned
    other = in_server("yes", type=19, referenced_message=theirs, mentions=[user(BOB)])
    assert [each.text for each in read(other).overheard] == ["yes"]
    asked = event_of(in_server(f"<@{OWN}> well?", type=19, referenced_message=theirs))
    assert [(quote.author, quote.ours) for quote in asked.quotes] == [("Bob", False)]


def test_what_people_say_to_each_other_is_overheard_in_its_thread() -> None:
    body = in_server("lunch?", channel_id="901", channel_type=11)
    (heard,) = read(body).overheard
    assert (heard.session, heard.sender.name, heard.text) == ("discord:901", "Countess", "lunch?")


def test_what_is_overheard_is_readable_without_asking_for_names() -> None:
    body = in_server(f"<@99> see <#55>, <#56> and <@&{ROLE}>")
    (heard,) = read(body).overheard
    assert heard.text == "@99 see #channel, #channel and @role"
    known = {("channel", 55): "general", ("role", ROLE): "cooks"}

    def recall(guild: int, kind: Kind, id: int) -> str:
        assert guild == 900
        return known.get((kind, id), "")

    (heard,) = read_message(body, replace(READER, recall=recall)).overheard
    assert heard.text == "@99 see #general, #channel and @cooks"


@each_row(
    "fields",
    [
        {"author": user(7, bot=True)},
        {"author": user(OWN, bot=True)},
        {"author": user(7, system=True)},
        {"webhook_id": "7"},
        {"type": 7},
        {"type": 20},
        {"type": "0"},
        {"flags": 64},
        {"channel_type": 3},
        {"author": {}},
        {"id": "x"},
        {"channel_id": 5},
    ],
)
def test_what_no_person_wrote_to_us_is_nothing(fields: dict[str, Any]) -> None:
    received = read(message() | fields)
    assert (received.events, received.overheard) == ((), ())


def test_files_forwards_and_stickers_are_told_of() -> None:
    file = {
        "id": "3",
        "filename": "a.txt",
        "size": 4,
        "content_type": "text/plain",
        "url": "https://cdn.discordapp.com/attachments/1/2/a.txt?ex=1",
    }
    (attached,) = event_of(message("", attachments=[file])).attachments
    assert (attached["file_id"], attached["name"]) == ("attachments/1/2/a.txt?ex=1", "a.txt")
    forward = {"type": 1, "channel_id": "6", "message_id": "8"}
    snapshots = [{"message": {"content": "old news", "attachments": [file]}}]
    event = event_of(message("", message_reference=forward, message_snapshots=snapshots))
    assert [(quote.relation, quote.text) for quote in event.quotes] == [
        ("forward", "old news\n[document]")
    ]
    assert [each["name"] for each in event.attachments] == ["a.txt"]
    sticker = event_of(message("", sticker_items=[{"name": "Wumpus", "id": "1"}]))
    assert [(quote.relation, quote.text) for quote in sticker.quotes] == [("sticker", "Wumpus")]


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


@settings(max_examples=examples(60), deadline=None)
@given(st.dictionaries(st.sampled_from(sorted(in_server(type=19, flags=0))), ODD))
def test_odd_fields_count_as_absent(odd: dict[str, Any]) -> None:
    received = read(in_server() | odd)
    assert len(received.events) + len(received.overheard) <= 1
