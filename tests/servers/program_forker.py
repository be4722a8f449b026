"""A program that forks the commands `uncaged` and `sigil`: each is a process of its own, with its
own arguments, folder, environment and streams, without the half second that its imports would take.

`python -m tests.servers.program_forker SOCKET`; forked_program.py is what asks it. It ends, and
kills what still runs, when nobody holds its input any more.
"""

from __future__ import annotations

import atexit
import gc
import os
import runpy
import select
import signal
import socket
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple, TextIO

import platformdirs.unix
import typer._adapters
import typer._click.decorators
import uvicorn
import uvicorn.lifespan.on
import uvicorn.loops.auto
import uvicorn.protocols.http.auto

import functions.agent.model.client
import functions.agent.model.offline
import functions.cli.app
import functions.cli.chat.chat
import functions.cli.commands.inbox
import functions.cli.doctor
import functions.local
import functions.queues.store_queue
import functions.texts.zh
import functions.wiring
import sigil.cli.app
import sigil.cli.commands.serve
import sigil.cli.doctor.local_registry
import sigil.cli.tables
import sigil.client.profiles
import sigil.client.registry
import sigil.deploy.library
import sigil.http.app
import sigil.mcp.server_stdio
import sigil.registry
import sigil.storage.artifacts.folder
import sigil.storage.kv.redis
import sigil.storage.kv.sqlite
from sigil.cli.output import build_command

NEEDED = (
    functions.agent.model.client,
    functions.agent.model.offline,
    functions.cli.app,
    functions.cli.chat.chat,
    functions.cli.doctor,
    functions.cli.commands.inbox,
    functions.local,
    functions.queues.store_queue,
    functions.texts.zh,
    functions.wiring,
    platformdirs.unix,
    sigil.cli.app,
    sigil.cli.commands.serve,
    sigil.cli.doctor.local_registry,
    sigil.cli.tables,
    sigil.client.profiles,
    sigil.client.registry,
    sigil.deploy.library,
    sigil.http.app,
    sigil.mcp.server_stdio,
    sigil.registry,
    sigil.storage.artifacts.folder,
    sigil.storage.kv.redis,
    sigil.storage.kv.sqlite,
    typer._adapters,
    typer._click.decorators,
    uvicorn.lifespan.on,
    uvicorn.loops.auto,
    uvicorn.protocols.http.auto,
)
"""What a command loads when it is started or does its work; here it is loaded once for all."""


@dataclass(frozen=True, slots=True)
class Request:
    """What to run: a module with arguments, in a folder, with an environment; and its streams."""

    module: str
    arguments: list[str]
    folder: bytes
    mask: int
    environment: dict[bytes, bytes]
    streams: list[int]


class _Running(NamedTuple):
    pid: int
    asker: socket.socket


def serve_requests(address: str) -> Request:
    """Fork a process for every request. Return in that process alone, with what it shall run."""
    waker, wakened = socket.socketpair()
    wakened.setblocking(False)
    signal.set_wakeup_fd(wakened.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    running: dict[int, _Running] = {}
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{address}.new")
        listener.listen(64)
        os.rename(f"{address}.new", address)  # whoever sees it can connect
        while True:
            askers = {one.asker: one.pid for one in running.values()}
            ready, _, _ = select.select([sys.stdin, waker, listener, *askers], [], [])
            if sys.stdin in ready:
                for pid in running:
                    os.kill(pid, signal.SIGKILL)
                raise SystemExit
            if waker in ready:
                waker.recv(4096)
                _report_ended(running)
            for asker in askers.keys() & set(ready):
                if askers[asker] in running:
                    _pass_on(askers[asker], asker, running)
            if listener in ready:
                asker, _ = listener.accept()
                request = _receive(asker)
                if request is None:
                    asker.close()
                    continue
                pid = os.fork()
                if pid == 0:
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    for held in (waker, wakened, asker, *askers):
                        held.close()
                    return request
                for stream in request.streams:
                    os.close(stream)
                running[pid] = _Running(pid, asker)


def _receive(asker: socket.socket) -> Request | None:
    """Return what was asked for; None when the asker is gone."""
    body, streams, _, _ = socket.recv_fds(asker, 1 << 16, 3)
    size = int.from_bytes(body[:4], "little")
    while body and len(body) < 4 + size:
        more = asker.recv(1 << 16)
        if not more:
            break
        body += more
    if len(body) != 4 + size or len(streams) != 3:
        for stream in streams:
            os.close(stream)
        return None
    words, variables = (part.split(b"\0") for part in body[4:].split(b"\0\0\0"))
    folder, mask, module, *arguments = words
    pairs = (variable.partition(b"=") for variable in variables if variable)
    return Request(
        os.fsdecode(module),
        [os.fsdecode(argument)[1:] for argument in arguments],
        folder,
        int(mask),
        {name: value for name, _, value in pairs},
        list(streams),
    )


def _pass_on(pid: int, asker: socket.socket, running: dict[int, _Running]) -> None:
    """Send the process the signals that its asker got, or kill it when the asker is gone."""
    try:
        numbers = asker.recv(64)
    except OSError:
        numbers = b""
    with suppress(OSError):  # it has ended, or there is no such signal
        for number in numbers or bytes([signal.SIGKILL]):
            os.kill(pid, number)
    if not numbers:
        running[pid].asker.close()
        os.waitpid(pid, 0)
        del running[pid]


def _report_ended(running: dict[int, _Running]) -> None:
    for pid, asker in [*running.values()]:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            with suppress(OSError):
                asker.send(status.to_bytes(4, "little"))
            asker.close()
            del running[pid]


def take_place(request: Request) -> None:
    """Become the process that was asked for, up to the first line of its module."""
    os.setsid()
    os.chdir(request.folder)
    os.umask(request.mask)
    for number, stream in enumerate(request.streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environb.clear()
    os.environb.update(request.environment)
    sys.path[1:1] = os.environ.get("PYTHONPATH", "").split(":")
    sys.argv = [request.module, *request.arguments]
    sys.stdin = sys.__stdin__ = _open_stream(0, "r", "strict")
    sys.stdout = sys.__stdout__ = _open_stream(1, "w", "strict")
    sys.stderr = sys.__stderr__ = _open_stream(2, "w", "backslashreplace")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.enable()


def _open_stream(number: int, mode: str, errors: str) -> TextIO:
    """Open a stream as Python does at its start."""
    stream = open(number, mode, encoding="utf-8", errors=errors, closefd=False)  # noqa: SIM115
    if mode == "w":
        stream.reconfigure(line_buffering=number == 2 or stream.isatty())
    return stream


def run_to_end(module: str) -> None:
    """Run a module, and end as Python does, but do not take the interpreter apart: that writes to
    every page of memory that the child shares with the forker, and takes longer than most commands.
    """
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        if not isinstance(ended.code, int):
            raise
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ended.code & 0xFF)


def main() -> None:
    for program in (functions.cli.app.cli, sigil.cli.app.app):
        build_command(program)
    gc.disable()
    gc.collect()
    gc.freeze()  # no command searches what was imported for garbage
    request = serve_requests(sys.argv[1])
    take_place(request)
    run_to_end(request.module)


if __name__ == "__main__":
    main()
