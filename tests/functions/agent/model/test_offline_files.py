"""Files without a language model: what people write, what is answered, and what is kept."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from functions.agent.model.offline_files import FileWish, find_wish
from functions.wiring import AgentRuntime
from tests.functions.agent.talk import tell
from tests.tables import each_row

DIALOGUES: tuple[tuple[tuple[str, str], ...], ...] = (
    (
        ("which files are there", "^There are no files here yet"),
        ("save this as notes.md: buy milk", r"^Saved as `notes.md`, version 1 \(9 bytes\)"),
        ("show me notes.md", "^buy milk"),
        ("save buy oats as notes.md", "version 2"),
        ("what changed in notes.md", r"(?s)-buy milk\n\+buy oats"),
        ("replace oats by rice in notes.md", "version 3"),
        ("compare version 1 and 3 of notes.md", r"(?s)-buy milk\n\+buy rice"),
        ("replace rice by oats in notes.md", "version 4"),
        ("Which files do you have?", r"^- `notes.md` · 9 bytes · version 4 · 20"),
        ("read other.md", "there is no file other.md"),
        ("save this as notes.md", "^What shall I save"),
        ("save x as received/x.md", "is where files stand as people sent them"),
    ),
    (
        ("把明天买牛奶存成 清单.md", r"^已存为 `清单.md`，第 1 版"),
        ("清单.md 里写了什么", "^明天买牛奶"),
        ("有哪些文件", "^- `清单.md` · 16 字节 · 第 1 版"),
        ("清单.md 改了什么", r"\+明天买牛奶"),
        ("把清单.md里的牛奶改成豆浆", "第 2 版"),
        ("打开清单.md", "^明天买豆浆"),
    ),
    (
        ("speichere Milch kaufen als notizen.md", r"^Gespeichert als `notizen.md`, Version 1"),
        ("was steht in notizen.md?", "^Milch kaufen"),
        ("welche Dateien gibt es", r"^- `notizen.md` · 13 Bytes"),
    ),
)
SAVED = (
    ("save as notes.md: one\ntwo", "notes.md", "one\ntwo"),
    ("please write hello world to notes/hello.txt", "notes/hello.txt", "hello world"),
    ('put "a, b and c" into the file list.csv', "list.csv", "a, b and c"),
    ("create a file called todo.md with call Bob", "todo.md", "call Bob"),
    ("Write into plan.txt:\n1. start", "plan.txt", "1. start"),
    ("帮我把会议改到周三写进 plan.txt", "plan.txt", "会议改到周三"),
    ("保存为 notes.md：买牛奶", "notes.md", "买牛奶"),
    ("新建一个文件 todo.md，内容是 给鲍勃打电话", "todo.md", "给鲍勃打电话"),
    ("speichere als plan.md: anfangen", "plan.md", "anfangen"),
)
SHOWN = (
    "read notes.md", "what is in notes.md?", "please show me the file notes.md", "open notes.md",
    "what does notes.md say", "看看 notes.md", "打开文件 notes.md", "notes.md里写了什么",
    "zeig mir notes.md", "lies die Datei notes.md vor",
)  # fmt: skip
LISTED = (
    "list my files", "show me all files", "which files are there", "what files do I have",
    "列出我的文件", "你那里有哪些我的文件", "文件列表", "zeige meine Dateien",
)  # fmt: skip
OTHERS = (
    "read https://example.com/index.html", "open example.com", "save the date", "remember notes.md",
    "what is in season", "show me the weather", "what files a nail", "write a poem",
    "convert a.csv to json: x,y", "存钱", "保存记忆", "我喜欢 notes.md", "what is 2.5 in hours",
    "remind me tomorrow to read notes.md",
)  # fmt: skip


@pytest.mark.parametrize("dialogue", DIALOGUES, ids=["en", "zh", "de"])
def test_files_are_saved_shown_compared_and_listed_in_words(
    runtime: Callable[..., AgentRuntime], dialogue: tuple[tuple[str, str], ...]
) -> None:
    agent = runtime(library="capabilities")
    for said, answer in dialogue:
        (reply,) = tell(agent, said)
        assert re.search(answer, reply), (said, reply)


@each_row(("said", "path", "text"), SAVED)
def test_what_to_save_and_where_is_read(said: str, path: str, text: str) -> None:
    assert find_wish(said) == FileWish("save", path, text)


@each_row("said", SHOWN)
def test_a_file_to_show_is_read(said: str) -> None:
    assert find_wish(said) == FileWish("show", "notes.md")


@each_row("said", LISTED)
def test_a_wish_for_the_list_is_read(said: str) -> None:
    assert find_wish(said) == FileWish("list")


@each_row("said", OTHERS)
def test_other_words_are_no_wish_for_a_file(said: str) -> None:
    assert find_wish(said) is None or said.startswith("remind")
