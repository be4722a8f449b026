"""Conversations of LoCoMo's form: what search-history finds of the messages that answer their
questions.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import orjson
import pytest

from scripts.benchmarks import __main__ as bench
from scripts.benchmarks import conversations, evidence, memory
from sigil.errors import UsageError

SET = Path(__file__).with_name("locomo.json")
SAMPLES = orjson.loads(SET.read_bytes())

Change = Callable[[Any], Any]


def test_most_of_what_answers_a_question_is_among_the_first_ten() -> None:
    rows = {row.name.partition(" (")[0]: row.value for row in evidence.run(SET)}

    assert rows["recall@10, all"] > 0.62
    assert rows["recall@5, all"] > 0.55
    assert {
        f"recall@{best}, category {number}" for best in (5, 10) for number in range(1, 6)
    } < rows.keys()


def test_a_conversation_goes_the_way_of_every_chat() -> None:
    talk = conversations.read_conversations(SET)[0]

    answers = list(evidence.answer_questions(talk))

    assert len(answers) == len(talk.questions)
    assert statistics.fmean(len(answer.found) for answer in answers) > 3
    assert any(
        None in answer.found for answer in answers
    )  # what HISTORY sums up takes a place, and counts for nothing
    assert {place for answer in answers for place in answer.found} - {None} <= {
        line.id for line in talk.lines
    }


def test_recall_is_the_share_of_the_evidence_that_is_among_the_first() -> None:
    answer = evidence.FoundEvidence(
        conversations.Question("?", frozenset({(1, 1), (1, 2)}), 1),
        [(1, 1), None, (1, 3), (2, 1), (2, 2), (1, 2)],
        1.0,
    )

    assert (answer.recall(5), answer.recall(10)) == (0.5, 1.0)


def test_sessions_are_read_in_the_order_of_their_numbers_with_the_time_and_what_a_picture_shows(
    tmp_path: Path,
) -> None:
    says = {
        f"session_{n}": [
            {"speaker": "A", "dia_id": f"D{n}:1", "text": f"t{n}", "blip_caption": "a dog"}
        ]
        for n in (10, 2)
    }
    when = {f"session_{n}_date_time": "12:05 am on 8 May, 2023" for n in (2, 10, 11)}

    talk = read(tmp_path, [{"conversation": {"speaker_a": "A", **when, **says}, "qa": []}])[0]

    assert [(line.id, line.text) for line in talk.lines] == [
        ((2, 1), "t2 [shows a dog]"),
        ((10, 1), "t10 [shows a dog]"),
    ]
    assert talk.lines[0].at == 1_683_504_300.0


def test_evidence_is_understood_as_people_wrote_it_and_what_there_is_not_is_left_out(
    tmp_path: Path,
) -> None:
    samples = deepcopy(SAMPLES[:1])
    written = [["D1:1; D2:03"], ["D:1:4", 7, "D"], ["D99:1"], []]
    samples[0]["qa"] = [{"question": "Who?", "evidence": each, "category": 5} for each in written]
    samples[0]["qa"].append({"question": "Who?", "category": 5})

    questions = read(tmp_path, samples)[0].questions

    assert [sorted(each.evidence) for each in questions] == [[(1, 1), (2, 3)], [(1, 4)], [], [], []]


def test_a_folder_is_searched_for_sets_and_one_without_has_no_rows(tmp_path: Path) -> None:
    assert list(evidence.run(tmp_path)) == []


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda samples: samples.insert(0, 7), "sample 1 is not an object"),
        (
            lambda samples: samples[0].update(conversation=[]),
            "sample 1, conversation is not an object",
        ),
        (
            lambda samples: samples[0].update(conversation={}),
            "sample 1: conversation has no session_1 with messages",
        ),
        (lambda samples: samples[1].pop("qa"), "sample 2, qa is not a list"),
        (
            lambda samples: samples[0]["conversation"].update(session_2={}),
            "sample 1, session_2 is not a list",
        ),
        (
            lambda samples: samples[0]["conversation"].pop("session_2_date_time"),
            "sample 1, session_2: session_2_date_time is missing",
        ),
        (
            lambda samples: samples[0]["conversation"].update(session_1_date_time="May"),
            "sample 1, session_1: 'May' is not a time like",
        ),
        (
            lambda samples: samples[0]["conversation"]["session_1"][2].pop("text"),
            "sample 1, session_1, message 3: text is missing",
        ),
        (
            lambda samples: samples[0]["conversation"]["session_1"].append("hi"),
            "sample 1, session_1, message 13 is not an object",
        ),
        (
            lambda samples: samples[0]["conversation"]["session_1"][0].update(dia_id="D2:1"),
            "message 1: dia_id 'D2:1' is not like D1:1",
        ),
        (
            lambda samples: samples[0]["qa"][0].update(category="4"),
            "sample 1, question 1: category is not a number from 1 to 5",
        ),
        (
            lambda samples: samples[0]["qa"][3].pop("question"),
            "sample 1, question 4: question is missing",
        ),
        (
            lambda samples: samples[0]["qa"][3].update(evidence="D1:1"),
            "sample 1, question 4, evidence is not a list",
        ),
    ],
)
def test_a_file_of_another_form_is_refused_with_the_place_of_what_is_wrong(
    tmp_path: Path, change: Change, where: str
) -> None:
    samples = deepcopy(SAMPLES)
    change(samples)

    with pytest.raises(UsageError) as caught:
        read(tmp_path, samples)

    assert where in caught.value.message
    assert str(tmp_path) in caught.value.message


def test_the_command_says_what_is_wrong_and_measures_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.json").write_text("[{", encoding="utf-8")
    monkeypatch.setattr(memory, "read_resident_memory", lambda _: pytest.fail("it was measured"))

    (tmp_path / "other.json").write_text("{}", encoding="utf-8")
    for name, told in (
        ("broken.json", "not JSON"),
        ("other.json", "the document is not a list"),
        ("missing.json", "cannot be read: No such file"),
    ):
        monkeypatch.setattr(
            sys, "argv", ["scripts/bench", "memory", "--data", str(tmp_path / name)]
        )
        with pytest.raises(SystemExit) as ended:
            bench.main()
        assert ended.value.code == 2
        assert told in capsys.readouterr().err


def read(folder: Path, samples: Any) -> list[conversations.LocomoConversation]:
    """The samples, through a file."""
    path = folder / "set.json"
    path.write_bytes(orjson.dumps(samples))
    return conversations.read_conversations(path)
