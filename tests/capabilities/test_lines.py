"""The capabilities that shape text, against Python's own `textwrap`, `csv`, `html` and Unicode
tables.
"""

from __future__ import annotations

import csv
import html
import io
import re
import textwrap
import unicodedata
from html.entities import name2codepoint

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sigil.protocol import Json
from tests.capabilities.conftest import Library
from tests.selection import examples, in_full, sample, thorough

quick = settings(max_examples=examples(20), deadline=None)
words = st.lists(st.from_regex(r"[a-z]{1,6}[0-9]{0,2}", fullmatch=True), min_size=1, max_size=12)
lines = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n", "dd\n"]), max_size=14)
fields = st.text('ab,;|\t"\r\n é中', max_size=6)
tables = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(fields, min_size=width, max_size=width), max_size=6)
)

# ---- slugify, case-convert, text-wrap


@quick
@given(
    text=st.text(
        st.characters(max_codepoint=0x24F, categories=["L", "N", "Z", "P"]), min_size=1, max_size=30
    )
)
def test_a_slug_is_ascii_and_a_slug_of_itself(library: Library, text: str) -> None:
    if library.code_of("slugify", text=text):
        return
    slug = library("slugify", text=text)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", slug)
    assert library("slugify", text=slug) == slug


def test_every_latin_letter_with_an_accent_loses_it(library: Library) -> None:
    accented = [
        char
        for char in map(chr, range(0xC0, 0x250))
        if re.fullmatch("[a-zA-Z]", unicodedata.normalize("NFKD", char)[0])
    ]
    plain = "-".join(
        re.sub(r"[^\x00-\x7f]", "", unicodedata.normalize("NFKD", char)).lower().strip("'")
        for char in accented
    )
    assert library("slugify", text=" ".join(accented)) == plain


@quick
@given(words=words, to=st.sampled_from(["snake", "kebab", "constant", "train", "dot"]))
def test_words_survive_a_change_of_case(library: Library, words: list[str], to: str) -> None:
    name = library("case-convert", text=" ".join(words), to=to)
    assert [part for part in re.split(r"[-_.]", name.lower()) if part] == words
    assert library("case-convert", text=name, to="snake") == "_".join(words)


@quick
@given(text=st.text("aZ éÖß\n.中'", min_size=1, max_size=30))
def test_upper_and_lower_are_python_s(library: Library, text: str) -> None:
    assert library("case-convert", text=text, to="upper") == text.upper()
    assert library("case-convert", text=text, to="lower") == text.lower()


@quick
@given(
    words=words,
    width=st.integers(10, 40),
    indent=st.sampled_from(["", "  ", "> "]),
    break_words=st.booleans(),
)
def test_lines_are_wrapped_as_python_does(
    library: Library, words: list[str], width: int, indent: str, break_words: bool
) -> None:
    expected = textwrap.wrap(
        " ".join(words),
        width + len(indent),
        initial_indent=indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )
    wrapped = library(
        "text-wrap",
        text=" \n".join(words),
        width=width + len(indent),
        indent=indent,
        first_indent=indent,
        break_words=break_words,
    )
    assert wrapped.split("\n") == expected


@quick
@given(text=st.text("ab 中文，。（）é🌍", max_size=60), width=st.integers(4, 20))
def test_wrapping_keeps_every_sign_and_no_line_is_too_wide(
    library: Library, text: str, width: int
) -> None:
    wrapped = library("text-wrap", text=text, width=width)
    assert re.sub(r"\s", "", wrapped) == re.sub(r"\s", "", text)
    for line in wrapped.split("\n"):
        assert sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in line) <= width


# ---- template-render


@quick
@given(values=st.lists(st.text("a&<>\"'é ", max_size=8), max_size=5), data=st.data())
def test_a_list_is_written_element_by_element_and_escaped(
    library: Library, values: list[str], data: st.DataObject
) -> None:
    escaped = [html.escape(value).replace("&#x27;", "&#39;") for value in values]
    shown: dict[str, Json] = {"items": values}
    assert library(
        "template-render", template="{{#items}}[{{.}}]{{/items}}", data=shown
    ) == "".join(f"[{value}]" for value in escaped)
    assert library(
        "template-render", template="{{#items}}[{{{.}}}]{{/items}}", data=shown
    ) == "".join(f"[{value}]" for value in values)
    template = data.draw(st.text("{}#^/!&.a x\n", max_size=16))
    assert library.code_of("template-render", template=template, data={"a": [1, {"x": 2}]}) in (
        "",
        "EINVAL",
    )


# ---- text-diff


def patched(old: list[str], diff: str) -> list[str]:
    """`old` with the unified diff applied; every context line and every count has to fit."""
    result, at, body = (
        [],
        0,
        diff.replace("\n\\ No newline at end of file\n", "").splitlines(keepends=True)[2:],
    )
    for line in body:
        header = re.fullmatch(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@\n", line)
        if header:
            start, count, to, kept = (1 if part is None else int(part) for part in header.groups())
            begin = start - (count > 0)
            result += old[at:begin]
            at = begin
            assert len(result) == to - (kept > 0)
        elif line[0] == "+":
            result.append(line[1:])
        else:
            assert old[at] == line[1:]
            result += old[at : at + 1] if line[0] == " " else []
            at += 1
    return result + old[at:]


def common(old: list[str], new: list[str]) -> int:
    """The length of the longest common subsequence."""
    row = [0] * (len(new) + 1)
    for line in old:
        above = row[:]
        for at, other in enumerate(new):
            row[at + 1] = above[at] + 1 if line == other else max(above[at + 1], row[at])
    return row[-1]


@settings(max_examples=examples(60), deadline=None)
@given(old=lines, new=lines, context=st.integers(0, 3), cut=st.booleans())
def test_a_diff_makes_the_new_text_of_the_old_with_the_fewest_changes(
    library: Library, old: list[str], new: list[str], context: int, cut: bool
) -> None:
    if cut and new:
        new = [*new[:-1], "end"]
    answer = library("text-diff", old="".join(old), new="".join(new), context=context)
    assert "".join(patched(old, answer["diff"])) == "".join(new)
    assert (answer["added"], answer["removed"]) == (
        len(new) - common(old, new),
        len(old) - common(old, new),
    )


@pytest.mark.parametrize("step", [7, *thorough(1, 2)])
def test_a_diff_of_texts_that_have_little_in_common_is_still_right(
    library: Library, step: int
) -> None:
    old = [f"{number * 7919 % 9973}\n" for number in range(9000)]
    new = [f"{number * 6007 % 9973}\n" for number in range(0, 9000, step)]
    assert patched(old, library("text-diff", old="".join(old), new="".join(new))["diff"]) == new


# ---- csv-convert


@quick
@given(
    rows=tables,
    delimiter=st.sampled_from([("comma", ","), ("semicolon", ";"), ("tab", "\t"), ("pipe", "|")]),
    data=st.data(),
)
def test_csv_is_read_and_written_as_python_does(
    library: Library, rows: list[list[str]], delimiter: tuple[str, str], data: st.DataObject
) -> None:
    name, sign = delimiter
    written = library("csv-convert", data=rows, to="csv", delimiter=name)
    assert list(csv.reader(io.StringIO(written, newline=""), delimiter=sign)) == rows
    text = io.StringIO(newline="")
    if data.draw(st.booleans()):
        csv.writer(text, delimiter=sign).writerows(rows)
    else:
        csv.writer(text, delimiter=sign, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    assert (
        library("csv-convert", data=text.getvalue(), to="json", header=False, delimiter=name)
        == rows
    )


@quick
@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {"a": st.integers(-99, 99), "b b": st.text('x"\n,é', min_size=1), "c": st.booleans()}
        ),
        min_size=1,
    )
)
def test_objects_come_back_from_csv(library: Library, rows: list[dict[str, Json]]) -> None:
    written = library("csv-convert", data=rows, to="csv")
    assert library("csv-convert", data=written, to="json", types=True) == rows


@quick
@given(text=st.text('a1,;"\r\n\t|', max_size=24), types=st.booleans())
def test_any_csv_is_read_or_refused_with_a_reason(library: Library, text: str, types: bool) -> None:
    assert library.code_of("csv-convert", data=text, to="json", types=types) in ("", "EINVAL")


# ---- html-to-text


def test_the_entities_of_html_4_and_all_numbers_are_those_of_python(library: Library) -> None:
    codes = [f"&{name};" for name in name2codepoint] + [
        f"&#{number};" for number in (0, 65, 128, 159, 8364, 55296, 128512, 1114112)
    ]
    text = library("html-to-text", html="".join(f"[{code}]" for code in codes))
    assert re.findall(r"\[([^\]]*)\]", text) == [html.unescape(code) for code in codes]


@quick
@given(text=st.text("ab <>&\"';é\n", max_size=40))
def test_escaped_text_comes_back(library: Library, text: str) -> None:
    assert library("html-to-text", html=f"<p>{html.escape(text)}</p>") == " ".join(text.split())
    assert (
        library("html-to-text", html=f"<pre>\n{html.escape('x' + text)}</pre>")
        == ("x" + text).rstrip()
    )


# ---- what is made to take long

LONG = 200_000 if in_full() else 30_000
"""Squared, the shorter length as well is far more than the time of a call."""
HOSTILE: dict[str, list[dict[str, Json]]] = {
    "html-to-text": [
        {"html": part * (LONG // len(part))}
        for part in ('<a "', "<a href='", "&", "<!--", "<script>", "<ul>", "<a " + "x" * 50)
    ],
    "csv-convert": [
        {"data": text, "to": "json"}
        for text in (
            '"' + '""' * (LONG // 2 - 1),
            "," * LONG,
            '"' * (LONG - 1),
            "\n" * LONG,
            "a;" * (LONG // 2 - 1),
        )
    ],
    "template-render": [
        {
            "template": part * (min(LONG, 50_000) // len(part)),
            "data": {"a": [1, 2]},
            "missing": "empty",
        }
        for part in ("{{#a}}", "{{a", "{{/a}}", "{{!}}", " {{#b}}{{/b}}")
    ],
    "text-wrap": [
        {"text": part * (min(LONG // 2, 50_000) // len(part)), "width": 4}
        for part in ("a", "(", "中", "，", " ", "\n", "a\u0301", "（")
    ],
    "slugify": [{"text": part * 1000, "unicode": True} for part in ("a", "a'", "--", "é ", "中")],
    "case-convert": [
        {"text": part * 10_000, "to": to}
        for part in ("A", "a.", "aB", "1", "中", "a'")
        for to in ("snake", "title", "sentence")
    ],
    "text-diff": [
        {"old": "a\n" * 49_999, "new": "b\n" * 49_999},
        {"old": "a\nb\n" * 24_999, "new": "b\na\na\n" * 16_000},
        {
            "old": "".join(f"{n}\n" for n in range(17_000)),
            "new": "".join(f"{n}\n" for n in range(17_000, 0, -1)),
        },
    ],
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_no_input_takes_longer_than_its_length_explains(library: Library, name: str) -> None:
    inputs = sample(HOSTILE[name], 2) if name == "text-diff" else HOSTILE[name]
    codes = {library.code_of(name, **arguments) for arguments in inputs}
    assert codes <= {"", "EINVAL", "ELIMIT"}
