"""What schemathesis has to know of a body that is a file: its bytes are sent as they are. Imported
by that tool in its own environment.
"""

from __future__ import annotations

from typing import Any

import schemathesis


@schemathesis.serializer("application/zip")
def whole(_context: Any, value: Any) -> bytes:
    """The bytes of a body."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")
