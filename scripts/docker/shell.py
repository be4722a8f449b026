"""Runs commands and daemons: a command that fails ends this program, a daemon ends with its block."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
_ENDING_SECONDS = 20.0
_SIGN_OF_LIFE_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Progress:
    """Prints what happens, each line with the seconds since the begin."""

    begun: float = field(default_factory=time.monotonic)

    def report(self, line: str) -> None:
        """Print a line."""
        print(f"{time.monotonic() - self.begun:6.1f} s  {line}", flush=True)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Print the name of a step that begins, and again every 15 seconds while it takes."""
        ended = threading.Event()

        def remind() -> None:
            while not ended.wait(_SIGN_OF_LIFE_SECONDS):
                self.report(f"  … {name}")

        self.report(f"{name} …")
        thread = threading.Thread(target=remind, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


def run(
    *command: str | Path, environment: Mapping[str, str] | None = None, folder: Path = ROOT
) -> str:
    """Run a command and return its output; when it fails, exit with its error output."""
    done = subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"error: {' '.join(map(str, command[:3]))} … failed\n{done.stderr[-4000:]}")
    return done.stdout


def find_tool(name: str) -> Path:
    """Install a tool when it is missing; return the folder of its programs."""
    return Path(run(ROOT / "scripts" / "tool", name).strip())


@contextmanager
def run_daemon(
    command: Sequence[str | Path], environment: Mapping[str, str], log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process for as long as the block. It does not get Ctrl-C: the block ends first, then the
    daemon.
    """
    with open(log, "wb") as output:
        process = subprocess.Popen(
            command,
            env=environment,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def measure_folder(folder: Path) -> str:
    """Return the size of the files in a folder, as a text in MB."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return f"{sum(path.lstat().st_size for path in files) / 1e6:.0f} MB"
