"""The page of the library: one row a capability, made of its manifest and its golden tests, so that
it cannot drift.
"""

from __future__ import annotations

import json

from sigil.manifest import model as told_of
from sigil.manifest.model import Manifest
from sigil.manifest.package import read_folder
from tests.capabilities.conftest import FOLDER

PAGE = FOLDER.parent / "docs" / "library.md"
ROOM, CUT = 150, 70
"""Characters of an example that is shown whole, and of each side of one that is not."""


def _code(text: str) -> str:
    fence = "``" if "`" in text else "`"
    return f"{fence}{' ' * (len(fence) - 1)}{text}{' ' * (len(fence) - 1)}{fence}".replace(
        "|", "\\|"
    )


def _cut(text: str) -> str:
    return text if len(text) <= CUT else f"{text[:CUT]}…"


def _sides(test: told_of.Test) -> tuple[str, str]:
    return json.dumps(test.input, ensure_ascii=False), json.dumps(test.output, ensure_ascii=False)


def _example(manifest: Manifest) -> str:
    told = [_sides(test) for test in manifest.tests if test.error is None]
    whole = [sides for sides in told if len("".join(sides)) <= ROOM]
    shown = (
        whole[0]
        if whole
        else [_cut(side) for side in min(told, key=lambda sides: len("".join(sides)))]
    )
    return " → ".join(map(_code, shown))


def _extras(manifest: Manifest) -> str:
    written = "in C" if manifest.lang == "c" else ""
    asks = (
        "asks the web"
        if manifest.permissions.http or manifest.permissions.web
        else "draws at random"
        if manifest.permissions.random
        else ""
    )
    return ", ".join(filter(None, (written, asks)))


INSIDE = ("host", "bundle")
"""The kinds of what no sandbox runs."""


def manifests() -> list[Manifest]:
    return [read_folder(path.parent).manifest for path in sorted(FOLDER.glob("*/sigil.toml"))]


def table() -> str:
    rows = ["| capability | what it does | an example |", "|---|---|---|"]
    for manifest in (one for one in manifests() if one.kind not in INSIDE):
        extras = f" ({_extras(manifest)})" if _extras(manifest) else ""
        what = manifest.description.replace("|", "\\|")
        rows.append(
            f"| [`{manifest.name}`](../capabilities/{manifest.name}) | {what}{extras} | {_example(manifest)} |"
        )
    return "\n".join(rows)


def test_the_page_has_a_row_for_every_capability() -> None:
    assert table() in PAGE.read_text(encoding="utf-8"), (
        f"put this into docs/library.md:\n\n{table()}\n"
    )


def test_the_page_has_a_row_for_each_of_the_agents_own() -> None:
    rows = [
        f"| [`{one.name}`](../capabilities/{one.name}) | {one.description} | "
        for one in manifests()
        if one.kind in INSIDE
    ]
    assert rows
    assert not [row for row in rows if row not in PAGE.read_text(encoding="utf-8")]


def test_the_page_and_the_readme_count_the_library_right() -> None:
    found = manifests()
    count, run = len(found), sum(one.kind not in INSIDE for one in found)
    page = PAGE.read_text(encoding="utf-8")
    assert f"{count} capabilities: {run} that the sandbox runs" in page
    assert f"## The {run}\n" in page
    readme = (FOLDER.parent / "README.md").read_text(encoding="utf-8")
    assert f"library: {count} capabilities" in readme
    assert f"{count} [capabilities](capabilities)" in readme
    assert f"library: {count} capabilities" in (FOLDER.parent / "docs" / "sigil.md").read_text(
        encoding="utf-8"
    )
