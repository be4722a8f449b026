"""Finds the compilers that `sigil toolchain install` put into the user's data folder.

Each has a folder of its own, named by its language and version. It is made under another name and
renamed at the end, so that one which is there is whole.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

VERSIONS: Final = {"c": "0.17.1", "assemblyscript": "0.28.20", "rust": "debian"}
"""What is installed for a language: ziglang of PyPI, assemblyscript of npm, rustc of Debian."""


def toolchains_folder() -> Path:
    """Return the folder of the installed compilers, which need not exist."""
    from sigil.settings import Settings

    return Settings.read().data_folder.absolute() / "toolchains"


def toolchain_path(language: str) -> Path:
    """Return the place of a language's compiler, whether it is installed or not."""
    return toolchains_folder() / f"{language}-{VERSIONS[language]}"


def find_toolchain(language: str) -> Path | None:
    """Return the folder of a language's compiler; None when it is not installed."""
    path = toolchain_path(language)
    return path if path.is_dir() else None


def install_command(language: str) -> str:
    """Return the command that installs a language's compiler."""
    return f"sigil toolchain install {language}"
