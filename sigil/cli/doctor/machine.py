"""Checks of this machine: the engine, its compiled form, the runners and the compilers."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path

from sigil.cli.doctor.findings import Check, DoctorWarning
from sigil.cli.names import name_own_command
from sigil.errors import BackendError, Refused, ToolError
from sigil.manifest.languages import SOURCES
from sigil.manifest.package import SOURCE_BYTES
from sigil.sandbox.engine import MODULE_BYTES
from sigil.settings import Settings, find_unknown_variables
from sigil.storage import files, toml_files
from sigil.wiring import cache_folder, engine_path, open_sandbox

FOLDERS_MOST = 200
_INCREMENT = "return input.number + 1;"
_COMPILED_LANGUAGES = ("c", "assemblyscript", "rust")
"""The languages that need a compiler of this machine."""


def machine_checks(settings: Settings) -> Mapping[str, Check]:
    """Return the checks of this machine, which a command with a remote registry needs too."""
    checks = {
        "environment": check_environment,
        "engine": check_engine,
        "compiled code": check_cache,
        "runners": check_runners,
        "compilers": check_compilers,
    }
    return {name: partial(check, settings) for name, check in checks.items()}


def check_environment(settings: Settings) -> str:
    """Check that every variable that looks like a setting is one."""
    unknown = find_unknown_variables(settings)
    if unknown:
        raise DoctorWarning(
            f"no setting: {', '.join(map(str, unknown))}",
            suggestion="; ".join(f"unset {one.name}" for one in unknown)
            + ", and set the one that was meant; --verbose lists all",
        )
    return "every variable with the name of a setting is one"


def check_engine(settings: Settings) -> str:
    """Check that the JavaScript engine is there, and is the one that this version builds."""
    from sigil.sandbox.engine.build import find_problem

    path = engine_path(settings)
    try:
        body = files.read_bounded(path, MODULE_BYTES)
    except OSError as problem:
        raise BackendError(
            "EUNAVAILABLE", f"{path}: {problem.strerror}", suggestion="run scripts/build-engine"
        ) from None
    found = f"{path}, {len(body):,} bytes, sha256:{hashlib.sha256(body).hexdigest()[:12]}"
    if settings.engine:
        return f"{found}, as SIGIL_ENGINE says"
    wrong = find_problem()
    if wrong:
        raise DoctorWarning(f"{found}: {wrong}", suggestion="run scripts/build-engine")
    return found


def check_cache(settings: Settings) -> str:
    """Check that compiled code can be kept, and that the engine's is whole."""
    folder = cache_folder(settings)
    remedy = (
        "make it writable, or set UNCAGED_CACHE to a folder of yours: without it every start"
        " compiles for a second"
    )
    if folder is None:
        raise DoctorWarning("there is no folder for it", suggestion=remedy)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as problem:
        raise DoctorWarning(f"{folder}: {problem.strerror}", suggestion=remedy) from None
    modules = [*folder.glob("*.code")]
    if _is_engine_damaged(folder, engine_path(settings)):
        raise DoctorWarning(
            f"the engine's in {folder} is damaged, or of another version",
            suggestion="nothing to do: the next run compiles it again",
        )
    size = sum(path.stat().st_size for path in modules) >> 20
    return f"{len(modules)} modules, {size:,} MiB in {folder}"


def _is_engine_damaged(folder: Path, engine: Path) -> bool:
    """Return whether the compiled engine in a cache cannot be used. An engine that is missing or
    too large is reported by its own check.
    """
    from sigil.sandbox.code_store import CodeStore
    from sigil.sandbox.compile_job import fingerprint

    if not engine.is_file() or engine.stat().st_size > MODULE_BYTES:
        return False
    digest = hashlib.sha256(files.read_bounded(engine, MODULE_BYTES)).hexdigest()
    if not (folder / f"{digest}.code").exists():
        return False
    return CodeStore(folder, fingerprint()).read(digest) is None


def check_runners(settings: Settings) -> str:
    """Check that a runner starts and answers twice, and report how tightly it is confined."""
    from sigil.sandbox.child import landlock
    from sigil.sandbox.javascript_module import make_module
    from sigil.sandbox.program import Program

    wasm = make_module(_INCREMENT)
    program = Program("doctor", "js", lambda: wasm)
    with closing(open_sandbox(settings)) as sandbox:
        first = sandbox.run(program, b'{"number":41}')
        second = sandbox.run(program, b'{"number":41}')
        confinement = sandbox.describe()
        isolation = sandbox.isolation()
    if second.output != b"42":
        raise ToolError(
            "EOUTPUT",
            "JavaScript says that 41 + 1 is not 42",
            suggestion="run scripts/build-engine",
        )
    compilers = (
        "landlock for compilers"
        if landlock.version()
        else "no landlock: compilers are confined without it"
    )
    found = (
        f"41 + 1 = 42 in {first.duration_ms:.1f} ms, then {second.duration_ms:.1f} ms;"
        f" {confinement}; {compilers}"
    )
    if settings.sandbox == "plain" or not all(isolation):
        raise DoctorWarning(
            found,
            suggestion=(
                "it works, slower or less confined: a newer kernel, or SIGIL_SANDBOX=auto, has"
                " every protection"
            ),
        )
    return found


def check_compilers(settings: Settings) -> str:
    """Check which languages can be compiled here.

    A source here in one that cannot is a failure.
    """
    for lang, source in _scan_sources():
        problem = _find_compiler_problem(lang, source)
        if problem:
            raise BackendError(
                "EUNAVAILABLE",
                f"a source here is in {lang}: {problem.message}",
                suggestion=name_own_command(problem.suggestion),
            )
    states = []
    for lang in _COMPILED_LANGUAGES:
        problem = _find_compiler_problem(lang)
        states.append(f"{lang} not: {problem.message}" if problem else f"{lang} ready")
    return "; ".join(states)


def _scan_sources() -> Iterator[tuple[str, str]]:
    """Yield language and source of the capability in the current folder, and of those in its
    folders.
    """
    manifests = sorted(Path().glob("*/sigil.toml"))[:FOLDERS_MOST]
    for manifest in (Path("sigil.toml"), *manifests):
        try:
            build = toml_files.parse_table(toml_files.read_text(manifest)).get("build")
        except (OSError, ValueError):
            continue
        if not isinstance(build, dict):
            continue
        lang = str(build.get("lang", "js"))
        if lang not in _COMPILED_LANGUAGES:
            continue
        try:
            source = toml_files.read_text(manifest.parent / str(build.get("source", SOURCES[lang])))
        except (OSError, ValueError):
            source = ""
        yield lang, source[:SOURCE_BYTES]


def _find_compiler_problem(lang: str, source: str = "") -> Refused | None:
    """Return what keeps a language, or one source of it, from being compiled here; None for
    nothing.
    """
    from sigil.compile.toolchain import rust
    from sigil.compile.toolchain.installer import find_problem

    if lang != "rust" or not source:
        return find_problem(lang)
    try:
        rust.require_compiler(source)
    except Refused as problem:
        return problem
    return None
