"""The schemas of the library are checked when the package is built, and not again at a first start."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from sigil.deploy.library import read_packages
from sigil.errors import UsageError
from sigil.manifest import checked_schemas, library_schemas, schema


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What a build writes."""
    path = tmp_path_factory.mktemp("built") / "checked.schemas"
    assert library_schemas.build(file=path) > 50
    return path.read_bytes()


@pytest.fixture
def file(tmp_path: Path, built: bytes, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file of a build, a copy of the test's own, which is the one that counts."""
    path = tmp_path / "checked.schemas"
    path.write_bytes(built)
    monkeypatch.setattr(schema, "is_checked", lambda body: checked_schemas.is_checked(body, path))
    checked_schemas._load.cache_clear()
    yield path
    checked_schemas._load.cache_clear()


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is checked against JSON Schema's own schema."""
    seen: list[Any] = []
    check = schema.Draft202012Validator.check_schema

    def note(value: Any, **options: Any) -> None:
        seen.append(value)
        check(value, **options)

    monkeypatch.setattr(schema.Draft202012Validator, "check_schema", note)
    return seen


@cache
def read_schema() -> dict[str, Any]:
    """Return a schema of the library; bundles have none."""
    packages = read_packages(library_schemas.CAPABILITIES)
    return next(dict(each.manifest.input) for each in packages if each.manifest.lang != "bundle")


def test_a_first_start_checks_no_schema_that_the_build_has_checked(
    file: Path, checked: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = read_packages(library_schemas.CAPABILITIES)
    assert not checked
    monkeypatch.setattr(schema, "is_checked", lambda _: False)
    assert read_packages(library_schemas.CAPABILITIES) == shipped
    assert len(checked) == sum(package.manifest.lang != "bundle" for package in shipped)


def test_every_other_schema_is_checked(file: Path, checked: list[Any]) -> None:
    own = read_schema()
    assert schema.check(own) == own
    assert not checked
    with pytest.raises(UsageError, match="schema refused"):
        schema.check({**own, "minProperties": "one"})
    assert len(checked) == 1


@pytest.mark.parametrize("harm", ["cut", "changed", "gone", "another program"])
def test_a_file_that_is_not_whole_or_of_another_program_counts_for_nothing(
    file: Path, checked: list[Any], harm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = read_schema()
    body = file.read_bytes()
    if harm == "cut":
        file.write_bytes(body[:-1])
    elif harm == "changed":
        file.write_bytes(body[:-1] + bytes([body[-1] ^ 1]))
    elif harm == "gone":
        file.unlink()
    else:
        program = file.with_name("schema.py")
        program.write_text("another")
        monkeypatch.setattr(checked_schemas, "PROGRAM", program)
    checked_schemas._load.cache_clear()
    assert schema.check(own) == own
    assert checked == [own]
