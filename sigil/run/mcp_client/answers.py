"""The answers of MCP servers, as the output of capabilities.

Texts and JSON are passed on, files are kept; of everything else the output only says that it was
there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from sigil.errors import ToolError, UsageError, one_line
from sigil.mcp import jsonrpc
from sigil.mcp.jsonrpc import Id, RpcError, RpcReply
from sigil.protocol import Json
from sigil.run.mcp_client.media import UnusableFileError, read_file
from sigil.storage.kept_files import FileContent
from sigil.strict_json import dumps

ANSWER_BYTES = 5 << 20
"""The most of a whole answer: a file in base64 fits."""
OUTPUT_BYTES = 256 << 10
VALUES_MOST = 300_000
"""The most commas of an answer: those of the longest list of tools, or of the longest output."""
LINES_MOST = 200_000
"""The most lines of a stream of events."""
PARTS_MOST = 1_000
REMOTE = "EREMOTE"
_LINE = re.compile(rb"([^\r\n]*)(?:\r\n|\r|\n|\Z)")
_FILE_KINDS = {"image": "picture", "audio": "sound"}

KeepFile = Callable[[FileContent], None]
"""Keeps a file for whoever called; raises `UnusableFileError` when it cannot."""


def keep_nothing(file: FileContent) -> None:
    """Raise `UnusableFileError`: nobody wants files."""
    raise UnusableFileError("no files are kept here")


def find_reply(body: bytes, id: Id, *, streamed: bool) -> RpcReply:
    """Return the answer to the request `id`; raise `ToolError` EREMOTE when there is none.

    `streamed` says that the body is a stream of events.
    """
    require_few_values(body)
    for text in _parse_events(body) if streamed else (body,):
        try:
            message = jsonrpc.parse_message(jsonrpc.parse_body(text))
        except RpcError as problem:
            raise invalid_reply(problem.message) from None
        if isinstance(message, RpcReply) and message.id in (id, None):
            return message
    raise invalid_reply("it does not answer this request")


def require_few_values(body: bytes) -> None:
    """Raise `ToolError` EREMOTE for JSON of so many values that reading it would cost too much.

    A file in base64, and so a large answer, has few commas.
    """
    if body.count(b",") > VALUES_MOST:
        raise invalid_reply(f"it has more than {VALUES_MOST:,} values")


def read_output(result: Json, keep: KeepFile = keep_nothing) -> Json:
    """Return the output of a capability for a tool's result; the files in it are kept.

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
    if result.get("isError"):
        texts = [_format_part(part, keep_nothing) for part in parts]
        raise ToolError(REMOTE, one_line(" ".join(texts)) or "the tool failed and does not say why")
    texts = [_format_part(part, keep) for part in parts]
    output = result.get("structuredContent")
    if output is None:
        output = "\n".join(texts)
    try:
        size = len(dumps(output))
    except UsageError:
        raise invalid_reply("its values are nested too deep, or no JSON") from None
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
    # no list of all lines: a stream may be nothing but line ends
    for number, found in enumerate(_LINE.finditer(body.removeprefix(b"\xef\xbb\xbf"))):
        if number > LINES_MOST:
            raise invalid_reply(f"it has more than {LINES_MOST:,} lines")
        line = found[1]
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


def _format_part(part: Json, keep: KeepFile) -> str:
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
        return _format_file(resource, "blob", "file", keep)
    if kind == "resource_link":
        uri = part.get("uri")
        return f"[a link to {one_line(uri, 200) if isinstance(uri, str) else 'nowhere'}]"
    if not isinstance(kind, str):
        return "[something that is no content]"
    if kind in _FILE_KINDS:
        return _format_file(part, "data", _FILE_KINDS[kind], keep)
    return f"[{one_line(kind, 20)}, which is not known here: left out]"


def _format_file(part: Mapping[str, Json], field: str, kind: str, keep: KeepFile) -> str:
    """Return a line about a file whose data a field holds in base64, and keep it."""
    try:
        file = read_file(part.get(field), kind, part.get("uri"))
        keep(file)
    except UnusableFileError as problem:
        said = part.get("mimeType")
        type = one_line(said, 60) if isinstance(said, str) else "of an unknown type"
        return f"[a {kind}, {type}: left out, {problem}]"
    return f"[{file.name}, {file.type}, {len(file.body):,} bytes: kept as a file]"
