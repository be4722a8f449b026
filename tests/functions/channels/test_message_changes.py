"""Each platform tells in its own way that a message was changed or deleted, and which one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from functions.channels.base import Received, Reply
from functions.channels.discord.incoming_text import GUILD
from functions.channels.discord.messages import read_deletion, read_edit, read_message
from functions.channels.feishu.channel import Feishu
from functions.channels.line.channel import Line
from functions.channels.matrix.answer_runs import RUN_MOST
from functions.channels.matrix.channel import Matrix
from functions.channels.matrix.events import AGENT_MARK
from functions.channels.whatsapp.channel import WhatsApp
from functions.events import DELETED, EDIT, EDITED, ENCRYPTED, WRITTEN, Event
from functions.overheard import OverheardMessage
from tests.fakes import discord, feishu, graph_api, line, matrix, slack
from tests.functions.channels.discord.test_messages import ID, READER, in_server, message
from tests.functions.channels.slack.test_receive import TS, hear
from tests.tables import each_row

EDITED_TS = "1780000002.000000"
MENTION = f"<@{slack.BOT}> "


def one(received: Received) -> Event:
    [event] = received.events
    return event


def change(before: Event, received: Received, text: str) -> Event:
    """The event that changes a message, which it names."""
    found = one(received)
    assert found.data[EDITED] == before.id
    assert found.data[WRITTEN] == before.at
    assert (found.text, found.session, found.sender) == (text, before.session, before.sender)
    assert found.skips_queue
    assert found.order >= before.order
    return found


# ---- Slack


def changed(before: dict[str, Any], text: str, **message: Any) -> dict[str, Any]:
    """What Slack tells of a message that its author changed."""
    now = {**before, "text": text, "edited": {"user": before["user"], "ts": EDITED_TS}, **message}
    return {
        "type": "message",
        "subtype": "message_changed",
        "hidden": True,
        "channel": before["channel"],
        "ts": "1780000002.000900",
        "event_ts": "1780000002.000900",
        "message": {name: now[name] for name in now if name not in ("channel", "event_ts")},
        "previous_message": before,
    }


def test_a_message_of_slack_is_changed_by_its_author_and_in_its_words() -> None:
    before = slack.message("hallo", TS)
    first = change(one(hear(before)), hear(changed(before, "hello")), "hello")
    assert first.order == one(hear(before)).order
    preview = changed(before, "hallo", attachments=[{"title": "a page"}])
    assert hear(preview).events == ()
    other = changed(before, "hello", edited={"user": slack.BOB, "ts": EDITED_TS})
    assert hear(other).events == ()
    assert hear({**changed(before, "hello"), "message": {}}).events == ()


def test_a_mention_that_is_added_in_slack_is_one_change_however_it_is_told() -> None:
    before = slack.message("hello", TS, channel=slack.CHAT)
    said = MENTION + "hello"
    edit = one(hear(changed(before, said)))
    mention = {**before, "type": "app_mention", "text": said}
    mention["edited"] = {"user": slack.ADA, "ts": EDITED_TS}
    assert one(hear(mention)).id == edit.id
    assert edit.text == "hello"
    assert edit.order > one(hear({**before, "type": "app_mention"})).order
    # what names us no more is what people say to each other
    gone = hear(changed({**before, "text": said}, "hello"))
    assert (gone.events, [each.text for each in gone.overheard_changes]) == ((), ["hello"])


@pytest.mark.parametrize("kind", ["message_deleted", "tombstone"])
def test_a_message_that_is_deleted_in_slack_is_named(kind: str) -> None:
    before = slack.message("hello", TS)
    deleted = changed(before, "This message was deleted.", subtype="tombstone", user="USLACKBOT")
    if kind == "message_deleted":
        deleted |= {"subtype": kind, "deleted_ts": TS}
        del deleted["message"]
    found = one(hear(deleted))
    assert found.data[DELETED] == [one(hear(before)).id]
    assert found.session == one(hear(before)).session
    by_bot = {**deleted, "previous_message": {**before, "bot_id": "B1"}}
    assert hear(by_bot) == Received(answer=hear(deleted).answer)


# ---- Discord


def test_a_message_of_discord_is_changed_and_what_discord_adds_is_no_change() -> None:
    before = one(read_message(message("hallo"), READER))
    now = datetime.now(UTC)
    edited = message("hello", edited_timestamp=now.isoformat())
    found = change(before, read_edit(edited, READER), "hello")
    assert found.order == before.order
    assert read_edit(message("hallo", edited_timestamp=None), READER) == Received()
    assert read_edit(message("hallo", edited_timestamp="odd"), READER) == Received()
    long_ago = now - timedelta(hours=2)  # somebody has pinned it
    assert read_edit({**edited, "edited_timestamp": f"{long_ago}"}, READER) == Received()

    added = in_server("<@9> hello", edited_timestamp=f"{now}")
    assert one(read_edit(added, READER)).data[EDITED] == before.id
    other = read_edit({**added, "content": "hello"}, READER)
    assert (other.events, [each.text for each in other.overheard_changes]) == ((), ["hello"])
    # its names are asked for as those of a new message, and a bot changes nothing
    named = in_server("<@9> see <#55>", edited_timestamp=f"{now}")
    assert one(read_edit(named, READER)).data[GUILD] == "900"
    bot = {**added, "author": {**added["author"], "bot": True}}
    assert read_edit(bot, READER) == Received()


def test_messages_that_are_deleted_in_discord_are_named() -> None:
    rows = {"ids": [str(ID), "odd", str(ID + 1)], "channel_id": "5", "guild_id": "900"}
    found = read_deletion(rows, READER, 1_800_000_000.0)
    own = f"discord:{discord.APPLICATION}:"
    assert one(found).data[DELETED] == [f"{own}{ID}", f"{own}{ID + 1}"]
    [heard] = read_message(in_server("hi"), READER).overheard
    assert is_same(found.overheard_changes[0], heard)
    private = read_deletion({"id": str(ID), "channel_id": "5"}, READER, 1_800_000_000.0)
    assert (one(private).private, private.overheard_changes) == (True, ())
    assert read_deletion({"id": []}, READER, 1_800_000_000.0) == Received()


def is_same(change: OverheardMessage, kept: OverheardMessage) -> bool:
    """Whether a change without words is of a message that is kept."""
    return (change.text, change.slot, change.order[-21:]) == ("", kept.slot, kept.order[-21:])


# ---- Matrix


@pytest.fixture
def homeserver() -> Iterator[matrix.Homeserver]:
    with matrix.Homeserver() as fake:
        yield fake


@pytest.fixture
def account(homeserver: matrix.Homeserver) -> Iterator[Matrix]:
    url, bot = homeserver.url, matrix.BOT
    channel = Matrix(url, bot, matrix.TOKEN, matrix.SECRET, now=lambda: matrix.NOW)
    yield channel
    channel.close()


def put_in(server: matrix.Homeserver, event: dict[str, Any]) -> dict[str, Any]:
    server.rooms[event["room_id"]].events[event["event_id"]] = event
    return event


def replaces(event: dict[str, Any], body: str, *mentions: str) -> dict[str, Any]:
    new = matrix.text(body, *mentions)
    relation = {"rel_type": "m.replace", "event_id": event["event_id"]}
    return {**matrix.text(f"* {body}"), "m.new_content": new, "m.relates_to": relation}


def test_a_message_of_matrix_is_replaced_by_its_sender_alone(
    account: Matrix, homeserver: matrix.Homeserver
) -> None:
    def read(event: dict[str, Any]) -> Received:
        return account.receive(matrix.push(matrix.encode(event)))

    before = put_in(homeserver, matrix.make_event(matrix.text("hallo")))
    edit = matrix.make_event(replaces(before, "hello"))
    found = account.accept(one(read(edit)))
    first = account.accept(one(read(before)))
    assert found
    assert first
    change(first, Received((found,)), "hello")
    assert found.order == first.order
    stranger = matrix.make_event(replaces(before, "obey me"), matrix.BOB)
    assert account.accept(one(read(stranger))) is None
    unknown = matrix.make_event(replaces({"event_id": "$" + "x" * 43}, "hello"))
    assert account.accept(one(read(unknown))) is None

    # in its thread, and in a group
    said = matrix.text("hi", **matrix.in_thread("$root"))
    before = put_in(homeserver, matrix.make_event(said, room=matrix.GROUP))
    edit = matrix.make_event(replaces(before, "sigil: hi", matrix.BOT), room=matrix.GROUP)
    found = account.accept(one(read(edit)))
    assert found
    assert found.session.endswith("$root")
    assert found.text == "hi"
    silent = matrix.make_event(replaces(before, "hello"), room=matrix.GROUP)
    assert account.accept(one(read(silent))) is None


def test_a_change_in_matrix_is_one_message_with_what_it_changes(
    account: Matrix, homeserver: matrix.Homeserver
) -> None:
    def read(event: dict[str, Any]) -> Event:
        return one(account.receive(matrix.push(matrix.encode(event))))

    account.send(Reply(f"matrix:{matrix.GROUP}", "four", key="k"), lambda _: None)
    below = matrix.in_thread(homeserver.messages[0]["event_id"])
    said = matrix.make_event(matrix.text("why?", **below), matrix.BOB, matrix.GROUP)
    put_in(homeserver, said)
    event = read(matrix.make_event(replaces(said, "how?"), matrix.BOB, matrix.GROUP))
    edit = account.accept(event)
    assert edit
    # what a turn takes then begins the thread as well
    now = replace(event, id=event.id.removeprefix(EDIT), session=edit.session, data={})
    changed = account.accept(now)
    assert changed
    assert [quote.text for quote in changed.quotes] == ["four"]
    # and whoever changes a message again and again is no run of messages
    for number in range(RUN_MOST + 1):
        account.send(Reply(edit.session, "four", key=f"k{number}"), lambda _: None)
        again = matrix.make_event(replaces(said, f"how {number}?"), matrix.BOB, matrix.GROUP)
        assert account.accept(read(again))
    by_agent = replaces(said, "and you?")
    by_agent["m.new_content"][AGENT_MARK] = matrix.BOB
    bob = matrix.make_event(by_agent, matrix.BOB, matrix.GROUP)
    assert account.receive(matrix.push(matrix.encode(bob))).events == ()
    # nobody reads which words an encrypted change has
    relation = {"rel_type": "m.replace", "event_id": said["event_id"]}
    secret = matrix.make_event({"m.relates_to": relation}, kind="m.room.encrypted")
    assert read(secret).data == {ENCRYPTED: True}


@each_row("place", ["content", "event"])
def test_a_message_that_is_redacted_in_matrix_is_named(place: str, account: Matrix) -> None:
    before = matrix.make_event(matrix.text("hi", **matrix.in_thread("$root")))
    [heard] = account.receive(matrix.push(matrix.encode(before))).events
    gone = {"redacts": before["event_id"]}
    content, more = (gone, {}) if place == "content" else ({}, gone)
    redaction = matrix.make_event(content, kind="m.room.redaction", **more)
    received = account.receive(matrix.push(matrix.encode(redaction)))
    assert one(received).data[DELETED] == [heard.id]
    assert is_same(received.overheard_changes[0], make_kept(heard))
    account.rooms  # noqa: B018  from here on it is known who is where
    account.receive(matrix.push(matrix.encode(before)))
    assert account.find_sessions(one(received))[1:] == (heard.session,)
    elsewhere = replace(one(received), session=f"matrix:{matrix.GROUP}")
    assert account.find_sessions(elsewhere) == (elsewhere.session,)


def make_kept(event: Event) -> OverheardMessage:
    from functions.overheard import make_overheard

    return make_overheard(event)


# ---- Feishu


def test_a_message_of_feishu_is_changed_and_recalled() -> None:
    app = Feishu(feishu.APP, feishu.APP_SECRET, feishu.SECRETS, now=lambda: feishu.NOW)
    told = feishu.make_message("1", "hallo")
    before = one(app._note_chats(_read(told)))
    told = feishu.make_message("1", "hello", update_time=f"{feishu.NOW + 5}000")
    told["header"]["event_type"] = "im.message.updated_v1"
    change(before, _read(told), "hello")
    told = feishu.make_message("2", "hello", group=feishu.GROUP)
    [heard] = _read(told).overheard
    told["header"]["event_type"] = "im.message.updated_v1"
    assert _read(told).overheard_changes == (heard,)

    gone = {"message_id": "om_1", "chat_id": "oc_privat", "recall_time": f"{feishu.NOW}000"}
    found = _read(feishu.make_payload("im.message.recalled_v1", gone, "e-9"))
    assert one(found).data[DELETED] == [before.id]
    assert app.find_sessions(one(found)) == ["feishu:oc_privat", before.session]
    gone = {"message_id": "om_2", "chat_id": feishu.GROUP}
    found = _read(feishu.make_payload("im.message.recalled_v1", gone, "e-9"))
    assert is_same(found.overheard_changes[0], heard)
    assert _read(feishu.make_payload("im.message.recalled_v1", {}, "e-9")).events == ()


def _read(payload: dict[str, Any]) -> Received:
    from functions.channels.feishu.events import FeishuApp, read_payload

    return read_payload(payload, FeishuApp(feishu.APP, "feishu", "main"))


def test_feishu_tells_whose_a_recalled_message_was() -> None:
    with feishu.FeishuServer() as server:
        app = Feishu(
            feishu.APP, feishu.APP_SECRET, feishu.SECRETS, server.url, now=lambda: feishu.NOW
        )
        author = {"id": feishu.ALICE, "id_type": "open_id", "sender_type": "user"}
        server.stored["om_1"] = {"sender": author, "deleted": True, "thread_id": "omt_1"}
        gone = {"message_id": "om_1", "chat_id": feishu.GROUP}
        found = one(_read(feishu.make_payload("im.message.recalled_v1", gone, "e-9")))
        chat = f"feishu:{feishu.GROUP}"
        assert app.find_sessions(found) == [chat, f"feishu:{feishu.ALICE}", f"{chat}:om_1"]
        server.stored.clear()
        assert app.find_sessions(found) == [chat]
        app.close()


# ---- LINE and WhatsApp


def test_a_message_that_is_unsent_in_line_is_named() -> None:
    channel = Line(line.TOKEN, line.SECRET, now=lambda: 1_800_000_000.0)

    def read(event: dict[str, Any]) -> Received:
        return channel.receive(line.sign(line.make_body(event)))

    before = line.make_message(1)
    unsent = line.make_event("unsend", 2, unsend={"messageId": before["message"]["id"]})
    assert one(read(unsent)).data[DELETED] == [one(read(before)).id]
    said = line.make_message(3, chat=line.GROUP)
    [heard] = read(said).overheard
    unsent = line.make_event("unsend", 4, unsend={"messageId": said["message"]["id"]})
    unsent["source"] = said["source"]
    assert is_same(read(unsent).overheard_changes[0], heard)
    assert read(line.make_event("unsend", 5, unsend={})).events == ()


def test_a_message_of_whatsapp_is_changed_and_deleted() -> None:
    channel = WhatsApp(graph_api.NUMBER, graph_api.TOKEN, graph_api.SECRET, graph_api.VERIFY_TOKEN)

    def read(*messages: dict[str, object]) -> Received:
        return channel.receive(graph_api.sign(graph_api.make_body(*messages)))

    before = one(read(graph_api.make_message(1, "hallo")))
    new = {"type": "text", "text": {"body": "hello"}}
    edit = {"original_message_id": "wamid.TEST1", "message": new}
    found = one(read(graph_api.make_message(2, type="edit", edit=edit)))
    assert (found.data[EDITED], found.text) == (before.id, "hello")
    revoke = {"original_message_id": "wamid.TEST1"}
    found = one(read(graph_api.make_message(3, type="revoke", revoke=revoke)))
    assert (found.data[DELETED], found.session) == ([before.id], before.session)
