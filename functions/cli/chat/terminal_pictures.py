"""Pictures in a terminal that shows some: by the protocol of kitty, that of iTerm2, or in sixels.

https://sw.kovidgoyal.net/kitty/graphics-protocol, https://iterm2.com/documentation-images.html
"""

from __future__ import annotations

import base64
import os
import re
import select
import struct
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Final, Literal

from functions.agent.memory.helpers import FileReader
from functions.settings import read_terminal
from sigil.errors import SigilError

Form = Literal["", "kitty", "iterm2", "sixel"]
ASK_SECONDS: Final = 1.0
"""A terminal that says nothing for so long when it is asked what it is shows no pictures."""
_ASK: Final = b"\x1b[c"
_TOLD: Final = re.compile(rb"\x1b\[\?([0-9;]*)c")
_SIXEL: Final = b"4"
"""The attribute of a terminal that shows sixels
(https://vt100.net/docs/vt510-rm/DA1.html).
"""
_CHUNK: Final = 4_096
_CELL: Final = (8, 16)
"""Pixels of a cell where the terminal tells none."""
_HEIGHT_SHARE: Final = 0.6
"""So much of the screen a picture fills at most."""
_MOST: Final = (1_600, 1_200)
_MOST_IN_SIXELS: Final = (1_000, 800)
"""Pixels of a picture in width and height; sixels take more room than PNG."""


class TerminalPictures:
    """Makes pictures for the terminal; which it shows is found out with the first one."""

    def __init__(
        self,
        reader: FileReader,
        environment: Mapping[str, str] | None = None,
        *,
        ask: Callable[[], bytes] | None = None,
        is_terminal: Callable[[], bool] | None = None,
    ) -> None:
        self._reader = reader
        self._environment = read_terminal() if environment is None else environment
        self._ask = ask or _ask_terminal
        self._is_terminal = is_terminal or _is_terminal
        self._form: Form | None = None

    @property
    def form(self) -> Form:
        """Return how the terminal shows pictures, empty where it shows none."""
        if self._form is None:
            self._form = self._find_form()
        return self._form

    def make(self, body: bytes) -> str:
        """Return what lets the terminal show a picture, or an SVG document that only draws; empty
        where that cannot be.
        """
        form = self.form
        if not form:
            return ""
        try:
            if body.lstrip()[:5].lower() in (b"<svg ", b"<?xml"):
                body = self._reader.draw(body.decode("utf-8", "replace")).data
            width, height = _find_room(_MOST_IN_SIXELS if form == "sixel" else _MOST)
            made = self._reader.fit(body, width, height, sixel=form == "sixel")
        except SigilError:
            return ""
        return "".join(_write(form, made))

    def _find_form(self) -> Form:
        """Return what the terminal tells by its environment, or by its answer when it is asked."""
        environment = self._environment
        term = environment.get("TERM", "")
        if not self._is_terminal() or term in ("", "dumb"):
            return ""
        # they pass such pictures on only where they are told to
        if "TMUX" in environment or "STY" in environment or term.startswith(("tmux", "screen")):
            return ""
        program = environment.get("TERM_PROGRAM", "")
        is_kitty = term in ("xterm-kitty", "xterm-ghostty") or program == "ghostty"
        if is_kitty or "KITTY_WINDOW_ID" in environment:
            return "kitty"
        is_iterm2 = environment.get("LC_TERMINAL") == "iTerm2"
        if is_iterm2 or program in ("iTerm.app", "WezTerm", "mintty"):
            return "iterm2"
        told = _TOLD.search(self._ask())
        # the first number is the class of the terminal
        return "sixel" if told and _SIXEL in told[1].split(b";")[1:] else ""


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _find_room(most: tuple[int, int]) -> tuple[int, int]:
    """Return how many pixels a picture may have in width and height, `most` at most."""
    columns, rows, width, height = 80, 24, 0, 0
    with suppress(ImportError, OSError):
        import fcntl
        import termios

        size = fcntl.ioctl(sys.stdout.fileno(), termios.TIOCGWINSZ, bytes(8))
        rows, columns, width, height = struct.unpack("HHHH", size)
    width = width or (columns or 80) * _CELL[0]
    height = height or (rows or 24) * _CELL[1]
    return min(width, most[0]), max(min(int(height * _HEIGHT_SHARE), most[1]), 1)


def _write(form: Form, made: bytes) -> Iterator[str]:
    """Yield what shows a picture, and ends the line below it."""
    if form == "sixel":
        yield f"\x1bPq{made.decode('ascii')}\x1b\\\n"
        return
    written = base64.b64encode(made).decode()
    if form == "iterm2":
        yield f"\x1b]1337;File=inline=1;size={len(made)}:{written}\x07\n"
        return
    for start in range(0, len(written), _CHUNK):
        # it answers nothing, which would be taken for something that was typed
        head = "a=T,f=100,q=2," if start == 0 else ""
        is_last = start + _CHUNK >= len(written)
        yield f"\x1b_G{head}m={int(not is_last)};{written[start : start + _CHUNK]}\x1b\\"
    yield "\n"


def _ask_terminal() -> bytes:
    """Return what the terminal answers when it is asked what it is; nothing while a person has
    typed something that nobody has read, which would be lost.
    """
    try:
        import termios
        import tty
    except ImportError:
        return b""
    descriptor = sys.stdin.fileno()
    told = b""
    if select.select([descriptor], [], [], 0)[0]:
        return told
    try:
        before = termios.tcgetattr(descriptor)
    except termios.error:
        return told
    try:
        tty.setcbreak(descriptor, termios.TCSANOW)
        sys.stdout.flush()
        os.write(sys.stdout.fileno(), _ASK)
        until = time.monotonic() + ASK_SECONDS
        while not _TOLD.search(told) and len(told) < 1_000:
            left = until - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                break
            told += os.read(descriptor, 1)
    except OSError:
        return b""
    finally:
        termios.tcsetattr(descriptor, termios.TCSANOW, before)
    return told
