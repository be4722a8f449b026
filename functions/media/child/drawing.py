"""Draws an SVG document, of which it is known that it only draws, as a PNG on white."""

from __future__ import annotations

import re
import struct
from xml.parsers import expat

import resvg_py

from functions.media.limits import (
    DRAWN_SCALE,
    MAX_BLUR,
    MAX_DEPTH,
    MAX_DRAWN_NODES,
    MAX_DRAWN_PIXELS,
)
from functions.media.protocol import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_FAMILY = "DejaVu Sans"
_NUMBER = re.compile(r"\s*\+?(\d*\.?\d+(?:[eE][+-]?\d+)?)\s*(px|pt|pc|mm|cm|in|em|ex)?\s*")
_PIXELS = {
    "px": 1.0,
    "pt": 4 / 3,
    "pc": 16.0,
    "mm": 96 / 25.4,
    "cm": 96 / 2.54,
    "in": 96.0,
    "em": 16.0,
    "ex": 8.0,
}
_TEXTS = ("text", "textpath", "tspan")
_DEFAULT_SIDE = 100.0
_MAX_SIDE = 8_000.0
_SIZE = struct.Struct(">II")
_SIZE_PLACE = 16  # in a PNG: behind the signature, and the length and name of its first chunk


def run(order: Mapping[str, object], data: bytes) -> tuple[Mapping[str, object], bytes]:
    """Return the document as PNG at twice its size. `order`: the `fonts`, as paths, and the
    `missing` characters of the document, which none of them has.
    """
    source = data.decode("utf-8")
    drawing = _Drawing(data)
    width, height = drawing.size
    if not (width > 0 and height > 0):
        raise Unreadable("broken")
    scale = min(
        DRAWN_SCALE, (MAX_DRAWN_PIXELS / width / height) ** 0.5, _MAX_SIDE / max(width, height)
    )
    fonts = order["fonts"]
    assert isinstance(fonts, list)
    try:
        png = resvg_py.svg_to_bytes(
            svg_string=source,
            background="#ffffff",
            skip_system_fonts=True,
            font_files=[str(path) for path in fonts],
            zoom=scale,
            font_family=_FAMILY,
            serif_family=_FAMILY,
            sans_serif_family=_FAMILY,
            cursive_family=_FAMILY,
            fantasy_family=_FAMILY,
            monospace_family=_FAMILY,
        )
    except ValueError:
        raise Unreadable("broken") from None
    width, height = _SIZE.unpack_from(png, _SIZE_PLACE)
    undrawn = "".join(sign for sign in str(order["missing"]) if sign in drawing.words)
    head = {"type": "image/png", "width": width, "height": height, "undrawn": undrawn}
    return head, png


class _Drawing:
    """What a document costs to draw, as far as its source tells; `Unreadable` for too much.

    `size`: its width and height in pixels; `words`: the characters of its texts.
    """

    size = (0.0, 0.0)

    def __init__(self, data: bytes) -> None:
        self.words: set[str] = set()
        self._in_text = 0
        self._open: list[int] = []
        self._ends: list[int] = []
        self._by_id: dict[str, int] = {}
        self._used: dict[int, str] = {}
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler = self._begin
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._read
        parser.StartDoctypeDeclHandler = _refuse
        try:
            parser.Parse(data, True)
        except expat.ExpatError:
            raise Unreadable("broken") from None
        self._costs: dict[int, int] = {}
        if self._count(0, 0) > MAX_DRAWN_NODES:
            raise Unreadable("too_large")

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        number = len(self._ends)
        local = name.rpartition(" ")[2].lower()
        values = {key.rpartition(" ")[2].lower(): value for key, value in attributes.items()}
        if not self._open:
            self.size = _read_size(values)
        self._open.append(number)
        self._ends.append(number)
        if len(self._open) > MAX_DEPTH or number >= MAX_DRAWN_NODES:
            raise Unreadable("too_large")
        if "id" in values:
            self._by_id.setdefault(values["id"], number)
        self._in_text += local in _TEXTS
        if local == "use":
            self._used[number] = values.get("href", "").strip().removeprefix("#")
        for blur in values.get("stddeviation", "").replace(",", " ").split():
            if not re.fullmatch(r"[\d.]{1,9}", blur) or float(blur) > MAX_BLUR:
                raise Unreadable("too_large")

    def _read(self, text: str) -> None:
        if self._in_text:
            self.words.update(text)

    def _end(self, name: str) -> None:
        self._in_text -= name.rpartition(" ")[2].lower() in _TEXTS
        self._ends[self._open.pop()] = len(self._ends)

    def _count(self, number: int, depth: int) -> int:
        """Return how many elements are drawn for one of them, with those that it uses."""
        if number not in self._costs:
            if depth > MAX_DEPTH:
                raise Unreadable("too_large")
            self._costs[number] = MAX_DRAWN_NODES + 1  # one that uses itself
            cost = self._ends[number] - number
            for user, name in self._used.items():
                if number <= user < self._ends[number] and name in self._by_id:
                    cost += self._count(self._by_id[name], depth + 1)
            self._costs[number] = min(cost, MAX_DRAWN_NODES + 1)
        return self._costs[number]


def _refuse(*_given: object) -> None:
    raise Unreadable("not_supported")


def _read_size(values: Mapping[str, str]) -> tuple[float, float]:
    """Return the width and the height of the root element, in pixels."""
    box = values.get("viewbox", "").replace(",", " ").split()
    try:
        _, _, width, height = map(float, box)
    except ValueError:
        width = height = _DEFAULT_SIDE
    return _read_length(values.get("width", ""), width), _read_length(
        values.get("height", ""), height
    )


def _read_length(text: str, otherwise: float) -> float:
    match = _NUMBER.fullmatch(text)
    return float(match[1]) * _PIXELS[match[2] or "px"] if match else otherwise
