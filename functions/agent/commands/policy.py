"""/policy shows what the agent may do, and lets an owner change it in a private chat."""

from __future__ import annotations

import re
from typing import Final

from functions.agent.commands.command import Command, CommandCall, CommandResult, Commands, always
from functions.agent.commands.document_versions import format_versions
from functions.agent.ledger.entry import Entry
from functions.agent.policy.document import (
    NAME,
    read_policy_text,
    roll_back_policy,
    write_policy,
)
from functions.agent.policy.editing import add_rule, choose_preset, drop_rule, list_own_rules
from functions.agent.policy.rules import EFFECTS, Policy, format_amount, parse_policy
from functions.agent.safety.failure_codes import describe_refusal
from sigil.errors import BackendError, Conflict, UsageError, one_line

_NUMBERED: Final = re.compile(r"(drop|rollback)\s+([0-9]{1,8})", re.IGNORECASE | re.ASCII)
_PRESET: Final = re.compile(r"preset\s+(\S+)", re.IGNORECASE)


def run_policy(call: CommandCall) -> CommandResult:
    """Show the policy or its history, or change one thing of it."""
    texts = call.texts
    if not call.event.private:
        return call.reply(texts.policy_in_private)
    before = call.app.policy_versions.read(call.scope, NAME).version
    try:
        text = _answer(call)
        after = call.app.policy_versions.read(call.scope, NAME).version
        entries = (Entry("policy", {"version": after}),) if after != before else ()
        return CommandResult(text, call.document, entries=entries)
    except Conflict:
        return call.reply(texts.policy_meanwhile)
    except (UsageError, BackendError) as problem:
        return call.reply(texts.policy_kept.format(why=describe_refusal(problem, texts)))


def _answer(call: CommandCall) -> str:
    texts = call.texts
    versions = call.app.policy_versions
    words = call.text
    by = call.event.sender.id
    if not words:
        closed = next(filter(None, (each.closed for each in call.app.load_policies())), "")
        if closed:
            return f"{texts.policy_closed.format(why=closed)}\n\n{texts.policy_how}"
        return _describe(call, parse_policy(read_policy_text(versions).text))
    if words.lower() == "history":
        lines = format_versions(versions.list_versions(versions.agent, NAME), texts)
        return "\n".join(lines) or texts.policy_never_changed
    numbered = _NUMBERED.fullmatch(words)
    if numbered and numbered[1].lower() == "rollback":
        doc = roll_back_policy(versions, int(numbered[2]), by)
        return texts.policy_changed.format(version=doc.version)
    before = read_policy_text(versions)
    preset = _PRESET.fullmatch(words)
    if numbered:
        text = drop_rule(before.text, int(numbered[2]))
    elif preset:
        text = choose_preset(before.text, preset[1].lower())
    elif words.split()[0].lower() in EFFECTS:
        rule = one_line(" ".join(words.split()))
        text = add_rule(before.text, rule[0].lower() + rule[1:])
    else:
        return texts.policy_how
    why = f"/policy {words}"
    doc = write_policy(versions, text, by=by, why=why, expect=before.version)
    return texts.policy_changed.format(version=doc.version)


def _describe(call: CommandCall, policy: Policy) -> str:
    texts = call.texts
    rules = list_own_rules(policy)
    first = texts.policy_preset if rules else texts.policy_preset_alone
    lines = [first.format(name=policy.preset)]
    lines += [f"{number}. `{rule}`" for number, rule in enumerate(rules, 1)]
    caps = policy.spending
    if caps.payment:
        amounts = {
            name: format_amount(getattr(caps, name), caps.currency)
            for name in ("payment", "day", "task")
        }
        lines.append(texts.policy_spending.format(**amounts))
    return "\n".join([*lines, "", texts.policy_how])


COMMANDS: Final[Commands] = {
    "policy": Command(
        run_policy,
        arguments="[RULE | drop N | preset NAME | history | rollback N]",
        changes_agent=always,
        for_owners=True,
        works_for=lambda reader: reader.private,
    )
}
