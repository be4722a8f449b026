"""Decide which addresses a capability's request may go to: public unicast ones, and none inside."""

from __future__ import annotations

import ipaddress
from functools import lru_cache

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_CLOSED = (
    "0.0.0.0/8",  # this host, RFC 1122
    "10.0.0.0/8",  # private, RFC 1918
    "100.64.0.0/10",  # shared by carriers, RFC 6598; a cloud's metadata is in it too
    "127.0.0.0/8",  # loopback
    "169.254.0.0/16",  # link-local; metadata of most clouds
    "172.16.0.0/12",  # private
    "192.0.0.0/24",  # protocol assignments, RFC 6890
    "192.0.2.0/24",  # documentation
    "192.31.196.0/24",  # AS112
    "192.52.193.0/24",  # AMT
    "192.88.99.0/24",  # 6to4 relays
    "192.168.0.0/16",  # private
    "192.175.48.0/24",  # AS112
    "198.18.0.0/15",  # benchmarks
    "198.51.100.0/24",  # documentation
    "203.0.113.0/24",  # documentation
    "168.63.129.16/32",  # Azure's host
    "224.0.0.0/4",  # multicast
    "240.0.0.0/4",  # reserved, broadcast
)
_OPEN = ipaddress.ip_network("2000::/3")
"""The only part of IPv6 that is given out as global unicast: loopback, ULA, link- and site-local,
NAT64, mapped ones lie outside.
"""
_CLOSED_6 = (
    "2001::/23",  # protocol assignments: Teredo, ORCHID, benchmarks
    "2001:db8::/32",  # documentation
    "2002::/16",  # 6to4: an IPv4 address inside
    "2620:4f:8000::/48",  # AS112
    "3ffe::/16",  # the old 6bone
    "3fff::/20",  # documentation, RFC 9637
)
_NETWORKS_4 = tuple(ipaddress.IPv4Network(text) for text in _CLOSED)
_NETWORKS_6 = tuple(ipaddress.IPv6Network(text) for text in _CLOSED_6)


def may_reach(text: str, *, loopback: bool = False) -> bool:
    """Tell if a request may go to the address `text`; a text that is no plain address is refused.

    `loopback` allows this machine's own addresses too.
    """
    address = _parse_address(text)
    if address is None:
        return False
    if loopback and is_loopback(text):
        return True
    if isinstance(address, ipaddress.IPv4Address):
        return address.is_global and not any(address in network for network in _NETWORKS_4)
    # `is_global` as well: a range that a later Python knows is refused too
    return (
        address.is_global
        and address in _OPEN
        and not any(address in network for network in _NETWORKS_6)
    )


@lru_cache(maxsize=1024)
def is_loopback(text: str) -> bool:
    """Tell if `text` is an address of this very machine: 127.0.0.0/8 or ::1."""
    address = _parse_address(text)
    return (
        address is not None
        and address.is_loopback
        and getattr(address, "ipv4_mapped", None) is None
    )


def _parse_address(text: str) -> Address | None:
    """Return the address, None for another text or for one that names an interface (`%eth0`)."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return None if getattr(address, "scope_id", None) else address
