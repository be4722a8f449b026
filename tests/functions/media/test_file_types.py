"""The type of a file is what its bytes say, whatever its name is."""

from __future__ import annotations

from functions.media.file_types import FileType, find_type
from tests.functions.media.files import (
    make_docx,
    make_picture,
    make_pptx,
    make_row,
    make_xlsx,
    make_zip,
)
from tests.tables import each_row

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504)
ODS = {"mimetype": "application/vnd.oasis.opendocument.spreadsheet"}


@each_row(
    ("data", "type"),
    [
        (make_picture("JPEG"), FileType.JPEG),
        (make_picture("PNG"), FileType.PNG),
        (make_picture("GIF"), FileType.GIF),
        (make_picture("WEBP"), FileType.WEBP),
        (b"\0\0\0\x18ftypheic\0\0\0\0", FileType.HEIC),
        (b"%PDF-1.7\n", FileType.PDF),
        (b"junk before\r\n%PDF-1.4\n\xff", FileType.PDF),
        (make_docx("<w:p/>"), FileType.WORD),
        (make_pptx([("a", "b", "c")]), FileType.SLIDES),
        (make_xlsx({"A": make_row(1, "a")}), FileType.SHEET),
        (
            make_zip({"ppt/presentation.xml": "", "ppt/a.docx": make_docx("")}, method=0),
            FileType.SLIDES,
        ),
        (b"{\\rtf1 a}", None),
        (make_zip(ODS, method=0), FileType.OPEN_SHEET),
        (OLE + "Workbook".encode("utf-16-le"), FileType.OLD_SHEET),
        (OLE + "EncryptedPackage".encode("utf-16-le"), FileType.ENCRYPTED_OFFICE),
        (OLE + "WordDocument".encode("utf-16-le"), None),
        (b"OggS\0\2", FileType.OGG),
        (b"ID3\4\0", FileType.MP3),
        (b"\xff\xfb\x90\0", FileType.MP3),
        (b"\0\0\0\x1cftypM4A \0", FileType.M4A),
        (b"RIFF\0\0\0\0WAVEfmt ", FileType.WAV),
        (b"\x1a\x45\xdf\xa3\0\0\x42\x82\x84webm", FileType.WEBM),
        (b"fLaC\0", FileType.FLAC),
        (b"#!AMR\n\x3c\x91", FileType.AMR),
        ("Name;Größe\n".encode(), FileType.TEXT),
        ("Name;Größe\n".encode("utf-16"), FileType.TEXT),
        ("Name;Größe\n".encode("cp1252"), FileType.FOREIGN_TEXT),
        (b"Gr\xf6\xdfe\x01", None),
        (b"<!doctype html><p>hi", FileType.HTML),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", FileType.TEXT),
        (make_zip({"a.txt": "a"}), None),
        (b"MZ\x90\0\3", None),
        (b"text with a \0", None),
        (b"", None),
    ],
)
def test_the_first_bytes_tell_the_type(data: bytes, type: FileType | None) -> None:
    assert find_type(data) is type


def test_what_begins_as_one_type_is_no_other() -> None:
    picture = make_picture("JPEG") + b"%PDF-1.7 PK\3\4word/document.xml<!doctype html>"
    assert find_type(picture) is FileType.JPEG
