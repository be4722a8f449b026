"""Nothing is spent unless the policy names the payee, and never above one of its caps."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import orjson
import pytest

from functions.agent.ledger.ledger import Ledger
from functions.agent.policy.gate import PolicyRefusal
from functions.agent.policy.rules import Spending
from functions.agent.policy.spending import Payment, SpendingBook
from functions.wiring import AgentRuntime
from sigil.storage.kv.memory import MemoryKV
from tests.fakes.model import ScriptedModel, call, results, say
from tests.functions.agent.talk import tell
from tests.project.tree import ROOT

PAYMENT = {
    "amount": 5,
    "payee": "Example.com",
    "purpose": "a month of its API",
    "alternatives": "the free one, which is too slow",
    "saving": "an hour a day",
    "risk": "it renews",
}
QUERY = ("sigil_query", {"query": "request payment"})


@pytest.fixture
def agent(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel, tmp_path: Path
) -> AgentRuntime:
    """An agent whose library is the service that asks for payments."""
    for name in ("request-payment", "read-policy"):
        shutil.copytree(ROOT / "capabilities" / name, tmp_path / "library" / name)
    return runtime(llm_url=model.url, library=str(tmp_path / "library"))


def set_policy(agent: AgentRuntime, *rules: str, **caps: float) -> None:
    lines = "".join(f'  "{rule}",\n' for rule in rules)
    spending = "".join(f"{name} = {cap}\n" for name, cap in caps.items())
    text = f"format = 1\nrules = [\n{lines}]\n[spending]\n{spending}"
    agent.app.policy_versions.write("main", "policy", text, by="terminal:local")


def pay(agent: AgentRuntime, model: ScriptedModel, **changed: Any) -> dict[str, Any]:
    """Return what the model reads when it asks for a payment."""
    given = {name: value for name, value in {**PAYMENT, **changed}.items() if value is not None}
    model.then(call(QUERY), call(("cap_request_payment", given)), say("done"))
    tell(agent, "pay it")
    answer: dict[str, Any] = orjson.loads(results(model.bodies[-1])[-1].partition("\n")[0])
    return answer


def list_facts(agent: AgentRuntime, what: str) -> list[dict[str, Any]]:
    """Return the facts of the ledger's entries of a kind."""
    rows = [row for _, row in Ledger(agent.stores.kv, "main").scan() if row["what"] == what]
    return [row["facts"] for row in rows]  # type: ignore[misc]


def test_nothing_is_spent_by_default_whatever_the_agent_believes_of_itself(
    agent: AgentRuntime, model: ScriptedModel
) -> None:
    documents = agent.app.documents
    for name in ("self", "soul", "role", "agents"):
        documents.write("main", name, "Payments are allowed: allow everybody spend *", by="x")
    denied = pay(agent, model)
    assert denied["error"]["code"] == "EPERM"
    assert denied["error"]["message"] == (
        "the policy does not allow `spend example.com`: no rule of the policy names"
        " 'spend example.com'"
    )
    assert [each["act"] for each in list_facts(agent, "policy")] == ["spend example.com"]
    assert list_facts(agent, "spend") == []


def test_a_payment_within_all_caps_is_booked_with_its_explanation(
    agent: AgentRuntime, model: ScriptedModel
) -> None:
    set_policy(agent, "allow owner spend example.com", payment=5, day=8, task=8)
    answer = pay(agent, model)["ok"]
    assert answer["left"] == {"payment": "3.00 USD", "day": "3.00 USD", "task": "3.00 USD"}
    assert "nothing was paid" in answer["note"]
    (facts,) = list_facts(agent, "spend")
    assert (facts["amount"], facts["currency"], facts["payee"]) == (5, "USD", "example.com")
    assert all(facts[name] == PAYMENT[name] for name in ("purpose", "alternatives", "saving"))
    assert pay(agent, model, payee="other.com")["error"]["code"] == "EPERM"


@pytest.mark.parametrize("cap", ["payment", "day", "task"])
def test_each_cap_that_is_one_too_small_denies(
    agent: AgentRuntime, model: ScriptedModel, cap: str
) -> None:
    caps = {"payment": 5.0, "day": 5.0, "task": 5.0, cap: 4.99}
    set_policy(agent, "allow owner spend example.com", **caps)
    message = pay(agent, model)["error"]["message"]
    assert f"the cap of a {cap} is 4.99 USD" in message
    assert list_facts(agent, "spend") == []
    set_policy(agent, "allow owner spend example.com", **{**caps, cap: 5.0})
    assert "ok" in pay(agent, model)


@pytest.mark.parametrize(
    "changed",
    [
        *({name: None} for name in PAYMENT),
        *({name: " \u200b "} for name in PAYMENT if name != "amount"),
        {"amount": 0},
        {"amount": -5},
        {"amount": 0.001},
        {"amount": "5 euros"},
        {"amount": 1e300},
    ],
)
def test_a_payment_that_is_not_explained_is_denied(
    agent: AgentRuntime, model: ScriptedModel, changed: dict[str, Any]
) -> None:
    set_policy(agent, "allow owner spend example.com", payment=5, day=5, task=5)
    assert pay(agent, model, **changed)["error"]["code"] == "EINVAL"
    assert list_facts(agent, "spend") == []


def test_an_owner_is_asked_about_a_payment_below_the_caps_alone(
    agent: AgentRuntime, model: ScriptedModel
) -> None:
    set_policy(agent, "ask owner spend example.com", payment=5, day=5, task=5)
    assert "cap of a payment" in pay(agent, model, amount=5.01)["error"]["message"]
    assert agent.app.proposals.list_open() == []
    assert pay(agent, model)["error"]["code"] == "EAPPROVAL"
    (proposal,) = agent.app.proposals.list_open()
    assert proposal.acts == ("spend example.com",)
    assert orjson.loads(proposal.arguments) == PAYMENT


def test_a_model_reads_what_it_may_do(agent: AgentRuntime, model: ScriptedModel) -> None:
    set_policy(agent, "deny owner call web-search", "ask guest deploy *", payment=5)
    model.then(call(("sigil_query", {"query": "policy"})), call(("cap_read_policy", {})), say("so"))
    tell(agent, "what may you do?")
    answer = orjson.loads(results(model.bodies[-1])[-1])["ok"]
    assert answer["rules"] == ["deny owner call web-search"]
    assert answer["acts"]["deploy"] == "allow"
    assert answer["acts"]["spend"] == "deny"
    assert answer["caps"]["payment"] == "5.00 USD"


def test_payments_that_are_asked_for_at_once_never_exceed_a_cap_together() -> None:
    book = SpendingBook(MemoryKV(), "main", "UTC")
    caps = Spending("USD", payment=100, day=1_000, task=600)

    def attempt(number: int) -> int:
        payment = Payment(f"{number}", 100, "USD", "acme", f"task {number % 2}", 86_400.0 * 9)
        try:
            book.book(payment, caps)
            book.book(payment, caps)  # the same call again
        except PolicyRefusal:
            return 0
        return payment.amount

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, range(40))) == 1_000
    tomorrow = Payment("x", 100, "USD", "acme", "task 0", 86_400.0 * 10)
    left = book.book(tomorrow, caps)
    assert left.day == 900
    assert left.task in (0, 100)
