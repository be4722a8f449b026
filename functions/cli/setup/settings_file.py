"""The `uncaged.toml` that `uncaged setup` changes: by one setup at a time, whole or not at all, and
with the file before it kept.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from functions.settings import Settings
from sigil.errors import UsageError, one_line
from sigil.settings import FILE, read_variable, refuse_unknown_names
from sigil.storage import toml_files
from sigil.storage.files import OURS, exchange_names, lock_folder, make_write_error, write_whole

HEAD = "# settings of Uncaged; `uncaged setup` changes them, `uncaged doctor -v` explains them\n"
PREVIOUS = ".previous"
"""Ends the name of the file as it was before the last setup; an empty one stands for no file."""
_LEFT_OVER = re.compile(rf"\.{re.escape(FILE)}(?:{re.escape(PREVIOUS)})?-[a-z0-9_]{{8}}")
"""What `write_whole` calls a file until it is whole."""


class SettingsFile:
    """One file of settings. `values` are those that it has, as texts."""

    def __init__(self, path: Path, base: Mapping[str, str]) -> None:
        self.path = path
        self._base = base
        self._is_own = path == Settings.find_own_file()
        self._is_kept = False
        self._text = _read(path)

    @property
    def previous(self) -> Path:
        """Return the path of the file as it was before the last setup."""
        return self.path.with_name(self.path.name + PREVIOUS)

    @property
    def values(self) -> dict[str, str]:
        """Return the settings of the file as texts."""
        texts = {}
        for name, value in self._parse(self._text).items():
            parts = value if isinstance(value, list) else [value]
            texts[name] = ",".join(map(str, parts))
        return texts

    def refuse_unknown_names(self) -> None:
        """Raise `UsageError` for misspelt lines: no command would start with them, whatever is
        changed beside them.
        """
        refuse_unknown_names(Settings, self.values, str(self.path))

    def preview(self, changes: Mapping[str, str]) -> Settings:
        """Return the settings that the file would have; an empty value removes a line. `UsageError`
        when they cannot be right.
        """
        values = {**self.values, **self._base, **changes}
        return Settings.read(values, Path("/nonexistent"))

    def refuse_foreign_address(self, address: str, secret: str) -> None:
        """Raise `UsageError` when this is a folder's file and says where a new secret is sent to.

        A folder may come from somebody else, who would get the secret. `address`: the setting's
        name.
        """
        value = self.values.get(address, "")
        if self._is_own or not value or value == read_variable(address):
            return
        raise UsageError(
            "ESETTING",
            f"{self.path} would send {secret} to {one_line(value, 80)}, and the folder may come"
            " from somebody else",
            suggestion=f"set {address} in the environment, or remove it from the file",
        )

    def change(self, changes: Mapping[str, str]) -> list[str]:
        """Write the changed lines, and return the names of those that differ from before.

        Everything else in the file stays as it is, comments too.
        """
        self.preview(changes)
        before = self.values
        wanted = {**self._base, **changes}
        changed = [name for name, value in wanted.items() if before.get(name, "") != value]
        if not changed:
            return []
        text = self._text or HEAD
        for name in changed:
            text = _set_line(text, name, wanted[name])
        expected = {**before, **{name: wanted[name] for name in changed}}
        given = {name: value for name, value in expected.items() if value or name not in changed}
        if {name: _as_text(value) for name, value in self._parse(text).items()} != given:
            raise UsageError(
                "ESETTING",
                f"{self.path} cannot be changed from here",
                suggestion=f"change {' and '.join(changed)} in it with an editor",
            )
        self._keep_previous()
        write_whole(self.path, text.encode(), OURS, durable=True)
        self._text = text
        return changed

    def undo(self) -> None:
        """Take back the last setup; doing it again takes that back."""
        if not self.previous.exists():
            raise UsageError("ENOENT", f"there is no setup of {self.path} to take back")
        text = self._text
        self._text = _read(self.previous)
        if self.path.is_symlink():  # its file may be on another disk
            write_whole(self.path, self._text.encode(), OURS, durable=True)
            write_whole(self.previous, text.encode(), OURS, durable=True)
            return
        # killed at any point, it is as it was or taken back, and both texts are there
        if not self.path.exists():
            write_whole(self.path, b"", OURS, durable=True)
        exchange_names(self.path, self.previous)
        if not self._text:
            self.path.unlink()

    def list_overruled(self, names: list[str]) -> list[str]:
        """Return which of these settings have another value in the environment, which counts."""
        values = self.values
        overruled = []
        for name in names:
            outer = read_variable(name)
            if outer and outer != values.get(name, ""):
                overruled.append(name)
        return overruled

    def _keep_previous(self) -> None:
        """Keep the file as it was before this setup, once."""
        if not self._is_kept:
            write_whole(self.previous, self._text.encode(), OURS, durable=True)
            self._is_kept = True

    def _parse(self, text: str) -> dict[str, object]:
        try:
            return dict(toml_files.parse_table(text))
        except ValueError as problem:
            raise UsageError(
                "ESETTING",
                f"{self.path}: {problem}",
                suggestion="repair it, or move it away and run `uncaged setup` again",
            ) from None


@contextmanager
def open_settings_file(*, here: bool) -> Iterator[SettingsFile]:
    """Open the file that counts here, for this process alone: the user's own, or that of the
    current folder when it has a store of its own. `here`: the current folder gets one.
    """
    folder = Path.cwd()
    base: dict[str, str] = {}
    if here or Settings.brings_a_store(folder):
        path = folder / FILE
        if not Settings.brings_a_store(folder):
            base = {"UNCAGED_DATA": str(folder / "data")}
        for name in ("UNCAGED_STORE", "UNCAGED_DATA"):
            if read_variable(name):
                raise UsageError(
                    "ESETTING",
                    f"the environment sets {name}, so a file of a folder may not set everything",
                    suggestion=f"unset {name}, or leave --here away",
                )
    else:
        path = Settings.find_own_file()
    folder = path.parent
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as problem:
        raise make_write_error(folder, problem) from None
    with lock_folder(
        folder,
        f"another `uncaged setup` changes {folder} right now",
        "finish it there, or end it with Ctrl-C: nothing half-written stays",
    ):
        for left in path.parent.iterdir():
            # of a setup that was killed while it wrote; this process alone writes here now
            if _LEFT_OVER.fullmatch(left.name) and left.is_file() and not left.is_symlink():
                left.unlink(missing_ok=True)
        yield SettingsFile(path, base)


def _read(path: Path) -> str:
    try:
        return toml_files.read_text(path)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else str(problem)
        raise UsageError("ESETTING", f"{path}: {reason}") from None


def _as_text(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _set_line(text: str, name: str, value: str) -> str:
    """Return the text with the setting's line replaced, added, or for an empty value removed."""
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    new = [f"{name} = {toml_files.quote_text(value)}\n"] if value else []
    for start, line in enumerate(lines):
        if line.partition("=")[0].strip(" \t\"'") != name:
            continue
        # a list may go over several lines
        for end in range(start + 1, len(lines) + 1):
            if _is_whole("".join(lines[start:end])):
                return "".join([*lines[:start], *new, *lines[end:]])
    return "".join([*lines, *new])


def _is_whole(text: str) -> bool:
    try:
        return bool(tomllib.loads(text))
    except tomllib.TOMLDecodeError:
        return False
