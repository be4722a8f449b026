"""Which addresses a capability's request may go to."""

from __future__ import annotations

import ipaddress

from hypothesis import given
from hypothesis import strategies as st

from sigil.network.addresses import may_reach
from tests.tables import each_row

INSIDE = """
0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 100.127.255.255 127.0.0.1 127.1.2.3 127.255.255.255
169.254.0.1 169.254.169.254 169.254.170.2 172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.170 192.0.2.1 192.31.196.1 192.52.193.1
192.88.99.1 192.168.0.1 192.168.255.255 192.175.48.1 198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.9 168.63.129.16
224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
:: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:169.254.169.254 ::ffff:0:127.0.0.1 64:ff9b::8.8.8.8 64:ff9b::7f00:1
64:ff9b:1::1 100::1 100:0:0:1::1 2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:2::1 2001:10::1 2001:20::1 2001:db8::1 2002:7f00:1::
2002:a9fe:a9fe::1 2620:4f:8000::1 3fff::1 3ffe::1 4000::1 5f00::1 fc00::1 fd00:ec2::254 fdff::1 fe80::1 fe80::1%eth0 febf::1 fec0::1
feff::1 ff02::1 ff0e::1
""".split()
OUTSIDE = """
1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.1 100.63.255.255 100.128.0.1 126.255.255.255 128.0.0.1 140.82.121.6 169.253.255.255 169.255.0.1
172.15.255.255 172.32.0.1 192.0.1.1 192.167.255.255 192.169.0.1 198.17.255.255 198.20.0.1 223.255.255.255
2606:4700:4700::1111 2001:4860:4860::8888 2a00:1450:4001:80b::200e 2600::1 2400:cb00::1
""".split()


@each_row("address", INSIDE)
def test_what_leads_back_inside_is_refused(address: str) -> None:
    assert not may_reach(address)


@each_row("address", OUTSIDE)
def test_the_public_internet_may_be_reached(address: str) -> None:
    assert may_reach(address)


@each_row(
    "text",
    [
        "",
        "localhost",
        "127.1",
        "0x7f000001",
        "2130706433",
        "0177.0.0.1",
        " 1.1.1.1",
        "1.1.1.1 ",
        "1.1.1.1/32",
        "[::1]",
    ],
)
def test_what_is_no_plain_address_is_refused(text: str) -> None:
    assert not may_reach(text)
    assert not may_reach(text, loopback=True)


def test_for_tests_this_machine_may_be_reached_and_nothing_else_inside() -> None:
    assert may_reach("127.0.0.1", loopback=True)
    assert may_reach("::1", loopback=True)
    others = [text for text in INSIDE if not text.startswith("127.") and text != "::1"]
    assert not [text for text in others if may_reach(text, loopback=True)]


@given(st.integers(0, 2**32 - 1))
def test_no_address_of_ipv4_slips_through_in_the_clothes_of_ipv6(number: int) -> None:
    plain = ipaddress.IPv4Address(number)
    wrapped = (
        number,
        0xFFFF_0000_0000 + number,
        0x64FF9B << 96 | number,
        0x2002 << 112 | number << 80,
        0x2001 << 112 | number,
    )
    assert not [text for value in wrapped if may_reach(text := str(ipaddress.IPv6Address(value)))]
    assert not may_reach(str(plain)) or plain.is_global


@given(st.ip_addresses(v=6))
def test_what_may_be_reached_is_global_unicast(address: ipaddress.IPv6Address) -> None:
    assert not may_reach(str(address)) or (
        address in ipaddress.ip_network("2000::/3") and address.is_global
    )
