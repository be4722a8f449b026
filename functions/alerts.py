"""Alerts for whoever looks after an agent: one line in the log, and a webhook or an SNS topic when one is set."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Protocol

import orjson

from functions import log
from sigil.errors import BackendError

SECONDS = 5.0
SUBJECT = "Uncaged: {event} in {session}"


@dataclass(frozen=True, slots=True)
class Alert:
    """An agent does not go on: `event` (EMERGENCY_HALT, SYSTEM_HALT, BUDGET …), `state`, `reason`, `at` in seconds since 1970.

    `failure`: the fact that led to it, as one line without its place, which is of somebody's words. No message of anybody is in it.
    """

    event: str
    agent: str
    session: str
    state: str
    reason: str
    at: float
    failure: str = ""


def halted(agent: str, session: str, at: float) -> Alert:
    """Somebody halted an agent in one session, or in all of them when it is empty."""
    return Alert("SYSTEM_HALT", agent, session or "*", "SAFETY_LOCKOUT", "halted", at)


class Bell(Protocol):
    """Where alerts go."""

    def ring(self, alert: Alert) -> None:
        """Tell it; `BackendError` when nobody heard."""


class Silence:
    """The log alone."""

    def ring(self, alert: Alert) -> None:
        """The log has it."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """An address that takes JSON, as chat platforms' incoming webhooks do (`text`), with the alert's fields beside it."""

    url: str

    def ring(self, alert: Alert) -> None:
        import httpx

        from functions.transport import open_transport

        body = {"text": f"{alert.event}: {alert.agent} {alert.session} is {alert.state} ({alert.reason})", **asdict(alert)}
        try:
            with httpx.Client(transport=open_transport(self.url), timeout=SECONDS) as client:
                answer = client.post(self.url, json=body)
        except (httpx.HTTPError, ValueError) as problem:
            raise BackendError("EUNAVAILABLE", f"the alert's address does not answer: {type(problem).__name__}") from None
        if answer.status_code >= 300:
            raise BackendError("EUNAVAILABLE", f"the alert's address answered {answer.status_code}")


@dataclass(frozen=True, slots=True)
class Topic:
    """An SNS topic, by its ARN."""

    arn: str
    endpoint: str = ""

    def ring(self, alert: Alert) -> None:
        from sigil import aws

        with aws.plainly("topic"):
            sns: Any = aws.client("sns", endpoint=self.endpoint)
            subject = SUBJECT.format(event=alert.event, session=alert.session)[:100]
            sns.publish(TopicArn=self.arn, Subject=subject, Message=orjson.dumps(alert).decode())


def raised(alert: Alert, bell: Bell) -> bool:
    """Log the alert and ring; whether it was heard. An alert is never in the way of a turn."""
    log.note("alert", **{name: value for name, value in asdict(alert).items() if value and name != "at"})  # a line has its own
    try:
        bell.ring(alert)
    except BackendError as problem:
        log.note("alert unheard", event=alert.event, code=problem.code, message=problem.message)
        return False
    return True
