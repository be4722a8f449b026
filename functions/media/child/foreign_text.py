"""Reads a text that is neither in UTF-8 nor in UTF-16, such as CSV of a spreadsheet: in which
encoding it is, nothing says, so the likeliest one is taken, and named.
"""

from __future__ import annotations

# all that is tried is loaded here: on first use, when no file can be opened, is too late
import encodings.big5
import encodings.cp1251
import encodings.cp1252
import encodings.euc_kr
import encodings.gb18030
import encodings.shift_jis

from charset_normalizer import from_bytes

from functions.media.child.paging import PageWriter
from functions.media.protocol import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_TRIED = ["gb18030", "big5", "cp1252", "shift_jis", "euc_kr", "cp1251"]
_LOADED = (
    encodings.big5,
    encodings.cp1251,
    encodings.cp1252,
    encodings.euc_kr,
    encodings.gb18030,
    encodings.shift_jis,
)
_SAMPLE_BYTES = 64_000
"""So much of a text tells its encoding."""


def run(order: Mapping[str, object], data: bytes) -> tuple[Mapping[str, object], bytes]:
    """Return the pages that the order names."""
    encoding = _find_encoding(data)
    text = data.decode(encoding, "replace")
    pages = PageWriter()
    pages.notes.append(
        f"The text is not in UTF-8; it was read as {encoding}, which is likely and not certain."
    )
    pages.add(text.replace("\r\n", "\n").replace("\r", "\n"))
    return pages.finish(order), b""


def _find_encoding(data: bytes) -> str:
    found = from_bytes(data[:_SAMPLE_BYTES], cp_isolation=_TRIED).best()
    if found is None:
        raise Unreadable("not_supported")
    if found.encoding == "euc_kr" and any("\u4e00" <= sign <= "\u9fff" for sign in str(found)):
        return "gb18030"  # a short Chinese text: Korean ones have no Chinese characters today
    return found.encoding
