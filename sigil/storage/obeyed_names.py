"""Names of files that some program obeys because they lie in a folder.

`.envrc` runs when a shell enters a folder, `.vscode/tasks.json` when an editor opens it, `.npmrc`
when npm runs there: nobody names or starts them. What a model wrote is never put on a disk under
such a name. The rule: every name that begins with a dot, and the few others below, get a suffix.
What people start by its name, such as a `Makefile` or a `package.json`, keeps its name.
"""

from __future__ import annotations

import unicodedata
from typing import Final

SUFFIX: Final = ".disabled"
_NAMES: Final = frozenset(
    "_exrc _gvimrc _netrc _vimrc agents.md agents.override.md ansible.cfg autorun.inf bunfig.toml"
    " claude.local.md claude.md conftest.py desktop.ini directory.build.props directory.build.rsp"
    " directory.build.targets gemini.md mise.local.toml mise.toml nuget.config pip.conf pip.ini"
    " rust-toolchain rust-toolchain.toml sitecustomize.py usercustomize.py".split()
)
_ENDINGS: Final = tuple(
    ".code-workspace .desktop .library-ms .lnk .pth .scf .search-ms .sublime-project .url"
    " .website".split()
)


def is_obeyed(name: str) -> bool:
    """Return whether some program obeys a file or folder of this name.

    Systems differ in what they take for the same name: capitals, wide letters, and dots and spaces
    at the end do not count.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    folded = folded.strip().rstrip(". ")
    return folded.startswith(".") or folded in _NAMES or folded.endswith(_ENDINGS)


def disable_path(path: str) -> str:
    """Return a path under which no program obeys a file: `.envrc.disabled` for `.envrc`."""
    return "/".join(
        f"{step}{SUFFIX}" if is_obeyed(_find_original(step)) else step for step in path.split("/")
    )


def restore_path(path: str) -> str:
    """Return the path that `disable_path` made this one of."""
    return "/".join(
        step.removesuffix(SUFFIX) if is_obeyed(_find_original(step)) else step
        for step in path.split("/")
    )


def _find_original(step: str) -> str:
    """Return a name without suffixes of ours: one that has some already gets one more, so that
    each path has one meaning.
    """
    while step.endswith(SUFFIX):
        step = step.removesuffix(SUFFIX)
    return step
