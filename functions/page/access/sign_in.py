"""Signing in to the agent's pages and out of them, and the page about one's own sign-ins."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from functions.agent.access import pairing_code
from functions.agent.access.web_codes import CodeRefused, WebCodes
from functions.page.access.viewer import EVERYBODY, PEOPLE, VIEWERS, Role, limit_role
from functions.page.access.visitors import ADMIN, find_person_role, open_logins
from functions.page.frame import Page, PageRequest, PageRoute, answer_json, redirect, render
from functions.page.words.owner_words import load_words
from sigil.access.authentication import find_network
from sigil.access.tokens import PREFIX
from sigil.catalog.owner import ADMIN as ADMIN_KIND
from sigil.errors import Refused
from sigil.http.page.filters import write_time
from sigil.http.page.logins import CLEARED, digest_token, drop_cookie, set_cookie

PATH: Final = "/login"
HEADER: Final = "Bearer "
CODE_CHARACTERS_MOST: Final = 24
"""A code has 12 characters in three groups; whoever types one wrong types hardly more."""
KEY_PERSON: Final = "key"
"""The platform of the id of whoever signed in with an access key."""


def show_form(page: PageRequest) -> Response:
    """Show the field for a code; whoever has signed in is led on."""
    if page.viewer.login:
        return redirect(page, "/")
    return render(page, "sign_in.html", title=page.words.sign_in, error="")


def sign_in(page: PageRequest) -> Response:
    """Sign in with what was typed: a code, the admin token or an access key."""
    words = page.words
    client = page.request.client
    address = client.host if client else ""
    tries = page.deps.sign_in_tries
    network = find_network(address)
    try:
        if tries.is_exhausted(network):  # a right one would not be found out either
            raise Refused("ERATE", words.tries, source="page", retry_after=tries.take(network))
        token = _open_login(page, page.form.get("code", "").strip(), address)
    except CodeRefused as problem:
        tries.take(network)
        told = {"used": words.code_used, "old": words.code_old}
        return _show_refusal(page, problem, told.get(problem.reason, words.code_unknown))
    except Refused as problem:
        tries.take(network)
        told = {"ERATE": words.tries, "EPERM": words.person_gone}
        return _show_refusal(page, problem, told.get(problem.code, words.key_unknown))
    if page.viewer.login:  # whoever signs in as somebody else has left
        open_logins(page.deps).end(page.viewer.login)
    response = redirect(page, "/")
    set_cookie(page.request, response, token)
    return response


def _open_login(page: PageRequest, typed: str, address: str) -> str:
    """Return the token of a new sign-in; `Refused` when what was typed opens none."""
    deps = page.deps
    logins = open_logins(deps)
    admin = deps.gate.find_admin(f"{HEADER}{typed}", address)
    if admin:
        return logins.open(ADMIN, "owner", "token", deps.gate.admin_proof)
    if _may_be_code(typed):
        codes = WebCodes(deps.kv, deps.app.root, deps.app.clock.now)
        code = codes.use(typed)
        role: Role = limit_role(find_person_role(deps.app.people, code.who), code.role)
        if role == "stranger":
            raise Refused("EPERM", "the person of that code may not come in", source="page")
        return logins.open(code.who, code.role, "code")
    holder = deps.gate.admit(f"{HEADER}{typed}", address)
    if holder.kind == ADMIN_KIND:
        return logins.open(ADMIN, "owner", "token", deps.gate.admin_proof)
    return logins.open(f"{KEY_PERSON}:{holder.id}", "reader", "key", digest_token(typed))


def _may_be_code(typed: str) -> bool:
    """Return whether a text may be meant as a code, right or mistyped, and not as a longer key."""
    is_short = len(typed) <= CODE_CHARACTERS_MOST and not typed.startswith(PREFIX)
    return is_short and pairing_code.looks_mistyped(typed)


def _show_refusal(page: PageRequest, problem: Refused, told: str) -> Response:
    status = 429 if problem.code == "ERATE" else 401
    response = render(page, "sign_in.html", title=page.words.sign_in, status=status, error=told)
    if problem.retry_after:
        response.headers["Retry-After"] = str(max(round(problem.retry_after), 1))
    return response


def sign_out(page: PageRequest) -> Response:
    """End this sign-in."""
    open_logins(page.deps).end(page.viewer.login)
    return _leave(page)


def sign_out_everywhere(page: PageRequest) -> Response:
    """End every sign-in of this person."""
    open_logins(page.deps).end_all(page.viewer.person)
    return _leave(page)


def _leave(page: PageRequest) -> Response:
    response = redirect(page, PATH)
    drop_cookie(page.request, response)
    response.headers["Clear-Site-Data"] = CLEARED
    return response


def show_account(page: PageRequest) -> Response:
    """Show who one is here, and one's sign-ins."""
    words = page.words
    viewer = page.viewer
    mine = [
        (digest, login)
        for digest, login in open_logins(page.deps).scan()
        if login.who == viewer.person
    ]
    mine.sort(key=lambda each: each[1].seen, reverse=True)
    if page.wants_json:
        items = [
            {"by": login.by, "at": login.at, "seen": login.seen, "this": digest == viewer.login}
            for digest, login in mine
        ]
        return answer_json(page, {"person": viewer.person, "role": viewer.role, "sign_ins": items})
    ways = {"code": words.way_code, "token": words.way_token, "key": words.way_key}
    roles = {"owner": words.owner, "member": words.member, "reader": words.reader}
    rows = []
    for digest, login in mine:
        here = f" ({words.this_one})" if digest == viewer.login else ""
        rows.append([f"{ways[login.by]}{here}", write_time(login.at), write_time(login.seen)])
    facts = [(words.signed_in_as, viewer.name or viewer.person), (words.role, roles[viewer.role])]
    export = load_words(page.language).export_own if viewer.role in PEOPLE else ""
    return render(page, "account.html", title=words.account, facts=facts, rows=rows, export=export)


ROUTES = (
    PageRoute(PATH, "GET", show_form, EVERYBODY),
    PageRoute(PATH, "POST", sign_in, EVERYBODY, reads_form=True),
    PageRoute("/logout", "POST", sign_out, VIEWERS),
    PageRoute("/logout/everywhere", "POST", sign_out_everywhere, VIEWERS),
    PageRoute("/account", "GET", show_account, VIEWERS),
)
PAGES: tuple[Page, ...] = ()
"""The account is in the bar of every page."""
