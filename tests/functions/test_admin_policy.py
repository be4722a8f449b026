"""The policy and what waits for an owner, over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from functions.agent.agents.record import AgentRecord, add_agent
from functions.agent.policy.proposals import Proposal
from tests.functions.agent.team.waiting import let_wait
from tests.functions.people import Live

Lives = Callable[..., AbstractContextManager[Live]]


def test_the_policy_is_read_and_proposals_are_decided_with_the_admin_token(live: Lives) -> None:
    with live() as agent:
        server = agent.server
        app = server.runtime.app
        add_agent(app.kv, "main", "alice", AgentRecord("agent", "enabled", 0.0, "http:admin"))
        text = 'format = 1\nrules = ["deny guest call x"]'
        app.policy_versions.write("main", "policy", text, by="terminal:local")
        shown = server.client.get("/policy/main").json()
        assert (shown["version"], shown["text"], shown["closed"]) == (1, text, "")
        assert shown["rules"][0]["line"] == 2
        assert server.client.get("/policy/alice").json()["version"] == 0
        assert server.client.get("/policy/bob").status_code == 404
        for method in ("put", "post", "delete"):
            assert getattr(server.client, method)("/policy/main").status_code in (404, 405)
        for number in (1, 2):
            app.proposals.propose(
                Proposal(
                    id="",
                    digest=f"{number}" * 64,
                    agent="main",
                    session="telegram:66",
                    by="telegram:66",
                    acts=("call pay",),
                    tool="cap_pay",
                    arguments="{}",
                )
            )
        items = server.client.get("/proposals").json()["items"]
        assert [each["state"] for each in items] == ["open", "open"]
        approved = server.post("/proposals/111111/approve").json()
        assert (approved["state"], approved["decided_by"]) == ("approved", "http:admin")
        # 400 where the call was made meanwhile
        assert server.post("/proposals/111111/approve").status_code in (200, 400)
        for _ in range(2):
            assert server.post("/proposals/222222/deny").json()["state"] == "denied"
        assert server.post("/proposals/222222/approve").status_code == 400
        assert server.post("/proposals/333333/approve").status_code == 404
        entries = server.client.get("/ledger").json()["items"]
        decided = [each for each in entries if each["what"] == "proposal"]
        assert [each["facts"]["state"] for each in decided] == ["approved", "denied"]
        assert {each["by"] for each in decided} == {"http:admin"}
        assert [each["facts"]["acts"] for each in decided] == [["call pay"], ["call pay"]]
        told = agent.replies(66, 2)
        assert any("denied proposal 222222" in each for each in told)
        assert any("Approved, proposal 111111" in each for each in told)
        for path in ("/policy/main", "/proposals"):
            headers = {"authorization": "Bearer wrong"}
            assert server.client.get(path, headers=headers).status_code in (401, 403)


def test_the_plan_of_a_teammate_is_answered_over_http_with_words_for_it(live: Lives) -> None:
    with live() as agent:
        server = agent.server
        id = let_wait(server.runtime.app, "mend the lexer")
        (shown,) = server.client.get("/proposals").json()["items"]
        assert (shown["id"], shown["kind"], shown["state"]) == (id, "plan", "open")
        assert shown["text"] == "mend the lexer"
        assert server.client.get("/team").json()["items"][0]["plan"] == id
        path = f"/proposals/{id}/approve"
        refused = server.client.post(path, headers={"authorization": "Bearer wrong"})
        assert refused.status_code in (401, 403)
        for body in ({"words": 1}, {"why": "x"}, []):
            assert server.post(path, json=body).status_code == 400
        approved = server.post(path, json={"words": "but test it"}).json()
        assert (approved["state"], approved["answer"]) == ("approved", "but test it")
        again = server.post(f"/proposals/{id}/deny")
        assert again.status_code == 400
        assert again.json()["error"]["message"] == f"The plan {id} of alice was approved already."
        assert server.post("/proposals/00000000/approve").status_code == 404
