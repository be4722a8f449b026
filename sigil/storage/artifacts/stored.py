"""Store artifacts in the key-value store itself, so that there is one thing to back up."""

from __future__ import annotations

from sigil.storage.artifacts.base import artifact_name, require_name, verify_body
from sigil.storage.kv import KV, Key, keys
from sigil.storage.kv.update import scan_all

CHUNK = 256 * 1024
"""Bytes of an item: every store takes that many."""


class StoredArtifacts:
    """Artifacts as an index item with the first bytes and as many chunks as the rest needs.

    The index is written last, so a body that a crash cut short does not exist. Its value: the
    number of chunks in decimal, a newline, the body's first `CHUNK` bytes.
    """

    def __init__(self, kv: KV) -> None:
        self._kv = kv

    def put(self, body: bytes) -> str:
        """Store the body and return its name."""
        name = artifact_name(body)
        if self._kv.get(keys.artifact(name)) is None:
            rest = [body[start : start + CHUNK] for start in range(CHUNK, len(body), CHUNK)]
            for number, chunk in enumerate(rest):
                self._kv.put(keys.artifact_chunk(name, number), chunk)
            self._kv.put(keys.artifact(name), b"%d\n%b" % (len(rest), body[:CHUNK]))
        return name

    def get(self, name: str) -> bytes:
        """Return the body."""
        index = self._kv.get(keys.artifact(require_name(name)))
        if index is None:
            return verify_body(name, None)
        count, _, body = index.value.partition(b"\n")
        if count.isdigit() and count != b"0" and len(count) < 8:
            first = keys.artifact_chunk(name, 0)
            prefix = first.sort.removesuffix("00000000")
            chunks = self._kv.scan(first.partition, prefix=prefix, limit=int(count))
            body += b"".join(item.value for _, item in chunks)
        return verify_body(name, body)

    def delete(self, name: str) -> None:
        """Remove the body, its index first: without it there is no body."""
        index = keys.artifact(require_name(name))
        self._kv.delete(index)
        for sort, _ in list(scan_all(self._kv, index.partition)):
            self._kv.delete(Key(index.partition, sort))
