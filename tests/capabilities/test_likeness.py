"""The capabilities that check and compare texts, against Python's own checksums and counts."""

from __future__ import annotations

import binascii
import zlib
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.capabilities.conftest import Library
from tests.selection import examples

quick = settings(max_examples=examples(20), deadline=None)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
words = st.text("abÉé中👍 ", max_size=14)

# ---- crc-checksum, text-similarity


@quick
@given(text=texts)
def test_checksums_are_those_of_zlib(library: Library, text: str) -> None:
    data = text.encode()
    assert library("crc-checksum", data=text) == f"{zlib.crc32(data):08x}"
    assert (
        library("crc-checksum", data=data.hex(" "), encoding="hex", algorithm="adler32")
        == f"{zlib.adler32(data):08x}"
    )
    assert (
        library("crc-checksum", data=text, algorithm="crc16-xmodem")
        == f"{binascii.crc_hqx(data, 0):04x}"
    )


@quick
@given(a=words, b=words, n=st.integers(1, 3))
def test_what_two_texts_share_is_counted_right(library: Library, a: str, b: str, n: int) -> None:
    told = library("text-similarity", a=a, b=b, n=n)
    lengths = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a, 1):
        for j, y in enumerate(b, 1):
            lengths[i][j] = (
                lengths[i - 1][j - 1] + 1 if x == y else max(lengths[i - 1][j], lengths[i][j - 1])
            )
    assert told["subsequence_length"] == lengths[-1][-1] == len(told["subsequence"])
    for text in (a, b):
        rest = iter(text)
        assert all(character in rest for character in told["subsequence"])
    grams = [Counter(text[i : i + n] for i in range(len(text) - n + 1)) for text in (a, b)]
    if all(grams):
        shared = 2 * (grams[0] & grams[1]).total() / (grams[0].total() + grams[1].total())
        assert told["ngram_dice"] == pytest.approx(shared, abs=1e-6)
    assert (told["jaro_winkler"] == 1) is (a == b)
    assert (
        library("text-similarity", a=b, b=a, n=n)["subsequence_length"]
        == told["subsequence_length"]
    )


@pytest.mark.parametrize(
    ("a", "b", "score"),
    [
        ("MARTHA", "MARHTA", 0.961111),
        ("DWAYNE", "DUANE", 0.84),
        ("JONES", "JOHNSON", 0.832381),
        ("ABC", "", 0),
    ],
)
def test_names_score_as_winkler_had_it(library: Library, a: str, b: str, score: float) -> None:
    assert library("text-similarity", a=a, b=b)["jaro_winkler"] == score


def test_the_longest_texts_are_compared_in_time(library: Library) -> None:
    told = library("text-similarity", a="ab" * 5000, b="ba" * 5000)
    assert told["subsequence_length"] == 9999
    assert library.code_of("text-similarity", a="中" * 10_001, b="") == "EINVAL"
