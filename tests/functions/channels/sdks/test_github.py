"""A library for GitHub beside our channel: both read the same requests, and send the same."""

from __future__ import annotations

import json
from itertools import chain
from typing import Any

import pytest

from functions.channels.base import Reply
from functions.channels.github.channel import GitHub
from functions.channels.webhooks import WebhookRegistration
from tests.fakes.github import (
    REPOSITORY,
    SECRET,
    TOKEN,
    GitHubServer,
    deliver,
    make_comment,
)
from tests.fakes.server import Recorded
from tests.functions.channels.github import test_webhook as test_github_webhook
from tests.functions.channels.sdks.sdk import (
    RESTS_ON,
    ask,
    collect_requests,
    describe_requests,
    read_events,
)

pytestmark = [pytest.mark.thorough, pytest.mark.rests_on(*RESTS_ON)]


def test_the_same_requests_are_taken_and_read_alike() -> None:
    contract = test_github_webhook.TestGitHub()
    requests, taken = collect_requests(contract)
    theirs = ask("github", "receive", requests=describe_requests(requests), secret=SECRET)
    assert theirs["taken"] == taken
    events = [*chain(*read_events(contract.open_channel(), requests, taken))]
    assert len(theirs["events"]) == len(events) == 2
    for event, read in zip(events, theirs["events"], strict=True):
        assert event.id == f"github:{read['kind']}:{read['id']}"
        assert event.sender.id == f"github:{read['sender']}"
        place = read["repository"].replace("/", ".")
        assert event.session == f"github:{place}.{read['number']}"
        assert read["text"].endswith(event.text)


def test_the_library_sends_what_our_channel_sends() -> None:
    with GitHubServer() as server, GitHubServer() as second:
        speak(server)
        requests = [
            [request.method, request.path, json.loads(request.body or b"null")]
            for request in server.requests
        ]
        ask("github", "call", base=second.url, token=TOKEN, requests=requests)
        assert list(map(describe, second.requests)) == list(map(describe, server.requests))
        assert second.comments == server.comments
        assert {request.method for request in server.requests} == {"GET", "POST", "PATCH", "DELETE"}


def speak(server: GitHubServer) -> None:
    """Let our channel answer, react, and set its webhook twice."""
    channel = GitHub((REPOSITORY,), TOKEN, SECRET, server.url)
    [event] = channel.receive(deliver("issue_comment", make_comment(1, "@sigil-bot why?"))).events
    accepted = channel.accept(event)
    assert accepted
    channel.show_waiting(accepted)
    reply = Reply(event.session, "Because of **this**.", event.reply_to, key="a")
    channel.send(reply, lambda _: None)
    for path in ("one", "two"):
        channel.webhook.register(WebhookRegistration(f"https://{path}.example.com/webhook/github"))
    channel.close()


def describe(request: Recorded) -> dict[str, Any]:
    """Return what counts of a request."""
    return {
        "method": request.method,
        "path": request.path,
        "authorization": request.headers["authorization"].partition(" ")[2],
        "type": request.headers.get("content-type", "").partition(";")[0],
        "body": json.loads(request.body or b"null"),
    }
