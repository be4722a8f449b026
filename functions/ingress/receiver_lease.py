"""A lease in the store lets one process at a time receive for a bot, where no webhook does."""

from __future__ import annotations

from contextlib import suppress

from functions.queues.leases import Lease, Leases
from functions.time.clock import SYSTEM
from sigil.errors import SigilError
from sigil.storage.kv import KV


class ReceiverLease:
    """The lease of the bot whose updates have the `name`, as `keys.updates_of` makes it.

    It ends `seconds` after it was last held.
    """

    def __init__(self, kv: KV, name: str, seconds: float) -> None:
        self._leases = Leases(kv, SYSTEM, seconds, hold=float("inf"))
        self._name = name
        self._lease: Lease | None = None
        self._is_released = False

    def hold(self) -> bool:
        """Take or renew the lease; False while another process has it, and after `release`."""
        if self._name in self._leases.renew():
            return True
        self._lease = self._leases.take(self._name)
        if self._lease and self._is_released:
            # `release` may have looked for the lease before it was there
            self._leases.release(self._lease)
            return False
        return self._lease is not None

    def release(self) -> None:
        """Let another process have the bot at once, and take the lease no more."""
        self._is_released = True
        if self._lease:
            with suppress(SigilError):
                self._leases.release(self._lease)
