"""The page about a day is played: people write to a served agent, the model says and calls what the
page has, and everything else has to be as it stands there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.model import ScriptedModel, call, say
from tests.fakes.server import Answer, Recorded, json_answer
from tests.functions.people import Live
from tests.project.transcripts import Step
from tests.project.tree import ROOT

PAGE = (ROOT / "docs" / "day.md").read_text(encoding="utf-8")
PEOPLE = {"Mia": 42, "Ben": 66}
PICNIC = {"id": -100, "type": "supergroup", "title": "Picnic"}
US = {"id": 4242, "is_bot": True, "first_name": "milo", "username": "milo_bot"}
_BLOCK = re.compile(r"^```(chat|text)\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
_LINE = re.compile(r"^(?:(?P<who>\w+)(?P<group> in Picnic)?> |(?P<sign>[→←·]) )", re.MULTILINE)
_TOKENS = re.compile(r"([\d,]+) tokens")


class DayModel(ScriptedModel):
    """Says what the page has. It also consolidates, which is no part of the page, whenever it is
    asked to.
    """

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The bodies of the requests of turns."""
        return [body for body in super().bodies if not is_consolidation(body)]

    def answer(self, request: Recorded) -> Answer:
        if not is_consolidation(request.json()):
            return super().answer(request)
        entry = {"history_entry": "[2026-05-28 20:26] Mia and milo talked.", "memory_update": ""}
        usage = {"prompt_tokens": 10, "completion_tokens": 10}
        return json_answer({"usage": usage, **call(("save_memory", entry))})


def is_consolidation(body: dict[str, Any]) -> bool:
    return [tool["function"]["name"] for tool in body.get("tools", [])] == ["save_memory"]


@dataclass
class Exchange:
    """A message, the rounds of its turn (calls and their answers), and what is said back."""

    sender: str
    text: str
    in_group: bool
    rounds: list[tuple[list[tuple[str, Any]], list[str]]] = field(default_factory=list)
    replies: list[str] = field(default_factory=list)
    tokens: int = 0

    @property
    def is_for_model(self) -> bool:
        return bool(self.replies) and not self.text.startswith(("/", "*"))

    def script(self) -> Iterator[dict[str, Any]]:
        """Yield what the model answers."""
        for calls, _ in self.rounds:
            yield call(*calls)
        usage = {"usage": {"prompt_tokens": self.tokens, "completion_tokens": 0}}
        yield {**say(self.replies[0].partition("\n\n(")[0]), **(usage if self.tokens else {})}


def read_exchanges(block: str) -> Iterator[Exchange]:
    """Yield what a block of the page has."""
    exchange: Exchange | None = None
    for part in re.split(r"^(?=\w+(?: in Picnic)?> |[→←·] )", block, flags=re.MULTILINE):
        head = _LINE.match(part)
        if head is None:
            continue
        text = part[head.end() :].rstrip("\n")
        if head["who"] in PEOPLE:
            if exchange:
                yield exchange
            exchange = Exchange(head["who"], text, bool(head["group"]))
            continue
        assert exchange
        if head["who"]:
            exchange.replies.append(text)
        elif head["sign"] == "→":
            name, _, arguments = text.partition(" ")
            exchange.rounds.append(([(name, json.loads(arguments))], []))
        elif head["sign"] == "←":
            exchange.rounds[-1][1].append(text)
        else:
            found = _TOKENS.match(text)
            assert found
            exchange.tokens = int(found[1].replace(",", ""))
    if exchange:
        yield exchange


def send(agent: Live, exchange: Exchange) -> int:
    """Write the message as Telegram sends it; return its chat."""
    text = exchange.text
    more: dict[str, Any] = {"from": {"id": PEOPLE[exchange.sender], "first_name": exchange.sender}}
    if exchange.in_group:
        more["chat"] = PICNIC
    first = text.split()[0]
    if text.startswith("*adds"):
        return agent.write("", PEOPLE[exchange.sender], new_chat_members=[US], **more)
    if first.startswith(("/", "@")):
        kind = "bot_command" if first.startswith("/") else "mention"
        more["entities"] = [{"type": kind, "offset": 0, "length": len(first)}]
    return agent.write(text, PEOPLE[exchange.sender], **more)


def play(agent: Live, model: DayModel, exchange: Exchange) -> None:
    """Play one exchange, and compare what comes of it with the page."""
    chat = int(str(PICNIC["id"])) if exchange.in_group else PEOPLE[exchange.sender]
    before = len(agent.list_texts(chat))
    asked = len(model.bodies)
    if exchange.is_for_model:
        model.then(*exchange.script())
    assert send(agent, exchange) == chat
    if not exchange.replies:
        return
    replies = agent.replies(chat, before + len(exchange.replies))[before:]
    for shown, got in zip(exchange.replies, replies, strict=True):
        assert Step("", shown).is_said_by(got), f"{exchange.text}\n{got}\nthe page has:\n{shown}"
    requests = model.bodies[asked:]
    assert len(requests) == (len(exchange.rounds) + 1 if exchange.is_for_model else 0)
    for (_, answers), request in zip(exchange.rounds, requests[1:], strict=False):
        results = [str(message["content"]) for message in request["messages"]]
        for shown, got in zip(answers, results[-len(answers) :], strict=True):
            one = got.replace("\n", " ")
            assert Step("", shown).is_said_by(one), f"{got}\nthe page has:\n{shown}"


def test_the_day_is_as_the_page_tells_it(
    live: Callable[..., AbstractContextManager[Live]],
) -> None:
    with DayModel() as model, live(llm_url=model.url, agent="milo", library="builtin") as agent:
        agent.bot.username = US["username"]
        for kind, block in _BLOCK.findall(PAGE):
            if kind == "text":
                read = [str(message["content"]) for message in model.bodies[-1]["messages"]]
                assert any(Step("", f"…\n{block}\n…").is_said_by(f"\n{text}\n") for text in read), (
                    f"{read}\nthe page has:\n{block}"
                )
                continue
            for exchange in read_exchanges(block):
                play(agent, model, exchange)
                if exchange.in_group and exchange.is_for_model:
                    assert "peanuts" not in json.dumps(model.bodies[-1])
