"""An answer names files, and each stands where it is named: kept ones of the chat, and those of the
workspace. Nobody names another chat's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from functions.agent.workspace.files import Writer
from functions.wiring import AgentRuntime
from sigil.protocol import Caller
from sigil.registry import LocalRegistry
from sigil.storage.kv import keys
from sigil.wiring import LazyRegistry
from tests.fakes.mcp import FakeMcp
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.people import GUEST
from tests.functions.serving import serving
from tests.pictures import as_image, make_png
from tests.sigil.tool_importer import ToolImporter

PNG = make_png()
QUERY = call(("sigil_query", {"query": "greet somebody"}))


def import_art(runtime: AgentRuntime, fake: FakeMcp, *bodies: bytes) -> None:
    """Let a tool return pictures."""
    registry = runtime.app.registry
    if isinstance(registry, LazyRegistry):
        registry = registry._opener()
    assert isinstance(registry, LocalRegistry)
    ToolImporter(registry).import_tools({"name": "art", "url": fake.address})
    fake.does["greet"] = lambda given: {"content": [as_image(body) for body in bodies]}


def drawing(write: Callable[[list[str]], str], seen: list[str] | None = None) -> list[Any]:
    """A model that calls the tool and then writes an answer with the ids that it was told."""

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        found = re.findall(r'"id":"(f[0-9a-f]{5})"', str(body["messages"][-1]["content"]))
        if seen is not None:
            seen.extend(found)
        return say(write(found))

    return [QUERY, call(("cap_art_greet", {"name": "Ada"})), answer]


def test_a_picture_stands_where_the_answer_names_it_over_http_and_no_other_chat_names_it(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    seen: list[str] = []
    opened = runtime(llm_url=model.url, loopback=True)
    with FakeMcp() as fake, serving(opened) as server:
        import_art(opened, fake, PNG, make_png("two"))
        text = "Before.\n\n![Sales]({0})\n\nAfter, see [the table]({0}) and ![no](file:f00000)."

        def write(ids: list[str]) -> str:
            return text.format(f"file:{ids[1]}")

        model.then(*drawing(write, seen))
        answer = server.post("/chat", json={"session": "a", "text": "draw"}).json()
        second, first = answer["files"]
        assert answer["reply"] == text.format(second["url"])
        assert server.client.get(second["url"]).content == make_png("two")
        assert server.client.get(first["url"]).content == PNG

        # in a later turn, and in another chat
        model.then(say(f"![again](file:{seen[0]})"), say(f"![mine](file:{seen[0]})"))
        again = server.post("/chat", json={"session": "a", "text": "again"}).json()
        assert again["reply"] == f"![again]({first['url']})"
        assert [file["id"] for file in again["files"]] == [first["id"]]
        other = server.post("/chat", json={"session": "b", "text": "show a's"}).json()
        assert other["reply"] == f"![mine](file:{seen[0]})"
        assert "files" not in other


def test_pieces_of_an_answer_leave_in_order_on_telegram_and_once(
    live: Callable[..., Any], model: ScriptedModel
) -> None:
    wide = PNG[:16] + (9_999).to_bytes(4, "big") + (600).to_bytes(4, "big") + PNG[24:]
    with FakeMcp() as fake, live(library="none", loopback=True) as agent:
        import_art(agent.server.runtime, fake, PNG, wide)
        model.then(
            *drawing(
                lambda ids: f"One.\n![a](file:{ids[0]})\nTwo [wide](file:{ids[1]}) here.\n\nThree."
            )
        )
        agent.bot.fail(503, method="sendDocument")
        agent.write("draw", GUEST)
        agent.until(lambda: bool(agent.bot.messages) and agent.bot.messages[-1]["text"] == "Three.")
        sent = [
            request.path.rpartition("/")[2]
            for request in agent.bot.requests
            if request.path.endswith(("sendMessage", "sendPhoto", "sendDocument"))
        ]
        assert sent == [
            "sendMessage",
            "sendPhoto",
            "sendMessage",
            "sendDocument",
            "sendDocument",
            "sendMessage",
        ]
        texts = [each["text"] for each in agent.bot.messages]
        assert texts == ["One.", "Two wide here.", "Three."]


SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><path d="M0 0h9v9z"/></svg>'


def test_files_of_the_workspace_and_the_drawing_itself_go_out(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    opened = runtime(llm_url=model.url)
    spec = {"name": "draw", "description": "draw", "execute": f"return '{SVG}'"}
    spec |= {"schema": {"type": "object", "properties": {}}}
    opened.app.registry.deploy(spec, Caller("main"))
    chat = keys.session_of("main", "http:admin:a")
    own, other = keys.escape("main"), keys.session_of("main", "http:admin:b")
    writer = Writer("http:admin")
    opened.app.open_workspace(own).write("reports/Bericht für Q3.md", b"# Q3", writer)
    opened.app.open_workspace(own).write("reports/lie.png", b"no picture", writer)
    opened.app.open_workspace(chat).write("received/cat.png", PNG, writer)
    opened.app.open_workspace(other).write("received/theirs.txt", b"secret", writer)
    names = ["reports/Bericht für Q3.md", "reports/lie.png", "received/cat.png"]
    closed = ["received/theirs.txt", "../etc/passwd", "reports/none.md", "/etc/passwd"]
    lines = [f"[{name}](file:{name})" for name in (*names, *closed, "picture.svg")]
    model.then(
        call(("sigil_query", {"query": "draw"})),
        call(("cap_draw", {})),
        say("\n\n".join([*lines, "```\n![x](file:reports/lie.png)\n```"])),
    )
    with serving(opened) as server:
        answer = server.post("/chat", json={"session": "a", "text": "show"}).json()
        files = answer["files"]
        read = [server.client.get(file["url"]).content for file in files]
    assert [(file["name"], file["type"]) for file in files] == [
        ("Bericht-für-Q3.md", "text/markdown"),
        ("lie.png", "application/octet-stream"),
        ("cat.png", "image/png"),
        ("picture.svg", "image/svg+xml"),
    ]
    assert read == [b"# Q3", b"no picture", PNG, SVG.encode()]
    for name in closed:
        assert f"[{name}](file:{name})" in answer["reply"]
    assert "```\n![x](file:reports/lie.png)\n```" in answer["reply"]
    assert "hands it out as SVG" in str(model.bodies[-1])
    assert "file:" not in str(model.bodies[0]["messages"])
