"""`python -m functions.cli`: the same as `uncaged`."""

from __future__ import annotations

from functions.cli import main

main()
