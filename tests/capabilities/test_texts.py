"""The capabilities that read and write text, against Python's own codecs, digests, regular
expressions and slices.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Callable
from urllib.parse import quote

import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from sigil.protocol import Json
from tests.capabilities.conftest import Library
from tests.selection import examples

quick = settings(max_examples=examples(30), deadline=None)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)

PATTERNS = [r"\d+", "[a-b]+", "(a)(b)?", ".", "a*", "(?P<x>a|1)", "é|中", r"\S+"]
goods = st.fixed_dictionaries(
    {"price": st.integers(0, 20)}, optional={"name": st.sampled_from("xyz")}
)

# ---- encode, hash

ENCODERS: dict[str, Callable[[str], str]] = {
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64url": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "hex": lambda text: text.encode().hex(),
    "url": lambda text: quote(text, safe="!'()*"),
}


@quick
@given(text=texts, format=st.sampled_from(sorted(ENCODERS)))
def test_text_is_encoded_as_python_does_and_decoded_to_itself(
    library: Library, text: str, format: str
) -> None:
    code = library("encode", text=text, format=format)
    assert code == ENCODERS[format](text)
    assert library("encode", text=code, format=format, mode="decode") == text


@quick
@given(code=st.text("AZaz09+/-_= %é", max_size=12), format=st.sampled_from(sorted(ENCODERS)))
def test_any_code_is_decoded_or_refused_with_a_reason(
    library: Library, code: str, format: str
) -> None:
    assert library.code_of("encode", text=code, format=format, mode="decode") in ("", "EINVAL")


@quick
@given(
    text=texts,
    key=texts,
    algorithm=st.sampled_from(["md5", "sha1", "sha256", "sha384", "sha512"]),
    as_hex=st.booleans(),
)
def test_digests_and_hmacs_are_python_s(
    library: Library, text: str, key: str, algorithm: str, as_hex: bool
) -> None:
    digest = (
        hmac.digest(key.encode(), text.encode(), algorithm)
        if key
        else hashlib.new(algorithm, text.encode()).digest()
    )
    expected = digest.hex() if as_hex else base64.b64encode(digest).decode()
    assert (
        library(
            "hash", text=text, key=key, algorithm=algorithm, output="hex" if as_hex else "base64"
        )
        == expected
    )


# ---- text-stats, regex-extract, json-query


@quick
@given(st.data())
def test_characters_lines_and_words_are_counted(library: Library, data: st.DataObject) -> None:
    clusters = [
        "a",
        "é",
        "e\u0301",
        "中",
        "한",
        "🇩🇪",
        "👩‍👩‍👧",
        "👍🏽",
        "न\u0940",
        "#\ufe0f\u20e3",
        " ",
        "\n",
        "\r\n",
        ".",
        "-",
    ]
    text = "".join(data.draw(st.lists(st.sampled_from(clusters), max_size=30)))
    counted = library("text-stats", text=text)
    assert counted["characters"] == len(regex.findall(r"\X", text))
    assert counted["lines"] == len(text.splitlines())
    words = data.draw(st.lists(st.from_regex(r"[a-z]{1,6}('[a-z])?", fullmatch=True), max_size=20))
    assert library("text-stats", text=" ".join(words))["words"] == len(words)


@quick
@given(text=st.text("ab1 é中🌍", max_size=40), pattern=st.sampled_from(PATTERNS))
def test_matches_are_those_of_python(library: Library, text: str, pattern: str) -> None:
    expected = [
        {"match": match[0], "groups": match.groupdict() or list(match.groups())}
        if match.groups()
        else match[0]
        for match in re.finditer(pattern, text)
    ]
    assert library("regex-extract", pattern=pattern, text=text) == expected


def test_a_pattern_that_runs_away_is_stopped(library: Library) -> None:
    assert library.is_stopped("regex-extract", pattern="(a+)+$", text="a" * 60 + "!")


@quick
@given(
    items=st.lists(st.integers(-9, 9), max_size=8),
    start=st.none() | st.integers(-10, 10),
    end=st.none() | st.integers(-10, 10),
    by=st.none() | st.integers(-4, 4).filter(bool),
)
def test_a_slice_is_python_s(
    library: Library, items: list[int], start: int | None, end: int | None, by: int | None
) -> None:
    path = "$[" + ":".join("" if part is None else str(part) for part in (start, end, by)) + "]"
    assert library("json-query", json=items, path=path) == items[start:end:by]


@quick
@given(items=st.lists(goods, max_size=6), most=st.integers(0, 20))
def test_a_filter_keeps_what_holds(
    library: Library, items: list[dict[str, Json]], most: int
) -> None:
    kept = [
        item
        for item in items
        if item["price"] < most and ("name" not in item or item["name"] == "x")
    ]
    path = f"items[?(@.price < {most} && (!@.name || @.name == 'x'))]"
    assert library("json-query", json=json.dumps({"items": items}), path=path) == kept
    assert library("json-query", json=items, path="$..price | sum") == sum(
        item["price"] for item in items
    )


@quick
@given(path=st.text("ab.[]*?@'0:-,()<=!&|$ \"", min_size=1, max_size=20))
def test_any_path_is_answered_or_refused_with_a_reason(library: Library, path: str) -> None:
    assert library.code_of("json-query", json={"a": [{"b": 1}, 2], "b": "x"}, path=path) in (
        "",
        "EINVAL",
        "ENOENT",
    )
