"""The skills over HTTP, with the admin token."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from functions.agent.agents.record import AgentRecord, add_agent
from tests.functions.agent.skills.examples import REPORT, make_text
from tests.functions.people import Live

Lives = Callable[..., AbstractContextManager[Live]]
NAME = "quarterly-report"


def test_skills_are_written_read_pinned_and_removed(live: Lives) -> None:
    with live() as agent:
        client = agent.server.client
        app = agent.server.runtime.app
        add_agent(app.kv, "main", "alice", AgentRecord("agent", "enabled", 0.0, "http:admin"))
        assert client.get("/skills").json() == {"items": []}
        body = {"text": REPORT, "files": {"references/a.md": "Überschuß"}}
        written = client.put(f"/skills/{NAME}", json=body).json()
        assert (written["name"], written["version"], written["files"]) == (NAME, 1, 1)
        assert client.patch(f"/skills/{NAME}", json={"pinned": True}).json()["pinned"] is True
        (item,) = client.get("/skills").json()["items"]
        assert (item["name"], item["pinned"], item["by"]) == (NAME, True, "http:admin")
        shown = client.get(f"/skills/{NAME}").json()
        assert shown["text"] == REPORT.strip()
        assert shown["files"] == [{"path": "references/a.md", "bytes": 11}]
        assert shown["tools"] == ["currency-rates", "text-diff", "Bash"]
        text = make_text("tea", "How tea is made.")
        assert client.put("/skills/tea?agent=alice", json={"text": text}).status_code == 200
        assert [row["name"] for row in client.get("/skills?agent=alice").json()["items"]] == ["tea"]
        removed = client.delete(f"/skills/{NAME}").json()
        assert removed == {"removed": NAME, "version": 2}
        assert client.get("/skills").json() == {"items": []}
        assert client.get(f"/skills/{NAME}").status_code == 404

        refused: list[tuple[str, Any]] = [
            (f"/skills/{NAME}", {"text": text}),  # of another name
            ("/skills/tea", {"text": 7}),
            ("/skills/tea", {"text": text, "more": 1}),
            ("/skills/tea", {"text": text, "files": {"../a": "x"}}),
            ("/skills/tea", {"text": text, "files": {"a": 7}}),
            ("/skills/tea?agent=bob", {"text": text}),
            ("/skills/tea?agent=../x", {"text": text}),
            ("/skills/tea", {"text": "Boil."}),
        ]
        for path, fields in refused:
            assert client.put(path, json=fields).status_code in (400, 404), (path, fields)
        for fields in ({}, {"pinned": 1}, {"pinned": True, "text": "x"}):
            assert client.patch(f"/skills/{NAME}", json=fields).status_code == 400
        assert client.get("/skills").json() == {"items": []}
        headers = {"authorization": "Bearer wrong"}
        for method, path in (("GET", "/skills"), ("DELETE", "/skills/tea"), ("PUT", "/skills/tea")):
            answer = client.request(method, path, headers=headers, json={"text": text})
            assert answer.status_code in (401, 403)
