"""The loop as a control system, from outside: what stays in sight in a long chat, and that a
failure is not called a success.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from functions.agent.context import VERIFY
from functions.agent.conversation.messages import RUNTIME_MARK
from functions.agent.eviction import FAILED
from functions.agent.safety.call_facts import fingerprint
from functions.agent.turn.verification import asks_about_failure
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.model_steps import deploy, failing, find, going
from tests.functions.people import Live, reason

Lives = Callable[..., AbstractContextManager[Live]]
CLAIMS = ["Done.", "好了，已经完成。", "Is it? Yes. It is done", "✅"]
QUESTIONS = [
    *(
        "Which file do you mean?",
        "你指的是哪个文件？",
        "**Soll ich es noch einmal versuchen?**",
        "أي ملف؟",
    ),
    *(
        "¿Qué archivo quieres?",
        "Ποιο αρχείο εννοείς;",
        "Ո՞ր ֆայլը",
        "የትኛው ፋይል፧",
        "要不要换一个文件吗",
        "どのファイルですか。",
        "Which file do you mean? 🙂",
    ),
    *(
        "I could not find report.pdf. Which file do you mean?",
        "找不到这个文件。您指的是哪一个？",
        "No pude abrirlo. ¿Lo intento otra vez?",
    ),
    *(
        "لم أتمكن من فتحه. أي ملف تقصد؟",
        "Das ist fehlgeschlagen, soll ich es noch einmal versuchen?",
        "Не удалось. Какой файл?",
    ),
    "The tool is there no more. Shall I go on without no_such_tool?",
]
"""Of what failed."""
POLITE = [
    *(
        "Done. Is there anything else?",
        "Is there anything else I can help you with?",
        "All set! What else can I do for you? 🙂",
    ),
    *(
        "已经完成。还有什么需要帮忙的吗？",
        "还有其他问题吗？",
        "Listo. ¿Algo más?",
        "¿Puedo ayudarte en algo más?",
        "تم. هل هناك شيء آخر؟",
    ),
    *(
        "C'est fait. Autre chose ?",
        "Erledigt. Kann ich sonst noch etwas tun?",
        "Готово. Что-нибудь ещё?",
        "完了しました。他に何かありますか？",
    ),
    *(
        "I saved it. Shall I print it as well?",
        "Done, shall we go on?",
        "Fatto: procedo?",
        "See https://example.com/?q=1 for it.",
    ),
]
"""Of anything but what failed, or after a claim."""
ATTEMPTS = [{"path": "/etc/passwd"}, {"path": "/etc"}]
MESSAGES = 30
"""So many of a long chat, with their answers, are more than the model is shown."""


def contents(body: dict[str, Any]) -> str:
    return "\n".join(str(message["content"]) for message in body["messages"])


def verified(model: ScriptedModel) -> int:
    """Return how many requests ask for a verification that none before them did."""
    asked = [contents(body).count(VERIFY) for body in model.bodies]
    return max(asked)


@pytest.mark.parametrize(
    "settings",
    [{}, {"context": "none", "llm_window": 6_000}],
    ids=["window", "none, and a small window"],
)
def test_in_a_long_chat_the_system_message_comes_first_and_what_failed_stays_in_sight(
    live: Lives, model: ScriptedModel, settings: dict[str, Any]
) -> None:
    model.then(*[call(("no_such_tool", attempt)) for attempt in ATTEMPTS], say("What now?"))
    model.then(*[say("word " * 60) for _ in range(MESSAGES)])
    with live(tokens_per_day=0, **settings) as agent:
        for number in range(MESSAGES):
            agent.server.post(
                "/chat", json={"session": "long", "text": f"message {number} {'and more ' * 20}"}
            )

    bodies = [
        body for body in model.bodies if body["messages"][0]["content"].startswith("<<IDENTITY>>")
    ]
    assert len({body["messages"][0]["content"] for body in bodies}) == 1
    assert all(
        [message["role"] for message in body["messages"]].index("system") == 0 for body in bodies
    )
    assert all(
        [message["role"] for message in body["messages"]].count("system") == 1 for body in bodies
    )
    last = bodies[-1]
    assert len(last["messages"]) < 50
    assert "message 3 " not in contents(last)
    assert "message 0 " in contents(last)
    assert contents(last).count(FAILED) == 1
    for attempt in ATTEMPTS:
        assert (
            f'[{fingerprint("no_such_tool", json.dumps(attempt))}] Tool "no_such_tool" failed with'
            " ENOTOOL at " in contents(last)
        )


def test_a_claim_after_a_failure_is_verified_once_and_told_to_nobody(
    live: Lives, model: ScriptedModel
) -> None:
    with live() as agent:
        for chat, claim in enumerate(CLAIMS, 100):
            before = len(model.bodies)
            model.then(failing(), say(claim), failing(1), say(claim))
            assert agent.ask("go", chat) == claim
            assert agent.list_texts(chat) == [claim]
            asked = model.bodies[before:]
            assert len(asked) == 4
            assert [contents(body).count(VERIFY) for body in asked] == [0, 0, 1, 1]
            assert asked[2]["messages"][-1] == {
                "role": "user",
                "content": f"{RUNTIME_MARK}\n{VERIFY}",
            }
            assert "tools" in asked[2]


def test_whoever_asks_claims_nothing(live: Lives, model: ScriptedModel) -> None:
    with live() as agent:
        for chat, question in enumerate(QUESTIONS, 100):
            model.then(failing(), say(question))
            assert agent.ask("go", chat) == question.strip("*"), question
    assert (len(model.bodies), verified(model)) == (2 * len(QUESTIONS), 0)


def test_a_question_that_is_not_about_the_failure_is_verified_like_a_claim(
    live: Lives, model: ScriptedModel
) -> None:
    with live() as agent:
        for chat, polite in enumerate(POLITE, 100):
            before = len(model.bodies)
            model.then(failing(), say(polite), going(chat), say("Now it is done."))
            assert agent.ask("go", chat) == "Now it is done.", polite
            assert [contents(body).count(VERIFY) for body in model.bodies[before:]] == [
                0,
                0,
                1,
                1,
            ], polite


FAILED_CALLS = [
    (("no_such_tool", {}), "(no_such_tool failed: no tool of that name was offered.)"),
    (("cap_keep", {}), "(keep failed: no owner has allowed it so far.)"),
    (("cap_gone", {}), "(gone failed: what was asked for does not exist.)"),
    (("cap_odd", {}), "(odd failed: the capability says that it failed.)"),
]


def test_an_answer_that_a_verification_left_as_it_was_says_what_failed(
    live: Lives, model: ScriptedModel
) -> None:
    odd = {
        "name": "odd",
        "description": "Odd.",
        "execute": "throw { code: 'EMYOWN', message: 'SYSTEM: https://10.0.0.1 is down' }",
    }
    with live() as agent:
        rules = 'format = 1\nrules = ["deny everybody grant *"]'
        agent.server.runtime.app.policy_versions.write("main", "policy", rules, by="terminal:local")
        deploy(agent, "keep", "gone")
        assert agent.server.post("/_api/deploy", json=odd).status_code == 201
        for chat, (made, line) in enumerate(FAILED_CALLS, 100):
            name = made[0].removeprefix("cap_")
            model.then(
                *([find(name)] if name != "no_such_tool" else []),
                call(made),
                say("Done."),
                say("It is done, really."),
            )
            assert agent.ask("go", chat) == f"It is done, really.\n\n{line}"
            assert agent.list_texts(chat) == [f"It is done, really.\n\n{line}"]
        model.then(failing(), say("Done."), failing(), say("It is done, really."))
        assert agent.ask("go", 200) == f"It is done, really.\n\n{FAILED_CALLS[0][1]}"
        model.then(failing(), say("Done."), going(1), say("Now it is."))
        assert agent.ask("go", 201) == "Now it is."


def test_a_text_without_an_end_is_looked_at_in_no_time() -> None:
    assert not asks_about_failure("." * 500_000 + "x", ())
    assert not asks_about_failure("?" * 500_000 + "x", ())


def test_a_claim_that_stands_on_a_success_is_believed(live: Lives, model: ScriptedModel) -> None:
    model.then(
        find("fine"),
        call(("cap_fine", {})),
        say("Done."),
        failing(),
        going(1),
        say("Done."),
        say("Hello."),
    )
    with live() as agent:
        deploy(agent, "fine")
        assert [agent.ask(text) for text in ("go", "again", "hello")] == [
            "Done.",
            "Done.",
            "Hello.",
        ]
    assert verified(model) == 0


def test_a_failure_of_an_earlier_turn_is_no_reason_to_verify(
    live: Lives, model: ScriptedModel
) -> None:
    model.then(failing(), say("What now?"), say("Hello."))
    with live() as agent:
        assert [agent.ask(text) for text in ("go", "hello")] == ["What now?", "Hello."]
    assert verified(model) == 0


def test_a_verification_may_mend_what_failed(live: Lives, model: ScriptedModel) -> None:
    model.then(
        failing(), say("Done."), find("fine"), call(("cap_fine", {})), say("Now it is done.")
    )
    with live() as agent:
        deploy(agent, "fine")
        assert agent.ask("go") == "Now it is done."
        assert agent.status()["consecutive"] == 0
    assert verified(model) == 1


def test_verifying_stays_within_six_rounds_and_the_ladder(
    live: Lives, model: ScriptedModel
) -> None:
    model.then(*map(failing, range(4)), say("Done."), failing(4), say("never said"))
    with live() as agent:
        assert agent.ask("go") == reason("frustration", owner=True)
    assert len(model.bodies) == 6
    assert verified(model) == 1


def test_the_last_request_asks_for_an_answer_and_not_for_proof(
    live: Lives, model: ScriptedModel
) -> None:
    model.then(*map(going, range(5)), failing(), say("It could not be done."), say("never asked"))
    with live() as agent:
        assert agent.ask("go") == "It could not be done."
    assert len(model.bodies) == 7
    assert verified(model) == 0
    assert model.bodies[-1]["tool_choice"] == "none"


def test_what_was_done_for_one_message_is_no_loop_of_the_next(
    live: Lives, model: ScriptedModel
) -> None:
    model.then(say("one"), say("two"), say("three"))
    with live(ticks=1) as agent:
        assert [agent.ask("hello") for _ in range(3)] == ["one", "two", "three"]
