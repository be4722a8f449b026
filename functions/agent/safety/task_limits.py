"""The limits of one task of an agent over all of its turns: requests to the model, tokens, time."""

from __future__ import annotations

from typing import Final

from functions.agent.agents.record import TaskLimits
from functions.agent.safety.status import SafetyStatus

STEPS, TOKENS, WALLTIME = "max_steps", "max_tokens", "max_walltime"
"""The names of the limits, as a subagent is made with them."""
TICKS, LEGS, SECONDS, WORKERS = "steps", "legs", "seconds", "workers"
"""The limits of a piece of work, of its legs, of a turn's time, and of the workers that take it on.
"""
SLACK_SECONDS: Final = 1.0
"""Two clocks that measure the same time may differ by so much."""


def find_reached(limits: TaskLimits | None, status: SafetyStatus, now: float) -> str:
    """Return the limit that lets a task send no other request, empty where none does."""
    if limits is None:
        return ""
    if 0 < limits.steps <= status.ticks:
        return STEPS
    if 0 < limits.tokens <= status.task_tokens:
        return TOKENS
    if limits.seconds and status.task_since and now - status.task_since >= limits.seconds:
        return WALLTIME
    return ""


def is_last_step(limits: TaskLimits | None, status: SafetyStatus) -> bool:
    """Return whether a task has one request left, which may only ask for its report."""
    return limits is not None and limits.steps > 0 and status.ticks == limits.steps - 1


def find_limit(limits: TaskLimits, name: str) -> float:
    """Return how much of something a task may use at most."""
    return {STEPS: limits.steps, TOKENS: limits.tokens, WALLTIME: limits.seconds}[name]
