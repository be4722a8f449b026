"""Compiled code on disk: used when it is ours and unchanged, made again when it is not."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sigil.sandbox.code_cache import NativeCodeCache
from sigil.sandbox.code_store import CodeStore
from sigil.sandbox.compile_job import CompileJobs, fingerprint
from sigil.sandbox.pool import Sandbox
from sigil.sandbox.runtime import config
from sigil.sandbox.sealed_memory import SealedCode
from tests.sigil.sandbox.modules import guest, program

MODULE = guest(more="(func (result i32) (i32.const 1))" * 600)


class CountingJobs(CompileJobs):
    """Compiles for real and counts how often."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def run(self, task: str, data: bytes) -> SealedCode:  # type: ignore[override]
        self.count += 1
        return super().run("compile", data)


def compiled_anew(folder: Path | None) -> bool:
    """Return whether a new process would have to compile the module, given what is in `folder`."""
    compile_jobs = CountingJobs()
    code = NativeCodeCache(folder, compile_jobs).get(MODULE)
    assert next(code.chunks())[:4] == b"\x7fELF"
    return compile_jobs.count == 1


def only(folder: Path) -> Path:
    (path,) = folder.glob("*.code")
    return path


def test_code_is_kept_and_used_again(tmp_path: Path) -> None:
    assert compiled_anew(tmp_path / "a" / "b")
    assert not compiled_anew(tmp_path / "a" / "b")
    assert sorted(path.stat().st_mode & 0o777 for path in (tmp_path / "a" / "b").iterdir()) == [
        0o600,
        0o600,
    ]


@pytest.mark.parametrize("place", [0, 31, 32, 1000, -1])
def test_a_changed_file_is_compiled_again(place: int, tmp_path: Path) -> None:
    compiled_anew(tmp_path)
    kept = bytearray(only(tmp_path).read_bytes())
    kept[place] ^= 1
    only(tmp_path).write_bytes(kept)
    assert compiled_anew(tmp_path)
    assert not compiled_anew(tmp_path)


@pytest.mark.parametrize("content", [b"", b"\x7fELF" + bytes(100), bytes(32), bytes(5000)])
def test_a_file_that_is_not_ours_is_compiled_again(content: bytes, tmp_path: Path) -> None:
    compiled_anew(tmp_path)
    only(tmp_path).write_bytes(content)
    assert compiled_anew(tmp_path)


def test_code_of_another_module_is_not_taken_for_this_ones(tmp_path: Path) -> None:
    compiled_anew(tmp_path)
    first = only(tmp_path)
    NativeCodeCache(tmp_path, CompileJobs()).get(
        guest(more="(func (result i32) (i32.const 2))" * 600)
    )
    (other,) = set(tmp_path.glob("*.code")) - {first}
    first.write_bytes(other.read_bytes())
    assert compiled_anew(tmp_path)


def test_code_for_another_runtime_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled_anew(tmp_path)
    monkeypatch.setattr(config, "ON", (*config.ON, "something"))
    assert CodeStore(tmp_path, fingerprint()).read(only(tmp_path).stem) is None


@pytest.mark.parametrize(
    "spoil",
    [lambda key: key.write_bytes(b"short"), lambda key: key.chmod(0o644), lambda key: key.unlink()],
)
def test_a_key_that_others_could_know_is_replaced(
    spoil: Callable[[Path], None], tmp_path: Path
) -> None:
    compiled_anew(tmp_path)
    before = (tmp_path / "key").read_bytes()
    spoil(tmp_path / "key")
    assert compiled_anew(tmp_path)
    assert (tmp_path / "key").read_bytes() != before
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600


def test_a_folder_that_cannot_be_written_costs_only_time(
    tmp_path: Path, opened: Callable[..., Sandbox]
) -> None:
    (tmp_path / "file").write_text("in the way")
    for folder in (None, tmp_path / "file" / "cache", Path("/proc/nothing")):
        assert opened(cache=folder).run(program(MODULE), b"1").output == b"1"
    assert compiled_anew(tmp_path / "file" / "cache")


def test_the_cache_does_not_grow_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sigil.sandbox.code_store._FILES", 3)
    store = CodeStore(tmp_path, bytes(32))
    code = CompileJobs().run("compile", guest())
    for number in range(6):
        store.write(f"{number:064x}", code)
        os.utime(tmp_path / f"{number:064x}.code", (number, number))
    assert sorted(path.stem[-1] for path in tmp_path.glob("*.code")) == ["3", "4", "5"]


def test_code_in_hand_cannot_be_changed() -> None:
    code = CompileJobs().run("compile", guest())
    for change in (
        lambda: os.write(code.descriptor, b"x"),
        lambda: os.ftruncate(code.descriptor, 0),
    ):
        with pytest.raises(PermissionError):
            change()
