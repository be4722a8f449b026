"""What can be done without a language model when a document is to be written: lists, not
understanding, and always said to be that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import orjson

from functions.agent.memory.documents import CAPS
from functions.agent.messages import ToolCall
from functions.agent.model.base import NO_MEMORY, SAVE_MEMORY, Request
from sigil.errors import one_line

SAID_CHARACTERS = 200
ENTRY_CHARACTERS = 2_000
HEAD = "# Memory"
_LINE = re.compile(
    r"\[(\d{4}-\d{2}-\d{2} \d{2}:\d{2})\] (USER|ASSISTANT|TOOL)((?: \([^:]*\))?)(?: \[tools:"
    r" ([^\]]*)\])?: ?(.*)",
    re.ASCII,
)
_TO_KEEP = re.compile(
    r"\s*(?:(?:please\s+)?remember\b(?:\s+that\b)?|请?记住)[\s:：,，]*(\S.*)", re.IGNORECASE
)
_PERSONALITY = re.compile(r"^##[ \t]+Personality[ \t]*$", re.MULTILINE | re.IGNORECASE)


def answer(request: Request) -> str | ToolCall | None:
    """The answer to a request beside the conversation; None when it is none of those."""
    text = str(request.messages[-1].get("content") or "") if len(request.messages) == 2 else ""
    if text.startswith("<<SOUL.md>>\n"):
        return merged(_part("SOUL.md", text), _part("USER INSTRUCTIONS", text))
    if text.startswith("<<TRANSCRIPT>>\n"):
        return ""
    if not text.startswith("<<MEMORY>>\n"):
        return None
    memory = _part("MEMORY", text)
    if not request.tools:
        return shortened(memory)
    kept = "" if memory == NO_MEMORY else memory
    update = {
        "history_entry": entry(_part("TRANSCRIPT", text)),
        "memory_update": kept_of(kept, _part("TRANSCRIPT", text)) or NO_MEMORY,
    }
    return ToolCall("call_memory", SAVE_MEMORY, orjson.dumps(update).decode())


def merged(soul: str, words: str) -> str:
    """A soul with somebody's words as one more trait under Personality."""
    trait = f"- {one_line(words, SAID_CHARACTERS)}"
    if trait in soul.split("\n"):
        return soul
    found = _PERSONALITY.search(soul)
    if found is None:
        return f"{soul}\n\n## Personality\n{trait}".strip()
    head, rest = soul[: found.end()], soul[found.end() :]
    end = rest.find("\n## ")
    section, after = (rest, "") if end < 0 else (rest[:end], rest[end:])
    return f"{head}{section.rstrip()}\n{trait}{after and chr(10)}{after}"


def entry(said: str) -> str:
    """An entry of HISTORY: who said what, in order."""
    lines = list(_lines(said))
    words = (
        (who, one_line(" ".join(text.split()), SAID_CHARACTERS))
        for _, role, who, _, text in lines
        if role == "USER" and text
    )
    spoken = [f"{who}: “{text}”" if who else f"“{text}”" for who, text in words]
    called = sorted({name for _, _, _, names, _ in lines for name in names.split(", ") if name})
    told = "; ".join(spoken)[:ENTRY_CHARACTERS]
    used = f" Tools that were called: {', '.join(called)}." if called else ""
    began = f"[{lines[0][0]}] " if lines else ""
    count = "1 message" if len(lines) == 1 else f"{len(lines)} messages"
    return f"{began}Listed by the offline model, {count}. Said: {told or 'nothing'}.{used}"


def kept_of(memory: str, said: str) -> str:
    """The memory with one more line for each that somebody began with “remember”."""
    news = [
        f"- {one_line(found[1])}"
        for _, role, _, _, text in _lines(said)
        if role == "USER"
        for found in _asked(text)
    ]
    known = memory.split("\n") if memory else [HEAD, ""]
    fresh = [line for line in dict.fromkeys(news) if line not in known]
    return "\n".join([*known, *fresh]) if fresh else memory


def noted(said: str) -> str:
    """What somebody wants to be remembered, when that is what they say first; else empty."""
    found = _TO_KEEP.fullmatch(said.partition("\n")[0])
    return found[1] if found else ""


def shortened(memory: str) -> str:
    """The memory without its oldest points, until a quarter of its room is free."""
    lines = list(dict.fromkeys(memory.split("\n")))
    head = [line for line in lines if not line.startswith("- ")]
    points = [line for line in lines if line.startswith("- ")]
    while points and sum(map(len, points)) + len(points) > CAPS["memory"] * 3 // 4 - sum(
        map(len, head)
    ) - len(head):
        points.pop(0)
    return "\n".join([*head, *points])


def _lines(said: str) -> Iterator[tuple[str, str, str, str, str]]:
    """(time, role, name, tools, content) of each message in a transcript."""
    for block in re.split(r"\n(?=\[)", said):
        if found := _LINE.match(block):
            stamp, role, who, tools, first = (found[number] or "" for number in range(1, 6))
            yield stamp, role, who.strip(" ()"), tools, first + block[found.end() :]


def _asked(text: str) -> Iterator[re.Match[str]]:
    return filter(None, map(_TO_KEEP.fullmatch, text.split("\n")))


def _part(name: str, text: str) -> str:
    return text.partition(f"<<{name}>>\n")[2].partition(f"\n<</{name}>>")[0].strip()
