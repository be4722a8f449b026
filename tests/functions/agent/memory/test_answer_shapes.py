"""The kind of answer that a question asks for."""

from __future__ import annotations

from functions.agent.memory.answer_shapes import MISFIT, measure_fit
from tests.tables import each_row


@each_row(
    ("question", "fits", "misfits"),
    [
        ("when is the meeting?", "on Tuesday", "with Mr Smith"),
        ("when is the meeting?", "9 April 14:30", "0113 555 0142"),
        ("when does the shop close?", "at half past six", "at the corner"),
        ("wann ist die Prüfung?", "19. September", "bei Frau Weber"),
        ("wann treffen wir uns?", "um halb acht", "um die Ecke"),
        ("how many cats do you have?", "two cats", "some cats"),
        ("什么时候考试？", "九月十九日", "在学校"),
        ("how much do I pay?", "18 pounds", "too much"),
        ("Wie viel Luft?", "2,4 bar", "genug Luft"),
        ("多少钱？", "58元", "很贵"),
        ("where is the key?", "behind the door", "11"),
    ],
)
def test_a_text_of_another_kind_than_the_answer_scores_less(
    question: str, fits: str, misfits: str
) -> None:
    assert measure_fit(question, fits) == 1.0
    assert measure_fit(question, misfits) == MISFIT


def test_a_question_of_no_kind_takes_any_text() -> None:
    assert measure_fit("what did I say about my cat", "Mimi") == 1.0
