"""Makes what is costly and always the same once a process. A program of the product opens one HTTP
client and one registry; a process of the tests opens thousands.
"""

from __future__ import annotations

import os
import ssl
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

import httpx
from httpx._transports import default as transports
from typer import testing

from functions import settings, wiring
from functions.agent.memory.helpers import ServiceHelpers
from functions.channels.about import About
from functions.settings import Settings
from sigil.deploy import library
from sigil.sandbox import code_cache, code_store
from sigil.sandbox.code_cache import CodeCache
from sigil.sandbox.code_store import CodeStore
from sigil.sandbox.engine import ENGINE
from sigil.sandbox.sealed_memory import SealedCode
from sigil.search import index
from sigil.settings import SettingFacts
from sigil.storage import aws
from tests.project.tree import ROOT

_open_aws_session = aws._open_session.__wrapped__
_warm = CodeCache.warm
_fingerprint_library = library.fingerprint_library
_declare = Settings._declare
_parse_channel_names = settings.parse_channel_names


LIBRARY = ROOT / "capabilities"


def share_costly_values() -> None:
    """Let all HTTP clients share one list of trusted certificates (25 ms to read), all sessions of
    AWS one loader of what botocore knows of its services (100 ms for a client), and all sandboxes
    the native code of the engine, which is sealed (6 ms to read and to authenticate). All runtimes
    share the tokenizer of the memory and its related words (60 ms to make), all registries the
    tokenizer of their search (4 ms), all settings what the platforms declare, all stores the
    fingerprint of the library that comes with the package (40 ms), and all commands that are typed
    in one process what typer makes of them (110 ms).
    """
    index.Tokenizer = cache(index.Tokenizer)  # type: ignore[assignment,misc]
    testing._get_command = cache(testing._get_command)  # type: ignore[attr-defined]
    transports.create_ssl_context = _create_ssl_context
    aws._open_session = cache(_open_session_with_one_loader)
    wiring.make_helpers = _make_helpers
    code_cache.open_shipped = _open_shipped
    _open_shipped()
    library.fingerprint_library = _fingerprint_shared
    CodeCache.warm = _warm_with_shared_engine  # type: ignore[method-assign]
    Settings._declare = classmethod(_declare_once)  # type: ignore[assignment,method-assign]
    settings.parse_channel_names = _parse_channels_once


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


@cache
def _find_engine() -> SealedCode | None:
    """Return the engine's code out of the package's store."""
    shipped = _open_shipped()
    if shipped is None or not ENGINE.is_file():
        return None
    return shipped.read(sha256(ENGINE.read_bytes()).hexdigest())


def _warm_with_shared_engine(self: CodeCache, compiling: Callable[[], None]) -> None:
    """As the product's own; the engine that came with the package need not be found by its bytes,
    unless a test has taken the package's store away.
    """
    is_ours = self._engine == ENGINE and code_cache.open_shipped is _open_shipped
    if is_ours and self._engine_code is None:
        self._engine_code = _find_engine()
    _warm(self, compiling)


def _fingerprint_shared(folder: Path) -> str:
    """As the product's own; no test changes the library that comes with the package."""
    return _fingerprint_once(folder) if folder == LIBRARY else _fingerprint_library(folder)


_fingerprint_once = cache(_fingerprint_library)


def _declare_once(_: type[Settings], texts: Mapping[str, str]) -> list[SettingFacts]:
    return list(_declare_for(texts.get("UNCAGED_CHANNELS", "")))


@cache
def _declare_for(channels: str) -> list[SettingFacts]:
    return _declare({"UNCAGED_CHANNELS": channels})


def _parse_channels_once(names: Iterable[str]) -> dict[str, About]:
    return dict(_parse_channels(tuple(names)))


@cache
def _parse_channels(names: tuple[str, ...]) -> dict[str, About]:
    return _parse_channel_names(names)


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
