"""The product's own source as data: its modules, what each imports, and every file of the
checkout.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
DISTRIBUTIONS = ("functions", "sigil")
SKIPPED = {
    ".git",
    ".venv",
    "build",
    "dist",
    "node_modules",
    ".aws-sam",
    "__pycache__",
    ".hypothesis",
}
"""Folders that hold nothing of ours."""
_IMPORT = re.compile(
    r"^[ \t]*((?:from[ \t]+[.\w]+[ \t]+import[ \t]+(?:\([^)]*\)|[^\n(]+))|import[ \t]+[^\n]+)",
    re.MULTILINE,
)
_COMMENT = re.compile(r"#[^\n]*")
_BINARY = {".wasm", ".png", ".pyc"}


@dataclass(frozen=True)
class Module:
    """One module of the two packages."""

    name: str
    path: Path

    @cached_property
    def source(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.source)

    @property
    def package(self) -> str:
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]


@lru_cache(maxsize=1)
def modules() -> Mapping[str, Module]:
    """All modules, by name."""
    found = {}
    for package in DISTRIBUTIONS:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found[name] = Module(name, path)
    return found


@lru_cache(maxsize=1)
def arrows() -> Mapping[str, frozenset[str]]:
    """What each module imports of the two packages.

    Imports inside functions count, and those under `TYPE_CHECKING` too: a type that a module must
    know is a thing that it depends on.
    """
    return {name: frozenset(_imported(module)) for name, module in modules().items()}


def _imported(module: Module) -> set[str]:
    found = {known for name in _named(module) if (known := _known(name)) and known != module.name}
    # `from package.module import thing` passes through the package; the package itself is only a
    # doorway
    return {
        target for target in found if not any(other.startswith(f"{target}.") for other in found)
    }


def _known(name: str) -> str:
    """`name` when it is one of our modules, else the module that holds it, else nothing."""
    return name if name in modules() else ""


def _named(module: Module) -> Iterator[str]:
    for node in read_imports(module.source):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _base(module, node)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def read_imports(source: str) -> Iterator[ast.AST]:
    """Yield the import statements of a module, wherever they stand: each begins a line. To parse
    them alone takes a twentieth of the time.
    """
    found = (_COMMENT.sub("", text).strip() for text in _IMPORT.findall(source))
    try:
        yield from ast.parse("\n".join(found)).body
    except SyntaxError:  # a text has a line that looks like one
        yield from ast.walk(ast.parse(source))


def _base(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = module.package.split(".")
    up = parts[: len(parts) - node.level + 1]
    return ".".join([*up, node.module] if node.module else up)


@cache
def find_loaded(module: str) -> frozenset[str]:
    """Every module that a fresh interpreter has after it has imported this one."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys, {module}; print(*sys.modules)"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return frozenset(done.stdout.split())


@lru_cache(maxsize=1)
def files() -> tuple[Path, ...]:
    """Every text file of the checkout."""
    return tuple(sorted(_walk(ROOT)))


def _walk(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.is_dir():
            if path.name not in SKIPPED and not path.name.endswith("_cache"):
                yield from _walk(path)
        elif path.suffix not in _BINARY:
            yield path
