"""The loop of a turn has at most six rounds: ask the model, run its calls, ask again.

A last request then asks for an answer without tools.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from functions.agent.agents.record import TaskLimits
from functions.agent.app import App, TurnStep, Watch, hears_words
from functions.agent.behaviours.behaviour import NO_LIMITS, Behaviour
from functions.agent.behaviours.chain import carry_on
from functions.agent.behaviours.pins import NEXT_BEHAVIOR, SLEEP
from functions.agent.calls.tool_calls import (
    ToolCallContext,
    answer_calls,
    describe_call,
    interrupt_call,
    is_safe_to_repeat,
)
from functions.agent.context import (
    VERIFY,
    Preamble,
    build_prompt,
    count_overhead,
    is_full,
    make_final_request,
)
from functions.agent.conversation import compaction, tokens
from functions.agent.conversation.messages import (
    MAIL_ORIGIN,
    RUNTIME_ORIGIN,
    SILENT,
    CallResult,
    Message,
    ToolCall,
    find_unanswered,
    name_last_calls,
)
from functions.agent.conversation.prompt import PromptMessage
from functions.agent.conversation.toolset import QUERY, STATIC, define_tools, in_scope
from functions.agent.eviction import evict_before_turn, may_write_calls, note_native_calls
from functions.agent.ledger.entry import Entry
from functions.agent.mailbox import Mailbox, format_mails
from functions.agent.model import outage
from functions.agent.model.base import REDUCED_MOST, ModelReply, ModelRequest
from functions.agent.posts import CHAIN, REFUSED, PostAllowance, name_receiver, stamp_posts
from functions.agent.runs.event_chain import SETTING, ChainBudget
from functions.agent.safety import hp
from functions.agent.safety import task_limits as limits
from functions.agent.safety.breakers import Breakers
from functions.agent.safety.hp import HpAccount
from functions.agent.safety.round_reaction import react
from functions.agent.safety.status import NoticeReader, write_notice
from functions.agent.sanitize import is_visible
from functions.agent.session.document import (
    ASLEEP,
    NEXT_LEG,
    NOTE_STEP,
    SAFE_STOP,
    Document,
    Turn,
)
from functions.agent.session.store import SessionHandle
from functions.agent.side_request import describe_request, explain_error, fill_usage
from functions.agent.team.leg import LEGS_MOST, find_last_words, make_reminder, read_leg
from functions.agent.turn import verification
from functions.agent.turn.pictures import names_file
from functions.events import Event
from functions.texts.en import Texts
from sigil.errors import BackendError
from sigil.json_fields import as_number
from sigil.protocol import Json, Offer, tool_of
from sigil.storage.evolve import evolve

if TYPE_CHECKING:
    from functions.agent.conversation.pictures import Shown
    from functions.agent.turn.told_words import WordTeller

ROUNDS = 6
NEXT_TOOL: Final = tool_of(NEXT_BEHAVIOR)
ROUND_SECONDS = 20.0
"""A round takes at least so long: a worker with less time left begins none."""
MAIL_SHARE = 0.5
"""The part of the window's room that the mails of one message may take."""
_LIST_FILES: Final = attrgetter("files")
LOOK: Final = '"look"'
"""Stands in the result of a call that asks to see a picture."""
PICTURES: Final = "pictures"
"""How many pictures a request showed, in its step of the trace."""
TURN: Final = "turn"
REQUEST: Final = "request"
WORKER: Final = "worker"
"""Whose time was up when the model had not answered: the turn's, that of the request alone, or the
worker's, after which another one goes on.
"""
WITHDRAWN: Final = "A message was left out here, since the model's provider refused it."
SAVE_SECONDS = 5.0
"""A worker keeps so much of its time to save and to send."""


@dataclass(frozen=True, slots=True)
class RoundContext:
    """The values that the rounds of one turn share.

    `deadline` and `until` are times of the monotonic clock: when the turn is over, and when this
    worker's own time is (a function's timeout). `put` puts an event that the turn posts into the
    queue; `mailbox` is read before each request. `patient` says that the turn may wait when the
    model does not answer. `check_allowance` notes what the turn has cost so far, and returns why
    its sender may use no more, empty while they may. `reader` reads the notice with which a stopped
    turn ends. `behaviour` is the one of the agent's own work. `ready_call` is made
    before the first request, once; with `is_call_alone` no request follows. `hp` bound work of the
    agent's own. `chain` is the budget of the chain of events that the turn belongs to, and `posts`
    is what it may still post. With `goes_in_legs` another turn goes on where this one has no room
    for another step.
    """

    app: App
    preamble: Preamble
    calls: ToolCallContext
    breakers: Breakers
    watch: Watch
    deadline: float
    until: float = inf
    patient: bool = False
    check_allowance: Callable[[Turn], str] = lambda _: ""
    reader: NoticeReader = NoticeReader()
    put: Callable[[Event], None] | None = None
    mailbox: Mailbox | None = None
    behaviour: Behaviour | None = None
    ready_call: ToolCall | None = None
    is_call_alone: bool = False
    hp: HpAccount | None = None
    chain: ChainBudget | None = None
    posts: PostAllowance | None = None
    goes_in_legs: bool = False

    @property
    def rounds_most(self) -> int:
        """Return how many rounds there may be before the request that asks for the answer."""
        limits = self.behaviour.limits if self.behaviour else NO_LIMITS
        return min(ROUNDS, limits.requests - 1)

    @property
    def seconds_most(self) -> float:
        """Return how many seconds a turn may take."""
        limits = self.behaviour.limits if self.behaviour else NO_LIMITS
        return min(self.app.turn_seconds, limits.seconds or inf)

    @property
    def task_limits(self) -> TaskLimits | None:
        """Return what bounds each task of the agent."""
        return self.app.record.task if self.app.record else None

    @property
    def texts(self) -> Texts:
        """Return the texts in the reader's language."""
        return self.reader.texts

    def is_cut_short(self) -> bool:
        """Return whether this worker's time is up before the turn's."""
        now = self.app.clock.monotonic()
        return self.until < self.deadline and now + ROUND_SECONDS > self.until

    def may_wait(self, turn: Turn, reply: ModelReply) -> bool:
        """Return whether a request that failed with this reply may be sent again later.

        Another worker goes on then, or this one while the turn's time is not up.
        """
        if waits_long(turn, self.app):
            return self.patient and outage.may_wait_long(turn.trace, reply)
        if not (reply.transient and outage.may_wait(turn.trace)):
            return False
        if self.is_cut_short():
            return True
        return self.patient and self.app.clock.monotonic() < self.deadline

    def list_offers(self, document: Document) -> tuple[Offer, ...]:
        """Return the offers in scope that may be called."""
        return self.calls.gate.keep_callable(in_scope(document.messages))

    def is_window_full(self, document: Document) -> bool:
        """Return whether the model's window has no room for another step."""
        estimate = compaction.estimate_size(document.messages) + count_overhead(self.preamble)
        return is_full(self.app.model.window, estimate, document.ratio)


def waits_long(turn: Turn, app: App) -> bool:
    """Return whether a turn waits until a model that is away is back: it is work of a teammate or a
    subagent, for whose answer nobody waits.
    """
    record = app.record
    return record is not None and record.kind in ("teammate", "subagent") and bool(turn.behaviour)


def run_rounds(opened: SessionHandle, context: RoundContext) -> tuple[SessionHandle, str | None]:
    """Take the turn in progress to its final text, and return it with the session.

    The session is saved before a round's calls run and after they have answered.
    None instead of a text says that another worker has to go on: this one's own time is nearly up,
    or the model does not answer.
    """
    if context.is_cut_short():
        return opened, None
    opened = _make_ready_call(_finish_open_calls(opened, context), context)
    while True:
        if _turn_of(opened).ended and not opened.document.safety.reason:
            return opened, SILENT
        ending = _find_ending(opened, context)
        if ending:
            return ending
        if context.is_call_alone:
            return opened, SILENT
        if context.app.clock.monotonic() >= context.deadline:
            ending = _end_out_of_time(opened, context)
            if ending:
                return ending
        if context.is_cut_short():
            return opened, None
        if _is_near_floor(opened, context):
            # another request would cross it: the turn ends as if it had called `sleep`
            opened = _note_limit(opened, hp.LIMIT, SLEEP)
            return _with_turn(opened, evolve(_turn_of(opened), ended=ASLEEP)), SILENT
        opened = _take_mail(opened, context)
        rounds = _turn_of(opened).rounds
        # a turn is never compacted; in a full window there is still room for an answer
        is_full = rounds > 0 and context.is_window_full(opened.document)
        if context.goes_in_legs and (is_full or rounds >= ROUNDS):
            return _end_leg(opened)
        if rounds >= context.rounds_most:
            opened = _note_limit(opened, "requests", SLEEP)
        is_over = rounds >= context.rounds_most or _turn_of(opened).has_reached("hops")
        if limits.is_last_step(context.task_limits, opened.document.safety):
            opened = _note_task_limit(opened, limits.STEPS, context)
            is_over = True
        last = is_over or is_full
        if not last:
            opened = _remind_of_board(opened, context)
        offers = context.list_offers(opened.document) if not is_full else ()
        final = make_final_request(full=not is_over) if last else None
        reply, opened = _ask_model(opened, context, offers, final)
        if reply.finish == "stopped":
            ending = _find_ending(opened, context)
            if ending:
                return ending
            # somebody gave up this request alone: the model is asked again
            opened = _save_checkpoint(opened, context)
            continue
        if reply.finish == "error":
            if reply.failure and reply.failure.kind == "window":
                shortened = _shorten_history(opened, context)
                if shortened:
                    opened, context = shortened
                    continue
            ending = _end_late(opened, context, reply)
            if ending:
                return ending
            if context.may_wait(_turn_of(opened), reply):
                return opened, None
            if _is_refused(reply):
                opened = _withdraw_messages(opened, context.app)
            return _finish_answer(opened, reply, context.texts)
        message = Message(
            "assistant",
            reply.text,
            at=context.app.clock.now(),
            calls=reply.calls,
            reasoning=reply.reasoning,
            beside=reply.beside,
        )
        turn = _turn_of(opened)
        may_verify = not last and turn.rounds < context.rounds_most
        history = opened.document.messages
        if may_verify and verification.needs_verification(turn, reply, history):
            opened = _request_verification(opened, context, message)
            continue
        if last or not reply.calls:
            return _finish_answer(opened, reply, context.texts)
        opened = _run_round(opened, context, message, offers)


def _turn_of(opened: SessionHandle) -> Turn:
    turn = opened.document.turn
    assert turn is not None, "the loop runs inside a turn"
    return turn


def _with_turn(opened: SessionHandle, turn: Turn) -> SessionHandle:
    return opened.with_document(evolve(opened.document, turn=turn))


def _note_limit(opened: SessionHandle, limit: str, end: str, most: float = 0) -> SessionHandle:
    """Return the session whose turn's trace says which limit of its behaviour ends it, how, and how
    much it allows.

    A person's turn has no behaviour with limits of its own; its time is limited all the same.
    """
    turn = _turn_of(opened)
    if not (turn.behaviour or limit == limits.SECONDS) or turn.has_reached(limit):
        return opened
    allowed: dict[str, Json] = {"most": most} if most else {}
    return _with_turn(opened, turn.add_step("limit", limit=limit, end=end, **allowed))


def _note_task_limit(opened: SessionHandle, limit: str, context: RoundContext) -> SessionHandle:
    """Return the session whose turn's trace says which limit of the agent's tasks ends it."""
    allowed = context.task_limits or TaskLimits()
    return _note_limit(opened, limit, SAFE_STOP, limits.find_limit(allowed, limit))


def _end_leg(opened: SessionHandle) -> tuple[SessionHandle, str]:
    """Return the end of a leg: the next one goes on, or the piece of work has had as many as it
    may, and what was said last stands for its report.
    """
    turn = evolve(_turn_of(opened), ended=NEXT_LEG)
    opened = _with_turn(opened, turn)
    if not read_leg(turn.event).is_last:
        return opened, SILENT
    opened = _note_limit(opened, limits.LEGS, SAFE_STOP, LEGS_MOST)
    return opened, find_last_words(turn, opened.document.messages) or SILENT


def _end_out_of_time(opened: SessionHandle, context: RoundContext) -> tuple[SessionHandle, str]:
    """Return the end of a turn whose time is over; work in legs goes on with its next one."""
    if context.goes_in_legs and _turn_of(opened).rounds:
        return _end_leg(opened)
    return _stop_out_of_time(opened, context)


def _stop_out_of_time(opened: SessionHandle, context: RoundContext) -> tuple[SessionHandle, str]:
    """Return the end of a turn that its time has cut short."""
    late = context.app.clock.now() + limits.SLACK_SECONDS
    reached = limits.find_reached(context.task_limits, opened.document.safety, late)
    if reached:
        return _stop_task(opened, context, reached)
    opened = _note_limit(opened, limits.SECONDS, SAFE_STOP, context.seconds_most)
    return opened, _report_stopped(opened, context.texts.out_of_time)


def _end_late(
    opened: SessionHandle, context: RoundContext, reply: ModelReply
) -> tuple[SessionHandle, str] | None:
    """Return the end of work of the agent's own whose time was over before its model answered, None
    for all others. Work that waits for its model has its time again, but for the one of its task.
    """
    is_in_time = context.app.clock.monotonic() < context.deadline
    if is_in_time or not (reply.transient and _turn_of(opened).event.is_own_work):
        return None
    late = context.app.clock.now() + limits.SLACK_SECONDS
    safety = opened.document.safety
    if waits_long(_turn_of(opened), context.app) and not limits.find_reached(
        context.task_limits, safety, late
    ):
        return None
    return _stop_out_of_time(opened, context)


def end_handed_on(
    opened: SessionHandle, context: RoundContext, most: int
) -> tuple[SessionHandle, str]:
    """Return the end of a turn that was handed on from one worker to the next `most` times."""
    if context.goes_in_legs and _turn_of(opened).rounds:
        return _end_leg(opened)
    opened = _note_limit(opened, limits.WORKERS, SAFE_STOP, most)
    return opened, _report_stopped(opened, context.texts.out_of_time)


def _report_stopped(opened: SessionHandle, text: str) -> str:
    """Return the last words of a turn that a limit has cut short: in work of the agent's own what
    it said last, since what the limit was is said beside it; else `text`.
    """
    turn = _turn_of(opened)
    if not turn.event.is_own_work:
        return text
    return find_last_words(turn, opened.document.messages) or SILENT


def estimate_cost(app: App, preamble: Preamble, estimate: float, ratio: float) -> float:
    """Return the HP that a request is expected to cost, whose messages and tools have so many
    tokens by an `estimate`, which the `ratio` corrects.
    """
    prompt = (estimate + count_overhead(preamble)) * ratio
    return (prompt + hp.ANSWER_TOKENS) * app.hp.per_token


def _is_near_floor(opened: SessionHandle, context: RoundContext) -> bool:
    """Return whether work of the agent's own has too few HP left for another request."""
    account = context.hp
    turn = _turn_of(opened)
    if account is None or not turn.rounds:
        return False
    app = context.app
    document = opened.document
    estimate = compaction.estimate_size(document.messages)
    cost = estimate_cost(app, context.preamble, estimate, document.ratio)
    spent = app.hp.count_cost(turn.usage.counted, turn.trace)
    return account.is_near_floor(turn.event.id, turn.began, spent, cost)


def _find_ending(opened: SessionHandle, context: RoundContext) -> tuple[SessionHandle, str] | None:
    """Return the end of a turn that must not send another request, None when it may.

    The session is paused, locked or halted, the turn was told to stop, or its sender has used up
    what they may use.
    """
    turn = _turn_of(opened)
    safety = opened.document.safety
    reason = safety.reason
    told_to_stop = None
    if not reason:
        reason, told_to_stop = context.breakers.check(safety, turn.event.id)
    if reason:
        if not safety.since:
            safety = context.breakers.stop(safety, reason)
        notice = write_notice(safety, context.reader)
        context.watch(TurnStep("note", reason, notice, error=safety.state))
        opened = opened.with_document(evolve(opened.document, safety=safety))
        if reason == "loop" and context.goes_in_legs:
            most = context.breakers.limits.ticks
            opened = _note_limit(opened, limits.TICKS, SAFE_STOP, most)
            notice = _report_stopped(opened, notice)
        return opened, notice
    if told_to_stop:
        by: dict[str, Json] = {"by": told_to_stop.by} if told_to_stop.by else {}
        at = turn.count_ms(context.app.clock.now())
        return _with_turn(opened, turn.add_step("stop", at=at, **by)), context.texts.stopped
    exceeded = context.check_allowance(turn)
    if exceeded:
        return opened, exceeded
    return _find_task_limit(opened, context) or _find_spent_chain(opened, context)


def _find_task_limit(
    opened: SessionHandle, context: RoundContext
) -> tuple[SessionHandle, str] | None:
    """Return the end of a turn whose task has reached one of its limits, None for all others: what
    the agent said last stands for its report.
    """
    now = context.app.clock.now()
    reached = limits.find_reached(context.task_limits, opened.document.safety, now)
    return _stop_task(opened, context, reached) if reached else None


def _stop_task(
    opened: SessionHandle, context: RoundContext, reached: str
) -> tuple[SessionHandle, str]:
    """Return the end of a turn whose task has reached this one of its limits."""
    opened = _note_task_limit(opened, reached, context)
    return opened, _report_stopped(opened, context.texts.nothing_reported)


def _find_spent_chain(
    opened: SessionHandle, context: RoundContext
) -> tuple[SessionHandle, str] | None:
    """Return the end of a turn whose chain of events has used up its tokens, None for all others.

    The session itself goes on: the next event may belong to another chain.
    """
    turn = _turn_of(opened)
    chain = context.chain
    spent = chain.find_excess(turn) if chain else None
    if chain is None or spent is None:
        return None
    turn = turn.add_step("limit", limit=CHAIN, end=SAFE_STOP, spent=spent.tokens, most=chain.most)
    text = context.texts.chain_spent.format(spent=spent.tokens, most=chain.most, setting=SETTING)
    context.watch(TurnStep("note", CHAIN, text, error="ELIMIT"))
    # no mail stays behind, or it would set off the same again in another chain
    opened = _with_turn(_remove_taken(opened, context.mailbox), turn)
    return opened, _report_stopped(opened, text) if context.goes_in_legs else text


def _remove_taken(opened: SessionHandle, mailbox: Mailbox | None) -> SessionHandle:
    """Return the session after the mails were deleted that its history has."""
    taken = opened.document.taken
    if mailbox is None or not taken:
        return opened
    mailbox.remove(taken)
    return opened.with_document(evolve(opened.document, taken=()))


def _take_mail(opened: SessionHandle, context: RoundContext) -> SessionHandle:
    """Return the session with the mails that have come, which are gone from the mailbox after that.

    They are in the history, and named in the document, before they are deleted: a crash between
    leaves items that the next reading knows.
    """
    mailbox = context.mailbox
    if mailbox is None:
        return opened
    document = opened.document
    room = context.app.count_room(context.preamble, document.ratio)
    room -= compaction.estimate_size(document.messages)
    most = int(room * tokens.CHARACTERS_A_TOKEN * MAIL_SHARE)
    mails, left = mailbox.read(document.taken, most)
    # the model reads one message full of mail at a time
    if mails and document.messages[-1].origin != MAIL_ORIGIN:
        taken = (*left, *(name for name, _ in mails))
        opened = opened.with_document(evolve(document, taken=taken))
        message = format_mails([mail for _, mail in mails], context.app.clock.now(), most)
        opened = _save_checkpoint(opened, context, message)
        left = list(taken)
    mailbox.remove(left)
    if opened.document.taken:
        opened = opened.with_document(evolve(opened.document, taken=()))
    if opened.document.reads_mail and not mails:
        opened = opened.with_document(evolve(opened.document, reads_mail=False))
    return opened


def _remind_of_board(opened: SessionHandle, context: RoundContext) -> SessionHandle:
    """Return the session with a reminder of the board where one is due; it is saved with what the
    model answers.
    """
    document = opened.document
    now = context.app.clock.now()
    reminder = make_reminder(_turn_of(opened), document.messages, now)
    return opened.with_document(document.add(reminder)) if reminder else opened


def _request_verification(
    opened: SessionHandle, context: RoundContext, message: Message
) -> SessionHandle:
    """Ask once whether the answer is true; the answer so far is kept, and sent to nobody."""
    context.watch(TurnStep("note", "verify", "the last call failed: the answer is verified"))
    if hears_words(context.watch):
        from functions.agent.turn.told_words import ANEW

        context.watch(ANEW)
    now = context.app.clock.now()
    question = Message("user", VERIFY, at=now, origin=RUNTIME_ORIGIN)
    turn = _turn_of(opened)
    opened = _with_turn(opened, turn.add_step("verify", at=turn.count_ms(now)))
    return _save_checkpoint(opened, context, message, question)


def _finish_answer(
    opened: SessionHandle, reply: ModelReply, texts: Texts
) -> tuple[SessionHandle, str]:
    """Return the session and the final text of a turn that ends with this reply.

    What a verification has changed is noted in the trace, and a failure that it left as it was is
    mentioned below the text.
    """
    if reply.finish == "error":
        text = texts.could_not_answer.format(why=explain_error(reply, texts))
        if reply.transient:
            text = f"{text} {outage.suggest_retry(reply.retry_after, texts)}"
    elif is_visible(reply.text) or names_file(reply.text):
        text = f"{reply.text}{_describe_cut(reply.finish, texts)}"
    else:
        withheld = {"filtered": texts.withheld_filtered, "refused": texts.withheld_refused}
        text = withheld.get(reply.finish, texts.no_answer)
    turn = _turn_of(opened)
    failure = verification.describe_unmended_failure(turn, texts)
    outcome = verification.find_outcome(turn)
    if outcome:
        opened = _with_turn(opened, turn.add_step("verified", outcome=outcome))
    return opened, f"{text}\n\n{failure}" if failure else text


def _describe_cut(finish: str, texts: Texts) -> str:
    """Return what is added below an answer that is not whole; empty below one that is."""
    cut = {
        "length": f" […]\n\n{texts.cut_length}",
        "filtered": f" […]\n\n{texts.cut_filtered}",
        "refused": f"\n\n{texts.cut_refused}",
    }
    return cut.get(finish, "")


def _ask_model(
    opened: SessionHandle,
    context: RoundContext,
    offers: Sequence[Offer],
    final: PromptMessage | None,
) -> tuple[ModelReply, SessionHandle]:
    """Send the next request, and return the reply and the session with what it cost.

    `final` asks for an answer without calls; the tools stay, since some endpoints want them beside
    the calls of the history. A request that gave up because it was told to is no
    round; nobody knows what it cost.
    """
    app = context.app
    document = opened.document
    turn = _turn_of(opened)
    number = turn.next_request
    preamble = context.preamble
    stamp = app.make_stamp(document)
    start = document.find_turn_start()
    shown = _load_pictures(opened, context, start)
    messages = build_prompt(preamble, document.messages, stamp, start, shown)
    if final:
        messages.append(final)
    loaded = tokens.of_offers(offers)
    estimate = tokens.of_messages(document.messages) + loaded
    estimate += count_overhead(preamble)
    if shown:
        estimate += shown.tokens
    tries = max(outage.TRIES_MOST - outage.count_failed_tries(turn.trace), 1)
    if outage.count_waits(turn.trace):
        tries = 1
    teller = None
    if context.breakers.find_watcher() or hears_words(context.watch):
        teller = _open_teller(opened, context)
    request = ModelRequest(
        messages,
        tools=define_tools(offers, deploys=not context.calls.never_deploys),
        tool_choice="none" if final else None,
        deadline=min(context.deadline, context.until - SAVE_SECONDS),
        stopped=partial(context.breakers.must_give_up, turn.event.id, number),
        may_write=partial(may_write_calls, opened.key, document, app),
        tries=tries,
        pause_most=outage.PAUSE_MOST if context.patient else inf,
        model=document.chosen_model,
        reduced=max(REDUCED_MOST - outage.count_reductions(turn.trace), 0),
        chat=opened.key,
        tell=teller,
    )
    began = app.clock.now()
    started = app.clock.monotonic()
    reply = app.model.chat(request)
    if teller:
        teller.end()
    ms = round((app.clock.monotonic() - started) * 1000, 1)
    facts: dict[str, Json] = {
        "n": number,
        "at": turn.count_ms(began),
        "ms": ms,
        "finish": reply.finish,
        "tools": len(offers) + len(STATIC),
        "model": reply.model or document.chosen_model or app.model.name,
    }
    if loaded:
        facts["tool_tokens"] = round(loaded * document.ratio)
    if shown:
        facts[PICTURES] = shown.count
    if reply.finish == "stopped":
        context.watch(TurnStep("note", "stopped", "the request was given up"))
        stopped = describe_request(app, document, reply, ms=ms)
        document = evolve(document, turn=turn.add_step("request", **facts))
        return reply, opened.with_document(document.note([stopped], turn.event, app.clock.now()))
    if reply.failure and reply.failure.kind == "late" and reply.finish == "error":
        facts["late"] = _find_late(request, context)
    return reply, _record_request(opened, context, reply, facts, estimate)


def _load_pictures(opened: SessionHandle, context: RoundContext, start: int) -> Shown | None:
    """Return the pictures that the next request shows, None for most turns, which have none. The
    turn's messages begin at the place `start`.
    """
    messages = opened.document.messages
    turn = messages[start:]
    has_looks = len(turn) > 1 and any(LOOK in each.content for each in turn)
    if not (has_looks or any(map(_LIST_FILES, turn))):
        return None
    from functions.agent.conversation import pictures

    files = context.app.open_workspace(opened.key)
    shown = pictures.load_pictures(messages, start, lambda path: files.read(path).body)
    return shown if shown.beside or shown.behind else None


def _open_teller(opened: SessionHandle, context: RoundContext) -> WordTeller | None:
    """Return what tells the words of the next answer; None where nobody here or on a page of
    another process wants them.
    """
    from functions.agent.turn.told_words import WordTeller, share_words

    share_words(context.watch, context.breakers, _turn_of(opened).event.id, opened.version)
    return WordTeller(context.watch, context.app.redact) if hears_words(context.watch) else None


def _find_late(request: ModelRequest, context: RoundContext) -> str:
    """Return whose time was up when a request got no answer in time."""
    if context.app.clock.monotonic() < request.deadline:
        return REQUEST
    return TURN if request.deadline == context.deadline else WORKER


def _record_request(
    opened: SessionHandle,
    context: RoundContext,
    reply: ModelReply,
    facts: Mapping[str, Json],
    estimate: float,
) -> SessionHandle:
    """Return the session with what a request cost, in its turn, its safety status and its ratio.

    `facts` are those of its step, and `estimate` its tokens as they were estimated.
    """
    app = context.app
    document = opened.document
    turn = _turn_of(opened)
    usage = fill_usage(reply, estimate, document.ratio)
    ratio = document.ratio
    if not (usage.estimated or PICTURES in facts):  # pictures are counted apart
        ratio = tokens.update_ratio(ratio, estimate, usage.prompt)
    if reply.failure:
        app.failures.append((opened.key, reply.failure))
    failed = reply.finish == "error"
    used = {"prompt": usage.prompt, "completion": usage.completion}
    tries = max(reply.tries, 1) if failed else reply.tries
    cached: dict[str, Json] = {"cached": usage.cached} if usage.cached else {}
    failures = outage.failure_facts(reply.failure, tries, reply.retry_after)
    reduced: dict[str, Json] = {"reduced": reply.reduced} if reply.reduced else {}
    step: dict[str, Json] = {**facts, **used, **cached, **failures, **reduced}
    turn = evolve(turn, rounds=turn.rounds + 1, usage=turn.usage + usage)
    turn = turn.add_step("request", **step)
    safety = context.breakers.record_request(document.safety, turn.task, usage)
    detail = reply.failure.detail if reply.failure else reply.text
    error = "EMODEL" if failed else ""
    ms = as_number(facts["ms"])
    shown = {"tools": facts["tools"], **used}
    context.watch(TurnStep("request", app.model.name, detail, ms, error, shown))
    document = evolve(document, turn=turn, ratio=ratio, safety=safety)
    entry = describe_request(app, document, reply, usage, ms=ms)
    return opened.with_document(document.note([entry], turn.event, app.clock.now()))


def _shorten_history(
    opened: SessionHandle, context: RoundContext
) -> tuple[SessionHandle, RoundContext] | None:
    """Return the session with less of its history, after an endpoint refused a request as too long.

    None when that cannot help any more. The model's window is by now what the refusal taught. The
    refused request is no round.
    """
    app = context.app
    before = opened.document
    turn = _turn_of(opened)
    if outage.count_failed_tries(turn.trace) >= outage.TRIES_MOST:
        return None
    preamble = app.build_preamble(
        opened.memory, own=turn.event.is_own_work, chat=turn.event.session
    )
    room = app.count_room(preamble, before.ratio)
    evicted = evict_before_turn(opened.key, before, room, app, context.watch)
    if evicted is None:
        return None
    document, gone = evicted
    gone = {**gone, "at": turn.count_ms(app.clock.now())}
    turn = evolve(turn, rounds=turn.rounds - 1, trace=(*turn.trace, gone))
    opened = opened.with_document(evolve(document, turn=turn))
    opened = _save_checkpoint(opened, context)
    return opened, evolve(context, preamble=preamble)


def _is_refused(reply: ModelReply) -> bool:
    """Return whether an endpoint refuses what the turn's messages say, and will do so again."""
    kind = reply.failure.kind if reply.failure else ""
    return kind == "refused" or (kind == "other" and reply.reduced > 0)


def _withdraw_messages(opened: SessionHandle, app: App) -> SessionHandle:
    """Return the session without the messages of its turn, which are archived.

    In the history they would be refused with every later message, too.
    """
    document = opened.document
    start = document.find_turn_start()
    own = document.messages[start:]
    app.sessions.archive(opened.key, own)
    note_native_calls(opened.key, own, app)
    note = Message("user", WITHDRAWN, at=app.clock.now(), origin=RUNTIME_ORIGIN)
    return opened.with_document(evolve(document, messages=document.messages[:start]).add(note))


def _finish_open_calls(opened: SessionHandle, context: RoundContext) -> SessionHandle:
    """Answer the calls that a crash left unanswered.

    Those that are safe to repeat run again; the others are answered as interrupted.
    """
    document = opened.document
    pending = find_unanswered(document.messages)
    if document.safety.reason or not pending:
        return opened
    offers = in_scope(document.messages)
    repeatable = [call for call in pending if is_safe_to_repeat(context.calls, call, offers)]
    began = context.app.clock.now()
    results = _run_calls(document, context, repeatable, offers)
    by_id = {result.call.id: result for result in results}
    answers = [by_id.get(call.id) or interrupt_call(call) for call in pending]
    return _record_results(opened, context, answers, began)


def _make_ready_call(opened: SessionHandle, context: RoundContext) -> SessionHandle:
    """Make the call that an owner has approved, or the one of a task, unless the history has it.

    The history has it before it runs, so that after a crash it is never made again.
    """
    call = context.ready_call
    if call is None or _find_ending(opened, context):
        return opened
    document = opened.document
    if any(call.id == made.id for message in document.messages for made in message.calls):
        return opened
    message = Message("assistant", "", at=context.app.clock.now(), calls=(call,))
    return _run_round(opened, context, message, context.list_offers(document))


def _run_round(
    opened: SessionHandle, context: RoundContext, message: Message, offers: Sequence[Offer]
) -> SessionHandle:
    """Run the calls of the model's message, and return the session with their results."""
    if all(call.name == QUERY for call in message.calls):
        # searches run nothing: they are saved with their results, and after a crash the model is
        # asked again
        opened = opened.with_document(opened.document.add(message))
    else:
        opened = _save_checkpoint(opened, context, message)
    context.breakers.reload()
    began = context.app.clock.now()
    results = _run_calls(opened.document, context, message.calls, offers)
    return _record_results(opened, context, results, began)


def _run_calls(
    document: Document,
    context: RoundContext,
    calls: Sequence[ToolCall],
    offers: Sequence[Offer],
) -> list[CallResult]:
    for call in calls:
        context.watch(TurnStep("call", call.name, call.arguments))
    if context.chain and document.turn:
        context.chain.follow(document.turn)
    room = context.app.count_room(context.preamble, document.ratio)
    room -= compaction.estimate_size(document.messages)
    characters = int(room * tokens.CHARACTERS_A_TOKEN)
    messages = document.messages
    skills = frozenset(message.skill for message in messages if message.skill)
    named = evolve(context.calls, places=name_last_calls(messages), resident_skills=skills)
    return answer_calls(named, calls, offers, characters)


def _record_results(
    opened: SessionHandle, context: RoundContext, results: Sequence[CallResult], began: float
) -> SessionHandle:
    """Save the results of calls, with the guide's words and what they lead to.

    The calls `began` so many seconds after 1970.
    """
    app = context.app
    safety = opened.document.safety
    messages_of_turn = opened.document.messages[opened.document.find_turn_start() :]
    reaction = react(results, safety.counters, app.guide, messages_of_turn)
    turn = _turn_of(opened)
    resident = {offer.tool for offer in in_scope(opened.document.messages)}
    now = app.clock.now()
    messages: list[Message] = []
    entries: list[Entry] = []
    taken: list[str] = []
    posts = opened.document.posts
    before = len(posts)
    is_all_well = not any(result.error for result in results)
    for result, fact in zip(reaction.answers, reaction.facts, strict=True):
        name = result.call.name
        context.watch(TurnStep("answer", name, result.content, result.ms, error=result.error))
        loads: list[Json] = []
        for offer in result.loads:
            if offer.tool not in resident:
                loads.append([offer.tool, round(tokens.of_offer(offer))])
                context.watch(TurnStep("load", offer.tool, offer.description))
                resident.add(offer.tool)
        more: dict[str, Json] = {"loads": loads} if loads else {}
        if fact.failed:
            more["fingerprint"] = fact.fingerprint
        if result.reason:
            more["reason"] = result.reason
        if result.stopped:
            more["stopped"] = True
        if result.proposal:
            more["proposal"] = result.proposal
        sent: list[Json] = [[post.kind, name_receiver(post)] for post in result.posts]
        if sent:
            more["sent"] = sent
        turn = evolve(turn, tools=(*turn.tools, name)).add_step(
            "call",
            at=turn.count_ms(began),
            id=result.call.id,
            seq=opened.document.next_seq + len(messages),
            name=name,
            ms=round(result.ms, 1),
            size=len(result.content),
            error=result.error,
            **more,
        )
        messages.append(
            Message(
                "tool",
                result.content,
                at=now,
                call_id=result.call.id,
                loads=result.loads,
                cut=result.cut,
                files=result.files,
                skill=result.skill,
            )
        )
        if result.note:
            turn = turn.add_step(NOTE_STEP, text=result.note)
        if not result.is_started:  # the turn of its task has the call
            entries.append(describe_call(result))
        entries += result.entries
        taken += result.taken
        first = turn.posted + len(posts) - before
        if name == NEXT_TOOL and result.error == "ELIMIT" and not turn.ended:
            turn = turn.add_step("limit", limit="hops", end=SLEEP)
        made = result.posts
        if result.ending and (is_all_well or not result.ending.if_all_well):
            name = result.ending.behaviour
            turn = evolve(turn, ended=name or ASLEEP).add_step("end", behaviour=name)
            used = turn.usage.counted
            made = tuple(carry_on(turn.event, turn.trace, used, post) for post in made)
        posts += stamp_posts(made, turn.event, result.place, now, first)
    for limit in sorted(context.posts.refused) if context.posts else ():
        if not turn.has_reached(limit):
            turn = turn.add_step("limit", limit=limit, end=REFUSED)
    safety = evolve(safety, counters=reaction.counters)
    if reaction.reason:
        safety = context.breakers.stop(safety, reaction.reason)
    turn = evolve(turn, posted=turn.posted + len(posts) - before)
    document = evolve(opened.document, turn=turn, safety=safety, posts=posts)
    document = evolve(document, taken=(*document.taken, *taken))
    opened = opened.with_document(document.note(entries, turn.event, now))
    return _put_posts(_save_checkpoint(opened, context, *messages), context.put)


def _put_posts(opened: SessionHandle, put: Callable[[Event], None] | None) -> SessionHandle:
    """Put what the session has posted into the queue, and return it without them, not saved yet.

    What cannot be put now stays, and is put when the event is handled.
    """
    if put is None or not opened.document.posts:
        return opened
    try:
        for post in opened.document.posts:
            put(post)
    except BackendError:
        return opened
    return opened.with_document(evolve(opened.document, posts=()))


def _save_checkpoint(
    opened: SessionHandle, context: RoundContext, *messages: Message
) -> SessionHandle:
    """Save the session with the messages; a turn that got on has no failed attempts behind it."""
    turn = evolve(_turn_of(opened), attempts=0)
    turn = turn.add_step("save", at=turn.count_ms(context.app.clock.now()))
    document = evolve(opened.document.add(*messages), turn=turn)
    saved = context.app.sessions.save(opened, document)
    context.watch(TurnStep("save", text=saved.version or "", facts={"bytes": saved.size}))
    return saved
