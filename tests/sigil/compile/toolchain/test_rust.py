"""Rust where its compiler has the target, a clear word where it has not, and no source that names
another file.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Literal

import pytest

import sigil
from sigil.compile.toolchain import rust
from sigil.errors import BackendError, Refused, ToolError, one_line
from sigil.sandbox.pool import Sandbox
from sigil.sandbox.program import Program
from tests.tables import each_row

ENGINE = Path(sigil.__file__).parent / "sandbox" / "engine" / "engine.wasm"
USE = "use crate::sigil::{call, fail, Failure, Json};\n"
ANSWER = USE + "pub fn answer(input: Json) -> Result<Json, Failure> { %s }\n"


def has(kind: Literal["sigil", "wasi"]) -> bool:
    try:
        rust._find_toolchain(kind, "test")
    except Refused:
        return False
    return True


compiles = pytest.mark.skipif(
    not has("sigil"), reason="no rustc with the target wasm32-unknown-unknown"
)
commands = pytest.mark.skipif(not has("wasi"), reason="no rustc with the target wasm32-wasip1")


def run(sandbox: Sandbox, made: rust.Compiled, value: object) -> object:
    sandbox.check(made.wasm, made.kind)
    program = Program(sha256(made.wasm).hexdigest(), made.kind, lambda: made.wasm)
    return json.loads(sandbox.run(program, json.dumps(value).encode()).output)


def refusal(source: str) -> str:
    with pytest.raises(Refused) as caught:
        rust.compile_source(source, "test")
    assert caught.value.code == "EMODULE"
    assert caught.value.message == one_line(caught.value.message)
    return caught.value.message


@compiles
def test_json_is_read_and_written(sandbox: Sandbox) -> None:
    made = rust.compile_source(
        ANSWER
        % """
        let (n, t) = (input.get("n"), input.get("t").text());
        if t.is_empty() { return fail("EINVAL", "no \\"t\\""); }
        let asked = call("clock", Json::Null).unwrap_err().code;
        let inner = Json::object().with("k", 1).with("k", Json::Null);
        Ok(vec![Json::from(&input), t.into(), n.number().into(), n.integer().into(), i64::MIN.into(), 1e21.into(), f64::NAN.into(),
            input.get("b").boolean().into(), input.get("o").get("x").items().len().into(), inner, asked.into(), 1e-7.into()].into())""",
        "test",
    )
    assert made.kind == "sigil"
    odd = 'a"\\\n\t\x00\x1f é 编 👍 </'
    value = {"n": -12.75, "t": odd, "b": True, "o": {"x": [1, "}]", {"y": None}]}, "e": [[], {}]}
    wanted = [value, odd, -12.75, -12, -(2**63), 1e21, None, True, 3, {"k": None}, "EPERM", 1e-7]
    assert run(sandbox, made, value) == wanted
    with pytest.raises(ToolError, match='EINVAL: no "t"'):
        run(sandbox, made, {})


@commands
def test_a_main_is_a_command(sandbox: Sandbox) -> None:
    source = (
        "use std::io::Read;\nfn main() { let mut s = String::new();"
        ' std::io::stdin().read_to_string(&mut s).unwrap(); print!("{s}"); }\n'
    )
    made = rust.compile_source(source, "test")
    assert made.kind == "wasi"
    assert run(sandbox, made, {"a": [1]}) == {"a": [1]}


@compiles
@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (ANSWER % 'Ok("x")', "line 2, column 58: mismatched types"),
        (ANSWER % "Ok(input", "line 2, column "),
        (USE, "there is no `pub fn answer(input: Json) -> Result<Json, Failure>`"),
        (ANSWER % "Ok(input)" + "(" * 50_000, "takes too long or too much memory"),
        (ANSWER % "Ok(input)" + "#![feature(asm)]", "line 3, column "),
        (ANSWER % 'Ok(env!("PATH").into())', "environment variable `PATH` not defined"),
    ],
    ids=range(6),
)
def test_what_does_not_compile_is_refused_in_one_line(source: str, reason: str) -> None:
    assert reason in refusal(source)


@each_row(
    "source",
    [
        'fn main() { println!("{}", include_str!("/etc/passwd")) }',
        'const X: &[u8] = include_bytes ! ("/etc/passwd");',
        'macro_rules! m { ($a:ident) => { $a!("/etc/passwd") } }\nm!(include);',
        '" \n// "; include!("/etc/passwd");',
        '/*\n// */ include!("/etc/passwd");',
        '#[path = "/etc/passwd"]\nmod x;',
        '#[path = "/etc"]\nmod x { mod passwd; }',
        'macro_rules! m { ($a:tt $b:ident) => { #[path = "/etc/passwd"] $a $b; } }\nm!(mod x);',
        "mod/**/x;",
        "mod sigil;",
        "extern crate proc_macro;",
        (
            'macro_rules! m { ($k:tt $n:ident $b:tt) => { #[path="/etc/passwd"] $k $n; } }\nm! {'
            " mod x {} }"
        ),
        'macro m($k:tt $n:ident $b:tt) { #[path="/etc/passwd"] $k $n; }\nm! { mod x {} }',
        "mod x { #[macro_export] macro_rules! m { () => {} } }",
        'core::arch::global_asm!(".incbin \\"/etc/passwd\\"");',
        'fn main() { unsafe { std::arch::asm!(".incbin \\"/etc/passwd\\"") } }',
        '#![debugger_visualizer(gdb_script_file = "/etc/passwd")]',
        "fn main() {}\0",
    ],
)
def test_a_source_cannot_name_a_file(source: str) -> None:
    said = (
        r"line \d+: (no \w+|no mod beside a macro_rules|a mod is written out) here: a source is one"
        r" file"
    )
    with pytest.raises(Refused, match=rf"^EMODULE: ({said}|the source holds a zero byte)"):
        rust.require_single_file(source, "test")


@pytest.mark.parametrize(
    "source",
    [
        "// what we include, mod by mod\n",
        "// a macro_rules\nmod inner {}\n",
        "// a mod\nmacro_rules! m { () => {} }\n",
        "mod inner { pub fn f() {} }\n",
        "let modulo = 1; let included = 2;\n",
    ],
)
def test_ordinary_sources_are_let_through(source: str) -> None:
    rust.require_single_file(source, "test")

    with pytest.raises(Refused):
        rust.require_single_file(f'{source}include!("x");\n', "test")


def test_without_compiler_or_target_the_error_says_how_to_get_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Refused, match="rustc, which is missing here") as caught:
        rust.compile_source(ANSWER % "Ok(input)", "test")
    assert "rustup" in caught.value.suggestion
    (tmp_path / "rustc").write_text(f"#!/bin/sh\necho {tmp_path}\n")
    (tmp_path / "rustc").chmod(0o755)
    with pytest.raises(Refused, match="rustc has no target wasm32-unknown-unknown here") as caught:
        rust.compile_source(ANSWER % "Ok(input)", "test")
    assert caught.value.suggestion.startswith("rustup target add wasm32-unknown-unknown")
    with pytest.raises(Refused, match="rustc has no target wasm32-wasip1 here"):
        rust.compile_source("fn main() {}", "test")


def test_a_compiler_that_is_slow_to_start_is_not_taken_for_a_broken_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "rustc").write_text("#!/bin/sh\nexec /bin/sleep 60\n")
    (tmp_path / "rustc").chmod(0o755)
    with monkeypatch.context() as busy:
        busy.setattr(rust, "START_SECONDS", 0.1)
        with pytest.raises(BackendError, match="EBUSY: this machine is too busy"):
            rust.compile_source(ANSWER % "Ok(input)", "test")
    (tmp_path / "rustc").write_text(f"#!/bin/sh\necho {tmp_path}\n")

    with pytest.raises(Refused, match="rustc has no target"):
        rust.compile_source(ANSWER % "Ok(input)", "test")
