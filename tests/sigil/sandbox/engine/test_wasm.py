"""The binary format, both ways."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wasmtime import Engine, Module

from sigil.sandbox.engine import wasm
from tests.tables import each_row


@given(st.integers(0, 2**32 - 1))
def test_numbers_go_both_ways(number: int) -> None:
    reader = wasm.Reader(wasm.unsigned(number))
    assert (reader.unsigned(), reader.has_more()) == (number, False)


@each_row(
    ("number", "expected"),
    [
        (0, "00"),
        (63, "3f"),
        (64, "c000"),
        (-1, "7f"),
        (-64, "40"),
        (-65, "bf7f"),
        (65536, "808004"),
    ],
)
def test_signed_numbers_keep_their_sign(number: int, expected: str) -> None:
    assert wasm.signed(number).hex() == expected


def test_what_is_written_is_a_module() -> None:
    written = wasm.module([wasm.custom("note", b"hello"), wasm.custom("other", b"")])
    Module.validate(Engine(), written)
    assert wasm.custom_section(written, "note") == b"hello"
    assert wasm.custom_section(written, "other") == b""
    assert wasm.custom_section(written, "none") is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0asm\2\0\0\0",
        b"\0asm\1\0\0\0\0",
        b"\0asm\1\0\0\0\0\x05ab",
        b"\0asm\1\0\0\0\0\xff\xff\xff\xff\xff\x01",
    ],
)
def test_what_is_no_module_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"module|number"):
        list(wasm.sections(data))


@given(st.binary(max_size=60))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    with suppress(ValueError):
        assert sum(len(body) for _, body in wasm.sections(wasm.MAGIC + data)) <= len(data)
