"""TextEncoder, TextDecoder, atob and btoa."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.selection import examples
from tests.sigil.sandbox.engine.driver import Failed, evaluate, failure, run
from tests.tables import each_row

ANY_TEXT = st.text(st.characters())  # lone surrogates included


def surrogates_replaced(text: str) -> bytes:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


@given(st.lists(ANY_TEXT, max_size=20))
@settings(max_examples=examples(20), deadline=None)
def test_text_is_encoded_as_utf_8_and_lone_surrogates_are_replaced(texts: list[str]) -> None:
    encoded = run("return input.map(text => new TextEncoder().encode(text).toHex())", texts)
    assert [bytes.fromhex(each) for each in encoded] == [
        surrogates_replaced(text) for text in texts
    ]


@given(st.lists(st.binary(max_size=30), max_size=20))
@settings(max_examples=examples(30), deadline=None)
def test_bytes_are_decoded_with_one_replacement_a_wrong_part(chunks: list[bytes]) -> None:
    source = (
        "return input.map(hex => new TextDecoder('utf-8', { ignoreBOM: true"
        " }).decode(Uint8Array.fromHex(hex)))"
    )
    assert run(source, [chunk.hex() for chunk in chunks]) == [
        chunk.decode("utf-8", "replace") for chunk in chunks
    ]


@each_row("wrong", ["ff", "c080", "eda080", "f4908080", "e282", "80", "f09f98"])
def test_a_fatal_decoder_refuses_what_is_not_utf_8(wrong: str) -> None:
    code, message = failure(
        f"return new TextDecoder('utf-8', {{ fatal: true }}).decode(Uint8Array.fromHex('{wrong}'))"
    )
    assert (code, message) == ("ETHROWN", "TypeError: the bytes are not valid utf-8 (line 1)")


@given(st.binary(max_size=12), st.data())
@settings(max_examples=examples(20), deadline=None)
def test_a_streaming_decoder_gives_the_same_text_however_the_bytes_are_cut(
    whole: bytes, data: st.DataObject
) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=4)))
    chunks = [whole[a:b].hex() for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    source = (
        "const decoder = new TextDecoder('utf-8', { ignoreBOM: true });return input.map(hex =>"
        " decoder.decode(Uint8Array.fromHex(hex), { stream: true })).join('') + decoder.decode()"
    )
    assert run(source, chunks) == whole.decode("utf-8", "replace")


@each_row(
    ("expression", "expected"),
    [
        ("new TextDecoder().decode(Uint8Array.of(0xef, 0xbb, 0xbf, 65))", "A"),
        (
            (
                "new TextDecoder('utf-8', { ignoreBOM: true }).decode(Uint8Array.of(0xef, 0xbb,"
                " 0xbf, 65))"
            ),
            "\ufeffA",
        ),
        ("new TextDecoder(' UTF8 ').encoding", "utf-8"),
        ("new TextDecoder().decode(new DataView(new ArrayBuffer(3), 1))", "\0\0"),
        ("new TextDecoder().decode()", ""),
        ("new TextEncoder().encodeInto('aé😀b', new Uint8Array(4))", {"read": 2, "written": 3}),
        ("[...new TextEncoder().encode()]", []),
        ("atob(' YQ = = ')", "a"),
        ("btoa('\\x00\\xff')", "AP8="),
    ],
)
def test_the_small_print_of_the_web_is_kept(expression: str, expected: Any) -> None:
    assert evaluate(expression) == expected


@given(st.binary(max_size=200))
@settings(max_examples=examples(20), deadline=None)
def test_base64_goes_both_ways(data: bytes) -> None:
    text = base64.b64encode(data).decode()
    source = (
        "const [binary, text] = input; return [btoa(binary), atob(text),"
        " Uint8Array.fromBase64(text).toBase64()]"
    )
    assert run(source, [data.decode("latin-1"), text]) == [text, data.decode("latin-1"), text]


def test_what_is_no_base64_is_a_clear_error() -> None:
    assert failure("return atob('a')")[1].startswith("InvalidCharacterError")
    assert failure("return btoa('€')")[1].startswith("InvalidCharacterError")


def test_another_encoding_is_refused() -> None:
    with pytest.raises(Failed, match="the encoding latin1 does not exist here: utf-8 only"):
        run("new TextDecoder('latin1')")
