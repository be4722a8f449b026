"""The protocol's frames: what is packed unpacks to the same, and nothing else passes."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from time import monotonic

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sigil.sandbox.protocol import (
    FRAME_LIMIT,
    GRANTS,
    KINDS,
    OPERATIONS,
    DeadlinePassed,
    FrameChannel,
    FrameKind,
    ProtocolBreach,
    RunOrder,
    pack_answer,
    pack_ask,
    pack_run,
    unpack_answer,
    unpack_ask,
    unpack_run,
)
from tests.selection import examples

SIZES = st.integers(0, 2**32 - 1)
RUNS = st.builds(
    RunOrder, st.text("abc0:-", max_size=128), st.booleans(), st.frozensets(st.sampled_from(sorted(GRANTS))),
    SIZES, SIZES, SIZES, st.binary(max_size=100),
)  # fmt: skip


@given(RUNS)
def test_an_order_arrives_as_it_was_given(run: RunOrder) -> None:
    arrived = unpack_run(pack_run(run))
    assert [getattr(arrived, name) for name in RunOrder.__slots__] == [
        getattr(run, name) for name in RunOrder.__slots__
    ]


@given(st.binary(max_size=60))
def test_any_bytes_are_an_order_or_a_breach(payload: bytes) -> None:
    with suppress(ProtocolBreach):
        assert isinstance(unpack_run(payload), RunOrder)


@given(st.sampled_from(OPERATIONS), SIZES, st.binary(max_size=100))
def test_a_request_arrives_as_it_was_made(
    operation: str, milliseconds: int, argument: bytes
) -> None:
    assert unpack_ask(pack_ask(operation, milliseconds, argument)) == (
        operation,
        milliseconds,
        argument,
    )


@given(st.binary(max_size=20))
def test_any_bytes_are_a_request_or_a_breach(payload: bytes) -> None:
    try:
        operation, _, argument = unpack_ask(payload)
    except ProtocolBreach:
        return
    assert (operation in OPERATIONS, argument) == (True, payload[5:])


@given(
    st.binary(max_size=100), st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=5)
)
def test_an_answer_arrives_as_it_was_given(output: bytes, logs: list[str]) -> None:
    assert unpack_answer(pack_answer(output, logs)) == (output, logs)


@given(st.binary(max_size=60))
def test_any_bytes_are_an_answer_or_a_breach(payload: bytes) -> None:
    try:
        output, logs = unpack_answer(payload)
    except ProtocolBreach:
        return
    assert len(output) + sum(len(line) for line in logs) <= len(payload)


@settings(max_examples=examples(50), deadline=None)
@given(st.binary(min_size=1, max_size=60))
def test_any_bytes_on_the_wire_are_a_frame_or_a_breach(data: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        try:
            kind, payload = FrameChannel(ours).receive(KINDS, deadline=monotonic() + 5)
        except ProtocolBreach:
            return
        assert bytes([kind]) + len(payload).to_bytes(4, "big") + payload == data


def test_a_large_frame_arrives_whole() -> None:
    ours, theirs = socket.socketpair()
    payload = bytes(range(256)) * (FRAME_LIMIT // 256)
    with ours, theirs:
        thread = threading.Thread(target=lambda: FrameChannel(theirs).send(FrameKind.DONE, payload))
        thread.start()
        assert FrameChannel(ours).receive(KINDS, deadline=monotonic() + 10) == (
            FrameKind.DONE,
            payload,
        )
        thread.join()


def test_a_frame_that_nobody_reads_is_late() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(DeadlinePassed):
        FrameChannel(ours).send(FrameKind.RUN, bytes(FRAME_LIMIT), deadline=monotonic() + 0.02)


def test_a_frame_to_nobody_is_a_breach() -> None:
    ours, theirs = socket.socketpair()
    theirs.close()
    with ours, pytest.raises(ProtocolBreach):
        FrameChannel(ours).send(FrameKind.RUN, b"x")


def test_code_without_its_descriptor_is_a_breach() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        FrameChannel(theirs).send(FrameKind.CODE)
        with pytest.raises(ProtocolBreach):
            FrameChannel(ours).receive_code()
