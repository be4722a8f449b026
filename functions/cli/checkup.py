"""`uncaged doctor`: every setting, and whether what the agent needs answers."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import orjson

from functions.agent.model import Request
from functions.cli.inbox import Counts
from functions.settings import Settings
from functions.wiring import open_channels, open_inlet, open_model
from sigil.errors import BackendError, SigilError
from sigil.kv import keys
from sigil.secrets import reveal
from sigil.settings import described, without_userinfo
from sigil.wiring import admin_token, library_folder, open_sandbox, open_stores

MODEL_SECONDS = 20.0


@runtime_checkable
class Known(Protocol):
    """A platform that can say who we are there."""

    def known(self) -> str:
        """Our name there; `BackendError` when the platform does not answer or does not know us."""


@runtime_checkable
class Warns(Protocol):
    """A store whose server can be set up in a way that loses data."""

    def warnings(self) -> list[str]:
        """What is unwise about it, a line each."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: `problem` is empty when all is well."""

    name: str
    state: str
    problem: str = ""
    help: str = ""


def run(*, as_json: bool) -> int:
    """Print settings and findings; the exit code is 1 when something is wrong."""
    settings = Settings.read()
    findings = [_check(name, check) for name, check in _checks(settings).items()]
    rows = described(settings)
    if as_json:
        report = {"settings": {name: value for name, value, _ in rows}, "checks": findings}
        sys.stdout.write(orjson.dumps(report).decode() + "\n")
    else:
        width = max(len(name) for name, _, _ in rows)
        for name, value, meaning in rows:
            sys.stdout.write(f"{name:<{width}}  {value or '-':<24}  {meaning}\n")
        sys.stdout.write("\n")
        for finding in findings:
            sys.stdout.write(f"{'✗' if finding.problem else '✓'} {finding.name}: {finding.problem or finding.state}\n")
            if finding.help:
                sys.stdout.write(f"  help: {finding.help}\n")
    return 1 if any(finding.problem for finding in findings) else 0


def _checks(settings: Settings) -> dict[str, Callable[[], str]]:
    return {
        "store": lambda: _store(settings),
        "artifacts": lambda: _artifacts(settings),
        "queue": lambda: _queue(settings),
        "registry": lambda: _registry(settings),
        "engine": lambda: _engine(settings),
        "model": lambda: _model(settings),
        "platforms": lambda: _platforms(settings),
        "owners": lambda: ", ".join(settings.owners) or "nobody but this machine's own user",
    }


def _check(name: str, check: Callable[[], str]) -> Finding:
    try:
        return Finding(name, check())
    except SigilError as problem:
        return Finding(name, "", problem.message, problem.suggestion)


def _model(settings: Settings) -> str:
    """The model's name, once it has answered."""
    model = open_model(settings)
    reply = model.chat(Request([{"role": "user", "content": "[doctor]\nSay ok."}], deadline=time.monotonic() + MODEL_SECONDS))
    if reply.finish == "error":
        raise BackendError("EUNAVAILABLE", reply.text, suggestion="check UNCAGED_LLM_URL, UNCAGED_LLM_KEY and UNCAGED_LLM_MODEL")
    return f"{model.name} answers"


def _platforms(settings: Settings) -> str:
    """The platforms that are set, once each knows its bot."""
    channels = open_channels(settings)
    for channel in channels.values():
        if isinstance(channel, Known):
            channel.known()
    return ", ".join(f"{name} knows its bot" for name in channels) or "none set"


def _store(settings: Settings) -> str:
    kv = open_stores(settings).kv
    kv.put(keys.probe(), b"", ttl=1.0)
    unwise = kv.warnings() if isinstance(kv, Warns) else []
    if unwise:
        raise BackendError("EUNWISE", f"it answers, but {'; '.join(unwise)}", suggestion="docs/deploy.md tells the settings that matter")
    return without_userinfo(settings.store) or f"sqlite in {settings.data_folder}"


def _artifacts(settings: Settings) -> str:
    artifacts = open_stores(settings).artifacts
    artifacts.get(artifacts.put(b"doctor"))
    return f"{settings.artifacts or 'beside or in the store'}: writes and reads"


def _queue(settings: Settings) -> str:
    queue = open_inlet(settings)
    return f"{queue.waiting()} events in SQS" if isinstance(queue, Counts) else "in the store itself"


def _registry(settings: Settings) -> str:
    """The library and the admin token of the registry in this process, or that another answers."""
    if settings.registry_url:
        from sigil.client import RemoteRegistry

        with closing(RemoteRegistry(settings.registry_url, reveal(settings.registry_token))) as registry:
            registry.health()
        return f"{settings.registry_url} answers"
    admin_token(settings)
    folder = library_folder(settings)
    return f"in this process, its library {folder}" if folder else "in this process, without a library"


def _engine(settings: Settings) -> str:
    from sigil.compile.javascript import plugin
    from sigil.sandbox.program import Program

    sandbox = open_sandbox(settings)
    try:
        wasm = plugin("return 1 + 1")
        outcome = sandbox.run(Program("doctor", "js", lambda: wasm), b"{}")
        return f"answers in {outcome.duration_ms:.1f} ms"
    finally:
        sandbox.close()
