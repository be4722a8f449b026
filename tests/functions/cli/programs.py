"""The `uncaged` command in processes of its own, with and without a terminal."""

from __future__ import annotations

import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.machine import within
from tests.servers.programs import command_of
from tests.terminal import Terminal

COMMAND = command_of("functions.cli")


def uncaged(
    environment: dict[str, str], *arguments: str, **more: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        env={**environment, **more},
        capture_output=True,
        text=True,
        timeout=within(60),
        stdin=subprocess.DEVNULL,
        check=False,
    )


@contextmanager
def terminal(
    environment: dict[str, str], *arguments: str, columns: int = 80, rows: int = 25, **more: str
) -> Iterator[Terminal]:
    opened = Terminal([*COMMAND, "chat", *arguments], {**environment, **more}, columns, rows)
    try:
        yield opened
    finally:
        opened.close()


@contextmanager
def served(environment: dict[str, str], **more: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`uncaged serve` on a free port, and its address."""
    process = subprocess.Popen(
        [*COMMAND, "serve", "--port", "0"],
        env={**environment, **more},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        said = ""
        while not (match := re.search(r"listens on (\S+)\n", said)):
            line = process.stderr.readline()
            assert line, said
            said += line
        threading.Thread(target=process.stderr.read, daemon=True).start()
        yield process, match[1]
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stderr.close()
