"""The entry point of the `sigil` command: Ctrl-C ends it quietly, even while modules are still
being imported.
"""

from __future__ import annotations

from collections.abc import Sequence

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, by default the one of this process, and return its exit code."""
    try:
        from sigil.cli import app

        return app.main(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
