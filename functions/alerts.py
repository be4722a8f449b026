"""Alerts for the people who look after an agent: a line in the log, and a webhook or SNS topic."""

from __future__ import annotations

import time
from base64 import b64encode
from dataclasses import asdict, dataclass
from typing import Any, Protocol
from urllib.parse import unquote_to_bytes

import orjson

from functions import log
from sigil.errors import BackendError

SECONDS = 5.0
ANSWER_BYTES = 64 << 10
HEADERS = {
    "content-type": "application/json",
    "accept-encoding": "identity",
    "user-agent": "uncaged",
}
MODEL_FAILURE = "MODEL_FAILURE"
MODEL_ADAPTED = "MODEL_ADAPTED"
MODEL_ENDS = "MODEL_ENDS"
ADAPTED = "adapted"
"""The kind of a failure after which the endpoint took less."""
ADVICE = {
    "key": "Check UNCAGED_LLM_KEY: `uncaged setup model` asks for another one.",
    "money": "Top up the account at the provider; the key stays the same.",
    "rate": "Nothing is to be done; if it comes often, ask the provider for a higher limit.",
    "window": "Set UNCAGED_LLM_WINDOW to what the model takes; `/model` shows what was learnt.",
    "refused": "The provider's filter refused it, and the message was left out of the chat.",
    "model": "Choose a model that is there: `uncaged setup model` lists them.",
    "other": "`uncaged doctor` tests the model; `uncaged trace` shows the request.",
    ADAPTED: "The chat goes on. `/model` shows what was learnt, and `/model reset` forgets it.",
}
"""What owners can do about a failure of the model, by its kind."""
SUBJECT = "Uncaged: {event} in {session}"


@dataclass(frozen=True, slots=True)
class Alert:
    """An agent stopped, or its model failed or ends, or a platform takes no more from it: `event`
    (EMERGENCY_HALT, SYSTEM_HALT, BUDGET …), `state`, `reason`, `at` in seconds since 1970.

    `failure` is the cause in one line; for MODEL_FAILURE it is the endpoint's own line, for
    MODEL_ADAPTED what was left out and the endpoint's line, for MODEL_ENDS the day and what
    replaces the model. It quotes nothing that a user wrote. `advice` says what to do.
    """

    event: str
    agent: str
    session: str
    state: str
    reason: str
    at: float
    failure: str = ""
    advice: str = ""

    @property
    def fields(self) -> dict[str, Any]:
        """Return what is sent: all fields, `advice` where there is some."""
        fields = asdict(self)
        if not self.advice:
            del fields["advice"]
        return fields


def halt_alert(agent: str, session: str, at: float) -> Alert:
    """Return the alert for a halt in one session, or in all of them when `session` is empty."""
    return Alert("SYSTEM_HALT", agent, session or "*", "SAFETY_LOCKOUT", "halted", at)


def unanswered_alert(event: str, agent: str, session: str, channel: str, at: float) -> Alert:
    """Return the alert for a channel that does not take a message to `session`: none is left in
    this period (MESSAGES_USED_UP), nobody wrote there lately (CHAT_CLOSED), or what is said there
    is encrypted (CHAT_ENCRYPTED).
    """
    return Alert(event, agent, session, "UNANSWERED", channel, at)


def model_failure_alert(agent: str, session: str, kind: str, detail: str, at: float) -> Alert:
    """Return the alert for a model that failed in one session, a fallback's turn included, or that
    answered after something was left out.
    """
    advice = ADVICE.get(kind, "")
    if kind == ADAPTED:
        return Alert(MODEL_ADAPTED, agent, session, "MODEL_WORKING", kind, at, detail, advice)
    return Alert(MODEL_FAILURE, agent, session, "MODEL_FAILING", kind, at, detail, advice)


def model_end_alert(agent: str, model: str, sentence: str, at: float) -> Alert:
    """Return the alert for a model that its provider ended, or ends soon."""
    return Alert(MODEL_ENDS, agent, "*", "MODEL_ENDING", model, at, sentence)


class Notifier(Protocol):
    """A destination for alerts."""

    def notify(self, alert: Alert) -> None:
        """Deliver the alert; `BackendError` when the destination did not take it."""


class LogOnly:
    """Delivers nothing: `send_alert` logs every alert already."""

    def notify(self, alert: Alert) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class WebhookNotifier:
    """Posts JSON to an address: a chat platform's incoming webhook reads `text`, programs the
    alert's fields beside it.
    """

    url: str

    def notify(self, alert: Alert) -> None:
        import httpx

        from functions.http_connection import TROUBLES, HttpConnections

        text = f"{alert.event}: {alert.agent} {alert.session} is {alert.state} ({alert.reason})"
        if alert.event in (MODEL_FAILURE, MODEL_ADAPTED, MODEL_ENDS):
            text = f"{text}: {alert.failure}"
        if alert.advice:
            text = f"{text}. {alert.advice}"
        body = orjson.dumps({"text": text, **alert.fields})
        try:
            connections = HttpConnections(self.url)
            headers = dict(HEADERS)
            userinfo = httpx.URL(self.url).userinfo
            if userinfo:
                credentials = b64encode(unquote_to_bytes(userinfo)).decode()
                headers["authorization"] = f"Basic {credentials}"
            # the thread that waits here may be the one that handles the next halt
            deadline = time.monotonic() + SECONDS
            try:
                answer = connections.post(body, headers, ANSWER_BYTES, deadline, lambda: False)
            finally:
                connections.close()
        except (*TROUBLES, ValueError) as problem:
            raise BackendError(
                "EUNAVAILABLE", f"the alert's address does not answer: {type(problem).__name__}"
            ) from None
        if answer.status >= 300:
            raise BackendError("EUNAVAILABLE", f"the alert's address answered {answer.status}")


@dataclass(frozen=True, slots=True)
class SnsNotifier:
    """Publishes to an SNS topic, named by its ARN."""

    arn: str
    endpoint: str = ""

    def notify(self, alert: Alert) -> None:
        from sigil.storage import aws

        with aws.explain_errors("topic"):
            sns: Any = aws.client("sns", endpoint=self.endpoint)
            subject = SUBJECT.format(event=alert.event, session=alert.session)[:100]
            message = orjson.dumps(alert.fields).decode()
            sns.publish(TopicArn=self.arn, Subject=subject, Message=message)


def send_alert(alert: Alert, notifier: Notifier) -> bool:
    """Log the alert and deliver it; False when that failed. A failed alert stops no turn."""
    # without `at`: a log line has its own time
    facts = {name: value for name, value in asdict(alert).items() if value and name != "at"}
    log.note("alert", **facts)
    try:
        notifier.notify(alert)
    except BackendError as problem:
        log.note("alert unheard", event=alert.event, code=problem.code, message=problem.message)
        return False
    return True
