"""Key-value stores: one contract, and a file for each back-end."""

from sigil.storage.kv.base import ABSENT, KV, Expect, Item, Key, Read

__all__ = ["ABSENT", "KV", "Expect", "Item", "Key", "Read"]
