"""`sigil doctor`, with one thing broken after the other."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sigil.cli.doctor import DoctorWarning, State, machine, run_checks
from sigil.errors import BackendError
from sigil.settings import Settings
from tests.sigil.cli.conftest import REMOTE_TOKEN, CommandResult, Sigil

HERE = (
    "environment",
    "engine",
    "compiled code",
    "runners",
    "compilers",
    "data folder",
    "disk",
    "store",
    "artifacts",
    "token",
    "records",
)
HERE += ("library", "search", "web", "logins")


def states(result: CommandResult) -> dict[str, str]:
    """Each check's state."""
    return {check["name"]: check["state"] for check in result.document["checks"]}


def found(result: CommandResult, name: str) -> dict[str, str]:
    return next(check for check in result.document["checks"] if check["name"] == name)


@pytest.fixture
def doctor(run_sigil: Sigil) -> Callable[[], CommandResult]:
    return lambda: run_sigil("doctor", "--json")


def test_every_check_passes_on_a_healthy_machine(doctor: Callable[[], CommandResult]) -> None:
    result = doctor()
    assert (result.code, result.document["ok"]) == (0, True)
    assert states(result) == dict.fromkeys(HERE, "ok")
    assert {"name", "value", "meaning", "set"} == set(result.document["settings"][0])
    assert "41 + 1 = 42" in found(result, "runners")["found"]
    assert "seccomp" in found(result, "runners")["found"]


def test_people_get_a_line_each_and_what_to_do(run_sigil: Sigil, place: Path) -> None:
    (place.parent / "data").chmod(0o777)
    result = run_sigil("doctor")
    assert result.code == 0
    assert "UNCAGED_DATA" in result.out
    assert "SIGIL_RATE" not in result.out
    assert f"chmod 700 {place.parent / 'data'}" in result.out
    assert "0 failures, 1 warning" in result.err
    assert "SIGIL_RATE" in run_sigil("doctor", "--verbose").out


def test_what_is_broken_is_red_and_the_rest_is_still_looked_at(
    doctor: Callable[[], CommandResult],
    run_sigil: Sigil,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SIGIL_ENGINE", str(place / "nothing.wasm"))
    monkeypatch.setenv("UNCAGED_STORE", "redis-on-the-moon://x")
    result = doctor()
    assert result.code == 1
    assert {name for name, state in states(result).items() if state == "fail"} >= {
        "engine",
        "runners",
        "store",
        "artifacts",
    }
    assert {name for name, state in states(result).items() if state == "ok"} >= {
        "data folder",
        "token",
    }
    assert all(check["mend"] for check in result.document["checks"] if check["state"] == "fail")
    assert "FAIL" in run_sigil("doctor").out


def test_a_store_that_is_a_folder_or_away_is_red(
    doctor: Callable[[], CommandResult], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place.parent / "data" / "uncaged.db").mkdir()
    assert states(doctor())["store"] == "fail"
    monkeypatch.setenv("UNCAGED_STORE", "redis://127.0.0.1:1/0")
    result = doctor()
    assert (result.code, states(result)["store"]) == (1, "fail")


def test_a_damaged_store_is_red(doctor: Callable[[], CommandResult], place: Path) -> None:
    (place.parent / "data" / "uncaged.db").write_bytes(b"no database" * 1000)
    assert states(doctor())["store"] == "fail"


def test_a_token_that_others_read_is_red_and_a_short_one_a_warning(
    doctor: Callable[[], CommandResult], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    doctor()
    token = place.parent / "data" / "token"
    token.chmod(0o644)
    assert found(doctor(), "token")["state"] == "fail"
    assert found(doctor(), "token")["mend"].startswith(f"chmod 600 {token}")
    token.chmod(0o600)
    token.write_text("")
    assert found(doctor(), "token")["state"] == "fail"
    monkeypatch.setenv("UNCAGED_TOKEN", "short")
    assert (found(doctor(), "token")["state"], doctor().code) == ("warn", 0)


def test_compiled_code_that_is_damaged_or_cannot_be_kept_is_a_warning(
    doctor: Callable[[], CommandResult],
    place: Path,
    compiled: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept, engine = place.parent / "kept", place / "engine.wasm"
    monkeypatch.setattr(
        "sigil.sandbox.code_cache.open_shipped", lambda: None
    )  # an installation has the engine's code beside it
    monkeypatch.setenv("UNCAGED_CACHE", str(kept))
    engine.write_bytes(b"\0asm\1\0\0\0")  # the smallest module: to compile it takes no second
    with monkeypatch.context() as patch:
        patch.setenv("SIGIL_ENGINE", str(engine))
        doctor()
    settings = Settings(cache=str(kept), engine=str(engine))
    assert machine.check_cache(settings).startswith("1 modules")
    (code,) = kept.glob("*.code")
    code.write_bytes(code.read_bytes()[:-1])
    with pytest.raises(DoctorWarning, match="damaged"):
        machine.check_cache(settings)
    (place / "file").write_text("")
    monkeypatch.setenv("UNCAGED_CACHE", str(place / "file"))
    result = doctor()
    assert (states(result)["compiled code"], states(result)["runners"], result.code) == (
        "warn",
        "ok",
        0,
    )


def test_another_engine_than_the_sources_make_is_a_warning(
    doctor: Callable[[], CommandResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sigil.sandbox.engine.build.PRELUDE", ("core",))
    assert "another version" in found(doctor(), "engine")["found"]
    assert found(doctor(), "engine")["state"] == "warn"


def test_a_full_disk_is_red_and_one_that_is_nearly_full_a_warning(
    doctor: Callable[[], CommandResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    for free, state in ((1 << 20, "fail"), (100 << 20, "warn")):
        monkeypatch.setattr(
            "sigil.cli.doctor.local_registry.shutil",
            SimpleNamespace(disk_usage=lambda _, free=free: SimpleNamespace(free=free)),
        )
        assert states(doctor())["disk"] == state


def test_a_compiler_is_missed_only_where_a_folder_needs_it(
    doctor: Callable[[], CommandResult], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sigil.compile.toolchain.c.find_spec", lambda name: None)
    assert states(doctor())["compilers"] == "ok"
    (place / "fast").mkdir()
    (place / "fast" / "sigil.toml").write_text('[build]\nlang = "c"\n')
    result = doctor()
    assert result.code == 1
    assert "sigil toolchain install c, or deploy" in found(result, "compilers")["mend"]


def test_a_compiler_that_is_there_and_does_not_work_is_missed_as_well(
    doctor: Callable[[], CommandResult], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools, source, manifest = (
        place.parent / "tools",
        place / "fast" / "main.rs",
        place / "fast" / "sigil.toml",
    )
    for folder in (tools / "root" / "lib" / "rustlib" / "wasm32-wasip1", place / "fast"):
        folder.mkdir(parents=True)
    (tools / "rustc").write_text(f"#!/bin/sh\necho {tools / 'root'}\n")
    (tools / "rustc").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    manifest.write_text('[build]\nlang = "rust"\n')
    source.write_text("fn main() {}")
    assert states(doctor())["compilers"] == "ok"
    source.write_text("use crate::sigil::Json;")
    result = doctor()
    assert (result.code, found(result, "compilers")["found"]) == (
        1,
        "a source here is in rust: rustc has no target wasm32-unknown-unknown here",
    )
    assert "rustup target add wasm32-unknown-unknown" in found(result, "compilers")["mend"]

    monkeypatch.setenv("UNCAGED_CACHE", str(place.parent / "empty"))
    manifest.write_text('[build]\nlang = "assemblyscript"\n')
    assert "the AssemblyScript compiler is missing" in found(doctor(), "compilers")["found"]


def test_a_slower_sandbox_is_a_warning(
    doctor: Callable[[], CommandResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGIL_SANDBOX", "plain")
    assert found(doctor(), "runners")["state"] == "warn"


def test_a_library_that_cannot_be_read_is_red(
    doctor: Callable[[], CommandResult], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "library" / "one").mkdir(parents=True)
    (place / "library" / "one" / "sigil.toml").write_text("nonsense")
    monkeypatch.setenv("UNCAGED_LIBRARY", str(place / "library"))
    assert states(doctor())["library"] == "fail"
    monkeypatch.setenv("UNCAGED_LIBRARY", str(place / "nowhere"))
    assert states(doctor())["library"] == "fail"


def test_a_file_of_tokens_that_others_read_is_red(
    doctor: Callable[[], CommandResult], tmp_path: Path
) -> None:
    kept = tmp_path / "config" / "uncaged" / "credentials.toml"
    kept.parent.mkdir(parents=True)
    kept.write_text("")
    kept.chmod(0o644)
    assert found(doctor(), "logins")["mend"] == f"chmod 600 {kept}"


def test_secrets_are_not_shown(run_sigil: Sigil, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNCAGED_TOKEN", "very-secret")
    for words in (("doctor",), ("doctor", "--json"), ("doctor", "--verbose")):
        result = run_sigil(*words)
        assert "very-secret" not in result.out + result.err
        assert "UNCAGED_TOKEN" in result.out


def test_a_setting_that_is_wrong_is_a_usage_error(
    run_sigil: Sigil, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGIL_RUNNERS", "many")
    result = run_sigil("doctor", "--json")
    assert (result.code, result.error["code"]) == (2, "ESETTING")


def test_a_check_that_breaks_is_told_like_any_other() -> None:
    def broken() -> str:
        raise RuntimeError("the\ninside")

    def away() -> str:
        raise BackendError("EUNAVAILABLE", "away", suggestion="wait")

    one, two = run_checks({"one": broken, "two": away})
    assert (one.state, one.found) == (State.fail, "RuntimeError: the inside")
    assert (two.found, two.mend) == ("away", "wait")


def test_a_remote_registry_is_checked_with_its_clock_version_and_token(
    run_sigil: Sigil, remote_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:

    def run_remotely(*words: str) -> Any:
        return run_sigil("doctor", "--json", "--url", remote_url, *words)

    well = run_remotely("--token", REMOTE_TOKEN)
    assert (well.code, set(states(well).values())) == (0, {"ok"})
    assert {"registry", "clock", "token", "runners"} <= states(well).keys()
    wrong = run_remotely("--token", "wrong")
    assert (wrong.code, states(wrong)["token"], states(wrong)["registry"]) == (1, "fail", "ok")
    assert "sigil login" in found(wrong, "token")["mend"]
    assert states(run_remotely())["token"] == "fail"
    now = time.time
    monkeypatch.setattr(
        "sigil.cli.doctor.remote_registry.time", SimpleNamespace(time=lambda: now() + 3_600)
    )
    monkeypatch.setattr("sigil.cli.doctor.remote_registry.installed_version", lambda: "9.9")
    skewed = run_remotely("--token", REMOTE_TOKEN)
    assert (skewed.code, states(skewed)["clock"], states(skewed)["registry"]) == (
        0,
        "warn",
        "warn",
    )
    closed = run_sigil("doctor", "--json", "--url", "http://127.0.0.1:9", "--token", "t")
    assert (closed.code, states(closed)["registry"]) == (1, "fail")


def test_what_a_profile_says_is_no_setting_of_the_environment(run_sigil: Sigil) -> None:
    assert "SIGIL_URL" not in run_sigil("doctor", "--url", "http://127.0.0.1:9", "--token", "t").out
