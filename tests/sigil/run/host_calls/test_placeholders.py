"""Secrets go in as their place wants them, and come out of an answer in no form."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote, quote_plus

from hypothesis import given
from hypothesis import strategies as st

from sigil.run.host_calls.placeholders import (
    fill_body,
    fill_header,
    fill_query,
    names_in,
    scrub,
    scrub_text,
)
from tests.tables import each_row

VALUE = 's3cr+t/"va&lue\\=é<x>'
VALUES = {"KEY": VALUE}
SECRETS = st.text(
    st.characters(min_codepoint=32, max_codepoint=0x2FFF, exclude_categories=("Cc", "Cs", "Cn")),
    min_size=8,
    max_size=40,
)


def test_a_secret_is_written_as_its_place_wants_it() -> None:
    assert fill_header("Bearer {{KEY}}", VALUES) == f"Bearer {VALUE}"
    assert (
        fill_query("?k={{KEY}}&l=%7B%7bKEY%7d%7D", VALUES)
        == f"?k={quote(VALUE, safe='')}&l={quote(VALUE, safe='')}"
    )
    assert json.loads(
        fill_body(b'{"k": "{{KEY}}"}', "application/json; charset=utf-8", VALUES)
    ) == {"k": VALUE}
    assert json.loads(fill_body(b'{"k": "{{KEY}}"}', "application/vnd.api+json", VALUES)) == {
        "k": VALUE
    }
    assert (
        fill_body(b"k=%7B%7BKEY%7D%7D", "application/x-www-form-urlencoded", VALUES)
        == b"k=" + quote_plus(VALUE).encode()
    )
    assert fill_body(b"k {{KEY}}", "", VALUES) == f"k {VALUE}".encode()


def test_a_name_that_is_no_secret_is_plain_text() -> None:
    for text in ("{{OTHER}}", "{{key}}", "{KEY}", "{{ KEY }}", "{{KEY", "{{{{}}}}"):
        assert fill_header(text, VALUES) == text
    assert names_in("a {{KEY}} %7B%7BTWO%7D%7D", b"{{THREE}}") == {"KEY", "TWO", "THREE"}


FORMS = {
    "plain": VALUE,
    "json": json.dumps(VALUE),
    "json in plain": json.dumps(VALUE, ensure_ascii=False),
    "percent": quote(VALUE, safe=""),
    "percent, lower": quote(VALUE, safe="").lower(),
    "form": quote_plus(VALUE),
    "path": quote(VALUE),
    "hex": VALUE.encode().hex(),
    "HEX": VALUE.encode().hex().upper(),
    "html": "s3cr+t/&quot;va&amp;lue\\=é&lt;x&gt;",
}


@each_row("form", FORMS)
def test_an_answer_does_not_hold_the_value_in_any_form(form: str) -> None:
    assert "{{KEY}}" in scrub_text(f"<{FORMS[form]}>", VALUES)


@given(SECRETS, st.binary(max_size=8), st.binary(max_size=8))
def test_base64_at_any_offset_does_not_hide_the_value(
    value: str, before: bytes, after: bytes
) -> None:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        assert b"{{KEY}}" in scrub(encode(before + value.encode() + after), {"KEY": value})


@given(SECRETS, st.text(max_size=20))
def test_utf_16_does_not_hide_the_value(value: str, around: str) -> None:
    for coding in ("utf-16-le", "utf-16-be"):
        text = f"{around}{value}{around}".encode(coding, "replace")
        assert value.encode(coding) not in scrub(text, {"KEY": value})


@given(st.binary(max_size=200))
def test_an_answer_without_the_value_stays_as_it_is(body: bytes) -> None:
    assert scrub(body, {"KEY": "a value that is not there"}) == body
