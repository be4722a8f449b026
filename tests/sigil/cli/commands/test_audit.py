"""`sigil audit`: what was done, and the proof of it."""

from __future__ import annotations

import re
from pathlib import Path

from sigil.catalog.audit import Audit
from sigil.storage.kv import keys
from sigil.storage.kv.sqlite import SqliteKV
from tests.sigil.cli.conftest import Sigil


def test_the_audit_says_when_a_key_ends_as_it_says_every_time(run_sigil: Sigil) -> None:
    assert run_sigil("keys", "create", "--expires", "30d").code == 0
    assert re.search(r"expires=\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", run_sigil("audit").out)


def test_the_audit_tells_and_proves_what_was_done(shout: Sigil, tmp_path: Path) -> None:
    shout("remove", "shout", "--yes")
    rows = shout("audit", "--json").document["items"]
    assert [row["action"] for row in rows] == ["deploy", "remove"]
    assert [line.split()[5] for line in shout("audit").out.splitlines()[1:]] == ["deploy", "remove"]
    assert [
        row["number"] for row in shout("audit", "shout", "--limit", "1", "--json").document["items"]
    ] == [2]
    assert shout("audit", "nothing", "--json").error["code"] == "ENOENT"
    assert shout("audit", "nothing").code == 3
    assert (
        shout("audit", "--verify").out
        == f"main: 2 entries hold; the last one is {rows[-1]['hash']}\n"
    )
    store = SqliteKV(tmp_path / "data" / "uncaged.db")
    store.delete(keys.audit_entry("main", 1))
    store.close()
    broken = shout("audit", "--verify")
    assert (broken.code, broken.out) == (1, "")
    assert "entry 1 is missing" in broken.err
    assert shout("audit", "--verify", "--json").document["ok"] is False


def test_a_chain_that_was_changed_is_found_and_named_whosever_it_is(
    shout: Sigil, tmp_path: Path
) -> None:
    store = SqliteKV(tmp_path / "data" / "uncaged.db")
    for namespace in ("alice", "bob"):
        for name in ("one", "two", "three"):
            Audit(store).note(namespace, "deploy", name=name)
    whole = shout("audit", "--verify")
    assert (whole.code, whole.out.split()[:4]) == (0, ["main:", "1", "entries", "hold;"])
    assert "other namespaces: all entries hold" in whole.err
    store.delete(keys.audit_entry("alice", 2))
    broken = shout("audit", "--verify")
    assert broken.code == 1
    assert broken.out.startswith("main: 1 entries hold")
    assert "alice" in broken.err
    assert "entry 2 is missing" in broken.err
    assert "bob" not in broken.err
    found = shout("audit", "--verify", "--json").document
    assert (found["ok"], [row["namespace"] for row in found["broken"]]) == (False, ["alice"])
    assert shout("audit", "--verify", "--namespace", "main").code == 0
    # who takes the note of a chain's end away as well is found by the capabilities that it has
    store.put(keys.generation("alice"), b"1")
    store.delete(keys.audit_tip("alice"))
    assert "alice" in shout("audit", "--verify").err
    store.close()
