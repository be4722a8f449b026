"""The requests of a sign-in at an MCP server: OAuth 2.1 with PKCE, as the protocol asks for it.

`find_authorization_server` reads where a server wants its users to sign in (RFC 9728, RFC 8414),
`register_client` makes this program known there (RFC 7591), `begin_authorization` makes the address
for the person's browser, `read_redirect` checks what the browser brings back (RFC 9207), and
`exchange_code` and `refresh_tokens` ask for tokens that are for this one server (RFC 8707).

Everything that a server says is checked: its addresses are public and https, no redirect is
followed, and what it calls itself has to be what it was asked as.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote_plus, urlencode

from sigil.access.sign_in import ClientAuthentication, SignIn
from sigil.errors import Refused, SigilError, ToolError, UsageError, one_line
from sigil.mcp import jsonrpc
from sigil.mcp.revisions import NEWEST_HANDSHAKE, server_info
from sigil.network.exchange import HttpAnswer, HttpRequest, RequestSource, WebTransport
from sigil.network.headers import Headers
from sigil.network.urls import Target
from sigil.protocol import Json
from sigil.strict_json import dumps, loads

CLIENT_NAME = "Sigil"
METADATA_BYTES = 64 << 10
TEXT_CHARACTERS = 2_000
SCOPES_MOST = 50
REDIRECT_CHARACTERS = 16_384
LIFETIME_MOST = 10 * 365 * 86_400
RENEW_BEFORE_SECONDS = 60.0
"""A token is renewed so long before it ends, or at half its life when that is shorter."""
_SOURCE = RequestSource(capability="sign-in")
_FORM = ("content-type", "application/x-www-form-urlencoded")
_JSON = ("content-type", "application/json")
_PARAMETER = re.compile(r'([A-Za-z_]{1,40})\s*=\s*(?:"([^"]{0,2000})"|([^\s,"]{1,2000}))')
_ERROR_CODE = re.compile(r"[a-z_]{3,40}", re.ASCII)
_TOKEN = re.compile(r"[\x21-\x7e]{8,8192}", re.ASCII)
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,200}", re.ASCII)
_FINAL_ERRORS = ("invalid_grant", "invalid_client", "unauthorized_client")
_AUTHENTICATIONS: tuple[ClientAuthentication, ...] = (
    "none",
    "client_secret_basic",
    "client_secret_post",
)


class SignInRefused(Refused):
    """The authorization server will not give a token for this code or refresh token any more."""


@dataclass(frozen=True, slots=True)
class AuthorizationServer:
    """The server at which to sign in, and what for.

    `resource` is the MCP server's own name, `scopes` what it asks for; `names_issuer`: the answer
    to the browser has to name the issuer.
    """

    issuer: str
    authorization_url: str
    token_url: str
    registration_url: str
    resource: str
    scopes: tuple[str, ...]
    names_issuer: bool
    authentications: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Client:
    """This program as the authorization server knows it."""

    id: str
    secret: str = ""
    authentication: ClientAuthentication = "none"


@dataclass(frozen=True, slots=True)
class PendingAuthorization:
    """A sign-in that waits for the person's browser, which is to open `url`."""

    url: str
    server: AuthorizationServer
    client: Client
    redirect_uri: str
    state: str
    verifier: str


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of one answer; `seconds`: the life of the access token, 0 when it is not said."""

    access: str
    refresh: str
    seconds: float


@dataclass(frozen=True, slots=True)
class OAuthExchange:
    """The requests of one step, over the guarded network; none goes on after `end`, a time of the
    monotonic clock.
    """

    web: WebTransport
    end: float

    def check_address(self, url: str) -> Target:
        """Return the target of an address; `Refused` EPERM unless a sign-in may go there."""
        target = Target.parse(url)
        if target.scheme != "https" and not (self.web.loopback and target.is_local):
            message = f"a sign-in goes by https alone, and {one_line(url, 100)} is not"
            raise Refused("EPERM", message)
        return target

    def send(self, method: str, url: str, headers: Headers, body: bytes = b"") -> HttpAnswer:
        """Return the answer to a request; `ToolError` ENET for a redirect."""
        target = self.check_address(url)
        try:
            answer = self._send_once(method, target, headers, body)
        except Refused as problem:
            if problem.code != "ETOOBIG":
                raise
            raise _invalid(target.host, problem.message) from None
        if 300 <= answer.status < 400:
            raise ToolError("ENET", f"{target.host} redirects, and no sign-in follows that")
        return answer

    def look_at(self, url: str) -> HttpAnswer:
        """Return what a browser would get first at an address."""
        return self._send_once("GET", self.check_address(url), (("accept", "text/html"),))

    def get_object(self, url: str) -> tuple[dict[str, Json] | None, str]:
        """Return the JSON object at an address, None when there is none, and what is there instead.

        Some servers redirect whatever they do not have, so a redirect is no error here.
        """
        target = self.check_address(url)
        try:
            answer = self._send_once("GET", target, (("accept", "application/json"),))
        except SigilError as problem:
            if problem.code != "ETOOBIG":
                raise
            return None, f"has more than {METADATA_BYTES:,} bytes"
        if answer.status in (404, 405, 410):
            return None, ""
        if 300 <= answer.status < 400:
            return None, "redirects, which no sign-in follows"
        if answer.status != 200:
            return None, f"answers with status {answer.status}"
        value = _read_object(answer)
        return value, "" if value is not None else "is no JSON object"

    def _send_once(
        self, method: str, target: Target, headers: Headers, body: bytes = b""
    ) -> HttpAnswer:
        seconds = self.end - time.monotonic()
        if seconds <= 0:
            raise ToolError("ETIMEDOUT", f"{target.host} did not answer in time")
        request = HttpRequest(method, target, headers, body, _SOURCE, reply_bytes=METADATA_BYTES)
        return self.web.send(request, seconds)


def find_authorization_server(exchange: OAuthExchange, url: str) -> AuthorizationServer:
    """Return where the MCP server at `url` wants its users to sign in.

    Raises `UsageError` when it asks for no sign-in, `ToolError` EREMOTE when what it says of it
    cannot be used, `Refused` EPERM when that is about another server.
    """
    target = exchange.check_address(url)
    if target.scheme != "https":
        raise Refused("EPERM", "a token goes by https alone, so a sign-in needs an https address")
    challenge = _ask_for_challenge(exchange, url)
    metadata, why = _find_resource_metadata(exchange, target, challenge or {})
    resource = f"{target.scheme}://{target.authority}{target.path}"
    issuers: list[str] = [f"{target.scheme}://{target.authority}"]
    scopes: tuple[str, ...] = ()
    if metadata is not None:
        resource = _read_text(metadata, "resource")
        _require_own_resource(resource, target)
        issuers = _read_texts(metadata, "authorization_servers")
        scopes = tuple(_read_texts(metadata, "scopes_supported"))
        if not issuers:
            raise _invalid(target.host, "it names no authorization server")
    elif challenge is None:
        message = "the server asks for no sign-in"
        raise UsageError("EUSAGE", message, suggestion=f"sigil mcp add {url}")
    if challenge and challenge.get("scope"):
        scopes = tuple(challenge["scope"].split())
    issuer = issuers[0]
    document = _find_issuer_metadata(exchange, issuer, why)
    if "S256" not in _read_texts(document, "code_challenge_methods_supported"):
        raise _invalid(exchange.check_address(issuer).host, "it does not offer PKCE with S256")
    if "offline_access" in _read_texts(document, "scopes_supported") and scopes:
        scopes = tuple(dict.fromkeys((*scopes, "offline_access")))
    return AuthorizationServer(
        _read_text(document, "issuer"),
        _read_address(exchange, document, "authorization_endpoint"),
        _read_address(exchange, document, "token_endpoint"),
        _read_address(exchange, document, "registration_endpoint", required=False),
        resource,
        _check_scopes(scopes),
        document.get("authorization_response_iss_parameter_supported") is True,
        tuple(_read_texts(document, "token_endpoint_auth_methods_supported")),
    )


def register_client(
    exchange: OAuthExchange, server: AuthorizationServer, redirect_uri: str
) -> Client:
    """Register this program for one redirect address, and return what it is called there.

    Raises `UsageError` when the server registers nobody unasked.
    """
    if not server.registration_url:
        raise UsageError(
            "EUSAGE",
            f"{one_line(server.issuer, 100)} registers no programs by itself",
            suggestion=(
                f"register one there by hand, with the redirect address {redirect_uri}, and give"
                " its id with --client-id and its port with --port"
            ),
        )
    body: dict[str, Json] = {
        "client_name": CLIENT_NAME,
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "application_type": "native",
    }
    if server.scopes:
        body["scope"] = " ".join(server.scopes)
    accept = ("accept", "application/json")
    answer = exchange.send("POST", server.registration_url, (_JSON, accept), dumps(body))
    if answer.status not in (200, 201):
        raise ToolError("EREMOTE", f"the registration is refused: {_describe_error(answer)}")
    row = _read_object(answer) or {}
    secret = row.get("client_secret")
    return make_client(
        server,
        _read_text(row, "client_id"),
        secret if isinstance(secret, str) else "",
        row.get("token_endpoint_auth_method"),
    )


def make_client(
    server: AuthorizationServer, id: str, secret: str = "", method: Json = None
) -> Client:
    """Return a client; `method` is how it says who it is, by default the first that fits."""
    if not secret:
        return Client(id)
    if method == "none":
        return Client(id)
    for authentication in _AUTHENTICATIONS[1:]:
        if method == authentication:
            return Client(id, secret, authentication)
    offered = server.authentications or ("client_secret_basic",)
    if "client_secret_basic" in offered:
        return Client(id, secret, "client_secret_basic")
    return Client(id, secret, "client_secret_post")


def begin_authorization(
    server: AuthorizationServer, client: Client, redirect_uri: str
) -> PendingAuthorization:
    """Return a sign-in with secrets of its own, and the address for the person's browser."""
    state = secrets.token_urlsafe(32)
    verifier = secrets.token_urlsafe(48)
    digest = hashlib.sha256(verifier.encode()).digest()
    fields = {
        "response_type": "code",
        "client_id": client.id,
        "redirect_uri": redirect_uri,
        "state": state,
        "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
        "code_challenge_method": "S256",
        "resource": server.resource,
    }
    if server.scopes:
        fields["scope"] = " ".join(server.scopes)
    joint = "&" if "?" in server.authorization_url else "?"
    url = f"{server.authorization_url}{joint}{urlencode(fields)}"
    return PendingAuthorization(url, server, client, redirect_uri, state, verifier)


def has_state(query: str, state: str) -> bool:
    """Return whether the query of an address has the state of a sign-in, once."""
    if len(query) > REDIRECT_CHARACTERS:
        return False
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=100)
    except ValueError:
        return False
    found = [value for name, value in pairs if name == "state"]
    return len(found) == 1 and hmac.compare_digest(found[0].encode(), state.encode())


def is_known_client(
    exchange: OAuthExchange, server: AuthorizationServer, client: Client, redirect_uri: str
) -> bool:
    """Return whether the authorization server would still let this client ask a person.

    It is asked as a browser would ask it, for a sign-in that is never finished.
    """
    url = begin_authorization(server, client, redirect_uri).url
    try:
        answer = exchange.look_at(url)
    except ToolError:
        return True  # nobody said otherwise
    except Refused as problem:
        return problem.code == "ETOOBIG"  # a page, so probably one for people
    return answer.status not in (400, 401, 403, 404)


def read_redirect(pending: PendingAuthorization, query: str) -> str:
    """Return the code in the query of the address to which the browser was sent.

    Raises `Refused` EPERM when it answers another sign-in, comes from another issuer, or says that
    the person or the server refused.
    """
    if len(query) > REDIRECT_CHARACTERS:
        raise Refused("EPERM", "the answer of the browser is too long")
    fields: dict[str, str] = {}
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=100)
    except ValueError:
        raise Refused("EPERM", "the answer of the browser has too many fields") from None
    for name, value in pairs:
        if name in fields:
            raise Refused("EPERM", f"the answer of the browser has {one_line(name, 20)} twice")
        fields[name] = value
    if not hmac.compare_digest(fields.get("state", "").encode(), pending.state.encode()):
        message = "the answer of the browser is not for this sign-in: its state is another"
        raise Refused("EPERM", message)
    issuer = fields.get("iss")
    if issuer is None and pending.server.names_issuer:
        raise Refused("EPERM", "the answer of the browser does not say which server it is from")
    if issuer is not None and issuer != pending.server.issuer:
        expected = one_line(pending.server.issuer, 100)
        message = f"the answer of the browser is from {one_line(issuer, 100)}, not from {expected}"
        raise Refused("EPERM", message)
    if "error" in fields:
        why = one_line(fields["error"], 40)
        if fields.get("error_description"):
            why = f"{why}: {one_line(fields['error_description'], 160)}"
        raise Refused("EPERM", f"the sign-in was refused: {why}")
    if not fields.get("code"):
        raise Refused("EPERM", "the answer of the browser holds no code")
    return fields["code"]


def exchange_code(exchange: OAuthExchange, pending: PendingAuthorization, code: str) -> Tokens:
    """Return the tokens for a code. `SignInRefused` when the server does not take it."""
    fields = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": pending.redirect_uri,
        "code_verifier": pending.verifier,
        "resource": pending.server.resource,
    }
    return _request_tokens(exchange, pending.server.token_url, fields, pending.client)


def refresh_tokens(exchange: OAuthExchange, sign_in: SignIn) -> Tokens:
    """Return new tokens for the refresh token; `SignInRefused` when that has ended."""
    fields = {
        "grant_type": "refresh_token",
        "refresh_token": sign_in.refresh_token,
        "resource": sign_in.resource,
    }
    client = Client(sign_in.client_id, sign_in.client_secret, sign_in.client_auth)
    return _request_tokens(exchange, sign_in.token_url, fields, client)


def make_sign_in(
    pending: PendingAuthorization, server_url: str, tokens: Tokens, now: float
) -> SignIn:
    """Return what is stored beside the access token."""
    renew_at, expires_at = schedule_renewal(tokens, now)
    return SignIn(
        server_url,
        pending.server.resource,
        pending.server.issuer,
        pending.server.token_url,
        pending.client.id,
        pending.client.secret,
        pending.client.authentication,
        tokens.refresh,
        renew_at,
        expires_at,
    )


def schedule_renewal(tokens: Tokens, now: float) -> tuple[float, float]:
    """Return when an access token is to be renewed and when it ends, 0 for both when nobody says
    how long it lives.
    """
    if not tokens.seconds:
        return 0.0, 0.0
    early = min(RENEW_BEFORE_SECONDS, tokens.seconds / 2)
    return now + tokens.seconds - early, now + tokens.seconds


def _ask_for_challenge(exchange: OAuthExchange, url: str) -> dict[str, str] | None:
    """Return what the server says with status 401; None when it answers without a sign-in."""
    params: dict[str, Json] = {
        "protocolVersion": NEWEST_HANDSHAKE,
        "capabilities": {},
        "clientInfo": server_info(),
    }
    headers = (_JSON, ("accept", "application/json, text/event-stream"))
    body = dumps(jsonrpc.make_request(1, "initialize", params))
    answer = exchange.send("POST", url, headers, body)
    if answer.status != 401:
        return None
    found: dict[str, str] = {}
    for name, value in answer.headers:
        if name == "www-authenticate":
            for parameter in _PARAMETER.finditer(value):
                found.setdefault(parameter[1].lower(), parameter[2] or parameter[3] or "")
    return found


def _find_resource_metadata(
    exchange: OAuthExchange, target: Target, challenge: Mapping[str, str]
) -> tuple[dict[str, Json] | None, str]:
    """Return what the server says of itself as a protected resource, None when it says nothing,
    and what is wrong there.
    """
    base = f"{target.scheme}://{target.authority}/.well-known/oauth-protected-resource"
    places = [base] if target.path == "/" else [f"{base}{target.path}", base]
    named = challenge.get("resource_metadata")
    if named:
        places = [named, *places]
    return _get_first(exchange, places)


def _find_issuer_metadata(exchange: OAuthExchange, issuer: str, why: str) -> dict[str, Json]:
    """Return what an authorization server says of itself, under the name by which it was asked.

    `why` is what was wrong with what named it.
    """
    target = exchange.check_address(issuer)
    origin = f"{target.scheme}://{target.authority}"
    path = target.path.rstrip("/")
    places = [
        f"{origin}/.well-known/oauth-authorization-server{path}",
        f"{origin}/.well-known/openid-configuration{path}",
    ]
    if path:
        places.append(f"{origin}{path}/.well-known/openid-configuration")
    document, wrong = _get_first(exchange, places)
    if document is None:
        details = f": {wrong or why}" if wrong or why else ""
        raise _invalid(target.host, f"it does not say how to sign in{details}")
    # A final slash is a habit of some libraries; the host and the path are the same.
    if _read_text(document, "issuer").rstrip("/") != issuer.rstrip("/"):
        said = one_line(_read_text(document, "issuer"), 100)
        raise Refused("EPERM", f"{target.host} calls itself {said}, not {one_line(issuer, 100)}")
    return document


def _get_first(
    exchange: OAuthExchange, places: Sequence[str]
) -> tuple[dict[str, Json] | None, str]:
    """Return the first of the places' documents that there is; else what is wrong at the first
    place that has something else.
    """
    why = ""
    for place in places:
        document, wrong = exchange.get_object(place)
        if document is not None:
            return document, ""
        if wrong and not why:
            why = f"{one_line(place, 100)} {wrong}"
    return None, why


def _require_own_resource(resource: str, target: Target) -> None:
    """Raise `Refused` EPERM unless the name is that of the server, or of a folder that it is in."""
    named = Target.parse(resource)
    folder = named.path.rstrip("/")
    is_within = target.path == named.path or target.path.startswith(f"{folder}/")
    if named.origin != target.origin or not is_within:
        message = f"the server says that it is {one_line(resource, 100)}, which is another one"
        raise Refused("EPERM", message)


def _request_tokens(
    exchange: OAuthExchange, url: str, fields: dict[str, str], client: Client
) -> Tokens:
    headers: Headers = (_FORM, ("accept", "application/json"))
    # Some servers, the official SDK's among them, want the id in the body in any case.
    fields = {**fields, "client_id": client.id}
    if client.authentication == "client_secret_basic":
        pair = f"{quote_plus(client.id)}:{quote_plus(client.secret)}"
        headers += (("authorization", f"Basic {base64.b64encode(pair.encode()).decode()}"),)
    elif client.authentication == "client_secret_post":
        fields["client_secret"] = client.secret
    answer = exchange.send("POST", url, headers, urlencode(fields).encode())
    row = _read_object(answer)
    if answer.status != 200:
        why = _describe_error(answer)
        if row and row.get("error") in _FINAL_ERRORS:
            raise SignInRefused("EPERM", f"the authorization server refuses: {why}")
        raise ToolError("EREMOTE", f"the authorization server refuses: {why}")
    host = Target.parse(url).host
    access = row.get("access_token") if row else None
    if row is None or not isinstance(access, str) or not _TOKEN.fullmatch(access):
        raise _invalid(host, "its answer holds no token")
    kind = row.get("token_type")
    if not isinstance(kind, str) or kind.lower() != "bearer":
        raise _invalid(host, "its token is of a kind that is not known here")
    refresh = row.get("refresh_token")
    if not isinstance(refresh, str) or not _TOKEN.fullmatch(refresh):
        refresh = ""
    seconds = row.get("expires_in")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        seconds = 0
    return Tokens(access, refresh, float(min(max(seconds, 0), LIFETIME_MOST)))


def _read_object(answer: HttpAnswer) -> dict[str, Json] | None:
    """Return the JSON object that an answer holds, None when it holds none."""
    if len(answer.body) > METADATA_BYTES:
        return None
    try:
        value = loads(answer.body)
    except SigilError:
        return None
    return value if isinstance(value, dict) else None


def _read_text(document: Mapping[str, Json], field: str) -> str:
    value = document.get(field)
    if not isinstance(value, str) or not 0 < len(value) <= TEXT_CHARACTERS:
        raise ToolError("EREMOTE", f"the server's answer to a sign-in has no {field}")
    return value


def _read_texts(document: Mapping[str, Json], field: str) -> list[str]:
    """Return those entries of a list that are texts of a bearable length."""
    value = document.get(field)
    texts: list[str] = []
    if isinstance(value, list):
        for each in value[:SCOPES_MOST]:
            if isinstance(each, str) and 0 < len(each) <= TEXT_CHARACTERS:
                texts.append(each)
    return texts


def _read_address(
    exchange: OAuthExchange, document: Mapping[str, Json], field: str, *, required: bool = True
) -> str:
    if not required and document.get(field) is None:
        return ""
    return exchange.check_address(_read_text(document, field)).url


def _check_scopes(scopes: Sequence[str]) -> tuple[str, ...]:
    """Return the scopes that are such words as the standard allows."""
    return tuple(scope for scope in scopes[:SCOPES_MOST] if _SCOPE.fullmatch(scope))


def _describe_error(answer: HttpAnswer) -> str:
    """Return the error that an answer names, by its code alone.

    What else it says may repeat the request, whose secrets models would read.
    """
    error = (_read_object(answer) or {}).get("error")
    if isinstance(error, str) and _ERROR_CODE.fullmatch(error):
        return error
    return f"status {answer.status}"


def _invalid(host: str, why: str) -> ToolError:
    return ToolError("EREMOTE", f"no sign-in is possible at {host}: {why}")
