"""Replies that nobody has read yet: their order, their number, and that none comes twice."""

from __future__ import annotations

import pytest

from functions.channels.replies import unread_replies
from functions.channels.replies.unread_replies import UnreadReplies
from sigil.storage.kv import keys
from sigil.storage.kv.memory import MemoryKV

S = "main#terminal:main"


def texts(replies: UnreadReplies, **page: object) -> list[str]:
    return [unread.text for _, unread in replies.list_from(S, **page)]  # type: ignore[arg-type]


def test_replies_are_listed_in_the_order_of_their_sending_whatever_the_clock_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    replies = UnreadReplies(MemoryKV())
    for number, now in enumerate((5_000.0, 5_000.0, 4_000.0, 6_000.0)):
        monkeypatch.setattr(unread_replies.time, "time", lambda now=now: now)
        replies.keep(S, f"say:{number}", {"reply": str(number)})
    assert texts(replies) == ["0", "1", "2", "3"]
    first, second, *_ = (name for name, _ in replies.list_from(S))
    assert texts(replies, after=second) == ["2", "3"]
    assert texts(replies, limit=1) == ["0"]
    replies.drop(S, [first, second])
    assert texts(replies) == ["2", "3"]


def test_a_reply_that_is_sent_again_after_a_crash_is_kept_once() -> None:
    replies = UnreadReplies(MemoryKV())
    names = {replies.keep(S, "say:1", {"reply": "hello", "tools": ["x"]}) for _ in range(2)}
    assert texts(replies) == ["hello"]
    assert names == {replies.list_from(S)[0][0]}


def test_the_oldest_ones_go_and_the_oldest_that_stays_says_how_many_went(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(unread_replies, "MOST", 3)
    replies = UnreadReplies(MemoryKV())
    for number in range(7):
        replies.keep(S, f"say:{number}", {"reply": str(number)})
    assert texts(replies) == ["4", "5", "6"]
    assert [unread.lost for _, unread in replies.list_from(S)] == [4, 0, 0]


def test_what_cannot_be_read_holds_up_no_reply_before_or_behind_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kv = MemoryKV()
    replies = UnreadReplies(kv)
    monkeypatch.setattr(unread_replies.time, "time", lambda: 5.0)
    first = replies.keep(S, "say:1", {"reply": "one"})
    for number in range(1, 4):
        kv.put(keys.unread_reply(S, f"{int(first) + number:015d}"), b"?")
    replies.keep(S, "say:2", {"reply": "two"})
    replies.keep(S, "say:3", {"reply": "three"})
    assert texts(replies, limit=2) == ["one", "two"]
    assert texts(replies, after=first, limit=1) == ["two"]
