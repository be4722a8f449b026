"""What has differed between versions of Python, tested with the functions' version as well: the suite
runs on that of .venv.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from scripts.staging.interpreter import find_interpreter
from scripts.staging.packages import install_test_packages
from tests.servers.lambda_runtime import ROOT

pytestmark = pytest.mark.thorough
DIFFERED = (
    "tests/functions/agent/policy/test_rules.py",
    "tests/functions/agent/workspace/test_path.py",
    "tests/functions/test_base_path.py",
    "tests/functions/test_personal_data.py",
    "tests/sigil/network",
    "tests/sigil/sandbox/child/test_guest_requests.py",
    "tests/sigil/sandbox/test_child_modules.py",
    "tests/sigil/search/test_index.py",
)
"""How addresses are spelled, sums of floats, protocols and warnings, how deep JSON is read."""


def test_what_has_differed_is_the_same_with_the_functions_python(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    install_test_packages(ROOT, packages)
    done = subprocess.run(
        [*find_interpreter(), "-m", "pytest", "-p", "no:cacheprovider", *DIFFERED],
        cwd=ROOT,
        env={
            "PATH": os.defpath,
            "PYTHONPATH": os.pathsep.join(map(str, (packages, ROOT))),
            "TMPDIR": str(tmp_path),
        },
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
