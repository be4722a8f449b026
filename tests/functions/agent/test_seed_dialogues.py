"""The two dialogues of the design, scripted: what each request to the model offered and held."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from functions.wiring import AgentRuntime
from tests.fakes.model import ScriptedModel, call, offered, results, say
from tests.functions.agent.talk import tell

SHA = """const d = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(input.text));
return [...new Uint8Array(d)].map((b) => b.toString(16).padStart(2, '0')).join('');"""
HASHED = "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9"
SPEC = {
    "name": "sha256-hash",
    "description": "The SHA-256 of a text, in hex.",
    "schema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    "execute": SHA,
    "tests": [{"input": {"text": "hello world"}, "output": HASHED}],
}


def test_a_found_capability_is_a_tool_in_the_next_request_of_the_same_turn(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, library="builtin")
    model.then(
        call(("sigil_query", {"query": "base64"})),
        call(("cap_encode", {"text": "hello world", "format": "base64"})),
        say("base64: aGVsbG8gd29ybGQ="),
    )

    replies = tell(home, "encode hello world in base64")

    assert replies == ["base64: aGVsbG8gd29ybGQ="]
    first, second, third = model.bodies
    assert offered(first) == ["sigil_query", "sigil_deploy"]
    assert offered(second)[:3] == ["sigil_query", "sigil_deploy", "cap_encode"]
    tool = next(
        tool["function"] for tool in second["tools"] if tool["function"]["name"] == "cap_encode"
    )
    assert set(tool["parameters"]["required"]) >= {"text", "format"}
    assert '"tool":"cap_encode"' in results(second)[0]
    assert "schema" not in results(second)[0]
    assert results(third)[1] == '{"ok":"aGVsbG8gd29ybGQ="}'


def test_a_capability_that_the_model_deploys_is_called_in_a_later_turn(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url)
    model.then(
        call(("sigil_query", {"query": "sha256"})),
        call(("sigil_deploy", SPEC)),
        say("🔮 created sha256-hash"),
    )
    assert tell(home, "make a SHA-256 capability") == ["🔮 created sha256-hash"]
    model.then(call(("cap_sha256_hash", {"text": "hello world"})), say(f"SHA-256: {HASHED}"))

    assert tell(home, "hash hello world") == [f"SHA-256: {HASHED}"]

    bodies = model.bodies
    assert results(bodies[1])[0].startswith('{"ok":{"items":[],"total":0,"next":"nothing fits')
    assert offered(bodies[1]) == ["sigil_query", "sigil_deploy"]
    assert '"tests":{"passed":1,"failed":0}' in results(bodies[2])[1]
    assert (
        offered(bodies[2])
        == offered(bodies[3])
        == ["sigil_query", "sigil_deploy", "cap_sha256_hash"]
    )
    assert results(bodies[4])[-1] == f'{{"ok":"{HASHED}"}}'
    texts = [message["content"] for message in bodies[3]["messages"]]
    assert any("make a SHA-256 capability" in text for text in texts)
    assert "🔮 created sha256-hash" in texts


def test_a_failed_deploy_mints_no_tool(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url)
    wrong = {**SPEC, "tests": [{"input": {"text": "hello world"}, "output": "nothing like it"}]}
    model.then(
        call(("sigil_deploy", wrong)), call(("cap_sha256_hash", {"text": "x"})), say("I could not")
    )

    tell(home, "make a SHA-256 capability")

    assert '"code":"ETESTS"' in results(model.bodies[1])[0]
    assert HASHED in results(model.bodies[1])[0]
    assert offered(model.bodies[1]) == ["sigil_query", "sigil_deploy"]
    assert '"code":"ENOTOOL"' in results(model.bodies[2])[1]


def test_the_offered_digest_is_what_runs_even_after_a_redeploy(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url)
    model.then(
        call(("sigil_deploy", {**SPEC, "name": "word", "execute": "return 'one'", "tests": []})),
        say("made"),
    )
    tell(home, "make a word")
    newer = {**SPEC, "name": "word", "execute": "return 'two'", "tests": []}
    from sigil.protocol import Caller

    home.app.registry.deploy(newer, Caller("main", owner=True))
    model.then(call(("cap_word", {"text": "x"})), say("said"))

    tell(home, "say the word")

    assert results(model.bodies[-1])[-1] == '{"ok":"one"}'


@pytest.mark.parametrize("store", ["", "memory://"])
def test_the_dialogue_is_the_same_over_restarts_and_stores(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel, store: str
) -> None:
    home = runtime(llm_url=model.url, store=store)
    model.then(call(("sigil_deploy", SPEC)), say("made"))
    tell(home, "make it")
    later = home if store else runtime(llm_url=model.url)
    model.then(call(("cap_sha256_hash", {"text": "hello world"})), say("there"))

    tell(later, "hash hello world")

    assert offered(model.bodies[2]) == ["sigil_query", "sigil_deploy", "cap_sha256_hash"]
    assert results(model.bodies[3])[-1] == f'{{"ok":"{HASHED}"}}'
