"""An empty store of each kind, as the settings name it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sigil.storage import aws
from sigil.storage.kv.dynamodb_table import create_table
from tests.servers.ministack import unique
from tests.servers.valkey import shared


@contextmanager
def empty_store(kind: str, request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    """The setting of an empty store for a fixture: `memory`, `sqlite` in a folder, `redis` or
    `dynamodb`.
    """
    match kind:
        case "redis":
            shared().do("FLUSHALL")
            yield f"redis://{shared().address}"
        case "dynamodb":
            request.getfixturevalue("aws_here")
            table = unique("store")
            create_table(table)
            yield f"dynamodb://{table}"
            aws.client("dynamodb").delete_table(TableName=table)
        case "sqlite":
            yield f"sqlite:///{folder / 'store.db'}"
        case _:
            yield "memory://"
