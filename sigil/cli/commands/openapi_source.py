"""Reads the OpenAPI document that a command line names: a file, stdin, or an address."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from sigil.errors import UsageError

DOWNLOAD_SECONDS = 60.0
REDIRECTS_MOST = 5
_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
_THIS_MACHINE = ("127.0.0.1", "localhost", "::1")


def read_source(place: str) -> bytes:
    """Return the bytes of a document, at most one more than it may have; `UsageError` when it
    cannot be read.
    """
    from sigil.compile.openapi.document import DOCUMENT_BYTES

    if _ADDRESS.match(place):
        with _explain_failures(place):
            return _download(place, DOCUMENT_BYTES + 1)
    if place == "-":
        return sys.stdin.buffer.read(DOCUMENT_BYTES + 1)
    try:
        with Path(place).open("rb") as file:
            return file.read(DOCUMENT_BYTES + 1)
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "not a file's name"
        raise UsageError(
            "ENOENT",
            f"cannot read {place}: {reason}",
            suggestion="give the path of an openapi.json or openapi.yaml, or its https address",
        ) from None


def _download(address: str, most: int) -> bytes:
    """Return the body at an address, cut behind `most` bytes. Only https is followed, or this
    machine when it was named: somebody on the way could write another document otherwise.
    """
    import httpx

    is_own = urlsplit(address).hostname in _THIS_MACHINE
    deadline = time.monotonic() + DOWNLOAD_SECONDS
    with httpx.Client(timeout=15.0) as client:
        for _ in range(REDIRECTS_MOST + 1):
            is_here = is_own and urlsplit(address).hostname in _THIS_MACHINE
            if not address.lower().startswith("https:") and not is_here:
                raise UsageError(
                    "EUSAGE",
                    f"{address} is not https: somebody on the way could change it",
                    suggestion="download it yourself, and give the file",
                )
            with client.stream("GET", address) as answer:
                if answer.is_redirect:
                    address = urljoin(address, answer.headers.get("location", ""))
                    continue
                if answer.status_code != 200:
                    raise UsageError(
                        "ENOENT", f"{address} answered {answer.status_code}, not a document"
                    )
                body = bytearray()
                for piece in answer.iter_bytes():
                    body += piece
                    if len(body) >= most or time.monotonic() > deadline:
                        break
                if time.monotonic() > deadline:
                    raise UsageError("ETIMEDOUT", f"{address} takes too long")
                return bytes(body[:most])
    raise UsageError("EUSAGE", f"{address} redirects more than {REDIRECTS_MOST} times")


@contextmanager
def _explain_failures(address: str) -> Iterator[None]:
    import httpx

    try:
        yield
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as problem:
        raise UsageError(
            "ENET",
            f"cannot read {address}: {str(problem) or type(problem).__name__}",
            suggestion="check the address, or download it yourself and give the file",
        ) from None
