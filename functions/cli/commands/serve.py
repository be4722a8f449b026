"""`uncaged serve`: the whole server behind uvicorn, until SIGTERM or Ctrl-C."""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from functions import local, log
from functions.channels.about import name_variable
from functions.channels.base import Channel
from functions.channels.isolated_channels import UnusableChannel
from functions.channels.listening.sockets import SocketChannel
from functions.channels.listening.updates import PolledChannel
from functions.channels.platforms import PLATFORMS, has_private_chats, write_pairing
from functions.channels.webhooks import HasWebhook
from functions.cli.commands.channel import free_from_webhook, make_menus
from functions.cli.commands.web import MINUTES, list_addresses, make_code
from functions.cli.local_agent import BY
from functions.ingress.poller import PolledBot
from functions.ingress.socket_listener import ListenedBot
from functions.settings import Settings
from functions.wiring import AgentRuntime, open_runtime
from sigil.cli.exit_codes import INTERRUPTED
from sigil.errors import BackendError, Refused, SigilError, UsageError, one_line
from sigil.http.access_log import AccessLog
from sigil.http.client_limits import ClientLimits
from sigil.http.server import listen, serve, url_of
from sigil.settings import find_unknown_variables
from sigil.wiring import admin_token

if TYPE_CHECKING:
    from sigil.cli.doctor import Finding


GRACE_SECONDS = 5


def run_server(
    host: str,
    port: int,
    *,
    poll: bool = False,
    bots: Sequence[str] = (),
    take_webhook: bool = False,
    has_page: bool = True,
    check: Callable[[Settings], list[Finding]] | None = None,
) -> int:
    """Serve until told to stop, and return the exit code.

    `poll`: fetch the platforms' updates, or listen for them: those of the `bots`, or of all;
    `take_webhook`: a webhook that is set there is taken away. `has_page`: with the pages for a
    browser, of which one shows what `check` finds.
    """
    if bots and not poll:
        raise UsageError(
            "EUSAGE",
            f"{one_line(bots[0], 60)!r} names a bot to poll",
            suggestion=f"uncaged serve --poll {one_line(bots[0], 60)}",
        )
    log.start()
    settings = Settings.read()
    for unknown in find_unknown_variables(settings):
        _print_line(f"warning: no setting: {unknown}")
    bounds = ClientLimits.from_settings(settings)
    polled: list[PolledBot] = []
    listened: list[ListenedBot] = []
    with ExitStack() as failing:
        listener = listen(host, port)
        failing.callback(listener.close)
        runtime = open_runtime(settings, _print_line)
        failing.callback(runtime.close)
        token = admin_token(settings)
        if poll:
            polled, listened = list_receivers(runtime, bots, take_webhook=take_webhook)
        failing.pop_all()
    ways = {bot.platform: "polling" for bot in polled}
    ways |= {bot.platform: "listening" for bot in listened}
    server = local.build_app(
        runtime,
        token,
        lambda: _print_greeting(runtime, listener, token, ways, has_page=has_page),
        polled,
        listened,
        has_page=has_page,
        check=partial(check, runtime.settings) if check else None,
    )
    ended = serve(
        AccessLog(server, log.note),
        listener,
        GRACE_SECONDS,
        bounds=bounds,
        end_streams=server.state.end_streams,
    )
    runtime.close()
    _print_line("stopped")
    return INTERRUPTED if ended == signal.SIGINT else 0


def list_receivers(
    runtime: AgentRuntime, names: Sequence[str] = (), *, take_webhook: bool
) -> tuple[list[PolledBot], list[ListenedBot]]:
    """Return the bots to poll, none of which has a webhook any more, and those to listen for: the
    ones with these names, or all.

    A bot that has not got what it needs stops no other. `UsageError` for a name of no such bot, and
    when nothing would be received, unless that is due to one that is badly set.
    """
    unusable = {
        name: channel.problem
        for name, channel in runtime.channels.items()
        if isinstance(channel, UnusableChannel)
    }
    can_receive = [name for name, channel in runtime.channels.items() if _can_receive(channel)]
    for name in names:
        if name in unusable:
            raise unusable[name]
        if name not in can_receive:
            raise UsageError(
                "EUSAGE",
                f"{one_line(name, 60)!r} is no bot that can be polled or listened to",
                suggestion=f"name {', '.join(can_receive)}" if can_receive else _suggest(runtime),
            )
    polled: list[PolledBot] = []
    listened: list[ListenedBot] = []
    refused: dict[str, SigilError] = {}
    for name in dict.fromkeys(names or can_receive):
        channel = runtime.channels[name]
        try:
            if isinstance(channel, PolledChannel):
                free_from_webhook(name, channel, take_webhook=take_webhook or None)
                polled.append(PolledBot(name, channel, partial(make_menus, name)))
            elif isinstance(channel, SocketChannel):
                # a webhook gets commands alone, and messages come all the same
                _report_webhook(name, channel, take_webhook=take_webhook)
                listened.append(ListenedBot(name, channel, partial(make_menus, name)))
        except SigilError as problem:
            if names:
                raise
            refused[name] = problem
    if not polled and not listened and not (unusable and not refused):
        raise next(
            iter(refused.values()),
            UsageError(
                "ESETTING",
                "--poll needs a platform that can be polled or listened to",
                suggestion=_suggest(runtime),
            ),
        )
    for name, refusal in refused.items():
        if isinstance(refusal, UsageError):
            _print_line(f"note: {refusal.message}; {refusal.suggestion}")
        else:
            _print_line(
                f"warning: {name} is not served: {refusal.message}"
                f" ({refusal.suggestion or 'check its settings'}; then start the server again)"
            )
    return polled, listened


def _can_receive(channel: Channel) -> bool:
    if isinstance(channel, PolledChannel):
        return channel.may_poll
    return isinstance(channel, SocketChannel) and bool(channel.listened_bot)


def _suggest(runtime: AgentRuntime) -> str:
    """Return what to set so that a bot can be polled: what one lacks that is there, or else what
    each platform needs.
    """
    ways = []
    for described in runtime.settings.channels:
        needed = described.about.list_polled_with() if described.about.polled else []
        missing = [field for field in needed if not described[field]]
        if missing and described.is_open:
            ways.append(_join_variables(described.name, missing))
    if ways:
        return f"set {'; or '.join(ways)}"
    ways = [
        _join_variables(about.platform, about.list_polled_with())
        for about in PLATFORMS.values()
        if about.polled
    ]
    return f"uncaged setup telegram, or set {'; or '.join(ways)}"


def _join_variables(channel: str, fields: Sequence[str]) -> str:
    return " and ".join(name_variable(channel, field) for field in fields)


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


def _print_greeting(
    runtime: AgentRuntime,
    listener: socket.socket,
    token: str,
    ways: Mapping[str, str],
    *,
    has_page: bool,
) -> None:
    url = url_of(listener)
    _print_line(f"uncaged listens on {url}")
    _print_line(f"  model      {runtime.app.model.name}")
    for platform, channel in runtime.channels.items():
        if isinstance(channel, UnusableChannel):
            continue  # the start has told why
        if platform in ways:
            _print_line(f"  {ways[platform]:<9}  {platform}")
        else:
            _print_line(f"  webhook    POST {url}/webhook/{platform}")
    _print_line(f"  chat       POST {url}/chat")
    if sys.stderr.isatty():
        _print_line(f"  token      {token}")
    if runtime.channels:
        _print_owner(runtime)
    if has_page:
        _print_page(runtime, listener)


def _print_page(runtime: AgentRuntime, listener: socket.socket) -> None:
    """Print where the page is, and a code for it where only a person sees it, as with the token."""
    addresses = list_addresses(runtime.settings, listener.getsockname()[1])
    _print_line(f"  page       {' '.join(addresses)}")
    if not sys.stderr.isatty():
        _print_line("  code       `uncaged web` prints one that opens it")
        return
    try:
        code = make_code(runtime.app, BY, "owner")
    except BackendError as problem:
        _print_line(f"  code       unknown: {problem.message}")
        return
    _print_line(f"  code       {code} opens it, once, in the next {MINUTES} minutes")


def _print_owner(runtime: AgentRuntime) -> None:
    """Print who owns the agent, where it is nobody."""
    # how to become the owner when there is none, with a code that only a terminal shows
    try:
        can_pair = sys.stderr.isatty() and any(map(has_private_chats, runtime.channels))
        code = runtime.app.claim.offer_code() if can_pair else ""
        if code:
            _print_line(
                f"  owner      nobody yet: write {write_pairing(code, runtime.channels)} to the"
                " bot in a private chat in the next 10 minutes, and it is you"
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
