"""The handlers of the verbs on capabilities: deploy, remove, query, inspect, list and run.

The first line of a handler's docstring is the summary of its operation in the published
description.
"""

from __future__ import annotations

import re

import orjson
from starlette.responses import Response

from sigil.catalog.cursors import invalid_cursor
from sigil.catalog.views import interface_row
from sigil.errors import Conflict, UsageError
from sigil.http import pagination
from sigil.http.request import AuthorizedRequest, Name, RequestBody
from sigil.http.response import SEALED, json_response
from sigil.protocol import Json, deployed_row, glimpse_row, is_name, query_page, report_row
from sigil.rows import REPORT_TYPE, ListRow
from sigil.run.mcp_client.media import recognize
from sigil.strict_json import loads, read_object

FIND_LIMIT = 3
EXPLORE_LIMIT = 20
_REFUSED = re.compile(r";q=0(\.0*)?(;|$)", re.ASCII)


class RemoveBody(RequestBody):
    """Either of them, unless the address says it: older clients send `capability`."""

    name: Name | None = None
    capability: Name | None = None


def deploy(request: AuthorizedRequest) -> Response:
    """Deploy a capability: 201 and the active version, 200 when this very digest was active
    already.
    """
    spec = read_object(request.body, source="http")
    name = spec.get("name")
    request.require_deploy(name if isinstance(name, str) else "*")
    deployed = request.registry.deploy(spec, request.caller, replace=request.read_flag("replace"))
    row = deployed_row(deployed, f"{request.base}run/{deployed.offer.name}")
    return json_response(row, 201 if deployed.created else 200)


def remove(request: AuthorizedRequest) -> Response:
    """Remove a capability of the namespace's own with every version of it: the one that the address
    names, or the body.
    """
    body = request.read_body(RemoveBody) if request.body else RemoveBody()
    names = set(filter(None, (request.read_text("name"), body.name, body.capability)))
    if not names:
        raise UsageError(
            "ENOENT",
            "no capability is named",
            source="http",
            suggestion="say which one, in the query or in the body: name",
        )
    if len(names) > 1:
        raise Conflict("the request names several capabilities")
    name = names.pop()
    request.require_deploy(name)
    request.registry.remove(name, request.caller)
    return json_response({"removed": name})


def query(request: AuthorizedRequest) -> Response:
    """Find what is relevant, ready to call (`mode=find`), or look around among names and
    descriptions (`mode=explore`).
    """
    text = request.read_text("q")
    mode = request.read_choice("mode", ("find", "explore") if text else ("explore", "find"))
    limit = request.read_number("limit", FIND_LIMIT if mode == "find" else EXPLORE_LIMIT)
    if mode == "explore":
        glimpses = request.registry.explore(text, request.caller, limit=limit)
        return json_response({"items": [glimpse_row(glimpse) for glimpse in glimpses]})
    found = request.registry.query(text, request.caller, limit=limit)
    return json_response(query_page(found, request.registry, request.caller))


def inspect(request: AuthorizedRequest) -> Response:
    """Show everything about one capability; of the source, the tests and its use nothing to a token
    that may only run it.
    """
    view = request.read_choice("view", ("all", "interface"))
    row = request.registry.inspect(request.ref, request.caller)
    if view == "interface" or request.holder.kind == "invoke":
        return json_response(interface_row(row))
    return json_response(row)


def list_capabilities(request: AuthorizedRequest) -> Response:
    """List one row for each name that the caller sees, nearest namespace first."""
    order = {namespace: number for number, namespace in enumerate(request.caller.sees)}

    def place_of(row: ListRow) -> tuple[int, str]:
        return order.get(row["namespace"], len(order)), row["capability"]

    def write_place(row: ListRow) -> str:
        number, name = place_of(row)
        return f"{number}:{name}"

    rows = request.registry.list(request.caller)
    after = request.read_text("after")
    if after:
        digit, _, name = after.partition(":")
        if digit not in ("0", "1", "2", "3") or not is_name(name):
            raise invalid_cursor()
        start = (int(digit), name)
        rows = (row for row in rows if place_of(row) > start)
    return pagination.respond_page(request, rows, write_place)


def run(request: AuthorizedRequest) -> Response:
    """Run a capability: the output as it is, JSON, or plain text for a string unless the client
    accepts only JSON.
    """
    arguments: dict[str, Json] = {}
    for name, values in request.query.items():
        # the schema may coerce a string; a repeated parameter is a list
        arguments[name] = values if len(values) > 1 else values[0]
    if request.method != "GET":
        arguments |= read_object(request.body or b"{}", source="http")
    ran = request.registry.run(request.ref, arguments, request.caller)
    headers = {
        **SEALED,
        "X-Sigil-Version": str(ran.version),
        "X-Sigil-Digest": ran.digest,
        "X-Sigil-Duration-Ms": f"{ran.duration_ms:.3f}",
        "X-Sigil-Cold-Start": str(ran.cold).lower(),
    }
    if ran.files:
        addresses = (f"{request.base}_api/files/{file.id}" for file in ran.files)
        headers["X-Sigil-Files"] = ", ".join(addresses)
    if REPORT_TYPE in request.accept:
        report = report_row(ran)
        if request.holder.kind == "invoke":
            report["logs"] = []
        body = orjson.dumps(report) + b"\n" + ran.output
        return Response(body, media_type=REPORT_TYPE, headers=headers)
    if ran.output.lstrip()[:1] == b'"' and accepts_text(request.accept):
        return Response(loads(ran.output), media_type="text/plain", headers=headers)
    headers["Content-Type"] = "application/json; charset=utf-8"
    return Response(ran.output, headers=headers)


def get_file(request: AuthorizedRequest) -> Response:
    """Return a file that a run left for this token, or for the chat that the request names."""
    return file_response(request.ref, request.registry.read_file(request.ref, request.caller))


def file_response(id: str, body: bytes) -> Response:
    """Return the answer that has a file. No browser shows it as a page, whatever it holds."""
    type, ending = recognize(body)
    headers = {**SEALED, "Content-Disposition": f"attachment; filename={id[:8]}.{ending}"}
    return Response(body, media_type=type, headers=headers)


def accepts_text(accept: str) -> bool:
    """Tell if an `Accept` header takes plain text."""
    parts = (part.lower().replace(" ", "") for part in accept.split(","))
    kinds = {part.partition(";")[0] for part in parts if not _REFUSED.search(part)}
    return not kinds.isdisjoint({"text/plain", "text/*", "*/*", ""})
