"""Where a guest's requests are answered on the server's side: bytes of the runner's in, bytes for
the guest out.
"""

from __future__ import annotations

from sigil import strict_json
from sigil.errors import SigilError, ToolError, one_line
from sigil.protocol import Json
from sigil.sandbox.program import Services
from sigil.sandbox.protocol import ASK_LIMIT


class Closed:
    """The services of a run that has none, whatever its grants say."""

    def answer(self, operation: str, argument: Json, seconds: float) -> Json:
        raise ToolError("EPERM", f"{operation} is not served here")


def answered(services: Services, operation: str, argument: bytes, seconds: float) -> bytes:
    """What the guest reads: `{"ok": value}` or `{"error": {"code", "message"}}`."""
    try:
        return _told(services, operation, argument, seconds)
    except SigilError as problem:
        return strict_json.dumps(
            {"error": {"code": problem.code, "message": one_line(problem.message)}}
        )


def _told(services: Services, operation: str, argument: bytes, seconds: float) -> bytes:
    if seconds <= 0:
        raise ToolError("ETIMEDOUT", f"no time is left for {operation}")
    answer = strict_json.dumps(
        {"ok": services.answer(operation, strict_json.loads(argument), seconds)}
    )
    if len(answer) > ASK_LIMIT + len(b'{"ok":}'):
        raise ToolError("ELIMIT", f"the answer of {operation} is larger than {ASK_LIMIT} bytes")
    return answer
