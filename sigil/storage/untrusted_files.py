"""Files that somebody else may have put there: read whole, within bounds, and without waiting for
what is none.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def read(path: Path, most: int) -> bytes:
    """What stands in a file; `OSError` also for a pipe or a device, which may have no end, and for
    more than `most` bytes.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(handle, "rb", buffering=0) as file:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(errno.EINVAL, "it is no file")
        body, more = b"", file.read(min(facts.st_size, most) + 1)
        while more and len(body) <= most:
            body, more = body + more, file.read(len(body) + len(more))
    if len(body) > most:
        raise OSError(errno.EFBIG, f"it has more than {most >> 10:,} KiB")
    return body
