"""`uncaged serve --poll` fetches a platform's updates, for a server that has no public address.

One process at a time does so for a bot: it holds a lease in the store. An update is acknowledged
only after its event is durable in the queue. What comes twice after a crash is the same event,
since what the platform calls the update is in its id. Where a platform does not remember what it
gave, the store has the position behind what is durable.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from functions import log
from functions.channels.base import Busy
from functions.channels.listening.updates import PolledChannel, ReceivedElsewhere
from functions.channels.webhooks import CommandMenu, HasMenus
from functions.ingress.ingress import Ingress
from functions.ingress.receiver_lease import ReceiverLease
from functions.ingress.receiver_outage import ReceiverOutage
from functions.wiring import AgentRuntime
from sigil.errors import BackendError, SigilError
from sigil.storage.backoff import jitter
from sigil.storage.kv import keys

POLL_SECONDS: Final = 25
"""How long one request waits for an update at most."""
RENEWALS: Final = 3
"""So many requests fit into a lease, which is renewed before each."""
TRIES: Final = 5
"""So often an update is read that ends in a mistake of ours, before the others go on."""
FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0
ELSEWHERE_SECONDS: Final = 15.0
"""The pause while another receiver has the updates."""


@dataclass(frozen=True, slots=True)
class PolledBot:
    """A bot to poll: its platform, its channel, and its menus of commands."""

    platform: str
    channel: PolledChannel
    make_menus: Callable[[], Sequence[CommandMenu]] = tuple


class Poller:
    """The thread that polls one bot."""

    def __init__(self, bot: PolledBot, runtime: AgentRuntime) -> None:
        self._bot = bot
        self._ingress = Ingress(runtime.channels, runtime.queue, runtime.stores.kv)
        seconds = runtime.settings.lease
        self._seconds = int(min(POLL_SECONDS, max(1, seconds // RENEWALS)))
        name = keys.updates_of(runtime.settings.agent, bot.platform, str(bot.channel.bot))
        self._lease = ReceiverLease(runtime.stores.kv, name, seconds)
        self._kv = runtime.stores.kv
        self._saved = keys.listener_state(
            runtime.settings.agent, bot.platform, str(bot.channel.bot)
        )
        self._is_polling: bool | None = None
        self._has_menus = False
        self._position: str | None = None
        self._failures = 0
        self._outage = ReceiverOutage()
        self._failed = b""
        self._tried = 0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="poller", daemon=True)

    def start(self) -> None:
        """Start polling."""
        self._thread.start()

    def stop(self) -> None:
        """Stop, and let another process poll at once. A request that waits for updates is not
        waited for: what it still brings is not acknowledged, and comes again.
        """
        self._stopping.set()
        self._lease.release()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                pause = self._poll()
                self._failures = 0
                if self._outage.is_on and self._is_polling:
                    self._outage.end()
                    log.note("polling again", platform=self._bot.platform)
            except BackendError as problem:
                if self._stopping.is_set():  # the connections were closed
                    return
                pause = self._note_failure(problem)
            except Exception:  # noqa: BLE001  entry point: an unexpected error must not end the polling
                if self._stopping.is_set():
                    return
                log.failure("unpolled", platform=self._bot.platform)
                pause = FIRST_PAUSE
            self._stopping.wait(pause)

    def _poll(self) -> float:
        """Put what waits at the platform into the queue; return the seconds until the next time."""
        if not self._hold_lease():
            return self._seconds
        if self._position is None:
            self._position = self._load_position()
        fetched = self._bot.channel.fetch_updates(self._position, self._seconds)
        for update in fetched.items:
            if self._stopping.is_set():
                return 0.0
            try:
                received = self._bot.channel.read_update(update.body)
                self._ingress.enqueue(received, self._bot.platform)
            except BackendError:
                raise
            except SigilError as problem:  # the same again would not help
                log.note("unreadable", platform=self._bot.platform, code=problem.code)
            except Exception:  # entry point: one update must not hold up the others
                self._tried = self._tried + 1 if self._failed == update.body else 1
                self._failed = update.body
                if self._tried < TRIES:
                    raise
                log.failure("unreadable", platform=self._bot.platform)  # the others go on
            self._position = update.position
        if self._bot.channel.saves_position and (fetched.items or not self._position):
            self._kv.put(self._saved, fetched.position.encode())
        self._position = fetched.position
        if not self._has_menus and isinstance(self._bot.channel, HasMenus):
            self._has_menus = True
            with suppress(SigilError):
                self._bot.channel.set_menus(self._bot.make_menus())
        return 0.0

    def _load_position(self) -> str:
        """Return where the process that polled before left off, empty when none did."""
        item = self._kv.get(self._saved) if self._bot.channel.saves_position else None
        return item.value.decode(errors="replace") if item else ""

    def _hold_lease(self) -> bool:
        """Take or renew the lease; False while another process has it."""
        is_held = self._lease.hold()
        if is_held is not self._is_polling and not self._stopping.is_set():
            log.note("polling" if is_held else "another process polls", platform=self._bot.platform)
        if not is_held:
            # whoever polls meanwhile goes on from here
            self._position = None
        self._is_polling = is_held
        return is_held

    def _note_failure(self, problem: BackendError) -> float:
        """Log why nothing was fetched; return the seconds until the next try."""
        pause = min(FIRST_PAUSE * 2**self._failures, LONGEST_PAUSE)
        if isinstance(problem, Busy) and problem.retry_after is not None:
            pause = max(pause, problem.retry_after)
        if isinstance(problem, ReceivedElsewhere):
            pause = max(pause, ELSEWHERE_SECONDS)
        self._failures = min(self._failures + 1, 10)
        pause = jitter(pause, spread=0.25)
        if self._outage.is_news(problem.message):
            log.note(
                "unpolled",
                platform=self._bot.platform,
                code=problem.code,
                message=problem.message,
                help=problem.suggestion,
                seconds=round(pause, 1),
            )
        return pause
