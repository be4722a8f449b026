"""`uncaged upgrade` with environments, wheels and installers of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
import pytest

from functions.backup.saving import read_last_backup
from functions.cli.upgrade.backup import make_backup
from functions.cli.upgrade.command import run_upgrade
from functions.cli.upgrade.confinement import find_gaps
from functions.cli.upgrade.installation import Installation, Way, find_installation
from functions.settings import Settings
from sigil.cli.printing import Printer
from sigil.errors import BackendError, UsageError
from sigil.storage.artifacts import artifact_name
from sigil.storage.kv import Key, keys
from sigil.storage.kv.sqlite import SqliteKV
from sigil.wiring import open_stores
from tests.functions.cli.upgrade.conftest import (
    SITE,
    find_pip,
    make_environment,
    make_wheel,
    unpack_wheel,
)
from tests.machine import until, within
from tests.servers.valkey import shared

PACKAGES = Path(orjson.__file__).parents[1]
KEY = Key("doc#main", "role")
BROKEN = {"functions/cli/app.py": "raise ImportError('half of it is missing')\n"}


def say_version(environment: Path) -> str:
    """Return the version that the command of an environment prints."""
    done = subprocess.run(
        [environment / "bin" / "uncaged", "version"], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or done.stderr


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """An environment with version 0.1.0 of this program."""
    folder = tmp_path / "with space" / "venv"
    make_environment(folder, PACKAGES, find_pip())
    unpack_wheel(make_wheel(tmp_path, "0.1.0"), folder)
    return folder


@pytest.fixture
def upgrade_installed(
    tmp_path: Path, compiled: Path, installed: Path
) -> Callable[[Path], subprocess.CompletedProcess[str]]:
    """Upgrades what is installed to a wheel, by its own command."""
    settings = Settings(data=str(tmp_path / "data"))
    open_stores(settings).kv.put(KEY, b'{"text": "of the owner"}')
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "UNCAGED_DATA": settings.data,
        "UNCAGED_CACHE": str(compiled),
        "PIP_NO_INDEX": "1",
        "PIP_NO_COMPILE": "1",
        # what pip does with the other packages takes three seconds
        "PIP_NO_DEPS": "1",
    }

    def upgrade(wheel: Path) -> subprocess.CompletedProcess[str]:
        program = [installed / "bin" / "python", "-P", "-m", "functions.cli"]
        return subprocess.run(
            [*program, "upgrade", "--to", wheel, "--yes", "--json"],
            env=variables,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=within(120),
            check=False,
        )

    return upgrade


@pytest.mark.thorough  # smaller programs, below, take each other's place as well
def test_a_wheel_takes_the_place_of_another(
    upgrade_installed: Callable[[Path], subprocess.CompletedProcess[str]],
    installed: Path,
    tmp_path: Path,
) -> None:
    done = upgrade_installed(make_wheel(tmp_path, "0.3.0"))
    assert done.returncode == 0, done.stderr
    row = json.loads(done.stdout)
    assert (row["before"], row["version"], row["changed"]) == ("0.1.0", "0.3.0", True)
    assert say_version(installed) == "uncaged 0.3.0"
    backup = Path(row["backup"])
    store = open_stores(Settings(data=str(tmp_path / "data"))).kv
    assert SqliteKV(backup / "uncaged.db").get(KEY) == store.get(KEY)
    assert sorted(path.name for path in installed.parent.iterdir()) == ["venv"]
    assert [path.name for path in backup.parent.iterdir()] == [backup.name]


@pytest.mark.thorough  # below, smaller programs that do not start change nothing either
def test_a_wheel_that_does_not_start_changes_nothing_and_the_old_version_upgrades_again(
    upgrade_installed: Callable[[Path], subprocess.CompletedProcess[str]],
    installed: Path,
    tmp_path: Path,
) -> None:
    broken = upgrade_installed(make_wheel(tmp_path, "0.2.0", BROKEN))
    assert broken.returncode == 7
    assert "half of it is missing" in broken.stderr
    assert "rolled back: uncaged 0.1.0" in broken.stderr

    done = upgrade_installed(make_wheel(tmp_path, "0.3.0"))
    assert done.returncode == 0, done.stderr
    row = json.loads(done.stdout)
    assert (row["before"], row["version"], row["changed"]) == ("0.1.0", "0.3.0", True)
    assert sorted(path.name for path in installed.parent.iterdir()) == ["venv"]
    assert len(list(Path(row["backup"]).parent.iterdir())) == 2


# Below, `pip` is a program that runs the wheel, and the versions are a few lines.
SHIM = """
import runpy, sys
if "--dry-run" in sys.argv:
    print('{"install": []}')
else:
    runpy.run_path(sys.argv[-1], run_name="wheel")
"""
WHEEL = "uncaged-2.0-py3-none-any.whl"
PROGRAM = """
import json, os, pathlib
data = pathlib.Path(os.environ["UNCAGED_DATA"])
print(json.dumps({"checks": [{"name": "store", "state": "ok", "found": str(data)}]}))
"""
BECOME = """
import pathlib, sys
site = pathlib.Path(next(path for path in sys.path if path.endswith("site-packages")))
(site / "uncaged-1.0.dist-info").rename(site / "uncaged-2.0.dist-info")
(site / "uncaged-2.0.dist-info" / "METADATA").write_text("Name: uncaged\\nVersion: 2.0\\n")
(site.parents[2] / "bin" / "uncaged").write_text("#!" + sys.prefix + "/bin/python\\nprint(2)\\n")
"""
Run = Callable[..., int]


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """An environment with version 1.0 of a program that is soon told."""
    folder = tmp_path / "venv"
    site = make_environment(folder)
    info = site / "uncaged-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: uncaged\nVersion: 1.0\n")
    for name, text in {
        "pip/__init__.py": "",
        "pip/__main__.py": SHIM,
        "functions/settings.py": "class Settings:\n    read = staticmethod(lambda: None)\n",
        "functions/cli/__main__.py": PROGRAM,
    }.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)
    (folder / "bin" / "uncaged").write_text(f"#!{folder}/bin/python\nprint(1)\n")
    (folder / "bin" / "uncaged").chmod(0o755)
    return folder


@pytest.fixture
def upgrade(tmp_path: Path, environment: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Upgrades the environment to what these lines make of it."""
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("UNCAGED_LLM_KEY", "sk-secret")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    open_stores(Settings.read()).kv.put(KEY, b"{}")
    open_stores(Settings.read()).artifacts.put(b"a body")

    def run(lines: str = BECOME, **options: Any) -> int:
        wheel = tmp_path / WHEEL
        wheel.write_text(lines)
        options = {"wheel": wheel, "yes": True, **options}
        return run_upgrade(Printer(), installation=Installation(Way.venv, environment), **options)

    return run


def works_as_before(environment: Path) -> bool:
    """Return whether version 1.0 is where it was, alone."""
    done = subprocess.run([environment / "bin" / "uncaged"], capture_output=True, check=False)
    versions = sorted(path.name for path in (environment / SITE).glob("*.dist-info"))
    return (done.stdout, versions) == (b"1\n", ["uncaged-1.0.dist-info"])


def test_a_dry_run_tells_what_would_be_done_and_does_nothing(
    upgrade: Run, environment: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = sorted(tmp_path.rglob("*"))
    assert upgrade(dry_run=True) == 0
    err = capfd.readouterr().err
    assert "pip in a virtual environment" in err
    install = f"would run: {tmp_path}/.venv.upgrade/bin/python -I -m pip install"
    assert f"{install} --quiet --disable-pip-version-check --upgrade --no-index" in err
    assert len([line for line in err.splitlines() if "--only-binary=:all:" in line]) == 3
    assert "schema 1, 1 record" in err
    assert set(tmp_path.rglob("*")) - {*before} <= {tmp_path / WHEEL}
    assert works_as_before(environment)


def test_nothing_is_looked_for_by_a_name_that_anybody_may_register(
    upgrade: Run, environment: Path, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="no release of uncaged is published") as caught:
        upgrade(wheel=None)
    assert "--to FILE.whl" in caught.value.suggestion
    for name in ("uncaged-2.0.tar.gz", "uncaged.whl", "hens-2.0-py3-none-any.whl"):
        (tmp_path / name).write_text(BECOME)
        with pytest.raises(UsageError, match=r"no wheel|a wheel of hens"):
            upgrade(wheel=tmp_path / name)
    assert works_as_before(environment)


def test_what_will_be_installed_is_shown_with_its_digest_and_asked_for(
    upgrade: Run, environment: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UsageError, match="no terminal"):
        upgrade(yes=False)
    digest = sha256(BECOME.encode()).hexdigest()
    assert f"will be installed: uncaged 2.0 sha256:{digest}\n" in capfd.readouterr().err
    assert works_as_before(environment)
    assert not (tmp_path / "data" / "backups").exists()
    assert not list(tmp_path.glob(".venv*"))


CURIOUS = """
import json, os, pathlib, socket, sqlite3
found = []
def attempt(what, act):
    try:
        found.append(f"{{what}}: {{act()}}")
    except Exception:
        pass
data = pathlib.Path(os.environ["UNCAGED_DATA"])
attempt("environment", lambda: [each for each in os.environ.items() if "sk-" in str(each)][0])
attempt("connection", lambda: socket.create_connection(("127.0.0.1", {port})))
attempt("unix socket", lambda: socket.socket(socket.AF_UNIX))
attempt("a file", lambda: pathlib.Path({file!r}).read_text())
attempt("our compiled code", lambda: pathlib.Path({key!r}).write_bytes(bytes(32)))
attempt("a process", lambda: pathlib.Path(f"/proc/{{os.getppid()}}/environ").read_bytes())
for body in (data / "artifacts").glob("*/*"):
    body.chmod(0o600)
    body.write_bytes(b"of another")
store = sqlite3.connect(data / "uncaged.db")
attempt("secrets", lambda: store.execute("SELECT * FROM item WHERE partition < x'73656372657424'"
    " AND partition > x'736563726574'").fetchall()[0])
attempt("pages", lambda: [(data / "uncaged.db").read_bytes().index(b"sk-stored")][0])
print(json.dumps({{"checks": [{{"name": "x", "state": "fail", "found": str(found)}}]}}))
"""


def test_a_version_that_does_not_know_a_setting_is_refused(
    upgrade: Run, environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNCAGED_TIMEZONE", "Europe/Berlin")
    refuses = "import os\nassert 'UNCAGED_TIMEZONE' not in os.environ, 'no such setting'\n"
    change = f"(site / 'functions' / 'settings.py').write_text({refuses!r})\n"
    with pytest.raises(BackendError, match=r"does not take the settings: .*no such setting"):
        upgrade(BECOME + change)
    assert works_as_before(environment)


@pytest.mark.skipif(bool(find_gaps()), reason="this kernel confines nothing")
def test_a_version_that_is_tried_gets_no_network_and_no_secrets(
    upgrade: Run, environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    monkeypatch.setenv("UNCAGED_CACHE", str(cache))
    (tmp_path / "uncaged.toml").write_text('UNCAGED_LLM_KEY = "sk-of-a-file"\n')
    open_stores(Settings.read()).kv.put(keys.secret("main", "token"), b"sk-stored")
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
        program = CURIOUS.format(
            port=port, file=str(tmp_path / "uncaged.toml"), key=str(cache / "key")
        )
        with pytest.raises(BackendError) as caught:
            upgrade(BECOME + CHANGE.format(program=program))
    assert caught.value.message == "the new version fails: x: []"
    assert works_as_before(environment)
    assert open_stores(Settings.read()).artifacts.get(artifact_name(b"a body")) == b"a body"


def test_a_backup_has_the_store_its_artifacts_and_no_secret_and_three_good_ones_are_kept(
    upgrade: Run, environment: Path, tmp_path: Path
) -> None:
    made = []
    for number in range(5):
        backup = make_backup(Settings.read())
        assert backup
        if number not in (1, 3):  # those were killed
            backup.note_success("0.9")
        made.append(backup.folder.name)
    for _ in range(2):
        with pytest.raises(BackendError, match="failed"):
            upgrade("raise SystemExit('no')")
    kept = sorted((tmp_path / "data" / "backups").iterdir())
    # however many attempts fail, they push out no good one
    assert [path.name for path in kept[:-1]] == [made[0], made[2], made[4]]
    files = [path for path in kept[-1].rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"uncaged.db", "backup.json"}
    assert b"a body" in {path.read_bytes() for path in files}
    assert not [path for path in files if b"sk-secret" in path.read_bytes()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept} == {0o700}
    assert works_as_before(environment)


STOP = "import os, signal, time\nos.kill(os.getppid(), signal.{how})\ntime.sleep(30)\n"
WAIT = """
import os, pathlib, signal
pathlib.Path(os.environ["UNCAGED_DATA"], "begun").touch()
signal.alarm(60)
signal.pause()
"""
CHANGE = "(site / 'functions' / 'cli' / '__main__.py').write_text({program!r})\n"


@pytest.mark.parametrize(
    ("step", "how"),
    [
        ("installer", "SIGKILL"),
        ("trial", "SIGINT"),
        ("trial", "SIGHUP"),
        # SIGTERM ends two of the upgrades below
        pytest.param("installer", "SIGINT", marks=pytest.mark.thorough),
        pytest.param("installer", "SIGTERM", marks=pytest.mark.thorough),
        pytest.param("trial", "SIGKILL", marks=pytest.mark.thorough),
    ],
)
def test_whenever_it_is_ended_the_old_version_works_and_the_next_upgrade_succeeds(
    upgrade: Run, environment: Path, tmp_path: Path, step: str, how: str
) -> None:
    is_tried = step == "trial"
    lines = BECOME + (CHANGE.format(program=WAIT) if is_tried else STOP.format(how=how))
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup has left it ignored
        try:
            upgrade(lines)
        finally:
            os._exit(3)
    if is_tried:  # a version that is tried reaches no other process
        until(lambda: list(tmp_path.glob("data/backups/.*/begun")), "the trial has begun")
        os.kill(pid, signal.Signals[how])
    os.waitpid(pid, 0)
    assert works_as_before(environment)
    assert upgrade() == 0
    done = subprocess.run([environment / "bin" / "uncaged"], capture_output=True, check=False)
    assert done.stdout == b"2\n"
    names = {path.name for path in tmp_path.iterdir()}
    assert not [name for name in names if name.startswith(".venv")]
    assert not list((tmp_path / "data" / "backups").glob(".*"))


SYSTEMCTL = """#!/bin/sh
echo "$*" >> "{folder}/calls"
case "$2" in
    start) test -e {folder}/fails && test "$({uncaged})" = 2 || touch "{folder}/active" ;;
    stop) rm -f "{folder}/active" ;;
    is-active) test -e "{folder}/active" ;;
esac
"""


# Python waits a quarter of a second for a program while it is interrupted, and then no longer
@pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")
@pytest.mark.parametrize("fails", ["", "start", "SIGTERM at start", "SIGTERM at stop"])
def test_the_service_changes_with_it_and_when_it_fails_program_and_store_are_as_before(
    upgrade: Run,
    environment: Path,
    tmp_path: Path,
    fails: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    uncaged = environment / "bin" / "uncaged"
    (folder / "systemctl").write_text(SYSTEMCTL.format(folder=folder, uncaged=uncaged))
    (folder / "systemctl").chmod(0o755)
    (folder / "active").touch()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    unit = tmp_path / "config" / "systemd" / "user" / "uncaged.service"
    unit.parent.mkdir(parents=True)
    unit.write_text(f"ExecStart={uncaged} serve\n")
    if fails.startswith("SIGTERM"):
        # the first time that the service is stopped, or started with the new version
        step = fails.rpartition(" ")[2]
        kill = f"{step}) test -e {folder}/killed || {{ touch {folder}/killed; kill -TERM $PPID; }};"
        script = (folder / "systemctl").read_text().replace(f"{step}) ", f"{kill} ")
        (folder / "systemctl").write_text(script)
        with pytest.raises(KeyboardInterrupt):
            upgrade()
        assert works_as_before(environment)
    elif fails:
        (folder / "fails").touch()
        store = tmp_path / "data" / "uncaged.db"
        # the new version's service writes what the old one cannot open, and ends
        migrate = f"import sqlite3; c = sqlite3.connect({str(store)!r}); c.execute('PRAGMA user_version = 9'); c.commit()"
        script = (
            (folder / "systemctl")
            .read_text()
            .replace(
                "start) test",
                f'start) test "$({uncaged})" = 2 && {sys.executable} -c "{migrate}"; test',
            )
        )
        (folder / "systemctl").write_text(script)
        with pytest.raises(BackendError, match="does not run"):
            upgrade()
        assert works_as_before(environment)
        assert "the store is as it was" in capfd.readouterr().err
    else:
        assert upgrade() == 0
    calls = [line.split()[1] for line in (folder / "calls").read_text().splitlines()]
    changes = [call for call in calls if call in ("start", "stop")]
    went_back = [] if fails in ("", "SIGTERM at stop") else ["stop", "start"]
    assert changes == ["stop", "start", *went_back]
    assert (folder / "active").exists()
    assert open_stores(Settings.read()).kv.get(KEY)


def test_a_store_of_a_newer_version_is_told_and_backed_up_all_the_same(
    upgrade: Run, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    open_stores(Settings.read()).kv.put(Key("session#a", "head"), b'{"format": 2}')
    assert upgrade(dry_run=True) == 0
    assert "1 record of a newer version" in capfd.readouterr().err
    with closing(sqlite3.connect(tmp_path / "data" / "uncaged.db")) as store:
        store.execute("PRAGMA user_version = 9")
    assert upgrade() == 0
    err = capfd.readouterr().err
    assert "made by a newer version (schema 9, this one reads up to 1)" in err
    assert "became 2.0" in err


READS = """
for name, line in (("kv/sqlite_file", "SCHEMA = 1"), ("stored", "FORMAT = 1")):
    path = site / "sigil" / "storage" / (name + ".py")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(line)
"""


@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_a_version_that_cannot_read_the_store_is_not_even_tried(
    kind: str, upgrade: Run, environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "redis":
        shared().do("FLUSHALL")
        monkeypatch.setenv("UNCAGED_STORE", shared().url)
    stores = open_stores(Settings.read())
    stores.kv.put(KEY, b"{}")
    stores.kv.put(Key("stored#main#main#notes", "x"), b'{"format": 7}')
    newer = Key("session#main#a", "head")
    stores.kv.put(newer, b'{"format": 3}')
    with pytest.raises(BackendError, match="session has format 3, and it reads up to 1") as caught:
        upgrade(BECOME + READS)
    assert caught.value.code == "EFORMAT"
    assert works_as_before(environment)

    stores.kv.delete(newer)
    assert upgrade(BECOME + READS) == 0
    for folder in (tmp_path / "data" / "backups").iterdir():
        files = [path.name for path in folder.iterdir() if path.is_file()]
        store = "uncaged.zip" if kind == "redis" else "uncaged.db"
        assert store in files
        assert {*files} <= {store, "backup.json"}
    last = read_last_backup(stores.kv)
    assert last
    assert last.items >= 2


def test_what_cannot_be_upgraded_from_here_is_told(
    upgrade: Run, environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for way, words in (
        (Way.uvx, "nothing to upgrade"),
        (Way.other, "no virtual environment"),
        (Way.checkout, "takes no wheel"),
    ):
        installation = Installation(way, environment)
        with pytest.raises(UsageError, match=words):
            run_upgrade(Printer(), wheel=tmp_path / "wheel", installation=installation)
    monkeypatch.setenv("UNCAGED_STORE", "redis://127.0.0.1:1/0")
    # a program that starts, and finds what the old one does not find
    monkeypatch.setattr(sys, "executable", str(environment / "bin" / "python"))
    found = 'print(\'{"checks": [{"name": "queue", "state": "fail", "found": "no"}]}\')'
    with pytest.raises(BackendError, match="the new version fails: queue: no"):
        upgrade(BECOME + CHANGE.format(program=found), has_backup=True)
    assert works_as_before(environment)


INSTALL = """#!/bin/sh
cp program .venv/lib/python3.{minor}/site-packages/functions/cli/__main__.py
echo installed "$(cat program | wc -l)" >> .venv/log
"""


def test_a_checkout_gets_the_newest_commit_and_goes_back_from_one_that_does_not_start(
    upgrade: Run, environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def git(folder: Path, *words: str) -> str:
        who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]
        words = ("git", "-C", str(folder), *who, *words)
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()

    def commit(program: str) -> str:
        (origin / "program").write_text(program)
        git(origin, "add", ".")
        git(origin, "commit", "--quiet", "--message", "Change the program")
        return git(origin, "rev-parse", "HEAD")

    origin = tmp_path / "origin"
    (origin / "scripts").mkdir(parents=True)
    (origin / "scripts" / "install").write_text(INSTALL.format(minor=sys.version_info.minor))
    (origin / "scripts" / "install").chmod(0o755)
    (origin / ".gitignore").write_text(".venv\n")
    git(origin, "init", "--quiet")
    first = commit(PROGRAM)
    checkout = tmp_path / "checkout"
    git(tmp_path, "clone", "--quiet", str(origin), str(checkout))
    environment.rename(checkout / ".venv")
    monkeypatch.chdir(checkout)
    monkeypatch.setattr(sys, "prefix", str(checkout / ".venv"))
    installation = find_installation(checkout / ".venv", checkout)

    def run() -> int:
        return run_upgrade(Printer(), installation=installation)

    assert installation == Installation(Way.checkout, checkout)
    assert run() == 0
    assert git(checkout, "rev-parse", "HEAD") == first
    second = commit(f"{PROGRAM}\n# newer\n")
    assert run() == 0
    assert git(checkout, "rev-parse", "HEAD") == second
    commit("raise ImportError('half of it')\n")
    with pytest.raises(BackendError, match="half of it"):
        run()
    assert git(checkout, "rev-parse", "HEAD") == second
    installed = (checkout / ".venv" / SITE / "functions" / "cli" / "__main__.py").read_text()
    assert installed.endswith("# newer\n")
    # ended in the middle of its installation
    (origin / "scripts" / "install").write_text("#!/bin/sh\nkill -TERM $PPID\nexec sleep 30\n")
    commit(f"{PROGRAM}\n# killed\n")
    with pytest.raises(KeyboardInterrupt):
        run()
    assert git(checkout, "rev-parse", "HEAD") == second
    assert (checkout / ".venv" / "log").read_text().splitlines()[-1].startswith("installed")
    (checkout / "program").write_text("mine")
    with pytest.raises(UsageError, match="not committed"):
        run()


def test_each_way_of_installing_is_known(tmp_path: Path) -> None:
    for name, marker, way in (
        ("tools/uncaged", "uv-receipt.toml", Way.uv_tool),
        ("archive-v0/abc", "pyvenv.cfg", Way.uvx),
        ("venv", "pyvenv.cfg", Way.venv),
        ("usr", "other", Way.other),
    ):
        prefix = tmp_path / name
        prefix.mkdir(parents=True)
        (prefix / marker).touch()
        assert find_installation(prefix, tmp_path) == Installation(way, prefix)
