"""What GitHub is sent, and what it is asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from functions.channels.base import AttachedFile, Busy, Reply
from functions.channels.github.channel import GitHub
from functions.channels.github.events import EVENTS
from functions.channels.render.github import LIMIT, render_comments
from functions.channels.webhooks import WebhookRegistration
from sigil.errors import BackendError, Refused, UsageError
from tests.fakes.github import (
    BOT,
    BOT_ID,
    COMMENT_CHARACTERS,
    NOBODY,
    PERSON_FIELDS,
    REPOSITORY,
    SECRET,
    TOKEN,
    Comment,
    GitHubServer,
    deliver,
    make_comment,
)
from tests.tables import each_row

SESSION = "github:octocat.hello.world.7"
PLACE = f"{REPOSITORY}/issues/7"
POST = f"POST /repos/{REPOSITORY}/issues/7/comments"
URL = "https://bot.example.com/webhook/github"


@pytest.fixture
def github() -> Iterator[GitHubServer]:
    with GitHubServer() as server:
        yield server


@pytest.fixture
def channel(github: GitHubServer) -> Iterator[GitHub]:
    opened = GitHub((REPOSITORY,), TOKEN, SECRET, github.url)
    yield opened
    opened.close()


def say(channel: GitHub, text: str, **fields: Any) -> list[int]:
    """Send a reply; the numbers of parts that left and were followed by others."""
    sent: list[int] = []
    given = {"to": "comment:600001", "key": "0a" * 16, **fields}
    channel.send(Reply(given.pop("session", SESSION), text, **given), sent.append)
    return sent


@each_row(
    "markdown",
    [
        "@alice and @org/team",
        r"\@alice",
        "&#64;alice &#x40;alice &commat;alice",
        "_@alice_ **@alice** [@alice](https://a.example) foo**@alice**",
        r"\`@alice`",
        '<a title="`">@alice</a>`',
        "<div>\n```\n@alice\n```\n</div>",
        "- ` \n- @alice `",
        "a`\n@alice\n`b",
        "x\n\n    ```\n\n@alice",
        "`x\ny` @alice `z`",
        "| a ` b | @alice ` |\n|---|---|\n| 1 | 2 |",
        "[^1]: a `b\n@alice `c",
        "[`]: /address\n@alice `",
        "> " * 30 + "```\n@alice",
        "1. x\n   <div>\n   ```\n   @alice\n   ```",
        "x\n\n    @alice",
    ],
)
def test_nobody_is_mentioned(markdown: str) -> None:
    [comment] = render_comments(markdown)
    assert not NOBODY.search(comment)
    for entity in ("&#64;", "&#x40;", "&commat;"):
        assert entity not in comment.replace(f"&amp;{entity[1:]}", "")


@each_row(
    "markdown",
    [
        "```py\n@pytest.fixture\ndef f(): ...\n```",
        "```java\n@Override\npublic List<String> list() {}\n```",
        "1. So:\n   ```py\n   @dataclass\n   class X: ...\n   ```\n2. `npm i @types/node` for `List<T>`",
        "> ```py\n> @dataclass\n> ```",
        "<details>\n\n`@alice`\n\n</details>",
        "Use `@pytest.fixture` here",
        "Write to me@example.com",
        "# Title\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- [ ] task",
    ],
)
def test_all_else_stays_as_it_was_written(markdown: str) -> None:
    assert render_comments(markdown) == [markdown]


def test_a_long_answer_is_several_comments(channel: GitHub, github: GitHubServer) -> None:
    text = "\n\n".join(f"{number} " + "@x word " * 1_000 for number in range(12))
    assert say(channel, text) == [1]
    assert all(len(comment.body) <= COMMENT_CHARACTERS for comment in github.comments)
    assert not any(NOBODY.search(comment.text) for comment in github.comments)
    github.comments.clear()
    say(channel, "y" * (4 * LIMIT), key="0b" * 16)
    assert len(github.comments) == 3
    assert "takes no files" in github.texts()[-1]


def test_files_are_told_of_in_words(channel: GitHub, github: GitHubServer) -> None:
    file = AttachedFile("report.pdf", "application/pdf", lambda: b"%PDF")
    say(channel, "Look:", files=(file,))
    assert github.texts()[0] == "Look:"
    assert "report.pdf" in github.texts()[1]


def test_an_answer_in_a_review_stands_in_its_thread(channel: GitHub, github: GitHubServer) -> None:
    say(channel, "Yes", to="review:700:600")
    [comment] = github.comments
    assert (comment.place, comment.thread) == (f"{REPOSITORY}/pulls/7", 600)


def test_a_comment_of_unknown_fate_is_not_sent_twice(channel: GitHub, github: GitHubServer) -> None:
    github.lose(POST)
    with pytest.raises(BackendError):
        say(channel, "once")
    github.comments[:0] = [Comment(n, PLACE, "chatter", author=1) for n in range(150)]
    # nobody remembers after a crash
    again = GitHub((REPOSITORY,), TOKEN, SECRET, github.url)
    say(again, "once")
    again.close()
    assert github.texts() == ["once"]


def test_nobody_else_can_mark_a_reply_as_sent(channel: GitHub, github: GitHubServer) -> None:
    say(channel, "one")
    github.comments[0].author = 1
    say(channel, "one")
    assert [comment.author for comment in github.comments] == [1, BOT_ID]


def test_what_left_before_is_not_sent_again(channel: GitHub, github: GitHubServer) -> None:
    text = "\n\n".join(f"{number} " + "word " * 5_000 for number in range(4))
    say(channel, text, start=1)
    assert [comment.text[0] for comment in github.comments] == ["2"]


@pytest.mark.parametrize(
    ("status", "message", "headers", "wait"),
    [
        (403, "You have exceeded a secondary rate limit", {}, 60),
        (403, "slow", {"retry_after": "7"}, 7),
        (429, "", {"retry_after": "9"}, 9),
        (403, "", {"x_ratelimit_remaining": "0", "x_ratelimit_reset": "5"}, 1),
    ],
)
def test_a_limit_is_a_slowdown(
    status: int,
    message: str,
    headers: dict[str, str],
    wait: float,
    channel: GitHub,
    github: GitHubServer,
) -> None:
    github.fail(POST, status, message, **headers)
    with pytest.raises(Busy) as busy:
        say(channel, "hi")
    assert busy.value.retry_after == wait


@pytest.mark.parametrize(
    ("status", "code"),
    [(401, "EUNAVAILABLE"), (403, "EBLOCKED"), (404, "EBLOCKED"), (410, "EBLOCKED"),
     (500, "EUNAVAILABLE")],
)  # fmt: skip
def test_refusals_say_whether_to_try_again(
    status: int, code: str, channel: GitHub, github: GitHubServer
) -> None:
    github.fail(POST, status, "no")
    with pytest.raises((BackendError, Refused)) as problem:
        say(channel, "hi")
    assert problem.value.code == code


def test_a_permission_that_lacks_is_the_owners_to_give(
    channel: GitHub, github: GitHubServer
) -> None:
    github.fail(POST, 403, "Resource not accessible by personal access token")
    with pytest.raises(BackendError) as problem:
        say(channel, "hi")
    assert (problem.value.code, "permissions" in problem.value.suggestion) == ("EUNAVAILABLE", True)
    say(channel, "hi")
    assert github.texts() == ["hi"]


def test_an_answer_whose_thread_is_gone_stands_below_the_pull_request(
    channel: GitHub, github: GitHubServer
) -> None:
    thread = f"POST /repos/{REPOSITORY}/pulls/7/comments/600001"
    answer = {"to": "review:600002:600001"}
    github.fail(thread, 404, "Not Found", times=2)
    github.lose(POST)
    with pytest.raises(BackendError):
        say(channel, "hi", **answer)
    say(channel, "hi", **answer)
    assert [(each.text, each.place, each.thread) for each in github.comments] == [("hi", PLACE, 0)]


def test_words_that_github_does_not_take_become_a_note(
    channel: GitHub, github: GitHubServer
) -> None:
    say(channel, "forbidden")
    [note] = github.texts()
    assert "did not take this part" in note


def test_other_sessions_are_refused(channel: GitHub) -> None:
    for session in ("github:octocat.7", "github:a...7", "telegram:5"):
        with pytest.raises(UsageError):
            say(channel, "hi", session=session)


def test_only_what_names_us_is_for_us(channel: GitHub) -> None:
    def accept(text: str, **fields: Any) -> str | None:
        payload = make_comment(1, text, **fields)
        [event] = channel.receive(deliver("issue_comment", payload)).events
        accepted = channel.accept(event)
        return accepted.text if accepted and not accepted.addressed else None

    assert accept(f"@{BOT} /status") == "/status"
    assert accept(f"@{BOT.upper()}: why?") == "why?"
    assert accept(f"@alice and @{BOT}") == f"@alice and @{BOT}"
    assert accept("/uncaged status") == "/status"
    assert accept("@alice look") is None
    # our own account, whoever writes with it
    assert accept(f"@{BOT} again", sender=PERSON_FIELDS | {"id": BOT_ID}) is None


def test_a_reaction_shows_that_an_answer_comes(channel: GitHub, github: GitHubServer) -> None:
    [event] = channel.receive(deliver("issue_comment", make_comment(1, f"@{BOT}"))).events
    assert channel.show_waiting(event) == 0
    channel.show_waiting(event)
    assert github.shown == [f"/repos/{REPOSITORY}/issues/comments/600001"]
    say(channel, "here")
    assert github.reactions == {}
    [other] = channel.receive(deliver("issue_comment", make_comment(2, f"@{BOT}"))).events
    channel.show_waiting(other)
    channel.end_waiting(other)
    assert github.reactions == {}


def test_webhooks_are_set_in_every_repository(github: GitHubServer) -> None:
    channel = GitHub((REPOSITORY, "octocat/second"), TOKEN, SECRET, github.url)
    webhook = channel.webhook
    assert not webhook.read_state().works
    for _ in range(2):
        webhook.register(WebhookRegistration(URL))
    assert [hook.repository for hook in github.hooks] == [REPOSITORY, "octocat/second"]
    fields = github.hooks[0].fields
    assert fields["config"] == {"url": URL, "content_type": "json", "secret": SECRET}
    assert "issue_comment" in fields["events"]
    state = webhook.read_state()
    assert (state.url, state.works) == (URL, True)
    github.hooks[1].fields["last_response"] = {"code": 401, "message": "Invalid HTTP Response"}
    state = webhook.read_state()
    assert (state.works, "octocat/second: 401" in state.error) == (False, True)
    first = github.hooks[0].fields
    first["config"] = {"url": URL, "content_type": "form", "insecure_ssl": "0"}
    first |= {"active": False, "events": ["push", *EVENTS[1:]]}
    for wrong in ("switched off", "no secret", "does not bring issue_comment;", "octocat/second"):
        assert wrong in webhook.read_state().error
    first["config"] = {"url": "https://other.example/hook"}
    assert f"no webhook in {REPOSITORY}" in webhook.read_state().error
    webhook.remove()
    assert [hook.repository for hook in github.hooks] == [REPOSITORY]
    github.fail("GET /repos", 403, "Resource not accessible by personal access token")
    with pytest.raises(Refused) as problem:
        webhook.register(WebhookRegistration(URL))
    assert "Webhooks" in problem.value.suggestion
    channel.close()
