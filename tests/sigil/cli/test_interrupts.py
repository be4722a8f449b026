"""Ctrl-C: it ends every command with one line and 130, and says what was done by then."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.machine import within
from tests.sigil.cli.conftest import Sigil
from tests.sigil.cli.processes import ROOT, open_terminal, start_sigil


def test_an_interrupt_ends_with_130(run_sigil: Sigil, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sigil.wiring.open_stores", interrupted)
    result = run_sigil("list")
    assert (result.code, result.out, result.err) == (
        130,
        "",
        "error: interrupted; nothing was changed (EINTERRUPTED)\n",
    )
    assert run_sigil("--json", "list").error["code"] == "EINTERRUPTED"


def test_ctrl_c_ends_a_real_run_with_130(shout: Sigil, place: Path, fork_commands: None) -> None:
    (place / "fifo").mkdir()
    os.mkfifo(place / "fifo" / "input")
    process = start_sigil("run", "shout", "@fifo/input", cwd=place)
    with (place / "fifo" / "input").open(
        "wb"
    ):  # opens only when the command reads: it is in the middle of its work then
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=within(20))
    assert (process.returncode, out, err) == (
        130,
        b"",
        b"error: interrupted; nothing was changed (EINTERRUPTED)\n",
    )


@pytest.mark.parametrize(
    ("at", "said"),
    [
        ("sigil.deploy.golden_tests.require_passing_tests", "nothing was deployed"),
        ("sigil.catalog.audit.Audit.note", "one@1 runs"),
    ],
)
def test_ctrl_c_in_a_deploy_says_whether_it_took_place(
    run_sigil: Sigil, monkeypatch: pytest.MonkeyPatch, at: str, said: str
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(at, interrupted)
    result = run_sigil("deploy", "--name", "one", "--execute", "return 1")
    assert (result.code, result.err) == (130, f"error: interrupted; {said} (EINTERRUPTED)\n")


def test_ctrl_c_in_another_change_says_where_to_look(
    shout: Sigil, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sigil.registry.LocalRegistry.remove", interrupted)
    result = shout("remove", "shout", "--yes")
    assert "`sigil audit shout` shows whether the change was made" in result.err
    monkeypatch.setattr("sigil.registry.LocalRegistry.run", interrupted)
    assert "what the run changed by then" in shout("run", "shout", "-a", "text=a").err


def test_ctrl_c_while_the_command_is_imported_is_silent() -> None:
    interrupted = (
        "sys.meta_path.insert(0, type('Finder', (), {'find_spec': lambda *_: (_ for _ in"
        " ()).throw(KeyboardInterrupt)})())"
    )
    script = f"import sys; import sigil.cli as command; {interrupted}; sys.exit(command.main())"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


FOREVER = "for (;;);"


PLACES = {
    "check": ("sigil.deploy.golden_tests.require_loadable", ("check", "fails")),
    "test": ("sigil.deploy.golden_tests.run_tests", ("test", "fails")),
    "deploy": ("sigil.deploy.golden_tests.require_passing_tests", ("deploy", "fails")),
    "dry run": ("sigil.deploy.golden_tests.run_tests", ("deploy", "fails", "--dry-run")),
    "run": ("sigil.registry.LocalRegistry.run", ("run", "shout", "-a", "text=a")),
    "export": ("sigil.registry.LocalRegistry.export", ("export", "shout", "-o", "other.sigil")),
    "import": ("sigil.registry.LocalRegistry.import_bundle", ("import", "shout.sigil")),
    "query": ("sigil.registry.LocalRegistry.query", ("query", "x")),
    "doctor": ("sigil.cli.doctor.machine.engine_path", ("doctor",)),
    "rollback": ("sigil.registry.LocalRegistry.rollback", ("rollback", "shout")),
    "serve": ("sigil.wiring.local_registry", ("serve", "--port", "0")),
    "schema": ("sigil.manifest.json_schema.manifest_json_schema", ("schema",)),
}


@pytest.mark.parametrize("what", PLACES)
def test_ctrl_c_ends_every_long_command_with_one_line_and_130(
    stocked: Sigil, what: str, monkeypatch: pytest.MonkeyPatch, place: Path
) -> None:
    at, words = PLACES[what]

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(at, interrupted)
        result = stocked(*words)
    assert (result.code, result.out) == (130, "")
    assert result.err.splitlines()[-1].startswith("error: interrupted")
    assert "Traceback" not in result.err
    assert not (place / "other.sigil").exists()
    assert stocked("run", "shout", "-a", "text=a").out == "A\n"


def test_ctrl_c_in_a_folder_of_folders_keeps_what_stands(
    run_sigil: Sigil, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        (place / "all" / name).mkdir(parents=True)
        (place / "all" / name / "sigil.toml").write_text(
            f'[capability]\nname = "{name}"\ndescription = "One."\n'
        )
        (place / "all" / name / "main.js").write_text("return 1")
    from sigil.registry import LocalRegistry

    real, done = LocalRegistry.deploy, []

    def second_is_interrupted(*given: object, **named: object) -> object:
        done.append(1)
        if len(done) == 2:
            raise KeyboardInterrupt
        return real(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(LocalRegistry, "deploy", second_is_interrupted)
    result = run_sigil("deploy", "all")
    assert result.code == 130
    assert "deployed 1 of 2; the rest was not tried" in result.err
    assert "nothing was deployed" in result.err


def test_ctrl_c_really_ends_a_test_at_work(place: Path, fork_commands: None) -> None:
    (place / "busy").mkdir()
    (place / "busy" / "sigil.toml").write_text(
        '[capability]\nname = "busy"\ndescription = "One."\n[limits]\ntimeout_ms ='
        " 30000\n[[test]]\ninput = {}\noutput = 1\n"
    )
    (place / "busy" / "main.js").write_text(FOREVER)
    terminal = open_terminal("test", "busy")
    terminal.wait_for("testing busy")
    terminal.process.send_signal(signal.SIGINT)
    shown = terminal.wait_for_end()
    assert terminal.process.returncode == 130
    assert "error: interrupted; nothing was changed (EINTERRUPTED)" in shown
