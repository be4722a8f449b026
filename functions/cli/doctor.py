"""`uncaged doctor`: the checks of `sigil doctor`, and those of the agent's queue, model, platforms
and owners.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial
from typing import Protocol, runtime_checkable

from functions.agent.compaction import load_strategy
from functions.agent.model.base import ModelRequest
from functions.agent.safety.guides import load_guide
from functions.channels.webhooks import HasWebhook
from functions.cli.inbox import Counts
from functions.cli.open_agent import open_agent
from functions.settings import Settings
from functions.wiring import Closable, open_channels, open_ingress_queue, open_model
from sigil.cli.doctor import Check, DoctorWarning, local_registry, machine, remote_registry
from sigil.cli.doctor.report import run_doctor
from sigil.cli.printing import Printer
from sigil.errors import BackendError
from sigil.storage.setting_secrets import reveal

MODEL_SECONDS = 20.0


@runtime_checkable
class Known(Protocol):
    """A platform that can tell the bot's name."""

    def fetch_bot_name(self) -> str:
        """Return the bot's name there; `BackendError` when the platform does not answer or does not
        know it.
        """


def run(printer: Printer) -> int:
    """Print settings and findings; the exit code is 1 when something is wrong."""
    settings = Settings.read()
    return run_doctor(printer, {**_registry(settings), **_agent(settings)}, settings)


def _registry(settings: Settings) -> Mapping[str, Check]:
    """Return the checks of the agent's registry, and of its store, which is the agent's own too."""
    if not settings.registry_url:
        return {**machine.machine_checks(settings), **local_registry.registry_checks(settings)}
    elsewhere = replace(settings, registry_token=reveal(settings.registry_token))
    return {
        "disk": partial(local_registry.check_disk, settings),
        "store": partial(local_registry.check_store, settings),
        **remote_registry.registry_checks(elsewhere),
    }


def _agent(settings: Settings) -> Mapping[str, Check]:
    checks = {
        "queue": _queue,
        "model": _model,
        "guide": _guide,
        "platforms": _platforms,
        "owners": _owners,
    }
    second = {"second model": partial(_model, settings.fallback)} if settings.has_fallback else {}
    return {**{name: partial(check, settings) for name, check in checks.items()}, **second}


def _queue(settings: Settings) -> str:
    queue = open_ingress_queue(settings)
    return (
        f"{queue.count_waiting()} events in SQS"
        if isinstance(queue, Counts)
        else "in the store itself"
    )


def _model(settings: Settings) -> str:
    """Check that the model answers."""
    model = open_model(settings)
    try:
        request = ModelRequest(
            [{"role": "user", "content": "[doctor]\nSay ok."}],
            deadline=time.monotonic() + MODEL_SECONDS,
        )
        began = time.monotonic()
        reply = model.chat(request)
    finally:
        if isinstance(model, Closable):
            model.close()
    if reply.finish == "error":
        detail = reply.failure.detail if reply.failure else reply.text
        raise BackendError(
            "EUNAVAILABLE",
            detail,
            suggestion="check UNCAGED_LLM_URL, UNCAGED_LLM_KEY and UNCAGED_LLM_MODEL",
        )
    if not settings.endpoint:
        raise DoctorWarning(
            "the offline model answers: it knows a few phrases",
            suggestion="set UNCAGED_LLM_KEY, or UNCAGED_LLM_URL",
        )
    return f"{model.name} answers in {time.monotonic() - began:.1f} s"


def _guide(settings: Settings) -> str:
    """Check that the guide and the context strategy can be loaded."""
    load_guide(settings.guide)
    load_strategy(settings.context)
    return f"{settings.guide}, with the context strategy {settings.context}"


def _platforms(settings: Settings) -> str:
    """Check that each platform knows its bot, and delivers to its webhook if it has one."""
    said: list[str] = []
    for name, channel in open_channels(settings).items():
        with closing(channel) if isinstance(channel, Closable) else nullcontext():
            bot = channel.fetch_bot_name() if isinstance(channel, Known) else ""
            said.append(f"{name} knows its bot{f' @{bot}' if bot else ''}{_hook(name, channel)}")
    return ", ".join(said) or "none set"


def _hook(platform: str, channel: object) -> str:
    if not isinstance(channel, HasWebhook):
        return ""
    hook = channel.webhook.read_state()
    if not hook.url:
        mend = f"uncaged channel set {platform} --url https://bot.example.com"
        raise DoctorWarning(f"{platform} knows its bot, and has no webhook", suggestion=mend)
    if not hook.works:
        raise BackendError(
            "EUNAVAILABLE",
            f"{platform} does not reach the webhook: {hook.error}",
            suggestion=hook.advice or "look at its log",
        )
    return ", its webhook works"


def _owners(settings: Settings) -> str:
    with open_agent() as (app, _):
        paired = [person.id for person in app.people.list_members() if person.role == "owner"]
    return ", ".join([*settings.owners, *paired]) or "nobody but this machine's own user"
