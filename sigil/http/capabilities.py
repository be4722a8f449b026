"""What Sigil's HTTP API answers about capabilities: one function a verb, from an authorised request
to a response.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import orjson
from fastapi import Response

from sigil.catalog.cursors import invalid_cursor
from sigil.catalog.views import interface_row
from sigil.errors import Conflict, UsageError
from sigil.http import admin_bodies, pagination
from sigil.http.request import SEALED, AuthorizedRequest, json_response
from sigil.protocol import Json, deployed_row, glimpse_row, hit_row, is_name, report_row
from sigil.rows import REPORT_TYPE, ListRow
from sigil.strict_json import loads, read_object

FIND_LIMIT, EXPLORE_LIMIT = 3, 20
_REFUSED = re.compile(r";q=0(\.0*)?(;|$)", re.ASCII)


def deploy(ask: AuthorizedRequest) -> Response:
    """Deploy a capability: 201 and what stands now, 200 when this very digest stood already."""
    spec = read_object(ask.body, source="http")
    name = spec.get("name")
    ask.require_deploy(name if isinstance(name, str) else "*")
    deployed = ask.registry.deploy(spec, ask.caller)
    row = deployed_row(deployed, f"{ask.base}run/{deployed.offer.name}")
    return json_response(row, 201 if deployed.created else 200)


def remove(ask: AuthorizedRequest) -> Response:
    """Take a capability of the namespace's own away, with every version of it: the one that the
    address names, or the body.
    """
    given = admin_bodies.read(admin_bodies.Remove, ask.body) if ask.body else admin_bodies.Remove()
    names = set(filter(None, (ask.last("name"), given.name, given.capability)))
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
    ask.registry.remove(name, ask.caller)
    return json_response({"removed": name})


def query(ask: AuthorizedRequest) -> Response:
    """Find what is relevant, ready to call (`mode=find`), or look around among names and
    descriptions (`mode=explore`).
    """
    text = ask.last("q")
    mode = ask.choice("mode", ("find", "explore") if text else ("explore", "find"))
    limit = ask.whole("limit", FIND_LIMIT if mode == "find" else EXPLORE_LIMIT)
    if mode == "explore":
        return json_response(
            {
                "items": [
                    glimpse_row(each)
                    for each in ask.registry.explore(text, ask.caller, limit=limit)
                ]
            }
        )
    found = ask.registry.query(text, ask.caller, limit=limit)
    return json_response(
        {
            "items": [hit_row(hit, ask.registry, ask.caller) for hit in found.hits],
            "total": found.total,
        }
    )


def inspect(ask: AuthorizedRequest) -> Response:
    """Everything about one capability; of the source, the tests and its use nothing to a token that
    may only run it.
    """
    brief = ask.choice("view", ("all", "interface")) == "interface" or ask.holder.kind == "invoke"
    row = ask.registry.inspect(ask.ref, ask.caller)
    return json_response(interface_row(row) if brief else row)


def everything(ask: AuthorizedRequest) -> Response:
    """One row for each name that the caller sees, nearest namespace first."""
    places = {namespace: number for number, namespace in enumerate(ask.caller.sees)}

    def place(row: ListRow) -> tuple[int, str]:
        return places.get(row["namespace"], len(places)), row["capability"]

    start = _start(ask.last("after"))
    rows = (row for row in ask.registry.list(ask.caller) if start is None or place(row) > start)
    return pagination.respond_page(ask, rows, lambda row: "{}:{}".format(*place(row)))


def _start(after: str) -> tuple[int, str] | None:
    if not after:
        return None
    number, _, name = after.partition(":")
    if number not in ("0", "1", "2", "3") or not is_name(name):
        raise invalid_cursor()
    return int(number), name


def run(ask: AuthorizedRequest) -> Response:
    """Run it: the output as it is, JSON, or plain text for a string unless the client accepts only
    JSON.
    """
    said = {} if ask.method == "GET" else read_object(ask.body or b"{}", source="http")
    arguments = {**_parameters(ask.query), **said}
    ran = ask.registry.run(ask.ref, arguments, ask.caller)
    headers = {
        **SEALED,
        "X-Sigil-Version": str(ran.version),
        "X-Sigil-Digest": ran.digest,
        "X-Sigil-Duration-Ms": f"{ran.duration_ms:.3f}",
        "X-Sigil-Cold-Start": str(ran.cold).lower(),
    }
    if REPORT_TYPE in ask.accept:
        report = orjson.dumps(
            report_row(ran) | ({"logs": []} if ask.holder.kind == "invoke" else {})
        )
        return Response(report + b"\n" + ran.output, media_type=REPORT_TYPE, headers=headers)
    if ran.output.lstrip()[:1] == b'"' and _takes_text(ask.accept):
        return Response(loads(ran.output), media_type="text/plain", headers=headers)
    return Response(
        ran.output, headers={**headers, "Content-Type": "application/json; charset=utf-8"}
    )


def _parameters(query: Mapping[str, list[str]]) -> dict[str, Json]:
    """Query parameters as arguments: a repeated one is a list, any other a string that the schema
    may coerce.
    """
    return {name: values if len(values) > 1 else values[0] for name, values in query.items()}


def _takes_text(accept: str) -> bool:
    parts = (part.lower().replace(" ", "") for part in accept.split(","))
    kinds = {part.partition(";")[0] for part in parts if not _REFUSED.search(part)}
    return not kinds.isdisjoint({"text/plain", "text/*", "*/*", ""})
