"""The files of one workspace: written by compare-and-set, each write a version of its own.

A write puts the version first, where nothing was before, and then the head, which must be the one
that it was made from. So a file never has half of a write, and of two writers one comes first. What
a crash leaves between the two is a version that no other one leads to: the next write of the same
call goes on with it, and the sweep removes the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from functions.agent.workspace.difference import Difference, compare_texts
from functions.agent.workspace.edits import note_scope
from functions.agent.workspace.file import (
    TASK_CHARACTERS,
    WHY_CHARACTERS,
    FileConflict,
    FileContent,
    FileHead,
    FileVersion,
    read_head,
    read_version,
)
from functions.agent.workspace.path import RECEIVED, fold_path
from functions.events import ID_CHARACTERS
from sigil.errors import BackendError, Conflict, UsageError, one_line
from sigil.storage.artifacts import Artifacts, artifact_name
from sigil.storage.kv import ABSENT, KV, keys
from sigil.storage.kv.update import pause_after_race, scan_all
from sigil.storage.stored import dumps

if TYPE_CHECKING:
    from functions.agent.shares import Holder

FILE_BYTES: Final = 256 * 1024
INLINE_BYTES: Final = 32 * 1024
"""A larger content is an artifact of its own."""
FILES_MOST: Final = 2_000
TOTAL_BYTES: Final = 50 * 1024 * 1024
"""The newest versions of a workspace have so many bytes together."""
FREED: Final = "several files fit into one; owners remove files, with `uncaged files remove PATH`"
"""Who makes room for a file, and how."""
VERSIONS_MOST: Final = 50
TRIM_EVERY: Final = 16
"""Each so many versions the oldest of a file go."""
ORPHAN_SECONDS: Final = 3600.0
"""A version that no other one leads to may still become one: a writer is at work for so long."""
REMOVED_SECONDS: Final = 30 * 86_400.0
"""A removed file can be brought back for so long."""
RECEIVED_SECONDS: Final = 30 * 86_400.0
"""Pictures and documents that people sent are kept for so long."""
TRANSCRIPT: Final = "transcript"
"""The ending of what was said in a voice message, which no file that comes in has."""
SENT_ENDINGS: Final = frozenset((*"jpg pdf docx pptx xlsx xls ods".split(), TRANSCRIPT))
TRIES: Final = 16
SKIPPED_MOST: Final = 64
PAGE: Final = 50


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes: the person on whose behalf, the piece of work, and the call of a service, the
    same when it is run again after a crash.

    The `holder` takes room that others use as well; None where the files are one person's.
    """

    by: str
    task: str = ""
    call: str = ""
    holder: Holder | None = None


def is_sent(path: str) -> bool:
    """Return whether a file is a picture or a document that people sent, or what they said."""
    folder, _, name = path.partition("/")
    return folder == RECEIVED and name.rpartition(".")[2].lower() in SENT_ENDINGS


@dataclass(frozen=True, slots=True)
class Totals:
    """How many files a workspace has, and how many bytes."""

    files: int
    size: int


class Workspace:
    """The files of an agent (an `escape`d name) or of a chat with it (an S of the keys).

    `now` returns seconds since 1970.
    """

    def __init__(self, kv: KV, artifacts: Artifacts, scope: str, now: Callable[[], float]) -> None:
        self.scope = scope
        self._kv = kv
        self._artifacts = artifacts
        self._now = now

    def find(self, path: str) -> FileHead | None:
        """Return the head of a file, None when there is none.

        `UsageError` EINVAL for a path that is another file's but for case and the like.
        """
        head = self._read(path)[0]
        return None if head is None or head.removed else head

    def require(self, path: str) -> FileHead:
        """Return the head of a file; `UsageError` ENOENT when there is none."""
        head = self._read(path)[0]
        if head is None or head.removed:
            hint = "look at the list of files for what there is"
            if head:
                hint = f"it was removed; version {self._find_last(head)} can be brought back"
            raise UsageError(
                "ENOENT", f"there is no file {path}", suggestion=hint, reason="no-file"
            )
        return head

    def read(self, path: str, version: int = 0) -> FileContent:
        """Return a file, or an earlier version of it; `UsageError` ENOENT where there is none."""
        found = self.load_version(path, version)
        return FileContent(found, self.read_body(found))

    def load_version(self, path: str, version: int = 0) -> FileVersion:
        """Return the record of a file, or of an earlier version of it, without a body that is an
        artifact; `UsageError` ENOENT where there is none.
        """
        if not version:
            head = self.require(path)
            stored = self._read_version(path, head.version)
            if stored is None:
                raise BackendError(
                    "EDAMAGED",
                    f"version {head.version} of {path} is missing",
                    suggestion="bring back an earlier version, or write it again",
                )
            return stored
        return self._find_version(path, version)

    def scan(self, prefix: str = "") -> Iterator[FileHead]:
        """Yield the files whose path begins with a prefix, in the order of their names."""
        folded = keys.escape(fold_path(prefix))
        for head in self._scan_heads(folded):
            if not head.removed and head.path.startswith(prefix):
                yield head

    def count(self) -> Totals:
        """Return how many files there are, and their bytes."""
        sizes = [head.size for head in self.scan()]
        return Totals(len(sizes), sum(sizes))

    def list_versions(self, path: str) -> list[FileVersion]:
        """Return the versions of a file, the newest first, also of one that was removed."""
        head = self._read(path)[0]
        return self._list_chain(path, head)[:VERSIONS_MOST] if head else []

    def compare(self, path: str, first: int = 0, last: int = 0) -> tuple[int, int, Difference]:
        """Return the numbers of two versions of a file and what changed between them.

        Without a `last` it is the newest, without a `first` the one before that; 0 is the empty
        file before the first version.
        """
        newest = self.require(path).version
        last = last or newest
        after = self._find_version(path, last)
        first = first or after.before
        before = self._find_version(path, first) if first else None
        old = FileContent(before, self.read_body(before)).require_text() if before else ""
        new = FileContent(after, self.read_body(after)).require_text()
        names = (f"{path} (version {first})", f"{path} (version {last})")
        return first, last, compare_texts(old, new, *names)

    def write(
        self,
        path: str,
        body: bytes,
        writer: Writer,
        *,
        base: int | None = None,
        why: str = "",
        most: int = FILE_BYTES,
        pages: bytes = b"",
    ) -> FileVersion:
        """Write the next version of a file and return it; the same content again writes nothing.

        `base` is the version that it was made from, 0 for a file that is not there. `FileConflict`
        when it is at another one, `UsageError` ETOOBIG for more than `most` bytes, `Refused` EQUOTA
        when the workspace is full. `pages` is the text of a document, which is kept beside it.
        """
        if len(body) > most:
            raise UsageError(
                "ETOOBIG",
                f"{path} would have {len(body):,} bytes",
                suggestion=f"at most {most:,}; divide it into several files",
            )
        return self._commit(path, body, writer, base=base, why=why, pages=pages)

    def remove(self, path: str, writer: Writer, *, base: int | None = None) -> FileVersion:
        """Remove a file and return the version that says so; its versions stay for a while."""
        self.require(path)
        return self._commit(path, None, writer, base=base, why="removed")

    def roll_back(self, path: str, version: int, writer: Writer) -> FileVersion:
        """Write an earlier version's content again, as a new version."""
        content = self.read(path, version)
        if content.version.removed:
            raise UsageError("EINVAL", f"in version {version} {path} was removed")
        why = f"rolled back to version {version}"
        return self.write(path, content.body, writer, why=why)

    def destroy(self, path: str) -> int:
        """Remove a file and all of its versions for good; return how many versions there were."""
        head, token = self._read(path)
        if head is None:
            return 0
        self._kv.delete(keys.workspace_file(self.scope, fold_path(path)), expect=token)
        gone = 0
        for _, version in self._scan_versions(path):
            self.drop_version(version)
            gone += 1
        return gone

    def sweep(self) -> int:
        """Remove what crashes left, what has more than enough later versions, and files that were
        removed long ago; return how many versions that were.
        """
        gone = 0
        now = self._now()
        heads = {fold_path(head.path): head for head in self._scan_heads()}
        for folded, head in heads.items():
            is_old = is_sent(head.path) and now - head.at > RECEIVED_SECONDS
            if is_old or (head.removed and now - head.at > REMOVED_SECONDS):
                gone += self.destroy(head.path)
                heads[folded] = replace(head, version=0)
        partition = keys.workspace_version(self.scope, "", 0).partition
        files: dict[str, list[FileVersion]] = {}
        for _, item in scan_all(self._kv, partition, page=PAGE):
            version = replace(read_version(item.value), text=None, diff="")
            files.setdefault(fold_path(version.path), []).append(version)
        for folded, versions in files.items():
            gone += self._trim(versions, heads.get(folded))
        return gone

    def make_room(self, by: str, size: int) -> bool:
        """Destroy the oldest pictures and documents that a person sent, as many as have so many
        bytes, and return whether any went.
        """
        own = [head for head in self.scan(f"{RECEIVED}/") if head.by == by and is_sent(head.path)]
        left = size
        for head in sorted(own, key=lambda each: each.at):
            if left <= 0:
                break
            self.destroy(head.path)
            left -= head.size
        return left < size

    def _commit(
        self,
        path: str,
        body: bytes | None,
        writer: Writer,
        *,
        base: int | None,
        why: str,
        pages: bytes = b"",
    ) -> FileVersion:
        """Store the next version of a file, and make it the newest; `body` is None to remove it."""
        for lost in range(TRIES):
            head, token = self._read(path)
            known = None if head is None or head.removed else head
            if head and writer.call and head.call == writer.call:
                return self._require_version(head)  # this call has written it before a crash
            if base is not None and base != (known.version if known else 0):
                raise FileConflict(path, base, known)
            if body is None and known is None:
                raise UsageError("ENOENT", f"there is no file {path}", reason="no-file")
            digest = sha256(body or b"").hexdigest()
            if body is not None and known and known.sha == digest:
                return self._require_version(known)
            if body is not None and (known is None or len(body) > known.size):
                self._require_room(path, len(body), known, writer.holder)
            made = self._make_version(path, body, head, writer=writer, why=why)
            stored = self._reserve(made, body, pages)
            key = keys.workspace_file(self.scope, fold_path(path))
            try:
                self._kv.put(key, dumps(stored.make_head()), expect=token or ABSENT)
            except Conflict:
                winner = self._read(path)[0]
                if winner and winner.version == stored.version:
                    return stored  # another run of the same call was faster
                self.drop_version(stored)
                pause_after_race(lost)
                continue
            if stored.version % TRIM_EVERY == 0:
                versions = [version for _, version in self._scan_versions(path)]
                self._trim(versions, stored.make_head())
            return stored
        raise Conflict(f"{path} changes all the time: {TRIES} writes lost their race")

    def _make_version(
        self,
        path: str,
        body: bytes | None,
        head: FileHead | None,
        *,
        writer: Writer,
        why: str,
    ) -> FileVersion:
        """Return the version that follows a head, with what changed of a text."""
        before = head.version if head else 0
        version = FileVersion(
            path,
            before + 1,
            before,
            len(body or b""),
            sha256(body or b"").hexdigest(),
            one_line(writer.by, ID_CHARACTERS),
            one_line(writer.task, TASK_CHARACTERS),
            self._now(),
            one_line(why, WHY_CHARACTERS),
            writer.call,
            removed=body is None,
        )
        new = _decode(body)
        if new is None:
            return version
        old: str | None = ""
        if head and not head.removed:
            stored = self._read_version(path, before)
            old = _decode(self.read_body(stored)) if stored else None
        if old is None:
            return version
        changed = compare_texts(old, new, f"version {before}", f"version {before + 1}")
        return replace(version, diff=changed.text, added=changed.added, gone=changed.removed)

    def _reserve(self, made: FileVersion, body: bytes | None, pages: bytes) -> FileVersion:
        """Store a version under the first number from its own on that is free, and return it.

        What stands under a number that no head has may be a writer's at work, so it is left alone.
        """
        for number in range(made.version, made.version + SKIPPED_MOST):
            version = replace(made, version=number)
            stored = self._place_body(version, body)
            if pages:
                kept = self._mark_pages(stored) + pages
                stored = replace(stored, pages=artifact_name(kept))
            key = keys.workspace_version(self.scope, fold_path(made.path), number)
            try:
                self._kv.put(key, dumps(stored), expect=ABSENT)
            except Conflict:
                item = self._kv.get(key)
                other = read_version(item.value) if item else None
                is_ours = other and made.call and (other.call, other.sha) == (made.call, made.sha)
                if not is_ours or other is None or other.before != made.before:
                    continue
                stored = other
            if stored.artifact and body is not None:
                self._artifacts.put(self._mark_body(stored) + body)
            if stored.pages:
                self._artifacts.put(self._mark_pages(stored) + pages)
            return stored
        raise Conflict(f"{made.path} cannot be written: too many writes of it came to nothing")

    def _require_room(
        self, path: str, size: int, known: FileHead | None, holder: Holder | None
    ) -> None:
        """Raise `PlacesTaken` when a file of this size does not fit, and `UsageError` EINVAL when a
        file and a folder would have the same name.
        """
        from functions.agent.shares import Places, require_place

        files: Counter[str] = Counter()
        total: Counter[str] = Counter()
        folded = fold_path(path)
        is_new = True
        for head in self.scan():
            is_new = False
            other = fold_path(head.path)
            if other == folded:
                continue
            files[head.by] += 1
            total[head.by] += head.size
            if known is None:
                _require_apart(path, head.path)
        if is_new:
            note_scope(self._kv, self.scope)
        require_place(Places("files", FILES_MOST, FREED), files, holder)
        require_place(Places("bytes of files", TOTAL_BYTES, FREED), total, holder, size)

    def _read(self, path: str) -> tuple[FileHead | None, str]:
        """Return the head of a path, also of a removed file, and the store's version of it."""
        item = self._kv.get(keys.workspace_file(self.scope, fold_path(path)))
        if item is None:
            return None, ""
        head = read_head(item.value)
        if head.path != path and not head.removed:
            raise UsageError(
                "EINVAL",
                f"there is a file {head.path} already, whose path looks the same",
                suggestion=f"write {head.path} as it is, or choose a path that differs",
            )
        return head, item.version

    def _read_version(self, path: str, number: int) -> FileVersion | None:
        item = self._kv.get(keys.workspace_version(self.scope, fold_path(path), number))
        return read_version(item.value) if item else None

    def _require_version(self, head: FileHead) -> FileVersion:
        version = self._read_version(head.path, head.version)
        if version:
            return version
        return FileVersion(
            head.path, head.version, 0, head.size, head.sha, head.by, head.task, head.at
        )

    def _find_version(self, path: str, number: int) -> FileVersion:
        """Return a version that was the newest once; `UsageError` ENOENT for a number of none."""
        versions = self.list_versions(path)
        if not versions:
            self.require(path)
        for version in versions:
            if version.version == number:
                return version
        known = ", ".join(str(version.version) for version in versions[:10])
        raise UsageError(
            "ENOENT",
            f"{path} has no version {one_line(str(number), 20)}",
            suggestion=f"there are {known}",
            reason="no-version",
        )

    def _find_last(self, removed: FileHead) -> int:
        """Return the number of the last version of a removed file that has content."""
        versions = self._list_chain(removed.path, removed)
        return next((each.version for each in versions if not each.removed), 0)

    def _list_chain(self, path: str, head: FileHead) -> list[FileVersion]:
        """Return the versions that lead to a head, the newest first."""
        return _follow(dict(self._scan_versions(path)), head)

    def _scan_heads(self, prefix: str = "") -> Iterator[FileHead]:
        partition = keys.workspace_file(self.scope, "").partition
        for _, item in scan_all(self._kv, partition, prefix):
            yield read_head(item.value)

    def _scan_versions(self, path: str) -> Iterator[tuple[int, FileVersion]]:
        """Yield all that stands under the numbers of a file, the oldest first."""
        key = keys.workspace_version(self.scope, fold_path(path), 0)
        prefix = f"{key.sort.rpartition('#')[0]}#"
        for _, item in scan_all(self._kv, key.partition, prefix, page=PAGE):
            version = read_version(item.value)
            yield version.version, version

    def read_body(self, version: FileVersion) -> bytes:
        """Return the content of a version that was read."""
        if version.text is not None:
            return version.text.encode()
        if not version.artifact:
            return b""
        return self._artifacts.get(version.artifact).removeprefix(self._mark_body(version))

    def read_pages(self, version: FileVersion) -> bytes:
        """Return the text of a document that was kept with a version; empty where there is none:
        not all have it, and a backup leaves it out.
        """
        if not version.pages:
            return b""
        try:
            kept = self._artifacts.get(version.pages)
        except BackendError as problem:
            if problem.code != "EDAMAGED":
                raise
            return b""
        return kept.removeprefix(self._mark_pages(version))

    def _place_body(self, version: FileVersion, body: bytes | None) -> FileVersion:
        """Return a version with its content, or with the name of the artifact that will have it."""
        if body is None:
            return version
        text = _decode(body)
        if text is not None and len(body) <= INLINE_BYTES:
            return replace(version, text=text)
        return replace(version, artifact=artifact_name(self._mark_body(version) + body))

    def _mark_body(self, version: FileVersion) -> bytes:
        """Return how the artifact of a version begins, so that no two versions share one."""
        return f"workspace {self.scope} {version.path} {version.version} {version.at}\n".encode()

    def _mark_pages(self, version: FileVersion) -> bytes:
        """Return how the artifact with the text of a version's document begins."""
        return b"pages of " + self._mark_body(version)

    def _trim(self, versions: list[FileVersion], head: FileHead | None) -> int:
        """Remove versions of a file that lead nowhere, or that enough later ones follow."""
        chain = _follow({each.version: each for each in versions}, head) if head else []
        kept = {each.version for each in chain[:VERSIONS_MOST]}
        led = {each.version for each in chain}
        gone = 0
        for version in versions:
            if version.version in kept:
                continue
            if version.version not in led and self._now() - version.at < ORPHAN_SECONDS:
                continue
            self.drop_version(version)
            gone += 1
        return gone

    def drop_version(self, version: FileVersion) -> None:
        """Remove what is stored of one version, and nothing else."""
        for name in filter(None, (version.artifact, version.pages)):
            self._artifacts.delete(name)
        self._kv.delete(
            keys.workspace_version(self.scope, fold_path(version.path), version.version)
        )


def _require_apart(path: str, other: str) -> None:
    """Raise `UsageError` EINVAL when one of two paths is a folder of the other one, or both have a
    folder whose name differs in case alone.
    """
    steps = path.split("/")
    others = other.split("/")
    for count, (step, known) in enumerate(zip(steps, others, strict=False), 1):
        if fold_path(step) != fold_path(known):
            return
        if count == len(steps):
            raise UsageError(
                "EINVAL", f"{path} is a folder: there is {other}", suggestion="choose another path"
            )
        if count == len(others):
            raise UsageError(
                "EINVAL",
                f"{other} is a file, and can be no folder",
                suggestion="choose another path",
            )
        if step != known:
            raise UsageError(
                "EINVAL",
                f"the folder of {other} is written {known}, and not {step}",
                suggestion="write the folder as it is there",
            )


def _follow(versions: dict[int, FileVersion], head: FileHead) -> list[FileVersion]:
    """Return the versions that lead to a head, the newest first."""
    chain = []
    number = head.version
    while number in versions:
        version = versions[number]
        chain.append(version)
        if version.before >= number:  # no writer makes such a record
            break
        number = version.before
    return chain


def _decode(body: bytes | None) -> str | None:
    try:
        return None if body is None else body.decode()
    except UnicodeDecodeError:
        return None
