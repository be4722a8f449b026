"""The store in Redis: the contract on one server and on a cluster, several processes, what it
leaves behind, how it is reached.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from sigil.errors import BackendError, Conflict, UsageError
from sigil.storage.kv import ABSENT, KV, Item, Key, redis_client
from sigil.storage.kv.redis import VALUE_LIMIT, RedisKV
from sigil.storage.kv.redis_client import RedisClient
from sigil.storage.kv.redis_scripts import LOOKS, Script
from tests.machine import until, within
from tests.selection import in_full
from tests.servers.certificates import Authority, authority
from tests.servers.proxy import Proxy
from tests.servers.valkey import Valkey, cluster, shared, valkey_server
from tests.sigil.storage.kv.contract import ODD, KVContract
from tests.sigil.storage.kv.model import Clock
from tests.sigil.storage.kv.processes import (
    expect_all_counted,
    expect_one_creator_each,
    finish,
    start,
)
from tests.tables import each_row
from tests.threads import in_parallel

__all__ = ["valkey_server"]
KEY = Key("p", "s")
IMPORT = "from sigil.storage.kv.redis import RedisKV\n"
OPENING = IMPORT + "kv = RedisKV(sys.argv[1])"


class TestRedisKV(KVContract):
    lives = 300  # a write drops 128 of them at a time

    @pytest.fixture
    def kv(self, clock: Clock, valkey_server: Valkey) -> Iterator[KV]:
        with closing(RedisKV(valkey_server.url, clock)) as kv:
            yield kv


class TestRedisKVWhereEverythingIsAskedTwice(KVContract):
    """As after a lost answer, only always: the second answer is the one that counts."""

    lives = 300
    examples = 60 if in_full() else 20

    @pytest.fixture
    def kv(
        self, clock: Clock, valkey_server: Valkey, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[KV]:
        once = RedisClient.run

        def twice(
            link: RedisClient, script: Script, keys: Sequence[bytes], *arguments: bytes
        ) -> Any:
            once(link, script, keys, *arguments)
            return once(link, script, keys, *arguments)

        monkeypatch.setattr(RedisClient, "run", twice)
        with closing(RedisKV(valkey_server.url, clock)) as kv:
            yield kv


@pytest.fixture(scope="module")
def nodes() -> Iterator[list[Valkey]]:
    with cluster(3) as servers:
        yield servers


@pytest.mark.thorough  # the suite has every verb on a cluster in one test, below
class TestRedisKVOnACluster(KVContract):
    lives = 300

    @pytest.fixture
    def kv(self, clock: Clock, nodes: list[Valkey]) -> Iterator[KV]:
        for node in nodes:
            node.do("FLUSHALL")
        with closing(RedisKV(f"{nodes[0].url}?cluster=1", clock)) as kv:
            yield kv


@pytest.fixture
def kv(valkey_server: Valkey, clock: Clock) -> Iterator[RedisKV]:
    with closing(RedisKV(valkey_server.url, clock)) as kv:
        yield kv


def refused(url: str) -> BackendError:
    """How a store at `url` says that it cannot be used; never with a password."""
    with closing(RedisKV(url)) as kv, pytest.raises(BackendError) as caught:
        kv.put(KEY, b"")
    assert caught.value.code == "EUNAVAILABLE"
    assert caught.value.suggestion
    assert "hush" not in f"{caught.value.as_dict()} {caught.value!r} {kv!r}"
    return caught.value


def answers(url: str) -> bool:
    with closing(RedisKV(url)) as kv, suppress(BackendError):
        kv.get(KEY)
        return True
    return False


def test_a_cluster_spreads_partitions_and_keeps_each_together(
    nodes: list[Valkey], clock: Clock
) -> None:
    with closing(RedisKV(f"{nodes[1].url}?cluster=1", clock)) as kv:
        for number in range(30):
            kv.put(Key(f"}}{number}{{}}", "s"), b"", ttl=1.0)
        assert all(node.do("DBSIZE") for node in nodes)
        assert kv.scan("") == []
        clock.advance(1.0)
        assert kv.sweep() == 30
        assert kv.warnings() == []


def test_every_verb_reaches_the_servers_of_a_cluster(nodes: list[Valkey], clock: Clock) -> None:
    for node in nodes:
        node.do("FLUSHALL")
    partitions = [*ODD, "a#1", "a}1", "a{1}", *(f"a#{number}" for number in range(2, 9))]
    with closing(RedisKV(f"{nodes[0].url}?cluster=1", clock)) as kv:
        where = [Key(name, sort) for name in partitions for sort in ("s", name)]
        versions = {key: kv.put(key, key.sort.encode(), expect=ABSENT) for key in where}
        assert all(node.do("DBSIZE") for node in nodes)
        wanted = [*where, Key("none", "s")]
        assert kv.get_many(wanted) == [
            Item(key.sort.encode(), versions[key]) if key in versions else None for key in wanted
        ]
        assert sorted(kv.list_partitions()) == sorted(partitions)
        assert sorted(kv.list_partitions("a#")) == sorted(f"a#{n}" for n in range(1, 9))
        assert {row.key: row.value for row in kv.scan_everything()} == {
            key: key.sort.encode() for key in where
        }
        for name in partitions:
            key = Key(name, "s")
            with pytest.raises(Conflict):
                kv.put(key, b"", expect=ABSENT)
            version = kv.put(key, b"2", expect=versions[key], ttl=5.0)
            assert kv.get(key) == Item(b"2", version)
            assert {sort for sort, _ in kv.scan(name)} == {"s", name}
            with pytest.raises(Conflict):
                kv.delete(key, expect=versions[key])
            kv.delete(Key(name, name))
            if name != partitions[0]:
                kv.delete(key, expect=version)
        assert list(kv.list_partitions()) == partitions[:1]
        clock.advance(5.0)
        assert kv.sweep() == 1


def test_a_server_of_a_cluster_that_stands_still_is_reported_and_comes_back(
    nodes: list[Valkey],
) -> None:
    with closing(
        RedisKV(f"{nodes[0].url}?cluster=1&socket_timeout=0.3&socket_connect_timeout=0.3")
    ) as kv:
        partitions = [str(number) for number in range(9)]
        for partition in partitions:
            kv.put(Key(partition, "s"), b"1")
        with nodes[2].stalled():
            began = time.monotonic()
            told = in_parallel(9, lambda number: kv.put(Key(partitions[number], "s"), b"2"))
            # the limits of time in the address hold for those who wait behind another one too
            assert time.monotonic() - began < within(10.0)
        away = [
            partition
            for partition, problem in zip(partitions, told, strict=True)
            if isinstance(problem, BackendError)
        ]
        assert 0 < len(away) < 9, told
        for partition in partitions:
            item = kv.get(Key(partition, "s"))
            assert item is not None
            assert item.value == b"2" or partition in away
            kv.put(Key(partition, "s"), b"3", expect=item.version)


def test_one_server_of_a_cluster_says_what_the_address_lacks(nodes: list[Valkey]) -> None:
    told = [refused(node.url) for node in nodes if not answers(node.url)]
    assert len(told) == 2
    assert all(
        "one server of a cluster" in each.message and "?cluster=1" in each.suggestion
        for each in told
    )


def test_a_lone_server_with_all_slots_takes_every_verb_from_a_plain_client() -> None:
    with cluster(1) as (server,), closing(RedisKV(server.url)) as kv:
        version = kv.put(KEY, b"1", expect=ABSENT, ttl=60.0)
        assert kv.get(KEY) == Item(b"1", version)
        assert kv.scan("p") == [("s", Item(b"1", version))]
        kv.delete(KEY, expect=version)
        assert kv.sweep() == 0


def test_a_server_that_is_no_cluster_says_so_when_one_is_wanted(valkey_server: Valkey) -> None:
    assert "cluster" in refused(f"{valkey_server.url}?cluster=1").message


@pytest.mark.usefixtures("fork_commands")
def test_of_several_processes_that_create_one_item_one_wins(kv: RedisKV) -> None:
    expect_one_creator_each(kv, OPENING, shared().url)


@pytest.mark.usefixtures("fork_commands")
def test_counting_from_several_processes_loses_nothing(kv: RedisKV) -> None:
    expect_all_counted(kv, OPENING, shared().url)


@pytest.mark.usefixtures("fork_commands")
@pytest.mark.parametrize("query", ["", "?cluster=1"])
def test_a_store_carried_over_a_fork_works_on_both_sides(query: str, nodes: list[Valkey]) -> None:
    address = (nodes[0] if query else shared()).url + query
    code = """
kv = RedisKV(sys.argv[1])
kv.put(Key('p', 'count'), b'0')
from tests.sigil.storage.kv.processes import increment
child = os.fork()
increment(kv, Key('p', 'count'), 50)
if not child:
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), kv.get(Key('p', 'count')).value.decode())
"""
    output = finish([start(IMPORT + code, address)])[0]
    assert output == "0 100\n"


def test_connections_are_kept_for_the_next_and_no_more_than_worked_at_once(kv: RedisKV) -> None:
    others = list_connections()  # of stores that earlier tests have left to the collector
    for _ in range(5):
        in_parallel(4, lambda number: kv.put(Key("p", str(number)), b""))
    settle(lambda count: 2 <= count <= 5, others)
    kv.close()
    settle(lambda count: count == 1, others)


def list_connections() -> set[bytes]:
    """Return the ids of the server's connections, the asking one among them."""
    return {line.split()[0] for line in shared().do("CLIENT", "LIST").splitlines()}


def settle(fits: Callable[[int], bool], others: set[bytes]) -> None:
    """Wait until the number of connections beside `others`, the asking one among them, fits: a
    server notices a little later who has gone.
    """
    until(lambda: fits(len(list_connections() - others)), "the connections are as many as expected")


def test_a_connection_that_lay_idle_for_long_is_not_used_again(
    kv: RedisKV, monkeypatch: pytest.MonkeyPatch
) -> None:
    kv.put(KEY, b"")
    before = shared().do("INFO", "stats")["total_connections_received"]
    monkeypatch.setattr(redis_client, "IDLE_SECONDS", 0.0)
    assert kv.get(KEY) is not None
    assert shared().do("INFO", "stats")["total_connections_received"] - before >= 2


def test_a_closed_store_says_so(kv: RedisKV) -> None:
    kv.close()
    kv.close()
    with pytest.raises(BackendError, match="closed"):
        kv.get(KEY)


def test_a_server_that_forgot_the_scripts_is_told_them_again(kv: RedisKV) -> None:
    version = kv.put(KEY, b"1")
    shared().do("SCRIPT", "FLUSH")
    kv.delete(KEY, expect=version)
    shared().do("SCRIPT", "FLUSH")
    assert kv.scan("p") == []


def test_a_value_may_be_as_large_as_said_and_no_larger(kv: RedisKV) -> None:
    kv.put(KEY, b"x" * VALUE_LIMIT)
    item = kv.get(KEY)
    assert item is not None
    assert len(item.value) == VALUE_LIMIT
    with pytest.raises(UsageError, match="ETOOBIG"):
        kv.put(KEY, b"x" * (VALUE_LIMIT + 1))


def test_a_scan_of_large_items_and_over_many_that_are_gone_comes_in_parts(
    kv: RedisKV, clock: Clock
) -> None:
    for number in range(4):
        kv.put(Key("large", str(number)), b"x" * (3 << 20))
    assert [(sort, len(item.value)) for sort, item in kv.scan("large")] == [
        (str(number), 3 << 20) for number in range(4)
    ]
    for number in range(LOOKS + 100):
        kv.put(Key("short", f"{number:05}"), b"", ttl=1.0)
    kv.put(Key("short", "last"), b"")
    clock.advance(1.0)
    assert [sort for sort, _ in kv.scan("short")] == ["last"]


def test_a_sweep_drops_what_has_expired_and_nothing_else(kv: RedisKV, clock: Clock) -> None:
    for number in range(400):
        kv.put(Key(f"p{number % 3}", f"{number}"), b"", ttl=float(number % 2 + 1))
    kv.put(KEY, b"")
    clock.advance(1.0)
    assert kv.sweep() == 200
    assert kv.sweep() == 0
    assert sum(len(kv.scan(f"p{number}", limit=1000)) for number in range(3)) == 200
    assert kv.get(KEY) is not None


def test_writing_in_a_partition_clears_it_of_what_has_expired(kv: RedisKV, clock: Clock) -> None:
    for number in range(50):
        kv.put(Key("p", str(number)), b"", ttl=1.0)
    clock.advance(1.0)
    kv.put(Key("p", "last"), b"", ttl=1.0)
    assert {kind: sizes("p", kind) for kind in ("items", "order", "ends")} == {
        "items": 1,
        "order": 1,
        "ends": 1,
    }


def sizes(partition: str, kind: str) -> int:
    return int(
        shared().do("HLEN" if kind == "items" else "ZCARD", f"uncaged:{{{partition}}}:{kind}")
    )


def lifetimes(partition: str) -> set[int]:
    """Seconds for which the server keeps the keys of a partition; -1 for good, -2 not there."""
    return {
        int(shared().do("TTL", f"uncaged:{{{partition}}}:{kind}"))
        for kind in ("items", "order", "ends")
    }


def test_a_partition_goes_by_itself_after_its_last_item_and_only_then(
    kv: RedisKV, clock: Clock
) -> None:
    kv.put(Key("p", "short"), b"", ttl=10.0)
    kv.put(Key("p", "long"), b"", ttl=1000.0)
    clock.advance(5.0)
    assert all(1290 <= left <= 1300 for left in lifetimes("p"))
    version = kv.put(Key("p", "good"), b"")
    assert lifetimes("p") == {-1}
    kv.delete(Key("p", "good"), expect=version)
    assert all(1290 <= left <= 1300 for left in lifetimes("p"))
    kv.put(Key("p", "short"), b"")
    assert lifetimes("p") == {-1}
    kv.delete(Key("p", "short"))
    kv.delete(Key("p", "long"))
    assert lifetimes("p") == {-2}


def test_what_is_never_written_again_goes_too(kv: RedisKV) -> None:
    kv.put(KEY, b"", ttl=1e300)
    assert lifetimes("p") == {4_000_000_300}
    kv.put(KEY, b"", ttl=-1e300)
    assert kv.get(KEY) is None


def test_what_a_write_leaves_to_know_itself_by_goes_within_a_minute(kv: RedisKV) -> None:
    kv.delete(KEY, expect=kv.put(KEY, b""))
    kv.delete(KEY)
    kv.delete(KEY, expect=ABSENT)
    with pytest.raises(Conflict):
        kv.put(KEY, b"", expect="other")
    left = shared().do("KEYS", "*")
    assert len(left) == 2
    assert all(b"}:write:" in key and 0 < shared().do("TTL", key) <= 60 for key in left)


def test_a_socket_a_user_and_a_numbered_database_can_be_named() -> None:
    with Valkey(unix=True, password="hush", databases="4") as server:
        server.do(
            "ACL", "SETUSER", "ann", "on", ">a/b@c", "~uncaged:*", "+@all", "-@dangerous", "+info"
        )
        with (
            closing(RedisKV(f"{server.url}?db=3")) as kv,
            closing(RedisKV(f"unix://ann:a%2Fb%40c@{server.socket}?db=3")) as ann,
        ):
            version = kv.put(KEY, b"1", ttl=60.0)
            assert ann.get(KEY) == Item(b"1", version)
            assert [sort for sort, _ in ann.scan("p")] == ["s"]
            assert ann.warnings() == []
            ann.delete(KEY, expect=version)
        assert server.do("DBSIZE") == 0
        assert "no database of that number" in refused(f"{server.url}?db=4").message


@pytest.fixture(scope="module")
def ca(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return authority(tmp_path_factory.mktemp("ca"))


def test_tls_is_spoken_with_a_server_that_the_authority_vouches_for(ca: Authority) -> None:
    with Proxy(shared().address, tls=ca.server("localhost", "127.0.0.1")) as proxy:
        with closing(RedisKV(f"rediss://{proxy.address}?ssl_ca_certs={ca.certificate}")) as kv:
            version = kv.put(KEY, b"x" * 100_000)
            assert kv.get(KEY) == Item(b"x" * 100_000, version)
        with closing(
            RedisKV(f"rediss://localhost:{proxy.port}?ssl_ca_certs={ca.certificate}")
        ) as kv:
            assert kv.get(KEY) == Item(b"x" * 100_000, version)


def test_a_certificate_that_nobody_vouches_for_is_refused_at_once(
    ca: Authority, tmp_path: Path
) -> None:
    with Proxy(shared().address, tls=ca.server("localhost")) as proxy:
        assert "not trusted" in refused(f"rediss://:hush@localhost:{proxy.port}").message
        assert (
            "not trusted"
            in refused(
                f"rediss://localhost:{proxy.port}?ssl_ca_certs={authority(tmp_path).certificate}"
            ).message
        )
        assert (
            "not trusted"
            in refused(f"rediss://127.0.0.1:{proxy.port}?ssl_ca_certs={ca.certificate}").message
        )
        assert proxy.connections == 3
        assert "rediss://" in refused(f"redis://:hush@{proxy.address}").suggestion
        assert (
            "certificate file"
            in refused(f"rediss://:hush@{proxy.address}?ssl_ca_certs={tmp_path}/none").message
        )


@each_row(
    "url",
    [
        "http://:hush@host",
        "redis://:hush/hush@host:6379/0",
        "redis://:hush#hush@host",
        "redis://:hush?hush@host",
        "redis://:hush@host:port",
        "redis://:hush@host:99999",
        "redis://:hush@host/hush",
        "redis://:hush@host/0?hush=1",
        "redis://:hush@host?socket_timeout=hush",
        "redis://:hush@host?socket_timeout=nan",
        "redis://:hush@host?ssl_cert_reqs=required",
        "redis://:hush@host/1?cluster=1",
        "redis://:hush@[host/1",
        "unix://:hush@",
        "unix:///path?cluster=1",
    ],
)
def test_an_address_that_cannot_be_used_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        RedisKV(url)
    assert "hush" not in str(caught.value.as_dict())
    assert caught.value.__cause__ is None


def test_a_configuration_that_may_lose_data_is_warned_of() -> None:
    with (
        Valkey(appendonly="no", maxmemory="100mb", maxmemory_policy="allkeys-lru") as server,
        closing(RedisKV(server.url)) as kv,
    ):
        eviction, persistence = kv.warnings()
        assert "allkeys-lru" in eviction
        assert "append-only" in persistence
        server.do("CONFIG", "SET", "maxmemory-policy", "noeviction", "appendonly", "yes")
        assert kv.warnings() == []


def test_nothing_is_asked_before_the_first_verb() -> None:
    for url in ("redis://127.0.0.1:1", "redis://127.0.0.1:1?cluster=1", "unix:///nowhere"):
        RedisKV(url).close()
