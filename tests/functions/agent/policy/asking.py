"""What several tests of approvals share: a guest asks for a call that waits for an owner."""

from __future__ import annotations

from functions.agent.policy.proposals import Proposal
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.chats import Chats

SPEC = {
    "name": "double",
    "description": "double a number",
    "schema": {"type": "object", "properties": {"n": {"type": "integer"}}},
    "permissions": {"kv": True},
    "execute": """
        const runs = Number(await env.KV.get("runs") ?? 0) + 1;
        await env.KV.put("runs", String(runs));
        return [input.n * 2, runs];
    """,
}
GUEST = 66
QUERY = ("sigil_query", {"query": "double a number"})
DOUBLE = ("cap_double", {"n": 2})


def ask(chats: Chats, model: ScriptedModel, number: int = 1, sender: int = GUEST) -> str:
    """Let a guest ask for a call that waits, and return the id of its proposal."""
    model.then(call(QUERY), call(DOUBLE), say("it waits"))
    chats.write(number, "double 2", sender)
    chats.work_off()
    (proposal,) = chats.runtime.app.proposals.list_open()
    return proposal.id


def count_runs(chats: Chats) -> int:
    """Return how often the capability has run."""
    store = chats.runtime.stores.kv
    item = store.get(keys.stored_value("main", "main", "double", "runs"))
    return int(item.value.strip(b'"')) if item else 0


def make_wanted(number: int = 0) -> Proposal:
    """Return a proposal that has no id yet, for one of two people."""
    return Proposal(
        id="",
        digest=f"{number:064x}"[::-1],
        agent="main",
        session="telegram:1",
        by=f"telegram:{number % 2}",
        acts=("call x",),
        tool="cap_x",
        arguments=f"{number}",
    )
