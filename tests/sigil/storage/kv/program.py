"""Runs the code that it is given, as `python -c` does: a module can be forked."""

from __future__ import annotations

import sys

code, sys.argv = sys.argv[1], ["-c", *sys.argv[2:]]
exec(compile(code, "<code>", "exec"))
raise SystemExit(0)  # a forked program ends so at once, and clears nothing that was imported
