"""The calls that try every function of the template, each with an event file of the tests, and what
is expected of the answers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from functions.media.invocation import decode_answer

EVENTS = Path(__file__).parents[2] / "tests" / "events" / "lambda"
REPLY = "aGVsbG8gd29ybGQ="
"""The text that the worker's event asks for."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of `function`, by its name in the template, with the event file `event`. `expected`:
    the HTTP status of the answer, or the answer as a whole, or what an opened file has in it.
    """

    function: str
    event: str
    expected: object

    @property
    def path(self) -> Path:
        """Return the path of the event file."""
        return EVENTS / f"{self.event}.json"

    def accepts(self, answer: Any) -> bool:
        """Return whether the answer is as expected."""
        if isinstance(answer, dict) and "answer" in answer:
            return str(self.expected).encode() in decode_answer(answer)[0]
        status = answer.get("statusCode") if isinstance(answer, dict) else None
        return bool((status or answer) == self.expected)

    def describe(self, answer: Any, seconds: float) -> str:
        """Return a line about the call and its answer."""
        status = answer.get("statusCode") if isinstance(answer, dict) else None
        text = f"{status} {answer['body'][:150]}" if status else json.dumps(answer)[:300]
        return f"{self.function} < {self.event}.json > {text}  ({seconds:.1f} s)"


CALLS = (
    Call("Webhook", "webhook_health", 200),
    Call("Webhook", "webhook", 200),
    Call("Webhook", "webhook_forged", 401),
    Call("Webhook", "webhook_base64", 200),
    Call("Webhook", "webhook_mapped", 200),
    Call("Webhook", "webhook_rest", 200),
    Call("Worker", "worker", {"batchItemFailures": []}),
    Call("Media", "media", "The total is 42 EUR."),
    Call("Scheduler", "scheduler", {"swept": 0, "queued": 1}),
    Call("Admin", "admin_status", 200),
    Call("Admin", "admin_halt", 200),
    Call("Admin", "admin_unlock", 200),
    Call("Admin", "admin_unsigned", 401),
    Call("Registry", "registry_health", 200),
    Call("Registry", "registry_query", 200),
    Call("Registry", "registry_run", 200),
    Call("Registry", "registry_unsigned", 401),
)


def find_faults(wrong: list[str], texts: list[str]) -> str:
    """Return what was not as expected: the events whose answers were `wrong`, and the reply when it
    is not among the `texts` that the platform got; empty when all was.
    """
    if [text.split()[0] for text in texts] != [REPLY]:
        return ", ".join([*wrong, f"the reply: {texts}"])
    return ", ".join(wrong)
