"""Every capability of the standard library: what it says of itself, and that it does what it says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

import pytest

from functions.agent.services.table import SERVICES
from sigil.errors import SigilError
from sigil.manifest.model import Manifest
from sigil.manifest.package import Package, parse_toml, read_folder
from sigil.protocol import Caller
from sigil.registry import LocalRegistry
from sigil.search.document import list_names
from tests.capabilities.conftest import FOLDER, Library
from tests.tables import each_row

NAMES = sorted(path.parent.name for path in FOLDER.glob("*/sigil.toml"))
INSIDE = {
    "broadcast",
    "cancel-wakeup",
    "claim-task",
    "create-subagent",
    "create-task",
    "diff-file",
    "edit-file",
    "forget",
    "get-task",
    "kb-ingest",
    "kb-search",
    "kb-update",
    "list-agents",
    "list-files",
    "list-tasks",
    "list-teammates",
    "list-wakeups",
    "plan-approval",
    "read-file",
    "read-inbox",
    "read-policy",
    "recall",
    "remember",
    "request-payment",
    "schedule-wakeup",
    "search-history",
    "send-message",
    "shutdown-request",
    "spawn-teammate",
    "stop-agent",
    "update-task",
    "write-file",
}
"""What runs inside an agent alone: no sandbox runs it, so no golden test does either."""
PINNED = {
    "idle",
    "next-behavior",
    "note-work",
    "propose-change",
    "read-current",
    "read-skill",
    "review-runs",
    "shutdown-response",
    "sleep",
    "tell",
}
"""Services that nobody finds alone: a behaviour pins them, or a skill brings one."""
BUNDLES = {"agents", "board", "files", "knowledge", "schedule", "team"}
RUN = [name for name in NAMES if name not in INSIDE | BUNDLES]
EIGHT = {
    "calculate",
    "date-math",
    "encode",
    "hash",
    "json-query",
    "regex-extract",
    "text-stats",
    "unit-convert",
}
WEB = {"currency-rates", "weather-now"}
PAGES = {"read-page", "web-search"}
"""What may read any public page."""
KEYED = {"web-search"}
"""What asks services for which an owner may set a key."""
CHANCE = {"random-values"}
ONCE = {"cancel-wakeup", "create-subagent", "stop-agent"}
"""What a crash may have done already, so that it is not simply run again."""
BARE = {
    "list-agents",
    "list-teammates",
    "list-wakeups",
    "read-inbox",
    "read-policy",
    *BUNDLES,
}
"""What has no input."""
NARROW = r"GET [a-z.-]+/v1/"
CHINESE = re.compile(r"[\u4e00-\u9fff]")


@cache
def package_of(name: str) -> Package:
    return read_folder(FOLDER / name)


def manifest_of(name: str) -> Manifest:
    return package_of(name).manifest


def test_the_first_eight_are_there() -> None:
    assert set(NAMES) >= EIGHT


def test_the_library_has_forty_and_more_five_of_them_in_c() -> None:
    assert len(NAMES) >= 40
    assert sum(manifest_of(name).lang == "c" for name in NAMES) >= 5
    assert {name for name in NAMES if manifest_of(name).kind == "host"} == INSIDE
    assert set(SERVICES) - PINNED == INSIDE


@each_row("name", NAMES)
def test_a_manifest_says_what_its_capability_is(name: str) -> None:
    manifest = manifest_of(name)
    assert manifest.name == name
    assert manifest.lifetime == "persistent"
    assert manifest.public
    assert manifest.tags
    assert (manifest.output is None) is (name in BUNDLES)
    assert len(manifest.description) <= 200
    assert len(manifest.examples) >= 3
    assert any(map(CHINESE.search, manifest.examples))
    assert sum(map(bool, map(CHINESE.search, list_names(manifest.aliases)))) >= 3


@each_row("name", NAMES)
def test_every_parameter_is_described_and_either_required_or_optional_without_loss(
    name: str,
) -> None:
    schema = manifest_of(name).input
    assert bool(schema["properties"]) is (name not in BARE)
    if name in INSIDE:
        assert schema["additionalProperties"] is False
    assert bool(schema.get("required")) or name not in RUN
    for parameter in schema["properties"].values():
        assert len(parameter["description"]) > 10
        assert "default" not in parameter or parameter["default"] in parameter.get(
            "enum", [parameter["default"]]
        )


@each_row("name", NAMES)
def test_a_capability_of_the_library_needs_no_permission_but_to_read_the_web_or_to_draw_at_random(
    name: str,
) -> None:
    manifest = manifest_of(name)
    assert manifest.pure is (name not in CHANCE | ONCE)
    assert manifest.permissions.random is (name in CHANCE)
    assert bool(manifest.permissions.http) is (name in WEB | KEYED)
    assert bool(manifest.permissions.secrets) is (name in KEYED)
    assert manifest.permissions.web is (name in PAGES)
    others = manifest.permissions.model_dump(
        exclude={"http", "web", "secrets", "random"}, exclude_defaults=True
    )
    assert others == {}
    if name not in KEYED:
        odd = [rule for rule in manifest.permissions.http if not re.fullmatch(NARROW, rule)]
        assert odd == []


def test_every_list_in_a_schema_says_what_is_in_it() -> None:
    """OpenAI refuses a request for one tool with a list that has no `items`, at any depth."""
    assert not [name for name in NAMES if list(bare_lists(manifest_of(name).input))]


def bare_lists(schema: object) -> Iterator[object]:
    """The parts of a schema that are lists and do not say of what."""
    if isinstance(schema, Mapping):
        kinds = schema.get("type", ())
        if "array" in ([kinds] if isinstance(kinds, str) else kinds) and "items" not in schema:
            yield schema
        for part in schema.values():
            yield from bare_lists(part)
    elif isinstance(schema, list | tuple):
        for part in schema:
            yield from bare_lists(part)


@each_row("name", NAMES)
def test_the_readme_names_every_parameter(name: str) -> None:
    readme = (FOLDER / name / "README.md").read_text(encoding="utf-8")
    assert readme.startswith(f"# {name}\n")
    assert all(f"`{parameter}`" in readme for parameter in manifest_of(name).input["properties"])


@pytest.mark.parametrize("name", RUN)
def test_the_golden_tests_pass_in_the_sandbox(library: Library, name: str) -> None:
    tests = manifest_of(name).tests
    assert len(tests) >= 3
    assert any(test.error for test in tests)
    assert [verdict for verdict in library.verdicts_of(package_of(name)) if verdict.problem] == []


@each_row("name", RUN)
def test_an_unknown_parameter_is_named_rather_than_passed_over(library: Library, name: str) -> None:
    with pytest.raises(SigilError, match="nonsense") as caught:
        library(name, **dict.fromkeys(manifest_of(name).input["required"], "1"), nonsense="x")
    assert caught.value.code == "EINVAL"


def test_the_example_of_the_manifest_page_works(library: Library) -> None:
    page = (FOLDER.parent / "docs" / "manifest.md").read_text(encoding="utf-8")
    toml, source = (
        re.findall(rf"```{lang}\n(.*?)```", page, re.DOTALL)[0] for lang in ("toml", "js")
    )
    manifest, _ = parse_toml(toml)
    assert len(manifest.tests) == 3
    assert [
        verdict
        for verdict in library.verdicts_of(Package(manifest, source.encode()))
        if verdict.problem
    ] == []


@pytest.mark.parametrize("name", NAMES)
def test_its_examples_and_its_chinese_names_find_it(registry: LocalRegistry, name: str) -> None:
    manifest = manifest_of(name)
    queries = [*manifest.examples, *filter(CHINESE.search, list_names(manifest.aliases))]
    missed = [
        query
        for query in queries
        if (found := registry.query(query, Caller("main")).hits) == ()
        or name not in (found[0].offer.name, found[0].loads[0].name)
    ]
    assert missed == []
