"""What is stored of a file: its head, which says which version it has, and its versions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from msgspec import Meta

from sigil.errors import Conflict, UsageError
from sigil.storage.stored import Shape, Stored, damaged

Number = Annotated[int, Meta(ge=0, lt=10**12)]
Time = Annotated[float, Meta(ge=0, lt=1e11)]
TASK_CHARACTERS: Final = 120
WHY_CHARACTERS: Final = 200


@dataclass(frozen=True, slots=True)
class FileHead(Stored):
    """The newest version of a file, without its content.

    `sha` is the SHA-256 of the content and `by` the person on whose behalf it was written, in the
    piece of work `task`; `at` is in seconds since 1970. `call` is the call of a service that wrote
    it, empty for what a person wrote. Of a `removed` file the versions are still there.
    """

    path: str
    version: Number
    size: Number
    sha: str
    by: str
    task: str
    at: Time
    call: str = ""
    removed: bool = False


@dataclass(frozen=True, slots=True)
class FileVersion(Stored):
    """One version of a file.

    `before` is the number of the version that it replaced, 0 for none: a number in between belongs
    to a write that came to nothing. The content is `text`, or the artifact `artifact` without the
    head that makes it one of this version alone. `pages` is the artifact with the text of a
    document, empty where it was not made. `diff` is what changed of a text, `added` and `gone`
    count its lines.
    """

    path: str
    version: Number
    before: Number
    size: Number
    sha: str
    by: str
    task: str
    at: Time
    why: str = ""
    call: str = ""
    text: str | None = None
    artifact: str = ""
    diff: str = ""
    added: Number = 0
    gone: Number = 0
    removed: bool = False
    pages: str = ""

    def make_head(self) -> FileHead:
        """Return the head of the file whose newest version this is."""
        return FileHead(
            self.path,
            self.version,
            self.size,
            self.sha,
            self.by,
            self.task,
            self.at,
            self.call,
            self.removed,
        )


@dataclass(frozen=True, slots=True)
class FileContent:
    """A version of a file with its content."""

    version: FileVersion
    body: bytes

    @property
    def text(self) -> str | None:
        """Return the content as text, None when it is none."""
        try:
            return self.body.decode()
        except UnicodeDecodeError:
            return None

    def require_text(self) -> str:
        """Return the content as text; `UsageError` EINVAL when it is none."""
        text = self.text
        if text is None:
            raise UsageError(
                "EINVAL",
                f"{self.version.path} is no text: it has {len(self.body):,} bytes",
                suggestion="only texts in UTF-8 can be read, edited and compared",
            )
        return text


class FileConflict(Conflict):
    """A file is not at the version that a write was made from; `newer` is the one that it is at,
    None where the file is not there.
    """

    def __init__(self, path: str, base: int, newer: FileHead | None) -> None:
        state = f"at version {newer.version}" if newer else "not there"
        super().__init__(f"{path} is {state}, and not at version {base}")
        self.suggestion = "read it again, and write what is right now"
        self.newer = newer


_HEAD: Final = Shape[FileHead](FileHead)
_VERSION: Final = Shape[FileVersion](FileVersion)


def read_head(value: bytes) -> FileHead:
    """Return a stored head; `BackendError` EDAMAGED for one that cannot be read."""
    try:
        return _HEAD.read(value)
    except ValueError:
        raise damaged("the record of a file cannot be read") from None


def read_version(value: bytes) -> FileVersion:
    """Return a stored version; `BackendError` EDAMAGED for one that cannot be read."""
    try:
        return _VERSION.read(value)
    except ValueError:
        raise damaged("a version of a file cannot be read") from None
