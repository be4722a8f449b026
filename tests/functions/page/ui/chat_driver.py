"""Writes in a chat with Chromium, in the environment of `scripts/tool browser`, and prints what was
wrong as JSON. It is started by `test_ui.py`, with a JSON object on stdin.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from driver import FLAGS, sign_in
from playwright.sync_api import Page, Route, sync_playwright

MICROPHONE = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]
CHAT = "**/ui/chat/typed"


def lose_answer(route: Route) -> None:
    """Let a request come to the server, and its answer not to the page."""
    route.fetch()
    route.abort()


def hold_form(route: Route) -> None:
    """Let what is sent come nowhere, and nobody know."""
    if route.request.method == "GET":
        route.continue_()


def wait(holds: Callable[[], object], seconds: float = 20.0) -> float:
    """Wait until it holds, and return after how many seconds it did."""
    began = time.monotonic()
    while not holds():
        if time.monotonic() - began > seconds:  # nothing tells that it will not happen
            raise AssertionError("it did not happen")
        time.sleep(0.02)  # a browser is only looked at
    return time.monotonic() - began


def read(page: Page, selector: str) -> str:
    return "\n".join(page.locator(selector).all_inner_texts())


def is_over(page: Page) -> bool:
    return page.locator("#live").is_hidden() and not page.locator(".asked").count()


def main() -> None:
    """Do what people do in a chat, and print what was not as it should be."""
    told = json.load(sys.stdin)
    found: list[str] = []

    def check(holds: object, what: str) -> None:
        if not holds:
            found.append(what)

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=told["chromium"], args=[*FLAGS, *MICROPHONE], headless=True
        )
        state = sign_in(browser, told["url"], told["code"])
        context = browser.new_context(storage_state=state, viewport={"width": 1280, "height": 800})
        errors: list[str] = []

        def open_tab() -> Page:
            page = context.new_page()
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.on("console", note)
            page.goto(f"{told['url']}/ui/chat/typed")
            return page

        def note(message: Any) -> None:
            if message.type == "error":
                errors.append(message.text)

        page, other = open_tab(), open_tab()
        page.bring_to_front()
        field = page.locator("#text")
        field.fill("half a sentence")
        page.reload()
        check(field.input_value() == "half a sentence", "a reload keeps what was typed")
        field.fill("")

        field.type("/who")
        wait(lambda: "/whoami" in read(page, "#menu li"))
        page.keyboard.press("Enter")
        check(field.input_value() == "/whoami", "Enter takes a command of the menu")
        field.fill("")

        field.fill("two words")
        field.dispatch_event("keydown", {"key": "Enter", "keyCode": 229, "isComposing": True})
        check(field.input_value() == "two words", "Enter that ends a composition sends nothing")
        page.keyboard.press("Shift+Enter")
        check("\n" in field.input_value(), "Shift+Enter breaks the line")
        field.fill("tell me a lot")
        page.keyboard.press("Enter")
        check(read(page, ".own .bubble") == "tell me a lot", "a message stands there at once")
        check(field.input_value() == "", "the field is empty again")
        wait(lambda: "word" in read(page, "#words"))
        check(page.locator("#stop").is_visible(), "the square stands in the place of the arrow")
        wait(lambda: "word" in read(other, "#words"))
        page.keyboard.press("Escape")
        took = wait(lambda: is_over(page))
        check(took < told["stop"], f"Esc stops the turn: {took:.2f} s")
        check("Stopped here" in read(page, "#stopped"), "what was written stays, marked")
        wait(lambda: is_over(other))
        check(read(page, "#talk") == read(other, "#talk"), "two tabs are equal at the end")

        page.keyboard.press("ArrowUp")
        check(field.input_value() == "tell me a lot", "↑ brings back the last message")
        page.keyboard.press("Enter")
        wait(lambda: "It is done." in read(page, ".answer .body") and is_over(page))
        check(page.locator("#stopped").count() == 0, "a new turn takes away what was stopped")
        check(page.locator(".own .bubble").count() == 2, "each message stands there once")
        page.reload()
        wait(lambda: page.locator(".own .bubble").count() == 2)

        page.locator("#file").set_input_files(
            [{"name": "a.txt", "mimeType": "text/plain", "buffer": b"hello"}]
        )
        check("a.txt" in read(page, "#attached"), "a file is shown before it is sent")
        page.get_by_label("Take back a.txt").click()
        check(read(page, "#attached") == "", "and taken back")

        page.route(CHAT, lose_answer)
        field.fill("only once")
        page.keyboard.press("Enter")
        wait(lambda: is_over(page) and any("ERR_FAILED" in each for each in errors))
        errors.clear()
        page.unroute(CHAT)
        wait(lambda: "done" in read(page, ".answer .body") and is_over(page))
        if field.input_value():  # whether it came was not known
            page.keyboard.press("Enter")
            wait(lambda: not field.input_value() and page.locator("#trouble").is_hidden())
            wait(lambda: is_over(page))
        check(page.locator(".own .bubble").count() == 3, "what came twice is answered once")

        page.route(CHAT, hold_form)
        field.fill("on its way")
        page.keyboard.press("Enter")
        check(field.input_value() == "", "it is sent")
        page.reload()
        check(field.input_value() == "on its way", "what was not sent yet outlives the page")
        page.unroute(CHAT)
        field.fill("")

        page.locator("#voice").hover()
        page.mouse.down()
        wait(lambda: "Recording · 1 s" in read(page, "#trouble"))
        page.mouse.up()
        wait(lambda: "voice.webm" in read(page, ".own") and is_over(page))
        check(page.locator("#trouble").is_hidden(), "it is recorded while it is held")

        # a browser has six connections to a server
        for _ in range(6):
            open_tab()
        wait(lambda: "voice.webm" in read(context.pages[-1], ".own"))
        check(not errors, f"no errors: {errors}")
        browser.close()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
