"""The answers of MCP servers, as the output of capabilities.

Texts and JSON are passed on; of everything else the output only says that it was there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sigil.errors import ToolError, one_line
from sigil.mcp import jsonrpc
from sigil.mcp.jsonrpc import Id, RpcError, RpcReply
from sigil.protocol import Json
from sigil.strict_json import dumps

OUTPUT_BYTES = 256 << 10
PARTS_MOST = 1_000
REMOTE = "EREMOTE"


def find_reply(body: bytes, id: Id, *, streamed: bool) -> RpcReply:
    """Return the answer to the request `id`; raise `ToolError` EREMOTE when there is none.

    `streamed` says that the body is a stream of events.
    """
    for text in _parse_events(body) if streamed else (body,):
        try:
            message = jsonrpc.parse_message(jsonrpc.parse_body(text))
        except RpcError as problem:
            raise invalid_reply(problem.message) from None
        if isinstance(message, RpcReply) and message.id in (id, None):
            return message
    raise invalid_reply("it does not answer this request")


def read_output(result: Json) -> Json:
    """Return the output of a capability for a tool's result.

    Raises `ToolError` EREMOTE when the tool failed or asks a question back, ETOOBIG when the output
    is too long.
    """
    if not isinstance(result, dict):
        raise invalid_reply("its result is not an object")
    if result.get("resultType", "complete") != "complete":
        raise invalid_reply("it asks a question back")
    parts = result.get("content", [])
    if not isinstance(parts, list) or len(parts) > PARTS_MOST:
        raise invalid_reply(f"its content is not a list of at most {PARTS_MOST:,} parts")
    texts = [_format_part(part) for part in parts]
    if result.get("isError"):
        raise ToolError(REMOTE, one_line(" ".join(texts)) or "the tool failed and does not say why")
    output = result.get("structuredContent")
    if output is None:
        output = "\n".join(texts)
    size = len(dumps(output))
    if size > OUTPUT_BYTES:
        raise ToolError(
            "ETOOBIG",
            f"the tool answers with {size:,} bytes, at most {OUTPUT_BYTES:,} are taken",
            suggestion="ask for less",
        )
    return output


def refused_call(problem: RpcError) -> ToolError:
    """Return the error for an error of the protocol, in the server's own words."""
    return ToolError(REMOTE, f"the server refuses: {problem.message or 'it does not say why'}")


def invalid_reply(why: str) -> ToolError:
    """Return the error for an answer that is not one of MCP."""
    return ToolError(REMOTE, f"the server's answer is not one of MCP: {one_line(why, 120)}")


def _parse_events(body: bytes) -> Iterator[bytes]:
    """Yield the data of each message of an event stream; other kinds of events are left out.

    The HTML standard has the rules ("interpreting an event stream").
    """
    data: list[bytes] = []
    kind = b""
    text = body.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    for line in (*text.split(b"\n"), b""):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"event":
            kind = value
        elif not line:
            if any(data) and kind in (b"", b"message"):
                yield b"\n".join(data)
            data = []
            kind = b""


def _format_part(part: Json) -> str:
    """Return a part of a result's content as text."""
    if not isinstance(part, Mapping):
        return "[something that is no content]"
    kind = part.get("type")
    text = part.get("text")
    if kind == "text" and isinstance(text, str):
        return text
    resource = part.get("resource")
    if kind == "resource" and isinstance(resource, Mapping):
        text = resource.get("text")
        if isinstance(text, str):
            return text
        return f"[a resource, {_describe_data(resource, 'blob')}]"
    if kind == "resource_link":
        return f"[a link to {one_line(str(part.get('uri', '')), 200)}]"
    return f"[{one_line(str(kind), 20)}, {_describe_data(part, 'data')}]"


def _describe_data(part: Mapping[str, Json], field: str) -> str:
    """Return the type and the size of the data that a field holds in base64."""
    data = part.get(field)
    kind = part.get("mimeType")
    size = len(data) * 3 // 4 if isinstance(data, str) else 0
    name = one_line(kind, 60) if isinstance(kind, str) else "of an unknown type"
    return f"{name}, {size:,} bytes, left out"
