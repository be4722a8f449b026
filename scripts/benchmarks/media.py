"""Measures the child that opens files: its processor time and memory for usual files, what the
process that starts it spends, what a document's first answer costs a model, and how much room the
packages take.

The floors are the same work by the library alone, in this process, without a start or a lock.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from importlib.metadata import files
from pathlib import Path
from typing import Final

import pypdfium2
from PIL import Image

from functions.agent.conversation import tokens
from functions.media.file_reader import FileReader
from scripts.benchmarks.rows import Row
from tests.functions.media.files import (
    make_docx,
    make_pdf,
    make_row,
    make_svg,
    make_xlsx,
    write_lines,
)
from tests.functions.media.watching import watch_children

RUNS: Final = 5
PAGES: Final = 100
PACKAGES: Final = ("pillow", "pypdfium2", "python-calamine", "resvg-py")
SENTENCE: Final = "The quick brown fox of page {} jumps over the lazy dog of line {} once."
CHILD_MS: Final = 600.0
FIRST_ANSWER_MS: Final = 1_000.0
FIRST_ANSWER_TOKENS: Final = 2_500
PEAK_MB: Final = 256.0
PACKAGES_MB: Final = 40.0


def run(data: Path | None) -> Iterator[Row]:
    """Measure in milliseconds of the child's processor time, the least of five runs."""
    reader = FileReader()
    photo = _make_photo()
    document = _make_pdf()
    yield from _measure(
        "a photo of 12 megapixels",
        lambda: reader.scale(photo),
        target=CHILD_MS,
        floor=lambda: _scale_alone(photo),
    )
    yield from _measure(
        f"the first page of a PDF of {PAGES}",
        lambda: reader.read(document),
        floor=lambda: _read_alone(document, 1),
    )
    yield from _measure(
        f"all pages of a PDF of {PAGES}",
        lambda: reader.read(document, 1, PAGES),
        floor=lambda: _read_alone(document, PAGES),
    )
    yield from _measure("a look at a page of a PDF", lambda: reader.look(document))
    words = make_docx(
        "<w:p><w:r><w:t>fifty-five characters of a paragraph, more or less</w:t></w:r></w:p>"
        * 1_000
    )
    yield from _measure("a docx of 50,000 characters", lambda: reader.read(words))
    cells = make_xlsx({"A": "".join(make_row(n, "name", n, 2.5, "x") for n in range(1, 5_001))})
    yield from _measure("an xlsx of 5,000 x 4 cells", lambda: reader.read(cells))
    chart = _make_chart()
    yield from _measure("a chart as PNG", lambda: reader.draw(chart))
    yield _measure_wall("the first answer of a PDF", lambda: reader.read(document))
    first = reader.read(document)
    text = "\n".join((first.title, *(each.title for each in first.outline), first.pages[0].text))
    cost = tokens.of_text(text)
    yield Row("tokens of it, with its outline", cost, "", target=FIRST_ANSWER_TOKENS)
    size = sum(map(_measure_package, PACKAGES))
    yield Row("the packages, unpacked", size / 1e6, "MB", target=PACKAGES_MB)


def _measure(
    name: str,
    work: Callable[[], object],
    target: float | None = None,
    floor: Callable[[], object] | None = None,
) -> Iterator[Row]:
    """Yield the child's time, its peak of memory, and this process's own time."""
    child, own, alone = [], [], []
    peak = 0
    for _ in range(RUNS):
        before = time.thread_time()
        with watch_children() as used:
            work()
        own.append(time.thread_time() - before)
        child.append(used.seconds)
        peak = max(peak, used.peak_bytes)
        if floor:
            before = time.process_time()
            floor()
            alone.append(time.process_time() - before)
    yield Row(
        name, min(child) * 1e3, "ms", target=target, floor=min(alone) * 1e3 if alone else None
    )
    yield Row("  its memory at most", peak / 1e6, "MB", target=PEAK_MB)
    yield Row("  in the process that waits for it", min(own) * 1e3, "ms")


def _measure_wall(name: str, work: Callable[[], object]) -> Row:
    took = []
    for _ in range(RUNS):
        before = time.monotonic()
        work()
        took.append(time.monotonic() - before)
    return Row(f"{name}, by the clock", min(took) * 1e3, "ms", target=FIRST_ANSWER_MS)


def _measure_package(name: str) -> int:
    """Return the bytes of a package's files, without the byte code that was made here."""
    paths = (each.locate() for each in files(name) or () if "__pycache__" not in each.parts)
    return sum(Path(str(path)).stat().st_size for path in paths)


def _make_photo() -> bytes:
    """Return a picture with as much detail as a camera sees."""
    noise = Image.effect_noise((1_000, 750), 40).resize((4_000, 3_000))
    colors = Image.merge("RGB", (noise, noise.rotate(90, expand=False), noise.rotate(180)))
    out = io.BytesIO()
    colors.save(out, "JPEG", quality=90)
    return out.getvalue()


def _make_pdf() -> bytes:
    pages = [
        write_lines(*(SENTENCE.format(page, line) for line in range(40)))
        for page in range(1, PAGES + 1)
    ]
    return make_pdf(pages, "Foxes", [(f"Chapter {page}", page) for page in range(1, PAGES + 1)])


def _make_chart() -> str:
    bars = "".join(
        f'<rect x="{n * 12}" y="{300 - n * 4}" width="10" height="{n * 4}" fill="#27c"/>'
        f'<text x="{n * 12}" y="320" font-size="9">{n} €</text>'
        for n in range(50)
    )
    return make_svg(bars, 'width="640" height="340"')


def _scale_alone(data: bytes) -> None:
    with Image.open(io.BytesIO(data)) as image:
        image.thumbnail((1_568, 1_568))
        image.save(io.BytesIO(), "JPEG", quality=85)


def _read_alone(data: bytes, pages: int) -> None:
    document = pypdfium2.PdfDocument(data)
    for number in range(pages):
        document[number].get_textpage().get_text_range()
