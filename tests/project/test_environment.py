"""The environment is read in one place, and the entry point that must start fast carries nothing heavy."""

from __future__ import annotations

import ast

import pytest

from tests.project.tree import Module, find_loaded, modules

READERS = {"sigil.settings", "functions.settings"}
NAMES = {"environ", "environb", "getenv", "getenvb", "putenv"}


def environment_readers(module: Module) -> list[int]:
    """The lines on which a module touches the process's environment."""
    if not any(name in module.source for name in NAMES):
        return []
    return [
        node.lineno
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute | ast.ImportFrom) and touches(node)
    ]


def touches(node: ast.Attribute | ast.ImportFrom) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module == "os" and any(alias.name in NAMES for alias in node.names)
    return isinstance(node.value, ast.Name) and node.value.id == "os" and node.attr in NAMES


def test_only_the_settings_read_the_environment() -> None:
    found = {
        name: environment_readers(module)
        for name, module in modules().items()
        if name not in READERS
    }

    assert not {name: lines for name, lines in found.items() if lines}


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        (
            "functions.webhook",
            {
                *(
                    "wasmtime",
                    "redis",
                    "httpx",
                    "boto3",
                    "jsonschema",
                    "rich",
                    "typer",
                    "markdown_it",
                ),
                *("fastapi", "pydantic", "mangum", "msgspec", "functions.wiring"),
            },
        ),
        # what the webhook loads beside its libraries
        *(
            (each, {"sigil.protocol", "functions.queues.dead_letters", "tomllib", "difflib"})
            for each in ("functions.ingress.ingress", "functions.queues.sqs")
        ),
        # what a platform, and an owner who halts the agent, wait for
        *(
            (each, {"wasmtime", "redis", "httpx", "boto3", "jsonschema", "fastapi", "pydantic"})
            for each in ("functions.worker", "functions.admin")
        ),
        ("functions.registry", {"wasmtime", "redis", "httpx", "boto3", "jsonschema", "fastapi"}),
        (
            "functions.cli.app",
            {"wasmtime", "redis", "httpx", "boto3", "jsonschema", "fastapi", "uvicorn"},
        ),
        (
            "sigil.cli.app",
            {"wasmtime", "redis", "httpx", "boto3", "jsonschema", "fastapi", "pydantic"},
        ),
        (
            "functions.agent.turn.turn",
            {"wasmtime", "redis", "httpx", "boto3", "jsonschema", "fastapi"},
        ),
        (
            "functions.channels.telegram.channel",
            {"wasmtime", "redis", "httpx", "boto3", "fastapi", "markdown_it"},
        ),
        # what a tick reads, most of the time, is that nothing is due
        (
            "functions.scheduler",
            {"functions.agent.conversation.messages", "functions.agent.memory.documents"},
        ),
        ("functions.media.file_reader", {"PIL", "pypdfium2", "wasmtime", "httpx", "boto3"}),
        ("sigil.sandbox.pool", {"wasmtime", "jsonschema", "pydantic"}),
    ],
)
def test_heavy_imports_stay_in_the_rooms_that_need_them(module: str, heavy: set[str]) -> None:
    assert not heavy & find_loaded(module)
