"""A template of a teammate is a file: its role, what it begins with, and below that its prompt.

The head is TOML between two lines of `+++`, as that of a behaviour is.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from functions.agent.agents.identity import NO_ROLE, clean_role
from functions.agent.team.examples import EXAMPLES
from sigil.errors import UsageError, one_line

FENCE: Final = "+++"
TEMPLATE_CHARACTERS: Final = 20_000
HINT: Final = 'such as role = "coder"'


@dataclass(frozen=True, slots=True)
class Template:
    """A teammate as a file describes it, in the words of `Order`."""

    prompt: str
    role: str = NO_ROLE
    bundle: tuple[str, ...] = ()
    model: str = ""
    stay: bool = False
    recall: bool = False

    def format(self) -> str:
        """Return the file."""
        head = [f"role = {_quote(self.role)}"]
        if self.bundle:
            head.append(f"bundle = [{', '.join(map(_quote, self.bundle))}]")
        if self.model:
            head.append(f"model = {_quote(self.model)}")
        head += [f"{name} = true" for name in ("stay", "recall") if getattr(self, name)]
        return "\n".join((FENCE, *head, FENCE, self.prompt.strip(), ""))


def parse_template(text: str) -> Template:
    """Return the teammate that a file describes; `UsageError` EINVAL, which says what is wrong."""
    if len(text) > TEMPLATE_CHARACTERS:
        raise _fault(f"it has {len(text):,} characters", f"at most {TEMPLATE_CHARACTERS:,}")
    lines = text.strip().splitlines()
    head: Mapping[str, object] = {}
    prompt = text.strip()
    if lines and lines[0].rstrip() == "---":
        raise _fault("its head is YAML", "write it as TOML between two lines of +++")
    if lines and lines[0].rstrip() == FENCE:
        ends = [number for number, line in enumerate(lines) if number and line.rstrip() == FENCE]
        if not ends:
            raise _fault("its head has no end", "close it with a line of +++")
        try:
            head = tomllib.loads("\n".join(lines[1 : ends[0]]))
        except (tomllib.TOMLDecodeError, RecursionError) as problem:
            raise _fault(f"its head is no TOML: {one_line(str(problem), 200)}", HINT) from None
        prompt = "\n".join(lines[ends[0] + 1 :]).strip()
    unknown = sorted(set(head) - {"role", "bundle", "model", "stay", "recall"})
    if unknown:
        known = "there are role, bundle, model, stay and recall"
        raise _fault(f"there is no {one_line(unknown[0], 40)!r}", known)
    if not prompt:
        raise _fault("it has no prompt", "write below the head what the teammate is to do")
    bundle = head.get("bundle", [])
    if not isinstance(bundle, list) or not all(isinstance(each, str) for each in bundle):
        raise _fault("bundle is no list of names", 'such as bundle = ["files"]')
    return Template(
        prompt,
        clean_role(_read_text(head, "role")) or NO_ROLE,
        tuple(bundle),
        _read_text(head, "model"),
        stay=_read_flag(head, "stay"),
        recall=_read_flag(head, "recall"),
    )


def find_example(name: str) -> Template | None:
    """Return one of the teammates that come with the agent, None when there is none of the name."""
    text = EXAMPLES.get(name)
    return parse_template(text) if text else None


def _read_text(head: Mapping[str, object], name: str) -> str:
    value = head.get(name, "")
    if not isinstance(value, str):
        raise _fault(f"{name} is no text", HINT)
    return value


def _read_flag(head: Mapping[str, object], name: str) -> bool:
    value = head.get(name, False)
    if not isinstance(value, bool):
        raise _fault(f"{name} is neither true nor false", f"such as {name} = true")
    return value


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _fault(what: str, hint: str) -> UsageError:
    return UsageError("EINVAL", f"the file of a teammate: {what}", suggestion=hint)
