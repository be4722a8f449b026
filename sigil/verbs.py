"""What Sigil's HTTP API answers about capabilities: one function a verb, from an authorised request to a response."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice

import orjson
from fastapi import Response

from sigil import wire
from sigil.asks import PAGE_MOST, SEALED, Ask, answer
from sigil.errors import UsageError
from sigil.protocol import Json, Offer
from sigil.strict import loads

FIND_LIMIT, EXPLORE_LIMIT = 3, 20


def deploy(ask: Ask) -> Response:
    """201 and what stands now; 200 when this very digest stood already."""
    spec = wire.read_object(ask.body, source="http")
    name = spec.get("name")
    ask.demand_deploy(name if isinstance(name, str) else "*")
    deployed = ask.registry.deploy(spec, ask.caller)
    row = wire.deployed_row(deployed, f"{ask.base}run/{deployed.offer.name}")
    return answer(row, 201 if deployed.created else 200)


def remove(ask: Ask) -> Response:
    """Take `?name=` away."""
    name = ask.last("name")
    ask.registry.remove(name, ask.caller)
    return answer({"removed": name})


def query(ask: Ask) -> Response:
    """`mode=find` (the default with `q`): what is relevant, ready to call. `mode=explore`: names and descriptions."""
    text = ask.last("q")
    mode = ask.last("mode") or ("find" if text else "explore")
    if mode not in ("find", "explore"):
        raise UsageError("EINVAL", "mode is find or explore")
    limit = ask.whole("limit", FIND_LIMIT if mode == "find" else EXPLORE_LIMIT)
    if mode == "explore" and not text:
        return _browse(ask, limit)
    found = ask.registry.query(text, ask.caller, limit=limit)
    row = _full(ask) if mode == "find" else _brief
    return answer({"items": [{**row(hit.offer), "score": hit.score} for hit in found.hits], "total": found.total})


def _browse(ask: Ask, limit: int) -> Response:
    rows = islice((row for row in ask.registry.list(ask.caller) if row["state"] != "inactive"), limit)
    items = [{name: row[name] for name in ("capability", "tool", "description")} for row in rows]
    return answer({"items": items})


def _brief(offer: Offer) -> dict[str, Json]:
    return {"capability": offer.name, "tool": offer.tool, "description": offer.description}


def _full(ask: Ask) -> Callable[[Offer], dict[str, Json]]:
    def row(offer: Offer) -> dict[str, Json]:
        try:
            detail = ask.registry.inspect(f"{offer.name}@{offer.digest}", ask.caller)
        except UsageError:
            detail = {}  # it was removed a moment ago
        return {**wire.offer_row(offer), "tags": detail.get("tags", []), "examples": detail.get("examples", [])}

    return row


def inspect(ask: Ask) -> Response:
    """Everything about one capability; of the source and the tests nothing to a token that may only run it."""
    row = ask.registry.inspect(ask.ref, ask.caller)
    return answer(wire.interface(row) if ask.holder.kind == "invoke" else row)


def everything(ask: Ask) -> Response:
    """One row for each name that the caller sees, from `after` (the `next` of the answer before)."""
    limit, after = ask.whole("limit", PAGE_MOST, PAGE_MOST), ask.last("after")
    places = {namespace: number for number, namespace in enumerate(ask.caller.sees)}

    def place(row: dict[str, Json]) -> tuple[int, str]:
        return places.get(row["namespace"], len(places)), row["capability"]

    start = _start(after)
    rows = list(islice((row for row in ask.registry.list(ask.caller) if start is None or place(row) > start), limit + 1))
    more = {"next": "{}:{}".format(*place(rows[limit - 1]))} if len(rows) > limit else {}
    return answer({"items": rows[:limit], **more})


def _start(after: str) -> tuple[int, str] | None:
    if not after:
        return None
    number, _, name = after.partition(":")
    if number not in ("0", "1", "2", "3") or not name:
        raise UsageError("EINVAL", "after is the next of the answer before", source="http")
    return int(number), name


def run(ask: Ask) -> Response:
    """The output as it is: JSON, or plain text for a string unless the client accepts only JSON."""
    said = {} if ask.method == "GET" else wire.read_object(ask.body or b"{}", source="http")
    arguments = {**_parameters(ask.query), **said}
    ran = ask.registry.run(ask.ref, arguments, ask.caller)
    headers = {
        **SEALED,
        "X-Sigil-Version": str(ran.version),
        "X-Sigil-Digest": ran.digest,
        "X-Sigil-Duration-Ms": f"{ran.duration_ms:.3f}",
        "X-Sigil-Cold-Start": str(ran.cold).lower(),
    }
    if wire.REPORT in ask.accept:
        report = orjson.dumps(wire.report_row(ran) | ({"logs": []} if ask.holder.kind == "invoke" else {}))
        return Response(report + b"\n" + ran.output, media_type=wire.REPORT, headers=headers)
    if ran.output.lstrip()[:1] == b'"' and _takes_text(ask.accept):
        return Response(loads(ran.output), media_type="text/plain", headers=headers)
    return Response(ran.output, headers={**headers, "Content-Type": "application/json; charset=utf-8"})


def _parameters(query: Mapping[str, list[str]]) -> dict[str, Json]:
    """Query parameters as arguments: a repeated one is a list, any other a string that the schema may coerce."""
    return {name: values if len(values) > 1 else values[0] for name, values in query.items()}


def _takes_text(accept: str) -> bool:
    kinds = {part.partition(";")[0].strip().lower() for part in accept.split(",")}
    return not kinds.isdisjoint({"text/plain", "text/*", "*/*", ""})
