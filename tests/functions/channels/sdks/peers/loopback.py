"""What every peer begins with: it reaches this machine alone, and is asked in JSON.

A peer is a program in the environment of the platforms' own SDKs (`scripts/tool sdks`). Each of its
functions that a test asks for takes JSON and returns JSON.
"""

from __future__ import annotations

import base64
import ipaddress
import json
import sys
from collections.abc import Callable
from typing import Any

OWN_NAMES = ("localhost", "", None)


def _is_here(host: object) -> bool:
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if host in OWN_NAMES:
        return True
    try:
        return ipaddress.ip_address(str(host)).is_loopback
    except ValueError:
        return False


def _refuse_network(event: str, details: tuple[Any, ...]) -> None:
    if event in ("socket.getaddrinfo", "socket.gethostbyname"):
        hosts = [details[0]]
    elif event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        # a socket of this machine has a path for an address
        hosts = [details[1][0]] if isinstance(details[1], tuple) else []
    else:
        return
    for host in hosts:
        if not _is_here(host):
            raise PermissionError(f"a peer reaches this machine alone, not {host}")


def read_body(request: dict[str, Any]) -> bytes:
    """Return the body of a request that came as JSON."""
    return base64.b64decode(request["body"])


def verdicts(
    verify: Callable[[dict[str, Any]], bool], requests: list[dict[str, Any]]
) -> list[bool]:
    """Return which requests an SDK takes; it may refuse with any exception."""
    taken = []
    for request in requests:
        try:
            taken.append(bool(verify(request)))
        except Exception:
            taken.append(False)
    return taken


def answer(*functions: Callable[..., Any]) -> None:
    """Call the function that is asked for, and print what it returns."""
    asked = json.load(sys.stdin)
    [found] = [each for each in functions if each.__name__ == asked["function"]]
    own = sys.stdout
    sys.stdout = sys.stderr  # some SDKs print
    print(json.dumps(found(**asked["given"])), file=own, flush=True)


sys.addaudithook(_refuse_network)
