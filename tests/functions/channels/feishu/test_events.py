"""Events of every documented and hostile shape become ours, or none."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from functions.channels.base import Received
from functions.channels.feishu.events import ANSWERS, FeishuApp, read_payload
from functions.events import Event, decode, encode
from tests.fakes.feishu import (
    ALICE,
    APP,
    BOB,
    BOT,
    GROUP,
    NOW,
    make_message,
    make_payload,
    make_press,
)
from tests.tables import each_row

FEISHU = FeishuApp(APP, "feishu", "main")
NAMES_US = {"@_user_1": (BOT, "Sigil")}


def read(payload: dict[str, Any]) -> Received:
    return read_payload(payload, FEISHU)


def only(payload: dict[str, Any]) -> Event:
    (event,) = read(payload).events
    assert decode(encode(event)) == event
    return event


def test_a_private_message_is_an_event_of_its_senders_chat() -> None:
    event = only(make_message("1", "  hello \u202e"))
    assert (event.session, event.sender.id) == (f"feishu:{ALICE}", f"feishu:{ALICE}")
    assert (event.id, event.reply_to) == (f"feishu:{APP}:om_1", "om_1")
    assert event.private
    assert event.text == "  hello "
    assert event.at == NOW


def test_a_message_that_comes_twice_has_the_same_id() -> None:
    first = make_message("1", "hello")
    again = copy.deepcopy(first)
    again["header"]["event_id"] = "another"
    assert only(first).id == only(again).id


def test_a_groups_message_is_for_whom_it_names() -> None:
    event = only(make_message("1", "@_user_1 what is new?", group=GROUP, mentions=NAMES_US))
    assert (event.session, event.addressed) == (f"feishu:{GROUP}", (BOT,))
    assert (event.text, event.private) == ("what is new?", False)


def test_names_stand_where_people_are_named() -> None:
    mentions = {f"@_user_{number}": (f"ou_{number}", f"P{number}") for number in range(1, 11)}
    event = only(make_message("1", "@_user_1 and @_user_10: hi", group=GROUP, mentions=mentions))
    assert event.text == "@P1 and @P10: hi"
    assert len(event.addressed) == 10


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("@_user_1 /stop", "/stop"),
        ("@_user_1/stop now", "/stop now"),
        ("@_user_1 @_user_2 /stop", "@Sigil @Bob /stop"),
        ("@_user_1 /pair @_user_2", "/pair @Bob"),
        ("tell @_user_1 /stop", "tell @Sigil /stop"),
    ],
)
def test_a_command_begins_behind_our_name(text: str, becomes: str) -> None:
    mentions = {**NAMES_US, "@_user_2": (BOB, "Bob")}
    event = only(make_message("1", text, group=GROUP, mentions=mentions))
    assert event.text == becomes
    assert event.is_control == becomes.startswith("/stop")


def test_what_people_say_to_each_other_is_overheard() -> None:
    received = read(make_message("1", "lunch?", group=GROUP))
    assert received.events == ()
    (heard,) = received.overheard
    assert (heard.session, heard.text) == (f"feishu:{GROUP}", "lunch?")
    everybody = {"@_all": ("", "Everyone")}
    assert read(make_message("2", "@_all hi", group=GROUP, mentions=everybody)).overheard


def test_an_answer_to_a_message_is_addressed_to_it() -> None:
    event = only(make_message("2", "yes", group=GROUP, parent_id="om_1", root_id="om_1"))
    assert (event.addressed, event.data[ANSWERS]) == (("om_1",), "om_1")
    assert event.session == f"feishu:{GROUP}"


def test_a_thread_is_a_place_of_its_own() -> None:
    thread = {"group": GROUP, "mentions": NAMES_US, "thread_id": "omt_1"}
    first = only(make_message("1", "@_user_1 a", **thread))
    second = only(make_message("2", "@_user_1 b", root_id="om_1", parent_id="om_1", **thread))
    assert first.session == second.session == f"feishu:{GROUP}:om_1"
    assert ANSWERS not in second.data


def test_files_and_other_contents_are_read() -> None:
    def contents(kind: str, **fields: Any) -> Event:
        return only(make_message("1", fields, message_type=kind))

    (photo,) = contents("image", image_key="img_v3_1").attachments
    assert (photo["kind"], photo["file_id"]) == ("photo", "om_1/img_v3_1")
    (file,) = contents("file", file_key="file_v3_1", file_name="a\nb.csv").attachments
    assert (file["kind"], file["name"]) == ("document", "a b.csv")
    assert contents("audio", file_key="f", duration=3).attachments[0]["kind"] == "voice"
    (place,) = contents("location", name="Café", latitude="1.5", longitude="2").quotes
    assert (place.relation, place.text) == ("location", "Café\nlatitude 1.5, longitude 2")
    assert contents("vote", topic="When?", options=["now"]).quotes[0].text == "When?\n- now"
    assert contents("todo", task_id="1").attachments[0]["kind"] == "todo"
    (card,) = contents("interactive", title="T", elements=[[{"tag": "text", "text": "x"}]]).quotes
    assert card.text == "T\nx"
    assert not read(make_message("1", {"template": "x"}, message_type="system")).events


def test_a_post_is_read_as_markdown() -> None:
    post = {
        "title": "Plan",
        "content": [
            [
                {"tag": "text", "text": "see "},
                {"tag": "a", "text": "this", "href": "https://a.b"},
                {"tag": "at", "user_id": "@_user_1", "user_name": "Sigil"},
            ],
            [{"tag": "img", "image_key": "img_v3_1"}],
            [{"tag": "code_block", "language": "PYTHON", "text": "x = 1"}],
        ],
    }
    event = only(make_message("1", post, message_type="post", mentions=NAMES_US, group=GROUP))
    assert event.text == "Plan\nsee [this](https://a.b)@Sigil\n\n```python\nx = 1\n```"
    assert event.attachments[0]["file_id"] == "om_1/img_v3_1"


def test_a_post_under_languages_is_read_in_the_first_that_says_something() -> None:
    said = [[{"tag": "text", "text": "hello"}], [{"tag": "img", "image_key": "img_v3_1"}]]
    empty = {"title": "", "content": []}
    languages = {"version": 2, "en_us": empty, "zh_cn": {"title": "T", "content": said}}
    event = only(make_message("1", languages, message_type="post"))
    assert event.text.strip() == "T\nhello"
    assert event.attachments[0]["file_id"] == "om_1/img_v3_1"


def test_an_item_of_the_menu_is_the_command_that_is_its_key() -> None:
    def choose(key: object) -> Event:
        operator = {"operator_id": {"open_id": ALICE}}
        return only(
            make_payload("application.bot.menu_v6", {"operator": operator, "event_key": key})
        )

    event = choose("/status")
    assert (event.session, event.text, event.private) == (f"feishu:{ALICE}", "/status", True)
    for key in ("status", "/status\n/stop", 5, None):
        assert (choose(key).text, len(choose(key).attachments)) == ("", 1)


def test_a_press_of_our_button_is_its_command() -> None:
    value = {"command": "/approve a1b2c3", "session": f"feishu:{GROUP}:om_1"}
    event = only(make_press("p1", value, by=BOB, chat=GROUP))
    assert (event.text, event.session) == ("/approve a1b2c3", f"feishu:{GROUP}:om_1")
    assert (event.sender.id, event.private) == (f"feishu:{BOB}", False)
    own = {"command": "/approve a1b2c3", "session": f"feishu:{ALICE}"}
    assert only(make_press("p1", own, chat="oc_privat")).private


@each_row(
    "value",
    [
        {"command": "/approve a1b2c3", "session": "feishu:oc_elsewhere"},
        {"command": "/approve a1b2c3", "session": f"feishu:{BOB}"},
        {"command": "/approve a1b2c3", "session": f"telegram:{GROUP}"},
        {"command": "/approve a1b2c3", "session": f"feishu:{GROUP}\n"},
        {"command": "/forget everything", "session": f"feishu:{GROUP}"},
        {"command": ["/approve a1b2c3"], "session": f"feishu:{GROUP}"},
        {},
    ],
)
def test_a_button_that_is_not_ours_or_was_forwarded_does_nothing(value: dict[str, Any]) -> None:
    received = read(make_press("p1", value, chat=GROUP))
    assert received.events == ()
    assert received.answer.body == b"{}"


def test_who_takes_us_into_a_group_is_known() -> None:
    added = {"chat_id": GROUP, "operator_id": {"open_id": ALICE}, "external": False}
    event = only(make_payload("im.chat.member.bot.added_v1", added))
    assert (event.joined, event.session) == (True, f"feishu:{GROUP}")
    assert event.sender.id == f"feishu:{ALICE}"


def test_what_is_no_persons_message_is_no_event() -> None:
    robot = make_message("1", "hello")
    robot["event"]["sender"]["sender_type"] = "app"
    foreign = make_message("1", "hello")
    foreign["header"]["app_id"] = "cli_other"
    old = {"uuid": "1", "type": "event_callback", "event": {"type": "message", "text": "hello"}}
    for payload in (
        robot,
        foreign,
        old,
        make_message("1", "  "),
        make_message("1", {"text": ["hello"]}),
        make_message("1", "hello", content="no json"),
        make_message("1", "hello", message_id="../x"),
        make_message("1", "hello", chat_id="oc_1/2", group=GROUP),
        make_message("1", "hello", sender="ou_1/../2"),
        make_payload("im.message.message_read_v1", {"reader": {}}),
        make_payload("im.message.reaction.created_v1", {"message_id": "om_1"}),
        {},
    ):
        received = read(payload)
        assert (received.events, received.overheard) == ((), ())
        assert json.loads(received.answer.body) == {}


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_an_odd_field_anywhere_is_no_error(data: st.DataObject) -> None:
    payload = make_message("1", "@_user_1 hello", group=GROUP, mentions=NAMES_US, parent_id="om_2")
    place: dict[str, Any] = payload
    for _ in range(data.draw(st.integers(0, 3))):
        inner = [value for value in place.values() if isinstance(value, dict)]
        if inner:
            place = data.draw(st.sampled_from(inner))
    place[data.draw(st.sampled_from(sorted(place)))] = data.draw(ODD)
    received = read(payload)
    for event in received.events:
        encode(event)
