"""The type of a file, told by its first bytes and never by its name or by what its sender says."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class FileType(StrEnum):
    """The types that are told apart."""

    JPEG = "jpeg"
    PNG = "png"
    GIF = "gif"
    WEBP = "webp"
    HEIC = "heic"
    PDF = "pdf"
    WORD = "docx"
    SLIDES = "pptx"
    SHEET = "xlsx"
    OPEN_SHEET = "ods"
    OLD_SHEET = "xls"
    HTML = "html"
    TEXT = "text"
    FOREIGN_TEXT = "text in another encoding"
    OGG = "ogg"
    MP3 = "mp3"
    M4A = "m4a"
    WAV = "wav"
    WEBM = "webm"
    FLAC = "flac"
    MP4 = "mp4"
    AAC = "aac"
    AMR = "amr"
    SILK = "silk"
    ENCRYPTED_OFFICE = "encrypted office"


PICTURES: Final = frozenset((FileType.JPEG, FileType.PNG, FileType.GIF, FileType.WEBP))
"""Types that `FileReader.scale` takes."""
MADE_PICTURES: Final = {"image/jpeg": FileType.JPEG, "image/png": FileType.PNG}
"""What pictures are made as, by the name of the type."""
WORKBOOKS: Final = frozenset((FileType.SHEET, FileType.OPEN_SHEET, FileType.OLD_SHEET))
TEXTS: Final = frozenset((FileType.HTML, FileType.TEXT, FileType.FOREIGN_TEXT))
DOCUMENTS: Final = frozenset((FileType.PDF, FileType.WORD, FileType.SLIDES)) | WORKBOOKS | TEXTS
"""Types that `FileReader.read` takes."""
SOUNDS: Final = frozenset(
    (
        FileType.OGG,
        FileType.MP3,
        FileType.M4A,
        FileType.WAV,
        FileType.FLAC,
    )
)
PERHAPS_SOUNDS: Final = frozenset((FileType.MP4, FileType.WEBM))
"""Types that have a sound, or a video."""
CLOSED_SOUNDS: Final = frozenset((FileType.AAC, FileType.AMR, FileType.SILK))
"""Types that no endpoint takes that turns speech into text."""

_SIGNATURES: Final = (
    (0, b"\xff\xd8\xff", FileType.JPEG),
    (0, b"\x89PNG\r\n\x1a\n", FileType.PNG),
    (0, b"GIF87a", FileType.GIF),
    (0, b"GIF89a", FileType.GIF),
    (8, b"WEBP", FileType.WEBP),
    (8, b"WAVE", FileType.WAV),
    (0, b"%PDF-", FileType.PDF),
    (0, b"OggS", FileType.OGG),
    (0, b"fLaC", FileType.FLAC),
    (0, b"ID3", FileType.MP3),
    *((0, bytes((0xFF, second)), FileType.MP3) for second in (0xFB, 0xFA, 0xF3, 0xF2)),
    *((0, bytes((0xFF, second)), FileType.AAC) for second in (0xF1, 0xF9)),
    (0, b"#!AMR", FileType.AMR),
    (0, b"#!SILK", FileType.SILK),
    (0, b"\x02#!SILK", FileType.SILK),
    *((4, b"ftyp" + brand, FileType.M4A) for brand in (b"M4A ", b"M4B ")),
    *(
        (4, b"ftyp" + brand, FileType.MP4)
        for brand in (b"isom", b"iso2", b"iso5", b"iso6", b"mp41", b"mp42", b"dash", b"M4V ")
    ),
    *(
        (4, b"ftyp" + brand, FileType.HEIC)
        for brand in (b"heic", b"heix", b"heim", b"heis", b"hevc", b"mif1", b"msf1", b"avif")
    ),
)
"""Where a file has which bytes → its type."""
_INSIDE_RIFF: Final = frozenset((FileType.WEBP, FileType.WAV))
_ZIP: Final = b"PK\x03\x04"
_INSIDE_ZIP: Final = (
    (b"word/document.xml", FileType.WORD),
    (b"ppt/presentation.xml", FileType.SLIDES),
    (b"xl/workbook.", FileType.SHEET),
    (b"application/vnd.oasis.opendocument.spreadsheet", FileType.OPEN_SHEET),
)
"""The names, or the first file's text, that stand as they are in a zip file of each type."""
_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_INSIDE_OLE: Final = (
    ("EncryptedPackage", FileType.ENCRYPTED_OFFICE),
    ("Workbook", FileType.OLD_SHEET),
    ("Book", FileType.OLD_SHEET),
)
"""The names of streams, which stand in UTF-16."""
_RICH_TEXT: Final = b"{\\rtf"
_MATROSKA: Final = b"\x1a\x45\xdf\xa3"
_WRITTEN: Final = bytes((*b"\t\n\f\r", *range(0x20, 0x7F), *range(0x80, 0x100)))
"""The bytes that texts of any encoding have."""
_HEAD_BYTES: Final = 1_024


def find_type(data: bytes) -> FileType | None:
    """Return the type of a file; None for one that is not known. An empty file is of no type."""
    for place, signature, type in _SIGNATURES:
        if data.startswith(signature, place) and _fits_riff(data, type):
            return type
    if data.startswith(_ZIP):
        return _find_first(data, _INSIDE_ZIP)
    if data.startswith(_OLE):
        names = ((name.encode("utf-16-le"), type) for name, type in _INSIDE_OLE)
        return next((type for name, type in names if name in data), None)
    if data.startswith(_RICH_TEXT):
        return None
    head = data[:_HEAD_BYTES]
    if head.startswith(_MATROSKA):
        return FileType.WEBM if b"webm" in head else None
    if b"%PDF-" in head:  # readers allow other bytes before it
        return FileType.PDF
    text = decode_text(data)
    if text is None and not data.translate(None, _WRITTEN):
        return FileType.FOREIGN_TEXT
    if not text:
        return None
    beginning = text[:_HEAD_BYTES].lstrip().lower()
    is_html = beginning.startswith(("<!doctype html", "<html")) or "<html" in beginning
    return FileType.HTML if is_html else FileType.TEXT


def _find_first(data: bytes, names: tuple[tuple[bytes, FileType], ...]) -> FileType | None:
    """Return the type whose name stands first: an office file may have others in it."""
    places = {place: type for name, type in names if (place := data.find(name)) >= 0}
    return places[min(places)] if places else None


def _fits_riff(data: bytes, type: FileType) -> bool:
    return type not in _INSIDE_RIFF or data.startswith(b"RIFF")


def decode_text(data: bytes) -> str | None:
    """Return a text in UTF-8, or in UTF-16 with its mark; None for what is no text."""
    is_wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    try:
        text = data.decode("utf-16" if is_wide else "utf-8-sig")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
