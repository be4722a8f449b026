"""Which tests a change selects, and which of them the suite leaves to a check of everything."""

from __future__ import annotations

import pytest

from tests import affected, selection
from tests.affected import find_affected
from tests.project.tree import ROOT, modules


def test_every_module_of_the_product_selects_tests() -> None:
    """None is unknown to the graph, also where it is loaded by its name."""
    reached = frozenset().union(*(affected.reach(name) for name in affected._test_modules()))

    assert not [
        name
        for name, module in modules().items()
        if not reached.intersection(affected._modules_of(module.path.relative_to(ROOT).as_posix()))
    ]


@pytest.mark.parametrize(
    ("changed", "selected", "left"),
    [
        (
            "functions/channels/dingtalk/channel.py",
            "tests/functions/channels/dingtalk/test_sending.py",
            "tests/functions/channels/line/test_send.py",
        ),
        (
            "functions/agent/turn/loop.py",
            "tests/functions/agent/test_seed_dialogues.py",
            "tests/sigil/sandbox/test_protocol.py",
        ),
        (
            "sigil/storage/kv/redis.py",
            "tests/sigil/storage/kv/test_redis.py",
            "tests/sigil/test_lenient_json.py",
        ),
        ("tests/fakes/line.py", "tests/stories/test_line.py", "tests/stories/test_slack.py"),
        (
            "sigil/sandbox/engine/prelude/url.js",
            "tests/sigil/sandbox/test_services.py",
            "tests/sigil/test_lenient_json.py",
        ),
        ("template.yaml", "tests/deploy", "tests/sigil/test_lenient_json.py"),
        ("docs/chat.md", "tests/project", "tests/deploy"),
        ("tests/data/skills.tsv", "tests/functions/test_skill_ranking.py", "tests/deploy"),
    ],
)
def test_a_change_selects_what_its_imports_lead_to_and_no_more(
    changed: str, selected: str, left: str
) -> None:
    found = find_affected([changed])

    assert selected in found
    assert left not in found
    assert "tests/project" in found


def test_what_everything_rests_on_selects_all() -> None:
    assert find_affected(["uv.lock", "docs/chat.md"]) == ["tests"]
    assert find_affected([]) == []


def test_a_sample_spans_the_rows_and_a_check_of_everything_takes_them_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("CHECK_ALL", raising=False)
    assert selection.sample(range(10), 4) == [0, 3, 6, 9]
    assert selection.sample(range(3), 4) == [0, 1, 2]
    assert selection.sample(range(3), 1) == [0]

    monkeypatch.setenv("CHECK_ALL", "1")
    assert selection.sample(range(10), 4) == list(range(10))
