"""Secrets come out of an answer in no form that a server is known to write."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sigil.run.host_calls.scrubbing import scrub, scrub_field, scrub_name, scrub_text
from tests.selection import in_full
from tests.tables import each_row

VALUE = "Ab/cd+Ef=gh'IJ\"12&x<é>"
ASCII = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=40)
SECRETS = st.text(
    st.characters(min_codepoint=32, max_codepoint=0x1FFFF, exclude_categories=("Cc", "Cs", "Cn")),
    min_size=8,
    max_size=40,
)


def numbered(text: str, form: str = "&#{};", *, hexadecimal: bool = False) -> str:
    return "".join(
        c if c.isalnum() and c.isascii() else form.format(f"{ord(c):x}" if hexadecimal else ord(c))
        for c in text
    )


def lowered(text: str) -> str:
    return re.sub(r"%[0-9A-F]{2}|\\u[0-9A-F]{4}", lambda escape: escape[0].lower(), text)


def dotnet(text: str) -> str:
    return re.sub(
        r"[^A-Za-z0-9/=]",
        lambda c: re.sub("(....)", r"\\u\1", c[0].encode("utf-16-be").hex().upper()),
        text,
    )


WRITERS: dict[str, Callable[[str], str]] = {
    "percent": lambda text: quote(text, safe=""),
    "percent in lower case": lambda text: lowered(quote(text, safe="")),
    "form": quote_plus,
    "percent of percent": lambda text: quote(quote(text)),
    "JSON": json.dumps,
    "JSON of JSON": lambda text: json.dumps(json.dumps(text)),
    "JSON as Go writes it": lambda text: (
        json.dumps(text).replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    ),
    "JSON as .NET writes it": dotnet,
    "JSON as PHP writes it": lambda text: json.dumps(text).replace("/", "\\/"),
    "every character in JSON": lambda text: "".join(
        f"\\u{ord(c):04x}" if ord(c) < 0x10000 else json.dumps(c)[1:-1] for c in text
    ),
    "bytes in JavaScript": lambda text: "".join(f"\\x{byte:02x}" for byte in text.encode()),
    "HTML": html.escape,
    "HTML in numbers": numbered,
    "HTML in hexadecimal": lambda text: numbered(text, "&#x{};", hexadecimal=True),
    "HTML in hexadecimal, with zeros": lambda text: numbered(text, "&#X00{};", hexadecimal=True),
    "HTML in JSON": lambda text: json.dumps(html.escape(text)).replace("&", "\\u0026"),
    "named": lambda text: (
        text.replace("&", "&amp;")
        .replace("+", "&plus;")
        .replace("=", "&equals;")
        .replace("/", "&sol;")
    ),
    "hexadecimal": lambda text: text.encode().hex(),
    "HEXADECIMAL": lambda text: text.encode().hex(" ").upper(),
}


@pytest.mark.parametrize("writer", WRITERS)
@given(SECRETS)
@example(VALUE)
@example("a key: %41\\u0026&amp;&#38;")
def test_a_value_is_found_however_it_is_escaped(writer: str, value: str) -> None:
    written = WRITERS[writer](value).encode()
    assert b"{{KEY}}" in scrub(b"<" + written + b">", {"KEY": value})


@pytest.mark.parametrize("change", [str.upper, str.lower, str.swapcase, str.title])
@each_row("writer", ["plain", "json", "url", "html"])
def test_a_value_is_found_in_capitals_and_in_small_letters(
    change: Callable[[str], str], writer: str
) -> None:
    said = change("Ab/cd+Ef&secret")
    wrote = {
        "plain": said,
        "json": json.dumps(f'"{said}"'),
        "url": quote(said, safe=""),
        "html": html.escape(said),
    }[writer]
    shown = scrub_text(f"<you sent {wrote}>", {"KEY": "Ab/cd+Ef&secret"})
    assert "{{KEY}}" in shown
    assert "secret" not in shown.lower()


@pytest.mark.parametrize("said", ["PÄSSWÖRD-STRASSE", "pässwörd-straße"])
def test_a_value_of_other_letters_is_found_in_capitals_too(said: str) -> None:
    assert scrub_text(f"<{said}>", {"KEY": "Pässwörd-Straße"}) == "<{{KEY}}>"


def test_what_stands_around_a_value_stays() -> None:
    assert scrub_text("<%3C Ab%2fcd+Ef &gt;>", {"KEY": "Ab/cd+Ef"}) == "<%3C {{KEY}} &gt;>"
    assert (
        scrub_text('{"a": "x\\u0026\\u0041b\\/cd\\u002BEf\\""}', {"KEY": "Ab/cd+Ef"})
        == '{"a": "x\\u0026{{KEY}}\\""}'
    )
    assert (
        scrub_text("one-value-1 two-value-2", {"ONE": "one-value-1", "TWO": "two-value-2"})
        == "{{ONE}} {{TWO}}"
    )


@given(SECRETS, st.binary(max_size=90), st.binary(max_size=90))
def test_base64_in_lines_does_not_hide_a_value(value: str, before: bytes, after: bytes) -> None:
    written = base64.encodebytes(before + value.encode() + after)
    for text in (
        written,
        written.replace(b"\n", b"\r\n "),
        json.dumps(written.decode()).encode(),
        quote(written).encode(),
    ):
        assert b"{{KEY}}" in scrub(text, {"KEY": value})


@given(
    ASCII,
    st.sampled_from(["%", "\\", "\\u", "\\u00", "\\x", "&", "&#", "%25", "é"]),
    st.sampled_from(["", "1", "41", ";", "n", "amp;"]),
)
def test_what_a_capability_writes_beside_a_value_does_not_hide_it(
    value: str, before: str, after: str
) -> None:
    value = f"41bc{value}&%4"
    echo, core = (
        json.dumps(text)[1:-1].replace("&", "\\u0026")
        for text in (f"{before}{value}{after}", value[5:-3])
    )
    assert core not in scrub_text(echo, {"KEY": value})


def test_a_header_is_scrubbed_as_the_bytes_that_came() -> None:
    value = "pässwörd-12"
    assert scrub_field(value.encode().decode("latin-1"), {"KEY": value}) == "{{KEY}}"
    assert scrub_field(value, {"KEY": value}) == "{{KEY}}"
    assert scrub_field(f"€ {value}", {"KEY": value}) == "€ {{KEY}}"
    assert scrub_name("x-mysecret-key-99", {"KEY": "MySecret-KEY-99"}) == "x-{{KEY}}"


@given(st.binary(max_size=300))
def test_a_text_without_the_value_stays_as_it_is(body: bytes) -> None:
    assert scrub(body, {"KEY": "a value that is not there", "TWO": "%41%41%41 \\u0041"}) == body


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "ab",
        "%61",
        "%2561",
        "\\u0061",
        "\\n",
        "\\",
        "&#97;",
        "&amp;",
        "&x12345;",
        "a ",
        "\\u{61}",
    ],
)
def test_a_long_answer_is_scrubbed_of_twenty_secrets_that_repeat_themselves(
    unit: str,
) -> None:
    values = {f"KEY_{letter}": "a" * 4_000 + letter for letter in "BCDEFGHIJKLMNOPQRSTU"}
    # squared, the shorter length as well would be far too much
    length = 1 << 20 if in_full() else 1 << 18
    body = (unit * length)[:length].encode()
    assert scrub(body, values) == body
