"""Takes the pictures of the documentation with Chromium, in the environment of
`scripts/tool browser`. It is started by `test_pictures.py`, with a JSON object on stdin.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from chat_tabs import is_over, read, wait
from driver import FLAGS, sign_in
from playwright.sync_api import Page, sync_playwright


def main() -> None:
    """Let the trip be planned, and take pictures while and after that is done."""
    told = json.load(sys.stdin)
    url, folder = told["url"], Path(told["folder"])
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=told["chromium"], args=FLAGS, headless=True
        )
        state = sign_in(browser, url, told["code"])

        def open_page(path: str, width: int, height: int, **given: Any) -> Page:
            size = {"width": width, "height": height}
            context = browser.new_context(
                storage_state=state, viewport=size, timezone_id="UTC", locale="en-GB", **given
            )
            page = context.new_page()
            page.goto(f"{url}/ui{path}")
            return page

        def take(page: Page, name: str) -> None:
            page.wait_for_timeout(600)  # what moves has come to its place
            page.screenshot(path=folder / f"{name}.png", animations="disabled")

        for name, words in told["chats"].items():
            page = open_page(f"/chat/{name}", 1280, 800)
            page.locator("#text").fill(words)
            page.keyboard.press("Enter")
            wait(lambda: page.locator(".answer").count() and is_over(page))  # noqa: B023
            page.context.close()
        page = open_page("/chat/main", 1280, 800, color_scheme="dark")
        page.locator("#text").fill(told["words"])
        page.keyboard.press("Enter")
        wait(lambda: told["until"] in read(page, "#words"))
        take(page, "chat-dark")
        wait(lambda: page.locator(".answer a.cost").count() and is_over(page))
        page.locator(".answer a.cost").last.click()
        page.locator("main table, main h1").first.wait_for()
        page.set_viewport_size({"width": 1280, "height": 690})
        take(page, "run-dark")
        take(open_page("/chat/main", 1280, 800), "chat")
        phone = open_page("/chat/main", 390, 844, has_touch=True, is_mobile=True)
        phone.locator("label[for=show-rail]").click()
        take(phone, "chat-phone")
        browser.close()
    print("[]")


if __name__ == "__main__":
    main()
