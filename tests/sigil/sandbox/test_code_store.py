"""Native code that comes with the package: used where it fits, made again where it does not,
believed nowhere else.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from sigil.compile.toolchain import native_code
from sigil.compile.toolchain.c import BUILT
from sigil.compile.toolchain.native_code import compile_package
from sigil.sandbox import code_cache
from sigil.sandbox.code_cache import NativeCodeCache
from sigil.sandbox.code_store import CodeStore, compile_shipped, open_shipped
from sigil.sandbox.compile_job import CompileJobs
from sigil.sandbox.engine import ENGINE
from sigil.sandbox.runtime import config
from sigil.sandbox.sealed_memory import SealedCode
from tests.sigil.sandbox.modules import guest

MODULE = guest(more="(func (result i32) (i32.const 1))" * 600)


class CountingJobs(CompileJobs):
    """Only notes what it is asked for."""

    asked = 0

    def run(self, task: str, data: bytes) -> SealedCode:  # type: ignore[override]
        self.asked += 1
        return super().run("compile", data)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package's own folder for code, with that of the module."""
    folder = tmp_path / "package"
    compile_shipped(MODULE, folder)
    monkeypatch.setattr(code_cache, "open_shipped", lambda: open_shipped(folder))
    return folder


def compiled_anew(cache: Path | None = None) -> bool:
    compile_jobs = CountingJobs()
    code = NativeCodeCache(cache, compile_jobs).get(MODULE)
    assert next(code.chunks())[:4] == b"\x7fELF"
    return compile_jobs.asked == 1


def kept(folder: Path) -> Path:
    return folder / f"{sha256(MODULE).hexdigest()}.code"


def test_code_that_was_shipped_is_not_compiled(package: Path) -> None:
    assert not compiled_anew()


def test_it_needs_no_folder_that_can_be_written(package: Path, tmp_path: Path) -> None:
    assert not compiled_anew(tmp_path / "cache")
    assert not (tmp_path / "cache").exists()
    assert [path.name for path in package.iterdir()] == [kept(package).name]


@pytest.mark.parametrize("place", [0, 31, 32, 1000, -1])
def test_damaged_code_is_compiled_again(place: int, package: Path) -> None:
    bytes_ = bytearray(kept(package).read_bytes())
    bytes_[place] ^= 1
    kept(package).write_bytes(bytes_)

    assert compiled_anew()


def test_code_for_other_settings_is_compiled_again(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "STACK_BYTES", config.STACK_BYTES * 2)

    assert compiled_anew()


def test_code_of_another_module_is_not_taken(package: Path) -> None:
    kept(package).rename(package / f"{sha256(b'another').hexdigest()}.code")

    assert compiled_anew()


def test_a_cache_does_not_believe_what_a_package_would(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(code_cache, "open_shipped", lambda: None)
    cache = tmp_path / "cache"
    compiled_anew(cache)
    (cache / kept(package).name).write_bytes(kept(package).read_bytes())

    assert compiled_anew(cache)


def test_a_package_without_code_has_none(tmp_path: Path) -> None:
    assert open_shipped(tmp_path / "nothing") is None


def test_an_installation_has_the_code_of_its_engine_and_of_the_librarys_modules() -> None:
    store = open_shipped()
    modules = [sha256(path.read_bytes()).hexdigest() for path in (ENGINE, *BUILT.glob("*.wasm"))]

    assert len(modules) > 5
    assert store is not None, "scripts/install compiles it"
    assert [module for module in modules if store.read(module) is None] == []


def test_what_is_compiled_into_a_package_is_readable_for_all_and_nothing_older_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (engine := tmp_path / "engine.wasm").write_bytes(MODULE)
    (built := tmp_path / "built").mkdir()
    (built / "one.wasm").write_bytes(guest())
    monkeypatch.setattr(native_code, "ENGINE", engine)
    monkeypatch.setattr(native_code, "BUILT", built)
    (folder := tmp_path / "package").mkdir()
    (folder / f"{sha256(b'older').hexdigest()}.code").write_bytes(b"older")
    compile_package(folder)

    found = list(folder.iterdir())
    assert {path.stem for path in found} == {
        sha256(module).hexdigest() for module in (MODULE, guest())
    }
    assert {path.stat().st_mode & 0o777 for path in found} == {0o644}


def test_a_vault_with_a_given_key_makes_none(tmp_path: Path) -> None:
    assert CodeStore(tmp_path, b"context", b"key").read("00" * 32) is None
    assert not list(tmp_path.iterdir())
