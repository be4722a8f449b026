"""Checks of the registry in this process: its folder, its store, its token, its library."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Mapping
from functools import partial
from typing import Protocol, runtime_checkable

from sigil.cli.doctor.findings import Check, DoctorWarning
from sigil.errors import BackendError, SigilError, UsageError
from sigil.settings import Settings, without_userinfo
from sigil.storage.kv import ABSENT, keys
from sigil.wiring import (
    admin_token,
    data_folder,
    library_folder,
    open_encoder,
    open_stores,
    sqlite_path,
)

FREE_BYTES_WARNED = 500 << 20
FREE_BYTES_LEAST = 20 << 20
GUESSABLE = 20
"""The characters of a token; the authenticator slows those who guess shorter ones."""


@runtime_checkable
class WarnsOfSettings(Protocol):
    """A store whose server can be set up in a way that loses data."""

    def warnings(self) -> list[str]:
        """Return what is unwise about its settings, a line each."""


def registry_checks(settings: Settings) -> Mapping[str, Check]:
    """Return the checks of a registry in this process."""
    checks = {
        "data folder": check_folder,
        "disk": check_disk,
        "store": check_store,
        "artifacts": check_artifacts,
        "token": check_token,
        "records": check_records,
        "library": check_library,
        "search": check_search,
        "web": check_web,
    }
    return {name: partial(check, settings) for name, check in checks.items()}


def check_folder(settings: Settings) -> str:
    """Check that the data folder can be written, and by its owner alone."""
    place = data_folder(settings)
    if not os.access(place, os.W_OK | os.X_OK):
        raise UsageError(
            "ESETTING",
            f"{place} cannot be written",
            suggestion=f"chmod u+rwx {place}, or set UNCAGED_DATA to another folder",
        )
    mode = stat.S_IMODE(place.stat().st_mode)
    if mode & 0o022:
        raise DoctorWarning(f"{place} can be written by others", suggestion=f"chmod 700 {place}")
    return str(place)


def check_disk(settings: Settings) -> str:
    """Check that the disk with the data has space left."""
    path = sqlite_path(settings)
    place = path.parent if path else data_folder(settings)
    while not place.exists() and place.parent != place:
        place = place.parent
    free = shutil.disk_usage(place).free
    found = f"{free >> 20:,} MiB free at {place}"
    if free < FREE_BYTES_LEAST:
        raise BackendError(
            "EUNAVAILABLE",
            f"only {found}",
            suggestion="free some space there, or set UNCAGED_DATA to another disk",
        )
    if free < FREE_BYTES_WARNED:
        raise DoctorWarning(f"only {found}", suggestion="free some space there")
    return found


def check_store(settings: Settings) -> str:
    """Check that the store answers, and that it can be written."""
    kv = open_stores(settings).kv
    probe = keys.doctor_probe()
    kv.delete(probe)
    written = kv.put(probe, b"probe", expect=ABSENT, ttl=60)
    kv.delete(probe, expect=written)
    unwise = kv.warnings() if isinstance(kv, WarnsOfSettings) else []
    if unwise:
        raise DoctorWarning(
            f"it answers, but {'; '.join(unwise)}",
            suggestion="docs/deploy.md names the settings that matter",
        )
    path = sqlite_path(settings)
    if path and path.stat().st_mode & 0o022:
        raise DoctorWarning(f"{path} can be written by others", suggestion=f"chmod 600 {path}")
    return f"{path or without_userinfo(settings.store)} reads and writes"


def check_records(settings: Settings) -> str:
    """Check that every record in the store can be read."""
    from sigil.cli.doctor.records import check_all_records

    return check_all_records(open_stores(settings).kv)


def check_artifacts(settings: Settings) -> str:
    """Check that large bodies can be written and read."""
    artifacts = open_stores(settings).artifacts
    if artifacts.get(artifacts.put(b"doctor")) != b"doctor":
        raise BackendError(
            "EDAMAGED",
            "a body was written, and read back changed",
            suggestion="check the disk, or UNCAGED_ARTIFACTS",
        )
    return f"{settings.artifacts or 'beside or in the store'}: writes and reads"


def check_token(settings: Settings) -> str:
    """Check that there is an admin token which nobody else can read or guess."""
    token = admin_token(settings)
    if settings.token:
        if len(token) < GUESSABLE:
            raise DoctorWarning(
                f"UNCAGED_TOKEN has {len(token)} characters and could be guessed",
                suggestion="`openssl rand -hex 32` prints a good one",
            )
        return "set by UNCAGED_TOKEN"
    path = settings.data_folder / "token"
    facts = path.stat()
    if stat.S_IMODE(facts.st_mode) & 0o077:
        problem = f"{path} can be read by others"
        remedy = f"chmod 600 {path}; if somebody may have read it, remove it"
    elif facts.st_uid != os.geteuid():
        problem = f"{path} is somebody else's"
        remedy = "remove it; the next start makes another one"
    elif len(token) < GUESSABLE:
        problem = f"{path} holds no token"
        remedy = "remove it; the next start makes another one"
    else:
        return f"in {path}, for its owner alone"
    raise BackendError("EUNSAFE", problem, suggestion=remedy)


def check_library(settings: Settings) -> str:
    """Check that every library capability can be read, and count those that are deployed."""
    from sigil.deploy.library import read_packages
    from sigil.protocol import LIBRARY

    place = library_folder(settings)
    if place is None:
        return "none, as UNCAGED_LIBRARY says"
    library = read_packages(place)
    from sigil.catalog.catalog import Catalog

    catalog = Catalog(open_stores(settings).kv)
    names = [package.manifest.name for package in library]
    missing = sum(catalog.load_active(LIBRARY, name) is None for name in names)
    found = f"{len(library)} capabilities in {place}"
    return f"{found}; {missing} of them are deployed at the next start" if missing else found


def check_search(settings: Settings) -> str:
    """Check that the encoder for search by meaning works, where one is set."""
    encoder = open_encoder(settings)
    if encoder is None:
        return "finds by words"
    encoder.encode(["doctor"])
    return f"finds by meaning as well, with {encoder.name}"


def check_web(settings: Settings) -> str:
    """Tell which capabilities of the library may read any page, and how many were read today."""
    from sigil.access.grants import GrantStore
    from sigil.catalog.catalog import Catalog
    from sigil.manifest.permissions import WEB
    from sigil.network.searxng import parse_searxng_address
    from sigil.protocol import LIBRARY
    from sigil.run.host_calls.web_requests import WebRequestCounter

    kv = open_stores(settings).kv
    sent = WebRequestCounter(kv).sent_today(settings.agent)
    found = [f"{sent:,} of {settings.web_requests_per_day:,} requests today"]
    for head in Catalog(kv).list_heads(LIBRARY):
        record = head.record
        if not record.manifest.permissions.web or head.removed:
            continue
        granted = GrantStore(kv).granted_permissions(record, settings.agent)
        state = "is granted" if WEB in granted else f"waits: `sigil grant {record.name}`"
        found.append(f"{record.name} {state}")
    if settings.searxng:
        parse_searxng_address(settings.searxng)
        found.append(f"SearXNG at {without_userinfo(settings.searxng)}")
    return "; ".join(found)


def check_logins(settings: Settings) -> str:
    """Check that the files of `sigil login` can be used."""
    from sigil.client.credentials import Credentials
    from sigil.client.profiles import Profiles

    try:
        Credentials(settings.credentials).find_token("http://127.0.0.1")
        table = Profiles(settings.profiles).load()
    except SigilError as problem:
        raise UsageError(problem.code, problem.message, suggestion=problem.suggestion) from None
    names = ", ".join(table.profiles) or "no profiles"
    return f"{names}; commands use {table.default}" if table.default else names
