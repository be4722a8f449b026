"""The chats that a viewer sees beside the one that is open: their own, and for owners those of all
platforms, whoever was at work last first.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from typing import Final

from functions.agent.management.sessions import ListedSession
from functions.events import OWN, WEB_CHAT, find_web_person
from functions.page.access.reach import find_reach
from functions.page.frame import PageRequest
from functions.page.words.chat_words import load_words
from sigil.errors import UsageError

SHOWN_MOST: Final = 60
TITLED_MOST: Final = 30
"""Of so many chats without a title the first words are read."""
ENCODED: Final = "~"
"""How the name of a chat of another platform begins in an address."""


@dataclass(frozen=True, slots=True)
class ListedChat:
    """A chat in the list: its session, its name in addresses, its title, its platform, when it was
    last at work (seconds since 1970), whether it is now, and whether it has answered since the
    viewer looked at it. One that is open shows these itself.
    """

    session: str
    name: str
    title: str
    platform: str
    at: float
    is_working: bool = False
    is_unread: bool = False


def is_own_chat(session: str, page: PageRequest) -> bool:
    """Return whether a session is a chat of the viewer on the page. Ids have colons, so that one
    may begin like another one's: `matrix:@ada:example.org` and `matrix:@ada:example.org:8448`.
    """
    return bool(page.viewer.person) and find_web_person(session) == page.viewer.person


def name_in_address(session: str, page: PageRequest) -> str:
    """Return the name of a chat in an address of the page."""
    if is_own_chat(session, page):
        return session.rpartition(":")[2]
    return ENCODED + urlsafe_b64encode(session.encode(errors="replace")).decode().rstrip("=")


def find_session(name: str, page: PageRequest) -> str:
    """Return the session of a chat by its name in an address; `UsageError` ENOENT for no name."""
    if WEB_CHAT.fullmatch(name):
        return f"web:{page.viewer.person}:{name}"
    if name.startswith(ENCODED) and len(name) < 2_000:
        encoded = name.removeprefix(ENCODED)
        try:
            return urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
        except ValueError:
            pass
    raise UsageError("ENOENT", "there is no such chat", source="page")


def list_chats(page: PageRequest, here: str = "", title_here: str = "") -> list[ListedChat]:
    """Return the chats that the viewer sees, with the one that is open `here`, whose title may not
    be written down yet.
    """
    app = page.deps.app
    cache = page.deps.chats
    live = page.deps.live
    working = live.list_working() if live else cache.list_working(app)
    found: dict[str, ListedChat] = {}
    marks = cache.find_marks(app, page.viewer.person)
    for each in cache.list_sessions(app, working):
        if len(found) >= SHOWN_MOST:
            break
        is_own = is_own_chat(each.session, page)
        if (
            each.session in found
            or each.platform == OWN
            or not (is_own or _is_readable(each, page))
        ):
            continue
        title = each.title
        if not title and is_own and len(found) < TITLED_MOST:
            title = cache.find_title(app, each.agent, each.session)
        found[each.session] = ListedChat(
            each.session,
            name_in_address(each.session, page),
            title or _name_untitled(each, page),
            each.platform,
            each.at,
            each.session in working and each.session != here,
            marks is not None and here != each.session and each.answered > marks.find(each.session),
        )
    listed = list(found.values())
    if here and here not in found:
        unnamed = load_words(page.language).new_chat if is_own_chat(here, page) else here
        title = title_here or unnamed
        name = name_in_address(here, page)
        platform = here.partition(":")[0]
        listed.insert(0, ListedChat(here, name, title, platform, 0.0))
    return listed


def _is_readable(each: ListedSession, page: PageRequest) -> bool:
    """Return whether the viewer, an owner, reads a chat of another platform."""
    if page.viewer.role != "owner":
        return False
    app = page.deps.app
    return page.deps.chats.find_reach(
        page.viewer.person,
        each.session,
        lambda: find_reach(app, page.viewer, each.session) == "texts",
    )


def _name_untitled(each: ListedSession, page: PageRequest) -> str:
    if is_own_chat(each.session, page):
        return each.session.rpartition(":")[2]
    return each.session
