"""The requests that the pages about schedules and hooks show, sent as they stand."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager

from tests.fakes.model import ScriptedModel, say
from tests.functions.hook_fixture import add_hook
from tests.functions.people import OWNER, Live
from tests.functions.serving import TOKEN
from tests.project.tree import ROOT

_BLOCK = re.compile(r"^```sh\n(curl .*?)^```$", re.MULTILINE | re.DOTALL)


def send_blocks(page: str, url: str, token: str) -> list[object]:
    """Send the requests of a page with curl, and return the answers."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    script = "\n".join(_BLOCK.findall(text)).replace('curl "', 'curl --silent --fail-with-body "')
    script = script.replace("\ncurl", "; echo; curl")
    done = subprocess.run(
        ["bash", "-euc", script],
        env={"PATH": os.environ["PATH"], "URL": url, "TOKEN": token},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, (script, done.stdout, done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_requests_of_the_pages_do_what_they_say(
    live: Callable[..., AbstractContextManager[Live]], model: ScriptedModel
) -> None:
    model.then(say("hello"), say("Build 1042 failed."), say("[SILENT]"))
    with live() as agent:
        assert agent.ask("hello") == "hello"
        (made,) = send_blocks("schedules.md", agent.server.url, TOKEN)
        assert isinstance(made, dict)
        assert made["in_words"] == "every Monday to Friday at 08:00 (Europe/Berlin)"
        _, token = add_hook(agent.server.runtime)
        posted = send_blocks("hooks.md", agent.server.url, token)
        assert [list(each) for each in posted] == [["event"], ["event"]]  # type: ignore[call-overload]
        assert agent.replies(OWNER, 2)[1] == "Build 1042 failed."
