"""A child process that has locked itself down."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from sigil.sandbox import spawn

PRINTS_ITS_MEMORY = """
import os
from sigil.sandbox.child import lockdown
from sigil.sandbox.runtime.driver import Driver
driver = Driver({library!r}, pooling=False)
lockdown.lock(os.getppid(), data=256 << 20, files=160, written=1 << 20)
print(open("/proc/self/maps").read(), flush=True)
os._exit(0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_no_memory_of_a_runner_can_be_written_and_executed() -> None:
    program = PRINTS_ITS_MEMORY.format(library=spawn.library())
    command = [sys.executable, "-c", program]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    permissions = [line.split()[1] for line in done.stdout.splitlines() if line]
    assert any("x" in each for each in permissions)
    assert not [each for each in permissions if "w" in each and "x" in each]
