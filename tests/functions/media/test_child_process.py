"""The child that opens a file can do nothing else, and whatever it says or does not say, its parent
goes on.
"""

from __future__ import annotations

import pytest

from functions.media.child_process import PROGRAM, ChildLimits, FileChildren
from functions.media.fonts import SHIPPED
from functions.media.protocol import pack, unpack
from functions.media.results import Reason, UnreadableFile
from sigil.errors import BackendError
from sigil.sandbox.child import landlock, seccomp
from tests.tables import each_row

ORDER = {"type": "text", "first": 1, "count": 1}
TEXT = pack(ORDER, b"did it")


def run(program: str, data: bytes = b"", wall: float = 10.0) -> tuple[bytes, bytes]:
    return FileChildren(ChildLimits(wall=wall), program).run("plain_text", ORDER, data)


def put_first(deed: str) -> str:
    """The program of a child that does something as soon as it is locked, and then opens a text."""
    return PROGRAM.replace(
        "main(*",
        "import functions.media.child.main as own, mmap, os, socket\n"
        f"def do(_):\n    {deed}\n    return {TEXT!r}\n"
        "own._read_all = do\nmain(*",
    )


@pytest.mark.skipif(not seccomp.is_available(), reason="this kernel has no filter of system calls")
@each_row(
    ("deed", "reason"),
    [
        ("assert not set(os.environ) - {'LC_CTYPE', 'LD_LIBRARY_PATH'}", None),
        ("open('/etc/passwd')", Reason.BROKEN),
        ("socket.socket()", Reason.TOO_LARGE),
        ("mmap.mmap(-1, 300_000_000)[:] = bytes(1)", Reason.BROKEN),
    ],
)
def test_a_child_has_no_files_no_network_and_no_credentials(
    deed: str, reason: Reason | None
) -> None:
    try:
        head, _ = run(put_first(deed))
    except UnreadableFile as unreadable:  # the kernel ended it
        head = pack({"problem": unreadable.reason})
    assert (b"did it" in head) is (reason is None)
    assert reason is None or f'"problem": "{reason}"'.encode() in head


@pytest.mark.skipif(not landlock.version(), reason="the kernel has no such lock")
@pytest.mark.parametrize(
    ("path", "done"),
    [
        (SHIPPED[0], True),
        ("/etc/passwd", False),
    ],
)
def test_a_child_reads_the_files_that_it_was_given_and_no_others(path: object, done: bool) -> None:
    children = FileChildren(program=put_first(f"os.open({str(path)!r}, os.O_RDONLY)"))
    try:
        head, _ = children.run("plain_text", ORDER, b"", SHIPPED)
    except UnreadableFile:
        head = b""
    assert (b"did it" in head) is done


@each_row(
    ("program", "reason"),
    [
        ("", Reason.BROKEN),
        ("import os; os.write(1, bytes(7))", Reason.BROKEN),
        ("import os; os.write(1, b'\\0\\0\\0\\2\\0\\0\\0\\1{}')", Reason.BROKEN),
        ("import os\nwhile True: os.write(1, bytes(1 << 20))", Reason.BROKEN),
        ("import os, threading; os.close(1); threading.Event().wait()", Reason.TOO_LARGE),
        ("import os, signal; os.kill(os.getpid(), signal.SIGXCPU)", Reason.TOO_SLOW),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", Reason.BROKEN),
    ],
)
def test_a_parent_goes_on_whatever_its_child_does(program: str, reason: Reason) -> None:
    with pytest.raises(UnreadableFile) as caught:
        run(program, bytes(3_000_000))
    assert caught.value.reason == reason


def test_a_child_that_gets_no_processor_time_says_nothing_about_its_file() -> None:
    with pytest.raises(BackendError, match="EBUSY: this machine is too busy"):
        run("import threading; threading.Event().wait()", wall=1.0)


def test_a_frame_is_read_as_it_was_written() -> None:
    assert unpack(pack({"a": "ü"}, b"\0\1")) == ('{"a": "ü"}'.encode(), b"\0\1")
