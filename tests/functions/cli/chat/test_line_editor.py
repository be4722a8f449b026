"""What was typed at the terminal comes back after a restart, and Tab completes commands."""

from __future__ import annotations

import stat
from pathlib import Path

from tests.fakes.model import ScriptedModel, say
from tests.functions.cli.programs import terminal

SECRET = "sk-a-secret-of-the-settings"
UP, TAB = "\x1b[A", "\t"


def test_typed_lines_come_back_after_a_restart_and_no_secret_is_among_them(
    environment: dict[str, str], model: ScriptedModel
) -> None:
    settings = {"UNCAGED_LLM_URL": model.url, "UNCAGED_LLM_KEY": SECRET, "UNCAGED_LIBRARY": "none"}
    model.then(say("hello"), say("again"), say("hm"))
    with terminal(environment, **settings) as screen:
        for line, answer in (
            ("good morning", "hello"),
            (f"my key is {SECRET}", "again"),
            ("/pair ABCD-EFGH", "code"),
        ):
            screen.wait_for_match("› ")
            screen.type(f"{line}\n")
            screen.wait_for_match(answer)
        screen.wait_for_match("› ")
        screen.type("\x04")
        screen.wait_for_end()
    with terminal(environment, **settings) as screen:
        screen.wait_for_match("› ")
        screen.type(UP)
        screen.wait_for_match("good morning")
        screen.type("\n")
        screen.wait_for_match("hm(?s:.*?)› ")
        screen.type(f"/who{TAB}\n")
        screen.wait_for("/whoami", "You are", "terminal:local")
    (kept,) = Path(environment["UNCAGED_DATA"]).glob("chat-history")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert kept.read_text().splitlines() == ['"good morning"', '"/whoami "']
