"""`http.fetch` sends a capability's request within its grants.

Redirects are followed under the same rules. Secrets are put into the request, and taken out of the
answer again. What goes out by `permissions.web` alone, to any public page, carries no secret and no
headers but a few, and what comes back is a text in UTF-8.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial

from sigil.access.sign_in import how_to_set
from sigil.errors import Refused, ToolError, one_line
from sigil.manifest.permission_rules import HttpRule, SecretRule
from sigil.network.exchange import (
    REPLY_BYTES,
    BodyWatch,
    HttpAnswer,
    HttpRequest,
    RequestSource,
    WebTransport,
)
from sigil.network.headers import CREDENTIALS, Headers, drop_body_headers, normalize_name
from sigil.network.page_text import content_type_of, is_text_type, to_utf8
from sigil.network.searxng import SEARXNG_HOST
from sigil.network.urls import PORTS, Target
from sigil.protocol import Json
from sigil.run.host_calls import placeholders, scrubbing
from sigil.run.host_calls.fetch_messages import FetchReply, FetchRequest, build_reply, parse_request
from sigil.run.host_calls.placeholders import Values

REDIRECTS_MOST = 5
AGENT = "main"
"""The namespace that `sigil` uses when none is named."""
_REDIRECTS = (301, 302, 303, 307, 308)
WEB_METHODS = ("GET", "HEAD")
WEB_HEADERS = ("accept", "accept-language", "if-modified-since", "if-none-match")
"""The headers that a capability may set in a request by `permissions.web`."""
WEB_DEFAULTS = (
    ("user-agent", "Mozilla/5.0 (compatible; Uncaged)"),
    ("accept", "text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.8,*/*;q=0.1"),
)
CUT = "x-sigil-cut"
"""The header of an answer whose text goes on beyond what the capability gets."""


class WebRight(Enum):
    """Whether a capability may read any public page."""

    UNDECLARED = "undeclared"
    WAITING = "waiting"
    GRANTED = "granted"


def _count_nothing() -> None:
    """Let every request go out."""


@dataclass(frozen=True, slots=True)
class NetworkRights:
    """The requests that one capability may send, and those that wait for an owner's grant.

    `values` returns its granted secrets, read when they are needed. `namespace` is the one whose
    owners grant it, and for which it sends; empty for the agent's own. `web` is its right to read
    any public page, and `count_web` counts each time that it is used, or raises `Refused`.
    """

    name: str
    http: tuple[HttpRule, ...]
    http_waiting: tuple[HttpRule, ...]
    secrets: tuple[SecretRule, ...]
    secrets_waiting: tuple[SecretRule, ...]
    values: Callable[[], Values]
    namespace: str = ""
    web: WebRight = WebRight.UNDECLARED
    count_web: Callable[[], None] = _count_nothing

    @property
    def source(self) -> RequestSource:
        """The agent and the capability for which its requests are sent."""
        return RequestSource(self.namespace.partition("~")[0], f"{self.namespace}/{self.name}")

    @property
    def secret_names(self) -> frozenset[str]:
        """The names of its secrets, those that wait for a grant included."""
        return frozenset(rule.name for rule in (*self.secrets, *self.secrets_waiting))

    def is_by_web(self, method: str, target: Target, *, loopback: bool) -> bool:
        """Return whether the request goes out by `permissions.web` alone.

        `loopback` lets it go to any port of this machine. Raises `Refused` EPERM, which says what
        is missing, unless the request is granted.
        """
        if any(rule.allows(method, target) for rule in self.http):
            return False
        is_page = method in WEB_METHODS and (
            target.port == PORTS[target.scheme] or (loopback and target.is_local)
        )
        if is_page and self.web is WebRight.GRANTED:
            return True
        what = f"{method} {target.scheme}://{target.authority}{target.path}"
        if target.host == SEARXNG_HOST:
            what = "a search of the web"
        is_waiting = is_page and self.web is WebRight.WAITING
        if is_waiting or any(rule.allows(method, target) for rule in self.http_waiting):
            raise Refused("EPERM", f"{what} waits for an owner's grant: {self._grant_command}")
        if self.web is not WebRight.UNDECLARED:
            message = (
                f"{what} is not declared: permissions.web reads public pages alone, by GET or HEAD"
                " at ports 443 and 80"
            )
            raise Refused("EPERM", message)
        raise Refused("EPERM", f"{what} is not declared: add permissions.http to the manifest")

    def may_send_secret(self, name: str, target: Target) -> bool:
        """Return whether `name` is a secret of this capability that goes to `target`.

        Raises `Refused` EPERM when it is one that must not go there, or that is not set.
        """
        if any(rule.name == name and rule.fits(target) for rule in self.secrets):
            if name not in self.values():
                command = how_to_set(name, self._namespace_option)
                raise Refused("EPERM", f"the secret {name} is not set: {command}")
            return True
        if any(rule.name == name and rule.fits(target) for rule in self.secrets_waiting):
            message = f"the secret {name} waits for an owner's grant: {self._grant_command}"
            raise Refused("EPERM", message)
        if name in self.secret_names:
            why = "" if target.scheme == "https" else ": secrets go by https alone"
            raise Refused(
                "EPERM", f"the secret {name} is not for {target.scheme}://{target.authority}{why}"
            )
        return False

    @property
    def _grant_command(self) -> str:
        """The command by which an owner grants it; nothing is granted to a chat's own."""
        chat = self.namespace.partition("~")[2]
        if chat:
            return f"publish it first: `sigil publish {self.name} --session {chat}`"
        return f"`sigil grant {self.name}{self._namespace_option}`"

    @property
    def _namespace_option(self) -> str:
        """The option that names the namespace, where the agent is not the usual one."""
        agent = self.namespace.partition("~")[0]
        return f" --namespace {agent}" if agent not in ("", AGENT) else ""


def fetch(
    web: WebTransport,
    rights: NetworkRights,
    argument: Json,
    seconds: float,
    own: frozenset[str] | None = None,
    *,
    reply_bytes: int = REPLY_BYTES,
    watch: BodyWatch | None = None,
) -> FetchReply:
    """Send a guest's request and return its answer; for both shapes see `fetch_messages`.

    `own` names the headers that secrets are put into, beside the query, where somebody else wrote
    everything else; None means all of them and the body. `reply_bytes` is the most of the answer's
    body. `watch` gets the body as it comes, with whatever secret the server wrote into it, and may
    give it more time. Raises `Refused` EPERM, and `ToolError` EINVAL or ENET.
    """
    end = time.monotonic() + seconds
    request = parse_request(argument)
    is_own_address = True
    is_counted = False
    for redirects in range(REDIRECTS_MOST + 1):
        target = request.target
        is_by_web = rights.is_by_web(request.method, target, loopback=web.loopback)
        if is_by_web:
            if redirects == 0:
                _require_page_headers(request.headers)
            if not is_counted:
                rights.count_web()
                is_counted = True
            filled = _make_page_request(request, rights.source)
        else:
            if target.scheme != "https" and not (web.loopback and target.is_local):
                raise Refused("EPERM", "only https is allowed", source="http")
            filled = _fill_secrets(request, rights, own, is_own_address=is_own_address)
        if reply_bytes != REPLY_BYTES or watch:
            filled = replace(filled, reply_bytes=reply_bytes, watch=watch)
        answer = web.send(filled, end - time.monotonic())
        location = None
        if answer.status in _REDIRECTS:
            headers = answer.headers
            location = next((value for name, value in headers if name == "location"), None)
        if location is None or request.redirect == "manual":
            url = target.url
            if is_by_web:
                answer = _read_page(answer, target)
            names = rights.secret_names
            if own is None:
                # A placeholder that is there after scrubbing was a secret, and may be sent back as
                # it is; one that the server wrote must not be.
                answer = _rewrite_answer(
                    answer,
                    str,
                    partial(placeholders.split_field, names=names),
                    partial(placeholders.split_body, names=names),
                )
            if rights.secrets:
                if not is_own_address:
                    url = placeholders.split_text(url, names)
                values = rights.values()
                url = scrubbing.scrub_text(url, values)
                answer = _rewrite_answer(
                    answer,
                    partial(scrubbing.scrub_name, values=values),
                    partial(scrubbing.scrub_field, values=values),
                    partial(scrubbing.scrub, values=values),
                )
            return build_reply(answer, url, redirected=redirects > 0)
        if request.redirect == "error":
            raise ToolError("ENET", f"{target.host} redirects", source="http")
        request = _follow_redirect(request, answer.status, location, rights)
        is_own_address = False
    raise ToolError("ENET", f"more than {REDIRECTS_MOST} redirects", source="http")


def _fill_secrets(
    request: FetchRequest,
    rights: NetworkRights,
    own: frozenset[str] | None,
    *,
    is_own_address: bool,
) -> HttpRequest:
    """Return the request with its secrets in place; for `own` see `fetch`.

    `is_own_address` says that the capability wrote the address, and no server did.
    """
    target = request.target
    if is_own_address:
        for name in placeholders.names_in(target.path):
            if rights.may_send_secret(name, target):
                message = "a secret goes into headers, the query or the body, not into the path"
                raise Refused("EPERM", message, source="http")
    query = target.query if is_own_address else ""
    body = request.body if own is None else b""
    fields = [field for field in request.headers if own is None or field[0] in own]
    names = placeholders.names_in(query, *(value for _, value in fields), body)
    used = {name for name in names if rights.may_send_secret(name, target)}
    for name, value in request.headers:
        if name == "authorization" and not placeholders.names_in(value) & used:
            message = "authorization is set from a secret alone: declare it, and write {{NAME}}"
            raise Refused("EPERM", message, source="http")
        if normalize_name(name) in ("range", "if-range") and rights.secrets:
            message = f"the header {name} could cut a secret in two"
            raise Refused("EPERM", message, source="http")
    if not used:
        return HttpRequest(request.method, target, request.headers, request.body, rights.source)
    values = {name: rights.values()[name] for name in used}
    headers = []
    for field in request.headers:
        name, value = field
        if field in fields:
            value = placeholders.fill_header(value, values)
        if not value.isascii():
            message = "a secret that is not plain ASCII does not go into a header"
            raise Refused("EPERM", message, source="http")
        headers.append((name, value))
    body = request.body
    if own is None:
        kind = dict(request.headers).get("content-type", "")
        body = placeholders.fill_body(body, kind, values)
    if is_own_address:
        target = target.with_query(placeholders.fill_query(query, values))
    return HttpRequest(request.method, target, tuple(headers), body, rights.source)


def _require_page_headers(headers: Headers) -> None:
    """Raise `Refused` EPERM for a header that a request by `permissions.web` does not carry."""
    for name, _ in headers:
        if name not in WEB_HEADERS:
            allowed = ", ".join(WEB_HEADERS)
            message = f"the header {name} does not go out by permissions.web; {allowed} do"
            raise Refused("EPERM", message, source="http")


def _make_page_request(request: FetchRequest, source: RequestSource) -> HttpRequest:
    """Return a request by `permissions.web`: without a secret, and without other headers."""
    kept = tuple(field for field in request.headers if field[0] in WEB_HEADERS)
    names = {name for name, _ in kept}
    ours = tuple(field for field in WEB_DEFAULTS if field[0] not in names)
    return HttpRequest(request.method, request.target, ours + kept, b"", source, for_page=True)


def _read_page(answer: HttpAnswer, target: Target) -> HttpAnswer:
    """Return the answer with its text in UTF-8; `ToolError` EINVAL when it is no text.

    Where it is cut, the header `CUT` says so.
    """
    is_empty = not answer.body and not answer.is_cut
    if not is_empty and (not is_text_type(answer.headers) or b"\0\0\0" in answer.body):
        kind = content_type_of(answer.headers) or "a file"
        message = f"{target.host} answers with {one_line(kind, 60)}, which is no text"
        raise ToolError("EINVAL", message, source="http")
    page = to_utf8(answer.body, answer.headers, REPLY_BYTES, is_cut=answer.is_cut)
    kind = content_type_of(answer.headers) or "text/plain"
    headers = [(name, value) for name, value in answer.headers if name != CUT]
    headers = [field for field in headers if field[0] != "content-type"]
    headers.append(("content-type", f"{kind}; charset=utf-8"))
    if page.is_cut:
        headers.append((CUT, "1"))
    return replace(answer, headers=tuple(headers), body=page.body)


def _follow_redirect(
    request: FetchRequest, status: int, location: str, rights: NetworkRights
) -> FetchRequest:
    """Return the next request, as the fetch standard makes it.

    What is secret stays behind when it goes to another place.
    """
    target = request.target.join(location)
    if target.scheme not in (request.target.scheme, "https"):
        raise Refused("EPERM", "a redirect leads from https to http", source="http")
    following = replace(request, target=target)
    becomes_get = status == 303 and request.method != "HEAD"
    if becomes_get or (status in (301, 302) and request.method == "POST"):
        headers = drop_body_headers(following.headers)
        following = replace(following, method="GET", headers=headers, body=b"")
    if target.origin == request.target.origin:
        return following
    secrets = {rule.name for rule in rights.secrets}
    has_secret = bool(placeholders.names_in(following.body) & secrets)
    if has_secret or scrubbing.scrub_text(target.url, rights.values()) != target.url:
        message = "a redirect would carry a secret to another host"
        raise Refused("EPERM", message, source="http")
    headers = tuple(
        (name, value)
        for name, value in following.headers
        if name not in CREDENTIALS and not placeholders.names_in(value) & secrets
    )
    return replace(following, headers=headers)


def _rewrite_answer(
    answer: HttpAnswer,
    rewrite_name: Callable[[str], str],
    rewrite_field: Callable[[str], str],
    rewrite_body: Callable[[bytes], bytes],
) -> HttpAnswer:
    """Return the answer with the names and values of its headers, its reason and body rewritten."""
    headers = []
    for name, value in answer.headers:
        headers.append((rewrite_name(name), rewrite_field(value)))
    return replace(
        answer,
        reason=rewrite_field(answer.reason),
        headers=tuple(headers),
        body=rewrite_body(answer.body),
    )
