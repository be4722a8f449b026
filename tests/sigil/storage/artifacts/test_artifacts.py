"""Artifacts in memory, in a folder, in the store and in a bucket."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sigil.errors import BackendError
from sigil.storage import aws
from sigil.storage.artifacts import Artifacts, FolderArtifacts, MemoryArtifacts, artifact_name
from sigil.storage.artifacts.s3 import S3Artifacts
from sigil.storage.artifacts.stored import CHUNK, StoredArtifacts
from sigil.storage.kv import KV, keys
from sigil.storage.kv.dynamodb import DynamoKV
from sigil.storage.kv.dynamodb_table import create_table
from sigil.storage.kv.memory import MemoryKV
from sigil.storage.kv.sqlite import SqliteKV
from tests.fakes.aws import Moody
from tests.selection import thorough
from tests.servers.ministack import Ministack, pointed_at, unique
from tests.servers.proxy import CUT, DROP_REPLY, HANG, RESET, Mode, Proxy
from tests.sigil.storage.artifacts.contract import LARGE, ArtifactsContract
from tests.tables import each_row


class TestMemoryArtifacts(ArtifactsContract):
    @pytest.fixture
    def artifacts(self) -> Artifacts:
        return MemoryArtifacts()

    def spoil(self, artifacts: Artifacts, name: str, body: bytes) -> None:
        assert isinstance(artifacts, MemoryArtifacts)
        artifacts._bodies[name] = body


class TestFolderArtifacts(ArtifactsContract):
    @pytest.fixture
    def artifacts(self, tmp_path: Path) -> Artifacts:
        self.folder = tmp_path / "new" / "artifacts"
        return FolderArtifacts(self.folder)

    def spoil(self, artifacts: Artifacts, name: str, body: bytes) -> None:
        (self.folder / name[:2] / name).write_bytes(body)


def test_what_is_no_file_in_a_folder_of_artifacts_is_missing_and_not_waited_for(
    tmp_path: Path,
) -> None:
    artifacts, name = FolderArtifacts(tmp_path), artifact_name(b"body")
    (tmp_path / name[:2]).mkdir()
    for made in (os.mkfifo, lambda path: path.symlink_to("/dev/zero")):
        made(tmp_path / name[:2] / name)
        with pytest.raises(BackendError, match="is missing"):
            artifacts.get(name)
        (tmp_path / name[:2] / name).unlink()
    assert artifacts.get(artifacts.put(b"body")) == b"body"


@pytest.fixture(scope="module")
def aws_here(ministack: Ministack) -> Iterator[Ministack]:
    """The server for all tests of this file: making AWS's client takes as long as a test."""
    with pointed_at(ministack):
        yield ministack


class TestStoredArtifacts(ArtifactsContract):
    @pytest.fixture(params=["memory", "sqlite", *thorough("dynamodb")])
    def kv(self, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[KV]:
        match request.param:
            case "memory":
                yield MemoryKV()
            case "sqlite":
                with closing(SqliteKV(tmp_path / "store.db")) as kv:
                    yield kv
            case _:
                request.getfixturevalue("aws_here")
                create_table(name := unique("artifacts"))
                yield DynamoKV(name)

    @pytest.fixture
    def artifacts(self, kv: KV) -> Artifacts:
        self.store = kv
        return StoredArtifacts(kv)

    def spoil(self, artifacts: Artifacts, name: str, body: bytes) -> None:
        rest = [body[start : start + CHUNK] for start in range(CHUNK, len(body), CHUNK)]
        for number, chunk in enumerate(rest):
            self.store.put(keys.artifact_chunk(name, number), chunk)
        self.store.put(keys.artifact(name), b"%d\n%b" % (len(rest), body[:CHUNK]))


class TestS3Artifacts(ArtifactsContract):
    @pytest.fixture
    def artifacts(self, bucket: str) -> Artifacts:
        self.bucket = bucket
        return S3Artifacts(bucket, "/some/place/")

    def spoil(self, artifacts: Artifacts, name: str, body: bytes) -> None:
        aws.client("s3").put_object(
            Bucket=self.bucket, Key=f"some/place/{name[:2]}/{name}", Body=body
        )


@pytest.fixture(scope="module")
def bucket(aws_here: Ministack) -> str:
    name = unique("bodies")
    aws.client("s3").create_bucket(Bucket=name)
    return name


class Interrupted(MemoryKV):
    """Fails at the write of a given number."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.left = at

    def put(self, *arguments: object, **options: object) -> str:
        self.left -= 1
        if self.left < 0:
            raise BackendError("EUNAVAILABLE", "gone")
        return super().put(*arguments, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_body_that_a_crash_cut_short_does_not_exist_and_can_be_stored_again(at: int) -> None:
    kv = Interrupted(at)
    with pytest.raises(BackendError, match="gone"):
        StoredArtifacts(kv).put(LARGE)
    with pytest.raises(BackendError, match="is missing"):
        StoredArtifacts(kv).get(artifact_name(LARGE))
    kv.left = 10
    assert StoredArtifacts(kv).get(StoredArtifacts(kv).put(LARGE)) == LARGE


@each_row("value", [b"", b"x", b"\n", "٣\n".encode(), b"9" * 5000 + b"\n", b"-1\nx", b"3\n"])
def test_an_index_that_says_nonsense_is_damage(value: bytes) -> None:
    kv = MemoryKV()
    name = StoredArtifacts(kv).put(LARGE)
    kv.put(keys.artifact(name), value)
    with pytest.raises(BackendError, match="is damaged"):
        StoredArtifacts(kv).get(name)


def test_a_lost_chunk_is_damage() -> None:
    kv = MemoryKV()
    name = StoredArtifacts(kv).put(LARGE)
    kv.delete(keys.artifact_chunk(name, 0))
    with pytest.raises(BackendError, match="is damaged"):
        StoredArtifacts(kv).get(name)


def test_a_small_body_takes_one_item() -> None:
    kv = MemoryKV()
    name = StoredArtifacts(kv).put(b"small")
    assert [sort for sort, _ in kv.scan(keys.artifact(name).partition)] == ["index"]


@pytest.mark.parametrize("mode", [DROP_REPLY, RESET, CUT])
@pytest.mark.parametrize("method", [b"PUT /", b"GET /"])
def test_a_bucket_whose_reply_was_lost_is_asked_again(
    mode: Mode, method: bytes, bucket: str, ministack: Ministack
) -> None:
    with Proxy(f"127.0.0.1:{ministack.port}") as proxy:
        artifacts = S3Artifacts(bucket, endpoint=f"http://{proxy.address}")
        proxy.arm(mode, method)
        assert artifacts.get(artifacts.put(b"body")) == b"body"
        assert proxy.hits == 1


def test_a_bucket_that_does_not_exist_or_answer_is_told(
    aws_here: Ministack, monkeypatch: pytest.MonkeyPatch
) -> None:
    for verb in (
        lambda: S3Artifacts("nowhere").put(b""),
        lambda: S3Artifacts("nowhere").get("ab" * 32),
    ):
        with pytest.raises(BackendError, match="bucket nowhere: it does not exist"):
            verb()
    monkeypatch.setattr(aws, "READ_SECONDS", 0.2)
    with Proxy(f"127.0.0.1:{aws_here.port}") as proxy:
        proxy.mode = HANG
        with pytest.raises(BackendError, match="does not answer in time"):
            S3Artifacts("nowhere", endpoint=f"http://{proxy.address}").put(b"")


def test_a_bucket_that_refuses_says_what_was_not_allowed(aws_here: Ministack) -> None:
    with (
        Moody("AccessDenied", status=403) as server,
        pytest.raises(BackendError, match=r"access is denied \(GetObject\)"),
    ):
        S3Artifacts("bucket", endpoint=server.url).get("ab" * 32)


def test_an_upload_that_met_another_one_is_done_again_whatever_becomes_of_that(
    aws_here: Ministack,
) -> None:
    with Moody("ConditionalRequestConflict", times=1, status=409) as server:
        S3Artifacts("bucket", endpoint=server.url).put(b"body")
        assert [request.headers.get("if-none-match") for request in server.requests] == ["*", None]


def test_the_second_of_two_uploads_is_spared_its_bytes_reaching_the_bucket_twice(
    bucket: str,
) -> None:
    artifacts, client = S3Artifacts(bucket), aws.client("s3")
    name = artifacts.put(b"body")
    first = client.head_object(Bucket=bucket, Key=f"{name[:2]}/{name}")["LastModified"]
    artifacts.put(b"body")
    assert client.head_object(Bucket=bucket, Key=f"{name[:2]}/{name}")["LastModified"] == first


@pytest.mark.parametrize("left", [b"", b"another body", b"x"], ids=["empty", "other", "same size"])
def test_a_file_that_a_power_loss_left_otherwise_is_written_again(
    tmp_path: Path, left: bytes
) -> None:
    artifacts = FolderArtifacts(tmp_path)
    name = artifacts.put(b"y")
    (tmp_path / name[:2] / name).write_bytes(left)
    with pytest.raises(BackendError, match="EDAMAGED"):
        artifacts.get(name)

    assert artifacts.put(b"y") == name
    assert artifacts.get(name) == b"y"
