"""The module itself, and how it is made."""

from __future__ import annotations

import io
import json
import tarfile
from hashlib import sha256
from pathlib import Path

import pytest
from wasmtime import FuncType

from sigil.sandbox.engine import DESCRIPTION, build, snapshot, sources
from sigil.sandbox.engine.build_cache import BuildCache
from sigil.sandbox.engine.sources import BuildError
from tests.sigil.sandbox.engine.driver import Call, compiled

ABI = {
    "memory": None,
    "sigil_alloc": (["i32"], ["i32"]),
    "sigil_load": (["i32", "i32"], ["i32"]),
    "sigil_pack": ([], ["i32"]),
    "sigil_hold": (["i32"], ["i32"]),
    "sigil_unpack": (["i32", "i32"], ["i32"]),
    "sigil_tidy": ([], ["i32"]),
    "sigil_run": (["i32", "i32"], ["i32"]),
    "sigil_out_ptr": ([], ["i32"]),
    "sigil_out_len": ([], ["i32"]),
}


def signature(kind: object) -> tuple[list[str], list[str]] | None:
    return (
        ([str(each) for each in kind.params], [str(each) for each in kind.results])
        if isinstance(kind, FuncType)
        else None
    )


def test_the_module_offers_the_abi_and_nothing_else() -> None:
    assert {each.name: signature(each.type) for each in compiled()[1].exports} == ABI


def test_the_module_asks_for_its_two_host_functions_and_nothing_else() -> None:
    assert [(each.module, each.name) for each in compiled()[1].imports] == [
        ("sigil", "call"),
        ("sigil", "take"),
    ]


def test_a_fresh_instance_has_room_for_a_call_without_growing() -> None:
    call = Call("return input.map(n => n * 2)")
    before = call.memory.size(call.store)
    call.load()
    call.run(json.dumps(list(range(500))).encode())
    assert call.memory.size(call.store) == before


def test_a_small_call_writes_to_few_pages() -> None:
    call = Call("return { n: input.a.map(x => x * 2), s: JSON.stringify(input) }")
    size = call.memory.data_len(call.store)
    before = call.read(0, size)
    call.load()
    call.run(b'{"a":[1,2,3]}')
    after = call.read(0, size)
    assert (
        sum(
            before[page : page + 4096] != after[page : page + 4096] for page in range(0, size, 4096)
        )
        <= 14
    )


def test_the_description_names_what_was_built() -> None:
    described = json.loads(DESCRIPTION.read_bytes())
    assert described["sha256"] == sha256(build.build().read_bytes()).hexdigest()
    assert described["quickjs-ng"] == sources.VERSION


def test_what_is_built_already_is_not_built_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(build, "_compile_engine", lambda *_: pytest.fail("it compiled again"))
    assert build.main() == 0
    assert capsys.readouterr().err == ""


def test_no_path_of_the_machine_is_in_the_module() -> None:
    module = build.build().read_bytes()
    for part in (b"/home", b"/root", b"/tmp", b"/work", b"site-packages", b".zig"):
        assert part not in module


@pytest.fixture(scope="module")
def unstarted() -> bytes:
    """The compiled engine before its first start, as the last build left it."""
    with build._open_cache() as cache:
        return build._compile_engine(cache, BuildCache(None))


@pytest.mark.thorough
def test_compiled_anew_it_has_the_same_bytes(unstarted: bytes, tmp_path: Path) -> None:
    with build._open_cache() as cache:
        sdist = cache / "engine" / sources.FILE
        if sdist.is_file():
            pytest.skip("the installation of this checkout compiled it anew")
    assert build._compile_engine(tmp_path, BuildCache(None)) == unstarted


def test_an_engine_of_the_same_inputs_is_taken_from_an_earlier_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unstarted: bytes
) -> None:
    kept = BuildCache(tmp_path / "kept")
    kept.keep("unstarted", build._fingerprint(*build._compiler_inputs()), unstarted)
    module = build.build().read_bytes()
    kept.keep("engine", build._fingerprint(*build._inputs()), module)
    monkeypatch.setenv("UNCAGED_BUILD_CACHE", str(tmp_path / "kept"))
    monkeypatch.setattr(build, "ENGINE", tmp_path / "engine.wasm")
    monkeypatch.setattr(build, "DESCRIPTION", tmp_path / "engine.json")
    monkeypatch.setattr(build, "_find_zig", lambda: pytest.fail("it compiled again"))
    monkeypatch.setattr(build, "_start_engine", lambda _: pytest.fail("it started it again"))
    assert build.build().read_bytes() == module
    assert not build.find_problem()


@pytest.mark.thorough
def test_the_first_start_always_gives_the_same_module(unstarted: bytes) -> None:
    assert snapshot.pre_initialise(unstarted, build.join_prelude()) == build.build().read_bytes()


@pytest.mark.parametrize(
    ("prelude", "reason"),
    [
        (b"(function () {", "sigil_compile failed"),
        (b"(function () { throw new Error('no') })", "sigil_prepare failed at step 2: Error: no"),
    ],
)
def test_a_prelude_that_fails_is_no_engine(unstarted: bytes, prelude: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        snapshot.pre_initialise(unstarted, prelude)


def test_the_sdist_is_kept_and_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = b"the sources"
    monkeypatch.setattr(sources, "SHA256", sha256(content).hexdigest())
    path = tmp_path / f"quickjs_ng-{sources.VERSION}.tar.gz"
    path.write_bytes(content)
    monkeypatch.setattr(sources, "_download", lambda folder: pytest.fail("it downloaded again"))
    assert sources.fetch_sdist(tmp_path) == path


def test_a_kept_sdist_that_was_changed_is_fetched_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"quickjs_ng-{sources.VERSION}.tar.gz").write_bytes(b"changed")

    def download(folder: Path) -> Path:
        raise BuildError("asked for")

    monkeypatch.setattr(sources, "_download", download)
    with pytest.raises(BuildError, match="asked for"):
        sources.fetch_sdist(tmp_path)


def test_only_the_sources_leave_the_archive(tmp_path: Path) -> None:
    archive = tmp_path / "sdist.tar.gz"
    folder = f"quickjs_ng-{sources.VERSION}"
    with tarfile.open(archive, "w:gz") as tar:
        for name in (
            "upstream-quickjs/a.c",
            "upstream-quickjs/b.h",
            "upstream-quickjs/../../evil.c",
            "upstream-quickjs/sub/c.c",
            "setup.py",
            "../d.c",
        ):
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size = 1
            tar.addfile(member, io.BytesIO(b"x"))
    target = tmp_path / "out"
    target.mkdir()
    sources.extract(archive, target)
    assert sorted(path.name for path in target.iterdir()) == ["a.c", "b.h"]
    assert not (tmp_path / "evil.c").exists()


def test_without_the_compiler_the_build_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(build, "ZIG", "0.0.0")
    with pytest.raises(BuildError, match=r"pip install --only-binary=:all: ziglang==0\.0\.0"):
        build._find_zig()
    monkeypatch.setattr(build, "build", lambda force: build._find_zig())
    assert build.main() == 1
    assert "--only-binary=:all: ziglang" in capsys.readouterr().err
