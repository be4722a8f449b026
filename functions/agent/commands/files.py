"""/files shows the files of a workspace, one of them, its versions, or what changed in it."""

from __future__ import annotations

import re
from typing import Final

from functions.agent.commands.command import Command, CommandCall, CommandResult, Commands
from functions.agent.policy.gate import Gate
from functions.agent.safety.failure_codes import explain_refusal
from functions.agent.sanitize import clean_text
from functions.agent.workspace.files import Workspace
from functions.agent.workspace.path import parse_path
from functions.agent.workspace.scope import (
    FileScopes,
    find_scopes,
    require_writer,
    scan_scopes,
    split_writer,
)
from functions.time.time_zone import to_local
from sigil.errors import BackendError, Refused, UsageError

LISTED_MOST: Final = 50
VERSIONS_SHOWN: Final = 20
TEXT_CHARACTERS: Final = 3_000
_WITH_WORD: Final = re.compile(r"(diff|history)\s+(.+?)(?:\s+(\d{1,9})\.\.(\d{1,9}))?", re.DOTALL)
_WORDS: Final = frozenset(("diff", "history"))
_TICKS: Final = re.compile(r"`+")


def run_files(call: CommandCall) -> CommandResult:
    """Show the files, or one of them."""
    gate = call.make_gate()
    try:
        return call.reply(_answer(call, gate))
    except (UsageError, Refused) as problem:
        return call.reply(call.texts.files_refused.format(why=explain_refusal(problem, call.texts)))
    except BackendError as problem:
        if problem.code != "EDAMAGED":
            raise
        return call.reply(call.texts.files_refused.format(why=explain_refusal(problem, call.texts)))


def _answer(call: CommandCall, gate: Gate) -> str:
    if not call.text:
        return _list(call, gate)
    asked = _WITH_WORD.fullmatch(call.text)
    writer, path = split_writer(call.app.name, (asked[2] if asked else call.text).strip())
    path = parse_path(path)
    _require_readable(call, gate, path)
    files = _open(call, path, writer)
    if asked and asked[1] == "diff":
        first, last, found = files.compare(path, int(asked[3] or 0), int(asked[4] or 0))
        if not found.lines:
            return call.texts.files_same.format(first=first, last=last)
        return _show(call, found.text)
    if asked:
        return _list_versions(call, files, path)
    try:
        return _show(call, files.read(path).require_text())
    except UsageError as problem:
        # a file may have the name of a word that needs a path behind it
        if problem.code == "ENOENT" and path in _WORDS:
            return call.texts.files_how
        raise


def _list(call: CommandCall, gate: Gate) -> str:
    """Return a line for each file that may be read, with what people sent into the chat."""
    texts = call.texts
    heads = scan_scopes(_find_scopes(call), call.app.open_workspace)
    shown = [head for head in heads if not gate.denies("read", head.path)]
    if not shown:
        _require_readable(call, gate, "*")
        return texts.files_none
    lines = [
        texts.files_line.format(
            path=head.path,
            size=f"{head.size:,}",
            version=head.version,
            time=_format_time(call, head.at),
        )
        for head in shown[:LISTED_MOST]
    ]
    if len(shown) > LISTED_MOST:
        lines.append(texts.files_more.format(count=len(shown) - LISTED_MOST))
    return "\n".join([*lines, "", texts.files_how])


def _require_readable(call: CommandCall, gate: Gate, path: str) -> None:
    """Raise `PolicyRefusal` for a file that the sender may not read. An owner who types it needs no
    approval of an owner.
    """
    if call.role == "owner":
        gate.require_undenied("read", path)
    else:
        gate.require("read", path)


def _list_versions(call: CommandCall, files: Workspace, path: str) -> str:
    versions = files.list_versions(path)
    if not versions:
        files.require(path)
    lines = []
    for version in versions[:VERSIONS_SHOWN]:
        written = _format_time(call, version.at)
        by = version.by
        line = call.texts.version_line.format(version=version.version, written=written, by=by)
        if version.removed:
            line = f"{line}, {call.texts.files_removed}"
        elif version.why:
            line = f"{line}, {version.why}"
        lines.append(f"{line} (+{version.added} −{version.gone})")
    return "\n".join(lines)


def _show(call: CommandCall, text: str) -> str:
    """Return a text as it is written, between fences that nothing in it closes."""
    text = clean_text(text)
    more = len(text) - TEXT_CHARACTERS
    ticks = max((len(found) for found in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, ticks + 1)
    shown = f"{fence}\n{text[:TEXT_CHARACTERS].rstrip()}\n{fence}"
    return shown if more <= 0 else f"{shown}\n{call.texts.text_cut.format(count=more)}"


def _open(call: CommandCall, path: str, writer: str) -> Workspace:
    """Return the workspace that has a file which the sender reads here; `writer` is whose own it
    is, by a full name.
    """
    if writer:
        require_writer(call.app.kv, writer)
    scopes = _find_scopes(call, writer)
    return call.app.open_workspace(scopes.own if writer else scopes.choose(path))


def _find_scopes(call: CommandCall, agent: str = "") -> FileScopes:
    """Return the scopes of the files that the sender uses here, or of what an `agent` uses for
    them.
    """
    is_owner = call.role == "owner" and call.event.private
    return find_scopes(agent or call.app.name, call.event.session, is_owner=is_owner)


def _format_time(call: CommandCall, at: float) -> str:
    zone = call.app.find_zone(call.document)
    return to_local(at, zone).strftime("%Y-%m-%d %H:%M")


COMMANDS: Final[Commands] = {
    "files": Command(run_files, arguments="[PATH | diff PATH | history PATH]")
}
