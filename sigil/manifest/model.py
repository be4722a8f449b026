"""The manifest is everything that a capability declares about itself but its code, checked."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from sigil.errors import UsageError, one_line
from sigil.manifest import schema
from sigil.manifest.languages import BACKGROUND, BUNDLE, HOST, Lang
from sigil.manifest.schema import clean_texts
from sigil.protocol import Kind, is_name
from sigil.strict_json import canonical

STORED = "stored"
"""The context for reading a stored manifest, which was checked when it was deployed: its schema is
not checked again.
"""
MANIFEST_BYTES = 128 * 1024
MEMBERS_MOST = 16
"""A bundle has so many members: a query that finds one pages in all of them."""
TTL_DEFAULT, TTL_MOST = 3_600, 86_400
_CODE_WORD = re.compile(r"E[A-Z0-9]{2,15}", re.ASCII)


def _one_line(text: str) -> str:
    line = one_line(text, 100_000)
    if not line:
        raise ValueError("empty")
    return line


def _require_name(text: str) -> str:
    if not is_name(text):
        raise ValueError("a name is lower-case words joined by hyphens, at most 60 characters")
    return text


Name = Annotated[str, AfterValidator(_require_name)]
Word = Annotated[str, Field(max_length=80), AfterValidator(_one_line)]
Sentence = Annotated[str, Field(max_length=500), AfterValidator(_one_line)]
Words = Annotated[tuple[Word, ...], Field(max_length=40, strict=False)]
Grantables = Annotated[
    tuple[Annotated[str, Field(max_length=200), AfterValidator(_one_line)], ...],
    Field(max_length=20, strict=False),
]

Command = Annotated[str, Field(max_length=1_000), AfterValidator(_one_line)]


class _ManifestModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Permissions(_ManifestModel):
    """The permissions that a capability asks for; none by default."""

    http: Grantables = ()
    secrets: Grantables = ()
    call: Grantables = ()
    mcp: Annotated[tuple[Command, ...], Field(max_length=1, strict=False)] = Field(
        default=(), exclude_if=lambda value: not value
    )
    web: bool = Field(default=False, exclude_if=lambda value: not value)
    log: bool = False
    kv: bool = False
    clock: bool = False
    random: bool = False

    @property
    def none(self) -> bool:
        return self == Permissions()


class Limits(_ManifestModel):
    """The limits of a call, at or below the published ones."""

    timeout_ms: int = Field(default=5_000, ge=1, le=30_000)


class Reply(_ManifestModel):
    """The web's answer in a test. `body`: a text as it is, or any other value as JSON."""

    url: str = Field(max_length=2_000)
    method: str = Field(default="GET", max_length=20)
    status: int = Field(default=200, ge=200, le=599)
    headers: dict[str, str] = Field(default_factory=dict)
    body: object = ""


class Test(_ManifestModel):
    """A golden test: an input, and either the output or the code of the error. `http`: the web's
    answers in it.
    """

    input: dict[str, object]
    output: object = None
    error: Word | None = None
    http: Annotated[tuple[Reply, ...], Field(max_length=20, strict=False)] = Field(
        default=(), exclude_if=lambda value: not value
    )

    @model_validator(mode="after")
    def _one_expectation(self, info: ValidationInfo) -> Test:
        if self.error is not None and "output" in self.model_fields_set:
            raise ValueError("a test expects an output or an error, not both")
        if self.error is None and "output" not in self.model_fields_set:
            raise ValueError("a test expects an output or an error")
        if (
            self.error is not None
            and info.context != STORED
            and not _CODE_WORD.fullmatch(self.error)
        ):
            raise ValueError(
                "error is a code, E and 2 to 15 capital letters or digits: no call ever fails with"
                " anything else"
            )
        return self


class Manifest(_ManifestModel):
    """Everything that a capability declares about itself but its code."""

    name: Name
    description: Sentence
    lang: Lang = "js"
    lifetime: Literal["persistent", "normal", "ephemeral"] = "normal"
    ttl: Annotated[int | None, Field(ge=1, le=TTL_MOST)] = None
    tags: Words = ()
    aliases: Words = ()
    examples: Annotated[tuple[Sentence, ...], Field(max_length=20, strict=False)] = ()
    public: bool = False
    idempotent: bool = False
    on_degraded: Literal["wait", "rollback"] = Field(
        default="wait", exclude_if=lambda value: value == "wait"
    )
    requires: Annotated[tuple[Name, ...], Field(max_length=20, strict=False)] = ()
    members: Annotated[tuple[Name, ...], Field(max_length=MEMBERS_MOST, strict=False)] = Field(
        default=(), exclude_if=lambda value: not value
    )
    input: dict[str, Any] = Field(default_factory=lambda: {"type": "object", "properties": {}})
    output: dict[str, object] | None = None
    permissions: Permissions = Permissions()
    limits: Limits = Limits()
    tests: Annotated[tuple[Test, ...], Field(max_length=100, strict=False)] = ()

    @field_validator("ttl")
    @classmethod
    def _check_ttl(cls, value: int | None, info: ValidationInfo) -> int | None:
        is_used = info.data.get("lifetime", "ephemeral") == "ephemeral"
        if value is not None and info.context != STORED and not is_used:
            raise ValueError("it does nothing here: only an ephemeral capability expires")
        return value

    @field_validator("input", "output")
    @classmethod
    def _check_schema(
        cls, value: dict[str, object] | None, info: ValidationInfo
    ) -> dict[str, object] | None:
        if value is None or info.context == STORED:
            return value
        try:
            return schema.check(value) if info.field_name == "input" else clean_texts(value)
        except UsageError as problem:
            raise ValueError(problem.message) from None

    @model_validator(mode="after")
    def _check_members(self, info: ValidationInfo) -> Manifest:
        if info.context == STORED:
            return self
        if self.lang != BUNDLE:
            if self.members:
                raise ValueError(f"only a bundle has members: lang is {self.lang}")
            return self
        if not self.members:
            raise ValueError("a bundle has members: name them")
        if len(set(self.members)) < len(self.members):
            raise ValueError("a member of a bundle is named once")
        if self.name in self.members:
            raise ValueError("a bundle is no member of itself")
        own = self.requires or self.tests or not self.permissions.none
        if own or self.input.get("properties"):
            raise ValueError("a bundle has no input, requires, permissions and tests of its own")
        return self

    @model_validator(mode="after")
    def _small(self, info: ValidationInfo) -> Manifest:
        if info.context != STORED and len(canonical(self.model_dump(mode="json"))) > MANIFEST_BYTES:
            raise ValueError(f"a manifest has at most {MANIFEST_BYTES // 1024} KiB, tests included")
        return self

    @property
    def pure(self) -> bool:
        """Return whether a call whose answer was lost may simply run again."""
        return self.idempotent or (
            self.kind != "host" and self.permissions.none and not self.requires
        )

    @property
    def is_background(self) -> bool:
        """Return whether a call may outlive the turn that makes it."""
        return self.lang == "mcp" and BACKGROUND in self.tags

    @property
    def kind(self) -> Kind:
        """Return the kind of code that answers a call."""
        if self.lang == HOST:
            return "host"
        if self.lang == BUNDLE:
            return "bundle"
        return "mcp" if self.lang == "mcp" else "wasm"

    @property
    def seconds_to_live(self) -> int | None:
        return (self.ttl or TTL_DEFAULT) if self.lifetime == "ephemeral" else None
