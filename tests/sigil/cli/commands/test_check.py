"""`sigil check`: what is wrong in a folder, and advice on it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sigil.cli.commands.check import find_advice
from sigil.manifest.package import Package, parse_flat, read_folder
from sigil.sandbox.javascript_module import make_module
from tests.sigil.cli.conftest import Sigil
from tests.sigil.cli.processes import PATIENCE, start_sigil
from tests.tables import each_row

GOOD = {
    "name": "a",
    "description": "Add two numbers.",
    "examples": ["one and one"],
    "schema": {"properties": {"n": {"type": "number", "description": "A number."}}},
    "tests": [{"input": {}, "output": 1}],
    "execute": "return 1",
}


LIBRARY = sorted((Path(__file__).parents[4] / "capabilities").glob("*/sigil.toml"))


def advice(**changed: object) -> set[str]:
    package = parse_flat({**GOOD, **changed})  # type: ignore[dict-item]
    return {one.field for one in find_advice(package, make_module(package.code.decode()))}


def test_a_good_one_hears_nothing() -> None:
    assert advice() == set()


@each_row(
    ("changed", "field"),
    [
        ({"description": "Adds."}, "description"),
        ({"examples": []}, "examples"),
        ({"tests": []}, "test"),
        ({"tests": [{"input": {}, "error": "EINVAL"}]}, "test"),
        ({"schema": {"properties": {"n": {"type": "number"}}}}, "input.n"),
        ({"schema": {"properties": {"n": {"description": "Anything."}}}}, "input.n"),
        ({"schema": {"properties": {}, "required": ["m"]}}, "input.required"),
        ({"permissions": {"kv": True}}, "permissions.kv"),
        (
            {"permissions": {"http": ["GET a.example/"]}, "execute": "// fetch(\nreturn 'fetch()'"},
            "permissions.http",
        ),
        ({"execute": "return fetch('https://a.example/')"}, "permissions.http"),
        ({"execute": "return Date.now()"}, "permissions.clock"),
        ({"execute": "return new Date()"}, "permissions.clock"),
        ({"execute": "return `${Math.random()}`"}, "permissions.random"),
        ({"execute": "console.log(1); return 1"}, "permissions.log"),
        ({"execute": "return env.call('b', {})"}, "permissions.call"),
        ({"permissions": {"secrets": ["K@a.example"]}}, "permissions.secrets"),
        ({"idempotent": True}, "idempotent"),
    ],
)
def test_each_of_these_is_told(changed: dict[str, object], field: str) -> None:
    assert field in advice(**changed)


@pytest.mark.parametrize(
    "code",
    ["return new Date(0).toISOString()", "return 'Date.now()'", "/* Math.random() */ return 1"],
)
def test_what_needs_no_permission_is_not_taken_for_it(code: str) -> None:
    assert advice(execute=code) == set()


def test_a_module_that_imports_nothing_can_use_nothing() -> None:
    wat = Package(
        parse_flat({**GOOD, "permissions": {"kv": True}}).manifest.model_copy(
            update={"lang": "wat"}
        ),
        b"(module)",
    )
    assert {one.field for one in find_advice(wat, b"\0asm")} == {"permissions.kv"}
    assert {one.field for one in find_advice(wat, b"\0asm..\x05sigil\x04call..")} == set()


def test_the_library_asks_for_what_its_code_uses() -> None:
    wrong = {
        (path.parent.name, one.field)
        for path in LIBRARY
        for one in find_advice(read_folder(path.parent), b"")
        if one.field.startswith("permissions")
    }
    # what is no script is looked at as a module that imports nothing: it has to ask for nothing
    assert wrong == set()
    assert LIBRARY


@pytest.mark.parametrize("command", ["check", "test", "deploy", "build"])
def test_a_manifest_that_is_no_file_is_not_read(
    run_sigil: Sigil, place: Path, command: str
) -> None:
    (place / "sigil.toml").symlink_to("/dev/null")
    result = run_sigil(command, ".", "--json")
    assert (result.code, result.error["code"], result.error["message"]) == (
        3,
        "ENOENT",
        "cannot read sigil.toml: it is not a regular file",
    )


def test_nobody_waits_for_a_pipe_in_a_folder(place: Path, fork_commands: None) -> None:
    os.mkfifo(place / "sigil.toml")
    assert b"cannot read sigil.toml: it is not a regular file" in read_output("check", ".")
    assert b"runners" in read_output("doctor")
    os.mkfifo(place / "uncaged.toml")
    assert b"uncaged.toml: it is not a regular file" in read_output("list")


def test_nobody_waits_for_a_pipe_or_a_device_that_came_with_a_folder(
    place: Path, fork_commands: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = place.parent / "data" / "token"
    os.mkfifo(token)
    assert b"it is not a regular file" in read_output("serve", "--port", "0")
    assert b"it is not a regular file" in read_output("doctor")
    token.unlink()
    token.symlink_to("/dev/zero")
    assert b"it is not a regular file" in read_output("serve", "--port", "0")
    os.mkfifo(place / "engine.wasm")
    monkeypatch.setenv("SIGIL_ENGINE", str(place / "engine.wasm"))
    assert b"no JavaScript engine" in read_output(
        "deploy", "--name", "one", "--description", "One.", "--execute", "return 1;"
    )
    assert b"engine.wasm: it is not a regular file" in read_output("doctor")


@pytest.mark.parametrize(
    "token",
    [b"\xff\xfe", b"a b", b"x" * 5_000, b"\x1b]0;owned\x07" + b"x" * 30],
    ids=["latin", "words", "long", "escape"],
)
def test_a_token_file_that_holds_none_is_told_as_that(
    run_sigil: Sigil, place: Path, token: bytes
) -> None:
    (place.parent / "data" / "token").write_bytes(token)
    result = run_sigil("serve", "--port", "0", "--json")
    assert (result.code, result.error["code"]) == (2, "ESETTING")
    assert "\x1b" not in result.err


def read_output(*words: str) -> bytes:
    """Return what the command says on both streams; it fails when the command does not end."""
    process = start_sigil(*words)
    try:
        return b"".join(process.communicate(timeout=PATIENCE))
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    "line",
    [
        "a = " + "[" * 3_000,
        "a = " + "{a = " * 3_000,
        ".".join(["a"] * 200_000) + " = 1",
        '"a.b"."' + '"."'.join("b" * 99) + '" = 1',
    ],
    ids=["lists", "tables", "parts", "quoted"],
)
def test_a_manifest_that_is_made_to_hurt_is_told_as_wrong_at_once(
    run_sigil: Sigil, place: Path, line: str
) -> None:
    (place / "sigil.toml").write_text(f'[capability]\nname = "a"\n{line}\n')
    result = run_sigil("check", ".", "--json")
    assert (result.code, result.error["code"]) == (2, "EMANIFEST")
    assert result.error["suggestion"] == "correct it: it has to be TOML (toml.io)"


def test_the_command_tells_it_and_strict_ends_with_1(run_sigil: Sigil, place: Path) -> None:
    run_sigil("init", "greet")
    assert run_sigil("check", "greet", "--strict").code == 0
    (place / "greet" / "main.js").write_text("return Date.now()")
    result = run_sigil("check", "greet")
    assert result.code == 0
    assert "permissions.clock: " in result.out
    strict = run_sigil("check", "greet", "--strict", "--json")
    assert (strict.code, strict.document["advice"][0]["field"]) == (1, "permissions.clock")


def test_check_names_what_is_wrong(run_sigil: Sigil, place: Path) -> None:
    assert run_sigil("check", "nowhere").code == 3
    run_sigil("init", "greet")
    (place / "greet" / "main.js").write_text("return (")
    broken = run_sigil("check", "greet", "--json")
    assert (broken.code, broken.error["code"], broken.error["source"]) == (5, "EMODULE", "greet")
    manifest = place / "greet" / "sigil.toml"
    manifest.write_text(manifest.read_text().replace('tags = ["example"]', "tags = 1"))
    wrong = run_sigil("check", "greet")
    assert wrong.code == 2
    assert wrong.err.startswith("error: greet/sigil.toml:4: tags: ")
    manifest.write_bytes(b"\xff")
    assert run_sigil("check", "greet").code == 2
