"""The address of a platform's API."""

from __future__ import annotations

import re
from typing import Final

from sigil.errors import UsageError

_ADDRESS: Final = re.compile(r"https?://[!-~]{1,1000}")


def read_address(address: str, what: str, *, source: str) -> str:
    """Return an address without a slash at its end; `UsageError` EINVAL for one that cannot be
    right, in which `what` says whose it is.
    """
    if not _ADDRESS.fullmatch(address):
        raise UsageError("EINVAL", f"{what} must be an http or https URL", source=source)
    return address.rstrip("/")
