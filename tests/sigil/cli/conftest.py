"""The `sigil` command over an empty data folder, in this process; and a remote registry for it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sigil import wiring
from sigil.cli import main
from sigil.http import app as sigil_http
from sigil.sandbox.pool import Sandbox
from sigil.settings import Settings
from tests.fakes.server import Answer
from tests.sigil.serving import served

SCHEMA = (
    '{"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}, "times":'
    ' {"type": "integer", "default": 1}}}'
)
SHOUT = "return input.text.toUpperCase().repeat(input.times);"
REMOTE_TOKEN = "the-admin-token-of-the-remote-registry"


@dataclass(frozen=True, slots=True)
class CommandResult:
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


Sigil = Callable[..., CommandResult]


def error_answer(status: int, code: str, **headers: str) -> Answer:
    """How a registry refuses a request."""
    fields = {
        "source": "http",
        "code": code,
        "message": "no",
        "suggestion": "send `Authorization: Bearer TOKEN`",
    }
    return Answer(
        status,
        json.dumps({"error": fields}).encode(),
        {"content-type": "application/json", **headers},
    )


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
    place: Path,
    capsysbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
    open_shared: Callable[[Settings], Sandbox],
) -> Sigil:
    """Runs a command: `run_sigil("query", "text", stdin=b"…")`."""
    monkeypatch.setattr(wiring, "open_sandbox", open_shared)

    def run(*words: str, stdin: bytes = b"") -> CommandResult:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(words)
        out, err = capsysbinary.readouterr()
        return CommandResult(code, out.decode(), err.decode())

    return run


@pytest.fixture
def shout(run_sigil: Sigil) -> Sigil:
    """Like `run_sigil`, with a capability `shout` deployed."""
    result = run_sigil(
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
    assert result.code == 0, result.err
    return run_sigil


@pytest.fixture
def two_versions(run_sigil: Sigil) -> Sigil:
    """Like `run_sigil`, with two versions of a capability `word`."""
    for number in (1, 2):
        assert run_sigil("deploy", "--name", "word", "--execute", f"return 'v{number}';").code == 0
    return run_sigil


@pytest.fixture
def remote_url(place: Path, compiled: Path) -> Iterator[str]:
    """The address of a registry behind HTTP, whose admin token is `REMOTE_TOKEN`."""
    data = place.parent / "remote"
    data.mkdir()
    (data / "compiled").symlink_to(compiled, target_is_directory=True)
    settings = Settings(data=str(data), library="none", runners=1)
    registry = wiring.local_registry(settings, wiring.open_stores(settings))
    with served(sigil_http.build_registry_app(registry, REMOTE_TOKEN)) as url:
        yield url
    registry.close()


@pytest.fixture
def stocked(shout: Sigil, place: Path) -> Sigil:
    """Like `shout`, with a capability that throws, one that asks for a permission, a folder whose
    test fails, one with a module that cannot run, and an export.
    """
    for name, code, more in (
        ("broken", "throw new Error('no')", ()),
        ("asks", "return 1", ("--permission", "http:GET a.example/")),
    ):
        assert shout("deploy", "--name", name, "--execute", code, *more).code == 0
    for name, lang, source in (("fails", "js", "return 2"), ("unfit", "wat", "(module)")):
        (place / name).mkdir()
        manifest = (
            f'[capability]\nname = "{name}"\ndescription = "One."\n[build]\nlang ='
            f' "{lang}"\n[[test]]\ninput = {{}}\noutput = 1\n'
        )
        (place / name / "sigil.toml").write_text(manifest)
        (place / name / f"main.{lang}").write_text(source)
    assert shout("export", "shout", "-o", "shout.sigil").code == 0
    return shout
