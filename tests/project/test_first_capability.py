"""docs/first-capability.md and docs/abi.md, done as they stand: files are written, commands run,
and what they print is compared.
"""

from __future__ import annotations

import json
import re
import shlex
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import pytest

import sigil
from sigil.compile.toolchain import assemblyscript, c, rust
from sigil.errors import ToolError
from sigil.sandbox.pool import Sandbox
from sigil.sandbox.program import NO_GRANTS, Grants, Program
from tests.selection import thorough
from tests.servers.npm import node, packages
from tests.sigil.cli.commands.test_build import compilers
from tests.sigil.cli.conftest import Sigil, place, run_sigil
from tests.sigil.compile.toolchain.test_c import CACHE
from tests.sigil.compile.toolchain.test_rust import has

__all__ = ["compilers", "place", "run_sigil"]
ROOT = Path(sigil.__file__).parents[1]
FIRST = (ROOT / "docs" / "first-capability.md").read_text("utf-8")
ABI = (ROOT / "docs" / "abi.md").read_text("utf-8")


class Block(NamedTuple):
    """A fenced block: its language, its text, and the file that the words before it name last."""

    lang: str
    text: str
    file: str


def sections(page: str) -> dict[str, list[Block]]:
    """The blocks under each heading."""
    found: dict[str, list[Block]] = {}
    for part in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        title, _, rest = part.partition("\n")
        blocks, at = [], 0
        for match in re.finditer(r"^```(\w+)\n(.*?)^```$", rest, re.DOTALL | re.MULTILINE):
            files = re.findall(r"`([\w-]+/[\w.]+)`", rest[at : match.start()])
            blocks.append(Block(match[1], match[2], files[-1] if files else ""))
            at = match.end()
        found[title] = blocks
    return found


def same(printed: str, wanted: str) -> bool:
    """Whether a command printed what the page says; `…` stands for anything."""
    pattern = ".*".join(re.escape(part) for part in wanted.split("…"))
    return re.fullmatch(pattern, printed, re.DOTALL) is not None


SECTIONS = sections(FIRST)


@pytest.mark.parametrize(
    "title",
    ["JavaScript", "C", *thorough(*(each for each in SECTIONS if each not in ("JavaScript", "C")))],
)
def test_the_first_capability_is_written_as_the_page_says(
    title: str, run_sigil: Sigil, compilers: Path
) -> None:
    if title == "Rust" and not has("sigil"):
        pytest.skip("no rustc with the target")
    commands = 0
    for block in SECTIONS[title]:
        if block.lang != "console":
            assert block.file, f"before this block no file is named:\n{block.text}"
            (compilers / block.file).write_text(block.text)
            continue
        for line, wanted in re.findall(
            r"^\$ sigil (.*)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE
        ):
            ended = run_sigil(*shlex.split(line))
            assert ended.code == 0, f"{line}: {ended.err}"
            assert same(ended.out, wanted), f"{line} printed:\n{ended.out}"
            commands += 1
    assert commands


def test_every_language_has_its_place_on_the_page() -> None:
    from sigil.manifest.languages import SOURCES

    for lang in SOURCES.keys() - {"js", "mcp", "wasm"}:
        assert f"--lang {lang}\n" in FIRST
    assert "`wasm`" in FIRST


def run(
    sandbox: Sandbox, kind: str, wasm: bytes, value: object, grants: Grants = NO_GRANTS
) -> object:
    sandbox.check(wasm, kind)  # type: ignore[arg-type]
    program = Program(sha256(wasm).hexdigest(), kind, lambda: wasm)  # type: ignore[arg-type]
    return json.loads(sandbox.run(program, json.dumps(value).encode(), grants).output)


def blocks(lang: str) -> list[str]:
    return [block.text for found in sections(ABI).values() for block in found if block.lang == lang]


def test_the_abis_modules_of_text_do_what_the_page_says(sandbox: Sandbox) -> None:
    echo, ask = (sandbox.assemble(text.encode()) for text in blocks("wat"))
    assert run(sandbox, "sigil", echo, {"a": [1, "é"]}) == {"a": [1, "é"]}
    denied = run(sandbox, "sigil", ask, {})
    assert denied == {
        "error": {
            "code": "EPERM",
            "message": "clock is not declared: add permissions.clock to the manifest",
        }
    }
    told = run(sandbox, "sigil", ask, {}, Grants(clock=True))
    assert isinstance(told, dict)
    assert told["ok"] > 1_700_000_000_000


def test_the_abis_command_is_one(sandbox: Sandbox) -> None:
    [source] = blocks("c")
    kind, wasm = c.compile_source(source.encode(), "test", CACHE)
    assert kind == "wasi"
    assert run(sandbox, kind, wasm, {"a": 1}) == {"a": 1}


@pytest.mark.thorough  # the page before it compiles AssemblyScript as well
def test_the_abis_assemblyscript_computes(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(node().parent))
    [source] = blocks("ts")
    wasm = assemblyscript.compile_source(source, "test", packages())
    assert run(sandbox, "sigil", wasm, {"numbers": [1, 2, 4.5]}) == {"mean": 2.5, "of": 3}
    with pytest.raises(ToolError, match="EINVAL: there are no numbers"):
        run(sandbox, "sigil", wasm, {"numbers": []})


@pytest.mark.skipif(not has("sigil"), reason="no rustc with the target wasm32-unknown-unknown")
def test_the_abis_rust_computes(sandbox: Sandbox) -> None:
    [source] = blocks("rust")
    kind, wasm = rust.compile_source(source, "test")
    assert run(sandbox, kind, wasm, {"numbers": [1, 2, 4.5]}) == {"mean": 2.5, "of": 3}
    with pytest.raises(ToolError, match="EINVAL: there are no numbers"):
        run(sandbox, kind, wasm, {"numbers": []})
