"""Connections to other servers, through the system's proxy where it has one. httpx looks it up only
for clients of its own.
"""

from __future__ import annotations

import urllib.request

import httpx


def open_transport(address: str | httpx.URL) -> httpx.HTTPTransport:
    """A pool of connections for `address`. `ValueError` or `httpx.InvalidURL` when the address or
    the proxy's cannot be right.
    """
    limits = httpx.Limits(max_connections=100, max_keepalive_connections=20)
    try:
        return httpx.HTTPTransport(proxy=proxy_for(httpx.URL(address)), limits=limits)
    except ImportError:
        raise ValueError("a SOCKS proxy needs the package socksio") from None


def proxy_for(url: httpx.URL) -> str | None:
    """The system's proxy for `url`, None for none."""
    if urllib.request.proxy_bypass(url.host):
        return None
    proxies = urllib.request.getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    return proxy if not proxy or "://" in proxy else f"http://{proxy}"
