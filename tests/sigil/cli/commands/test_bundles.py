"""A bundle from its folder: what each command says of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sigil.cli.conftest import REMOTE_TOKEN, SHOUT, Sigil

MANIFEST = """[capability]
name = "{name}"
description = "Everything about loud voices."

[build]
lang = "bundle"

[bundle]
members = [{members}]
"""


def write_bundle(folder: Path, name: str, *members: str) -> str:
    folder.mkdir()
    listed = ", ".join(f'"{each}"' for each in members)
    (folder / "sigil.toml").write_text(MANIFEST.format(name=name, members=listed))
    return str(folder)


def test_a_bundle_is_deployed_found_and_inspected_and_neither_built_nor_run(
    run_sigil: Sigil, tmp_path: Path
) -> None:
    folder = write_bundle(tmp_path / "voices", "voices", "loud", "soft")
    missing = run_sigil("deploy", folder, "--json")
    assert (missing.code, missing.error["code"]) == (3, "ENOENT")
    for name in ("loud", "soft"):
        assert run_sigil("deploy", "--name", name, "--execute", SHOUT).code == 0
    assert run_sigil("deploy", folder, "--dry-run", "--json").document["tests"]["passed"] == 0
    assert run_sigil("deploy", folder, "--json").document["kind"] == "bundle"
    assert run_sigil("inspect", "voices", "--json").document["members"] == ["loud", "soft"]
    assert "loud, soft" in run_sigil("inspect", "voices").out
    (found, *_) = run_sigil("query", "loud voices", "--json").document["items"]
    assert [each["capability"] for each in found["offers"]] == ["loud", "soft"]
    assert "Members: loud, soft." in run_sigil("query", "loud voices").out
    assert "bundle" in run_sigil("list").out
    for verb in ("build", "test", "check"):
        refused = run_sigil(verb, folder, "--json")
        assert (refused.code, refused.error["code"]) == (2, "EUSAGE"), verb
    assert run_sigil("run", "voices", "{}", "--json").error["code"] == "EPERM"
    nested = run_sigil("deploy", write_bundle(tmp_path / "all", "all", "voices"), "--json")
    assert (nested.code, nested.error["code"]) == (2, "EINVAL")


def test_a_remote_registry_takes_a_bundle_and_answers_with_its_members(
    run_sigil: Sigil, tmp_path: Path, remote_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGIL_URL", remote_url)
    monkeypatch.setenv("SIGIL_TOKEN", REMOTE_TOKEN)
    assert run_sigil("deploy", "--name", "loud", "--execute", SHOUT).code == 0
    folder = write_bundle(tmp_path / "voices", "voices", "loud")
    assert run_sigil("deploy", folder, "--json").document["kind"] == "bundle"
    (found,) = run_sigil("query", "voices", "--json").document["items"]
    assert [each["capability"] for each in found["offers"]] == ["loud"]
    assert run_sigil("inspect", "voices", "--json").document["members"] == ["loud"]
