"""Names of files that some program obeys because they lie in a folder."""

from __future__ import annotations

import pytest

from sigil.storage.obeyed_names import disable_path, is_obeyed, restore_path


@pytest.mark.parametrize(
    "name",
    [
        *".envrc .vscode .idea .npmrc .git .gitattributes .husky .bashrc .SSH .editorconfig".split(),
        *"team.code-workspace Team.Code-Workspace x.desktop x.lnk a.pth Desktop.ini".split(),
        *"CLAUDE.md agents.md conftest.py SiteCustomize.py mise.toml _netrc".split(),
        *"ansible.cfg bunfig.toml rust-toolchain rust-toolchain.toml".split(),
        "\uff0eenvrc",
        "\uff23onftest.py",
        "autorun.inf.",
        "autorun.inf ",
    ],
)
def test_a_name_that_some_program_obeys_becomes_another_and_comes_back(name: str) -> None:
    path = f"notes/{name}/{name}"
    written = disable_path(path)
    assert written == f"notes/{name}.disabled/{name}.disabled"
    assert restore_path(written) == path


def test_each_path_has_one_name_and_most_have_their_own() -> None:
    for path in ("notes/plan.md", "Makefile", "package.json", "x.disabled", "a.b/c.py"):
        assert (disable_path(path), restore_path(path)) == (path, path)
    both = (".envrc", ".envrc.disabled", ".envrc.disabled.disabled")
    assert len(set(map(disable_path, both))) == 3
    assert [restore_path(disable_path(path)) for path in both] == [*both]
    assert not is_obeyed("notes.md")
