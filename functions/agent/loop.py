"""At most six rounds: ask the model, run its calls, ask again; then a last request without
tools.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf

from functions.agent import compaction, context, outage, side_request, tokens, verification
from functions.agent.app import App, Step, Watch
from functions.agent.context import Preamble
from functions.agent.eviction import calls_may_be_written, evict_before_turn
from functions.agent.messages import RUNTIME_ORIGIN, CallResult, Message, ToolCall, unanswered
from functions.agent.model.base import ModelReply, ModelRequest
from functions.agent.safety.breakers import Breakers
from functions.agent.safety.reaction import Reaction, react
from functions.agent.safety.status import NoticeReader, SafetyStatus, write_notice
from functions.agent.session.document import Document, Turn
from functions.agent.session.store import Opened
from functions.agent.tool_calls import Desk, answer_all, interrupted, safe_to_repeat
from functions.agent.toolset import QUERY, STATIC, definitions, in_scope
from functions.agent.visibility import is_visible
from sigil.protocol import Offer
from sigil.strict_json import canonical

ROUNDS = 6
ROUND_SECONDS = 20.0
"""What a round takes at least: a worker with less time left begins none."""
SAVE_SECONDS = 5.0
"""What a worker keeps of its time to save and to send."""
STATIC_TOKENS = len(canonical(STATIC)) / tokens.CHARACTERS_A_TOKEN
NOTHING = "The model gave no answer to this. Please ask again, or say it in another way."
CUT = {
    "length": " […]\n\n(The answer was cut at the model's length limit.)",
    "filtered": " […]\n\n(The answer was cut by the filter of the model's provider.)",
    "refused": "\n\n(The model refused to answer this, or to go on.)",
}
"""What stands below an answer that is not whole."""
KEPT_BACK = {
    "filtered": (
        "The filter of the model's provider kept back the answer to this. Please say it in another"
        " way."
    ),
    "refused": "The model refused to answer this. Please say it in another way.",
}
STOPPED = "Stopped."
OUT_OF_TIME = "I ran out of time on this. What was done so far is kept: ask me to go on."


def _never(turn: Turn) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Course:
    """What the rounds of one turn share. `stopped` asks whether somebody said stop, or halted it;
    `told_to_stop` only the first.

    `deadline` and `until` are times of the monotonic clock: when the turn is over, and when this
    worker is (a function's own timeout). `patient`: when the model does not answer, the turn may
    wait. `over` notes what the turn has cost so far, and says why its sender may use no more; empty
    while they may. `reader`: whose turn it is, when it ends with a notice.
    """

    app: App
    preamble: Preamble
    desk: Desk
    breakers: Breakers
    told_to_stop: Callable[[], bool]
    watch: Watch
    deadline: float
    until: float = inf
    patient: bool = False
    over: Callable[[Turn], str] = _never
    reader: NoticeReader = NoticeReader()

    def cut_short(self) -> bool:
        """Whether this worker's time is up before the turn's."""
        now = self.app.clock.monotonic()
        return self.until < self.deadline and now + ROUND_SECONDS > self.until

    def waits(self, turn: Turn) -> bool:
        """Whether a request that came to nothing may be sent again later: another worker goes on,
        or the turn's time is not up.
        """
        return outage.may_wait(turn) and (
            self.cut_short() or (self.patient and self.app.clock.monotonic() < self.deadline)
        )

    @property
    def stopped(self) -> Callable[[], bool]:
        return self.desk.stopped


def overhead(preamble: Preamble) -> float:
    """Estimated tokens that every request carries beside the history: the system message and the
    static tools.
    """
    return preamble.tokens + STATIC_TOKENS


def run(opened: Opened, course: Course) -> tuple[Opened, str | None]:
    """Take the turn in progress to its final text, saving before a round's calls run and after they
    have answered.

    None instead of a text: this worker's own time is nearly up, another has to go on.
    """
    if course.cut_short():
        return opened, None
    opened = _finish_calls(opened, course)
    while True:
        if ended := _ended(opened, course):
            return ended
        if course.app.clock.monotonic() >= course.deadline:
            return opened, OUT_OF_TIME
        if course.cut_short():
            return opened, None
        last = _turn(opened).rounds >= ROUNDS or _is_full(opened, course)
        offers = () if last else in_scope(opened.document.messages)
        reply, opened = _ask(opened, course, offers, with_tools=not last)
        if reply.finish == "error" and reply.failure and reply.failure.kind == "window":
            shorter = _shortened(opened, course)
            if shorter:
                opened, course = shorter
                continue
        if reply.finish == "error" and reply.transient and course.waits(_turn(opened)):
            return opened, None
        if reply.finish == "stopped":
            return _ended(opened, course) or (opened, STOPPED)
        said = Message(
            "assistant",
            reply.text,
            at=course.app.clock.now(),
            calls=reply.calls,
            reasoning=reply.reasoning,
        )
        whole = reply.finish in (
            "stop",
            "length",
        )  # who refuses, or is cut off by a filter, claims nothing
        if (
            whole
            and not last
            and _turn(opened).rounds < ROUNDS
            and verification.wanted(_turn(opened), reply)
        ):
            opened = _verify(opened, course, said)
            continue
        if last or reply.finish == "error" or not reply.calls:
            return _verified(opened), "\n\n".join(
                filter(None, (_final(reply), verification.failure_line(_turn(opened))))
            )
        if all(call.name == QUERY for call in reply.calls):
            # searches run nothing: they are saved with their answers, and after a crash the model
            # is asked again
            opened = replace(opened, document=opened.document.add(said))
        else:
            opened = _checkpoint(opened, course, said)
        course.breakers.reload()
        opened = _answer(opened, course, reply.calls, offers)


def _turn(opened: Opened) -> Turn:
    turn = opened.document.turn
    assert turn is not None, "the loop runs inside a turn"
    return turn


def _ended(opened: Opened, course: Course) -> tuple[Opened, str] | None:
    """Where the turn ends before its next request: the session paused or locked, or told to stop;
    None to go on.
    """
    standing = opened.document.safety
    reason, told_to_stop = standing.reason, False
    if not reason:
        reason, told_to_stop = course.breakers.check(standing, _turn(opened).event.id)
    if reason:
        standing = standing if standing.since else course.breakers.stop(standing, reason)
        said = write_notice(standing, course.reader)
        course.watch(Step("note", reason, said, error=standing.state))
        return replace(opened, document=replace(opened.document, safety=standing)), said
    if told_to_stop:
        return opened, STOPPED
    over = course.over(_turn(opened))
    return (opened, over) if over else None


def _is_full(opened: Opened, course: Course) -> bool:
    """Whether the turn, which is never compacted, has filled the window: without tools there is
    room for an answer.
    """
    document = opened.document
    estimate = compaction.size(document.messages) + overhead(course.preamble)
    return _turn(opened).rounds > 0 and context.is_full(
        course.app.model.window, estimate, document.ratio
    )


def _verify(opened: Opened, course: Course, said: Message) -> Opened:
    """Ask once whether it is true; the text so far is kept, and told to nobody."""
    course.watch(Step("note", "verify", "the last call failed: the answer is verified"))
    asked = Message("user", context.VERIFY, at=course.app.clock.now(), origin=RUNTIME_ORIGIN)
    document = replace(opened.document, turn=_turn(opened).did("verify"))
    return _checkpoint(replace(opened, document=document), course, said, asked)


def _verified(opened: Opened) -> Opened:
    """With what the verification, if there was one, has changed: for the trace."""
    outcome = verification.outcome(_turn(opened))
    return (
        replace(
            opened,
            document=replace(opened.document, turn=_turn(opened).did("verified", outcome=outcome)),
        )
        if outcome
        else opened
    )


def _final(reply: ModelReply) -> str:
    if reply.finish == "error":
        return f"I could not get an answer: {reply.text}." + (
            f" {outage.again(reply.retry_after)}" if reply.transient else ""
        )
    seen = is_visible(reply.text)
    if reply.finish in CUT:
        return f"{reply.text}{CUT[reply.finish]}" if seen else KEPT_BACK.get(reply.finish, NOTHING)
    return reply.text if seen else NOTHING


def _ask(
    opened: Opened, course: Course, offers: Sequence[Offer], *, with_tools: bool
) -> tuple[ModelReply, Opened]:
    document, app = opened.document, course.app
    messages = context.prompt(course.preamble, document.messages)
    if not with_tools:
        messages.append(context.last_words(full=_turn(opened).rounds < ROUNDS))
    estimate = (
        tokens.of_messages(document.messages) + tokens.of_offers(offers) + overhead(course.preamble)
    )
    started = app.clock.monotonic()
    deadline = min(course.deadline, course.until - SAVE_SECONDS)
    may_write = partial(calls_may_be_written, opened.key, document, app)
    tools = definitions(offers) if with_tools else ()
    turn = _turn(opened)
    left = 1 if outage.waits_so_far(turn) else max(outage.TRIES_MOST - outage.failed_tries(turn), 1)
    longest = outage.PAUSE_MOST if course.patient else inf
    reply = app.model.chat(
        ModelRequest(messages, tools, None, deadline, course.stopped, may_write, left, longest)
    )
    if reply.finish == "stopped":
        return reply, opened
    usage, ms = reply.usage, round((app.clock.monotonic() - started) * 1000, 1)
    if usage.estimated:
        usage = replace(
            usage,
            prompt=round(estimate * document.ratio),
            completion=round(tokens.of_text(reply.text)),
        )
    ratio = (
        document.ratio
        if usage.estimated
        else tokens.corrected(document.ratio, estimate, usage.prompt)
    )
    if reply.failure:
        app.failures.append((opened.key, reply.failure))
    facts = {
        "tools": len(offers) + len(STATIC) if with_tools else 0,
        "prompt": usage.prompt,
        "completion": usage.completion,
    }
    turn = replace(turn, rounds=turn.rounds + 1, usage=turn.usage + usage)
    tries = max(reply.tries, 1) if reply.finish == "error" else reply.tries
    turn = turn.did(
        "request",
        ms=ms,
        finish=reply.finish,
        **facts,
        **outage.facts_of(reply.failure, tries, reply.retry_after),
    )
    standing = course.breakers.record_request(document.safety, turn.task, usage.total)
    detail = reply.failure.detail if reply.failure else reply.text
    course.watch(
        Step(
            "request",
            app.model.name,
            detail,
            ms,
            "" if reply.finish != "error" else "EMODEL",
            facts,
        )
    )
    return reply, replace(
        opened, document=replace(document, turn=turn, ratio=ratio, safety=standing)
    )


def _shortened(opened: Opened, course: Course) -> tuple[Opened, Course] | None:
    """The session with less of its history, after an endpoint refused a request as too long; None
    when that cannot help any more.

    The model's window is by now what the refusal taught. The refused request is no round.
    """
    app, before, turn = course.app, opened.document, _turn(opened)
    if outage.failed_tries(turn) >= outage.TRIES_MOST:
        return None
    room = context.room(app.model.window, overhead(app.preamble(opened.key)), before.ratio)
    until = min(
        app.clock.monotonic() + side_request.SECONDS, course.until - SAVE_SECONDS, course.deadline
    )
    beside = side_request.Aside(opened.key, app, before, course.breakers, until, tries=1)
    document = evict_before_turn(beside, room, course.watch)
    if document is None:
        return None
    usage = turn.usage + (document.usage - before.usage)
    turn = replace(turn, rounds=turn.rounds - 1, usage=usage, trace=(*turn.trace, *beside.trace))
    document = replace(document, usage=before.usage, turn=turn)
    saved = _checkpoint(replace(opened, document=document), course)
    return saved, replace(course, preamble=app.preamble(opened.key))


def _finish_calls(opened: Opened, course: Course) -> Opened:
    """CallResult what a crash left unanswered: what is safe to repeat runs again, the rest is told
    as interrupted.
    """
    pending = () if opened.document.safety.reason else unanswered(opened.document.messages)
    if not pending:
        return opened
    offers = in_scope(opened.document.messages)
    again = tuple(call for call in pending if safe_to_repeat(call, offers))
    answers = {given.call.id: given for given in _run(course, again, offers, opened.document)}
    return _record(opened, course, [answers.get(call.id) or interrupted(call) for call in pending])


def _answer(
    opened: Opened, course: Course, calls: Sequence[ToolCall], offers: Sequence[Offer]
) -> Opened:
    return _record(opened, course, _run(course, calls, offers, opened.document))


def _run(
    course: Course, calls: Sequence[ToolCall], offers: Sequence[Offer], document: Document
) -> list[CallResult]:
    for call in calls:
        course.watch(Step("call", call.name, call.arguments))
    left = context.room(
        course.app.model.window, overhead(course.preamble), document.ratio
    ) - compaction.size(document.messages)
    return answer_all(course.desk, calls, offers, int(left * tokens.CHARACTERS_A_TOKEN))


def _record(opened: Opened, course: Course, answers: Sequence[CallResult]) -> Opened:
    resident = {offer.tool for offer in in_scope(opened.document.messages)}
    reaction = react(answers, opened.document.safety.counters, course.app.guide)
    answers = reaction.answers
    for given in answers:
        course.watch(Step("answer", given.call.name, given.content, given.ms, error=given.error))
        for offer in given.loads:
            if offer.tool not in resident:
                course.watch(Step("load", offer.tool, offer.description))
            resident.add(offer.tool)
    now = course.app.clock.now()
    results = [
        Message(
            "tool", given.content, at=now, call_id=given.call.id, loads=given.loads, cut=given.cut
        )
        for given in answers
    ]
    turn = _turn(opened)
    turn = replace(turn, tools=(*turn.tools, *(given.call.name for given in answers)))
    for given, fact in zip(answers, reaction.facts, strict=True):
        sized = {"ms": round(given.ms, 1), "size": len(given.content), "error": given.error}
        turn = turn.did(
            "call",
            name=given.call.name,
            **sized,
            **({"fingerprint": fact.fingerprint} if fact.failed else {}),
        )
    document = replace(opened.document, turn=turn, safety=_felt(opened, course, reaction))
    return _checkpoint(replace(opened, document=document), course, *results)


def _felt(opened: Opened, course: Course, reaction: Reaction) -> SafetyStatus:
    standing = replace(opened.document.safety, counters=reaction.counters)
    return course.breakers.stop(standing, reaction.reason) if reaction.reason else standing


def _checkpoint(opened: Opened, course: Course, *messages: Message) -> Opened:
    """Save the messages; a turn that got this far has no failed attempts behind it."""
    document = opened.document.add(*messages)
    saved = course.app.sessions.save(
        opened, replace(document, turn=replace(_turn(opened), attempts=0).did("save"))
    )
    course.watch(Step("save", facts={"bytes": saved.size}))
    return saved
