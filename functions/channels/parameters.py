"""The settings of channels in AWS's Parameter Store, of which a template knows the place alone.

`PLACE/NAME/verify/FIELD` has a secret by which the webhook knows the platform,
`PLACE/NAME/speak/FIELD` one that the worker alone may read, and `PLACE/NAME/about` everything else,
as a JSON object.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Final

from functions.channels.about import ChannelSetting, ChannelSettings, name_variable
from sigil.errors import BackendError
from sigil.storage import aws

ABOUT: Final = "about"
NAMES_MOST: Final = 10
"""So many parameters has one answer."""


VERIFY: Final = "verify"
SPEAK: Final = "speak"


def name_parameter(channel: str, place: str, right: str, setting: ChannelSetting) -> str:
    """Return the name of the parameter that has a secret, with the `right` to read it."""
    return f"{place}/{channel}/{right}/{setting.field}"


def make_parameters(channel: ChannelSettings, place: str) -> dict[str, str]:
    """Return what the Parameter Store is to have of a channel: the values by their names."""
    parameters: dict[str, str] = {}
    about: dict[str, str] = {}
    for setting in channel.about.settings:
        value = channel.reveal(setting.field) if setting.secret else channel[setting.field]
        if not value and setting.first_part_of:
            value = channel.reveal(setting.first_part_of).partition(":")[0]
        if setting.secret and value:
            is_spared = bool(setting.spared_by and channel[setting.spared_by])
            right = SPEAK if setting.used_by == "worker" or is_spared else VERIFY
            parameters[name_parameter(channel.name, place, right, setting)] = value
        elif value != setting.default:
            about[setting.field] = value
    if about:
        parameters[f"{place}/{channel.name}/{ABOUT}"] = json.dumps(about)
    return parameters


def read_parameters(
    channels: Iterable[ChannelSettings], place: str, *, by_worker: bool
) -> dict[str, str]:
    """Return what the Parameter Store has of channels, by the variables of the environment; without
    `by_worker`, what the webhook may read.
    """
    variables: dict[str, str] = {}
    abouts: dict[str, ChannelSettings] = {}
    for channel in channels:
        abouts[f"{place}/{channel.name}/{ABOUT}"] = channel
        for setting in channel.about.settings:
            rights = [VERIFY] if setting.used_by != "worker" else []
            if by_worker and (setting.spared_by or setting.used_by == "worker"):
                rights.append(SPEAK)
            for right in rights if setting.secret else ():
                name = name_parameter(channel.name, place, right, setting)
                variables[name] = name_variable(channel.name, setting.field)
    stored = _fetch_parameters([*abouts, *variables])
    found = {variables[name]: value for name, value in stored.items() if name in variables}
    for name, channel in abouts.items():
        if name in stored:
            for field, value in _parse_about(name, stored[name], channel).items():
                found[name_variable(channel.name, field)] = value
    return found


def write_parameters(parameters: Mapping[str, str]) -> None:
    """Write parameters, encrypted, over what was there."""
    for name, value in parameters.items():
        with aws.explain_errors(f"parameter {name}"):
            aws.client("ssm").put_parameter(
                Name=name, Value=value, Type="SecureString", Overwrite=True
            )


def _fetch_parameters(names: list[str]) -> dict[str, str]:
    """Return the values of the parameters that there are."""
    found: dict[str, str] = {}
    for first in range(0, len(names), NAMES_MOST):
        some = names[first : first + NAMES_MOST]
        with aws.explain_errors(f"parameters {some[0].rpartition('/')[0]}"):
            answer = aws.client("ssm").get_parameters(Names=some, WithDecryption=True)
        found |= {each["Name"]: str(each["Value"]) for each in answer["Parameters"]}
    return found


def _parse_about(name: str, text: str, channel: ChannelSettings) -> dict[str, str]:
    known = {setting.field for setting in channel.about.settings if not setting.secret}
    try:
        table = json.loads(text)
    except (ValueError, RecursionError):
        table = None
    if not isinstance(table, dict) or not all(isinstance(value, str) for value in table.values()):
        raise _make_unusable(name, "is no JSON object of texts")
    if not table.keys() <= known:
        [unknown, *_] = sorted(table.keys() - known)
        raise _make_unusable(name, f"has {unknown[:40]!r}, which is no open setting of it")
    return table


def _make_unusable(name: str, why: str) -> BackendError:
    return BackendError(
        "ESETTING",
        f"parameter {name} {why}",
        source="aws",
        suggestion=f"write it with `uncaged channel store {name.split('/')[-2]} --aws`",
    )
