"""What is known about a platform before any of its code is loaded: its settings, and how it is set
up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from sigil.errors import SigilError
from sigil.storage.setting_secrets import reveal


@dataclass(frozen=True, slots=True)
class ChannelSetting:
    """A setting of a channel, by the name that its platform's settings call it: `token`.

    `secret`, `rules` and `keeps` are as in `SettingFacts`, but `keeps` names fields. `needed`: the
    channel does not work without it. `used_by` says where: only the webhook needs what just proves
    that a request is the platform's. `found` tells where an owner finds the value; one that is
    `made_here` they let `uncaged channel set --make-secret` make. `first_part_of` names the field
    whose value begins with this one, up to a colon. `spared_by` names the field with which the
    webhook does not need this one.
    """

    field: str
    meaning: str
    default: str = ""
    secret: bool = False
    rules: bool = False
    keeps: tuple[str, ...] = ()
    needed: bool = False
    used_by: Literal["both", "webhook", "worker"] = "both"
    found: str = ""
    made_here: bool = False
    first_part_of: str = ""
    spared_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """A platform: its name in settings and ids, and its name for people (`title`).

    `opens_with`: each of these fields alone opens a channel. `by_hand`: nothing registers a webhook
    there, so its module `recipe` writes what its owner does. `polled`: `uncaged serve --poll` can
    fetch its messages or listen for them, which needs the fields `polls_with`. `types_commands`: a
    command that is in no menu can be typed there.

    `own_chat` matches what stands behind the channel's name in the id of a person whose private
    chat is named like them; it is empty where chats have other names. `room` matches a chat whose
    name does not tell whether it is private, and whose it is; behind it a thread may stand. It is
    empty where private chats are named like people alone. `joined_by_others`: a private chat may
    become a group. `id_form` is what a person's id looks like, for people, and `whoami` the command
    that tells a person theirs. People type commands there behind the `command_sign`, alone with us
    where it `has_private_chats`.
    `id_scope` says within what an account has one id: on the whole `platform`, in a `workspace`
    whose name begins the id, or for a single `bot`, whose organization's or its own it is.
    """

    platform: str
    title: str
    settings: tuple[ChannelSetting, ...]
    opens_with: tuple[str, ...]
    by_hand: bool = False
    polled: bool = False
    polls_with: tuple[str, ...] = ()
    types_commands: bool = True
    own_chat: str = ""
    room: str = ""
    joined_by_others: bool = False
    id_form: str = ""
    whoami: str = "/whoami"
    command_sign: str = "/"
    has_private_chats: bool = True
    id_scope: Literal["platform", "workspace", "bot"] = "platform"

    def list_needed(self, *, by_worker: bool = False) -> list[ChannelSetting]:
        """Return the settings that a channel needs, or only those `by_worker` to send with."""
        return [
            each
            for each in self.settings
            if each.needed and not (by_worker and each.used_by == "webhook")
        ]

    def list_polled_with(self) -> list[str]:
        """Return the fields that have to be set before its messages can be fetched."""
        fields = [each.field for each in self.list_needed(by_worker=True)]
        return list(dict.fromkeys((*fields, *self.polls_with)))


@dataclass(frozen=True, slots=True)
class ChannelSettings:
    """The settings of one channel: a bot on a platform, under a name of its own.

    `values` has what is set, by the names of the environment's variables, for any channels.
    `is_wanted`: the settings name the channel, so it is an error when it cannot be opened.
    """

    name: str
    about: About
    agent: str = "main"
    values: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    is_wanted: bool = False

    def __getitem__(self, field: str) -> str:
        """Return the value of a field, or else its default; a secret may be only a name of it."""
        [setting] = [each for each in self.about.settings if each.field == field]
        return self.values.get(name_variable(self.name, field)) or setting.default

    def reveal(self, field: str) -> str:
        """Return a secret as it is, from AWS when the value only names it."""
        return reveal(self[field])

    @property
    def is_open(self) -> bool:
        """Return whether enough is set to open the channel."""
        return any(self[field] for field in self.about.opens_with)

    @property
    def is_polled(self) -> bool:
        """Return whether it is to be polled: what its webhook needs is not set, or what is set for
        a webhook alone, which somebody sets on purpose.
        """
        can_poll = self.about.polled and all(self[field] for field in self.about.polls_with)
        has_webhook = any(
            self[each.field] for each in self.about.settings if each.used_by == "webhook"
        )
        return can_poll and self.is_open and (bool(self.list_missing()) or not has_webhook)

    def name_own_variables(self, text: str) -> str:
        """Return a text about the platform's settings with the variables of this channel."""
        for each in self.about.settings:
            variable = name_variable(self.about.platform, each.field)
            own = name_variable(self.name, each.field)
            text = re.sub(rf"\b{variable}\b", own, text)
        return text

    @contextmanager
    def naming_own_variables(self) -> Iterator[None]:
        """Let errors that name the platform's settings name those of this channel."""
        try:
            yield
        except SigilError as problem:
            problem.message = self.name_own_variables(problem.message)
            problem.suggestion = self.name_own_variables(problem.suggestion)
            problem.args = (f"{problem.code}: {problem.message}",)
            raise

    def list_missing(self, *, by_worker: bool = False) -> list[ChannelSetting]:
        """Return the needed settings that are not set, or only those `by_worker` to send with."""
        needed = self.about.list_needed(by_worker=by_worker)
        return [each for each in needed if not self[each.field]]


def name_variable(channel: str, field: str) -> str:
    """Return the variable of the environment that has a channel's field: `TELEGRAM_TOKEN`."""
    return f"{channel}_{field}".upper().replace("-", "_")
