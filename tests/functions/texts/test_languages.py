"""The tables of texts: each language has every text or falls back to English, and one file is
enough to add one.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from string import Formatter

import pytest

from functions import texts
from functions.agent.commands.table import COMMANDS
from functions.agent.safety.failure_codes import CODES
from functions.agent.safety.status import REASONS, SessionState
from functions.texts.en import TEXTS as ENGLISH
from functions.texts.en import Texts
from functions.texts.languages import (
    READ_CHARACTERS,
    detect_language,
    find_by_name,
    find_code,
    list_codes,
    load_texts,
)
from functions.wiring import AgentRuntime
from tests.functions.agent.talk import tell
from tests.tables import each_row

LANGUAGES = list_codes()
ABOUT_A_LANGUAGE = {
    "code",
    "name",
    "decimal_mark",
    "words",
    "greetings",
    "script",
    "foreign_script",
    "command_sign",
}
WORDS_OF_COMMANDS = {"auto", "here", "history", "off", "on", "remove", "rollback", "N"}
"""What follows a command in these letters in every language."""
TO_THE_MODEL = ("You are ", "The user asks ", "Are you there?")
NOT_FOR_PEOPLE = (*SessionState, "resident", "operations", "page fault")


def patterns(language: Texts) -> Iterator[tuple[str, str]]:
    """Every pattern of a language by its place: a text's name, or a name and a key."""
    for name in vars(Texts):
        value = getattr(language, name)
        if name.startswith("_") or name in ABOUT_A_LANGUAGE or callable(value):
            continue
        if isinstance(value, Mapping):
            yield from ((f"{name}.{key}", text) for key, text in value.items())
        else:
            yield name, value


def fields(pattern: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(pattern) if name is not None}


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_language_fills_in_the_same_values_as_english(code: str) -> None:
    english = dict(patterns(ENGLISH))

    for place, pattern in patterns(load_texts(code)):
        if place in english and not place.startswith("examples."):
            assert fields(pattern) == fields(english[place]), place


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_language_names_no_text_that_english_does_not_have(code: str) -> None:
    own = {name for name in vars(type(load_texts(code))) if not name.startswith("_")}

    assert own <= set(vars(Texts))


@pytest.mark.parametrize("code", LANGUAGES)
def test_help_says_what_follows_a_command_in_the_readers_language(code: str) -> None:
    told = load_texts(code).arguments
    taken = {name: command.arguments for name, command in COMMANDS.items() if command.arguments}

    assert not told or told.keys() == taken.keys()
    for name, arguments in told.items():
        words = [set(re.findall(r"\w+", text)) for text in (arguments, taken[name])]
        assert words[0] & WORDS_OF_COMMANDS == words[1] & WORDS_OF_COMMANDS
        assert re.sub(r"[^][|]", "", arguments) == re.sub(r"[^][|]", "", taken[name])


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_language_has_every_text_or_falls_back_to_english(code: str) -> None:
    language = load_texts(code)

    assert all(text for _, text in patterns(language))
    for name in ("meanings", "reasons", "model_failures", "no_owner", "role_names"):
        assert getattr(language, name).keys() == getattr(ENGLISH, name).keys(), name
    assert language.then.keys() <= ENGLISH.reasons.keys() == REASONS.keys()
    assert language.meanings.keys() == COMMANDS.keys()


@pytest.mark.parametrize("code", ["de", "zh"])
def test_a_language_of_ours_is_whole(code: str) -> None:
    english = dict(patterns(ENGLISH))
    language = load_texts(code)
    own = {
        place
        for place, pattern in patterns(language)
        if pattern != english.get(place) or place.partition(".")[0] in vars(type(language))
    }

    assert {place for place in english if place not in own} - {
        place for place in english if place.startswith("examples.")
    } == set()
    assert language.code_meanings.keys() == {*CODES, ""}
    for name, method in inspect.getmembers(Texts, inspect.isfunction):
        assert getattr(type(language), name) is not method, name


@pytest.mark.parametrize("code", LANGUAGES)
def test_people_read_no_word_of_the_machinery(code: str) -> None:
    said = "\n".join(text for _, text in patterns(load_texts(code)))

    assert not [word for word in NOT_FOR_PEOPLE if word in said]


@each_row(
    ("text", "code"),
    [
        ("What is the capital of Peru?", "en"),
        ("please sort these names", "en"),
        ("今天天气怎么样？", "zh"),
        ("帮我把 the quick brown fox 翻译成大写", "zh"),
        ("translate 你好 to English", "en"),
        ("用 sha256 算 hello world", "zh"),
        ("今日は何曜日ですか", ""),
        ("sha256 abc", ""),
        ("hi!", "en"),
        ("Hello 小明，你在吗", "zh"),
        ("10 Meilen in km", "de"),
        ("was ergibt 3 mal 4", "de"),
        ("255 in binär", "de"),
        ("10 miles in km", "en"),
        ("who was at the war museum with her hat", "en"),
        ("42", ""),
        ("", ""),
    ],
)
def test_the_language_of_a_text_is_told_by_its_script_or_its_words(text: str, code: str) -> None:
    assert detect_language(text) == code


def test_what_is_cut_off_a_long_text_is_no_word_of_another_language() -> None:
    """`wo` is German, and where a text full of `word` is cut."""
    texts = ["x" * shift + " " + "word " * READ_CHARACTERS for shift in range(5)]

    assert [detect_language(text) for text in texts] == [""] * 5


@each_row(
    ("tag", "code"),
    [
        ("zh-hans", "zh"),
        ("zh_TW", "zh"),
        ("EN-gb", "en"),
        ("xx", ""),
        ("", ""),
        ("../../etc", ""),
        ("languages", ""),
        ("en\n", ""),
        ("z" * 10_000, ""),
    ],
)
def test_a_platforms_tag_names_a_language_or_none(tag: str, code: str) -> None:
    assert find_code(tag) == code


def test_a_person_names_a_language_by_its_code_or_its_name() -> None:
    assert [find_by_name(words) for words in ("zh", " 中文 ", "ENGLISH", "Klingon")] == [
        "zh",
        "zh",
        "en",
        "",
    ]


@pytest.fixture
def one_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A language that consists of one file."""
    (tmp_path / "nl.py").write_text(
        "from functions.texts.en import Texts\n\n\n"
        "class Dutch(Texts):\n"
        "    code = 'nl'\n"
        "    name = 'Nederlands'\n"
        "    words = frozenset('de het een ik jij niet wat is'.split())\n"
        "    stopped = 'Gestopt.'\n"
        "    listen_private = 'Hier lees ik alles.'\n"
        "    offline_not_found = 'Dat begrijp ik niet.'\n\n\n"
        "TEXTS = Dutch()\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(texts, "__path__", [*texts.__path__, str(tmp_path)])
    caches = (list_codes, load_texts, detect_language)
    for cache in caches:
        cache.cache_clear()
    yield
    monkeypatch.undo()
    for cache in caches:
        cache.cache_clear()


@pytest.mark.usefixtures("one_more")
def test_one_file_adds_a_language() -> None:
    assert "nl" in list_codes()
    dutch = load_texts("nl-BE")
    assert dutch.stopped == "Gestopt."
    assert dutch.unlocked == ENGLISH.unlocked
    assert detect_language("wat is het weer?") == "nl"


@pytest.mark.usefixtures("one_more")
def test_a_person_reads_what_a_new_language_has_and_english_for_the_rest(
    runtime: Callable[..., AgentRuntime],
) -> None:
    home = runtime(library="builtin", llm_url="")
    assert tell(home, "/language nl") == [ENGLISH.language_set.format(name="Nederlands")]
    assert tell(home, "/listen") == ["Hier lees ik alles."]
    assert tell(home, "/forget") == [ENGLISH.forget_how]
    assert tell(home, "hallo, wat kan je?")[0].startswith("Dat begrijp ik niet.")


def test_no_command_writes_a_text_of_its_own() -> None:
    root = Path(__file__).parents[3] / "functions" / "agent"

    for path in (root / "commands").glob("*.py"):
        found = re.findall(
            r"reply\(\s*f?\"[^\"\\{]*[A-Za-z]{2}[^\"]*\"", path.read_text(encoding="utf-8")
        )
        assert not found, path.name


def test_no_sentence_to_people_stands_beside_the_table() -> None:
    agent = Path(__file__).parents[3] / "functions" / "agent"
    talks = [*(agent / "model").glob("offline_[!dl]*.py"), agent / "model" / "offline.py"]
    for path in [*talks, *(agent / "commands").glob("*.py"), agent / "conversation/unopened.py"]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        expressions = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)]
        said = [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and node not in expressions  # docstrings
            if isinstance(node.value, str)
            and re.match(r"\s?[A-Z][\w'’]* [a-z]+ [a-z]+", node.value)
        ]
        assert not [text for text in said if not text.startswith(TO_THE_MODEL)], path.name


def test_each_reason_of_a_failure_has_a_sentence_and_no_sentence_is_left_over() -> None:
    agent = Path(__file__).parents[3] / "functions" / "agent"
    raised = re.compile(
        r"(?:Error|Refused|Refusal|__init__)\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\breason=\"([a-z-]+)\""
    )
    found = {
        reason
        for path in agent.rglob("*.py")
        for reason in raised.findall(path.read_text(encoding="utf-8"))
    }
    assert found == set(ENGLISH.failure_reasons)
