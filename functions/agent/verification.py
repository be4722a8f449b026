"""Whether an answer may stand: one that rests on a failure is verified, once a turn, and what that
changed is measured. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

from functions.agent.model.base import ModelReply
from functions.agent.questions import asks_about_failure
from functions.agent.safety.codes import CODES
from functions.agent.session.document import Turn
from functions.agent.toolset import is_capability
from sigil.protocol import Json, capability_of


def wanted(turn: Turn, reply: ModelReply) -> bool:
    """Whether the reply claims to be an answer though the turn's last call failed, and nothing was
    verified yet.
    """
    if reply.finish == "error" or reply.calls or not reply.text:
        return False
    rows = [row for row in turn.trace if row["kind"] in ("call", "verify")]
    if not rows or not rows[-1].get("fingerprint") or any(row["kind"] == "verify" for row in rows):
        return False
    last = rows[-1]
    return not asks_about_failure(reply.text, (_name(last), str(last["name"]), str(last["error"])))


def failure_line(turn: Turn) -> str:
    """What a person is told of a failure that a verification left as it was: the tool, and what its
    code means. Empty without one.

    Nothing of what the tool said stands in it, for that could be anybody's words.
    """
    if outcome(turn) != "unchanged":
        return ""
    last = [row for row in turn.trace if row["kind"] == "call"][-1]
    code = CODES.get(str(last["error"]), CODES["EGUEST"])
    return f"(`{_name(last)}` failed: {code.meaning}.)"


def _name(row: Mapping[str, Json]) -> str:
    """What people call the tool of a call."""
    tool = str(row["name"])
    return (capability_of(tool) if is_capability(tool) else None) or tool


def outcome(turn: Turn) -> str:
    """What became of the failure since it was verified: `mended`, `changed` (something else failed)
    or `unchanged`; empty without one.
    """
    kinds = [row["kind"] for row in turn.trace]
    if "verify" not in kinds:
        return ""
    asked = kinds.index("verify")
    before, after = (
        [row for row in rows if row["kind"] == "call"]
        for rows in (turn.trace[:asked], turn.trace[asked:])
    )
    if not after:
        return "unchanged"
    if not after[-1].get("fingerprint"):
        return "mended"
    return "unchanged" if _failure(after[-1]) == _failure(before[-1]) else "changed"


def _failure(row: object) -> object:
    assert isinstance(row, dict)
    return row.get("fingerprint"), row.get("error")
