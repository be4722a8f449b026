"""The contents of each function's package: distributions by name, and which of our own parts are
left out.
"""

from __future__ import annotations

from dataclasses import dataclass

PYTHON = (3, 13)
"""The functions' version of Python, as in template.yaml: byte code fits no other minor version."""
PLATFORM = "x86_64-manylinux_2_28"
TASK_ROOT = "/var/task"
"""The folder of a function's package where it runs, and so the paths in its tracebacks."""
SERVICES = ("dynamodb", "lambda", "s3", "secretsmanager", "sns", "sqs", "ssm", "sts")
"""The services whose descriptions botocore keeps."""

USED = {
    "lambda": frozenset({"Invoke"}),
    "s3": frozenset(
        {
            *("GetObject", "PutObject", "DeleteObject", "HeadObject"),
            *("HeadBucket", "CreateBucket", "CreateSession"),
        }
    ),
    "secretsmanager": frozenset({"GetSecretValue", "CreateSecret"}),
    "sns": frozenset({"CreateTopic", "Publish"}),
    "ssm": frozenset({"GetParameter", "GetParameters", "PutParameter"}),
}
"""The operations of these services that the functions, or a setup with the same package, call; each
service has hundreds.
"""

_EVERY = ("botocore", "msgspec", "orjson", "platformdirs")
_AWS = ("boto3",)
"""For all but the webhook, which uses botocore alone:
docs/decisions/0005-boto3-but-for-the-webhook.md.
"""
_RECEIVE = ("starlette", "mangum")
_HTTP = ("fastapi", "mangum")
_OPEN_FILES = (
    *("charset-normalizer", "msgspec", "pillow", "pypdfium2", "python-calamine", "resvg-py"),
)
_SANDBOX = ("httpcore", "idna", "jsonschema", "pydantic", "pystemmer", "regex", "wasmtime")
_TIMES = ("cronsim", "tzdata")
"""Schedules, and the time zones, which the machines of Lambda need not have."""
_TALK = ("httpx", "markdown-it-py")
"""The clients are used without coroutines: httpcore imports anyio where it is installed, and works
without it.
"""
_PAGE = ("jinja2", "markdown-it-py", "python-multipart")
"""What makes the pages for a browser, and reads their forms."""
_NO_PAGE = ("functions/page", "sigil/http/page")
_NEVER = (
    "functions/backup",
    "functions/cli",
    "functions/local.py",
    "sigil/cli",
    *(f"sigil/http/{name}.py" for name in ("client_limits", "access_log", "server")),
    *(
        f"sigil/sandbox/engine/{name}.py"
        for name in (
            *("build", "build_cache", "c_library", "memory_layout", "snapshot"),
            *("sources", "unstarted"),
        )
    ),
    "sigil/sandbox/engine/prelude",
    "sigil/compile/toolchain/library_build.py",
)
_OPENS_NOTHING = (
    "functions/media/child",
    "functions/media/shipped_fonts",
    "functions/media_function.py",
    *(f"functions/media/{name}.py" for name in ("child_process", "file_reader", "fonts")),
)
_OPENING = (
    *(f"{package}/__init__.py" for package in ("functions", "functions/channels", "sigil")),
    "functions/channels/render/__init__.py",
    "functions/channels/render/pictures.py",
    "functions/channels/visible_text.py",
    "functions/media",
    "functions/media_function.py",
    "sigil/errors.py",
    "sigil/sandbox/__init__.py",
    "sigil/sandbox/child/__init__.py",
    *(f"sigil/sandbox/child/{name}.py" for name in ("landlock", "lockdown", "seccomp")),
    *(f"sigil/sandbox/{name}.py" for name in ("child_modules", "sealed_memory", "spawn")),
)
"""What opens files, and what shuts it in: no store, no queue and no channel."""
_INVOKES_NOTHING = tuple(
    f"functions/media/{name}.py" for name in ("invocation", "lambda_reader", "protocol")
)
_RUNS_NOTHING = ("sigil/compile", "sigil/sandbox")
_SEARCHES_NOTHING = ("sigil/search",)


SOURCELESS = (
    "anyio",
    "attr",
    "boto3",
    "botocore",
    "dateutil",
    "fastapi",
    "h11",
    "httpcore",
    "httpx",
    "idna",
    "jinja2",
    "jmespath",
    "jsonschema",
    "markdown_it",
    "platformdirs",
    "pydantic",
    "pydantic_core",
    "referencing",
    "regex",
    "s3transfer",
    "starlette",
    "urllib3",
)
"""Large packages of which only the byte code is staged: a traceback names their lines without
showing them.
"""


class StagingError(Exception):
    """The stage cannot be made; the second argument says what to do."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A function's package. `distributions` come with their dependencies, without those of `spare`;
    `without`: packages of ours that it never imports; `runs`: it runs capabilities, so it needs the
    engine and the library; `searches`: it searches, without running any; `invokes`: it invokes the
    function that opens files; `shows`: it has the pages; `only`: all that it has of our own files
    and folders, where that is little.
    """

    name: str
    distributions: tuple[str, ...]
    without: tuple[str, ...] = ()
    spare: tuple[str, ...] = ()
    runs: bool = False
    searches: bool = False
    invokes: bool = False
    only: tuple[str, ...] = ()
    shows: bool = False

    @property
    def left_out(self) -> tuple[str, ...]:
        """Return the files and folders of ours that are not staged."""
        if self.only:
            return self.without
        left_out = (*_NEVER, *_OPENS_NOTHING, *self.without)
        if not self.invokes:
            left_out = (*left_out, *_INVOKES_NOTHING)
        if not self.shows:
            left_out = (*left_out, *_NO_PAGE)
        if self.runs:
            return left_out
        left_out = (*left_out, *_RUNS_NOTHING)
        return left_out if self.searches else (*left_out, *_SEARCHES_NOTHING)

    def takes(self, name: str) -> bool:
        """Return whether a file of ours is staged, by its path in the checkout."""
        if any(_is_within(name, out) for out in self.left_out):
            return False
        return not self.only or any(_is_within(name, part) for part in self.only)


def _is_within(name: str, place: str) -> bool:
    return name == place or name.startswith(f"{place}/")


STAGES = (
    Stage("webhook", (*_EVERY, *_RECEIVE), without=("functions/agent",)),
    Stage(
        "worker",
        (*_EVERY, *_AWS, *_SANDBOX, *_TALK, *_TIMES),
        spare=("anyio",),
        runs=True,
        invokes=True,
    ),
    # httpx delivers the alert of a model that ends
    Stage("scheduler", (*_EVERY, *_AWS, *_TIMES, "httpx"), spare=("anyio",)),
    # httpx delivers the alert of a halt, and pystemmer reads the words of documents
    Stage(
        "admin",
        (*_EVERY, *_AWS, *_RECEIVE, *_TIMES, *_PAGE, "httpx", "pystemmer"),
        searches=True,
        shows=True,
    ),
    Stage(
        "registry",
        (*_EVERY, *_AWS, *_HTTP, *_SANDBOX),
        without=("functions/agent", "functions/channels", "functions/queues"),
        runs=True,
    ),
    Stage(
        "media",
        _OPEN_FILES,
        without=tuple(
            f"functions/media/{name}.py" for name in ("lambda_reader", "sound_length", "speech")
        ),
        only=_OPENING,
    ),
)
