"""AssemblyScript with npm's own compiler: what runs, what is refused, and that it sees no file of
the machine.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from hashlib import sha256
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

import sigil
from sigil.compile.toolchain import assemblyscript
from sigil.compile.toolchain.sandboxed_compiler import Compiler, library_folders
from sigil.errors import Refused, ToolError, one_line
from sigil.sandbox.child import landlock
from sigil.sandbox.pool import Sandbox
from sigil.sandbox.program import Program
from tests.servers.npm import node, packages

ENGINE = Path(sigil.__file__).parent / "sandbox" / "engine" / "engine.wasm"
IMPORT = 'import { Json, Kind, call, fail, parse } from "./sigil";\n'
ANSWER = IMPORT + "export function answer(input: Json): Json { %s }\n"


@pytest.fixture(autouse=True)
def path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(node().parent))


def made(source: str) -> bytes:
    return assemblyscript.compile_source(source, "test", packages())


def run(sandbox: Sandbox, wasm: bytes, value: object) -> object:
    sandbox.check(wasm)
    return json.loads(sandbox.run(program_of(wasm), json.dumps(value).encode()).output)


def program_of(wasm: bytes) -> Program:
    return Program(sha256(wasm).hexdigest(), "sigil", lambda: wasm)


def refusal(source: str) -> str:
    with pytest.raises(Refused) as caught:
        made(source)
    assert caught.value.code == "EMODULE"
    assert caught.value.message == one_line(caught.value.message)
    return caught.value.message


def row(source: str, reason: str) -> ParameterSet:
    """A row of scripts/check-all, as each costs a compiler's start: the driver gives the compiler
    three files by their names, so that no other name is another case.
    """
    return pytest.param(source, reason, marks=pytest.mark.thorough)


@cache
def compiled_once() -> bytes:
    """A capability that answers with the JSON that it reads and writes, or fails, as its input
    says: one for all tests, because to compile takes more than a second.
    """
    return made(
        ANSWER
        % """
        if (input.has("ask")) return call("clock", Json.null());
        if (input.has("fail")) return fail("EINVAL", "no \\"name\\"");
        if (input.has("plain")) assert(input.isNull);
        if (input.has("told")) assert(input.isNull, "no");
        if (input.has("thrown")) throw new Error("no");
        if (!input.has("n")) return Json.null();
        const n = input.get("n"), list = Json.list();
        list.push(input).push(Json.text(input.get("t").text)).push(Json.number(n.number)).push(Json.integer(n.integer));
        list.push(Json.integer(i64.MIN_VALUE)).push(Json.number(1e21)).push(Json.number(NaN)).push(Json.bool(input.get("b").bool));
        list.push(Json.integer(input.get("o").get("x").length)).push(Json.bool(input.has("none"))).push(input.get("o").get("x").at(1));
        list.push(Json.bool(input.get("t").kind == Kind.Text)).push(parse(' { "a" : [ ] } ')).push(Json.object().set("k", Json.null()));
        return list;"""
    )


def test_json_is_read_and_written(sandbox: Sandbox) -> None:
    odd = 'a"\\\n\t\x00\x1f é 编 👍 </'
    value = {"n": -12.75, "t": odd, "b": True, "o": {"x": [1, "}]", {"y": None}]}, "e": [[], {}]}
    wanted = [
        value,
        odd,
        -12.75,
        -12,
        -(2**63),
        1e21,
        None,
        True,
        3,
        False,
        "}]",
        True,
        {"a": []},
        {"k": None},
    ]
    assert run(sandbox, compiled_once(), value) == wanted
    program = program_of(compiled_once())
    written = (
        b' { "t" : "\\u0041\\u00e9\\ud83d\\udc4d\\/\\b\\f\\n\\r\\t\\"\\\\", "n": 1, "o": {"x": [0,'
        b' "\\ud800"]} } '
    )
    answer = json.loads(sandbox.run(program, written).output)
    assert (answer[1], answer[10]) == ('Aé👍/\b\f\n\r\t"\\', "�")


def test_a_failure_has_its_code_and_the_host_can_be_asked(sandbox: Sandbox) -> None:
    assert run(sandbox, compiled_once(), {}) is None
    assert run(sandbox, compiled_once(), {"ask": 1}) == {
        "error": {
            "code": "EPERM",
            "message": "clock is not declared: add permissions.clock to the manifest",
        }
    }
    with pytest.raises(ToolError, match='EINVAL: no "name"'):
        run(sandbox, compiled_once(), {"fail": 1})


@pytest.mark.parametrize("way", ["plain", "told", "thrown"])
def test_an_assertion_that_fails_and_what_is_thrown_is_a_trap(sandbox: Sandbox, way: str) -> None:
    with pytest.raises(ToolError, match="ETRAP"):
        run(sandbox, compiled_once(), {way: 1})


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        row('import { x } from "/etc/passwd";', "line 1, column 19: File "),
        row('import { x } from "../../../../etc/passwd";', "line 1, column 19: File "),
        row('export * from "fs";', "line 1, column 15: File "),
        (
            ANSWER % "return input.get(1);",
            "line 2, column 62: Type 'i32' is not assignable to type",
        ),
        row(IMPORT, "there is no `export function answer(input: Json): Json`"),
        row("(" * 100_000, "takes too long or too much memory"),
    ],
    ids=range(6),
)
def test_what_does_not_compile_is_refused_in_one_line(source: str, reason: str) -> None:
    assert reason in refusal(source)


def test_a_source_that_unfolds_without_end_is_stopped_within_the_bounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(assemblyscript, "SECONDS", 1)
    inlined = "".join(
        f"@inline function g{i}(a: i32): i32 {{ return g{i - 1}(a) + g{i - 1}(a * 2) }}\n"
        for i in range(1, 26)
    )
    source = (
        "@inline function g0(a: i32): i32 { return a + 1"
        f" }}\n{inlined}{ANSWER % 'return Json.integer(g25(input.length));'}"
    )
    assert "takes too long or too much memory" in refusal(source)


@pytest.mark.thorough  # the scan of a module names what is missing in any language's
def test_what_the_sandbox_has_not_is_refused_by_its_name(sandbox: Sandbox) -> None:
    wasm = made(ANSWER % 'console.log("x"); return input;')
    with pytest.raises(
        Refused, match=r"imports env\.console\.log: only sigil\.call and sigil\.take exist"
    ):
        sandbox.check(wasm)


@pytest.mark.skipif(
    sys.platform != "linux" or not landlock.version(), reason="the kernel has no such lock"
)
def test_the_compilers_process_reads_nothing_but_its_own_folders(tmp_path: Path) -> None:
    (work := tmp_path / "work").mkdir()
    (work / "own").write_text("own")
    (tmp_path / "secret").write_text("secret")
    run = Compiler(
        node(),
        work,
        read=[packages() / "node_modules", *library_folders()],
        variables={"OPENSSL_CONF": "/dev/null"},
    )

    def said(path: str) -> str:
        return run.run(("-p", f"require('fs').readFileSync({path!r}, 'utf8')"))[0]

    assert said("own").strip() == "own"
    for path in ("/etc/passwd", "../secret", str(Path(sigil.__file__))):
        assert "EACCES" in said(path)
    assert "EACCES" in run.run(("-e", "require('fs').writeFileSync('../made', '')"))[0]


def test_without_compiler_or_node_the_error_says_how_to_get_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Refused) as caught:
        assemblyscript.compile_source(ANSWER % "return input;", "test", tmp_path)
    assert caught.value.message == "the AssemblyScript compiler is missing"
    assert "sigil toolchain install assemblyscript" in caught.value.suggestion
    assert "`sigil build`" in caught.value.suggestion
    package = tmp_path / assemblyscript.MODULE / "package.json"
    package.parent.mkdir(parents=True)
    package.write_text('{"version": "0.27.1"}')
    with pytest.raises(Refused, match=r"is 0\.27\.1, but 0\.28\.x is needed"):
        assemblyscript.compile_source(ANSWER % "return input;", "test", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Refused, match="Node, which is missing here"):
        made(ANSWER % "return input;")
