"""A person tells a teammate something, by its name or in reply to what it has asked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from functions.agent.agents.record import find_absence, is_name, join_name
from functions.agent.app import App
from functions.agent.mailbox import Mail, Mailbox
from functions.agent.posts import Post
from functions.agent.team.leg import OWN_MAIN
from functions.agent.team.member import NAME_SHOWN, Member, Members, require_teammate
from functions.agent.team.report import LEAD
from functions.agent.team.request import TeamRequest, find_request
from functions.agent.team.waking import require_workable
from sigil.errors import UsageError, one_line
from sigil.storage.kv import keys

if TYPE_CHECKING:
    from functions.agent.shares import Holder


def find_question(app: App, id: str, session: str) -> TeamRequest | None:
    """Return the question of a teammate that was asked in a chat, or in one with this thread."""
    found = find_request(app.kv, app.root, id)
    if found is None or found.kind != "question":
        return None
    home = found.home
    return found if session == home or session.startswith(f"{home}:") else None


def tell_teammate(
    app: App, name: str, text: str, *, by: str, key: str, home: str, holder: Holder | None = None
) -> Post:
    """Put what a person says into the mailbox of a teammate, and return what wakes it.

    One that had nothing to do for too long is idle again. `UsageError` ENOENT for somebody who is
    not on the team, EBUSY for one that would begin nothing, EINVAL for one that has shut down.
    """
    members = Members(app.kv, app.root)
    shown = one_line(name, NAME_SHOWN)
    member = require_teammate(members.read(name) if is_name(name) else None, shown)
    require_workable(app, name, member, by_person=False)
    full = join_name(app.root, name)
    if member.status == "shutdown" or find_absence(app.kv.get(keys.agent_record(app.root, name))):
        raise UsageError(
            "EINVAL",
            f"Error: '{name}' has shut down, and reads nothing",
            suggestion=f"`uncaged team spawn {name}` starts it again",
            reason="shut-down",
        )
    now = app.clock.now()
    if member.find_status(now, app.team_idle) == "shutdown":

        def wake(found: Member | None) -> tuple[Member | None, None]:
            waits = found is not None and found.status == "idle"
            return (replace(found, since=now) if found and waits else None), None

        members.change(name, wake)
    Mailbox(app.kv, keys.escape(full)).deliver(Mail(key, LEAD, text, now, by=by), holder)
    return Post("mail", full, OWN_MAIN, data={"home": home, "from": name})
