"""On Slack, Feishu and DingTalk an answer grows in the chat as the message that it becomes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
import pytest

from functions import worker
from functions.channels.base import AttachedFile, Busy, Channel, Draft, Drafts, Reply, UsesStore
from functions.channels.dingtalk.channel import DingTalk
from functions.channels.drafts import cut_draft
from functions.channels.feishu.channel import Feishu
from functions.channels.render.marks import BREAK
from functions.channels.slack.channel import Slack
from functions.events import Button, Event, Sender
from functions.texts.languages import find_texts
from functions.wiring import AgentRuntime
from sigil.errors import BackendError, SigilError, UsageError
from sigil.storage.kv.memory import MemoryKV
from tests.fakes import dingtalk, feishu, slack
from tests.fakes.dingtalk import DingTalkServer
from tests.fakes.feishu import FeishuServer
from tests.fakes.server import Answer, Recorded, json_answer
from tests.fakes.slack import SlackWorkspace
from tests.fakes.speaking_model import SpeakingModel, Speech, Word, speak
from tests.fakes.virtual_time import VirtualTime
from tests.tables import each_row

URL = "http://127.0.0.1:9"
PLATFORMS = ("slack", "feishu", "dingtalk")
STORY = "It was a dark night, and the rain fell"
WITHDRAWN = find_texts("").draft_withdrawn
CUT = Answer(cut=True)
LOST = Answer(cut=True, hang=True)
"""A request that never comes, and one whose answer never does."""
HARD = """\
# Report for <!here> @channel

A **bold** word, an *odd* one, ~~gone~~, `code <@U0ADA0001>`, [a link](https://example.com/a?b=c).

| a | b |
|---|---|
| 1 | 2 |

1. first & foremost
2. second
   - deeper <at id=all></at>

> quoted
> twice

```py
print("<!channel>") # dtmd://dingtalkclient/sendMessage
```

www.example.com, a.b@example.com: the end."""


@dataclass
class Place(httpx.BaseTransport):
    """A platform in this process, and one agent there after another. `answers` are those to the
    next requests in place of the platform's own, None for its own. `meanwhile` happens while the
    next request is under way.
    """

    platform: str
    server: SlackWorkspace | FeishuServer | DingTalkServer
    kv: MemoryKV = field(default_factory=MemoryKV)
    answers: list[Answer | None] = field(default_factory=list)
    asked: list[Recorded] = field(default_factory=list)
    meanwhile: list[Callable[[], object]] = field(default_factory=list)
    now: float = 1_800_000_000.0
    rounds: int = 0

    def clear(self) -> None:
        """Begin anew: nobody has said anything."""
        self.server.messages.clear()
        if isinstance(self.server, SlackWorkspace):
            self.server.files.clear()
        self.kv = MemoryKV()
        self.answers = []
        self.rounds += 1
        self.now += 1_000.0
        self.server.pace.now = lambda: self.now

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        path = request.url.raw_path.decode()
        recorded = Recorded(request.method, path, headers, request.read())
        self.asked.append(recorded)
        own = self.answers.pop(0) if self.answers else None
        if own is CUT:
            raise httpx.ReadError("no answer")
        answer = self.server.answer(recorded) if own in (None, LOST) else own
        if self.meanwhile:
            self.meanwhile.pop(0)()
        if own is LOST:
            raise httpx.ReadError("no answer")
        assert answer
        assert isinstance(answer.body, bytes)
        stream = httpx.ByteStream(answer.body)
        return httpx.Response(answer.status, headers=dict(answer.headers), stream=stream)

    def open(self, **fields: Any) -> Any:
        """Open the bot as another process would."""
        options = {"transport": lambda: self, "now": lambda: self.now, **fields}
        channel: Channel
        if self.platform == "slack":
            channel = Slack(slack.TOKEN, "secret", f"{self.server.url}/api", **options)
        elif self.platform == "feishu":
            secrets = feishu.SECRETS
            channel = Feishu(feishu.APP, feishu.APP_SECRET, secrets, URL, **options)
        else:
            options = {"card_template": dingtalk.TEMPLATE, **options}
            channel = DingTalk(dingtalk.APP, dingtalk.SECRET, api=URL, old_api=URL, **options)
        assert isinstance(channel, UsesStore)
        channel.use_store(self.kv)
        return channel

    def ask(self, number: int = 1) -> Event:
        """A person's message."""
        return ask(self.platform, number)

    def reply(self, text: str, number: int = 1, **fields: Any) -> Reply:
        event = self.ask(number)
        key = f"{self.rounds}-{number}".zfill(32)
        return Reply(event.session, text, event.reply_to, key=key, **fields)

    def read(self) -> list[object]:
        """What people see, as it is formatted, one message after the other."""
        seen: list[object] = []
        for each in self.server.messages:
            if self.platform == "slack":
                seen.append((each["seen"], each.get("blocks"), each.get("state") == slack.OPEN))
            elif self.platform == "feishu" and not each.get("recalled"):
                content = each["content"]
                writing = content.get("config", {}).pop("streaming_mode", False)
                seen.append(
                    (content.get("body") or content["text"], content.get("config"), writing)
                )
            elif self.platform == "dingtalk":
                text = each["content"].get("text", each["kind"])
                seen.append((text, not each.get("is_last", True)))
        return [each for each in seen if each != ("", None, False)]

    def texts(self) -> list[str]:
        """What people read."""
        if isinstance(self.server, SlackWorkspace):
            texts = [each["seen"] for each in self.server.messages]
            texts += [each["name"] for each in self.server.files]
        else:
            texts = self.server.texts()
        return [text.replace(BREAK, "") for text in texts if text]

    def is_writing(self) -> bool:
        """Whether a message still looks as if it were being written."""
        if isinstance(self.server, FeishuServer):
            shown = [each for each in self.server.messages if not each.get("recalled")]
            cards = [each["content"].get("config", {}) for each in shown]
            return any(each.get("streaming_mode") for each in cards)
        return any(each[-1] for each in self.read())  # type: ignore[index]


def ask(platform: str, number: int = 1) -> Event:
    """A person's message."""
    sender, session, to = {
        "slack": (
            f"slack:{slack.TEAM}.{slack.ADA}",
            f"slack:{slack.CHAT}:1780000000.000100",
            f"{slack.CHAT}/178000000{number}.000100",
        ),
        "feishu": (f"feishu:{feishu.ALICE}", f"feishu:{feishu.ALICE}", f"om_{number}"),
        "dingtalk": (
            f"dingtalk:{dingtalk.ALICE}",
            f"dingtalk:{dingtalk.ALICE}",
            f"msg{number}== {dingtalk.CHAT}",
        ),
    }[platform]
    event = Event(f"e{number}", "message", "main", session, Sender(sender), "go on", 0.0, "0")
    return replace(event, reply_to=to, private=True)


SERVERS = {"slack": SlackWorkspace, "feishu": FeishuServer, "dingtalk": DingTalkServer}


@pytest.fixture(params=PLATFORMS)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    with SERVERS[request.param]() as server:
        yield Place(request.param, server)


def open_draft(channel: Drafts, event: Event) -> Draft:
    draft = channel.open_draft(event)
    assert draft
    return draft


def send(channel: Channel, reply: Reply) -> int:
    """Send a reply, and return how many parts have left before the last."""
    left = [0]
    channel.send(reply, left.append)
    return max(left)


def grow(place: Place, draft: Draft, text: str, step: int) -> None:
    """Show a text as it is written."""
    for end in range(step, len(text) + step, step):
        only_grows = draft.form.only_grows
        draft.show(cut_draft(text[:end], draft.form.characters, only_grows=only_grows))
        place.now += draft.form.pace


def test_an_answer_that_grew_reads_as_one_that_was_sent_at_once(place: Place) -> None:
    for text in (HARD, "Only words & <tags>, a **style** open", STORY * 3):
        place.clear()
        at_once = place.open()
        send(at_once, place.reply(text, 2))
        wanted = place.read()
        place.clear()
        grown = place.open()
        draft = open_draft(grown, place.ask())
        grow(place, draft, text, 90)
        assert place.is_writing()
        assert len(place.texts()) == 1
        assert send(grown, place.reply(text)) == 0
        assert not place.is_writing()
        if place.platform == "feishu" and text.startswith(STORY):
            # what has no style is a message of text when it is sent at once
            assert place.texts() == [text]
            continue
        assert place.read() == wanted
    if isinstance(place.server, SlackWorkspace):
        assert place.server.pings == []
        starts = [each for each in place.asked if each.path.endswith("/chat.startStream")]
        assert len(starts) == 3  # one for each text
        sent = [each.body.decode() for each in place.asked if b"Stream" in each.path.encode()]
        assert not [body for body in sent if "https%3A%2F%2Fexample" in body]


FILE = AttachedFile("a.txt", "text/plain", lambda: b"all of it")
ENDS: list[tuple[str, dict[str, Any], int]] = [
    (f"{STORY}.", {}, 0),
    (f"{STORY}.", {"files": (FILE,)}, 1),
    (f"{STORY}.", {"buttons": (Button("Yes", "/yes"),)}, 0),
    (f"{STORY} for a day.\n\n" + ("It went on and on. " * 60 + "\n\n") * 22, {}, 1),
    ("Something else is true.", {}, 0),
    (STORY, {"file_name": "story.md"}, 0),
]


@each_row("text, fields, least", ENDS)
def test_the_answer_completes_what_grew_once_and_nothing_else_is_left(
    place: Place, text: str, fields: dict[str, Any], least: int
) -> None:
    place.clear()
    send(place.open(), place.reply(text, 2, **fields))
    wanted = place.texts()
    place.clear()
    channel = place.open()
    draft = open_draft(channel, place.ask())
    draft.show(STORY)
    assert send(channel, place.reply(text, **fields)) >= least
    seen = place.texts()
    if "file_name" in fields and place.platform == "dingtalk":
        assert seen.pop(0) == WITHDRAWN
    assert seen == wanted
    assert not place.is_writing()
    for late in (f"{STORY} and fell", "Other words, which come too late"):
        with pytest.raises(Busy):
            draft.show(late)
    for number, again in ((3, channel), (4, place.open())):  # it touches nothing of the first
        send(again, place.reply("Later.", number))
    seen = [text for text in place.texts() if text != WITHDRAWN]
    assert sorted(seen) == sorted([*wanted, *["Later."] * 2])


CRASHES = ["answer", "same answer", "silence", "next"]


@each_row("then", CRASHES)
def test_what_a_crash_leaves_is_completed_or_removed_by_the_next_process(
    place: Place, then: str
) -> None:
    place.clear()
    before, after = place.open(), place.open()
    open_draft(before, place.ask()).show(STORY)
    place.now += 60.0
    if then == "same answer":
        send(before, place.reply("It is over."))  # and is not marked
        place.now += 60.0
    if then == "silence":
        after.end_waiting(place.ask())
    elif then == "next":
        send(after, place.reply("A reminder.", 4))
        draft = open_draft(after, place.ask(2))
        draft.show("Another story begins")
        draft.take_away()
    else:
        send(after, place.reply("It is over."))
    wanted = {"silence": [], "next": ["A reminder."]}.get(then, ["It is over."])
    assert [text for text in place.texts() if text != WITHDRAWN] == wanted
    assert not place.is_writing()


def test_of_a_draft_nothing_is_left_where_a_crash_lies_between_two_files_of_the_answer(
    place: Place,
) -> None:
    channel = place.open()
    open_draft(channel, place.ask()).show(STORY)
    files = (FILE, replace(FILE, name="b.txt"))
    send(place.open(), place.reply("", files=files, start=1))  # the first has left, and is marked
    seen = [text for text in place.texts() if text != WITHDRAWN]
    assert len(seen) == 1
    assert STORY not in seen
    assert not place.is_writing()


def test_an_answer_that_was_marked_is_not_touched_by_what_comes_later(place: Place) -> None:
    channel = place.open()
    open_draft(channel, place.ask()).show(STORY)
    send(channel, place.reply("It is over."))
    other = place.open()
    other.end_waiting(place.ask())
    open_draft(other, place.ask(2)).show("Another story begins")
    send(other, place.reply("And the second.", 2))
    channel.send(place.reply("It is over.\n\nReally.", start=1), lambda _: None)
    assert place.texts() == ["It is over.", "And the second."]
    also = replace(place.reply("One more thing.", 2), key="f" * 32)
    send(place.open(), also)
    assert place.texts() == ["It is over.", "And the second.", "One more thing."]


def test_an_answer_that_completes_a_card_which_was_refused_is_known_to_the_next_process() -> None:
    with FeishuServer() as server:
        place = Place("feishu", server)
        channel = place.open()
        send(channel, place.reply("Hello.", 9))
        draft = open_draft(channel, place.ask())
        place.answers = [None, put_off(place)]
        place.meanwhile = [lambda: None, lambda: send(channel, place.reply("It is over."))]
        with pytest.raises(Busy):
            draft.show(STORY)
        place.now += 60.0
        send(place.open(), place.reply("It is over."))  # the first was not marked
        assert place.texts() == ["Hello.", "It is over."]


BEGINNINGS = {"slack": 0, "feishu": 1, "dingtalk": 0}
"""The request by which a message appears."""


@each_row("fate, by", [(CUT, "same"), (LOST, "same"), (CUT, "other"), (LOST, "other")])
def test_of_a_beginning_that_nobody_heard_of_nothing_is_left(
    place: Place, fate: Answer, by: str
) -> None:
    place.clear()
    channel = place.open()
    send(channel, place.reply("Hello.", 9))
    open_draft(channel, place.ask(2)).show(STORY)
    send(channel, place.reply("It was another night.", 2))
    draft = open_draft(channel, place.ask())
    place.answers = [*[None] * BEGINNINGS[place.platform], fate]
    with pytest.raises(BackendError):
        draft.show(STORY)
    place.now += 60.0
    if by == "other":
        channel = place.open()
        place.answers = [*[None] * 5, CUT]  # one that ends in the middle of it
        with suppress(BackendError):
            channel.end_waiting(place.ask())
        place.answers = []
        place.now += 60.0
        channel = place.open()
    send(channel, place.reply("It is over."))
    seen = [text for text in place.texts() if text != WITHDRAWN]
    assert seen == ["Hello.", "It was another night.", "It is over."]
    assert not place.is_writing()


def test_a_stream_that_was_found_is_known_until_it_is_deleted() -> None:
    with SlackWorkspace() as server:
        place = Place("slack", server)
        place.answers = [LOST]
        with pytest.raises(BackendError):
            open_draft(place.open(), place.ask()).show(STORY)
        # the sign of waiting, the thread, who we are, the end of the stream
        place.answers = [None, None, None, None, CUT]
        place.open().end_waiting(place.ask())
        assert place.texts() == [STORY]
        assert place.asked[-1].path.endswith("/chat.delete")
        place.answers = [put_off(place)]
        send(place.open(), place.reply("It is over."))
        assert place.texts() == ["It is over."]


def test_an_answer_that_comes_while_a_draft_is_on_its_way_comes_once(place: Place) -> None:
    for request in range(4):
        place.clear()
        channel = place.open()
        send(channel, place.reply("Hello.", 9))
        draft = open_draft(channel, place.ask())
        answer = place.reply(f"{STORY} for years.")
        place.meanwhile = [*[lambda: None] * request, lambda: send(channel, answer)]  # noqa: B023
        with suppress(Busy):
            for times in range(4):
                draft.show(STORY + " and fell" * times)
        assert not place.meanwhile
        seen = [text for text in place.texts() if text != WITHDRAWN]
        assert seen == ["Hello.", f"{STORY} for years."], request
        assert not place.is_writing()


def test_a_stream_of_which_words_may_be_lost_ends_without_the_rest() -> None:
    with SlackWorkspace() as server:
        place = Place("slack", server)
        channel = place.open()
        draft = open_draft(channel, place.ask())
        draft.show(STORY)
        place.answers = [LOST]
        with pytest.raises(BackendError):
            draft.show(f"{STORY} and fell")
        send(channel, place.reply(f"{STORY} and fell for years."))
        (end,) = [each for each in place.asked if each.path.endswith("/chat.stopStream")]
        assert b"markdown_text" not in end.body
        assert place.texts() == [f"{STORY} and fell for years."]


def test_words_that_were_taken_back_are_replaced(place: Place) -> None:
    channel = place.open()
    draft = open_draft(channel, place.ask())
    for text in (STORY, "No, it was a bright day", "No, it was a bright day in May"):
        draft.show(text)
    assert place.texts() == ["No, it was a bright day in May"]
    send(channel, place.reply("It was a night in May."))
    assert place.texts() == ["It was a night in May."]
    assert not place.is_writing()


def put_off(place: Place) -> Answer:
    """What asks us to wait for a minute."""
    if place.platform == "slack":
        answer = json_answer({"ok": False, "error": "ratelimited"}, 429)
        return replace(answer, headers={**answer.headers, "retry-after": "60"})
    return json_answer({"code": 99991400, "msg": "slow down"}, 429)


def refuse(place: Place) -> Answer:
    if place.platform == "slack":
        return json_answer({"ok": False, "error": "channel_type_not_supported"})
    return json_answer({"code": 77, "msg": "no", "message": "no"}, 400)


FAILURES: list[Callable[[Place], Answer]] = [
    put_off,
    refuse,
    lambda place: Answer(500),
    lambda place: CUT,
]


@each_row("fail", FAILURES)
def test_a_failure_is_followed_by_no_other_call_and_the_answer_comes_once(
    place: Place, fail: Callable[[Place], Answer]
) -> None:
    for place_of_failure in range(3):  # the beginning, or a change
        place.clear()
        channel = place.open()
        send(channel, place.reply("Hello.", 9))
        draft = open_draft(channel, place.ask())
        texts = [STORY, f"{STORY} and fell", f"{STORY} and fell for days"]
        for text in texts[:place_of_failure]:
            draft.show(text)
        before = len(place.asked)
        place.answers = [fail(place)]
        with pytest.raises(SigilError):
            draft.show(texts[place_of_failure])
        assert len(place.asked) == before + 1
        with suppress(SigilError):
            draft.show(f"{STORY} and fell for days and nights")
        send(channel, place.reply(f"{STORY} and fell for years."))
        assert place.texts() == ["Hello.", f"{STORY} and fell for years."]
        assert not place.is_writing()


def test_an_answer_that_cannot_complete_it_is_sent_whole(place: Place) -> None:
    for attempt in (refuse(place), CUT):
        for number in range(3):
            place.clear()
            channel = place.open()
            open_draft(channel, place.ask()).show(STORY)
            place.answers = [*[None] * number, attempt]
            for _ in range(3):
                place.now += 30.0
                with suppress(BackendError):
                    send(channel, place.reply(f"{STORY}."))
                    break
            place.answers = []
            seen = [text for text in place.texts() if text != WITHDRAWN]
            assert seen == [f"{STORY}."], (attempt, number)


def test_one_that_its_platform_has_ended_stands_still_until_the_answer_completes_it(
    place: Place,
) -> None:
    channel = place.open()
    draft = open_draft(channel, place.ask())
    draft.show(STORY)
    if isinstance(place.server, SlackWorkspace):
        place.server.messages[0]["state"] = "errored"
    elif isinstance(place.server, FeishuServer):
        place.server.messages[0]["content"]["config"]["streaming_mode"] = False
    else:
        return  # DingTalk ends none
    with pytest.raises(Busy) as raised:
        draft.show(f"{STORY} and fell")
    assert raised.value.retry_after == 0.0
    send(channel, place.reply(f"{STORY} for years."))
    assert place.texts() == [f"{STORY} for years."]


def test_a_robot_says_which_permissions_it_lacks_for_cards() -> None:
    with DingTalkServer() as server:
        place = Place("dingtalk", server)
        assert place.open().list_missing_scopes() == ()
        server.may_use_cards = False
        assert "Card.Streaming.Write" in place.open().list_missing_scopes()
        assert place.open(card_template="").list_missing_scopes() == ()
        assert len(place.asked) == 4  # two tokens, two questions


def test_where_nothing_can_grow_there_is_no_draft() -> None:
    event = ask("slack")
    bot = Slack(slack.TOKEN, "secret")
    assert bot.open_draft(event) is None  # without a store
    bot.use_store(MemoryKV())
    assert bot.open_draft(event)
    for odd in (
        {"session": f"slack:{slack.CHAT}"},
        {"session": "slack:odd:1780000000.000100"},
        {"reply_to": ""},
        {"reply_to": f"{slack.CHAT}/1780000000.000100 99 https://hooks.slack.com/commands/a"},
        {"sender": Sender("slack:E0ORG.U1")},
    ):
        assert bot.open_draft(replace(event, **odd)) is None
    robot = DingTalk(dingtalk.APP, dingtalk.SECRET)
    robot.use_store(MemoryKV())
    event = ask("dingtalk")
    assert robot.open_draft(event) is None
    robot = DingTalk(dingtalk.APP, dingtalk.SECRET, card_template=dingtalk.TEMPLATE)
    robot.use_store(MemoryKV())
    assert robot.open_draft(event)
    assert robot.open_draft(replace(event, session="dingtalk:$:LWCP_v1:$gzXDEXQ")) is None
    with pytest.raises(UsageError):
        DingTalk(dingtalk.APP, dingtalk.SECRET, card_template="a b")


def test_an_app_that_may_write_no_cards_answers_as_before_and_says_so_once(
    runtime: Callable[..., AgentRuntime], caplog: pytest.LogCaptureFixture
) -> None:
    with FeishuServer() as server:
        server.scopes.remove("cardkit:card:write")
        place = Place("feishu", server)
        channel = place.open()
        assert channel.list_missing_scopes() == ("cardkit:card:write",)
        for number in range(1, 4):
            answer_aloud(place, channel, runtime, STORY * 10, number)
        assert place.texts() == [STORY * 10] * 3
    assert caplog.text.count("no more drafts") == 1
    tries = [each for each in place.asked if "cardkit" in each.path]
    assert len(tries) == 3


def answer_aloud(
    place: Place,
    channel: Channel,
    runtime: Callable[..., AgentRuntime],
    text: str,
    number: int = 1,
    stops: bool = False,
) -> list[list[str]]:
    """Answer a message by a model that speaks for ten seconds, and return what people read after
    each word.
    """
    time = VirtualTime({"draft"})
    place.server.pace.now = lambda: time.now
    place.now = 1_800_000_000.0 + number * 1_000
    seen: list[list[str]] = []
    asked = place.ask(number)
    opened = runtime(owners=(asked.sender.id,), llm_url=URL)

    def speaking() -> Iterator[Word]:
        for count, word in enumerate(speak(text, 10.0).words):
            if stops and count == 60:
                worker.handle_event(replace(place.ask(8), id="stop", text="/stop"), home)
            yield word
            seen.append(place.texts())

    model = SpeakingModel(time.clock, [Speech(speaking())])
    app = replace(opened.app, clock=time.clock, model=model)
    home = replace(opened, channels={place.platform: channel}, app=app)
    worker.handle_event(asked, home)
    return seen


def test_a_message_is_answered_while_its_answer_grows(
    place: Place, runtime: Callable[..., AgentRuntime]
) -> None:
    text = " ".join(f"word{number:03d}" for number in range(200))
    seen = answer_aloud(place, place.open(), runtime, text)
    grown = {texts[0] for texts in seen if texts}
    assert 8 <= len(grown) <= 22
    assert all(text.startswith(shown) for shown in grown)
    assert place.texts() == [text]
    assert not place.is_writing()


def test_of_a_turn_that_somebody_stops_no_draft_is_left(
    place: Place, runtime: Callable[..., AgentRuntime]
) -> None:
    text = " ".join(f"word{number:03d}" for number in range(200))
    seen = answer_aloud(place, place.open(), runtime, text, stops=True)
    assert any("word050" in texts[0] for texts in seen if texts)
    assert not [read for read in place.texts() if "word" in read]
    assert not place.is_writing()
