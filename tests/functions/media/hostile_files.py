"""Files that are made to harm whoever opens them: each is small, and dear, wrong or curious."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Callable
from random import Random
from typing import NamedTuple

from PIL import Image

from functions.media.file_reader import FileReader
from functions.media.results import Reason
from tests.functions.media.files import (
    WORD,
    make_docx,
    make_pdf,
    make_picture,
    make_pptx,
    make_row,
    make_svg,
    make_xlsx,
    make_zip,
    write_lines,
    write_pdf,
)


class HostileFile(NamedTuple):
    """A file, what is done with it, and the reasons for which that may fail; None is among them
    where it may succeed.
    """

    open: Callable[[FileReader, bytes], object]
    make: Callable[[], bytes]
    reasons: tuple[Reason | None, ...]


def scale(reader: FileReader, data: bytes) -> object:
    return reader.scale(data)


def fit(reader: FileReader, data: bytes) -> object:
    return reader.fit(data, 1_000, 800, sixel=True)


def noisy_png() -> bytes:
    image = Image.frombytes("RGB", (1_000, 800), Random(7).randbytes(2_400_000))
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def read(reader: FileReader, data: bytes) -> object:
    return reader.read(data)


def read_all(reader: FileReader, data: bytes) -> object:
    return reader.read(data, 1, 500)


def read_501(reader: FileReader, data: bytes) -> object:
    return reader.read(data, 501)


def look(reader: FileReader, data: bytes) -> object:
    return reader.look(data)


def draw(reader: FileReader, data: bytes) -> object:
    return reader.draw(data.decode("utf-8", "replace"))


def declare_png(width: int, height: int) -> bytes:
    """A PNG with so many pixels, all of which are there: zeros, well packed."""
    pack = zlib.compressobj(9)
    row = bytes(1 + width)
    body = b"".join(pack.compress(row) for _ in range(height)) + pack.flush()
    return _png(width, height, body, 0)


def _png(width: int, height: int, body: bytes, color: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, color, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def png_with_much_text() -> bytes:
    text = zlib.compress(bytes(60_000_000), 9)
    chunk = b"zTXtnote\0\0" + text
    data = make_picture("PNG")
    place = 33
    return (
        data[:place]
        + struct.pack(">I", len(chunk) - 4)
        + chunk
        + struct.pack(">I", zlib.crc32(chunk))
        + data[place:]
    )


def color_png(side: int) -> bytes:
    pack = zlib.compressobj(1)
    row = bytes(1 + 4 * side)
    body = b"".join(pack.compress(row) for _ in range(side)) + pack.flush()
    return _png(side, side, body, 6)


def gif_of_many_frames() -> bytes:
    one = make_picture("GIF", (500, 500))
    return one[:-1] + one[781:-1] * 2_000 + b";"


def zip_bomb(part: str = "word/document.xml", size: int = 2_000_000_000) -> bytes:
    out = io.BytesIO()
    archive = zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED)
    with archive, archive.open(part, "w", force_zip64=True) as stream:
        for _ in range(size // 1_000_000):
            stream.write(bytes(1_000_000))
    return out.getvalue()


def lying_zip() -> bytes:
    """A zip whose directory says that its part has ten bytes."""
    data = bytearray(zip_bomb(size=300_000_000))
    entry = data.rindex(b"PK\1\2")
    data[entry + 24 : entry + 28] = struct.pack("<I", 10)
    return bytes(data)


def many_entries() -> bytes:
    return make_zip({"word/document.xml": "<a/>", **{f"{n}": "" for n in range(12_000)}})


def long_docx() -> bytes:
    return make_docx("<w:p><w:r><w:t>word </w:t></w:r></w:p>" * 1_500_000)


def deep_docx(depth: int) -> bytes:
    return make_docx("<w:p>" + "<w:r>" * depth + "</w:r>" * depth + "</w:p>")


ENTITIES = "".join(
    f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' if n else '<!ENTITY e0 "laughter">' for n in range(10)
)


def entity_docx() -> bytes:
    document = (
        f"<!DOCTYPE d [{ENTITIES}]><w:document {WORD}><w:body><w:p><w:r><w:t>&e9;</w:t></w:r></w:p>"
        "</w:body></w:document>"
    )
    return make_zip({"word/document.xml": document})


def external_docx() -> bytes:
    document = (
        f'<!DOCTYPE d [<!ENTITY e SYSTEM "file:///etc/passwd">]><w:document {WORD}><w:body><w:p><w:r>'
        "<w:t>&e;</w:t></w:r></w:p></w:body></w:document>"
    )
    return make_zip({"word/document.xml": document.encode("utf-16")})


def wide_sheet() -> bytes:
    return make_xlsx(
        {"A": make_row(1, "a") + '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'}
    )


def many_strings() -> bytes:
    return make_xlsx({"A": "".join(make_row(n, "x" * 9, 1.0, 2.0) for n in range(1, 400_000))})


def pdf_with_picture(width: int, height: int) -> bytes:
    body = zlib.compress(
        zlib.compress(bytes(width * height // 8 if width > 9_999 else 1_000), 9), 9
    )
    text = body.decode("latin-1")
    return write_pdf(
        [
            "<</Type/Catalog/Pages 2 0 R>>",
            "<</Type/Pages/Count 1/Kids[3 0 R]>>",
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 100]/Contents 4 0 R"
            "/Resources<</XObject<</P 5 0 R>>>>>>",
            "<</Length 31>>stream\nq 200 0 0 100 0 0 cm /P Do Q   \nendstream",
            f"<</Type/XObject/Subtype/Image/Width {width}/Height {height}/BitsPerComponent 1"
            f"/ColorSpace/DeviceGray/Filter[/FlateDecode/FlateDecode]/Length {len(body)}>>stream\n"
            f"{text}\nendstream",
        ],
        "/Root 1 0 R",
    )


def pdf_bomb() -> bytes:
    body = zlib.compress(zlib.compress(b"1 0 0 RG 0 0 200 100 re f " * 20_000_000, 1), 9)
    text = body.decode("latin-1")
    return write_pdf(
        [
            "<</Type/Catalog/Pages 2 0 R>>",
            "<</Type/Pages/Count 1/Kids[3 0 R]>>",
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 100]/Contents 4 0 R>>",
            f"<</Filter[/FlateDecode/FlateDecode]/Length {len(body)}>>stream\n{text}\nendstream",
        ],
        "/Root 1 0 R",
    )


def circular_pdf() -> bytes:
    return write_pdf(
        [
            "<</Type/Catalog/Pages 2 0 R/Outlines 4 0 R>>",
            "<</Type/Pages/Count 9/Kids[2 0 R 3 0 R 2 0 R]>>",
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>",
            "<</First 5 0 R/Last 5 0 R/Count 1>>",
            "<</Title(a)/Parent 4 0 R/Next 5 0 R/First 5 0 R>>",
        ],
        "/Root 1 0 R",
    )


def many_uses() -> bytes:
    levels = "".join(f'<g id="g{n}">{f"""<use href="#g{n - 1}"/>""" * 10}</g>' for n in range(1, 6))
    return make_svg(
        f'<defs><g id="g0"><path d="M0 0h9"/></g>{levels}</defs><use href="#g5"/>'
    ).encode()


def flat_uses() -> bytes:
    return make_svg('<g id="g"><path d="M0 0h9"/></g>' + '<use href="#g"/>' * 18_000).encode()


def long_path() -> bytes:
    return make_svg(
        f'<path stroke="red" stroke-dasharray=".01" d="M0 0{"l99 99l-99 9" * 30_000}"/>'
    ).encode()


def many_markers() -> bytes:
    marker = (
        '<marker id="m" overflow="visible">' + '<circle r="99" opacity=".5"/>' * 900 + "</marker>"
    )
    return make_svg(
        f'<defs>{marker}</defs><path style="marker-mid:url(#m)" d="M0 0{"l9 9" * 90_000}"/>'
    ).encode()


def many_patterns() -> bytes:
    levels = "".join(
        f'<pattern id="p{n}" width=".001" height=".001"><rect width="99" height="99" fill="url(#p{n - 1})"/></pattern>'
        for n in range(1, 30)
    )
    return make_svg(
        f'<pattern id="p0" width=".001" height=".001"><path d="M0 0h9"/></pattern>{levels}'
        '<rect width="999" height="999" fill="url(#p29)"/>',
        'width="1000" height="1000"',
    ).encode()


def many_filters(deviation: float) -> bytes:
    blur = f'<filter id="f" x="-9" y="-9" width="20" height="20"><feGaussianBlur stdDeviation="{deviation}"/></filter>'
    rects = '<rect width="900" height="900" filter="url(#f)"/>' * 200
    return make_svg(f"<defs>{blur}</defs>{rects}", 'width="1000" height="1000"').encode()


def blurred(deviation: float) -> bytes:
    body = (
        f'<filter id="f"><feGaussianBlur stdDeviation="{deviation}"/></filter>'
        '<rect width="900" height="900" filter="url(#f)"/>'
    )
    return make_svg(body, 'width="1000" height="1000"').encode()


OPENED = (None,)
DEAR = (None, Reason.TOO_SLOW)
"""How far it comes in its time depends on the machine."""
TOO_MUCH = (Reason.TOO_LARGE, Reason.TOO_SLOW)
BROKEN = (Reason.BROKEN,)
LARGE = (Reason.TOO_LARGE,)
UNSUPPORTED = (Reason.NOT_SUPPORTED,)

HOSTILE = {
    "an empty file": HostileFile(read, bytes, (Reason.EMPTY,)),
    "20 MB and a byte": HostileFile(read, lambda: b"a" * 20_000_001, LARGE),
    "20 MB of text": HostileFile(read_all, lambda: b"abc def\n" * 2_499_999, DEAR),
    "a line of 19 MB": HostileFile(read_all, lambda: b"a" * 19_000_000, OPENED),
    "a line of 19 MB in GB18030": HostileFile(read_all, lambda: b"\xb0\xa1" * 9_500_000, OPENED),
    "19 MB that no encoding fits": HostileFile(
        read_all, lambda: bytes(range(0x80, 0x100)) * 148_000, (Reason.NOT_SUPPORTED,)
    ),
    "19 MB of open tags": HostileFile(read, lambda: b"<html>" + b"<a" * 9_500_000, TOO_MUCH),
    "19 MB of open comments": HostileFile(read, lambda: b"<html>" + b"<!-- " * 3_800_000, TOO_MUCH),
    "19 MB of open elements": HostileFile(
        read, lambda: b"<html>" + b"<b><ul>" * 2_700_000, TOO_MUCH
    ),
    "a PNG of 50,000 x 50,000": HostileFile(scale, lambda: declare_png(50_000, 50_000), LARGE),
    "a PNG of 40 million pixels in color": HostileFile(scale, lambda: color_png(6_300), LARGE),
    "a PNG of a line": HostileFile(scale, lambda: declare_png(1, 60_000), OPENED),
    "a PNG of a line, in sixels": HostileFile(fit, lambda: declare_png(1, 60_000), OPENED),
    "a PNG of noise, in sixels": HostileFile(fit, noisy_png, OPENED),
    "a PNG with 60 MB of text": HostileFile(scale, png_with_much_text, BROKEN),
    "a PNG cut short": HostileFile(scale, lambda: color_png(500)[:-900], BROKEN),
    "a JPEG cut short": HostileFile(
        scale, lambda: make_picture("JPEG", (800, 800))[:-2_000], BROKEN
    ),
    "a JPEG of 65,000 x 65,000": HostileFile(
        scale,
        lambda: make_picture("JPEG").replace(
            b"\xff\xc0\0\x11\x08\0\x28\0\x3c", b"\xff\xc0\0\x11\x08\xfd\xe8\xfd\xe8"
        ),
        LARGE,
    ),
    "a WebP cut short": HostileFile(scale, lambda: make_picture("WEBP", (800, 800))[:-99], BROKEN),
    "a GIF of 2,000 frames": HostileFile(scale, gif_of_many_frames, OPENED),
    "a JPEG's first bytes": HostileFile(
        scale, lambda: b"\xff\xd8\xff" + bytes(range(256)) * 99, BROKEN
    ),
    "a zip with a JPEG's first bytes": HostileFile(
        scale, lambda: b"\xff\xd8\xff\xe0" + make_docx("<w:p/>"), BROKEN
    ),
    "a PDF with a PNG's first bytes": HostileFile(
        scale, lambda: b"\x89PNG\r\n\x1a\n" + make_pdf([""]), BROKEN
    ),
    "a program": HostileFile(read, lambda: b"\x7fELF" + bytes(999), UNSUPPORTED),
    "a zip in a zip in a zip": HostileFile(
        read,
        lambda: make_zip({"a.zip": make_zip({"b.zip": zip_bomb(size=50_000_000)})}),
        UNSUPPORTED,
    ),
    "a docx that inflates to 2 GB": HostileFile(read, zip_bomb, LARGE),
    "a docx that lies about its size": HostileFile(read, lying_zip, (*LARGE, *BROKEN)),
    "a docx of 12,000 parts": HostileFile(read, many_entries, LARGE),
    "a docx with a zip bomb beside it": HostileFile(
        read,
        lambda: make_zip(
            {"word/document.xml": "<a/>", "word/media/a.zip": zip_bomb(size=900_000_000)}
        ),
        OPENED,
    ),
    "a docx of 50 MB of words": HostileFile(read, long_docx, TOO_MUCH),
    "a docx with 100,000 elements in each other": HostileFile(
        read, lambda: deep_docx(100_000), LARGE
    ),
    "a docx of entities": HostileFile(read, entity_docx, BROKEN),
    "a docx that names a file of ours": HostileFile(read, external_docx, BROKEN),
    "a docx without its end": HostileFile(read, lambda: make_docx("<w:p/>")[:-40], BROKEN),
    "an encrypted docx": HostileFile(
        read,
        lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"),
        (Reason.ENCRYPTED,),
    ),
    "a pptx of 600 slides": HostileFile(
        read_all, lambda: make_pptx([("a", "b", "c")] * 600), OPENED
    ),
    "an xlsx with a cell in its last corner": HostileFile(read, wide_sheet, LARGE),
    "an xlsx of 400,000 rows": HostileFile(read, many_strings, DEAR),
    "an xlsx that inflates to 2 GB": HostileFile(read, lambda: zip_bomb("xl/workbook.xml"), LARGE),
    "an xls of garbage": HostileFile(
        read,
        lambda: (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
            + "Workbook".encode("utf-16-le")
            + bytes(range(256)) * 99
        ),
        BROKEN,
    ),
    "a PDF of 10,000 pages": HostileFile(
        read, lambda: make_pdf([write_lines("a")] * 10_000), OPENED
    ),
    "page 501 of 10,000": HostileFile(
        read_501, lambda: make_pdf([write_lines("a")] * 10_000), LARGE
    ),
    "a PDF of 5,000 headings": HostileFile(
        read, lambda: make_pdf(["a"], "", [("h", 1)] * 5_000), OPENED
    ),
    "a PDF with a page of 2 MB of text": HostileFile(
        read, lambda: make_pdf([write_lines(*["word " * 20] * 20_000)]), LARGE
    ),
    "a PDF on canvas of 60,000 x 60,000": HostileFile(
        look,
        lambda: make_pdf([write_lines("a")], more="/UserUnit 300/MediaBox[0 0 60000 60000]"),
        OPENED,
    ),
    "a PDF with a picture of 50,000 x 50,000": HostileFile(
        look, lambda: pdf_with_picture(50_000, 50_000), (*DEAR, *LARGE)
    ),
    "a PDF whose page inflates to 500 MB": HostileFile(look, pdf_bomb, TOO_MUCH),
    "a PDF in a circle": HostileFile(read_all, circular_pdf, OPENED),
    "a PDF cut short": HostileFile(
        read, lambda: make_pdf([write_lines("a")] * 50)[:-2_000], BROKEN
    ),
    "a PDF of a line": HostileFile(read, lambda: b"%PDF-1.7\n" + bytes(999), BROKEN),
    "an SVG with 100,000 uses": HostileFile(draw, many_uses, LARGE),
    "an SVG with 18,000 uses side by side": HostileFile(draw, flat_uses, LARGE),
    "an SVG that uses itself": HostileFile(
        draw, lambda: make_svg('<g id="a"><use href="#a"/></g>').encode(), LARGE
    ),
    "an SVG with a blur of 3,000": HostileFile(draw, lambda: blurred(3_000), LARGE),
    "an SVG with a blur of 100": HostileFile(draw, lambda: blurred(100), DEAR),
    "an SVG with 200 blurs": HostileFile(draw, lambda: many_filters(99), TOO_MUCH),
    "an SVG of 60,000 x 60,000": HostileFile(
        draw, lambda: make_svg(size='width="60000" height="60000"').encode(), OPENED
    ),
    "an SVG of 1e30 x 1e30": HostileFile(
        draw, lambda: make_svg(size='width="1e30" height="1e30"').encode(), (*LARGE, *BROKEN)
    ),
    "an SVG with a dashed path": HostileFile(draw, long_path, OPENED),
    "an SVG with 80 million marks": HostileFile(draw, many_markers, TOO_MUCH),
    "an SVG of patterns in patterns": HostileFile(draw, many_patterns, DEAR),
    "an SVG with a file of ours": HostileFile(
        draw, lambda: make_svg('<image href="file:///etc/passwd"/>').encode(), UNSUPPORTED
    ),
    "an SVG that uses a file of ours": HostileFile(
        draw, lambda: make_svg('<use href="/etc/passwd#a"/>').encode(), UNSUPPORTED
    ),
    "an SVG of entities": HostileFile(
        draw,
        f"<!DOCTYPE svg [{ENTITIES}]>{make_svg('<text>&e9;</text>')}".encode,
        UNSUPPORTED,
    ),
    "an SVG with 1,000 elements in each other": HostileFile(
        draw, lambda: make_svg("<g>" * 1_000 + "</g>" * 1_000).encode(), LARGE
    ),
    "no SVG": HostileFile(draw, lambda: b"<svg", UNSUPPORTED),
}
