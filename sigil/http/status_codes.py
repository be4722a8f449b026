"""Failures over HTTP: one table between our errors and status codes, read in both directions."""

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
    _Row(Refused, "ECOOLDOWN", 429),
    _Row(Refused, "ERATE", 429),
    _Row(Refused, "EDEGRADED", 503),
    _Row(Refused, "", 403),
    _Row(Halt, "", 429),
    _Row(BackendError, "", 503),
)
"""An empty code stands for every other code of its class. A guest chooses its own codes, so they
never move a `ToolError`.
"""


def status_of(problem: SigilError) -> int:
    """The status that a failure travels under; 500 for one that is none of the named kinds."""
    rows = (
        row for row in _TABLE if isinstance(problem, row.kind) and row.code in ("", problem.code)
    )
    return next((row.status for row in rows), BUG)


def codes_of(status: int) -> tuple[str, ...]:
    """The codes that travel under a status and under no other."""
    return tuple(row.code for row in _TABLE if row.status == status and row.code)


def error_of(status: int, fields: Mapping[str, str]) -> SigilError:
    """The failure that travelled under `status` with `fields` of `SigilError.as_dict`; a status of
    no row is a `BackendError`.
    """
    code = fields.get("code", "")
    rows = [row for row in _TABLE if row.status == status]
    exact = (
        [row for row in rows if row.code == code] or [row for row in rows if not row.code] or rows
    )
    return _made(exact[0].kind if exact else BackendError, code or "EUNAVAILABLE", fields)


def _made(kind: type[SigilError], code: str, fields: Mapping[str, str]) -> SigilError:
    message = fields.get("message", "")
    problem = Conflict(message) if kind is Conflict else kind(code, message)
    problem.source, problem.suggestion = fields.get("source", ""), fields.get("suggestion", "")
    return problem
