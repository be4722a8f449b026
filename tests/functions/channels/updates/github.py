"""GitHub's updates: a sample has the `event` of the header, and what its payload has beside the
repository and the sender.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from functions.channels.base import PlatformRequest
from tests.fakes.github import (
    ISSUE,
    PERSON_FIELDS,
    PERSON_ID,
    REPOSITORY,
    SECRET,
    TOKEN,
    GitHubServer,
    deliver,
)
from tests.functions.channels.updates.platform import WebhookPlatform

_NUMBERS = count(800_001)


class GitHubUpdates(WebhookPlatform):
    def __init__(self, github: GitHubServer) -> None:
        self._github = github
        self.files = {}
        self.settings = {
            "github_repositories": REPOSITORY,
            "github_token": TOKEN,
            "github_secret": SECRET,
            "github_api": github.url,
            "owners": (f"github:{PERSON_ID}",),
        }

    def sign(self, sample: Any) -> PlatformRequest:
        payload = {
            "repository": {"id": 1, "full_name": REPOSITORY},
            "sender": PERSON_FIELDS,
            **{name: value for name, value in sample.items() if name != "event"},
        }
        written = {"id": next(_NUMBERS), "user": PERSON_FIELDS}
        for name in ("comment", "review", "issue", "pull_request"):
            if name in payload:
                around = ISSUE if name in ("issue", "pull_request") else {}
                payload[name] = {**around, **written, **payload[name]}
        return deliver(sample["event"], payload)

    def list_said(self) -> list[str]:
        return self._github.texts()


@contextmanager
def open_platform() -> Iterator[GitHubUpdates]:
    with GitHubServer() as github:
        yield GitHubUpdates(github)
