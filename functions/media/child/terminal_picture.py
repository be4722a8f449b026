"""Makes a picture fit into a terminal: as PNG, or in sixels, six rows of pixels a line
(https://www.vt100.net/docs/vt3xx-gp/chapter14.html).
"""

from __future__ import annotations

import re
from io import BytesIO

from PIL import Image

from functions.media.child.scaling import shrink

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_COLOURS = 128
_BAND = 6
_FIRST = 63
"""The character of six pixels none of which is drawn: `?`."""
_SHOWN = bytes((value + _FIRST) % 256 for value in range(256))
_REPEATED = re.compile(rb"(.)\1{3,}", re.DOTALL)


def run(order: Mapping[str, object], data: bytes) -> tuple[Mapping[str, object], bytes]:
    """Return the picture. `order`: its `type`, of which it has to be, the `width` and the `height`
    in pixels that it has at most, and `sixel`, whether it is wanted so.
    """
    width, height = order["width"], order["height"]
    assert isinstance(width, int)
    assert isinstance(height, int)
    image = shrink(str(order["type"]), data, (width, height))
    head = {"width": image.width, "height": image.height}
    if order["sixel"]:
        return {**head, "type": "sixel"}, _write_sixels(image)
    out = BytesIO()
    image.save(out, "PNG")
    return {**head, "type": "image/png"}, out.getvalue()


def _write_sixels(image: Image.Image) -> bytes:
    """Return what a terminal is written, without the marks of its beginning and end."""
    reduced = image.quantize(_COLOURS)
    palette = bytes(reduced.getpalette("RGB") or ())
    pixels = reduced.tobytes()
    width, height = reduced.size
    parts = [b'"1;1;%d;%d' % (width, height)]
    for number in sorted(set(pixels)):
        shares = [round(part * 100 / 255) for part in palette[3 * number : 3 * number + 3]]
        parts.append(b"#%d;2;%d;%d;%d" % (number, *shares))
    for top in range(0, height, _BAND):
        rows = [
            pixels[at * width : (at + 1) * width] for at in range(top, min(top + _BAND, height))
        ]
        lines = [b"#%d%s" % (each, _draw(each, rows)) for each in sorted(set(b"".join(rows)))]
        parts.append(b"$".join(lines) + b"-")
    return b"".join(parts)


def _draw(colour: int, rows: list[bytes]) -> bytes:
    """Return the pixels of one colour in a band of rows."""
    sixels = 0
    for place, row in enumerate(rows):
        table = bytearray(256)
        table[colour] = 1 << place
        sixels += int.from_bytes(row.translate(table), "big")  # no byte is ever more than 63
    written = sixels.to_bytes(len(rows[0]), "big").translate(_SHOWN)
    return _REPEATED.sub(lambda same: b"!%d%s" % (len(same[0]), same[1]), written)
