"""A program on a terminal of its own, as a person has it."""

from __future__ import annotations

import codecs
import fcntl
import io
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from tests.machine import within
from tests.terminal_screen import TerminalScreen

SECONDS = 30.0


class Terminal:
    """A program whose input, output and errors are one terminal.

    `shown` is all that it wrote, with plain line ends. A wait begins behind what the wait before it
    returned. It has `columns` × `rows` cells.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        columns: int = 80,
        rows: int = 25,
    ) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._size = (columns, rows)
        self.process = subprocess.Popen(
            command,
            env=environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.shown = ""
        self._waited_up_to = 0
        self._written = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._line_ends = io.IncrementalNewlineDecoder(None, translate=True)

    @property
    def screen(self) -> TerminalScreen:
        """Return what a person sees of what was written."""
        return TerminalScreen(*self._size).feed(self._written)

    def type(self, text: str) -> None:
        """Type `text`."""
        os.write(self._ours, text.encode())

    def wait_for(self, *texts: str) -> str:
        """Return what was written since the last wait, once all `texts` are in it."""
        deadline = time.monotonic() + within(SECONDS)
        while not all(text in self.shown[self._waited_up_to :] for text in texts):
            self._require_more(deadline, texts)
        new = self.shown[self._waited_up_to :]
        self._waited_up_to = len(self.shown)
        return new

    def wait_for_match(self, pattern: str) -> str:
        """Return what was written since the last wait, up to the end of the pattern's match."""
        deadline = time.monotonic() + within(SECONDS)
        while not (match := re.search(pattern, self.shown[self._waited_up_to :])):
            self._require_more(deadline, pattern)
        new = self.shown[self._waited_up_to :][: match.end()]
        self._waited_up_to += match.end()
        return new

    def interrupt_until(self, pattern: str) -> None:
        """Send Ctrl-C, and again until the pattern matches: between printing a prompt and waiting
        for a key, Python's readline misses one.
        """
        deadline = time.monotonic() + within(SECONDS)
        while not self._has_shown(pattern):
            assert time.monotonic() < deadline, self.shown
            self.process.send_signal(signal.SIGINT)
            # a second one, sent while the first is on its way, would meet what comes after
            until = time.monotonic() + within(2.0)
            while not self._has_shown(pattern) and self._read(until):
                pass

    def _has_shown(self, pattern: str) -> bool:
        return re.search(pattern, self.shown[self._waited_up_to :]) is not None

    def leave(self) -> str:
        """Press Ctrl-D, and again until the program ends, and return all that was written: a Ctrl-C
        that comes late takes what was typed before it.
        """
        deadline = time.monotonic() + within(SECONDS)
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self.shown
            with suppress(OSError):  # it has just ended
                self.type("\x04")
            while self._read(time.monotonic() + within(1.0)):
                pass
        return self.wait_for_end()

    def interrupt(self) -> int:
        """Send Ctrl-C, wait for the end, and return the exit code."""
        self.process.send_signal(signal.SIGINT)
        self.wait_for_end()
        return self.process.returncode

    def wait_for_end(self) -> str:
        """Return all that was written, once the program has ended."""
        deadline = time.monotonic() + within(SECONDS)
        while self._read(deadline):
            pass
        self.process.wait(within(SECONDS))
        self.close()
        return self.shown

    def close(self) -> None:
        """Kill the program, unless it has ended, and close the terminal."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(within(SECONDS))
        if self._ours >= 0:
            os.close(self._ours)
            self._ours = -1

    def _require_more(self, deadline: float, awaited: object) -> None:
        assert self._read(deadline), f"{awaited!r} did not come: {self.shown!r}"

    def _read(self, deadline: float) -> bool:
        """Read what comes before `deadline` (monotonic); False when nothing does any more."""
        left = max(deadline - time.monotonic(), 0.0)
        if not select.select([self._ours], [], [], left)[0]:
            return False
        try:
            piece = os.read(self._ours, 65_536)
        except OSError:  # the other side is closed
            return False
        text = self._decoder.decode(piece)
        self._written += text
        self.shown += self._line_ends.decode(text)
        return bool(piece)
