"""Files that tools returned: whose they are, how long they stay, and what a crash leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sigil.errors import BackendError, Refused, UsageError
from sigil.protocol import Caller
from sigil.storage import kept_files
from sigil.storage.artifacts import Artifacts, MemoryArtifacts
from sigil.storage.artifacts.stored import StoredArtifacts
from sigil.storage.kept_files import FileContent, KeptFiles
from sigil.storage.kv import KV, keys
from sigil.storage.kv.base import list_partitions
from tests.fakes.clock import Clock
from tests.sigil.stores import Place, place, pytest_generate_tests

__all__ = ["place", "pytest_generate_tests"]
ADA = Caller("main", "telegram:1")
PICTURE = FileContent("a.png", "image/png", b"picture")


def test_a_file_is_its_owners_alone_until_it_expires_and_then_nothing_of_it_stays(
    place: Place,
) -> None:
    clock = Clock()
    kv = place.open(clock)
    files = KeptFiles(kv, StoredArtifacts(kv), clock)
    kept = files.keep(PICTURE, ADA)
    assert files.read(kept.id, ADA) == PICTURE
    others = [
        Caller("main", "telegram:2"),
        Caller("other", "telegram:1"),
        Caller("main"),
        Caller("main", token="abc"),
    ]
    for other in others:
        with pytest.raises(UsageError, match="no such file"):
            files.read(kept.id, other)
    for wrong in ("", "../x", kept.id[:-1], "0" * 32):
        with pytest.raises(UsageError, match="no such file"):
            files.read(wrong, ADA)
    assert files.sweep() == 0

    clock.advance(kept_files.KEPT_SECONDS + 2)
    with pytest.raises(UsageError, match="no such file"):
        files.read(kept.id, ADA)
    assert files.sweep() == 1
    left = [name for name in list_partitions(kv) if "artifact" in name or "file" in name]
    assert set(left) <= {"file-bytes"}


def test_at_a_shell_and_with_the_admin_token_an_owner_is_the_same() -> None:
    names = {kept_files.partition_of(Caller("main", token=token)) for token in ("", "admin")}
    assert len(names) == 1
    assert kept_files.partition_of(Caller("main", token="abc")) not in names


def test_equal_files_of_two_owners_are_two(kv: KV, clock: Clock) -> None:
    files = KeptFiles(kv, MemoryArtifacts(), clock)
    first = files.keep(PICTURE, ADA)
    second = files.keep(PICTURE, Caller("main", "telegram:2"))
    key = keys.chat_file(keys.session_of("main", "telegram:1"), first.id)
    item = kv.get(key)
    assert item
    files.remove(key, item.value)
    assert files.read(second.id, Caller("main", "telegram:2")) == PICTURE


def test_the_oldest_files_of_an_owner_make_room(
    kv: KV, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_files, "OWNER_BYTES", 20)
    artifacts = CountingArtifacts()
    files = KeptFiles(kv, artifacts, clock)
    kept = []
    for _ in range(4):
        clock.advance(1)
        kept.append(files.keep(PICTURE, ADA).id)
    other = files.keep(PICTURE, Caller("main", "telegram:2"))
    left = [id for id in kept if is_there(lambda id=id: files.read(id, ADA))]
    assert left == kept[-2:]
    assert files.read(other.id, Caller("main", "telegram:2")) == PICTURE
    assert len(artifacts.names) == 3

    monkeypatch.setattr(kept_files, "OWNER_BYTES", 1)
    last = files.keep(PICTURE, ADA)
    assert files.read(last.id, ADA) == PICTURE
    assert len(artifacts.names) == 2


def test_all_owners_of_a_namespace_together_keep_no_more_than_a_days_share(
    kv: KV, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_files, "DAY_BYTES", 20)
    files = KeptFiles(kv, MemoryArtifacts(), clock)
    chats = [Caller("main", f"telegram:{number}") for number in range(3)]
    for chat in chats[:2]:
        files.keep(PICTURE, chat)
    with pytest.raises(Refused, match="were kept here today"):
        files.keep(PICTURE, chats[2])
    files.keep(PICTURE, Caller("other", "telegram:1"))
    clock.advance(86_400)
    files.keep(PICTURE, chats[2])


@pytest.mark.parametrize("dies_at", ["the body", "the entry"])
def test_what_a_crash_leaves_is_swept(kv: KV, clock: Clock, dies_at: str) -> None:
    artifacts = CountingArtifacts()
    dying_kv: Any = kv
    if dies_at == "the body":
        artifacts.dies = True
    else:
        dying_kv = DyingKV(kv)
    with pytest.raises(BackendError):
        KeptFiles(dying_kv, artifacts, clock).keep(PICTURE, ADA)
    artifacts.dies = False
    clock.advance(kept_files.KEPT_SECONDS + 2)
    KeptFiles(kv, artifacts, clock).sweep()
    assert not artifacts.names
    assert not list(kv.scan("file-due"))


def test_a_body_that_cannot_be_removed_now_is_removed_later(kv: KV, clock: Clock) -> None:
    artifacts = CountingArtifacts()
    files = KeptFiles(kv, artifacts, clock)
    files.keep(PICTURE, ADA)
    kv.put(keys.file_mark(0, "damaged"), b"{}")
    clock.advance(kept_files.KEPT_SECONDS + 2)
    artifacts.dies = True
    with pytest.raises(BackendError):
        files.sweep()
    artifacts.dies = False
    assert files.sweep() == 1
    assert not artifacts.names


def is_there(read: Callable[[], object]) -> bool:
    try:
        read()
    except UsageError:
        return False
    return True


class CountingArtifacts(MemoryArtifacts):
    """Artifacts whose `names` are known; while it `dies` nothing is written or removed."""

    dies = False

    @property
    def names(self) -> list[str]:
        return list(self._bodies)

    def put(self, body: bytes) -> str:
        name = super().put(body)
        self._require_life()
        return name

    def delete(self, name: str) -> None:
        self._require_life()
        super().delete(name)

    def _require_life(self) -> None:
        if self.dies:
            raise BackendError("EUNAVAILABLE", "gone")


class DyingKV:
    """A store that takes no entries of files."""

    def __init__(self, kv: KV) -> None:
        self._kv = kv

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kv, name)

    def put(self, key: Any, *given: Any, **more: Any) -> str:
        if key.partition.startswith("file#"):
            raise BackendError("EUNAVAILABLE", "gone")
        return self._kv.put(key, *given, **more)


_: type[Artifacts] = CountingArtifacts
