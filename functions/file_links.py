"""Addresses of kept files for platforms that take a file from the web alone: whoever has one reads
that file, without a sign-in, until its week is over. The address tells nothing of the chat.

It is PUBLIC/shared-files/TOKEN/NAME. The token has the end of its time (4 bytes, seconds since
1970), the name of the body among the artifacts (32 bytes), and the HMAC-SHA256 of both and of the
file's name by a key that the store has. A file that was removed before is not found, either.
"""

from __future__ import annotations

import hmac
import re
import secrets
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Final
from urllib.parse import quote

from sigil.errors import BackendError, Conflict, UsageError
from sigil.protocol import Caller
from sigil.run.mcp_client.media import recognize
from sigil.storage.artifacts import Artifacts
from sigil.storage.kept_files import KeptFiles, strip_head
from sigil.storage.kv import ABSENT, KV, keys

PATH: Final = "/shared-files"
KEY_BYTES: Final = 32
_CONTENT: Final = struct.Struct("!I32s")
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{91}=?", re.ASCII)
_NAME: Final = re.compile(r"[^\W_][\w.-]{0,79}")
SHOWN: Final = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
"""The types that a browser shows; all others are saved."""
NOT_FOUND: Final = UsageError(
    "ENOENT", "there is no such file, or its time is over", source="shared-files"
)


@dataclass(frozen=True, slots=True)
class SharedFile:
    """A file as its address hands it out; its type is told by its first bytes."""

    name: str
    type: str
    body: bytes

    @property
    def disposition(self) -> str:
        """Return the header by which a browser shows pictures, and saves all else."""
        kind = "inline" if self.type in SHOWN else "attachment"
        return f"{kind}; filename*=UTF-8''{quote(self.name)}"


class FileLinks:
    """Makes and reads the addresses of the files of a store. Safe to share between threads; its key
    is read once.
    """

    def __init__(self, kv: KV, artifacts: Artifacts, clock: Callable[[], float]) -> None:
        self._kv = kv
        self._artifacts = artifacts
        self._clock = clock
        self._lock = Lock()
        self._key = b""

    def make(self, public: str, id: str, caller: Caller) -> str:
        """Return the address of a caller's file; empty where this store does not have it."""
        try:
            entry = KeptFiles(self._kv, self._artifacts, self._clock).locate(id, caller)
        except UsageError:
            return ""
        name = entry.name if _NAME.fullmatch(entry.name) else "file"
        content = _CONTENT.pack(int(entry.until), bytes.fromhex(entry.artifact))
        signed = content + self._sign(content, name, self._load_key(makes=True))
        token = urlsafe_b64encode(signed).decode().rstrip("=")
        return f"{public.rstrip('/')}{PATH}/{token}/{quote(name)}"

    def read(self, token: str, name: str) -> SharedFile:
        """Return the file of an address; `UsageError` ENOENT for anything else, whatever it is."""
        if not (_TOKEN.fullmatch(token) and _NAME.fullmatch(name)):
            raise NOT_FOUND
        key = self._load_key()
        try:
            signed = urlsafe_b64decode(f"{token}{'=' * (-len(token) % 4)}")
        except (Error, ValueError):
            raise NOT_FOUND from None
        content, signature = signed[: _CONTENT.size], signed[_CONTENT.size :]
        if not key or not hmac.compare_digest(signature, self._sign(content, name, key)):
            raise NOT_FOUND
        until, digest = _CONTENT.unpack(content)
        if self._clock() >= until:
            raise NOT_FOUND
        try:
            body = strip_head(self._artifacts.get(digest.hex()))
        except BackendError as problem:
            if problem.code == "EDAMAGED":  # it was removed
                raise NOT_FOUND from None
            raise
        return SharedFile(name, recognize(body)[0], body)

    def _sign(self, content: bytes, name: str, key: bytes) -> bytes:
        return hmac.digest(key, b"%s\0%s" % (content, name.encode()), "sha256")

    def _load_key(self, *, makes: bool = False) -> bytes:
        """Return the key of the store, which the first address makes; empty while there is none."""
        with self._lock:
            place = keys.file_link_key()
            item = None if self._key else self._kv.get(place)
            if item is None and not self._key and makes:
                with suppress(Conflict):  # another process may be faster
                    self._kv.put(place, secrets.token_bytes(KEY_BYTES), expect=ABSENT)
                item = self._kv.get(place)
            if item:
                self._key = item.value
            return self._key
