"""`uncaged doctor`: the checks of `sigil doctor`, and those of the agent's queue, model, platforms
and owners.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial

from functions.agent.conversation.compaction import load_strategy
from functions.agent.safety.guides import load_guide
from functions.channels.about import ChannelSettings
from functions.channels.listening.sockets import SocketChannel
from functions.channels.listening.updates import PolledChannel
from functions.channels.platforms import OWN_CHAT, find_about, open_channels
from functions.channels.webhooks import (
    ChecksListening,
    ChecksWebhook,
    HasScopes,
    HasWebhook,
    KnowsBotName,
)
from functions.cli.commands.inbox import CountsEvents
from functions.cli.commands.web import list_addresses
from functions.cli.local_agent import open_agent
from functions.queues.leases import is_leased
from functions.settings import Settings
from functions.wiring import Closable, open_ingress_queue
from sigil.cli.doctor import (
    Check,
    DoctorWarning,
    Finding,
    local_registry,
    machine,
    remote_registry,
    run_checks,
)
from sigil.cli.doctor.report import run_doctor
from sigil.cli.printing import Printer
from sigil.cli.times import format_count
from sigil.errors import BackendError, SigilError, one_line
from sigil.storage.kv import keys
from sigil.storage.kv.restoration import require_restored
from sigil.storage.setting_secrets import reveal
from sigil.wiring import open_stores

MODEL_SECONDS = 20.0


def run_checks_and_print(printer: Printer) -> int:
    """Print settings and findings; the exit code is 1 when something does not work."""
    settings = Settings.read()
    checks = {**registry_checks(settings), **agent_checks(settings)}
    return run_doctor(printer, checks, settings)


def list_findings(settings: Settings) -> list[Finding]:
    """Return what all checks find."""
    return list(run_checks({**registry_checks(settings), **agent_checks(settings)}))


def registry_checks(settings: Settings) -> Mapping[str, Check]:
    """Return the checks of the agent's registry, and of its store, which is the agent's own too."""
    if not settings.registry_url:
        return {**machine.machine_checks(settings), **local_registry.registry_checks(settings)}
    remote = replace(settings, registry_token=reveal(settings.registry_token))
    return {
        "environment": partial(machine.check_environment, settings),
        "disk": partial(local_registry.check_disk, settings),
        "store": partial(local_registry.check_store, settings),
        **remote_registry.registry_checks(remote),
    }


def agent_checks(settings: Settings) -> Mapping[str, Check]:
    """Return the checks of the agent itself, by their names in the report."""
    checks: dict[str, Check] = {
        "queue": partial(check_queue, settings),
        "model": partial(check_model, settings),
        "guide": partial(check_guide, settings),
        "platforms": partial(check_platforms, settings),
        "owners": partial(check_owners, settings),
        "page": partial(check_page, settings),
        "backup": partial(check_backup, settings),
        "service": check_service,
    }
    if settings.has_fallback:
        checks["second model"] = partial(check_model, settings.fallback)
    return checks


def check_queue(settings: Settings) -> str:
    """Check that the queue can be reached."""
    queue = open_ingress_queue(settings)
    lane = f"{settings.background_workers} background workers beside {settings.workers} for chats"
    if not isinstance(queue, CountsEvents):
        return f"in the store itself, {lane}"
    events = f"{queue.count_waiting()} events in SQS"
    if not settings.work_queue:
        raise DoctorWarning(
            f"{events}; background work waits in the same queue as chats and delays them",
            suggestion="make a second FIFO queue and set UNCAGED_WORK_QUEUE to its address",
        )
    return f"{events}, background work in a queue of its own, {lane}"


def check_model(settings: Settings) -> str:
    """Check that the model answers, calls tools, and does not end soon."""
    from functions.cli.setup import model_check
    from functions.cli.setup.providers import find_provider

    if not settings.endpoint:
        raise DoctorWarning(
            "the offline model answers: it knows a few phrases",
            suggestion="uncaged setup model, or set UNCAGED_LLM_KEY or UNCAGED_LLM_URL",
        )
    provider = find_provider(settings.endpoint)
    try:
        facts = model_check.check_model(settings, provider, MODEL_SECONDS)
    except BackendError as problem:
        raise BackendError(
            problem.code,
            problem.message,
            suggestion="uncaged setup model, or check UNCAGED_LLM_URL, UNCAGED_LLM_KEY and"
            f" UNCAGED_LLM_MODEL: {problem.suggestion}",
        ) from None
    found = facts.describe(one_line(settings.llm_model, 60))
    if facts.end:
        raise DoctorWarning(
            f"{one_line(facts.end.describe(model_check.today()))}; {found}",
            suggestion=f"uncaged setup model --model {facts.end.replacement or 'NAME'}",
        )
    if not facts.tools.calls_tools:
        raise DoctorWarning(
            found, suggestion="uncaged setup model: choose one that calls tools, as the agent does"
        )
    return found


def check_backup(settings: Settings) -> str:
    """Check that the store was not left half restored, and say when its last backup was made."""
    from functions.backup.saving import read_last_backup

    kv = open_stores(settings).kv
    require_restored(kv)
    last = read_last_backup(kv)
    if last is None:
        return "none yet; `uncaged backup FILE` makes one"
    days = max(0, int((time.time() - last.at) // 86_400))
    age = "today" if days == 0 else f"{format_count(days, 'day')} ago"
    return f"{last.file}, made {age}: {format_count(last.items, 'item')}"


def check_service() -> str:
    """Check that the service runs that `uncaged setup` made."""
    from functions.cli.setup.container import find_containers
    from functions.cli.setup.service import MARK, UNIT, find_user_services

    services = find_user_services()
    if services and services.unit.is_file():
        if services.is_active:
            return f"{UNIT} runs"
        if services.unit.read_text(errors="replace").startswith(MARK):
            raise DoctorWarning(
                f"{UNIT} does not run",
                suggestion="systemctl --user start uncaged; journalctl --user --unit uncaged tells"
                " why it ended",
            )
    containers = find_containers()
    state = containers.state if containers else ""
    if state not in ("", "running"):
        raise DoctorWarning(
            f"the container is {state}", suggestion="uncaged setup service --service container"
        )
    return "the container runs" if state else "none; a server is started by hand"


def check_guide(settings: Settings) -> str:
    """Check that the guide and the context strategy can be loaded."""
    load_guide(settings.guide)
    load_strategy(settings.context)
    return f"{settings.guide}, with the context strategy {settings.context}"


def check_platforms(settings: Settings) -> str:
    """Check that the bot of each platform answers, and that its webhook works if it has one."""
    reload = partial(settings.reload_channel, by_worker=True)
    found: list[str] = []
    failed: list[SigilError] = []
    for described in settings.load_separate_channels(by_worker=True).channels:
        is_lost = described.is_wanted and not described.is_open
        try:
            finding = _check_channel(settings, reload(described.name) if is_lost else described)
        except SigilError as problem:
            if not problem.message.startswith(f"{described.name}:"):
                problem.message = f"{described.name}: {problem.message}"
            failed.append(problem)
        else:
            found += [finding] if finding else []
    if failed:
        # a warning among failures is none
        first = min(failed, key=lambda problem: isinstance(problem, DoctorWarning))
        first.message = "; ".join(problem.message for problem in failed)
        first.suggestion = "; ".join(
            dict.fromkeys(problem.suggestion for problem in failed if problem.suggestion)
        )
        raise first
    return ", ".join(found) or "none set"


def _check_channel(settings: Settings, described: ChannelSettings) -> str:
    """Check a channel, and return what was found; nothing about one that is not set."""
    platform = described.name
    channel = open_channels([described]).get(platform)
    if channel is None:
        return ""
    ending = closing(channel) if isinstance(channel, Closable) else nullcontext()
    with described.naming_own_variables(), ending:
        finding = f"{platform}: the bot answers"
        if isinstance(channel, KnowsBotName):
            name = _fetch_bot_name(platform, channel)
            finding = f"{platform}: the bot @{name} answers" if name else finding
        if isinstance(channel, HasScopes):
            require_scopes(platform, channel)
        listened = channel.listened_bot if isinstance(channel, SocketChannel) else ""
        if isinstance(channel, PolledChannel) and is_received(settings, platform, str(channel.bot)):
            require_no_webhook(platform, channel)
            finding += ", and a server polls it"
        elif is_received(settings, platform, listened):
            require_listening(channel)
            finding += ", and a server listens for it"
        elif isinstance(channel, HasWebhook):
            require_working_webhook(platform, channel, polls_first=described.is_polled)
            finding += ", its webhook works"
        elif isinstance(channel, PolledChannel) and channel.may_poll:
            raise DoctorWarning(
                f"{finding}, but no server polls it",
                suggestion="uncaged serve --poll",
            )
        elif isinstance(channel, ChecksWebhook):
            channel.check_webhook()
        elif listened and described.is_polled and described.list_missing():
            # a bot that has all that its webhook needs may well have one
            raise DoctorWarning(
                f"{finding}, but no server listens for it", suggestion="uncaged serve --poll"
            )
    return finding


def _fetch_bot_name(platform: str, channel: KnowsBotName) -> str:
    """Return the bot's name; an error names the command that mends it."""
    try:
        return channel.fetch_bot_name()
    except BackendError as problem:
        remedy = "check this machine's network or proxy"
        if problem.suggestion:
            remedy = problem.suggestion
        if problem.suggestion and platform == "telegram":
            remedy = f"uncaged setup telegram: {problem.suggestion}"
        raise BackendError(problem.code, problem.message, suggestion=remedy) from None


def is_received(settings: Settings, platform: str, bot: str) -> bool:
    """Return whether a server of this store polls a bot right now, or listens for it."""
    if settings.queue or not bot:
        return False
    name = keys.updates_of(settings.agent, platform, bot)
    return is_leased(open_stores(settings).kv, name, time.time())


def require_no_webhook(platform: str, channel: PolledChannel) -> None:
    """Raise `BackendError` when a webhook keeps a bot's updates from the server that polls it."""
    url = channel.webhook.read_state().url if isinstance(channel, HasWebhook) else ""
    if url:
        raise BackendError(
            "EUNAVAILABLE",
            f"{platform}: a server polls the bot, whose webhook {url} gets everything",
            suggestion=f"uncaged channel unset {platform}",
        )


def require_scopes(platform: str, channel: HasScopes) -> None:
    """Raise `DoctorWarning` when an app may not do all that it has to."""
    missing = channel.list_missing_scopes()
    if missing:
        raise DoctorWarning(
            f"{platform}: the bot answers, but its app lacks {', '.join(missing)}",
            suggestion="give the app these scopes, and install or publish it again",
        )


def require_listening(channel: object) -> None:
    """Raise `BackendError` when a platform does not let the bot listen."""
    if isinstance(channel, ChecksListening):
        channel.check_listening()


def require_working_webhook(platform: str, channel: HasWebhook, *, polls_first: bool) -> None:
    """Raise `DoctorWarning` when no webhook is set, `BackendError` when deliveries fail.

    `polls_first`: where nothing is set for a webhook, polling or listening is advised first.
    """
    webhook = channel.webhook.read_state()
    if not webhook.url:
        by_webhook = f"uncaged channel set {platform} --url https://bot.example.com"
        if polls_first:
            require_listening(channel)
        remedies = [by_webhook]
        lacks = "no webhook is set"
        if isinstance(channel, PolledChannel):
            remedies.insert(0 if polls_first else 1, "uncaged serve --poll")
            lacks += " and no server polls it"
        elif isinstance(channel, SocketChannel):
            remedies.insert(0 if polls_first else 1, "uncaged serve --poll")
            lacks += " and no server listens for it"
        raise DoctorWarning(
            f"{platform}: the bot answers, but {lacks}", suggestion=", or ".join(remedies)
        )
    if not webhook.works:
        raise BackendError(
            "EUNAVAILABLE",
            f"{platform} does not reach the webhook: {webhook.error}",
            suggestion=webhook.advice or "look at the log of the server and its proxy",
        )
    if webhook.unheard:
        raise DoctorWarning(
            f"{platform}: the webhook was set without {', '.join(webhook.unheard)}",
            suggestion=f"set it again: uncaged channel set {platform} --url …",
        )


def check_page(settings: Settings) -> str:
    """Check that others than this machine can open the page where it has names for them."""
    from sigil.http.page.guard import WEB_NAME

    for name in settings.web_names:
        if not WEB_NAME.fullmatch(name):
            raise DoctorWarning(
                f"UNCAGED_WEB_NAMES: {one_line(name, 80)} is no name of a host",
                suggestion="a name such as agent.example.org, without https:// and port, or with"
                " the path that the proxy takes away, such as example.org/agent",
            )
    if settings.web_names and not settings.proxies:
        raise DoctorWarning(
            "UNCAGED_WEB_NAMES is set, and no proxy is believed that it came over TLS",
            suggestion="set UNCAGED_PROXIES to the proxy's address, such as 127.0.0.1",
        )
    where = " ".join(list_addresses(settings))
    return f"{where} while `uncaged serve` runs; `uncaged web` prints a code for it"


def check_owners(settings: Settings) -> str:
    """Return the ids of the agent's owners."""
    for id in settings.owners:
        name = id.partition(":")[0]
        about = find_about(name)
        if about and about.own_chat and not OWN_CHAT.fullmatch(id):
            raise DoctorWarning(
                f"UNCAGED_OWNERS: {id} is nobody's id",
                suggestion=f"use {name}:{about.id_form}; {about.whoami} tells it in {about.title}",
            )
    with open_agent() as (app, _):
        paired = [person.id for person in app.people.list_members() if person.role == "owner"]
    owners = ", ".join([*settings.owners, *paired])
    if not owners and any(channel.is_open for channel in settings.load_channels().channels):
        raise DoctorWarning(
            "nobody but this machine's own user, and a platform is set",
            suggestion="uncaged setup owner, or send the bot the code that `uncaged serve` prints",
        )
    return owners or "nobody but this machine's own user"
