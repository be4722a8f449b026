"""Foreign languages through the registry: people deploy them, models do not."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

import sigil
from sigil.artifacts import MemoryArtifacts
from sigil.errors import Refused
from sigil.kv.memory import MemoryKV
from sigil.protocol import Caller, Json
from sigil.registry import LocalRegistry
from sigil.sandbox.pool import Sandbox
from tests.sigil.sandbox.modules import guest
from tests.sigil.sandbox.wasi_modules import ECHO, answering

PERSON, MODEL = Caller("main", owner=True), Caller("main", session="chat", author="model")
SEVEN = '#include "sigil.h"\nint answer(void) { sigil_put("7"); return 0; }\n'


@pytest.fixture(scope="module")
def registry(compiled: Path) -> Iterator[LocalRegistry]:
    sandbox = Sandbox(engine=Path(sigil.__file__).parent / "engine" / "engine.wasm", cache=compiled, children=1)
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
    for module, lang, reason in ((ECHO, "wasm", "only sigil.call and sigil.take exist"), (guest(), "wasi", "exports no _start")):
        with pytest.raises(Refused, match=reason) as caught:
            registry.deploy(wasm(module, name="mixed", lang=lang), PERSON)
        assert caught.value.code == "EMODULE"


def test_a_source_that_does_not_compile_is_not_deployed(registry: LocalRegistry) -> None:
    with pytest.raises(Refused, match="line 1: no embed here"):
        registry.deploy({"name": "reader", "lang": "c", "code": '#embed "/etc/passwd"\n'}, PERSON)


@pytest.mark.parametrize("spec", [wasm(ECHO, lang="wasi"), wasm(guest()), {"code": SEVEN, "lang": "c"}], ids=("wasi", "wasm", "c"))
def test_a_model_deploys_javascript_alone(spec: dict[str, Json], registry: LocalRegistry) -> None:
    with pytest.raises(Refused) as caught:
        registry.deploy({"name": "foreign", **spec}, MODEL)
    assert caught.value.code == "EPERM"
