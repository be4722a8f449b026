"""Files of every kind that can be read, made from their formats' own words."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

from PIL import Image

WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
SLIDES = (
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
    ' xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    f' xmlns:r="{RELATIONS}"'
)
SHEETS = f'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="{RELATIONS}"'
PACKAGE = 'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"'


def make_picture(
    format: str, size: tuple[int, int] = (60, 40), mode: str = "RGB", **options: Any
) -> bytes:
    """A red picture with a blue upper left corner."""
    image = Image.new("RGB", size, "red")
    image.paste((0, 0, 255), (0, 0, size[0] // 2, size[1] // 2))
    out = io.BytesIO()
    image.convert(mode).save(out, format, **options)
    return out.getvalue()


def make_zip(parts: Mapping[str, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, body in parts.items():
            archive.writestr(name, body)
    return out.getvalue()


def make_docx(body: str, parts: Mapping[str, str] | None = None) -> bytes:
    document = f"<w:document {WORD}><w:body>{body}</w:body></w:document>"
    return make_zip({"word/document.xml": document, **(parts or {})})


def make_pptx(slides: Sequence[tuple[str, str, str]]) -> bytes:
    """Slides of a title, a text and notes."""
    parts: dict[str, str] = {}
    listed = related = ""
    for number, (title, text, notes) in enumerate(slides, 1):
        listed += f'<p:sldId id="{255 + number}" r:id="r{number}"/>'
        related += (
            f'<Relationship Id="r{number}" Type="{RELATIONS}/slide" Target="slides/s{number}.xml"/>'
        )
        shapes = _shape(title, "title") + _shape(text, "body")
        parts[f"ppt/slides/s{number}.xml"] = (
            f"<p:sld {SLIDES}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>"
        )
        parts[f"ppt/slides/_rels/s{number}.xml.rels"] = (
            f'<Relationships {PACKAGE}><Relationship Id="r1" Type="{RELATIONS}/notesSlide"'
            f' Target="../notes/n{number}.xml"/></Relationships>'
        )
        parts[f"ppt/notes/n{number}.xml"] = (
            f"<p:notes {SLIDES}><p:cSld><p:spTree>{_shape(notes, 'body')}</p:spTree></p:cSld></p:notes>"
        )
    parts["ppt/presentation.xml"] = (
        f"<p:presentation {SLIDES}><p:sldIdLst>{listed}</p:sldIdLst></p:presentation>"
    )
    parts["ppt/_rels/presentation.xml.rels"] = f"<Relationships {PACKAGE}>{related}</Relationships>"
    return make_zip(parts)


def _shape(text: str, kind: str) -> str:
    return (
        f'<p:sp><p:nvSpPr><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr>'
        f"<p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"
    )


def make_xlsx(sheets: Mapping[str, str]) -> bytes:
    """Sheets by name, each as the XML of its rows."""
    listed = related = ""
    parts: dict[str, str] = {}
    for number, (name, rows) in enumerate(sheets.items(), 1):
        listed += f'<sheet name="{name}" sheetId="{number}" r:id="r{number}"/>'
        related += f'<Relationship Id="r{number}" Type="{RELATIONS}/worksheet" Target="worksheets/s{number}.xml"/>'
        parts[f"xl/worksheets/s{number}.xml"] = (
            f"<worksheet {SHEETS}><sheetData>{rows}</sheetData></worksheet>"
        )
    parts["xl/workbook.xml"] = f"<workbook {SHEETS}><sheets>{listed}</sheets></workbook>"
    parts["xl/_rels/workbook.xml.rels"] = f"<Relationships {PACKAGE}>{related}</Relationships>"
    parts["_rels/.rels"] = (
        f'<Relationships {PACKAGE}><Relationship Id="r1" Type="{RELATIONS}/officeDocument"'
        ' Target="xl/workbook.xml"/></Relationships>'
    )
    return make_zip(parts)


def make_row(number: int, *values: str | float) -> str:
    """A row of a sheet."""
    cells = ""
    for column, value in zip("ABCDEFGH", values, strict=False):
        place = f'r="{column}{number}"'
        if isinstance(value, str):
            cells += f'<c {place} t="inlineStr"><is><t>{value}</t></is></c>'
        else:
            cells += f"<c {place}><v>{value}</v></c>"
    return f'<row r="{number}">{cells}</row>'


def make_pdf(
    pages: Sequence[str], title: str = "", outline: Sequence[tuple[str, int]] = (), more: str = ""
) -> bytes:
    """A PDF with a page for each content stream, such as from `write_lines` or `PICTURE`.

    `outline`: titles, and the page of each from 1 on; `more`: words of each page's dictionary.
    """
    objects: list[str] = []

    def add(body: str) -> int:
        objects.append(body)
        return len(objects)

    catalog, tree, font, picture, info = (add("") for _ in range(5))
    kids = []
    for content in pages:
        stream = add(f"<</Length {len(content)}>>stream\n{content}\nendstream")
        kids.append(
            add(
                f"<</Type/Page/Parent {tree} 0 R/MediaBox[0 0 200 100]/Contents {stream} 0 R"
                f"/Resources<</Font<</F {font} 0 R>>/XObject<</P {picture} 0 R>>>>{more}>>"
            )
        )
    marks = [len(objects) + 2 + place for place in range(len(outline))]
    root = add("")
    for place, (name, page) in enumerate(outline):
        after = f"/Next {marks[place + 1]} 0 R" if place + 1 < len(marks) else ""
        add(f"<</Title({name})/Parent {root} 0 R/Dest[{kids[page - 1]} 0 R/Fit]{after}>>")
    if marks:
        objects[root - 1] = (
            f"<</Type/Outlines/First {marks[0]} 0 R/Last {marks[-1]} 0 R/Count {len(marks)}>>"
        )
    else:
        objects[root - 1] = "<</Type/Outlines>>"
    objects[catalog - 1] = f"<</Type/Catalog/Pages {tree} 0 R/Outlines {root} 0 R>>"
    listed = " ".join(f"{kid} 0 R" for kid in kids)
    objects[tree - 1] = f"<</Type/Pages/Count {len(kids)}/Kids[{listed}]>>"
    objects[font - 1] = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
    objects[picture - 1] = (
        "<</Type/XObject/Subtype/Image/Width 1/Height 1/BitsPerComponent 8/ColorSpace/DeviceGray"
        "/Length 1>>stream\n\0\nendstream"
    )
    objects[info - 1] = f"<</Title({title})>>"
    return write_pdf(objects, f"/Root {catalog} 0 R/Info {info} 0 R")


def write_pdf(objects: Sequence[str], trailer: str) -> bytes:
    """A PDF of objects, numbered from 1 on."""
    out = bytearray(b"%PDF-1.7\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1")
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += "".join(f"{place:010} 00000 n \n" for place in places).encode()
    out += f"trailer<</Size {len(objects) + 1}{trailer}>>\nstartxref\n{start}\n%%EOF".encode()
    return bytes(out)


def make_form() -> bytes:
    """A PDF of a page with a filled field, an empty one, a ticked one and one that is not ticked."""
    field = "<</Type/Annot/Subtype/Widget/Rect[10 10 90 30]"
    tick = f"{field}/FT/Btn/AP<</N<</On 9 0 R/Off 9 0 R>>>>"
    return write_pdf(
        [
            "<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[5 0 R 6 0 R 7 0 R 8 0 R]>>>>",
            "<</Type/Pages/Count 1/Kids[3 0 R]>>",
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 100]/Contents 4 0 R"
            "/Annots[5 0 R 6 0 R 7 0 R 8 0 R]>>",
            "<</Length 0>>stream\n\nendstream",
            f"{field}/FT/Tx/T(name)/TU(Your name)/V(Ada)>>",
            f"{field}/FT/Tx/T(street)>>",
            f"{tick}/T(member)/V/On/AS/On>>",
            f"{tick}/T(guest)/V/Off/AS/Off>>",
            "<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Length 0>>stream\n\nendstream",
        ],
        "/Root 1 0 R",
    )


def write_lines(*lines: str) -> str:
    """The content of a page with lines of text."""
    return "BT/F 8 Tf 10 90 Td 10 TL " + "".join(f"({line})' " for line in lines) + "ET"


PICTURE = "q 200 0 0 100 0 0 cm/P Do Q"
"""The content of a page that is one picture."""


def make_svg(
    body: str = '<rect width="10" height="10"/>', size: str = 'width="200" height="100"'
) -> str:
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{body}</svg>'
