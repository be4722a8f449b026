"""A program that forks servers: each is a process of its own, without the second that its imports
would take.

It reads one line of JSON a server, `{"name", "settings", "order"}`. It prints `{"name", "pid"}` when
that server was forked, `{"name", "pid", "port"}` when it listens and `{"name", "ended"}` when it has
ended: one that finds work in its store may be killed before it listens. It ends, and kills what
still runs, when nobody writes to it any more.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import select
import signal
import socket
import sys
import threading
import time
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

import anyio._backends._asyncio
import boto3
import httpx
import orjson
import pydantic.v1
import uvicorn
import uvicorn.lifespan.on
import uvicorn.loops.auto
import uvicorn.protocols.http.auto
import uvicorn.protocols.websockets.auto

import functions.agent.model.client
import functions.agent.model.fallback
import functions.channels.render.telegram
import functions.channels.telegram.sending
import functions.queues.sqs
import functions.queues.store_queue
import sigil.deploy.library
import sigil.registry
import sigil.search.words
import sigil.storage.artifacts.stored
import sigil.storage.kv.dynamodb
import sigil.storage.kv.redis
import sigil.storage.kv.sqlite
from functions import local, log
from functions.events import Event, Sender, order_of
from sigil.sandbox.child_modules import pack_modules
from sigil.storage import aws
from tests.channel_settings import make_settings
from tests.fakes.bot_api import TOKEN as BOT_TOKEN
from tests.fakes.model import call, say
from tests.functions.queues.workers import process_all
from tests.machine import within
from tests.sharing import share_costly_values
from tests.stories.switch import Order, Switch
from tests.stories.system import LONG, OWNER, SECRET, Planner, Platform
from tests.stories.watched import open_watched_runtime

NEEDED = (
    anyio._backends._asyncio,
    boto3,
    pydantic.v1,
    uvicorn.lifespan.on,
    uvicorn.loops.auto,
    uvicorn.protocols.http.auto,
    uvicorn.protocols.websockets.auto,
    functions.agent.model.client,
    functions.agent.model.fallback,
    functions.channels.render.telegram,
    functions.channels.telegram.sending,
    functions.queues.sqs,
    functions.queues.store_queue,
    sigil.deploy.library,
    sigil.registry,
    sigil.search.words,
    sigil.storage.artifacts.stored,
    sigil.storage.kv.dynamodb,
    sigil.storage.kv.redis,
    sigil.storage.kv.sqlite,
)
"""What a server loads when it is opened or first used; here it is loaded once for all of them."""
TOKEN = "admin-token-of-the-tests"


def main() -> None:
    share_costly_values()
    httpx.Client().close()  # every server finds the certificates read
    for service in ("dynamodb", "sqs"):
        aws.client(service, endpoint="http://127.0.0.1:9")  # and what botocore knows of them
    _take_turn()
    gc.freeze()  # no server searches what was imported for garbage
    waker, wakened = socket.socketpair()
    wakened.setblocking(False)
    signal.set_wakeup_fd(wakened.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    running: dict[int, str] = {}
    while True:
        ready, _, _ = select.select([sys.stdin, waker], [], [])
        if waker in ready:
            waker.recv(4096)
            _reap(running)
        if sys.stdin in ready:
            line = os.read(
                sys.stdin.fileno(), 65536
            )  # one line a write, and a pipe keeps writes of this size whole
            if not line:
                break
            for request in line.splitlines():
                asked = orjson.loads(request)
                running[_fork(asked)] = asked["name"]
    for pid in running:
        os.kill(pid, signal.SIGKILL)


def _take_turn() -> None:
    """Take a turn here, and look at how a reply is written: what a first turn loads and compiles
    (50 ms), every server then has.
    """
    with TemporaryDirectory() as folder, Platform() as platform, Planner() as model:
        settings = make_settings(
            data=folder,
            store="memory://",
            library="none",
            runners=1,
            access="open",
            llm_url=f"{model.url}/none",
            telegram_token=BOT_TOKEN,
            telegram_secret=SECRET,
            telegram_api=f"{platform.url}/none",
        )
        model.then(call(("sigil_query", {"query": "number"})), say(LONG))
        runtime = open_watched_runtime(settings, Switch(Order(folder)))
        local.build_app(runtime, TOKEN)
        now = time.time()
        runtime.queue.put(
            Event(
                id="telegram:1:1",
                kind="message",
                agent="main",
                session=f"telegram:{OWNER}",
                sender=Sender(f"telegram:{OWNER}"),
                text="hello",
                at=now,
                order=order_of(now, 1),
                private=True,
            )
        )
        process_all(runtime)
        runtime.close()
        assert len(platform.texts) == 2, platform.texts
    pack_modules()
    # a lock that a thread holds would be held in every server; those of a pool that was closed end
    # by themselves, on a busy machine a moment later
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join(within(60.0))
    assert threading.active_count() == 1, threading.enumerate()


def _fork(request: dict[str, Any]) -> int:
    pid = os.fork()
    if pid == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _serve(request)
    _report({"name": request["name"], "pid": pid})
    return pid


def _reap(running: dict[int, str]) -> None:
    for pid in tuple(running):
        ended, _ = os.waitpid(pid, os.WNOHANG)
        if ended:
            # by its name: the system gives the number to another process soon
            _report({"name": running.pop(pid), "ended": True})


def _serve(request: dict[str, Any]) -> NoReturn:
    order = Order(**request["order"])
    os.close(sys.stdin.fileno())
    sys.stdin = open(os.devnull)  # noqa: SIM115  it stays open as long as the process lives
    log.start(open(f"{order.folder}/{request['name']}.log", "a", buffering=1))  # noqa: SIM115
    stacks = open(f"{order.folder}/{request['name']}.stacks", "a")  # noqa: SIM115
    faulthandler.register(signal.SIGUSR1, stacks)
    fields = request["settings"]
    runtime = open_watched_runtime(
        make_settings(**{**fields, "owners": tuple(fields["owners"])}), Switch(order)
    )
    listener = socket.create_server(("127.0.0.1", 0))

    def ready() -> None:
        _report({"name": request["name"], "pid": os.getpid(), "port": listener.getsockname()[1]})

    uvicorn.Server(
        uvicorn.Config(local.build_app(runtime, TOKEN, ready), log_level="error", lifespan="on")
    ).run(sockets=[listener])
    runtime.close()
    os._exit(0)


def _report(facts: dict[str, Any]) -> None:
    os.write(1, orjson.dumps(facts) + b"\n")


if __name__ == "__main__":
    main()
