"""Records as they are stored."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from sigil.catalog.records import Record, decode, encode
from sigil.manifest.model import Manifest
from sigil.manifest.permissions import requested_permissions


@pytest.mark.parametrize(
    "permissions", [{"web": True}, {"web": True, "http": ["GET a.example/"], "kv": True}, {}]
)
def test_the_permission_for_the_web_is_stored_so_that_version_0_1_0_reads_the_record(
    permissions: dict[str, Any],
) -> None:
    manifest = Manifest.model_validate(
        {"name": "far", "description": "It reads pages.", "permissions": permissions}
    )
    record = Record("library", "far", 1, "sha256:1", "js", "w", "s", manifest, "library", "", 1.0)
    stored = encode(record)
    assert "web" not in orjson.loads(stored)["manifest"]["permissions"]
    read = decode(stored)
    assert requested_permissions(read.manifest) == requested_permissions(manifest)
    assert encode(read) == stored
