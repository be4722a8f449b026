"""The address of a platform's API."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from sigil.errors import UsageError

_ADDRESS: Final = re.compile(r"https?://[!-~]{1,1000}")


def read_address(address: str, what: str, *, source: str) -> str:
    """Return an address without a slash at its end; `UsageError` EINVAL for one that cannot be
    right, in which `what` names its setting.
    """
    if not _ADDRESS.fullmatch(address) or not _names_host(address):
        raise UsageError("EINVAL", f"{what} must be an http or https URL", source=source)
    return address.rstrip("/")


def _names_host(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets that close nothing, or a port that is no number
        return False
