"""Sigil's settings, read once from the environment and `uncaged.toml`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from sigil.errors import UsageError, one_line
from sigil.storage import toml_files

FILE = "uncaged.toml"
_AWS_QUEUE = re.compile(r"sqs://https://sqs\.[a-z0-9-]+\.amazonaws\.com(\.cn)?/")
FUNCTION = "AWS_LAMBDA_FUNCTION_NAME"
"""Where this is set the process is a function, which is frozen between its calls: a program of its
own would be too.
"""
PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ")
ELSEWHERE = ("ssm:", "secretsmanager:")
"""How the value of a secret begins that is kept by AWS."""


def setting(
    name: str,
    default: Any,
    meaning: str,
    *,
    secret: bool = False,
    keeps: str = "",
    rules: bool = False,
    outside: bool = False,
) -> Any:
    """A field of a settings class: its name outside, its default, and what it means to a person.

    `keeps` names the secrets that are sent to the address in this setting: they have to come from
    the same place. `rules`: it decides who may do what, what runs, or who reads along, so a file
    may set it only for a store of its own. `outside`: it opens the machine itself, so no file may
    set it.
    """
    facts = {
        "name": name,
        "meaning": meaning,
        "secret": secret,
        "keeps": keeps,
        "rules": rules,
        "outside": outside,
    }
    return field(default=default, metadata=facts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What both programs share: where things are stored, what the registry starts with, who may
    enter.
    """

    data: str = setting(
        "UNCAGED_DATA",
        "",
        "the data folder (default: the user's own, such as ~/.local/share/uncaged)",
        rules=True,
    )
    cache: str = setting(
        "UNCAGED_CACHE", "", "the folder for compiled code (default: compiled/ in the data folder)"
    )
    store: str = setting(
        "UNCAGED_STORE",
        "",
        "where everything is stored: sqlite:///path (default: in the data folder),"
        " redis://host:port/0, dynamodb://TABLE or memory://",
    )
    artifacts: str = setting(
        "UNCAGED_ARTIFACTS",
        "",
        "where large bodies are: a folder, s3://BUCKET/prefix, or store: (in the store; the default"
        " but for SQLite: a folder beside it)",
        rules=True,
    )
    library: str = setting(
        "UNCAGED_LIBRARY",
        "builtin",
        "what an empty registry starts with: builtin, none, or a folder of capabilities",
        rules=True,
    )
    token: str = setting(
        "UNCAGED_TOKEN",
        "",
        "the admin bearer token (default: made at the first start, kept in the data folder)",
        secret=True,
        rules=True,
    )
    agent: str = setting(
        "UNCAGED_AGENT",
        "main",
        "the agent's name, which is also the namespace of its capabilities",
        rules=True,
    )
    registry_url: str = setting(
        "SIGIL_URL",
        "",
        "a remote registry (default: in this process)",
        keeps="SIGIL_TOKEN",
        rules=True,
    )
    registry_token: str = setting(
        "SIGIL_TOKEN", "", "the bearer token for the remote registry", secret=True
    )
    profile: str = setting(
        "SIGIL_PROFILE",
        "",
        "a profile of `sigil login --profile`, for `sigil` alone (default: the one in use)",
    )
    runners: int = setting(
        "SIGIL_RUNNERS",
        2,
        "how many child processes run capabilities; with more than one, one more while a namespace"
        " has them all and another one comes",
    )
    ranker: str = setting(
        "SIGIL_RANKER",
        "words",
        "how a query finds: words, or dense (by meaning as well; needs uncaged[dense])",
    )
    rate: int = setting(
        "SIGIL_RATE",
        600,
        "requests a minute for each access token but the admin's; each process counts for itself",
    )
    deploy_cooldown: float = setting(
        "SIGIL_DEPLOY_COOLDOWN",
        5.0,
        "seconds between deploys of a token (not the admin's) or a chat's model",
    )
    capabilities: int = setting(
        "SIGIL_CAPABILITIES", 500, "how many capabilities a namespace may have"
    )
    session_capabilities: int = setting(
        "SIGIL_SESSION_CAPABILITIES", 20, "how many capabilities a chat may have of its own"
    )
    ephemeral: int = setting(
        "SIGIL_EPHEMERAL", 20, "how many ephemeral capabilities may live in a namespace at a time"
    )
    artifact_mib: int = setting(
        "SIGIL_ARTIFACT_MIB",
        50,
        "how much code a namespace may hold, all versions together, in MiB",
    )
    sandbox: str = setting(
        "SIGIL_SANDBOX",
        "auto",
        "auto (pooled memory, seccomp, memory images: what the machine has), fast (all of them) or"
        " plain",
        rules=True,
    )
    engine: str = setting(
        "SIGIL_ENGINE",
        "",
        "the JavaScript engine (default: the one built with this package)",
        rules=True,
    )
    programs: bool = setting(
        "SIGIL_PROGRAMS",
        True,
        "whether an MCP server may be a program of this machine, once it is granted; never in a"
        " function, nor unsaid in a store of a file",
        outside=True,
    )
    proxies: tuple[str, ...] = setting(
        "UNCAGED_PROXIES",
        (),
        "addresses or networks of the proxies in front of a server: X-Forwarded-For and"
        " X-Forwarded-Proto count from them alone",
        rules=True,
    )
    connections: int = setting(
        "UNCAGED_CONNECTIONS",
        512,
        "connections that a server keeps; beyond them it answers its health, and 503 to the rest",
    )
    request_seconds: float = setting(
        "UNCAGED_REQUEST_SECONDS",
        10.0,
        "how long a client may take for a request's head, and for a body but for a second each"
        " 16 KiB",
    )
    loopback: bool = setting(
        "SIGIL_LOOPBACK",
        False,
        "for tests: capabilities may be granted this machine, without TLS",
        outside=True,
    )

    @classmethod
    def read(cls, environment: Mapping[str, str] | None = None, folder: Path | None = None) -> Self:
        """The settings of the environment, over those of `uncaged.toml` in `folder` (default: the
        current one), over the defaults.
        """
        outer, inner = (os.environ if environment is None else environment), _file(folder or Path())
        for part in fields(cls):
            for secret in part.metadata["keeps"].split():
                _refuse_to_leak(part.metadata["name"], secret, outer, inner)
        _refuse_to_fetch(
            [part.metadata["name"] for part in fields(cls) if part.metadata["secret"]], inner
        )
        _refuse_to_call(inner)
        _refuse_to_open(
            [part.metadata["name"] for part in fields(cls) if part.metadata["outside"]], inner
        )
        _refuse_to_choose(inner)
        _refuse_to_take_over(
            [part.metadata["name"] for part in fields(cls) if part.metadata["rules"]], outer, inner
        )
        given = {**inner, **{name: value for name, value in outer.items() if value}}
        if inner.get("UNCAGED_DATA") and not outer.get("UNCAGED_DATA"):
            given["UNCAGED_CACHE"] = outer.get("UNCAGED_CACHE") or _own_cache()
        values: dict[str, Any] = {}
        for part in fields(cls):
            name = part.metadata["name"]
            if given.get(name):
                values[part.name] = _typed(name, given[name], part.default)
        if outer.get(FUNCTION) or (
            _brings_a_store(outer, inner) and not outer.get("SIGIL_PROGRAMS")
        ):
            values["programs"] = False
        return cls(**values)

    @property
    def surroundings(self) -> dict[str, str]:
        """What a program of this machine is given of our own environment: what it needs to be found
        and to speak, and no secret.
        """
        return {name: os.environ[name] for name in PASSED_ON if os.environ.get(name)}

    @property
    def data_folder(self) -> Path:
        """The data folder; nothing is made yet."""
        if self.data:
            return Path(self.data).expanduser()
        from platformdirs import user_data_path

        return user_data_path("uncaged", appauthor=False)

    @property
    def credentials(self) -> Path:
        """The file of the tokens that `sigil login` keeps, one for each address; nothing is made
        yet.
        """
        return _config_folder() / "credentials.toml"

    @property
    def profiles(self) -> Path:
        """The file of the registries that `sigil login --profile` names; nothing is made yet."""
        return _config_folder() / "profiles.toml"


def variable(name: str) -> str:
    """A variable of the environment that a person names: the token of a profile, or what a shell
    wants to have completed.
    """
    return os.environ.get(name, "")


def _config_folder() -> Path:
    from platformdirs import user_config_path

    return user_config_path("uncaged", appauthor=False)


def _refuse_to_leak(
    address: str, secret: str, outer: Mapping[str, str], inner: Mapping[str, str]
) -> None:
    """A file in a folder that somebody else filled must not name the address that a secret of the
    environment is sent to.
    """
    if secret and inner.get(address) and not outer.get(address) and outer.get(secret):
        message = f"{address} comes from {FILE}, {secret} from the environment"
        raise UsageError("ESETTING", message + ": set both in the same place")


def _refuse_to_fetch(secrets: list[str], inner: Mapping[str, str]) -> None:
    """A file in a folder that somebody else filled must not fetch a secret with the person's own
    credentials at a cloud.
    """
    fetched = next((name for name in secrets if inner.get(name, "").startswith(ELSEWHERE)), None)
    if fetched:
        raise UsageError(
            "ESETTING",
            f"{FILE} names a secret of AWS as {fetched}",
            suggestion=f"set {fetched} in the environment",
        )


def _refuse_to_call(inner: Mapping[str, str]) -> None:
    """A file in a folder that somebody else filled must not have the person's requests to AWS,
    signed as they are, sent elsewhere.
    """
    for name, value in inner.items():
        queue = name == "UNCAGED_QUEUE" and not _AWS_QUEUE.match(value)
        if name.startswith("UNCAGED_") and ("endpoint=" in value or queue):
            message = f"{FILE} sends requests to AWS elsewhere with {name}"
            raise UsageError("ESETTING", message, suggestion=f"set {name} in the environment")
    if inner.get("UNCAGED_CACHE"):
        raise UsageError(
            "ESETTING",
            f"{FILE} names UNCAGED_CACHE, whose code would run",
            suggestion="set it in the environment",
        )


def _refuse_to_open(outside: list[str], inner: Mapping[str, str]) -> None:
    """A file in a folder that somebody else filled must not open the person's machine, whatever
    store it brings.
    """
    found = next((name for name in outside if inner.get(name)), None)
    if found:
        raise UsageError(
            "ESETTING",
            f"{FILE} sets {found}, which it never may",
            suggestion=f"set {found} in the environment",
        )


def _refuse_to_choose(inner: Mapping[str, str]) -> None:
    """A file in a folder that somebody else filled must not lead a person's commands to a registry
    of theirs, or into another account.
    """
    if inner.get("SIGIL_PROFILE"):
        message = f"{FILE} chooses a profile with SIGIL_PROFILE"
        raise UsageError(
            "ESETTING",
            message,
            suggestion="choose it with --profile, or set SIGIL_PROFILE in the environment",
        )
    if inner.get("SIGIL_TOKEN") and not inner.get("SIGIL_URL"):
        message = f"{FILE} sets SIGIL_TOKEN but not SIGIL_URL: set both in the same place"
        raise UsageError("ESETTING", message, suggestion="or set SIGIL_TOKEN in the environment")


def _refuse_to_take_over(
    rules: list[str], outer: Mapping[str, str], inner: Mapping[str, str]
) -> None:
    """A file in a folder that somebody else filled must not change who may do what in the person's
    own store.
    """
    taken = next((name for name in rules if inner.get(name) and not outer.get(name)), None)
    if taken and not _brings_a_store(outer, inner):
        message = (
            f"{FILE} sets {taken} but not where its store is: set UNCAGED_DATA or UNCAGED_STORE"
            " there too, and there alone"
        )
        raise UsageError("ESETTING", message, suggestion="or set it in the environment")


def _brings_a_store(outer: Mapping[str, str], inner: Mapping[str, str]) -> bool:
    """Whether the file says where the store is, and it alone: what stands in that store, grants
    too, came with the folder.
    """
    folder = inner.get("UNCAGED_DATA") and not outer.get("UNCAGED_DATA")
    return bool(not outer.get("UNCAGED_STORE") and (inner.get("UNCAGED_STORE") or folder))


def _own_cache() -> str:
    """Where compiled code is kept that no file may bring along: it runs as it is."""
    from platformdirs import user_cache_path

    return str(user_cache_path("uncaged", appauthor=False) / "compiled")


def _file(folder: Path) -> dict[str, str]:
    try:
        return {
            name: _text(name, value)
            for name, value in toml_files.parse_table(toml_files.read_text(folder / FILE)).items()
        }
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as problem:
        reason = (
            problem.strerror or "it cannot be read"
            if isinstance(problem, OSError)
            else one_line(str(problem))
        )
        raise UsageError(
            "ESETTING",
            f"{FILE}: {reason}",
            suggestion='lines such as UNCAGED_STORE = "sqlite:///path"',
        ) from None


def _text(name: str, value: object) -> str:
    parts = value if isinstance(value, list) else [value]
    if any(isinstance(part, dict | list) for part in parts):
        raise ValueError(f"{one_line(name, 40)} is no text, number or list of them")
    return ",".join(map(str, parts))


def _typed(name: str, text: str, default: object) -> object:
    try:
        match default:
            case bool():
                return {
                    "1": True,
                    "true": True,
                    "yes": True,
                    "0": False,
                    "false": False,
                    "no": False,
                }[text.strip().lower()]
            case int():
                return int(text)
            case float():
                return float(text)
            case tuple():
                return tuple(part.strip() for part in text.split(",") if part.strip())
    except (ValueError, KeyError):
        kind = {bool: "yes or no", int: "a whole number", float: "a number"}[type(default)]
        raise UsageError(
            "ESETTING",
            f"{name}={one_line(text, 40)!r} is not {kind}",
            suggestion=f"set {name} to {kind}",
        ) from None
    return text


def installed_version() -> str:
    """Return the installed version; `0+source` in a checkout that was never installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("uncaged")
    except PackageNotFoundError:
        return "0+source"


def without_userinfo(text: str) -> str:
    """`text` without the user name and password of its address, up to the last @, whatever
    characters they hold.
    """
    return re.sub(r"(\w://).*@", r"\1…@", text, flags=re.DOTALL)


def described(settings: Settings) -> list[tuple[str, str, str]]:
    """(name, value, meaning) of every setting; secrets show only whether they are set."""
    rows = []
    for part in fields(settings):
        value = getattr(settings, part.name)
        value = without_userinfo(value) if isinstance(value, str) else value
        shown = (
            ("set" if value else "")
            if part.metadata["secret"]
            else ",".join(value)
            if isinstance(value, tuple)
            else str(value)
        )
        rows.append((part.metadata["name"], shown, part.metadata["meaning"]))
    return rows
