"""The definitions of a namespace's capabilities, as they become tools of a request.

They are read without their manifests: a function that runs no capability lacks what makes these.
"""

from __future__ import annotations

from collections.abc import Iterator

from sigil.catalog import heads
from sigil.errors import BackendError
from sigil.json_fields import as_mapping, as_string
from sigil.protocol import Offer
from sigil.storage.kv import KV, keys
from sigil.storage.kv.update import scan_all

PAGE = 500
_HOST = "host"
_BUNDLE = "bundle"


def read_generation(kv: KV, namespace: str) -> str:
    """Return a token that changes whenever the namespace's capabilities do, empty without any."""
    item = kv.get(keys.generation(namespace))
    return item.version if item else ""


def scan_definitions(kv: KV, namespace: str, now: float) -> Iterator[Offer]:
    """Yield what a search in a namespace may page in, by name, without bundles, which are no tools.

    `now` is in seconds since 1970. A damaged one is left out, and so is one whose newest version
    has ended, though an older one may run in its place.
    """
    partition = keys.capability(namespace, "").partition
    for _, item in scan_all(kv, partition, page=PAGE):
        try:
            state, fields = heads.decode_head(item.value)
        except BackendError:
            continue
        manifest = fields["manifest"]
        is_bundle = manifest.get("lang") == _BUNDLE
        # a bundle is stored as a function of the agent that requires its members
        is_bundle = is_bundle or (manifest.get("lang") == _HOST and bool(manifest.get("requires")))
        ends = fields["expires_at"]
        is_over = ends is not None and ends <= now
        is_hidden = state.removed or state.inactive or fields["version"] in state.yanked
        if is_bundle or is_over or is_hidden:
            continue
        yield Offer(
            fields["name"],
            fields["version"],
            fields["digest"],
            as_string(manifest.get("description")),
            as_mapping(manifest.get("input")),
        )
