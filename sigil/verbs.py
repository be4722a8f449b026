"""What Sigil's HTTP API answers: one function a verb, from an authorised request to a response."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice

import orjson
from fastapi import Response

from sigil import wire
from sigil.errors import UsageError
from sigil.protocol import Caller, Json, Offer
from sigil.strict import loads
from sigil.wire import Keeper

FIND_LIMIT, EXPLORE_LIMIT, LIMIT_MOST = 3, 20, 50
QUIET = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
SEALED = {**QUIET, "Content-Security-Policy": "default-src 'none'; sandbox"}


@dataclass(frozen=True, slots=True)
class Ask:
    """An authorised request, its body read. `query`: every value of each parameter. `ref`: what the path names."""

    registry: Keeper
    caller: Caller
    method: str
    base: str
    ref: str
    query: Mapping[str, list[str]]
    accept: str
    body: bytes

    def last(self, name: str) -> str:
        """The last value of a query parameter, empty when it is not given."""
        return self.query.get(name, [""])[-1]


def answer(value: Json, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """`value` as JSON that nobody keeps."""
    return Response(orjson.dumps(value), status, {**QUIET, **(headers or {}), "Content-Type": "application/json; charset=utf-8"})


def deploy(ask: Ask) -> Response:
    """201 and what stands now; 200 when this very digest stood already."""
    deployed = ask.registry.deploy(wire.read_object(ask.body, source="http"), ask.caller)
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
    limit = _whole(ask.last("limit"), FIND_LIMIT if mode == "find" else EXPLORE_LIMIT)
    if mode == "explore" and not text:
        return _browse(ask, limit)
    found = ask.registry.query(text, ask.caller, limit=limit)
    row = _full(ask) if mode == "find" else _brief
    return answer({"items": [{**row(hit.offer), "score": hit.score} for hit in found.hits], "total": found.total})


def _browse(ask: Ask, limit: int) -> Response:
    rows = islice(ask.registry.list(ask.caller), limit)
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
    """Everything about one capability."""
    return answer(ask.registry.inspect(ask.ref, ask.caller))


def everything(ask: Ask) -> Response:
    """One row for each name that the caller sees."""
    return answer({"items": list(ask.registry.list(ask.caller))})


def run(ask: Ask) -> Response:
    """The output as it is: JSON, or plain text for a string unless the client accepts only JSON."""
    arguments = _parameters(ask.query) if ask.method == "GET" else wire.read_object(ask.body or b"{}", source="http")
    ran = ask.registry.run(ask.ref, arguments, ask.caller)
    headers = {
        **SEALED,
        "X-Sigil-Version": str(ran.version),
        "X-Sigil-Digest": ran.digest,
        "X-Sigil-Duration-Ms": f"{ran.duration_ms:.3f}",
        "X-Sigil-Cold-Start": str(ran.cold).lower(),
    }
    if wire.REPORT in ask.accept:
        report = orjson.dumps(wire.report_row(ran))
        return Response(report + b"\n" + ran.output, media_type=wire.REPORT, headers=headers)
    if ran.output.lstrip()[:1] == b'"' and _takes_text(ask.accept):
        return Response(loads(ran.output), media_type="text/plain", headers=headers)
    return Response(ran.output, headers={**headers, "Content-Type": "application/json; charset=utf-8"})


def _parameters(query: Mapping[str, list[str]]) -> dict[str, Json]:
    """Query parameters as arguments: a repeated one is a list, any other a string that the schema may coerce."""
    return {name: values if len(values) > 1 else values[0] for name, values in query.items()}


def _whole(text: str, default: int) -> int:
    if not text:
        return default
    if not re.fullmatch(r"[0-9]{1,4}", text, re.ASCII) or not 1 <= int(text) <= LIMIT_MOST:
        raise UsageError("EINVAL", f"limit is a number from 1 to {LIMIT_MOST}", source="http")
    return int(text)


def _takes_text(accept: str) -> bool:
    kinds = {part.partition(";")[0].strip().lower() for part in accept.split(",")}
    return not kinds.isdisjoint({"text/plain", "text/*", "*/*", ""})
