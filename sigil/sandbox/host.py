"""Answers a guest's requests inside the runner: clock, random and log when granted, a clear refusal for everything else."""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import Callable
from typing import Any

from sigil.errors import one_line
from sigil.sandbox.frames import LOG_CHARACTERS, LOG_LINES, Run

_RANDOM_BYTES = 65_536
_OWNED = {"http.fetch": "http", "kv.get": "kv", "kv.put": "kv", "kv.list": "kv", "kv.delete": "kv", "call": "call"}
"""Operations that an owner grants, and the permission that each one needs."""


class Denied(Exception):
    """The operation failed in a way that the guest may catch."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message


class Host:
    """The host of one run. `lines`: what it logged, at most 100 clean lines."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.lines: list[str] = []

    def __call__(self, request: bytes) -> bytes | None:
        """The answer to `{"op", "arg"}`: `{"ok"}` or `{"error": {"code", "message"}}`; None when it is no request."""
        parsed = _parse(request)
        if parsed is None:
            return None
        try:
            return _encode({"ok": self._answer(*parsed)})
        except Denied as denied:
            return _encode({"error": {"code": denied.code, "message": denied.message}})

    def _answer(self, operation: str, argument: Any) -> Any:
        own = _OWN.get(operation)
        if own is not None:
            if operation not in self._run.grants:
                raise Denied("EPERM", f"{operation} is not granted: declare permissions.{operation}")
            return own(self, argument)
        permission = _OWNED.get(operation)
        if permission is None:
            raise Denied("EINVAL", f"no such operation: {one_line(operation, 40)}")
        if permission in self._run.pending:
            raise Denied("EPERM", f"{operation} waits for an owner's grant")
        raise Denied("EPERM", f"{operation} is not granted: declare permissions.{permission} and let an owner grant it")

    def _clock(self, _argument: Any) -> float:
        return time.time() * 1000

    def _random(self, argument: Any) -> str:
        count = argument.get("n") if isinstance(argument, dict) else None
        if type(count) is not int or not 1 <= count <= _RANDOM_BYTES:
            raise Denied("EINVAL", f"random takes n, a whole number from 1 to {_RANDOM_BYTES}")
        return base64.b64encode(os.urandom(count)).decode("ascii")

    def _log(self, argument: Any) -> None:
        text = argument.get("text") if isinstance(argument, dict) else None
        if not isinstance(text, str):
            raise Denied("EINVAL", "log takes text, a string")
        if len(self.lines) < LOG_LINES:
            level = argument.get("level")
            mark = f"{level}: " if level in ("debug", "warn", "error") else ""
            self.lines.append(one_line(mark + text[: LOG_CHARACTERS * 2], LOG_CHARACTERS))


_OWN: dict[str, Callable[[Host, Any], Any]] = {"clock": Host._clock, "random": Host._random, "log": Host._log}


def _parse(request: bytes) -> tuple[str, Any] | None:
    try:
        value = json.loads(request.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not isinstance(value.get("op"), str) or not value.keys() <= {"op", "arg"}:
        return None
    return value["op"], value.get("arg")


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _encode(answer: dict[str, Any]) -> bytes:
    return json.dumps(answer, allow_nan=False, separators=(",", ":")).encode("ascii")
