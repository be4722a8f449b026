"""A scripted model that works as one should: it searches, writes what nobody has, calls what it is
offered, and answers from the result.

It keeps nothing between requests: what it does next follows from the tools and the results in the
request that it reads. So a tool that the product does not offer is not called, and an answer that
the product did not compute is not given.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

from tests.fakes.model import ScriptedModel, call, offered, say
from tests.fakes.server import Answer, Recorded, json_answer
from tests.fakes.skill import Skill
from tests.fakes.skills import skill_for

Habit = Literal[
    "clumsy", "sloppy", "careless", "copycat", "boaster", "bare", "stubborn", "narrow", "hasty"
]
"""Ways to go wrong. clumsy: its first code fails its tests. sloppy: its first code is no
JavaScript. careless: it first calls with wrong arguments. copycat: it first takes a name that it
was told of. boaster: it answers at once. bare: it writes no tests. stubborn: it never mends.
narrow: its code knows its own test alone. hasty: it does not search before it writes.
"""
OTHER_ARGUMENTS = {"anything": "else"}


@dataclass(frozen=True, slots=True)
class Done:
    """A call of this turn, with what it was answered."""

    name: str
    arguments: Any
    ok: Any = None
    error: dict[str, str] | None = None


class Author(ScriptedModel):
    """See the module. `taken`: the name that a copycat takes first."""

    def __init__(self, *habits: Habit, taken: str = "") -> None:
        super().__init__()
        self.habits = frozenset(habits)
        self.taken = taken

    def answer(self, request: Recorded) -> Answer:
        """The next step of whoever has read the request; what `then` was given comes first."""
        if self._script:
            return super().answer(request)
        usage = {"prompt_tokens": len(request.body) // 4, "completion_tokens": 10}
        return json_answer({"usage": usage, **self._next(request.json())})

    def _next(self, body: dict[str, Any]) -> dict[str, Any]:
        said, done = turn(body["messages"])
        skill, tools = skill_for(said), offered(body)
        if "boaster" in self.habits:
            return say(_boast(skill))
        tool = next(
            (each.ok["tool"] for each in reversed(done) if each.name == "sigil_deploy" and each.ok),
            _found(skill, done),
        )
        last = done[-1] if done else None
        if last and last.name == tool and last.error is None:
            return say(
                skill.answer(last.ok)
                if not isinstance(last.ok, list)
                else skill.says[0].format(json.dumps(last.ok))
            )
        if not tools:
            return say(
                "I could not do it: "
                + (last.error["message"] if last and last.error else "I ran out of steps.")
            )
        if tool and tool in tools:
            return call((tool, self._arguments(skill, said, done)))
        if last is None and "hasty" not in self.habits:
            return call(("sigil_query", {"query": skill.description}))
        return (
            self._write(skill, said, done)
            if "sigil_deploy" in tools
            else say("I may not write it.")
        )

    def _arguments(self, skill: Skill, said: str, done: list[Done]) -> dict[str, Any]:
        """What to call with; after a refusal, what the refusal asks for."""
        tried = [each for each in done if each.name.startswith("cap_")]
        return OTHER_ARGUMENTS if "careless" in self.habits and not tried else skill.arguments(said)

    def _write(self, skill: Skill, said: str, done: list[Done]) -> dict[str, Any]:
        """Its next version: what was refused is mended as the refusal says."""
        refused = [
            each.error["code"] for each in done if each.name == "sigil_deploy" and each.error
        ]
        if "ERATE" in refused:
            return say(
                "I have to wait a little before I can write another one. Please ask me again."
            )
        return call(("sigil_deploy", self._spec(skill, said, refused)))

    def _spec(self, skill: Skill, said: str, refused: Collection[str]) -> dict[str, Any]:
        spec = dict(skill.spec)
        if self.taken and "copycat" in self.habits:
            spec["name"] = f"{skill.name}-own" if "EEXIST" in refused else self.taken
        if "sloppy" in self.habits and "EMODULE" not in refused:
            spec["execute"] = f"{skill.code}\n)"
        elif "stubborn" in self.habits or ("clumsy" in self.habits and "ETESTS" not in refused):
            spec["execute"] = "return null;"
        elif "narrow" in self.habits:
            first = skill.tests[0]
            spec |= {
                "execute": f"return {json.dumps(first[1])};",
                "tests": [{"input": first[0], "output": first[1]}],
            }
        if "bare" in self.habits:
            del spec["tests"]
        return spec


def turn(messages: list[dict[str, Any]]) -> tuple[str, list[Done]]:
    """What the person said last, without the stamp, and the calls that were answered since. An id
    belongs to its own round.
    """
    people = [
        at
        for at, message in enumerate(messages)
        if message["role"] == "user" and not message["content"].startswith("[runtime]")
    ]
    made: dict[str, Any] = {}
    done = []
    for message in messages[people[-1] :]:
        if message["role"] == "assistant":
            made = {each["id"]: each["function"] for each in message.get("tool_calls") or ()}
        elif message["role"] == "tool":
            done.append(_done(made.pop(message["tool_call_id"]), message["content"]))
    return messages[people[-1]]["content"].partition("\n")[2], done


def _done(function: dict[str, Any], content: str) -> Done:
    result = json.loads(content.partition("\n")[0])
    return Done(
        function["name"], json.loads(function["arguments"]), result.get("ok"), result.get("error")
    )


def _found(skill: Skill, done: list[Done]) -> str:
    """The tool of a found capability that does what is wanted, as its description says."""
    items = [
        item for each in done if each.name == "sigil_query" and each.ok for item in each.ok["items"]
    ]
    return next((item["tool"] for item in items if item["description"] == skill.description), "")


def _boast(skill: Skill) -> str:
    return re.sub(r"\{.*?\}", "easy", skill.says[-1])
