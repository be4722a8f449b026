"""Translate between our errors and HTTP's status codes, by one table in both directions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sigil.errors import BackendError, Conflict, Halt, Refused, SigilError, ToolError, UsageError

BUG = 500


@dataclass(frozen=True, slots=True)
class _Row:
    kind: type[SigilError]
    code: str
    status: int


_TABLE = (
    _Row(Conflict, "ECONFLICT", 409),
    _Row(ToolError, "", 424),
    _Row(UsageError, "ENOENT", 404),
    _Row(UsageError, "EROUTE", 404),
    _Row(UsageError, "EMETHOD", 405),
    _Row(UsageError, "ESLOW", 408),
    _Row(UsageError, "EGONE", 410),
    _Row(UsageError, "EPRECONDITION", 412),
    _Row(UsageError, "ETOOBIG", 413),
    _Row(UsageError, "EMEDIA", 415),
    _Row(UsageError, "", 400),
    _Row(Refused, "EAUTH", 401),
    _Row(Refused, "EEXIST", 409),
    _Row(Refused, "EMODULE", 422),
    _Row(Refused, "ETESTS", 422),
    _Row(Refused, "EREQUIRES", 422),
    _Row(Refused, "ECYCLE", 422),
    _Row(Refused, "ERATE", 429),
    _Row(Refused, "EDEGRADED", 503),
    _Row(Refused, "", 403),
    _Row(Halt, "", 429),
    _Row(BackendError, "", 503),
)
"""An empty code is every other code of its class. A capability chooses its own codes, so they never
change the status of a `ToolError`.
"""


def status_of(problem: SigilError) -> int:
    """Return the status of a failure; 500 for one that is none of the named kinds."""
    for row in _TABLE:
        if isinstance(problem, row.kind) and row.code in ("", problem.code):
            return row.status
    return BUG


def codes_of(status: int) -> tuple[str, ...]:
    """Return the codes that have this status and no other."""
    return tuple(row.code for row in _TABLE if row.status == status and row.code)


def error_of(status: int, fields: Mapping[str, str]) -> SigilError:
    """Return the failure that was sent with `status` and `fields` of `SigilError.as_dict`.

    A status of no row is a `BackendError`.
    """
    code = fields.get("code", "")
    message = fields.get("message", "")
    rows = [row for row in _TABLE if row.status == status]
    same_code = [row for row in rows if row.code == code]
    any_code = [row for row in rows if not row.code]
    candidates = same_code or any_code or rows
    kind = candidates[0].kind if candidates else BackendError
    problem = Conflict(message) if kind is Conflict else kind(code or "EUNAVAILABLE", message)
    problem.source = fields.get("source", "")
    problem.suggestion = fields.get("suggestion", "")
    return problem
