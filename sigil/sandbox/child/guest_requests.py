"""Answers a guest's requests inside the runner or passes them on to the server, as far as they are
granted, and refuses the rest.
"""

from __future__ import annotations

import os
import time
from binascii import b2a_base64

from sigil.sandbox.protocol import (
    ASK_LIMIT,
    ASKS,
    LOG_CHARACTERS,
    LOG_LINES,
    OPERATIONS,
    RunOrder,
    service_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Ask = Callable[[str, bytes], bytes]
    """Asks the server: operation and argument as JSON → the answer as the guest reads it."""

_ANSWERED_HERE = ("clock", "random", "log")
_RANDOM_BYTES = 65_536


class Denied(Exception):
    """The operation failed in a way that the guest may catch."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message


class GuestRequests:
    """The requests of one run. `lines`: the log lines so far, at most 100 clean ones."""

    def __init__(self, run: RunOrder, ask: Ask) -> None:
        self._run = run
        self._ask = ask
        self._asks = 0
        self.lines: list[str] = []

    def __call__(self, request: bytes) -> bytes | None:
        """Return the answer to `{"op", "arg"}`: `{"ok"}` or `{"error": {"code", "message"}}`; None
        when it is no request.
        """
        import json

        try:
            value = json.loads(request.decode("utf-8"), parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            return None
        if not isinstance(value, dict) or not value.keys() <= {"op", "arg"}:
            return None
        operation = value.get("op")
        argument = value.get("arg")
        if not isinstance(operation, str):
            return None
        try:
            return self._answer(operation, argument)
        except Denied as denied:
            return _encode({"error": {"code": denied.code, "message": denied.message}})

    def _answer(self, operation: str, argument: object) -> bytes:
        """Answer one operation that is granted; the server answers what is not answered here."""
        if operation not in _ANSWERED_HERE and operation not in OPERATIONS:
            from sigil.errors import one_line

            raise Denied("EINVAL", f"no such operation: {one_line(operation, 40)}")
        permission = service_of(operation)
        if permission not in self._run.grants:
            raise Denied(
                "EPERM",
                f"{operation} is not declared: add permissions.{permission} to the manifest",
            )
        fields = argument if isinstance(argument, dict) else {}
        if operation == "clock":
            return _encode({"ok": time.time() * 1000})
        if operation == "random":
            count = fields.get("n")
            if type(count) is not int or not 1 <= count <= _RANDOM_BYTES:
                raise Denied("EINVAL", f"random takes n, a whole number from 1 to {_RANDOM_BYTES}")
            return _encode({"ok": b2a_base64(os.urandom(count), newline=False).decode("ascii")})
        if operation == "log":
            text = fields.get("text")
            if not isinstance(text, str):
                raise Denied("EINVAL", "log takes text, a string")
            if len(self.lines) < LOG_LINES:
                from sigil.errors import one_line

                level = fields.get("level")
                mark = f"{level}: " if level in ("debug", "warn", "error") else ""
                self.lines.append(one_line(mark + text[: LOG_CHARACTERS * 2], LOG_CHARACTERS))
            return _encode({"ok": None})
        import json

        try:
            text = json.dumps(argument, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
            encoded = text.encode("utf-8")
        except (ValueError, RecursionError):
            raise Denied("EINVAL", f"the argument of {operation} is not JSON") from None
        if len(encoded) > ASK_LIMIT:
            raise Denied("ELIMIT", f"a request has at most {ASK_LIMIT} bytes")
        if self._asks == ASKS:
            raise Denied("ELIMIT", f"a run makes at most {ASKS} requests")
        self._asks += 1
        return self._ask(operation, encoded)


def _refuse_constant(constant: str) -> None:
    """Refuse `NaN` and the infinities, which are not JSON."""
    raise ValueError(constant)


def _encode(answer: dict[str, object]) -> bytes:
    import json

    return json.dumps(answer, allow_nan=False, separators=(",", ":")).encode("ascii")
