"""People talk to the agent on GitHub: below issues and in reviews."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from functions.cli.doctor import check_platforms
from functions.settings import Settings
from functions.wiring import AgentRuntime
from tests.fakes.github import (
    BOT,
    PERSON,
    PERSON_FIELDS,
    PERSON_ID,
    REPOSITORY,
    SECRET,
    TOKEN,
    GitHubServer,
    deliver,
    make_comment,
)
from tests.fakes.model import ScriptedModel, say
from tests.functions.cli.channel_command import RunChannel
from tests.functions.serving import Served, serving
from tests.machine import within

SETTINGS: dict[str, Any] = {
    "github_repositories": REPOSITORY,
    "github_token": TOKEN,
    "github_secret": SECRET,
}


@dataclass
class Repository:
    """A served agent, and the GitHub that people write to it with."""

    server: Served
    github: GitHubServer

    def post(self, payload: dict[str, Any], event: str = "issue_comment") -> int:
        request = deliver(event, payload)
        return self.server.post(
            "/webhook/github", content=request.body, headers=dict(request.headers)
        ).status_code

    def read(self, count: int) -> list[str]:
        """Return what people see of our comments, as soon as that are `count`."""
        with self.github.changed:
            assert self.github.changed.wait_for(
                lambda: len(self.github.texts()) >= count, within(20)
            ), self.github.texts()
        return self.github.texts()


@pytest.fixture
def github() -> Iterator[GitHubServer]:
    with GitHubServer() as server:
        yield server


@pytest.fixture
def repository(
    runtime: Callable[..., AgentRuntime], github: GitHubServer, model: ScriptedModel
) -> Iterator[Repository]:
    owners = (f"github:{PERSON_ID}",)
    made = runtime(llm_url=model.url, github_api=github.url, owners=owners, **SETTINGS)
    with serving(made) as server:
        yield Repository(server, github)


def test_a_mention_is_answered_once_below_its_issue(
    repository: Repository, model: ScriptedModel
) -> None:
    model.then(say("Thanks @octocat, see `a.py`"), say("Again"))
    for _ in range(2):
        assert repository.post(make_comment(1, f"@{BOT} why?")) == 200
    repository.read(1)
    repository.post(make_comment(2, "/uncaged and now?"))
    assert repository.read(2) == ["Thanks @\u200boctocat, see `a.py`", "Again"]
    asked = str(model.chats[0]["messages"][-1]["content"])
    assert PERSON in asked
    assert "It does not start" in asked
    with repository.github.changed:
        assert repository.github.changed.wait_for(
            lambda: not repository.github.reactions, within(20)
        )
    assert len(repository.github.shown) == 2


def test_only_those_who_may_talk_and_name_the_agent_are_answered(
    repository: Repository, model: ScriptedModel
) -> None:
    stranger = {"id": 77, "login": "mallory", "type": "User"}
    repository.post(make_comment(1, f"@{BOT} give me everything", sender=stranger))
    repository.post(make_comment(2, "/uncaged pair", sender=stranger))
    repository.post(make_comment(3, "what do you think?"))
    repository.post(make_comment(4, "@alice look"))
    repository.post(make_comment(5, f"@{BOT} hi", sender=PERSON_FIELDS | {"type": "Bot"}))
    repository.post(make_comment(6, "/uncaged whoami"))
    [answer] = repository.read(1)
    assert f"github:{PERSON_ID}" in answer
    assert model.chats == []
    with repository.github.changed:
        assert repository.github.changed.wait_for(
            lambda: not repository.github.reactions, within(20)
        )


def test_an_owner_lets_somebody_in_by_their_id(
    repository: Repository, model: ScriptedModel
) -> None:
    model.then(say("Welcome"))
    colleague = {"id": 78, "login": "alice", "type": "User"}
    repository.post(make_comment(1, "/uncaged pair github:78 member"))
    assert "`github:78` may talk to me now" in repository.read(1)[0]
    repository.post(make_comment(2, f"@{BOT} hi", sender=colleague))
    assert repository.read(2)[1] == "Welcome"


def test_a_reminder_and_all_that_is_said_about_it_names_what_can_be_typed(
    repository: Repository,
) -> None:
    repository.post(make_comment(1, "/uncaged remind in 1 second call Bob"))
    made, said = repository.read(2)
    assert "`/uncaged wakeups drop 1` takes it back" in made
    assert said.startswith("call Bob\n\n- Done: `/uncaged done ")
    repository.post(make_comment(2, said.rpartition("Done: `")[2].partition("`")[0]))
    assert repository.read(3)[2] == "Done: “call Bob”."


def test_a_forged_request_reaches_nobody(repository: Repository, model: ScriptedModel) -> None:
    request = deliver("issue_comment", make_comment(1, "/uncaged halt"))
    for body, headers in ((request.body + b" ", request.headers), (request.body, {})):
        answer = repository.server.post("/webhook/github", content=body, headers=dict(headers))
        assert answer.status_code == 401
    assert model.chats == []


def test_an_owner_comes_from_nothing_to_the_first_answer(
    runtime: Callable[..., AgentRuntime],
    github: GitHubServer,
    model: ScriptedModel,
    monkeypatch: pytest.MonkeyPatch,
    run_channel: RunChannel,
) -> None:
    monkeypatch.setenv("GITHUB_API", github.url)
    monkeypatch.setenv("GITHUB_REPOSITORIES", REPOSITORY)
    code, _, err = run_channel("set", "github", "--url", "https://a.example")
    assert (code, "GITHUB_TOKEN" in err) == (2, True)
    code, secret, _ = run_channel("set", "github", "--make-secret")
    assert code == 0
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    monkeypatch.setenv("GITHUB_SECRET", secret.strip())
    code, out, _ = run_channel("set", "github", "--url", "https://a.example")
    assert (code, "https://a.example/webhook/github" in out) == (0, True)
    [hook] = github.hooks
    owners = (f"github:{PERSON_ID}",)
    settings = {**SETTINGS, "github_secret": hook.fields["config"]["secret"]}
    made = runtime(llm_url=model.url, github_api=github.url, owners=owners, **settings)
    model.then(say("Here I am"))
    with serving(made) as server:
        request = deliver("issue_comment", make_comment(1, f"@{BOT} hi"), secret.strip())
        headers = dict(request.headers)
        server.post("/webhook/github", content=request.body, headers=headers)
        assert Repository(server, github).read(1) == ["Here I am"]
    assert run_channel("status", "github")[0] == 0
    assert check_platforms(Settings.read()) == f"github: the bot @{BOT} answers, its webhook works"
    assert run_channel("unset", "github")[0] == 0
    assert github.hooks == []
    rows = json.loads(run_channel("list", "--json")[1])
    row = next(each for each in rows if each["platform"] == "github")
    assert (row["state"], row["missing"]) == ("ready", [])
