"""The tree of an agent: what it is and what it wrote, as files in folders that people can read.

Exported it is a git repository with one commit for each write; imported elsewhere it makes the same
system message. What belongs to single chats stays: their history, memory and files.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final

from functions.agent.agents.lifecycle import create_agent
from functions.agent.agents.record import (
    AgentRecord,
    is_name,
    make_record,
    scan_agents,
)
from functions.agent.app import App
from functions.agent.behaviours.behaviour import PREFIX, is_behaviour_document
from functions.agent.management.files import FileEditor
from functions.agent.management.git_repository import Commit
from functions.agent.management.import_steps import find_problem, take_steps
from functions.agent.management.moved_work import MovedWork, WorkChange, WorkMover
from functions.agent.management.things_file import FILE_BYTES as THINGS_BYTES
from functions.agent.management.things_file import (
    KeptThing,
    list_missing,
    list_things,
    read_lines,
    write_lines,
    write_missing,
)
from functions.agent.management.work_files import (
    FILE_BYTES as WORK_BYTES,
)
from functions.agent.management.work_files import (
    TASK_LINES,
    is_work_file,
    list_work,
    read_work,
)
from functions.agent.memory.documents import CAPS, Doc, check_document_text
from functions.agent.memory.things import Things
from functions.agent.skills.folder import read_skills
from functions.agent.skills.package import SkillPackage
from functions.agent.skills.skill import FILE
from functions.agent.workspace.files import FILE_BYTES, FILES_MOST, TOTAL_BYTES, Writer
from functions.agent.workspace.path import RECEIVED, fold_path, parse_path, require_writable
from functions.agent.workspace.scope import find_scopes_of_agent, scan_scopes
from sigil.errors import BackendError, UsageError, one_line
from sigil.protocol import Json
from sigil.storage.files import read_bounded
from sigil.storage.obeyed_names import disable_path, restore_path
from sigil.storage.stored import dumps
from sigil.strict_json import canonical, read_object

BEHAVIOURS: Final = "behaviors"
SKILLS: Final = "environment/skills"
FILES: Final = "workspace"
THINGS: Final = "memory/things.jsonl"
BELOW: Final = "sub-agents"
DESCRIPTION: Final = "workspace.json"
FORMAT: Final = 1
DOCUMENTS: Final = {
    **{name: f"{name}.md" for name in CAPS},
    "tools": "environment/tools/tools.md",
    "memory": "memory/memory.md",
}
"""The file of each document."""
RECORD_FIELDS: Final = (
    "kind",
    "model",
    "tokens",
    "session_tokens",
    "ticks",
    "role",
    "prompt",
    "behaviour",
    "bundle",
    "task",
    "files",
)
"""What a tree says of an agent below the root. Who may talk to it, and which code it runs, is said
where it is imported.
"""
DEPTH_MOST: Final = 18
ENTRIES_MOST: Final = 30_000
_README: Final = b"""\
# The tree of an agent

`uncaged agent import FOLDER` writes it into an agent. Each commit is one write, by whom it says.

| path | what it is |
|---|---|
| `role.md`, `self.md`, `agents.md`, `soul.md`, `user.md` | documents of the system message |
| `memory/memory.md`, `environment/tools/tools.md` | two more of them |
| `memory/things.jsonl` | what all its chats remember, a thing a line |
| `behaviors/` | how the agent goes about its own work |
| `environment/skills/` | rules for certain tasks, as `SKILL.md` |
| `environment/todo/` | the board of tasks: `tasks.md` to be read, `tasks.jsonl` for an import |
| `environment/schedules.jsonl` | when it is woken and for what; an import pauses them |
| `environment/knowledge/` | the documents of its knowledge base |
| `workspace/` | the files that it works with |
| `sub-agents/NAME/` | the same of each agent below it |
| `workspace.json` | the format, which skills are pinned, and the limits of an agent below |
"""
_PULL_REQUEST: Final = b"""\
## What changes

## Why

## What the agent does differently then
"""
_ISSUE: Final = b"""\
---
name: Problem
about: The agent did something wrong, or left something out
---
## What it was told

## What it did

## What would have been right
"""
_TEMPLATES: Final = {
    "README.md": _README,
    ".github/PULL_REQUEST_TEMPLATE.md": _PULL_REQUEST,
    ".github/ISSUE_TEMPLATE/problem.md": _ISSUE,
}
_LEFT_ALONE: Final = frozenset((".git", ".github", "README.md"))
"""What an import does not read: it is the repository's, not the agent's."""


OpenAgent = Callable[[str, AgentRecord], App]
"""Opens an agent below the root by its short name and record, also one that is not stored yet."""


@dataclass(frozen=True, slots=True)
class AgentTree:
    """What was read of a tree, and checked; `other` are files that belong to nothing.

    `below` are the trees of the agents below it, by their short names, and `record` is what is
    described of an agent that is below another one.
    """

    documents: dict[str, str]
    things: tuple[KeptThing, ...]
    skills: dict[str, SkillPackage]
    pinned: tuple[str, ...]
    files: dict[str, bytes]
    other: tuple[str, ...]
    record: AgentRecord
    below: dict[str, AgentTree] = field(default_factory=dict)
    work: MovedWork = MovedWork()

    @property
    def is_empty(self) -> bool:
        """Return whether it has nothing of an agent."""
        return not (
            self.documents or self.things or self.skills or self.files or self.below or self.work
        )


def list_commits(
    app: App, redact: Callable[[str], str], open_agent: OpenAgent | None = None
) -> Iterator[Commit]:
    """Yield what was written of an agent, one commit a write, the oldest first.

    `redact` takes the secrets of the settings out of each text. With `open_agent` the agents below
    the root come along, but for archived ones.
    """
    histories = [*_list_histories(app)]
    described = {DESCRIPTION: _describe(app, {})}
    if app.is_root and open_agent:
        for name, record in scan_agents(app.kv, app.root):
            if record is None or not record.is_live:
                continue
            child = open_agent(name, record)
            fields = read_object(dumps(record))
            kept = {key: fields[key] for key in RECORD_FIELDS if fields.get(key)}
            described[f"{BELOW}/{name}/{DESCRIPTION}"] = _describe(child, kept)
            histories += [_move(history, name) for history in _list_histories(child)]
    commits = sorted(chain(*map(_put_in_order, histories)), key=lambda commit: commit.at)
    first = commits[0].at if commits else 0.0
    yield Commit(first, "uncaged", "Describe the tree", {**_TEMPLATES, **described})
    for commit in commits:
        files = {path: _redact_body(body, redact) for path, body in commit.files.items()}
        yield replace(commit, message=redact(commit.message), files=files)


def _describe(app: App, record: dict[str, Json]) -> bytes:
    pinned = [skill.name for skill in app.skills.read_catalog().skills if skill.pinned]
    described: dict[str, Json] = {"format": FORMAT, "pinned": list(pinned)}
    if record:
        described["agent"] = record
    return canonical(described) + b"\n"


def _list_histories(app: App) -> Iterator[list[Commit]]:
    """Yield the commits of each thing that an agent has, the oldest first."""
    yield from _list_documents(app)
    yield from _list_skills(app)
    yield from _list_files(app)
    things = _open_things(app)
    found = list_things(things)
    if found:
        body = write_lines(found, things.list_uses())
        at = max(thing.at for thing in found)
        yield [Commit(at, "uncaged", "Write what all chats remember", {THINGS: body})]
    for work in list_work(app):
        yield [Commit(work.at, work.by, work.message, {**work.files})]


def _move(history: list[Commit], name: str) -> list[Commit]:
    """Return the commits of an agent below the root as they are in its tree."""
    moved = []
    for commit in history:
        files = {f"{BELOW}/{name}/{path}": body for path, body in commit.files.items()}
        moved.append(replace(commit, message=f"{name}: {commit.message}", files=files))
    return moved


def _open_things(app: App) -> Things:
    return Things(app.kv, app.documents.agent, app.helpers.terms)


def _put_in_order(history: list[Commit]) -> Iterator[Commit]:
    """Yield the versions of one thing, the oldest first, none before the one that it replaced:
    clocks go back.
    """
    last = 0.0
    for commit in history:
        last = max(last, commit.at)
        yield replace(commit, at=last)


def _redact_body(body: bytes | None, redact: Callable[[str], str]) -> bytes | None:
    if not body:
        return body
    try:
        return redact(body.decode()).encode()
    except UnicodeDecodeError:
        return redact(body.decode("latin-1")).encode("latin-1", "replace")


def _list_documents(app: App) -> Iterator[list[Commit]]:
    """Yield the versions of each document, the oldest first."""
    documents = app.documents
    names = [*CAPS, *(doc.name for doc in documents.list_behaviours())]
    for name in names:
        path = _place_document(name)
        history: list[Commit] = []
        for doc in reversed(list(documents.list_versions(documents.agent, name))):
            body: bytes | None = f"{doc.text}\n".encode()
            if not doc.text:
                # an empty behaviour stands for the built-in one, and is not the same as none
                body = b"" if name.startswith(PREFIX) else None
            history.append(Commit(doc.at, doc.by, _say(name, doc.version, doc.why), {path: body}))
        yield history


def _place_document(name: str) -> str:
    if name.startswith(PREFIX):
        return f"{BEHAVIOURS}/{name.removeprefix(PREFIX)}.md"
    return DOCUMENTS[name]


def _list_skills(app: App) -> Iterator[list[Commit]]:
    """Yield the versions of each skill that there is, the oldest first."""
    for skill in app.skills.read_catalog().skills:
        history: list[Commit] = []
        before: dict[str, bytes | None] = {}
        for doc in reversed(list(app.skills.list_versions(skill.name))):
            try:
                now = _pack_skill(app, skill.name, doc)
            except BackendError:
                if doc.version == app.skills.read(skill.name).version:
                    raise
                continue  # an earlier version that is damaged leaves a gap in the history alone
            gone: dict[str, bytes | None] = dict.fromkeys(before.keys() - now.keys())
            message = _say(f"the skill {skill.name}", doc.version, doc.why)
            history.append(Commit(doc.at, doc.by, message, {**gone, **now}))
            before = dict(now)
        yield history


def _pack_skill(app: App, name: str, doc: Doc) -> dict[str, bytes]:
    if not doc.text:
        return {}
    package = app.skills.pack(doc)
    files = {FILE: package.body, **package.files}
    return {f"{SKILLS}/{name}/{disable_path(path)}": body for path, body in files.items()}


def _list_files(app: App) -> Iterator[list[Commit]]:
    """Yield the versions of each file that there is, the oldest first."""
    scopes = find_scopes_of_agent(app.name)
    for head in scan_scopes(scopes, app.open_workspace):
        scope = scopes.choose(head.path)
        if fold_path(head.path).partition("/")[0] == RECEIVED:
            continue  # what people sent belongs to their chat
        if scope == scopes.team and not app.is_root:
            continue  # what the team shares goes with its root
        workspace = app.open_workspace(scope)
        place = f"{FILES}/{disable_path(head.path)}"
        history: list[Commit] = []
        for version in reversed(workspace.list_versions(head.path)):
            body = None if version.removed else workspace.read_body(version)
            message = _say(head.path, version.version, version.why)
            if version.task:
                message += f"\n\nTask: {version.task}"
            history.append(Commit(version.at, version.by, message, {place: body}))
        yield history


def _say(what: str, version: int, why: str) -> str:
    subject = f"Write {what}, version {version}"
    return f"{subject}\n\n{why}" if why else subject


def read_tree(folder: Path) -> AgentTree:
    """Read a tree and check all of it; `UsageError` for what no agent can have.

    Links, pipes and devices are refused wherever they are: a tree from elsewhere must not choose
    what is read.
    """
    try:
        paths = list(_walk(folder, "", 0))
        _refuse_twins(paths)
        tree = _sort_out(folder, "", paths)
    except OSError as problem:
        why = problem.strerror or str(problem)
        raise UsageError("EINVAL", f"{folder} cannot be read: {why}") from None
    if tree.is_empty:
        raise UsageError(
            "ENOENT",
            f"{folder} holds no tree of an agent",
            suggestion="`uncaged agent export FOLDER` writes one",
        )
    return tree


def list_disabled(folder: Path) -> list[str]:
    """Return the paths of a tree that have another name than in the agent: some program would obey
    that one.
    """
    return [path for path in _walk(folder, "", 0) if restore_path(path) != path]


def _walk(folder: Path, prefix: str, depth: int) -> Iterator[str]:
    """Yield the paths of the files, without following a link."""
    if depth > DEPTH_MOST:
        raise UsageError("EINVAL", f"{one_line(prefix, 120)} is nested too deeply")
    if folder.is_symlink():
        raise UsageError("EINVAL", f"{folder} is a link", suggestion="name the folder itself")
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        if not prefix and entry.name in _LEFT_ALONE:
            continue
        path = f"{prefix}{entry.name}"
        mode = entry.stat(follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode):
            yield from _walk(folder / entry.name, f"{path}/", depth + 1)
        elif stat.S_ISREG(mode):
            yield path
        else:
            raise UsageError(
                "EINVAL",
                f"{one_line(path, 120)} is a link, or no plain file",
                suggestion="put a file in its place: nothing outside of the folder is read",
            )


def _refuse_twins(paths: list[str]) -> None:
    if len(paths) > ENTRIES_MOST:
        raise UsageError("ETOOBIG", f"there are {len(paths):,} files")
    seen: dict[str, str] = {}
    for path in paths:
        twin = seen.setdefault(fold_path(restore_path(path)), path)
        if twin != path:
            raise UsageError(
                "EINVAL",
                f"{one_line(path, 80)} and {one_line(twin, 80)} are one file on many systems",
                suggestion="rename one of them",
            )


def _sort_out(folder: Path, place: str, paths: list[str]) -> AgentTree:
    """Return what the files of a tree are, each read and checked. `place` is where it is in the
    tree of the agent above it, empty for the whole tree.
    """
    names = {path: name for name, path in DOCUMENTS.items()}
    documents: dict[str, str] = {}
    files: dict[str, bytes] = {}
    other: list[str] = []
    skills: set[str] = set()
    below: dict[str, list[str]] = {}
    things: tuple[KeptThing, ...] = ()
    work: dict[str, bytes] = {}
    for path in paths:
        top, _, rest = path.partition("/")
        behaviour = PREFIX + rest.removesuffix(".md")
        if path in names:
            documents[names[path]] = _read_document(folder, path, names[path])
        elif top == BEHAVIOURS and rest.endswith(".md") and is_behaviour_document(behaviour):
            documents[behaviour] = _read_document(folder, path, behaviour)
        elif top == FILES and rest:
            file = require_writable(parse_path(restore_path(rest)))
            files[file] = read_bounded(folder / path, FILE_BYTES)
        elif path.startswith(f"{SKILLS}/") and path.count("/") > SKILLS.count("/") + 1:
            skills.add(path.removeprefix(f"{SKILLS}/").partition("/")[0])
        elif path == THINGS:
            things = read_lines(read_bounded(folder / path, THINGS_BYTES), f"{place}{path}")
        elif is_work_file(path):
            if path != TASK_LINES:
                work[path] = read_bounded(folder / path, WORK_BYTES)
        elif top == BELOW and not place and is_name(rest.partition("/")[0]) and "/" in rest:
            name, _, inner = rest.partition("/")
            below.setdefault(name, []).append(inner)
        elif path != DESCRIPTION:
            other.append(f"{place}{path}")
    if len(files) > FILES_MOST or sum(map(len, files.values())) > TOTAL_BYTES:
        raise UsageError(
            "ETOOBIG",
            f"{place}{FILES}/ has {len(files):,} files",
            suggestion=f"at most {FILES_MOST:,}, of {TOTAL_BYTES >> 20} MB together",
        )
    packages = _read_skills(folder, skills)
    described = _read_description(folder) if DESCRIPTION in paths else {}
    pinned = _read_pinned(described)
    missing = [name for name in pinned if name not in packages]
    if missing:
        raise UsageError("EINVAL", f"{DESCRIPTION} pins {missing[0]}, which is not there")
    trees = {
        name: _sort_out(folder / BELOW / name, f"{BELOW}/{name}/", inner)
        for name, inner in below.items()
    }
    for tree in trees.values():
        other += tree.other
    record = _read_record(described)
    return AgentTree(
        documents,
        things,
        packages,
        pinned,
        files,
        tuple(other),
        record,
        trees,
        read_work(work),
    )


def _read_document(folder: Path, path: str, name: str) -> str:
    body = read_bounded(folder / path, FILE_BYTES)
    try:
        return check_document_text(name, body.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise UsageError(
            "EINVAL", f"{path} is not UTF-8 text", suggestion="save it as UTF-8"
        ) from None


def _read_skills(folder: Path, names: set[str]) -> dict[str, SkillPackage]:
    packages: dict[str, SkillPackage] = {}
    for place in sorted(names):
        for found in read_skills(folder / SKILLS / place):
            name = found.package.parse().name
            if name != place:
                raise UsageError(
                    "EINVAL",
                    f"{SKILLS}/{one_line(place, 80)} has a skill with the name {name}",
                    suggestion="give the folder the name of the skill",
                )
            packages[name] = found.package
    return packages


def _read_description(folder: Path) -> dict[str, Json]:
    described = read_object(read_bounded(folder / DESCRIPTION, FILE_BYTES), source=DESCRIPTION)
    if described.get("format") != FORMAT:
        raise UsageError(
            "EINVAL",
            f"{DESCRIPTION} is of another format than {FORMAT}",
            suggestion="import it with a newer release",
        )
    return described


def _read_pinned(described: Mapping[str, Json]) -> tuple[str, ...]:
    pinned = described.get("pinned", [])
    if not isinstance(pinned, list):
        raise UsageError("EINVAL", f"{DESCRIPTION} has no list of what is pinned")
    return tuple(str(name) for name in pinned)


def _read_record(described: Mapping[str, Json]) -> AgentRecord:
    """Return the record of an agent below the root, as far as a tree may say what it is."""
    fields = described.get("agent", {})
    known = fields if isinstance(fields, dict) else {}
    kept = {key: known[key] for key in RECORD_FIELDS if key in known}
    return make_record({"kind": "agent", "state": "enabled", "since": 0, "by": "", **kept})


class AgentStep:
    """The step that makes an agent below the root, before the steps that write into it."""

    def __init__(self, app: App, name: str, record: AgentRecord) -> None:
        self.record = record
        self._app = app
        self._name = name
        self._is_made = False

    def make(self) -> None:
        """Make the agent; `UsageError` where it cannot be."""
        app = self._app
        record = replace(self.record, since=app.clock.now())
        create_agent(app.kv, app.root, self._name, record, most=app.agents_most)
        self._is_made = True

    def take(self, step: Callable[[], object]) -> None:
        """Take a step that writes into the agent, once it is made."""
        if not self._is_made:
            raise UsageError("ENOENT", f"the agent {self._name} was not made")
        step()


@dataclass(frozen=True, slots=True)
class TreeChange:
    """What an import of a tree writes at a path, and what writes it; `refused` is why it cannot."""

    path: str
    write: Callable[[], object]
    refused: str = ""


@dataclass(frozen=True, slots=True)
class TreeReport:
    """What became of an import: the paths that were written; what was refused, and what was not or
    not wholly written because the store failed, each with the reason; and that failure.
    """

    written: list[str]
    refused: list[str]
    failed: list[str]
    problem: BackendError | None = None


def list_changes(
    app: App, tree: AgentTree, open_agent: OpenAgent, by: str = "", why: str = ""
) -> list[TreeChange]:
    """Return what an import of this tree would write, in its order; nothing is written.

    What stands there already is written no second time, so an import that was ended in the middle
    is completed by the next one. `UsageError` where there is no room for the skills.
    """
    app.skills.require_room(tree.skills)
    changes = [*_list_changed_documents(app, tree, by, why)]
    things = _open_things(app)
    missing = list_missing(things, tree.things)
    if missing:
        path = f"{THINGS}: {len(missing):,} of {len(tree.things):,}"
        changes.append(TreeChange(path, partial(write_missing, things, tree.things)))
    changes += _list_changed_skills(app, tree, by, why)
    changes += _list_changed_files(app, tree, by, why)
    for change, write in WorkMover(app, tree.work, by, replaces=True).list_steps():
        if change.is_made:
            changes.append(TreeChange(_say_work(change), write))
        elif change.state == "refused":
            path = f"{change.place}: {one_line(change.name, 80)}"
            changes.append(TreeChange(path, write, change.detail))
    known_agents = dict(scan_agents(app.kv, app.root)) if tree.below else {}
    for name, inner in tree.below.items():
        place = f"{BELOW}/{name}"
        record = known_agents.get(name)
        maker = AgentStep(app, name, record or replace(inner.record, by=by))
        if name not in known_agents:
            changes.append(TreeChange(f"{place}/{DESCRIPTION}: a new agent", maker.make))
        child = open_agent(name, maker.record)
        for each in list_changes(child, inner, open_agent, by, why):
            taken = each.write if name in known_agents else partial(maker.take, each.write)
            changes.append(TreeChange(f"{place}/{each.path}", taken, each.refused))
    return changes


def _list_changed_documents(app: App, tree: AgentTree, by: str, why: str) -> Iterator[TreeChange]:
    documents = app.documents
    for name, text in tree.documents.items():
        doc = documents.read(documents.agent, name)
        if doc.text != text or (not doc.version and not text):
            write = partial(documents.write, documents.agent, name, text, by=by, why=why)
            yield TreeChange(_place_document(name), write)


def _list_changed_skills(app: App, tree: AgentTree, by: str, why: str) -> Iterator[TreeChange]:
    catalog = app.skills.read_catalog()
    for name, package in tree.skills.items():
        known = catalog.find(name)
        if known is None or app.skills.pack(app.skills.read(name)) != package:
            write = partial(app.skills.write, package, by=by, why=why)
            yield TreeChange(f"{SKILLS}/{name}", write)
    for name in tree.pinned:
        known = catalog.find(name)
        if known is None or not known.pinned:
            yield TreeChange(f"{DESCRIPTION}: pin {name}", partial(app.skills.pin, name))


def _list_changed_files(app: App, tree: AgentTree, by: str, why: str) -> Iterator[TreeChange]:
    scopes = find_scopes_of_agent(app.name)
    for path, body in tree.files.items():
        workspace = app.open_workspace(scopes.choose(path))
        if workspace.find(path) is None:
            write = partial(workspace.write, path, body, Writer(by), why=why)
        elif workspace.read(path).body != body:
            # the agent is told of files that it knew otherwise
            write = partial(FileEditor(app.kv, workspace, by).write, path, body, why=why)
        else:
            continue
        yield TreeChange(f"{FILES}/{path}", write)


def _say_work(change: WorkChange) -> str:
    detail = f" ({change.detail})" if change.kind == "schedule" else ""
    return f"{change.place}: {change.name}{detail}"


def plan_tree(changes: Sequence[TreeChange]) -> TreeReport:
    """Return what an import of these changes would write, and what it would refuse."""
    planned = [change.path for change in changes if not change.refused]
    refused = [_say_why(change, change.refused) for change in changes if change.refused]
    return TreeReport(planned, refused, [])


def write_tree(changes: Sequence[TreeChange]) -> TreeReport:
    """Write the changes, and return what became of them."""
    plan = plan_tree(changes)
    made = [change for change in changes if not change.refused]
    outcomes = take_steps([change.write for change in made])
    report = TreeReport([], plan.refused, [], find_problem(outcomes))
    for change, outcome in zip(made, outcomes, strict=True):
        match outcome.state:
            case "written":
                report.written.append(change.path)
            case "refused":
                report.refused.append(_say_why(change, outcome.detail))
            case "failed":
                report.failed.append(_say_why(change, outcome.detail))
    return report


def _say_why(change: TreeChange, why: str) -> str:
    return f"{change.path}: {why}"
