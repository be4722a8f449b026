"""A child process runs the code that its server packed: all of it, and the newest."""

from __future__ import annotations

import json
import marshal
import os
import py_compile
import subprocess
import sys
from importlib.util import spec_from_file_location
from pathlib import Path

import pytest

from sigil.sandbox import spawn
from sigil.sandbox.child_modules import _read_code, pack_modules

FOUND_ELSEWHERE = """
from sigil.sandbox.child import module_compiler, module_importer, runner, source_compiler
import _json
module_importer.import_from_memory_only()
import sigil.errors, json
files = {name: getattr(module.__spec__, "origin", None) for name, module in sys.modules.items()}
print(json.dumps([name for name, file in files.items() if str(file).endswith((".py", ".pyc"))]))
"""


def test_a_child_imports_nothing_from_a_folder_and_json_when_no_file_can_be_opened() -> None:
    modules = pack_modules()
    boot, _, _ = spawn._BOOT.format("runner").partition("from sigil.sandbox.child.runner")
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", boot + FOUND_ELSEWHERE, modules.place],
        stdout=subprocess.PIPE,
        check=True,
        env=spawn._find_loader_variables(),
        pass_fds=(modules.file.descriptor,),
    )
    # The interpreter imports its encodings before it runs anything, and since 3.13 what keeps the
    # lines of its command; the importer is the first of ours.
    elsewhere = {name.partition(".")[0] for name in json.loads(done.stdout)}
    assert elsewhere - {"linecache"} == {"encodings", "__future__"}


@pytest.mark.parametrize(
    ("cached", "mode", "expected"),
    [
        ("answer = 1", py_compile.PycInvalidationMode.TIMESTAMP, 2),
        ("answer = 1", py_compile.PycInvalidationMode.CHECKED_HASH, 2),
        ("answer = 1", py_compile.PycInvalidationMode.UNCHECKED_HASH, 1),  # as in a package
        ("answer = 2", py_compile.PycInvalidationMode.TIMESTAMP, 2),
        (None, py_compile.PycInvalidationMode.TIMESTAMP, 2),
    ],
)
def test_code_is_read_as_python_itself_would_import_it(
    cached: str | None, mode: py_compile.PycInvalidationMode, expected: int, tmp_path: Path
) -> None:
    path = tmp_path / "module.py"
    spec = spec_from_file_location("module", path)
    assert spec
    assert spec.cached
    Path(spec.cached).parent.mkdir()
    if cached is None:
        Path(spec.cached).write_bytes(b"half a fi")
    else:
        path.write_text(cached)
        os.utime(path, (0, 0))
        py_compile.compile(str(path), invalidation_mode=mode)
    path.write_text("answer = 2")
    if cached == "answer = 2":
        os.utime(path, (0, 0))
    scope: dict[str, int] = {}
    exec(marshal.loads(_read_code(spec)), scope)
    assert scope["answer"] == expected
