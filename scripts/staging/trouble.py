"""The errors of staging."""

from __future__ import annotations


class StagingError(Exception):
    """The stage cannot be made; the second argument says what to do."""
