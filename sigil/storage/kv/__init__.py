"""Key-value stores: one contract, one file a back-end."""

from sigil.storage.kv.base import ABSENT, KV, Expect, Item, Key, Read

__all__ = ["ABSENT", "KV", "Expect", "Item", "Key", "Read"]
