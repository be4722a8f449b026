"""The door of the `uncaged` command: Ctrl-C ends it quietly, also while the rest is still being
imported.
"""

from __future__ import annotations

INTERRUPTED = 130


def main() -> None:
    """Run the process's command; ends with its exit code."""
    try:
        from functions.cli import app

        app.main()
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
