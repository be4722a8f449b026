"""What a server answers, as a capability's output: texts and JSON as they are, of everything else
that it was there.
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
    """The answer to the request `id`; `ToolError` EREMOTE when there is none. `streamed`: it is a
    stream of events.
    """
    for text in _events(body) if streamed else (body,):
        try:
            message = jsonrpc.parse_message(jsonrpc.parse_body(text))
        except RpcError as problem:
            raise invalid_reply(problem.message) from None
        if isinstance(message, RpcReply) and message.id in (id, None):
            return message
    raise invalid_reply("it is none to this request")


def read_output(result: Json) -> Json:
    """What a capability returns for a tool's result; `ToolError` EREMOTE when the tool failed or
    asks something back.
    """
    if not isinstance(result, dict) or result.get("resultType", "complete") != "complete":
        raise invalid_reply(
            "it asks something back" if isinstance(result, dict) else "it is no result"
        )
    parts = result.get("content", [])
    if not isinstance(parts, list) or len(parts) > PARTS_MOST:
        raise invalid_reply("its content is no list")
    shown = [_shown(part) for part in parts]
    if result.get("isError"):
        raise ToolError(REMOTE, one_line(" ".join(shown)) or "the tool failed and does not say why")
    output = (
        result["structuredContent"]
        if result.get("structuredContent") is not None
        else "\n".join(shown)
    )
    size = len(dumps(output))
    if size > OUTPUT_BYTES:
        raise ToolError(
            "ETOOBIG",
            f"the tool answers with {size:,} bytes, at most {OUTPUT_BYTES:,} are taken",
            suggestion="ask for less",
        )
    return output


def refused_call(problem: RpcError) -> ToolError:
    """For an error of the protocol. Its text is the server's: one line, and no more than that."""
    return ToolError(REMOTE, f"the server refuses: {problem.message or 'it does not say why'}")


def invalid_reply(why: str) -> ToolError:
    """For an answer that is none."""
    return ToolError(REMOTE, f"the server's answer is not one of MCP: {one_line(why, 120)}")


def _events(body: bytes) -> Iterator[bytes]:
    """The data of each event of a stream (HTML standard, "interpreting an event stream"); other
    kinds of events than messages are none.
    """
    data: list[bytes] = []
    kind = b""
    for line in (
        *body.removeprefix(b"\xef\xbb\xbf")
        .replace(b"\r\n", b"\n")
        .replace(b"\r", b"\n")
        .split(b"\n"),
        b"",
    ):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"event":
            kind = value
        elif not line:
            if any(data) and kind in (b"", b"message"):
                yield b"\n".join(data)
            data, kind = [], b""


def _shown(part: Json) -> str:
    if not isinstance(part, Mapping):
        return "[something that is no content]"
    kind, text = part.get("type"), part.get("text")
    if kind == "text" and isinstance(text, str):
        return text
    inside = part.get("resource")
    if kind == "resource" and isinstance(inside, Mapping):
        text = inside.get("text")
        return text if isinstance(text, str) else f"[a resource, {_about(inside, 'blob')}]"
    if kind == "resource_link":
        return f"[a link to {one_line(str(part.get('uri', '')), 200)}]"
    return f"[{one_line(str(kind), 20)}, {_about(part, 'data')}]"


def _about(part: Mapping[str, Json], body: str) -> str:
    data, kind = part.get(body), part.get("mimeType")
    size = len(data) * 3 // 4 if isinstance(data, str) else 0
    return (
        f"{one_line(kind, 60) if isinstance(kind, str) else 'of an unknown type'}, {size:,} bytes,"
        " left out"
    )
