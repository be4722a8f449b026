"""`uncaged kb`, as a person types it: files and folders are added, searched, shown and dropped."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from functions.cli.app import cli
from sigil.errors import SigilError, UsageError
from tests.functions.agent.knowledge.documents import HANDBOOK

Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("UNCAGED_LIBRARY", "none")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs" / "more").mkdir(parents=True)
    (tmp_path / "docs" / "handbook.md").write_text(HANDBOOK, encoding="utf-8")
    (tmp_path / "docs" / "more" / "tea.txt").write_bytes("Grüner Tee: 70 Grad.".encode("cp1252"))
    (tmp_path / "docs" / ".hidden.md").write_text("# Hidden\n")
    (tmp_path / "docs" / "picture.png").write_bytes(b"\x89PNG\0")

    def command(*arguments: str, code: int = 0, given: bytes | None = None) -> Result:
        done = CliRunner().invoke(cli, ["kb", *arguments], input=given)
        if isinstance(done.exception, SigilError):
            raise done.exception
        assert done.exit_code == code, done.output
        return done

    return command


def rows(run: Run, *arguments: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(run(*arguments, "--json").stdout)
    return found


def test_a_folder_is_added_searched_shown_and_dropped(run: Run) -> None:
    added = rows(run, "add", "docs", "--tag", "shop", "--author", "HR")
    assert [(row["path"], row["state"], row["title"]) for row in added] == [
        ("docs/handbook.md", "added", "Handbook"),
        ("docs/more/tea.txt", "added", "tea"),
    ]
    assert [
        row["state"] for row in rows(run, "add", "docs", "--tag", "shop", "--author", "HR")
    ] == [
        "unchanged",
        "unchanged",
    ]
    (found, *_) = rows(run, "search", "days of vacation")
    assert (found["title"], found["source"], found["author"]) == (
        "Handbook",
        "docs/handbook.md",
        "HR",
    )
    assert found["place"] == "Handbook > Holidays, lines 12-16"
    assert (found["first_line"], found["tags"]) == (12, ["shop"])
    people = run("search", "days of vacation").stdout
    assert people.startswith("Handbook (Handbook > Holidays, lines 12-16)\n")
    assert f"id {found['id']}" in people
    assert "author HR (stated by the owner), added by terminal:local" in people
    assert rows(run, "search", "grüner Tee")[0]["title"] == "tea"
    assert [row["title"] for row in rows(run, "list")] == ["Handbook", "tea"]
    assert "docs/handbook.md" in run("list").stdout
    assert run("show", str(found["id"])).stdout == HANDBOOK
    assert rows(run, "show", str(found["id"]))["text"] == HANDBOOK  # type: ignore[call-overload]
    assert run("drop", str(found["id"])).stdout == "dropped: Handbook\n"
    assert rows(run, "search", "days of vacation") == []
    assert "nothing in the knowledge base" in run("search", "days of vacation").stderr


def test_a_changed_file_replaces_what_is_there_and_an_update_keeps_the_id(
    run: Run, tmp_path: Path
) -> None:
    (first,) = rows(run, "add", "docs/handbook.md")
    (tmp_path / "docs" / "handbook.md").write_text(HANDBOOK.replace("28", "30"))
    (again,) = rows(run, "add", "docs/handbook.md")
    assert (again["state"], again["id"]) == ("replaced", first["id"])
    (tmp_path / "new.md").write_text("Everybody has 31 days of vacation.")
    changed = json.loads(run("update", str(first["id"]), "new.md", "--json").stdout)
    assert (changed["title"], changed["source"]) == ("Handbook", "new.md")
    assert "31 days" in run("search", "days of vacation").stdout
    assert len(rows(run, "list")) == 1
    id = str(first["id"])
    listed = json.loads(run("history", id, "--json").stdout)
    assert [each["version"] for each in listed] == [3, 2, 1]
    assert run("diff", id).stdout.count("\n+") >= 1
    assert f"{first['title']} is at version 4" in run("rollback", id, "1", "--why", "a slip").stdout
    assert "a slip" in run("history", id).stdout
    assert run("show", id).stdout == run("show", id, "--version", "1").stdout


def test_a_file_that_is_added_again_keeps_what_is_left_out(run: Run, tmp_path: Path) -> None:
    about = ("--tag", "shop", "--author", "HR", "--confidence", "0.4")
    run("add", "docs/handbook.md", *about)
    (tmp_path / "docs" / "handbook.md").write_text(HANDBOOK.replace("28", "30"))
    (again,) = rows(run, "add", "docs/handbook.md")
    assert (again["state"], again["tags"]) == ("replaced", ["shop"])
    assert (again["author"], again["confidence"]) == ("HR", 0.4)
    (other,) = rows(run, "add", "docs/handbook.md", "--tag", "people", "--confidence", "1")
    assert (other["tags"], other["author"], other["confidence"]) == (["people"], "HR", 1)


def test_links_in_a_folder_are_counted_and_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "rules.md").write_text("# Rules")
    (tmp_path / "docs" / "elsewhere").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "docs" / "rules.md").symlink_to(tmp_path / "elsewhere" / "rules.md")
    done = run("add", "docs")
    assert "2 links are not followed: docs/elsewhere, docs/rules.md (" in done.stderr
    assert "Rules" not in run("list").stdout
    run("add", "docs/elsewhere", "docs/rules.md")
    assert run("list").stdout.count("Rules") == 2


def test_an_update_keeps_how_sure_the_document_is(run: Run) -> None:
    (first,) = rows(run, "add", "docs/handbook.md", "--confidence", "0.4")
    changed = json.loads(run("update", str(first["id"]), "docs/more/tea.txt", "--json").stdout)
    assert changed["confidence"] == 0.4
    words = ("update", str(first["id"]), "docs/handbook.md", "--confidence", "0.7", "--json")
    assert json.loads(run(*words).stdout)["confidence"] == 0.7


@pytest.mark.parametrize("charset", ["gb2312", "gbk", "gb18030", "utf-8"])
def test_a_chinese_text_is_read_in_the_charsets_of_its_systems(
    run: Run, tmp_path: Path, charset: str
) -> None:
    text = "员工手册：每年有二十八天年假，提前四周申请。Tea 也一样。"
    (tmp_path / "手册.txt").write_bytes(text.encode(charset))
    (row,) = rows(run, "add", "手册.txt")
    assert rows(run, "show", str(row["id"]))["text"] == text  # type: ignore[call-overload]
    (found, *_) = rows(run, "search", "年假有几天")
    assert found["source"] == "手册.txt"


@pytest.mark.parametrize("text", ["Müller", "größer", "année où l'été", "§ 5 – „so“", "naïve café"])
def test_a_western_text_is_not_taken_for_chinese(run: Run, tmp_path: Path, text: str) -> None:
    (tmp_path / "western.txt").write_bytes(text.encode("cp1252"))
    (row,) = rows(run, "add", "western.txt")
    assert rows(run, "show", str(row["id"]))["text"] == text  # type: ignore[call-overload]


def test_a_path_in_another_normal_form_is_the_same_source(run: Run, tmp_path: Path) -> None:
    (tmp_path / "composed.md").write_text("# Café\n\nIt opens at nine.")
    (tmp_path / "apart.md").write_text("# Cafe\u0301\n\nIt opens at ten.")
    (first,) = rows(run, "add", "composed.md", "--source", "Café")
    (again,) = rows(run, "add", "apart.md", "--source", "Cafe\u0301")
    assert (again["state"], again["id"]) == ("replaced", first["id"])


def test_what_is_too_large_is_told_with_the_most_that_fits(run: Run, tmp_path: Path) -> None:
    (tmp_path / "long.md").write_text("x" * 2_000_001)
    (tmp_path / "long.html").write_text("<p>" + "x" * 700_000)
    stderr = run("add", "long.md", "long.html", code=1).stderr
    for said in (
        "error: long.md: text has 2,000,001 characters (ETOOBIG)\nhelp: at most 2,000,000: ",
        "error: long.html has 700,003 characters of HTML (ETOOBIG)\nhelp: at most 700,000: ",
    ):
        assert said in stderr


def test_a_file_that_is_not_there_is_an_error_like_all_others(run: Run, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        run("add", "nofile")
    assert caught.value.as_dict() == {
        "source": "",
        "code": "ENOENT",
        "message": "there is no file nofile",
        "suggestion": "name a file, a folder, or - for standard input",
    }
    (tmp_path / "there.md").write_text("# Tea")
    stderr = run("add", "nofile", "there.md", code=1).stderr
    assert "error: nofile: there is no file nofile (ENOENT)\nhelp: name a file" in stderr


def test_standard_input_has_to_say_what_it_is(run: Run) -> None:
    for words in ((), ("--title", "Tea"), ("--source", "a book")):
        with pytest.raises(SigilError, match="standard input"):
            run("add", "-", *words, given=b"Tea is kept dry.")
    (row,) = rows(run, "list") or [None]
    assert row is None
    run("add", "-", "--title", "Tea", "--source", "a book", given=b"Tea is kept dry.")
    assert [row["source"] for row in rows(run, "list")] == ["a book"]
    with pytest.raises(SigilError, match="no path"):
        run("update", "0" * 16, "-", given=b"x")


def test_what_is_no_text_is_said_so_and_the_others_are_added(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.md").write_text("\n")
    done = run("add", "docs/picture.png", "gone.md", "empty.md", "docs/handbook.md", code=1)
    assert done.stdout.startswith("added: docs/handbook.md (Handbook, 2 chunks, id ")
    for words in ("picture.png is no text", "there is no file gone.md", "text is empty"):
        assert words in done.stderr
    assert len(rows(run, "list")) == 1
    with pytest.raises(SigilError, match="single file"):
        run("add", "docs", "--title", "Two")
    (tmp_path / "nothing").mkdir()
    with pytest.raises(SigilError, match="no documents"):
        run("add", "nothing")


def test_scopes_are_apart(run: Run) -> None:
    (row,) = rows(run, "add", "docs/handbook.md", "--scope", "team")
    assert rows(run, "list", "--scope", "agent") == []
    assert [each["scope"] for each in rows(run, "list")] == ["team"]
    assert rows(run, "search", "vacation", "--scope", "agent") == []
    assert len(rows(run, "search", "vacation")) == 1
    with pytest.raises(SigilError, match="ENOENT"):
        run("show", str(row["id"]), "--scope", "agent")
    assert run("show", str(row["id"])).stdout == HANDBOOK
    with pytest.raises(SigilError, match="ENOENT"):
        run("drop", "../totals")


def test_html_is_read_in_the_sandbox(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.project.tree import ROOT

    library = tmp_path / "library"
    library.mkdir()
    (library / "read-page").symlink_to(ROOT / "capabilities" / "read-page")
    monkeypatch.setenv("UNCAGED_LIBRARY", str(library))
    page = "<title>Tea &amp; more</title><h1>Tea</h1><script>x</script><p>Brew it at 70 degrees."
    (tmp_path / "tea.html").write_text(page)
    (row,) = rows(run, "add", "tea.html")
    assert row["title"] == "Tea & more"
    assert run("show", str(row["id"])).stdout == "# Tea\n\nBrew it at 70 degrees.\n"
