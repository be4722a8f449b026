"""The handlers of those who keep the registry, and the bodies that they read.

They change versions, bundles, grants, secrets and tokens, and read the audit. The first line of a
handler's docstring is the summary of its operation in the published description.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Annotated

from pydantic import Field
from starlette.responses import Response

from sigil.access.sign_in import ClientAuthentication, SignIn
from sigil.access.tokens import TokenRequest
from sigil.admin_protocol import AdminRegistry
from sigil.catalog import cursors
from sigil.http import pagination
from sigil.http.request import (
    PAGE_MOST,
    AuthorizedRequest,
    Name,
    Reference,
    RequestBody,
    VersionNumber,
)
from sigil.http.response import SEALED, json_response
from sigil.http.route import REF_SCHEMA
from sigil.protocol import Caller, Ref, deployed_row
from sigil.rows import StatusRow

NUMBER_MOST = 10**8
"""Above every version's number."""
ENTRY_MOST = 10**12
"""Above the number of every entry of an audit."""
_VERSION_REF = {**REF_SCHEMA, "pattern": str(REF_SCHEMA["pattern"]).replace(")?$", ")$")}
_SCOPE = {
    "type": "string",
    "pattern": r"^(run:\*|(run|deploy):[a-z][a-z0-9-]*/(\*|[a-z][a-z0-9-]*))$",
}


class RollbackBody(RequestBody):
    name: Name
    version: VersionNumber | None = None


class YankBody(RequestBody):
    ref: Annotated[Name, Field(json_schema_extra=_VERSION_REF)]
    undo: bool = False


class PublishBody(RequestBody):
    name: Name
    session: Annotated[str, Field(max_length=500)] = ""
    replace: bool = False


class ExportBody(RequestBody):
    refs: Annotated[list[Reference], Field(min_length=1, max_length=200)]


class ToolsBody(RequestBody):
    server: dict[str, object]
    only: Annotated[list[Name], Field(max_length=200)] = Field(default=[])


class GrantBody(RequestBody):
    ref: Reference
    digest: Annotated[str, Field(max_length=100)] = ""


class RevokeBody(RequestBody):
    name: Name
    permission: Annotated[str, Field(max_length=500)] = ""


_Place = Annotated[str, Field(min_length=1, max_length=2_000)]
_Token = Annotated[str, Field(max_length=8_192)]
_Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class SignInBody(RequestBody):
    server: _Place
    resource: _Place
    issuer: _Place
    token_url: _Place
    client_id: _Place
    client_secret: _Token = ""
    client_auth: ClientAuthentication = "none"
    refresh_token: _Token = ""
    renew_at: _Seconds = 0.0
    expires_at: _Seconds = 0.0
    renewing_until: _Seconds = 0.0


class SecretBody(RequestBody):
    value: Annotated[
        str, Field(max_length=64 << 10, json_schema_extra={"minLength": 8, "maxLength": 8_192})
    ]
    sign_in: SignInBody | None = None


class KeyBody(RequestBody):
    kind: Annotated[str, Field(max_length=20, json_schema_extra={"enum": ["deploy", "invoke"]})]
    name: Annotated[str, Field(max_length=200, json_schema_extra={"maxLength": 80})] = ""
    scopes: Annotated[
        list[Annotated[str, Field(max_length=200, json_schema_extra=_SCOPE)]], Field(max_length=50)
    ] = Field(default=[])
    namespace: Annotated[str, Field(max_length=200)] = ""
    seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None


def list_versions(request: AuthorizedRequest) -> Response:
    """List the versions of a capability, newest first, and what was active when."""
    request.require_reach(request.ref)
    limit = request.read_number("limit", PAGE_MOST, PAGE_MOST)
    after = NUMBER_MOST
    if request.read_text("after"):
        after = request.read_number("after", NUMBER_MOST, NUMBER_MOST)
    versions = request.registry.versions(request.ref, request.caller)
    rows = [row for row in versions if row["version"] < after]
    history = request.registry.history(request.ref, request.caller)
    return pagination.respond_rows(
        request,
        rows[: limit + 1],
        limit,
        lambda row: str(row["version"]),
        history=history,
    )


def diff(request: AuthorizedRequest) -> Response:
    """Compare two versions: fields, schema and source."""
    request.require_reach(request.ref)
    older = request.read_number("from", 0, NUMBER_MOST) or None
    newer = request.read_number("to", 0, NUMBER_MOST) or None
    return json_response(request.registry.diff(request.ref, request.caller, older, newer))


def rollback(request: AuthorizedRequest) -> Response:
    """Make an older version the active one."""
    body = request.read_body(RollbackBody)
    request.require_deploy(body.name)
    return json_response(request.registry.rollback(body.name, request.caller, body.version))


def yank(request: AuthorizedRequest) -> Response:
    """Hide a version, or show it again."""
    body = request.read_body(YankBody)
    request.require_deploy(Ref.parse(body.ref).name)
    return json_response(request.registry.yank(body.ref, request.caller, undo=body.undo))


def publish(request: AuthorizedRequest) -> Response:
    """Bring a chat's capability into the namespace."""
    body = request.read_body(PublishBody)
    deployed = request.registry.publish(
        body.name, request.caller, session=body.session, replace=body.replace
    )
    row = deployed_row(deployed, f"{request.base}run/{deployed.offer.name}")
    return json_response(row, 201 if deployed.created else 200)


def export(request: AuthorizedRequest) -> Response:
    """Export capabilities as one file."""
    refs = request.read_body(ExportBody).refs
    for ref in refs:
        request.require_reach(ref)
    bundle = request.registry.export(refs, request.caller)
    return Response(bundle, media_type="application/zip", headers=SEALED)


def import_bundle(request: AuthorizedRequest) -> Response:
    """Check and deploy what an exported file holds."""
    deploys = request.registry.import_bundle(
        request.body,
        request.caller,
        public=request.read_flag("public"),
        replace=request.read_flag("replace"),
    )
    rows = [
        {
            **deployed_row(deployed, f"{request.base}run/{deployed.offer.name}"),
            "created": deployed.created,
        }
        for deployed in deploys
    ]
    is_new = any(deployed.created for deployed in deploys)
    return json_response({"items": rows}, 201 if is_new else 200)


def list_grants(request: AuthorizedRequest) -> Response:
    """List the permissions that wait for an owner and those that were granted."""
    rows = request.registry.granting.rows(request.caller, request.read_text("after"))
    return pagination.respond_page(
        request, rows, lambda row: cursors.format_place(cursors.grant_place(row, request.caller))
    )


def get_permission_request(request: AuthorizedRequest) -> Response:
    """Show the permissions that one capability asks for."""
    request.require_deploy(Ref.parse(request.ref).name)
    return json_response(request.registry.granting.find_request(request.ref, request.caller))


def grant(request: AuthorizedRequest) -> Response:
    """Grant what a version asks for."""
    body = request.read_body(GrantBody)
    request.require_deploy(Ref.parse(body.ref).name)
    return json_response(request.registry.granting.grant(body.ref, request.caller, body.digest))


def revoke(request: AuthorizedRequest) -> Response:
    """Take a permission back, or all of them."""
    body = request.read_body(RevokeBody)
    request.require_deploy(body.name)
    row = request.registry.granting.revoke(body.name, request.caller, body.permission)
    return json_response(row)


def list_mcp_tools(request: AuthorizedRequest) -> Response:
    """List the tools of an MCP server, each with the capability that it can become, or the
    problem.
    """
    body = request.read_body(ToolsBody)
    rows = request.registry.importing.tools(body.server, request.caller, body.only)
    return json_response({"items": rows})


def list_secrets(request: AuthorizedRequest) -> Response:
    """List the names of the secrets, never a value."""
    rows = request.registry.secrets.rows(request.caller, request.read_text("after"))
    return pagination.respond_page(request, rows, itemgetter("secret"))


def set_secret(request: AuthorizedRequest) -> Response:
    """Store a secret's value."""
    body = request.read_body(SecretBody)
    sign_in = SignIn(**body.sign_in.model_dump()) if body.sign_in else None
    row = request.registry.secrets.set(request.ref, body.value, request.caller, sign_in)
    return json_response(row)


def remove_secret(request: AuthorizedRequest) -> Response:
    """Forget a secret."""
    request.registry.secrets.remove(request.ref, request.caller)
    return json_response({"removed": request.ref})


def list_keys(request: AuthorizedRequest) -> Response:
    """List the tokens, never a value."""
    rows = request.registry.keys.rows(request.caller, request.read_text("after"))
    return pagination.respond_page(request, rows, itemgetter("id"))


def create_key(request: AuthorizedRequest) -> Response:
    """Create a token; its value is in this answer alone."""
    body = request.read_body(KeyBody)
    token_request = TokenRequest(
        body.kind, body.name, tuple(body.scopes), body.namespace, body.seconds
    )
    return json_response(request.registry.keys.create(token_request, request.caller), 201)


def revoke_key(request: AuthorizedRequest) -> Response:
    """End a token at once."""
    return json_response(request.registry.keys.revoke(request.read_text("id"), request.caller))


def read_audit(request: AuthorizedRequest) -> Response:
    """Read a namespace's audit: the last entries, or those beyond `after`; with `verify` whether
    its chain holds, and those of all others where none is named.
    """
    log = request.registry.log
    namespace = request.read_text("namespace")
    limit = request.read_number("limit", 100, PAGE_MOST)
    if request.read_flag("verify"):
        return json_response(log.verify(request.caller, namespace=namespace))
    if not request.read_text("after"):
        return json_response({"items": log.rows(request.caller, namespace=namespace, limit=limit)})
    after = request.read_number("after", 0, ENTRY_MOST, 0)
    rows = log.rows(request.caller, namespace=namespace, after=after, limit=limit + 1)
    return pagination.respond_rows(request, rows, limit, lambda row: str(row["number"]))


def whoami(request: AuthorizedRequest) -> Response:
    """Show whose token it is, and what it may do."""
    return json_response({**request.holder.row(), "namespace": request.caller.namespace})


def get_status(request: AuthorizedRequest) -> Response:
    """Show how the caller's capabilities do, and what the registry itself is doing."""
    return json_response(status_row(request.registry, request.caller))


def status_row(registry: AdminRegistry, caller: Caller) -> StatusRow:
    """Return the status of the registry and of the capabilities that the caller's token reaches."""
    row = registry.status(caller)
    reached = [
        item
        for item in row.get("items", [])
        if caller.reaches(item["namespace"], item["capability"])
    ]
    return {**row, "items": reached}
