"""Documents written without a language model: lists, not understanding, and always labelled so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import orjson

from functions.agent.conversation.messages import ToolCall
from functions.agent.memory.documents import CAPS
from functions.agent.model.base import NO_MEMORY, SAVE_MEMORY, ModelRequest
from functions.agent.model.offline_corrections import correct_note, is_same_attribute
from functions.agent.model.offline_memory import find_note
from sigil.errors import one_line

SAID_CHARACTERS = 200
ENTRY_CHARACTERS = 2_000
HEAD = "# Memory"
_LINE = re.compile(
    r"\[(\d{4}-\d{2}-\d{2} \d{2}:\d{2})\] (USER|ASSISTANT|TOOL)((?: \([^:]*\))?)(?: \[tools:"
    r" ([^\]]*)\])?: ?(.*)",
    re.ASCII,
)
_NOT_OWN = re.compile(r"(?:<<|‹‹)(GROUP|QUOTED)(?:>>|››).*?(?:<<|‹‹)/\1(?:>>|››)\s*", re.DOTALL)
"""What others said, above the words of the person who points at it."""
_PERSONALITY = re.compile(r"^##[ \t]+Personality[ \t]*$", re.MULTILINE | re.IGNORECASE)


def answer_request(request: ModelRequest) -> str | ToolCall | None:
    """Return the answer to a request beside the conversation; None for any other request."""
    text = str(request.messages[-1].get("content") or "") if len(request.messages) == 2 else ""
    if text.startswith("<<SOUL.md>>\n"):
        return merge_soul(_read_section("SOUL.md", text), _read_section("USER INSTRUCTIONS", text))
    if text.startswith("<<TRANSCRIPT>>\n"):
        return ""
    if not text.startswith("<<MEMORY>>\n"):
        return None
    memory = _read_section("MEMORY", text)
    if not request.tools:
        return shorten_memory(memory)
    before = "" if memory == NO_MEMORY else memory
    update = {
        "history_entry": write_entry(_read_section("TRANSCRIPT", text)),
        "memory_update": update_memory(before, _read_section("TRANSCRIPT", text)) or NO_MEMORY,
    }
    return ToolCall("call_memory", SAVE_MEMORY, orjson.dumps(update).decode())


def merge_soul(soul: str, words: str) -> str:
    """Return a soul with somebody's words as one more trait under Personality."""
    trait = f"- {one_line(words, SAID_CHARACTERS)}"
    if trait in soul.split("\n"):
        return soul
    found = _PERSONALITY.search(soul)
    if found is None:
        return f"{soul}\n\n## Personality\n{trait}".strip()
    end = soul.find("\n## ", found.end())
    if end < 0:
        return f"{soul.rstrip()}\n{trait}"
    return f"{soul[:end].rstrip()}\n{trait}\n{soul[end:]}"


def write_entry(transcript: str) -> str:
    """Return an entry of HISTORY: who said what, in order."""
    messages = list(_parse_transcript(transcript))
    spoken: list[str] = []
    called: set[str] = set()
    for message in messages:
        called.update(filter(None, message.tools.split(", ")))
        if message.role == "USER" and message.text:
            own = _NOT_OWN.sub("", message.text).strip() or message.text
            text = one_line(" ".join(own.split()), SAID_CHARACTERS)
            spoken.append(f"{message.name}: “{text}”" if message.name else f"“{text}”")
    began = f"[{messages[0].time}] " if messages else ""
    count = "1 message" if len(messages) == 1 else f"{len(messages)} messages"
    quotes = "; ".join(spoken)[:ENTRY_CHARACTERS] or "nothing"
    used = f" Tools that were called: {', '.join(sorted(called))}." if called else ""
    return f"{began}Listed by the offline model, {count}. Said: {quotes}.{used}"


def update_memory(memory: str, transcript: str) -> str:
    """Return the memory with a new line for each line that somebody began with “remember”."""
    notes: list[str] = []
    for message in _parse_transcript(transcript):
        if message.role == "USER":
            # nobody has something remembered by what another person wrote
            for line in _NOT_OWN.sub("", message.text).split("\n"):
                _take_line(notes, line)
    known = memory.split("\n") if memory else [HEAD, ""]
    kept = []
    for line in known:
        if not any(is_same_attribute(line.removeprefix("- "), note) for note in notes):
            kept.append(line)
    news = [f"- {one_line(note)}" for note in notes]
    fresh = [line for line in dict.fromkeys(news) if line not in kept]
    return "\n".join([*kept, *fresh]) if fresh or kept != known else memory


def _take_line(notes: list[str], line: str) -> None:
    """Add a line to the notes when it is one, in the place of what it corrects."""
    note = find_note(line)
    if note:
        notes[:] = [each for each in notes if not is_same_attribute(each, note)]
        notes.append(note)
        return
    corrected = correct_note(notes, line)
    if corrected:
        place, sentence = corrected
        notes[place] = sentence


def shorten_memory(memory: str) -> str:
    """Return the memory without its oldest points, so that a quarter of its room is free."""
    lines = list(dict.fromkeys(memory.split("\n")))
    head = [line for line in lines if not line.startswith("- ")]
    points = [line for line in lines if line.startswith("- ")]
    room = CAPS["memory"] * 3 // 4 - sum(map(len, head)) - len(head)
    while points and sum(map(len, points)) + len(points) > room:
        points.pop(0)
    return "\n".join([*head, *points])


class _TranscriptMessage(NamedTuple):
    time: str
    role: str
    name: str
    tools: str
    text: str


def _parse_transcript(transcript: str) -> Iterator[_TranscriptMessage]:
    for block in re.split(r"\n(?=\[)", transcript):
        found = _LINE.match(block)
        if found:
            time, role, name, tools, first = (found[number] or "" for number in range(1, 6))
            text = first + block[found.end() :]
            yield _TranscriptMessage(time, role, name.strip(" ()"), tools, text)


def _read_section(name: str, text: str) -> str:
    return text.partition(f"<<{name}>>\n")[2].partition(f"\n<</{name}>>")[0].strip()
