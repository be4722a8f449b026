"""How commands end: the published exit codes, Ctrl-C, a time limit, and readers that leave."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sigil import wiring
from sigil.cli import main
from sigil.http import app as sigil_http
from sigil.settings import Settings
from tests.sigil.cli.conftest import Sigil
from tests.sigil.cli.processes import ROOT, Terminal
from tests.sigil.serving import served

FOREVER = "for (;;);"


@pytest.fixture
def stocked(shout: Sigil, place: Path) -> Sigil:
    """`sigil`, with a capability that fails, one that asks, a folder whose test fails, one that may
    not run, and an export.
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


CODES: tuple[tuple[int, tuple[str, ...]], ...] = (
    *(
        (0, words)
        for words in (
            ("list",),
            ("run", "shout", "-a", "text=a"),
            ("query", "nothing like it"),
            ("version",),
            ("help", "run"),
        )
    ),
    *(
        (0, words)
        for words in (
            ("audit", "--verify"),
            ("grants",),
            ("keys", "list"),
            ("secret", "list"),
            ("import", "shout.sigil"),
        )
    ),
    *((1, words) for words in (("run", "broken"), ("check", "fails", "--strict"))),
    *(
        (2, words)
        for words in (
            ("frob",),
            ("run", "shout"),
            ("run", "shout", "nonsense"),
            ("run", "A B"),
            ("list", "--url", "ftp://x"),
        )
    ),
    *(
        (2, words)
        for words in (
            ("remove", "shout"),
            ("grant", "asks"),
            ("keys", "create", "--expires", "soon"),
            ("list", "--timeout", "soon"),
        )
    ),
    *(
        (3, words)
        for words in (
            ("run", "nothing"),
            ("inspect", "shout@9"),
            ("deploy", "nowhere"),
            ("import", "nowhere"),
            ("versions", "nope"),
        )
    ),
    *((3, words) for words in (("list", "--profile", "nobody"), ("logs", "nothing"))),
    *((5, words) for words in (("check", "unfit"), ("deploy", "unfit"))),
    *((6, words) for words in (("init", "fails"),)),
    *((7, words) for words in (("list", "--url", "http://127.0.0.1:9", "--token", "t"),)),
    *(
        (8, words)
        for words in (("test", "fails"), ("deploy", "fails"), ("deploy", "fails", "--dry-run"))
    ),
)


def test_every_failure_ends_with_its_published_code_and_a_next_step(stocked: Sigil) -> None:
    for code, words in CODES:
        ended = stocked(*words, "--json")
        assert ended.code == code, (words, ended)
        assert "Traceback" not in ended.err
        if code > 1 and words[0] != "test":
            assert set(ended.error) == {"source", "code", "message", "suggestion"}
            assert ended.error["suggestion"], words
        if ended.out:
            json.loads(ended.out)


def test_a_wrong_token_ends_with_4_and_what_the_library_owns_with_5(
    run_sigil: Sigil, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(data=str(place.parent / "elsewhere"), library="none", runners=1)
    registry = wiring.local_registry(settings, wiring.open_stores(settings))
    with served(sigil_http.build_registry_app(registry, "there")) as url:
        ended = run_sigil("list", "--url", url, "--token", "wrong")
    registry.close()
    assert (ended.code, "sigil login" in ended.err) == (4, True)
    run_sigil("init", "greet", "--folder", "library/greet")
    monkeypatch.setenv("UNCAGED_LIBRARY", str(place / "library"))
    assert run_sigil("remove", "greet", "--yes").code == 5


def test_a_name_that_is_nearly_right_is_suggested(shout: Sigil) -> None:
    assert shout("run", "shuot", "--json").error["suggestion"].startswith("did you mean shout? ")
    assert shout("inspect", "shot", "--json").error["suggestion"].startswith("did you mean shout? ")
    assert shout("run", "zzzz", "--json").error["suggestion"].startswith("`sigil list`")
    assert "Did you mean 'deploy'?" in shout("depoly").err


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
        ended = stocked(*words)
    assert (ended.code, ended.out) == (130, "")
    assert ended.err.splitlines()[-1].startswith("error: interrupted")
    assert "Traceback" not in ended.err
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

    def second_is_interrupted(*given: object) -> object:
        done.append(1)
        if len(done) == 2:
            raise KeyboardInterrupt
        return real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(LocalRegistry, "deploy", second_is_interrupted)
    ended = run_sigil("deploy", "all")
    assert ended.code == 130
    assert "deployed 1 of 2; the rest was not tried" in ended.err
    assert "nothing was deployed" in ended.err


def test_ctrl_c_really_ends_a_test_at_work(place: Path) -> None:
    (place / "busy").mkdir()
    (place / "busy" / "sigil.toml").write_text(
        '[capability]\nname = "busy"\ndescription = "One."\n[limits]\ntimeout_ms ='
        " 30000\n[[test]]\ninput = {}\noutput = 1\n"
    )
    (place / "busy" / "main.js").write_text(FOREVER)
    terminal = Terminal("test", "busy")
    terminal.until("testing busy")
    terminal.process.send_signal(signal.SIGINT)
    shown = terminal.ended()
    assert terminal.process.returncode == 130
    assert "error: interrupted; nothing was changed (EINTERRUPTED)" in shown


def test_a_command_that_takes_longer_than_it_may_ends_with_7(run_sigil: Sigil, place: Path) -> None:
    assert (
        run_sigil(
            "deploy",
            "--name",
            "busy",
            "--execute",
            "if (input.on) for (;;); return 1",
            "--schema",
            '{"properties": {"on": {}}}',
        ).code
        == 0
    )
    ended = run_sigil("run", "busy", '{"on": true}', "--timeout", "0.7", "--json")
    assert (ended.code, ended.error["code"]) == (7, "ETIMEDOUT")
    assert ended.error["message"].startswith("not done after 0.7 s; ")
    assert run_sigil("run", "busy", "--timeout=30").out == "1\n"
    for wrong in ("0", "-1", "inf", "nan", "x", "1e9"):
        assert run_sigil("list", "--timeout", wrong).code == 2, wrong
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


@pytest.mark.parametrize("words", ["list", "help", "--help", "schema"])
def test_a_reader_that_has_seen_enough_hears_nothing(shout: Sigil, place: Path, words: str) -> None:
    line = f"{sys.executable} -m sigil.cli {words} | head -1"
    done = subprocess.run(
        ["bash", "-c", line],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=place,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr, done.stdout.count(b"\n")) == (0, b"", 1)


def test_what_a_command_asks_of_whom_is_told_and_never_the_token(
    run_sigil: Sigil, place: Path
) -> None:
    settings = Settings(data=str(place.parent / "elsewhere"), library="none", runners=1)
    registry = wiring.local_registry(settings, wiring.open_stores(settings))
    with served(sigil_http.build_registry_app(registry, "there-is-a-token")) as url:
        ended = run_sigil("list", "--url", url, "--token", "there-is-a-token", "-v")
    registry.close()
    assert f"# GET {url}/_api/list" in ended.err
    assert "# took " in ended.err
    assert "there-is-a-token" not in ended.err + ended.out
    assert "# registry: in this process" in run_sigil("list", "--verbose").err


def test_verbose_shows_where_a_mistake_of_ours_is(
    run_sigil: Sigil, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("the inside")

    monkeypatch.setattr("sigil.wiring.open_stores", broken)
    assert "Traceback" not in run_sigil("list").err
    assert "RuntimeError: the inside" in run_sigil("list", "-v").err


def test_help_tells_of_every_command_by_topic(run_sigil: Sigil, place: Path) -> None:
    rows = run_sigil("help", "--json").document["commands"]
    assert {"deploy", "keys create", "profiles use"} <= {row["command"] for row in rows}
    assert all(row["help"] and not row["help"].endswith("...") for row in rows)
    shown = run_sigil("--help").out
    assert all(f"\n{row['topic']}:\n" in shown for row in rows)
    assert "..." not in shown.partition("COMMAND [ARGS]...")[2]
    assert (
        run_sigil("help", "keys", "create").out
        == run_sigil("keys", "create", "--help").out
        == run_sigil("keys", "create", "-h").out
    )
    assert "Did you mean 'keys'?" in run_sigil("help", "kyes").err
    assert run_sigil("help", "keys", "nothing").code == 2
    assert main(["help"]) == 0
