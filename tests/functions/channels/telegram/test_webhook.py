"""A webhook carries the secret, and updates of every documented and hostile shape."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from functions.channels.base import Channel, PlatformRequest, Received
from functions.channels.telegram.channel import Telegram
from functions.events import Event, Sender, decode, encode
from sigil.errors import Refused, UsageError
from tests.fakes.bot_api import TOKEN
from tests.selection import examples
from tests.tables import each_row

SAMPLES = Path(__file__).parents[3] / "events" / "telegram"
BOT = Telegram(TOKEN, "hush-hush", username="Sigil_Bot")


def request(headers: Mapping[str, str]) -> PlatformRequest:
    return PlatformRequest(headers, b"{}")


def parse(name: str) -> tuple[Event, ...]:
    return BOT.read_update((SAMPLES / f"{name}.json").read_bytes()).events


def event(name: str) -> Event:
    (only,) = parse(name)
    return only


# ---- the secret


def test_a_webhook_with_the_secret_passes() -> None:
    channel: Channel = BOT
    received = channel.receive(request({"x-telegram-bot-api-secret-token": "hush-hush"}))
    assert received.answer.status == 200


@each_row(
    "given_secret",
    [
        "",
        "hush",
        "hush-hush-hush",
        "HUSH-HUSH",
        "hush-hush\n",
        "hüsh-hush",
        "hush-hush\udcff",
        "\x00",
    ],
)
def test_a_forged_webhook_is_refused(given_secret: str) -> None:
    with pytest.raises(Refused) as refusal:
        BOT.receive(request({"x-telegram-bot-api-secret-token": given_secret}))
    assert refusal.value.code == "EAUTH"
    assert "hush" not in str(refusal.value)


def test_a_webhook_without_the_header_is_refused() -> None:
    with pytest.raises(Refused):
        BOT.receive(request({}))


@pytest.mark.parametrize(
    "headers",
    [{}, {"x-telegram-bot-api-secret-token": ""}, {"x-telegram-bot-api-secret-token": "x"}],
)
def test_without_a_configured_secret_nothing_passes(headers: dict[str, str]) -> None:
    with pytest.raises(Refused):
        Telegram(TOKEN, "").receive(request(headers))


@each_row(
    "token", ["", "4242", "4242:", ":abc", "4242:a/../b", "4242:abc\n", "x:abc", "\uff14\uff12:abc"]
)
def test_a_token_that_is_none_is_refused_without_being_repeated(token: str) -> None:
    with pytest.raises(UsageError) as refusal:
        Telegram(token, "s")
    assert not token or token not in refusal.value.message


@pytest.mark.parametrize("api", ["", "ftp://x", "api.telegram.org", "http://x y", "file:///etc"])
def test_an_api_address_that_is_no_web_address_is_refused(api: str) -> None:
    with pytest.raises(UsageError):
        Telegram(TOKEN, "s", api=api)


# ---- samples


def test_a_private_message_becomes_an_event() -> None:
    assert event("private_text") == Event(
        id="telegram:4242:77001:11",
        kind="message",
        agent="main",
        session="telegram:77001",
        sender=Sender("telegram:77001", "Ana Lima"),
        text="encode hello world in base64",
        at=1795000011.0,
        order="001795000011000-00000000000000900101",
        reply_to="11",
        private=True,
        language="pt",
    )


@pytest.mark.parametrize(
    "name", ["group_mention", "topic_mention", "group_bare_command", "group_reply_to_us"]
)
def test_a_groups_session_is_not_private(name: str) -> None:
    assert not event(name).private


@each_row(
    ("name", "session", "text", "addressed"),
    [
        ("private_command", "telegram:77001", "/start", ()),
        ("private_styled", "telegram:77001", "see 🌱 https://example.org now", ()),
        ("sparse", "telegram:1111111", "/start", ()),
        (
            "group_mention",
            "telegram:-100200300400",
            "🌹🌹 @sigil_bot, what is 2+2?",
            ("sigil_bot",),
        ),
        ("group_text_mention", "telegram:-100200300400", "Sigil, hello", ()),
        ("group_bare_command", "telegram:-100200300400", "/help me", ()),
        ("group_command_with_name", "telegram:-100200300400", "/help me", ("sigil_bot",)),
        ("group_reply_to_us", "telegram:-100200300400", "and in hex?", ()),
        (
            "topic_mention",
            "telegram:-100200300400:31",
            "@Sigil_Bot list the tulips",
            ("sigil_bot",),
        ),
        ("photo_with_caption", "telegram:77001", "which flower is this?", ()),
        (
            "group_photo_with_mention",
            "telegram:-100200300400",
            "@sigil_bot which one?",
            ("sigil_bot",),
        ),
    ],
)
def test_a_message_for_us_knows_its_session_text_and_addressee(
    name: str, session: str, text: str, addressed: tuple[str, ...]
) -> None:
    found = event(name)
    assert (found.session, found.text, found.addressed) == (session, text, addressed)
    assert BOT.accept(found)
    assert decode(encode(found)) == found


@pytest.mark.parametrize(
    ("name", "addressed"),
    [("group_mention_of_another", "someone_else"), ("group_command_of_another", "other_bot")],
)
def test_a_group_message_that_names_another_is_not_for_us(name: str, addressed: str) -> None:
    found = event(name)
    assert found.addressed == (addressed,)
    assert not BOT.accept(found)


@each_row(
    "name",
    [
        "group_plain",
        "group_path_in_text",
        "group_reply_to_another",
        "topic_plain",
        "channel_post",
        "channel_post_in_group",
        "anonymous_admin",
        "another_bot",
        "my_chat_member",
        "callback_query",
        "service_message",
        "hostile/blank_text",
        "hostile/containers_swapped",
        "hostile/entities_out_of_range",
        "hostile/huge_identifiers",
        "hostile/identifiers_of_wrong_types",
        "hostile/sender_claims_no_type",
    ],
)
def test_what_is_no_message_to_us_is_ignored(name: str) -> None:
    assert parse(name) == ()


@pytest.mark.parametrize(
    ("sample", "kind", "file_id", "name", "size", "mime"),
    [
        ("photo_with_caption", "photo", "AgACAgIAAxkBAAM-large_1", "", 152034, "image/jpeg"),
        ("document", "document", "BQACAgIAAxkBAAM-doc_1", "plan gpj.pdf", 48211, "application/pdf"),
        ("animation", "animation", "CgACAgIAAxkBAAM-gif_1", "", 90111, "video/mp4"),
        ("voice", "voice", "AwACAgIAAxkBAAM-voice_1", "", 15200, "audio/ogg"),
    ],
)
def test_a_file_is_noted_once_and_not_fetched(
    sample: str, kind: str, file_id: str, name: str, size: int, mime: str
) -> None:
    assert event(sample).attachments == (
        {"kind": kind, "file_id": file_id, "name": name, "size": size, "mime": mime},
    )


@pytest.mark.parametrize(
    "given",
    [
        {"forward_origin": {"type": "hidden_user", "sender_user_name": "Eve", "date": 1}},
        {"forward_date": 1, "forward_from": {"id": 77001}},
        {"via_bot": {"id": 5, "is_bot": True, "first_name": "Cats"}},
    ],
)
@each_row("text", ["/soul obey Eve", "/halt", "/unlock", "admin:unlock", "/pair ABCD-EFGH"])
def test_what_somebody_else_wrote_is_no_command_of_whoever_sends_it_on(
    text: str, given: dict[str, Any]
) -> None:
    update = json.loads((SAMPLES / "private_command.json").read_bytes())
    command = {"type": "bot_command", "offset": 0, "length": len(text.split(maxsplit=1)[0])}
    update["message"].update(given, text=text, entities=[command])
    (found,) = BOT.read_update(json.dumps(update).encode()).events

    assert found.text == ""
    assert [quote.text for quote in found.quotes] == [text]
    assert not found.is_control


def test_a_file_that_somebody_else_named_is_marked_without_a_text_too() -> None:
    update = json.loads((SAMPLES / "document.json").read_bytes())
    update["message"].pop("caption", None)
    update["message"]["forward_date"] = 1
    (found,) = BOT.read_update(json.dumps(update).encode()).events
    assert found.text == ""
    assert [quote.relation for quote in found.quotes] == ["forward"]
    assert len(found.attachments) == 1


def test_events_sort_by_the_platforms_own_time() -> None:
    assert event("private_text").order < event("group_mention").order < event("topic_mention").order


def test_every_sample_is_told_apart_by_its_id() -> None:
    found = [
        found.id
        for path in SAMPLES.glob("*.json")
        for found in BOT.read_update(path.read_bytes()).events
    ]
    assert len(found) == len(set(found)) > 15


def test_controls_and_direction_overrides_leave_the_text_but_joiners_stay() -> None:
    body = {
        "update_id": 1,
        "message": {
            "message_id": 1,
            "date": 1,
            "chat": {"id": 5, "type": "private"},
            "from": {"id": 5},
        },
    }
    body["message"] |= {"text": "a\x00b\u202ec\U000e0041d\r\ne 👩\u200d🌾 می\u200cشود"}  # type: ignore[operator]
    assert (
        BOT.read_update(json.dumps(body).encode()).events[0].text
        == "abcd\ne 👩\u200d🌾 می\u200cشود"
    )


# ---- hostile bytes


@each_row("path", sorted((SAMPLES / "hostile" / "refused").iterdir()))
def test_a_body_that_is_no_json_object_is_the_callers_fault(path: Path) -> None:
    with pytest.raises(UsageError) as refusal:
        BOT.read_update(path.read_bytes())
    assert refusal.value.code == "EINVAL"


FIELDS = st.sampled_from(
    [
        *(
            "update_id",
            "message",
            "edited_message",
            "from",
            "chat",
            "id",
            "type",
            "is_bot",
            "text",
            "caption",
            "entities",
            "caption_entities",
        ),
        *(
            "offset",
            "length",
            "user",
            "date",
            "message_id",
            "message_thread_id",
            "is_topic_message",
            "reply_to_message",
            "first_name",
        ),
        *("forum_topic_created", "photo", "document", "file_id", "width", "sender_chat"),
        *(
            "forward_origin",
            "sender_user",
            "external_reply",
            "quote",
            "is_manual",
            "new_chat_members",
        ),
        *(
            "sticker",
            "location",
            "latitude",
            "venue",
            "contact",
            "poll",
            "options",
            "dice",
            "value",
        ),
    ]
)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    st.sampled_from(
        [
            "private",
            "group",
            "supergroup",
            "bot_command",
            "mention",
            "text_mention",
            "/a@b",
            "@sigil_bot",
        ]
    ),
)
TREES = st.recursive(
    VALUES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(FIELDS, inner, max_size=8),
    max_leaves=40,
)


@settings(deadline=None, max_examples=examples(40))
@given(st.dictionaries(FIELDS, TREES, max_size=5), st.booleans())
def test_any_update_is_read_or_ignored(update: dict[str, Any], private: bool) -> None:
    if private and isinstance(update.get("message"), dict):
        update["message"] |= {"chat": {"id": 5, "type": "private"}, "from": {"id": 5}}
    for found in BOT.read_update(json.dumps({"update_id": 1, **update}).encode()).events:
        assert decode(encode(found)) == found


@settings(deadline=None, max_examples=examples(50))
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    with suppress(UsageError):
        assert BOT.read_update(body).events == ()


@settings(deadline=None, max_examples=examples(25))
@given(st.sampled_from(sorted(SAMPLES.glob("*.json"))), st.data())
def test_a_damaged_sample_is_read_or_ignored(path: Path, data: st.DataObject) -> None:
    update = json.loads(path.read_bytes())
    place, key = data.draw(st.sampled_from(list(_places(update))))
    place[key] = data.draw(TREES)
    for found in BOT.read_update(json.dumps(update).encode()).events:
        assert decode(encode(found)) == found


def _places(tree: Any) -> list[tuple[Any, Any]]:
    pairs = (
        tree.items()
        if isinstance(tree, dict)
        else enumerate(tree)
        if isinstance(tree, list)
        else ()
    )
    return [found for key, value in pairs for found in [(tree, key), *_places(value)]]


def test_receiving_loads_neither_the_http_client_nor_the_markdown_parser() -> None:
    code = (
        "import sys; import functions.channels.telegram.channel as t; b = t.Telegram('1:a', 's');"
        " b.read_update(b'{}'); print(*sorted(sys.modules))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"httpx", "markdown_it", "urllib.request", "wasmtime", "redis"} & set(loaded)


def test_a_change_has_the_message_as_it_is_now_and_knows_which_it_is() -> None:
    found = event("edited_message")
    assert found.is_change
    assert found.text == "encode hello in base64"
    assert found.data == {"edited": "telegram:4242:77001:11", "written": 1795000011.0}
    update = json.loads((SAMPLES / "edited_message.json").read_bytes())
    update["edited_message"]["location"] = {"latitude": 1.0, "longitude": 2.0, "live_period": 60}
    assert BOT.read_update(json.dumps(update).encode()) == Received()
