"""Staging where no stage can be made."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.staging import interpreter
from scripts.staging.contents import STAGES, StagingError
from tests.deploy.linked import link_package
from tests.servers.lambda_runtime import ROOT


def test_what_a_stage_leaves_out_is_there() -> None:
    assert not [out for stage in STAGES for out in stage.left_out if not (ROOT / out).exists()], (
        "it is gone: take it off the list"
    )


def test_another_python_cannot_compile_for_the_runtime(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(interpreter, "PYTHON", (3, 99))
    monkeypatch.setattr(interpreter, "NAME", "python3.99")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    # a version manager has a program for each name, and the right ones fail
    (tmp_path / "python3.99").write_text("#!/bin/sh\nexit 127\n")
    (tmp_path / "python3.99").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(StagingError) as caught:
        interpreter.find_interpreter.__wrapped__()
    ours = ".".join(map(str, sys.version_info[:2]))
    assert caught.value.args == (
        f"the functions run on Python 3.99, and .venv has {ours}: its byte code does not fit",
        "install python3.99; on a Debian, root needs nothing",
    )


def test_the_worker_hears_recordings_and_opens_texts_alone(tmp_path: Path) -> None:
    link_package("worker", tmp_path / "worker")
    program = (
        "from functions.media.speech import SpeechClient\n"
        "from functions.wiring import LazyFileReader\n"
        "print(SpeechClient.__name__, type(LazyFileReader()._reader).__name__)"
    )
    ran = subprocess.run(
        [sys.executable, "-S", "-c", program],
        env={"PYTHONPATH": str(tmp_path / "worker")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ran.stdout, ran.stderr) == ("SpeechClient NoReader\n", "")
