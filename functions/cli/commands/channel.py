"""`uncaged channel`: the platforms that are set, their webhooks, and who may talk."""

from __future__ import annotations

import re
import secrets
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Annotated, TypedDict
from urllib.parse import urlsplit

import typer

from functions.channels.about import ChannelSetting, ChannelSettings, name_variable
from functions.channels.base import Channel
from functions.channels.isolated_channels import find_problem
from functions.channels.parameters import ABOUT, make_parameters, write_parameters
from functions.channels.platforms import find_about, open_channels, write_recipe
from functions.channels.webhooks import (
    PATH,
    ChecksWebhook,
    CommandMenu,
    HasScopes,
    HasWebhook,
    KnowsBotName,
    WebhookRegistration,
    WebhookState,
)
from functions.cli.commands import pairing
from functions.cli.local_agent import open_agent, print_result
from functions.settings import Settings
from functions.wiring import Closable
from sigil.cli.exit_codes import FAILED
from sigil.cli.printing import Printer
from sigil.cli.times import format_time
from sigil.errors import BackendError, SigilError, UsageError, one_line

cli = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Connect chat platforms, and let people talk to the agent.",
)
SECRET_BYTES = 32
PLACE = "/uncaged/channels"
"""Where the template for AWS looks for the settings of channels, unless it is told otherwise."""
_PLAIN = re.compile(r"[!-~]+")

Platform = Annotated[str, typer.Argument(help="The platform, such as telegram.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Drop = Annotated[
    bool, typer.Option("--drop-pending", help="Discard the updates that wait at the platform.")
]


@cli.command("list")
def list_platforms(json: Json = False) -> None:
    """Show the platforms, and which of their settings are set.

    Example: uncaged channel list
    """
    settings = Settings.read().load_separate_channels(by_worker=True)
    rows = [_make_platform_row(channel) for channel in settings.channels]
    if json:
        Printer().document(rows)
        return
    cells = []
    for row in rows:
        present = " ".join(row["set"]) or "-"
        missing = " ".join(row["missing"]) or "-"
        polled = " ".join(row["polled_with"]) or "-"
        cells.append((row["platform"], row["state"], present, missing, polled))
    Printer().table(("platform", "state", "set", "missing", "enough for serve --poll"), cells)
    for row in rows:
        if row["problem"]:
            Printer().line(f"{row['platform']} is not served: {row['problem']} ({row['help']})")


@cli.command("set")
def set_webhook(
    platform: Platform,
    url: Annotated[
        str,
        typer.Option(
            help=(
                "The https address at which the platform reaches this agent; /webhook/PLATFORM is"
                " added to one without a path."
            )
        ),
    ] = "",
    *,
    max_connections: Annotated[
        int,
        typer.Option(help="How many updates it may send at once; 0 for the platform's default."),
    ] = 0,
    drop: Drop = False,
    poll: Annotated[
        bool,
        typer.Option(
            "--poll",
            help="Print the steps for `uncaged serve --poll`, in place of those for an address.",
        ),
    ] = False,
    make_secret: Annotated[
        bool,
        typer.Option("--make-secret", help="Only print a new secret, for the platform's …_SECRET."),
    ] = False,
    json: Json = False,
) -> None:
    """Register the webhook and the agent's commands with the platform.

    Then show the webhook's state as the platform reports it. For Slack, Feishu, WhatsApp,
    DingTalk, WeCom and Matrix, which take it by hand, print what to give to them, and
    the steps.

    Example: uncaged channel set telegram --url https://bot.example.com
    """
    channel = _find_channel(platform)
    if make_secret:
        _print_new_secret(channel, url, json)
        return
    if poll:
        _require_steps_for_polling(channel)
        _print_recipe(channel, "", json)
        return
    if not url:
        raise UsageError(
            "EINVAL",
            "--url is missing",
            source=platform,
            suggestion=f"uncaged channel set {platform} --url https://bot.example.com",
        )
    url = _add_webhook_path(url, platform)
    if channel.about.by_hand:
        _print_recipe(channel, url, json)
        return
    with _open_webhook(channel) as bot:
        menus = make_menus(platform)
        bot.webhook.register(WebhookRegistration(url, max_connections, drop, menus))
        _show_webhook(channel, bot.webhook.read_state(), json)


def make_menus(platform: str) -> tuple[CommandMenu, ...]:
    """Return the menus of commands in each language: everybody's, that of groups, and those of the
    owners on a platform, with what is of use where the agent runs.
    """
    from functions.agent.commands.command import Reader
    from functions.agent.commands.table import COMMANDS, make_menu
    from functions.texts.languages import list_codes, load_texts

    settings = Settings.read()
    owners = _list_owners(settings, platform)
    has_model = bool(settings.endpoint)
    alone = Reader("member", private=True, has_model=has_model, may_listen=settings.may_listen)
    menus: list[CommandMenu] = []
    for code in list_codes():
        texts = load_texts(code)
        in_groups = make_menu(texts, replace(alone, private=False))
        of_owners = make_menu(texts, replace(alone, role="owner"))
        menus.append(CommandMenu(code, make_menu(texts, alone)))
        menus.append(CommandMenu(code, in_groups, groups=True))
        menus += [CommandMenu(code, of_owners, person=id) for id in owners]
        about = find_about(platform)
        if about and not about.types_commands:
            everything = tuple((name, texts.meanings[name]) for name in COMMANDS)
            menus.append(CommandMenu(code, everything))
    return tuple(menus)


def _list_owners(settings: Settings, platform: str) -> list[str]:
    """Return the owners on a platform: those of the settings, and those who paired, where there is
    a store.
    """
    owners = set(settings.owners)
    if settings.store or (settings.data_folder / "uncaged.db").exists():
        try:
            with open_agent() as (app, _):
                members = app.people.list_members()
        except SigilError as problem:
            sys.stderr.write(f"note: no menu for owners who paired: {problem.message}\n")
        else:
            owners |= {person.id for person in members if person.role == "owner"}
    return sorted(id for id in owners if id.partition(":")[0] == platform)


@cli.command()
def status(platform: Platform, json: Json = False) -> None:
    """Ask the platform for the bot's name and its webhook's state.

    The exit code is 1 when no webhook is set or its deliveries fail. Slack, Feishu,
    WhatsApp, DingTalk and WeCom tell of no webhook: it is 1 there when the app lacks
    scopes. A homeserver of Matrix is asked to reach the webhook.

    Example: uncaged channel status telegram
    """
    channel = _find_channel(platform)
    if channel.about.by_hand:
        _show_scopes(channel, json)
        return
    with _open_webhook(channel, by_worker=True) as bot:
        name = bot.fetch_bot_name()
        webhook = bot.webhook.read_state()
    _show_webhook(channel, webhook, json, name)
    if not webhook.works:
        raise typer.Exit(FAILED)


@cli.command()
def unset(platform: Platform, drop: Drop = False, json: Json = False) -> None:
    """Remove the webhook.

    From then on the platform keeps the updates, Telegram for a day.

    Example: uncaged channel unset telegram
    """
    channel = _find_channel(platform)
    with _open_webhook(channel, by_worker=True) as bot:
        bot.webhook.remove(drop=drop)
        _show_webhook(channel, bot.webhook.read_state(), json)


@cli.command()
def store(
    platform: Platform,
    place: Annotated[
        str, typer.Option(help="Where the parameters are; as the template's ChannelSecrets.")
    ] = PLACE,
    *,
    in_aws: Annotated[
        bool, typer.Option("--aws", help="Write the parameters, with the credentials for AWS.")
    ] = False,
    json: Json = False,
) -> None:
    """Put the settings of a channel where the functions on AWS read them.

    They are parameters of AWS Systems Manager. Without --aws only the commands are
    printed that write them, with the names of the variables and without a secret.

    Example: uncaged channel store slack --aws
    """
    settings = Settings.read()
    if in_aws:
        settings = replace(settings, channel_secrets=place)  # checks it
    channel = settings.find_channel(platform) or _find_channel(platform)
    missing = channel.list_missing()
    if missing:
        raise _make_missing(channel, missing[0])
    parameters = make_parameters(channel, place)
    if in_aws:
        write_parameters(parameters)
    if json:
        Printer().document(
            {"platform": platform, "parameters": sorted(parameters), "written": in_aws}
        )
        return
    for name, value in parameters.items():
        if in_aws:
            Printer().line(f"wrote {name}")
            continue
        variable = name_variable(platform, name.rpartition("/")[2])
        text = shlex.quote(value) if name.endswith(f"/{ABOUT}") else f'"${variable}"'
        Printer().line(
            f"aws ssm put-parameter --overwrite --type SecureString --name {name} --value {text}"
        )
    sys.stderr.write(f"the template's Channels has to name {platform}\n")


cli.command()(pairing.pair)


def free_from_webhook(platform: str, channel: object, *, take_webhook: bool | None) -> None:
    """Take the webhook of a bot away; `UsageError` when it stays: the platform gives no updates
    then. With `take_webhook` None a person at a terminal decides.
    """
    if not isinstance(channel, HasWebhook):
        return
    try:
        url = channel.webhook.read_state().url
        if not url:
            return
        if take_webhook is None and sys.stdin.isatty():
            take_webhook = typer.confirm(
                f"{platform} sends this bot's messages to {url}. Take that webhook away?", err=True
            )
        if take_webhook:
            channel.webhook.remove()
            sys.stderr.write(f"the webhook {one_line(url)} was taken away\n")
            return
    except BackendError as problem:
        if problem.suggestion:  # the token is wrong: it stays so
            raise
        # no network yet, such as at a boot: the poller tries again
        sys.stderr.write(f"warning: {problem.message}\n")
        return
    raise UsageError(
        "ESETTING",
        f"a webhook is set, so {platform} gives no updates: {url}",
        source=platform,
        suggestion=f"use --take-webhook, or: uncaged channel unset {platform}",
    )


@contextmanager
def _open_webhook(channel: ChannelSettings, *, by_worker: bool = False) -> Iterator[HasWebhook]:
    """Open a channel whose webhook can be registered from here."""
    with _open_channel(channel, by_worker=by_worker) as bot:
        if not isinstance(bot, HasWebhook):
            raise UsageError(
                "EINVAL",
                f"{channel.name} has no webhook to change from here",
                source=channel.name,
                suggestion=_suggest_steps(channel),
            )
        yield bot


@contextmanager
def _open_channel(channel: ChannelSettings, *, by_worker: bool = False) -> Iterator[Channel]:
    """Open a channel once the settings that it needs are there, or those `by_worker` to send."""
    missing = channel.list_missing(by_worker=by_worker)
    if missing:
        raise _make_missing(channel, missing[0])
    bot = open_channels([channel])[channel.name]
    try:
        with channel.naming_own_variables():
            yield bot
    finally:
        if isinstance(bot, Closable):
            bot.close()


def _find_channel(name: str) -> ChannelSettings:
    """Return the settings of a channel; `UsageError` when there is no such one."""
    settings = Settings.read()
    found = settings.load_channels().find_channel(name)
    if found is None:
        known = ", ".join(channel.name for channel in settings.channels)
        if find_about(name):
            names = ",".join((*settings.channel_names, name))
            known += f", or name it in the settings: UNCAGED_CHANNELS={names}"
        raise UsageError("ENOENT", f"no platform {name!r}", suggestion=f"use one of {known}")
    return found


def _require_steps_for_polling(channel: ChannelSettings) -> None:
    """Raise `UsageError` where an owner has nothing to do by hand for `uncaged serve --poll`."""
    about = channel.about
    if not about.polled:
        raise UsageError(
            "EINVAL",
            f"{about.title} needs an address",
            source=channel.name,
            suggestion=f"uncaged channel set {channel.name} --url https://bot.example.com",
        )
    if not about.by_hand:
        raise UsageError(
            "EINVAL",
            f"{about.title} needs no steps for it",
            source=channel.name,
            suggestion="uncaged serve --poll",
        )


def _print_recipe(channel: ChannelSettings, url: str, json: bool) -> None:
    """Print what the owner gives to the platform, and on stderr what else there is to do."""
    if url and not (url.startswith("https://") and _PLAIN.fullmatch(url)):
        raise UsageError(
            "EINVAL",
            "the url has to begin with https://",
            source=channel.name,
            suggestion=f"uncaged channel set {channel.name} --url https://bot.example.com",
        )
    recipe = write_recipe(channel, url)
    if json:
        rows = {"platform": channel.name, "url": url, "document": recipe.document}
        Printer().document(rows | {"steps": recipe.steps.splitlines()})
        return
    sys.stderr.write(recipe.steps)
    for line in recipe.document.splitlines():
        Printer().line(line)


def _show_scopes(channel: ChannelSettings, json: bool) -> None:
    """Show the bot's name and what its app may not do; exit with 1 when that is anything."""
    with _open_channel(channel, by_worker=True) as bot:
        name = bot.fetch_bot_name() if isinstance(bot, KnowsBotName) else ""
        missing = bot.list_missing_scopes() if isinstance(bot, HasScopes) else ()
        if isinstance(bot, ChecksWebhook):
            bot.check_webhook()
    if json:
        Printer().document({"platform": channel.name, "bot": name, "missing_scopes": missing})
    else:
        Printer().line(f"{channel.name} @{name}: the bot answers")
        if missing:
            Printer().line(f"missing     {' '.join(missing)}")
            Printer().line("help        give the app these scopes, and install or publish it again")
    if missing:
        raise typer.Exit(FAILED)


def _make_missing(channel: ChannelSettings, missing: ChannelSetting) -> UsageError:
    return UsageError(
        "ESETTING",
        f"{name_variable(channel.name, missing.field)} is not set",
        source=channel.name,
        suggestion=_suggest_setting(missing, channel),
    )


def _suggest_setting(missing: ChannelSetting, channel: ChannelSettings) -> str:
    if channel.about.by_hand:
        return _suggest_steps(channel)
    name = name_variable(channel.name, missing.field)
    if missing.made_here:
        return (
            f'make one: export {name}="$(uncaged channel set {channel.name} --make-secret)", and'
            " give the server the same"
        )
    return f"set {name} to {missing.found}"


def _suggest_steps(channel: ChannelSettings) -> str:
    return f"see the steps: uncaged channel set {channel.name} --url https://bot.example.com"


def _add_webhook_path(url: str, platform: str) -> str:
    """Return `url` with the webhook's path when it has none, and note when it has another path."""
    path = PATH.format(channel=platform)
    try:
        parts = urlsplit(url)
    except ValueError:
        return url  # the platform's own check refuses it
    if not _PLAIN.fullmatch(url):
        return url  # the same; urlsplit drops a line feed in silence
    if parts.path in ("", "/"):
        return parts._replace(path=path).geturl()
    if not parts.path.endswith(path):
        sys.stderr.write(
            f"note: the server's webhook is at {path}; the proxy in front of it has to pass"
            " requests on to that path\n"
        )
    return url


def _print_new_secret(channel: ChannelSettings, url: str, json: bool) -> None:
    made = [each for each in channel.about.settings if each.made_here]
    if not made:
        raise UsageError(
            "EINVAL",
            f"{channel.name} makes the secret itself",
            source=channel.name,
            suggestion=_suggest_setting(channel.about.list_needed()[-1], channel),
        )
    if url:
        raise UsageError(
            "EINVAL",
            "--make-secret sets no webhook, so it takes no --url",
            source=channel.name,
            suggestion=_suggest_setting(made[0], channel),
        )
    secret = secrets.token_urlsafe(SECRET_BYTES)
    setting = name_variable(channel.name, made[0].field)
    print_result({"platform": channel.name, "setting": setting, "secret": secret}, secret, json)


class PlatformRow(TypedDict):
    """A platform, and which of its settings are set, and are missing for a webhook.

    `polled_with`: those that `uncaged serve --poll` needs; none where it cannot poll. `problem`:
    why a server does not serve it; `help`: what to do about it.
    """

    platform: str
    state: str
    set: list[str]
    missing: list[str]
    polled_with: list[str]
    path: str
    problem: str
    help: str


def _make_platform_row(channel: ChannelSettings) -> PlatformRow:
    """Return a channel's row, with the settings that have no default value."""
    about = channel.about
    problem = find_problem(channel)
    told = problem.as_dict() if problem else {}
    if problem:
        state = "not served"
    elif channel.list_missing(by_worker=True):
        state = "not set"
    elif not channel.list_missing():
        state = "ready"
    elif channel.is_polled:
        state = "for `uncaged serve --poll`: its webhook is refused"
    else:
        state = "its webhook is refused"
    return {
        "platform": channel.name,
        "state": state,
        "set": [
            name_variable(channel.name, each.field)
            for each in about.settings
            if channel[each.field] != each.default
        ],
        "missing": [name_variable(channel.name, each.field) for each in channel.list_missing()],
        "polled_with": [
            name_variable(channel.name, field)
            for field in (about.list_polled_with() if about.polled else ())
        ],
        "path": PATH.format(channel=channel.name),
        "problem": told.get("message", ""),
        "help": told.get("suggestion", ""),
    }


def _show_webhook(
    channel: ChannelSettings, webhook: WebhookState, json: bool, name: str = ""
) -> None:
    webhook = replace(webhook, advice=channel.name_own_variables(webhook.advice))
    if json:
        row: dict[str, object] = {"platform": channel.name}
        if name:
            row["bot"] = name
        Printer().document(row | asdict(webhook) | {"works": webhook.works})
        return
    bot = f" @{name}" if name else ""
    lines = [f"{channel.name}{bot}: {webhook.url or 'no webhook is set'}"]
    if webhook.url:
        lines.append(f"waiting     {webhook.pending}")
        lines.append(f"at once     {webhook.connections or 'as many as the platform likes'}")
        lines.append(f"updates     {' '.join(webhook.updates) or 'all kinds'}")
        if webhook.unheard:
            again = f"uncaged channel set {channel.name} --url …"
            lines.append(f"unheard     {' '.join(webhook.unheard)}: set the webhook again: {again}")
        if webhook.address:
            lines.append(f"address     {webhook.address}")
    if webhook.error:
        lines.append(f"last error  {webhook.error} ({format_time(webhook.error_at)})")
        if webhook.advice:
            lines.append(f"help        {webhook.advice}")
    for line in lines:
        Printer().line(line)
