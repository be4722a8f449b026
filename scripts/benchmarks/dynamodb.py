"""Measures the store in DynamoDB: requests a turn, and time beside bare calls of botocore to the
same emulator in the same run.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from functions.agent.messages import Message
from functions.agent.session.document import Document, encode_document
from functions.agent.session.store import SessionHandle, Sessions
from functions.agent.turn import run_turn
from functions.events import Event, Sender, order_of
from functions.settings import Settings
from functions.wiring import open_runtime
from scripts.benchmarks.rows import Row
from sigil.storage import aws
from sigil.storage.kv import ABSENT, KV, Key, keys
from sigil.storage.kv.dynamodb import DynamoKV
from sigil.storage.kv.dynamodb_table import create_table
from tests.fakes.model import ScriptedModel, call, say
from tests.servers.ministack import Ministack

TABLE: Final = "bench"
ROUNDS: Final = 6
REPEATS: Final = 60
MESSAGES: Final = 40
SAID: Final = "A sentence or two of plain talk, as people write it. " * 3
SESSION: Final = "bench:1"

Work = Callable[[], object]


def run(data: Path | None) -> Iterator[Row]:
    """Counts of one turn, then microseconds a call, the median of the best of six rounds; `cpu` is
    this process's.
    """
    with Ministack() as server:
        os.environ.update(server.environment)
        create_table(TABLE)
        yield from _turns(server)
        yield from _times()


def _turns(server: Ministack) -> Iterator[Row]:
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
            saves = _counted(runtime.app.sessions)
            with _requests() as sent:
                run_turn(_event(rounds), runtime.app)
            runtime.close()
        name, head = (
            f"dynamodb turn of {rounds} rounds",
            sum(count for (_, sort), count in sent.items() if sort == "head"),
        )
        reads, writes = sent["GetItem", "head"], sent["PutItem", "head"]
        yield Row(f"{name}, reads of its session", reads, "", 1)
        yield Row(
            f"{name}, writes of its session, beside checkpoints",
            writes,
            "",
            floor=len(saves),
            ratio_target=1,
        )
        yield Row(f"{name}, other requests", sum(sent.values()) - head)


def _counted(sessions: Sessions) -> list[Document]:
    """Count the requests that are sent from now on."""
    saved: list[Document] = []
    save = sessions.save

    def counting(opened: SessionHandle, document: Document) -> SessionHandle:
        saved.append(document)
        return save(opened, document)

    sessions.save = counting  # type: ignore[method-assign]
    return saved


@contextmanager
def _requests() -> Iterator[Counter[tuple[str, str]]]:
    """The requests that are sent meanwhile, by operation and sort key."""
    sent: Counter[tuple[str, str]] = Counter()

    def note(request: Any, event_name: str, **_: object) -> None:
        body = json.loads(request.body)
        sent[
            event_name.rpartition(".")[2],
            (body.get("Key") or body.get("Item") or {}).get("sk", {}).get("S", ""),
        ] += 1

    events = aws.client("dynamodb").meta.events
    events.register("before-send.dynamodb", note)
    yield sent
    events.unregister("before-send.dynamodb", note)


def _event(rounds: int) -> Event:
    made = Event(
        f"{SESSION}:{rounds}",
        "message",
        "main",
        SESSION,
        Sender("terminal:local"),
        SAID,
        1.0,
        order_of(1.0, rounds),
    )
    return replace(made, private=True)


def _times() -> Iterator[Row]:
    kv = DynamoKV(TABLE)
    messages = [
        Message("user" if number % 2 == 0 else "assistant", SAID, at=1.0)
        for number in range(MESSAGES)
    ]
    document = Document().add(*messages)
    body = encode_document(document)
    for name, work, floor in (
        ("get", lambda: kv.get(Key("one", "s")), _bare_get),
        ("put", lambda: kv.put(Key("one", "s"), body), lambda: _bare_put(body)),
        (
            f"load + save of {MESSAGES} messages",
            _load_and_save(kv, body),
            lambda: (_bare_get(), _bare_put(body)),
        ),
        (
            f"session open + close, {MESSAGES} messages",
            _whole(kv, document),
            lambda: (_bare_get(), _bare_put(body)),
        ),
    ):
        kv.put(Key("one", "s"), body)
        for what, clock in (("", time.perf_counter), (", cpu", time.process_time)):
            value, least = _beside(work, floor, clock)
            yield Row(f"dynamodb {name}, beside botocore{what}", value, "µs", floor=least)


def _bare_get() -> object:
    return aws.client("dynamodb").get_item(
        TableName=TABLE, Key={"pk": {"S": "one"}, "sk": {"S": "s"}}, ConsistentRead=True
    )


def _bare_put(body: bytes) -> object:
    return aws.client("dynamodb").put_item(
        TableName=TABLE, Item={"pk": {"S": "two"}, "sk": {"S": "s"}, "value": {"B": body}}
    )


def _load_and_save(kv: KV, body: bytes) -> Work:
    head = keys.session_head(keys.session_of("main", "bench:2"))

    def load_and_save() -> None:
        item = kv.get(head)
        kv.put(head, body, expect=item.version if item else ABSENT)

    return load_and_save


def _whole(kv: KV, document: Document) -> Work:
    sessions, key = Sessions(kv), keys.session_of("main", "bench:3")
    sessions.save(sessions.open(key), document)

    def open_and_close() -> None:
        opened = sessions.open(key)
        sessions.save(opened, opened.document)

    return open_and_close


def _beside(work: Work, floor: Work, clock: Callable[[], float]) -> tuple[float, float]:
    """µs a call of `work` and of `floor`, in turns, the median of the best round of each."""
    ours, least = [], []
    for _ in range(ROUNDS):
        ours.append(_median(work, clock))
        least.append(_median(floor, clock))
    return min(ours), min(least)


def _median(work: Work, clock: Callable[[], float]) -> float:
    spent = []
    for _ in range(REPEATS):
        started = clock()
        work()
        spent.append(clock() - started)
    return statistics.median(spent) * 1e6
