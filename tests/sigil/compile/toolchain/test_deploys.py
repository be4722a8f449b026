"""Foreign languages through the registry: people deploy them, models do not."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import sigil
from sigil.errors import Refused
from sigil.http import app
from sigil.protocol import Caller, Json
from sigil.registry import LocalRegistry
from sigil.sandbox.pool import Sandbox
from sigil.storage.artifacts import MemoryArtifacts
from sigil.storage.kv.memory import MemoryKV
from tests.sigil.sandbox.modules import guest
from tests.sigil.sandbox.wasi_modules import ECHO, answering
from tests.sigil.serving import served
from tests.tables import each_row

PERSON, MODEL = Caller("main", owner=True), Caller("main", session="chat", author="model")
TYPED = "interface Input { n: number }\nexport default (input: Input): number => input.n * 2;\n"
SEVEN = '#include "sigil.h"\nint answer(void) { sigil_put("7"); return 0; }\n'


@pytest.fixture(scope="module")
def registry(compiled: Path) -> Iterator[LocalRegistry]:
    sandbox = Sandbox(
        engine=Path(sigil.__file__).parent / "sandbox" / "engine" / "engine.wasm",
        cache=compiled,
        children=1,
    )
    yield LocalRegistry(MemoryKV(), MemoryArtifacts(), sandbox)
    sandbox.close()


def wasm(module: bytes, **more: Json) -> dict[str, Json]:
    return {"wasm": base64.b64encode(module).decode(), **more}


def test_a_command_is_deployed_and_run(registry: LocalRegistry) -> None:
    tests: list[Json] = [{"input": {"a": 1}, "output": {"a": 1}}]
    registry.deploy(wasm(ECHO, name="echo", lang="wasi", tests=tests), PERSON)
    assert registry.run("echo", {"a": [1]}, PERSON).output == b'{"a":[1]}'
    assert registry.inspect("echo", PERSON)["source"] is None


def test_a_command_may_do_what_it_declares(registry: LocalRegistry) -> None:
    drawing = answering("(call $random_get (i32.const 0) (i32.const 8))", "random_get")
    registry.deploy(wasm(drawing, name="draw", lang="wasi", permissions={"random": True}), PERSON)
    assert registry.run("draw", {}, PERSON).output == b"0"


def test_a_module_is_held_to_the_abi_that_it_is_deployed_as(registry: LocalRegistry) -> None:
    for module, lang, reason in (
        (ECHO, "wasm", "only sigil.call and sigil.take exist"),
        (guest(), "wasi", "exports no _start"),
    ):
        with pytest.raises(Refused, match=reason) as caught:
            registry.deploy(wasm(module, name="mixed", lang=lang), PERSON)
        assert caught.value.code == "EMODULE"


def test_a_source_that_does_not_compile_is_not_deployed(registry: LocalRegistry) -> None:
    with pytest.raises(Refused, match="line 1: no embed here"):
        registry.deploy({"name": "reader", "lang": "c", "code": '#embed "/etc/passwd"\n'}, PERSON)


def test_typescript_is_deployed_and_run_over_http(registry: LocalRegistry) -> None:
    token = {"Authorization": "Bearer a-token-of-the-tests"}
    with (
        served(app.build_registry_app(registry, "a-token-of-the-tests")) as address,
        httpx.Client(base_url=address, headers=token) as client,
    ):
        tests = [{"input": {"n": 2}, "output": 4}]
        answer = client.post(
            "/_api/deploy", json={"name": "typed", "lang": "ts", "code": TYPED, "tests": tests}
        )
        assert (answer.status_code, answer.json()["tests"]["passed"]) == (201, 1)
        assert client.post("/run/typed", json={"n": 21}).json() == 42
        assert client.get("/_api/inspect/typed").json()["source"] == TYPED
        broken = client.post(
            "/_api/deploy", json={"name": "broken", "lang": "ts", "code": "let a: = 1"}
        )
        assert (broken.status_code, broken.json()["error"]["message"]) == (
            422,
            "line 1, column 8: unexpected token",
        )


FOREIGN = {
    "wasi": wasm(ECHO, lang="wasi"),
    "wasm": wasm(guest()),
    **{lang: {"code": SEVEN, "lang": lang} for lang in ("c", "ts", "assemblyscript", "rust")},
}


@each_row("spec", FOREIGN.values())
def test_a_model_deploys_javascript_alone(spec: dict[str, Json], registry: LocalRegistry) -> None:
    with pytest.raises(Refused) as caught:
        registry.deploy({"name": "foreign", **spec}, MODEL)
    assert caught.value.code == "EPERM"
