"""Pictures in a reply: an SVG document is text, and platforms that take files get it as one.

Whoever opens such a file in a browser must be safe: a document that could run a program or load
something from elsewhere stays text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from xml.parsers import expat

from functions.channels.visible_text import clean_text

PICTURES_MOST: Final = 4
"""More pictures of one reply stay text."""
PICTURE_CHARACTERS: Final = 500_000
_NAMESPACE: Final = "http://www.w3.org/2000/svg"
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*([^\s`]*)[ \t]*")
_LANGUAGES: Final = ("", "svg", "xml", "image/svg+xml")
_BEGIN = re.compile(r" {0,3}<(?:svg[\s>]|\?xml\s)", re.IGNORECASE)
_END: Final = "</svg>"
_ELEMENTS: Final = frozenset(
    "svg g defs symbol title desc metadata path rect circle ellipse line polyline polygon text"
    " tspan textpath use lineargradient radialgradient stop clippath mask pattern marker filter"
    " feblend fecolormatrix fecomposite feflood fegaussianblur femerge femergenode feoffset"
    " fedropshadow style".split()
)
"""Elements that only draw."""
_ELSEWHERE = re.compile(r"url\s*\(\s*['\"]?\s*(?!['\"\s#])", re.IGNORECASE)
"""An address that is no part of the document."""
_MAY_LOAD = re.compile(
    r"[@\\]|(?<![a-z-])(?!(?:rgba?|hsla?|url|calc|var|translate|rotate|scale|matrix|skew[xy])\s*\()"
    r"[a-z-]+\s*\(",
    re.IGNORECASE,
)
"""Rules, escapes and functions of style sheets, but for those that load nothing."""
_PLAIN_TEXT: Final = ("aria-label", "title", "class", "id", "lang")
"""Attributes whose value no browser reads as a style."""
_STYLE_CHARACTERS: Final = 20_000
_ENCODING = re.compile(r"\A<\?xml[^>]*\sencoding\s*=\s*['\"](?!utf-8['\"])", re.IGNORECASE)
"""A declaration of another encoding than the one that the file will have."""


def take_pictures(markdown: str) -> tuple[str, tuple[str, ...]]:
    """Return a reply without its SVG pictures, and these, in order.

    A picture is a whole code block, or begins at the beginning of a line.
    """
    parts = divide_at_pictures(markdown)
    kept = [part.text for part in parts if not part.is_picture]
    return "\n".join(kept), tuple(part.text for part in parts if part.is_picture)


@dataclass(frozen=True, slots=True)
class ReplyPart:
    """A part of a reply: whole lines of it, or the document of a picture in the place of some."""

    text: str
    is_picture: bool = False


def divide_at_pictures(markdown: str, most: int = PICTURES_MOST) -> list[ReplyPart]:
    """Return the parts of a reply, in order: at most so many pictures, and what is between."""
    lines = markdown.split("\n")
    parts: list[ReplyPart] = []
    kept: list[str] = []
    count = 0
    place = 0
    while place < len(lines):
        end, source = _read_block(lines, place)
        picture = ""
        if source and count < most:
            picture = make_document(source)
        if picture:
            if kept:
                parts.append(ReplyPart("\n".join(kept)))
            kept = []
            parts.append(ReplyPart(picture, is_picture=True))
            count += 1
        else:
            kept += lines[place:end]
        place = end
    if kept:
        parts.append(ReplyPart("\n".join(kept)))
    return parts


def find_open_picture(markdown: str) -> int:
    """Return where the lines of a picture begin that outside of code blocks does not end yet; the
    length of the text where there is none.
    """
    lines = markdown.split("\n")
    place = 0
    while place < len(lines):
        end, source = _read_block(lines, place)
        if end == len(lines) and not source and _BEGIN.match(lines[place]):
            return sum(map(len, lines[:place])) + place
        place = end
    return len(markdown)


def _read_block(lines: list[str], place: int) -> tuple[int, str]:
    """Return where the block that begins at a line ends, and the SVG source that it is, if any.

    Whatever is not closed goes on to the end.
    """
    fence = _FENCE.fullmatch(lines[place])
    if fence:
        mark = fence[1]
        for end in range(place + 1, len(lines)):
            closing = lines[end].strip()
            if set(closing) == {mark[0]} and len(closing) >= len(mark):
                source = "\n".join(lines[place + 1 : end])
                is_source = fence[2].lower() in _LANGUAGES and _BEGIN.match(source.lstrip("\n"))
                return end + 1, source if is_source else ""
        return len(lines), ""
    if _BEGIN.match(lines[place]):
        for end in range(place, len(lines)):
            if lines[end].rstrip().lower().endswith(_END):
                return end + 1, "\n".join(lines[place : end + 1])
        return len(lines), ""
    return place + 1, ""


def make_document(source: str) -> str:
    """Return an SVG document as a file has it; empty for one that is damaged, or does more than
    draw.
    """
    source = clean_text(source).strip()
    if len(source) > PICTURE_CHARACTERS or "<!" in source.replace("<!--", ""):
        return ""  # a document type may define anything
    if _ENCODING.match(source):
        return ""
    if _NAMESPACE not in source:
        source = re.sub("<svg", f'<svg xmlns="{_NAMESPACE}"', source, count=1, flags=re.IGNORECASE)
    return f"{source}\n" if _only_draws(source) else ""


class _DoesMoreError(Exception):
    """The document has an element, an attribute or a style that could do more than draw."""


def _only_draws(source: str) -> bool:
    """Return whether a document is well formed and has nothing but what draws."""
    depth = 0
    style_depth = 0

    def begin(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth, style_depth
        namespace, _, local = name.rpartition(" ")
        is_root = depth == 0
        depth += 1
        if namespace != _NAMESPACE or local.lower() not in _ELEMENTS:
            raise _DoesMoreError
        if is_root != (local == "svg") or style_depth:
            raise _DoesMoreError
        if local.lower() == "style":
            style_depth = depth
        for qualified, value in attributes.items():
            key = qualified.rpartition(" ")[2].lower()
            points_elsewhere = key in ("href", "src", "base") and not value.strip().startswith("#")
            if key in _PLAIN_TEXT:
                continue
            if key.startswith("on") or points_elsewhere or _loads(value):
                raise _DoesMoreError

    def end(name: str) -> None:
        nonlocal depth, style_depth
        if depth == style_depth:
            style_depth = 0
        depth -= 1

    def read_text(text: str) -> None:
        if style_depth:
            style.append(text)

    def refuse(*given: object) -> None:
        raise _DoesMoreError

    style: list[str] = []
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = begin
    parser.EndElementHandler = end
    parser.ProcessingInstructionHandler = refuse
    parser.StartDoctypeDeclHandler = refuse
    parser.CharacterDataHandler = read_text
    try:
        parser.Parse(source, True)
    except (expat.ExpatError, _DoesMoreError):
        return False
    rules = "".join(style)
    return len(rules) <= _STYLE_CHARACTERS and not _loads(rules)


def _loads(style: str) -> bool:
    """Return whether a style sheet, or an attribute, which is one as well, could load something."""
    return bool(_MAY_LOAD.search(style) or _ELSEWHERE.search(style))
