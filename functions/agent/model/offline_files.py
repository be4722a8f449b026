"""Reads what a person's words ask of the files: to save a text, to show one of them, what changed
in it, or which there are.

The offline model has this instead of understanding. A file is named by a name with an ending that
texts have, so that no other word is taken for one. What stands before and behind the name is looked
at in short pieces: a pattern over a whole message would take hours for one made for it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from functions.agent.model.offline_talk import strip_opening
from functions.texts.en import Texts
from sigil.json_fields import as_integer, as_mapping, as_sequence, as_string
from sigil.protocol import Json, tool_of

WRITE, READ, EDIT = "write-file", "read-file", "edit-file"
LIST, DIFF = "list-files", "diff-file"
TOOLS: Final = frozenset(map(tool_of, (WRITE, READ, EDIT, LIST, DIFF)))
CHANGE_CHARACTERS: Final = 420
NEAR_CHARACTERS: Final = 80
"""What says that a name is that of a file to save or show stands so near to it."""
_PATH = re.compile(
    r"(?<![\w./:-])(?:[\w.-]{1,40}/){0,6}[\w.-]{0,60}?\w\.(?:md|txt|csv|tsv|json|log|ya?ml|toml|ini"
    r"|html?|xml|py|js|ts|sql|rst|tex|sh|css)(?![A-Za-z0-9_])",
)
_CHINESE_VERB = re.compile(
    r"(?:(?:请|帮我)*把|看看|看一下|读一下|念一下|查看|打开|显示|[\u4e00-\u9fff]*[成为到进入])"
)
"""What Chinese writes before a name without a space."""
_PLEASE = r"(?:please |can you |could you |bitte |请|帮我|麻烦)*"
_FILE = (
    r"(?:(?:a |the |my |our |this )?(?:new |text )*(?:file|document|note) (?:named |called )?"
    r"|(?:die |eine |der )?(?:neue )?(?:datei|notiz) |一?个?新?的?(?:文件|文档) ?)?"
)
_SHOW_BEFORE = re.compile(
    rf"{_PLEASE}(?:(?:show|read|open|print|display|give)(?: me)?(?: what(?:'s| is) in)?"
    r"|what(?:'s| is)(?: written)? in|(?:zeige?|lies|öffne)(?: mir)?|was steht in"
    rf"|看看|看一下|读一下|读|念一下|打开|显示|查看) ?{_FILE}",
    re.IGNORECASE,
)
_SHOW_AFTER = re.compile(r"(?: vor)?(?: ?[里中]面?)?(?:都?写了什么|有什么|的内容)?[\s?？.。!！]*")
_ASKED_BEFORE = re.compile(rf"(?:what does )?{_FILE}", re.IGNORECASE)
_ASKED_AFTER = re.compile(
    r"(?: (?:say|contain)| ?[里中]面?(?:都?写了|都?有)什么)[\s?？.。!！]*", re.IGNORECASE
)
_COMPARE_BEFORE = re.compile(
    rf"(?:what(?:'s| has| is)? (?:changed|new|different) in |was hat sich in "
    rf"|{_PLEASE}compare versions? (\d{{1,8}}) (?:and|with|to) (\d{{1,8}}) of )?{_FILE}",
    re.IGNORECASE,
)
_COMPARE_AFTER = re.compile(
    r"(?: geändert| ?(?:都?改了什么|有什么改动|哪里改了))?[\s?？.。!！]*", re.IGNORECASE
)
_SAVE_BEFORE = re.compile(
    rf"{_PLEASE}(?:(?:save|store|write)(?: (?:this|it|the following|the text))?"
    r"(?: (?:as|to|into|in|under))?|(?:make|create|start)"
    r"|(?:speichere?|sichere|schreibe?)(?: das)? (?:als|unter|in)"
    rf"|(?:保存|存|写)(?:成|为|到|进|入)?|(?:新建|创建|建)) ?{_FILE}",
    re.IGNORECASE,
)
_CONTENT = re.compile(
    r"(?: ?[里中]面?)?\s*(?:[:：,，\n]|with(?: the (?:text|content))?\b|that says\b|saying\b"
    r"|containing\b)\s*(?:内容(?:是|为)?\s*[:：]?\s*)?",
    re.IGNORECASE,
)
_SAVE_BEGIN = re.compile(
    rf"{_PLEASE}(?:(?:save|store|write|put|speichere?|sichere|schreibe?) |把)", re.IGNORECASE
)
_SAVE_END = re.compile(
    rf"(?: (?:as|to|into|in|under|als|unter) |(?:保存|存|写|放)(?:成|为|到|进|入|在)? ?){_FILE}$",
    re.IGNORECASE,
)
_REPLACE = re.compile(
    rf"{_PLEASE}(?:replace|change|ersetze) (?P<old>.{{1,200}}?) (?:by|with|to|into|durch) "
    rf"(?P<new>.{{1,200}}?) in {_FILE}",
    re.IGNORECASE | re.DOTALL,
)
_REPLACE_ZH = re.compile(
    r" ?[里中]面?的?(?P<old>.{1,200}?)(?:改成|改为|换成|替换成)(?P<new>.{1,200}?)[。！]?", re.DOTALL
)
_NO_NAME = {
    "save": re.compile(rf"{_PLEASE}save (?:this|it|that) as a file|{_PLEASE}把.{{1,20}}保存成文件"),
    "compare": re.compile(r"what(?:'s| has| is)? changed in the file|文件改了什么"),
}
"""What asks for something without the name of a file."""
_NOTHING_MORE = re.compile(r"(?: ?[里中]面?)?[\s.!。！]*")
_LIST = re.compile(
    rf"{_PLEASE}(?:which|what) files (?:are there|do you have|do i have|have i(?: got)?"
    r"|are in (?:the|your|my) workspace)(?: of mine| here)?"
    rf"|{_PLEASE}(?:list|show)(?: me)? (?:all |the |my |your )*files"
    r"|my files|welche dateien (?:gibt es|habe ich|hast du)"
    rf"|{_PLEASE}(?:zeige?|liste)(?: mir)? (?:alle |die |meine )*dateien(?: auf)?"
    rf"|{_PLEASE}(?:我|你|你那里|这里|工作区里?)?都?有哪些(?:我的)?文件"
    rf"|{_PLEASE}(?:列出|列一下|显示|看看|查看)(?:所有的?|我的|全部)?文件(?:列表)?"
    r"|我的文件|文件列表",
    re.IGNORECASE,
)
_STAND_IN = re.compile(
    r"(?:(?:this|that|it|das|dies|es)(?: (?:text|conversation))?|(?:the|das|die|den) \w+"
    r"|这个|这|它|这段话|这些)[\s.!]*",
    re.IGNORECASE,
)
_QUOTES: Final = {
    '"': '"',
    "“": "”",
    "'": "'",
    "‘": "’",
    "「": "」",
    "『": "』",
    "„": "“",
    "`": "`",
}


@dataclass(frozen=True, slots=True)
class FileWish:
    """What somebody wants of the files: the file's path, empty where the words do not name it, and
    the text to save, empty where they only point at it. `old` is what it replaces, and `versions`
    are those to compare.
    """

    kind: Literal["save", "show", "edit", "compare", "list"]
    path: str = ""
    text: str = ""
    old: str = ""
    versions: tuple[int, ...] = ()

    @property
    def service(self) -> str:
        """Return the name of the capability that does it."""
        services = {"save": WRITE, "show": READ, "edit": EDIT, "compare": DIFF, "list": LIST}
        return services[self.kind]

    @property
    def arguments(self) -> dict[str, Json]:
        """Return the arguments of the call that does it."""
        if self.kind == "list":
            return {}
        if self.kind == "save":
            return {"path": self.path, "content": f"{self.text}\n"}
        if self.kind == "edit":
            return {"path": self.path, "old_text": self.old, "new_text": self.text}
        if self.versions:
            first, last = sorted(self.versions)
            return {"path": self.path, "from": first, "to": last}
        return {"path": self.path}


def find_wish(words: str) -> FileWish | None:
    """Return what somebody wants of the files; None for nothing."""
    plain = strip_opening(words).strip()
    if len(plain) <= NEAR_CHARACTERS and _LIST.fullmatch(plain.rstrip(" ?？.!。！")):
        return FileWish("list")
    if len(plain) <= NEAR_CHARACTERS:
        bare = plain.rstrip(" ?？.!。！")
        if _NO_NAME["save"].fullmatch(bare):
            return FileWish("save")
        if _NO_NAME["compare"].fullmatch(bare):
            return FileWish("compare")
    found = _list_names(plain)
    # a text may speak of other files: the one to save stands before it, or behind it
    for start, end in dict.fromkeys((*found[:1], *found[-1:])):
        wish = _read_around(plain[:start], plain[start:end], plain[end:])
        if wish:
            return wish
    return None


def _list_names(plain: str) -> list[tuple[int, int]]:
    """Return the places of the names of files, without the quotes around them."""
    places = []
    for found in _PATH.finditer(plain):
        start = found.start()
        led = _CHINESE_VERB.match(found[0])
        if led and led.end() < len(found[0]) - 3:
            start += led.end()
        places.append((start, found.end()))
    return places


def _read_around(before: str, path: str, after: str) -> FileWish | None:
    """Return what is wanted of a file, by what stands before its name and behind it."""
    if before[-1:] in _QUOTES and before[-1:] and after.startswith(_QUOTES[before[-1]]):
        before = before[:-1]
        after = after[1:]
    if len(before) <= NEAR_CHARACTERS:
        if len(after) <= NEAR_CHARACTERS:
            if _SHOW_BEFORE.fullmatch(before) and _SHOW_AFTER.fullmatch(after):
                return FileWish("show", path)
            if _ASKED_BEFORE.fullmatch(before) and _ASKED_AFTER.fullmatch(after):
                return FileWish("show", path)
            compared = _COMPARE_BEFORE.fullmatch(before)
            if compared and _COMPARE_AFTER.fullmatch(after) and _says_something(before, after):
                versions = tuple(int(number) for number in compared.groups() if number)
                return FileWish("compare", path, versions=versions)
        if before.strip() in ("把", "请把", "帮我把") and len(after) <= CHANGE_CHARACTERS:
            changed = _REPLACE_ZH.fullmatch(after)
            if changed:
                return FileWish("edit", path, changed["new"], changed["old"])
        content = _CONTENT.match(after[:NEAR_CHARACTERS])
        if content and _SAVE_BEFORE.fullmatch(before):
            return _make_save(path, after[content.end() :])
    if len(after) > NEAR_CHARACTERS or not _NOTHING_MORE.fullmatch(after):
        return None
    if len(before) <= CHANGE_CHARACTERS:
        changed = _REPLACE.fullmatch(before)
        if changed:
            return FileWish("edit", path, changed["new"], changed["old"])
    begin = _SAVE_BEGIN.match(before[:NEAR_CHARACTERS])
    tail = max(len(before) - NEAR_CHARACTERS, 0)
    end = _SAVE_END.search(before[tail:])
    if begin and end and begin.end() < tail + end.start():
        return _make_save(path, before[begin.end() : tail + end.start()])
    return None


def _says_something(before: str, after: str) -> bool:
    return bool(before.strip() or after.strip(" ?？.!。！"))


def _make_save(path: str, text: str) -> FileWish | None:
    text = text.strip()
    if len(text) > 1 and _QUOTES.get(text[0]) == text[-1]:
        text = text[1:-1]
    if not text:
        return None
    is_stand_in = len(text) <= NEAR_CHARACTERS and _STAND_IN.fullmatch(text)
    return FileWish("save", path, "" if is_stand_in else text)


def describe_answer(wish: FileWish, result: Json, texts: Texts) -> str:
    """Return what a call came to, as a person would say it."""
    fields = as_mapping(result)
    if wish.kind in ("save", "edit"):
        size = as_integer(fields.get("bytes"), 0) or 0
        return texts.offline_saved.format(
            path=wish.path, version=fields.get("version"), size=f"{size:,}"
        )
    if wish.kind == "show":
        text = as_string(fields.get("text"))
        parts = as_integer(fields.get("parts"), 1) or 1
        return text if parts == 1 else f"{text}\n\n{texts.offline_part.format(parts=parts)}"
    if wish.kind == "compare":
        return f"```diff\n{as_string(fields.get('diff'))}\n```"
    lines = []
    for item in map(as_mapping, as_sequence(fields.get("items"))):
        size = as_integer(item.get("bytes"), 0) or 0
        lines.append(
            texts.files_line.format(
                path=as_string(item.get("path")),
                size=f"{size:,}",
                version=item.get("version"),
                time=as_string(item.get("written"))[:16].replace("T", " "),
            )
        )
    return "\n".join(lines) or texts.files_none
