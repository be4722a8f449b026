"""Use a registry over HTTP, with the verbs, values and errors of one in this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote

from sigil.access.sign_in import SignIn
from sigil.access.tokens import TokenRequest
from sigil.client import responses
from sigil.client.responses import RowReader, foreign_answer
from sigil.client.transport import ApiRequest, ApiTransport
from sigil.protocol import Caller, Deployed, Found, Glimpse, Json, Ran, Ref
from sigil.rows import (
    REPORT_TYPE,
    ActivationRow,
    AuditCheckRow,
    AuditRow,
    ChangedVersionRow,
    DetailRow,
    GrantRow,
    HealthRow,
    ListRow,
    NewTokenRow,
    PermissionRequestRow,
    RevokedRow,
    SecretRow,
    ServerToolRow,
    StatusRow,
    StoredSecretRow,
    TokenRow,
    TokenUseRow,
    VersionDiffRow,
    VersionRow,
)
from sigil.storage.stored import row
from sigil.strict_json import dumps

if TYPE_CHECKING:
    import httpx

QUERY_CHARACTERS = 2_000
QUERY_MOST = 50
RUN_SECONDS = 40.0
DEPLOY_SECONDS = 180.0
SERVER_TOOLS_SECONDS = 40.0
PAGES_MOST = 10_000
CURSOR_CHARACTERS = 4_000
RowT = TypeVar("RowT")


class RemoteRegistry:
    """Sigil over its HTTP API (docs/sigil.md). Every verb raises what the registry in this process
    would.

    `url`: where the API lives, with a path when it is mounted under one. `token`: its bearer token,
    sent to that place alone: redirects are not followed. `client`: an httpx client to use instead
    of an own one.
    """

    def __init__(self, url: str, token: str, *, client: httpx.Client | None = None) -> None:
        self._transport = ApiTransport(url, token, client)
        self.granting = RemoteGrants(self._transport)
        self.secrets = RemoteSecrets(self._transport)
        self.importing = RemoteServers(self._transport)
        self.keys = RemoteTokens(self._transport)
        self.log = RemoteAudit(self._transport)

    def query(self, text: str, caller: Caller, *, limit: int = 3) -> Found:
        """See `Registry.query`."""
        return responses.read_found(self._search("find", text, caller, limit))

    def explore(self, text: str, caller: Caller, *, limit: int = 20) -> tuple[Glimpse, ...]:
        """See `CapabilityAdmin.explore`."""
        return responses.read_glimpses(self._search("explore", text, caller, limit))

    def inspect(self, ref: str, caller: Caller) -> DetailRow:
        """See `Registry.inspect`."""
        answer = self._transport.get(f"/_api/inspect/{_quote_ref(ref)}", caller)
        return responses.DETAIL.read(answer.body)

    def deploy(
        self, spec: Mapping[str, Json], caller: Caller, *, replace: bool = False
    ) -> Deployed:
        """See `Registry.deploy`."""
        query = {"replace": "1"} if replace else {}
        request = ApiRequest(
            "POST", "/_api/deploy", query=query, body=dumps(dict(spec)), seconds=DEPLOY_SECONDS
        )
        answer = self._transport.send(request, caller)
        return responses.read_deployed(answer.body, created=answer.status == 201)

    def run(self, ref: str, arguments: Mapping[str, Json], caller: Caller) -> Ran:
        """See `Registry.run`."""
        path = f"/run/{_quote_ref(ref)}"
        body = dumps(dict(arguments), source=ref)
        answer = self._transport.post(path, body, caller, seconds=RUN_SECONDS, accept=REPORT_TYPE)
        return responses.read_ran(answer.body)

    def read_file(self, id: str, caller: Caller) -> bytes:
        """See `Registry.read_file`."""
        return self._transport.get(f"/_api/files/{quote(id, safe='')}", caller).body

    def list(self, caller: Caller) -> Iterator[ListRow]:
        """See `CapabilityAdmin.list`."""
        return read_pages(self._transport, "/_api/list", caller, responses.LISTED)

    def remove(self, name: str, caller: Caller) -> None:
        """See `CapabilityAdmin.remove`."""
        self._transport.delete("/_api/remove", caller, {"name": _replace_surrogates(name)})

    def status(self, caller: Caller) -> StatusRow:
        """See `CapabilityAdmin.status`."""
        return responses.STATUS.read(self._transport.get("/_api/status", caller).body)

    def versions(self, name: str, caller: Caller) -> Sequence[VersionRow]:
        """See `VersionVerbs.versions`."""
        answer = self._transport.get(f"/_api/versions/{_quote_ref(name)}", caller)
        return responses.VERSION.read_page(answer.body)[0]

    def history(self, name: str, caller: Caller) -> Sequence[ActivationRow]:
        """See `VersionVerbs.history`."""
        answer = self._transport.get(f"/_api/versions/{_quote_ref(name)}", caller)
        return responses.ACTIVATION.read_page(answer.body, "history")[0]

    def diff(
        self, name: str, caller: Caller, older: int | None = None, newer: int | None = None
    ) -> VersionDiffRow:
        """See `VersionVerbs.diff`."""
        query = {}
        if older is not None:
            query["from"] = str(older)
        if newer is not None:
            query["to"] = str(newer)
        answer = self._transport.get(f"/_api/diff/{_quote_ref(name)}", caller, query)
        return responses.DIFFERENCE.read(answer.body)

    def rollback(self, name: str, caller: Caller, version: int | None = None) -> ChangedVersionRow:
        """See `VersionVerbs.rollback`."""
        body = dumps({"name": name, "version": version})
        answer = self._transport.post("/_api/rollback", body, caller)
        return responses.CHANGED_VERSION.read(answer.body)

    def yank(self, ref: str, caller: Caller, *, undo: bool = False) -> ChangedVersionRow:
        """See `VersionVerbs.yank`."""
        body = dumps({"ref": ref, "undo": undo})
        return responses.CHANGED_VERSION.read(self._transport.post("/_api/yank", body, caller).body)

    def publish(
        self, name: str, caller: Caller, *, session: str = "", replace: bool = False
    ) -> Deployed:
        """See `TransferVerbs.publish`."""
        body = dumps({"name": name, "session": session, "replace": replace})
        answer = self._transport.post("/_api/publish", body, caller)
        return responses.read_deployed(answer.body, created=answer.status == 201)

    def export(self, refs: Sequence[str], caller: Caller) -> bytes:
        """See `TransferVerbs.export`."""
        body = dumps({"refs": [*refs]})
        answer = self._transport.post(
            "/_api/export", body, caller, seconds=DEPLOY_SECONDS, accept="*/*"
        )
        return answer.body

    def import_bundle(
        self, body: bytes, caller: Caller, *, public: bool = False, replace: bool = False
    ) -> Sequence[Deployed]:
        """See `TransferVerbs.import_bundle`."""
        query = {}
        if public:
            query["public"] = "1"
        if replace:
            query["replace"] = "1"
        request = ApiRequest(
            "POST",
            "/_api/import",
            query=query,
            body=body,
            seconds=DEPLOY_SECONDS,
            content_type="application/zip",
        )
        return responses.read_imported(self._transport.send(request, caller).body)

    def health(self) -> HealthRow:
        """Return what the registry says of itself; no token is sent."""
        answer = self._transport.send(ApiRequest("GET", "/_health"), None)
        return responses.HEALTH.read(answer.body)

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def _search(self, mode: str, text: str, caller: Caller, limit: int) -> bytes:
        query = {
            "q": _replace_surrogates(text[:QUERY_CHARACTERS]),
            "mode": mode,
            "limit": str(min(max(limit, 1), QUERY_MOST)),
        }
        return self._transport.get("/_api/query", caller, query).body


class RemoteGrants:
    """See `sigil.admin_protocol.GrantVerbs`."""

    def __init__(self, transport: ApiTransport) -> None:
        self._transport = transport

    def find_request(self, ref: str, caller: Caller) -> PermissionRequestRow:
        answer = self._transport.get(f"/_api/grants/{_quote_ref(ref)}", caller)
        return responses.PERMISSION_REQUEST.read(answer.body)

    def grant(self, ref: str, caller: Caller, digest: str = "") -> PermissionRequestRow:
        body = dumps({"ref": ref, "digest": digest})
        answer = self._transport.post("/_api/grant", body, caller)
        return responses.PERMISSION_REQUEST.read(answer.body)

    def revoke(self, name: str, caller: Caller, permission: str = "") -> RevokedRow:
        body = dumps({"name": name, "permission": permission})
        return responses.REVOKED.read(self._transport.post("/_api/revoke", body, caller).body)

    def rows(self, caller: Caller, after: str = "") -> Iterator[GrantRow]:
        return read_pages(self._transport, "/_api/grants", caller, responses.GRANT, after)


class RemoteSecrets:
    """See `sigil.admin_protocol.SecretVerbs`."""

    def __init__(self, transport: ApiTransport) -> None:
        self._transport = transport

    def set(
        self, name: str, value: str, caller: Caller, sign_in: SignIn | None = None
    ) -> StoredSecretRow:
        body: dict[str, object] = {"value": value}
        if sign_in:
            body["sign_in"] = row(sign_in)
        request = ApiRequest("PUT", _secret_path(name), body=dumps(body))
        return responses.STORED_SECRET.read(self._transport.send(request, caller).body)

    def remove(self, name: str, caller: Caller) -> None:
        self._transport.delete(_secret_path(name), caller)

    def rows(self, caller: Caller, after: str = "") -> Iterator[SecretRow]:
        return read_pages(self._transport, "/_api/secrets", caller, responses.SECRET, after)


class RemoteServers:
    """See `sigil.admin_protocol.ImportVerbs`."""

    def __init__(self, transport: ApiTransport) -> None:
        self._transport = transport

    def tools(self, server: Json, caller: Caller, only: Sequence[str] = ()) -> list[ServerToolRow]:
        body = dumps({"server": server, "only": [*only]})
        answer = self._transport.post("/_api/mcp/tools", body, caller, seconds=SERVER_TOOLS_SECONDS)
        return responses.SERVER_TOOL.read_page(answer.body)[0]


class RemoteTokens:
    """See `sigil.admin_protocol.TokenVerbs`."""

    def __init__(self, transport: ApiTransport) -> None:
        self._transport = transport

    def create(self, request: TokenRequest, caller: Caller) -> NewTokenRow:
        answer = self._transport.post("/_api/keys", dumps(asdict(request)), caller)
        return responses.NEW_TOKEN.read(answer.body)

    def rows(self, caller: Caller, after: str = "") -> Iterator[TokenUseRow]:
        return read_pages(self._transport, "/_api/keys", caller, responses.TOKEN_USE, after)

    def revoke(self, id: str, caller: Caller) -> TokenRow:
        return responses.TOKEN.read(self._transport.delete("/_api/keys", caller, {"id": id}).body)

    def whoami(self, caller: Caller) -> TokenRow:
        return responses.TOKEN.read(self._transport.get("/_api/whoami", caller).body)


class RemoteAudit:
    """See `sigil.admin_protocol.AuditVerbs`."""

    def __init__(self, transport: ApiTransport) -> None:
        self._transport = transport

    def rows(
        self, caller: Caller, *, namespace: str = "", after: int | None = None, limit: int = 100
    ) -> list[AuditRow]:
        query = {"namespace": namespace, "limit": str(limit)}
        if after is not None:
            query["after"] = str(after)
        answer = self._transport.get("/_api/audit", caller, query)
        return responses.AUDIT.read_page(answer.body)[0]

    def verify(self, caller: Caller, *, namespace: str = "") -> AuditCheckRow:
        query = {"namespace": namespace, "verify": "1"}
        answer = self._transport.get("/_api/audit", caller, query)
        return responses.AUDIT_CHECK.read(answer.body)


def read_pages(
    transport: ApiTransport,
    path: str,
    caller: Caller,
    reader: RowReader[RowT],
    after: str = "",
) -> Iterator[RowT]:
    """Return the rows of a list from beyond `after` on, page by page; the first page is read at
    once.
    """

    def get_page(after: str) -> tuple[list[RowT], str]:
        answer = transport.get(path, caller, {"after": after} if after else {})
        return reader.read_page(answer.body)

    first = get_page(after)

    def read_rows() -> Iterator[RowT]:
        # A page goes on from a place where none went on before, and only the last may be empty:
        # else a hostile registry's list would have no end.
        seen = {after}
        items, cursor = first
        for _ in range(PAGES_MOST):
            yield from items
            if not cursor:
                return
            if cursor in seen or not items or len(cursor) > CURSOR_CHARACTERS:
                raise foreign_answer()
            seen.add(cursor)
            items, cursor = get_page(cursor)
        raise foreign_answer()

    return read_rows()


def _quote_ref(ref: str) -> str:
    """Return `ref` as a part of a path; `UsageError` ENAME when it can name no capability."""
    Ref.parse(ref)
    return quote(ref, safe="@:/")


def _secret_path(name: str) -> str:
    return f"/_api/secrets/{quote(name, safe='')}"


def _replace_surrogates(text: str) -> str:
    """Return `text` with every lone surrogate replaced, so that it can be sent as UTF-8."""
    return text.encode("utf-8", "replace").decode()
