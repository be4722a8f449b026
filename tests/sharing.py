"""Makes what is costly and always the same once a process. A program of the product opens one HTTP
client and one registry; a process of the tests opens thousands.
"""

from __future__ import annotations

import os
import ssl
from functools import cache
from typing import Any

import httpx
from httpx._transports import default as transports

from sigil.search import words


def share_costly_values() -> None:
    """Let all HTTP clients share one list of trusted certificates (25 ms to read), and all
    registries one English stemmer (10 ms for its first words), which is made to be shared.
    """
    transports.create_ssl_context = _create_ssl_context
    words.make_stemmer = cache(words.make_stemmer)


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
