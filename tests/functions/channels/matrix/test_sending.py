"""Replies reach the room, whatever the homeserver says to them at first."""

from __future__ import annotations

from typing import Any

import pytest

from functions.channels.base import AttachedFile, Busy, ChatEncrypted, Reply
from functions.channels.matrix.channel import Matrix
from functions.channels.render.matrix import render_parts, write_html
from functions.events import Button, Event
from sigil.errors import BackendError, Refused, UsageError
from sigil.storage.kv.memory import MemoryKV
from tests.fakes.matrix import (
    ADA,
    BOB,
    BOT,
    DIRECT,
    GROUP,
    TOKEN,
    FakeRoom,
    Homeserver,
    encode,
    find_odd_html,
    in_thread,
    make_event,
    push,
    text,
)
from tests.fakes.server import Answer
from tests.tables import each_row

SVG = '<svg xmlns="http://www.w3.org/2000/svg"><circle r="1"/></svg>'


def send(matrix: Matrix, said: str, session: str = f"matrix:{DIRECT}", **reply: Any) -> list[int]:
    left: list[int] = []
    matrix.send(Reply(session, said, **{"key": "k1", **reply}), left.append)
    return left


def receive(matrix: Matrix, event: dict[str, Any]) -> Event:
    (found,) = matrix.receive(push(encode(event))).events
    return found


def read_contents(server: Homeserver) -> list[dict[str, Any]]:
    return [message["content"] for message in server.messages]


def test_a_plain_answer_has_no_html_and_names_nobody(matrix: Matrix, server: Homeserver) -> None:
    send(matrix, "It is <four> & @room\n@ada:example.org")
    (content,) = read_contents(server)
    assert content == {
        "msgtype": "m.text",
        "body": "It is <four> & @room\n@ada:example.org",
        "m.mentions": {},
        "app.uncaged.agent": BOT,
    }


def test_markdown_is_html_of_allowed_elements(matrix: Matrix, server: Homeserver) -> None:
    markdown = (
        "# Sum\n\n**bold** _it_ ~~no~~ `a<b` [x](https://e.org/?a=1&b=2) [m](mailto:a@e.org)\n"
        "next\n\n3. c\n4. d\n   - e\n\n> said\n\n```python\nx < 1\n```\n\n"
        "| a | b |\n|---:|---|\n| 1 | 2 | 3 |\n\n---"
    )
    send(matrix, markdown)
    (content,) = read_contents(server)
    assert content["body"] == markdown
    assert content["formatted_body"].replace("\n", "") == (
        "<h1>Sum</h1><p><strong>bold</strong> <em>it</em> <del>no</del> <code>a&lt;b</code>"
        ' <a href="https://e.org/?a=1&amp;b=2">x</a> <a href="mailto:a@e.org">m</a><br />next</p>'
        '<ol start="3"><li>c</li><li>d<ul><li>e</li></ul></li></ol>'
        "<blockquote><p>said</p></blockquote>"
        '<pre><code class="language-python">x &lt; 1</code></pre>'
        "<table><thead><tr><th>a</th><th>b</th></tr></thead>"
        "<tbody><tr><td>1</td><td>2 | 3</td></tr></tbody></table><hr />"
    )


@each_row(
    ("markdown", "seen"),
    [
        ("<script>x</script> <b>b</b>", "&lt;script&gt;x&lt;/script&gt; &lt;b&gt;b&lt;/b&gt;"),
        ("*a* &#x202e;b", "<em>a</em> b"),
        ("[a](data:text/html,x)", "[a](data:text/html,x)"),
        ("*a* [b](ftp://x/y)", "<em>a</em> b (ftp://x/y)"),
        ("![a cat](mxc://e.org/x)", "a cat (mxc://e.org/x)"),
        ("![a cat](https://e.org/x)", '<a href="https://e.org/x">a cat</a>'),
        ("![](https://e.org/x)", '<a href="https://e.org/x">https://e.org/x</a>'),
        ('```"><img src=x>\ny\n```', '"><img'),
    ],
)
def test_hostile_markdown_is_no_more_than_text(markdown: str, seen: str) -> None:
    html = write_html(markdown)
    assert find_odd_html(html) == ""
    if not markdown.startswith("```"):
        assert html == f"<p>{seen}</p>"


def test_what_the_parser_would_cut_off_is_sent_as_it_is() -> None:
    deep = "> " * 60 + "bottom"
    (part,) = render_parts(deep)
    assert (part.text, part.html) == (deep, "")


@pytest.mark.parametrize("unit", ["**word** and\n\n", "| a | b |\n", "漢字，", '"'])
def test_a_long_answer_is_cut_into_events_that_fit(unit: str, matrix: Matrix) -> None:
    head = "| x | y |\n|---|---|\n" if unit.startswith("|") else ""
    left = send(matrix, head + unit * (12_000 // len(unit)))
    assert left == list(range(1, len(left) + 1))
    assert len(left) >= 1


def test_no_part_is_sent_twice_and_none_is_left_out(matrix: Matrix, server: Homeserver) -> None:
    said = "word " * 12_000
    left = send(matrix, said)
    whole = [message["event_id"] for message in server.messages]
    assert len(whole) == len(left) + 1
    for start in (0, 1, 2):  # the process died before it could mark what had left
        send(matrix, said, start=start)
    assert [message["event_id"] for message in server.messages] == whole
    send(matrix, said, key="another")
    assert len(server.messages) == 2 * len(whole)


def test_a_far_too_long_answer_ends_in_a_file(matrix: Matrix, server: Homeserver) -> None:
    send(matrix, "word " * 30_000)
    *texts, file = read_contents(server)
    assert len(texts) == 4
    assert (file["msgtype"], file["filename"]) == ("m.file", "answer.md")
    assert server.uploads[file["url"]] == ("text/markdown", b"word " * 30_000)


def test_only_in_a_group_the_first_part_points_at_what_it_answers(
    matrix: Matrix, server: Homeserver
) -> None:
    asked = server.say(make_event(text("sigil: hi"), BOB, GROUP))
    said = "word " * 15_000
    send(matrix, said, f"matrix:{GROUP}", to=asked["event_id"])
    relations = [content.get("m.relates_to") for content in read_contents(server)]
    assert relations == [{"m.in_reply_to": {"event_id": asked["event_id"]}}, None, None]
    send(matrix, "more", f"matrix:{GROUP}", to=asked["event_id"], key="k2", goes_on=True)
    assert "m.relates_to" not in read_contents(server)[-1]
    send(matrix, "hi", to="$x", key="k2")
    assert "m.relates_to" not in read_contents(server)[-1]


def test_an_answer_in_a_thread_stays_there(matrix: Matrix, server: Homeserver) -> None:
    root = server.say(make_event(text("a topic"), BOB, GROUP))["event_id"]
    asked = server.say(make_event(text("sigil: hi", **in_thread(root)), BOB, GROUP))["event_id"]
    send(matrix, "hi", f"matrix:{GROUP}:{root}", to=asked)
    send(matrix, "a reminder", f"matrix:{GROUP}:{root}", key="k2")
    for content, answered in zip(read_contents(server), (asked, root), strict=True):
        assert content["m.relates_to"] == {
            "rel_type": "m.thread",
            "event_id": root,
            "m.in_reply_to": {"event_id": answered},
            "is_falling_back": True,
        }


def test_what_would_be_buttons_stands_in_the_text(matrix: Matrix, server: Homeserver) -> None:
    buttons = (Button("Approve 0123ab", "/approve 0123ab"), Button("Deny", "/deny 0123ab"))
    send(matrix, "May I?", buttons=buttons)
    (content,) = read_contents(server)
    assert (
        content["body"] == "May I?\n\n- Approve 0123ab: `!approve 0123ab`\n- Deny: `!deny 0123ab`"
    )


def test_a_person_alone_is_written_to_in_a_room_that_is_made_for_it(
    matrix: Matrix, server: Homeserver
) -> None:
    for number in range(2):
        send(matrix, f"word {number}", f"matrix:{BOB}", key=f"k{number}")
    first, second = (message["room_id"] for message in server.messages)
    assert first == second
    assert server.rooms[first].invited == {BOB}
    (made,) = server.asked("/createRoom")
    assert made.json()["is_direct"] is True
    # one that a third has entered is not private any more, nor is one that we have left
    server.rooms[first].members |= {BOB: "Bob", ADA: "Ada"}
    server.rooms["!left:example.org"] = FakeRoom({BOB: "Bob"})
    server.account_data["m.direct"][BOB].append("!left:example.org")
    send(matrix, "word", f"matrix:{BOB}", key="k3")
    assert server.messages[-1]["room_id"] not in (first, "!left:example.org")


def attach(body: bytes, name: str, kind: str) -> AttachedFile:
    return AttachedFile(name, kind, lambda: body)


def test_files_are_uploaded_and_shown(matrix: Matrix, server: Homeserver) -> None:
    files = (attach(b"\x89PNG", "a/plot.png", "image/png"), attach(b"a,b", "t.csv", "text/csv"))
    assert send(matrix, f"Here\n\n{SVG}", files=files) == [1, 2, 3]
    _, picture, plot, table = read_contents(server)
    assert (picture["msgtype"], picture["filename"]) == ("m.file", "picture.svg")
    assert (plot["msgtype"], plot["body"]) == ("m.image", "plot.png")
    assert plot["info"] == {"mimetype": "image/png", "size": 4}
    assert server.uploads[table["url"]] == ("text/csv", b"a,b")


def test_a_file_that_is_not_taken_or_is_gone_leaves_a_note(
    matrix: Matrix, server: Homeserver
) -> None:
    def read() -> bytes:
        raise UsageError("ENOENT", "gone")

    server.upload_most = 2
    files = (attach(b"large", "a.png", "image/png"), AttachedFile("b.csv", "text/csv", read))
    send(matrix, "", files=files)
    bodies = [content["body"] for content in read_contents(server)]
    assert "takes no files from me" in bodies[0]
    assert "b.csv" in bodies[1]


def test_a_message_that_is_refused_is_sent_plain_and_then_as_a_note(
    matrix: Matrix, server: Homeserver
) -> None:
    server.fail("/send/", "M_BAD_JSON")
    send(matrix, "**four**")
    server.fail("/send/", "M_TOO_LARGE", 413, times=2)
    send(matrix, "**five**", key="k2")
    first, second = read_contents(server)
    assert (first["body"], "formatted_body" in first) == ("**four**", False)
    assert "did not take this part" in second["body"]
    server.fail("/send/", "M_BAD_JSON", times=3)
    with pytest.raises(Refused):
        send(matrix, "**six**", key="k3")


@pytest.mark.parametrize(
    ("fields", "headers", "seconds"),
    [
        ({"retry_after_ms": 2500}, {}, 2.5),
        ({"retry_after_ms": "soon"}, {}, 0.0),
        ({"retry_after_ms": 2500}, {"retry-after": "7"}, 7.0),
    ],
)
def test_a_busy_homeserver_says_when_to_come_again(
    fields: dict[str, Any],
    headers: dict[str, str],
    seconds: float,
    matrix: Matrix,
    server: Homeserver,
) -> None:
    server.fail("/send/", "M_LIMIT_EXCEEDED", 429, **fields)
    failure = server._failures[-1]
    failure.answer = Answer(429, failure.answer.body, {**failure.answer.headers, **headers})
    with pytest.raises(Busy) as busy:
        send(matrix, "four")
    assert busy.value.retry_after == seconds
    send(matrix, "four")
    assert len(server.messages) == 1


def test_a_room_that_we_were_sent_away_from_never_gets_it(
    matrix: Matrix, server: Homeserver
) -> None:
    del server.rooms[GROUP].members[BOT]
    with pytest.raises(Refused) as refused:
        send(matrix, "four", f"matrix:{GROUP}")
    assert not isinstance(refused.value, BackendError)


def test_waiting_is_shown_until_the_answer(matrix: Matrix, server: Homeserver) -> None:
    root = server.say(make_event(text("a topic")))["event_id"]
    asked = server.say(make_event(text("hi", **in_thread(root))))
    (event,) = matrix.receive(push(encode(asked))).events
    for _ in range(2):
        assert 0 < matrix.show_waiting(event) < 30
    assert server.receipts == [(event.reply_to, root)]
    assert server.typing == [(DIRECT, True)] * 2
    matrix.send(Reply(event.session, "hi", event.reply_to, key="k"), lambda _: None)
    assert server.typing[-1] == (DIRECT, False)
    assert matrix.show_waiting(event) == 0.0  # its thread was slower than the answer
    assert server.typing[-1] == (DIRECT, False)


def test_waiting_ends_without_an_answer_and_never_fails(matrix: Matrix, server: Homeserver) -> None:
    (event,) = matrix.receive(push(encode(make_event(text("hi"))))).events
    server.fail("/receipt/", "M_UNKNOWN", 500)
    server.fail("/typing/", "M_FORBIDDEN", 403, times=2)
    assert matrix.show_waiting(event) > 0
    matrix.end_waiting(event)
    assert server.typing == []
    matrix.end_waiting(event)
    assert server.typing == [(DIRECT, False)]


def read_attachment(url: str, matrix: Matrix) -> Event:
    content = {"msgtype": "m.file", "body": "a.txt", "url": url}
    (event,) = matrix.receive(push(encode(make_event(content)))).events
    return event


@pytest.mark.parametrize("authenticated", [True, False])
def test_a_file_is_fetched_from_our_own_homeserver(
    authenticated: bool, matrix: Matrix, server: Homeserver
) -> None:
    server.knows_authenticated_media = authenticated
    server.files["mxc://other.org:8448/AbC"] = b"hello"
    (attachment,) = read_attachment("mxc://other.org:8448/AbC", matrix).attachments
    assert matrix.fetch(attachment, 5) == b"hello"
    with pytest.raises(UsageError, match="large"):
        matrix.fetch(attachment, 4)


@pytest.mark.parametrize("url", ["https://e.org/x", "mxc://e.org/../x", "mxc://e.org/a/b", 7])
def test_nothing_else_is_ever_fetched(url: str, matrix: Matrix, server: Homeserver) -> None:
    (attachment,) = read_attachment(url, matrix).attachments
    with pytest.raises(UsageError):
        matrix.fetch(attachment, 100)
    assert server.requests == []


def test_a_file_that_is_gone_is_told_so(matrix: Matrix) -> None:
    (attachment,) = read_attachment("mxc://e.org/gone", matrix).attachments
    with pytest.raises(BackendError, match="404"):
        matrix.fetch(attachment, 100)


def test_a_message_is_changed_where_it_stands_and_sent_once(
    matrix: Matrix, server: Homeserver
) -> None:
    for session in (f"matrix:{DIRECT}", f"matrix:{GROUP}"):
        first, again = (matrix.send_editable(session, "at work", session) for _ in range(2))
        assert first == again
        for said in ("at rest", "at work", "at rest"):
            matrix.edit(session, first, said)
        with pytest.raises(Refused):
            matrix.edit(session, "!other:example.org $gone", "gone")
    assert [content["body"] for content in read_contents(server)] == ["at rest"] * 2


def test_nothing_of_ours_reaches_a_room_that_has_become_encrypted(
    matrix: Matrix, server: Homeserver
) -> None:
    name = matrix.send_editable(f"matrix:{GROUP}", "working", "k0")
    server.rooms[GROUP].encrypted = True
    secret = "the code is 4711"
    file = AttachedFile("a.txt", "text/plain", lambda: b"4711")
    with pytest.raises(ChatEncrypted):
        send(matrix, secret, f"matrix:{GROUP}", files=(file,))
    with pytest.raises(ChatEncrypted):
        send(matrix, "", f"matrix:{GROUP}", files=(file,))
    with pytest.raises(ChatEncrypted):
        matrix.send_editable(f"matrix:{GROUP}", secret, "k2")
    with pytest.raises(ChatEncrypted):
        matrix.edit(f"matrix:{GROUP}", name, secret)
    assert matrix.show_waiting(receive(matrix, make_event(text("sigil: hi"), ADA, GROUP))) == 0.0
    # what arrived: the first message, and once that nothing is written there
    assert [content["body"][:22] for content in read_contents(server)] == [
        "working",
        "This room is encrypted",
    ]
    assert "4711" not in "".join(str(request.body) for request in server.requests)
    assert server.uploads == {}
    assert (GROUP, True) not in server.typing


def test_a_room_that_becomes_encrypted_between_two_messages_gets_no_second_one(
    matrix: Matrix, server: Homeserver
) -> None:
    def encrypt(_: int) -> None:
        server.rooms[GROUP].encrypted = True

    with pytest.raises(ChatEncrypted):
        matrix.send(Reply(f"matrix:{GROUP}", "word " * 20_000, key="k"), encrypt)
    assert [content["body"][:4] for content in read_contents(server)] == ["word", "This"]


def test_another_process_knows_from_the_store_which_rooms_are_encrypted(
    matrix: Matrix, server: Homeserver
) -> None:
    kv = MemoryKV()
    matrix.use_store(kv)
    turned = make_event({}, ADA, GROUP, "m.room.encryption", state_key="")
    matrix.receive(push(encode(turned)))
    other = Matrix(server.url, BOT, TOKEN)
    other.use_store(kv)
    with pytest.raises(ChatEncrypted):
        send(other, "the code is 4711", f"matrix:{GROUP}")
    assert server.asked("m.room.encryption") == []
    other.close()


def test_a_word_to_a_person_leaves_in_a_room_that_is_not_encrypted(
    matrix: Matrix, server: Homeserver
) -> None:
    server.account_data["m.direct"] = {ADA: [DIRECT]}
    server.rooms[DIRECT].encrypted = True
    send(matrix, "approve?", f"matrix:{ADA}")
    (message,) = server.messages
    made = message["room_id"]
    assert server.rooms[made].invited == {ADA}
    # a homeserver that encrypts every room gets no third one
    server.rooms[made].encrypted = True
    for _ in range(2):
        with pytest.raises(ChatEncrypted):
            send(matrix, "approve?", f"matrix:{ADA}", key="k3")
    assert len(server.asked("createRoom")) == 1


def test_where_encryption_is_not_known_nothing_leaves(matrix: Matrix, server: Homeserver) -> None:
    server.fail("m.room.encryption", "M_UNKNOWN", 502)
    with pytest.raises(BackendError):
        send(matrix, "hello")
    assert server.messages == []
