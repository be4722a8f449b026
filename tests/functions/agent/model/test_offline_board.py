"""The board without a language model: what people write, and what is answered."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from functions.agent.model.offline_board import TaskWish, find_wish
from functions.agent.team.board import Board
from functions.wiring import AgentRuntime
from tests.functions.agent.talk import tell
from tests.tables import each_row

DIALOGUES: tuple[tuple[tuple[str, str], ...], ...] = (
    (
        ("what is on the board?", "^The board is empty"),
        ("add a task: buy milk", "^Added #1: buy milk"),
        ("please put bake a cake on my to-do list", "^Added #2: bake a cake"),
        ("what are my tasks", r"^  \[ \] #1: buy milk\n  \[ \] #2: bake a cake"),
        ("task 1 is done", "^#1 is done: buy milk"),
        ("drop task 2", "^#2 is dropped: bake a cake"),
        ("task 9 is done", "Task 9 not found"),
        ("show me task 1", r"^  \[x\] #1: buy milk"),
    ),
    (
        ("添加任务：买牛奶", "^已添加 #1：买牛奶"),
        ("看板上有什么", r"^  \[ \] #1: 买牛奶"),
        ("任务1完成了", "^#1 已完成：买牛奶"),
    ),
    (
        ("neue Aufgabe: Milch kaufen", "#1: Milch kaufen"),
        ("neue Aufgabe: Kuchen backen nach #1", "/tasks add .* nach #1.* nichts hinzugefügt"),
        ("welche Aufgaben gibt es?", r"^  \[ \] #1: Milch kaufen"),
        ("Aufgabe 1 ist erledigt", "^#1 ist erledigt: Milch kaufen"),
    ),
)


@pytest.mark.parametrize("dialogue", DIALOGUES, ids=("en", "zh", "de"))
def test_a_board_is_kept_in_plain_words(
    runtime: Callable[..., AgentRuntime], dialogue: tuple[tuple[str, str], ...]
) -> None:
    home = runtime(library="capabilities")
    for words, answer in dialogue:
        (reply,) = tell(home, words)
        assert re.search(answer, reply), (words, reply)


def test_a_to_do_in_plain_words_is_the_persons_own(
    runtime: Callable[..., AgentRuntime],
) -> None:
    home = runtime(library="capabilities")
    tell(home, "add a task: buy milk")
    (task,) = Board(home.stores.kv, "main", home.app.clock.now).list_open()
    assert (task.subject, task.personal) == ("buy milk", True)


@each_row(
    ("words", "wish"),
    [
        ("create a task called call Bob", TaskWish("add", "call Bob")),
        ("todo: water the plants", TaskWish("add", "water the plants")),
        ("mark #3 as done", TaskWish("done", number=3)),
        ("3号任务做完了", TaskWish("done", number=3)),
        ("把买菜加到待办清单", TaskWish("add", "买菜")),
        ("lösche Aufgabe 4", TaskWish("drop", number=4)),
        ("create a task for the release notes", TaskWish("add", "the release notes")),
        (
            "add a task to the board: write the release notes",
            TaskWish("add", "write the release notes"),
        ),
        ("can you add a task to water the plants?", TaskWish("add", "water the plants")),
        ("在看板上加一个任务：浇花", TaskWish("add", "浇花")),
        ("新建一个整理照片的任务", TaskWish("add", "整理照片")),
        ("füge eine Aufgabe zum Board hinzu: Blumen gießen", TaskWish("add", "Blumen gießen")),
        ("leg eine Aufgabe für den Umzug an", TaskWish("add", "den Umzug")),
        ("was steht auf dem Board?", TaskWish("list")),
        ("显示任务板", TaskWish("list")),
        ("create a task to remind me at five", None),
        ("I am done with this task", None),
        ("what is a task board?", None),
        ("add 3 to 4", None),
        ("remind me of the task tomorrow", None),
        ("the task is hard", None),
    ],
)
def test_only_plain_wishes_are_taken_for_one(words: str, wish: TaskWish | None) -> None:
    assert find_wish(words) == wish
