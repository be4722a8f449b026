"""Names the files of tests that a change can touch: `python -m tests.affected [REV]`, one a line.

A change is what differs from REV (HEAD when none is given), with files that git does not know yet.
A file of tests is touched when its imports lead to a changed module, in any number of steps; a
fixture counts for the tests that name it, with what it uses. A file that is no module touches what
reads it: a page its tests in tests/project, a capability those that open the library, data those
that name it. What everything rests on (pyproject.toml, uv.lock, tests/conftest.py) touches all.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from tests.project.tree import read_imports

ROOT = Path(__file__).parents[1]
PACKAGES = ("functions", "sigil", "scripts", "tests")
EVERYTHING = ("pyproject.toml", "uv.lock", "tests/conftest.py", "tests/selection.py")
_TEXT = re.compile(r"""["']([\w./:-]*\.[\w./:-]+)["']""")
"""A text that may name a module or a file."""
_PARAMETERS = re.compile(r"\bdef \w+\(([^)]*)\)")
_ASKED = re.compile(r"(?:usefixtures|getfixturevalue)\(([^)]*)\)")
_NAME = re.compile(r"\w+")
ALWAYS = "tests/project"
"""Rules about every file of the checkout."""
READERS = {
    "capabilities/": ("tests/capabilities", "tests/sigil/deploy", "tests/functions/agent/model"),
    "template.yaml": ("tests/deploy",),
    "scripts/": ("tests/deploy",),
    "docs/": (),
    "tests/events/": ("tests/deploy", "tests/functions/channels"),
}
"""The tests of folders and files that are not Python."""


@dataclass(frozen=True, slots=True)
class Source:
    """A module: the modules that all of it needs, what each of its functions needs beside them,
    and which of its functions are fixtures.
    """

    needs: frozenset[str]
    by_function: Mapping[str, frozenset[str]]
    fixtures: frozenset[str]
    words: frozenset[str]
    """The names that its functions ask for as parameters, and the files that it may name."""


def find_affected(changed: Iterable[str]) -> list[str]:
    """Return the files and folders of tests that these changed files can touch, as paths below the
    checkout; `["tests"]` for all.
    """
    changed = set(changed)
    if changed & set(EVERYTHING):
        return ["tests"]
    modules = {module for path in changed for module in _modules_of(path)}
    found = {ALWAYS} if changed else set()
    for path in changed:
        found.update(_readers_of(path))
    for name in _test_modules():
        if modules & reach(name):
            found.add(_path_of(name))
    return sorted(
        path
        for path in found
        if (ROOT / path).exists()
        and not any(path.startswith(f"{other}/") for other in found if other != path)
    )


@cache
def reach(name: str) -> frozenset[str]:
    """Return the modules that a module of tests needs, itself and its fixtures' included."""
    seen = set(_closure(name))
    tests = [module for module in seen if module.startswith("tests")]
    asked = {word for module in tests for word in sources()[module].words}
    for conftest in _conftests_above(name):
        seen.add(conftest)
        for needed in _needs_of_fixtures(conftest, asked):
            seen |= {needed} | _closure(needed)
    return frozenset(seen)


@cache
def _closure(module: str) -> frozenset[str]:
    """Return what a module needs in any number of steps."""
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        waiting.extend(sources()[current].needs)
        for needed in sources()[current].by_function.values():
            waiting.extend(needed)
    return frozenset(seen)


def _needs_of_fixtures(conftest: str, asked: set[str]) -> set[str]:
    """Return what the fixtures of a conftest need that are asked for, by each other too."""
    source = sources()[conftest]
    wanted, found = set(source.fixtures & asked), set()
    done: set[str] = set()
    while wanted - done:
        name = (wanted - done).pop()
        done.add(name)
        found |= source.by_function.get(name, frozenset())
        wanted |= source.fixtures & _asked_by(conftest, name)
    return found


@cache
def _asked_by(conftest: str, function: str) -> frozenset[str]:
    (node,) = (
        node
        for node in _tree(conftest).body
        if isinstance(node, ast.FunctionDef) and node.name == function
    )
    return frozenset(word for inner in ast.walk(node) for word in _words(inner))


@cache
def sources() -> Mapping[str, Source]:
    """Return every module of the checkout, by name."""
    return {name: _read(name) for name in _paths()}


@cache
def _paths() -> Mapping[str, Path]:
    found = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def _tree(name: str) -> ast.Module:
    return ast.parse(_paths()[name].read_text(encoding="utf-8"))


def _read(name: str) -> Source:
    """Read a module. In a conftest, what a function alone needs is kept with the function."""
    text = _paths()[name].read_text(encoding="utf-8")
    imported: dict[str, set[str]] = {}
    for statement in read_imports(text):
        for bound, module in _imports(name, statement):
            imported.setdefault(bound, set()).add(module)
    texts = frozenset(_TEXT.findall(text))
    needs = {module for found in imported.values() for module in found}
    needs |= {module for found in texts if (module := found.partition(":")[0]) in _paths()}
    words = texts | set(_NAME.findall(" ".join(_PARAMETERS.findall(text))))
    words |= set(_NAME.findall(" ".join(_ASKED.findall(text))))
    if name.rpartition(".")[2] != "conftest":
        return Source(frozenset(needs - {name}), {}, frozenset(), words)
    functions = [node for node in _tree(name).body if isinstance(node, ast.FunctionDef)]
    used = {node.name: _names(node) for node in functions}
    by_function = {
        function: frozenset(
            module for word in _with_helpers(names, used) for module in imported.get(word, ())
        )
        for function, names in used.items()
    }
    fixtures = frozenset(node.name for node in functions if _is_fixture(node))
    return Source(frozenset(), by_function, fixtures, words)


def _imports(name: str, node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the names that a statement binds, each with the module of ours that it comes from."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name in _paths():
                yield (alias.asname or alias.name).partition(".")[0], alias.name
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            package = name.split(".")
            if _paths()[name].name != "__init__.py":
                package = package[:-1]
            above = package[: len(package) - node.level + 1]
            base = ".".join([*above, base] if base else above)
        for alias in node.names:
            for module in (f"{base}.{alias.name}", base):
                if module in _paths():
                    yield alias.asname or alias.name, module
                    break


def _with_helpers(names: set[str], used: Mapping[str, set[str]]) -> set[str]:
    """Return the names that a function uses, with those of the functions beside it that it calls."""
    seen: set[str] = set()
    waiting = list(names)
    while waiting:
        word = waiting.pop()
        if word not in seen:
            seen.add(word)
            waiting.extend(used.get(word, ()))
    return seen


def _names(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _words(node: ast.AST) -> Iterator[str]:
    """Yield what may name a fixture: parameters, and what a test asks for by name."""
    if isinstance(node, ast.FunctionDef):
        yield from (argument.arg for argument in node.args.args)
    elif isinstance(node, ast.Call):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if called in ("usefixtures", "getfixturevalue"):
            yield from (each.value for each in node.args if isinstance(each, ast.Constant))


def _is_fixture(node: ast.FunctionDef) -> bool:
    return any("fixture" in ast.unparse(decorator) for decorator in node.decorator_list)


@cache
def _imported() -> frozenset[str]:
    """Return the modules that another one imports."""
    return frozenset().union(*(source.needs for source in sources().values()))


@cache
def _test_modules() -> tuple[str, ...]:
    return tuple(
        name
        for name in _paths()
        if name.startswith("tests.") and name.rpartition(".")[2].startswith("test_")
    )


def _conftests_above(name: str) -> Iterator[str]:
    parts = name.split(".")
    for length in range(1, len(parts)):
        conftest = ".".join([*parts[:length], "conftest"])
        if conftest in _paths():
            yield conftest


def _path_of(name: str) -> str:
    return _paths()[name].relative_to(ROOT).as_posix()


def _modules_of(path: str) -> Iterator[str]:
    """Yield the modules that a file is, or that read it: those of its folder, where it lies beside
    code.
    """
    place = PurePosixPath(path)
    if place.parts[0] not in PACKAGES:
        return
    if place.suffix == ".py":
        parts = place.with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        yield name
        if name not in _imported():  # a package, or what is loaded by its name
            folder = name if parts[-1] == "__init__" else name.rpartition(".")[0]
            yield from (other for other in _paths() if other.startswith(f"{folder}."))
    elif place.parts[0] in ("functions", "sigil"):
        folder = place.parent
        while len(folder.parts) > 1 and not (ROOT / folder / "__init__.py").is_file():
            folder = folder.parent
        prefix = ".".join(folder.parts)
        yield from (name for name in _paths() if name.rpartition(".")[0] == prefix)
        yield prefix


def _readers_of(path: str) -> Iterator[str]:
    for start, readers in READERS.items():
        if path.startswith(start) and not path.endswith(".py"):
            yield from readers
    if path.startswith("tests/") and not path.endswith(".py"):
        name = PurePosixPath(path).name
        yield from (
            _path_of(module)
            for module in _test_modules()
            if any(word.endswith(name) for word in sources()[module].words)
        )


def list_changes(revision: str) -> list[str]:
    """Return the files that differ from a revision, and those that git does not know yet."""
    commands = (
        ["git", "diff", "--name-only", "--no-renames", revision, "--"],
        ["git", "ls-files", "--others", "--exclude-standard"],
    )
    found = []
    for command in commands:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"error: {done.stderr.strip()}")
        found.extend(done.stdout.splitlines())
    return found


def main(arguments: list[str]) -> None:
    revision = arguments[0] if arguments else "HEAD"
    for path in find_affected(list_changes(revision)):
        print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
