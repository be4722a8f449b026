"""A teammate that waits for an answer to its plan, as its turn has left it."""

from __future__ import annotations

from functions.agent.agents.record import AgentRecord, add_agent
from functions.agent.app import App
from functions.agent.team.leg import GENERATION, LEG, OWN_MAIN, PLAN
from functions.agent.team.member import Member, Members
from functions.agent.team.request import TeamRequest, keep_request
from functions.events import Event, Sender, order_of

ID = "1a2b3c4d"
PERSON = "telegram:7"


def let_wait(app: App, plan: str) -> str:
    """Let alice wait for an answer to a plan, and return its id."""
    now = app.clock.now()
    record = AgentRecord("teammate", "enabled", now, PERSON, role="coder", home=PERSON)
    add_agent(app.kv, app.root, "alice", record)
    waits = Member("working", now, role="coder", call="test", waiting=ID)
    Members(app.kv, app.root).change("alice", lambda _: (waits, None))
    agent = f"{app.root}.alice"
    work = Event(
        id=f"plan:{agent}:{ID}",
        kind="task",
        agent=agent,
        session=OWN_MAIN,
        sender=Sender(f"agent:{agent}"),
        text="",
        at=now,
        order=order_of(now, 0),
        private=True,
        by=PERSON,
        data={LEG: 2, PLAN: ID, GENERATION: 1, "home": PERSON},
    )
    request = TeamRequest(
        "plan", "alice", "lead", now, plan, home=PERSON, by=PERSON, generation=1, next=work
    )
    keep_request(app.kv, app.root, ID, request)
    return ID
