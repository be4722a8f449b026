"""Spawning a teammate writes its record and what changes of it, and sets it to work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from functions.agent.agents.bundle import resolve_bundle
from functions.agent.agents.lifecycle import reserve_seat
from functions.agent.agents.record import (
    BUNDLE_MOST,
    PROMPT_CHARACTERS,
    RECORD,
    AgentRecord,
    being_purged,
    join_name,
    make_record,
    require_new_name,
)
from functions.agent.app import App
from functions.agent.posts import Post
from functions.agent.team.leg import GENERATION, LEG, OWN_MAIN
from functions.agent.team.member import Member, Members
from functions.agent.team.waking import require_workable
from functions.agent.workspace.edits import note_team
from functions.events import ID_CHARACTERS
from sigil.errors import ToolError, UsageError, one_line
from sigil.protocol import Json, is_full_name
from sigil.protocol import is_name as is_capability
from sigil.storage.kv import keys
from sigil.storage.kv.update import update
from sigil.storage.stored import dumps

if TYPE_CHECKING:
    from functions.agent.shares import Holder


@dataclass(frozen=True, slots=True)
class Order:
    """A teammate that somebody wants: its name, role and prompt, the gist of the chat, and the
    capabilities that it reaches beside the services of a team, all where there are none.

    `model` is another one of the same endpoint, empty for that of the settings. `home` is the chat
    that hears of its work, `by` the person on whose behalf it works, and `call` what spawns it, the
    same when it is done again. For `stay` and `recall` see `Member`. `by_person` says that a
    person wants it now, which no work of an agent's own does.
    """

    name: str
    role: str
    prompt: str
    gist: str = ""
    bundle: tuple[str, ...] = ()
    model: str = ""
    home: str = ""
    by: str = ""
    call: str = ""
    stay: bool = False
    recall: bool = False
    by_person: bool = True


def spawn(
    app: App,
    order: Order,
    require: Callable[[str, str], None] | None = None,
    holder: Holder | None = None,
) -> Post:
    """Start a teammate of the app's root, and return the post that sets it to work. The `holder`
    wants it, without one an owner on the machine.

    `require` raises for an act (its kind and target) that whoever orders it may not do.
    `ToolError` EEXIST for one that is at work, `UsageError` EBUSY for one that would begin nothing,
    and others for a name that none can have or that
    belongs to another kind of agent. The same call again finds what it has written.
    """
    root = app.root
    name = order.name
    _require_order(root, order)
    now = app.clock.now()
    bundle = resolve_bundle(app.registry, join_name(root, name), order.bundle, require)
    order = replace(order, bundle=bundle)

    def take(member: Member | None) -> tuple[Member | None, Member]:
        if member and member.call == order.call:
            return None, member
        require_workable(app, name, member, by_person=order.by_person)
        if member and member.find_status(now, app.team_idle) == "working":
            raise ToolError(
                "EEXIST",
                f"Error: '{name}' is currently working",
                suggestion="wait until it is idle, or end its work with shutdown-request",
                reason="at-work",
            )
        made = Member(
            "working",
            now,
            (member.generation if member else 0) + 1,
            stay=order.stay,
            recall=order.recall,
            call=order.call,
            role=order.role,
        )
        return made, made

    _require_free(app, name)
    reserve_seat(app.kv, root, name, app.agents_most, now, holder=holder)
    member = Members(app.kv, app.root).change(name, take)
    try:
        _write_record(app, order, member, now)
    except UsageError:
        Members(app.kv, root).remove(name)  # somebody else has taken the name meanwhile
        raise
    note_team(app.kv, root, now)
    data: dict[str, Json] = {
        LEG: 1,
        GENERATION: member.generation,
        "home": order.home,
        "from": name,
    }
    task = f"spawn:{name}:{member.generation}"
    return Post("task", join_name(root, name), OWN_MAIN, order.prompt, task, data)


def _require_order(root: str, order: Order) -> None:
    require_new_name(root, order.name)
    if not order.prompt:
        raise UsageError("EINVAL", "prompt: say what the teammate is to do")
    if len(order.prompt) > PROMPT_CHARACTERS:
        raise ToolError("ETOOBIG", f"a prompt has at most {PROMPT_CHARACTERS:,} characters")
    if len(order.bundle) > BUNDLE_MOST:
        raise UsageError("EINVAL", f"bundle: at most {BUNDLE_MOST} capabilities")
    for each in order.bundle:
        if not (is_capability(each) or is_full_name(each)):
            raise UsageError("EINVAL", f"bundle: {each!r} is no name of a capability")


def _require_free(app: App, name: str) -> None:
    """Raise `UsageError` when the name is that of an agent that nobody may spawn."""
    item = app.kv.get(keys.agent_record(app.root, name))
    if item is not None:
        _require_spawnable(RECORD.read(item.value), name)


def _require_spawnable(known: AgentRecord, name: str) -> None:
    """Raise `UsageError` EEXIST for an agent that is no teammate, and EBUSY for a teammate that is
    being purged, or that an owner has disabled.
    """
    if known.kind != "teammate":
        raise UsageError(
            "EEXIST",
            f"Error: '{name}' is an agent of its own, and no teammate",
            suggestion="take another name",
            reason="name-taken",
        )
    if known.state == "purged":
        raise being_purged(name)
    if known.state == "disabled":
        raise UsageError(
            "EBUSY",
            f"Error: '{name}' is disabled",
            suggestion=f"an owner enables it with `uncaged agent enable {name}`; or take another"
            " name",
            reason="disabled",
        )


def _write_record(app: App, order: Order, member: Member, now: float) -> None:
    fields: dict[str, object] = {
        "kind": "teammate",
        "state": "enabled",
        "since": now,
        "by": one_line(order.by, ID_CHARACTERS),
        "model": order.model,
        "role": order.role,
        "prompt": order.prompt,
        "gist": order.gist[:PROMPT_CHARACTERS],
        "bundle": order.bundle,
        "home": order.home,
        "generation": member.generation,
        "changed": now,
        "temporary": True,
    }
    wanted = make_record(fields)

    def decide(value: bytes | None) -> tuple[bytes | None, AgentRecord]:
        if value is None:
            return dumps(wanted), wanted
        known = RECORD.read(value)
        _require_spawnable(known, order.name)  # it may have changed since the first look
        if known.generation == wanted.generation and known.state == "enabled":
            return None, known
        kept = replace(wanted, tokens=known.tokens, ticks=known.ticks)
        return dumps(kept), kept

    update(app.kv, keys.agent_record(app.root, order.name), decide)
