"""`uncaged channel`: the platforms that are set, their webhooks, and who may talk."""

from __future__ import annotations

import re
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from functions.channels.webhooks import PATH, HasWebhook, WebhookRegistration, WebhookState
from functions.cli import pairing
from functions.settings import Settings
from functions.wiring import Closable, open_channels
from sigil.cli.exit_codes import FAILED
from sigil.cli.printing import Printer
from sigil.cli.times import format_time
from sigil.errors import UsageError
from sigil.settings import describe_settings

cli = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Chat platforms: which are set, where they lead, who may talk.",
)
NEEDED = {"telegram": ("TELEGRAM_TOKEN", "TELEGRAM_SECRET")}
"""The settings that a platform cannot do without: the first lets us speak, the second lets it in.
"""
SECRET_BYTES = 32
_PLAIN = re.compile(r"[!-~]+")

Platform = Annotated[str, typer.Argument(help="The platform, such as telegram.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Drop = Annotated[
    bool, typer.Option("--drop-pending", help="Forget the updates that wait at the platform.")
]


@cli.command("list")
def list_platforms(json: Json = False) -> None:
    """Show the platforms, and which of their settings are there.

    Example: uncaged channel list
    """
    usual = _setting_values(Settings())
    given = {
        name: value
        for name, value in _setting_values(Settings.read()).items()
        if value != usual[name]
    }
    rows = [_platform_row(platform, given) for platform in NEEDED]
    if json:
        Printer().document(rows)
        return
    cells = [
        (
            row["platform"],
            row["state"],
            " ".join(row["set"]) or "-",
            " ".join(row["missing"]) or "-",
        )
        for row in rows
    ]
    Printer().table(("platform", "state", "set", "missing"), cells)


@cli.command("set")
def set_webhook(
    platform: Platform,
    url: Annotated[
        str,
        typer.Option(
            help=(
                "Where the platform reaches this agent, by https; without a path /webhook/PLATFORM"
                " is added."
            )
        ),
    ] = "",
    *,
    max_connections: Annotated[
        int,
        typer.Option(help="How many updates it may send at once; 0 for the platform's default."),
    ] = 0,
    drop: Drop = False,
    make_secret: Annotated[
        bool,
        typer.Option("--make-secret", help="Only print a new secret, for the platform's …_SECRET."),
    ] = False,
    json: Json = False,
) -> None:
    """Tell the platform where the webhook is and which commands there are, and show what it says.

    Example: uncaged channel set telegram --url https://bot.example.com
    """
    if make_secret:
        _print_secret(platform, url, json)
        return
    if not url:
        wanted = f"uncaged channel set {platform} --url https://bot.example.com"
        raise UsageError("EINVAL", "--url is missing", source=platform, suggestion=wanted)
    with _open_channel(platform, NEEDED.get(platform, ())) as channel:
        channel.webhook.register(
            WebhookRegistration(_add_path(url, platform), max_connections, drop, _list_commands())
        )
        _show_webhook(platform, channel.webhook.read_state(), json)


@cli.command()
def status(platform: Platform, json: Json = False) -> None:
    """Ask the platform who the bot is and how its webhook does.

    The exit code is 1 when none is set or deliveries fail.

    Example: uncaged channel status telegram
    """
    with _open_channel(platform, NEEDED.get(platform, ())[:1]) as channel:
        name, hook = channel.fetch_bot_name(), channel.webhook.read_state()
    _show_webhook(platform, hook, json, name)
    if not hook.works:
        raise typer.Exit(FAILED)


@cli.command()
def unset(platform: Platform, drop: Drop = False, json: Json = False) -> None:
    """Take the webhook away.

    The platform keeps its updates for itself, Telegram for a day.

    Example: uncaged channel unset telegram
    """
    with _open_channel(platform, NEEDED.get(platform, ())[:1]) as channel:
        channel.webhook.remove(drop=drop)
        _show_webhook(platform, channel.webhook.read_state(), json)


cli.command()(pairing.pair)


@contextmanager
def _open_channel(platform: str, needed: tuple[str, ...]) -> Iterator[HasWebhook]:
    """Open the platform's channel once the settings that it needs are there."""
    settings = Settings.read()
    values = _setting_values(settings)
    _require_platform(platform)
    for missing in (name for name in needed if not values[name]):
        raise UsageError(
            "ESETTING",
            f"{missing} is not set",
            source=platform,
            suggestion=_suggest_setting(missing, platform),
        )
    channel = open_channels(settings)[platform]
    if not isinstance(channel, HasWebhook):
        raise UsageError("EINVAL", f"{platform} has no webhook to set from here", source=platform)
    try:
        yield channel
    finally:
        if isinstance(channel, Closable):
            channel.close()


def _list_commands() -> tuple[tuple[str, str], ...]:
    from functions.agent.commands.table import COMMANDS

    return tuple((name, command.meaning) for name, command in COMMANDS.items())


def _require_platform(platform: str) -> None:
    if platform not in NEEDED:
        raise UsageError(
            "ENOENT", f"no platform {platform!r}", suggestion=f"one of {', '.join(NEEDED)}"
        )


def _suggest_setting(missing: str, platform: str) -> str:
    if missing.endswith("_SECRET"):
        return (
            f'make one: export {missing}="$(uncaged channel set {platform} --make-secret)", and'
            " give the server the same"
        )
    return (
        f"set {missing}, to the token that @BotFather gives"
        if platform == "telegram"
        else f"set {missing}"
    )


def _add_path(url: str, platform: str) -> str:
    """Return `url` with the webhook's path when it has none; a note is printed when its path is
    another.
    """
    path = PATH.format(platform=platform)
    try:
        given = urlsplit(url)
    except ValueError:
        return url  # the platform's own check tells
    if not _PLAIN.fullmatch(url):
        return url  # the same; urlsplit drops a line feed in silence
    if given.path in ("", "/"):
        return given._replace(path=path).geturl()
    if not given.path.endswith(path):
        sys.stderr.write(
            f"note: the server's webhook is at {path}; the proxy in front of it has to lead there\n"
        )
    return url


def _print_secret(platform: str, url: str, json: bool) -> None:
    _require_platform(platform)
    if url:
        raise UsageError(
            "EINVAL",
            "--make-secret sets no webhook",
            source=platform,
            suggestion=_suggest_setting(NEEDED[platform][1], platform),
        )
    made = secrets.token_urlsafe(SECRET_BYTES)
    if json:
        Printer().document({"platform": platform, "setting": NEEDED[platform][1], "secret": made})
    else:
        Printer().line(made)


def _setting_values(settings: Settings) -> dict[str, str]:
    """Return the settings by their public name; a secret's value is only a mark that it is set."""
    return {name: value for name, value, _ in describe_settings(settings)}


def _platform_row(platform: str, given: dict[str, str]) -> dict[str, Any]:
    token, secret = NEEDED[platform]
    there = [name for name in given if name.startswith(f"{platform.upper()}_")]
    if token not in there:
        state = "not set"
    elif secret in there:
        state = "ready"
    else:
        state = "its webhook is refused"
    missing = [name for name in NEEDED[platform] if name not in there]
    return {
        "platform": platform,
        "state": state,
        "set": there,
        "missing": missing,
        "path": PATH.format(platform=platform),
    }


def _show_webhook(platform: str, hook: WebhookState, json: bool, name: str = "") -> None:
    if json:
        Printer().document(
            {
                "platform": platform,
                **({"bot": name} if name else {}),
                **asdict(hook),
                "works": hook.works,
            }
        )
        return
    for line in _webhook_lines(platform, hook, name):
        Printer().line(line)


def _webhook_lines(platform: str, hook: WebhookState, name: str) -> Iterator[str]:
    yield f"{platform}{f' @{name}' if name else ''}: {hook.url or 'no webhook is set'}"
    if hook.url:
        yield f"waiting     {hook.pending}"
        yield f"at once     {hook.connections or 'as many as the platform likes'}"
        yield f"updates     {' '.join(hook.updates) or 'all kinds'}"
        if hook.address:
            yield f"address     {hook.address}"
    if hook.error:
        yield f"last error  {hook.error} ({format_time(hook.error_at)})"
    if hook.error and hook.advice:
        yield f"help        {hook.advice}"
