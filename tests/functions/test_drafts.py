"""A chat shows an answer while it is written, and what it shows never costs the answer anything."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import pytest

from functions import worker
from functions.agent.model.base import Failure, ModelReply
from functions.agent.session.store import SessionHandle
from functions.channels.base import Busy, Draft, Reply
from functions.channels.drafts import DraftForm, DraftHealth, cut_draft
from functions.events import Event, Sender
from functions.ingress.ingress import Ingress
from functions.wiring import AgentRuntime
from sigil.errors import BackendError, Refused
from tests.fakes.speaking_model import SpeakingModel, Speech, Word, speak, speak_and_call
from tests.fakes.virtual_time import VirtualTime
from tests.functions.channels.toy import Toy, make_body, make_message, sign
from tests.tables import each_row

LONG = " ".join(f"word{number:03d}" for number in range(100))
SHORT = "It is done."
NUMBERS = count(1)


@dataclass
class Screen(Toy):
    """The toy platform, with drafts: `shown` has what was shown and when, `problems` what becomes
    of the next attempts (a number: how long it takes), and `order` what happened in which order.
    """

    time: VirtualTime
    form: DraftForm = DraftForm(pace=0.5, characters=4_000)
    health: DraftHealth = field(default_factory=DraftHealth)
    problems: list[Exception | float | None] = field(default_factory=list)
    shown: list[tuple[float, str]] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    sent_at: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def open_draft(self, event: Event) -> Draft | None:
        return ScreenDraft(self) if event.private else None

    def send(self, reply: Reply, sent: Callable[[int], None]) -> None:
        self.order.append("answer")
        self.sent_at.append(self.time.now)
        super().send(reply, sent)


@dataclass(frozen=True)
class ScreenDraft:
    screen: Screen

    @property
    def form(self) -> DraftForm:
        return self.screen.form

    @property
    def health(self) -> DraftHealth:
        return self.screen.health

    def show(self, text: str) -> None:
        self.screen.order.append("show")
        self.screen.shown.append((round(self.screen.time.now, 2), text))
        problem = self.screen.problems.pop(0) if self.screen.problems else None
        if isinstance(problem, float):
            self.screen.time.pause(problem)
        elif problem:
            raise problem

    def take_away(self) -> None:
        self.screen.order.append("away")


class Drafting:
    """An agent on the toy platform whose model speaks as slowly as a test wants."""

    def __init__(self, runtime: AgentRuntime) -> None:
        self.time = VirtualTime({"draft"})
        self.screen = Screen(self.time)
        self.model = SpeakingModel(self.time.clock)
        app = replace(runtime.app, clock=self.time.clock, model=self.model)
        self.runtime = replace(runtime, channels={"toy": self.screen}, app=app)

    def hear(self, *speeches: Speech, text: str = "go on", **fields: Any) -> None:
        """Answer a message with what the model says then."""
        self.model.script[:] = speeches
        self.take(make_message(next(NUMBERS), text, **fields))

    def take(self, *messages: dict[str, object]) -> None:
        ingress = Ingress(self.runtime.channels, self.runtime.queue)
        ingress.enqueue(self.screen.receive(sign(make_body(*messages))), "toy")
        while delivery := self.runtime.queue.take(0.0):
            worker.process(delivery, self.runtime)

    @property
    def times(self) -> list[float]:
        return [at for at, _ in self.screen.shown]

    @property
    def texts(self) -> list[str]:
        return [text for _, text in self.screen.shown]


@pytest.fixture
def agent(runtime: Callable[..., AgentRuntime]) -> Drafting:
    return Drafting(runtime(owners=("toy:U1",), llm_url="http://127.0.0.1:9"))


def test_a_draft_grows_at_its_pace_and_the_answer_follows_once(agent: Drafting) -> None:
    agent.hear(speak(LONG, 4.0))
    assert agent.times == [1.04, 1.54, 2.04, 2.54, 3.04, 3.54]
    assert all(LONG.startswith(text) for text in agent.texts)
    assert sorted(set(agent.texts), key=len) == agent.texts
    assert [reply.text for reply in agent.screen.sent] == [LONG]
    assert agent.screen.sent_at == agent.model.ended
    assert agent.screen.order[-2:] == ["away", "answer"]


HELD_BACK = [
    ("there at once", [speak(LONG, 0.9)], {}),
    ("short", [speak(SHORT, 9.0)], {}),
    ("in a group", [speak(LONG, 9.0)], {"group": True}),
    ("without words", [Speech([(9.0, LONG)])], {}),
]


@each_row("why, speeches, fields", HELD_BACK)
def test_no_draft_is_shown(
    agent: Drafting, why: str, speeches: Sequence[Speech], fields: dict[str, Any]
) -> None:
    agent.hear(*speeches, **fields)
    assert agent.screen.shown == []
    assert agent.model.streamed[-1] is (why != "in a group")
    assert len(agent.screen.sent) == len(agent.model.ended)


def test_words_that_were_taken_back_and_those_of_earlier_rounds_are_not_shown(
    agent: Drafting,
) -> None:
    first = "I look that up, which takes me some time, as you see."
    wrong = [(1.5, "This is what I would have said if it had not failed"), (0.1, None)]
    agent.hear(speak_and_call(first, 2.0), Speech([*wrong, *speak(LONG, 2).words]))
    assert agent.texts[0].startswith("I look that up")
    after = [text for text in agent.texts if text.startswith("word")]
    assert after
    assert all(LONG.startswith(text) for text in after)
    assert not [text for text in agent.texts if "taken back" in text]
    assert agent.screen.sent[-1].text.startswith(LONG)


def busy(seconds: float) -> Busy:
    return Busy("slow down", retry_after=seconds)


TROUBLES = [
    ("a short pause", [busy(2.0)], [1.04, 3.04, 3.54], True),
    ("a long pause", [busy(5.1)], [1.04], False),
    ("a pause of unknown length", [busy(0.0)], [1.04], False),
    ("a failure", [BackendError("EUNAVAILABLE", "no")], [1.04, 1.54, 2.04, 2.54, 3.04, 3.54], True),
    ("three failures", [Refused("EBLOCKED", "no")] * 3, [1.04, 1.54, 2.04], False),
    ("a bug", [ZeroDivisionError("word001")], [1.04], False),
]


@each_row("why, problems, times, goes_on", TROUBLES)
def test_what_fails_is_not_tried_again_and_the_answer_comes_all_the_same(
    runtime: Callable[..., AgentRuntime],
    caplog: pytest.LogCaptureFixture,
    why: str,
    problems: list[Exception | float | None],
    times: list[float],
    goes_on: bool,
) -> None:
    agent = Drafting(runtime(owners=("toy:U1",), llm_url="http://127.0.0.1:9"))
    caplog.clear()
    caplog.set_level(logging.DEBUG)
    agent.screen.problems[:] = problems
    more = speak_and_call(LONG, 4.0)
    agent.hear(more, speak(LONG, 0.5), text=f"{why}, please")
    assert agent.times[: len(times)] == times
    assert agent.model.streamed == [True, goes_on]
    assert agent.screen.sent_at == agent.model.ended[-1:]
    assert agent.screen.sent[-1].text.startswith(LONG)
    told = [record.getMessage() for record in caplog.records]
    assert told.count("no more drafts") == (why == "three failures")
    assert told.count("draft failed") == (why == "a bug")
    assert "word001" not in "".join(str(record.__dict__) for record in caplog.records)


def test_a_bot_whose_drafts_fail_shows_none_until_its_process_ends(agent: Drafting) -> None:
    agent.screen.problems[:] = [Refused("EBLOCKED", "no")] * 3
    agent.hear(speak(LONG, 4.0))
    agent.hear(speak(LONG, 4.0))
    assert len(agent.screen.shown) == 3
    assert agent.model.streamed == [True, False]


@each_row("seconds, delay", [(0.3, 0.22), (30.0, 0.5)])
def test_an_answer_waits_at_most_half_a_second_for_its_draft(
    agent: Drafting, seconds: float, delay: float
) -> None:
    agent.screen.problems[:] = [None, seconds]
    agent.hear(speak(LONG, 1.6))
    assert round(agent.screen.sent_at[-1] - agent.model.ended[-1], 2) == delay
    agent.time.pause(60.0)
    assert agent.screen.order.count("away") == len(agent.screen.sent)


def test_a_draft_that_the_answer_replaces_is_taken_away_only_where_none_comes(
    agent: Drafting, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent.screen.form = DraftForm(pace=0.5, characters=4_000, is_replaced=True)
    agent.hear(speak(LONG, 2.0))
    assert "away" not in agent.screen.order
    run_turn = worker.run_turn

    def lose(*given: Any, **more: Any) -> SessionHandle:
        run_turn(*given, **more)
        raise BackendError("EUNAVAILABLE", "the store is gone")

    with monkeypatch.context() as failing:
        failing.setattr(worker, "run_turn", lose)
        agent.screen.order.clear()
        agent.hear(speak(LONG, 2.0))
    assert agent.screen.order[-1] == "away"


def test_a_turn_that_waits_for_its_model_leaves_no_draft(agent: Drafting) -> None:
    agent.screen.form = DraftForm(pace=0.5, characters=4_000, is_replaced=True)
    lost = ModelReply("no answer", finish="error", transient=True, failure=Failure("down", "503"))
    words = [*speak(LONG, 2.0).words, (0.1, None)]
    agent.hear(Speech(words, lost))
    assert agent.screen.order[-1] == "away"
    assert agent.screen.sent == []


def test_of_messages_that_are_answered_together_no_draft_is_left(agent: Drafting) -> None:
    agent.screen.form = DraftForm(pace=0.5, characters=4_000, is_replaced=True)
    agent.model.script[:] = [speak(LONG, 2.0)]
    agent.take(*(make_message(next(NUMBERS), text) for text in ("one", "two")))
    assert agent.screen.order[-2:] == ["away", "answer"]
    assert [reply.text for reply in agent.screen.sent] == [LONG]


def test_a_stopped_turn_leaves_no_draft(agent: Drafting) -> None:
    def stop() -> Iterator[Word]:
        yield from speak(LONG, 2.0).words
        event = Event("stop", "message", "main", "toy:C1", Sender("toy:U1"), "/stop", 0.0, "0")
        worker.handle_event(replace(event, private=True), agent.runtime)
        yield from speak(LONG, 9.0).words

    agent.hear(Speech(stop()))
    assert agent.screen.order.count("away") == 1
    assert agent.screen.order[-2:] == ["away", "answer"]
    assert "word" not in agent.screen.sent[-1].text


class Killed(BaseException):
    """The process ends."""


def test_a_turn_that_was_interrupted_has_no_draft_and_the_next_one_has(agent: Drafting) -> None:
    def die() -> Iterator[Word]:
        yield from speak(LONG, 2.0).words
        raise Killed

    with pytest.raises(Killed):
        agent.hear(Speech(die()))
    agent.screen.shown.clear()
    agent.model.script[:] = [speak("first " + LONG, 2.0), speak("second " + LONG, 2.0)]
    (event,) = agent.screen.receive(sign(make_body(make_message(next(NUMBERS), "and now?")))).events
    worker.handle_event(event, agent.runtime)
    assert [reply.text.split()[0] for reply in agent.screen.sent] == ["first", "second"]
    assert agent.texts
    assert all(text.startswith("second") for text in agent.texts)


def test_what_goes_away_by_itself_is_shown_anew_while_its_words_are_the_last(
    agent: Drafting,
) -> None:
    agent.screen.form = DraftForm(pace=0.5, characters=4_000, renewal=20.0)
    slow = [*speak(LONG, 2.0).words, (50.0, " and"), (0.1, None), (50.0, "Sorry.")]
    agent.hear(Speech(slow))
    assert agent.times == [1.02, 1.52, 2.02, 22.02, 42.02, 52.0]


CUTS = [
    ("three short words", "three short words"),
    ("x" * 200, "x" * 90),
    ("abc " * 50, ("abc " * 22).rstrip()),
    ("see:\n```py\nprint(1)", "see:\n```py\nprint(1)\n```"),
    ("see:\n```py\nprint(1)\n```\nso", "see:\n```py\nprint(1)\n```\nso"),
    ("a\n~~~\n```\nb", "a\n~~~\n```\nb\n~~~"),
    ("a\n```svg\n<svg xmlns='http://www.w3.org/2000/svg'><circle", "a"),
    ("a\n<svg xmlns='http://www.w3.org/2000/svg'><circle r='1'/></svg>\nb", "a\nb"),
    ("a\n<svg width='1'\n", "a"),
    ("", ""),
]


@each_row("markdown, shown", CUTS)
def test_a_draft_ends_at_a_word_closes_its_code_and_shows_no_half_a_picture(
    markdown: str, shown: str
) -> None:
    assert cut_draft(markdown, 100) == shown
