"""Asks the model of the settings for twenty things that no capability does yet, each of them twice
(`scripts/bootstrap`).

Progress goes to stderr, the report to stdout. The exit code is 0 when enough requests were
complete, else 1; it is 2 when the script cannot begin, and 130 after Ctrl-C.
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
from scripts.bootstrapping.play import empty_registry_settings, play, require_model
from scripts.bootstrapping.requests import REQUESTS, Request
from scripts.bootstrapping.verdicts import RequestResult
from sigil.cli.exit_codes import FAILED, INTERRUPTED, exit_code
from sigil.cli.printing import Printer
from sigil.errors import SigilError, UsageError, one_line

NAMES = tuple(request.name for request in REQUESTS)


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code."""
    options = _make_parser().parse_args(words)
    printer = Printer(json=options.json)
    try:
        return _run_requests(options)
    except SigilError as problem:
        printer.error(problem)
        return exit_code(problem)
    except BrokenPipeError:
        # The reader of the report has closed it; flushing the rest must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt:  # before the first request or after the last
        printer.error(SigilError("EINTERRUPTED", "interrupted"))
        return INTERRUPTED


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/bootstrap",
        description=(
            "Ask the model for things that no capability does yet. The first time it has to"
            " search, write, test, deploy, call and answer; asked again, it has to find and call"
            " what is there. The model is that of UNCAGED_LLM_URL, UNCAGED_LLM_KEY and"
            " UNCAGED_LLM_MODEL; the registry starts empty."
        ),
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=NAMES,
        metavar="NAME",
        help=f"ask only this request; may be repeated: {', '.join(NAMES)}",
    )
    parser.add_argument(
        "--limit",
        type=_positive_number,
        metavar="N",
        default=len(REQUESTS),
        help="ask at most N requests, from the first on",
    )
    parser.add_argument(
        "--repeat",
        type=_positive_number,
        metavar="N",
        default=1,
        help="ask all of them N times, each time with an empty registry",
    )
    parser.add_argument(
        "--at-least",
        type=int,
        metavar="N",
        help="succeed when N requests are complete (default: all)",
    )
    parser.add_argument(
        "--store",
        type=Path,
        metavar="FOLDER",
        help="keep the registry in this new folder (default: a temporary one)",
    )
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument(
        "--json", action="store_true", help="print one JSON document, with the replies"
    )
    shape.add_argument("--markdown", action="store_true", help="print the table in Markdown")
    return parser


def _positive_number(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("a whole number from 1 on")
    return number


def _run_requests(options: argparse.Namespace) -> int:
    """Ask the requests of the options and print the report; return the exit code."""
    settings = Settings.read()
    require_model(settings)
    requests = [each for each in REQUESTS if not options.only or each.name in options.only]
    requests = requests[: options.limit]
    rows: list[RequestResult] = []
    try:
        with _open_folder(options.store) as folder:
            for row in _play_all(settings, folder, requests, options.repeat):
                rows.append(row)
    except KeyboardInterrupt:
        _print_report(options, rows, settings)
        message = (
            f"interrupted: {len(rows)} of {len(requests) * options.repeat} requests were asked to"
            " their end"
        )
        Printer(json=options.json).error(SigilError("EINTERRUPTED", message))
        return INTERRUPTED
    _print_report(options, rows, settings)
    enough = len(rows) if options.at_least is None else options.at_least
    return 0 if sum(row.complete for row in rows) >= enough else FAILED


def _play_all(
    settings: Settings, folder: Path, requests: Sequence[Request], times: int
) -> Iterator[RequestResult]:
    """Play each request of each repetition; yield its row as soon as both its turns are over."""
    for number in range(1, times + 1):
        place = folder / str(number) if times > 1 else folder
        runtime = open_runtime(empty_registry_settings(settings, place, folder / "compiled"))
        try:
            for at, request in enumerate(requests, 1):
                label = f"{number}: {at}" if times > 1 else str(at)
                report_line = partial(_report_progress, label, request.name)
                report_line(one_line(request.first.text, 90))
                row = play(runtime, request, report_line)
                yield replace(row, name=f"{row.name} {number}") if times > 1 else row
        finally:
            runtime.close()


def _report_progress(place: str, name: str, line: str) -> None:
    sys.stderr.write(f"{place:>3} {name:<14} {line}\n")
    sys.stderr.flush()


@contextmanager
def _open_folder(store: Path | None) -> Iterator[Path]:
    """Yield the folder for the store: a temporary one, or `store`, which has to be empty because
    the requests need an empty registry.
    """
    if store is None:
        with tempfile.TemporaryDirectory(prefix="bootstrap-") as temporary:
            yield Path(temporary)
        return
    try:
        store.mkdir(parents=True, exist_ok=True)
        is_filled = any(store.iterdir())
    except OSError as problem:
        raise UsageError(
            "EUSAGE",
            f"cannot use {store}: {problem.strerror}",
            suggestion="name a folder that you can write",
        ) from None
    if is_filled:
        raise UsageError(
            "EUSAGE",
            f"{store} is not empty",
            suggestion="name a new folder: the requests need an empty registry",
        )
    yield store.resolve()


def _print_report(
    options: argparse.Namespace, rows: Sequence[RequestResult], settings: Settings
) -> None:
    if options.json:
        endpoint = urlsplit(settings.endpoint).hostname or ""
        document = report.build_document(rows, settings.llm_model, endpoint)
        text = orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()
    else:
        rows_table = report.format_markdown if options.markdown else report.format_table
        parts = [
            rows_table(rows),
            report.LEGEND,
            "\n".join(report.list_misses(rows)),
            report.format_summary(rows, settings.llm_model),
        ]
        text = "\n\n".join(filter(None, parts))
    sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
