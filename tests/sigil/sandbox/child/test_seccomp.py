"""The filter of system calls: what it lets pass on every processor, and that a runner is under
it.
"""

from __future__ import annotations

import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import sigil
from sigil.errors import BackendError
from sigil.sandbox import spawn
from sigil.sandbox.child import seccomp
from sigil.sandbox.pool import Sandbox
from tests.sigil.sandbox.modules import guest, program, script

ALLOW, KILL, ENOSYS = 0x7FFF_0000, 0x8000_0000, 0x0005_0026
OPEN = {"x86_64": 2, "aarch64": 56}
filtered = pytest.mark.skipif(not seccomp.is_available(), reason="this kernel has no filter")


def verdict(code: bytes, audit: int, number: int, protection: int = 0) -> int:
    """Return the kernel's verdict: run the filter on its virtual machine, as far as it is used."""
    data = struct.pack("=IIQ6Q", number, audit, 0, 0, 0, protection, 0, 0, 0)
    at, value = 0, 0
    while True:
        operation, yes, no, constant = struct.unpack_from("=HBBI", code, at * 8)
        at += 1
        if operation == 0x20:
            (value,) = struct.unpack_from("=I", data, constant)
        elif operation == 0x06:
            return int(constant)
        else:
            at += yes if (value == constant if operation == 0x15 else value & constant) else no


@pytest.mark.parametrize("name", seccomp.MACHINES)
@pytest.mark.parametrize("executable", [False, True])
def test_only_what_is_on_the_list_passes(name: str, executable: bool) -> None:
    machine = seccomp.MACHINES[name]
    code = seccomp.build_filter(machine, executable=executable)
    passing = {number for number in range(600) if verdict(code, machine.audit, number) == ALLOW}
    assert passing == {machine.numbers[each] for each in (*seccomp.CALLS, *seccomp.MAPPING)}
    assert verdict(code, machine.audit, OPEN[name]) == KILL
    assert verdict(code, machine.audit, machine.numbers["memfd_create"]) == ENOSYS
    assert verdict(code, machine.audit ^ 1, machine.numbers["read"]) == KILL
    assert (
        verdict(code, machine.audit, machine.numbers["read"] | 0x4000_0000) == KILL
    )  # the numbers of x32
    for mapping in seccomp.MAPPING:
        assert verdict(code, machine.audit, machine.numbers[mapping], 3) == ALLOW
        assert verdict(code, machine.audit, machine.numbers[mapping], 5) == (
            ALLOW if executable else KILL
        )


@pytest.mark.parametrize("name", seccomp.MACHINES)
def test_files_may_be_missing_or_only_read(name: str) -> None:
    machine = seccomp.MACHINES[name]
    missing = seccomp.build_filter(machine, files="missing")
    reading = seccomp.build_filter(machine, files="read")
    opening = machine.numbers["openat"]
    for number in map(machine.numbers.__getitem__, (*seccomp.OPENING, *seccomp.LOOKING)):
        assert verdict(missing, machine.audit, number) == ENOSYS
        assert verdict(reading, machine.audit, number) == ALLOW
    assert verdict(reading, machine.audit, opening, 0o2000000) == ALLOW  # O_CLOEXEC
    for flag in (0o1, 0o2, 0o100, 0o1000):  # O_WRONLY, O_RDWR, O_CREAT, O_TRUNC
        assert verdict(reading, machine.audit, opening, 0o2000000 | flag) == KILL
    assert verdict(missing, machine.audit, machine.numbers["mmap"], 5) == KILL


DEEDS = {
    "opens a file": "open('/etc/passwd')",
    "makes a socket": "socket.socket()",
    "starts a process": "os.fork()",
    "runs a program": "os.execv('/bin/true', ['true'])",
    "ends another": "os.kill(os.getppid(), 0)",
    "asks who it is": "os.getuid()",
}


def ending(deed: str, executable: bool = False) -> int:
    code = "import mmap, os, socket; from sigil.sandbox.child import seccomp; "
    code += f"seccomp.lock(executable={executable}); {deed}; os._exit(0)"
    return subprocess.run(
        [sys.executable, "-c", code], cwd=Path(sigil.__file__).parents[1], check=False
    ).returncode


@filtered
@pytest.mark.parametrize("deed", DEEDS)
def test_a_locked_process_ends_when_it(deed: str) -> None:
    assert ending(DEEDS[deed]) == -31
    assert ending(DEEDS[deed], executable=True) == -31


@filtered
def test_memory_becomes_executable_only_where_code_is_to_come() -> None:
    assert ending("mmap.mmap(-1, 4096, prot=3)") == 0
    assert ending("mmap.mmap(-1, 4096, prot=5)") == -31
    assert ending("mmap.mmap(-1, 4096, prot=5)", executable=True) == 0


@filtered
def test_every_thread_of_a_runner_is_locked_once_it_has_run_a_guest(
    opened: Callable[..., Sandbox],
) -> None:
    for first in (script("return 1"), program(guest())):
        sandbox = opened()
        sandbox.run(first, b"1")
        (pid,) = sandbox.pids()
        threads = [(task / "status").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
        assert len(threads) > 1
        assert all("Seccomp:\t2" in status and "NoNewPrivs:\t1" in status for status in threads)


@filtered
def test_a_runner_of_scripts_is_renewed_for_its_first_module_and_then_runs_both(
    opened: Callable[..., Sandbox],
) -> None:
    sandbox = opened()
    for number in range(3):
        assert sandbox.run(script(f"return [{number}, input]"), b"1").output == b"[%d,1]" % number
        assert (
            sandbox.run(
                program(guest(more=f"(func (result i32) (i32.const {number}))")), b"1"
            ).output
            == b"1"
        )
    stats = sandbox.stats()
    assert (stats["renewed"], stats["killed"], stats["children"]) == (1, 0, 1)


@filtered
def test_a_module_among_scripts_gets_a_runner_of_its_own_at_once(
    opened: Callable[..., Sandbox],
) -> None:
    sandbox, done = opened(), threading.Event()

    def scripts() -> None:
        while not done.is_set():
            assert sandbox.run(script("return 1"), b"1").output == b"1"

    with ThreadPoolExecutor(2) as pool:
        others = [pool.submit(scripts) for _ in range(2)]
        try:
            for number in range(8):
                assert sandbox.run(program(guest()), b"%d" % number).output == b"%d" % number
        finally:
            done.set()
        for other in others:
            other.result()
    stats = sandbox.stats()
    assert stats["renewed"] <= 8
    assert (stats["killed"], stats["children"]) == (0, 1)


@filtered
def test_large_modules_are_loaded_after_the_lock(opened: Callable[..., Sandbox]) -> None:
    sandbox = opened()
    for number in range(3):
        module = guest(more=f"(func (result i32) (i32.const {number}))" * 2000)
        assert sandbox.run(program(module), b"%d" % number).output == b"%d" % number
    assert sandbox.stats()["started"] == 1


def without_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Children believe that they run on a processor without a table."""
    boot = (
        "from sigil.sandbox.child import seccomp; seccomp.MACHINES.clear();"
        " from sigil.sandbox.child.{} import"
    )
    monkeypatch.setattr(
        spawn, "_BOOT", spawn._BOOT.replace("from sigil.sandbox.child.{} import", boot)
    )


def test_without_a_filter_everything_runs_and_the_doctor_says_so(
    opened: Callable[..., Sandbox], monkeypatch: pytest.MonkeyPatch
) -> None:
    without_filter(monkeypatch)
    sandbox = opened()
    assert sandbox.run(script("return 1"), b"1").output == b"1"
    assert sandbox.run(program(guest()), b"1").output == b"1"
    assert sandbox.stats()["renewed"] == 0
    assert sandbox.describe().endswith(
        "; no seccomp: this kernel or processor has no filter for it"
    )


def test_who_wants_all_or_nothing_gets_nothing_without_a_filter(
    opened: Callable[..., Sandbox], monkeypatch: pytest.MonkeyPatch
) -> None:
    without_filter(monkeypatch)
    with pytest.raises(BackendError, match=r"EUNAVAILABLE: SIGIL_SANDBOX=fast: .*no seccomp"):
        opened(mode="fast").run(script("return 1"), b"1")


@filtered
def test_scripts_and_modules_take_a_runner_each_when_there_are_two(
    opened: Callable[..., Sandbox],
) -> None:
    sandbox = opened(children=2)
    for _ in range(3):
        assert sandbox.run(script("return 1"), b"1").output == b"1"
        assert sandbox.run(program(guest()), b"1").output == b"1"
    stats = sandbox.stats()
    assert (stats["renewed"], stats["started"], stats["cold"]) == (0, 2, 2)
