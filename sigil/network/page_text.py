"""Decide which answers are texts, and bring their texts into UTF-8, whatever charset they have."""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from sigil.network.headers import Headers

_TEXT_TYPES = re.compile(
    r"text/[\w.+-]+|application/(?:[\w.+-]+\+)?(?:json|xml|yaml)|application/(?:x-ndjson|x-yaml"
    r"|xhtml\+xml|javascript|ecmascript|rss|atom|markdown|toml)",
    re.ASCII,
)
_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([A-Za-z0-9._:-]{1,40})", re.ASCII | re.IGNORECASE)
_META_BYTES = 4_096
"""The bytes from the beginning of a page in which its own word for its charset is looked for."""
_META = re.compile(
    rb"<meta\b[^>]{0,400}?\bcharset\s*=\s*[\"']?\s*([A-Za-z0-9._:-]{1,40})", re.IGNORECASE
)
_XML = re.compile(rb"<\?xml\b[^>]{0,200}?\bencoding\s*=\s*[\"']([A-Za-z0-9._:-]{1,40})")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# As browsers read them (the WHATWG's Encoding standard): a label often stands for a larger charset,
# and some labels are none of Python's.
_LARGER = {
    "windows-874": "cp874",
    "windows-31j": "cp932",
    "x-sjis": "cp932",
    "x-gbk": "gb18030",
    "x-mac-cyrillic": "mac-cyrillic",
    "iso-8859-8-i": "iso8859-8",
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "utf-16": "utf-16-le",
}
_ALLOWED = frozenset(
    "utf-8 utf-16-le utf-16-be gb18030 big5hkscs cp932 cp949 euc_jp iso2022_jp koi8-r koi8-u cp866"
    " cp874 mac-roman mac-cyrillic cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258"
    " iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6 iso8859-7 iso8859-8 iso8859-10 iso8859-13"
    " iso8859-14 iso8859-15 iso8859-16".split()
)
"""Python's names of the charsets that are decoded; its other codecs are no charsets, or slow."""
_OTHERWISE = "cp1252"


class PageText(NamedTuple):
    """A text in UTF-8; `is_cut` says that it does not end where the page does."""

    body: bytes
    is_cut: bool


def content_type_of(headers: Headers) -> str:
    """Return the type of an answer without its parameters, in lower case; empty for none."""
    value = dict(headers).get("content-type", "")
    return value.partition(";")[0].strip().lower()


def is_text_type(headers: Headers) -> bool:
    """Tell if an answer says that it is a text; one that names no type may be one."""
    kind = content_type_of(headers)
    return not kind or _TEXT_TYPES.fullmatch(kind) is not None


def to_utf8(body: bytes, headers: Headers, most: int, *, is_cut: bool = False) -> PageText:
    """Return the text of an answer in UTF-8, at most `most` bytes of it.

    What is no character in its charset becomes U+FFFD. A body that is cut may end within one.
    """
    codec, marked = _find_codec(body, headers, is_cut=is_cut)
    decoder = codecs.getincrementaldecoder(codec)("replace")
    encoded = decoder.decode(body[marked:], final=not is_cut).encode("utf-8", "replace")
    if len(encoded) <= most:
        return PageText(encoded, is_cut)
    return PageText(encoded[:most].decode("utf-8", "ignore").encode(), is_cut=True)


def _find_codec(body: bytes, headers: Headers, *, is_cut: bool) -> tuple[str, int]:
    """Return the name of the codec, and the size of the byte order mark that named it.

    The mark counts most, then the header, the page's own word, and valid UTF-8.
    """
    for mark, codec in _MARKS:
        if body.startswith(mark):
            return codec, len(mark)
    labels = _CHARSET.findall(dict(headers).get("content-type", ""))[:1]
    head = body[:_META_BYTES]
    for pattern in (_META, _XML):
        found = pattern.search(head)
        if found:
            label = found[1].decode("ascii")
            # a page that could be read as far as this word is not in UTF-16
            labels.append("utf-8" if label.lower().startswith("utf-16") else label)
    for label in labels:
        codec = _codec_of(label)
        if codec:
            return codec, 0
    try:
        codecs.getincrementaldecoder("utf-8")("strict").decode(body, final=not is_cut)
    except UnicodeDecodeError:
        return _OTHERWISE, 0
    return "utf-8", 0


def _codec_of(label: str) -> str:
    """Return the codec of a charset's label, empty for one that is not decoded."""
    name = label.lower()
    if name not in _LARGER:
        try:
            name = codecs.lookup(label).name
        except (LookupError, ValueError):
            return ""
    name = _LARGER.get(name, name)
    return name if name in _ALLOWED else ""
