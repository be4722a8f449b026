"""Messages leave for Telegram, and are repaired or kept when they do not get there."""

from __future__ import annotations

import logging

import httpx
import pytest

from functions.channels.base import AttachedFile, Busy, Reply
from functions.channels.telegram.channel import Telegram
from functions.channels.webhooks import CommandMenu
from functions.events import Event, Sender
from functions.texts.de import TEXTS as GERMAN
from functions.texts.en import TEXTS as ENGLISH
from sigil.errors import BackendError, Refused, UsageError
from tests.fakes.bot_api import TOKEN, BotApi
from tests.fakes.server import Answer
from tests.pictures import make_png

GROUP = "telegram:-100200300400"


def send(
    channel: Telegram, text: str, session: str = "telegram:5", *, reply_to: str = "", start: int = 0
) -> list[int]:
    left: list[int] = []
    channel.send(Reply(session, text, reply_to, start=start), left.append)
    return left


def named(*names: str, session: str = GROUP) -> Event:
    return Event(
        "telegram:1:1",
        "message",
        "main",
        session,
        Sender("telegram:5"),
        "hi",
        0.0,
        "0",
        addressed=names,
    )


def test_an_owner_of_a_second_bot_has_a_menu_of_their_own(bot_api: BotApi) -> None:
    shop = Telegram(TOKEN, "hush", bot_api.url, name="telegram-shop")
    shop.set_menus([CommandMenu("en", (("halt", "Stop all"),), person="telegram-shop:42")])
    shop.close()
    [menu] = bot_api.calls("setMyCommands")
    assert menu["scope"] == {"type": "chat", "chat_id": 42}


def test_a_reply_is_one_json_request_with_text_and_entities(
    telegram: Telegram, bot_api: BotApi
) -> None:
    assert send(telegram, "it is **4**") == []
    (request,) = bot_api.requests
    assert (request.method, request.path) == ("POST", f"/bot{bot_api.token}/sendMessage")
    assert request.headers["content-type"] == "application/json"
    assert request.json() == {
        "chat_id": 5,
        "text": "it is 4",
        "entities": [{"type": "bold", "offset": 6, "length": 1}],
        "link_preview_options": {"is_disabled": True},
    }


def test_a_long_reply_leaves_in_parts_and_resumes_where_it_stopped(
    telegram: Telegram, bot_api: BotApi
) -> None:
    text = "\n\n".join(f"{n} " + "leaf " * 500 for n in range(5))
    assert send(telegram, text) == [1, 2, 3, 4]
    whole = [message["text"] for message in bot_api.messages]
    bot_api.messages.clear()
    assert send(telegram, text, start=3) == [4]
    assert [message["text"] for message in bot_api.messages] == whole[3:]


def test_a_failure_between_two_parts_tells_how_far_it_came(
    telegram: Telegram, bot_api: BotApi
) -> None:
    text = "\n\n".join("leaf " * 600 for _ in range(3))
    left: list[int] = []

    def sent(number: int) -> None:
        left.append(number)
        bot_api.fail(500, times=1)

    with pytest.raises(BackendError):
        telegram.send(Reply("telegram:5", text), sent)
    assert left == [1]
    assert send(telegram, text, start=1) == [2]
    assert len(bot_api.messages) == 3


@pytest.mark.parametrize("text", ["", " \n ", "\u200b", "&#8203;", "```\n```", "\x00\u202e", "# "])
def test_nothing_to_see_is_never_sent(telegram: Telegram, bot_api: BotApi, text: str) -> None:
    assert send(telegram, text) == []
    assert bot_api.requests == []


def test_only_the_first_part_in_a_group_answers_the_message(
    telegram: Telegram, bot_api: BotApi
) -> None:
    send(telegram, "leaf " * 1000, GROUP, reply_to="29")
    send(telegram, "hi", reply_to="29")
    send(telegram, "hi", GROUP, reply_to="../29")
    replies = [message.get("reply_parameters") for message in bot_api.messages]
    assert replies == [{"message_id": 29, "allow_sending_without_reply": True}, None, None, None]


def test_a_topic_gets_its_reply_in_the_topic(telegram: Telegram, bot_api: BotApi) -> None:
    send(telegram, "hi", f"{GROUP}:31")
    assert (bot_api.messages[0]["chat_id"], bot_api.messages[0]["message_thread_id"]) == (
        -100200300400,
        31,
    )


@pytest.mark.parametrize(
    "session",
    [
        "",
        "telegram:",
        "slack:5",
        "telegram:5:",
        "telegram:5\n",
        "telegram:\uff15",
        "telegram:5:6:7",
        "telegram:" + "9" * 99,
    ],
)
def test_a_session_that_is_not_telegrams_is_the_callers_fault(
    telegram: Telegram, bot_api: BotApi, session: str
) -> None:
    with pytest.raises(UsageError):
        send(telegram, "hi", session)
    assert bot_api.requests == []


# ---- refusals


@pytest.mark.parametrize(
    "description",
    ["Bad Request: can't parse entities: unexpected", "Bad Request: ENTITY_TEXTURL_INVALID"],
)
def test_refused_entities_leave_as_plain_text(
    telegram: Telegram, bot_api: BotApi, description: str
) -> None:
    bot_api.fail(400, description)
    assert send(telegram, "it is **4**") == []
    assert [("entities" in call, call["text"]) for call in bot_api.calls("sendMessage")] == [
        (True, "it is 4"),
        (False, "it is 4"),
    ]


def test_what_is_refused_as_plain_text_too_is_told_and_not_tried_for_ever(
    telegram: Telegram, bot_api: BotApi
) -> None:
    bot_api.fail(400, "Bad Request: can't parse entities", times=2)
    assert send(telegram, "it is **4**") == []
    assert [message["text"] for message in bot_api.messages] == [ENGLISH.part_not_taken]
    bot_api.fail(400, "Bad Request: can't parse entities", times=9)
    with pytest.raises(Refused):
        send(telegram, "it is **4**")
    assert len(bot_api.requests) == 6


@pytest.mark.parametrize(
    "description",
    ["message is too long", "text must be encoded in UTF-8", "MESSAGE_TEXT_INVALID", ""],
)
def test_a_part_that_is_refused_for_what_it_says_is_told_and_the_others_leave(
    telegram: Telegram, bot_api: BotApi, description: str
) -> None:
    bot_api.fail(400, f"Bad Request: {description}")
    assert send(telegram, "\n\n".join(f"{n} " + "leaf " * 600 for n in range(2))) == [1]
    first, second = (message["text"] for message in bot_api.messages)
    assert first == ENGLISH.part_not_taken
    assert second.startswith("1 leaf")


CHAPTERS = "\n\n".join(f"{number} " + "leaf " * 700 for number in range(40))


def test_a_reply_ends_at_ten_messages_and_the_last_is_a_file_with_all_of_it(
    telegram: Telegram, bot_api: BotApi
) -> None:
    assert send(telegram, CHAPTERS, "telegram:-100200300400:31") == [*range(1, 10)]
    assert len(bot_api.messages) == 9
    (file,) = bot_api.documents
    assert file == {
        "chat_id": -100200300400,
        "message_thread_id": 31,
        "caption": f"The whole answer: {len(CHAPTERS):,} characters.",
        "document": {"name": "answer.md", "content": CHAPTERS},
    }
    assert send(telegram, CHAPTERS, start=9) == []
    assert (len(bot_api.messages), len(bot_api.documents)) == (9, 2)


def test_a_reply_of_just_ten_messages_is_ten_messages(telegram: Telegram, bot_api: BotApi) -> None:
    assert send(telegram, "\n\n".join("leaf " * 700 for _ in range(10))) == [*range(1, 10)]
    assert (len(bot_api.messages), bot_api.documents) == (10, [])


def test_a_chat_that_takes_no_files_is_told_that_there_is_more(
    telegram: Telegram, bot_api: BotApi
) -> None:
    bot_api.fail(
        400, "Bad Request: not enough rights to send documents to the chat", method="sendDocument"
    )
    send(telegram, CHAPTERS)
    assert len(bot_api.messages) == 10
    assert "takes no files" in bot_api.messages[-1]["text"]


def test_a_file_that_cannot_be_sent_now_is_sent_later(telegram: Telegram, bot_api: BotApi) -> None:
    bot_api.fail(502, "Bad Gateway", method="sendDocument")
    with pytest.raises(BackendError):
        send(telegram, CHAPTERS)
    assert send(telegram, CHAPTERS, start=9) == []
    assert (len(bot_api.messages), len(bot_api.documents)) == (9, 1)


@pytest.mark.parametrize(
    ("status", "description"),
    [
        (403, "Forbidden: bot was blocked by the user"),
        (400, "Bad Request: chat not found"),
        (413, "Request Entity Too Large"),
    ],
)
def test_a_chat_that_will_never_take_it_is_given_up(
    telegram: Telegram, bot_api: BotApi, status: int, description: str
) -> None:
    bot_api.fail(status, description)
    with pytest.raises(Refused) as refusal:
        send(telegram, "hi")
    assert (refusal.value.code, description in refusal.value.message) == ("EBLOCKED", True)
    assert len(bot_api.requests) == 1


def test_a_group_that_became_a_supergroup_is_followed(telegram: Telegram, bot_api: BotApi) -> None:
    moved = {"migrate_to_chat_id": -1009}
    bot_api.fail(400, "Bad Request: group chat was upgraded to a supergroup chat", parameters=moved)
    assert send(telegram, "leaf " * 1000, "telegram:-77", reply_to="3") == [1]
    assert [message["chat_id"] for message in bot_api.messages] == [-1009, -1009]
    assert "reply_parameters" not in bot_api.messages[0]


def test_a_group_that_moves_in_circles_ends(telegram: Telegram, bot_api: BotApi) -> None:
    for target in (-1, -2, -1, -2):
        bot_api.fail(400, "upgraded", parameters={"migrate_to_chat_id": target})
    with pytest.raises(Refused):
        send(telegram, "hi", "telegram:-2")
    assert len(bot_api.requests) == 4


@pytest.mark.parametrize(
    ("told", "wait"),
    [(7, 7.0), (0, 0.0), (None, 0.0), ("7", 0.0), (-1, 0.0), (True, 0.0)],
)
def test_too_many_requests_tell_how_long_to_wait(
    telegram: Telegram, bot_api: BotApi, told: object, wait: float
) -> None:
    bot_api.fail(429, "Too Many Requests: retry after 7", parameters={"retry_after": told})
    with pytest.raises(Busy) as busy:
        send(telegram, "hi")
    assert (busy.value.code, busy.value.retry_after) == ("ERATE", wait)


ODD = [
    Answer(500),
    Answer(502, b"<html>bad gateway</html>"),
    Answer(200, b"<html>captive portal</html>"),
    Answer(200, b'{"ok": false}'),
    Answer(200, b"[]"),
    Answer(200, b""),
    Answer(302, b"", {"location": "http://127.0.0.1:9/"}),
    Answer(401, b'{"ok": false, "description": "Unauthorized"}'),
    Answer(404, b"\xff"),
    Answer(409, b"{}"),
    Answer(cut=True),
    Answer(200, b"\x1f\x8b\x08\x00", {"content-encoding": "gzip"}),
    Answer(200, [b'{"ok": true, "result": "', *[b"x" * (1 << 20)] * 9, b'"}']),
]


@pytest.mark.parametrize(
    "answer",
    ODD,
    ids=lambda answer: f"{answer.status}-{'cut' if answer.cut else str(answer.body)[:24]}",
)
def test_an_answer_that_says_nothing_means_try_later(
    telegram: Telegram, bot_api: BotApi, answer: Answer
) -> None:
    bot_api.reply(answer)
    with pytest.raises(BackendError) as failure:
        send(telegram, "hi")
    assert failure.value.code == "EUNAVAILABLE"
    assert bot_api.token not in str(failure.value.as_dict())
    assert send(telegram, "hi") == []


def test_a_server_that_hangs_is_given_up_in_time(telegram: Telegram, bot_api: BotApi) -> None:
    bot_api.reply(Answer(hang=True), method="")
    with pytest.raises(BackendError) as failure:
        telegram.api.call("getMe", {}, timeout=0.2)
    assert failure.value.code == "EUNAVAILABLE"


def test_a_body_that_drips_in_is_given_up_in_time(telegram: Telegram, bot_api: BotApi) -> None:
    def drip() -> object:
        while not bot_api.closing.wait(0.05):
            yield b" "

    bot_api.reply(Answer(200, drip()), method="")  # type: ignore[arg-type]
    with pytest.raises(BackendError):
        telegram.api.call("getMe", {}, timeout=0.4)


def test_a_server_that_is_not_there_means_try_later(bot_api: BotApi) -> None:
    channel = Telegram(bot_api.token, "s", api="http://127.0.0.1:9")
    with pytest.raises(BackendError) as failure:
        send(channel, "hi")
    channel.close()
    assert failure.value.code == "EUNAVAILABLE"


def test_every_wait_of_a_request_together_stays_within_twenty_seconds() -> None:
    seen: list[dict[str, float]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.extensions["timeout"])
        return httpx.Response(200, stream=httpx.ByteStream(b'{"ok": true, "result": {}}'))

    channel = Telegram("1:a", "s", transport=lambda: httpx.MockTransport(answer))
    send(channel, "hi")
    channel.close()
    assert sum(seen[0].values()) <= 20


def test_neither_logs_nor_errors_tell_the_token(
    telegram: Telegram, bot_api: BotApi, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    bot_api.fail(500)
    with pytest.raises(BackendError) as failure:
        send(telegram, "hi")
    send(telegram, "hi")
    assert "/sendMessage" in caplog.text
    assert bot_api.token not in caplog.text
    assert bot_api.token not in str(failure.value) + repr(telegram)


def test_an_api_below_a_path_is_reached(bot_api: BotApi) -> None:
    channel = Telegram(bot_api.token, "s", api=f"{bot_api.url}/telegram/")
    send(channel, "hi")
    channel.close()
    assert bot_api.requests[0].path == f"/telegram/bot{bot_api.token}/sendMessage"


# ---- who we are, and that we are at work


def test_the_bots_name_is_asked_once_and_only_when_a_message_names_somebody(
    telegram: Telegram, bot_api: BotApi
) -> None:
    assert telegram.accept(named()) == named()
    assert bot_api.requests == []
    assert telegram.accept(named("other", "sigil_bot"))
    assert not telegram.accept(named("other"))
    assert len(bot_api.calls("getMe")) == 1


def test_a_bots_name_that_cannot_be_learned_means_try_later(
    telegram: Telegram, bot_api: BotApi
) -> None:
    bot_api.fail(403, method="getMe")
    bot_api.reply(Answer(200, b'{"ok": true, "result": {"username": 5}}'), method="getMe")
    for _ in range(2):
        with pytest.raises(BackendError):
            telegram.accept(named("sigil_bot"))
    assert telegram.accept(named("sigil_bot"))


def test_a_configured_name_needs_no_question() -> None:
    assert Telegram("1:a", "s", username="@Sigil_Bot").accept(named("sigil_bot"))


def test_typing_is_shown_in_the_topic(telegram: Telegram, bot_api: BotApi) -> None:
    telegram.show_waiting(named(session=f"{GROUP}:31"))
    assert bot_api.calls("sendChatAction") == [
        {"chat_id": -100200300400, "message_thread_id": 31, "action": "typing"}
    ]


def test_typing_never_fails(bot_api: BotApi, telegram: Telegram) -> None:
    for status in (400, 403, 429, 500):
        bot_api.fail(status, method="sendChatAction")
        telegram.show_waiting(named(session="telegram:5"))
    bot_api.reply(Answer(cut=True), method="sendChatAction")
    telegram.show_waiting(named(session="telegram:5"))
    telegram.show_waiting(named(session="not a session"))
    lost = Telegram(bot_api.token, "s", api="http://127.0.0.1:1")
    lost.show_waiting(named(session="telegram:5"))
    assert len(bot_api.requests) == 5


def test_updates_can_be_fetched_by_long_polling(telegram: Telegram, bot_api: BotApi) -> None:
    bot_api.deliver({"update_id": 7})
    bot_api.deliver({"update_id": 8})
    assert telegram.api.call("getUpdates", {"offset": 8, "timeout": 1}) == [{"update_id": 8}]


def test_a_hanging_request_does_not_keep_the_server_from_closing() -> None:
    with BotApi() as api:
        api.reply(Answer(hang=True), method="")
        client = httpx.Client()
        with pytest.raises(httpx.ReadTimeout):
            client.post(f"{api.url}/bot{api.token}/getMe", timeout=0.1)
    client.close()


def test_files_leave_below_the_text_a_part_each_and_one_that_is_gone_is_said(
    telegram: Telegram, bot_api: BotApi
) -> None:
    def fail() -> bytes:
        raise UsageError("ENOENT", "there is no such file")

    files = (
        AttachedFile("图.png", "image/png", make_png),
        AttachedFile("report.pdf", "application/pdf", lambda: b"%PDF-1.7"),
        AttachedFile("old.gif", "image/gif", fail),
    )
    left: list[int] = []
    bot_api.fail(503, method="sendDocument")
    with pytest.raises(BackendError):
        telegram.send(Reply("telegram:5", "here", files=files), left.append)
    assert left == [1, 2]
    telegram.send(Reply("telegram:5", "here", files=files, start=2), left.append)
    assert left == [1, 2, 3]
    assert [each["text"] for each in bot_api.messages] == [
        "here",
        ENGLISH.file_is_gone.format(name="old.gif"),
    ]
    (photo,) = bot_api.photos
    assert photo["photo"] == {"name": "file.png", "content": make_png()}
    (document,) = bot_api.documents
    assert document["document"] == {"name": "report.pdf", "content": "%PDF-1.7"}


def test_a_message_is_changed_where_it_stands(telegram: Telegram, bot_api: BotApi) -> None:
    for session in ("telegram:5", f"{GROUP}:7"):
        sent = telegram.send_editable(session, "at **work**", "k")
        telegram.edit(session, sent, "at rest")
        telegram.edit(session, sent, "at rest")  # as it was: Telegram refuses that
        shown = bot_api.messages[-1]
        assert (shown["text"], shown["disable_notification"]) == ("at rest", True)
        with pytest.raises(Refused):
            telegram.edit(session, "99", "gone")
    assert len(bot_api.messages) == 2


def test_a_note_speaks_the_language_of_the_whole_answer(
    telegram: Telegram, bot_api: BotApi
) -> None:
    def fail() -> bytes:
        raise UsageError("ENOENT", "there is no such file")

    answer = "Hier ist das Bild, das du haben wolltest, und ich hoffe, dass es dir gefällt."
    file = AttachedFile("a.png", "image/png", fail)
    telegram.send(Reply("telegram:5", "", files=(file,), answer=answer), lambda _: None)
    assert bot_api.messages[-1]["text"] == GERMAN.file_is_gone.format(name="a.png")
