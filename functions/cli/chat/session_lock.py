"""A lock in the file system tells which terminal of this machine works on a conversation.

The lease in the store keeps all other workers away, but lasts for half a minute after its holder
was killed. This lock ends with its holder, so that the next terminal knows at once that the lease
is nobody's any more.
"""

from __future__ import annotations

import fcntl
import uuid
from hashlib import sha256
from io import BufferedRandom
from pathlib import Path

from functions.queues.leases import Lease


class SessionLock:
    """The lock of one conversation (S of the keys), for one process.

    The file has the name with which the leases of its last holder begin.
    """

    def __init__(self, folder: Path, session: str) -> None:
        self.name = f"{uuid.uuid4().hex}."
        self._session = session
        self._path = folder / "locks" / sha256(session.encode()).hexdigest()[:32]
        self._file: BufferedRandom | None = None
        self._dead = ""

    def acquire(self) -> None:
        """Take the lock, unless another process has it."""
        if self._file:
            return
        self._path.parent.mkdir(mode=0o700, exist_ok=True)
        file = self._path.open("a+b")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return
        self._file = file
        file.seek(0)
        self._dead = file.read(len(self.name)).decode(errors="replace")
        file.truncate(0)
        file.write(self.name.encode())
        file.flush()

    def release(self) -> None:
        """Give the lock back."""
        if self._file:
            self._file.close()
            self._file = None

    def is_gone(self, lease: Lease) -> bool:
        """Return whether a lease of the conversation is that of the lock's last holder, or an old
        one of this process.

        Who gives the lock back has given its lease back before, unless the store was away.
        """
        if not self._file or lease.session != self._session:
            return False
        return lease.owner.startswith((self.name, self._dead or self.name))
