"""Alerts about a session that does not go on, and about a model that gives no answer.

Each is sent once: a session's stop once, a used-up budget once for all sessions of its period, and
one kind of a model's failures once an hour. That a platform does not take a message is told once a
day.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from hashlib import sha256

from functions.agent.safety.budget import name_period
from functions.agent.safety.status import REASONS
from functions.agent.session.store import SessionHandle
from functions.alerts import ADAPTED, Alert, model_failure_alert, send_alert, unanswered_alert
from functions.wiring import AgentRuntime
from sigil.errors import Conflict
from sigil.storage.kv import ABSENT, keys

QUIET = ("frustration", "halted")
"""Reasons without an alert: the person in the chat was asked, or the one who halted it knows."""
UNANSWERED_SECONDS = 86_400.0
"""For so long after an alert about a channel that does not take a message, no other is sent."""
MODEL_SECONDS = 3_600.0
"""For so long after an alert about one kind of a model's failures, no other is sent."""
ADAPTED_SECONDS = 86_400.0
"""For so long after an alert about what was left out for a model, no other says the same."""


def alert_session_status(opened: SessionHandle, runtime: AgentRuntime) -> SessionHandle:
    """Send an alert when the session does not go on, and note in its document that it was sent."""
    safety = opened.document.safety
    if safety.told or not safety.reason or safety.reason in QUIET:
        return opened
    reason = REASONS[safety.reason]
    failures = safety.counters.failures
    failure = ""
    if failures and safety.reason in ("cascade", "fatal"):
        failure = replace(failures[-1], target="").line
    of_all = {"budget": runtime.app.root, "agent-budget": runtime.app.name}
    agent = of_all.get(safety.reason, "")
    if not agent or _claim_budget_alert(agent, opened.key, safety.since, runtime):
        alert = Alert(
            event=reason.event,
            agent=agent or runtime.app.name,
            session=opened.key.partition("#")[2],
            state=safety.state,
            reason=safety.reason,
            at=safety.since,
            failure=failure,
        )
        send_alert(alert, runtime.notifier)
    document = replace(opened.document, safety=replace(safety, told=True))
    return runtime.app.sessions.save(opened, document)


def _claim_budget_alert(agent: str, session: str, since: float, runtime: AgentRuntime) -> bool:
    """Return whether this session is the one whose turn alerts of an agent's budget of this period.

    It stays that one: a worker may note it and die before it sends the alert.
    """
    kv = runtime.stores.kv
    limits = runtime.app.limits
    key = keys.budget_alert(agent, name_period(since, limits))
    mine = f"{session} {since}".encode()
    with suppress(Conflict):
        kv.put(key, mine, expect=ABSENT, ttl=keys.SEEN_TTL + limits.seconds)
        return True
    item = kv.get(key)
    return item is not None and item.value == mine


def alert_messages_used_up(session: str, runtime: AgentRuntime) -> None:
    """Send an alert that a session's channel takes no more messages until its next period."""
    _alert_unanswered("MESSAGES_USED_UP", session, runtime)


def alert_chat_closed(session: str, runtime: AgentRuntime) -> None:
    """Send an alert that a chat takes nothing from us until somebody writes there."""
    _alert_unanswered("CHAT_CLOSED", session, runtime)


def alert_chat_encrypted(session: str, runtime: AgentRuntime) -> None:
    """Send an alert that a chat gets nothing from us, since what is said there is encrypted."""
    _alert_unanswered("CHAT_ENCRYPTED", session, runtime)


def _alert_unanswered(event: str, session: str, runtime: AgentRuntime) -> None:
    """Send an alert about a message that never arrives, one a day for each channel and reason."""
    app = runtime.app
    channel = session.partition(":")[0]
    key = keys.unanswered_alert(app.name, event, channel)
    try:
        version = runtime.stores.kv.put(key, b"", expect=ABSENT, ttl=UNANSWERED_SECONDS)
    except Conflict:
        return
    alert = unanswered_alert(event, app.name, session, channel, app.clock.now())
    if not send_alert(alert, runtime.notifier):
        with suppress(Conflict):
            runtime.stores.kv.delete(key, expect=version)


def alert_model_failures(runtime: AgentRuntime) -> None:
    """Send an alert for each new kind of failure of the agent's model, and for each thing that its
    endpoint no longer gets, in the endpoint's words.
    """
    app = runtime.app
    kv = runtime.stores.kv
    while app.failures:
        try:
            session, failure = app.failures.popleft()
        except IndexError:  # another thread alerts of it
            return
        kind: str = failure.kind
        if kind == ADAPTED:  # each thing that was left out is told
            kind = f"{kind}-{sha256(failure.detail.encode()).hexdigest()[:12]}"
        key = keys.model_alert(app.name, kind)
        seconds = ADAPTED_SECONDS if failure.kind == ADAPTED else MODEL_SECONDS
        try:
            version = kv.put(key, b"", expect=ABSENT, ttl=seconds)
        except Conflict:
            continue
        chat = session.partition("#")[2]
        alert = model_failure_alert(app.name, chat, failure.kind, failure.detail, app.clock.now())
        if not send_alert(alert, runtime.notifier):
            with suppress(Conflict):
                kv.delete(key, expect=version)
