"""Whether an answer may stand: one that rests on a failure is verified, once a turn, and what that changed is measured. Pure."""

from __future__ import annotations

from functions.agent.model import Reply
from functions.agent.record import Turn

QUESTION = ("?", "？", "؟")
"""How a text ends that asks its reader: in Latin script, Chinese and Arabic."""
_AFTER = "*_`~\"'”’」』)） \n"


def wanted(turn: Turn, reply: Reply) -> bool:
    """Whether the reply claims to be an answer though the turn's last call failed, and nothing was verified yet."""
    if reply.finish == "error" or reply.calls or not reply.text or reply.text.rstrip(_AFTER).endswith(QUESTION):
        return False
    rows = [row for row in turn.trace if row["kind"] in ("call", "verify")]
    return bool(rows) and bool(rows[-1].get("fingerprint")) and all(row["kind"] == "call" for row in rows)


def outcome(turn: Turn) -> str:
    """What became of the failure since it was verified: `mended`, `changed` (something else failed) or `unchanged`; empty without one."""
    kinds = [row["kind"] for row in turn.trace]
    if "verify" not in kinds:
        return ""
    asked = kinds.index("verify")
    before, after = ([row for row in rows if row["kind"] == "call"] for rows in (turn.trace[:asked], turn.trace[asked:]))
    if not after:
        return "unchanged"
    if not after[-1].get("fingerprint"):
        return "mended"
    return "unchanged" if _failure(after[-1]) == _failure(before[-1]) else "changed"


def _failure(row: object) -> object:
    assert isinstance(row, dict)
    return row.get("fingerprint"), row.get("error")
