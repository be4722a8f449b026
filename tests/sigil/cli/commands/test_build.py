"""`sigil init --lang …` and `sigil build`: a project that works in every language, and what it
becomes.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sigil.cli.templates import STARTERS_BY_LANGUAGE
from sigil.manifest.languages import SOURCES
from tests.selection import thorough
from tests.servers.npm import node, packages
from tests.sigil.cli.conftest import Sigil
from tests.sigil.compile.toolchain.test_c import CACHE
from tests.sigil.compile.toolchain.test_rust import has

KINDS = {
    "js": "js",
    "ts": "js",
    "c": "sigil",
    "assemblyscript": "sigil",
    "rust": "sigil",
    "wat": "sigil",
    "wasm": "sigil",
    "wasi": "wasi",
}


@pytest.fixture
def compilers(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every compiler where it is looked for; the folder to work in."""
    cache = place.parent / "data" / "compiled"
    for name, made in (("c", CACHE), ("assemblyscript", packages())):
        made.mkdir(parents=True, exist_ok=True)
        link = cache / name
        if link.is_symlink() and not link.exists():
            link.unlink()  # of a checkout that is gone
        if not link.exists():
            link.symlink_to(made, target_is_directory=True)
    monkeypatch.setenv("UNCAGED_CACHE", str(cache))
    monkeypatch.setenv("PATH", str(node().parent), prepend=":")
    return place


def test_there_is_a_beginning_for_every_language_that_has_a_source() -> None:
    assert STARTERS_BY_LANGUAGE.keys() == SOURCES.keys() - {"mcp"} == KINDS.keys()


@pytest.mark.parametrize(
    "lang", ["js", "c", *thorough("ts", "assemblyscript", "rust", "wat", "wasm", "wasi")]
)
def test_what_init_writes_passes_its_tests_at_once(
    lang: str, run_sigil: Sigil, compilers: Path
) -> None:
    if lang == "rust" and not has("sigil"):
        pytest.skip("no rustc with the target")
    assert run_sigil("init", "greet", "--lang", lang).code == 0
    tested = run_sigil("test", "greet", "--json")
    assert (tested.code, tested.document["passed"], tested.document["failed"]) == (0, 2, 0), (
        tested.err
    )
    built = run_sigil("build", "greet", "--json").document
    assert (built["lang"], built["kind"]) == (lang, KINDS[lang])
    assert {"memory"} < set(built["exports"])
    answer = run_sigil("deploy", "greet", "--json")
    assert answer.code == 0, answer.err
    assert answer.document["digest"] == built["digest"]
    assert run_sigil("run", "greet", "-a", "text=Ada").out in ("Hello, Ada!\n", '{"text":"Ada"}\n')


@pytest.mark.parametrize("lang", ["js", "ts"])
def test_editors_know_what_the_sandbox_has(lang: str, run_sigil: Sigil, place: Path) -> None:
    run_sigil("init", "greet", "--lang", lang)
    (place / "greet" / "more.ts").write_text(
        "export default async function (input: { a: number }, env: Env) {\n"
        '  const r = await fetch("https://x.example/", { headers: { a: "b" } });\n'
        '  const kept = await env.KV.get<{ a: 1 }>("x", "json");\n'
        '  const all = [...r.headers], to = new URL("x", r.url).searchParams.get("q");\n'
        "  return Response.json({ kept, to, id: crypto.randomUUID(), all });\n}\n"
    )
    check = [
        node(),
        packages() / "node_modules" / "typescript" / "bin" / "tsc",
        "--strict",
        "--noEmit",
        "--lib",
        "es2024",
        "--module",
        "preserve",
    ]
    check += [
        "--ignoreConfig",
        "--types",
        "",
        "sigil.d.ts",
        "input.d.ts",
        "more.ts",
        *(["main.ts"] if lang == "ts" else []),
    ]
    done = subprocess.run(check, cwd=place / "greet", capture_output=True, text=True, check=False)
    assert done.stdout == ""
    (place / "greet" / "more.ts").write_text(
        "export default function () { setTimeout(() => 1, 2); }\n"
    )
    assert (
        "Cannot find name 'setTimeout'"
        in subprocess.run(
            check, cwd=place / "greet", capture_output=True, text=True, check=False
        ).stdout
    )


def test_build_tells_what_came_of_a_source(run_sigil: Sigil, place: Path) -> None:
    run_sigil("init", "echo", "--lang", "wat")
    result = run_sigil("build", "echo")
    digest, kind, imports, exports = result.out.splitlines()
    assert digest == f"echo {run_sigil('check', 'echo', '--json').document['digest']}"
    assert kind.startswith("wat: a module of the ABI sigil/1, 204 bytes of wasm, ")
    assert (imports, exports) == (
        "imports: nothing",
        "exports: memory, sigil_alloc, sigil_run, sigil_out_ptr, sigil_out_len",
    )


def test_what_build_writes_is_deployed_where_no_compiler_is(run_sigil: Sigil, place: Path) -> None:
    run_sigil("init", "echo", "--lang", "wat")
    assert run_sigil("build", "echo", "-o", "echo/main.wasm").err.endswith("wrote echo/main.wasm\n")
    manifest = place / "echo" / "sigil.toml"
    manifest.write_text(
        manifest.read_text().replace('"wat"', '"wasm"').replace("main.wat", "main.wasm")
    )
    assert run_sigil("deploy", "echo").code == 0
    assert run_sigil("run", "echo", "-a", "text=Ada").out == '{"text":"Ada"}\n'


def test_a_module_that_stands_nowhere_alone_is_not_written(run_sigil: Sigil, place: Path) -> None:
    run_sigil("init", "greet", "--lang", "ts")
    result = run_sigil("build", "greet", "-o", "greet.wasm", "--json")
    assert (result.code, result.error["code"]) == (2, "EINVAL")
    assert not (place / "greet.wasm").exists()


@pytest.mark.parametrize("command", ["check", "test", "build", "deploy"])
def test_typescript_that_cannot_be_read_is_told_with_its_own_place(
    command: str, run_sigil: Sigil, place: Path
) -> None:
    run_sigil("init", "greet", "--lang", "ts")
    (place / "greet" / "main.ts").write_text(
        "interface A {\n  b: string;\n}\nconst a = (input as A).b; return a +;\n"
    )
    assert (
        run_sigil(command, "greet", "--json").error["message"]
        == "greet/main.ts:4:37: unexpected token"
    )


def test_typescript_that_is_not_utf_8_is_told(run_sigil: Sigil, place: Path) -> None:
    run_sigil("init", "greet", "--lang", "ts")
    (place / "greet" / "main.ts").write_bytes(b"// caf\xe9\n")
    assert (
        run_sigil("build", "greet", "--json").error["message"]
        == "greet/main.ts:1: the source is not UTF-8"
    )


def test_nobody_is_told_to_wait_for_a_source_that_is_no_text(
    run_sigil: Sigil, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNCAGED_CACHE", str(place / "cache"))
    run_sigil("init", "greet", "--lang", "c")
    (place / "greet" / "main.c").write_bytes(b'#include "sigil.h"\n// caf\xe9\n')
    assert run_sigil("build", "greet").err.startswith(
        "error: greet/main.c:2: the source is not UTF-8"
    )


@pytest.mark.parametrize(
    ("lang", "source"), [("c", "main.c"), ("assemblyscript", "main.ts"), ("rust", "main.rs")]
)
def test_where_a_compiler_is_missing_the_way_out_is_told(
    lang: str, source: str, run_sigil: Sigil, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sigil.compile.toolchain import c

    monkeypatch.setattr(c, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(place))
    monkeypatch.setenv("UNCAGED_CACHE", str(place / "cache"))
    run_sigil("init", "greet", "--lang", lang)
    result = run_sigil("build", "greet")
    assert result.code == 5
    assert "missing here" in result.err or "is missing" in result.err
    assert "wasm" in result.err
    assert (place / "greet" / source).is_file()
