"""The socket that both commands serve on."""

from __future__ import annotations

import socket

from sigil.http.server import listen


def test_an_answer_on_a_kept_connection_waits_for_no_acknowledgement() -> None:
    """The head and the body of an answer are two writes: with Nagle's algorithm the second waits
    for the client's delayed ACK of the first.
    """
    with (
        listen("127.0.0.1", 0) as listener,
        socket.create_connection(listener.getsockname()) as _client,
    ):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
