"""The `sigil` command over an empty data folder, in this process."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sigil.cli import main


@dataclass(frozen=True, slots=True)
class Ended:
    """A command's exit code and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, str]:
        """The error that `--json` leaves on stderr."""
        return dict(json.loads(self.err.splitlines()[-1])["error"])


Sigil = Callable[..., Ended]


@pytest.fixture
def place(tmp_path: Path, compiled: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to stand in, with settings of its own."""
    compiled.mkdir(exist_ok=True)
    data = tmp_path / "data"
    data.mkdir()
    (data / "compiled").symlink_to(compiled, target_is_directory=True)
    for name in (
        "UNCAGED_STORE",
        "UNCAGED_ARTIFACTS",
        "UNCAGED_AGENT",
        "SIGIL_URL",
        "SIGIL_TOKEN",
        "SIGIL_ENGINE",
        "NO_COLOR",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("UNCAGED_DATA", str(data))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("UNCAGED_LIBRARY", "none")
    monkeypatch.setenv("SIGIL_RUNNERS", "1")
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


@pytest.fixture
def run_sigil(
    place: Path, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> Sigil:
    """Runs a command: `run_sigil("query", "text", stdin=b"…")`."""

    def run(*words: str, stdin: bytes = b"") -> Ended:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(words)
        out, err = capsysbinary.readouterr()
        return Ended(code, out.decode(), err.decode())

    return run


@pytest.fixture
def shout(run_sigil: Sigil) -> Sigil:
    """Like `run_sigil`, with a capability `shout` deployed."""
    ended = run_sigil(
        "deploy",
        "--name",
        "shout",
        "--schema",
        SCHEMA,
        "--execute",
        SHOUT,
        "--description",
        "Shout a text.",
    )
    assert ended.code == 0, ended.err
    return run_sigil


SCHEMA = (
    '{"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}, "times":'
    ' {"type": "integer", "default": 1}}}'
)
SHOUT = "return input.text.toUpperCase().repeat(input.times);"
