"""Runs a module of the product in a process that program_forker.py forks, and stands for it: its
streams, signals and exit code are this program's. It runs without any package, in a few
milliseconds.

`python -I -S forked_program.py MODULE …`, with the forker's socket in TESTS_FORKER; without that
variable it becomes `python -m MODULE …`.
"""

import _signal
import _socket
import posix
import sys

FORKER = b"TESTS_FORKER"
PASSED_ON = (1, 2, 3, 10, 12, 15, 18, 28)
"""SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM, SIGCONT, SIGWINCH."""


def become_program(environment: dict[bytes, bytes]) -> None:
    posix.execve(sys.executable, [sys.executable, "-m", *sys.argv[1:]], environment)


def has_streams() -> bool:
    """Return whether no stream is closed. Otherwise the next file that is opened, which would be
    the socket, takes its number.
    """
    try:
        for stream in (0, 1, 2):
            posix.fstat(stream)
    except OSError:
        return False
    return True


def main() -> None:
    environment = dict(posix.environ)
    address = environment.pop(FORKER, b"")
    words = [word.encode("utf-8", "surrogateescape") for word in sys.argv[1:]]
    if not address or not has_streams():
        become_program(environment)
    mask = posix.umask(0)
    head = [posix.getcwdb(), b"%d" % mask, words[0], *(b"=" + word for word in words[1:])]
    variables = [name + b"=" + value for name, value in environment.items()]
    body = b"\0".join(head) + b"\0\0\0" + b"\0".join(variables)
    asker = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    asker.connect(address)
    numbers = b"".join(stream.to_bytes(4, sys.byteorder) for stream in (0, 1, 2))
    asker.sendmsg(
        [len(body).to_bytes(4, "little")],
        [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, numbers)],
    )
    asker.sendall(body)
    for number in PASSED_ON:
        _signal.signal(number, lambda number, _: asker.send(bytes([number])))
    for stream in (0, 1, 2):
        posix.close(stream)
    answer = asker.recv(4)
    if not answer:
        posix._exit(70)
    code = posix.waitstatus_to_exitcode(int.from_bytes(answer, "little"))
    if code < 0:
        _signal.signal(-code, _signal.SIG_DFL)
        posix.kill(posix.getpid(), -code)
    posix._exit(code)


main()
