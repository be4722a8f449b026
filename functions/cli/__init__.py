"""The entry point of the `uncaged` command: Ctrl-C ends it quietly, even while modules are still
being imported.
"""

from __future__ import annotations

INTERRUPTED = 130


def main() -> None:
    """Run the process's command, and exit with its code."""
    try:
        from functions.cli import app

        app.main()
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
