"""A backup's file of which no byte is trusted: damage is found, and a hostile one is refused before
a store is touched.
"""

from __future__ import annotations

import hashlib
import json
import random
import struct
import tracemalloc
import zlib
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZipFile

import pytest

from functions.backup import archive, contents, encryption
from functions.backup.archive import SEAL, ArchiveReader
from functions.backup.format import PARTS
from functions.backup.restoring import open_secrets, verify_backup
from functions.backup.saving import save_backup
from functions.settings import Settings
from sigil.errors import BackendError, Refused, SigilError
from sigil.storage.artifacts import MemoryArtifacts, artifact_name
from sigil.storage.kv import Key
from sigil.storage.kv.memory import MemoryKV
from sigil.wiring import Stores
from tests.functions.backup.places import PASSPHRASE, fill
from tests.selection import sample

Files = dict[str, bytes]


def ignore(text: str) -> None:
    """Nobody watches."""


def save(path: Path, passphrase: str = "", *, small: bool = False) -> Path:
    stores = Stores(MemoryKV(), MemoryArtifacts())
    if small:
        stores.kv.put(Key("doc#main", "soul"), b"dry")
    else:
        fill(stores, large=2_000)
    settings = Settings(data=str(path.parent))
    save_backup(settings, stores, path, ignore, passphrase=passphrase)
    return path


def check(path: Path) -> None:
    with ArchiveReader(path) as reader:
        verify_backup(reader, ignore)


def seal(path: Path) -> None:
    """Give a changed file the digest that it has to have."""
    body = path.read_bytes()[:-64]
    path.write_bytes(body + hashlib.sha256(body).hexdigest().encode())


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of something of everything, with secrets that take no time to open."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encryption, "COST", 1 << 4)
        path = save(tmp_path_factory.mktemp("whole") / "b.zip", PASSPHRASE)
    check(path)
    return path


def test_a_file_with_any_byte_changed_or_cut_off_or_added_is_refused(tmp_path: Path) -> None:
    path = save(tmp_path / "b.zip", small=True)
    check(path)
    body = path.read_bytes()
    chance = random.Random(7)
    for place in sample(range(len(body)), 300):
        changed = bytearray(body)
        changed[place] ^= chance.randrange(1, 256)
        for other in (changed, body[:place]):
            path.write_bytes(other)
            with pytest.raises(BackendError) as caught:
                check(path)
            assert caught.value.code in ("EDAMAGED", "EFORMAT"), place
    for other in (body + b"\0", body + body, b"\0" + body):
        path.write_bytes(other)
        with pytest.raises(BackendError):
            check(path)


def rewrite(source: Path, path: Path, change: Callable[[Files], None], **how: Any) -> Path:
    """Write the files of a backup anew, changed, under a right seal and right totals."""
    with ZipFile(source) as opened:
        files = {name: opened.read(name) for name in opened.namelist()}
    manifest = json.loads(files.pop("manifest.json"))
    change(files)
    if "manifest.json" not in files:
        for part in PARTS:
            lines = files.get(f"items/{part}.jsonl", b"")
            facts = {
                "items": lines.count(b"\n"),
                "bytes": len(lines),
                "sha256": hashlib.sha256(lines).hexdigest(),
            }
            manifest["parts"][part] = facts
        bodies = {name: body for name, body in files.items() if name.startswith("artifacts/")}
        names = "".join(f"{name.partition('/')[2]}\n" for name in sorted(bodies))
        manifest |= {
            "artifacts": len(bodies),
            "artifact_bytes": sum(map(len, bodies.values())),
            "names": hashlib.sha256(names.encode()).hexdigest(),
            "secrets": "secrets.json" in files,
        }
        files["manifest.json"] = json.dumps(manifest).encode()
    with ZipFile(path, "w", how.get("compression", ZIP_DEFLATED)) as written:
        for name, body in files.items():
            written.writestr(name, body)
        written.comment = SEAL + b"0" * 64
    seal(path)
    return path


def put(name: str, body: bytes) -> Callable[[Files], None]:
    return lambda files: files.update({name: body})


def add_line(part: str, line: bytes) -> Callable[[Files], None]:
    def change(files: Files) -> None:
        files[f"items/{part}.jsonl"] += line

    return change


def add_item(part: str, **row: Any) -> Callable[[Files], None]:
    return add_line(part, json.dumps({"sort": "x", "text": "{}", **row}).encode() + b"\n")


def drop_body(files: Files) -> None:
    del files[next(name for name in files if name.startswith("artifacts/"))]


def change_body(files: Files) -> None:
    files[next(name for name in files if name.startswith("artifacts/"))] = b"another body"


def change_manifest(**facts: Any) -> Callable[[Files], None]:
    """The manifest alone is another one; the rest is as it is."""

    def change(files: Files) -> None:
        files["manifest.json"] = json.dumps(facts).encode()

    return change


def change_times(files: Files) -> None:
    """The manifest tells a time for which a calendar has no day."""
    part = {"items": 0, "bytes": 0, "sha256": ""}
    facts: dict[str, Any] = dict.fromkeys(("made_by", "agent", "store", "queue", "names"), "")
    facts |= {"began": 1.0, "ended": 1e300, "artifacts": 0, "artifact_bytes": 0}
    parts = dict.fromkeys(PARTS, part)
    change_manifest(kind="uncaged-backup", version=1, parts=parts, **facts)(files)


HEAD = {"partition": "session#main#a", "sort": "head"}
HOSTILE: dict[str, tuple[Callable[[Files], None], str]] = {
    "a file beside it": (put("../../etc/passwd", b"x"), "other files"),
    "a path": (put("/etc/passwd", b"x"), "other files"),
    "a body with another path": (put("artifacts/../x", b"x"), "other files"),
    "a body in a folder": (put(f"artifacts/{'a' * 64}/x", b"x"), "other files"),
    "a body without": (drop_body, "names an artifact"),
    "another body": (change_body, "another digest"),
    "no items": (lambda files: files.pop("items/rest.jsonl") and None, "other files"),
    "a claim": (add_item("rest", partition="claim"), "where no backup has it"),
    "a secret": (add_item("rest", partition="secret#main"), "where no backup has it"),
    "an artifact as items": (add_item("rest", partition="artifact#aa"), "where no backup has it"),
    "the mark of a restoration": (add_item("rest", partition="restoring"), "no backup has it"),
    "a document among others": (add_item("rest", **HEAD), "where no backup has it"),
    "an event among documents": (add_item("heads", partition="inbox#a"), "no backup has it"),
    "no partition": (add_item("rest", partition=""), "is no item"),
    "a long key": (add_item("rest", partition="x" * 2049), "is no item"),
    "two values": (add_item("rest", partition="a", base64="eA=="), "is no item"),
    "no value": (add_item("rest", partition="a", text=None), "is no item"),
    "no base64": (add_item("rest", partition="a", text=None, base64="%"), "is no item"),
    "a number": (add_item("rest", partition=7), "is no item"),
    "a surrogate": (
        add_line("rest", b'{"partition":"\\ud800","sort":"x","text":""}\n'),
        "is no item",
    ),
    "no end": (add_item("rest", partition="a", expires=float("inf")), "is no item"),
    "far away": (
        add_line("rest", b'{"partition":"a","sort":"x","text":"","expires":1e999}\n'),
        "no item",
    ),
    "deep": (add_line("rest", b'{"partition":' + b"[" * 100_000 + b"\n"), "is no item"),
    "an empty line": (add_line("rest", b"\n"), "is no item"),
    "half a line": (add_line("rest", b'{"partition":"a"'), "has no end"),
    "no UTF-8": (add_line("rest", b"\xff\xfe\n"), "is no item"),
    "a newer item": (
        add_item("heads", **HEAD, text='{"format": 2}'),
        "format 2",
    ),
    "a newer file": (change_manifest(kind="uncaged-backup", version=2), "has format 2"),
    "another manifest": (change_manifest(kind="uncaged-backup", version=1), "cannot be read"),
    "no manifest": (put("manifest.json", b"[" * 100_000), "cannot be read"),
    "made at no time": (change_times, "cannot be read"),
    "an odd version": (change_manifest(kind="uncaged-backup", version=True), "no number"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_under_a_right_seal_is_refused(
    whole: Path, tmp_path: Path, name: str
) -> None:
    change, message = HOSTILE[name]
    with pytest.raises(BackendError, match=message) as caught:
        check(rewrite(whole, tmp_path / "b.zip", change))
    assert caught.value.code in ("EDAMAGED", "EFORMAT")


def test_what_only_looks_small_takes_no_more_memory_than_its_bounds(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "b.zip"
    large = bytes(3_000_000)
    monkeypatch.setattr(archive, "ARTIFACT_BYTES", 1_000_000)
    with pytest.raises(BackendError, match="too large"):
        check(rewrite(whole, path, put(f"artifacts/{artifact_name(large)}", large)))
    monkeypatch.setattr(archive, "LINE_BYTES", 1_000_000)
    with pytest.raises(BackendError, match="has no end"):
        check(rewrite(whole, path, add_item("rest", partition="a", text=large.decode())))
    with pytest.raises(BackendError, match="packed in another way"):
        check(rewrite(whole, path, lambda files: None, compression=ZIP_BZIP2))
    for bound in ("DIRECTORY_BYTES", "ARTIFACTS_MOST"):
        with monkeypatch.context() as patch:
            patch.setattr(archive, bound, -10)
            with pytest.raises(BackendError, match="too many files"):
                check(rewrite(whole, path, lambda files: None))


def test_a_document_that_unpacks_to_far_more_is_not_looked_into(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "DOCUMENT_BYTES", 1 << 20)
    monkeypatch.setattr(contents, "JSON_PARTS", 30_000)
    bomb = zlib.compress(bytes(1 << 24), 1)
    many = b"[" + b"[]," * 200_000 + b"[]]"
    for value in (bomb, zlib.compress(many)):
        text = {"text": None, "base64": b64encode(value).decode()}
        path = rewrite(whole, tmp_path / "b.zip", add_item("heads", **HEAD, **text))
        tracemalloc.start()
        check(path)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert most < 4 << 20


def test_two_names_for_the_same_bytes_are_refused(whole: Path, tmp_path: Path) -> None:
    path = rewrite(whole, tmp_path / "b.zip", lambda files: None)
    body = bytearray(path.read_bytes())
    # the list says of a second file that it is where the first one is
    first = body.index(b"PK\1\2")
    second = body.index(b"PK\1\2", first + 1)
    body[second + 42 : second + 46] = body[first + 42 : first + 46]
    path.write_bytes(body)
    seal(path)
    with pytest.raises(BackendError, match=r"overlap|cannot be unpacked"):
        check(path)


def test_a_list_that_claims_other_lengths_is_refused(whole: Path, tmp_path: Path) -> None:
    for offset in (20, 24):  # the bytes as packed, and as they are read
        path = rewrite(whole, tmp_path / "b.zip", lambda files: None)
        body = bytearray(path.read_bytes())
        place = body.index(b"PK\1\2") + offset
        for length in (0, 1, 0x7FFFFFFF, 0xFFFFFFFE):
            body[place : place + 4] = struct.pack("<L", length)
            path.write_bytes(body)
            seal(path)
            with pytest.raises(BackendError):
                check(path)


def test_the_seal_of_a_newer_format_says_so(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "b.zip"
    path.write_bytes(whole.read_bytes().replace(b"uncaged-backup 1 ", b"uncaged-backup 2 "))
    with pytest.raises(BackendError, match="has format 2, and this version reads up to 1"):
        check(path)


def test_secrets_open_beside_the_items_that_they_were_saved_with_alone(
    whole: Path, tmp_path: Path
) -> None:
    def open_with(path: Path, words: str = PASSPHRASE) -> int:
        with ArchiveReader(path) as reader:
            verify_backup(reader, ignore)
            return len(open_secrets(reader, words).items)

    assert open_with(whole) == 1
    grant = add_item("rest", partition="grant#main", text='{"secret": "at another host"}')
    path = tmp_path / "b.zip"
    with pytest.raises(Refused, match="was changed since"):
        open_with(rewrite(whole, path, grant))
    with ZipFile(whole) as opened:
        manifest = json.loads(opened.read("manifest.json"))
    manifest["settings"]["UNCAGED_LLM_URL"] = "https://another.example.com"
    with pytest.raises(Refused, match="was changed since"):
        open_with(rewrite(whole, path, put("manifest.json", json.dumps(manifest).encode())))
    with ZipFile(whole) as opened:
        document = json.loads(opened.read("secrets.json"))
    key = document["key"]
    for other in (
        {**document, "key": {**key, "n": 1 << 30}},
        {**document, "key": {**key, "n": 3}},
        {**document, "key": {**key, "n": "many"}},
        {**document, "key": {**key, "p": 1_000}},
        {**document, "nonce": ""},
        {**document, "text": 7},
        {**document, "cipher": "none"},
        {"cipher": "ChaCha20-Poly1305"},
        [],
    ):
        with pytest.raises(SigilError, match=r"cannot be read|wrong"):
            open_with(rewrite(whole, path, put("secrets.json", json.dumps(other).encode())))
