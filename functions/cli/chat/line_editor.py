"""The line editor of `uncaged chat`: what was typed before comes back with the arrow keys, also
after a restart, and Tab completes the commands, and the paths of an `/attach`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import orjson

from functions.cli.chat.attached_files import COMMAND, complete_path
from sigil.errors import UsageError
from sigil.storage.files import OURS, write_whole

if TYPE_CHECKING:
    from types import ModuleType

KEPT_MOST: Final = 1_000
"""So many lines are kept, the newest ones."""
LINE_CHARACTERS: Final = 4_000
"""A longer line is not kept."""
FILE: Final = "chat-history"


class LineEditor:
    """Keeps the typed lines in a file that only its owner reads, each as JSON, since a pasted one
    may have line breaks.

    `is_secret` says of a line that it is not kept. `commands` are completed, without their slash.
    Where Python has no readline, nothing is kept and nothing completed.
    """

    def __init__(
        self, folder: Path, commands: Sequence[str], is_secret: Callable[[str], bool]
    ) -> None:
        self._path = folder / FILE
        self._commands = [f"/{name} " for name in commands]
        self._is_secret = is_secret
        self._readline = _import_readline()
        if self._readline is None:
            return
        self._readline.set_auto_history(False)
        for line in self._read():
            self._readline.add_history(line)
        self._readline.set_completer_delims(" \t\n")
        self._readline.set_completer(self._complete)
        is_libedit = "libedit" in (self._readline.__doc__ or "")
        self._readline.parse_and_bind("bind ^I rl_complete" if is_libedit else "tab: complete")

    def keep(self, line: str) -> None:
        """Keep a line that was typed, unless it is empty, too long, secret, or the last one again.

        A folder that nobody can write to is no reason to end a conversation.
        """
        if self._readline is None or not line.strip() or len(line) > LINE_CHARACTERS:
            return
        known = self._readline.get_current_history_length()
        if self._is_secret(line) or self._readline.get_history_item(known) == line:
            return
        self._readline.add_history(line)
        lines = [*self._read(), line][-KEPT_MOST:]
        with suppress(UsageError):
            body = b"".join(orjson.dumps(each) + b"\n" for each in lines)
            write_whole(self._path, body, OURS)

    def _read(self) -> list[str]:
        """Return the lines that were kept, the newest last; nothing of what is damaged."""
        try:
            rows = self._path.read_bytes().splitlines()
        except OSError:
            return []
        lines = []
        for row in rows[-KEPT_MOST:]:
            with suppress(orjson.JSONDecodeError):
                line = orjson.loads(row)
                if isinstance(line, str):
                    lines.append(line)
        return lines

    def _complete(self, text: str, state: int) -> str | None:
        """Return the command of this number that begins like the first word of a line, or the path
        that begins like another word of an `/attach`.
        """
        if self._readline is None:
            return None
        if self._readline.get_begidx():
            is_path = self._readline.get_line_buffer().lstrip().startswith(f"/{COMMAND} ")
            found = complete_path(text) if is_path else []
        elif text.startswith("/"):
            found = [command for command in self._commands if command.startswith(text.lower())]
        else:
            found = []
        return found[state] if state < len(found) else None


def _import_readline() -> ModuleType | None:
    try:
        import readline
    except ImportError:
        return None
    return readline
