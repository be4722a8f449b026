"""`http.fetch`: a request within its grants, redirects followed under the same rules, secrets put
in and taken out again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NoReturn

from sigil.errors import Refused, ToolError
from sigil.manifest.permission_rules import HttpRule, SecretRule
from sigil.network.exchange import HttpAnswer, HttpRequest, RequestSource, WebTransport
from sigil.network.headers import CREDENTIALS, drop_body_headers, normalize_name
from sigil.network.urls import Target
from sigil.protocol import Json
from sigil.run.host_calls import placeholders, scrubbing
from sigil.run.host_calls.fetch_messages import FetchRequest, build_reply, parse_request
from sigil.run.host_calls.placeholders import Values

REDIRECTS_MOST = 5
AGENT = "main"
"""The namespace that `sigil` means when it is told none."""
_MOVED = (301, 302, 303, 307, 308)


@dataclass(frozen=True, slots=True)
class NetworkRights:
    """What one capability may fetch, and which of it waits for an owner. `values`: its granted
    secrets, read when they are needed.

    `namespace`: whose owners grant it, and for whom it asks; empty for the agent's own.
    """

    name: str
    http: tuple[HttpRule, ...]
    http_waiting: tuple[HttpRule, ...]
    secrets: tuple[SecretRule, ...]
    secrets_waiting: tuple[SecretRule, ...]
    values: Callable[[], Values]
    namespace: str = ""

    @property
    def asker(self) -> RequestSource:
        """For whom its requests are sent."""
        return RequestSource(self.namespace.partition("~")[0], f"{self.namespace}/{self.name}")

    @property
    def named(self) -> frozenset[str]:
        """The names of its secrets, of those that wait too."""
        return frozenset(rule.name for rule in (*self.secrets, *self.secrets_waiting))

    def demand(self, method: str, target: Target) -> None:
        """`Refused` EPERM that says what is missing unless the request is granted."""
        if any(rule.allows(method, target) for rule in self.http):
            return
        what = f"{method} {target.scheme}://{target.authority}{target.path}"
        if any(rule.allows(method, target) for rule in self.http_waiting):
            raise Refused("EPERM", f"{what} waits for an owner's grant: {self._way}")
        raise Refused("EPERM", f"{what} is not declared: add permissions.http to the manifest")

    def secret(self, name: str, target: Target) -> bool:
        """Whether `name` is a secret of this capability; `Refused` EPERM when it is, but must not
        go to `target`.
        """
        if any(rule.name == name and rule.fits(target) for rule in self.secrets):
            if name not in self.values():
                raise Refused(
                    "EPERM", f"the secret {name} is not set: `sigil secret set {name}{self._where}`"
                )
            return True
        if any(rule.name == name and rule.fits(target) for rule in self.secrets_waiting):
            raise Refused("EPERM", f"the secret {name} waits for an owner's grant: {self._way}")
        if any(rule.name == name for rule in (*self.secrets, *self.secrets_waiting)):
            why = "" if target.scheme == "https" else ": secrets go by https alone"
            raise Refused(
                "EPERM", f"the secret {name} is not for {target.scheme}://{target.authority}{why}"
            )
        return False

    @property
    def _way(self) -> str:
        """How an owner grants it: of a chat's own nothing is granted."""
        chat = self.namespace.partition("~")[2]
        return (
            f"publish it first: `sigil publish {self.name} --session {chat}`"
            if chat
            else f"`sigil grant {self.name}{self._where}`"
        )

    @property
    def _where(self) -> str:
        """The option that names the namespace, for a person whose agent has another one."""
        agent = self.namespace.partition("~")[0]
        return f" --namespace {agent}" if agent not in ("", AGENT) else ""


def fetch(
    web: WebTransport,
    rights: NetworkRights,
    argument: Json,
    seconds: float,
    own: frozenset[str] | None = None,
) -> Json:
    """The answer to a guest's request; `Refused` EPERM, `ToolError` EINVAL or ENET. Shapes:
    `parse_request` and `build_reply`.

    `own`: the headers that secrets are put into, beside the query, where everything else is
    somebody else's words; None for all, and the body.
    """
    end = time.monotonic() + seconds
    wanted, written = parse_request(argument), True
    for count in range(REDIRECTS_MOST + 1):
        rights.demand(wanted.method, wanted.target)
        _require_scheme(web, wanted.target)
        answer = web.send(_filled(wanted, rights, own, written=written), end - time.monotonic())
        location = _location(answer)
        if location is None or wanted.redirect == "manual":
            said = answer if own is not None else _parted(answer, rights)
            return build_reply(
                _scrubbed(said, rights),
                _shown(wanted.target, rights, written=written),
                redirected=count > 0,
            )
        if wanted.redirect == "error":
            raise ToolError("ENET", f"{wanted.target.host} redirects", source="http")
        wanted, written = _moved(wanted, answer.status, location, rights), False
    raise ToolError("ENET", f"more than {REDIRECTS_MOST} redirects", source="http")


def _require_scheme(web: WebTransport, target: Target) -> None:
    if target.scheme != "https" and not (web.loopback and target.here):
        raise Refused("EPERM", "only https is allowed", source="http")


def _filled(
    wanted: FetchRequest, rights: NetworkRights, own: frozenset[str] | None, *, written: bool
) -> HttpRequest:
    """The request with its secrets in place. `own`: see `fetch`. `written`: the address is the
    capability's own, not one a server sent.
    """
    target = wanted.target
    if written and any(rights.secret(name, target) for name in placeholders.names_in(target.path)):
        raise Refused(
            "EPERM",
            "a secret goes into headers, the query or the body, not into the path",
            source="http",
        )
    query, body = target.query if written else "", wanted.body if own is None else b""
    fields = [field for field in wanted.headers if own is None or field[0] in own]
    used = {
        name
        for name in placeholders.names_in(query, *(value for _, value in fields), body)
        if rights.secret(name, target)
    }
    _require_credentials(wanted, rights, used)
    if not used:
        return HttpRequest(wanted.method, target, wanted.headers, wanted.body, rights.asker)
    known = {name: rights.values()[name] for name in used}
    headers = tuple(
        (field[0], placeholders.fill_header(field[1], known)) if field in fields else field
        for field in wanted.headers
    )
    if not all(value.isascii() for _, value in headers):
        raise Refused(
            "EPERM", "a secret that is not plain ASCII does not go into a header", source="http"
        )
    body = (
        placeholders.fill_body(wanted.body, dict(wanted.headers).get("content-type", ""), known)
        if own is None
        else wanted.body
    )
    return HttpRequest(
        wanted.method,
        target.asking(placeholders.fill_query(query, known)) if written else target,
        headers,
        body,
        rights.asker,
    )


def _require_credentials(wanted: FetchRequest, rights: NetworkRights, used: set[str]) -> None:
    for name, value in wanted.headers:
        if name == "authorization" and not placeholders.names_in(value) & used:
            _refuse("authorization is set from a secret alone: declare it, and write {{NAME}}")
        if normalize_name(name) in ("range", "if-range") and rights.secrets:
            _refuse(f"the header {name} could cut a secret in two")


def _location(answer: HttpAnswer) -> str | None:
    return (
        next((value for name, value in answer.headers if name == "location"), None)
        if answer.status in _MOVED
        else None
    )


def _moved(wanted: FetchRequest, status: int, location: str, rights: NetworkRights) -> FetchRequest:
    """The next request, as the fetch standard makes it; what is secret stays behind when it goes to
    another place.
    """
    target = wanted.target.join(location)
    if target.scheme not in (wanted.target.scheme, "https"):
        _refuse("a redirect leads from https to http")
    moved = replace(wanted, target=target)
    if (status == 303 and wanted.method != "HEAD") or (
        status in (301, 302) and wanted.method == "POST"
    ):
        moved = replace(moved, method="GET", headers=drop_body_headers(moved.headers), body=b"")
    if target.origin == wanted.target.origin:
        return moved
    own = {rule.name for rule in rights.secrets}
    if (
        placeholders.names_in(moved.body) & own
        or scrubbing.scrub_text(target.url, rights.values()) != target.url
    ):
        _refuse("a redirect would carry a secret to another host")
    kept = tuple(
        (name, value)
        for name, value in moved.headers
        if name not in CREDENTIALS and not placeholders.names_in(value) & own
    )
    return replace(moved, headers=kept)


def _scrubbed(answer: HttpAnswer, rights: NetworkRights) -> HttpAnswer:
    if not rights.secrets:
        return answer
    values = rights.values()
    headers = tuple(
        (scrubbing.scrub_name(name, values), scrubbing.scrub_field(value, values))
        for name, value in answer.headers
    )
    return HttpAnswer(
        answer.status,
        scrubbing.scrub_field(answer.reason, values),
        headers,
        scrubbing.scrub(answer.body, values),
    )


def _parted(answer: HttpAnswer, rights: NetworkRights) -> HttpAnswer:
    """Before it is scrubbed: what stands for a secret afterwards was one, and may be sent back as
    it is.
    """
    names = rights.named
    headers = tuple(
        (name, placeholders.split_field(value, names)) for name, value in answer.headers
    )
    return HttpAnswer(
        answer.status,
        placeholders.split_field(answer.reason, names),
        headers,
        placeholders.split_body(answer.body, names),
    )


def _shown(target: Target, rights: NetworkRights, *, written: bool) -> str:
    if not rights.secrets:
        return target.url
    return scrubbing.scrub_text(
        target.url if written else placeholders.split_text(target.url, rights.named),
        rights.values(),
    )


def _refuse(why: str) -> NoReturn:
    raise Refused("EPERM", why, source="http")
