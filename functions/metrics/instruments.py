"""The metrics that there are: their names, kinds, labels and meanings.

Names and units follow Prometheus: https://prometheus.io/docs/practices/naming/
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

_HERE: Final = ("agent", "platform")
_SECONDS: Final = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0)
_STORE_SECONDS: Final = (0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0)


@dataclass(frozen=True, slots=True)
class Instrument:
    """A metric; a histogram counts the values up to each of its `bounds`."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()


def _count(name: str, help: str, *labels: str) -> Instrument:
    return Instrument(name, "counter", help, labels)


def _gauge(name: str, help: str, *labels: str) -> Instrument:
    return Instrument(name, "gauge", help, labels)


TURNS: Final = _count("uncaged_turns_total", "Turns that were closed.", *_HERE, "outcome")
TURN_SECONDS: Final = Instrument(
    "uncaged_turn_seconds", "histogram", "How long turns took.", _HERE, _SECONDS
)
FIRST_WORD: Final = Instrument(
    "uncaged_first_word_seconds",
    "histogram",
    "From the begin of a turn to the first word of its answer, where words are shown as they come.",
    _HERE,
    _SECONDS,
)
REQUESTS: Final = _count("uncaged_requests_total", "Requests to models.", *_HERE, "model")
PROMPT: Final = _count("uncaged_prompt_tokens_total", "Tokens of prompts.", *_HERE, "model")
COMPLETION: Final = _count("uncaged_completion_tokens_total", "Tokens of answers.", *_HERE, "model")
CACHED: Final = _count(
    "uncaged_cached_tokens_total",
    "Tokens of prompts that came from the provider's cache.",
    *_HERE,
    "model",
)
COST: Final = _count(
    "uncaged_cost_total", "What requests cost, by UNCAGED_LLM_PRICES.", *_HERE, "model"
)
CALLS: Final = _count(
    "uncaged_tool_calls_total", "Calls of tools that were done or failed.", *_HERE, "outcome"
)
FAULTS: Final = _count("uncaged_tool_faults_total", "Tools that were paged in.", *_HERE)
EVICTED_TOOLS: Final = _count(
    "uncaged_evicted_tools_total", "Tools that left a history with its messages.", *_HERE
)
EVICTED_MESSAGES: Final = _count(
    "uncaged_evicted_messages_total", "Messages that left a history.", *_HERE
)
RESIDENT: Final = _gauge(
    "uncaged_resident_tools", "Tools in the last request of the last turn.", *_HERE
)
RESIDENT_TOKENS: Final = _gauge(
    "uncaged_resident_tokens",
    "About how many tokens of the last request were tools that had been paged in.",
    *_HERE,
)
WINDOW: Final = _gauge(
    "uncaged_window_tokens", "Tokens of the last request of the last turn.", *_HERE
)
STORE_SECONDS: Final = Instrument(
    "uncaged_store_seconds",
    "histogram",
    "How long the store took for a verb.",
    ("verb",),
    _STORE_SECONDS,
)
STORE_FAILURES: Final = _count(
    "uncaged_store_failures_total", "Verbs that the store did not answer.", "verb"
)
TRACES_LOST: Final = _count(
    "uncaged_traces_dropped_total", "Turns whose trace was not sent, by why.", "outcome"
)
QUEUE_SESSIONS: Final = _gauge(
    "uncaged_queue_sessions", "Sessions in the queue that no worker has yet, up to 1000.", "lane"
)
QUEUE_EVENTS: Final = _gauge("uncaged_queue_events", "About how many events a queue of SQS holds.")
QUEUE_AGE: Final = _gauge(
    "uncaged_queue_age_seconds", "Age of the oldest event that no worker has yet.", "lane"
)
DEAD_LETTERS: Final = _gauge(
    "uncaged_dead_letters", "Events that were given up and wait for somebody, up to 1000."
)
BUDGET_SPENT: Final = _gauge(
    "uncaged_budget_spent_tokens", "Tokens of this period, as they count for the budget."
)
BUDGET_LIMIT: Final = _gauge(
    "uncaged_budget_limit_tokens", "Tokens that a period may have; 0 is no limit."
)
SANDBOX_CHILDREN: Final = _gauge("uncaged_sandbox_children", "Child processes of the sandbox.")
SANDBOX_BUSY: Final = _gauge("uncaged_sandbox_busy", "Those of them that run something.")
SANDBOX_WAITING: Final = _gauge("uncaged_sandbox_waiting", "Calls that wait for one of them.")
WATCHERS: Final = _gauge("uncaged_watchers", "Pages and clients over HTTP that look on at a turn.")

ALL: Final = tuple(value for value in globals().values() if isinstance(value, Instrument))
"""Every metric, in the order in which they are shown."""
