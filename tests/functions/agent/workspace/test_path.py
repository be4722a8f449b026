"""A path names one file of the workspace, whatever system reads it."""

from __future__ import annotations

import posixpath
import random
import unicodedata
from pathlib import PurePosixPath, PureWindowsPath
from urllib.parse import unquote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from functions.agent.policy.rules import is_plain_path
from functions.agent.workspace.path import (
    PATH_BYTES,
    PATH_CHARACTERS,
    fold_path,
    parse_path,
    require_writable,
)
from functions.agent.workspace.scope import FileScopes
from sigil.errors import Refused, UsageError
from sigil.storage.kv import keys
from tests.tables import each_row

GOOD = (
    "notes.md",
    "notes/plan.md",
    "报告/第一章.md",
    "año/Übersicht.txt",
    "a b/c d.txt",
    ".hidden",
    "budget (final) v2.csv",
    "a#1.txt",
    "it's & that; $HOME.txt",
    "x" * PATH_CHARACTERS,
    "🍰.txt",
)
BAD = (
    "",
    "/etc/passwd",
    "notes/",
    "a//b",
    ".",
    "..",
    "../secret",
    "a/../b",
    "a/./b",
    "...",
    "a/..../b",
    "%2e%2e/secret",
    "a%2fb",
    "a\\b",
    "..\\secret",
    "C:notes",
    "c:\\windows",
    "a\0b",
    "a\nb",
    "a\tb",
    "a\x7fb",
    "a*b",
    "what?",
    'a"b',
    "a<b>",
    "a|b",
    " a",
    "a ",
    "a/ b",
    "a.",
    "a./b",
    "CON",
    "con.txt",
    "notes/NUL.md",
    "Aux",
    "COM1",
    "com¹.log",
    "lpt9.x.y",
    ".git",
    ".git/config",
    "a/.GIT/hooks",
    "git~1",
    ".gitmodules",
    "~",
    "~root/x",
    "-rf",
    "a/-x",
    "cafe\u0301.txt",
    "a\u202etxt.exe",
    "a\u200bb",
    "a\u00a0b",
    "a\u3000b",
    "\ud800",
    "\ufeffa",
    "a\u2028b",
    "\ue000",
    "\ufffd",
    "．．/secret",
    "a／b",
    "a＼b",
    "x" * (PATH_CHARACTERS + 1),
    "文" * (PATH_BYTES // 3 + 1),
    "/".join("abcdefghijklm"),
    "y" * 0 + "é" * 101 + "/" + "é" * 49,
)


@each_row("path", GOOD)
def test_a_plain_path_is_taken_as_it_is(path: str) -> None:
    assert parse_path(path) == path
    assert is_plain_path(path)


@each_row("path", BAD)
def test_what_names_something_else_somewhere_is_refused(path: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_path(path)
    assert refused.value.code == "EINVAL"
    assert refused.value.suggestion
    assert refused.value.message.isprintable()


def test_paths_that_look_the_same_fold_to_one() -> None:
    assert fold_path("Notes.MD") == fold_path("notes.md")
    assert fold_path("Straße") == fold_path("STRASSE")
    assert fold_path("ｎotes.md") == fold_path("notes.md")
    assert fold_path("ﬁle") == fold_path("file")
    assert fold_path("a/b") != fold_path("ab")


def test_folding_twice_changes_nothing_more() -> None:
    for number in range(0x20, 0x2FFFF):
        letter = chr(number)
        once = fold_path(letter)
        assert fold_path(once) == once, hex(number)


@pytest.mark.parametrize("path", ["received", "received/a.txt", "RECEIVED/a.txt", "Received/x"])
def test_nobody_writes_among_what_people_sent(path: str) -> None:
    with pytest.raises(UsageError):
        require_writable(path)


# Python 3.13 names os.path.isreserved instead, which 3.11 does not have
@pytest.mark.filterwarnings("ignore:.*is_reserved:DeprecationWarning")
def test_no_path_that_is_taken_leaves_its_folder_or_its_key() -> None:
    """Random texts made of what has fooled other programs."""
    chance = random.Random(7)
    parts = (
        *("..", ".", "/", "//", "\\", "%2e", "%2f", "%00", "\0", "~", "-", "#", "#00000001", " "),
        *(
            "a",
            "B",
            "é",
            "e\u0301",
            "文",
            "ß",
            "．",
            "／",
            "∕",
            "\u2024",
            "\u202e",
            "\u200b",
            "\ud83c",
        ),
        *(
            "CON",
            "nul",
            ".git",
            "C:",
            "*",
            "?",
            "\n",
            "\r",
            "\t",
            "\x7f",
            "x" * 60,
            "\ufeff",
            "İ",
            "ı",
        ),
    )
    taken = 0
    for _ in range(40_000):
        text = "".join(chance.choice(parts) for _ in range(chance.randint(1, 8)))
        try:
            path = parse_path(text)
        except UsageError:
            continue
        taken += 1
        assert is_plain_path(path), ascii(path)
        assert unicodedata.normalize("NFC", path) == path
        for kind in (PurePosixPath, PureWindowsPath):
            pure = kind(path)
            assert not pure.is_absolute()
            assert not pure.anchor
            assert ".." not in pure.parts
            assert [*pure.parts] == path.split("/")
        assert not PureWindowsPath(path).is_reserved()
        key = keys.workspace_version("main", fold_path(path), 1)
        assert len(key.sort.encode()) < 1024
        assert key.sort.count("#") == 1
        assert keys.unescape(key.sort.rpartition("#")[0]) == fold_path(path)
    assert taken > 1_000


PARTS = st.sampled_from(
    (
        "drafts", "Drafts", "drafts/", "secret", "a", "..", ".", "", "/", "\\", "%2e%2e", "%2f",
        "\0", "e\u0301", "\u00e9", "\u2024\u2024", "\uff0e\uff0e", "\u2044", "\uff0f", "\uff44rafts",
        "~", "received", "team", " ", "\u200b", "\u202e", "C:",
    )
)  # fmt: skip
"""What a path may be made of that leads elsewhere, is read as something else, or is harmless."""


@given(
    st.lists(PARTS | st.characters(), max_size=6).map("".join)
    | st.lists(PARTS | st.characters(), max_size=6).map("/".join)
)
@example("drafts/../secret.md")
@example("drafts/a.md")
@settings(max_examples=100, deadline=None)
def test_no_path_that_is_taken_below_a_folder_leads_out_of_it(tail: str) -> None:
    scopes = FileScopes("own", "chat", "team", "drafts/")
    for text in (tail, f"drafts/{tail}"):
        try:
            path = parse_path(text)
            scopes.choose(path)
        except (UsageError, Refused):
            continue
        for read in (path, unquote(path)):
            folded = unicodedata.normalize("NFKC", read).casefold()
            reached = posixpath.normpath(folded.replace("\\", "/"))
            assert reached.startswith("drafts/"), (text, reached)
        assert scopes.choose(path) == "own"
