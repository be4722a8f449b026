"""What a build keeps for the next one, and what of it is not trusted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sigil.sandbox.engine.build_cache import BuildCache, open_build_cache

INPUTS = "1f" * 32


@pytest.fixture
def kept(tmp_path: Path) -> BuildCache:
    cache = BuildCache(tmp_path / "cache")
    cache.keep("engine", INPUTS, b"\0asm\n")
    return cache


def path_in(cache: BuildCache) -> Path:
    assert cache.folder is not None
    return cache.folder / "engine" / INPUTS


def test_what_was_kept_is_taken_by_the_digest_of_its_inputs(kept: BuildCache) -> None:
    assert kept.take("engine", INPUTS) == b"\0asm\n"
    assert kept.take("engine", "2e" * 32) is None
    assert kept.take("library", INPUTS) is None
    assert oct(path_in(kept).parents[1].stat().st_mode & 0o777) == "0o700"


def test_a_file_of_other_inputs_is_not_taken_under_a_new_name(kept: BuildCache) -> None:
    path_in(kept).rename(path_in(kept).with_name("2e" * 32))
    assert kept.take("engine", "2e" * 32) is None


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"{}\n\0asm\n", b"[" * 100_000, b"null\n", b"\xff\n", b"\0asm\n"]
)
def test_a_damaged_file_is_ignored_and_replaced(kept: BuildCache, content: bytes) -> None:
    path_in(kept).write_bytes(content)
    assert kept.take("engine", INPUTS) is None
    kept.keep("engine", INPUTS, b"new")
    assert kept.take("engine", INPUTS) == b"new"


@pytest.mark.parametrize("at", [0, -2])
def test_one_changed_byte_is_noticed(kept: BuildCache, at: int) -> None:
    content = bytearray(path_in(kept).read_bytes())
    content[at] ^= 1
    path_in(kept).write_bytes(content)
    assert kept.take("engine", INPUTS) is None


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_what_others_can_write_to_is_ignored(kept: BuildCache, depth: int) -> None:
    place = (path_in(kept), *path_in(kept).parents)[depth]
    place.chmod(place.stat().st_mode | 0o020)
    assert kept.take("engine", INPUTS) is None


def test_what_another_user_owns_is_ignored(
    kept: BuildCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: path_in(kept).stat().st_uid + 1)
    assert kept.take("engine", INPUTS) is None


def test_a_link_and_a_pipe_are_ignored(kept: BuildCache) -> None:
    moved = path_in(kept).rename(path_in(kept).with_name("moved"))
    path_in(kept).symlink_to(moved)
    assert kept.take("engine", INPUTS) is None
    path_in(kept).unlink()
    os.mkfifo(path_in(kept), 0o600)
    assert kept.take("engine", INPUTS) is None


def test_where_nothing_can_be_kept_the_build_goes_on(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for cache in (BuildCache(None), BuildCache(tmp_path / "file" / "cache")):
        cache.keep("engine", INPUTS, b"x")
        assert cache.take("engine", INPUTS) is None


def test_the_environment_says_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNCAGED_BUILD_CACHE", "off")
    assert open_build_cache().folder is None
    monkeypatch.setenv("UNCAGED_BUILD_CACHE", "/kept")
    assert open_build_cache().folder == Path("/kept")
    monkeypatch.setenv("UNCAGED_BUILD_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert open_build_cache().folder == Path("/cache/uncaged/build")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/people/ada")
    assert open_build_cache().folder == Path("/people/ada/.cache/uncaged/build")
