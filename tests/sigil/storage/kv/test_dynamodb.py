"""The store in a DynamoDB table: the contract, lost replies, throttling, a server that is down,
tables that cannot be used.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from sigil.errors import BackendError, Conflict, UsageError
from sigil.storage import aws
from sigil.storage.kv import ABSENT, KV, Expect, Item, Key, dynamodb_table
from sigil.storage.kv.dynamodb import DynamoKV
from sigil.storage.kv.dynamodb_table import create_table
from tests.fakes.aws import Moody
from tests.selection import in_full
from tests.servers.ministack import Ministack, pointed_at, unique
from tests.servers.proxy import CUT, DROP_REPLY, HANG, PASS, REFUSE, RESET, Mode, Proxy
from tests.sigil.storage.kv.contract import KVContract
from tests.sigil.storage.kv.model import Clock
from tests.sigil.storage.kv.processes import finish, start
from tests.threads import in_parallel


@pytest.fixture(scope="module")
def aws_here(ministack: Ministack) -> Iterator[Ministack]:
    """The server for all tests of this file: making AWS's client takes as long as a test."""
    with pointed_at(ministack):
        yield ministack


@pytest.fixture(scope="module")
def one_table(aws_here: Ministack) -> str:
    create_table(name := unique("store"))
    return name


@pytest.fixture
def table(one_table: str) -> Iterator[str]:
    """The table of this file, which a test leaves empty."""
    yield one_table
    client = aws.client("dynamodb")
    pages = client.get_paginator("scan").paginate(
        TableName=one_table, ProjectionExpression="pk, sk"
    )
    left = [{"DeleteRequest": {"Key": key}} for page in pages for key in page["Items"]]
    for begin in range(0, len(left), 25):  # AWS takes no more at once
        client.batch_write_item(RequestItems={one_table: left[begin : begin + 25]})


class TestDynamoKV(KVContract):
    largest = 409_550
    lives = 110  # a scan asks for 100 at a time
    examples = 40 if in_full() else 12
    attempts = 3
    writes = 50 if in_full() else 8

    @pytest.fixture
    def kv(self, clock: Clock, table: str) -> KV:
        return DynamoKV(table, clock=clock)


KEY = Key("p", "s")


@pytest.fixture
def proxy(ministack: Ministack) -> Iterator[Proxy]:
    with Proxy(f"127.0.0.1:{ministack.port}") as proxy:
        yield proxy


@pytest.fixture
def far(table: str, proxy: Proxy) -> DynamoKV:
    """The table behind the proxy."""
    return DynamoKV(table, endpoint=f"http://{proxy.address}")


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attempts as many as ever, with next to no pause between."""
    monkeypatch.setattr(
        "botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.01
    )


def raw(table: str, key: Key = KEY) -> dict[str, Any]:
    """The item as it lies in the table."""
    found = aws.client("dynamodb").get_item(
        TableName=table, Key={"pk": {"S": key.partition}, "sk": {"S": key.sort}}
    )
    row: dict[str, Any] = found["Item"]
    return row


@pytest.mark.parametrize("mode", [DROP_REPLY, CUT, RESET])
@pytest.mark.parametrize("kind", ["none", "absent", "version"])
def test_a_write_whose_reply_was_lost_is_known_again(
    kind: str, mode: Mode, table: str, far: DynamoKV, proxy: Proxy, at_once: None
) -> None:
    near = DynamoKV(table)
    expect: Expect = {
        "none": None,
        "absent": ABSENT,
        "version": near.put(KEY, b"1") if kind == "version" else "",
    }[kind]
    proxy.arm(mode, b".PutItem")
    version = far.put(KEY, b"ours", expect=expect)
    assert near.get(KEY) == Item(b"ours", version)
    assert proxy.hits == 1


@pytest.mark.parametrize("kind", ["absent", "version"])
def test_a_write_that_was_replaced_before_its_repeat_is_a_conflict(
    kind: str, table: str, far: DynamoKV, proxy: Proxy, at_once: None
) -> None:
    near = DynamoKV(table)
    expect: Expect = ABSENT if kind == "absent" else near.put(KEY, b"1")
    proxy.arm(DROP_REPLY, b".PutItem")
    with between(far, "put_item", lambda: near.put(KEY, b"theirs")), pytest.raises(Conflict):
        far.put(KEY, b"ours", expect=expect)
    item = near.get(KEY)
    assert item is not None
    assert item.value == b"theirs"


def test_a_delete_whose_reply_was_lost_is_done(
    table: str, far: DynamoKV, proxy: Proxy, at_once: None
) -> None:
    version = DynamoKV(table).put(KEY, b"1")
    proxy.arm(DROP_REPLY, b".DeleteItem")
    far.delete(KEY, expect=version)
    assert far.get(KEY) is None
    with pytest.raises(Conflict):
        far.delete(KEY, expect=version)


def test_a_repeated_delete_leaves_what_came_after_alone(
    table: str, far: DynamoKV, proxy: Proxy, at_once: None
) -> None:
    near = DynamoKV(table)
    version = near.put(KEY, b"1")
    proxy.arm(DROP_REPLY, b".DeleteItem")
    with between(far, "delete_item", lambda: near.put(KEY, b"theirs")), pytest.raises(Conflict):
        far.delete(KEY, expect=version)
    assert near.get(KEY) is not None


@contextmanager
def between(kv: DynamoKV, operation: str, act: Callable[[], object]) -> Iterator[None]:
    """Do `act` once, after the first attempt of an operation and before it is repeated."""
    events = aws.client("dynamodb", endpoint=kv._endpoint).meta.events
    name = f"needs-retry.dynamodb.{''.join(map(str.title, operation.split('_')))}"
    waiting = [act]

    def meddle(**_: object) -> None:
        while waiting:
            waiting.pop()()

    events.register_first(name, meddle)
    yield
    events.unregister(name, meddle)
    assert not waiting


@pytest.mark.parametrize("mode", [RESET, CUT, REFUSE])
def test_a_server_that_is_down_says_so(
    mode: Mode, far: DynamoKV, proxy: Proxy, at_once: None
) -> None:
    proxy.mode = mode
    for verb in (
        lambda: far.get(KEY),
        lambda: far.put(KEY, b""),
        lambda: far.delete(KEY),
        lambda: far.scan("p"),
    ):
        with pytest.raises(BackendError, match=r"cannot be reached|is cut short") as caught:
            verb()
        assert caught.value.code == "EUNAVAILABLE"
    proxy.mode = PASS
    far.put(KEY, b"again")
    assert far.get(KEY) is not None


def test_a_server_that_hangs_is_given_up(
    far: DynamoKV, proxy: Proxy, at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aws, "READ_SECONDS", 0.15)
    proxy.mode = HANG
    with pytest.raises(BackendError, match="does not answer in time"):
        far.put(KEY, b"")
    assert proxy.hits == aws.ATTEMPTS


@pytest.mark.parametrize(
    "code",
    ["ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException"],
)
def test_throttling_is_waited_out_and_then_told(
    code: str, aws_here: Ministack, at_once: None
) -> None:
    with Moody(code, times=aws.ATTEMPTS - 1) as server:
        assert DynamoKV("t", endpoint=server.url).put(KEY, b"")
        assert len(server.requests) == aws.ATTEMPTS
    with Moody(code) as server:
        with pytest.raises(BackendError, match="too many requests"):
            DynamoKV("t", endpoint=server.url).put(KEY, b"", expect=ABSENT)
        assert len(server.requests) == aws.ATTEMPTS


def test_a_table_that_is_not_there_says_how_to_make_it(aws_here: Ministack) -> None:
    with pytest.raises(BackendError, match="table nowhere: it does not exist") as caught:
        DynamoKV("nowhere").get(KEY)
    assert "sigil.storage.kv.dynamodb_table" in caught.value.suggestion


def test_a_table_with_other_keys_says_which_it_needs(aws_here: Ministack) -> None:
    name, client = unique("other"), aws.client("dynamodb")
    keys = (
        [{"AttributeName": "id", "AttributeType": "S"}],
        [{"AttributeName": "id", "KeyType": "HASH"}],
    )
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=keys[0],
        KeySchema=keys[1],
    )
    for verb in (
        lambda: DynamoKV(name).get(KEY),
        lambda: DynamoKV(name).put(KEY, b""),
        lambda: DynamoKV(name).scan("p"),
    ):
        with pytest.raises(BackendError) as caught:
            verb()
        assert "pk and sk" in caught.value.suggestion


def test_an_item_of_another_program_is_not_read(table: str) -> None:
    aws.client("dynamodb").put_item(
        TableName=table, Item={"pk": {"S": "p"}, "sk": {"S": "s"}, "value": {"S": "text"}}
    )
    for verb in (lambda: DynamoKV(table).get(KEY), lambda: DynamoKV(table).scan("p")):
        with pytest.raises(BackendError, match="another program"):
            verb()


def test_making_a_table_twice_or_at_once_is_fine(aws_here: Ministack) -> None:
    name = unique("store")
    assert in_parallel(3, lambda _: create_table(name)) == [None] * 3
    create_table(name)
    described = aws.client("dynamodb").describe_time_to_live(TableName=name)[
        "TimeToLiveDescription"
    ]
    assert described == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires"}


def test_a_table_is_made_from_the_command_line(
    aws_here: Ministack, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*arguments: str) -> object:
        """What it ends with, in this process: to start another one takes as long as all else."""
        monkeypatch.setattr(sys, "argv", [dynamodb_table.__file__, *arguments])
        try:
            runpy.run_path(dynamodb_table.__file__, run_name="__main__")
        except SystemExit as ended:
            return ended.code
        return None

    name = unique("store")
    assert run(name, aws_here.url) is None
    assert DynamoKV(name).get(KEY) is None
    assert str(run()).startswith("usage:")
    refused = str(run("x"))
    assert refused.startswith("error: table x: refused with ValidationException\nhelp:")


def test_the_table_drops_an_item_at_the_whole_second_after_its_end(table: str) -> None:
    clock = Clock(1_800_000_000.25)
    kv = DynamoKV(table, clock=clock)
    kv.put(KEY, b"", ttl=10.0)
    assert raw(table)["expires"] == {"N": "1800000011"}
    clock.advance(9.875)
    assert kv.get(KEY) is not None
    clock.advance(0.125)
    assert kv.get(KEY) is None
    kv.put(KEY, b"for good")
    assert set(raw(table)) == {"pk", "sk", "value", "version"}


@pytest.mark.parametrize("ttl", [1e300, -1e300, 1e-300])
def test_a_lifetime_beyond_all_numbers_of_the_table_is_as_long_as_they_go(
    ttl: float, table: str
) -> None:
    kv = DynamoKV(table)
    kv.put(KEY, b"", ttl=ttl)
    assert (kv.get(KEY) is not None) == (ttl > 1)


@pytest.mark.parametrize("key", [KEY, Key("語" * 500, "é" * 400)], ids=["short", "long"])
def test_a_value_too_large_for_an_item_is_refused_before_it_is_sent(key: Key, table: str) -> None:
    kv = DynamoKV(table)
    room = 409_600 - len(key.partition.encode()) - len(key.sort.encode()) - 48
    kv.put(key, os.urandom(room))
    for value, ttl in ((os.urandom(room + 1), None), (os.urandom(room), 5.0)):
        with requests(kv) as sent, pytest.raises(UsageError) as caught:
            kv.put(key, value, ttl=ttl)
        assert caught.value.code == "ETOOBIG"
        assert not sent
    kv.put(key, os.urandom(room - 60), ttl=5.0)


def test_what_compresses_well_is_stored_small_and_read_back_whole(table: str) -> None:
    kv, value = DynamoKV(table), b"one sentence after the other. " * 30_000
    kv.put(KEY, value)
    stored = aws.client("dynamodb").get_item(
        TableName=table, Key={"pk": {"S": KEY.partition}, "sk": {"S": KEY.sort}}
    )["Item"]

    item = kv.get(KEY)

    assert len(stored["packed"]["B"]) < 10_000
    assert item is not None
    assert item.value == value
    assert kv.scan(KEY.partition)[0][1].value == value


@contextmanager
def requests(kv: DynamoKV) -> Iterator[list[str]]:
    """The operations that are sent meanwhile."""
    events, sent = aws.client("dynamodb", endpoint=kv._endpoint).meta.events, []

    def note(request: Any, event_name: str, **_: object) -> None:
        sent.append(event_name.rpartition(".")[2])

    events.register("before-send.dynamodb", note)
    yield sent
    events.unregister("before-send.dynamodb", note)


def test_a_verb_is_one_request(table: str) -> None:
    kv = DynamoKV(table)
    with requests(kv) as sent:
        version = kv.put(KEY, b"1", expect=ABSENT)
        kv.get(KEY)
        version = kv.put(KEY, b"2", expect=version)
        kv.scan("p")
        kv.delete(KEY, expect=version)
    assert sent == ["PutItem", "GetItem", "PutItem", "Query", "DeleteItem"]


def test_every_read_asks_for_what_was_written_last(table: str) -> None:
    kv, bodies = DynamoKV(table), list[dict[str, Any]]()
    events = aws.client("dynamodb").meta.events
    events.register(
        "before-send.dynamodb", lambda request, **_: bodies.append(json.loads(request.body)), "note"
    )
    for number in range(3):
        kv.put(Key("p", str(number)), os.urandom(390_000))
    kv.get(KEY)
    kv.scan("p")
    kv.delete(KEY, expect=ABSENT)
    events.unregister("before-send.dynamodb", unique_id="note")
    assert [body.get("ConsistentRead") for body in bodies] == [
        None,
        None,
        None,
        True,
        True,
        True,
        True,
    ]


def test_a_scan_goes_on_where_a_page_of_one_megabyte_ends(table: str) -> None:
    kv = DynamoKV(table)
    for number in range(5):
        kv.put(Key("p", f"a{number}"), os.urandom(300_000))
    assert [sort for sort, _ in kv.scan("p")] == ["a0", "a1", "a2", "a3", "a4"]
    assert [sort for sort, _ in kv.scan("p", prefix="a", after="a0", limit=4)] == [
        "a1",
        "a2",
        "a3",
        "a4",
    ]


def test_a_scan_steps_over_many_expired_ones_in_few_requests(table: str) -> None:
    clock = Clock()
    kv = DynamoKV(table, clock=clock)
    for number in range(50):
        kv.put(Key("p", f"{number:03d}"), b"", ttl=1.0)
    kv.put(Key("p", "last"), b"stays")
    clock.advance(1.0)
    with requests(kv) as sent:
        assert [sort for sort, _ in kv.scan("p", limit=1)] == ["last"]
    assert len(sent) <= 3


def test_a_scan_after_what_no_key_can_be_is_a_scan_all_the_same(table: str) -> None:
    kv = DynamoKV(table)
    longest = "x" * 1024
    for sort in ("w", longest, "x" * 1023 + "a", "y"):
        kv.put(Key("p", sort), b"")
    assert [sort for sort, _ in kv.scan("p", after="x" * 1023 + "é")] == ["y"]
    assert [sort for sort, _ in kv.scan("p", after="x" * 1023 + "b" + "z" * 2000)] == [longest, "y"]
    assert kv.scan("p", prefix="x" * 1025) == []
    assert kv.scan("") == []
    assert kv.scan("x" * 2049) == []


# a process of its own reads AWS's descriptions of itself for a second; DynamoKV keeps nothing, so
# that the threads of the contract count as processes do
@pytest.mark.thorough
@pytest.mark.usefixtures("fork_commands")
def test_of_several_processes_that_count_none_is_lost(table: str) -> None:
    code = """
from sigil.storage.kv.dynamodb import DynamoKV
from tests.sigil.storage.kv.processes import increment
increment(DynamoKV(sys.argv[1]), Key('p', 's'), 20)
"""
    kv = DynamoKV(table)
    kv.put(KEY, b"0")
    finish([start(code, table) for _ in range(3)])
    item = kv.get(KEY)
    assert item is not None
    assert item.value == b"60"
