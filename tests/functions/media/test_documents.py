"""What each reader makes of a document, as the child calls it, in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from functions.media.child import (
    html_text,
    pdf_text,
    plain_text,
    sheet_text,
    slides_text,
    word_text,
)
from functions.media.protocol import Unreadable
from tests.functions.media.files import (
    PICTURE,
    WORD,
    make_docx,
    make_form,
    make_pdf,
    make_pptx,
    make_row,
    make_xlsx,
    write_lines,
)
from tests.tables import each_row

Run = Callable[[Mapping[str, object], bytes], tuple[Mapping[str, Any], bytes]]


def read(run: Run, data: bytes, first: int = 1, count: int = 1) -> Mapping[str, Any]:
    answer, body = run({"type": "", "first": first, "count": count}, data)
    assert body == b""
    return answer


def text_of(answer: Mapping[str, Any]) -> str:
    return str(answer["pages"][0]["text"])


def paragraph(text: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


STYLES = (
    f"<w:styles {WORD}>"
    '<w:style w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style>'
    '<w:style w:styleId="Mine"><w:name w:val="Mine"/><w:basedOn w:val="berschrift2"/></w:style>'
    '<w:style w:styleId="L"><w:name w:val="L"/><w:pPr><w:numPr><w:numId w:val="7"/></w:numPr></w:pPr>'
    "</w:style></w:styles>"
)
NUMBERING = (
    f'<w:numbering {WORD}><w:abstractNum w:abstractNumId="1">'
    '<w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl>'
    '<w:lvl w:ilvl="1"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum>'
    '<w:num w:numId="7"><w:abstractNumId w:val="1"/></w:num></w:numbering>'
)
COMMENTS = (
    f'<w:comments {WORD}><w:comment w:id="3" w:author="Ann"><w:p><w:r><w:t>Sure?</w:t></w:r></w:p>'
    "</w:comment></w:comments>"
)
CELL = "<w:tc><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:tc>"


def test_a_docx_is_markdown_with_what_others_said_and_changed() -> None:
    inner = '<w:numPr><w:ilvl w:val="1"/><w:numId w:val="7"/></w:numPr>'
    body = "".join(
        (
            paragraph("Kosten", '<w:pStyle w:val="Mine"/>'),
            paragraph("first", '<w:pStyle w:val="L"/>'),
            paragraph("inner", inner),
            paragraph("second", '<w:pStyle w:val="L"/>'),
            '<w:p><w:r><w:t>We pay </w:t></w:r><w:del w:author="Bob"><w:r><w:delText>5</w:delText>'
            '</w:r></w:del><w:ins w:author="Bob"><w:r><w:t>7</w:t></w:r></w:ins>'
            '<w:r><w:commentReference w:id="3"/></w:r></w:p>',
            f"<w:tbl><w:tr>{CELL.format('a|b')}{CELL.format('c')}</w:tr>"
            f"<w:tr>{CELL.format('1')}</w:tr></w:tbl>",
        )
    )
    parts = {
        "word/styles.xml": STYLES,
        "word/numbering.xml": NUMBERING,
        "word/comments.xml": COMMENTS,
    }

    answer = read(word_text.run, make_docx(body, parts))

    assert [line for line in text_of(answer).split("\n") if line] == [
        "## Kosten",
        "1. first",
        "  - inner",
        "2. second",
        "We pay [deleted by Bob: 5][inserted by Bob: 7][comment 3]",
        "| a\\|b | c |",
        "| --- | --- |",
        "| 1 |  |",
        "[comment 3 by Ann: Sure?]",
    ]
    assert answer["outline"] == [{"title": "Kosten", "page": 1, "depth": 1}]


def test_slides_have_their_titles_text_and_notes_in_the_order_in_which_they_are_shown() -> None:
    answer = read(slides_text.run, make_pptx([("Plan", "Buy", "Smile"), ("End", "Thanks", "")]))

    assert text_of(answer) == (
        "## Slide 1: Plan\n\nBuy\n\nNotes: Smile\n\n## Slide 2: End\n\nThanks"
    )
    assert [each["title"] for each in answer["outline"]] == ["Slide 1: Plan", "Slide 2: End"]


def test_sheets_are_rows_of_values_and_it_is_said_what_is_left_out() -> None:
    rows = make_row(1, "Name", "Sum") + make_row(2, "Ann\nB", 2.0) + make_row(201, "last", 1.5)
    answer = read(sheet_text.run, make_xlsx({"Q1": rows, "Empty": ""}))

    note = "The first 200 of 201 rows of the sheet Q1 were read."
    assert text_of(answer) == (
        f"## Sheet Q1\nName\tSum\nAnn B\t2\n[{note}]\n\n## Sheet Empty\n[no cells]"
    )
    assert answer["notes"] == [note]
    assert [each["title"] for each in answer["outline"]] == ["Q1", "Empty"]


def test_a_pdf_has_its_title_outline_and_pages_and_a_scan_is_told() -> None:
    data = make_pdf(
        [write_lines("Invoice", "84 euros, to be paid"), PICTURE, ""],
        "The invoice",
        [("Sum", 1), ("Scan", 2)],
    )
    answer = read(pdf_text.run, data, 1, 9)

    assert answer["title"] == "The invoice"
    assert answer["page_count"] == 3
    assert [(each["title"], each["page"]) for each in answer["outline"]] == [
        ("Sum", 1),
        ("Scan", 2),
    ]
    assert [(each["text"], each["is_scan"]) for each in answer["pages"]] == [
        ("Invoice\n84 euros, to be paid", False),
        ("", True),
        ("", False),
    ]


def test_what_is_filled_into_a_form_is_read_with_the_page() -> None:
    assert text_of(read(pdf_text.run, make_form())) == "Your name: Ada\nmember: yes"


def test_a_web_page_is_what_a_person_sees_of_it() -> None:
    page = (
        "<!doctype html><title>News  today</title><style>p{}</style><script>alert(1)</script>"
        "<h2>Rain</h2><p>More <a href='https://a.example/x'>here</a>, <a href='javascript:x'>not</a>"
        "<p hidden>ignore this</p><ul><li>one<li>two</ul>"
        "<table><tr><th>a<th>b<tr><td>1</td><td>2</td></table><pre>x  = 1\n y</pre>"
        "<table><tr><td>not ended"
    )
    answer = read(html_text.run, page.encode())

    assert answer["title"] == "News today"
    assert text_of(answer) == (
        "## Rain\nMore here (https://a.example/x), not\n- one\n- two\n| a | b |\n| 1 | 2 |\nx  = 1\n y\n| not ended |"
    )


def test_a_long_text_has_pages_of_whole_lines_and_loses_none() -> None:
    lines = [f"{number};{'x' * 70}" for number in range(500)]
    data = "\n".join(lines).encode()

    answer = read(plain_text.run, data, 1, 500)
    pages = [each["text"] for each in answer["pages"]]

    assert "\n".join(pages).split("\n") == lines
    assert max(map(len, pages)) <= 8_000
    assert answer["page_count"] == len(pages) == 5
    assert text_of(read(plain_text.run, data, 3)) == pages[2]


@each_row(
    ("run", "data", "page", "reason"),
    [
        (plain_text.run, b"short", 2, "no_such_page"),
        (plain_text.run, (b"a" * 7_900 + b"\n") * 501, 501, "too_large"),
        (pdf_text.run, make_pdf([""]), 2, "no_such_page"),
        (word_text.run, make_docx("<w:p>"), 1, "broken"),
        (sheet_text.run, b"PK\3\4", 1, "broken"),
        (slides_text.run, make_docx("<w:p/>"), 1, "broken"),
    ],
)
def test_what_cannot_be_read_has_a_reason(run: Run, data: bytes, page: int, reason: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read(run, data, page)
    assert caught.value.reason == reason
