"""A peer that would leave this machine, by a name and by an address."""

from __future__ import annotations

import socket

from loopback import answer


def leave() -> list[str]:
    """Return why each way out was refused."""
    reasons = []
    for host in ("example.com", "192.0.2.1", "2001:db8::1"):
        try:
            socket.create_connection((host, 443), timeout=1)
        except PermissionError as problem:
            reasons.append(str(problem))
    return reasons


if __name__ == "__main__":
    answer(leave)
