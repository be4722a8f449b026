"""Where the browser goes: every page without a parameter, and of each page with one the first that
links lead to. What is filled in before stands in `FILLERS`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from html import unescape
from urllib.parse import unquote

from starlette.routing import compile_path

from functions.agent.management.people import open_link_requests
from functions.agent.memory.thing import Thing
from functions.agent.memory.things import Things
from functions.agent.policy.proposals import Proposal
from functions.events import Event, Sender
from functions.hooks import Hook, Hooks, make_token
from functions.page import pages
from functions.page.access.viewer import VIEWERS
from functions.queues import dead_letters
from sigil.access.tokens import TokenRequest
from sigil.errors import UsageError
from sigil.protocol import Caller
from sigil.storage.kv import keys
from tests.functions.agent.talk import event
from tests.functions.page.browsing import Browser
from tests.functions.page.ui.hostile import HOSTILE
from tests.functions.serving import Served
from tests.machine import until

EXAMPLES: Mapping[str, str] = {
    "/chat/{name}": "/chat/main",
    "/capabilities/{namespace}/{name}/{verb}": "/capabilities/library/web-search/grant",
}
"""The address of a page with a parameter that no link leads to, by the path of its route."""
UNFILLED: frozenset[str] = frozenset(
    {
        "/chat/{name}/files/{id}",
        "/chat/{name}/kept/{path:path}",
        "/chat/{name}/state",
        "/people/export",
    }
)
"""The routes of what is no page: files, and what scripts ask."""
DEPTH = 3
"""Links are followed so far."""
EACH = 2
"""So many pages of each route are visited."""
_LINK = re.compile(r'<a [^>]*?href="/ui(/[^"#]*)"')


def chat(server: Served, texts: tuple[str, ...]) -> None:
    for number, text in enumerate(texts):
        server.post("/chat", json={"session": f"chat-{number % 3}", "text": text})


def add_tasks(server: Served, texts: tuple[str, ...]) -> None:
    for text in texts:
        task = {"subject": " ".join(text.split())[:80] or "x", "description": text[:2_000]}
        server.post("/board/main/tasks", json=task)


def let_people_in(server: Served, texts: tuple[str, ...]) -> None:
    for number, text in enumerate(texts[:20]):
        server.runtime.app.people.let_in(f"telegram:{900 + number}", "member", text, "test")
    app = server.runtime.app
    phone = "slack:T1.U1"
    written = replace(event("hi", session=phone, sender=phone), sender=Sender(phone, texts[0]))
    open_link_requests(app).ask(app.pairing.offer_code(written) or "", "telegram:900", "asked")


def add_documents(server: Served, texts: tuple[str, ...]) -> None:
    for number, text in enumerate(texts[:12]):
        title = " ".join(text.split())[:60] or "x"
        path = f"/files/main/notes/{number}.md"
        for version in (text[:5_000], f"{text[:4_000]}\n\n{text[:1_000]}"):
            body = f"# {title}\n\n{version}"
            fields = {"title": title, "text": body, "source": title, "why": title}
            server.post("/kb", json=fields)
            server.client.put(path, content=version.encode("utf-8", "replace"))


def make_agents_and_skills(server: Served, texts: tuple[str, ...]) -> None:
    server.post("/agents", json={"name": "alice", "role": texts[0][:200]})
    for number, text in enumerate(texts[:6]):
        meaning = " ".join(text.split())[:60].replace('"', "'") or "x"
        skill = f'---\nname: rule-{number}\ndescription: "{meaning}"\n---\n\n{text[:3_000]}\n'
        server.client.put(f"/skills/rule-{number}", json={"text": skill})
        # one that can be taken back has another version
        server.client.put(f"/skills/rule-{number}", json={"text": f"{skill}\nOnce more.\n"})


def let_wait(server: Served, texts: tuple[str, ...]) -> None:
    app = server.runtime.app
    proposal = Proposal(
        id="",
        digest="1" * 64,
        agent="main",
        session="http:admin:main",
        by="http:admin",
        acts=(texts[0][:100],),
        tool="cap_pay",
        arguments=json.dumps({"to": texts[1]}),
    )
    app.proposals.propose(proposal)
    sender = Sender("telegram:5", texts[0])
    now = app.clock.now()
    given_up = Event("dead:1", "message", "main", "telegram:5", sender, texts[0], now, "1")
    dead_letters.give_up(app.kv, given_up, texts[1][:200], now)


def keep_things(server: Served, texts: tuple[str, ...]) -> None:
    """Write documents with versions, things, an access key and a hook."""
    app = server.runtime.app
    scope = app.documents.agent
    for text in texts[:6]:
        clean = " ".join(text.split())[:1_000] or "x"
        with suppress(UsageError):  # an invisible sign is refused
            app.documents.write(scope, "soul", clean, by=clean[:80], why=clean)
        thing = Thing("fact", (clean[:100], "is", clean), "user", 1.0, app.clock.now(), clean[:80])
        Things(app.kv, scope, app.helpers.terms).save(thing)
    request = TokenRequest("invoke", " ".join(texts[0].split())[:60], ("run:*",))
    app.registry.keys.create(request, Caller(app.root, owner=True))
    hook = Hook(
        id="1",
        name="builds",
        agent=app.name,
        digest=make_token()[1],
        by="telegram:900",
        since=1.0,
        text=texts[0],
    )
    Hooks(app.kv, app.root).add(hook)


def write_on_the_page(server: Served, texts: tuple[str, ...]) -> None:
    """Fill the chat of whoever signs in: a person of the machine."""
    app = server.runtime.app
    session = "web:terminal:local:main"
    written = ""
    for number, text in enumerate(texts):
        sent = replace(event(text, session=session), id=f"web:{number}")
        server.runtime.queue.put(sent)
        written = written if sent.is_inquiry else sent.id  # which no history has
    key = keys.session_of(app.name, session)

    def is_over() -> bool:
        document = app.sessions.open(key).document
        return document.turn is None and written in document.seen

    until(is_over)


FILLERS: tuple[Callable[[Served, tuple[str, ...]], None], ...] = (
    chat,
    add_tasks,
    let_people_in,
    add_documents,
    make_agents_and_skills,
    let_wait,
    keep_things,
    write_on_the_page,
)
"""Each writes texts into everything of a kind that people, programs or models write. What is refused
is not there.
"""
PLAIN = (
    "encode hello world in base64",
    "draw a bar chart of 3, 5, 8",
    "what is 15% of 240",
    "roll two dice",
    "/tools",
)


def fill(server: Served, *, hostile: bool) -> None:
    """Let something happen, with plain words or with what breaks pages."""
    for filler in FILLERS:
        filler(server, HOSTILE if hostile else PLAIN)


def list_visits(browser: Browser) -> list[str]:
    """Return the addresses of all pages for an owner who has signed in; fails for a page that
    neither a link nor an example leads to.
    """
    routes = {
        route.path: compile_path(route.path)[0]
        for route in pages.ROUTES
        if route.method == "GET" and route.roles & VIEWERS and not route.path.endswith("/live")
    }
    found: dict[str, list[str]] = {}
    for path in routes:
        bare = EXAMPLES.get(path, path)
        # one that needs a parameter, in its path or behind it, is known by the links to it
        found[path] = [bare] if "{" not in bare and _is_page(browser, bare) else []
    waiting = [each for known in found.values() for each in known]
    for _ in range(DEPTH):
        links = [link for path in waiting for link in _list_links(browser, path)]
        waiting = []
        for link in dict.fromkeys(links):
            there = unquote(link.partition("?")[0])
            route = next((path for path, pattern in routes.items() if pattern.match(there)), "")
            if (
                route
                and route not in (*found[route], *UNFILLED)
                and link not in found[route]
                and len(found[route]) < EACH
            ):
                found[route].append(link)
                waiting.append(link)
    alone = [
        path for path, known in found.items() if "{" in path and not known and path not in UNFILLED
    ]
    assert not alone, f"no link leads to {alone}: give an example in {__name__}.EXAMPLES"
    visits = ["/no-such-page", *(each for known in found.values() for each in known)]
    return [re.sub("^/$", "", path) for path in dict.fromkeys(visits)]


def _is_page(browser: Browser, path: str) -> bool:
    """Return whether there is a page at an address, or one that it leads on to, and not values."""
    answer = browser.get(path)
    is_text = answer.headers.get("content-type", "").startswith("text/html")
    has_frame = "</main>" in answer.text
    return answer.is_redirect or (answer.status_code < 400 and is_text and has_frame)


def _list_links(browser: Browser, path: str) -> list[str]:
    page = browser.client.get(f"/ui{path}", headers={"accept": "text/html"}, follow_redirects=True)
    assert page.status_code < 500, (path, page.status_code)
    return [unescape(link) for link in _LINK.findall(page.text)]
