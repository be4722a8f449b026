"""What servers say of a sign-in is checked before anything of it is used."""

from __future__ import annotations

import json
import time
from contextlib import closing
from typing import Any

import pytest

from sigil.errors import SigilError
from sigil.network.exchange import HttpAnswer, HttpRequest
from sigil.network.http_transport import open_transport
from sigil.run.mcp_client import oauth
from tests.fakes.server import Answer
from tests.machine import within
from tests.sigil.conftest import Scripted
from tests.tables import each_row

SERVER = "https://mail.example/team/mcp"
RESOURCE = {"resource": SERVER, "authorization_servers": ["https://auth.example/tenant"]}
ISSUER = {
    "issuer": "https://auth.example/tenant",
    "authorization_endpoint": "https://auth.example/authorize?tenant=1",
    "token_endpoint": "https://auth.example/token",
    "registration_endpoint": "https://auth.example/register",
    "code_challenge_methods_supported": ["S256"],
}
RESOURCE_PLACE = "https://mail.example/.well-known/oauth-protected-resource/team/mcp"
ISSUER_PLACE = "https://auth.example/.well-known/oauth-authorization-server/tenant"
OPENID_PLACE = "https://auth.example/tenant/.well-known/openid-configuration"


class Web:
    """Servers that answer with these documents, by address."""

    loopback = False

    def __init__(self, documents: dict[str, Any], challenge: str = "Bearer", status: int = 401):
        self.documents = documents
        self.challenge = challenge
        self.status = status
        self.asked: list[str] = []

    def send(self, hop: HttpRequest, seconds: float) -> HttpAnswer:
        url = hop.target.url
        self.asked.append(url)
        if url == SERVER:
            return HttpAnswer(self.status, "", (("www-authenticate", self.challenge),), b"")
        document = self.documents.get(url)
        if isinstance(document, HttpAnswer):
            return document
        if document is None:
            return HttpAnswer(404, "", (), b"{}")
        return HttpAnswer(200, "", (), json.dumps(document).encode())

    def close(self) -> None:
        """There is nothing to close."""


def find(web: Web, url: str = SERVER) -> oauth.AuthorizationServer:
    return oauth.find_authorization_server(exchange(web), url)


def exchange(web: Web) -> oauth.OAuthExchange:
    return oauth.OAuthExchange(web, time.monotonic() + 5)


@pytest.mark.parametrize(
    ("documents", "challenge"),
    [
        ({RESOURCE_PLACE: RESOURCE, ISSUER_PLACE: ISSUER}, "Bearer"),
        ({RESOURCE_PLACE: RESOURCE, OPENID_PLACE: ISSUER}, 'Bearer realm="a, b"'),
        (
            {"https://mail.example/meta": RESOURCE, ISSUER_PLACE: ISSUER},
            'Bearer resource_metadata="https://mail.example/meta"',
        ),
        (
            {
                "https://mail.example/.well-known/oauth-protected-resource": {
                    **RESOURCE,
                    "resource": "https://mail.example",
                },
                ISSUER_PLACE: ISSUER,
            },
            "Bearer",
        ),
    ],
    ids=["by path", "openid", "by challenge", "of the host"],
)
def test_a_server_says_where_to_sign_in(documents: dict[str, Any], challenge: str) -> None:
    found = find(Web(documents, challenge))
    assert found.token_url == "https://auth.example/token"
    assert found.resource in (SERVER, "https://mail.example")


def test_a_server_of_the_first_revision_is_its_own_authorization_server() -> None:
    place = "https://mail.example/.well-known/oauth-authorization-server"
    found = find(Web({place: {**ISSUER, "issuer": "https://mail.example"}}))
    assert (found.issuer, found.resource) == ("https://mail.example", SERVER)


def test_the_scopes_are_those_that_the_server_asks_for_now() -> None:
    documents = {
        RESOURCE_PLACE: {**RESOURCE, "scopes_supported": ["all", "mail"]},
        ISSUER_PLACE: {**ISSUER, "scopes_supported": ["offline_access"]},
    }
    assert find(Web(documents)).scopes == ("all", "mail", "offline_access")
    asked = find(Web(documents, 'Bearer scope="read send"'))
    assert asked.scopes == ("read", "send", "offline_access")


DAMAGED = HttpAnswer(200, "", (), b'{"issuer": "https://auth')
BROKEN = HttpAnswer(502, "", (), b"<html>")
MOVED = HttpAnswer(302, "", (("location", "https://auth.example/x"),), b"")


@each_row(
    ("resource", "issuer", "said"),
    [
        ({"resource": "https://bank.example/mcp"}, {}, "says that it is https://bank.example/mcp"),
        ({"resource": "https://mail.example/team/m"}, {}, "which is another one"),
        ({"resource": 7}, {}, "has no resource"),
        ({"authorization_servers": []}, {}, "names no authorization server"),
        ({"authorization_servers": ["http://auth.example"]}, {}, "by https alone"),
        ({"authorization_servers": ["file:///etc/passwd"]}, {}, "file: is not https"),
        ({}, {"issuer": "https://evil.example"}, "calls itself https://evil.example"),
        ({}, {"token_endpoint": "http://auth.example/token"}, "by https alone"),
        ({}, {"authorization_endpoint": "javascript:alert(1)"}, "not an absolute URL"),
        ({}, {"token_endpoint": None}, "has no token_endpoint"),
        ({}, {"code_challenge_methods_supported": ["plain"]}, "PKCE with S256"),
        ({}, {"code_challenge_methods_supported": None}, "PKCE with S256"),
        ({}, {"padding": "x" * 70_000}, f"to sign in: {ISSUER_PLACE} is no JSON object"),
        ({}, MOVED, f"to sign in: {ISSUER_PLACE} redirects, which no sign-in follows"),
        ({}, DAMAGED, f"to sign in: {ISSUER_PLACE} is no JSON object"),
        ({}, BROKEN, f"to sign in: {ISSUER_PLACE} answers with status 502"),
        (DAMAGED, None, f"at mail.example: .* to sign in: {RESOURCE_PLACE} is no JSON object"),
    ],
)
def test_what_a_server_says_is_refused_when_it_is_not_about_itself(
    resource: Any, issuer: Any, said: str
) -> None:
    documents: dict[str, Any] = {RESOURCE_PLACE: resource, ISSUER_PLACE: issuer}
    if isinstance(resource, dict):
        documents[RESOURCE_PLACE] = {**RESOURCE, **resource}
    if isinstance(issuer, dict):
        documents[ISSUER_PLACE] = {**ISSUER, **issuer}
    with pytest.raises(SigilError, match=said):
        find(Web(documents))


def test_a_server_without_a_sign_in_is_told_from_one_that_has_it() -> None:
    with pytest.raises(SigilError, match="asks for no sign-in"):
        find(Web({}, status=200))
    with pytest.raises(SigilError, match="by https alone"):
        find(Web({}), "http://mail.example/mcp")
    with pytest.raises(SigilError, match="does not say how to sign in"):
        find(Web({}))


def pending(**changes: Any) -> oauth.PendingAuthorization:
    web = Web({RESOURCE_PLACE: RESOURCE, ISSUER_PLACE: {**ISSUER, **changes}})
    return oauth.begin_authorization(find(web), oauth.Client("me"), "http://127.0.0.1:1/callback")


def test_the_address_for_the_browser_keeps_its_own_query_and_shows_no_verifier() -> None:
    begun = pending()
    assert begun.url.startswith("https://auth.example/authorize?tenant=1&response_type=code&")
    assert "code_challenge_method=S256" in begun.url
    assert "resource=https%3A%2F%2Fmail.example%2Fteam%2Fmcp" in begun.url
    assert begun.verifier not in begun.url


@each_row(
    ("query", "said"),
    [
        ("code=c", "its state is another"),
        ("code=c&state={state}", "does not say which server"),
        ("code=c&state={state}&iss=https://evil.example", "is from https://evil.example"),
        ("code=c&code=d&state={state}&iss=https://auth.example/tenant", "has code twice"),
        ("state={state}&iss=https://auth.example/tenant", "holds no code"),
        ("error=access_denied&state={state}&iss=https://auth.example/tenant", "was refused"),
        ("code=c&state={state}" + "x" * 20_000, "too long"),
    ],
)
def test_an_answer_of_the_browser_that_is_not_ours_is_refused(query: str, said: str) -> None:
    begun = pending(authorization_response_iss_parameter_supported=True)
    with pytest.raises(SigilError, match=said):
        oauth.read_redirect(begun, query.replace("{state}", begun.state))
    good = f"code=c&state={begun.state}&iss=https://auth.example/tenant"
    assert oauth.read_redirect(begun, good) == "c"


def test_a_client_that_was_registered_by_hand_says_who_it_is() -> None:
    requests: list[HttpRequest] = []

    class TokenWeb(Web):
        def send(self, hop: HttpRequest, seconds: float) -> HttpAnswer:
            requests.append(hop)
            token = {"access_token": "access-token", "token_type": "bearer", "expires_in": "soon"}
            return HttpAnswer(200, "", (), json.dumps(token).encode())

    begun = pending()
    client = oauth.make_client(begun.server, "a b", "s:cret")
    hand = oauth.begin_authorization(begun.server, client, begun.redirect_uri)
    tokens = oauth.exchange_code(exchange(TokenWeb({})), hand, "c")
    assert (tokens.access, tokens.refresh, tokens.seconds) == ("access-token", "", 0.0)
    assert dict(requests[0].headers)["authorization"] == "Basic YStiOnMlM0FjcmV0"
    assert b"client_secret" not in requests[0].body


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"access_token": "short", "token_type": "bearer"}, "holds no token"),
        ({"access_token": "with space in it", "token_type": "bearer"}, "holds no token"),
        ({"access_token": "access-token", "token_type": "mac"}, "of a kind"),
        ([], "holds no token"),
    ],
)
def test_a_token_that_cannot_be_sent_is_refused(answer: Any, said: str) -> None:
    web = Web({"https://auth.example/token": answer})
    with pytest.raises(SigilError, match=said):
        oauth.exchange_code(exchange(web), pending(), "c")


def test_a_redirect_of_tokens_is_not_followed() -> None:
    web = Web({"https://auth.example/token": MOVED})
    with pytest.raises(SigilError, match="redirects, and no sign-in follows that"):
        oauth.exchange_code(exchange(web), pending(), "c")
    assert web.asked == ["https://auth.example/token"]


def test_a_server_that_registers_nobody_is_told_with_what_to_do() -> None:
    web = Web({RESOURCE_PLACE: RESOURCE, ISSUER_PLACE: {**ISSUER, "registration_endpoint": None}})
    with pytest.raises(SigilError) as told:
        oauth.register_client(exchange(web), find(web), "http://127.0.0.1:1/callback")
    assert "--client-id" in told.value.suggestion


def test_metadata_without_an_end_and_a_server_that_never_answers_are_said_in_time(
    server: Scripted,
) -> None:
    server.says["/long"] = Answer(200, b"{" + b" " * (5 << 20) + b"}")
    server.says["/silent"] = Answer(hang=True)
    web = open_transport(loopback=True)
    with closing(web):
        ours = oauth.OAuthExchange(web, time.monotonic() + within(5))
        assert ours.get_object(f"{server.url}/long") == (None, "has more than 65,536 bytes")
        soon = oauth.OAuthExchange(web, time.monotonic() + 0.2)
        for _ in range(2):
            with pytest.raises(SigilError, match=r"127\.0\.0\.1 did not answer in time"):
                soon.get_object(f"{server.url}/silent")
