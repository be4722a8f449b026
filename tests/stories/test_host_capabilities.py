"""Capabilities of kind `host`: found like any other, run by no registry, and put there by nobody
but the library.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from sigil.client.registry import RemoteRegistry
from sigil.deploy.library import update_library
from sigil.errors import Refused, SigilError, UsageError
from sigil.http import app as sigil_http
from sigil.manifest.package import Package, parse_toml, read_folder
from sigil.mcp.tools import Toolbox
from sigil.protocol import LIBRARY, Caller
from sigil.registry import LocalRegistry
from sigil.sandbox.pool import Sandbox
from sigil.storage.artifacts import MemoryArtifacts
from sigil.storage.kv.memory import MemoryKV
from tests.library import copy_capabilities
from tests.project.tree import ROOT
from tests.sigil.cli.conftest import Sigil, place, run_sigil
from tests.sigil.http.test_app import ENGINE, TOKEN
from tests.sigil.serving import served

__all__ = ["place", "run_sigil"]
OWNER = Caller("main", owner=True)
SERVICES = ("remember", "recall", "forget", "search-history")
HOST = {"name": "mine", "description": "A function of the agent.", "lang": "host", "code": ""}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("services")
    return copy_capabilities(folder, *SERVICES, "roman-numerals")


@pytest.fixture(scope="module")
def registry(compiled: Path, library: Path) -> Iterator[LocalRegistry]:
    made = LocalRegistry(
        MemoryKV(), MemoryArtifacts(), Sandbox(engine=ENGINE, cache=compiled, children=1)
    )
    update_library(made, library, Caller(LIBRARY, author="library"), lambda line: None)
    yield made
    made.close()


@pytest.fixture(scope="module")
def url(registry: LocalRegistry) -> Iterator[str]:
    with served(sigil_http.build_registry_app(registry, TOKEN)) as address:
        yield address


def code_of(problem: pytest.ExceptionInfo[SigilError]) -> str:
    return problem.value.code


def test_a_query_finds_it_with_its_kind_here_and_over_http(
    registry: LocalRegistry, url: str
) -> None:
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {TOKEN}"}) as client:
        row = client.get("/_api/query", params={"q": "what do you know about me"}).json()["items"][
            0
        ]
        listed = client.get("/_api/list").json()["items"]
        inspected = client.get("/_api/inspect/recall").json()
    remote = RemoteRegistry(url, TOKEN)
    here, there = (
        each.query("what do you know about me", OWNER).hits[0].offer for each in (registry, remote)
    )
    remote.close()

    assert (row["capability"], row["kind"], inspected["kind"]) == ("recall", "host", "host")
    assert {each["capability"]: each["kind"] for each in listed} == {
        **dict.fromkeys(SERVICES, "host"),
        "roman-numerals": "wasm",
    }
    assert here == there
    assert (here.tool, here.kind) == ("cap_recall", "host")
    assert set(here.schema["properties"]) == {"query", "key", "subject", "kind", "limit"}


@pytest.mark.parametrize(
    "caller", [OWNER, Caller("main", "telegram:7", owner=True, author="model"), Caller(LIBRARY)]
)
def test_no_registry_runs_one(registry: LocalRegistry, caller: Caller) -> None:
    with pytest.raises(Refused, match="inside an agent alone") as caught:
        registry.run("recall", {"query": "x"}, caller)
    assert (code_of(caught), caught.value.source) == ("EPERM", "recall")
    assert registry.inspect("recall", OWNER)["errors"] == 0


def test_run_over_http_is_refused(url: str) -> None:
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {TOKEN}"}) as client:
        answers = [
            client.post("/run/recall", json={}),
            client.get("/run/recall"),
            client.post("/run/library/recall", json={}),
        ]

    assert [(each.status_code, each.json()["error"]["code"]) for each in answers] == [
        (403, "EPERM")
    ] * 3


@pytest.mark.parametrize(
    "caller",
    [
        OWNER,
        Caller("main", "telegram:7", owner=True, author="model"),
        Caller(LIBRARY),
        Caller("main", token="admin"),
    ],
)
def test_nobody_deploys_one_but_the_library(registry: LocalRegistry, caller: Caller) -> None:
    with pytest.raises(Refused) as caught:
        registry.deploy(HOST, caller)
    assert code_of(caught) == "EPERM"


def test_a_bundle_brings_none_in(registry: LocalRegistry, compiled: Path) -> None:
    bundle = registry.export(["recall"], OWNER)
    with pytest.raises(Refused) as caught:
        registry.import_bundle(bundle, OWNER)
    assert code_of(caught) == "EPERM"


def test_it_may_ask_for_nothing_and_has_no_golden_tests(registry: LocalRegistry) -> None:
    library = Caller(LIBRARY, author="library")
    for more in ("[permissions]\nkv = true", "[[test]]\ninput = {}\noutput = 1"):
        manifest, _ = parse_toml(
            f'[capability]\nname = "mine"\ndescription = "Mine."\n[build]\nlang = "host"\n{more}'
        )
        with pytest.raises(UsageError) as caught:
            registry.deploy_package(Package(manifest, b""), library)
        assert code_of(caught) == "EMANIFEST"
    assert not read_folder(ROOT / "capabilities" / "recall").code


def test_a_call_whose_answer_was_lost_runs_again_only_when_it_says_that_it_may(
    registry: LocalRegistry,
) -> None:
    manifest, _ = parse_toml(
        '[capability]\nname = "mine"\ndescription = "Mine."\n[build]\nlang = "host"'
    )

    assert not manifest.pure
    assert registry.query("recall", OWNER).hits[0].offer.pure


@pytest.mark.parametrize("more", [{"requires": ["recall"]}, {"permissions": {"call": ["recall"]}}])
def test_no_capability_calls_one(registry: LocalRegistry, more: dict[str, Any]) -> None:
    spec = {
        "name": "caller",
        "description": "Calls.",
        "execute": "return await env.call('recall', {})",
        **more,
    }
    with pytest.raises(Refused, match="recall runs inside an agent alone"):
        registry.deploy(spec, OWNER)


def test_one_that_came_after_its_caller_is_not_called_either(compiled: Path, library: Path) -> None:
    made = LocalRegistry(
        MemoryKV(), MemoryArtifacts(), Sandbox(engine=ENGINE, cache=compiled, children=1)
    )
    try:
        spec = {"name": "caller", "description": "Calls.", "permissions": {"call": ["recall"]}}
        caller = {**spec, "execute": "return await env.call('recall', {})"}
        made.deploy(caller, OWNER)
        update_library(made, library, Caller(LIBRARY, author="library"), lambda line: None)
        with pytest.raises(SigilError, match="there is no recall for caller to call"):
            made.run("caller", {}, OWNER)
        with pytest.raises(Refused, match="inside an agent alone"):
            made.deploy(caller, OWNER)
    finally:
        made.close()


def test_a_persons_own_capability_of_that_name_is_the_nearer_one(
    compiled: Path, library: Path
) -> None:
    made = LocalRegistry(
        MemoryKV(), MemoryArtifacts(), Sandbox(engine=ENGINE, cache=compiled, children=1)
    )
    try:
        update_library(made, library, Caller(LIBRARY, author="library"), lambda line: None)
        made.deploy(
            {"name": "recall", "description": "Recall a product.", "execute": "return 'mine'"},
            OWNER,
            replace=True,
        )
        assert made.query("recall", OWNER).hits[0].offer.kind == "wasm"
        assert made.run("recall", {}, OWNER).output == b'"mine"'
        with pytest.raises(Refused):
            made.deploy(
                {"name": "forget", "description": "Forget.", "execute": "return 1"},
                Caller("main", "x", author="model"),
            )
    finally:
        made.close()


def test_over_mcp_none_is_found_listed_loaded_or_run(registry: LocalRegistry, url: str) -> None:
    box = Toolbox(registry, OWNER)
    found = box.call("sigil_query", {"query": "what do you know about me", "limit": 3})["content"][
        0
    ]["text"]
    ran = box.call("sigil_run", {"capability": "recall", "input": {}})

    assert '"items":[],"total":0' in found
    assert (ran["isError"], "EPERM" in ran["content"][0]["text"]) == (True, True)
    with pytest.raises(UsageError):
        box.preload(["recall"])
    assert (
        '"total":1'
        in box.call("sigil_query", {"query": "roman numerals of 12"})["content"][0]["text"]
    )
    asked = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "sigil_run", "arguments": {"capability": "forget"}},
    }
    answer = httpx.post(
        f"{url}/mcp",
        json=asked,
        headers={"Authorization": f"Bearer {TOKEN}", "Accept": "application/json"},
    ).json()
    assert answer["result"]["isError"] is True


def test_the_command_shows_the_kind_and_ends_with_5_when_it_is_to_run_one(
    run_sigil: Sigil, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNCAGED_LIBRARY", str(library))

    ran = run_sigil("run", "recall", "--json")
    assert (ran.code, ran.error["code"], ran.error["source"]) == (5, "EPERM", "recall")
    assert "chat" in ran.error["suggestion"]
    assert {
        row["capability"]: row["kind"] for row in run_sigil("list", "--json").document["items"]
    }["forget"] == "host"
    assert (
        run_sigil("query", "what do you know about me", "--json").document["items"][0]["kind"]
        == "host"
    )
    assert " host " in run_sigil("query", "what do you know about me").out
    assert " host " in run_sigil("list").out
    assert run_sigil("inspect", "recall", "--json").document["kind"] == "host"
    assert "host" in run_sigil("inspect", "recall").out


@pytest.mark.parametrize("command", ["build", "check", "test", "deploy"])
def test_there_is_nothing_to_do_with_its_folder(
    run_sigil: Sigil, library: Path, command: str
) -> None:
    ended = run_sigil(command, str(library / "recall"), "--json")

    assert (ended.code, ended.error["code"]) == (5, "EPERM")
