"""Reads what a person's words ask about teammates: who there is, what one is doing, and to stop
one. Starting one needs a language model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from functions.agent.model.offline_talk import strip_opening
from functions.texts.en import TEXTS as ENGLISH
from functions.texts.en import Texts
from sigil.json_fields import as_mapping, as_sequence
from sigil.protocol import Json, tool_of

LIST: Final = "list-teammates"
SHUT_DOWN: Final = "shutdown-request"
LIST_AGENTS: Final = "list-agents"
STOP_AGENT: Final = "stop-agent"
"""The capabilities that it uses, by the names of `functions/agent/services`."""
TOOLS: Final = frozenset(map(tool_of, (LIST, SHUT_DOWN, LIST_AGENTS, STOP_AGENT)))
_NAME: Final = r"(?P<name>[a-z][a-z0-9-]{1,31})"
_NOW: Final = r"(?: right now| now| just now| gerade| jetzt| at the moment| im moment)?"
_NO_NAMES: Final = frozenset(
    "all bot da das der die du er es everybody everyone he here ich ihr it man me music now she"
    " sie that the there they this we wir you".split()
)
"""Words that stand where a name could, and are none."""
_LIST: Final = (
    rf"who(?:'s| is| are)(?: all)? (?:on|in) (?:the|my|our) team{_NOW}",
    r"who are (?:my|the|our) teammates|who is (?:working|idle)",
    rf"(?:please )?(?:show|list)(?: me)? (?:all )?(?:(?:the|my|our) )?(?:team|teammates){_NOW}",
    rf"what(?:'s| is| are) (?:everybody|everyone|the team|(?:the|my|our) teammates) doing{_NOW}",
    rf"wer (?:ist|arbeitet)(?: alles)? (?:im|in meinem|in unserem) team{_NOW}|wer arbeitet{_NOW}",
    rf"(?:bitte )?zeige?(?: mir)? (?:das|mein|unser) team{_NOW}",
    rf"was machen? (?:das team|alle|die teammitglieder){_NOW}",
    r"(?:团队|队)(?:里|中)?(?:现在|都)*有(?:谁|哪些人|什么人)|谁在(?:团队|队)(?:里|中)",
    r"(?:请|帮我)?(?:显示|列出|看看|查看)(?:我的|所有的?)?(?:团队|队友|团队成员)|团队成员(?:有谁|有哪些)?",
)
_DOING: Final = (
    rf"what(?:'s| is) {_NAME} (?:doing|working on|up to|busy with){_NOW}",
    rf"was (?:macht|tut) {_NAME}{_NOW}|woran arbeitet (?P<other>[a-z][a-z0-9-]{{1,31}}){_NOW}",
    rf"{_NAME}\s*(?:现在|正)?在(?:做什么|干什么|忙什么|干嘛|做啥|干啥)",
)
_STOP: Final = (
    rf"(?:please )?(?:stop|dismiss|shut down) (?:the |my )?(?:teammate )?{_NAME}(?: please|{_NOW})",
    rf"(?:bitte )?(?:stoppe?|entlasse) (?:das teammitglied )?{_NAME}(?: bitte|{_NOW})",
    rf"(?:请|帮我)?(?:停止|停掉|停下|关掉|解散)(?:队友)?\s*{_NAME}",
)
Kind = Literal["list", "doing", "stop"]
_SOURCES: Final[Mapping[Kind, tuple[str, ...]]] = {"list": _LIST, "doing": _DOING, "stop": _STOP}
_PATTERNS: Final = {
    kind: tuple(re.compile(pattern, re.IGNORECASE) for pattern in patterns)
    for kind, patterns in _SOURCES.items()
}


@dataclass(frozen=True, slots=True)
class TeamWish:
    """What somebody wants to know or to do: to `list` the team, to read what one is `doing`, or to
    `stop` one, by the name.
    """

    kind: Kind
    name: str = ""


def find_wish(words: str) -> TeamWish | None:
    """Return what somebody wants of the team; None for nothing."""
    bare = strip_opening(words).strip().rstrip(" .?!。？！")
    if not bare or "\n" in bare:
        return None
    for kind, patterns in _PATTERNS.items():
        for pattern in patterns:
            found = pattern.fullmatch(bare)
            if found is None:
                continue
            parts = found.groupdict()
            name = (parts.get("name") or parts.get("other") or "").lower()
            if name not in _NO_NAMES:
                return TeamWish(kind, name)
    return None


def plan_step(
    wish: TeamWish, answered: Mapping[str, Json], texts: Texts
) -> str | tuple[str, dict[str, Json]]:
    """Return the answer to a wish, or the capability to call next and its arguments.

    `answered` is what was called by now, by the names of the tools, and what that returned.
    """
    if tool_of(SHUT_DOWN) in answered:
        return texts.team_stopping.format(names=wish.name)
    if tool_of(STOP_AGENT) in answered:
        state = str(as_mapping(answered[tool_of(STOP_AGENT)]).get("state"))
        shown = texts.agent_states.get(state, state)
        return texts.agents_changed.format(name=wish.name, state=shown)
    if tool_of(LIST) not in answered:
        return LIST, {}
    roster = str(answered[tool_of(LIST)])
    if roster == ENGLISH.team_none:
        roster = texts.team_none
    if wish.kind == "list":
        return roster
    member = _find_line(wish.name, roster)
    if wish.kind == "doing":
        return member or texts.team_unknown.format(name=wish.name)
    if member:
        return SHUT_DOWN, {"teammate": wish.name}
    if tool_of(LIST_AGENTS) not in answered:
        return LIST_AGENTS, {}
    agents = as_sequence(as_mapping(answered[tool_of(LIST_AGENTS)]).get("items"))
    if any(as_mapping(agent).get("name") == wish.name for agent in agents):
        return STOP_AGENT, {"name": wish.name}
    return texts.team_unknown.format(name=wish.name)


def _find_line(name: str, roster: str) -> str:
    """Return the line of a teammate; empty where there is none."""
    lines = roster.splitlines()[1:]
    return next((line.strip() for line in lines if line.split()[:1] == [name]), "")
