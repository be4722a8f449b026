"""Checks of what runs capabilities on this machine: the engine, its compiled form, the runners, the
compilers.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path

from sigil.cli.doctor.findings import Check, DoctorWarning
from sigil.errors import BackendError, Refused, ToolError
from sigil.manifest.languages import SOURCES
from sigil.manifest.package import SOURCE_BYTES
from sigil.sandbox.engine import MODULE_BYTES
from sigil.settings import Settings
from sigil.storage import files, toml_files
from sigil.wiring import cache_folder, engine_path, open_sandbox

_ECHO = "return input.number + 1;"
_COMPILED = ("c", "assemblyscript", "rust")
"""Languages that are compiled by a compiler of this machine."""


def machine_checks(settings: Settings) -> Mapping[str, Check]:
    """Return the checks of what runs here, also beside a registry elsewhere."""
    checks = {
        "engine": check_engine,
        "compiled code": check_cache,
        "runners": check_runners,
        "compilers": check_compilers,
    }
    return {name: partial(check, settings) for name, check in checks.items()}


def check_engine(settings: Settings) -> str:
    """Check that the JavaScript engine is there, and is the one that this version builds."""
    path = engine_path(settings)
    try:
        body = files.read_bounded(path, MODULE_BYTES)
    except OSError as problem:
        raise BackendError(
            "EUNAVAILABLE", f"{path}: {problem.strerror}", suggestion="run scripts/build-engine"
        ) from None
    said = f"{path}, {len(body):,} bytes, sha256:{hashlib.sha256(body).hexdigest()[:12]}"
    if settings.engine:
        return f"{said}, as SIGIL_ENGINE says"
    from sigil.sandbox.engine.build import trouble

    wrong = trouble()
    if wrong:
        raise DoctorWarning(f"{said}: {wrong}", suggestion="run scripts/build-engine")
    return said


def check_cache(settings: Settings) -> str:
    """Check that compiled code can be kept, and that the engine's is whole."""
    folder = cache_folder(settings)
    mend = (
        "make it writable, or set UNCAGED_CACHE to a folder of yours: without it every start"
        " compiles for a second"
    )
    if folder is None:
        raise DoctorWarning("there is no folder for it", suggestion=mend)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as problem:
        raise DoctorWarning(f"{folder}: {problem.strerror}", suggestion=mend) from None
    files = [*folder.glob("*.code")]
    if not _is_cache_whole(folder, engine_path(settings)):
        raise DoctorWarning(
            f"the engine's in {folder} is damaged, or of another version",
            suggestion="nothing to do: the next run makes it again",
        )
    size = sum(path.stat().st_size for path in files) >> 20
    return f"{len(files)} modules, {size:,} MiB in {folder}"


def _is_cache_whole(folder: Path, engine: Path) -> bool:
    from sigil.sandbox.code_store import CodeStore
    from sigil.sandbox.compile_job import fingerprint

    if not engine.is_file() or engine.stat().st_size > MODULE_BYTES:
        return True  # told by its own check
    digest = hashlib.sha256(files.read_bounded(engine, MODULE_BYTES)).hexdigest()
    return (
        not (folder / f"{digest}.code").exists()
        or CodeStore(folder, fingerprint()).read(digest) is not None
    )


def check_runners(settings: Settings) -> str:
    """Check that a runner starts and answers twice, and report how tightly it is confined."""
    from sigil.sandbox.javascript_module import make_module
    from sigil.sandbox.program import Program

    wasm = make_module(_ECHO)
    with closing(open_sandbox(settings)) as opened:
        first = opened.run(Program("doctor", "js", lambda: wasm), b'{"number":41}')
        second = opened.run(Program("doctor", "js", lambda: wasm), b'{"number":41}')
        way, means = opened.told(), opened.means()
    if second.output != b"42":
        raise ToolError(
            "EOUTPUT",
            "JavaScript says that 41 + 1 is not 42",
            suggestion="run scripts/build-engine",
        )
    said = (
        f"41 + 1 = 42 in {first.duration_ms:.1f} ms, then {second.duration_ms:.1f} ms;"
        f" {way}{_describe_landlock()}"
    )
    if settings.sandbox == "plain" or not all(means):
        raise DoctorWarning(
            said,
            suggestion=(
                "it runs, slower or with fewer walls: a newer kernel, or SIGIL_SANDBOX=auto, has"
                " them all"
            ),
        )
    return said


def _describe_landlock() -> str:
    from sigil.sandbox import landlock

    return (
        "; landlock for compilers"
        if landlock.version()
        else "; no landlock: compilers are shut in without it"
    )


def check_compilers(settings: Settings) -> str:
    """Check which other languages are compiled here.

    A folder here in one that is not is a failure.
    """
    for lang, source in _written():
        problem = _trouble(lang, source)
        if problem:
            raise BackendError(
                "EUNAVAILABLE",
                f"{lang} is written here: {problem.message}",
                suggestion=problem.suggestion,
            )
    return "; ".join(
        f"{lang} ready" if not (found := _trouble(lang)) else f"{lang} not: {found.message}"
        for lang in _COMPILED
    )


def _trouble(lang: str, source: str = "") -> Refused | None:
    """Return what keeps a language, or one source of it, from being compiled here; None for
    nothing.
    """
    from sigil.compile.toolchain import assemblyscript, c, rust

    try:
        if lang == "c":
            c.demand_here()
        elif lang == "assemblyscript":
            assemblyscript.demand_here()
        elif lang == "rust":
            rust.demand_here(*([source] if source else []))
    except Refused as problem:
        return problem
    return None


def _written() -> Iterator[tuple[str, str]]:
    """Language and source of the capability in the current folder, or of those in its folders."""
    for path in [Path("sigil.toml"), *sorted(Path().glob("*/sigil.toml"))[:200]]:
        try:
            build = toml_files.table_of(toml_files.text_of(path)).get("build")
        except (OSError, ValueError):
            continue
        lang = str(build.get("lang", "js")) if isinstance(build, dict) else "js"
        if isinstance(build, dict) and lang in _COMPILED:
            yield lang, _text(path.parent / str(build.get("source", SOURCES[lang])))


def _text(path: Path) -> str:
    try:
        return toml_files.text_of(path)[:SOURCE_BYTES]
    except (OSError, ValueError):
        return ""
