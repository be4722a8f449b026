"""What the lead of a team knows of it, and what people see of those who have ended."""

from __future__ import annotations

from dataclasses import replace

from functions.agent.team.board import Claimer
from functions.agent.team.member import Member, Members
from functions.agent.workspace.edits import has_team
from sigil.storage.kv import keys
from tests.fakes.model import say
from tests.functions.agent.team.crew import Body, Crew, TeamModel, ask, contents, spawned, spawning
from tests.functions.people import GUEST

MEMBER = 7


def change_member(crew: Crew, name: str, **fields: object) -> None:
    def decide(member: Member | None) -> tuple[Member | None, None]:
        assert member is not None
        return replace(member, **fields), None  # type: ignore[arg-type]

    Members(crew.runtime.stores.kv, "main").change(name, decide)


def read_told(body: Body) -> list[str]:
    """The lines about the team that a request has, and that its last message has none of them."""
    assert "<<TEAM>>" not in contents(body)[-1]
    (told,) = [text for text in contents(body) if "<<TEAM>>" in text] or [""]
    return told.splitlines()[2:-1]


def write_to_lead(crew: Crew, sender: int) -> list[str]:
    """Write in somebody's private chat, and return what the lead reads of its team there."""
    crew.model.then(say("well"))
    crew.chats.write(1_000 + len(crew.model.chats), "how is it going?", sender)
    crew.chats.work_off()
    return read_told(crew.model.of("")[-1])


def test_the_lead_reads_who_is_on_its_team_and_what_they_hold(crew: Crew, model: TeamModel) -> None:
    crew.runtime.app.people.let_in(f"telegram:{MEMBER}", "member", "Bob", "telegram:42")
    model.then(say("hello"))
    crew.write("hello")
    assert read_told(model.of("")[-1]) == []
    spawned(crew, "alice", "bob")
    (number,) = crew.add("write <b>the parser")
    crew.board.claim(number, Claimer(member="alice"))
    change_member(crew, "alice", status="working", task=number)
    held = "Your team: alice (coder): working on #1{}; bob (coder): idle."
    line, hint = write_to_lead(crew, 42)
    assert line == held.format(" (write <b>the parser)")
    assert hint.startswith("What they finish is said here by itself.")
    # what a task is about stays in its chat, and guests have no team
    assert write_to_lead(crew, MEMBER)[0] == held.format("")
    assert write_to_lead(crew, GUEST) == []
    assert "Your team" not in "\n".join(crew.chats.list_history())


def test_who_has_ended_is_named_for_an_hour_and_then_the_lead_asks_for_nobody(
    crew: Crew, model: TeamModel
) -> None:
    spawned(crew, "alice", "bob")
    kv = crew.runtime.stores.kv
    record = keys.workspace_record(keys.team_of("main"))
    now = crew.runtime.app.clock.now()
    change_member(crew, "alice", since=now - 3_500)
    change_member(crew, "bob", since=now - 3_700)
    assert crew.write("/team") == ["Team: main\nalice (coder): shutdown"]
    assert "bob" not in ask(crew, ("cap_list_teammates", {}))
    change_member(crew, "alice", since=now - 3_700)
    assert crew.write("/team")[0].startswith("No teammates.")
    change_member(crew, "bob", recall=True)
    assert crew.write("/team") == ["Team: main\nbob (coder): shutdown"]
    change_member(crew, "bob", recall=False)
    assert write_to_lead(crew, 42) == []
    item = kv.get(record)
    assert item is not None
    assert not has_team(item)
    spawned(crew, "bob")
    assert write_to_lead(crew, 42)[0] == "Your team: bob (coder): idle."


def test_a_lead_that_idles_is_told_that_it_does_not(crew: Crew) -> None:
    assert ask(crew, ("cap_idle", {})) == '{"ok":"Lead does not idle."}'
    spawned(crew, "alice")
    assert ask(crew, ("cap_idle", {})) == '{"ok":"Lead does not idle."}'


def test_what_cost_most_is_named_by_the_words_of_whom_it_was_for(
    crew: Crew, model: TeamModel
) -> None:
    crew.runtime.app.people.let_in(f"telegram:{MEMBER}", "member", "Bob", "telegram:42")
    for number, sender in enumerate((MEMBER, 42)):
        model.plans[f"bob{number}"] = lambda _: say("done")
        model.then(*spawning(f"bob{number}"))
        crew.chats.write(50 + number, f"spawn `bob` for {sender}", sender)
        crew.chats.work_off()
    told = crew.write("/spent")[0].partition("set off, in all agents:\n")[2].splitlines()
    named = sorted(line.partition(": ")[0] for line in told)
    assert named == ["• telegram:4242:7:50", "• “spawn 'bob' for 42” (telegram:4242:42:51)"]
