"""What people read of a call that a team's services refuse: a sentence about that, and of no other
failure with the same code.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from functions.agent.team.request import TeamRequest, keep_request
from functions.time.clock import Clock
from tests.fakes.model import call, say
from tests.functions.agent.team.crew import Crew, TeamModel, ask, spawned

CIRCLE = ("cap_update_task", {"task_id": 1, "add_blocked_by": [1]})
BLOCKED = ("cap_claim_task", {"task_id": 2})
SHUT_DOWN = ("cap_send_message", {"to": "alice", "content": "hello"})
UNKNOWN = ("cap_claim_task", {"task_id": 9})
PLAN: tuple[str, Any] = ("cap_plan_approval", {"request_id": "1a2b3c4d", "approve": True})


def claim_done(crew: Crew, made: tuple[str, Any]) -> str:
    """Let the lead say that all is well though its last call has failed, and return what stands
    below that in the chat.
    """
    crew.model.then(call(made), say("Done."), say("It is done, really."))
    return crew.write("go on")[-1].partition("\n\n")[2]


def test_what_a_team_refuses_is_said_as_what_it_is_at_once_and_in_each_language(
    crew: Crew, model: TeamModel
) -> None:
    pauses: list[float] = []
    runtime = crew.runtime
    app = replace(runtime.app, clock=Clock(pause=pauses.append))
    crew = replace(crew, chats=replace(crew.chats, runtime=replace(runtime, app=app)))
    spawned(crew, "alice")
    crew.add("first")
    crew.add("second", blocked_by=(1,))
    ask(crew, ("cap_shutdown_request", {"teammate": "alice"}))

    def succeed(query: str) -> None:
        model.then(call(("sigil_query", {"query": query})), say("found"))
        crew.write("look for it")

    succeed("claim a task")

    assert claim_done(crew, CIRCLE) == "(update-task failed: a task would wait for itself.)"
    assert claim_done(crew, BLOCKED) == (
        "(claim-task failed: the task waits for others, which are not done yet.)"
    )
    assert claim_done(crew, SHUT_DOWN) == (
        "(send-message failed: the teammate has shut down, and reads nothing.)"
    )
    assert crew.write("/tasks done 9") == ["Task 9 not found; /tasks shows what there is."]
    crew.write("/language de")
    assert claim_done(crew, BLOCKED) == (
        "(claim-task misslang: die Aufgabe wartet auf andere, die noch nicht fertig sind.)"
    )
    assert crew.write("/tasks done 9") == [
        "Diese Aufgabe gibt es nicht; /tasks zeigt, was es gibt."
    ]
    succeed("send a message to a teammate")  # or the chat would pause after five failures
    crew.write("/language zh")
    assert "这个队友已经停下，不再看消息" in claim_done(crew, SHUT_DOWN)
    plan = TeamRequest("plan", "alice", "lead", 1.0, "rewrite it", "approved")
    keep_request(runtime.stores.kv, "main", PLAN[1]["request_id"], plan)
    succeed("answer the plan of a teammate")
    assert "这个计划现在不能答复" in claim_done(crew, PLAN)
    assert crew.write("/files gone.md") == ["这样不行：没有这个文件。"]
    assert pauses == []  # waiting a moment would help with none of them
