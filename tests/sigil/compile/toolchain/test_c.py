"""C sources: what becomes a module, what is refused and how, and that no source reads a file of the
machine.
"""

from __future__ import annotations

import fcntl
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import sigil
from sigil.cli.templates import make_files
from sigil.compile.compiler import build
from sigil.compile.toolchain import c
from sigil.compile.toolchain.library_build import prebuild
from sigil.errors import BackendError, Refused, ToolError, one_line
from sigil.manifest.model import Manifest
from sigil.manifest.package import Package, parse_toml, read_folder
from sigil.sandbox.child import landlock
from sigil.sandbox.engine import c_library
from sigil.sandbox.engine.build_cache import BuildCache
from sigil.sandbox.engine.c_library import library_folder
from sigil.sandbox.pool import Sandbox
from sigil.sandbox.program import Program

ROOT = Path(sigil.__file__).parents[1]
CACHE = ROOT / "build" / "c"
SAYING = b'#include "sigil.h"\nint answer(void) { %s }\n'


def made(body: bytes) -> bytes:
    return c.compile_source(SAYING % body, "test", CACHE).wasm


def run(sandbox: Sandbox, wasm: bytes, value: object) -> object:
    sandbox.check(wasm)
    program = Program(c.sha256(wasm).hexdigest(), "sigil", lambda: wasm)
    return json.loads(sandbox.run(program, json.dumps(value, ensure_ascii=False).encode()).output)


def refusal(source: bytes) -> str:
    with pytest.raises(Refused) as caught:
        c.compile_source(source, "test", CACHE)
    assert caught.value.code == "EMODULE"
    assert caught.value.message == one_line(caught.value.message)
    return caught.value.message


def test_the_header_reads_texts_numbers_and_truth_from_the_input(sandbox: Sandbox) -> None:
    wasm = made(b"""sigil_text t = sigil_get_text("t"), o = sigil_get("o");
        sigil_put("["); sigil_put_text(t.at, t.size); sigil_put(","); sigil_put_integer(sigil_get_integer("n", 7));
        sigil_put(","); sigil_put_bytes(o.at, o.size); sigil_put(sigil_get_boolean("b") ? ",true," : ",false,");
        sigil_put(sigil_get("none").at ? "1]" : "0]"); return 0;""")
    odd = 'a"\\\n\t\x00\x1f é 编 👍 </'
    value = {"o": {"x": [1, "}]", {"y": None}]}, "t": odd, "n": -(2**63), "b": True}
    assert run(sandbox, wasm, value) == [odd, -(2**63), value["o"], True, 0]
    assert run(sandbox, wasm, {"b": False, "n": 2**63, "t": "", "o": -1.5e3}) == [
        "",
        7,
        -1500.0,
        False,
        0,
    ]
    assert run(sandbox, wasm, {"n": "1", "t": 5, "o": []}) == ["", 7, [], False, 0]


def test_escapes_of_json_are_undone(sandbox: Sandbox) -> None:
    wasm = made(b'sigil_text t = sigil_get_text("t"); sigil_put_text(t.at, t.size); return 0;')
    program = Program(c.sha256(wasm).hexdigest(), "sigil", lambda: wasm)
    written = (
        b' { "a" : "t" , "t" : "\\u0041\\u00e9\\u7f16\\ud83d\\udc4d\\/\\b\\f\\n\\r\\t\\"\\\\" } '
    )
    assert json.loads(sandbox.run(program, written).output) == 'Aé编👍/\b\f\n\r\t"\\'


def test_a_failure_replaces_what_was_put(sandbox: Sandbox) -> None:
    with pytest.raises(ToolError, match='EINVAL: no "name"'):
        run(sandbox, made(b'sigil_put("[1,"); return sigil_fail("EINVAL", "no \\"name\\"");'), {})


def test_the_same_source_makes_the_same_bytes_wherever_it_is_compiled(tmp_path: Path) -> None:
    body = b'sigil_put_integer(sigil_get_integer("n", 0)); return 0;'
    assert made(body) == made(body)


def test_a_capability_in_c_is_built_from_its_folder(sandbox: Sandbox) -> None:
    built = build(read_folder(ROOT / "capabilities" / "levenshtein"), sandbox)
    assert built.kind == "sigil"
    assert len(built.wasm) < 8_000


def test_a_source_that_came_compiled_needs_no_compiler(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "capabilities" / "seven"
    folder.mkdir(parents=True)
    (folder / "sigil.toml").write_text('[build]\nlang = "c"\n')
    (folder / "main.c").write_bytes(SAYING % b'sigil_put("7"); return 0;')
    [path] = prebuild(folder.parent, tmp_path / "built", CACHE)
    (old := path.with_name("old.wasm")).touch()
    assert prebuild(folder.parent, tmp_path / "built", CACHE) == [path]
    assert not old.exists()
    monkeypatch.setattr(c, "BUILT", tmp_path / "built")
    monkeypatch.setattr(c, "find_spec", lambda name: None)
    package = Package(
        Manifest(name="seven", description="Seven.", lang="c"), (folder / "main.c").read_bytes()
    )
    assert run(sandbox, build(package, sandbox).wasm, {}) == 7


def test_the_library_that_a_build_kept_is_there_for_the_next_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(b"return 0;")
    zig = c._find_zig("test")
    kept = BuildCache(tmp_path / "kept")
    kept.keep("library", c_library._digest(zig), c_library._pack(library_folder(zig, CACHE)))
    monkeypatch.setattr(c_library, "_compile", lambda *_: pytest.fail("it compiled again"))
    assert prebuild(tmp_path, tmp_path / "built", tmp_path / "c", kept) == []
    own = SAYING % b"return 0;"
    assert c.compile_source(own, "test", tmp_path / "c").wasm == made(b"return 0;")


def test_without_the_compiler_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(c, "find_spec", lambda name: None)
    with pytest.raises(Refused) as caught:
        c.compile_source(b"int main(void) { return 0; }", "test", CACHE)
    assert caught.value.suggestion.startswith("sigil toolchain install c, or deploy")


def test_a_source_that_uses_more_than_the_usual_part_is_linked_with_the_whole_library(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Path] = []
    monkeypatch.setattr(c, "_compile_whole_library", lambda zig, cache, busy: asked.append(cache))
    # the compiler itself would make the library now, for half a minute
    monkeypatch.setattr(c, "_run_compiler", one_step(c._run_compiler))
    more = b'#include <regex.h>\n#include "sigil.h"\nint answer(void) { return regcomp(0, "", 0); }'
    assert "two steps" in refusal(more)
    assert asked == [CACHE]
    assert "undefined symbol: f" in refusal(b"int f(void);\nint main(void) { return f(); }")
    assert asked == [CACHE]


def one_step(run: Callable[..., tuple[str, int]]) -> Callable[..., tuple[str, int]]:
    """The compiler, that fails where it would compile and link at once."""

    def run_step(
        zig: Path, work: Path, cache: Path, arguments: tuple[str, ...], seconds: int
    ) -> tuple[str, int]:
        if "-c" in arguments:
            return run(zig, work, cache, arguments, seconds)
        return "error: two steps", 1

    return run_step


def test_common_functions_of_the_c_library_need_no_more_than_its_usual_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(c, "_compile_whole_library", lambda *_: pytest.fail("it took all of it"))
    headers = "ctype errno inttypes locale math stdio stdlib string strings time unistd wchar"
    functions = (
        "printf snprintf sscanf puts getchar getline fread fwrite fflush perror malloc realloc exit"
        " atexit getenv atof strtol strtod qsort bsearch rand memmem strcasecmp strstr strtok_r"
        " strdup strerror strcoll isalpha toupper atan2 cosh exp log2 pow cbrt hypot round lround"
        " fmod frexp fma erf tgamma nextafter powf clock_gettime gmtime_r mktime strftime read"
        " write setlocale mbstowcs wcslen getentropy"
    )
    source = "".join(f"#include <{name}.h>\n" for name in headers.split())
    source += f"void *all[] = {{ {', '.join(functions.split())} }};\n"
    source += "int main(int argc, char **argv) { return all[argc] == argv; }\n"
    assert c.compile_source(source.encode(), "test", CACHE).kind == "wasi"


def test_where_the_first_source_would_wait_is_known_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    came = (ROOT / "capabilities" / "levenshtein" / "main.c").read_bytes()
    own = SAYING % b"return 0;"
    made(b"return 0;")
    assert (
        c.needs_library(own, CACHE),
        c.needs_library(own, tmp_path),
        c.needs_library(came, tmp_path),
    ) == (
        False,
        True,
        False,
    )
    monkeypatch.setenv("UNCAGED_CACHE", str(tmp_path))
    assert c.needs_library(own)
    (tmp_path / "c").symlink_to(CACHE, target_is_directory=True)
    assert not c.needs_library(own)
    assert c.compile_source(own, "test").kind == "sigil"
    monkeypatch.setattr(c, "find_spec", lambda name: None)
    assert not c.needs_library(own, tmp_path / "empty")  # nobody waits where nothing is compiled


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (b"int main(void) { return x; }", "line 1, column 25: use of undeclared identifier 'x'"),
        (b"int f(void);\nint main(void) { return f(); }", "undefined symbol: f"),
        (b'#include "sigil.h"\n', "undefined symbol: answer"),
        (
            b"#include <no.h>\nint main(void) { return 0; }",
            "line 1, column 10: 'no.h' file not found",
        ),
        (
            b'int main(void) { __asm__(".incbin \\"/etc/passwd\\""); return 0; }',
            "line 1, column 25: GNU-style inline assembly is disabled",
        ),
        (b"int main(void) {" + b"(" * 5000, "bracket nesting level exceeded maximum of 2048"),
        (
            b"int x[1000000000] = {1}; int main(void) { return x[0]; }",
            "takes too long or too much memory",
        ),
        pytest.param(
            b"#define A(x) x x x x x x x x\nint main(void) {" + b"A(" * 9 + b"0;" + b")" * 9 + b"}",
            "takes too long or too much memory",
            marks=pytest.mark.thorough,
        ),
        (b"int main(void) { return 0; }\0", "the source holds a zero byte"),
        (
            b"char x[62 << 20] = {1}; int main(void) { return x[0]; }",
            "the module is larger than 2097152 bytes",
        ),
    ],
    ids=range(10),
)
def test_what_does_not_compile_is_refused_in_one_line(
    source: bytes, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if reason.startswith("takes too long"):
        monkeypatch.setattr(c, "SECONDS", 1)
    assert reason in refusal(source)


@pytest.mark.parametrize(
    "source",
    [
        b'#include "/etc/passwd"',
        b"#include </etc/passwd>",
        b'#include "../../etc/passwd"',
        b"#include <../x.h>",
        b"#include <sys/../../x.h>",
        b"#include HEADER",
        b'#include "main.c"',
        b'# /* */ include "/etc/passwd"',
        b'/* */ #include "/etc/passwd"',
        b'#/*\n*/ include "/etc/passwd"',
        b'#inc\\\nlude "/etc/passwd"',
        b'#inc\\  \r\nlude "/etc/passwd"',
        b'x\r#include "/etc/passwd"',
        b'char x[] = {\n#em\\\n\rbed "main.c"\n};',
        b'#pra\\\n\rgma GCC dependency "main.c"',
        b'%:include "/etc/passwd"',
        b'#include_next "/etc/passwd"',
        b'#import "/etc/passwd"',
        b'#embed "/etc/passwd"',
        b'char x[] = {\n#embed "/etc/passwd"\n};',
        b'#if __has_include("/etc/passwd")\n#endif',
        b"#define J(a, b) a##b",
        b"#define J(a, b) a%:%:b",
        b'_Pragma("GCC dependency \\"/etc/passwd\\"")',
        b'#pragma GCC dependency "/etc/passwd"',
        b'#include <stdio.h> /* */ \n#__include_macros "/etc/passwd"',
    ],
)
def test_a_source_cannot_name_a_file(source: bytes) -> None:
    assert refusal(source).startswith("line ")


@pytest.mark.parametrize(
    ("source", "headers"),
    [
        (b"#include <stdio.h> // include what is needed\n", {"stdio.h"}),
        (b'#  include   "sigil.h"  /* the ABI */\n', {"sigil.h"}),
        (
            b"#include <sys/types.h>\r\n#include <string.h>\r\n",
            {"sys/types.h", "string.h"},
        ),
        (b"/* What we include\n * or import: nothing\n */\n", set()),
        (b'static const char *said = "must include a name"; // embed, import\n', set()),
    ],
)
def test_ordinary_sources_are_let_through(source: bytes, headers: set[str]) -> None:
    assert c.list_headers(source, "test") == headers


def test_a_file_does_not_come_in_by_a_joint_of_lines_that_the_compiler_alone_sees(
    sandbox: Sandbox,
) -> None:
    for joint in (b"\\\n\r", b"\\\r\n", b"\\\r", b"\\ \n\r", b"\\\n\r\n"):
        assert "main.c" not in refusal(
            b"char x[] = {\n#em" + joint + b'bed "main.c"\n}; int main(void) { return x[0]; }'
        )


def test_who_waits_too_long_for_the_compiler_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    made(b"return 0;")
    monkeypatch.setattr(c, "PATIENCE_SECONDS", 0.0)
    with open(CACHE / "lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(BackendError, match="EBUSY: the C compiler is busy"):
            made(b"return 1;")


@pytest.mark.skipif(
    sys.platform != "linux" or not landlock.version(), reason="the kernel has no such lock"
)
def test_the_compilers_process_reads_nothing_but_its_own_folders(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "secret.c").write_text("secret")
    (work / "main.c").write_text("open")

    def seen(path: str) -> str:
        return c._run_compiler(c._find_zig("test"), work, CACHE, ("-E", "-xc", path), 5)[0]

    assert "open" in seen("main.c")
    for path in ("/etc/passwd", str(tmp_path / "secret.c"), "../secret.c", str(ROOT / "README.md")):
        words = seen(path)
        assert "error: " in words
        assert "root:" not in words
        assert "\nsecret" not in words


@pytest.mark.skipif(landlock.version() < 6, reason="the kernel has no such lock")
def test_what_is_shut_in_sends_no_signal_out() -> None:
    tries = (
        "import os; from sigil.sandbox.child import landlock; landlock.restrict((), ());"
        " os.kill(os.getppid(), 0)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", tries], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert "PermissionError" in ended.stderr


def test_the_example_of_the_manifest_page_works(sandbox: Sandbox) -> None:
    [source] = re.findall(
        r"```c\n(.*?)```", (ROOT / "docs" / "manifest.md").read_text("utf-8"), re.DOTALL
    )
    wasm = c.compile_source(source.encode(), "test", CACHE).wasm
    assert run(sandbox, wasm, {"name": "Ada"}) == {"hello": "Ada"}


def test_what_init_writes_passes_its_own_tests(sandbox: Sandbox) -> None:
    files = make_files("greet", "c", bytes)
    manifest, source = parse_toml(files["sigil.toml"].decode())
    assert (manifest.lang, source) == ("c", "main.c")
    wasm = c.compile_source(files["main.c"], "test", CACHE).wasm
    assert run(sandbox, wasm, manifest.tests[0].input) == manifest.tests[0].output
    with pytest.raises(ToolError, match="EINVAL"):
        run(sandbox, wasm, manifest.tests[1].input)
