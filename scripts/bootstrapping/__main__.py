"""`scripts/bootstrap`: twenty requests for which no capability exists, each asked twice, with the
model of the settings.

Progress goes to stderr, the report to stdout. It ends with 0 when enough requests were complete,
else with 1; with 2 when it cannot begin, with 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import orjson

from functions.settings import Settings
from functions.wiring import open_runtime
from scripts.bootstrapping import report
from scripts.bootstrapping.play import demand_model, emptied, play
from scripts.bootstrapping.requests import REQUESTS, Request
from scripts.bootstrapping.verdicts import Row
from sigil.cli.exit_codes import FAILED, INTERRUPTED, exit_code
from sigil.cli.printing import Printer
from sigil.errors import SigilError, UsageError, one_line

NAMES = tuple(request.name for request in REQUESTS)


def main(words: Sequence[str] | None = None) -> int:
    """The exit code."""
    given = _parser().parse_args(words)
    printer = Printer(json=given.json)
    try:
        return _ran(given)
    except SigilError as problem:
        printer.error(problem)
        return exit_code(problem)
    except BrokenPipeError:
        # whoever reads the report has seen enough; what is still buffered must not complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt:  # before the first request or after the last
        printer.error(SigilError("EINTERRUPTED", "interrupted"))
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/bootstrap",
        description=(
            "Ask for what no capability does yet: does the model search, write, test, deploy, call"
            " and answer? Then ask again: does it only look? The model is the one of"
            " UNCAGED_LLM_URL, UNCAGED_LLM_KEY and UNCAGED_LLM_MODEL; the registry starts empty."
        ),
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=NAMES,
        metavar="NAME",
        help=f"this request alone, may be repeated: {', '.join(NAMES)}",
    )
    parser.add_argument(
        "--limit",
        type=_count,
        metavar="N",
        default=len(REQUESTS),
        help="at most so many requests, from the first on",
    )
    parser.add_argument(
        "--repeat",
        type=_count,
        metavar="N",
        default=1,
        help="play them so many times, each time over a registry that is empty again",
    )
    parser.add_argument(
        "--at-least",
        type=int,
        metavar="N",
        help="so many complete requests are enough (default: all)",
    )
    parser.add_argument(
        "--store",
        type=Path,
        metavar="FOLDER",
        help="keep what was made in this new folder (default: a temporary one)",
    )
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="one JSON document, with the replies")
    shape.add_argument("--markdown", action="store_true", help="the table in Markdown")
    return parser


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("a whole number from 1 on")
    return number


def _ran(given: argparse.Namespace) -> int:
    settings = Settings.read()
    demand_model(settings)
    wanted = [request for request in REQUESTS if not given.only or request.name in given.only][
        : given.limit
    ]
    rows: list[Row] = []
    try:
        with _folder(given.store) as folder:
            for row in _played(settings, folder, wanted, given.repeat):
                rows.append(row)
    except KeyboardInterrupt:
        _show(given, rows, settings)
        left = (
            f"interrupted: {len(rows)} of {len(wanted) * given.repeat} requests were asked to"
            " their end"
        )
        Printer(json=given.json).error(SigilError("EINTERRUPTED", left))
        return INTERRUPTED
    _show(given, rows, settings)
    enough = len(rows) if given.at_least is None else given.at_least
    return 0 if sum(row.complete for row in rows) >= enough else FAILED


def _played(
    settings: Settings, folder: Path, wanted: Sequence[Request], times: int
) -> Iterator[Row]:
    """Each request of each repetition, as soon as both its turns are over."""
    for number in range(1, times + 1):
        runtime = open_runtime(
            emptied(settings, folder / str(number) if times > 1 else folder, folder / "compiled")
        )
        try:
            for at, request in enumerate(wanted, 1):
                tell = partial(_tell, f"{number}: {at}" if times > 1 else str(at), request.name)
                tell(one_line(request.first.text, 90))
                row = play(runtime, request, tell)
                yield replace(row, name=f"{row.name} {number}") if times > 1 else row
        finally:
            runtime.close()


def _tell(place: str, name: str, line: str) -> None:
    sys.stderr.write(f"{place:>3} {name:<14} {line}\n")
    sys.stderr.flush()


@contextmanager
def _folder(kept: Path | None) -> Iterator[Path]:
    """The folder for the store: the one that is kept has to be new, since the requests are about an
    empty registry.
    """
    if kept is None:
        with tempfile.TemporaryDirectory(prefix="bootstrap-") as made:
            yield Path(made)
        return
    try:
        kept.mkdir(parents=True, exist_ok=True)
        filled = any(kept.iterdir())
    except OSError as problem:
        raise UsageError(
            "EUSAGE",
            f"cannot use {kept}: {problem.strerror}",
            suggestion="name a folder that you can write",
        ) from None
    if filled:
        raise UsageError(
            "EUSAGE",
            f"{kept} is not empty",
            suggestion="name a new folder: the requests need an empty registry",
        )
    yield kept.resolve()


def _show(given: argparse.Namespace, rows: Sequence[Row], settings: Settings) -> None:
    if given.json:
        found = report.document(
            rows, settings.llm_model, urlsplit(settings.endpoint).hostname or ""
        )
        text = orjson.dumps(found, option=orjson.OPT_INDENT_2).decode()
    else:
        drawn = report.markdown(rows) if given.markdown else report.table(rows)
        parts = [
            drawn,
            report.LEGEND,
            "\n".join(report.misses(rows)),
            report.summary(rows, settings.llm_model),
        ]
        text = "\n\n".join(filter(None, parts))
    sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
