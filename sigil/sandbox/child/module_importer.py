"""Imports modules from their code in memory: a child process finds them without looking through
folders, and those that it seldom needs can still be imported when it may open no file any more.

The code comes from the server (`sigil.sandbox.child_modules`), so a child runs the version that its
server runs, even when the files have changed since. Modules that the server did not pack are found
in the interpreter's own folders, as long as files can be opened. This module runs before any other,
so it imports next to nothing.
"""

from __future__ import annotations

import marshal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType

    Place = tuple[list[str] | None, int, int]
    """The folders of a package, None for a plain module; and where its code begins and ends."""

# Importing `importlib.machinery` takes longer than all of this module.
_make_spec = type(sys.__spec__)
_AFTER_BUILTIN = 2  # finders of what is a part of the interpreter: of built-in and frozen modules


class ModuleImporter:
    """A finder and loader of the modules whose code is in `codes`, at the place that `index`
    names.
    """

    def __init__(self, codes: memoryview, index: Mapping[str, Place]) -> None:
        self._codes = codes
        self._index = index

    def find_spec(
        self, name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to load the module `name`; None when it is not here."""
        place = self._index.get(name)
        if place is None:
            return None
        spec: ModuleSpec = _make_spec(name, self)  # type: ignore[arg-type] # a loader by its methods
        spec.submodule_search_locations = place[0]
        return spec

    def create_module(self, _spec: ModuleSpec) -> None:
        """Leave it to the interpreter to make the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the code of the module."""
        _, begin, end = self._index[module.__name__]
        code: CodeType = marshal.loads(self._codes[begin:end])
        exec(code, module.__dict__)


def install(modules: bytes, index: int) -> None:
    """Import from `modules`, whose index begins at the byte `index`, before folders are
    searched.
    """
    importer = ModuleImporter(memoryview(modules), marshal.loads(memoryview(modules)[index:]))
    sys.meta_path.insert(_AFTER_BUILTIN, importer)


def import_from_memory_only() -> None:
    """Search no folder from now on: a module that is not in memory cannot be imported."""
    del sys.meta_path[_AFTER_BUILTIN + 1 :]
