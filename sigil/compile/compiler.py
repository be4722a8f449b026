"""The compiler: a package's source becomes a WebAssembly module, by the language that it is written
in.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, Protocol

from sigil.errors import Refused, UsageError
from sigil.manifest.package import Package
from sigil.sandbox.program import Grants, Outcome, Program, SandboxLimits
from sigil.storage.artifacts import artifact_name


@dataclass(frozen=True, slots=True)
class BuiltModule:
    """A module that the sandbox runs. `kind` says how it is linked: alone, as a command, or to the
    JavaScript engine.
    """

    kind: Literal["js", "sigil", "wasi"]
    wasm: bytes

    @property
    def digest(self) -> str:
        return artifact_name(self.wasm)


class ModuleChecker(Protocol):
    """Compiles foreign text and modules in a child process within limits, and runs what itself
    compiles.
    """

    def assemble(self, text: bytes) -> bytes:
        """The module that a WAT text describes; `Refused` with EMODULE when it is none."""

    def check(self, wasm: bytes, abi: Literal["sigil", "wasi"] = "sigil") -> None:
        """`Refused` with EMODULE when the module may not run here."""

    def run(
        self, program: Program, input: bytes, grants: Grants = ..., limits: SandboxLimits = ...
    ) -> Outcome:
        """The answer of a program, which may itself be a compiler."""

    def compiling(self) -> AbstractContextManager[None]:
        """While a compiler of another language works on a source: at most so many at once, and one
        for each namespace.
        """


def build(package: Package, sandbox: ModuleChecker) -> BuiltModule:
    """The module of a package, checked; foreign modules are compiled once within limits. `Refused`
    with EMODULE says what is wrong.
    """
    match package.manifest.lang:
        case "js":
            from sigil.sandbox.javascript_module import make_module

            return BuiltModule("js", make_module(_decode_source(package)))
        case "ts":
            from sigil.compile.typescript import strip_types
            from sigil.sandbox.javascript_module import make_module

            return BuiltModule(
                "js",
                make_module(strip_types(_decode_source(package), package.manifest.name, sandbox)),
            )
        case "wat":
            return _check_module(sandbox.assemble(package.code), sandbox)
        case "wasm":
            return _check_module(package.code, sandbox)
        case "wasi":
            return _check_module(package.code, sandbox, "wasi")
        case "c":
            from sigil.compile.toolchain.c import compiled

            with sandbox.compiling():
                kind, wasm = compiled(_decode_source(package).encode(), package.manifest.name)
            return _check_module(wasm, sandbox, kind)
        case "assemblyscript":
            from sigil.compile.toolchain import assemblyscript

            with sandbox.compiling():
                wasm = assemblyscript.compiled(_decode_source(package), package.manifest.name)
            return _check_module(wasm, sandbox)
        case "rust":
            from sigil.compile.toolchain import rust

            with sandbox.compiling():
                kind, wasm = rust.compiled(_decode_source(package), package.manifest.name)
            return _check_module(wasm, sandbox, kind)
        case "mcp":
            from sigil.compile.mcp_tool import write_module

            return _check_module(sandbox.assemble(write_module(package)), sandbox)
        case "host":
            return _build_host_function(package)


def _build_host_function(package: Package) -> BuiltModule:
    """No module at all: the agent has the function. What it may do is no permission of the sandbox,
    and no golden test calls it.
    """
    manifest = package.manifest
    if manifest.requires or manifest.tests or not manifest.permissions.none:
        message = "what runs inside an agent has no requires, no permissions and no golden tests"
        raise UsageError("EMANIFEST", message, source=manifest.name, suggestion="take them out")
    return BuiltModule("sigil", b"")


def _decode_source(package: Package) -> str:
    """The source; the mark with which some editors begin a file is no part of it."""
    try:
        return package.code.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = package.code.count(b"\n", 0, problem.start) + 1
        message = f"line {line}: the source is not UTF-8"
        raise Refused(
            "EMODULE",
            message,
            source=package.manifest.name,
            suggestion="save the file as UTF-8 and deploy again",
        ) from None


def _check_module(
    wasm: bytes, sandbox: ModuleChecker, abi: Literal["sigil", "wasi"] = "sigil"
) -> BuiltModule:
    sandbox.check(wasm, abi)
    return BuiltModule(abi, wasm)
