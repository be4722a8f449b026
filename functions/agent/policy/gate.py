"""The gate lets an act through, or refuses it with the rule that says so.

Everything that an agent does passes here first: calls, results of searches, deploys, its own
services, and what it says by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from functions.agent.policy.act import Act, Actor, make_actor
from functions.agent.policy.network import ANY, list_hosts
from functions.agent.policy.rules import (
    Decision,
    Policy,
    choose_stricter,
    close_policy,
    decide,
    decide_for_any,
    normalize_target,
)
from sigil.errors import Refused
from sigil.protocol import Caller, Offer, Registry

SOURCE: Final = "policy"
UNREAD: Final = (close_policy("no policy was read, so nothing is allowed"),)


class PolicyRefusal(Refused):
    """Policy does not allow an act, or not yet; nothing was done."""


def reload_nothing() -> tuple[Policy, ...]:
    """Return no policy that allows anything."""
    return UNREAD


@dataclass(frozen=True, slots=True)
class Gate:
    """The gate of one turn: the policies as they were when it began, and whose rights it has.

    All of the policies have to allow an act. `reload` reads them anew.
    """

    policies: tuple[Policy, ...] = UNREAD
    actor: Actor = make_actor("guest")
    reload: Callable[[], tuple[Policy, ...]] = reload_nothing

    @property
    def closed(self) -> str:
        """Return why nothing is allowed, empty when the policies could be read."""
        return next((policy.closed for policy in self.policies if policy.closed), "")

    def decide(self, kind: str, target: str = "") -> Decision:
        """Return what becomes of an act."""
        act = Act(kind, normalize_target(kind, target))
        return choose_stricter(decide(policy, self.actor, act) for policy in self.policies)

    def denies(self, kind: str, target: str = "") -> bool:
        """Return whether an act is denied; one that an owner may approve is not."""
        return self.decide(kind, target).effect == "deny"

    def may_find(self, name: str) -> bool:
        """Return whether a search may show a capability: one that could never be called is not."""
        return self.decide("find", name).effect == "allow" and not self.denies("call", name)

    def keep_callable(self, offers: Iterable[Offer]) -> tuple[Offer, ...]:
        """Return the offers that may be called, at least with an approval."""
        return tuple(offer for offer in offers if not self.denies("call", offer.name))

    def require(self, kind: str, target: str = "") -> None:
        """Raise `PolicyRefusal` EPERM unless an act is allowed."""
        self._require(self.decide(kind, target), kind, target)

    def require_network(self, registry: Registry, offer: Offer, caller: Caller) -> None:
        """Raise `PolicyRefusal` unless a call may reach every host that it was granted.

        Where the policy allows all of the network there is nothing to look up.
        """
        anything = self._decide_for_any("net")
        if anything.effect == "allow":
            return
        for host in sorted(list_hosts(registry, f"{offer.name}@{offer.digest}", caller)):
            if host == ANY:
                self._require(anything, "net", "any host")
            else:
                self.require("net", host)

    def _decide_for_any(self, kind: str) -> Decision:
        return choose_stricter(decide_for_any(policy, self.actor, kind) for policy in self.policies)

    def _require(self, decision: Decision, kind: str, target: str) -> None:
        if decision.effect != "allow":
            raise deny_act(decision, kind, target)


def deny_act(decision: Decision, kind: str, target: str) -> PolicyRefusal:
    """Return the error for an act that is not allowed; it names the rule."""
    act = f"{kind} {target}" if target else kind
    return PolicyRefusal(
        "EPERM",
        f"the policy does not allow `{act}`: {decision.rule}",
        source=SOURCE,
        suggestion="do without it, or tell the person that only an owner can change the policy",
    )
