"""Scales a picture to what a model takes, and leaves out all that is not drawn."""

from __future__ import annotations

import copy  # for Pillow, which imports it and the modules below only when it needs them
from io import BytesIO

from PIL import (
    GifImagePlugin,
    Image,
    ImageOps,
    JpegImagePlugin,
    MpoImagePlugin,
    PngImagePlugin,
    TiffImagePlugin,
    UnidentifiedImageError,
    WebPImagePlugin,
)

from functions.media.limits import JPEG_QUALITY, MAX_PIXELS, MAX_SIDE
from functions.media.protocol import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

IMPORTED = (
    copy,
    GifImagePlugin,
    JpegImagePlugin,
    MpoImagePlugin,
    PngImagePlugin,
    TiffImagePlugin,
    WebPImagePlugin,
)
Image.preinit()
Image.MAX_IMAGE_PIXELS = None  # the bound below is ours
_WHITE = (255, 255, 255)
_TURNED = (5, 6, 7, 8)
"""Orientations of EXIF in which the width stands for the height."""


def run(order: Mapping[str, object], data: bytes) -> tuple[Mapping[str, object], bytes]:
    """Return the picture as JPEG. `order`: its `type`, of which it has to be."""
    return save(shrink(str(order["type"]), data, (MAX_SIDE, MAX_SIDE)))


def shrink(name: str, data: bytes, most: tuple[int, int]) -> Image.Image:
    """Return the first frame of a picture of this type, upright, on white, of at most so many
    pixels in width and height.
    """
    type = name.upper()
    formats = ("JPEG", "MPO") if type == "JPEG" else (type,)
    try:
        with Image.open(BytesIO(data), formats=formats) as image:
            if image.width * image.height > MAX_PIXELS:
                raise Unreadable("too_large")
            return _shrink(image, most)
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError):
        raise Unreadable("broken") from None


def _shrink(image: Image.Image, most: tuple[int, int]) -> Image.Image:
    orientation = image.getexif().get(0x0112, 1)
    width, height = reversed(most) if orientation in _TURNED else most
    ratio = min(1.0, width / image.width, height / image.height)
    size = (max(1, round(image.width * ratio)), max(1, round(image.height * ratio)))
    image.draft("RGB", size)  # a JPEG is decoded at half its size, or less, where that is enough
    has_alpha = "A" in image.getbands() or "transparency" in image.info
    if image.mode in ("P", "1") or (has_alpha and image.mode not in ("RGBA", "LA")):
        image = image.convert("RGBA" if has_alpha else "RGB")
    elif image.mode.startswith("I;16"):
        image = image.point(lambda value: value / 256).convert("L")
    if image.size != size:
        image = image.resize(size, Image.Resampling.BICUBIC, reducing_gap=2.0)
    upright = image.convert("RGBA" if has_alpha else "RGB")
    upright.info.clear()
    upright.getexif()[0x0112] = orientation
    upright = ImageOps.exif_transpose(upright)
    plain = Image.new("RGB", upright.size, _WHITE)
    plain.paste(upright, mask=upright.getchannel("A") if has_alpha else None)
    return plain


def save(image: Image.Image) -> tuple[Mapping[str, object], bytes]:
    """Return the answer that an image is, as JPEG."""
    out = BytesIO()
    image.save(out, "JPEG", quality=JPEG_QUALITY)
    return {"type": "image/jpeg", "width": image.width, "height": image.height}, out.getvalue()
