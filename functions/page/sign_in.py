"""Signing in and out."""

from __future__ import annotations

from starlette.responses import Response

from functions.page.frame import Page, PageRequest, PageRoute, redirect, render
from functions.page.viewer import EVERYBODY, VIEWERS
from functions.page.visitors import ADMIN, open_logins
from sigil.catalog.owner import ADMIN as ADMIN_KIND
from sigil.errors import Refused
from sigil.http.page.logins import drop_cookie, set_cookie


def show_form(page: PageRequest) -> Response:
    """Show the field for a code; whoever has signed in is led on."""
    if page.viewer.login:
        return redirect(page, "/")
    return render(page, "sign_in.html", title=page.words.sign_in, error="")


def sign_in(page: PageRequest) -> Response:
    """Sign in with what was typed."""
    typed = page.form.get("code", "").strip()
    client = page.request.client
    try:
        holder = page.deps.gate.admit(f"Bearer {typed}", client.host if client else "")
    except Refused as problem:
        return render(
            page, "sign_in.html", title=page.words.sign_in, status=401, error=problem.message
        )
    if holder.kind != ADMIN_KIND:
        raise Refused("EPERM", "that key opens no page", source="page")
    token = open_logins(page.deps).open(ADMIN, "owner", "token", page.deps.gate.admin_proof)
    response = redirect(page, "/")
    set_cookie(page.request, response, token)
    return response


def sign_out(page: PageRequest) -> Response:
    """End this sign-in."""
    open_logins(page.deps).end(page.viewer.login)
    response = redirect(page, "/login")
    drop_cookie(page.request, response)
    return response


ROUTES = (
    PageRoute("/login", "GET", show_form, EVERYBODY),
    PageRoute("/login", "POST", sign_in, EVERYBODY, reads_form=True),
    PageRoute("/logout", "POST", sign_out, VIEWERS),
)
PAGES: tuple[Page, ...] = ()
