"""Each kind of record is in the part of a backup that its meaning asks for."""

from __future__ import annotations

import re

from functions.backup import contents
from functions.backup.format import HEADS, REST, WAITING
from sigil.storage.kv import Key, keys
from sigil.storage.stored import OF_CAPABILITIES
from tests.project.tree import modules

S = keys.session_of("main", "telegram:42")


def test_only_records_that_exist_are_named_as_exceptions() -> None:
    known = keys.PERSONAL | keys.IMPERSONAL
    for kinds in (
        *(contents.MADE_ANEW, contents.PASSING, contents.NAMING),
        *(contents.BODIES, contents.FILES, contents.CAPABILITIES),
    ):
        assert kinds <= known
    assert {contents.SECRET, contents.INBOX, OF_CAPABILITIES} <= known


def test_what_names_others_is_read_before_them_and_a_record_of_another_version_is_kept() -> None:
    for key, part in (
        (keys.inbox_event(keys.memory_of(S), "1"), WAITING),
        (keys.session_head(S), HEADS),
        (keys.control_mark(S), HEADS),
        (keys.archive_chunk(S, 1), REST),
        (keys.capability("main", "encode"), HEADS),
        (keys.version("main", "encode", 1), REST),
        (keys.document(S, "memory"), HEADS),
        (keys.document_version(S, "memory", 1), REST),
        (keys.history_entry(S, 1), REST),
        (keys.skill_catalog("main"), HEADS),
        (keys.skill_head("main"), HEADS),
        (keys.skill_file("main", "a"), REST),
        (keys.seen_event(S, "e"), REST),
        (keys.workspace_file(S, "a"), HEADS),
        (keys.workspace_version(S, "a", 1), REST),
        (Key("of a later version", "x"), REST),
        (keys.secret("main", "API_KEY"), ""),
        (keys.session_claim(S), ""),
        (keys.ready_session(S), ""),
        (keys.artifact("a"), ""),
        (keys.restoring(), ""),
    ):
        assert contents.part_of(key) == part, key


STORE_ARTIFACTS = {
    "functions.agent.session.overflow": contents.BODIES,
    "sigil.deploy.deployer": contents.CAPABILITIES,
    "sigil.storage.kept_files": contents.FILES,
    "functions.agent.workspace.files": contents.FILES,
    # built anew: left out of backups
    "sigil.search.snapshots": frozenset(("snapshot",)),
    # named by nothing
    "sigil.cli.doctor.local_registry": frozenset[str](),
    "functions.backup.restoring": frozenset[str](),
}
"""The modules that store bodies among the artifacts, and the kinds of the items that name them."""


def test_who_stores_an_artifact_is_known_to_backups() -> None:
    storing = {
        name
        for name, module in modules().items()
        if re.search(r"artifacts\.put\b", module.source)
        and not name.startswith("sigil.storage.artifacts")
    }
    assert storing == STORE_ARTIFACTS.keys(), (
        "let functions/backup/contents.py find the names of new bodies, and name the module here"
    )
