"""A registry behind HTTP, with the verbs, values and errors of one in this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from sigil.admin_protocol import Rows
from sigil.client import admin, responses
from sigil.client.transport import Line, Request
from sigil.http import wire
from sigil.protocol import Caller, Deployed, Found, Glimpse, Json, Ran, Ref
from sigil.strict_json import dumps

if TYPE_CHECKING:
    import httpx

QUERY_CHARACTERS, QUERY_MOST = 2_000, 50
RUN_SECONDS, DEPLOY_SECONDS = 40.0, 180.0


class RemoteRegistry:
    """Sigil over its HTTP API (docs/sigil.md). Every verb raises what the registry in this process
    would.

    `url`: where the API lives, with a path when it is mounted under one. `token`: its bearer token,
    sent to that place alone: redirects are not followed. `client`: an httpx client to use instead
    of an own one.
    """

    def __init__(self, url: str, token: str, *, client: httpx.Client | None = None) -> None:
        self._line = Line(url, token, client)
        self.granting = admin.Granting(self._line)
        self.secrets = admin.Secrets(self._line)
        self.importing = admin.Importing(self._line)
        self.keys = admin.Keys(self._line)
        self.log = admin.Log(self._line)

    def query(self, text: str, caller: Caller, *, limit: int = 3) -> Found:
        """See `Registry.query`."""
        query = {
            "q": _sendable(text[:QUERY_CHARACTERS]),
            "mode": "find",
            "limit": str(min(max(limit, 1), QUERY_MOST)),
        }
        return wire.read_found(
            self._line.send(Request("GET", "/_api/query", query=query), caller).body
        )

    def explore(self, text: str, caller: Caller, *, limit: int = 20) -> tuple[Glimpse, ...]:
        """See `Shelved.explore`."""
        query = {
            "q": _sendable(text[:QUERY_CHARACTERS]),
            "mode": "explore",
            "limit": str(min(max(limit, 1), QUERY_MOST)),
        }
        return wire.read_glimpses(
            self._line.send(Request("GET", "/_api/query", query=query), caller).body
        )

    def inspect(self, ref: str, caller: Caller) -> dict[str, Json]:
        """See `Registry.inspect`."""
        return responses.one(
            responses.Detail,
            self._line.send(Request("GET", f"/_api/inspect/{_path(ref)}"), caller).body,
        )

    def deploy(self, spec: Mapping[str, Json], caller: Caller) -> Deployed:
        """See `Registry.deploy`."""
        answer = self._line.send(
            Request("POST", "/_api/deploy", body=dumps(dict(spec)), seconds=DEPLOY_SECONDS), caller
        )
        return wire.read_deployed(answer.body, created=answer.status == 201)

    def run(self, ref: str, arguments: Mapping[str, Json], caller: Caller) -> Ran:
        """See `Registry.run`."""
        path, body = f"/run/{_path(ref)}", dumps(dict(arguments), source=ref)
        return wire.read_ran(
            self._line.send(
                Request("POST", path, body=body, seconds=RUN_SECONDS, accept=wire.REPORT), caller
            ).body
        )

    def list(self, caller: Caller) -> Iterator[dict[str, Json]]:
        """See `Shelved.list`."""
        return admin.pages(self._line, "/_api/list", caller, responses.Listed)

    def remove(self, name: str, caller: Caller) -> None:
        """See `Shelved.remove`."""
        self._line.send(Request("DELETE", "/_api/remove", query={"name": _sendable(name)}), caller)

    def status(self, caller: Caller) -> dict[str, Json]:
        """See `Shelved.status`."""
        return responses.one(
            responses.Status, self._line.send(Request("GET", "/_api/status"), caller).body
        )

    def versions(self, name: str, caller: Caller) -> Rows:
        """See `Versioned.versions`."""
        return responses.page(
            responses.Version,
            self._line.send(Request("GET", f"/_api/versions/{_path(name)}"), caller).body,
        )[0]

    def history(self, name: str, caller: Caller) -> Rows:
        """See `Versioned.history`."""
        answer = self._line.send(Request("GET", f"/_api/versions/{_path(name)}"), caller)
        return responses.page(responses.Step, answer.body, "history")[0]

    def diff(
        self, name: str, caller: Caller, older: int | None = None, newer: int | None = None
    ) -> dict[str, Json]:
        """See `Versioned.diff`."""
        query = {
            side: str(number)
            for side, number in (("from", older), ("to", newer))
            if number is not None
        }
        return responses.one(
            responses.Differences,
            self._line.send(Request("GET", f"/_api/diff/{_path(name)}", query=query), caller).body,
        )

    def rollback(self, name: str, caller: Caller, version: int | None = None) -> dict[str, Json]:
        """See `Versioned.rollback`."""
        return responses.one(
            responses.Changed,
            admin.post(
                self._line, "/_api/rollback", {"name": name, "version": version}, caller
            ).body,
        )

    def yank(self, ref: str, caller: Caller, *, undo: bool = False) -> dict[str, Json]:
        """See `Versioned.yank`."""
        return responses.one(
            responses.Changed,
            admin.post(self._line, "/_api/yank", {"ref": ref, "undo": undo}, caller).body,
        )

    def publish(
        self, name: str, caller: Caller, *, session: str = "", replace: bool = False
    ) -> Deployed:
        """See `Moved.publish`."""
        answer = admin.post(
            self._line,
            "/_api/publish",
            {"name": name, "session": session, "replace": replace},
            caller,
        )
        return wire.read_deployed(answer.body, created=answer.status == 201)

    def export(self, refs: Sequence[str], caller: Caller) -> bytes:
        """See `Moved.export`."""
        body = dumps({"refs": [*refs]})
        return self._line.send(
            Request("POST", "/_api/export", body=body, seconds=DEPLOY_SECONDS, accept="*/*"), caller
        ).body

    def import_bundle(
        self, body: bytes, caller: Caller, *, public: bool = False, replace: bool = False
    ) -> Sequence[Deployed]:
        """See `Moved.import_bundle`."""
        query = {name: "1" for name, wanted in (("public", public), ("replace", replace)) if wanted}
        request = Request(
            "POST",
            "/_api/import",
            query=query,
            body=body,
            seconds=DEPLOY_SECONDS,
            kind="application/zip",
        )
        return wire.read_imported(self._line.send(request, caller).body)

    def health(self) -> dict[str, Json]:
        """What the registry says of itself; no token is sent."""
        return responses.one(
            responses.Anything, self._line.send(Request("GET", "/_health"), None).body
        )

    def close(self) -> None:
        """Give the connections back."""
        self._line.close()


def _path(ref: str) -> str:
    """`ref` as a part of a path; `UsageError` for what can be no capability's name."""
    Ref.parse(ref)
    return quote(ref, safe="@:/")


def _sendable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
