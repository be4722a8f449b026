"""The host of a command: WASI preview 1 without files. Stdin is the input, stdout the output,
stderr the log, and there is nothing else.

Clock and random bytes come from the run's host, which refuses what is not granted; a refusal ends
the run, since a program can do nothing sensible with it. No function here waits: `poll_oneoff` is
not served. Errors are the numbers of `errno` in `wasi_snapshot_preview1.witx`; a pointer outside
the memory traps.
"""

from __future__ import annotations

import ctypes
import struct
from binascii import a2b_base64
from ctypes import byref, c_int32, c_uint32, c_uint64, c_void_p

from sigil.sandbox.runtime import capi, wasi_functions
from sigil.sandbox.runtime.faults import GuestStopped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    class Memory(Protocol):
        """The guest's memory; both methods raise `GuestStopped` for addresses outside it."""

        def read(self, at: int, size: int) -> bytes:
            """Return `size` bytes at the address `at`."""

        def write(self, at: int, data: bytes) -> None:
            """Put `data` at the address `at`."""


SUCCESS, BADF, INVAL, NOSYS, SPIPE = 0, 8, 28, 52, 70

_STDIN, _STDOUT, _STDERR = range(3)
_PIECES = 1024
_RANDOM_BYTES = 64 << 10
_LOG_LINES = 100
_LINE_BYTES = 4 << 10
_RIGHT_READ, _RIGHT_WRITE = 1 << 1, 1 << 6
_REALTIME, _MONOTONIC = 0, 1
_CLOCK_STEP_NS = 1_000_000


class WasiExit(Exception):
    """The program ends: it exits by itself (`refusal` is empty), or the host refused a request:
    `{"code", "message"}`.
    """

    def __init__(self, status: int, refusal: dict[str, str] | None = None) -> None:
        super().__init__(status)
        self.status = status
        self.refusal = refusal


class WasiHost:
    """The functions of WASI preview 1 in one run of one command, by their own names."""

    def __init__(
        self, memory: Memory, data: bytes, limit: int, host: Callable[[bytes], bytes | None]
    ) -> None:
        self._memory = memory
        self._data = data
        self._at = 0
        self._limit = limit
        self._host = host
        self._open = [True, True, True]
        self._line = bytearray()
        self._lines = 0
        self._ticks = 0.0
        self.stdout = bytearray()
        self.last_line = b""

    # -- the three streams

    def fd_read(self, fd: int, vectors: int, count: int, size_at: int) -> int:
        if fd != _STDIN or not self._open[fd]:
            return BADF
        if count > _PIECES:
            return INVAL
        got = 0
        for at, size in self._vectors(vectors, count):
            piece = self._data[self._at : self._at + size]
            if not piece:
                break
            self._memory.write(at, piece)
            self._at += len(piece)
            got += len(piece)
        self._memory.write(size_at, _u32(got))
        return SUCCESS

    def fd_write(self, fd: int, vectors: int, count: int, size_at: int) -> int:
        if fd not in (_STDOUT, _STDERR) or not self._open[fd]:
            return BADF
        if count > _PIECES:
            return INVAL
        pieces = self._vectors(vectors, count)
        for at, size in pieces:
            if fd == _STDOUT:
                if len(self.stdout) + size > self._limit:
                    raise GuestStopped("ELIMIT", f"the output is larger than {self._limit} bytes")
                self.stdout += self._memory.read(at, size)
            else:
                # All of it has to lie in the memory, though only its beginning is read.
                self._memory.read(at + size, 0)
                self._write_stderr(self._memory.read(at, min(size, _LINE_BYTES * 16)))
        self._memory.write(size_at, _u32(sum(size for _, size in pieces) & 0xFFFFFFFF))
        return SUCCESS

    def fd_close(self, fd: int) -> int:
        if not self._is_open(fd):
            return BADF
        self._open[fd] = False
        return SUCCESS

    def fd_seek(self, fd: int, _offset: int, _whence: int, _at: int) -> int:
        return SPIPE if self._is_open(fd) else BADF

    def fd_tell(self, fd: int, _at: int) -> int:
        return SPIPE if self._is_open(fd) else BADF

    def fd_fdstat_get(self, fd: int, at: int) -> int:
        if not self._is_open(fd):
            return BADF
        self._memory.write(
            at, struct.pack("<BxHxxxxQQ", 0, 0, _RIGHT_WRITE if fd else _RIGHT_READ, 0)
        )
        return SUCCESS

    def fd_filestat_get(self, fd: int, at: int) -> int:
        if not self._is_open(fd):
            return BADF
        self._memory.write(at, bytes(64))
        return SUCCESS

    # -- what is empty

    def args_sizes_get(self, count_at: int, size_at: int) -> int:
        self._memory.write(count_at, _u32(0))
        self._memory.write(size_at, _u32(0))
        return SUCCESS

    def args_get(self, _table: int, _text: int) -> int:
        return SUCCESS

    environ_sizes_get = args_sizes_get
    environ_get = args_get

    def sched_yield(self) -> int:
        return SUCCESS

    # -- what has to be granted

    def clock_time_get(self, clock: int, _precision: int, at: int) -> int:
        if clock not in (_REALTIME, _MONOTONIC):
            return INVAL
        now = float(self._ask("clock"))
        # The host's clock may be set back, a monotonic one may not.
        self._ticks = max(self._ticks, now)
        self._memory.write(at, struct.pack("<Q", int((self._ticks if clock else now) * 1e6)))
        return SUCCESS

    def clock_res_get(self, clock: int, at: int) -> int:
        if clock not in (_REALTIME, _MONOTONIC):
            return INVAL
        self._ask("clock")
        self._memory.write(at, struct.pack("<Q", _CLOCK_STEP_NS))
        return SUCCESS

    def random_get(self, at: int, size: int) -> int:
        if size > _RANDOM_BYTES:
            return INVAL
        encoded = str(self._ask("random", {"n": size})) if size else ""
        self._memory.write(at, a2b_base64(encoded))
        return SUCCESS

    # -- the end

    def proc_exit(self, status: int) -> int:
        raise WasiExit(status)

    def close(self) -> None:
        """Log the last line of stderr when it has no end of line."""
        if self._line:
            self._log_line(bytes(self._line))
            self._line.clear()

    def refuse(self, name: bytes, arguments: tuple[int, ...]) -> int:
        """Return the error of a function that is not served."""
        takes_file = name.startswith((b"fd_", b"path_", b"sock_"))
        return BADF if takes_file and not self._is_open(arguments[0]) else NOSYS

    # -- helpers

    def _is_open(self, fd: int) -> bool:
        return fd < len(self._open) and self._open[fd]

    def _vectors(self, at: int, count: int) -> list[tuple[int, int]]:
        return list(struct.iter_unpack("<II", self._memory.read(at, 8 * count)))

    def _write_stderr(self, text: bytes) -> None:
        """Log the lines that `text` completes, and keep the rest for the next write."""
        *whole, rest = text.split(b"\n", 2 * _LOG_LINES)
        for piece in whole:
            self._line += piece[:_LINE_BYTES]
            self._log_line(bytes(self._line[:_LINE_BYTES]))
            self._line.clear()
        self._line += rest[: _LINE_BYTES - len(self._line)]

    def _log_line(self, line: bytes) -> None:
        if not line.strip():
            return
        self.last_line = line
        if self._lines < _LOG_LINES:
            self._lines += 1
            # Where logs are not granted, the host refuses this, and the line is dropped.
            self._host(_encode_request("log", {"text": line.decode("utf-8", "replace")}))

    def _ask(self, operation: str, argument: object = None) -> str | float:
        """Return the host's answer: a number of milliseconds, or bytes as base64."""
        import json

        answer = json.loads(self._host(_encode_request(operation, argument)) or b"{}")
        if "ok" not in answer:
            refusal = {"code": "EPERM", "message": f"{operation} is not granted"}
            raise WasiExit(1, answer.get("error") or refusal)
        value: str | float = answer["ok"]
        return value


def _encode_request(operation: str, argument: object) -> bytes:
    import json

    return json.dumps({"op": operation, "arg": argument}).encode("ascii")


def _u32(number: int) -> bytes:
    return struct.pack("<I", number)


_READ: dict[str, Callable[[int], c_uint32 | c_uint64]] = {
    "i": c_uint32.from_address,
    "I": c_uint64.from_address,
}
_BLANK = b" \t\r\n"


class WasiCommands:
    """Links and runs the commands of one runner.

    `address(pointer, length)` returns the address in this process of the guest's bytes; it raises
    `GuestStopped` when they lie outside its memory.
    """

    def __init__(self, c: ctypes.CDLL, address: Callable[[int, int], int]) -> None:
        self._c = c
        self._address = address
        # Made now: in a sealed process nothing can become executable any more.
        self._callback = capi.HostFunction(self._answer_call)
        self._names = tuple(wasi_functions.FUNCTIONS)
        self._served = tuple(getattr(WasiHost, name.decode(), None) for name in self._names)
        self._linked = False
        self._host: WasiHost | None = None
        self._end: Exception | None = None

    def link(self, linker: int) -> None:
        """Define every function of preview 1 in `linker`, once."""
        if self._linked:
            return
        entry = ctypes.cast(self._callback, c_void_p)
        for number, (name, kinds) in enumerate(wasi_functions.FUNCTIONS.items(), 1):
            parameters, _, results = kinds.partition(" ")
            kind = self._c.wasm_functype_new(
                byref(capi.value_types(self._c, parameters)),
                byref(capi.value_types(self._c, results)),
            )
            path = (wasi_functions.MODULE, len(wasi_functions.MODULE), name, len(name))
            if self._c.wasmtime_linker_define_func_unchecked(
                linker, *path, kind, entry, number, None
            ):
                raise ValueError("a function of a command cannot be defined")
            self._c.wasm_functype_delete(kind)
        self._linked = True

    def run(
        self,
        start: Callable[[], None],
        data: bytes,
        limit: int,
        host: Callable[[bytes], bytes | None],
    ) -> tuple[bool, bytes]:
        """Run a command whose `_start` is `start`; return whether it succeeded, and its answer
        without the white space around it.

        An exit code other than 0, or a trap after a line on stderr, is a failure: the answer is
        then the object on stdout, or the last line. `GuestStopped` when something else ended it.
        """
        wasi_host = self._host = WasiHost(self, data, limit, host)
        self._end = None
        end: Exception | None = None
        try:
            try:
                start()
            except GuestStopped as stopped:
                end = self._end or stopped
            wasi_host.close()
        finally:
            self._host = None
            self._end = None
        last_line = wasi_host.last_line
        if isinstance(end, GuestStopped):
            if end.code == "ETRAP" and last_line:  # a runtime that panics says why, then traps
                return False, _encode_error("ETRAP", f"{end.message}: {_decode(last_line)}")
            raise end
        if isinstance(end, WasiExit) and end.refusal:
            import json

            return False, json.dumps(end.refusal).encode("ascii")
        answer = bytes(wasi_host.stdout).strip(_BLANK)
        if isinstance(end, WasiExit) and end.status:
            return False, _find_error(answer, last_line, end.status)
        return True, answer

    def read(self, at: int, size: int) -> bytes:
        return ctypes.string_at(self._address(at, size), size)

    def write(self, at: int, data: bytes) -> None:
        ctypes.memmove(self._address(at, len(data)), data, len(data))

    def _answer_call(self, number: int, _caller: int, slots: int, _count: int) -> int:
        """Serve the function with this number; trap when it ends the program."""
        name = self._names[number - 1]
        kinds = wasi_functions.FUNCTIONS[name].partition(" ")[0]
        arguments = tuple(
            _READ[kind](slots + capi.SLOT * at).value for at, kind in enumerate(kinds)
        )
        serve = self._served[number - 1]
        host = self._host
        try:
            if host is None:
                raise GuestStopped("EMODULE", "a command calls its host before it starts")
            result = serve(host, *arguments) if serve else host.refuse(name, arguments)
            c_int32.from_address(slots).value = result
        except (WasiExit, GuestStopped) as end:
            self._end = end
        except Exception:  # noqa: BLE001 (entry point: nothing may leave through C)
            self._end = GuestStopped("ETRAP", "the host failed")
        return int(self._c.wasmtime_trap_new_code(capi.TRAP_UNREACHABLE)) if self._end else 0


def _find_error(answer: bytes, last_line: bytes, status: int) -> bytes:
    """Return the error of a command that failed: `{"code", "message"}` from stdout, or from
    stderr's last line, else that line as the message.
    """
    import json

    for text in (answer, last_line):
        try:
            error = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(error, dict) and "code" in error:
            return text
    message = _decode(last_line) or f"the program ended with exit code {status}"
    return _encode_error("EGUEST", message)


def _encode_error(code: str, message: str) -> bytes:
    import json

    return json.dumps({"code": code, "message": message}).encode("ascii")


def _decode(line: bytes) -> str:
    return line.decode("utf-8", "replace").strip()
