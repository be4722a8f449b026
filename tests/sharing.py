"""Makes what is costly and always the same once a process. A program of the product opens one HTTP
client and one registry; a process of the tests opens thousands.
"""

from __future__ import annotations

import os
import ssl
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from hashlib import sha256
from threading import Lock
from typing import Any

import httpx
from httpx._transports import default as transports
from typer import testing

from functions import wiring
from functions.agent.memory.helpers import ServiceHelpers
from sigil.sandbox import code_cache, code_store
from sigil.sandbox.code_store import CodeStore
from sigil.sandbox.engine import ENGINE
from sigil.storage import aws

_open_aws_session = aws._open_session.__wrapped__


def share_costly_values() -> None:
    """Let all HTTP clients share one list of trusted certificates (25 ms to read), all sessions of
    AWS one loader of what botocore knows of its services (100 ms for a client), and all sandboxes
    the native code of the engine, which is sealed (6 ms to read and to authenticate). All runtimes
    share the tokenizer of the memory and its related words (60 ms to make), and all commands that
    are typed in one process what typer makes of them (110 ms).
    """
    testing._get_command = cache(testing._get_command)  # type: ignore[attr-defined]
    transports.create_ssl_context = _create_ssl_context
    aws._open_session = cache(_open_session_with_one_loader)
    wiring.make_helpers = _make_helpers
    code_cache.open_shipped = _open_shipped
    _open_shipped()


def share_characters() -> None:
    """Tell hypothesis which characters UTF-8 has; in a fresh checkout, each process would try all
    of them for a second.
    """
    from hypothesis.internal import charmap
    from hypothesis.internal.intervalsets import IntervalSet

    find_intervals = charmap.intervals_from_codec
    known = IntervalSet([(0, 0xD7FF), (0xE000, sys.maxunicode)]), IntervalSet([])
    charmap.intervals_from_codec = lambda codec: (
        known if codec == "utf-8" else find_intervals(codec)
    )


def _open_session_with_one_loader(process: int) -> Any:
    """As the product's own; botocore, which takes long to import, is changed by the first use."""
    import botocore.session  # type: ignore[import-untyped]
    from botocore.loaders import create_loader

    botocore.session.create_loader = _share_loader(create_loader)
    return _open_aws_session(process)


@cache
def _share_loader(create_loader: Callable[..., Any]) -> Callable[..., Any]:
    return cache(create_loader)


def _make_helpers() -> ServiceHelpers:
    """As the product's own, with the tokenizer of all; each runtime has a lock of its own."""
    return replace(_make_first_helpers(), lock=Lock())


_make_first_helpers = cache(wiring.make_helpers)


class _SharedCode(CodeStore):
    """The code that came with the package; a module's is read once."""

    def __init__(self, shipped: CodeStore) -> None:
        self.read = cache(shipped.read)  # type: ignore[method-assign]


@cache
def _open_shipped() -> CodeStore | None:
    """Return the package's store, from which the engine has been read."""
    shipped = code_store.open_shipped()
    if shipped is None:
        return None
    shared = _SharedCode(shipped)
    if ENGINE.is_file():
        shared.read(sha256(ENGINE.read_bytes()).hexdigest())
    return shared


def _create_ssl_context(verify: Any = True, cert: Any = None, trust_env: bool = True) -> Any:
    """As httpx's own, but those who trust the same file have the same context."""
    if verify is not True or cert is not None:
        return httpx.create_ssl_context(verify, cert, trust_env)
    chosen = ("SSL_CERT_FILE", "SSL_CERT_DIR") if trust_env else ()
    return _default_ssl_context(tuple((name, os.environ.get(name)) for name in chosen))


@cache
def _default_ssl_context(chosen: tuple[tuple[str, str | None], ...]) -> ssl.SSLContext:
    """The context while the environment has `chosen`."""
    return httpx.create_ssl_context(trust_env=bool(chosen))
