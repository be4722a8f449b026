"""Coroutines that a test runs to their end."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


def run_apart(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Return what a coroutine returns, which runs in a loop of its own.

    `asyncio.run` leaves the thread without a loop, and Mangum takes the thread's.
    """
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(coroutine)
    finally:
        loop.close()
