"""The webhooks of the repositories: create them, read their state, delete them
(https://docs.github.com/en/rest/repos/webhooks).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

from functions.channels.base import NotAllowed
from functions.channels.github.api import GitHubApi, GitHubRejected
from functions.channels.github.events import EVENTS
from functions.channels.webhooks import (
    PATH,
    WebhookRegistration,
    WebhookState,
    require_registrable,
)
from sigil.errors import BackendError, Refused, one_line
from sigil.json_fields import as_integer, as_mapping, as_sequence, as_string
from sigil.protocol import Json

_SOURCE: Final = "github"
URL_CHARACTERS: Final = 2_000
_PERMISSION: Final = (
    "give GITHUB_TOKEN the repository and the permission Webhooks (read and write), or set the"
    " webhook by hand: docs/channels/github.md"
)


class GitHubWebhooks:
    """The webhooks of a channel with this `name`, one in each repository."""

    def __init__(self, api: GitHubApi, repositories: Sequence[str], secret: str, name: str) -> None:
        self._api = api
        self._repositories = repositories
        self._secret = secret
        self._path = PATH.format(channel=name)

    def register(self, webhook: WebhookRegistration) -> None:
        """Create the webhooks, or change those that are there; GitHub sends each a `ping`."""
        require_registrable(webhook, URL_CHARACTERS, "GitHub", _SOURCE)
        config = {"url": webhook.url, "content_type": "json", "secret": self._secret}
        fields = {"active": True, "events": EVENTS, "config": config}
        for repository in self._repositories:
            hooks = list(self._list_own(repository))
            if hooks:
                self._call("PATCH", _name_hook(repository, hooks[0]), fields)
            else:
                self._call("POST", f"/repos/{repository}/hooks", {"name": "web", **fields})

    def read_state(self) -> WebhookState:
        """Return the address, and what GitHub says of the latest delivery in each repository."""
        url = ""
        missing = []
        problems = []
        for repository in self._repositories:
            hooks = list(self._list_own(repository))
            if not hooks:
                missing.append(repository)
                continue
            url = as_string(as_mapping(hooks[0].get("config")).get("url"))
            problems += [f"{repository}: {problem}" for problem in _list_problems(hooks[0])]
        if missing:
            problems.insert(0, f"no webhook in {', '.join(missing)}")
        advice = "set it again: uncaged channel set github --url …" if problems else ""
        return WebhookState(
            one_line(url, URL_CHARACTERS),
            error=one_line("; ".join(problems)),
            error_at=int(time.time()) if problems else 0,
            advice=advice,
            updates=EVENTS if url else (),
            fails=bool(problems),
        )

    def remove(self, *, drop: bool = False) -> None:
        """Delete the webhooks whose address has our path."""
        for repository in self._repositories:
            for hook in self._list_own(repository):
                self._call("DELETE", _name_hook(repository, hook))

    def _list_own(self, repository: str) -> Iterator[Mapping[str, Json]]:
        hooks = self._call("GET", f"/repos/{repository}/hooks", query={"per_page": "100"})
        for hook in map(as_mapping, as_sequence(hooks)):
            url = as_string(as_mapping(hook.get("config")).get("url"))
            try:
                is_own = urlsplit(url).path.endswith(self._path)
            except ValueError:
                continue
            if is_own:
                yield hook

    def _call(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Json:
        try:
            return self._api.call(method, path, body, query)
        except NotAllowed as problem:
            raise Refused(
                "EBLOCKED", problem.message, source=_SOURCE, suggestion=_PERMISSION
            ) from None
        except GitHubRejected as problem:
            if problem.status not in (403, 404):
                raise
            raise Refused(
                problem.code, problem.message, source=_SOURCE, suggestion=_PERMISSION
            ) from None


def _list_problems(hook: Mapping[str, Json]) -> Iterator[str]:
    """Yield what keeps a webhook from bringing us what it should."""
    if hook.get("active") is not True:
        yield "the webhook is switched off"
    if not as_string(as_mapping(hook.get("config")).get("secret")):
        yield "the webhook has no secret, so that all it brings is refused"
    events = set(map(as_string, as_sequence(hook.get("events"))))
    lacking = [] if "*" in events else [each for each in EVENTS if each not in events]
    if lacking:
        yield f"the webhook does not bring {', '.join(lacking)}"
    response = as_mapping(hook.get("last_response"))
    code = as_integer(response.get("code"), 0)
    if code is not None and not 200 <= code < 300:
        yield f"{code} {as_string(response.get('message'))}"


def _name_hook(repository: str, hook: Mapping[str, Json]) -> str:
    id = as_integer(hook.get("id"), 1)
    if not id:
        raise BackendError("EUNAVAILABLE", "GitHub names no webhook", source=_SOURCE)
    return f"/repos/{repository}/hooks/{id}"
