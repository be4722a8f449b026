"""Other processes that work on the same store."""

from __future__ import annotations

import subprocess
from pathlib import Path

from sigil.errors import Conflict
from sigil.storage.kv import KV, Key
from tests.machine import within
from tests.servers.programs import command_of

ROOT = Path(__file__).parents[4]
IMPORTS = """
import os, sys
from sigil.errors import BackendError, Conflict
from sigil.storage.kv import ABSENT, Key
from sigil.storage.kv.sqlite import SqliteKV
"""
CREATING = """
for number in range(200):
    try:
        kv.put(Key('race', str(number)), sys.argv[2].encode(), expect=ABSENT)
        print(number)
    except Conflict:
        pass
"""
COUNTING = """
from tests.sigil.storage.kv.processes import increment
increment(kv, Key('p', 's'), 50)
"""


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    """A process of our own with the store's names imported; it waits for a line before it goes
    on. With the fixture `fork_commands` it is forked, and ends a moment after it was killed.
    """
    command = [
        *command_of("tests.sigil.storage.kv.program"),
        IMPORTS + "print('ready', flush=True)\nsys.stdin.readline()\n" + code,
        *map(str, arguments),
    ]
    process = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def finish(processes: list[subprocess.Popen[str]]) -> list[str]:
    """Let them go at once; what each printed."""
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    outputs = [process.communicate(timeout=within(120))[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes)
    return outputs


def increment(kv: KV, key: Key, times: int) -> None:
    """Add to a decimal number, one at a time, however many others do so."""
    while times:
        item = kv.get(key)
        assert item is not None
        try:
            kv.put(key, b"%d" % (int(item.value) + 1), expect=item.version)
        except Conflict:
            continue
        times -= 1


def expect_one_creator_each(kv: KV, opening: str, place: object) -> None:
    """Let two processes create the same items in a store: each item is created by one of them.
    `opening`: what opens the store at `sys.argv[1]`, which is `place`, as `kv`.
    """
    won = [
        output.split()
        for output in finish([start(opening + CREATING, place, name) for name in "ab"])
    ]
    assert sorted(int(number) for numbers in won for number in numbers) == list(range(200))
    owners = {sort: item.value.decode() for sort, item in kv.scan("race", limit=1000)}
    assert owners == {
        number: "ab"[which] for which, numbers in enumerate(won) for number in numbers
    }


def expect_all_counted(kv: KV, opening: str, place: object) -> None:
    """Let two processes count in one item of a store, which is opened as above."""
    key = Key("p", "s")
    kv.put(key, b"0")
    finish([start(opening + COUNTING, place) for _ in range(2)])
    item = kv.get(key)
    assert item is not None
    assert item.value == b"100"
