"""Read Sigil's settings once, from the environment and `uncaged.toml`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Self

from sigil.errors import UsageError, one_line
from sigil.storage import toml_files

FILE = "uncaged.toml"
_AWS_QUEUE = re.compile(r"sqs://https://sqs\.[a-z0-9-]+\.amazonaws\.com(\.cn)?/")
FUNCTION = "AWS_LAMBDA_FUNCTION_NAME"
"""Where this variable is set the process is a function, which is frozen between its calls: a
program that it started would be too.
"""
PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ")
FACTS = "facts"
"""Where a field of a settings class has the facts about its setting."""
YEAR = 365 * 86_400
"""Seconds; a lock cannot wait for as long as a float can say."""
OWN_PREFIX = "UNCAGED_"
"""Only our settings begin like this: any other such name is a mistake."""
SIMILAR = 0.8
"""How similar a name has to be to a setting's to be taken for it (difflib's ratio)."""
SURELY_SIMILAR = 0.85
"""The same for a name that may well be another program's."""
AWS_SECRETS = ("ssm:", "secretsmanager:")
"""The beginnings of a value that names a secret of AWS."""
NAMED = 3
"""How many misspelt names of a file one message tells."""


@dataclass(frozen=True, slots=True)
class SettingFacts:
    """What is known about a setting: its outer name, its default, and its meaning for people.

    `keeps` names the secrets that are sent to the address in this setting: they have to come from
    the same place. `rules`: it decides who may do what, what runs, or who reads along, so a file
    may set it only for a store of its own. `outside`: it opens the machine itself, so no file may
    set it.

    `choices` are the values that it may have, `least` is the smallest number, and `duration` says
    that it is a number of seconds, above 0 and a year at most.
    """

    name: str
    default: Any
    meaning: str
    secret: bool = False
    keeps: str = ""
    rules: bool = False
    outside: bool = False
    choices: tuple[str, ...] = ()
    least: int | None = None
    duration: bool = False

    def format_value(self, value: object) -> str:
        """Return a value as people see it; of a secret only whether it is set."""
        if self.secret:
            return "set" if value else ""
        if isinstance(value, tuple):
            return ",".join(value)
        return without_userinfo(value) if isinstance(value, str) else str(value)


def setting(
    name: str,
    default: Any,
    meaning: str,
    *,
    secret: bool = False,
    keeps: str = "",
    rules: bool = False,
    outside: bool = False,
    choices: tuple[str, ...] = (),
    least: int | None = None,
    duration: bool = False,
) -> Any:
    """Return a field of a settings class, with the facts about its setting."""
    facts = SettingFacts(
        name, default, meaning, secret, keeps, rules, outside, choices, least, duration
    )
    return field(default=default, metadata={FACTS: facts})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings that both programs share: where things are stored, what the registry starts
    with, who may enter.
    """

    knows_every_name: ClassVar[bool] = False
    """Whether a line of `uncaged.toml` without a field here is a mistake: it may be the agent's."""

    data: str = setting(
        "UNCAGED_DATA",
        "",
        "the data folder (default: the user's own, such as ~/.local/share/uncaged)",
        rules=True,
    )
    cache: str = setting(
        "UNCAGED_CACHE", "", "the folder for compiled code (default: compiled/ in the data folder)"
    )
    build_cache: str = setting(
        "UNCAGED_BUILD_CACHE",
        "",
        "the folder in which a build of Uncaged keeps what it compiled, or off (default:"
        " uncaged/build in the user's cache folder)",
        outside=True,
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
        "where large bodies are stored: a folder, s3://BUCKET/prefix, or store: (in the store"
        " itself); the default is store:, and a folder beside the file for SQLite",
        rules=True,
    )
    library: str = setting(
        "UNCAGED_LIBRARY",
        "builtin",
        "the capabilities of an empty registry: builtin, none, or a folder of capabilities",
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
        "a profile of `sigil login --profile`, used by `sigil` alone (default: the active one)",
    )
    runners: int = setting(
        "SIGIL_RUNNERS",
        2,
        "how many child processes run capabilities; with more than one, an extra one starts"
        " while one namespace uses them all and another one needs a runner, and up to as many again"
        " for who has waited a second because several namespaces use all of these",
    )
    ranker: str = setting(
        "SIGIL_RANKER",
        "words",
        "how a query searches: words, or dense (by meaning as well; needs another package)",
    )
    rate: int = setting(
        "SIGIL_RATE",
        600,
        "requests a minute for each access token except the admin's, and for each sign-in to the"
        " page; each process counts separately",
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
        "auto (pooled memory, seccomp, memory images: those that the machine supports), fast"
        " (all of them) or plain",
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
        "whether an MCP server may be a program of this machine, once it is granted; always off"
        " in a Lambda function, and off by default when uncaged.toml names the store",
        outside=True,
    )
    proxies: tuple[str, ...] = setting(
        "UNCAGED_PROXIES",
        (),
        "addresses or networks of the proxies in front of a server: X-Forwarded-For and"
        " X-Forwarded-Proto are accepted from them alone",
        rules=True,
    )
    web_names: tuple[str, ...] = setting(
        "UNCAGED_WEB_NAMES",
        (),
        "the names under which a proxy with TLS shows the page, such as agent.example.org, or"
        " example.org/agent where it takes the path /agent away; this machine's own are known",
        rules=True,
    )
    connections: int = setting(
        "UNCAGED_CONNECTIONS",
        512,
        "connections that a server keeps; beyond them it answers health checks, and 503 to other"
        " requests",
    )
    request_seconds: float = setting(
        "UNCAGED_REQUEST_SECONDS",
        10.0,
        "how long a client may take for the head of a request, and for its body, with one second"
        " more for each 16 KiB",
    )
    web_requests_per_day: int = setting(
        "SIGIL_WEB_REQUESTS_PER_DAY",
        1_000,
        "how many pages an agent's capabilities may ask for in a day with the permission web",
        rules=True,
        least=0,
    )
    searxng: str = setting(
        "SIGIL_SEARXNG",
        "",
        "the address of a SearXNG server that web-search asks; it may be in your own network",
        outside=True,
    )
    loopback: bool = setting(
        "SIGIL_LOOPBACK",
        False,
        "for tests: capabilities may be granted access to this machine, without TLS",
        outside=True,
    )

    declared: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    """What is set of the settings that have no field, by their outer names."""

    def __post_init__(self) -> None:
        """Raise `UsageError` ESETTING for a value beyond its setting's bounds."""
        for facts, value in self.list_values():
            name = facts.name
            if facts.choices and value not in facts.choices:
                raise UsageError(
                    "ESETTING",
                    f"{name}={value!r} is unknown",
                    suggestion=f"use {', '.join(facts.choices)}",
                )
            if facts.least is not None and value < facts.least:
                raise UsageError(
                    "ESETTING",
                    f"{name}={value} is too small",
                    suggestion=f"use at least {facts.least:,}",
                )
            if facts.duration and not 0 < value <= YEAR:
                raise UsageError(
                    "ESETTING",
                    f"{name}={value} is out of range",
                    suggestion="use a number of seconds above 0, a year at most",
                )
        if "." in self.agent:
            raise UsageError(
                "ESETTING",
                f"UNCAGED_AGENT={self.agent!r:.80} has a dot, as the agents below another one have",
                suggestion=f"name the one above: {self.agent.partition('.')[0]!r:.40}",
            )

    @classmethod
    def read(cls, environment: Mapping[str, str] | None = None, folder: Path | None = None) -> Self:
        """Return the settings of the environment, over those of the user's own file, over those of
        `uncaged.toml` in `folder` (default: the current one), over the defaults.

        The user's own file counts with the environment of this process, unless `folder` has a store
        of its own. `UsageError` ESETTING when a value makes no sense, or when the file of a folder
        sets what it may not set.
        """
        outer = os.environ if environment is None else environment
        inner = _read_file((folder or Path()) / FILE, FILE)
        is_elsewhere = bool(outer.get(FUNCTION)) or _brings_a_store(outer, inner)
        if environment is None and not is_elsewhere:
            own = _read_own_file(cls)
            outer = {**own, **{name: value for name, value in outer.items() if value}}
        _check_file(cls, outer, inner)
        texts = {**inner, **{name: value for name, value in outer.items() if value}}
        if inner.get("UNCAGED_DATA") and not outer.get("UNCAGED_DATA"):
            from platformdirs import user_cache_path

            # Compiled code runs as it is, so no file may bring it along.
            ours = str(user_cache_path("uncaged", appauthor=False) / "compiled")
            texts["UNCAGED_CACHE"] = outer.get("UNCAGED_CACHE") or ours
        values: dict[str, Any] = {
            "declared": {
                facts.name: texts[facts.name]
                for facts in cls._declare(texts)
                if texts.get(facts.name)
            }
        }
        for part in fields(cls):
            facts = part.metadata.get(FACTS)
            if facts and texts.get(facts.name):
                values[part.name] = _parse_value(facts.name, texts[facts.name], facts.default)
        if outer.get(FUNCTION) or (
            _brings_a_store(outer, inner) and not outer.get("SIGIL_PROGRAMS")
        ):
            values["programs"] = False
        return cls(**values)

    @classmethod
    def find_sources(cls) -> Mapping[str, str]:
        """Return where this process finds each setting that is set, by its outer name:
        `environment`, or the path of an `uncaged.toml`. A file may have changed since the settings
        were read.
        """
        inner = _read_file(Path(FILE), FILE)
        found = {name: str(Path(FILE).absolute()) for name, text in inner.items() if text}
        if not (os.environ.get(FUNCTION) or _brings_a_store(os.environ, inner)):
            file = str(cls.find_own_file())
            found |= {name: file for name, text in _read_own_file(cls).items() if text}
        return found | {name: "environment" for name, text in os.environ.items() if text}

    @classmethod
    def list_facts(cls, texts: Mapping[str, str]) -> list[SettingFacts]:
        """Return the facts about every setting that there is where `texts` are set."""
        own = [part.metadata[FACTS] for part in fields(cls) if FACTS in part.metadata]
        return [*own, *cls._declare(texts)]

    def list_values(self) -> list[tuple[SettingFacts, Any]]:
        """Return every setting and its value."""
        own = [
            (part.metadata[FACTS], getattr(self, part.name))
            for part in fields(self)
            if FACTS in part.metadata
        ]
        texts = {facts.name: ",".join(value) for facts, value in own if isinstance(value, tuple)}
        declared = self._declare(texts)
        return [
            *own,
            *((facts, self.declared.get(facts.name, facts.default)) for facts in declared),
        ]

    @classmethod
    def _declare(cls, texts: Mapping[str, str]) -> list[SettingFacts]:  # noqa: ARG003
        """Return the facts about the settings that have no field: those of the agent's platforms.
        Which there are may depend on the lists among `texts`.
        """
        return []

    @property
    def surroundings(self) -> dict[str, str]:
        """The part of our environment that a program of this machine gets: the search path, the
        user and the language, and no secret.
        """
        return {name: os.environ[name] for name in PASSED_ON if os.environ.get(name)}

    @property
    def data_folder(self) -> Path:
        """The data folder, which may not exist yet."""
        if self.data:
            return Path(self.data).expanduser()
        from platformdirs import user_data_path

        return user_data_path("uncaged", appauthor=False)

    @property
    def credentials(self) -> Path:
        """The file of `sigil login`'s tokens, one for each address; it may not exist yet."""
        return _config_folder() / "credentials.toml"

    @staticmethod
    def find_own_file() -> Path:
        """Return the path of the user's own `uncaged.toml`, which counts in every folder; it may
        not exist yet.
        """
        return _config_folder() / FILE

    @staticmethod
    def brings_a_store(folder: Path) -> bool:
        """Return whether the `uncaged.toml` of a folder says where its store is, which the
        environment does not: then the user's own file does not count there.
        """
        return _brings_a_store(os.environ, _read_file(folder / FILE, FILE))

    @property
    def profiles(self) -> Path:
        """The file of the registries that `sigil login --profile` names; it may not exist yet."""
        return _config_folder() / "profiles.toml"


@dataclass(frozen=True, slots=True)
class UnknownSetting:
    """A name that is no setting, and the one that was probably meant; empty when none is near."""

    name: str
    meant: str = ""

    def __str__(self) -> str:
        """Return the name, with the question whether another one was meant."""
        name = one_line(self.name, 60)
        return f"{name} (did you mean {self.meant}?)" if self.meant else name


def find_unknown_variables(
    settings: Settings, environment: Mapping[str, str] | None = None
) -> list[UnknownSetting]:
    """Return the environment's variables that are meant as settings but are none, such as
    UNCAGED_LLM_MODLE.

    Names that other programs may use (TELEGRAM_BOT_TOKEN, SIGIL_HOME) count only when they
    resemble a setting that is not set.
    """
    outer = os.environ if environment is None else environment
    known = {facts.name for facts, _ in settings.list_values()}
    families = {name.partition("_")[0] for name in known if "_" in name}
    unknown = []
    for name in sorted(outer):
        if name in known or not outer[name]:
            continue
        is_ours = name.startswith(OWN_PREFIX) and settings.knows_every_name
        beginning = name.partition("_")[0]
        if not is_ours and not _find_similar(beginning, families, SURELY_SIMILAR):
            continue
        meant = _find_similar(name, known, SIMILAR if is_ours else SURELY_SIMILAR)
        if is_ours or (meant and not outer.get(meant)):
            unknown.append(UnknownSetting(name, meant))
    return unknown


def _find_similar(name: str, known: Iterable[str], cutoff: float) -> str:
    """Return the known name that is most similar, which may be the same; empty when none is."""
    names = sorted(known)
    if name in names:
        return name
    from difflib import get_close_matches  # only a mistake needs it

    return "".join(get_close_matches(name, names, 1, cutoff))


def read_variable(name: str) -> str:
    """Return a variable of the environment that a person names: the token of a profile, or the
    words that a shell wants completed.
    """
    return os.environ.get(name, "")


def package_client_environment() -> dict[str, str]:
    """Return our environment as pip, npm and apt get it: with their own settings, such as a proxy,
    and without ours and other programs' secrets.
    """
    own = ("UNCAGED_", "SIGIL_")
    secret = ("_TOKEN", "_SECRET", "_KEY", "_PASSWORD")
    theirs = ("PIP_", "UV_", "NPM_", "npm_")
    # they would send the packages somewhere else, or refuse the folder that is named
    places = ("PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_REQUIRE_VIRTUALENV")
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(own)
        and name not in places
        and (name.startswith(theirs) or not name.endswith(secret))
    }


def build_cache_folder() -> Path | None:
    """Return the folder in which builds keep what they made: `UNCAGED_BUILD_CACHE`, or one in the
    user's cache folder. None when that says `off`, or when there is no home folder.

    It is read by itself: a build needs no other setting, and none of the packages that they need.
    """
    said = os.environ.get("UNCAGED_BUILD_CACHE", "")
    if said.lower() == "off":
        return None
    if said:
        return Path(said).expanduser().absolute()
    try:
        base = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    except RuntimeError:
        return None
    return Path(base).absolute() / "uncaged" / "build"


def _config_folder() -> Path:
    from platformdirs import user_config_path

    return user_config_path("uncaged", appauthor=False)


def _check_file(kind: type[Settings], outer: Mapping[str, str], inner: Mapping[str, str]) -> None:
    """Raise `UsageError` ESETTING for what a file may not set: another user may have written it."""
    settings = kind.list_facts({**inner, **{name: text for name, text in outer.items() if text}})
    for facts in settings:
        name = facts.name
        for secret in facts.keeps.split():
            if inner.get(name) and not outer.get(name) and outer.get(secret):
                # the secret would be sent to an address that another user chose
                message = f"{name} comes from {FILE}, {secret} from the environment"
                raise UsageError("ESETTING", f"{message}: set both in the same place")
    for facts in settings:
        name = facts.name
        if facts.secret and inner.get(name, "").startswith(AWS_SECRETS):
            # it would be fetched with the person's own credentials at a cloud
            raise UsageError(
                "ESETTING",
                f"{FILE} names a secret of AWS as {name}",
                suggestion=f"set {name} in the environment",
            )
    refuse_unknown_names(kind, inner, environment=outer)
    _refuse_foreign_endpoint(inner)
    for facts in settings:
        name = facts.name
        if facts.outside and inner.get(name):
            # it would open the person's machine, with any store that the file names
            raise UsageError(
                "ESETTING",
                f"{FILE} sets {name}, which no file may set",
                suggestion=f"set {name} in the environment",
            )
    _refuse_choice_of_registry(inner)
    if _brings_a_store(outer, inner):
        return
    for facts in settings:
        name = facts.name
        if facts.rules and inner.get(name) and not outer.get(name):
            # it would change who may do what in the person's own store
            message = (
                f"{FILE} sets {name} but not where its store is: set UNCAGED_DATA or UNCAGED_STORE"
                " there too, and there alone"
            )
            raise UsageError("ESETTING", message, suggestion="or set it in the environment")


def refuse_unknown_names(
    kind: type[Settings],
    inner: Mapping[str, str],
    shown: str = FILE,
    *,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Raise for lines of a file that set nothing: a limit that is misspelt would not limit."""
    outer = os.environ if environment is None else environment
    texts = {**inner, **{name: value for name, value in outer.items() if value}}
    known = {facts.name for facts in kind.list_facts(texts)}
    unknown = []
    for name in inner:
        if name in known:
            continue
        spelt = name.strip().upper().replace("-", "_")
        cutoff = SIMILAR if kind.knows_every_name else SURELY_SIMILAR
        meant = _find_similar(spelt, known, cutoff)
        if not meant and OWN_PREFIX + spelt in known:
            meant = OWN_PREFIX + spelt
        if meant or kind.knows_every_name:
            unknown.append(UnknownSetting(name, meant))
    if not unknown:
        return
    names = " and ".join(one_line(one.name, 60) for one in unknown[:NAMED])
    meanings = [one.meant for one in unknown[:NAMED] if one.meant]
    raise UsageError(
        "ESETTING",
        f"{shown} sets {names}, which is no setting"
        if len(unknown) == 1
        else f"{shown} sets {names}, which are no settings",
        suggestion=f"did you mean {' and '.join(meanings)}?"
        if meanings
        else "remove the line; without it `uncaged doctor --verbose` lists every setting",
    )


def _refuse_foreign_endpoint(inner: Mapping[str, str]) -> None:
    """Raise when a file would send the person's signed requests to AWS to another address, or names
    a folder of compiled code.
    """
    for name, value in inner.items():
        is_queue = name in ("UNCAGED_QUEUE", "UNCAGED_WORK_QUEUE")
        is_foreign_queue = is_queue and value != "" and not _AWS_QUEUE.match(value)
        if name.startswith("UNCAGED_") and ("endpoint=" in value or is_foreign_queue):
            message = f"with {name}, {FILE} would send requests to AWS to another address"
            raise UsageError("ESETTING", message, suggestion=f"set {name} in the environment")
    if inner.get("UNCAGED_CACHE"):
        raise UsageError(
            "ESETTING",
            f"{FILE} names UNCAGED_CACHE, whose code would run",
            suggestion="set it in the environment",
        )


def _refuse_choice_of_registry(inner: Mapping[str, str]) -> None:
    """Raise when a file leads a person's commands to another registry, or into another account."""
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


def _brings_a_store(outer: Mapping[str, str], inner: Mapping[str, str]) -> bool:
    """Return whether the file alone says where the store is: then all that is in that store, grants
    too, came with the folder.
    """
    folder = inner.get("UNCAGED_DATA") and not outer.get("UNCAGED_DATA")
    return bool(not outer.get("UNCAGED_STORE") and (inner.get("UNCAGED_STORE") or folder))


def _read_own_file(kind: type[Settings]) -> dict[str, str]:
    """Return the settings of the user's own file, which are trusted like the environment: nobody
    else can have written them.
    """
    path = Settings.find_own_file()
    try:
        facts = path.stat()
    except OSError:
        return {}
    if facts.st_uid not in (os.geteuid(), 0):
        raise UsageError(
            "ESETTING",
            f"{path} belongs to another user",
            suggestion="run the command as that user, or with a HOME of your own",
        )
    if facts.st_mode & 0o022:
        raise UsageError(
            "ESETTING",
            f"{path} can be written by others",
            suggestion=f"look into it, then: chmod 600 {path}",
        )
    texts = _read_file(path, str(path))
    refuse_unknown_names(kind, texts, str(path))
    return {name: value for name, value in texts.items() if value}


def _read_file(path: Path, shown: str) -> dict[str, str]:
    """Return the settings of a file as texts, none when there is no such file. `shown`: its name in
    an error.
    """
    texts: dict[str, str] = {}
    try:
        table = toml_files.parse_table(toml_files.read_text(path))
        for name, value in table.items():
            parts = value if isinstance(value, list) else [value]
            if any(isinstance(part, dict | list) for part in parts):
                raise ValueError(f"{one_line(name, 40)} is no text, number or list of them")
            texts[name] = ",".join(map(str, parts))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as problem:
        reason = one_line(str(problem))
        if isinstance(problem, OSError):
            reason = problem.strerror or "it cannot be read"
        raise UsageError(
            "ESETTING",
            f"{shown}: {reason}",
            suggestion='lines such as UNCAGED_STORE = "sqlite:///path"',
        ) from None
    return texts


_FLAGS = {
    **dict.fromkeys(("1", "true", "yes"), True),
    **dict.fromkeys(("0", "false", "no"), False),
}


def _parse_value(name: str, text: str, default: object) -> object:
    """Return a setting's value, of the type of its default."""
    try:
        if isinstance(default, bool):
            word = text.strip().lower()
            if word not in _FLAGS:
                raise ValueError
            return _FLAGS[word]
        if isinstance(default, int):
            return int(text)
        if isinstance(default, float):
            return float(text)
    except ValueError:
        kind = {bool: "yes or no", int: "a whole number", float: "a number"}[type(default)]
        raise UsageError(
            "ESETTING",
            f"{name}={one_line(text, 40)!r} is not {kind}",
            suggestion=f"set {name} to {kind}",
        ) from None
    if isinstance(default, tuple):
        return tuple(part.strip() for part in text.split(",") if part.strip())
    return text


def installed_version() -> str:
    """Return the installed version; `0+source` in a checkout that was never installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("uncaged")
    except PackageNotFoundError:
        return "0+source"


def without_userinfo(text: str) -> str:
    """Return `text` without the user name and password of its address, up to the last @, whatever
    characters they hold.
    """
    return re.sub(r"(\w://).*@", r"\1…@", text, flags=re.DOTALL)


def describe_settings(settings: Settings) -> list[tuple[str, str, str]]:
    """Return (name, value, meaning) of every setting; of a secret only if it is set."""
    return [
        (facts.name, facts.format_value(value), facts.meaning)
        for facts, value in settings.list_values()
    ]


def describe_changed_settings(settings: Settings) -> list[tuple[str, str, str]]:
    """Return (name, value, meaning) of the settings that differ from their default."""
    return [
        (facts.name, facts.format_value(value), facts.meaning)
        for facts, value in settings.list_values()
        if value != facts.default
    ]
