"""An answer that is drawn while it comes looks in the end like one that came at once."""

from __future__ import annotations

import io
import random
from collections.abc import Iterable

import pytest
from rich.console import Console

from functions.cli.chat.drawn_markdown import MAX_DRAWN_CHARACTERS, draw_markdown
from functions.cli.chat.live_answer import LiveAnswer
from tests.tables import each_row
from tests.terminal_screen import TerminalScreen

ANSWERS = {
    "paragraphs": "One line.\nAnother **bold** one.\n\nA *second* paragraph, `code` and [a](http://x).\n",
    "headings": "# Big\n\nText\n\n## Small\ntext\n\nUnderlined\n===\n\nand\n---\nso on",
    "a rule": "above\n\n***\n\nbelow\n\n---\nand below",
    "a list": "Steps:\n\n1. first\n2. second\n   more\n\n   and more\n3. third\n\n9\n\n- a\n  - b\n- c\nlazy\n",
    "a fence": "So:\n\n```python\ndef f():\n    return 1\n\n\n# x\n```\nThat is all.\n\n~~~\nopen end",
    "a long fence": "```\n" + "".join(f"line {number}\n" for number in range(50)) + "```\n\nEnd.",
    "a table": "| a | b |\n|---|:-:|\n| 1 | two words |\n| 3 | `x` |\n\nEnd.",
    "a long table": "|n|square|\n|-|-|\n"
    + "".join(f"|{n}|{n * n}|\n" for n in range(40))
    + "\nEnd.",
    "a table below words": "words\na | b\n-|-\n1 | 2\n",
    "a quote": "> said\n> and said\nlazy\n\nnot said",
    "definitions": "[a]: http://x\n\nSee [a] and [b].\n\n[b]: http://y\n\n[c]: http://zzzzz\n\n[c]",
    "wide": "你好，世界。" * 9 + "\n\n| 名 | 値 |\n|-|-|\n| 🙂 | 👩‍👩‍👧 |\n\n日本語の段落。",
    "a long line": "word " * 80 + "\n\n" + "x" * 400,
    "a long paragraph": "a line of a poem\n" * 30,
    "HTML": "<b>bold</b> of vector<int>\n\n<details>\nx\n</details>\n",
    "line ends of Windows": "one\r\ntwo\r\n\r\nthree\rfour\u2028five",
    "blanks": "\n\n  indented\n\n\n\n    code\n\n    more code\n\nend   \n\n\n",
    "controls": "a\x1b]0;owned\x07b\x1b[2J\x9b31m\n\nc\u202ed\x1b\n\n\x1b[5Ae",
}
SIZES = ((30, 6), (3, 2))


class Clock:
    """Time that stands still, so that every piece is drawn."""

    def __call__(self) -> float:
        return 0.0


def make_console(columns: int, rows: int) -> Console:
    return Console(
        file=io.StringIO(), force_terminal=True, width=columns, height=rows, no_color=True
    )


def read(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def start(console: Console) -> LiveAnswer:
    """An answer that is waited for, every piece of which is drawn."""
    live = LiveAnswer(console, Clock())
    live.begin_turn()
    live.wait("thinking …")
    return live


def tell(live: LiveAnswer, words: Iterable[str]) -> None:
    for each in words:
        live.add(each)


def cut_anywhere(text: str, chance: random.Random) -> list[str]:
    pieces = []
    while text:
        size = chance.choice([3, 60, 400])
        pieces.append(text[:size])
        text = text[size:]
    return pieces


@pytest.mark.parametrize("size", SIZES)
@each_row("name", ANSWERS)
def test_what_was_drawn_piece_by_piece_is_what_is_drawn_at_once(
    size: tuple[int, int], name: str
) -> None:
    answer = ANSWERS[name]
    whole = make_console(*size)
    whole.print(draw_markdown(answer))
    expected = TerminalScreen(*size).feed("before\n" + read(whole) + "behind")
    console = make_console(*size)
    console.file.write("before\n")
    live = start(console)
    assert "…" in read(console)

    tell(live, cut_anywhere(answer, random.Random(f"{name}{size}")))
    assert live.complete(answer)
    console.file.write("behind")

    assert TerminalScreen(*size).feed(read(console)).text == expected.text
    assert not live.has_words


OTHER = {
    ("It is done.", "It is done. […]\n\nThe answer was cut."): (
        "It is done. […]\n\nThe answer was cut."
    ),
    ("It is done.", "One message is missing.\n\nIt is done."): (
        "It is done.\n\nOne message is missing."
    ),
    ("- one\n- t", "- one\n- two\n\nand three"): "\n • one\n • two\n\nand three",
}


@each_row("answer, expected", OTHER.items())
def test_an_answer_that_goes_on_shows_only_what_was_not_told(
    answer: tuple[str, str], expected: str
) -> None:
    for settles in (False, True):
        console = make_console(60, 20)
        live = start(console)
        live.add(answer[0])
        if settles:
            live.settle()
        before = len(read(console))
        assert live.complete(answer[1])
        assert not settles or "done" not in read(console)[before:]
        shown = TerminalScreen(60, 20).feed(read(console)).text
        if not settles:
            assert shown == expected


@each_row("told, answer", [("It is done.", "It is not."), ("is", "It is done."), ("a b", "")])
def test_words_that_are_not_the_answer_stay_and_are_told_apart(told: str, answer: str) -> None:
    console = make_console(60, 20)
    live = start(console)
    live.add(told)

    assert not live.complete(answer)
    live.end()

    assert TerminalScreen(60, 20).feed(read(console)).lines == [told]
    assert not live.has_words


def test_no_word_is_shown_after_a_stop_and_those_before_stay() -> None:
    console = make_console(60, 20)
    live = start(console)
    live.add("so far ")
    live.stop()
    tell(live, ["and no ", "further"])
    live.settle()
    live.wait("thinking …")

    assert TerminalScreen(60, 20).feed(read(console)).lines == ["so far"]


def test_a_line_that_comes_between_stands_below_what_was_told() -> None:
    console = make_console(60, 20)
    live = start(console)
    live.add("I look for it.")
    live.settle()
    console.file.write("→ a call\n")
    live.wait("thinking …")
    live.add("It is done.")
    assert live.complete("It is done.")

    shown = TerminalScreen(60, 20).feed(read(console)).lines
    assert shown == ["I look for it.", "→ a call", "It is done."]


def test_a_dumb_terminal_gets_blocks_once_and_no_control(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    console = make_console(60, 20)
    live = start(console)
    tell(live, ["One.\n", "\nTwo", ".\n"])
    assert read(console).split() == ["One."]
    assert live.complete("One.\n\nTwo.")

    assert read(console).split() == ["One.", "Two."]
    assert "\x1b" not in read(console)


@each_row("widths", [(60, 20), (20, 60), (60, 7, 60), (10, 11, 10)])
def test_another_width_in_between_costs_no_line(widths: tuple[int, ...]) -> None:
    """What is above the open block is never erased, and the answer is whole."""
    console = make_console(widths[0], 12)
    live = start(console)
    screen = TerminalScreen(widths[0], 12)
    seen = 0
    for number, width in enumerate(widths):
        console.width = width
        screen.resize(width, 12)
        tell(live, [f"block {number} ", "and words " * 6, "\n\n", f"open {number} "])
        screen.feed(read(console)[seen:])
        seen = len(read(console))
    live.settle()
    screen.feed(read(console)[seen:])

    words = " ".join(screen.text.split())
    for number in range(len(widths)):
        assert f"block {number} " + "and words " * 5 in words
        assert f"open {number}" in words


@each_row("line", ["word ", "- item\n", "|a|\n|-|\n|b|\n", "```\ncode\n"])
def test_a_piece_of_a_long_block_writes_no_more_than_a_screen(line: str) -> None:
    console = make_console(20, 5)
    live = start(console)
    live.add(line * 200)
    before = len(read(console))
    for _ in range(3):
        live.add("next ")

    assert len(read(console)) - before < 3 * 3 * 20 * 5


@each_row("line", ["a line\n", "x = '*' "])
def test_a_block_of_very_many_characters_is_printed_as_it_is(line: str) -> None:
    answer = "Here:\n\n" + line * (MAX_DRAWN_CHARACTERS // len(line) + 1) + "*end*"
    console = make_console(40, 10)
    live = LiveAnswer(console)
    live.begin_turn()
    tell(live, (answer[place : place + 20_000] for place in range(0, len(answer), 20_000)))
    assert live.complete(answer)

    assert read(console).endswith(answer[-1000:] + "\n")


def test_drawings_that_take_long_are_rare() -> None:
    class SlowFile(io.StringIO):
        """Whatever is written takes a second."""

        def write(self, text: str) -> int:
            clock.now += 1.0
            return super().write(text)

    class Ticking(Clock):
        now = 0.0

        def __call__(self) -> float:
            return self.now

    clock = Ticking()
    console = make_console(40, 10)
    console.file = SlowFile()
    live = LiveAnswer(console, clock)
    live.begin_turn()
    drawn = 0
    for number in range(1, 61):
        before = len(read(console))
        live.add(f"line {number}\n")
        drawn += len(read(console)) > before
        clock.now += 0.1
    assert 2 < drawn < 12
    live.settle()

    assert TerminalScreen(40, 10).feed(read(console)).lines[-1] == "line 60"
