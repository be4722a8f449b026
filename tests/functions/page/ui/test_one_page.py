"""One page in Chromium, in the suite where there is one: all others are in `scripts/test ui`."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from functions.wiring import AgentRuntime
from tests.fakes.model import ScriptedModel, say
from tests.functions.agent.talk import event, run_event
from tests.functions.page.ui.test_ui import drive, find_chromium, run
from tests.functions.serving import serving

WHO = "terminal:local"


@pytest.mark.skipif(not find_chromium(), reason="there is no Chromium: apt-get install chromium")
def test_a_chat_is_right_on_a_phone_with_keys_and_without_a_script(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    model.then(say("| a | b |\n|---|---|\n| 1 | `2` |"))
    axe = f"{run('scripts/npm')}/node_modules/axe-core/axe.min.js"
    with serving(runtime(llm_url=model.url)) as server:
        run_event(server.runtime, event("show a table", session=f"web:{WHO}:main", sender=WHO))
        found = drive(
            "driver.py",
            server,
            find_chromium(),
            visits=["/chat/main"],
            axe=axe,
            pictures="",
            widths=[390],
            schemes=["dark"],
            kinds={},
        )
    assert not found, json.dumps(found, indent=1, ensure_ascii=False)
