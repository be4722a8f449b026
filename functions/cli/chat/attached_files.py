"""The files that go with the next message of the terminal: of `--file`, of `/attach`, or of a path
that was pasted alone on a line.
"""

from __future__ import annotations

import shlex
import stat
from collections.abc import Iterator, Sequence
from itertools import islice
from mimetypes import guess_type
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from functions.agent.app import App
from functions.agent.workspace.received import OPENED_BYTES
from functions.events import Event
from functions.message_files import UploadedFile, attach_files, require_bounded
from sigil.errors import UsageError, one_line

COMMAND: Final = "attach"
_TYPED: Final = f"/{COMMAND}"
_ROOTS: Final = ("/", "~", "./", "../", "file://")
"""A pasted path begins so: a word alone is none, though a file may have its name."""
SHOWN_CHARACTERS: Final = 80
LOOKED_MOST: Final = 20_000
"""Entries of a folder that are looked at to complete a path."""


class AttachedFiles:
    """Reads files of this machine when they are named, so that a message brings what its sender
    saw then.
    """

    def __init__(self, paths: Sequence[str] = ()) -> None:
        self._files: list[UploadedFile] = []
        if paths:
            self.add(paths)

    def add(self, paths: Sequence[str]) -> None:
        """Attach files; `UsageError` says why none of them is."""
        found = [_find_path(each) for each in paths]
        sizes = [(path.name, _require_file(path)) for path in found]
        require_bounded([*((each.name, len(each.body)) for each in self._files), *sizes])
        read = [
            UploadedFile(path.name, _read(path), guess_type(path.name)[0] or "") for path in found
        ]
        every = [*self._files, *read]
        require_bounded([(each.name, len(each.body)) for each in every])
        self._files = every

    def take_line(self, line: str) -> str:
        """Obey a typed line that is an `/attach`, and return what to tell its writer; empty for
        every other line. Without a path it takes back what is attached.
        """
        command, _, rest = line.strip().partition(" ")
        if command != _TYPED:
            return ""
        paths = split_paths(rest)
        if not paths:
            dropped = bool(self._files)
            self._files = []
            return "nothing is attached any more" if dropped else "write /attach PATH…"
        self.add(paths)
        return self.describe()

    def describe(self) -> str:
        """Return what is attached, for a person; empty for nothing."""
        names = [
            f"{one_line(each.name, SHOWN_CHARACTERS)} ({format_size(len(each.body))})"
            for each in self._files
        ]
        if not names:
            return ""
        verb = "goes" if len(names) == 1 else "go"
        return f"{', '.join(names)} {verb} with your next message; /attach alone takes it back"

    def attach_to(self, event: Event, app: App) -> Event:
        """Return a message with the files, which are attached no more; a command takes none."""
        if not self._files or event.looks_like_command:
            return event
        attached = attach_files(event, self._files, app)
        self._files = []
        return attached


def find_pasted(line: str) -> Path | None:
    """Return the file whose path stands alone on a line, as terminals paste one that is dropped on
    them; None where the line is anything else.
    """
    words = line.strip()
    if not words.strip("'\"").startswith(_ROOTS):
        return None
    for paths in ([words], split_paths(words)):
        if len(paths) == 1:
            path = _find_path(paths[0])
            try:
                if path.is_file():
                    return path
            except (OSError, ValueError):  # too long for a path, or a NUL
                return None
    return None


def split_paths(text: str) -> list[str]:
    """Return the paths of a line, as a shell would read them."""
    try:
        return shlex.split(text)
    except ValueError:  # a quote that nothing closes belongs to a name
        return text.split()


def complete_path(text: str) -> list[str]:
    """Return the paths that begin with a text, folders with a slash at their end."""
    typed = text.replace("\\ ", " ")
    folder, slash, begin = typed.rpartition("/")
    try:
        place = Path(f"{folder}{slash}" or ".").expanduser()
        found = sorted(_list_beginning(place, begin))
    except (OSError, RuntimeError, ValueError):
        return []
    return [f"{folder}{slash}{name}".replace(" ", "\\ ") for name in found]


def _list_beginning(place: Path, begin: str) -> Iterator[str]:
    for path in islice(place.iterdir(), LOOKED_MOST):
        is_hidden = path.name.startswith(".") and not begin.startswith(".")
        if path.name.startswith(begin) and not is_hidden:
            yield f"{path.name}/" if path.is_dir() else path.name


def format_size(size: int) -> str:
    """Return a size for people, such as `84 KB`."""
    if size >= 1_000_000:
        return f"{size / 1_000_000:.1f} MB"
    return f"{max(size // 1_000, 1)} KB" if size >= 1_000 else f"{size} bytes"


def _find_path(text: str) -> Path:
    """Return the path that a person means, also by a `file:` address."""
    if text.startswith("file://"):
        text = unquote(urlsplit(text).path)
    try:
        return Path(text).expanduser()
    except RuntimeError:  # nobody has this home
        return Path(text)


def _require_file(path: Path) -> int:
    """Return the size of a file; `UsageError` unless it is one that can be attached."""
    try:
        found = path.stat()
    except (OSError, ValueError) as problem:
        raise _refuse(path, problem) from None
    if not stat.S_ISREG(found.st_mode):  # a pipe would never end
        raise UsageError(
            "EINVAL",
            f"{_show(path)} is no file",
            suggestion="name a file; of a folder, name its files",
        )
    return found.st_size


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(OPENED_BYTES + 1)
    except OSError as problem:
        raise _refuse(path, problem) from None


def _refuse(path: Path, problem: Exception) -> UsageError:
    why = problem.strerror if isinstance(problem, OSError) else str(problem)
    return UsageError(
        "ENOENT",
        f"{_show(path)} cannot be attached: {one_line(why or 'it cannot be read', 100)}",
        suggestion="check the path",
    )


def _show(path: Path) -> str:
    return one_line(str(path), SHOWN_CHARACTERS)
