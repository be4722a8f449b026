"""What a Telegram message answers, passes on and holds is read, bounded, and never a command."""

from __future__ import annotations

import json
from typing import Any

import pytest

from functions.channels.telegram.channel import Telegram
from functions.events import QUOTE_LIMIT, Event, Quote, decode, encode
from tests.fakes.bot_api import TOKEN
from tests.tables import each_row

BOT = Telegram(TOKEN, "hush-hush", username="Sigil_Bot")
ANA = {"id": 77001, "is_bot": False, "first_name": "Ana", "last_name": "Lima"}
RUI = {"id": 77002, "is_bot": False, "first_name": "Rui"}
US = {"id": 4242, "is_bot": True, "first_name": "Sigil", "username": "Sigil_Bot"}
GROUP = {"id": -100, "type": "supergroup", "title": "Garden club"}
FILE = {"file_id": "AgACAgI_1", "file_unique_id": "x"}


def body(chat: dict[str, Any] | None = None, **message: Any) -> bytes:
    fields = {
        "message_id": 9,
        "date": 1_795_000_000,
        "from": ANA,
        "chat": chat or {"id": 77001, "type": "private"},
        **message,
    }
    return json.dumps({"update_id": 7, "message": fields}).encode()


def read(**message: Any) -> Event:
    (only,) = BOT.read_update(body(**message)).events
    assert decode(encode(only)) == only
    return only


def original(sender: dict[str, Any] = RUI, **message: Any) -> dict[str, Any]:
    return {"message_id": 3, "date": 1, "chat": GROUP, "from": sender, **message}


def test_the_message_that_is_answered_comes_with_its_author() -> None:
    found = read(text="is that so?", reply_to_message=original(text="roses need no water"))
    assert found.text == "is that so?"
    assert found.quotes == (
        Quote("reply", "roses need no water", "Rui", "telegram:77002", length=19),
    )


def test_an_answer_to_us_says_that_the_words_are_ours() -> None:
    (quote,) = read(text="why?", reply_to_message=original(US, text="42")).quotes
    assert quote.ours


@pytest.mark.parametrize(
    ("answered", "text", "kinds"),
    [
        ({"photo": [{**FILE, "width": 9}], "caption": "my tulips"}, "my tulips", ["photo"]),
        ({"voice": FILE}, "", ["voice"]),
        ({"sticker": {**FILE, "emoji": "🌷"}}, "[sticker] 🌷", []),
        ({"poll": {"question": "Tea?", "options": [{"text": "yes", "voter_count": 2}]}},
         "[poll] Tea?\n- yes: 2", []),
    ],
)  # fmt: skip
def test_an_answered_message_without_a_text_is_described(
    answered: dict[str, Any], text: str, kinds: list[str]
) -> None:
    (quote,) = read(text="what is this?", reply_to_message=original(**answered)).quotes
    assert (quote.text, [file["kind"] for file in quote.files]) == (text, kinds)


def test_a_marked_passage_stands_for_the_message() -> None:
    found = read(
        text="explain",
        reply_to_message=original(US, text="one. two. three."),
        quote={"text": "two.", "position": 5, "is_manual": True},
    )
    assert found.quotes == (Quote("passage", "two.", "Sigil", "telegram:4242", True, 4),)


def test_an_answer_to_another_chats_message_has_its_origin() -> None:
    origin = {"type": "channel", "chat": {"id": -5, "type": "channel", "title": "News"}}
    found = read(text="true?", external_reply={"origin": origin}, quote={"text": "it rains"})
    assert [(one.relation, one.text, one.author) for one in found.quotes] == [
        ("passage", "it rains", "News")
    ]


@each_row(
    ("forward", "author", "by"),
    [
        ({"forward_origin": {"type": "user", "sender_user": RUI}}, "Rui", "telegram:77002"),
        ({"forward_origin": {"type": "hidden_user", "sender_user_name": "Eve"}}, "Eve", ""),
        ({"forward_origin": {"type": "chat", "sender_chat": {"id": -5, "title": "Club"}}}, "Club", ""),
        ({"forward_origin": {"type": "channel", "chat": {"id": -5, "title": "News"}}}, "News", ""),
        ({"forward_date": 1, "forward_from": RUI}, "Rui", "telegram:77002"),
        ({"forward_date": 1, "forward_sender_name": "Eve"}, "Eve", ""),
        ({"forward_origin": "odd"}, "", ""),
    ],
)  # fmt: skip
def test_a_forwarded_text_comes_with_its_origin(
    forward: dict[str, Any], author: str, by: str
) -> None:
    found = read(text="/halt", **forward)
    assert found.quotes == (Quote("forward", "/halt", author, by, length=5),)
    assert found.text == ""
    assert not found.is_control


@each_row(
    ("held", "relation", "text"),
    [
        ({"location": {"latitude": 48.1, "longitude": 11.5}}, "location",
         "latitude 48.100000, longitude 11.500000"),
        ({"location": {"latitude": 1, "longitude": 2},
          "venue": {"location": {"latitude": 1, "longitude": 2}, "title": "Cafe", "address": "Rua 1"}},
         "venue", "Cafe\nRua 1\nlatitude 1.000000, longitude 2.000000"),
        ({"contact": {"phone_number": "+351 91", "first_name": "Rui", "user_id": 77002}}, "contact",
         "Rui\n+351 91\ntelegram:77002"),
        ({"poll": {"question": "Tea?", "options": [{"text": "yes"}, {"text": "no"}]}}, "poll",
         "Tea?\n- yes\n- no"),
        ({"checklist": {"title": "Shop", "tasks": [{"text": "tea", "completion_date": 5},
                                                   {"text": "milk"}]}}, "checklist",
         "Shop\n- [x] tea\n- [ ] milk"),
        ({"dice": {"emoji": "🎲", "value": 4}}, "dice", "🎲 4"),
        ({"sticker": {**FILE, "emoji": "😀"}}, "sticker", "😀"),
    ],
)  # fmt: skip
def test_what_a_message_holds_is_read(held: dict[str, Any], relation: str, text: str) -> None:
    assert [(one.relation, one.text) for one in read(**held).quotes] == [(relation, text)]


@pytest.mark.parametrize("kind", ["story", "paid_media", "game", "invoice", "giveaway"])
def test_what_cannot_be_read_is_noted(kind: str) -> None:
    assert [file["kind"] for file in read(**{kind: {"id": 5}}).attachments] == [kind]


@pytest.mark.parametrize(
    "service",
    [
        {"pinned_message": original(text="hi")},
        {"left_chat_member": RUI},
        {"new_chat_title": "Roses"},
        {"reply_to_message": original(text="hi")},
        {"location": {}},
    ],
)
def test_a_service_message_stays_none(service: dict[str, Any]) -> None:
    assert BOT.read_update(body(**service)).events == ()


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"new_chat_members": [RUI, US]}, ("sigil_bot",)),
        ({"new_chat_members": [{"id": 4242, "username": "x y<<"}]}, ()),
        ({"group_chat_created": True}, ()),
    ],
)
def test_that_somebody_takes_us_into_a_group_is_an_event(
    fields: dict[str, Any], name: tuple[str, ...]
) -> None:
    found = read(chat=GROUP, **fields)
    assert (found.joined, found.addressed, found.private) == (True, name, False)
    assert BOT.accept(found)


def test_a_long_quote_is_bounded_and_says_how_long_it_was() -> None:
    (quote,) = read(text="?", reply_to_message=original(text="é" * 100_000)).quotes
    assert (len(quote.text), quote.length) == (QUOTE_LIMIT, 100_000)


def test_of_a_chain_of_answers_only_the_first_is_read() -> None:
    chain = original(text="the last")
    for number in range(50):
        chain = original(text=f"number {number}", reply_to_message=chain)
    assert [quote.text for quote in read(text="?", reply_to_message=chain).quotes] == ["number 49"]


def test_a_name_from_right_to_left_is_shown_without_what_turns_the_line() -> None:
    author = {**RUI, "first_name": "\u202eיעל\u2066", "last_name": "שלום"}
    (quote,) = read(text="?", reply_to_message=original(author, text="\u202eabc")).quotes
    assert (quote.author, quote.text) == ("יעל שלום", "abc")


# ---- what is for nobody in particular


def test_a_message_to_nobody_in_a_group_is_overheard_and_no_event() -> None:
    said = body(GROUP, text="the roses\nneed water", reply_to_message=original(text="hm"))
    (heard,) = BOT.read_update(said).overheard
    assert BOT.read_update(said).events == ()
    assert heard is not None
    assert (heard.session, heard.sender.name, heard.text, heard.slot) == (
        "telegram:-100",
        "Ana Lima",
        "the roses need water",
        9,
    )


@pytest.mark.parametrize(
    "message",
    [
        {"text": "hi"},
        {"chat": GROUP, "text": "hi", "reply_to_message": original(US, text="42")},
        {"chat": GROUP, "text": "hi", "from": {**RUI, "is_bot": True}},
        {"chat": GROUP, "pinned_message": original(text="hi")},
        {"chat": {"id": -5, "type": "channel"}, "text": "hi"},
    ],
)
def test_nothing_else_is_overheard(message: dict[str, Any]) -> None:
    assert BOT.read_update(body(**message)).overheard == ()
