"""The platforms' own SDKs, asked as functions: what they say of a request, what their clients send.

They live in an environment of their own (`scripts/tool sdks`), and reach this machine alone. They
are a second opinion on fakes that the contract of channels holds in every run of the tests, so
scripts/check-all alone asks them.
"""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from functions.channels.base import Channel, PlatformRequest
from functions.events import Event
from sigil.errors import Refused
from tests.functions.channels.contract import ChannelContract
from tests.machine import within
from tests.servers.lambda_runtime import tool

PEERS = Path(__file__).with_name("peers")
RESTS_ON = (
    "functions/channels",
    "functions/events.py",
    "scripts/tools/sdks.txt",
    "tests/events",
    "tests/fakes",
    "tests/functions/channels",
)
"""What the SDKs are asked about."""


def ask(peer: str, function: str, **given: Any) -> Any:
    """Return what a function of a peer returns."""
    done = run_peer(PEERS / f"{peer}_peer.py", {"function": function, "given": given})
    assert done.returncode == 0, done.stderr[-4_000:]
    return json.loads(done.stdout)


def run_peer(program: Path, asked: object) -> subprocess.CompletedProcess[str]:
    """Run a program in the environment of the SDKs, and return how it ended."""
    return subprocess.run(
        [tool("sdks") / "python", program],
        input=json.dumps(asked),
        env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"},
        capture_output=True,
        text=True,
        timeout=within(60),
        check=False,
    )


def describe_requests(requests: Iterable[PlatformRequest]) -> list[dict[str, Any]]:
    """Return requests as JSON."""
    return [
        {
            "headers": dict(request.headers),
            "query": dict(request.query),
            "body": base64.b64encode(request.body).decode(),
        }
        for request in requests
    ]


def collect_requests(contract: ChannelContract) -> tuple[list[PlatformRequest], list[bool]]:
    """Return what a platform signs, then the same forged and out of date; and which of them our
    channel takes, which are the first.
    """
    bodies = [body for body, _ in contract.list_samples().values()]
    signed = [contract.sign(body) for body in bodies]
    others = [*contract.list_forged(signed[0])]
    if contract.window:
        others += [contract.sign(bodies[0], age) for age in (contract.window + 2, 1e9)]
    channel = contract.open_channel()
    taken = []
    for request in (*signed, *others):
        try:
            channel.receive(request)
        except Refused:
            taken.append(False)
        else:
            taken.append(True)
    assert taken == [True] * len(signed) + [False] * len(others)
    return [*signed, *others], taken


def read_events(
    channel: Channel, requests: Iterable[PlatformRequest], taken: Iterable[bool]
) -> list[list[Event]]:
    """Return the events of each request that is taken."""
    return [
        list(channel.receive(request).events)
        for request, is_taken in zip(requests, taken, strict=True)
        if is_taken
    ]
