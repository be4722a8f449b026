"""The files of a workspace: each write a version, one winner, bounded, and whole after a crash."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from functions.agent.workspace import files as files_module
from functions.agent.workspace.edits import list_edits, note_edit
from functions.agent.workspace.file import FileConflict
from functions.agent.workspace.files import (
    FILE_BYTES,
    FILES_MOST,
    INLINE_BYTES,
    ORPHAN_SECONDS,
    REMOVED_SECONDS,
    TOTAL_BYTES,
    TRIM_EVERY,
    VERSIONS_MOST,
    Workspace,
    Writer,
)
from sigil.errors import BackendError, Refused, UsageError
from sigil.storage.kv import KV, Expect, Item, Key, keys
from sigil.storage.kv.update import scan_all
from sigil.storage.stored import dumps
from sigil.wiring import Stores
from tests.fakes.clock import Clock

BOB = Writer("telegram:42", "task-7", "event:3:0")
ANN = Writer("telegram:1")
OpenFiles = Callable[..., Workspace]


class Killed(Exception):
    """The process ended before a write."""


class FaultyKV:
    """A store that counts its writes, and whose process ends before one of them."""

    def __init__(self, kv: KV, fatal: int = 0) -> None:
        self.kv = kv
        self.fatal = fatal
        self.writes = 0
        self.before_write: Callable[[Key], None] = lambda key: None

    def _count(self, key: Key) -> None:
        self.writes += 1
        self.before_write(key)
        if self.writes == self.fatal:
            raise Killed

    def get(self, key: Key) -> Item | None:
        return self.kv.get(key)

    def get_many(self, keys: Sequence[Key]) -> list[Item | None]:
        return [self.kv.get(key) for key in keys]

    def put(
        self, key: Key, value: bytes, *, expect: Expect = None, ttl: float | None = None
    ) -> str:
        self._count(key)
        return self.kv.put(key, value, expect=expect, ttl=ttl)

    def delete(self, key: Key, *, expect: Expect = None) -> None:
        self._count(key)
        self.kv.delete(key, expect=expect)

    def scan(self, *args: Any, **options: Any) -> list[tuple[str, Item]]:
        return self.kv.scan(*args, **options)


def stored_versions(stores: Stores) -> list[str]:
    partition = keys.workspace_version("main", "", 0).partition
    return [sort for sort, _ in scan_all(stores.kv, partition)]


def test_a_file_is_read_as_it_was_written_with_who_and_for_what(files: Workspace) -> None:
    written = files.write("notes/plan.md", b"one\n", BOB, why="asked")
    assert (written.version, written.before, written.added, written.gone) == (1, 0, 1, 0)
    files.write("notes/plan.md", b"one\ntwo\n", ANN)

    read = files.read("notes/plan.md")
    assert (read.body, read.version.version, read.version.by) == (b"one\ntwo\n", 2, "telegram:1")
    assert files.read("notes/plan.md", 1).body == b"one\n"
    newest, oldest = files.list_versions("notes/plan.md")
    assert (newest.before, newest.diff.splitlines()[-1]) == (1, "+two")
    assert (oldest.by, oldest.task, oldest.why) == ("telegram:42", "task-7", "asked")


def test_the_same_content_again_is_no_version(files: Workspace) -> None:
    files.write("a", b"x", BOB)
    assert files.write("a", b"x", ANN).version == 1
    assert len(files.list_versions("a")) == 1


@pytest.mark.parametrize("size", [0, 1, INLINE_BYTES, INLINE_BYTES + 1, FILE_BYTES])
def test_a_file_of_any_allowed_size_comes_back(files: Workspace, size: int) -> None:
    body = (b"0123456789abcde\n" * (size // 16 + 1))[:size]
    files.write("a", body, BOB)
    assert files.read("a").body == body


def test_bytes_that_are_no_text_come_back(files: Workspace) -> None:
    body = bytes(range(256)) * 8
    files.write("picture.png", body, BOB)
    files.write("picture.png", body[::-1], ANN)
    assert files.read("picture.png", 1).body == body
    assert files.read("picture.png").body == body[::-1]
    with pytest.raises(UsageError, match="is no text"):
        files.compare("picture.png")


def test_one_byte_too_many_is_refused_and_nothing_is_lost(files: Workspace) -> None:
    files.write("a", b"kept", BOB)
    with pytest.raises(UsageError) as refused:
        files.write("a", b"x" * (FILE_BYTES + 1), ANN)
    assert refused.value.code == "ETOOBIG"
    assert files.read("a").body == b"kept"
    assert len(files.list_versions("a")) == 1


def test_a_write_that_was_made_from_an_old_version_is_told_the_newer_one(files: Workspace) -> None:
    files.write("a", b"one", BOB, base=0)
    files.write("a", b"two", ANN, base=1)
    with pytest.raises(FileConflict) as conflict:
        files.write("a", b"three", ANN, base=1)
    assert conflict.value.newer is not None
    assert (conflict.value.newer.version, conflict.value.newer.by) == (2, "telegram:1")
    with pytest.raises(FileConflict):
        files.write("a", b"three", ANN, base=0)
    assert files.read("a").body == b"two"


def test_of_two_writers_one_comes_first(open_files: OpenFiles, files: Workspace) -> None:
    """Rounds of eight threads, each of which writes from the version that all have read."""
    base = 0
    with ThreadPoolExecutor(8) as pool:
        for round in range(4):

            def write(number: int, base: int = base, round: int = round) -> str:
                try:
                    writer = Writer(f"telegram:{number}")
                    open_files().write("a", f"{round} {number}".encode(), writer, base=base)
                except FileConflict:
                    return ""
                return f"{round} {number}"

            winners = [won for won in pool.map(write, range(8)) if won]
            (winner,) = winners
            read = files.read("a")
            assert read.body.decode() == winner
            assert read.version.by == f"telegram:{winner.split()[1]}"
            base = read.version.version
    texts = [files.read("a", each.version).body for each in files.list_versions("a")]
    assert len(texts) == 4


def test_writers_who_read_nothing_all_get_a_version(
    open_files: OpenFiles, files: Workspace
) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: open_files().write("a", b"%d" % n, ANN), range(4)))
    versions = files.list_versions("a")
    assert {files.read("a", each.version).body for each in versions} == {b"0", b"1", b"2", b"3"}


def test_a_write_takes_three_writes_of_the_store_at_most(
    stores: Stores, open_files: OpenFiles
) -> None:
    for body in (b"one", b"x" * INLINE_BYTES):
        for path in ("a", "b"):
            kv = FaultyKV(stores.kv)
            open_files(kv=kv).write(path, body, BOB)
            assert kv.writes <= 3


@pytest.mark.parametrize("size", [3, INLINE_BYTES + 5])
@pytest.mark.parametrize("fatal", [1, 2, 3])
def test_a_write_that_a_crash_cut_off_is_done_once_when_its_call_runs_again(
    stores: Stores, open_files: OpenFiles, fatal: int, size: int
) -> None:
    open_files().write("a", b"before", ANN)
    open_files().write("other", b"x", ANN)
    body = b"n" * size
    kv = FaultyKV(stores.kv, fatal)
    try:
        open_files(kv=kv).write("a", body, BOB)
    except Killed:
        assert open_files().read("a").body == b"before"

    assert open_files().write("a", body, BOB).version == 2
    assert open_files().write("a", body, BOB).version == 2
    assert open_files().read("a").body == body
    assert [each.version for each in open_files().list_versions("a")] == [2, 1]


def test_what_a_crash_left_is_in_nobodys_way_and_is_swept(
    stores: Stores, open_files: OpenFiles, clock: Clock
) -> None:
    files = open_files()
    files.write("a", b"before", ANN)
    kv = FaultyKV(stores.kv, fatal=2)
    with pytest.raises(Killed):
        open_files(kv=kv).write("a", b"lost" * INLINE_BYTES, BOB)
    orphan = stores.kv.get(keys.workspace_version("main", "a", 2))
    assert orphan is not None

    with pytest.raises(UsageError, match="has no version 2"):
        files.read("a", 2)
    assert files.write("a", b"after", ANN).version == 3
    assert files.sweep() == 0  # its writer may still be at work
    clock.advance(ORPHAN_SECONDS + 1)
    assert files.sweep() == 1
    assert stored_versions(stores) == ["a#00000001", "a#00000003"]
    assert [each.version for each in files.list_versions("a")] == [3, 1]


def test_a_slow_writer_does_not_take_back_what_another_has_written_meanwhile(
    stores: Stores, open_files: OpenFiles
) -> None:
    open_files().write("a", b"one", ANN)
    slow = FaultyKV(stores.kv)

    def overtake(key: Key) -> None:
        if key.partition == keys.workspace_file("main", "").partition:
            slow.before_write = lambda key: None
            open_files().write("a", b"fast", ANN, base=1)

    slow.before_write = overtake
    with pytest.raises(FileConflict):
        open_files(kv=slow).write("a", b"slow", BOB, base=1)
    assert open_files().read("a").body == b"fast"
    assert len(stored_versions(stores)) == 2


def test_one_file_more_than_there_may_be_is_refused_and_another_version_is_not(
    files: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert FILES_MOST == 2_000
    monkeypatch.setattr(files_module, "FILES_MOST", 5)
    for number in range(5):
        files.write(f"{number:06d}", b"x", ANN)
    assert files.count().files == 5
    with pytest.raises(Refused) as refused:
        files.write("one-more", b"x", ANN)
    assert refused.value.code == "EQUOTA"
    assert files.write("000000", b"longer", ANN).version == 2
    files.remove("000001", ANN)
    assert files.write("one-more", b"x", ANN).version == 1


def test_more_than_50_mb_are_refused(files: Workspace, stores: Stores) -> None:
    large = files.write("large", b"x", ANN).make_head()
    size = TOTAL_BYTES - 10
    fields = dumps(large).replace(b'"size":1', b'"size":%d' % size)
    stores.kv.put(keys.workspace_file("main", "large"), fields)
    assert files.write("small", b"x" * 10, ANN).version == 1
    with pytest.raises(Refused, match="52,428,800 bytes of files are taken"):
        files.write("other", b"x", ANN)


@pytest.mark.parametrize(
    ("there", "wanted"),
    [
        ("Notes.md", "notes.md"),
        ("straße", "STRASSE"),
        ("a/b", "a"),
        ("a", "a/b"),
        ("Notes/a", "notes/b"),
    ],
)
def test_no_two_files_would_be_one_in_a_folder(files: Workspace, there: str, wanted: str) -> None:
    files.write(there, b"kept", ANN)
    with pytest.raises(UsageError) as refused:
        files.write(wanted, b"new", ANN)
    assert refused.value.code == "EINVAL"
    assert there.partition("/")[0] in refused.value.message
    assert [head.path for head in files.scan()] == [there]
    assert files.read(there).body == b"kept"


def test_a_list_has_the_files_below_a_prefix(files: Workspace) -> None:
    for path in ("b", "notes/b", "notes/a", "notesx", "Übersicht", "文件/一"):
        files.write(path, b"x", ANN)
    assert [head.path for head in files.scan("notes/")] == ["notes/a", "notes/b"]
    assert [head.path for head in files.scan("notes")] == ["notes/a", "notes/b", "notesx"]
    assert [head.path for head in files.scan("文件/")] == ["文件/一"]
    assert files.count().files == 6


def test_two_versions_are_compared(files: Workspace) -> None:
    for text in (b"a\nb\n", b"a\nc\n", b"a\nc\nd\n"):
        files.write("a", text, ANN)
    first, last, found = files.compare("a")
    assert (first, last, found.added, found.removed) == (2, 3, 1, 0)
    first, last, found = files.compare("a", 1, 3)
    assert (first, last, found.added, found.removed) == (1, 3, 2, 1)
    assert "-b" in found.lines


def test_a_file_goes_back_to_an_earlier_version_as_a_new_one(files: Workspace) -> None:
    files.write("a", b"one", ANN)
    files.write("a", b"two", ANN)
    back = files.roll_back("a", 1, BOB)
    assert (back.version, back.why, files.read("a").body) == (3, "rolled back to version 1", b"one")
    with pytest.raises(UsageError, match="has no version 9"):
        files.roll_back("a", 9, BOB)


def test_a_removed_file_can_be_brought_back_for_a_while(
    files: Workspace, stores: Stores, clock: Clock
) -> None:
    files.write("a", b"one", ANN)
    files.remove("a", BOB)
    assert files.find("a") is None
    assert list(files.scan()) == []
    with pytest.raises(UsageError, match="there is no file a") as missing:
        files.read("a")
    assert missing.value.suggestion == "it was removed; version 1 can be brought back"
    with pytest.raises(UsageError):
        files.remove("a", BOB)
    assert files.roll_back("a", 1, ANN).version == 3
    assert files.read("a").body == b"one"

    files.remove("a", ANN)
    clock.advance(REMOVED_SECONDS - 1)
    assert files.sweep() == 0
    clock.advance(2)
    assert files.sweep() == 4
    assert stored_versions(stores) == []
    assert stores.kv.get(keys.workspace_file("main", "a")) is None


def test_a_removed_file_begins_again_under_its_next_number(files: Workspace) -> None:
    files.write("a", b"one", ANN)
    files.remove("a", ANN)
    with pytest.raises(FileConflict):
        files.write("a", b"two", ANN, base=1)
    assert files.write("a", b"two", ANN, base=0).version == 3


def test_what_is_destroyed_leaves_nothing(files: Workspace, stores: Stores) -> None:
    large = b"x" * (INLINE_BYTES + 1)
    artifact = files.write("a", large, ANN).artifact
    files.write("a", b"small", ANN)
    assert files.destroy("a") == 2
    assert stored_versions(stores) == []
    with pytest.raises(BackendError):
        stores.artifacts.get(artifact)
    assert files.destroy("a") == 0


def test_the_last_50_versions_stay(files: Workspace, stores: Stores) -> None:
    for number in range(VERSIONS_MOST + TRIM_EVERY):
        files.write("a", b"%d" % number, ANN)
    assert len(stored_versions(stores)) < VERSIONS_MOST + TRIM_EVERY
    files.sweep()
    assert len(stored_versions(stores)) == VERSIONS_MOST
    versions = files.list_versions("a")
    assert [each.version for each in versions][-1] == TRIM_EVERY + 1
    with pytest.raises(UsageError, match="has no version 3"):
        files.read("a", 3)


def test_equal_contents_are_removed_apart(files: Workspace) -> None:
    large = b"same" * INLINE_BYTES
    for path in ("a", "b"):
        files.write(path, large, ANN)
    files.destroy("a")
    assert files.read("b").body == large


def test_workspaces_know_nothing_of_each_other(open_files: OpenFiles) -> None:
    scopes = ("main", "main.alice", "main#telegram:42", "main#telegram:4", "team:T")
    for scope in scopes:
        open_files(scope).write("a", scope.encode(), ANN)
    for scope in scopes:
        assert open_files(scope).read("a").body == scope.encode()
        assert open_files(scope).count().files == 1
        assert open_files(scope).sweep() == 0


def test_a_field_of_a_later_version_stays(files: Workspace, stores: Stores) -> None:
    files.write("a", b"one", ANN)
    for key in (keys.workspace_file("main", "a"), keys.workspace_version("main", "a", 1)):
        item = stores.kv.get(key)
        assert item
        stores.kv.put(key, item.value[:-1] + b',"newer":[1]}')
    assert files.read("a").body == b"one"
    files.write("a", b"two", ANN)
    assert files.read("a", 1).body == b"one"


def test_people_change_files_and_it_is_known_which_and_when(
    files: Workspace, stores: Stores, clock: Clock
) -> None:
    begun = clock()
    for path in ("a", "b", "a"):
        clock.advance(1)
        note_edit(stores.kv, "main", files.write(path, b"%f" % clock(), ANN))
    item = stores.kv.get(keys.workspace_record("main"))
    assert [(each.path, each.version) for each in list_edits(item, begun)] == [("b", 1), ("a", 2)]
    assert [each.path for each in list_edits(item, begun + 2)] == ["a"]
    assert list_edits(item, clock()) == ()
