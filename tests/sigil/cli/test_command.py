"""The command itself: options, help, exit codes, terminals, pipes, and a registry elsewhere."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from sigil import wiring
from sigil.cli import main
from sigil.cli.app import app
from sigil.cli.exit_codes import exit_code
from sigil.cli.options import hoist_options
from sigil.cli.tables import align_columns
from sigil.errors import BackendError, Conflict, Halt, Refused, SigilError, ToolError, UsageError
from sigil.http import app as sigil_http
from sigil.settings import Settings
from tests.machine import within
from tests.sigil.cli.conftest import Sigil
from tests.sigil.serving import served

ROOT = Path(__file__).parents[3]
COMMANDS = (
    "init",
    "check",
    "test",
    "deploy",
    "query",
    "inspect",
    "run",
    "list",
    "remove",
    "doctor",
    "version",
)
COMMANDS += ("versions", "diff", "rollback", "yank", "publish", "export", "import")
COMMANDS += ("schema", "serve", "help", "completion")
COMMANDS += ("login", "logout", "whoami", "audit", "logs", "status")


def started(*words: str, **options: Any) -> subprocess.Popen[bytes]:
    """The real command as a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-m", "sigil.cli", *words],
        env=environment,
        stdout=-1,
        stderr=-1,
        **options,
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(run_sigil: Sigil, command: str) -> None:
    ended = run_sigil(command, "--help")
    assert ended.code == 0
    assert re.search(rf"^  Examples?:\n    \$ .*\bsigil {command}\b", ended.out, re.MULTILINE)


def test_help_names_every_command_and_nothing_is_help_too(run_sigil: Sigil) -> None:
    ended = run_sigil("--help")
    assert set(COMMANDS) <= {info.name for info in app.registered_commands}
    assert all(f"\n  {command} " in ended.out for command in COMMANDS)
    assert run_sigil().out == ended.out


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (("run", "--help"), "sigil run"),
        (("keys", "create", "-h"), "sigil keys create"),
        (("keys", "-h"), "sigil keys"),
    ],
)
def test_help_is_one_document_with_json(
    run_sigil: Sigil, words: tuple[str, ...], command: str
) -> None:
    ended = run_sigil("--json", *words)
    assert (ended.code, ended.document["command"]) == (0, command)
    assert ended.document["help"].startswith(f"Usage: {command} ")


def test_help_of_everything_and_of_nothing_is_json_too(run_sigil: Sigil) -> None:
    assert {
        "command": "keys create",
        "topic": "Registries and access",
        "help": "Make an access token.",
    } in run_sigil("--json", "--help").document["commands"]
    assert run_sigil("--json").document == run_sigil("--json", "--help").document
    assert run_sigil("--json", "frob", "--help").error["message"] == "No such command 'frob'."
    assert run_sigil("--json", "keys").error["message"] == "sigil keys: which command?"


def test_an_option_that_there_is_not_is_told_with_those_that_look_like_it(run_sigil: Sigil) -> None:
    assert run_sigil("list", "--jsno").err.endswith(
        "help: did you mean --json? sigil list --help\n"
    )
    assert "did you mean --limit?" in run_sigil("list", "--limti", "5").err
    assert run_sigil("list", "--frob").err.endswith("help: sigil list --help\n")


def test_help_imports_nothing_heavy() -> None:
    script = "import sys; from sigil.cli import main; main(['--help']); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
        text=True,
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    assert not loaded & {
        "rich",
        "pydantic",
        "fastapi",
        "httpx",
        "wasmtime",
        "sqlite3",
        "jsonschema",
        "orjson",
        "sigil.registry",
    }


def test_shared_options_may_stand_anywhere_before_the_double_dash() -> None:
    assert hoist_options(["query", "x", "--json", "-q"]) == (["--json", "-q"], ["query", "x"])
    assert hoist_options(["run", "x", "--url", "http://a", "--token=t"]) == (
        ["--url", "http://a", "--token=t"],
        ["run", "x"],
    )
    assert hoist_options(["run", "--", "--json"]) == ([], ["run", "--", "--json"])
    assert hoist_options(["list", "--url"]) == (["--url"], ["list"])


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
    ended = run_sigil(*words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: ")
    assert run_sigil("--json", *words).error["code"] == "EUSAGE"


def test_every_failure_has_its_exit_code() -> None:
    problems = {
        1: [ToolError("ENOENT", ""), SigilError("EBUG", "")],
        2: [UsageError("EINVAL", "")],
        3: [UsageError("ENOENT", "")],
        4: [Refused("EAUTH", "")],
        5: [Refused("EPERM", ""), Refused("EMODULE", ""), Halt("EBUDGET", "")],
        6: [Conflict(), Refused("EEXIST", "")],
        7: [BackendError("EUNAVAILABLE", "")],
        8: [Refused("ETESTS", "")],
    }
    assert {
        number: [exit_code(problem) for problem in some] for number, some in problems.items()
    } == {number: [number] * len(some) for number, some in problems.items()}


def test_a_mistake_of_ours_is_one_line_and_no_traceback(
    run_sigil: Sigil, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("the inside")

    monkeypatch.setattr("sigil.wiring.open_stores", broken)
    ended = run_sigil("list")
    assert ended.code == 1
    assert ended.err.startswith("error: unexpected RuntimeError at test_command.py:")


def test_an_interrupt_ends_with_130(run_sigil: Sigil, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sigil.wiring.open_stores", interrupted)
    ended = run_sigil("list")
    assert (ended.code, ended.out, ended.err) == (
        130,
        "",
        "error: interrupted; nothing was changed (EINTERRUPTED)\n",
    )
    assert run_sigil("--json", "list").error["code"] == "EINTERRUPTED"


def test_ctrl_c_ends_a_real_run_with_130(shout: Sigil, place: Path) -> None:
    (place / "fifo").mkdir()
    os.mkfifo(place / "fifo" / "input")
    process = started("run", "shout", "@fifo/input", cwd=place)
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
    ended = run_sigil("deploy", "--name", "one", "--execute", "return 1")
    assert (ended.code, ended.err) == (130, f"error: interrupted; {said} (EINTERRUPTED)\n")


def test_ctrl_c_in_another_change_says_where_to_look(
    shout: Sigil, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sigil.registry.LocalRegistry.remove", interrupted)
    ended = shout("remove", "shout", "--yes")
    assert "`sigil logs shout` shows whether the change was made" in ended.err
    monkeypatch.setattr("sigil.registry.LocalRegistry.run", interrupted)
    assert "what the run changed by then" in shout("run", "shout", "-a", "text=a").err


def test_wrong_usage_names_the_command_whose_help_tells_more(run_sigil: Sigil) -> None:
    assert run_sigil("run").err.endswith("help: sigil run --help\n")
    assert run_sigil("keys", "revoke").err.endswith("help: sigil keys revoke --help\n")
    assert run_sigil("frob").err.endswith("help: sigil --help\n")


def test_a_reader_that_leaves_early_hears_no_complaint(shout: Sigil, place: Path) -> None:
    process = started("list", cwd=place)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    assert process.wait() == 1
    process.stderr.close()


@pytest.mark.parametrize("redirected", [">/dev/full", ">&-"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", ["list", "--help"])
def test_output_that_cannot_be_written_is_said_in_one_line(
    shout: Sigil, place: Path, words: str, redirected: str, unbuffered: str
) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": unbuffered}
    line = f"{sys.executable} -m sigil.cli {words} {redirected}"
    done = subprocess.run(
        line, shell=True, env=environment, cwd=place, stderr=-1, text=True, check=False
    )
    assert done.returncode == 1
    assert re.fullmatch(r"error: cannot write the output: [^\n]+ \(EWRITE\)\n", done.stderr)


def test_ctrl_c_while_the_command_is_imported_is_silent() -> None:
    interrupted = (
        "sys.meta_path.insert(0, type('Finder', (), {'find_spec': lambda *_: (_ for _ in"
        " ()).throw(KeyboardInterrupt)})())"
    )
    script = f"import sys; import sigil.cli as door; {interrupted}; sys.exit(door.main())"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def on_a_terminal(*words: str, cwd: Path, columns: int = 100) -> str:
    """What the real command shows on a terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": f"{columns}"}
    with subprocess.Popen(
        [sys.executable, "-m", "sigil.cli", *words],
        env=environment,
        cwd=cwd,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    ):
        os.close(theirs)
        shown = b""
        while chunk := _read(ours):
            shown += chunk
    os.close(ours)
    return shown.decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:
        return b""  # the other side is closed


def test_a_terminal_gets_a_drawn_table_and_nothing_that_steers_it(
    shout: Sigil, place: Path
) -> None:
    assert "─" in on_a_terminal("list", cwd=place)
    steering = on_a_terminal("run", "shout", '{"text": "a\\u001b[2Jb\\u202e\\n\\tc"}', cwd=place)
    assert steering == "A [2JB\r\n    C\r\n"
    as_json = on_a_terminal("run", "shout", "--json", '{"text": "\\u202e"}', cwd=place)
    assert "\u202e" not in as_json


def test_a_terminal_that_is_too_narrow_cuts_nothing(shout: Sigil, place: Path) -> None:
    detail = shout("inspect", "shout", "--json").document
    for words in (("inspect", "shout"), ("versions", "shout")):
        shown = on_a_terminal(*words, cwd=place, columns=70)
        assert "…" not in shown
        assert detail["digest"].removeprefix("sha256:")[-8:] in "".join(shown.split())
    assert '"default":1}}}' in "".join(
        on_a_terminal("inspect", "shout", cwd=place, columns=70).split()
    )


def test_columns_are_aligned_for_wide_characters_too() -> None:
    assert align_columns([["名", "b"], ["x", "c"]]) == ["名  b", "x   c"]


def test_the_first_start_shows_its_progress_on_stderr(
    run_sigil: Sigil, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_sigil("init", "greet", "--folder", "library/greet")
    monkeypatch.setenv("UNCAGED_LIBRARY", str(place / "library"))
    first = run_sigil("list", "--json")
    assert [row["namespace"] for row in first.document["items"]] == ["library"]
    assert first.err == "library: greet\n"
    assert run_sigil("list").err == ""
    assert run_sigil("remove", "greet", "--yes", "--json").error["code"] == "EPERM"
    assert run_sigil("remove", "greet", "--yes").code == 5


def test_a_library_without_a_capability_is_a_wrong_setting(
    run_sigil: Sigil, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (place, place / "nowhere"):
        monkeypatch.setenv("UNCAGED_LIBRARY", str(folder))
        ended = run_sigil("list", "--json")
        assert (ended.code, ended.out, ended.error["code"]) == (2, "", "ESETTING")


@pytest.fixture
def elsewhere(place: Path, compiled: Path, tmp_path: Path) -> Iterator[str]:
    """A registry behind HTTP whose token is `there`."""
    settings = Settings(data=str(tmp_path / "elsewhere"), library="none", runners=1)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "compiled").symlink_to(compiled, target_is_directory=True)
    registry = wiring.local_registry(settings, wiring.open_stores(settings))
    with served(sigil_http.build_registry_app(registry, "there")) as url:
        yield url
    registry.close()


def test_every_command_works_on_a_registry_elsewhere(
    run_sigil: Sigil, elsewhere: str, place: Path
) -> None:
    run_sigil("init", "greet")

    def there(*words: str) -> Any:
        return run_sigil(*words, "--url", elsewhere, "--token", "there")

    assert there("deploy", "greet").out.startswith("greet@1 sha256:")
    assert there("run", "greet", "-a", "text=Ada").out == "Hello, Ada!\n"
    assert there("query", "greet somebody").out.splitlines()[1].startswith("greet ")
    assert there("inspect", "greet", "--json").document["capability"] == "greet"
    assert there("list", "--json").document["items"][0]["capability"] == "greet"
    assert there("list", "--json").document["sandbox"]["cold"] >= 1
    assert there("list").err.startswith("sandbox: ")
    assert {"registry", "clock", "token"} <= {
        check["name"] for check in there("doctor", "--json").document["checks"]
    }
    assert there("run", "greet").code == 2
    assert there("run", "nothing").code == 3
    assert there("remove", "greet", "--yes").code == 0
    assert there("list", "--json").document["items"] == []
    assert run_sigil("list", "--json").document == {"items": []}
    assert not (place.parent / "data" / "uncaged.db").exists() or run_sigil("list").out == ""


def test_settings_may_name_the_registry_elsewhere(
    run_sigil: Sigil, elsewhere: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGIL_URL", elsewhere)
    assert run_sigil("list").code == 4
    monkeypatch.setenv("SIGIL_TOKEN", "wrong")
    refused = run_sigil("list")
    assert refused.code == 4
    assert "wrong or" not in refused.out + refused.err.replace("missing or wrong", "")
    doctor = run_sigil("doctor", "--json")
    assert (
        doctor.code,
        [check["name"] for check in doctor.document["checks"] if check["state"] == "fail"],
    ) == (1, ["token"])
    monkeypatch.setenv("SIGIL_TOKEN", "there")
    assert run_sigil("list").code == 0


def test_a_registry_that_is_not_there_ends_with_7(run_sigil: Sigil) -> None:
    ended = run_sigil("list", "--url", "http://127.0.0.1:9", "--token", "t")
    assert ended.code == 7
    assert "cannot be reached" in ended.err


def test_main_returns_the_code_and_never_exits_by_itself(place: Path) -> None:
    assert main(["version", "--quiet"]) == 0
    assert isinstance(typer.main.get_command(app), object)
