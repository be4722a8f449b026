"""What whoever looks after an agent has to hear: how a session stands, once, and of a budget once
for all; and why its model failed.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from functions.agent.safety.budget import name_period
from functions.agent.safety.status import REASONS
from functions.agent.session.store import Opened
from functions.alerts import Alert, model_failure_alert, send_alert
from functions.wiring import AgentRuntime
from sigil.errors import Conflict
from sigil.storage.kv import ABSENT, keys

QUIET = ("frustration", "halted")
"""What nobody needs to be told: the person in the chat was asked, or whoever halted it knows."""
MODEL_SECONDS = 3_600.0
"""For so long one kind of a model's failures is not told again."""


def alarm(opened: Opened, runtime: AgentRuntime) -> Opened:
    """Tell whoever watches that the session does not go on, once: what it says of its budget, once
    for all sessions of a period.
    """
    standing, agent = opened.document.safety, runtime.app.name
    if standing.told or not standing.reason or standing.reason in QUIET:
        return opened
    why, failures = REASONS[standing.reason], standing.counters.failures
    failure = (
        replace(failures[-1], target="").line
        if failures and standing.reason in ("cascade", "fatal")
        else ""
    )
    alert = Alert(
        why.event,
        agent,
        opened.key.partition("#")[2],
        standing.state,
        standing.reason,
        standing.since,
        failure,
    )
    if standing.reason != "budget" or _first(opened.key, standing.since, runtime):
        send_alert(alert, runtime.notifier)
    return runtime.app.sessions.save(
        opened, replace(opened.document, safety=replace(standing, told=True))
    )


def alarm_of_model(runtime: AgentRuntime) -> None:
    """Tell whoever watches why the agent's model gave no answer, in its endpoint's words: each kind
    of failure once an hour.
    """
    app = runtime.app
    while app.failures:
        try:
            session, failure = app.failures.popleft()
        except IndexError:  # another thread tells of it
            return
        now = app.clock.now()
        noted = keys.model_alerted(app.name, failure.kind)
        try:
            version = runtime.stores.kv.put(noted, b"", expect=ABSENT, ttl=MODEL_SECONDS)
        except Conflict:
            continue
        chat = session.partition("#")[2]
        if not send_alert(
            model_failure_alert(app.name, chat, failure.kind, failure.detail, now), runtime.notifier
        ):
            with suppress(Conflict):
                runtime.stores.kv.delete(noted, expect=version)


def _first(session: str, since: float, runtime: AgentRuntime) -> bool:
    """Whether nobody else told of this period's budget before; whoever noted that it would may have
    died before it did.
    """
    seconds, mine = runtime.app.limits.seconds, f"{session} {since}".encode()
    noted = keys.alerted(runtime.app.name, name_period(since, seconds))
    with suppress(Conflict):
        runtime.stores.kv.put(noted, mine, expect=ABSENT, ttl=keys.SEEN_TTL + seconds)
        return True
    item = runtime.stores.kv.get(noted)
    return item is not None and item.value == mine
