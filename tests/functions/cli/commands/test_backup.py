"""`uncaged backup` and `uncaged restore`, as somebody types them, on every kind of store."""

from __future__ import annotations

import base64
import gc
import itertools
import json
import os
import re
import resource
import signal
import stat
import time
import tomllib
import traceback
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from typer.testing import CliRunner

from functions.agent.session.overflow import find_bodies
from functions.backup import encryption
from functions.backup.archive import ArchiveReader, ArchiveWriter, PartWriter
from functions.backup.format import PARTS
from functions.backup.saving import LastBackup, note_backup
from functions.cli.app import cli
from functions.cli.doctor import check_backup
from functions.settings import Settings
from sigil.catalog.audit import Audit
from sigil.cli.exit_codes import exit_code
from sigil.errors import BackendError, Refused, SigilError, UsageError
from sigil.storage.kv import keys
from tests.functions.backup.places import (
    BODY,
    CHUNK,
    GROUPS,
    PASSPHRASE,
    S,
    fill,
    open_again,
    open_place,
    read_all,
    require_same,
    variables,
)
from tests.project.tree import ROOT

Run = Callable[..., Any]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Runs a command for a deployment, and returns what it printed. A passphrase costs less than
    else: its file says how much.
    """
    monkeypatch.setattr(encryption, "COST", 1 << 10)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WORDS", PASSPHRASE)

    def command(settings: Settings, *words: str, **more: str) -> Any:
        for name, value in {**variables(settings), **more}.items():
            monkeypatch.setenv(name, value)
        done = CliRunner().invoke(cli, list(words))
        if isinstance(done.exception, SigilError):
            raise done.exception
        assert done.exit_code == 0, done.output
        return done

    return command


@pytest.fixture
def source(tmp_path: Path, request: pytest.FixtureRequest) -> Settings:
    """A deployment on SQLite with something of everything."""
    settings = open_place("sqlite", tmp_path, request)
    fill(open_again(settings))
    return settings


def test_a_backup_goes_from_store_to_store_and_comes_back_as_it_was(
    run: Run, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    first = open_place("sqlite", tmp_path, request)
    expected = fill(open_again(first))
    here = first
    for number, kind in enumerate(("redis", "dynamodb", "sqlite")):
        there = open_place(kind, tmp_path / str(number), request)
        file = f"{number}.zip"
        row = json.loads(run(here, "backup", file, "--json").stdout)
        assert (row["items"], row["artifacts"], row["missing"]) == (len(expected), 5, 0)
        done = run(there, "restore", file)
        assert "sent twice" in done.stderr

        stores = open_again(there)
        require_same(read_all(stores.kv), expected)
        for group in GROUPS:
            assert stores.kv.get(keys.ready_session(group)), "nobody would take the waiting event"
        with ZipFile(file) as archive:
            names = [name for name in archive.namelist() if name.startswith("artifacts/")]
            bodies = [archive.read(name) for name in names]
        assert {BODY, CHUNK} < {*bodies}
        assert [stores.artifacts.get(name.partition("/")[2]) for name in names] == bodies
        here = there


def test_it_replaces_what_is_in_a_store_only_when_told_to(
    run: Run, source: Settings, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    run(source, "backup", "b.zip")
    expected = read_all(open_again(source).kv)
    left_out = (keys.session_claim(S), keys.first_owner("main"), keys.snapshot("main"))
    for key in (*left_out, keys.secret("main", "API_KEY")):
        del expected[key]
    for kind in ("sqlite", "redis", "dynamodb"):
        place = open_place(kind, tmp_path / "filled", request)
        other = keys.document("main", "other")
        open_again(place).kv.put(other, b"{}")
        with pytest.raises(Refused, match="the store is not empty") as refused:
            run(place, "restore", "b.zip")
        assert exit_code(refused.value) == 6
        assert open_again(place).kv.get(other)
        gc.collect()  # a store that a test opened is closed when nothing holds it

        row = json.loads(run(place, "restore", "b.zip", "--replace", "--json").stdout)
        assert row["replaced"] is True
        require_same(read_all(open_again(place).kv), expected)


def test_secrets_are_in_it_only_when_asked_for_and_only_a_passphrase_opens_them(
    run: Run,
    source: Settings,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("words").write_text(f"{PASSPHRASE}\nnot this line\n")
    token = Path(source.data, "token")
    token.write_text("the-admins-own-token")
    key = {"UNCAGED_LLM_KEY": "sk-of-the-model"}
    secret = keys.secret("main", "API_KEY")
    run(source, "backup", "plain.zip", **key)
    words = ("--secrets", "--passphrase-from", "WORDS")
    run(source, "backup", "full.zip", *words, **key)

    hidden = (b"sk-of-a-capability", b"sk-of-the-model", b"the-admins-own-token")
    for name in ("plain.zip", "full.zip"):
        with ZipFile(name) as archive:
            parts = {part: archive.read(part) for part in archive.namelist()}
        assert not [part for part in parts if any(text in parts[part] for text in hidden)]
        assert ("secrets.json" in parts) == (name == "full.zip")
        settings = json.loads(parts["manifest.json"])["settings"]
        assert settings["UNCAGED_LLM_KEY"] == "set"

    without = open_place("sqlite", tmp_path / "without", request)
    assert "its secrets were left out" in run(without, "restore", "full.zip").stderr
    assert open_again(without).kv.get(secret) is None
    given = open_place("sqlite", tmp_path / "given", request)
    with pytest.raises(Refused, match="the passphrase is wrong") as refused:
        run(given, "restore", "full.zip", *words, WORDS="wrong horse battery staple")
    assert exit_code(refused.value) == 4
    assert not Path(given.data, "uncaged.db").exists()
    run(given, "restore", "full.zip", "--secrets", "--passphrase-file", "words")
    item = open_again(given).kv.get(secret)
    assert item
    assert b"sk-of-a-capability" in item.value

    # as the page says that it is read without this program
    code = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "backup.md").read_text(), re.DOTALL)
    text = "\n".join(code).replace("uncaged.zip", "full.zip")
    exec(compile(text, "docs/backup.md", "exec"), {"PASSPHRASE": PASSPHRASE})
    printed = capsys.readouterr().out
    assert all(each.decode() in printed for each in hidden)

    for words, message in (
        (("backup", "x.zip", "--secrets"), "stdin is no terminal"),
        (("backup", "x.zip", "--secrets", "--passphrase-from", "NOWHERE"), "has no passphrase"),
        (("backup", "x.zip", "--secrets", "--passphrase-file", "none"), "has no passphrase"),
        (("backup", "x.zip", "--secrets", "--passphrase-from", "UNCAGED_LLM_KEY"), "characters"),
        (("restore", "plain.zip", "--secrets"), "has no secrets"),
    ):
        more = {"UNCAGED_LLM_KEY": "short"}
        with pytest.raises(UsageError, match=message):
            run(source, *words, **more)
    assert not Path("x.zip").exists()


SKILL = """\
---
name: house-style
description: How we write. Use it for every text.
---
Write with {key}.
"""


def test_a_secret_that_somebody_wrote_into_a_text_is_in_no_backup_without_secrets(
    run: Run, source: Settings, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    secret = "sk-of-the-model-1234"
    keyed = {"UNCAGED_LLM_KEY": secret}
    stores = open_again(source)
    body = stores.artifacts.put(zlib.compress(json.dumps(f"my key is {secret}").encode(), 1))
    session = {"messages": [{"content": secret}], "spilled": {"messages/0/content": body}}
    packed = zlib.compress(json.dumps(session).encode(), 1)
    stores.kv.put(keys.session_head(keys.session_of("main", "telegram:7")), packed)
    module = stores.artifacts.put(b"\0asm" + secret.encode())
    stores.kv.put(keys.version("main", "leaky", 1), json.dumps({"wasm": module}).encode())
    Audit(stores.kv).note("main", "secret-set", name="API_KEY")
    stores.kv.put(keys.document("main", "user"), b'{"text": "sk-of-a-capability"}')
    Path("soul.md").write_text(f"Calm. {secret}")
    Path("key.txt").write_text("key: " + base64.b64encode(secret.encode()).decode())
    Path("house-style").mkdir()
    Path("house-style/SKILL.md").write_text(SKILL.format(key=secret))
    Path("house-style/key.txt").write_text(f"{secret}\n")
    run(source, "agent", "doc", "write", "soul", "soul.md")
    run(source, "agent", "files", "put", "notes/key.txt", "key.txt")
    run(source, "skill", "add", "house-style")

    done = run(source, "backup", "plain.zip", **keyed)
    assert "its own name stands there" in done.stderr
    assert "1 module with a secret in the code" in done.stderr
    hidden = (secret.encode(), base64.b64encode(secret.encode()), b"sk-of-a-capability")
    with ZipFile("plain.zip") as archive:
        parts = {part: archive.read(part) for part in archive.namelist()}
    with ArchiveReader(Path("plain.zip")) as reader:
        for part in PARTS:
            parts |= {f"{part} {n}": item.value for n, item in enumerate(reader.read_part(part))}
    unpacked = [zlib.decompress(each) for each in parts.values() if each[:1] == b"x"]
    assert not [text for text in (*parts.values(), *unpacked) for key in hidden if key in text]

    place = open_place("sqlite", tmp_path / "restored", request)
    run(place, "restore", "plain.zip", **keyed)
    run(place, "agent", "doc", "export", "docs")
    assert Path("docs/SOUL.md").read_text() == "Calm. {{UNCAGED_LLM_KEY}}\n"
    run(place, "skill", "export", "skills")
    assert Path("skills/house-style/key.txt").read_text() == "{{UNCAGED_LLM_KEY}}\n"
    run(place, "agent", "files", "get", "notes/key.txt", "restored.txt")
    assert "{{UNCAGED_LLM_KEY}}" in Path("restored.txt").read_text()
    there = open_again(place)
    head = there.kv.get(keys.session_head(keys.session_of("main", "telegram:7")))
    assert head
    (name,) = find_bodies(head.value)
    assert b"my key is {{UNCAGED_LLM_KEY}}" in zlib.decompress(there.artifacts.get(name))

    run(source, "backup", "full.zip", "--secrets", "--passphrase-from", "WORDS", **keyed)
    full = open_place("sqlite", tmp_path / "full", request)
    run(full, "restore", "full.zip", **keyed)
    run(full, "skill", "export", "whole")
    assert Path("whole/house-style/key.txt").read_text() == f"{secret}\n"


def test_its_settings_are_written_into_a_new_file_for_the_machine_that_it_is_restored_on(
    run: Run,
    source: Settings,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("UNCAGED_LIBRARY")
    given = {
        "UNCAGED_LLM_KEY": 'sk-\\"of\u007f-the-model',
        "UNCAGED_LLM_MODEL": "qwen 😀",
        "UNCAGED_OWNERS": "telegram:1,telegram:2",
        "UNCAGED_QUEUE": "sqs://https://sqs.eu-west-1.amazonaws.com/1/events.fifo",
        "SIGIL_PROGRAMS": "no",
    }
    words = ("--secrets", "--passphrase-from", "WORDS")
    done = run(source, "backup", "b.zip", *words, **given)
    assert "what waits in SQS is not in a backup" in done.stderr
    elsewhere = dict.fromkeys(given, "")
    for number, options in enumerate(((), words)):
        place = open_place("sqlite", tmp_path / str(number), request)
        file = Path(f"{number}.toml")
        run(place, "restore", "b.zip", "--settings", str(file), *options, **elsewhere)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        expected = {name: given[name] for name in ("UNCAGED_LLM_MODEL", "UNCAGED_OWNERS")}
        if options:
            expected["UNCAGED_LLM_KEY"] = given["UNCAGED_LLM_KEY"]
        assert tomllib.loads(file.read_text()) == expected
        Settings.read(expected, tmp_path)
        with pytest.raises(Refused, match="exists already"):
            run(place, "restore", "b.zip", "--settings", str(file), "--replace")


def test_the_doctor_tells_how_old_the_last_backup_is_and_that_a_restoration_did_not_end(
    run: Run, source: Settings
) -> None:
    assert "none yet" in check_backup(source)
    run(source, "backup", "b.zip")
    assert re.fullmatch(r"b\.zip, made today: \d+ items", check_backup(source))
    restored = Settings(data=f"{source.data}-restored")
    run(restored, "restore", "b.zip")
    assert check_backup(restored) == check_backup(source)
    kv = open_again(source).kv
    note_backup(kv, LastBackup(at=time.time() - 3.5 * 86_400, file="old.zip", items=1))
    assert check_backup(source) == "old.zip, made 3 days ago: 1 item"
    kv.put(keys.last_backup(), b"damaged")
    assert "none yet" in check_backup(source)
    kv.put(keys.restoring(), b"{}")
    with pytest.raises(Refused, match="did not end"):
        check_backup(source)
    with pytest.raises(Refused, match="did not end"):
        run(source, "backup", "of a half.zip")


def test_a_dry_run_checks_the_file_and_needs_no_store(
    run: Run, source: Settings, tmp_path: Path
) -> None:
    run(source, "backup", "b.zip")
    nowhere = Settings(data=str(tmp_path / "nowhere"), store="memory://")
    done = run(nowhere, "restore", "b.zip", "--dry-run", "--json")
    assert json.loads(done.stdout)["restored"] is False
    assert not (tmp_path / "nowhere").exists()
    for command in ("backup", "restore"):
        with pytest.raises(UsageError, match="in memory"):
            run(nowhere, command, "c.zip")


def test_what_cannot_be_written_or_read_is_said_and_nothing_is_left_behind(
    run: Run, source: Settings, tmp_path: Path
) -> None:
    run(source, "backup", "b.zip")
    assert stat.S_IMODE(Path("b.zip").stat().st_mode) == 0o600
    before = Path("b.zip").read_bytes()
    Path("link").symlink_to("nowhere")
    Path("text").write_text("no backup")
    Path("empty").touch()
    os.mkfifo("pipe")
    for words, kind, message, code in (
        (("backup", "b.zip"), Refused, "exists already", 6),
        (("backup", "link"), Refused, "exists already", 6),
        (("backup", "none/b.zip"), UsageError, "cannot write", 2),
        (("restore", "none"), UsageError, "No such file", 3),
        (("restore", "pipe"), UsageError, "it is no file", 2),
        (("restore", "text"), BackendError, "no backup, or it was cut short", 7),
        (("restore", "empty"), BackendError, "no backup, or it was cut short", 7),
        (("restore", str(tmp_path)), UsageError, "it is no file", 2),
    ):
        with pytest.raises(kind, match=message) as caught:
            run(source, *words)
        assert exit_code(caught.value) == code, words
    assert Path("b.zip").read_bytes() == before
    assert not list(tmp_path.glob(".*"))


POINTS = (
    "write 1",
    "write 9",
    "write_artifact 1",
    "write_artifact 4",
    "fsync 1",
    "link 1",
    "close 1",
)
"""The last one is a point behind the end: the file is there."""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_wherever_a_backup_is_ended_there_is_no_file_of_its_name_or_a_whole_one(
    run: Run,
    source: Settings,
    tmp_path: Path,
    how: signal.Signals,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in variables(source).items():
        monkeypatch.setenv(name, value)
    for point in POINTS:
        status = in_a_child(lambda point=point: stop_at(point, how))
        if how == signal.SIGKILL:
            assert os.WTERMSIG(status) == how, point
        else:
            assert os.WEXITSTATUS(status) == 130, point
        left = sorted(path.name for path in tmp_path.iterdir() if "b.zip" in path.name)
        if point == POINTS[-1]:
            assert left[-1] == "b.zip"
            run(source, "restore", "b.zip", "--dry-run")
            Path("b.zip").unlink()
        else:
            assert "b.zip" not in left, point
            assert len(left) == (how == signal.SIGKILL), point
    run(source, "backup", "b.zip")
    assert [path.name for path in tmp_path.iterdir() if "b.zip" in path.name] == ["b.zip"]


@pytest.mark.parametrize("what", ["a full disk", "another user"])
def test_a_backup_that_cannot_be_written_or_read_says_so(
    run: Run, source: Settings, tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables(source).items():
        monkeypatch.setenv(name, value)
    run(source, "backup", "b.zip")

    def write() -> None:
        if what == "a full disk":
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
            require(["backup", "c.zip"], "cannot write c.zip: File too large")
            return
        os.chmod(tmp_path, 0o755)
        open_again(source).kv.get(keys.last_backup())
        os.seteuid(65_534)
        require(["restore", "b.zip"], "cannot read b.zip: Permission denied")
        with pytest.raises(UsageError, match="Permission denied"):
            ArchiveWriter(Path("c.zip"))

    if what == "another user" and os.geteuid() != 0:
        pytest.skip("only root can become another user")
    assert in_a_child(write) == 0
    assert not [path for path in tmp_path.iterdir() if "c.zip" in path.name]


def in_a_child(work: Callable[[], object]) -> int:
    """Do the work in a process of its own, and return how that ended; 1 where it failed."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = int(work() or 0)  # type: ignore[call-overload]
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitpid(pid, 0)[1]


def require(words: list[str], message: str) -> None:
    """Fail unless a command ends with this error."""
    done = CliRunner().invoke(cli, words)
    assert isinstance(done.exception, SigilError)
    assert message in done.exception.message


def stop_at(point: str, how: signal.Signals) -> int:
    """Make a backup that gets a signal right before it does this for the nth time."""
    verb, _, number = point.partition(" ")
    calls = itertools.count(1)
    place: Any = {
        "write": PartWriter,
        "write_artifact": ArchiveWriter,
        "fsync": os,
        "link": os,
        "close": ZipFile,
    }[verb]
    real = getattr(place, verb)

    def stop(*arguments: Any, **named: Any) -> Any:
        if verb == "close":  # the file has its name when the archive is closed once more
            if os.path.exists("b.zip"):
                os.kill(os.getpid(), how)
        elif next(calls) == int(number):
            os.kill(os.getpid(), how)
        return real(*arguments, **named)

    setattr(place, verb, stop)
    return CliRunner().invoke(cli, ["backup", "b.zip"]).exit_code
