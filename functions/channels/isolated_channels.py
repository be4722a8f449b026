"""The channels of a process: one that is badly set stops no other."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NoReturn

from functions import log
from functions.channels.about import ChannelSettings, name_variable
from functions.channels.base import Channel, PlatformRequest, Received, Reply
from functions.channels.platforms import open_channels
from functions.events import Event
from sigil.errors import BackendError, SigilError, UsageError
from sigil.storage.kv import KV

AGAIN_SECONDS: Final = 30.0
"""What could not be opened is tried again after so long: its settings may be right by then."""


class IsolatedChannels(Mapping[str, Channel]):
    """The channels that the settings describe, by name. An `UnusableChannel` stands for each that
    cannot be opened, until it can.

    `reload` returns the settings of one channel as they are now. `by_worker`: they are to send, and
    not to receive. `needs_all`: one that lacks a setting which it needs cannot be opened. `kv`: see
    `open_channels`. `tell` hears why one cannot be opened.
    """

    def __init__(
        self,
        described: Iterable[ChannelSettings],
        reload: Callable[[str], ChannelSettings],
        *,
        by_worker: bool,
        needs_all: bool = True,
        kv: KV | None = None,
        tell: Callable[[str, SigilError], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reload = reload
        self._by_worker = by_worker
        self._needs_all = needs_all
        self._kv = kv
        self._tell = tell or _log_problem
        self._clock = clock
        self._lock = threading.Lock()
        self._channels: dict[str, Channel] = {}
        self._again: dict[str, float] = {}
        for settings in described:
            if settings.is_open:
                self._open(settings.name, settings)
            elif settings.is_wanted:
                self._open(settings.name)

    def __getitem__(self, name: str) -> Channel:
        """Return a channel, opened again when it was unusable for a while."""
        with self._lock:
            if self._clock() >= self._again.get(name, float("inf")):
                self._open(name)
            return self._channels[name]

    def __iter__(self) -> Iterator[str]:
        """Return the names of the channels."""
        return iter(self._channels)

    def __len__(self) -> int:
        """Return how many channels there are."""
        return len(self._channels)

    def _open(self, name: str, settings: ChannelSettings | None = None) -> None:
        try:
            self._channels[name] = self._open_described(settings or self._reload(name))
            self._again.pop(name, None)
            return
        except SigilError as reason:
            problem = reason
        except Exception:  # noqa: BLE001  entry point: no channel may stop the others
            log.failure("channel not opened", channel=name)
            problem = BackendError("EUNAVAILABLE", "it failed; the log says how", source=name)
        known = self._channels.get(name)
        is_news = not isinstance(known, UnusableChannel) or known.problem.message != problem.message
        self._channels[name] = UnusableChannel(name, problem)
        if is_news:
            self._tell(name, problem)
        self._again[name] = self._clock() + AGAIN_SECONDS

    def _open_described(self, settings: ChannelSettings) -> Channel:
        missing = settings.list_missing(by_worker=self._by_worker)
        if not self._by_worker:
            missing = [each for each in missing if each.used_by != "worker"]
        if missing and self._needs_all:
            variable = name_variable(settings.name, missing[0].field)
            raise UsageError(
                "ESETTING",
                f"{variable} is not set",
                source=settings.name,
                suggestion=f"set {variable}: {missing[0].meaning}",
            )
        return open_channels([settings], self._kv)[settings.name]


def _log_problem(name: str, problem: SigilError) -> None:
    log.note(
        "channel not opened",
        channel=name,
        code=problem.code,
        message=problem.message,
        help=problem.suggestion,
    )


def find_problem(settings: ChannelSettings) -> SigilError | None:
    """Return why a channel cannot be opened; None for one that can be, and one that is not set."""
    try:
        open_channels([settings])  # which connects to nothing
    except SigilError as problem:
        return problem
    return None


class UnusableChannel:
    """Stands for a bot whose settings are bad, by a `problem`: its platform is asked to send
    everything again, and its events wait.
    """

    body_most = 0

    def __init__(self, name: str, problem: SigilError) -> None:
        self.problem = problem
        self._name = name

    def verify_head(self, request: PlatformRequest) -> NoReturn:
        """Raise `BackendError`."""
        raise self._make_problem()

    def receive(self, request: PlatformRequest) -> Received:
        """Raise `BackendError`."""
        raise self._make_problem()

    def accept(self, event: Event) -> Event:
        """Raise `BackendError`."""
        raise self._make_problem()

    def send(self, reply: Reply, sent: Callable[[int], None]) -> None:
        """Raise `BackendError`."""
        raise self._make_problem()

    def show_waiting(self, event: Event) -> float:
        """Show nothing."""
        return 0.0

    def end_waiting(self, event: Event) -> None:
        """Do nothing: nothing is shown."""

    def acknowledge(self, event: Event) -> None:
        """Do nothing."""

    def _make_problem(self) -> BackendError:
        # whoever asks is not verified: what is wrong stands in the log alone
        return BackendError(
            "EUNAVAILABLE",
            "this bot is not set up rightly",
            source=self._name,
            suggestion="its owner finds what is wrong with `uncaged doctor`, and in the log",
            retry_after=AGAIN_SECONDS,
        )
