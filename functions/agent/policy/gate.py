"""The gate lets an act through, or refuses it with the rule that says so.

Everything that an agent does passes here first: calls, results of searches, deploys, its own
services, and what it says by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from functions.agent.policy.act import Act, Actor, make_actor, make_everybody
from functions.agent.policy.proposals import AskedCall, Proposal
from functions.agent.policy.reach import ANY, find_reach
from functions.agent.policy.rules import (
    Decision,
    Policy,
    choose_stricter,
    close_policy,
    decide,
    decide_for_any,
    normalize_target,
)
from functions.agent.posts import Post
from sigil.builtin_tools import DEPLOY
from sigil.errors import Refused, SigilError
from sigil.protocol import Caller, Offer, Registry

if TYPE_CHECKING:
    from functions.agent.policy.grants import Wanting

SOURCE: Final = "policy"
ANYTHING: Final = {"call": "call any capability", "net": "net any host"}
"""The acts that a call leads to, and what they are called where nobody can tell to which."""
UNREAD: Final = (close_policy("no policy was read, so nothing is allowed"),)


class PolicyRefusal(Refused):
    """Policy does not allow an act, or not yet; nothing was done.

    `act` and `rule` say which act, and by which rule. `proposal` is what an owner can approve, and
    `posts` tell owners of it.
    """

    act = ""
    rule = ""
    proposal = ""
    posts: tuple[Post, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """A call that waits for an owner: its proposal, and what tells owners of it when it is new."""

    proposal: Proposal
    posts: tuple[Post, ...] = ()


Ask = Callable[[Sequence[Act], AskedCall], Asked]
"""Asks an owner about a call, for what of it the policy asks about."""


def reload_nothing() -> tuple[Policy, ...]:
    """Return no policy that allows anything."""
    return UNREAD


@dataclass(frozen=True, slots=True)
class Gate:
    """The gate of one turn: the policies as they were when it began, and whose rights it has.

    All of the policies have to allow an act. `reload` reads them anew. `ask` asks an owner, None
    where nobody can be asked; `approved` is what an owner has approved for this turn. `bundle` has
    the names of the capabilities of an agent that reaches no others, and DEPLOY where it may make
    some of its own. Without a wallet it pays nobody.
    """

    policies: tuple[Policy, ...] = UNREAD
    actor: Actor = make_actor("guest")
    reload: Callable[[], tuple[Policy, ...]] = reload_nothing
    ask: Ask | None = None
    approved: Proposal | None = None
    bundle: frozenset[str] | None = None
    has_wallet: bool = True

    @property
    def closed(self) -> str:
        """Return why nothing is allowed, empty when the policies could be read."""
        return next((policy.closed for policy in self.policies if policy.closed), "")

    def redact(self, text: str) -> str:
        """Return a text that leaves the chat, to knowledge, to what all chats share or to another
        agent, without what the policies' patterns fit.
        """
        patterns = [pattern for policy in self.policies for pattern in policy.redact]
        if not patterns:
            return text
        # most policies have none
        from functions.agent.policy.redaction import redact

        return redact(patterns, text)

    @property
    def reaches_deploy(self) -> bool:
        """Return whether the bundle, if there is one, lets the agent make capabilities."""
        return self.bundle is None or DEPLOY in self.bundle

    def decide(self, kind: str, target: str = "") -> Decision:
        """Return what becomes of an act."""
        refused = self._find_refusal(kind, target)
        if refused:
            return Decision("deny", refused)
        if target == ANY and kind in ANYTHING:
            return self._decide_for_any(kind)
        act = Act(kind, normalize_target(kind, target))
        return choose_stricter(decide(policy, self.actor, act) for policy in self.policies)

    def _find_refusal(self, kind: str, target: str) -> str:
        """Return why an agent may not do what no policy could allow it; empty where it may."""
        if kind == "spend" and not self.has_wallet:
            return "a subagent has no wallet"
        if self.bundle is None or DEPLOY in self.bundle:
            return ""
        if kind == "deploy" or (kind in ("call", "find") and target not in (*self.bundle, ANY)):
            return "it is not in the bundle of this agent"
        return ""

    def decide_catch_all(self, kind: str) -> Decision:
        """Return what becomes of acts of a kind for which there is no rule of their own."""
        act = Act(kind, "*")
        return choose_stricter(decide(policy, self.actor, act) for policy in self.policies)

    def denies(self, kind: str, target: str = "") -> bool:
        """Return whether an act is denied; one that an owner may approve is not."""
        return self.decide(kind, target).effect == "deny"

    def may_find(self, name: str) -> bool:
        """Return whether a search may show a capability: one that could never be called is not."""
        return self.decide("find", name).effect == "allow" and not self.denies("call", name)

    def keep_callable(self, offers: Iterable[Offer]) -> tuple[Offer, ...]:
        """Return the offers that may be called, at least with an approval."""
        if self.bundle is None and is_free(self.policies, "call"):
            return tuple(offers)
        return tuple(offer for offer in offers if not self.denies("call", offer.name))

    def require(self, kind: str, target: str = "") -> None:
        """Raise `PolicyRefusal` EPERM unless an act is allowed, or approved for this turn."""
        decision = self.decide(kind, target)
        act = Act(kind, normalize_target(kind, target))
        is_approved = self.approved is not None and str(act) in self.approved.acts
        if decision.effect == "deny" or (decision.effect == "ask" and not is_approved):
            raise deny_act(decision, act)

    def require_undenied(self, kind: str, target: str = "") -> None:
        """Raise `PolicyRefusal` EPERM for an act that is denied.

        One that an owner has to approve passes: an owner does it, or is asked elsewhere.
        """
        decision = self.decide(kind, target)
        if decision.effect == "deny":
            raise deny_act(decision, Act(kind, target))

    def require_call(self, acts: Sequence[Act], call: AskedCall) -> None:
        """Raise `PolicyRefusal` unless a call may do these acts: EPERM for one that is denied,
        EAPPROVAL for one that an owner has to approve first.

        Before somebody is asked, the policies are read anew.
        """
        asked = self._list_asked(acts)
        if asked and self.ask:
            asked = replace(self, policies=self.reload())._list_asked(acts)
        if not asked or self._is_approved([act for act, _ in asked], call):
            return
        if self.ask is None:
            raise deny_act(asked[0][1], asked[0][0])
        raise self._wait_for_approval(asked, call)

    def grant_approved(self, registry: Registry, call: AskedCall, caller: Caller) -> None:
        """Grant what an owner has approved together with this very call.

        `PolicyRefusal` for what the policy denies by now of that.
        """
        known = self.approved
        if known is None or not known.permissions or not self._is_same_call(call):
            return
        from functions.agent.policy.grants import find_wanting, grant

        wanting = find_wanting(registry, call.offer, caller) if call.offer else None
        if call.offer and wanting:
            self._list_asked([Act("call", call.offer.name), *_list_granted(call.offer, wanting)])
            grant(registry, known, wanting, caller)

    def ask_for_grant(
        self,
        registry: Registry,
        call: AskedCall,
        acts: Sequence[Act],
        caller: Caller,
        problem: SigilError | None = None,
    ) -> None:
        """Raise `PolicyRefusal` where the capability of a call that does these acts waits for a
        grant, and an owner may be asked for it. A `problem` that the call has failed with says
        otherwise that this is what is wanting.
        """
        if call.offer is None or (problem and problem.code != "EPERM"):
            return
        from functions.agent.policy.grants import find_wanting

        wanting = find_wanting(registry, call.offer, caller)
        if wanting is None:
            return
        if problem:
            problem.reason = "not-granted"
        granted = _list_granted(call.offer, wanting)
        if self.ask and wanting.may_be_granted and not self.denies("grant", call.offer.name):
            call = replace(call, permissions=wanting.permissions)
            self.require_call((*granted, *acts), call)

    def _list_asked(self, acts: Sequence[Act]) -> list[tuple[Act, Decision]]:
        """Return the acts that the policy asks about; `PolicyRefusal` for one that is denied."""
        asked = []
        for act in acts:
            decision = self.decide(act.kind, act.target)
            if decision.effect == "deny":
                raise deny_act(decision, act)
            if decision.effect == "ask":
                asked.append((act, decision))
        return asked

    def list_reached_acts(
        self, registry: Registry, offer: Offer, caller: Caller
    ) -> tuple[Act, ...]:
        """Return the acts that a call leads to: calls of other capabilities, and reaching the hosts
        that were granted. None where the policies allow all of it, so that there is nothing to look
        up.
        """
        restricted = [kind for kind in ANYTHING if self._decide_for_any(kind).effect != "allow"]
        if not restricted:
            return ()
        reach = find_reach(registry, f"{offer.name}@{offer.digest}", caller)
        reached = {"call": reach.calls, "net": reach.hosts}
        return tuple(Act(kind, name) for kind in restricted for name in sorted(reached[kind]))

    def _decide_for_any(self, kind: str) -> Decision:
        return choose_stricter(decide_for_any(policy, self.actor, kind) for policy in self.policies)

    def _is_approved(self, acts: Sequence[Act], call: AskedCall) -> bool:
        known = self.approved
        return (
            known is not None
            and self._is_same_call(call)
            and set(map(str, acts)) <= set(known.acts)
        )

    def _is_same_call(self, call: AskedCall) -> bool:
        """Return whether a call is the one that an owner has approved for this turn."""
        known = self.approved
        if known is None:
            return False
        same = (known.tool, known.arguments) == (call.tool, call.canonical)
        digest = known.offer.digest if known.offer else ""
        return same and digest == (call.offer.digest if call.offer else "")

    def _wait_for_approval(
        self, asked: Sequence[tuple[Act, Decision]], call: AskedCall
    ) -> PolicyRefusal:
        assert self.ask is not None, "the caller looked"
        waiting = self.ask([act for act, _ in asked], call)
        proposal = waiting.proposal
        act, decision = asked[0]
        if proposal.is_grant:
            refusal = refuse_ungranted(proposal)
            refusal.posts = waiting.posts
        elif proposal.state == "denied":
            refusal = PolicyRefusal(
                "EPERM",
                f"an owner denied `{act}` with these arguments (proposal {proposal.id})",
                source=SOURCE,
                suggestion="do without it, and say so",
            )
        elif proposal.state == "approved":
            refusal = PolicyRefusal(
                "EAPPROVAL",
                f"`{act}` was approved as proposal {proposal.id}, and is done by itself",
                source=SOURCE,
                suggestion="go on without it: what comes of it is said in this chat",
            )
        else:
            refusal = PolicyRefusal(
                "EAPPROVAL",
                f"`{act}` waits for an owner's approval, as proposal {proposal.id}",
                source=SOURCE,
                suggestion="go on without it, and say that it waits: once an owner approves it, it"
                " is done by itself with these arguments",
            )
            refusal.proposal = proposal.id
            refusal.posts = waiting.posts
        refusal.act = str(act)
        refusal.rule = decision.rule
        return refusal


def _list_granted(offer: Offer, wanting: Wanting) -> list[Act]:
    """Return the acts of a grant: itself, and reaching the hosts that it opens."""
    return [Act("grant", offer.name), *(Act("net", host) for host in wanting.hosts)]


@lru_cache(maxsize=256)
def is_free(policies: tuple[Policy, ...], kind: str) -> bool:
    """Return whether everybody may do whatever acts of a kind."""
    restricts = any(
        rule.act == kind and rule.effect != "allow" for policy in policies for rule in policy.rules
    )
    anybody = Act(kind, "*")
    everybody = make_everybody()
    return not restricts and all(
        decide(policy, everybody, anybody).effect == "allow" for policy in policies
    )


def deny_act(decision: Decision, act: Act) -> PolicyRefusal:
    """Return the error for an act that is not allowed; it names the rule."""
    shown = ANYTHING.get(act.kind, "") if act.target == ANY else ""
    shown = shown or str(act)
    refusal = PolicyRefusal(
        "EPERM",
        f"the policy does not allow `{shown}`: {decision.rule}",
        source=SOURCE,
        suggestion="do without it, or tell the person which rule it is, and that only an owner can"
        " change the policy",
        reason="policy",
    )
    refusal.act = shown
    refusal.rule = decision.rule
    return refusal


def refuse_ungranted(proposal: Proposal) -> PolicyRefusal:
    """Return the error for a call whose grant an owner is asked for, or has denied."""
    name = proposal.offer.name if proposal.offer else proposal.tool
    asked = ", ".join(proposal.permissions)
    if proposal.state == "denied":
        return PolicyRefusal(
            "EPERM",
            f"{name} was not granted {asked}: an owner denied it (proposal {proposal.id})",
            source=SOURCE,
            suggestion="do without it, and say so",
            reason="not-granted",
        )
    refusal = PolicyRefusal(
        "EAPPROVAL",
        f"{name} was not granted {asked}: an owner is asked for it, as proposal {proposal.id}",
        source=SOURCE,
        suggestion="go on without it, and say that an owner was asked: with their yes it works,"
        " and the call that asked first is made by itself",
        reason="not-granted",
    )
    if proposal.state == "open":
        refusal.proposal = proposal.id
    return refusal
