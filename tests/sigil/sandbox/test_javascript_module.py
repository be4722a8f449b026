"""A JavaScript capability as a module of its own."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wasmtime import Engine, Module

from sigil.errors import UsageError
from sigil.sandbox.engine import wasm
from sigil.sandbox.javascript_module import SOURCE_LIMIT, make_module, read_source
from tests.selection import examples
from tests.sigil.sandbox.engine.driver import Call, run
from tests.tables import each_row


@given(st.text(st.characters(exclude_categories=["Cs"])))
@settings(max_examples=examples(30), deadline=None)
def test_a_source_comes_back_as_it_was(source: str) -> None:
    assert read_source(make_module(source)) == source


def test_the_same_source_gives_the_same_small_module() -> None:
    assert make_module("return 1") == make_module("return 1")
    assert len(make_module("")) < 512


@each_row("size", [0, 1, 127, 128, 16_384, SOURCE_LIMIT])
def test_a_module_is_valid_at_every_size(size: int) -> None:
    module = make_module(" " * size)

    assert len(module) > size
    Module.validate(Engine(), module)  # raises for one that is not valid


def test_a_module_imports_the_engine_alone_and_offers_the_abi() -> None:
    module = Module(Engine(), make_module("return 1"))
    names = ["memory", "sigil_alloc", "sigil_load", "sigil_run", "sigil_out_ptr", "sigil_out_len"]
    assert [(each.module, each.name) for each in module.imports] == [
        ("sigil_js_v1", name) for name in names
    ]
    assert [each.name for each in module.exports] == [
        "memory",
        "sigil_alloc",
        "sigil_run",
        "sigil_out_ptr",
        "sigil_out_len",
        "sigil_start",
    ]


def test_a_module_carries_its_manifest() -> None:
    content = wasm.custom_section(make_module("return 1"), "sigil:manifest")
    assert content is not None
    assert json.loads(content) == {"abi": "sigil/1", "engine": "sigil_js_v1"}


def test_a_module_runs() -> None:
    assert run("return `${input.name}: ${'ü'.repeat(3)}`", {"name": "日"}) == "日: üüü"


def test_the_longest_source_loads() -> None:
    source = "return 1 //" + "x" * (SOURCE_LIMIT - 11)
    assert run(source) == 1


def test_a_source_that_is_too_long_is_refused() -> None:
    with pytest.raises(UsageError, match="ETOOBIG: the source is 262,145 bytes long"):
        make_module("ä" * (SOURCE_LIMIT // 2) + "x")


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(UsageError, match="EINVAL"):
        make_module("return '\ud800'")


OTHERS = (
    b"",
    wasm.MAGIC,
    make_module("return 1")[:-1],
    make_module("return 1").replace(b"return 1", b"return\xff1"),
    make_module("return 1").replace(b'sigil_js_v1"', b'sigil_js_v9"'),
    make_module("return 1").replace(b'{"abi"', b'["abi"'),
    wasm.module([wasm.custom("sigil:manifest", b'{"engine":"sigil_js_v1"}')]),
    wasm.module([wasm.custom("sigil:manifest", b"[" * 100_000)]),
)


@each_row("module", OTHERS)
def test_what_is_no_such_module_has_no_source(module: bytes) -> None:
    with pytest.raises(UsageError, match="this is not a JavaScript capability"):
        read_source(module)


def test_no_room_for_the_source_is_a_failure_and_no_trap() -> None:
    call = Call("return 1 //" + "x" * 100_000)
    size = 1 << 20
    while size > 1000:
        if call.export("sigil_alloc", size) == 0:
            size //= 2
    assert call.export("sigil_start") == 1
