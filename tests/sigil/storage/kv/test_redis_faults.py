"""The store in Redis when things break: answers get lost, connections too, the server stalls,
refuses, dies and comes back.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial

import pytest

from sigil.errors import BackendError, Conflict
from sigil.storage.kv import ABSENT, Item, Key, redis_client
from sigil.storage.kv.redis import RedisKV
from tests.machine import until, within
from tests.servers.proxy import CUT, DROP_REPLY, HANG, MUTE, PASS, REFUSE, RESET, Mode, Proxy
from tests.servers.valkey import Valkey, shared, valkey_server
from tests.sigil.storage.kv.processes import increment
from tests.threads import in_parallel

__all__ = ["valkey_server"]
KEY, GONE = Key("p", "s"), Key("p", "gone")
QUICK = "?socket_timeout=0.3&socket_connect_timeout=0.3"
SCRIPT = b"EVALSHA"
STORED, NEVER_STORED = [DROP_REPLY, MUTE, CUT], [RESET, HANG]
"""The faults after which the server has done what was asked, and those after which it has not."""


@pytest.fixture
def proxy(valkey_server: Valkey) -> Iterator[Proxy]:
    with Proxy(valkey_server.address) as proxy:
        yield proxy


@pytest.fixture
def kv(proxy: Proxy) -> Iterator[RedisKV]:
    """The store, reached through the proxy."""
    with closing(RedisKV(f"redis://{proxy.address}{QUICK}")) as kv:
        kv.delete(KEY, expect=kv.put(KEY, b""))
        kv.scan("p")
        # now the server knows every script, so that a fault meets the script and not the question
        # whether it is known
        kv.sweep()
        yield kv


@pytest.fixture
def direct() -> Iterator[RedisKV]:
    """The same store, reached in peace."""
    with closing(RedisKV(shared().url)) as kv:
        yield kv


def unavailable(work: Callable[[], object], seconds: float = 5.0) -> BackendError:
    """How a verb says that the store is away, and that it says so in time."""
    began = time.monotonic()
    with pytest.raises(BackendError) as caught:
        work()
    # the timeouts of the address bound how long somebody waits to be told
    assert time.monotonic() - began < within(seconds)
    assert caught.value.code == "EUNAVAILABLE"
    assert caught.value.suggestion
    return caught.value


@pytest.mark.parametrize("mode", [*STORED, *NEVER_STORED], ids=lambda mode: mode.value)
class TestOneFault:
    """One request goes wrong; the caller learns the truth all the same."""

    @pytest.fixture(autouse=True)
    def was_hit(self, proxy: Proxy, mode: Mode) -> Iterator[None]:
        yield
        assert proxy.hits == 1, "nothing went wrong"

    def test_a_write_is_done_once(
        self, mode: Mode, kv: RedisKV, direct: RedisKV, proxy: Proxy
    ) -> None:
        proxy.arm(mode, SCRIPT)
        version = kv.put(KEY, b"1")
        assert direct.get(KEY) == Item(b"1", version)

    def test_a_new_item_is_ours(
        self, mode: Mode, kv: RedisKV, direct: RedisKV, proxy: Proxy
    ) -> None:
        proxy.arm(mode, SCRIPT)
        version = kv.put(KEY, b"1", expect=ABSENT, ttl=0.0 if mode is RESET else 60.0)
        assert mode is RESET or direct.get(KEY) == Item(b"1", version)

    def test_a_compare_and_set_that_held_is_no_conflict(
        self, mode: Mode, kv: RedisKV, direct: RedisKV, proxy: Proxy
    ) -> None:
        first = kv.put(KEY, b"1")
        proxy.arm(mode, SCRIPT)
        version = kv.put(KEY, b"2", expect=first)
        assert direct.get(KEY) == Item(b"2", version)

    def test_a_compare_and_set_that_did_not_hold_is_one(
        self, mode: Mode, kv: RedisKV, direct: RedisKV, proxy: Proxy
    ) -> None:
        version = kv.put(KEY, b"1")
        proxy.arm(mode, SCRIPT)
        with pytest.raises(Conflict):
            kv.put(KEY, b"2", expect="another")
        assert direct.get(KEY) == Item(b"1", version)

    def test_a_delete_of_a_version_that_held_is_no_conflict(
        self, mode: Mode, kv: RedisKV, direct: RedisKV, proxy: Proxy
    ) -> None:
        version = kv.put(KEY, b"1")
        proxy.arm(mode, SCRIPT)
        kv.delete(KEY, expect=version)
        assert direct.get(KEY) is None

    def test_a_delete_of_a_version_that_did_not_hold_is_one(
        self, mode: Mode, kv: RedisKV, direct: RedisKV, proxy: Proxy
    ) -> None:
        kv.put(KEY, b"1")
        proxy.arm(mode, SCRIPT)
        with pytest.raises(Conflict):
            kv.delete(KEY, expect="another")
        assert direct.get(KEY) is not None

    def test_a_delete_without_condition_is_done(
        self, mode: Mode, kv: RedisKV, direct: RedisKV, proxy: Proxy
    ) -> None:
        kv.put(KEY, b"1")
        proxy.arm(mode, SCRIPT)
        kv.delete(KEY)
        assert direct.get(KEY) is None

    def test_a_read_is_answered(self, mode: Mode, kv: RedisKV, proxy: Proxy) -> None:
        version = kv.put(KEY, b"1")
        proxy.arm(mode, b"HGET")
        assert kv.get(KEY) == Item(b"1", version)

    def test_a_scan_is_answered(self, mode: Mode, kv: RedisKV, proxy: Proxy) -> None:
        version = kv.put(KEY, b"1")
        proxy.arm(mode, SCRIPT)
        assert kv.scan("p") == [("s", Item(b"1", version))]

    def test_a_sweep_is_done(self, mode: Mode, kv: RedisKV, direct: RedisKV, proxy: Proxy) -> None:
        kv.put(Key("p", "short"), b"", ttl=0.001)
        version = kv.put(KEY, b"1")
        proxy.arm(mode, b"SCAN")
        kv.sweep()
        assert direct.scan("p") == [("s", Item(b"1", version))]


@contextmanager
def under_way(verb: Callable[[], object]) -> Iterator[list[object]]:
    """`verb` in a thread of its own while the rest happens; what it gave or raised."""
    result: list[object] = []
    thread = threading.Thread(target=lambda: result.extend(in_parallel(1, lambda _: verb())))
    thread.start()
    try:
        yield result
    finally:
        thread.join()


def test_a_repeated_write_does_not_undo_what_others_wrote_since(
    kv: RedisKV, direct: RedisKV, proxy: Proxy
) -> None:
    proxy.arm(MUTE, SCRIPT)
    with under_way(lambda: kv.put(KEY, b"ours")) as result:
        until(lambda: direct.get(KEY) is not None)
        version = direct.put(KEY, b"theirs")
    assert isinstance(result[0], str)
    assert direct.get(KEY) == Item(b"theirs", version)


def test_a_compare_and_set_that_others_built_upon_counts_as_done(
    kv: RedisKV, direct: RedisKV, proxy: Proxy
) -> None:
    first = kv.put(KEY, b"first")
    proxy.arm(MUTE, SCRIPT)
    with under_way(lambda: kv.put(KEY, b"ours", expect=first)) as result:
        until(lambda: (direct.get(KEY) or Item(b"", "")).value == b"ours")
        theirs = direct.get(KEY)
        assert theirs is not None
        version = direct.put(KEY, b"theirs", expect=theirs.version)
    assert result == [theirs.version]
    assert direct.get(KEY) == Item(b"theirs", version)


@pytest.mark.parametrize("with_version", [False, True])
def test_a_repeated_delete_does_not_take_what_others_made_since(
    with_version: bool, kv: RedisKV, direct: RedisKV, proxy: Proxy
) -> None:
    expect = kv.put(KEY, b"old") if with_version else kv.put(KEY, b"old") and None
    proxy.arm(MUTE, SCRIPT)
    with under_way(lambda: kv.delete(KEY, expect=expect)) as result:
        until(lambda: direct.get(KEY) is None)
        version = direct.put(KEY, b"new")
    assert result == [None]
    assert direct.get(KEY) == Item(b"new", version)


@pytest.mark.parametrize("mode", [*STORED, *NEVER_STORED, REFUSE], ids=lambda mode: mode.value)
def test_a_store_that_stays_away_is_reported_in_time_by_every_verb(
    mode: Mode, kv: RedisKV, proxy: Proxy
) -> None:
    verbs: list[Callable[[], object]] = [
        partial(kv.get, KEY),
        partial(kv.put, KEY, b""),
        partial(kv.delete, KEY),
        partial(kv.scan, "p"),
        kv.sweep,
        kv.warnings,
    ]
    proxy.mode = mode
    for problem in in_parallel(len(verbs), lambda number: unavailable(verbs[number])):
        assert isinstance(problem, BackendError), problem
        assert proxy.address in problem.message
    proxy.mode = PASS
    assert kv.get(GONE) is None


def test_counting_over_a_line_that_breaks_all_the_time_counts_right(
    kv: RedisKV, direct: RedisKV, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    # neither a thread that the machine lets wait for seconds nor one that meets four faults in a
    # row gives up a command here
    monkeypatch.setattr(redis_client, "RETRY_SECONDS", within(60.0))
    monkeypatch.setattr(redis_client, "PAUSES", redis_client.PAUSES * 3)
    direct.put(KEY, b"0")
    chance, over = random.Random(4), threading.Event()

    def counted() -> int:
        item = direct.get(KEY)
        return int(item.value) if item else 0

    def break_things() -> None:
        while not over.is_set():
            hits, enough = proxy.hits, counted() + chance.randrange(1, 16)
            proxy.arm(chance.choice([DROP_REPLY, CUT, RESET]), SCRIPT)
            until(lambda: over.is_set() or (proxy.hits > hits and counted() >= enough))  # noqa: B023

    with under_way(break_things):
        rounds = 0
        try:
            while proxy.hits < 20 and rounds < 100:
                told = in_parallel(4, lambda _: increment(kv, KEY, times=25))
                assert told == [None] * 4
                rounds += 1
        finally:
            over.set()
    assert proxy.hits >= 20
    assert counted() == rounds * 4 * 25


def test_an_answer_that_comes_late_is_never_taken_for_another(kv: RedisKV, proxy: Proxy) -> None:
    for number in range(5):
        kv.put(Key("p", str(number)), b"%d" % number)
    proxy.arm(Mode.DELAY, b"HGET", times=2, seconds=0.35)
    for number in range(5):
        item = kv.get(Key("p", str(number)))
        assert item is not None
        assert item.value == b"%d" % number


def test_a_short_pause_of_the_server_is_waited_for(kv: RedisKV) -> None:
    shared().do("CLIENT", "PAUSE", "500", "ALL")
    kv.put(KEY, b"1", expect=ABSENT)


def test_a_long_pause_of_the_server_is_reported_and_its_end_noticed(
    kv: RedisKV, direct: RedisKV
) -> None:
    shared().do("CLIENT", "PAUSE", "2500", "ALL")
    assert "in time" in unavailable(lambda: kv.put(KEY, b"1")).message
    direct.get(KEY)
    kv.put(KEY, b"2")


def test_a_server_that_stands_still_is_reported_and_goes_on_afterwards(
    kv: RedisKV, direct: RedisKV
) -> None:
    first = kv.put(KEY, b"1")
    with shared().stalled():
        assert "in time" in unavailable(lambda: kv.put(KEY, b"2", expect=first)).message
    # it was asked before it stood still, several times: done once or never, and the store says
    # which
    item = kv.get(KEY)
    assert item is not None
    assert (item.value, item.version == first) in {(b"1", True), (b"2", False)}
    kv.put(KEY, b"3", expect=item.version)


def test_a_server_that_is_down_at_the_start_is_used_as_soon_as_it_is_there() -> None:
    with ExitStack() as stack:
        server = stack.enter_context(Valkey())
        server.stop()
        kv = stack.enter_context(closing(RedisKV(server.url)))
        problem = unavailable(lambda: kv.put(KEY, b""), seconds=3.0)
        assert "no server answers" in problem.message
        assert server.address in problem.message
        server.start()
        kv.put(KEY, b"")


def test_nothing_that_was_acknowledged_is_lost_when_the_server_is_killed_and_comes_back() -> None:
    # with `everysec` the server puts a write off for up to 2 s while the disk is busy, and has
    # answered meanwhile
    with Valkey(appendfsync="always") as server, closing(RedisKV(server.url)) as kv:
        acknowledged: list[list[tuple[str, str]]] = [[] for _ in range(4)]
        over = threading.Event()

        def write(number: int) -> None:
            for count in range(10**6):
                if over.is_set():
                    return
                sort = f"{number}-{count:06}"
                try:
                    acknowledged[number].append(
                        (sort, kv.put(Key("p", sort), b"x" * 200, expect=ABSENT))
                    )
                except Conflict:
                    raise
                except BackendError:
                    # away for longer than a write is repeated, open whether it was stored; a pause
                    # leaves the processor to the server that starts
                    time.sleep(0.01)

        with under_way(lambda: in_parallel(4, write)) as result:
            try:
                for _ in range(3):
                    before = sum(map(len, acknowledged))
                    until(lambda: sum(map(len, acknowledged)) > before + 200)  # noqa: B023
                    server.restart()
            finally:
                over.set()
        assert result == [[None] * 4], "a write of our own was taken for another's"
        stored = {sort: item.version for sort, item in kv.scan("p", limit=10**6)}
        lost = {
            sort
            for written in acknowledged
            for sort, version in written
            if stored.get(sort) != version
        }
        assert not lost
        assert len(stored) > 600


def test_connections_that_died_while_nobody_used_them_are_replaced_without_a_word(
    kv: RedisKV, proxy: Proxy
) -> None:
    in_parallel(6, lambda number: kv.put(Key("p", str(number)), b""))
    proxy.reset_all()
    in_parallel(6, lambda number: kv.put(Key("p", str(number)), b"", ttl=1.0))
    assert len(kv.scan("p")) == 6


def words_of(
    url: str, work: Callable[[RedisKV], object] = lambda kv: kv.put(KEY, b"x" * 100)
) -> str:
    """What is said, message and suggestion; at once, and without the password."""
    with closing(RedisKV(url)) as kv:
        problem = unavailable(lambda: work(kv), seconds=3.0)
    text = f"{problem.message} | {problem.suggestion}"
    assert "hush" not in text
    return text


def test_a_server_that_refuses_says_why_in_plain_words() -> None:
    with Valkey(password="hush") as server:
        server.do("ACL", "SETUSER", "ann", "on", ">hush", "~uncaged:*", "+@read")
        assert "refused the user or the password" in words_of(
            f"redis://:hush-hush@{server.address}"
        )
        assert "refused the user or the password" in words_of(f"redis://bob:hush@{server.address}")
        assert "wants a password" in words_of(f"redis://{server.address}")
        assert "may not do" in words_of(f"redis://ann:hush@{server.address}")
        server.do("CONFIG", "SET", "maxmemory", "1mb")
        assert "memory is full" in words_of(server.url)
        server.do("CONFIG", "SET", "maxmemory", "0")
        server.do("SET", "uncaged:{p}:items", "")
        assert "another program" in words_of(server.url)
        server.do("REPLICAOF", "127.0.0.1", "1")
        assert "replica that only reads" in words_of(server.url)
        server.do("CONFIG", "SET", "replica-serve-stale-data", "no")
        assert "primary is down" in words_of(server.url)
    assert "host is unknown" in words_of("redis://:hush@nowhere.invalid")
    assert "does not exist" in words_of("unix://:hush@/nowhere/at/all")


def test_a_server_that_lacks_scripts_says_so() -> None:
    with Valkey(rename_command="EVALSHA nothing") as server:
        assert "lacks a command" in words_of(server.url)


def test_a_server_that_still_loads_its_data_is_waited_for_or_named() -> None:
    with Valkey(appendonly="no") as server, closing(RedisKV(server.url)) as kv:
        version = kv.put(KEY, b"1")
        for number in range(100):
            server.do(
                "SET", f"filler {number}", os.urandom(2000)
            )  # what can be compressed is loaded at once
        server.do("SAVE")
        server.kill()
        server.options |= {
            "key_load_delay": "10000",
            "loading_process_events_interval_bytes": "1024",
        }
        with under_way(server.start):
            until(server.is_loading)
            told = in_parallel(1, lambda _: kv.get(KEY))[0]
            assert told == Item(b"1", version) or "still loading" in told.message
        assert kv.get(KEY) == Item(b"1", version)


def test_a_full_server_lets_go_of_what_is_deleted() -> None:
    with Valkey() as server, closing(RedisKV(server.url)) as kv:
        version = kv.put(KEY, b"1")
        server.do("CONFIG", "SET", "maxmemory", "1mb")
        with pytest.raises(BackendError, match="memory"):
            kv.put(Key("p", "another"), b"2")
        kv.delete(KEY, expect=version)
        assert kv.get(KEY) is None
