"""A request to shut a teammate down is carried out by the runtime, whatever the teammate says.

The turn in progress is told to stop, even inside a call, and an event behind it does the rest. With
`graceful` the teammate is asked first: it has one leg to finish and to answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from functions.agent.agents.record import join_name
from functions.agent.app import App
from functions.agent.mailbox import Mail, Mailbox
from functions.agent.posts import Post
from functions.agent.safety.stop_mark import BY_OWNER, StopMark, write_mark
from functions.agent.team.leg import GENERATION, OWN_MAIN, SHUTDOWN
from functions.agent.team.member import Member, Members, require_teammate
from functions.agent.team.request import TeamRequest, keep_request, make_request_id
from sigil.errors import UsageError
from sigil.protocol import Json
from sigil.storage.kv import keys


@dataclass(frozen=True, slots=True)
class ShutdownRequest:
    """A request that was made: its id, and the posts that carry it out."""

    id: str
    posts: tuple[Post, ...]


def request_shutdown(
    app: App, name: str, *, by: str, home: str, call: str, graceful: bool = False
) -> ShutdownRequest:
    """Ask a teammate of the app's root to shut down, at once or when it has answered.

    `UsageError` ENOENT for somebody who is not there, EINVAL for one that has shut down.
    """
    now = app.clock.now()
    member = require_teammate(Members(app.kv, app.root).read(name), name)
    id = make_request_id(call)
    if member.find_status(now, app.team_idle) == "shutdown":
        raise UsageError("EINVAL", f"Error: '{name}' has shut down already")
    full = join_name(app.root, name)
    keep_request(app.kv, app.root, id, TeamRequest("shutdown", by, name, now, home=home))
    data: dict[str, Json] = {SHUTDOWN: id, GENERATION: member.generation, "home": home}
    carry_out = Post("task", full, OWN_MAIN, data=data)
    if graceful:
        text = f"request_id={id}: finish, and answer with cap_shutdown_response"
        mail = Mail(f"{id}:request", by, text, now, "shutdown_request")
        Mailbox(app.kv, keys.escape(full)).deliver(mail)
        wake = Post("mail", full, OWN_MAIN, data={"home": home, "from": name})
        return ShutdownRequest(id, (wake, carry_out))

    def stop(found: Member | None) -> tuple[Member | None, None]:
        if found is None or found.generation != member.generation:
            return None, None
        return replace(found, stopping=id), None

    # whoever begins a turn from now on sees that; the turn in progress sees the mark
    Members(app.kv, app.root).change(name, stop)
    session = keys.session_of(full, OWN_MAIN)
    turn = app.sessions.open(session).document.turn
    if turn is not None:
        write_mark(app.kv, session, StopMark(turn.event.id, BY_OWNER))
    return ShutdownRequest(id, (carry_out,))
