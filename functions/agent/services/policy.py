"""`request-payment` asks to spend money, and `read-policy` tells what may be done."""

from __future__ import annotations

from typing import Final

from functions.agent.ledger.entry import Entry
from functions.agent.policy.act import ACTS
from functions.agent.policy.rules import format_amount, normalize_target, parse_amount
from functions.agent.policy.spending import Payment, SpendingBook, combine_caps
from functions.agent.posts import ServiceAnswer
from functions.agent.sanitize import clean_text
from functions.agent.services.call_context import Arguments, CallContext, read_text
from sigil.errors import UsageError, one_line
from sigil.protocol import Json

PAYMENT: Final = "request-payment"
READ: Final = "read-policy"
EXPLANATION: Final = ("purpose", "alternatives", "saving", "risk")
"""What every payment has to be explained with."""
PAYEE_CHARACTERS: Final = 100
EXPLAINED_CHARACTERS: Final = 300
UNPAID: Final = (
    "it is booked within the caps; nothing was paid, for no way of paying is connected: tell the"
    " person to pay it"
)


def request_payment(context: CallContext, arguments: Arguments) -> ServiceAnswer:
    """Book a payment that the policy allows, and return what is left to spend.

    No payment is made. `UsageError` EINVAL for one that is not explained.
    """
    payment = _read_payment(context, arguments)
    explained = {name: _explain(arguments, name) for name in EXPLANATION}
    caps = combine_caps(context.gate.policies)
    left = _open_book(context).book(payment, caps)
    amount = format_amount(payment.amount, caps.currency)
    facts: dict[str, Json] = {
        "payment": payment.id,
        "amount": payment.amount / 100,
        "currency": caps.currency,
        "payee": payment.payee,
        "task": payment.task,
        **explained,
    }
    result: dict[str, Json] = {
        "payment": payment.id,
        "amount": amount,
        "payee": payment.payee,
        "left": {
            name: format_amount(getattr(left, name), caps.currency)
            for name in ("payment", "day", "task")
        },
        "note": UNPAID,
    }
    return ServiceAnswer(result, entries=(Entry("spend", facts),))


def check_payment(context: CallContext, arguments: Arguments) -> None:
    """Raise the error of a payment that exceeds a cap or is not explained, before an owner is asked
    about it.
    """
    payment = _read_payment(context, arguments)
    for name in EXPLANATION:
        _explain(arguments, name)
    if not context.gate.denies("spend", payment.payee):
        _open_book(context).check(payment, combine_caps(context.gate.policies))


def name_payee(arguments: Arguments) -> str:
    """Return the payee as rules name them."""
    return normalize_target("spend", one_line(clean_text(read_text(arguments, "payee")), 1_000))


def read_policy(context: CallContext, arguments: Arguments) -> Json:
    """Return what becomes of each kind of act here, whatever it is about, and the rules that say
    otherwise for some of it.
    """
    gate = context.gate
    labels = gate.actor.labels
    special = []
    for policy in gate.policies:
        for rule in policy.rules:
            if rule.pattern != "*" and not rule.who.isdisjoint(labels):
                special.append(rule.text)
    caps = combine_caps(gate.policies)
    answer: dict[str, Json] = {
        "acts": {kind: gate.decide_catch_all(kind).effect for kind in ACTS},
        "rules": special,
    }
    if gate.closed:
        answer["closed"] = gate.closed
    if caps.payment:
        answer["caps"] = {
            name: format_amount(getattr(caps, name), caps.currency)
            for name in ("payment", "day", "task")
        }
    return answer


def _read_payment(context: CallContext, arguments: Arguments) -> Payment:
    amount = parse_amount(arguments.get("amount"))
    if not amount:
        raise UsageError("EINVAL", "amount is a number above 0 with at most two decimals")
    payee = name_payee(arguments)
    if not payee or len(payee) > PAYEE_CHARACTERS:
        raise UsageError("EINVAL", f"payee is a name of at most {PAYEE_CHARACTERS} characters")
    currency = combine_caps(context.gate.policies).currency
    now = context.app.clock.now()
    return Payment(context.call, amount, currency, payee, context.task or context.call, now)


def _explain(arguments: Arguments, name: str) -> str:
    text = one_line(clean_text(read_text(arguments, name)), EXPLAINED_CHARACTERS)
    if not text:
        raise UsageError(
            "EINVAL",
            f"a payment is not asked for without its {name}",
            suggestion=f"say {', '.join(EXPLANATION)}, each in a sentence",
        )
    return text


def _open_book(context: CallContext) -> SpendingBook:
    return SpendingBook(context.app.kv, context.app.root, context.app.zone)
