"""Each kind of store that servers run on, with two capabilities that every story needs."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from functions.wiring import Closable
from sigil.protocol import Caller
from sigil.storage import aws
from sigil.storage.kv import Key
from sigil.wiring import Stores, local_registry, open_stores
from tests.channel_settings import make_settings
from tests.stories.newer import Recorded

SCHEMA = {
    "type": "object",
    "properties": {
        "spin": {"type": "integer", "description": "how long to work, in milliseconds or so"}
    },
}
WORK = "let x = 0; for (let i = 0; i < input.spin * 20000; i++) x += i; return 'done'"
DATABASES = 512
_NUMBERS = itertools.count()


STORES = ("sqlite", "redis", "dynamodb")
"""Each with its own inbox; `sqs` is DynamoDB with its events in a FIFO queue of SQS, as on AWS."""


Prepare = Callable[[Path], AbstractContextManager[Mapping[str, Any]]]
"""Prepares a store for one system in its folder, and yields the settings that name the store."""


@dataclass(frozen=True, slots=True)
class Backend:
    """A kind of store: how one is prepared for a system; its server's address (host and port) and process,
    if it has one.
    """

    prepare: Prepare
    address: str = ""
    pid: int = 0

    def is_idle(self, settings: Mapping[str, Any]) -> bool:
        """Whether nothing waits in a queue beside the store, and nobody works on what was in it."""
        if not settings.get("queue"):
            return True
        url = settings["queue"].removeprefix("sqs://")
        asked = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        client = aws.client("sqs", endpoint=f"http://{self.address}")
        return not any(
            map(
                int,
                client.get_queue_attributes(QueueUrl=url, AttributeNames=asked)[
                    "Attributes"
                ].values(),
            )
        )


@dataclass(frozen=True, slots=True)
class DeployedCapabilities:
    """Two capabilities that were deployed once: the folder of that store, and its records."""

    folder: Path
    records: Mapping[Key, bytes]

    def copy_files(self, folder: Path) -> None:
        """Copy everything but native code into the folder of a system."""
        shutil.copytree(
            self.folder,
            folder,
            symlinks=True,
            dirs_exist_ok=True,
            ignore=shutil.ignore_patterns("compiled"),
        )

    def copy_records(self, settings: Mapping[str, Any]) -> None:
        """Write the records and the bodies that they name into the empty store of a system."""
        with open_stores_of(settings) as stores:
            for path in (self.folder / "artifacts").glob("*/*"):
                stores.artifacts.put(path.read_bytes())
            for key, value in self.records.items():
                stores.kv.put(key, value)


def deploy_capabilities(folder: Path) -> DeployedCapabilities:
    """Deploy the capabilities `double`, which is pure, and `note`, which is not: it may write to
    the log. Either has time enough on the busiest machine.
    """
    settings = {
        "data": str(folder),
        "store": f"sqlite:///{folder / 'uncaged.db'}",
        "library": "none",
        "runners": 1,
    }
    with open_stores_of(settings) as stores:
        written: set[Key] = set()
        recorded = replace(stores, kv=Recorded(stores.kv, written))
        registry = local_registry(make_settings(**settings), recorded)
        for name, permissions in (("double", {}), ("note", {"log": True})):
            spec = {
                "name": name,
                "description": f"{name} a number",
                "schema": SCHEMA,
                "execute": WORK,
                "permissions": permissions,
                "limits": {"timeout_ms": 30_000},
            }
            registry.deploy(spec, Caller("main"))
        registry.close()
        found = {key: stores.kv.get(key) for key in written}
    return DeployedCapabilities(folder, {key: item.value for key, item in found.items() if item})


@contextmanager
def open_stores_of(settings: Mapping[str, Any]) -> Iterator[Stores]:
    """The stores of the settings, closed afterwards where they are files or connections."""
    stores = open_stores(make_settings(**settings))
    try:
        yield stores
    finally:
        if isinstance(stores.kv, Closable):
            stores.kv.close()


def on_sqlite(deployed: DeployedCapabilities) -> Backend:
    """A file, copied from one that was deployed once."""

    @contextmanager
    def prepare(folder: Path) -> Iterator[Mapping[str, Any]]:
        deployed.copy_files(folder)
        yield {"store": f"sqlite:///{folder / 'uncaged.db'}"}

    return Backend(prepare)


def on_redis(deployed: DeployedCapabilities, address: str, pid: int) -> Backend:
    """A database of its own on the server at `address` (host and port)."""

    @contextmanager
    def prepare(folder: Path) -> Iterator[Mapping[str, Any]]:
        settings = {"store": f"redis://{address}/{next(_NUMBERS)}", "data": str(folder)}
        deployed.copy_records(settings)
        yield settings

    return Backend(prepare, address, pid)


def on_dynamodb(
    deployed: DeployedCapabilities,
    url: str,
    pid: int,
    make: Callable[[str, str], None],
    *,
    queue: Callable[[], str] | None = None,
) -> Backend:
    """A table of its own at the endpoint `url`; `make` makes one. With `queue`, which makes one
    too, events wait in SQS.
    """

    @contextmanager
    def prepare(folder: Path) -> Iterator[Mapping[str, Any]]:
        table = f"system-{folder.parent.name}-{next(_NUMBERS)}"
        make(table, url)
        settings = {"store": f"dynamodb://{table}?endpoint={url}", "data": str(folder)}
        deployed.copy_records(settings)
        yield {**settings, "queue": f"sqs://{queue()}"} if queue else settings

    return Backend(prepare, url.partition("://")[2], pid)
