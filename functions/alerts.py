"""Alerts for whoever looks after an agent: one line in the log, and a webhook or an SNS topic when
one is set.
"""

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
SUBJECT = "Uncaged: {event} in {session}"


@dataclass(frozen=True, slots=True)
class Alert:
    """An agent does not go on: `event` (EMERGENCY_HALT, SYSTEM_HALT, BUDGET …), `state`, `reason`,
    `at` in seconds since 1970.

    `failure`: the fact that led to it, as one line without its place, which is of somebody's words;
    of a model's failure (MODEL_FAILURE) its endpoint's own line. No message of anybody is in it.
    """

    event: str
    agent: str
    session: str
    state: str
    reason: str
    at: float
    failure: str = ""


def halt_alert(agent: str, session: str, at: float) -> Alert:
    """Somebody halted an agent in one session, or in all of them when it is empty."""
    return Alert("SYSTEM_HALT", agent, session or "*", "SAFETY_LOCKOUT", "halted", at)


def model_failure_alert(agent: str, session: str, kind: str, detail: str, at: float) -> Alert:
    """An agent's model gave no answer in one session, or failed where another model stood in."""
    return Alert(MODEL_FAILURE, agent, session, "MODEL_FAILING", kind, at, detail)


class Notifier(Protocol):
    """Where alerts go."""

    def notify(self, alert: Alert) -> None:
        """Tell it; `BackendError` when nobody heard."""


class LogOnly:
    """The log alone."""

    def notify(self, alert: Alert) -> None:
        """The log has it."""


@dataclass(frozen=True, slots=True)
class WebhookNotifier:
    """An address that takes JSON, as chat platforms' incoming webhooks do (`text`), with the
    alert's fields beside it.
    """

    url: str

    def notify(self, alert: Alert) -> None:
        text = f"{alert.event}: {alert.agent} {alert.session} is {alert.state} ({alert.reason})"
        text = f"{text}: {alert.failure}" if alert.event == MODEL_FAILURE else text
        status = self._posted(orjson.dumps({"text": text, **asdict(alert)}))
        if status >= 300:
            raise BackendError("EUNAVAILABLE", f"the alert's address answered {status}")

    def _posted(self, body: bytes) -> int:
        """The answer's status. All of it has come within `SECONDS`, however it drips: who waits
        here may be who hears the next halt.
        """
        import httpx

        from functions.http_connection import TROUBLES, HttpConnections

        try:
            connections = HttpConnections(self.url)
            try:
                headers = {**HEADERS, **_signed(httpx.URL(self.url).userinfo)}
                return connections.post(
                    body, headers, ANSWER_BYTES, time.monotonic() + SECONDS, lambda: False
                ).status
            finally:
                connections.close()
        except (*TROUBLES, ValueError) as problem:
            raise BackendError(
                "EUNAVAILABLE", f"the alert's address does not answer: {type(problem).__name__}"
            ) from None


def _signed(userinfo: bytes) -> dict[str, str]:
    """The header for an address with a name and a password in it."""
    return (
        {"authorization": f"Basic {b64encode(unquote_to_bytes(userinfo)).decode()}"}
        if userinfo
        else {}
    )


@dataclass(frozen=True, slots=True)
class SnsNotifier:
    """An SNS topic, by its ARN."""

    arn: str
    endpoint: str = ""

    def notify(self, alert: Alert) -> None:
        from sigil.storage import aws

        with aws.plainly("topic"):
            sns: Any = aws.client("sns", endpoint=self.endpoint)
            subject = SUBJECT.format(event=alert.event, session=alert.session)[:100]
            sns.publish(TopicArn=self.arn, Subject=subject, Message=orjson.dumps(alert).decode())


def send_alert(alert: Alert, notifier: Notifier) -> bool:
    """Log the alert and ring; whether it was heard. An alert is never in the way of a turn."""
    log.note(
        "alert", **{name: value for name, value in asdict(alert).items() if value and name != "at"}
    )  # a line has its own
    try:
        notifier.notify(alert)
    except BackendError as problem:
        log.note("alert unheard", event=alert.event, code=problem.code, message=problem.message)
        return False
    return True
