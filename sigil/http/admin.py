"""What Sigil's HTTP API answers to those who keep the registry: versions, bundles, grants, secrets,
keys and the audit.
"""

from __future__ import annotations

from itertools import islice
from operator import itemgetter

from fastapi import Response

from sigil.access.tokens import TokenRequest
from sigil.admin_protocol import AdminRegistry
from sigil.catalog.cursors import format_place, grant_place
from sigil.http import admin_bodies, pagination
from sigil.http.request import PAGE_MOST, SEALED, AuthorizedRequest, json_response
from sigil.protocol import Caller, Json, deployed_row

HISTORY, ENTRIES = 10**8, 10**12


def versions(ask: AuthorizedRequest) -> Response:
    """The versions of a capability, newest first, and what was active when."""
    ask.require_reach(ask.ref)
    limit, after = (
        ask.whole("limit", PAGE_MOST, PAGE_MOST),
        ask.whole("after", HISTORY, HISTORY) if ask.last("after") else HISTORY,
    )
    rows = (row for row in ask.registry.versions(ask.ref, ask.caller) if row["version"] < after)
    history = ask.registry.history(ask.ref, ask.caller)
    return pagination.respond_rows(
        ask, list(islice(rows, limit + 1)), limit, lambda row: str(row["version"]), history=history
    )


def diff(ask: AuthorizedRequest) -> Response:
    """What changed between two versions: fields, schema and source."""
    ask.require_reach(ask.ref)
    older, newer = (ask.whole(name, 0, HISTORY) or None for name in ("from", "to"))
    return json_response(ask.registry.diff(ask.ref, ask.caller, older, newer))


def rollback(ask: AuthorizedRequest) -> Response:
    """Make an older version the active one."""
    body = admin_bodies.read(admin_bodies.Rollback, ask.body)
    return json_response(ask.registry.rollback(body.name, ask.caller, body.version))


def yank(ask: AuthorizedRequest) -> Response:
    """Hide a version, or show it again."""
    body = admin_bodies.read(admin_bodies.Yank, ask.body)
    return json_response(ask.registry.yank(body.ref, ask.caller, undo=body.undo))


def publish(ask: AuthorizedRequest) -> Response:
    """Bring a chat's capability into the namespace."""
    body = admin_bodies.read(admin_bodies.Publish, ask.body)
    deployed = ask.registry.publish(
        body.name, ask.caller, session=body.session, replace=body.replace
    )
    return json_response(
        deployed_row(deployed, f"{ask.base}run/{deployed.offer.name}"),
        201 if deployed.created else 200,
    )


def export(ask: AuthorizedRequest) -> Response:
    """Capabilities as one file."""
    refs = admin_bodies.read(admin_bodies.Export, ask.body).refs
    for ref in refs:
        ask.require_reach(ref)
    return Response(
        ask.registry.export(refs, ask.caller), media_type="application/zip", headers=SEALED
    )


def import_bundle(ask: AuthorizedRequest) -> Response:
    """What such a file holds, checked and deployed."""
    made = ask.registry.import_bundle(
        ask.body, ask.caller, public=ask.flag("public"), replace=ask.flag("replace")
    )
    rows = [
        {**deployed_row(each, f"{ask.base}run/{each.offer.name}"), "created": each.created}
        for each in made
    ]
    return json_response({"items": rows}, 201 if any(each.created for each in made) else 200)


def grants(ask: AuthorizedRequest) -> Response:
    """What waits for an owner and what stands."""
    rows = ask.registry.granting.rows(ask.caller, ask.last("after"))
    return pagination.respond_page(
        ask, rows, lambda row: format_place(grant_place(row, ask.caller))
    )


def asked(ask: AuthorizedRequest) -> Response:
    """What one capability asks for."""
    return json_response(ask.registry.granting.asked(ask.ref, ask.caller))


def grant(ask: AuthorizedRequest) -> Response:
    """Grant what a version asks for."""
    body = admin_bodies.read(admin_bodies.Grant, ask.body)
    return json_response(ask.registry.granting.grant(body.ref, ask.caller, body.digest))


def revoke(ask: AuthorizedRequest) -> Response:
    """Take a permission back, or all of them."""
    body = admin_bodies.read(admin_bodies.Revoke, ask.body)
    return json_response(ask.registry.granting.revoke(body.name, ask.caller, body.permission))


def mcp_tools(ask: AuthorizedRequest) -> Response:
    """The tools of an MCP server, each with the capability that it can become, or the problem."""
    body = admin_bodies.read(admin_bodies.Tools, ask.body)
    return json_response(
        {"items": ask.registry.importing.tools(body.server, ask.caller, body.only)}
    )


def secrets(ask: AuthorizedRequest) -> Response:
    """The names of the secrets, never a value."""
    return pagination.respond_page(
        ask, ask.registry.secrets.rows(ask.caller, ask.last("after")), itemgetter("secret")
    )


def set_secret(ask: AuthorizedRequest) -> Response:
    """Keep a secret's value."""
    return json_response(
        ask.registry.secrets.set(
            ask.ref, admin_bodies.read(admin_bodies.Secret, ask.body).value, ask.caller
        )
    )


def remove_secret(ask: AuthorizedRequest) -> Response:
    """Forget a secret."""
    ask.registry.secrets.remove(ask.ref, ask.caller)
    return json_response({"removed": ask.ref})


def keys(ask: AuthorizedRequest) -> Response:
    """The tokens, never a value."""
    return pagination.respond_page(
        ask, ask.registry.keys.rows(ask.caller, ask.last("after")), itemgetter("id")
    )


def create_key(ask: AuthorizedRequest) -> Response:
    """A new token, told this once."""
    body = admin_bodies.read(admin_bodies.Key, ask.body)
    wish = TokenRequest(body.kind, body.name, tuple(body.scopes), body.namespace, body.seconds)
    return json_response(ask.registry.keys.create(wish, ask.caller), 201)


def revoke_key(ask: AuthorizedRequest) -> Response:
    """End a token at once."""
    return json_response(ask.registry.keys.revoke(ask.last("id"), ask.caller))


def audit(ask: AuthorizedRequest) -> Response:
    """A namespace's audit: the last entries, or those beyond `after`; with `verify` whether its
    chain holds.
    """
    namespace, limit, log = (
        ask.last("namespace"),
        ask.whole("limit", 100, PAGE_MOST),
        ask.registry.log,
    )
    if ask.flag("verify"):
        return json_response(log.verify(ask.caller, namespace=namespace))
    if not ask.last("after"):
        return json_response({"items": log.rows(ask.caller, namespace=namespace, limit=limit)})
    rows = log.rows(
        ask.caller, namespace=namespace, after=ask.whole("after", 0, ENTRIES, 0), limit=limit + 1
    )
    return pagination.respond_rows(ask, rows, limit, lambda row: str(row["number"]))


def whoami(ask: AuthorizedRequest) -> Response:
    """Whose token it is, and what it may do."""
    return json_response({**ask.holder.row(), "namespace": ask.caller.namespace})


def status(ask: AuthorizedRequest) -> Response:
    """How the caller's capabilities fare, and what the registry itself is doing."""
    return json_response(status_row(ask.registry, ask.caller))


def status_row(registry: AdminRegistry, caller: Caller) -> dict[str, Json]:
    """The status, of the capabilities that the caller's token is about."""
    row = registry.status(caller)
    return {
        **row,
        "items": [
            item
            for item in row.get("items", [])
            if caller.reaches(item["namespace"], item["capability"])
        ],
    }
