"""The templates of `sigil init`: the files of a capability that works and is small enough to read.
Their sources are in `starters/`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from sigil.manifest.languages import SOURCES

STARTERS = Path(__file__).with_name("starters")

_README = """\
# {name}

{description}
{more}
    sigil test          # run the golden tests of sigil.toml here
    sigil dev           # the same again, whenever a file changes
    sigil deploy        # check, test and activate it
    sigil run {name} --arg text=Ada
"""
_GREETING = {
    "description": "Greet somebody by name.",
    "example": "greet Ada",
    "parameter": "Whom to greet.",
    "output": '"Hello, Ada!"',
}
_ECHO = {
    "description": "Give the input back as it came.",
    "example": "echo Ada",
    "parameter": "What to give back.",
    "output": '{ text = "Ada" }',
}
_READY = (
    "\n`main.wasm` was made of `main.wat`, as `wat2wasm main.wat -o main.wasm` makes it. Put a"
    " module of your own in its place.\n"
)


@dataclass(frozen=True, slots=True)
class Starter:
    """The files that a language begins with. `source`: the file in `starters/`; `words`: the texts
    of its manifest; `editor_files`: the files that help an editor; `more`: a paragraph of its
    README.
    """

    source: str
    words: dict[str, str] = field(default_factory=lambda: _GREETING)
    editor_files: tuple[str, ...] = ()
    more: str = ""


STARTERS_BY_LANGUAGE = {
    "js": Starter("greet.js", editor_files=("sigil.d.ts", "jsconfig.json")),
    "ts": Starter("greet.ts", editor_files=("sigil.d.ts", "tsconfig.json")),
    "wat": Starter("echo.wat", _ECHO),
    "c": Starter("greet.c"),
    "assemblyscript": Starter("greet.as.ts"),
    "rust": Starter("greet.rs"),
    "wasm": Starter("echo.wat", _ECHO, more=_READY),
    "wasi": Starter("command.wat", _ECHO, more=_READY),
}


def make_files(name: str, lang: str, assemble: Callable[[bytes], bytes]) -> dict[str, bytes]:
    """Return the files of a new capability in `lang`, by name; `assemble` turns WAT text into a
    module.
    """
    starter = STARTERS_BY_LANGUAGE[lang]
    source = SOURCES[lang]
    template = (STARTERS / "sigil.toml").read_text("utf-8")
    manifest = template.format(name=name, lang=lang, source=source, **starter.words)
    readme = _README.format(name=name, description=starter.words["description"], more=starter.more)
    code = (STARTERS / starter.source).read_bytes()
    files = {"sigil.toml": manifest.encode()}
    if source.endswith(".wasm"):
        files["main.wat"] = code
        code = assemble(code)
    files[source] = code
    files["README.md"] = readme.encode()
    for editor_file in starter.editor_files:
        files[editor_file] = (STARTERS / editor_file).read_bytes()
    return files
