"""Measures a turn of six rounds: the CPU of our own process, beside the same six requests through a
bare httpx loop.

The model is scripted and runs in a process of its own, as capabilities do; the store is SQLite; the
history holds 40 messages and keeps 20 tools resident.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import httpx

from functions.agent.conversation.messages import Message, Role, ToolCall
from functions.agent.conversation.toolset import in_scope
from functions.agent.session.document import Document
from functions.agent.turn.turn import run_turn
from functions.events import Event, Sender, order_of
from functions.settings import Settings
from functions.wiring import AgentRuntime, open_runtime
from scripts.benchmarks.measuring import run_server
from scripts.benchmarks.rows import Row
from sigil.protocol import Caller
from sigil.storage.kv import keys

TURNS: Final = 40
WARM: Final = 5
ROUNDS: Final = 6
TOOLS: Final = 20
MESSAGES: Final = 40
SESSION: Final = "terminal:bench"
NOUNS: Final = (
    "text number date list table colour name path word sentence unit price angle score label token"
    " range matrix point code".split()
)


def run(data: Path | None) -> Iterator[Row]:
    """Measure in milliseconds a turn, the median of forty."""
    with (
        tempfile.TemporaryDirectory() as folder,
        run_server("scripts.benchmarks.turn") as url,
        httpx.Client() as client,
    ):
        settings = Settings(
            data=folder,
            library="none",
            runners=1,
            llm_url=url,
            llm_key="none",
            llm_model="scripted",
            tokens_per_day=10**9,
        )
        runtime = open_runtime(settings)
        history = make_history(runtime)
        ours, floor, walls = [], [], []
        for number in range(WARM + TURNS):
            spent, wall = _time_turn(runtime, history, number)
            bodies = client.get(url).json()
            assert len(bodies) == ROUNDS, f"a turn made {len(bodies)} requests"
            started = time.process_time()
            for body in bodies:
                response = client.post(
                    f"{url}/chat/completions",
                    content=body.encode(),
                    headers={"content-type": "application/json"},
                )
                response.json()
            least = (time.process_time() - started) * 1e3
            if number >= WARM:
                ours.append(spent)
                walls.append(wall)
                floor.append(least)
        runtime.close()
    median = statistics.median
    yield Row("turn of six rounds, CPU", median(ours), "ms", 8.0, floor=median(floor))
    yield Row("turn of six rounds, CPU over the bare requests", median(ours) - median(floor), "ms")
    yield Row("turn of six rounds, wall", median(walls), "ms")


def _time_turn(runtime: AgentRuntime, history: Document, number: int) -> tuple[float, float]:
    """Return the CPU and wall time of one turn over the same history, in ms."""
    sessions = runtime.app.sessions
    sessions.save(sessions.open(keys.session_of(runtime.app.name, SESSION)), history)
    now = time.time()
    event = Event(
        f"terminal:{number}",
        "message",
        runtime.app.name,
        SESSION,
        Sender("terminal:local", "you"),
        "go on",
        now,
        order_of(now, number),
    )
    cpu, wall = time.process_time(), time.perf_counter()
    opened = run_turn(replace(event, private=True), runtime.app)
    spent = (time.process_time() - cpu) * 1e3, (time.perf_counter() - wall) * 1e3
    assert opened.document.outbox[-1].rounds == ROUNDS, opened.document.outbox[-1]
    return spent


def make_history(runtime: AgentRuntime) -> Document:
    """Deploy a capability for each noun; return 40 messages: two queries that page ten of them in
    each, and talk.
    """
    caller = Caller(runtime.app.name, owner=True)
    offers = []
    for noun in NOUNS:
        properties = {
            name: {"type": "string", "description": f"The {noun}'s {name}, as the user said it."}
            for name in ("text", "unit", "form")
        }
        spec: dict[str, object] = {
            "name": f"mend-{noun}",
            "description": (
                f"Reads a {noun}, mends what is wrong with it and gives it back in the form that"
                " was asked for."
            ),
            "schema": {"type": "object", "properties": properties, "required": ["text"]},
            "execute": "return { text: input.text, length: input.text.length }",
            "examples": [f"mend this {noun}: abc", f"what is wrong with the {noun} abc?"],
        }
        offers.append(runtime.app.registry.deploy(spec, caller).offer)
    document = Document()
    for half, loads in enumerate((offers[:10], offers[10:])):
        query = ToolCall(f"call_{half}", "sigil_query", '{"query": "mend", "limit": 10}')
        found = "; ".join(f"{offer.tool}: {offer.description}" for offer in loads)
        document = document.add(
            Message("user", "Mend these for me, please.", at=1.0),
            Message("assistant", "", calls=(query,)),
            Message("tool", found, call_id=query.id, loads=tuple(loads)),
        )
    while len(document.messages) < MESSAGES:
        role: Role = "assistant" if len(document.messages) % 2 else "user"
        text = "A sentence or two of plain talk. " * 5
        document = document.add(Message(role, text, at=1.0))
    assert len(in_scope(document.messages)) == TOOLS
    return document


def _serve_model() -> None:
    from tests.fakes.model import ScriptedModel, call, say
    from tests.fakes.server import Answer, Recorded, json_answer

    class SixRoundModel(ScriptedModel):
        """Decides by the results of the turn so far; GET returns the bodies of the last turn's
        requests.
        """

        def answer(self, request: Recorded) -> Answer:
            if request.method == "GET":
                bodies = [each.body.decode() for each in self.requests if each.method == "POST"]
                return json_answer(bodies[-ROUNDS:])
            messages = request.json()["messages"]
            last = max(place for place, message in enumerate(messages) if message["role"] == "user")
            calls = sum(message["role"] == "tool" for message in messages[last:])
            if calls < ROUNDS - 1:
                reply = call((f"cap_mend_{NOUNS[calls]}", {"text": "abc"}))
            else:
                reply = say("Done: abc, and its length is 3.")
            usage = {"prompt_tokens": len(request.body) // 4, "completion_tokens": 10}
            return json_answer({"usage": usage, **reply})

    with SixRoundModel() as server:
        print(server.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    _serve_model()
