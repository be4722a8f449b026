"""Tools of an MCP server in a chat: what one draws reaches the person, on Telegram, over HTTP and in
what is exported of them, until they are erased; and what a server says of a tool's effects decides
whether a call whose answer was lost is made again.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from functions.backup.contents import find_artifacts
from functions.personal_data import PersonalData
from sigil.protocol import Caller
from sigil.registry import LocalRegistry
from sigil.storage.kv.base import list_partitions, scan_everything
from sigil.wiring import LazyRegistry
from tests.fakes.mcp import FakeMcp, tool
from tests.fakes.model import ScriptedModel, call, say
from tests.fakes.server import Answer
from tests.functions.people import GUEST, Live
from tests.pictures import as_image, make_png
from tests.sigil.tool_importer import ToolImporter

Open = Callable[..., AbstractContextManager[Live]]
PNG = make_png()


def script(model: ScriptedModel, answer: str) -> None:
    model.then(call(("sigil_query", {"query": "greet somebody"})))
    model.then(call(("cap_art_greet", {"name": "Ada"})), say(answer))


def open_registry(agent: Live) -> LocalRegistry:
    registry = agent.server.runtime.app.registry
    if isinstance(registry, LazyRegistry):
        registry = registry._opener()
    assert isinstance(registry, LocalRegistry)
    return registry


def test_a_picture_of_a_tool_goes_out_with_the_answer_and_is_its_persons(
    live: Open, model: ScriptedModel
) -> None:
    with FakeMcp() as fake, live(library="none", loopback=True) as agent:
        runtime = agent.server.runtime
        registry = open_registry(agent)
        ToolImporter(registry).import_tools({"name": "art", "url": fake.address})
        fake.does["greet"] = lambda given: {"content": [as_image(PNG)]}

        script(model, "here it is")
        assert agent.ask("draw me something", GUEST) == "here it is"
        agent.until(lambda: bool(agent.bot.photos))
        (photo,) = agent.bot.photos
        assert photo["chat_id"] == GUEST
        assert photo["photo"] == {"name": "picture.png", "content": PNG}
        read = str(model.bodies[-1])
        assert "picture.png, image/png" in read
        assert base64.b64encode(PNG).decode() not in read
        (said,) = [m["content"] for m in model.bodies[-1]["messages"] if "kept as" in str(m)]
        told = json.loads(said)["files"]
        assert re.fullmatch("f[0-9a-f]{5}", told[0].pop("id"))
        assert told == [{"name": "picture.png", "type": "image/png", "bytes": len(PNG)}]

        agent.bot.fail(400, "Bad Request: PHOTO_INVALID_DIMENSIONS", method="sendPhoto")
        script(model, "again")
        assert agent.ask("once more", GUEST) == "again"
        agent.until(lambda: bool(agent.bot.documents))
        assert agent.bot.documents[0]["document"]["content"] == PNG

        script(model, "over http")
        answer = agent.server.post("/chat", json={"session": "web", "text": "draw"}).json()
        (file,) = answer["files"]
        assert agent.server.client.get(file["url"]).content == PNG
        elsewhere = file["url"].replace("/web/", "/other/")
        assert agent.server.client.get(elsewhere).status_code == 404

        data = PersonalData(runtime.app, runtime.stores.artifacts)
        person = data.find(f"telegram:{GUEST}")
        assert data.count(person)["files"] == 2
        exported = [row for row in data.export(person)["records"] if row["kind"] == "files"]
        assert [base64.b64decode(row["value"]["base64"]) for row in exported] == [PNG, PNG]
        ids = [row["sort"] for row in exported]
        named = [find_artifacts(item, is_trusted=True) for item in scan_everything(runtime.app.kv)]
        bodies = [runtime.stores.artifacts.get(name) for names in named for name in names]
        assert sum(body.endswith(PNG) for body in bodies) == 3, "a backup has them"
        assert data.erase(person).removed["files"] == 2
        caller = Caller("main", f"telegram:{GUEST}")
        for id in ids:
            assert is_gone(registry, id, caller)
        assert not [
            name
            for name in list_partitions(runtime.app.kv)
            if name.startswith(f"file#main#telegram:{GUEST}")
        ]
        marks = [row for _, row in runtime.app.kv.scan("file-due")]
        assert len(marks) == 1, "that of the other chat"


HINTS: dict[str, dict[str, bool]] = {
    "read": {"readOnlyHint": True},
    "wipe": {"destructiveHint": True},
    "set": {"destructiveHint": False, "idempotentHint": True},
    "mystery": {},
}


def test_a_call_whose_answer_was_lost_is_made_again_only_where_that_changes_nothing(
    live: Open, model: ScriptedModel
) -> None:
    def lose_first(name: str) -> Callable[[dict[str, Any]], Any]:
        answers = [Answer(cut=True), {"content": [{"type": "text", "text": f"did {name}"}]}]
        return lambda given: answers.pop(0)

    with FakeMcp() as fake, live(library="none", loopback=True) as agent:
        fake.tools = []
        for name, hints in HINTS.items():
            fake.tools.append({**tool(name, f"Does {name}."), "annotations": hints})
            fake.does[name] = lose_first(name)
        ToolImporter(open_registry(agent)).import_tools({"name": "disk", "url": fake.address})
        query = {"query": "disk read wipe set mystery", "limit": 4}
        calls = [(f"cap_disk_{name}", {}) for name in HINTS]
        model.then(call(("sigil_query", query)), call(*calls), say("done"))
        assert agent.ask("do all of it").startswith("done")
        read = model.chats[-1]["messages"]
    results = [each["content"] for each in read if each["role"] == "tool"][-4:]
    called = [each.json() for each in fake.requests]
    names = [each["params"]["name"] for each in called if each["method"] == "tools/call"]
    assert {name: names.count(name) for name in HINTS} == {
        "read": 2,
        "wipe": 1,
        "set": 2,
        "mystery": 1,
    }
    done = [name for name, result in zip(HINTS, results, strict=True) if f"did {name}" in result]
    assert done == ["read", "set"]


def is_gone(registry: LocalRegistry, id: str, caller: Caller) -> bool:
    try:
        registry.read_file(id, caller)
    except Exception as problem:
        return "no such file" in str(problem)
    return False
