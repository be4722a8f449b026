"""Names as people type them: what Tab fills in, from this machine alone, and what looks like one
that is not there.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from sigil.errors import SigilError, UsageError

if TYPE_CHECKING:
    from sigil.cli.shell import Opened
    from sigil.settings import Settings
    from sigil.storage.kv import KV

NAMES_MOST = 1_000


@contextmanager
def spelled(opened: Opened, ref: str) -> Iterator[None]:
    """A name that is not there is refused with those that look like it."""
    try:
        yield
    except UsageError as problem:
        if problem.code != "ENOENT" or problem.message != "no such capability":
            raise
        near = [*_near(opened, ref)]
        if near:
            problem.suggestion = f"did you mean {' or '.join(near)}? {problem.suggestion}"
        raise


def _near(opened: Opened, ref: str) -> list[str]:
    from difflib import get_close_matches

    plain = ref.partition("@")[0].rpartition("/")[2]
    with suppress(SigilError):
        known = {
            str(row["capability"])
            for row in islice(opened.registry.list(opened.caller), NAMES_MOST)
        }
        return get_close_matches(plain, sorted(known), n=3, cutoff=0.6)
    return []


def names(incomplete: str) -> list[str]:
    """The capabilities of this machine's own store that begin so; a store that is not a file here
    is not asked.
    """
    from sigil.settings import Settings

    try:
        return _names(Settings.read(), incomplete)
    except (SigilError, OSError):
        return []


def profile_names(incomplete: str) -> list[str]:
    """The profiles that begin so."""
    from sigil.client.profiles import HERE, Profiles
    from sigil.settings import Settings

    try:
        known = Profiles(Settings.read().profiles).book().profiles
    except SigilError:
        return []
    return [name for name in (HERE, *known) if name.startswith(incomplete)]


def own_store(settings: Settings) -> KV | None:
    """The store of this machine, when it is a file that is there: nothing is made, and no network
    is asked.
    """
    from sigil.wiring import open_stores, sqlite_path

    path = sqlite_path(settings)
    return open_stores(settings).kv if path and path.is_file() else None


def heads(kv: KV, namespace: str, beginning: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The names of a namespace that stand and begin so, each with the fields of its active
    record.
    """
    from sigil.catalog.heads import expired, split
    from sigil.storage.kv import keys

    for name, item in kv.scan(
        keys.capability(namespace, "").partition, beginning, limit=NAMES_MOST
    ):
        standing, record = split(item.value)
        if not standing.removed and not expired(record, time.time()):
            yield name, record


def _names(settings: Settings, incomplete: str) -> list[str]:
    from sigil.protocol import LIBRARY

    kv = own_store(settings)
    return (
        [
            *dict.fromkeys(
                name
                for namespace in (settings.agent, LIBRARY)
                for name, _ in heads(kv, namespace, incomplete)
            )
        ]
        if kv
        else []
    )
