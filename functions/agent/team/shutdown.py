"""A request to shut a teammate down is carried out by the runtime, whatever the teammate says.

The turn in progress is told to stop, even inside a call, and an event behind it does the rest. With
`graceful` the teammate is asked first: it has one leg to finish and to answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from functions.agent.agents.record import find_absence, join_name, read_agent
from functions.agent.app import App
from functions.agent.mailbox import Mail, Mailbox
from functions.agent.posts import Post
from functions.agent.safety.stop_mark import BY_OWNER, StopMark, write_mark
from functions.agent.team.leg import GENERATION, OWN_MAIN, SHUTDOWN
from functions.agent.team.member import Member, Members, require_teammate
from functions.agent.team.report import LEAD
from functions.agent.team.request import TeamRequest, keep_request, make_request_id
from sigil.errors import UsageError
from sigil.protocol import Json
from sigil.storage.kv import keys

ALL: Final = "all"


@dataclass(frozen=True, slots=True)
class ShutdownRequest:
    """A request that was made: its id, and the posts that carry it out."""

    id: str
    posts: tuple[Post, ...]


def request_shutdown(
    app: App,
    name: str,
    *,
    by: str,
    home: str,
    call: str,
    graceful: bool = False,
    person: str = "",
) -> ShutdownRequest:
    """Ask a teammate of the app's root to shut down, at once or when it has answered. A `person`
    who does so stops it as well.

    `UsageError` ENOENT for somebody who is not there, EINVAL for one that has shut down.
    """
    now = app.clock.now()
    member = require_teammate(Members(app.kv, app.root).read(name), name)
    id = make_request_id(call)
    if member.find_status(now, app.team_idle) == "shutdown":
        raise UsageError("EINVAL", f"Error: '{name}' has shut down already", reason="shut-down")
    full = join_name(app.root, name)
    request = TeamRequest("shutdown", by, name, now, home=home, person=person)
    keep_request(app.kv, app.root, id, request)
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
        stopped = found.stop(person) if person else found
        return replace(stopped, stopping=id), None

    # whoever begins a turn from now on sees that; the turn in progress sees the mark
    Members(app.kv, app.root).change(name, stop)
    session = keys.session_of(full, OWN_MAIN)
    turn = app.sessions.open(session).document.turn
    if turn is not None:
        write_mark(app.kv, session, StopMark(turn.event.id, BY_OWNER))
    return ShutdownRequest(id, (carry_out,))


@dataclass(frozen=True, slots=True)
class Stopped:
    """What a person has stopped: the names of those that `end` their work, of those that had shut
    `down` before, and the posts that carry it out.
    """

    end: tuple[str, ...] = ()
    down: tuple[str, ...] = ()
    posts: tuple[Post, ...] = ()


def stop_team(
    app: App, name: str, *, person: str, home: str, call: str, graceful: bool = False
) -> Stopped:
    """Stop a teammate by its name, or `all` of them, for a person: whoever is awake shuts down, and
    nobody comes back before a person says so. Done again after a crash, it stops the rest.
    """
    now = app.clock.now()
    end: list[str] = []
    down: list[str] = []
    posts: list[Post] = []

    def stop(found: Member | None) -> tuple[Member | None, None]:
        if found is None or found.stopped:
            return None, None
        # one that is disabled may have a task, or wait for an answer: nothing else would end that
        down = replace(found, status="idle", since=now, task=0, waiting="")
        return (down if found.status == "working" else found).stop(person), None

    members = dict(Members(app.kv, app.root).scan())
    for each in sorted(members) if name == ALL else [name]:
        member = require_teammate(members.get(each), each)
        record = app.kv.get(keys.agent_record(app.root, each))
        # nobody would carry out the request to one that is disabled
        is_away = record is None or find_absence(record)
        if is_away or member.find_status(now, app.team_idle) == "shutdown":
            Members(app.kv, app.root).change(each, stop)
            down.append(each)
            continue
        made = request_shutdown(
            app,
            each,
            by=LEAD,
            home=home or read_agent(app.kv, app.root, each).home,
            call=f"{call}:{each}",
            graceful=graceful,
            person=person,
        )
        end.append(each)
        posts += made.posts
    return Stopped(tuple(end), tuple(down), tuple(posts))
