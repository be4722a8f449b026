"""Measures the store in DynamoDB: the requests of a turn, and times beside bare calls of botocore to
the same emulator in the same run.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from functions.agent.session.document import Document, encode_document
from functions.agent.session.store import SessionHandle, Sessions
from functions.agent.turn.turn import run_turn
from functions.settings import Settings
from functions.wiring import open_runtime
from scripts.benchmarks.chats import make_document, make_event
from scripts.benchmarks.measuring import compare_calls
from scripts.benchmarks.rows import Row
from sigil.storage import aws
from sigil.storage.kv import ABSENT, Key, keys
from sigil.storage.kv.dynamodb import DynamoKV
from sigil.storage.kv.dynamodb_table import create_table
from tests.fakes.model import ScriptedModel, call, say
from tests.servers.ministack import Ministack

TABLE: Final = "bench"
ROUNDS: Final = 6
REPEATS: Final = 60
MESSAGES: Final = 40
SESSION: Final = "bench:1"


def run(data: Path | None) -> Iterator[Row]:
    """Count the requests of one turn; then measure in microseconds a call, the median of the best of
    six rounds. `cpu` is this process's.
    """
    with Ministack() as server:
        os.environ.update(server.environment)
        create_table(TABLE)
        yield from _count_requests_of_turns()
        yield from _measure_times()


def _count_requests_of_turns() -> Iterator[Row]:
    """Count the requests of a turn of one round and of a turn of two."""
    for rounds in (1, 2):
        with tempfile.TemporaryDirectory() as folder, ScriptedModel() as model:
            model.then(*[call(("sigil_query", {"query": "nothing"}))] * (rounds - 1), say("done"))
            settings = Settings(
                data=folder,
                store=f"dynamodb://{TABLE}",
                library="none",
                runners=1,
                llm_url=model.url,
                llm_model="scripted",
                tokens_per_day=10**9,
            )
            runtime = open_runtime(settings)
            saves = _record_saves(runtime.app.sessions)
            with _count_requests() as sent:
                run_turn(make_event(SESSION, rounds), runtime.app)
            runtime.close()
        name = f"dynamodb turn of {rounds} rounds"
        head = sum(count for (_, sort), count in sent.items() if sort == "head")
        reads = sent["GetItem", "head"]
        writes = sent["PutItem", "head"]
        yield Row(f"{name}, reads of its session", reads, "", 1)
        yield Row(
            f"{name}, writes of its session, beside checkpoints",
            writes,
            "",
            floor=len(saves),
            ratio_target=1,
        )
        yield Row(f"{name}, other requests", sum(sent.values()) - head)


def _record_saves(sessions: Sessions) -> list[Document]:
    """Return a list to which every document is added that is saved from now on."""
    saved: list[Document] = []
    save = sessions.save

    def save_and_record(
        opened: SessionHandle, document: Document, body: bytes | None = None
    ) -> SessionHandle:
        saved.append(document)
        return save(opened, document, body)

    sessions.save = save_and_record  # type: ignore[method-assign]
    return saved


@contextmanager
def _count_requests() -> Iterator[Counter[tuple[str, str]]]:
    """Count the requests that are sent meanwhile, by operation and sort key."""
    sent: Counter[tuple[str, str]] = Counter()

    def count_request(request: Any, event_name: str, **_: object) -> None:
        body = json.loads(request.body)
        item = body.get("Key") or body.get("Item") or {}
        operation = event_name.rpartition(".")[2]
        sent[operation, item.get("sk", {}).get("S", "")] += 1

    events = aws.client("dynamodb").meta.events
    events.register("before-send.dynamodb", count_request)
    yield sent
    events.unregister("before-send.dynamodb", count_request)


def _measure_times() -> Iterator[Row]:
    """Measure the store's operations, and a session opened and saved again."""
    kv = DynamoKV(TABLE)
    document = make_document(MESSAGES)
    body = encode_document(document)
    head = keys.session_head(keys.session_of("main", "bench:2"))
    sessions = Sessions(kv)
    key = keys.session_of("main", "bench:3")
    sessions.save(sessions.open(key), document)

    def load_and_save() -> None:
        item = kv.get(head)
        kv.put(head, body, expect=item.version if item else ABSENT)

    def open_and_close() -> None:
        opened = sessions.open(key)
        sessions.save(opened, opened.document)

    for name, work, floor in (
        ("get", lambda: kv.get(Key("one", "s")), _bare_get),
        ("put", lambda: kv.put(Key("one", "s"), body), lambda: _bare_put(body)),
        (
            f"load + save of {MESSAGES} messages",
            load_and_save,
            lambda: (_bare_get(), _bare_put(body)),
        ),
        (
            f"session open + close, {MESSAGES} messages",
            open_and_close,
            lambda: (_bare_get(), _bare_put(body)),
        ),
    ):
        kv.put(Key("one", "s"), body)
        for what, clock in (("", time.perf_counter), (", cpu", time.process_time)):
            value, least = compare_calls(work, floor, ROUNDS, REPEATS, clock)
            yield Row(f"dynamodb {name}, beside botocore{what}", value, "µs", floor=least)


def _bare_get() -> object:
    return aws.client("dynamodb").get_item(
        TableName=TABLE, Key={"pk": {"S": "one"}, "sk": {"S": "s"}}, ConsistentRead=True
    )


def _bare_put(body: bytes) -> object:
    return aws.client("dynamodb").put_item(
        TableName=TABLE, Item={"pk": {"S": "two"}, "sk": {"S": "s"}, "value": {"B": body}}
    )
