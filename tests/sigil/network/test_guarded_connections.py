"""Where connections go: to addresses that were checked, whatever the name says a moment later."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

import httpcore
import pytest

from sigil.errors import Refused, ToolError
from sigil.network.exchange import HttpRequest
from sigil.network.guarded_connections import look_up
from sigil.network.http_transport import GuardedTransport
from sigil.network.urls import Target
from tests.machine import within
from tests.sigil.conftest import Scripted

Lines = Callable[..., GuardedTransport]


def hop(url: str) -> HttpRequest:
    return HttpRequest("GET", Target.parse(url), (), b"")


class Diverted(httpcore.NetworkBackend):
    """Notes where it is told to connect, and connects to this machine instead."""

    def __init__(self, *dead: str) -> None:
        self.asked: list[str] = []
        self._dead = dead
        self._inner = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        self.asked.append(host)
        if host in self._dead:
            raise httpcore.ConnectError("refused")
        return self._inner.connect_tcp("127.0.0.1", port, timeout)


class Names:
    """A resolver that gives another answer each time."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked = 0

    def __call__(self, host: str, port: int) -> list[str]:
        self.asked += 1
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def test_a_name_that_is_bound_anew_between_check_and_connection_gains_nothing(
    secure: Callable[..., Scripted], lines: Lines
) -> None:
    api = secure("rebind.example.test")
    names, network = Names(["93.184.216.34"], ["127.0.0.1"]), Diverted()
    line = lines(resolve=names, inner=network, loopback=False)

    assert line.send(hop(f"https://rebind.example.test:{api.port}/"), 5).status == 200
    assert (names.asked, network.asked) == (
        1,
        ["93.184.216.34"],
    )  # one lookup, and its answer is what is connected to
    again = lines(resolve=names, inner=network, loopback=False)
    with pytest.raises(Refused, match="not on the public internet"):
        again.send(hop(f"https://rebind.example.test:{api.port}/"), 5)
    assert network.asked == ["93.184.216.34"]


@pytest.mark.parametrize(
    "answer",
    [
        ["127.0.0.1"],
        ["93.184.216.34", "10.0.0.1"],
        ["2606:4700::1111", "::1"],
        ["169.254.169.254"],
        ["::ffff:8.8.8.8"],
        ["fe80::1%eth0"],
        ["not an address"],
        ["100.64.1.1"],
    ],
)
def test_one_address_that_leads_inside_spoils_them_all(lines: Lines, answer: list[str]) -> None:
    network = Diverted()
    with pytest.raises(Refused, match="EPERM"):
        lines(resolve=Names(answer), inner=network, loopback=False).send(
            hop("https://mixed.example.test/"), 5
        )
    assert not network.asked


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "[::1]",
        "localhost",
        "169.254.169.254",
        "10.1.2.3",
        "[fd00:ec2::254]",
        "0.0.0.0",
    ],
)
def test_an_address_in_the_url_is_checked_like_any_other(lines: Lines, host: str) -> None:
    with pytest.raises(Refused, match="not on the public internet"):
        lines(resolve=look_up, loopback=False).send(hop(f"https://{host}/"), 5)


def test_the_next_address_is_tried_when_one_is_dead(
    secure: Callable[..., Scripted], lines: Lines
) -> None:
    api = secure("two.example.test")
    network = Diverted("93.184.216.34")
    line = lines(resolve=Names(["93.184.216.34", "93.184.216.35"]), inner=network, loopback=False)
    assert line.send(hop(f"https://two.example.test:{api.port}/"), 5).status == 200
    assert network.asked == ["93.184.216.34", "93.184.216.35"]


def test_a_name_that_does_not_exist_is_told(lines: Lines) -> None:
    with pytest.raises(ToolError, match="ENET: there is no host nowhere"):
        lines(resolve=Names([])).send(hop("https://nowhere.example.test/"), 5)


def test_a_resolver_that_hangs_does_not_prolong_a_run(lines: Lines) -> None:
    over, returned = threading.Event(), list[str]()

    def hang(host: str, port: int) -> list[str]:
        over.wait(within(30))
        returned.append("127.0.0.1")
        return returned

    try:
        with pytest.raises(ToolError, match="did not answer in time"):
            lines(resolve=hang).send(hop("https://slow.example.test/"), 0.1)
        assert not returned
    finally:
        over.set()


def test_a_certificate_of_another_name_or_of_nobody_is_refused(
    secure: Callable[..., Scripted], lines: Lines
) -> None:
    other = secure("other.example.test")
    with pytest.raises(ToolError, match="its certificate is not valid"):
        lines().send(hop(f"https://api.example.test:{other.port}/"), 5)
    with pytest.raises(ToolError, match="its certificate is not valid"):
        lines(context=None).send(hop(f"https://other.example.test:{other.port}/"), 5)
    assert not other.requests


def test_a_connection_that_is_kept_is_used_only_for_its_own_host(
    secure: Callable[..., Scripted], lines: Lines
) -> None:
    api = secure("a.example.test", "b.example.test")
    names = Names(["127.0.0.1"])
    line = lines(resolve=names)
    for host in ("a", "a", "b", "a"):
        line.send(hop(f"https://{host}.example.test:{api.port}/"), 5)
    assert names.asked == 2
