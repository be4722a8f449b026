"""Documentation under test: what exists is named in README.md or docs/, and what they name
exists.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest
import typer
from pydantic import BaseModel
from starlette.routing import Route

from functions.agent.commands.table import COMMANDS
from functions.cli import app as uncaged
from functions.settings import Settings
from functions.texts.en import TEXTS as ENGLISH
from functions.texts.en import Texts
from functions.texts.zh import TEXTS as CHINESE_TEXTS
from sigil.cli import app as sigil
from sigil.compile.toolchain.sandboxed_compiler import MEMORY_BYTES as COMPILER_BYTES
from sigil.compile.toolchain.sandboxed_compiler import SECONDS
from sigil.compile.typescript import LIMITS as STRIPPING
from sigil.manifest import model
from sigil.manifest.package import SOURCE_BYTES
from sigil.sandbox.compile_job import PROCESSOR_SECONDS
from sigil.sandbox.module_scan import FUNCTIONS, LOCALS, MODULE_BYTES
from sigil.sandbox.program import SandboxLimits
from sigil.sandbox.protocol import INPUT_LIMIT
from sigil.sandbox.runtime.config import MEMORY_BYTES, STACK_BYTES
from tests.project.tree import ROOT

ALL_PAGES = sorted(
    [
        *ROOT.glob("README*.md"),
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "docs/channels").glob("*.md"),
    ]
)
CHINESE = tuple(path for path in ALL_PAGES if path.name.endswith(".zh-CN.md"))
ENGLISH_PAGES = tuple(path for path in ALL_PAGES if path not in CHINESE)
TOML_NAMES = {"tests": "test"}
"""Manifest fields that `sigil.toml` writes in another way."""


@lru_cache(maxsize=2)
def text(pages: tuple[Path, ...] = ENGLISH_PAGES) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in pages)


def everything() -> str:
    """The pages of every language."""
    return text(tuple(ALL_PAGES))


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def commands(app: typer.Typer) -> list[str]:
    """Every command, those of groups as `group command`."""
    return sorted(_named(typer.main.get_command(app)))


def _named(command: object, path: str = "") -> Iterator[str]:
    inner = getattr(command, "commands", None)
    if inner is None or getattr(command, "invoke_without_command", False):
        yield path
    for name, sub in (inner or {}).items():
        yield from _named(sub, f"{path} {name}".strip())


def settings_table() -> str:
    """The table of docs/settings.md, as the settings themselves tell it."""
    rows = ["| setting | default | meaning |", "|---|---|---|"]
    for facts in Settings.list_facts({}):
        default = "" if facts.secret else facts.format_value(facts.default)
        shown = f"`{default}`" if default else ""
        secret = " (secret)" if facts.secret else ""
        rows.append(f"| `{facts.name}` | {shown} | {facts.meaning}{secret} |")
    return "\n".join(rows)


def test_the_table_of_settings_is_what_the_settings_say() -> None:
    assert settings_table() in page("settings.md"), (
        f"put this into docs/settings.md:\n\n{settings_table()}\n"
    )


def test_what_a_file_may_set_for_a_store_of_its_own_alone_is_listed() -> None:
    listed = re.findall(
        r"`([A-Z_]+)`", page("settings.md").partition("That holds for")[2].partition(".\n")[0]
    )

    assert sorted(listed) == sorted(
        {facts.name for facts in Settings.list_facts({}) if facts.rules} - {"UNCAGED_DATA"}
    )


def test_every_command_is_documented() -> None:
    wanted = [
        *(f"uncaged {name}" for name in commands(uncaged.cli)),
        *(f"sigil {name}" for name in commands(sigil.app)),
    ]

    assert not [
        command
        for command in wanted
        if not re.search(rf"`{command}\b|^\s*\$ {command}\b", text(), re.MULTILINE)
    ]


def test_every_slash_command_is_documented_with_its_meaning() -> None:
    assert not [
        name
        for name in COMMANDS
        if f"| `/{name}` | {ENGLISH.meanings[name]} |" not in page("chat.md")
    ]


@pytest.mark.parametrize("part", [model.Manifest, model.Permissions, model.Limits, model.Test])
def test_every_field_of_a_manifest_is_documented(part: type[BaseModel]) -> None:
    names = [TOML_NAMES.get(name, name) for name in part.model_fields]

    assert not [
        name
        for name in names
        if not re.search(
            rf"`[^`\n]*\b{name}\b[^`\n]*`|^\[*{name}\b", page("manifest.md"), re.MULTILINE
        )
    ]


def test_every_route_of_the_server_is_documented() -> None:
    from functions import admin, local, webhook
    from sigil.access.authentication import Authenticator
    from sigil.http import app as http

    chat = local.chat_routes(None, Authenticator(""), None)  # type: ignore[arg-type]
    sigil_routes = http.build_router(lambda: None, Authenticator("")).routes  # type: ignore[arg-type,return-value]
    switch = admin.build_routes(lambda: None)  # type: ignore[arg-type,return-value]
    routes = [*webhook.build_routes(lambda: None), *sigil_routes, *chat.routes, *switch]  # type: ignore[arg-type,return-value]
    paths = {
        route.path.partition("{")[0].rstrip("/") for route in routes if isinstance(route, Route)
    }

    assert paths
    assert not [path for path in paths if path not in text()]


@lru_cache(maxsize=1)
def written_commands() -> frozenset[tuple[str, str]]:
    """(`scripts`, name), (`uncaged`, command) and (`sigil`, command) wherever a page has them as
    code.
    """
    found = re.findall(
        r"(?:[`\s]|/bin/|^)(?:\$ )?(scripts/|uncaged |sigil )([a-z][a-z-]*)",
        everything(),
        re.MULTILINE,
    )
    return frozenset((runtime.rstrip("/ "), name) for runtime, name in found)


def test_the_limits_of_a_module_are_those_of_the_code() -> None:
    memory = MEMORY_BYTES >> 20
    default = SandboxLimits()
    compiling = f"{SECONDS} s of processor time, {COMPILER_BYTES >> 20} MiB"
    rows = (
        f"| source | {SOURCE_BYTES >> 10} KiB | `ETOOBIG` |",
        f"| module | {MODULE_BYTES >> 20} MiB, {FUNCTIONS:,} functions, {LOCALS:,} locals in each |",
        f"| compiling a source | {compiling} ",
        f"| removing the types of TypeScript | {STRIPPING.timeout_ms // 1000} s and"
        f" {STRIPPING.memory_bytes >> 20} MiB, in the sandbox |",
        f"| compiling the module | {PROCESSOR_SECONDS} s of processor time, ",
        f"| memory in a call | {memory} MiB |",
        f"| stack in a call | {STACK_BYTES >> 10} KiB |",
        f"| time of a call | `limits.timeout_ms`: {default.timeout_ms // 1000} s, up to 30 s |",
        f"| input, output | {INPUT_LIMIT >> 20} MiB, {default.output_bytes >> 10} KiB | `ELIMIT` |",
    )

    assert [row for row in rows if row not in page("abi.md")] == []


def test_the_scripts_that_the_pages_name_exist() -> None:
    named = {name for runtime, name in written_commands() if runtime == "scripts"}

    assert {"chat", "test", "serve"} <= named
    assert not [name for name in named if not (ROOT / "scripts" / name).exists()]


def test_the_commands_that_transcripts_run_exist() -> None:
    known = {"uncaged": commands(uncaged.cli), "sigil": commands(sigil.app)}
    ran = re.findall(
        r"^\s*\$ (?:\S*/)?(uncaged|sigil) ([a-z]+)(?: ([a-z]+))?(?: ([a-z]+))?",
        everything(),
        re.MULTILINE,
    )
    ran += re.findall(  # in Chinese also those of a block without answers, and inside a sentence
        r"(?:^|`)(uncaged|sigil) ([a-z]+)(?: ([a-z]+))?(?: ([a-z]+))?", text(CHINESE), re.MULTILINE
    )

    assert ran
    assert not [
        " ".join(words)
        for words in ran
        if not {" ".join(words[1:end]) for end in (2, 3, 4)} & set(known[words[0]])
    ]


@pytest.mark.parametrize(
    ("name", "asked", "texts"),
    [
        ("README.md", "encode hello world in base64", ENGLISH),
        ("README.zh-CN.md", "帮我把 hello world 编码成 base64", CHINESE_TEXTS),
    ],
)
def test_the_two_first_commands_stand_at_the_top(name: str, asked: str, texts: Texts) -> None:
    top = (ROOT / name).read_text(encoding="utf-8").partition("\n## ")[0]

    assert f'$ scripts/chat "{asked}"' in top
    assert "aGVsbG8gd29ybGQ=" in top
    assert texts.offline_signature in top
    assert "$ scripts/test" in top


def test_both_readmes_show_the_same_code() -> None:
    english, chinese = (
        [_without_words(block) for block in re.findall(r"```\w+\n.*?```", page, re.DOTALL)]
        for page in _readmes()
    )

    assert english
    assert chinese == english


def test_both_readmes_name_the_same_things() -> None:
    english, chinese = (
        {
            *re.findall(r"`([^`\n]+)`", re.sub(r"```\w+\n.*?```", "", page, flags=re.DOTALL)),
            *re.findall(r"\]\(([^)\s]+)\)", page),
        }
        - {"README.md", "README.zh-CN.md", "docs/quickstart.zh-CN.md"}
        for page in _readmes()
    )

    assert english
    assert chinese == english


def _readmes() -> tuple[str, str]:
    names = ("README.md", "README.zh-CN.md")
    english, chinese = ((ROOT / name).read_text(encoding="utf-8") for name in names)
    return english, chinese


def _without_words(block: str) -> list[str]:
    """The commands of a block without their comments, what is said to the agent and their answers;
    every line of a block without commands.
    """
    lines = [line.strip() for line in block.splitlines()]
    if lines[0] != "```console":
        return lines
    source = block.replace("\\\n", " ")
    commands = re.findall(r"^\s*\$ (.*)$", source, re.MULTILINE)
    spoken = r'((?:scripts/chat|sigil query) |"text": )"(/\w+)?[^"]*"(?=$|\s|}\')'
    return [
        re.sub(spoken, r'\1"\2"', re.sub(r"\s{2,}#.*", "", command)).strip() for command in commands
    ]


def test_the_pages_that_a_chinese_reader_begins_with_lead_to_each_other() -> None:
    english, chinese = _readmes()
    start = page("quickstart.zh-CN.md")

    for text_of_page, targets in (
        (english, ("README.zh-CN.md", "docs/quickstart.zh-CN.md")),
        (chinese, ("README.md", "docs/quickstart.zh-CN.md")),
        (start, ("../README.md", "../README.zh-CN.md")),
    ):
        assert [target for target in targets if f"]({target})" not in text_of_page] == []


def test_the_library_is_counted_alike_everywhere() -> None:
    there = sum(path.is_dir() for path in (ROOT / "capabilities").iterdir())
    told = re.findall(
        r"(?:library:|library +ok +|library has|registry starts with|标准库有) *(\d+) ",
        everything(),
    )

    assert len(told) > 8
    assert set(told) == {str(there)}


def test_links_between_the_pages_lead_somewhere() -> None:
    broken = []
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8"))
        broken += [
            f"{path.name}: {target}" for target in targets if not _leads_somewhere(path, target)
        ]

    assert not broken


def _leads_somewhere(page: Path, target: str) -> bool:
    # `[words](file:ID)` is what a model writes, and no link
    return "://" in target or target.startswith("file:") or (page.parent / target).exists()
