"""`uncaged serve`: the whole server behind uvicorn, until SIGTERM or Ctrl-C."""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from functools import partial

from functions import local, log
from functions.channels.sockets import SocketChannel
from functions.channels.updates import PolledChannel
from functions.channels.webhooks import HasWebhook
from functions.cli.commands.channel import free_from_webhook, make_menus
from functions.poller import PolledBot
from functions.settings import Settings
from functions.socket_listener import ListenedBot
from functions.wiring import AgentRuntime, open_runtime
from sigil.cli.exit_codes import INTERRUPTED
from sigil.errors import BackendError, Refused, UsageError, one_line
from sigil.http.access_log import AccessLog
from sigil.http.client_limits import ClientLimits
from sigil.http.server import listen, serve, url_of
from sigil.settings import find_unknown_variables
from sigil.wiring import admin_token

GRACE_SECONDS = 5


def run_server(host: str, port: int, *, poll: bool = False, take_webhook: bool = False) -> int:
    """Serve until told to stop, and return the exit code. `poll`: fetch the platforms' updates, or
    listen for them; `take_webhook`: a webhook that is set there is taken away.
    """
    log.start()
    settings = Settings.read()
    for unknown in find_unknown_variables(settings):
        _print_line(f"warning: no setting: {unknown}")
    bounds = ClientLimits.from_settings(settings)
    listener = listen(host, port)
    runtime = open_runtime(settings, _print_line)
    token = admin_token(settings)
    polled: list[PolledBot] = []
    listened: list[ListenedBot] = []
    try:
        if poll:
            polled = list_polled_bots(runtime, take_webhook=take_webhook)
            listened = list_listened_bots(runtime, take_webhook=take_webhook)
            require_receivers(polled, listened)
    except BaseException:
        runtime.close()
        raise
    ways = {bot.platform: "polling" for bot in polled}
    ways |= {bot.platform: "listening" for bot in listened}
    server = local.build_app(
        runtime,
        token,
        lambda: _print_greeting(runtime, listener, token, ways),
        polled,
        listened,
    )
    ended = serve(AccessLog(server, log.note), listener, GRACE_SECONDS, bounds=bounds)
    runtime.close()
    _print_line("stopped")
    return INTERRUPTED if ended == signal.SIGINT else 0


def list_polled_bots(runtime: AgentRuntime, *, take_webhook: bool) -> list[PolledBot]:
    """Return the bots to poll, none of which has a webhook any more."""
    bots = []
    for platform, channel in runtime.channels.items():
        if isinstance(channel, PolledChannel) and channel.may_poll:
            free_from_webhook(platform, channel, take_webhook=take_webhook or None)
            bots.append(PolledBot(platform, channel, partial(make_menus, platform)))
    return bots


def list_listened_bots(runtime: AgentRuntime, *, take_webhook: bool) -> list[ListenedBot]:
    """Return the bots to listen for, whose settings are there."""
    bots = []
    for platform, channel in runtime.channels.items():
        if isinstance(channel, SocketChannel) and channel.listened_bot:
            # a webhook gets commands alone, and messages come all the same
            _report_webhook(platform, channel, take_webhook=take_webhook)
            bots.append(ListenedBot(platform, channel, partial(make_menus, platform)))
    return bots


def _report_webhook(platform: str, channel: object, *, take_webhook: bool) -> None:
    """Take the webhook of a bot away, or say that commands go there."""
    if not isinstance(channel, HasWebhook):
        return
    try:
        url = channel.webhook.read_state().url
        if url and take_webhook:
            channel.webhook.remove()
            _print_line(f"the webhook {one_line(url)} was taken away")
        elif url:
            _print_line(
                f"note: {platform} sends commands and buttons to {one_line(url)}; with"
                " --take-webhook they come here"
            )
    except (BackendError, Refused) as problem:
        if problem.suggestion:  # the token is wrong: it stays so
            raise
        _print_line(f"warning: {problem.message}")  # the listener tries again


def require_receivers(polled: Sequence[PolledBot], listened: Sequence[ListenedBot]) -> None:
    """Raise `UsageError` when nothing would be received."""
    if not polled and not listened:
        raise UsageError(
            "ESETTING",
            "--poll needs a platform that can be polled or listened to",
            suggestion="uncaged setup telegram, or set TELEGRAM_TOKEN, DISCORD_TOKEN or"
            " MATRIX_TOKEN",
        )


def _print_greeting(
    runtime: AgentRuntime, listener: socket.socket, token: str, ways: Mapping[str, str]
) -> None:
    url = url_of(listener)
    _print_line(f"uncaged listens on {url}")
    _print_line(f"  model      {runtime.app.model.name}")
    for platform in runtime.channels:
        if platform in ways:
            _print_line(f"  {ways[platform]:<9}  {platform}")
        else:
            _print_line(f"  webhook    POST {url}/webhook/{platform}")
    _print_line(f"  chat       POST {url}/chat")
    if sys.stderr.isatty():
        _print_line(f"  token      {token}")
    if not runtime.channels:
        return
    # how to become the owner when there is none, with a code that only a terminal shows
    try:
        code = runtime.app.claim.offer_code() if sys.stderr.isatty() else ""
        if code:
            _print_line(
                f"  owner      nobody yet: write `/pair {code}` to the bot in the next 10 minutes,"
                " and it is you"
            )
        elif not runtime.app.people.has_owner():
            _print_line(
                "  owner      nobody yet: give your id, which the bot tells you, to `uncaged"
                " setup owner` (UNCAGED_OWNERS), or start this server in a terminal"
            )
    except BackendError as problem:
        _print_line(f"  owner      unknown: {problem.message}")


def _print_line(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
