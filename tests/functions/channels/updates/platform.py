"""A platform as its people use it: how its updates are sent, and what people read there."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any, Protocol, cast

from functions.channels.base import PlatformRequest
from functions.wiring import AgentRuntime
from tests.functions.channels.contract import Door

ANSWER = "an answer"
"""What the model says to everything."""


class Platform(Protocol):
    """A platform, while its fake is open. `settings` are those of an agent there."""

    settings: dict[str, Any]

    def deliver(self, sample: Any, door: Door, runtime: AgentRuntime) -> None:
        """Send an update, signed as the platform signs it, to the webhook or by its socket."""

    def list_said(self) -> list[str]:
        """Return what people read of us until now, in order."""


class WebhookPlatform:
    """A platform that sends every update to a webhook."""

    settings: dict[str, Any]

    def sign(self, sample: Any) -> PlatformRequest:
        """Return the request by which the platform sends an update."""
        raise NotImplementedError

    def deliver(self, sample: Any, door: Door, runtime: AgentRuntime) -> None:
        answer = door.send(self.sign(sample))
        assert answer.status < 300, answer


def open_platform(name: str) -> AbstractContextManager[Platform]:
    """Open the fake of a platform: its module here has `open_platform`, as this one."""
    module = import_module(f"tests.functions.channels.updates.{name}")
    opened = cast("Callable[[], AbstractContextManager[Platform]]", module.open_platform)
    return opened()
