"""The templates of `sigil init`: the files of a capability that works and is small enough to read.
Their sources are in `starters/`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from sigil.compile import input_types
from sigil.manifest.languages import SOURCES
from sigil.manifest.model import Manifest
from sigil.manifest.package import parse_toml

STARTERS = Path(__file__).with_name("starters")
TOOLCHAIN = Path(input_types.__file__).with_name("toolchain")

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
_TYPES = (
    "\n`input.d.ts` and `sigil.d.ts` tell an editor about the input and the sandbox; they are not"
    " deployed. After a change of the schema `sigil types` writes them anew.\n"
)
_HELPER = (
    "\n`{file}` is here for editors: the compiler brings its own. `sigil types` writes the one of"
    " this version.\n"
)
_READY = (
    "\n`main.wasm` was made of `main.wat`, as `wat2wasm main.wat -o main.wasm` makes it. Put a"
    " module of your own in its place.\n"
)


@dataclass(frozen=True, slots=True)
class Starter:
    """The files that a language begins with. `source`: the file in `starters/`; `words`: the texts
    of its manifest; `more`: a paragraph of its README.
    """

    source: str
    words: dict[str, str] = field(default_factory=lambda: _GREETING)
    more: str = ""


@dataclass(frozen=True, slots=True)
class EditorFiles:
    """The files that help an editor with a language. `copied`: those of ours, which are renewed
    with the types; `settings`: those that a person may change.
    """

    copied: tuple[Path, ...] = ()
    settings: tuple[str, ...] = ()
    has_types: bool = False


STARTERS_BY_LANGUAGE = {
    "js": Starter("greet.js", more=_TYPES),
    "ts": Starter("greet.ts", more=_TYPES),
    "wat": Starter("echo.wat", _ECHO),
    "c": Starter("greet.c", more=_HELPER.format(file="sigil.h")),
    "assemblyscript": Starter("greet.as.ts", more=_HELPER.format(file="sigil.ts")),
    "rust": Starter("greet.rs", more=_HELPER.format(file="sigil.rs")),
    "wasm": Starter("echo.wat", _ECHO, more=_READY),
    "wasi": Starter("command.wat", _ECHO, more=_READY),
}
_TYPES_OF_SANDBOX = (STARTERS / "sigil.d.ts",)
EDITOR_FILES_BY_LANGUAGE = {
    "js": EditorFiles(_TYPES_OF_SANDBOX, ("jsconfig.json",), has_types=True),
    "ts": EditorFiles(_TYPES_OF_SANDBOX, ("tsconfig.json",), has_types=True),
    "c": EditorFiles((TOOLCHAIN / "sigil.h",), ("compile_flags.txt",)),
    "assemblyscript": EditorFiles((TOOLCHAIN / "sigil.ts",)),
    "rust": EditorFiles((TOOLCHAIN / "sigil.rs",)),
}


def make_editor_files(manifest: Manifest, *, is_new: bool) -> dict[str, bytes]:
    """Return the files that tell an editor about a capability, by name.

    Without `is_new`, those that are a person's own to change are left out.
    """
    known = EDITOR_FILES_BY_LANGUAGE.get(manifest.lang, EditorFiles())
    files = {path.name: path.read_bytes() for path in known.copied}
    if known.has_types:
        files[input_types.FILE] = input_types.write_types(manifest).encode()
    for name in known.settings if is_new else ():
        files[name] = (STARTERS / name).read_bytes()
    return files


def find_stale_types(folder: Path, manifest: Manifest) -> bytes | None:
    """Return what `input.d.ts` of a folder has to be; None where it is that, or none of ours."""
    try:
        before = (folder / input_types.FILE).read_bytes()
    except OSError:
        return None
    body = input_types.write_types(manifest).encode()
    return body if input_types.is_written_by_us(before) and before != body else None


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
    return {**files, **make_editor_files(parse_toml(manifest)[0], is_new=True)}
