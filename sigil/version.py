"""The version of what is installed."""

from __future__ import annotations


def version() -> str:
    """The installed distribution's version; `0+source` in a checkout that was never installed."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("uncaged")
    except PackageNotFoundError:
        return "0+source"
