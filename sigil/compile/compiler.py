"""Compiles a package's source to a WebAssembly module, by the language that it is written in."""

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
    """A module that the sandbox can run. `kind`: it runs by itself, is a command, or is linked to
    the JavaScript engine.
    """

    kind: Literal["js", "sigil", "wasi"]
    wasm: bytes

    @property
    def digest(self) -> str:
        return artifact_name(self.wasm)


class ModuleChecker(Protocol):
    """The sandbox, as far as compiling needs it: it compiles foreign text and modules within
    limits, and runs programs that are compilers themselves.
    """

    def assemble(self, text: bytes) -> bytes:
        """Return the module that a WAT text describes; `Refused` EMODULE when it is none."""

    def check(self, wasm: bytes, abi: Literal["sigil", "wasi"] = "sigil") -> None:
        """Check that the module may run here; `Refused` EMODULE when not."""

    def run(
        self, program: Program, input: bytes, grants: Grants = ..., limits: SandboxLimits = ...
    ) -> Outcome:
        """Return the answer of a program, which may be a compiler itself."""

    def compiling(self) -> AbstractContextManager[None]:
        """Hold a turn for the compiler of another language: a few at once, and one for each
        namespace.
        """


def build(package: Package, sandbox: ModuleChecker) -> BuiltModule:
    """Return the module of a package, checked; a foreign module is compiled once within limits.
    `Refused` EMODULE says what is wrong.
    """
    match package.manifest.lang:
        case "js":
            from sigil.compile.javascript import drop_types
            from sigil.sandbox.javascript_module import make_module

            source = drop_types(_decode_source(package), package.manifest.name, sandbox)
            return BuiltModule("js", make_module(source))
        case "ts":
            from sigil.compile.typescript import strip_types
            from sigil.sandbox.javascript_module import make_module

            source = strip_types(_decode_source(package), package.manifest.name, sandbox)
            return BuiltModule("js", make_module(source))
        case "wat":
            return _check_module(sandbox.assemble(package.code), sandbox)
        case "wasm":
            return _check_module(package.code, sandbox)
        case "wasi":
            return _check_module(package.code, sandbox, "wasi")
        case "c":
            from sigil.compile.toolchain import c

            with sandbox.compiling():
                encoded = _decode_source(package).encode()
                kind, wasm = c.compile_source(encoded, package.manifest.name)
            return _check_module(wasm, sandbox, kind)
        case "assemblyscript":
            from sigil.compile.toolchain import assemblyscript

            with sandbox.compiling():
                wasm = assemblyscript.compile_source(_decode_source(package), package.manifest.name)
            return _check_module(wasm, sandbox)
        case "rust":
            from sigil.compile.toolchain import rust

            with sandbox.compiling():
                kind, wasm = rust.compile_source(_decode_source(package), package.manifest.name)
            return _check_module(wasm, sandbox, kind)
        case "mcp":
            from sigil.compile.mcp_tool import write_module

            return _check_module(sandbox.assemble(write_module(package)), sandbox)
        case "host":
            # No module at all: the agent has the function. The sandbox grants it nothing, and no
            # golden test can call it.
            manifest = package.manifest
            if manifest.requires or manifest.tests or not manifest.permissions.none:
                raise UsageError(
                    "EMANIFEST",
                    "a function of an agent has no requires, no permissions and no golden tests",
                    source=manifest.name,
                    suggestion="take them out",
                )
            return BuiltModule("sigil", b"")
        case "bundle":
            return BuiltModule("sigil", b"")


def _decode_source(package: Package) -> str:
    """Return the source as text, without the byte order mark that some editors write."""
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
