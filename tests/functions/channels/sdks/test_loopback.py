"""No SDK leaves this machine."""

from __future__ import annotations

import pytest

from tests.functions.channels.sdks.sdk import ask

pytestmark = pytest.mark.thorough


def test_a_peer_reaches_this_machine_alone() -> None:
    hosts = ("example.com", "192.0.2.1", "2001:db8::1")
    expected = [f"a peer reaches this machine alone, not {host}" for host in hosts]
    assert ask("lost", "leave") == expected
