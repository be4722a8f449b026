"""Output that cannot be written or is no longer read, and command lines that are wrong."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers.programs import command_of
from tests.sigil.cli.conftest import Sigil
from tests.sigil.cli.processes import ROOT, start_sigil


def test_an_option_that_there_is_not_is_told_with_those_that_look_like_it(run_sigil: Sigil) -> None:
    assert run_sigil("list", "--jsno").err.endswith(
        "help: did you mean --json? sigil list --help\n"
    )
    assert "did you mean --limit?" in run_sigil("list", "--limti", "5").err
    assert run_sigil("list", "--frob").err.endswith("help: sigil list --help\n")


@pytest.mark.parametrize(
    "words",
    [
        ("frob",),
        ("inspect",),
        ("query", "x", "--frob"),
        ("query", "x", "-n", "0"),
        ("list", "--url"),
        ("run", "a", "b", "c"),
    ],
)
def test_wrong_usage_ends_with_2(run_sigil: Sigil, words: tuple[str, ...]) -> None:
    result = run_sigil(*words)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: ")
    assert run_sigil("--json", *words).error["code"] == "EUSAGE"


def test_wrong_usage_names_the_command_whose_help_tells_more(run_sigil: Sigil) -> None:
    assert run_sigil("run").err.endswith("help: sigil run --help\n")
    assert run_sigil("keys", "revoke").err.endswith("help: sigil keys revoke --help\n")
    assert run_sigil("frob").err.endswith("help: sigil --help\n")


def test_input_that_was_closed_before_the_start_has_ended(
    run_sigil: Sigil, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert "stdin is no terminal" in run_sigil("remove", "nothing-here").err


def test_a_reader_that_leaves_early_hears_no_complaint(
    shout: Sigil, place: Path, fork_commands: None
) -> None:
    process = start_sigil("list", cwd=place)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    assert process.wait() == 1
    process.stderr.close()


@pytest.mark.parametrize(
    ("words", "redirected", "unbuffered"),
    [
        # the first two are forked; Python starts itself without a buffer or without an output
        ("list", ">/dev/full", ""),
        ("--help", ">/dev/full", ""),
        ("list", ">/dev/full", "1"),
        ("list", ">&-", ""),
        pytest.param("--help", ">/dev/full", "1", marks=pytest.mark.thorough),
        pytest.param("--help", ">&-", "", marks=pytest.mark.thorough),
        pytest.param("list", ">&-", "1", marks=pytest.mark.thorough),
        pytest.param("--help", ">&-", "1", marks=pytest.mark.thorough),
    ],
)
def test_output_that_cannot_be_written_is_said_in_one_line(
    shout: Sigil, place: Path, fork_commands: None, words: str, redirected: str, unbuffered: str
) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": unbuffered}
    if unbuffered:
        del environment["TESTS_FORKER"]
    line = f"{shlex.join(command_of('sigil.cli'))} {words} {redirected}"
    done = subprocess.run(
        line, shell=True, env=environment, cwd=place, stderr=-1, text=True, check=False
    )
    assert done.returncode == 1
    assert re.fullmatch(r"error: cannot write the output: [^\n]+ \(EWRITE\)\n", done.stderr)


@pytest.mark.parametrize("words", ["list", "help", "--help", "schema"])
def test_a_reader_that_has_seen_enough_hears_nothing(
    shout: Sigil, place: Path, fork_commands: None, words: str
) -> None:
    line = f"{' '.join(command_of('sigil.cli'))} {words} | head -1"
    done = subprocess.run(
        ["bash", "-c", line],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=place,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr, done.stdout.count(b"\n")) == (0, b"", 1)
