"""Read and write the messages of JSON-RPC 2.0 as the Model Context Protocol uses it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sigil import strict_json
from sigil.errors import UsageError, one_line
from sigil.protocol import Json

PARSE = -32700
REQUEST = -32600
METHOD = -32601
PARAMS = -32602
INTERNAL = -32603
REFUSED = -32000
"""The code of a request that is not looked at: nothing is wrong with it."""
HEADERS = -32020
"""The code of a header that says something else than the body."""
REVISION = -32022
"""The code of a revision that is not known here."""
ID_CHARACTERS = 200
METHOD_CHARACTERS = 100
ID_MOST = 2**53

Id = str | int


class RpcError(Exception):
    """An error of the protocol. `message` is one clean line."""

    def __init__(self, code: int, message: str, data: Json = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = one_line(message)
        self.data = data


@dataclass(frozen=True, slots=True)
class RpcRequest:
    """A request, which wants an answer."""

    id: Id
    method: str
    params: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class RpcNotification:
    """A notification, which wants no answer."""

    method: str
    params: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class RpcReply:
    """An answer, with `error` when it is a failure.

    `id` is None when the other side could not tell which request it means.
    """

    id: Id | None
    result: Json = None
    error: RpcError | None = None


Message = RpcRequest | RpcNotification | RpcReply


def parse_body(body: bytes | str) -> Json:
    """Return the JSON in `body`; `RpcError` when it is none."""
    try:
        return strict_json.loads(body)
    except UsageError as problem:
        raise RpcError(PARSE, problem.message) from None


def parse_message(value: Json) -> Message:
    """Return the request, notification or reply that a JSON value is.

    Raises `RpcError` when it is none.
    """
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        raise RpcError(REQUEST, "not a JSON-RPC 2.0 message")
    if "method" not in value:
        id = _read_id(value.get("id"))
        if "result" in value and "error" not in value and id is not None:
            return RpcReply(id, value["result"])
        error = value.get("error")
        if "result" in value or not isinstance(error, dict) or type(error.get("code")) is not int:
            raise RpcError(REQUEST, "neither a request nor an answer")
        text = error.get("message")
        if not isinstance(text, str):
            text = ""
        return RpcReply(id, error=RpcError(error["code"], text, error.get("data")))
    method = value["method"]
    params = value.get("params", {})
    if not isinstance(method, str) or not 0 < len(method) <= METHOD_CHARACTERS:
        raise RpcError(REQUEST, "method is a short string")
    if not isinstance(params, dict):
        raise RpcError(REQUEST, "params is an object")
    if "id" not in value:
        return RpcNotification(method, params)
    id = _read_id(value["id"])
    if id is None:
        raise RpcError(
            REQUEST, f"id is a whole number, or a string of at most {ID_CHARACTERS} characters"
        )
    return RpcRequest(id, method, params)


def id_of(value: Json) -> Id | None:
    """Return the id of a value that may be no message at all, for the answer that says so."""
    return _read_id(value.get("id")) if isinstance(value, dict) else None


def make_request(id: Id, method: str, params: Mapping[str, Json]) -> dict[str, Json]:
    """Return a request."""
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": dict(params)}


def make_notification(method: str, params: Mapping[str, Json] | None = None) -> dict[str, Json]:
    """Return a notification."""
    message: dict[str, Json] = {"jsonrpc": "2.0", "method": method}
    if params:
        message["params"] = dict(params)
    return message


def make_result(id: Id, value: Json) -> dict[str, Json]:
    """Return a good answer."""
    return {"jsonrpc": "2.0", "id": id, "result": value}


def make_failure(id: Id | None, problem: RpcError) -> dict[str, Json]:
    """Return the answer of a failed request."""
    error: dict[str, Json] = {"code": problem.code, "message": problem.message}
    if problem.data is not None:
        error["data"] = problem.data
    return {"jsonrpc": "2.0", "id": id, "error": error}


def _read_id(value: Json) -> Id | None:
    if isinstance(value, str):
        return value if len(value) <= ID_CHARACTERS else None
    return value if type(value) is int and abs(value) <= ID_MOST else None
