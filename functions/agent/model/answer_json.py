"""JSON as endpoints write it: with numbers that are none, and with halves of characters."""

from __future__ import annotations

import json
import re
from typing import Final

import orjson

from sigil.protocol import Json

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def parse_answer(body: bytes) -> Json:
    """Return the JSON in `body`, None when it is none.

    NaN and the infinities are null, and lone surrogates are replaced.
    """
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:
        value = json.loads(body, parse_constant=lambda _: None)
        return orjson.loads(_SURROGATE.sub("\ufffd", json.dumps(value, ensure_ascii=False)))
    except (ValueError, RecursionError):
        return None
