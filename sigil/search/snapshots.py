"""Snapshots are search indexes that outlive their process: an artifact each, and a small record
that names the newest one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Final

import orjson

from sigil.errors import BackendError
from sigil.storage.artifacts import Artifacts
from sigil.storage.kv import ABSENT, KV, keys

EVERY_SECONDS: Final = 60.0
"""The least time between two snapshots of one group, by any process."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An index as it was after change `number` of `epoch` (see `changes`), of so many `documents`.
    `artifact`: where; `at`: since when.
    """

    artifact: str
    epoch: str
    number: int
    documents: int
    at: float


class SnapshotStore:
    """The snapshots of a store; those of another `kind` are apart.

    What cannot be read counts as absent: everything in one can be read elsewhere.
    """

    def __init__(
        self, kv: KV, artifacts: Artifacts, clock: Callable[[], float] = time.time, kind: str = ""
    ) -> None:
        self._kv = kv
        self._artifacts = artifacts
        self._clock = clock
        self._kind = kind

    def load_newest(self, group: str) -> Snapshot | None:
        """Return the newest snapshot of a group, None when there is none."""
        item = self._kv.get(keys.snapshot(group, self._kind))
        if item is None:
            return None
        try:
            fields = orjson.loads(item.value)
            artifact = fields["artifact"]
            epoch = fields["epoch"]
            at = fields["at"]
            number = fields["number"]
            documents = fields["documents"]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            return None
        if type(number) is not int or type(documents) is not int:
            return None
        if not isinstance(artifact, str) or not isinstance(epoch, str):
            return None
        if not isinstance(at, int | float):
            return None
        return Snapshot(artifact, epoch, number, documents, float(at))

    def load_body(self, snapshot: Snapshot) -> bytes | None:
        """Return its bytes, which fit its name; None when they cannot be read."""
        try:
            return self._artifacts.get(snapshot.artifact)
        except BackendError:
            return None

    def is_due(self, group: str, place: tuple[str, int], bad: str) -> bool:
        """Return whether a snapshot of this epoch and number is due: there is none so new and none
        from a moment ago, or the newest one is `bad`.
        """
        newest = self.load_newest(group)
        if newest is None or newest.artifact == bad or newest.at > self._clock():
            return True
        epoch, number = place
        if newest.epoch == epoch and newest.number >= number:
            return False
        return self._clock() - newest.at >= EVERY_SECONDS

    def put(self, group: str, body: bytes, place: tuple[str, int], documents: int) -> None:
        """Make it the newest; `Conflict` when somebody else did so at this moment."""
        newest = self._kv.get(keys.snapshot(group, self._kind))
        snapshot = Snapshot(self._artifacts.put(body), *place, documents, self._clock())
        self._kv.put(
            keys.snapshot(group, self._kind),
            orjson.dumps(asdict(snapshot)),
            expect=newest.version if newest else ABSENT,
        )
