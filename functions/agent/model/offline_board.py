"""Reads what a person's words ask of the board of tasks: to add one, to list them, to end one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from functions.agent.model.offline_talk import strip_opening
from functions.texts.en import Texts
from sigil.json_fields import as_mapping, as_sequence, as_string
from sigil.protocol import Json, tool_of

CREATE, UPDATE, LIST, GET = "create-task", "update-task", "list-tasks", "get-task"
"""The capabilities of the board, by the names of `functions/agent/services/board.py`."""
TOOLS: Final = frozenset(map(tool_of, (CREATE, UPDATE, LIST, GET, "claim-task")))
LISTED_MOST: Final = 50
SUBJECT_CHARACTERS: Final = 200
MARKS: Final[Mapping[str, str]] = {
    "pending": "[ ]",
    "in_progress": "[>]",
    "completed": "[x]",
    "stuck": "[!]",
    "dropped": "[-]",
}
"""The marks of `/tasks`."""
_PLEASE: Final = r"(?:please |bitte |请|帮我|请帮我)?"
_ON_LIST: Final = r"(?:the|my|our) (?:board|task board|task list|to-?do list|list of tasks|todos?)"
_BOARD_DE: Final = r"(?:board|taskboard|aufgabenbrett|aufgabenliste)"
_BOARD_ZH: Final = r"(?:任务板|看板|任务列表|待办清单|待办)"
_NUMBER: Final = (
    r"(?:(?:task|todo|aufgabe|任务)\s*)?(?:nr\.?\s*|number\s+|nummer\s+)?#?(?P<id>\d{1,8})"
)
_ADD: Final = (
    rf"{_PLEASE}(?:add|create|make|put up) (?:a |another |the )?(?:new )?(?:task|todo|to-do)"
    rf"(?: (?:to|on) {_ON_LIST})?\s*(?:[:：]\s*|called\s+|named\s+)(?P<subject>.+)",
    rf"{_PLEASE}(?:add|create|make) (?:a |another )?(?:new )?(?:task|todo|to-do)"
    rf"(?: (?:to|on) {_ON_LIST})? (?:for|to|about) (?!remind|wake|me\b|you\b)(?P<subject>.+)",
    rf"{_PLEASE}(?:new task|task|todo)\s*[:：]\s*(?P<subject>.+)",
    rf"{_PLEASE}(?:add|put)\s+(?P<subject>.+?)\s+(?:to|on)\s+{_ON_LIST}",
    rf"{_PLEASE}(?:neue aufgabe|aufgabe)\s*[:：]\s*(?P<subject>.+)",
    rf"{_PLEASE}(?:füge?|lege?)(?: bitte)? (?:eine )?(?:neue )?aufgabe"
    rf"(?: (?:zum|zur|auf dem|auf der) {_BOARD_DE})? (?:hinzu|an)\s*[:：]\s*(?P<subject>.+)",
    rf"{_PLEASE}(?:erstelle?|lege?)(?: bitte)? (?:eine )?(?:neue )?aufgabe"
    r"(?:\s*[:：]\s*| für | namens )(?P<subject>.+?)(?: an)?",
    rf"{_PLEASE}(?:setze?|schreibe?)\s+(?P<subject>.+?)\s+auf (?:die|das|meine) {_BOARD_DE}",
    rf"{_PLEASE}(?:在{_BOARD_ZH}(?:上|里|中)?)?(?:添加|新建|创建|加|记)(?:一个|个|一条)?(?:新的?)?"
    r"(?:任务|待办)\s*[:：,，]?\s*(?P<subject>.+)",
    rf"{_PLEASE}(?:添加|新建|创建|加)(?:一个|个|一条)(?P<subject>.+?)的(?:任务|待办)",
    rf"{_PLEASE}把(?P<subject>.+?)(?:加到|加入|记到|放到|添加到){_BOARD_ZH}(?:上|里|中)?",
)
_DONE: Final = (
    rf"{_NUMBER} (?:is|has been) (?:done|finished|completed)",
    rf"{_PLEASE}(?:mark|set) {_NUMBER} (?:as )?(?:done|finished|completed)",
    rf"{_PLEASE}(?:finish|complete|tick off|check off|close) (?:task|todo) #?(?P<id>\d{{1,8}})",
    r"(?:task|todo) #?(?P<id>\d{1,8}) done",
    r"aufgabe (?:nr\.?\s*)?#?(?P<id>\d{1,8}) ist (?:erledigt|fertig)",
    rf"{_PLEASE}(?:hake?|erledige?) aufgabe #?(?P<id>\d{{1,8}})(?: ab)?",
    r"(?:任务\s*#?(?P<id>\d{1,8})|#?(?P<other>\d{1,8})\s*号任务)\s*(?:已经?)?"
    r"(?:完成|做完|搞定|弄好)了?",
    rf"{_PLEASE}(?:完成|勾掉)任务\s*#?(?P<id>\d{{1,8}})",
)
_DROP: Final = (
    rf"{_PLEASE}(?:drop|cancel|delete|remove) (?:task|todo) #?(?P<id>\d{{1,8}})",
    rf"{_PLEASE}(?:streiche?|lösche?) aufgabe #?(?P<id>\d{{1,8}})",
    rf"{_PLEASE}(?:取消|删除|划掉)(?:任务\s*#?(?P<id>\d{{1,8}})|(?P<other>\d{{1,8}})\s*号任务)",
)
_LIST: Final = (
    rf"what(?:'s| is) (?:still )?(?:on|left on|left to do on) {_ON_LIST}",
    r"what (?:is|are) (?:my|our|the) (?:open )?(?:tasks|todos|to-dos)",
    r"(?:what|which) (?:open )?tasks (?:are there|are open|do (?:i|we) have|are left)",
    rf"{_PLEASE}(?:show|list)(?: me)? (?:(?:all|the|my|our|open) )*"
    r"(?:tasks|todos|board|task board|to-?do list|task list)(?: on the board)?",
    r"my tasks|open tasks",
    r"(?:welche|was für) (?:offenen )?aufgaben (?:gibt es|habe ich|haben wir|sind offen)(?: noch)?",
    rf"{_PLEASE}zeige?(?: mir)? (?:alle |die |meine |offenen )*aufgaben",
    rf"{_PLEASE}zeige?(?: mir)? (?:das|die|unser|mein) {_BOARD_DE}",
    rf"was (?:steht|ist) auf (?:dem|der|meiner|unserem) {_BOARD_DE}|meine aufgaben|offene aufgaben",
    rf"{_BOARD_ZH}(?:上|里)?(?:还)?有(?:什么|哪些)(?:任务)?",
    r"(?:还)?有(?:哪些|什么)(?:任务|待办)(?:没做)?",
    rf"{_PLEASE}(?:列出|看看|显示|查看)(?:所有的?|我的)?(?:任务|{_BOARD_ZH})",
    r"我的任务|任务列表",
)
_SHOW: Final = (
    rf"{_PLEASE}show(?: me)? (?:task|todo) #?(?P<id>\d{{1,8}})",
    r"what is (?:task|todo) #?(?P<id>\d{1,8})(?: about)?",
    rf"{_PLEASE}zeige?(?: mir)? aufgabe #?(?P<id>\d{{1,8}})",
    rf"{_PLEASE}(?:看看|查看|显示)(?:任务\s*#?(?P<id>\d{{1,8}})|(?P<other>\d{{1,8}})\s*号任务)",
)
_AFTER: Final = re.compile(
    r"\b(?:after|nach|blocked by|waits? for|wartet auf)\s*(?:(?:tasks?|aufgaben?)\s*)?#\s*\d"
    r"|\b(?:after tasks?|nach aufgaben?)\s*\d"
    r"|(?:任务\s*#?|#)\s*\d+\s*(?:完成|做完|结束)?(?:之后|以后|后)",
    re.IGNORECASE,
)
Kind = Literal["add", "done", "drop", "list", "show"]
_SOURCES: Final[Mapping[Kind, tuple[str, ...]]] = {
    "list": _LIST,
    "show": _SHOW,
    "done": _DONE,
    "drop": _DROP,
    "add": _ADD,
}
_PATTERNS: Final = {
    kind: tuple(re.compile(pattern, re.IGNORECASE) for pattern in patterns)
    for kind, patterns in _SOURCES.items()
}
_SERVICES: Final[Mapping[Kind, str]] = {
    "add": CREATE,
    "done": UPDATE,
    "drop": UPDATE,
    "list": LIST,
    "show": GET,
}


@dataclass(frozen=True, slots=True)
class TaskWish:
    """What somebody wants of the board: to `add` a task with this subject, to `list` all, or to
    `show` one, or to say that it is `done` or `drop` it, by its number.
    """

    kind: Kind
    subject: str = ""
    number: int = 0

    @property
    def service(self) -> str:
        """Return the capability that does it."""
        return _SERVICES[self.kind]

    @property
    def is_after_another(self) -> bool:
        """Return whether it is a task that shall wait for another one: only `/tasks` reads that."""
        return self.kind == "add" and bool(_AFTER.search(self.subject))

    @property
    def arguments(self) -> dict[str, Json]:
        """Return the arguments of its call."""
        if self.kind == "add":
            return {"subject": self.subject, "personal": True}
        if self.kind == "list":
            return {}
        status = {"done": "completed", "drop": "dropped"}.get(self.kind)
        return {"task_id": self.number, **({"status": status} if status else {})}


def find_wish(words: str) -> TaskWish | None:
    """Return what somebody wants of the board; None for nothing."""
    plain = strip_opening(words).strip()
    bare = plain.rstrip(" .?!。？！")
    if not bare or "\n" in bare:
        return None
    for kind, patterns in _PATTERNS.items():
        for pattern in patterns:
            found = pattern.fullmatch(bare)
            if found is None:
                continue
            parts = found.groupdict()
            subject = (parts.get("subject") or "").strip(" \"'“”")
            number = parts.get("id") or parts.get("other")
            if kind == "add" and (not subject or len(subject) > SUBJECT_CHARACTERS):
                return None
            return TaskWish(kind, subject, int(number or 0))
    return None


def describe_answer(wish: TaskWish, result: Json, texts: Texts) -> str:
    """Return what became of a wish, in words."""
    fields = as_mapping(result)
    if wish.kind == "list":
        rows = [as_mapping(row) for row in as_sequence(fields.get("items"))]
        if not rows:
            return texts.tasks_none
        return "\n".join(_describe_row(row) for row in rows[:LISTED_MOST])
    if wish.kind == "show":
        lines = [_describe_row(fields)]
        lines += [as_string(fields.get(name)) for name in ("description", "report", "why")]
        return "\n".join(filter(None, lines))
    pattern = {
        "add": texts.task_added,
        "done": texts.task_is_done,
        "drop": texts.task_is_dropped,
    }[wish.kind]
    said = pattern.format(id=fields.get("id"), subject=as_string(fields.get("subject")))
    freed = [f"#{number}" for number in as_sequence(fields.get("unblocked"))]
    return f"{said}\n{texts.task_frees.format(tasks=', '.join(freed))}" if freed else said


def _describe_row(row: Mapping[str, Json]) -> str:
    """Return the line of a task, as `/tasks` has it."""
    owner = as_string(row.get("owner"))
    line = f"  {MARKS.get(as_string(row.get('status')), '[ ]')} #{row.get('id')}: "
    return f"{line}{as_string(row.get('subject'))}{f' @{owner}' if owner else ''}"
