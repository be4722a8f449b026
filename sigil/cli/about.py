"""`doctor` and `version`: what is installed, how it is set, whether it works."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import typer

from sigil.cli.shell import Shell, shell_of
from sigil.errors import SigilError
from sigil.exits import FAILED

if TYPE_CHECKING:
    from sigil.settings import Settings


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    name: str
    ok: bool
    detail: str


def version(context: typer.Context) -> None:
    """Print the version."""
    from sigil.version import version as installed

    shell = shell_of(context)
    if shell.printer.json:
        shell.printer.document({"version": installed()})
    else:
        shell.printer.line(f"sigil {installed()}")


def doctor(context: typer.Context) -> None:
    """Show the settings, and what works.

    The engine, the store, the sandbox and the library, or the remote registry; exit code 1 when one of them does not work.
    """
    from sigil.settings import described

    shell = shell_of(context)
    settings = shell.settings()
    findings = [_look(name, look, shell) for name, look in _looks(settings).items()]
    if shell.printer.json:
        table = [{"name": name, "value": value, "meaning": meaning} for name, value, meaning in described(settings)]
        shell.printer.document(
            {"ok": all(found.ok for found in findings), "checks": [asdict(found) for found in findings], "settings": table}
        )
    else:
        shell.printer.table(("setting", "value", "meaning"), described(settings))
        shell.printer.line("")
        shell.printer.table(("check", "", "found"), [(found.name, "ok" if found.ok else "FAIL", found.detail) for found in findings])
    if not all(found.ok for found in findings):
        raise typer.Exit(FAILED)


Look = Callable[[Shell], str]


def _looks(settings: Settings) -> dict[str, Look]:
    if settings.registry_url:
        return {"registry": _registry, "token": _token}
    return {"engine": _engine, "store": _store, "sandbox": _sandbox, "library": _library}


def _look(name: str, look: Look, shell: Shell) -> Finding:
    try:
        return Finding(name, True, look(shell))
    except SigilError as problem:
        return Finding(name, False, f"{problem.message} ({problem.suggestion})" if problem.suggestion else problem.message)


def _engine(shell: Shell) -> str:
    import hashlib
    from pathlib import Path

    import sigil
    from sigil.errors import BackendError

    given = shell.settings().engine
    path = Path(given) if given else Path(sigil.__file__).parent / "engine" / "engine.wasm"
    try:
        body = path.read_bytes()
    except OSError as problem:
        raise BackendError("EUNAVAILABLE", f"{path}: {problem.strerror}", suggestion="run scripts/build-engine") from None
    return f"{path}, {len(body):,} bytes, sha256:{hashlib.sha256(body).hexdigest()[:12]}"


def _store(shell: Shell) -> str:
    from sigil.kv import ABSENT
    from sigil.kv.base import Key
    from sigil.settings import without_userinfo
    from sigil.wiring import open_stores

    settings = shell.settings()
    kv = open_stores(settings).kv
    probe = Key("doctor", "probe")
    kv.delete(probe)
    written = kv.put(probe, b"probe", expect=ABSENT, ttl=60)
    kv.delete(probe, expect=written)
    return f"{without_userinfo(settings.store) or settings.data_folder / 'uncaged.db'} reads and writes"


def _sandbox(shell: Shell) -> str:
    from sigil.compile.javascript import plugin
    from sigil.errors import ToolError
    from sigil.sandbox.program import Program

    wasm = plugin("return input.number + 1;")
    with shell.sandbox() as sandbox:
        first = sandbox.run(Program("doctor", "js", lambda: wasm), b'{"number":41}')
        second = sandbox.run(Program("doctor", "js", lambda: wasm), b'{"number":41}')
        way = sandbox.told()
    if second.output != b"42":
        raise ToolError("EOUTPUT", "JavaScript says that 41 + 1 is not 42")
    return f"runs JavaScript: {first.duration_ms:.1f} ms at first, {second.duration_ms:.1f} ms then; {way}"


def _library(shell: Shell) -> str:
    from sigil.library import packages
    from sigil.wiring import library_folder

    folder = library_folder(shell.settings())
    return f"{len(packages(folder))} capabilities in {folder}" if folder else "none wanted"


def _registry(shell: Shell) -> str:
    from contextlib import closing

    from sigil.client import RemoteRegistry

    settings = shell.settings()
    with closing(RemoteRegistry(settings.registry_url, settings.registry_token or "none")) as registry:
        said = registry.health()
    return f"{settings.registry_url} answers, version {str(said.get('version', 'unknown'))[:40]}"


def _token(shell: Shell) -> str:
    with shell.registry() as opened:
        opened.registry.query("anything", opened.caller, limit=1)
    return "accepted"
