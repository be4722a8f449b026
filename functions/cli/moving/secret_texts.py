"""Secrets in what another program wrote down: those of its settings, which are known by their
names, and what looks like one within a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from sigil.errors import UsageError
from sigil.protocol import Json

HIDDEN: Final = "{{secret}}"
SECRETS_MOST: Final = 1_000
LEAST: Final = 8
"""A shorter value is not looked for in texts: it would be found in any."""
_NAME: Final = re.compile(
    r"api_?key|token(?!s)|secret|passw(or)?d|passphrase|credential|(private|encrypt|access)_?key",
    re.IGNORECASE,
)
_CONTAINERS: Final = frozenset(
    (
        "env",
        "headers",
        "customheaders",
        "custom_headers",
        "extraheaders",
        "extra_headers",
        "secrets",
        "tool_exec_environment_variables",
    )
)
"""Every text below a field of these names counts as a secret."""
_SHAPE: Final = re.compile(
    r"\bsk-[\w-]{16,}"  # OpenAI, Anthropic, OpenRouter and others
    r"|\bgh[pousr]_\w{20,}|\bgithub_pat_\w{20,}"
    r"|\bxox[abeprs]-[\w-]{10,}|\bxapp-[\w-]{10,}"  # Slack
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[\w-]{30,}"
    r"|\b[0-9]{8,10}:[\w-]{35}\b"  # a Telegram bot
    r"|\beyJ[\w-]{10,2000}\.[\w-]{10,2000}\.[\w-]{10,}"  # a signed web token
    r"|-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----.{0,4000}?-----END [A-Z ]{0,20}PRIVATE KEY-----"
    r"|(?<=[Bb]earer )[\w.~+/-]{16,}=*"
    r"|(?<=://)[^/\s:@]{1,100}:[^/\s@]{1,100}(?=@)",  # user and password in an address
    re.ASCII | re.DOTALL,
)
_NAMED: Final = re.compile(
    r"((?:api[ _-]?key|access[ _-]?token|password|passwd|passphrase|密码|口令|密钥)"
    r"[`\"'*]{0,3}[ \t]{0,4}(?:[:=：]|\bis\b)[ \t]{0,4}[`\"'*]{0,3})([^\s`\"',;*{}]{6,})",
    re.IGNORECASE,
)
"""A value after the name of a secret, such as `password: hunter2`."""


@dataclass(slots=True)
class SecretTexts:
    """The secrets that were found: `places` are the fields that have one."""

    places: list[str] = field(default_factory=list)
    _values: set[str] = field(default_factory=set)

    def collect(self, config: Mapping[str, Json]) -> None:
        """Note every secret of these settings, by the path of its field."""
        for path, value in _find_secrets(config, "", inside=False):
            self.places.append(path)
            if len(self.places) > SECRETS_MOST:
                raise UsageError("ETOOBIG", f"the settings have more than {SECRETS_MOST:,} secrets")
            # `${NAME}` only says where the secret is
            if len(value) >= LEAST and not value.startswith("$"):
                self._values.update((value, value.removeprefix("Bearer ")))

    def hide(self, text: str, *, named: bool = True) -> tuple[str, int]:
        """Return a text without its secrets, and how many it had. `named`: also what stands behind
        a name such as `password:`.
        """
        count = 0
        for value in sorted(self._values, key=len, reverse=True):
            count += text.count(value)
            text = text.replace(value, HIDDEN)
        text, found = _SHAPE.subn(HIDDEN, text)
        count += found
        if named:
            text, found = _NAMED.subn(rf"\1{HIDDEN}", text)
            count += found
        return text, count

    def has_secret(self, text: str) -> bool:
        """Return whether a text has one, or is the name of one, as an option is."""
        return self.hide(text)[1] > 0 or (text.startswith("-") and is_secret_name(text))


def is_secret_name(name: str) -> bool:
    """Return whether a field or an option of this name has a secret."""
    return _NAME.search(name.replace("-", "_")) is not None


def _find_secrets(value: Json, path: str, *, inside: bool) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        if inside and value:
            yield path, value
    elif isinstance(value, dict):
        for key, child in value.items():
            is_container = key.lower() in _CONTAINERS
            is_secret = inside or is_container or (isinstance(child, str) and is_secret_name(key))
            yield from _find_secrets(child, f"{path}.{key}" if path else key, inside=is_secret)
    elif isinstance(value, list):
        for number, child in enumerate(value):
            label, inner = str(number), child
            if inside and isinstance(child, dict) and isinstance(child.get("key"), str):
                # the form that a variable has in earlier files of Letta
                label, inner = str(child["key"]), child.get("value")
            yield from _find_secrets(inner, f"{path}.{label}", inside=inside)
