"""The sign-in of a person at an MCP server, in their browser or with an address that they paste."""

from __future__ import annotations

import sys
import threading
import time
import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict
from urllib.parse import urlsplit

import typer

from sigil.access.sign_in import PREFIX, name_token_secret, server_of_secret
from sigil.client.registrations import ClientRegistration, ClientRegistrations
from sigil.errors import Refused, SigilError, UsageError, one_line
from sigil.network.urls import Target
from sigil.run.host_calls.placeholders import names_in
from sigil.run.live_services import open_network
from sigil.run.mcp_client import oauth
from sigil.run.mcp_client.document import make_sign_in_header

if TYPE_CHECKING:
    from sigil.cli.shell import OpenRegistry, Shell
    from sigil.rows import SecretRow
    from sigil.run.mcp_client.document import McpServerRow

REQUEST_SECONDS = 30.0
"""So long the servers may take before and after the person's part."""
PERSON_SECONDS = 300.0
CONNECTION_SECONDS = 5.0
HOST = "127.0.0.1"
PATH = "/callback"
_UNKNOWN_CLIENT = ("invalid_client", "unauthorized_client")
_PAGE = b"""<!doctype html><meta charset="utf-8"><title>Sigil</title>
<p>Go back to the terminal: it says how the sign-in went. You can close this page.</p>
"""


class RedirectListener:
    """A listener on a port of this machine, to which the browser brings the answer.

    Any page and any program of this machine can send something here. What does not hold the
    sign-in's own state is refused, and neither ends the sign-in nor delays it.
    """

    def __init__(self, port: int) -> None:
        try:
            self._server = _RedirectServer((HOST, port), _RedirectHandler)
        except OSError:
            message = f"port {port} of {HOST} is in use"
            raise UsageError("EUSAGE", message, suggestion="choose another --port") from None
        self.uri = f"http://{HOST}:{self._server.server_port}{PATH}"

    def wait(self, seconds: float, state: str) -> str:
        """Return the query of the address to which the browser was sent with this state;
        `UsageError` ETIMEDOUT when it does not come.
        """
        self._server.state = state
        thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            if not self._server.answered.wait(seconds):
                raise UsageError("ETIMEDOUT", f"nobody signed in within {seconds:.0f} seconds")
        finally:
            self._server.shutdown()
            thread.join()
        return self._server.query

    def close(self) -> None:
        """Free the port."""
        self._server.server_close()


class _RedirectServer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    state = ""
    query = ""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.answered = threading.Event()

    def handle_error(self, request: object, client_address: object) -> None:
        """Print nothing: whoever connects may leave as they like."""


class _RedirectHandler(BaseHTTPRequestHandler):
    timeout = CONNECTION_SECONDS
    server: _RedirectServer
    headers_sent: ClassVar[Mapping[str, str]] = {
        "content-type": "text/html; charset=utf-8",
        "cache-control": "no-store",
        "content-security-policy": "default-src 'none'",
        "referrer-policy": "no-referrer",
        "connection": "close",
    }

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        if path != PATH:
            self.send_error(404)
            return
        if not oauth.has_state(query, self.server.state):
            self.send_error(400, "This is no answer to the sign-in that waits here")
            return
        self.send_response(200)
        for name, value in self.headers_sent.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(_PAGE)
        if not self.server.answered.is_set():
            self.server.query = query
            self.server.answered.set()

    def log_message(self, format: str, *words: object) -> None:
        """Print nothing: the address holds the code."""


def _port_of(registration: ClientRegistration) -> int:
    try:
        return urlsplit(registration.redirect_uri).port or 0
    except ValueError:
        return 0


def _open_listener(known: ClientRegistration | None) -> RedirectListener:
    """Return a listener on the port of an earlier registration, or on any where that is taken."""
    if known:
        with suppress(UsageError):
            return RedirectListener(_port_of(known))
    return RedirectListener(0)


class Login:
    """One sign-in at a server.

    Of one that is left half-way nothing stays but the registration, which the next one takes.
    """

    def __init__(self, shell: Shell, opened: OpenRegistry, name: str, url: str) -> None:
        self._shell = shell
        self._opened = opened
        self._name = name
        self._url = url
        self._secret = name_token_secret(name)
        settings = shell.read_settings()
        self._loopback = settings.loopback
        path = Path(settings.credentials).with_name("mcp-clients.json")
        self._registrations = ClientRegistrations(path)

    def sign_in(
        self,
        *,
        browser: bool,
        port: int = 0,
        client_id: str = "",
        client_secret: str = "",
        issuer: str = "",
    ) -> None:
        """Sign in and store the token. None is stored before the last step.

        `client_id` is this program as the authorization server knows it already, empty to be
        registered there. `issuer` is the authorization server that the client's secret is for,
        which only an owner knows; it need not be named where it is the MCP server's own host.
        """
        self._require_free_secret()
        with ExitStack() as stack:
            web = stack.enter_context(closing(open_network(loopback=self._loopback)))
            if port:
                listener = stack.enter_context(closing(RedirectListener(port)))
            exchange = oauth.OAuthExchange(web, time.monotonic() + REQUEST_SECONDS)
            server = oauth.find_authorization_server(exchange, self._url)
            if client_secret:
                self._require_issuer(server.issuer, issuer)
            known = None if client_id else self._find_registration(exchange, server, port)
            if not port:
                listener = stack.enter_context(closing(_open_listener(known)))
            if client_id:
                client = oauth.make_client(server, client_id, client_secret)
            elif known and known.redirect_uri == listener.uri:
                client = oauth.Client(known.client_id, known.client_secret, known.client_auth)
            else:
                client = oauth.register_client(exchange, server, listener.uri)
                self._remember(server, client, listener.uri)
            pending = oauth.begin_authorization(server, client, listener.uri)
            try:
                query = self._ask_person(pending, listener, browser=browser)
                code = oauth.read_redirect(pending, query)
                exchange = oauth.OAuthExchange(web, time.monotonic() + REQUEST_SECONDS)
                tokens = oauth.exchange_code(exchange, pending, code)
            except (Refused, UsageError) as problem:
                # Nobody came back: perhaps they were shown that this client is unknown by now.
                is_doubtful = known is not None and problem.code == "ETIMEDOUT"
                is_unknown = any(code in problem.message for code in _UNKNOWN_CLIENT)
                if (is_doubtful or is_unknown) and not client_id:
                    self._registrations.forget(server.issuer, server.resource)
                raise
        signed = oauth.make_sign_in(pending, self._url, tokens, time.time())
        self._opened.registry.secrets.set(self._secret, tokens.access, self._opened.caller, signed)
        if not tokens.refresh:
            self._shell.printer.note("the server gives no refresh token: sign in again at its end")

    def _find_registration(
        self, exchange: oauth.OAuthExchange, server: oauth.AuthorizationServer, port: int
    ) -> ClientRegistration | None:
        """Return the registration of an earlier sign-in, if the server still knows it."""
        known = self._registrations.find(server.issuer, server.resource)
        if known is None or (port and _port_of(known) != port):
            return None
        client = oauth.Client(known.client_id, known.client_secret, known.client_auth)
        if oauth.is_known_client(exchange, server, client, known.redirect_uri):
            return known
        self._registrations.forget(server.issuer, server.resource)
        return None

    def _remember(
        self, server: oauth.AuthorizationServer, client: oauth.Client, redirect_uri: str
    ) -> None:
        registration = ClientRegistration(
            server.issuer,
            server.resource,
            client.id,
            redirect_uri,
            client.secret,
            client.authentication,
            time.time(),
        )
        with suppress(UsageError):  # where nothing can be written, the next one registers anew
            self._registrations.remember(registration)

    def _require_issuer(self, found: str, named: str) -> None:
        """Refuse to send a client's secret to an authorization server that nobody named."""
        is_same_host = Target.parse(found).host == Target.parse(self._url).host
        if named.rstrip("/") == found.rstrip("/") or (not named and is_same_host):
            return
        raise Refused(
            "EPERM",
            f"the server says to sign in at {one_line(found, 100)}",
            source=self._name,
            suggestion=f"if the client's secret is from there: --issuer {one_line(found, 100)}",
        )

    def _require_free_secret(self) -> None:
        """Refuse to take the place of a secret that somebody set, before anybody is asked."""
        for row in self._opened.registry.secrets.rows(self._opened.caller):
            if row["secret"] == self._secret and not row.get("server"):
                raise UsageError(
                    "EEXIST",
                    f"the secret {self._secret} was set by hand",
                    source=self._name,
                    suggestion=f"sigil secret remove {self._secret}, or choose another name",
                )

    def _ask_person(
        self, pending: oauth.PendingAuthorization, listener: RedirectListener, *, browser: bool
    ) -> str:
        """Return the query of the address at which the person's browser ended."""
        note = self._shell.printer.note
        note("open this address in a browser, and sign in:")
        self._shell.printer.address(pending.url)
        if browser:
            webbrowser.open(pending.url)
            return listener.wait(PERSON_SECONDS, pending.state)
        note(f"the browser ends at {HOST}, with a page that it cannot show: paste that address")
        if sys.stdin.isatty():
            pasted = str(typer.prompt("Address", err=True))
        else:
            pasted = sys.stdin.readline(oauth.REDIRECT_CHARACTERS + 1)
        try:
            query = urlsplit(pasted.strip()).query
        except ValueError:
            query = ""
        if not query:
            raise UsageError("EUSAGE", "that is not the address at which the browser ended")
        return query


@contextmanager
def suggest_login(name: str) -> Iterator[None]:
    """Add the command that begins again to the error of a sign-in that failed."""
    try:
        yield
    except SigilError as problem:
        problem.source = problem.source or name
        problem.suggestion = problem.suggestion or f"nothing was stored; sigil mcp login {name}"
        raise


def list_sign_ins(opened: OpenRegistry) -> dict[str, str]:
    """Return the addresses of the servers at which somebody signed in, by name."""
    return {name: row["server"] for name, row in _list_token_rows(opened).items()}


def _list_token_rows(opened: OpenRegistry) -> dict[str, SecretRow]:
    """Return the rows of the access tokens, by the name of the server."""
    found = {}
    for row in opened.registry.secrets.rows(opened.caller):
        if "server" in row and row["secret"].startswith(PREFIX):
            found[server_of_secret(row["secret"])] = row
    return found


class SignInRow(TypedDict):
    """Whether a sign-in stands. `state`: stands, ends, ended, missing, or unused (no tool has it);
    `ends`: when the token ends, 0 when nobody says; `command`: what mends it, empty where nothing
    has to be.
    """

    state: str
    ends: float
    command: str


def list_sign_in_states(
    opened: OpenRegistry, servers: Sequence[McpServerRow]
) -> dict[str, SignInRow]:
    """Return whether the sign-ins stand, by name: those that servers with tools here use, and
    those that nothing uses.
    """
    tokens = _list_token_rows(opened)
    states: dict[str, SignInRow] = {}
    used = set()
    for server in servers:
        headers = server.get("headers", {}) if "url" in server else {}
        for secret in names_in(*headers.values()):
            if secret.startswith(PREFIX):
                token = server_of_secret(secret)
                used.add(token)
                states[server["name"]] = _judge_token(token, tokens.get(token))
    for token in sorted(tokens.keys() - used):
        command = f"sigil mcp add {tokens[token]['server']}"
        if any(server["name"] == token for server in servers):
            command = f"sigil mcp refresh {token}"
        states[token] = {"state": "unused", "ends": 0.0, "command": command}
    return states


def _judge_token(name: str, row: SecretRow | None) -> SignInRow:
    """Return whether a token may still be sent."""
    ends = row.get("ends", 0.0) if row else 0.0
    if row is None:
        state = "missing"
    elif row.get("renews", True) or not ends:
        state = "stands"
    else:
        state = "ends" if ends > time.time() else "ended"
    command = "" if state == "stands" else f"sigil mcp login {name}"
    return {"state": state, "ends": ends, "command": command}


def find_login_address(opened: OpenRegistry, name: str) -> str:
    """Return the address of a server with a sign-in, or with tools here; `UsageError` ENOENT when
    there is neither.
    """
    from sigil.cli.commands.mcp_tools import find_servers

    known = list_sign_ins(opened).get(name)
    if known:
        return known
    for row in find_servers(opened):
        server = row["server"]
        if row["name"] == name and "url" in server:
            return server["url"]
    raise UsageError(
        "ENOENT",
        "there is no server with an address of this name",
        source=name,
        suggestion=f"sigil mcp login {name} https://…",
    )


def add_sign_in(row: McpServerRow, opened: OpenRegistry, *, named: bool) -> McpServerRow:
    """Return the server with the header of its sign-in, if there is one and it has no other.

    It gets the name of the sign-in too, unless it was `named`.
    """
    if "url" not in row or "authorization" in row.get("headers", {}):
        return row
    url = Target.parse(row["url"]).url
    for name, address in sorted(list_sign_ins(opened).items()):
        if Target.parse(address).url == url and (name == row["name"] or not named):
            headers = {**row.get("headers", {}), "authorization": make_sign_in_header(name)}
            return {**row, "name": name, "headers": headers}
    return row
