"""A chat that leads a team, and a model that plays the lead and the teammates."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from functions import worker
from functions.agent.safety.hp import HpRecord
from functions.agent.team.board import Board, NewTask
from functions.agent.team.member import Member, Members
from functions.wiring import AgentRuntime
from sigil.storage.kv import keys
from sigil.storage.stored import dumps
from tests.fakes.model import ScriptedModel, call, results, say
from tests.fakes.server import Answer, Recorded, json_answer
from tests.functions.chats import Chats
from tests.functions.people import OWNER

HOME = f"telegram:{OWNER}"
_IDENTITY = re.compile(r"<identity>You are '([a-z0-9-]+)', role: ([^,]+), team: ([^.]+)\. Continue")
Body = dict[str, Any]
Plan = Callable[[Body], "dict[str, Any] | Answer"]


def name_of(body: Body) -> str:
    """The teammate that a request is made for, empty for the lead."""
    found = _IDENTITY.findall("\n".join(contents(body)))
    return found[0][0] if found else ""


def contents(body: Body) -> list[str]:
    return [str(message["content"] or "") for message in body["messages"]]


def count_identities(body: Body) -> int:
    return len(_IDENTITY.findall("\n".join(contents(body))))


class TeamModel(ScriptedModel):
    """Answers the lead from the script, and each teammate by its plan.

    Its usage is honest: a token for each four characters.
    """

    def __init__(self) -> None:
        super().__init__()
        self.plans: dict[str, Plan] = {}
        self.used: dict[str, int] = {}

    def answer(self, request: Recorded) -> Answer:
        if request.method == "GET":
            return super().answer(request)
        body = request.json()
        name = name_of(body)
        plan = self.plans.get(name)
        completion = 20 if name and plan else 10
        if not name or plan is None:
            answered = super().answer(request)
        else:
            made = plan(body)
            if isinstance(made, Answer):
                return made
            usage = {"prompt_tokens": len(request.body) // 4, "completion_tokens": completion}
            answered = json_answer({"usage": usage, **made})
        self.used[name] = self.used.get(name, 0) + len(request.body) // 4 + completion
        return answered

    def of(self, name: str) -> list[Body]:
        """The requests of a teammate, of the lead for an empty name, in order."""
        return [body for body in self.chats if name_of(body) == name]


@dataclass
class Crew:
    """A root with its chat, the team's board, and its members."""

    chats: Chats
    model: TeamModel
    numbers: list[int] = field(default_factory=list)

    @property
    def runtime(self) -> AgentRuntime:
        return self.chats.runtime

    @property
    def board(self) -> Board:
        return Board(self.runtime.stores.kv, "main", self.runtime.app.clock.now)

    def member(self, name: str) -> Member:
        found = Members(self.runtime.stores.kv, "main").read(name)
        assert found is not None, name
        return found

    def add(self, *subjects: str, **fields: Any) -> list[int]:
        """Put tasks on the board for the owner's chat."""
        made = [
            self.board.add(NewTask(subject=subject, by=HOME, home=HOME, **fields))
            for subject in subjects
        ]
        return [task.id for task in made]

    def write(self, text: str) -> list[str]:
        """Write as the owner, work on all that comes of it, and return what is said in the chat."""
        self.numbers.append(len(self.numbers) + 1)
        before = len(self.chats.list_texts())
        self.chats.write(self.numbers[-1], text)
        control = self.runtime.control
        while delivery := control.take(0.0):
            worker.process(delivery, replace(self.runtime, queue=control))
        self.chats.work_off()
        return self.chats.list_texts()[before:]


def spawning(*names: str, role: str = "coder", prompt: str = "Take tasks.") -> list[Any]:
    """Steps of a lead that finds the services of a team and spawns teammates."""
    calls = [
        ("cap_spawn_teammate", {"name": name, "role": role, "prompt": prompt}) for name in names
    ]
    return [call(("sigil_query", {"query": "spawn a teammate"})), call(*calls), say("They work.")]


def search(number: int) -> dict[str, Any]:
    return call(("sigil_query", {"query": f"nothing like {number}"}))


def spawned(crew: Crew, *names: str, **more: Any) -> None:
    """Let the lead spawn teammates that have nothing to do, and idle."""
    for name in names:
        crew.model.plans.setdefault(name, lambda _: say("[SILENT]"))
    crew.model.then(*spawning(*names, **more))
    crew.write(f"spawn {' and '.join(names)}")


def ask(crew: Crew, *calls: tuple[str, Any], text: str = "go on") -> str:
    """Let the lead make calls, and return the result of the last one."""
    crew.model.then(call(("sigil_query", {"query": "teammate"})), call(*calls), say("well"))
    before = len(crew.model.of(""))
    crew.write(text)
    return results(crew.model.of("")[before + 2])[-1]


def drain(crew: Crew, name: str) -> None:
    """Let a teammate have no HP left."""
    record = HpRecord(0.0, crew.runtime.app.clock.now(), disabled=True)
    crew.runtime.stores.kv.put(keys.hp(f"main.{name}"), dumps(record))
