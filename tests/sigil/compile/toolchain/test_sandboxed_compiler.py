"""A compiler in its child process."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sigil.compile.toolchain.sandboxed_compiler import Compiler, library_folders
from sigil.errors import BackendError


def test_a_compiler_that_gets_no_processor_time_is_no_fault_of_the_source(tmp_path: Path) -> None:
    compiler = Compiler(Path(shutil.which("sleep") or ""), tmp_path, read=library_folders())

    with pytest.raises(BackendError, match="EBUSY: this machine is too busy") as caught:
        compiler.run(["60"], wall=0.1)

    assert caught.value.suggestion == "try again in a minute"
