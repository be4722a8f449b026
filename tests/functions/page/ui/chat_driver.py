"""Writes in a chat with Chromium, in the environment of `scripts/tool browser`, and prints what was
wrong as JSON. It is started by `test_ui.py`, with a JSON object on stdin.
"""

from __future__ import annotations

import json
import sys
import time

from chat_tabs import CHAT, ChatTabs, is_over, read, wait
from driver import FLAGS, sign_in
from playwright.sync_api import Route, sync_playwright

ADDRESS = f"**/ui/chat/{CHAT}"


def lose_answer(route: Route) -> None:
    """Let a request come to the server, and its answer not to the page."""
    route.fetch()
    route.abort()


def hold_form(route: Route) -> None:
    """Let what is sent come nowhere, and nobody know."""
    if route.request.method == "GET":
        route.continue_()


def main() -> None:
    """Do what people do in a chat, and print what was not as it should be."""
    told = json.load(sys.stdin)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=told["chromium"], args=FLAGS, headless=True
        )
        state = sign_in(browser, told["url"], told["code"])
        context = browser.new_context(storage_state=state, viewport={"width": 1280, "height": 800})
        tabs = ChatTabs(context, told["url"])
        check, errors = tabs.check, tabs.errors
        page, other = tabs.open(), tabs.open()
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
        tabs.evaluate(page, "navigator.mediaDevices.getUserMedia = () => new Promise(() => {})")
        page.locator("#voice").click()
        page.keyboard.press("Escape")
        time.sleep(told["stop"])
        check(not is_over(page), "Esc takes back the wish for the microphone, and stops nothing")
        page.keyboard.press("Escape")
        took = wait(lambda: is_over(page))
        check(took < told["stop"], f"Esc stops the turn: {took:.2f} s")
        check("Stopped here" in read(page, "#stopped"), "what was written stays, marked")
        wait(lambda: is_over(other))
        check(read(page, "#talk") == read(other, "#talk"), "two tabs are equal at the end")

        field.focus()
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

        page.route(ADDRESS, lose_answer)
        field.fill("only once")
        page.keyboard.press("Enter")
        wait(lambda: is_over(page) and any("ERR_FAILED" in each for each in errors))
        errors.clear()
        page.unroute(ADDRESS)
        wait(lambda: "done" in read(page, ".answer .body") and is_over(page))
        if field.input_value():  # whether it came was not known
            page.keyboard.press("Enter")
            wait(lambda: not field.input_value() and page.locator("#trouble").is_hidden())
            wait(lambda: is_over(page))
        check(page.locator(".own .bubble").count() == 3, "what came twice is answered once")

        page.route(ADDRESS, hold_form)
        field.fill("on its way")
        page.keyboard.press("Enter")
        check(field.input_value() == "", "it is sent")
        page.reload()
        check(field.input_value() == "on its way", "what was not sent yet outlives the page")
        page.unroute(ADDRESS)
        field.fill("")

        # a browser has six connections to a server
        for _ in range(6):
            tabs.open()
        wait(lambda: "only once" in read(context.pages[-1], ".own"))
        check(not errors, f"no errors: {errors}")
        browser.close()
    print(json.dumps(tabs.found))


if __name__ == "__main__":
    main()
