"""The agent's settings, beside those it shares with Sigil."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import ClassVar
from urllib.parse import urlsplit

from functions.channels.about import ChannelSettings, name_variable
from functions.channels.platforms import parse_channel_names
from functions.prices import parse_prices
from sigil.errors import BackendError, UsageError
from sigil.settings import SettingFacts, setting
from sigil.settings import Settings as SigilSettings

DASHSCOPE = "https://dashscope.aliyuncs.com/compatible-mode/v1"
_ALERTS = re.compile(
    r"https?://[^\s/?#]+\S*|sns:arn:[a-z-]+:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_.-]{1,256}",
    re.ASCII,
)
_OWNER = re.compile(
    r"telegram(-[a-z0-9-]+)?:[1-9][0-9]{0,18}|(?!telegram[-:])[a-z][a-z0-9-]*:[!-~]{1,255}"
)
"""A Telegram id is a number: a user name is no id, and would never match anybody."""
_PUBLIC = re.compile(
    r"https://[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?(/[A-Za-z0-9._~/-]{0,200})?", re.ASCII
)
_FUNCTION = re.compile(r"lambda:[A-Za-z0-9_-]{1,64}", re.ASCII)
_PARAMETERS = re.compile(r"(/[A-Za-z0-9_.-]{1,100}){1,10}", re.ASCII)
ACCESS = ("open", "members", "owners")
DEPLOY = ("members", "owners", "none")
HP_COST_MOST = 1_000_000
TERMINAL = ("TERM", "TERM_PROGRAM", "LC_TERMINAL", "KITTY_WINDOW_ID", "TMUX", "STY")
"""The variables by which a terminal tells what it is."""
LEAST_WINDOW = 1_000
"""Tokens of a model's window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(SigilSettings):
    """The settings of an agent: its model, its people, its platforms."""

    knows_every_name: ClassVar[bool] = True

    queue: str = setting(
        "UNCAGED_QUEUE",
        "",
        "where events wait: sqs://QUEUE_URL of a FIFO queue (default: in the store itself)",
        rules=True,
    )
    work_queue: str = setting(
        "UNCAGED_WORK_QUEUE",
        "",
        "with UNCAGED_QUEUE: where background work waits, sqs://QUEUE_URL of a second FIFO queue"
        " (default: the same one, so that chats wait behind it)",
        rules=True,
    )
    llm_url: str = setting(
        "UNCAGED_LLM_URL",
        "",
        "an OpenAI-compatible endpoint (default with a key: DashScope; without: the offline model)",
        keeps="UNCAGED_LLM_KEY UNCAGED_LLM_FALLBACK_KEY",
        rules=True,
    )
    llm_key: str = setting("UNCAGED_LLM_KEY", "", "the endpoint's key", secret=True)
    llm_model: str = setting("UNCAGED_LLM_MODEL", "qwen-plus", "the model's name at the endpoint")
    llm_window: int = setting(
        "UNCAGED_LLM_WINDOW",
        128_000,
        "tokens that fit into one request of the model",
        least=LEAST_WINDOW,
    )
    llm_seconds: float = setting(
        "UNCAGED_LLM_SECONDS",
        110.0,
        "how long a request to the model may take, all its tries together; a turn's own time"
        " (UNCAGED_TURN_SECONDS) ends it as well",
        duration=True,
    )
    llm_fallback_url: str = setting(
        "UNCAGED_LLM_FALLBACK_URL",
        "",
        "an endpoint whose model is used while the first gives no answer (default: the same"
        " endpoint)",
        keeps="UNCAGED_LLM_FALLBACK_KEY",
        rules=True,
    )
    llm_fallback_key: str = setting(
        "UNCAGED_LLM_FALLBACK_KEY",
        "",
        "the key for that endpoint (default: the first one's, for the same endpoint alone)",
        secret=True,
    )
    llm_fallback_model: str = setting(
        "UNCAGED_LLM_FALLBACK_MODEL", "", "the name of that model (default: the first one's)"
    )
    llm_fallback_window: int = setting(
        "UNCAGED_LLM_FALLBACK_WINDOW",
        0,
        "the window of that model in tokens; 0: the same as the first one's",
    )
    llm_dialect: str = setting(
        "UNCAGED_LLM_DIALECT",
        "",
        "the family whose form of requests the endpoint takes, such as openai, gemini, anthropic or"
        " deepseek (default: by its address and the model's name)",
    )
    llm_fallback_dialect: str = setting(
        "UNCAGED_LLM_FALLBACK_DIALECT", "", "the same for the second model's endpoint"
    )
    llm_stream: str = setting(
        "UNCAGED_LLM_STREAM",
        "auto",
        "whether answers are shown while the model writes them, where somebody looks on or the chat"
        " has a form for that: auto, or no; they come as a whole from endpoints without streams,"
        " and while a secret of the settings has a blank or letters beyond ASCII",
        choices=("auto", "no"),
    )
    llm_images: str = setting(
        "UNCAGED_LLM_IMAGES",
        "auto",
        "whether the model takes pictures: yes, no, or auto, which sends the first one and"
        " remembers for a day whether the endpoint refused it",
        choices=("auto", "yes", "no"),
    )
    stt_url: str = setting(
        "UNCAGED_STT_URL",
        "",
        "an endpoint that turns voice messages into text by POST /audio/transcriptions, or no"
        " (default: the model's own endpoint)",
        keeps="UNCAGED_STT_KEY",
        rules=True,
    )
    stt_key: str = setting(
        "UNCAGED_STT_KEY",
        "",
        "the key for that endpoint (default: the model's, for the same endpoint alone)",
        secret=True,
    )
    stt_model: str = setting(
        "UNCAGED_STT_MODEL", "whisper-1", "the name of the model there that hears"
    )
    stt_price: float = setting(
        "UNCAGED_STT_PRICE",
        0.0,
        "what a minute of speech costs there, such as 0.006, in the currency of UNCAGED_LLM_PRICES;"
        " it is counted by the second",
        rules=True,
    )
    media: str = setting(
        "UNCAGED_MEDIA",
        "",
        "what opens pictures, PDF and office files that people send: lambda:FUNCTION on AWS"
        " (default: processes of this machine)",
        rules=True,
    )
    llm_prices: str = setting(
        "UNCAGED_LLM_PRICES",
        "",
        "what a million tokens of the model cost: of prompts, of cached prompts and of answers,"
        " such as 0.4,0.08,1.2 in dollars, or 2,0.4,8 CNY; other models follow with their names:"
        " 0.4,0.08,1.2; qwen-max=1.6,0.32,6.4",
        rules=True,
    )
    llm_written_calls: bool = setting(
        "UNCAGED_LLM_WRITTEN_CALLS",
        False,
        "for small models: also accept tool calls that a model writes in the middle of a text"
        " (never a deploy)",
        rules=True,
    )
    owners: tuple[str, ...] = setting(
        "UNCAGED_OWNERS", (), "who may change the agent: telegram:123,slack:T1.U1", rules=True
    )
    access: str = setting(
        "UNCAGED_ACCESS",
        "members",
        "who may talk to it: open, members (owners and the people that they let in) or owners",
        rules=True,
        choices=ACCESS,
    )
    web_texts: str = setting(
        "UNCAGED_WEB_TEXTS",
        "own",
        "which private chats owners read on the page: own, or all, and then the ledger says so",
        rules=True,
        choices=("own", "all"),
    )
    listen: bool = setting(
        "UNCAGED_LISTEN",
        False,
        "with UNCAGED_QUEUE: pass on what people of groups say to each other, so that /listen"
        " works; each such message is then an event of the queue",
        rules=True,
    )
    deploy: str = setting(
        "UNCAGED_DEPLOY",
        "members",
        "in whose chats it may create capabilities: members, owners or none",
        rules=True,
        choices=DEPLOY,
    )
    member_turns: int = setting(
        "UNCAGED_MEMBER_TURNS",
        200,
        "turns that a member may have a day, by the chat's time zone; 0: no limit",
        rules=True,
        least=0,
    )
    member_tokens: int = setting(
        "UNCAGED_MEMBER_TOKENS",
        0,
        "tokens that a member's turns may use a day; 0: no limit",
        rules=True,
        least=0,
    )
    guest_turns: int = setting(
        "UNCAGED_GUEST_TURNS",
        20,
        "turns that a guest may have a day, where guests may talk; 0: no limit",
        rules=True,
        least=0,
    )
    guest_tokens: int = setting(
        "UNCAGED_GUEST_TOKENS",
        20_000,
        "tokens that a guest's turns may use a day; 0: no limit",
        rules=True,
        least=0,
    )
    guide: str = setting(
        "UNCAGED_GUIDE",
        "default",
        "how failures are explained to the model: default, security, learner, debugger, none, or"
        " one from a package",
    )
    context: str = setting(
        "UNCAGED_CONTEXT",
        "window",
        "how a long history is shortened: window, summary, none, or one from a package",
    )
    tokens_per_day: int = setting(
        "UNCAGED_TOKENS_PER_DAY",
        1_500_000,
        "tokens that the agent may use a day, or in UNCAGED_TOKENS_PERIOD, those from the"
        " provider's cache counted as it bills them; 0: no limit",
        rules=True,
        least=0,
    )
    tokens_period: int = setting(
        "UNCAGED_TOKENS_PERIOD",
        86_400,
        "seconds of the period for which the tokens are counted",
        rules=True,
        least=60,
    )
    language: str = setting(
        "UNCAGED_LANGUAGE",
        "",
        "the language of the agent's own texts in the terminal and over HTTP, such as de, until a"
        " chat shows or chooses another one (default: English)",
    )
    timezone: str = setting(
        "UNCAGED_TIMEZONE",
        "UTC",
        "the time zone of chats that have chosen none with /timezone, such as Europe/Berlin; the"
        " budget's day begins at its midnight",
        rules=True,
    )
    stamp: str = setting(
        "UNCAGED_STAMP",
        "{now} {zone}",
        "what the model reads above each message of when and where it was written, from {now},"
        " {zone}, {location}, {platform} and {weather}",
        rules=True,
    )
    session_tokens: int = setting(
        "UNCAGED_SESSION_TOKENS",
        0,
        "tokens that one chat may use in a period; 0: no limit",
        rules=True,
        least=0,
    )
    ticks: int = setting(
        "UNCAGED_TICKS",
        50,
        "requests to the model for one task, until a person writes again; 0: no limit",
        rules=True,
        least=0,
    )
    chain_tokens: int = setting(
        "UNCAGED_CHAIN_TOKENS",
        500_000,
        "tokens that everything together may use that one cause, such as a message, sets off in"
        " other agents; 0: no limit",
        rules=True,
        least=0,
    )
    agents_most: int = setting(
        "UNCAGED_AGENTS_MOST",
        32,
        "agents that there may be below the root, without those that are archived; 0: no limit",
        rules=True,
        least=0,
    )
    hp: int = setting(
        "UNCAGED_HP",
        100_000,
        "HP of an agent, which bound what it does by itself and never a person's message; one comes"
        " back each second; 0: no bound",
        rules=True,
        least=0,
    )
    hp_floor: int = setting(
        "UNCAGED_HP_FLOOR",
        1_000,
        "with so few HP an agent does nothing by itself until more have come back",
        rules=True,
        least=0,
    )
    hp_per_token: float = setting(
        "UNCAGED_HP_PER_TOKEN",
        0.1,
        "HP that a token costs in what an agent does by itself",
        rules=True,
    )
    hp_per_action: float = setting(
        "UNCAGED_HP_PER_ACTION",
        10.0,
        "HP that a tool call costs there, and each 65,536 characters that it brings",
        rules=True,
    )
    team_idle: int = setting(
        "UNCAGED_TEAM_IDLE",
        60,
        "a teammate that has found no work for so many seconds shuts down; 0: never",
        rules=True,
        least=0,
    )
    call_seconds: float = setting(
        "UNCAGED_CALL_SECONDS",
        30.0,
        "how long a tool call may take, all its tries together",
        duration=True,
    )
    task_call_seconds: float = setting(
        "UNCAGED_TASK_CALL_SECONDS",
        600.0,
        "how long a call that runs as a task may take (`sigil mcp add --background`)",
        duration=True,
    )
    alerts: str = setting(
        "UNCAGED_ALERTS",
        "",
        "where alerts are sent, such as that the agent halted: an https:// address that takes JSON,"
        " or sns:ARN (default: only the log)",
        rules=True,
    )
    public_url: str = setting(
        "UNCAGED_PUBLIC_URL",
        "",
        "the https:// address at which the world reaches this server; LINE and GitHub get the files"
        " of an answer by links there, which need no sign-in and end after a week (default: words"
        " stand in their place)",
        rules=True,
    )
    downloads: str = setting(
        "UNCAGED_DOWNLOADS",
        "",
        "the folder into which `uncaged chat` saves the files of answers (default: a new temporary"
        " folder each time)",
        outside=True,
    )
    turn_seconds: float = setting(
        "UNCAGED_TURN_SECONDS", 120.0, "how long a turn may take", duration=True
    )
    workers: int = setting(
        "UNCAGED_WORKERS", 8, "how many chats `uncaged serve` answers at the same time", least=1
    )
    background_workers: int = setting(
        "UNCAGED_BACKGROUND_WORKERS",
        4,
        "how many pieces of background work `uncaged serve` does at the same time, beside those"
        " chats",
        least=1,
    )
    catch_up_hours: int = setting(
        "UNCAGED_CATCH_UP_HOURS",
        24,
        "after an outage, reminders and wakeups that were due less than so many hours ago come"
        " about; older ones are only told",
        least=1,
    )
    run_days: int = setting(
        "UNCAGED_RUN_DAYS",
        90,
        "for how many days it is kept what each turn did (`uncaged trace`), without its texts",
        least=3,  # a day is summed up by the next day's task, from runs that must still be there
    )
    metrics: str = setting(
        "UNCAGED_METRICS",
        "no",
        "whether numbers are kept of turns, queue, store and sandbox: yes, for `/metrics` of"
        " `uncaged serve`; emf, also in the log's lines, from which CloudWatch makes metrics; no",
        choices=("no", "yes", "emf"),
    )
    metrics_token: str = setting(
        "UNCAGED_METRICS_TOKEN",
        "",
        "a token of 20 characters or more that reads `/metrics` and nothing else (default: only the"
        " admin token does)",
        secret=True,
    )
    otel_url: str = setting(
        "UNCAGED_OTEL_URL",
        "",
        "where traces of turns are sent by OTLP over HTTP, such as http://localhost:4318; it needs"
        " the extra `uncaged[otel]` (default: nowhere)",
        keeps="UNCAGED_OTEL_HEADERS",
        rules=True,
    )
    otel_headers: str = setting(
        "UNCAGED_OTEL_HEADERS",
        "",
        "the headers that are sent there, such as authorization=Bearer KEY,x-team=a",
        secret=True,
    )
    otel_texts: bool = setting(
        "UNCAGED_OTEL_TEXTS",
        False,
        "also send there what calls of tools were given and answered, in everybody's chats",
        rules=True,
    )
    lease: float = setting(
        "UNCAGED_LEASE",
        30.0,
        "seconds after which another worker takes over the chat of a worker that crashed; a"
        " running worker renews its lease",
        duration=True,
    )
    channel_names: tuple[str, ...] = setting(
        "UNCAGED_CHANNELS",
        (),
        "the further bots of a platform that has several, by names of your own such as"
        " telegram-shop, whose settings are TELEGRAM_SHOP_TOKEN and so on",
        rules=True,
    )
    channel_secrets: str = setting(
        "UNCAGED_CHANNEL_SECRETS",
        "",
        "where AWS's Parameter Store has the settings of the channels in UNCAGED_CHANNELS, such as"
        " /uncaged/channels (`uncaged channel store` puts them there)",
        outside=True,
    )
    editor: str = setting(
        "EDITOR", "vi", "the program that `uncaged agent doc edit` opens", outside=True
    )

    def __post_init__(self) -> None:
        """Raise `UsageError` ESETTING for a value that cannot be used."""
        SigilSettings.__post_init__(self)
        for owner in self.owners:
            if not _OWNER.fullmatch(owner):
                raise UsageError(
                    "ESETTING",
                    f"UNCAGED_OWNERS: {owner!r} is not a user id",
                    suggestion="use PLATFORM:ID, such as telegram:123",
                )
        try:
            parse_prices(self.llm_prices)
        except ValueError:
            raise UsageError(
                "ESETTING",
                f"UNCAGED_LLM_PRICES={self.llm_prices!r:.100} is no list of prices",
                suggestion="write what a million tokens cost: of prompts, of cached prompts and of"
                " answers, such as 0.4,0.08,1.2 or 2,0.4,8 CNY",
            ) from None
        for name, cost in (
            ("UNCAGED_STT_PRICE", self.stt_price),
            ("UNCAGED_HP_PER_TOKEN", self.hp_per_token),
            ("UNCAGED_HP_PER_ACTION", self.hp_per_action),
        ):
            if not 0 <= cost <= HP_COST_MOST:
                raise UsageError(
                    "ESETTING",
                    f"{name}={cost} is no cost",
                    suggestion=f"use a number from 0 to {HP_COST_MOST:,}",
                )
        if 0 < self.hp <= self.hp_floor:
            raise UsageError(
                "ESETTING",
                f"UNCAGED_HP_FLOOR={self.hp_floor} leaves nothing of UNCAGED_HP={self.hp}",
                suggestion="use a lower floor, such as a hundredth of all HP",
            )
        if self.work_queue and self.work_queue == self.queue:
            raise UsageError(
                "ESETTING",
                "UNCAGED_WORK_QUEUE and UNCAGED_QUEUE name the same queue",
                suggestion="name a second FIFO queue, or leave UNCAGED_WORK_QUEUE empty",
            )
        if self.work_queue and not self.queue:
            raise UsageError(
                "ESETTING",
                "UNCAGED_WORK_QUEUE names a second queue, but no first one is set",
                suggestion="set UNCAGED_QUEUE, or leave both empty: events wait in the store",
            )
        if self.media and not _FUNCTION.fullmatch(self.media):
            raise UsageError(
                "ESETTING",
                f"UNCAGED_MEDIA={self.media!r:.100} is no function of AWS Lambda",
                suggestion="write lambda: and its name, or leave it empty",
            )
        if self.channel_secrets and not _PARAMETERS.fullmatch(self.channel_secrets):
            raise UsageError(
                "ESETTING",
                f"UNCAGED_CHANNEL_SECRETS={self.channel_secrets!r:.100} is no place for parameters",
                suggestion="use a path such as /uncaged/channels",
            )
        _require_language(self.language)
        _require_zone(self.timezone)
        _require_stamp(self.stamp)
        if self.llm_fallback_window and self.llm_fallback_window < LEAST_WINDOW:
            raise UsageError(
                "ESETTING",
                f"UNCAGED_LLM_FALLBACK_WINDOW={self.llm_fallback_window} is too small",
                suggestion=f"use at least {LEAST_WINDOW:,}, or 0",
            )
        for name, address in (
            ("UNCAGED_LLM_URL", self.llm_url),
            ("UNCAGED_LLM_FALLBACK_URL", self.llm_fallback_url),
            ("UNCAGED_STT_URL", self.speech_endpoint),
            ("UNCAGED_OTEL_URL", self.otel_url),
        ):
            if address and not _is_web_address(address):
                raise UsageError(
                    "ESETTING",
                    f"{name}={address!r} is not a web address",
                    suggestion="it begins with http:// or https://",
                )
        if self.public_url and not _PUBLIC.fullmatch(self.public_url):
            raise UsageError(
                "ESETTING",
                f"UNCAGED_PUBLIC_URL={self.public_url!r:.100} is no public address",
                suggestion="it begins with https://, such as https://agent.example.org",
            )
        if self.has_fallback and not self.endpoint:
            raise UsageError(
                "ESETTING",
                "UNCAGED_LLM_FALLBACK_… names a second model, but no first one is set",
                suggestion="set UNCAGED_LLM_URL or UNCAGED_LLM_KEY",
            )
        if self.alerts and not _ALERTS.fullmatch(self.alerts):
            raise UsageError(
                "ESETTING",
                f"UNCAGED_ALERTS={self.alerts!r} is not a destination",
                suggestion="use https://ADDRESS or sns:ARN",
            )

    @property
    def channels(self) -> tuple[ChannelSettings, ...]:
        """Return the settings of every channel that there may be."""
        return tuple(
            ChannelSettings(name, about, self.agent, self.declared, name in self.channel_names)
            for name, about in parse_channel_names(self.channel_names).items()
        )

    def load_channels(self, *, by_worker: bool = True, only: str = "") -> Settings:
        """Return the settings with what AWS's Parameter Store has of the named channels, or of the
        `only` one; without `by_worker`, with what a webhook may read.
        """
        if not self.channel_secrets or not self.channel_names:
            return self
        from functions.channels.parameters import read_parameters

        named = [
            channel for channel in self.channels if channel.is_wanted and only in ("", channel.name)
        ]
        stored = read_parameters(named, self.channel_secrets, by_worker=by_worker)
        return replace(self, declared={**stored, **self.declared})

    def load_separate_channels(self, *, by_worker: bool) -> Settings:
        """Return the settings as `load_channels` does, without those of a channel that cannot be
        read; whoever opens it asks again.
        """
        try:
            return self.load_channels(by_worker=by_worker)
        except BackendError:
            settings = self
        for name in self.channel_names:
            with suppress(BackendError):
                settings = settings.load_channels(by_worker=by_worker, only=name)
        return settings

    def reload_channel(self, name: str, *, by_worker: bool) -> ChannelSettings:
        """Return the settings of a channel as they are now."""
        found = self.load_channels(by_worker=by_worker, only=name).find_channel(name)
        assert found is not None, "only channels that there are have settings"
        return found

    def find_channel(self, name: str) -> ChannelSettings | None:
        """Return the settings of a channel, None when there is no such one."""
        return next((each for each in self.channels if each.name == name), None)

    @classmethod
    def _declare(cls, texts: Mapping[str, str]) -> list[SettingFacts]:
        given = texts.get("UNCAGED_CHANNELS", "")
        names = [name.strip() for name in given.split(",") if name.strip()]
        return [
            SettingFacts(
                name_variable(name, each.field),
                each.default,
                each.meaning,
                each.secret,
                " ".join(name_variable(name, kept) for kept in each.keeps),
                each.rules,
            )
            for name, about in parse_channel_names(names).items()
            for each in about.settings
        ]

    @property
    def may_listen(self) -> bool:
        """Return whether what people of a group say to each other can reach the store: through the
        webhook, or, where that may have none, through the queue.
        """
        return self.listen or not self.queue

    @property
    def endpoint(self) -> str:
        """Return the model's address; empty for the offline model."""
        return self.llm_url or (DASHSCOPE if self.llm_key else "")

    @property
    def speech_endpoint(self) -> str:
        """Return the address of what turns speech into text; empty for none."""
        if self.stt_url == "no":
            return ""
        return self.stt_url or self.endpoint

    @property
    def speech_key(self) -> str:
        """Return the key for it: the model's goes to the model's own endpoint alone."""
        return self.stt_key or (self.llm_key if self.speech_endpoint == self.endpoint else "")

    @property
    def is_measured(self) -> bool:
        """Return whether anything is made of what turns did, beyond their rows."""
        return self.metrics != "no" or bool(self.otel_url)

    @property
    def media_function(self) -> str:
        """Return the function of AWS Lambda that opens files; empty for none."""
        return self.media.removeprefix("lambda:")

    @property
    def catch_up_seconds(self) -> float:
        """Return the seconds after which what was due does not come about any more."""
        return self.catch_up_hours * 3_600.0

    @property
    def has_fallback(self) -> bool:
        """Return whether a second model is used while the first gives no answer."""
        return bool(self.llm_fallback_url or self.llm_fallback_key or self.llm_fallback_model)

    @property
    def fallback(self) -> Settings:
        """Return the same settings with the second model as the only one. The first one's key goes
        to the first one's address alone.
        """
        elsewhere = bool(self.llm_fallback_url)
        return replace(
            self,
            llm_url=self.llm_fallback_url or self.endpoint,
            llm_key=self.llm_fallback_key or ("" if elsewhere else self.llm_key),
            llm_model=self.llm_fallback_model or self.llm_model,
            llm_window=self.llm_fallback_window or self.llm_window,
            llm_dialect=self.llm_fallback_dialect or ("" if elsewhere else self.llm_dialect),
            llm_fallback_url="",
            llm_fallback_key="",
            llm_fallback_model="",
            llm_fallback_dialect="",
        )


def _is_web_address(address: str) -> bool:
    try:
        urlsplit(address)
    except ValueError:  # brackets that close nothing
        return False
    return address.startswith(("http://", "https://"))


def _require_language(code: str) -> None:
    """Raise `UsageError` ESETTING for a language that the agent has no texts in."""
    if not code:
        return
    from functions.texts.languages import list_codes

    if code not in list_codes():
        raise UsageError(
            "ESETTING",
            f"UNCAGED_LANGUAGE={code!r:.40} is unknown",
            suggestion=f"use {', '.join(list_codes())}",
        )


def _require_zone(name: str) -> None:
    """Raise `UsageError` ESETTING unless the zone is one that this machine knows."""
    if name == "UTC":
        return
    from functions.time import time_zone  # the webhook starts without it

    if not time_zone.is_known(name):
        near = time_zone.find_zone(name) or ", ".join(time_zone.suggest_zones(name, 0.0))
        raise UsageError(
            "ESETTING",
            f"UNCAGED_TIMEZONE={name!r:.100} is no time zone that this machine knows",
            suggestion=f"did you mean {near}?" if near else "use a name such as Europe/Berlin",
        )


def _require_stamp(template: str) -> None:
    """Raise `UsageError` ESETTING for a template of a stamp that cannot be used."""
    if template == "{now} {zone}":
        return
    from functions.time import stamp

    fault = stamp.find_template_fault(template)
    if fault:
        raise UsageError(
            "ESETTING",
            f"UNCAGED_STAMP cannot be used: {fault}",
            suggestion="write one line with {now}, {zone}, {location}, {platform} or {weather}",
        )


def read_terminal() -> dict[str, str]:
    """Return what the environment tells of the terminal."""
    return {name: os.environ[name] for name in TERMINAL if name in os.environ}
