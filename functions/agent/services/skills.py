"""The service `read-skill` reads on in a skill: the rest of its text, or one of its files."""

from __future__ import annotations

from functions.agent.services.call_context import Arguments, CallContext, read_text
from functions.agent.skills.result import PART_CHARACTERS, find_end
from functions.agent.skills.skill import FILE, PREFIX, is_skill_name, split_front
from sigil.errors import UsageError, one_line
from sigil.protocol import Json


def read_skill(context: CallContext, arguments: Arguments) -> Json:
    """Return a part of a skill's text or of one of its files, and where to read on."""
    name = read_text(arguments, "name")
    begin = arguments.get("from", 0)
    if not isinstance(begin, int) or isinstance(begin, bool) or begin < 0:
        raise UsageError("EINVAL", "from is a whole number from 0", suggestion="take next_from")
    skills = context.app.skills
    may_find = context.gate.decide("find", f"{PREFIX}{name}").effect == "allow"
    doc = skills.read_many([name])[0] if is_skill_name(name) and may_find else None
    if doc is None or not doc.text:
        hint = "search with sigil_query for what the task is about"
        raise UsageError("ENOENT", f"there is no skill {one_line(name, 64)!r}", suggestion=hint)
    path = read_text(arguments, "path")
    if path in ("", FILE):
        text = split_front(doc.text)[1]
    else:
        try:
            text = skills.read_file(doc, path).decode("utf-8-sig")
        except UnicodeDecodeError:
            hint = "a file of another form can only be exported, by an owner"
            raise UsageError("EINVAL", f"{path} is no text", suggestion=hint) from None
    if begin and begin >= len(text):
        raise UsageError("EINVAL", f"from is beyond its {len(text):,} characters")
    end = find_end(text, PART_CHARACTERS, begin)
    part: dict[str, Json] = {"skill": name, "version": doc.version}
    if path:
        part["path"] = path
    part |= {"characters": len(text), "from": begin}
    if end < len(text):
        part["next_from"] = end
    return {**part, "text": text[begin:end]}
