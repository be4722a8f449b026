"""`python -m sigil.cli`."""

from __future__ import annotations

import sys

from sigil.cli import main

sys.exit(main())
