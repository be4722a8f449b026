"""`write-file`, `read-file`, `edit-file`, `list-files` and `diff-file`: the files of a workspace.

Whoever asks in a chat uses the files of that chat; an owner in a private chat those of the agent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Final

from functions.agent.sanitize import sanitize_text
from functions.agent.services.call_context import (
    Arguments,
    CallContext,
    read_number,
    read_text,
)
from functions.agent.workspace.file import FileConflict, FileContent, FileVersion
from functions.agent.workspace.files import VERSIONS_MOST, Workspace, Writer
from functions.agent.workspace.path import RECEIVED, parse_path, require_writable
from functions.agent.workspace.scope import (
    FileScopes,
    find_scopes,
    find_scopes_of_chat,
    find_scopes_of_work,
    require_writer,
    scan_scopes,
    split_writer,
)
from functions.time.time_zone import to_local
from sigil.errors import Refused, UsageError, one_line
from sigil.protocol import Json
from sigil.storage.kv import keys

WRITE, READ, EDIT = "write-file", "read-file", "edit-file"
LIST, DIFF = "list-files", "diff-file"
KEEP: Final = "keep-file"
"""Keeps what an answer names. No capability is called that: the runtime alone calls it."""
PART_CHARACTERS: Final = 8_000
"""The model reads so many characters of a file at once."""
LISTED_MOST: Final = 200
NUMBER_MOST: Final = 10**9
MAX_COMPARED: Final = 1_000_000
"""Two texts are compared letter by letter up to this product of their lengths."""
NEWER: Final = (
    "nothing was written: somebody else has changed the file. Put your change into this newer text,"
    " and write it with base {version}"
)


def name_path(arguments: Mapping[str, Json]) -> str:
    """Return the path that a call names, as rules name it."""
    return _read_path(arguments)


def name_path_to_read(arguments: Mapping[str, Json]) -> str:
    """Return the path that a call reads, as rules name it, whosever own file it is."""
    return parse_path(_split_writer("", arguments)[1])


def write_file(context: CallContext, arguments: Arguments) -> Json:
    """Write a whole file, and return its version.

    With `base` it is written only where the file is still at that version, and the answer has the
    newer text otherwise.
    """
    path = require_writable(_read_path(arguments))
    content = _read_content(arguments, "content")
    base = arguments.get("base")
    if base is not None:
        base = 0 if base == 0 else read_number(arguments, "base", 0, NUMBER_MOST)
    files = _open(context, path)
    try:
        written = files.write(path, content, _make_writer(context), base=base)
    except FileConflict as conflict:
        if conflict.newer is None:
            raise
        newer = files.read(path)
        note = NEWER.format(version=newer.version.version)
        row = _describe_part(newer, context.zone, {})
        return {"written": False, "note": note, "newer": row}
    return _describe_written(written)


def edit_file(context: CallContext, arguments: Arguments) -> Json:
    """Replace the one place of a file that has a text, and return what changed."""
    path = require_writable(_read_path(arguments))
    context.gate.require_undenied("read", path)
    old = _read_raw(arguments, "old_text")
    new = _read_raw(arguments, "new_text")
    files = _open(context, path)
    writer = _make_writer(context)
    content = files.read(path)
    if content.version.call != writer.call:  # else it was done before a crash
        text = content.require_text()
        changed = _replace_once(text, old, new, path).encode()
        try:
            written = files.write(path, changed, writer, base=content.version.version)
        except FileConflict:
            # nobody waits for a person here: the newer text has the place too, or it says so
            content = files.read(path)
            changed = _replace_once(content.require_text(), old, new, path).encode()
            written = files.write(path, changed, writer, base=content.version.version)
    else:
        written = content.version
    return _describe_written(written)


def read_file(context: CallContext, arguments: Arguments) -> Json:
    """Return a file's text or a part of it, by `part`, or by lines with `from` and `lines`; of what
    is no text, a `page`, or what lets the model `look` at it.
    """
    files, path = _open_to_read(context, arguments)
    version = 0
    if arguments.get("version") is not None:
        version = read_number(arguments, "version", 1, NUMBER_MOST)
    found = files.load_version(path, version)
    looks = bool(arguments.get("look"))
    if found.pages and not looks:
        from functions.agent.services import opened_files

        return opened_files.read_page(context, found, arguments, files)
    content = FileContent(found, files.read_body(found))
    if looks or is_document(context, content):
        from functions.agent.services import opened_files

        if looks:
            return opened_files.look_at(context, content, arguments, files)
        return opened_files.read_page(context, found, arguments, files)
    return _describe_part(content, context.zone, arguments)


def keep_file(context: CallContext, arguments: Arguments) -> Json:
    """Keep what an answer names for its chat, as it is now, and return its row: a file by its
    `path`, where it may be read without asking anybody, or a `drawing`.
    """
    from functions.agent.services import opened_files

    drawing = read_text(arguments, "drawing")
    if drawing:
        return opened_files.keep_drawing(context, drawing)
    path = _read_path(arguments)
    context.gate.require("read", path)
    return opened_files.keep_for_answer(context, path, _open(context, path).read(path).body)


def is_document(context: CallContext, content: FileContent) -> bool:
    """Return whether a file is no text of the agent's own, but one that has to be opened."""
    if content.text is None:
        return True
    if content.version.path.partition("/")[0] != RECEIVED:
        return False
    return context.app.helpers.reader.find_type(content.body) not in ("text", "html", "")


def read_whole_text(context: CallContext, path: str) -> str:
    """Return the whole text of a file that the call may read, at least with an approval;
    `UsageError` when it is none.
    """
    context.gate.require_undenied("read", path)
    content = _open(context, path).read(path)
    approved = context.gate.approved
    if approved and approved.names(path) and content.version.at > approved.at:
        raise UsageError(
            "EINVAL",
            f"{path} was changed after an owner was asked about it",
            suggestion="call it again: an owner is asked about the file as it is now",
        )
    return content.require_text()


def list_files(context: CallContext, arguments: Arguments) -> Json:
    """Return the files that may be read, by path, with what people sent into the chat."""
    prefix = read_text(arguments, "prefix")
    heads = scan_scopes(find_scopes_of_call(context), context.app.open_workspace, prefix)
    shown = [head for head in heads if not context.gate.denies("read", head.path)]
    if not shown:
        context.gate.require("read", "*")
    items: list[Json] = []
    for head in shown[:LISTED_MOST]:
        written = _format_time(head.at, context.zone)
        items.append(
            {"path": head.path, "bytes": head.size, "version": head.version, "written": written}
        )
    answer: dict[str, Json] = {"items": items, "found": len(shown)}
    if len(shown) > LISTED_MOST:
        answer["note"] = "these are the first; a prefix such as notes/ leads to others"
    return answer


def diff_file(context: CallContext, arguments: Arguments) -> Json:
    """Return what changed between two versions of a file, mostly the last two, and by whom."""
    files, path = _open_to_read(context, arguments)
    first = _read_version_number(arguments, "from")
    last = _read_version_number(arguments, "to")
    first, last, found = files.compare(path, first, last)
    versions: list[Json] = []
    for version in files.list_versions(path):
        if first < version.version <= last:
            versions.append(_describe_version(version, context.zone))
    return {
        "path": path,
        "from": first,
        "to": last,
        "added": found.added,
        "removed": found.removed,
        "diff": found.text,
        "versions": versions[:VERSIONS_MOST],
    }


def _open(context: CallContext, path: str) -> Workspace:
    """Return the workspace in which a call looks for a path."""
    return context.app.open_workspace(find_scopes_of_call(context).choose(path))


def _open_to_read(context: CallContext, arguments: Arguments) -> tuple[Workspace, str]:
    """Return the workspace in which a call reads a file, and its path. That may be what another
    agent of the team has written for the same chat, on behalf of the same person.
    """
    app = context.app
    writer, path = _split_writer(app.name, arguments)
    path = parse_path(path)
    if not writer:
        return _open(context, path), path
    if not (app.is_root or app.is_teammate):
        raise Refused(
            "EPERM", "only a team reads what its members have written", reason="other-files"
        )
    require_writer(app.kv, writer)
    return app.open_workspace(_find_scopes_of_agent(context, writer).own), path


def _split_writer(agent: str, arguments: Mapping[str, Json]) -> tuple[str, str]:
    return split_writer(agent, _read_text_of_path(arguments))


def find_scopes_of_call(context: CallContext) -> FileScopes:
    """Return the scopes of the files that a call uses; `Refused` EPERM where they are nobody's."""
    app = context.app
    record = app.record
    if record and record.kind == "subagent":
        own = keys.escape(app.name)
        if not record.files:
            return find_scopes_of_chat(own)
        # what its parent uses for the same person, as that person's rights are now
        found = find_scopes_of_work(app.root, record.home, record.by, app.people, app.private_chats)
        return replace(found, chat=found.own, prefix=record.files)
    found = _find_scopes_of_agent(context, app.name)
    if app.is_teammate and context.home:
        # people send files to the root alone
        return replace(found, chat=app.name_chat(context.home))
    return found


def _find_scopes_of_agent(context: CallContext, agent: str) -> FileScopes:
    """Return the scopes of what an agent uses for the chat and the person that a call is for."""
    app = context.app
    if context.work:
        return find_scopes_of_work(agent, context.home, context.by, app.people, app.private_chats)
    return find_scopes(agent, context.home, is_owner=context.owner)


def _make_writer(context: CallContext) -> Writer:
    return Writer(context.by, context.task, context.call, context.find_holder_here())


def _read_path(arguments: Mapping[str, Json]) -> str:
    return parse_path(_read_text_of_path(arguments))


def _read_text_of_path(arguments: Mapping[str, Json]) -> str:
    path = arguments.get("path")
    if not isinstance(path, str):
        raise UsageError("EINVAL", "path is a text such as notes/plan.md")
    return path.strip()


def _read_raw(arguments: Arguments, name: str) -> str:
    """Return a text as it is, with the space around it."""
    value = arguments.get(name)
    if not isinstance(value, str):
        raise UsageError("EINVAL", f"{name} is a text")
    return value


def _read_content(arguments: Arguments, name: str) -> bytes:
    try:
        return _read_raw(arguments, name).encode()
    except UnicodeEncodeError:
        raise UsageError("EINVAL", f"{name} is no text: it has a lone surrogate") from None


def _read_version_number(arguments: Arguments, name: str) -> int:
    if arguments.get(name) is None:
        return 0
    return read_number(arguments, name, 1, NUMBER_MOST)


def _replace_once(text: str, old: str, new: str, path: str) -> str:
    """Return a text with its one place of `old` replaced; `UsageError` EINVAL for none, or more."""
    if not old:
        raise UsageError("EINVAL", "old_text is empty", suggestion=f"{WRITE} writes a whole file")
    count = text.count(old)
    if not count:
        old, new = _restore_brackets(text, old, new)
        count = text.count(old)
    if count != 1:
        found = "nowhere" if not count else f"{count} times"
        hint = "read the file, and copy the text letter by letter"
        if count:
            hint = "give more of the text around it, so that it is there once"
        raise UsageError("EINVAL", f"old_text is {found} in {path}", suggestion=hint)
    changed = text.replace(old, new)
    if changed == text:
        raise UsageError("EINVAL", "new_text is the same as old_text")
    return changed


def _restore_brackets(text: str, shown: str, new: str) -> tuple[str, str]:
    """Return a part of a text, and what replaces it, with the brackets that it has in the file.

    The model reads some of them as others (`sanitize_text`), and repeats those in both. Both texts
    stay as they are where the part is not shown once.
    """
    whole = sanitize_text(text)
    if len(whole) != len(text) or whole.count(shown) != 1:
        return shown, new
    if len(shown) * len(new) > MAX_COMPARED:
        return shown, new
    start = whole.index(shown)
    old = text[start : start + len(shown)]
    restored = []
    matcher = SequenceMatcher(None, shown, new, autojunk=False)
    for change, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        restored.append(old[old_from:old_to] if change == "equal" else new[new_from:new_to])
    return old, "".join(restored)


def _describe_written(version: FileVersion) -> Json:
    row: dict[str, Json] = {
        "path": version.path,
        "version": version.version,
        "bytes": version.size,
        "added": version.added,
        "removed": version.gone,
    }
    if version.before:
        row["before"] = version.before
    return row


def _describe_version(version: FileVersion, zone: str) -> dict[str, Json]:
    row: dict[str, Json] = {
        "version": version.version,
        "written": _format_time(version.at, zone),
        "by": version.by,
    }
    if version.why:
        row["why"] = version.why
    return row


def _describe_part(content: FileContent, zone: str, arguments: Arguments) -> dict[str, Json]:
    """Return a version of a file with its text, or with the part of it that is asked for."""
    text = content.require_text()
    version = content.version
    lines = text.splitlines(keepends=True)
    row: dict[str, Json] = {
        "path": version.path,
        **_describe_version(version, zone),
        "bytes": version.size,
        "lines": len(lines),
    }
    if arguments.get("from") is not None or arguments.get("lines") is not None:
        return {**row, **_take_lines(lines, arguments, version.path)}
    parts = max(-(-len(text) // PART_CHARACTERS), 1)
    # a text has no pages but these
    part = read_number(arguments, "page", 1, NUMBER_MOST)
    part = read_number(arguments, "part", part, NUMBER_MOST)
    if part > parts:
        raise UsageError(
            "EINVAL", f"{version.path} has {parts} parts", suggestion=f"part is 1 to {parts}"
        )
    begin = (part - 1) * PART_CHARACTERS
    row["text"] = text[begin : begin + PART_CHARACTERS]
    if parts > 1:
        row["part"] = part
        row["parts"] = parts
    return row


def _take_lines(lines: list[str], arguments: Arguments, path: str) -> dict[str, Json]:
    """Return the lines that are asked for, as many of them as one answer takes."""
    first = read_number(arguments, "from", 1, NUMBER_MOST)
    count = read_number(arguments, "lines", NUMBER_MOST, NUMBER_MOST)
    if first > max(len(lines), 1):
        raise UsageError("EINVAL", f"{one_line(path, 60)} has {len(lines)} lines")
    taken: list[str] = []
    room = PART_CHARACTERS
    for line in lines[first - 1 : first - 1 + count]:
        room -= len(line)
        if taken and room < 0:
            break
        taken.append(line)
    row: dict[str, Json] = {
        "from": first,
        "to": first - 1 + len(taken),
        "text": "".join(taken)[:PART_CHARACTERS],
    }
    if len(taken) < len(lines[first - 1 : first - 1 + count]):
        row["next"] = first + len(taken)
    return row


def _format_time(at: float, zone: str) -> str:
    return to_local(at, zone).isoformat(timespec="minutes")
