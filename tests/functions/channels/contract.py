"""What each platform's channel promises at the webhook: one class of tests for all of them.

A platform's own test file subclasses `ChannelContract` and says how the platform signs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import httpx
import pytest
from starlette.applications import Starlette

from functions.channels.base import (
    REPLY_ADDRESS_MOST,
    Channel,
    PlatformAnswer,
    PlatformRequest,
)
from functions.events import decode, encode
from functions.ingress.ingress import Ingress
from functions.queues.store_queue import StoreQueue
from functions.webhook import build_routes
from sigil.errors import BackendError, Refused, UsageError
from sigil.storage.kv import Expect, Key
from sigil.storage.kv.memory import MemoryKV
from tests import selection
from tests.coroutines import run_apart
from tests.functions.channels.odd_fields import list_odd_bodies


class DyingKV(MemoryKV):
    """A store that takes so many events more, and then nothing until `revive`."""

    def __init__(self, events: int) -> None:
        super().__init__()
        self.left: float = events

    def revive(self) -> None:
        self.left = float("inf")

    def put(
        self, key: Key, value: bytes, *, ttl: float | None = None, expect: Expect = None
    ) -> str:
        if key.partition.startswith("inbox"):
            self.left -= 1
        if self.left < 0:
            raise BackendError("EUNAVAILABLE", "the store is away")
        return super().put(key, value, ttl=ttl, expect=expect)


@dataclass
class Door:
    """The webhook of one channel, over a queue in a store."""

    channel: Channel
    name: str
    kv: MemoryKV = field(default_factory=MemoryKV)

    def __post_init__(self) -> None:
        self.queue = StoreQueue(self.kv, "main")
        ingress = Ingress({self.name: self.channel}, self.queue, self.kv)
        app = Starlette(routes=build_routes(lambda: ingress))
        self.transport = httpx.ASGITransport(app, raise_app_exceptions=False)

    def send(self, request: PlatformRequest) -> PlatformAnswer:
        """Send a request over HTTP, and return what the platform reads."""
        answer = run_apart(self._send(request))
        media = answer.headers.get("content-type", "").partition(";")[0]
        return PlatformAnswer(answer.status_code, answer.content, media)

    async def _send(self, request: PlatformRequest) -> httpx.Response:
        async with httpx.AsyncClient(transport=self.transport, base_url="http://here") as client:
            return await client.request(
                request.method,
                f"/webhook/{self.name}/{request.path}".rstrip("/"),
                params=dict(request.query),
                headers=dict(request.headers),
                content=request.body,
            )

    def waiting(self) -> list[str]:
        """Return the ids of the events that wait."""
        found = []
        while delivery := self.queue.take(0.0):
            found.append(delivery.event.id)
            self.queue.done(delivery)
        return found


class ChannelContract:
    """Subclass it as `Test…` in the platform's test file.

    `proofs` are the headers (or `?name`, fields of the query) that prove who sent a request;
    `signs_body`: they cover the body; `window`: seconds after which a request is stale, 0 where a
    platform sends no time.
    """

    name: str
    proofs: tuple[str, ...]
    signs_body: bool = True
    window: float = 0.0
    has_odd_fields: bool = True

    def open_channel(self) -> Channel:
        """Return the channel; nothing may be listening where its platform is."""
        raise NotImplementedError

    def list_samples(self) -> Mapping[str, tuple[bytes, tuple[str, ...]]]:
        """Return bodies, by what they are, with the ids of their events."""
        raise NotImplementedError

    def list_silent(self) -> Mapping[str, bytes]:
        """Return bodies that make no event: edits, reactions, messages of other bots."""
        raise NotImplementedError

    def sign(self, body: bytes, age: float = 0.0) -> PlatformRequest:
        """Return the request by which the platform sends a body, `age` seconds ago."""
        raise NotImplementedError

    def list_handshakes(self) -> list[tuple[PlatformRequest, PlatformAnswer]]:
        """Return the requests of handshakes, and what the platform waits for."""
        return []

    def unseal(self, body: bytes) -> bytes:
        """Return what a body says, where the platform encrypts it."""
        return body

    def seal(self, text: bytes) -> bytes:
        """Return the body that says this."""
        return text

    def make_batch(self, count: int) -> bytes:
        """Return one body with so many messages; empty where a platform sends one at a time."""
        return b""

    @pytest.fixture
    def door(self) -> Door:
        return Door(self.open_channel(), self.name)

    def test_what_the_platform_signed_is_taken_with_its_events(self, door: Door) -> None:
        for sample, (body, ids) in self.list_samples().items():
            received = door.channel.receive(self.sign(body))
            assert tuple(event.id for event in received.events) == ids, sample
            for event in received.events:
                assert decode(encode(event)) == event
                assert event.session.startswith(f"{self.name}:")
                assert event.sender.id.startswith(f"{self.name}:")
                assert len(event.reply_to.encode()) <= REPLY_ADDRESS_MOST
            assert door.send(self.sign(body)).status == 200
            assert sorted(door.waiting()) == sorted(ids), sample

    def test_the_same_message_is_the_same_event(self, door: Door) -> None:
        for body, ids in self.list_samples().values():
            for _ in range(2):
                assert door.send(self.sign(body)).status == 200
            assert sorted(door.waiting()) == sorted(ids)

    def test_what_is_no_message_to_us_is_no_event(self, door: Door) -> None:
        for sample, body in self.list_silent().items():
            assert door.send(self.sign(body)).status == 200, sample
            assert door.waiting() == [], sample

    def test_every_changed_byte_and_every_missing_proof_is_refused(self, door: Door) -> None:
        for body, _ in self.list_samples().values():
            for forged in self.list_forged(self.sign(body)):
                with pytest.raises(Refused) as refusal:
                    door.channel.receive(forged)
                assert refusal.value.code == "EAUTH"

    def test_what_is_forged_is_answered_with_a_refusal(self, door: Door) -> None:
        body, _ = next(iter(self.list_samples().values()))
        request = self.sign(body)
        for proof in self.proofs:
            assert door.send(_without(request, proof)).status in (401, 403)
        assert door.waiting() == []

    def test_a_stale_request_is_refused(self, door: Door) -> None:
        if not self.window:
            pytest.skip("the platform sends no time")
        body, ids = next(iter(self.list_samples().values()))
        for age in (self.window + 2, -self.window - 2):
            with pytest.raises(Refused):
                door.channel.receive(self.sign(body, age))
        fresh = door.channel.receive(self.sign(body, self.window - 2))
        assert tuple(event.id for event in fresh.events) == ids

    def test_handshakes_are_answered_and_make_no_event(self, door: Door) -> None:
        for request, expected in self.list_handshakes():
            assert door.send(request) == expected
        assert door.waiting() == []

    @pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b"[" * 10_000, b"5", b"[]", b"{}"])
    def test_what_cannot_be_understood_is_not_asked_for_again(
        self, body: bytes, door: Door
    ) -> None:
        assert door.send(self.sign(body)).status == 200
        assert door.waiting() == []

    def test_odd_fields_count_as_absent(self, door: Door) -> None:
        if not self.has_odd_fields:
            pytest.skip("nobody but the tests sends it")
        for sample, (body, _) in self.list_samples().items():
            for odd in list_odd_bodies(self.unseal(body)):
                try:
                    received = door.channel.receive(self.sign(self.seal(odd)))
                except UsageError:
                    continue
                for event in received.events:
                    assert decode(encode(event)) == event, (sample, odd)
                    assert event.session.startswith(f"{self.name}:"), (sample, odd)
                    assert len(event.reply_to.encode()) <= REPLY_ADDRESS_MOST, (sample, odd)

    def test_a_store_that_dies_amid_a_batch_gets_each_event_once(self) -> None:
        batch = self.make_batch(100)
        if not batch:
            pytest.skip("the platform sends one message at a time")
        kv = DyingKV(36)
        door = Door(self.open_channel(), self.name, kv)
        assert door.send(self.sign(batch)).status == 503
        kv.revive()
        assert door.send(self.sign(batch)).status == 200
        waiting = door.waiting()
        assert len(waiting) == len(set(waiting)) == 100

    def list_forged(self, request: PlatformRequest) -> Iterator[PlatformRequest]:
        """Return a signed request without one of its proofs, and with each byte changed."""
        for proof in self.proofs:
            yield _without(request, proof)
            value = _get(request, proof)
            yield _with(request, proof, "")
            yield _with(request, proof, f"{value}, {value}")
            for place in range(len(value)):
                other = "1" if value[place] == "0" else "0"
                yield _with(request, proof, value[:place] + other + value[place + 1 :])
        if self.signs_body:
            for place in selection.sample(range(len(request.body)), 60):
                changed = bytearray(request.body)
                changed[place] ^= 1
                yield replace(request, body=bytes(changed))
            yield replace(request, body=request.body + b" ")
            yield replace(request, body=b"")


def _get(request: PlatformRequest, proof: str) -> str:
    if proof.startswith("?"):
        return request.query[proof[1:]]
    return request.headers[proof]


def _with(request: PlatformRequest, proof: str, value: str) -> PlatformRequest:
    if proof.startswith("?"):
        return replace(request, query={**request.query, proof[1:]: value})
    return replace(request, headers={**request.headers, proof: value})


def _without(request: PlatformRequest, proof: str) -> PlatformRequest:
    name = proof.removeprefix("?")
    if proof.startswith("?"):
        return replace(request, query={k: v for k, v in request.query.items() if k != name})
    return replace(request, headers={k: v for k, v in request.headers.items() if k != name})
