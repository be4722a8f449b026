"""Tabs of a browser at one chat, for the drivers: what is read there, and what was wrong."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from playwright.sync_api import BrowserContext, Page

CHAT = "typed"


def wait(holds: Callable[[], object], seconds: float = 20.0) -> float:
    """Wait until it holds, and return after how many seconds it did."""
    began = time.monotonic()
    while not holds():
        if time.monotonic() - began > seconds:  # nothing tells that it will not happen
            raise AssertionError("it did not happen")
        time.sleep(0.02)  # a browser is only looked at
    return time.monotonic() - began


def read(page: Page, selector: str) -> str:
    """Return the visible words of all elements of a kind."""
    return "\n".join(page.locator(selector).all_inner_texts())


def is_over(page: Page) -> bool:
    """Return whether no turn is at work, as far as the page says."""
    return page.locator("#live").is_hidden() and not page.locator(".asked").count()


class ChatTabs:
    """Opens tabs at the chat and collects the errors of their consoles."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.context = context
        self.url = url
        self.errors: list[str] = []
        self.found: list[str] = []

    def check(self, holds: object, what: str) -> None:
        """Note what should hold and does not."""
        if not holds:
            self.found.append(what)

    def open(self, script: str = "") -> Page:
        """Open a tab; `script` runs in it before the page's own."""
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._note)
        if script:
            page.add_init_script(script)
        page.goto(f"{self.url}/ui/chat/{CHAT}")
        return page

    def evaluate(self, page: Page, expression: str) -> Any:
        """Return a value of the page, whose own policy would refuse the `eval` of playwright."""
        tools = self.context.new_cdp_session(page)
        answer = tools.send(
            "Runtime.evaluate",
            {"expression": expression, "awaitPromise": True, "returnByValue": True},
        )
        tools.detach()
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"])[:500])
        return answer["result"].get("value")

    def _note(self, message: Any) -> None:
        if message.type == "error":
            self.errors.append(message.text)
