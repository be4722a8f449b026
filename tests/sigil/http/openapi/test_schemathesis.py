"""What schemathesis makes of the description, sent to a live registry: no mistake of the server,
and nothing that is not described. The suite sends an input or two to each route, with the admin
token; scripts/check-all more, along the examples and the links, and with other tokens too;
`scripts/fuzz --rules` ten times as much.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from sigil.http import app
from tests.machine import times, within
from tests.project.tree import ROOT
from tests.selection import thorough
from tests.sigil.http.openapi.conftest import Stage

CONFIG = Path(__file__).with_name("schemathesis.toml")
RUNS = {
    "sample": ["--phases", "fuzzing"],
    "admin": ["--phases", "examples,fuzzing,stateful"],
    # what the headers say of the caller is believed of the admin token alone, so that of another
    # nothing in them is wrong
    "deploy": ["--phases", "fuzzing", "--exclude-checks", "negative_data_rejection"],
    "invoke": ["--phases", "fuzzing", "--exclude-checks", "negative_data_rejection"],
}


ANSWERS = (
    "scripts/tools/schemathesis.txt",
    "sigil/access",
    "sigil/errors.py",
    "sigil/http",
    "sigil/manifest",
    "sigil/protocol.py",
    "sigil/registry.py",
    "sigil/strict_json.py",
    "tests/sigil/http/openapi",
)
"""What requests are described, read, refused and answered by."""


@pytest.mark.rests_on(*ANSWERS)
@pytest.mark.parametrize("run", ["sample", *thorough("admin", "deploy", "invoke")])
def test_whatever_is_sent_is_answered_as_described(
    fresh_stage: Stage, tools: Path, run: str, tmp_path: Path
) -> None:
    token, inputs = ("admin", times(1)) if run == "sample" else (run, times(2))
    command = [
        tools / "schemathesis",
        "--config-file",
        CONFIG,
        "run",
        f"{fresh_stage.url}/_api/openapi.json",
    ]
    options = [
        "-H",
        f"Authorization: Bearer {fresh_stage.tokens[token]}",
        "-n",
        str(inputs),
        "--seed",
        "1",
        "--no-shrink",
        "--warnings",
        "off",
    ]
    place = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    done = subprocess.run(
        [*command, *options, *RUNS[run]],
        cwd=tmp_path,
        env=place,
        capture_output=True,
        text=True,
        timeout=times(within(300)),
        check=False,
    )

    assert done.returncode == 0, done.stdout[-6_000:] + done.stderr[-2_000:]
    sent = re.search(r"(\d+) generated, \1 passed", done.stdout)
    assert sent, done.stdout[-2_000:]
    assert int(sent[1]) > (1 if run == "sample" else 2) * len(app.ROUTES)
