"""A disk that fills up or turns read-only under a running server: no message is taken that is not
kept, and what was taken is answered.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from sigil.cli.exit_codes import UNAVAILABLE
from sigil.storage.kv import keys
from sigil.storage.kv.sqlite import SqliteKV
from tests.fakes.bot_api import TOKEN
from tests.machine import until
from tests.stories.servers import PATIENCE, ROOT, SECRET, Server
from tests.stories.system import OWNER, Planner, Platform, ignore, update

pytestmark = pytest.mark.skipif(
    shutil.which("nsenter") is None
    or subprocess.run(["unshare", "-Urm", "true"], capture_output=True, check=False).returncode
    != 0,
    reason="needs a mount of its own",
)
SIZE = 4 << 20
SHELL = f"""
mount -t tmpfs -o size={SIZE} none "$1" && cp "$3"/* "$1"/ && mount -o remount,"$4" "$1" && exec "$2" -m functions.cli serve --port 0
"""


class Disk:
    """A small disk that a server alone sees: everything about it is done from within that server's
    mounts.
    """

    def __init__(self, pid: int, folder: Path) -> None:
        self._pid = pid
        self._folder = folder

    def fill(self) -> None:
        self._run("dd if=/dev/zero of=filler bs=4096 2>/dev/null; true")

    def free(self) -> None:
        self._run("rm filler")

    def _run(self, command: str) -> None:
        inside = [
            "nsenter",
            "--preserve-credentials",
            "-U",
            "-m",
            "-t",
            str(self._pid),
            "sh",
            "-c",
            f"cd {self._folder} && {command}",
        ]
        subprocess.run(inside, check=True, timeout=PATIENCE)


def launched(
    folder: Path, compiled: Path, how: str, **more: str
) -> tuple[list[str], dict[str, str]]:
    """The command, and its environment, of `uncaged serve` with a store that stands on a disk of 4
    MiB, mounted `how`.
    """
    small, data, seed = (folder / name for name in ("small", "data", "seed"))
    for each in (small, data, seed):
        each.mkdir()
    with closing(SqliteKV(seed / "uncaged.db")) as kv:
        kv.put(keys.doctor_probe(), b"")
    compiled.mkdir(exist_ok=True)
    (data / "compiled").symlink_to(compiled, target_is_directory=True)
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "UNCAGED_DATA": str(data),
        "UNCAGED_STORE": f"sqlite:///{small}/uncaged.db",
        "UNCAGED_LIBRARY": "none",
        "UNCAGED_ACCESS": "open",
        **more,
    }
    return [
        "unshare",
        "-Urm",
        "sh",
        "-c",
        SHELL,
        "sh",
        str(small),
        sys.executable,
        str(seed),
        how,
    ], environment


@contextmanager
def server_on_a_disk(
    folder: Path, compiled: Path, platform: Platform, model: Planner
) -> Iterator[tuple[Server, Disk]]:
    """A server whose disk can be filled."""
    outside = {"UNCAGED_LLM_URL": f"{model.url}/disk", "TELEGRAM_API": f"{platform.url}/disk"}
    command, environment = launched(
        folder, compiled, "rw", TELEGRAM_TOKEN=TOKEN, TELEGRAM_SECRET=SECRET, **outside
    )
    log = folder / "server.log"
    with (
        log.open("wb") as file,
        subprocess.Popen(command, cwd=folder, env=environment, stderr=file) as process,
    ):
        try:
            until(
                lambda: re.search(rb"listens on http://127.0.0.1:(\d+)", log.read_bytes()),
                "the server starts",
            )
            found = re.search(rb"listens on http://127.0.0.1:(\d+)", log.read_bytes())
            assert found is not None
            yield (
                Server("disk", process.pid, int(found[1]), log),
                Disk(process.pid, folder / "small"),
            )
        finally:
            process.terminate()
            process.wait(PATIENCE)


@pytest.fixture
def platform() -> Iterator[Platform]:
    with Platform() as made:
        yield made


@pytest.fixture
def model() -> Iterator[Planner]:
    with Planner() as made:
        yield made


def test_a_disk_that_fills_up_in_the_middle_of_a_turn_loses_no_message_and_repeats_no_answer(
    tmp_path: Path, compiled: Path, platform: Platform, model: Planner
) -> None:
    with server_on_a_disk(tmp_path, compiled, platform, model) as (server, disk):
        assert server.post_update(update(1, "one"))
        platform.wait_for_texts("answer to one")

        def fills_up_meanwhile(name: str, point: str) -> None:
            model.on_event = ignore
            disk.fill()

        model.on_event = fills_up_meanwhile
        assert server.post_update(update(2, "two"))
        until(lambda: b'"EUNAVAILABLE"' in server.log.read_bytes(), "the turn notices")
        assert not server.post_update(update(3, "three")), "what cannot be kept is not taken"
        assert platform.texts == ["answer to one"]

        disk.free()
        platform.wait_for_texts("answer to two")
        assert server.post_update(update(3, "three"))
        platform.wait_for_texts("answer to three")

        assert platform.texts == ["answer to one", "answer to two", "answer to three"]
        assert {message["chat_id"] for message in platform.messages} == {OWNER}


def test_on_a_disk_that_is_read_only_the_server_does_not_start_and_says_what_to_do(
    tmp_path: Path, compiled: Path
) -> None:
    command, environment = launched(tmp_path, compiled, "ro")

    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )

    assert done.returncode == UNAVAILABLE
    assert done.stderr.startswith(
        f"error: the store {tmp_path}/small/uncaged.db: it cannot be opened (EUNAVAILABLE)\nhelp: "
    )
