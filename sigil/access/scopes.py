"""Scopes: what an access token is good for, such as `run:*`, `run:alice/encode` or
`deploy:alice/*`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sigil.errors import UsageError, one_line
from sigil.protocol import LIBRARY, is_name

SCOPES_MOST = 50
EVERYTHING = "*"
_HELP = "such as run:*, run:alice/*, run:alice/encode or deploy:alice/*"


@dataclass(frozen=True, slots=True)
class Scope:
    """`VERB:TARGET`. `target`: `*`, `NAMESPACE/*` or `NAMESPACE/NAME`. What a token may deploy, it
    may run.
    """

    verb: str
    target: str

    @classmethod
    def parse(cls, text: str) -> Scope:
        """Read one scope; `UsageError` for anything that does not mean exactly one thing."""
        verb, colon, target = text.partition(":")
        namespace, slash, name = target.partition("/")
        whole = target == EVERYTHING and verb == "run"
        part = bool(slash) and is_name(namespace) and (name == EVERYTHING or is_name(name))
        if not colon or verb not in ("run", "deploy") or not (whole or part):
            raise UsageError(
                "EINVAL", f"no scope: {one_line(text, 80)!r}", source="keys", suggestion=_HELP
            )
        if verb == "deploy" and namespace == LIBRARY:
            raise UsageError(
                "EINVAL", "nobody deploys to the library", source="keys", suggestion=_HELP
            )
        return cls(verb, target)

    @property
    def text(self) -> str:
        return f"{self.verb}:{self.target}"

    @property
    def namespace(self) -> str:
        """The namespace that it is about, empty for all."""
        return "" if self.target == EVERYTHING else self.target.partition("/")[0]

    def covers(self, namespace: str, name: str) -> bool:
        """Whether it is about this capability; the name `*` asks about all of the namespace."""
        return self.target in (EVERYTHING, f"{namespace}/{EVERYTHING}", f"{namespace}/{name}")


def defaults(kind: str, namespace: str) -> tuple[str, ...]:
    """The scopes of a token that was asked for without any: all that its namespace sees, and for a
    deploy token all that is its own.
    """
    return (f"deploy:{namespace}/*", "run:*") if kind == "deploy" else ("run:*",)


def namespace_of(scopes: Sequence[str], given: str, agent: str) -> str:
    """The namespace of a token: the one given, else the one that it may deploy to or that all its
    scopes are about, else the agent's.
    """
    if len(scopes) > SCOPES_MOST:
        raise UsageError("EINVAL", f"at most {SCOPES_MOST} scopes", source="keys")
    read = [Scope.parse(scope) for scope in scopes]
    deploys = [scope for scope in read if scope.verb == "deploy"]
    named = {scope.namespace for scope in deploys or read} - {LIBRARY}
    namespace = given or (named.pop() if len(named) == 1 else "") or agent
    if given and not is_name(given):
        raise UsageError(
            "EINVAL",
            f"no namespace: {one_line(given, 80)!r}",
            source="keys",
            suggestion="lower-case words joined by hyphens",
        )
    return namespace
