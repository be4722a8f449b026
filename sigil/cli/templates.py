"""The files that `sigil init` writes: a capability that works and is small enough to read. The
files are in `starters/`.
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
    """The files that a language begins with. `source`: the file in `starters/`; `beside`: files
    that help an editor; `words`: the texts of its manifest.
    """

    source: str
    words: dict[str, str] = field(default_factory=lambda: _GREETING)
    beside: tuple[str, ...] = ()
    more: str = ""


STARTERS_BY_LANGUAGE = {
    "js": Starter("greet.js", beside=("sigil.d.ts", "jsconfig.json")),
    "ts": Starter("greet.ts", beside=("sigil.d.ts", "tsconfig.json")),
    "wat": Starter("echo.wat", _ECHO),
    "c": Starter("greet.c"),
    "assemblyscript": Starter("greet.as.ts"),
    "rust": Starter("greet.rs"),
    "wasm": Starter("echo.wat", _ECHO, more=_READY),
    "wasi": Starter("command.wat", _ECHO, more=_READY),
}
"""Language → what a capability in it begins with."""


def make_files(name: str, lang: str, assemble: Callable[[bytes], bytes]) -> dict[str, bytes]:
    """Return the files of a new capability in `lang`, by name; `assemble` turns WAT text into a
    module.
    """
    starter, source = STARTERS_BY_LANGUAGE[lang], SOURCES[lang]
    code = _read(starter.source)
    sources = (
        {"main.wat": code, source: assemble(code)} if source.endswith(".wasm") else {source: code}
    )
    manifest = (
        _read("sigil.toml").decode().format(name=name, lang=lang, source=source, **starter.words)
    )
    readme = _README.format(name=name, description=starter.words["description"], more=starter.more)
    return {
        "sigil.toml": manifest.encode(),
        **sources,
        "README.md": readme.encode(),
        **{each: _read(each) for each in starter.beside},
    }


def _read(name: str) -> bytes:
    return (STARTERS / name).read_bytes()
