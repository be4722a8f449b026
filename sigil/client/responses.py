"""Read the answers of a registry elsewhere: an answer that no registry gives is refused.

The types are those of `sigil.rows`. Of most rows the client checks only the fields that it uses, so
that it understands a registry of another version too; the rest of a row passes through unread.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NotRequired,
    Required,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict  # pydantic takes no other before Python 3.12

from sigil import rows
from sigil.errors import BackendError, UsageError, one_line
from sigil.protocol import (
    Deployed,
    ExampleRun,
    Found,
    Glimpse,
    Hit,
    Json,
    KeptFile,
    Offer,
    Ran,
    Ref,
    WeakHit,
    is_full_name,
    is_name,
)
from sigil.storage.kept_files import FILE_ID, FILE_NAME
from sigil.strict_json import read_object

CHECK_ADDRESS = "check that the address (--url, SIGIL_URL) leads to a Sigil registry"
DESCRIPTION_CHARACTERS = 4_000
LOG_CHARACTERS = 1_000
ITEMS_MOST = 50
VERSION_MOST = 10**8
RowT = TypeVar("RowT")


def foreign_answer() -> BackendError:
    """Return the error for an answer that no registry of ours gives."""
    return BackendError(
        "EUNAVAILABLE", "the registry's answer is not one of Sigil's", suggestion=CHECK_ADDRESS
    )


class RowReader(Generic[RowT]):
    """A reader of one kind of row.

    `required` fields have to be there, `optional` ones may be, and each has the type that the row's
    description says.
    """

    def __init__(self, row: type[RowT], *required: str, optional: Sequence[str] = ()) -> None:
        self._row = row
        self._required = required
        self._optional = optional

    def check(self, value: object) -> RowT:
        """Return `value`, with all that it holds; `BackendError` when it is no such row."""
        try:
            self._adapters[0].validate_python(value, strict=True)
        except ValidationError:
            raise foreign_answer() from None
        return cast("RowT", value)

    def check_list(self, values: object) -> list[RowT]:
        """Return `values`; `BackendError` when it is no list of such rows."""
        try:
            self._adapters[1].validate_python(values, strict=True)
        except ValidationError:
            raise foreign_answer() from None
        return cast("list[RowT]", values)

    def read(self, body: bytes) -> RowT:
        """Return the row that `body` is; `BackendError` when it is no such row."""
        return self.check(_read_object(body))

    def read_page(self, body: bytes, part: str = "items") -> tuple[list[RowT], str]:
        """Return the rows of a page and where the next one begins, empty for the last page;
        `BackendError` when `body` is no such page.
        """
        page = _read_object(body)
        items = self.check_list(page.get(part, None if part == "items" else []))
        after = page.get("next", "")
        if not isinstance(after, str):
            raise foreign_answer()
        return items, after

    @cached_property
    def _adapters(self) -> tuple[TypeAdapter[Any], TypeAdapter[Any]]:
        """The validators of one row and of a list of rows, for the fields that are read."""
        described = {
            name: _field_type(hint)
            for name, hint in get_type_hints(self._row, include_extras=True).items()
        }
        fields: dict[str, Any] = {name: Required[described[name]] for name in self._required}
        fields |= {name: NotRequired[described[name]] for name in self._optional}
        make_typed_dict: Any = TypedDict
        read = make_typed_dict(self._row.__name__, fields)
        checked: Any = with_config(ConfigDict(strict=True, extra="ignore"))(read)
        return TypeAdapter(checked), TypeAdapter(list[checked])


def _field_type(hint: Any) -> Any:
    """Return the type that the client asks of a field.

    The mark that it may be missing is taken off, and a set of words is any text: a registry of
    another version may have a word that this one does not know.
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (NotRequired, Required):
        return _field_type(arguments[0])
    if origin is Annotated and _field_type(arguments[0]) is not arguments[0]:
        return _field_type(arguments[0])
    if origin is Literal and all(isinstance(word, str) for word in arguments):
        return str
    return hint


_OFFER = ("capability", "version", "digest", "description", "schema", "pure")

VERSION = RowReader(
    rows.VersionRow,
    "capability",
    "version",
    "digest",
    "author",
    "at",
    "active",
    "yanked",
    "health",
)
CHANGED_VERSION = RowReader(rows.ChangedVersionRow, "capability", "version", "digest", "changed")
ACTIVATION = RowReader(rows.ActivationRow, "version", "at", "by", "action")
LISTED = RowReader(
    rows.ListRow, "capability", "version", "digest", "namespace", "tags", "description"
)
DETAIL = RowReader(
    rows.DetailRow,
    "capability",
    "version",
    "digest",
    "namespace",
    "tags",
    "description",
    "schema",
    "limits",
    optional=(
        "kind",
        "members",
        "source",
        "pending",
        "active",
        "requires",
        "permissions",
        "tests",
        "at",
        "expires_at",
        "last",
        "runs",
    ),
)
"""The optional fields are those that a token sees which may do more than run the capability."""
STATUS = RowReader(rows.StatusRow, optional=("sandbox", "items"))
DIFFERENCE = RowReader(rows.VersionDiffRow, "same", "manifest", "schema", "source")
PERMISSION_REQUEST = RowReader(
    rows.PermissionRequestRow,
    "capability",
    "namespace",
    "version",
    "digest",
    "asked",
    "granted",
    "new",
    "widened",
    "before",
    "secrets_missing",
    optional=("hints",),
)
GRANT = RowReader(
    rows.GrantRow,
    "capability",
    "namespace",
    "version",
    "state",
    "permissions",
    optional=("at", "hints"),
)
REVOKED = RowReader(rows.RevokedRow, "capability", "revoked")
STORED_SECRET = RowReader(rows.StoredSecretRow)
SECRET = RowReader(rows.SecretRow, "secret", "at", "by", optional=("server", "renews", "ends"))
_TOKEN = ("id", "kind", "namespace", "name", "scopes", "expires")
TOKEN = RowReader(rows.TokenRow, *_TOKEN)
TOKEN_USE = RowReader(rows.TokenUseRow, *_TOKEN, "last_use", "expired")
NEW_TOKEN = RowReader(rows.NewTokenRow, *_TOKEN, "token")
AUDIT = RowReader(rows.AuditRow, "number", "at", "action")
AUDIT_CHECK = RowReader(
    rows.AuditCheckRow,
    "namespace",
    "entries",
    "tip",
    "ok",
    "problem",
    optional=("namespaces", "broken"),
)
SERVER_TOOL = RowReader(
    rows.ServerToolRow,
    "tool",
    "capability",
    "description",
    "schema",
    "problem",
    optional=("hints",),
)
HEALTH = RowReader(rows.HealthRow)
_HIT = RowReader(rows.HitRow, *_OFFER, "score", optional=("kind", "summary", "offers"))
_MEMBER = RowReader(rows.OfferRow, *_OFFER, optional=("kind",))
_WEAK = RowReader(rows.WeakHitRow, "capability", "description", "kind")
_GLIMPSE = RowReader(rows.GlimpseRow, "capability", "description", "score")
_TESTS = RowReader(rows.GoldenTestCounts, "passed")
_DEPLOYED = RowReader(
    rows.ImportedRow, *_OFFER, "pending", optional=("kind", "expires_at", "created", "example")
)
_REPORT = RowReader(
    rows.ReportRow, "version", "digest", "duration_ms", "cold", "logs", optional=("files",)
)
_ERROR = RowReader(rows.ErrorRow, "message", optional=("source", "suggestion", "logs"))
"""A capability may fail with any code, so its text alone is checked."""


def read_found(body: bytes) -> Found:
    """Return the answer to a query; `BackendError` when it is not one."""
    answer = _read_object(body)
    total = answer.get("total")
    if type(total) is not int or total < 0:
        raise foreign_answer()
    hits = []
    for row in _read_few(_HIT, answer):
        summary = one_line(row.get("summary", ""), DESCRIPTION_CHARACTERS)
        members = _MEMBER.check_list(row.get("offers", []))  # older servers know no bundles
        if len(members) > ITEMS_MOST:
            raise foreign_answer()
        offers = tuple(map(_read_offer, members))
        hits.append(Hit(_read_offer(row), row["score"], summary, offers))
    weak_rows = _WEAK.check_list(answer.get("weak", []))  # servers of 0.1.0 do not send it
    if len(weak_rows) > ITEMS_MOST:
        raise foreign_answer()
    weak = []
    for weak_row in weak_rows:
        _require_name(weak_row["capability"])
        description = one_line(weak_row["description"], DESCRIPTION_CHARACTERS)
        weak.append(WeakHit(weak_row["capability"], description, weak_row["kind"]))
    return Found(tuple(hits), total, tuple(weak))


def read_glimpses(body: bytes) -> tuple[Glimpse, ...]:
    """Return what exploring showed; `BackendError` when it is not that."""
    glimpses = []
    for row in _read_few(_GLIMPSE, _read_object(body)):
        _require_name(row["capability"])
        description = one_line(row["description"], DESCRIPTION_CHARACTERS)
        glimpses.append(Glimpse(row["capability"], description, row["score"]))
    return tuple(glimpses)


def read_deployed(body: bytes, *, created: bool) -> Deployed:
    """Return the answer to a deploy; `BackendError` when it is not one."""
    return _read_deployed(_DEPLOYED.read(body), created=created)


def read_imported(body: bytes) -> list[Deployed]:
    """Return the answer to an import; `BackendError` when it is not one."""
    items, _ = _DEPLOYED.read_page(body)
    return [_read_deployed(row, created=row.get("created", True)) for row in items]


def read_ran(body: bytes) -> Ran:
    """Return a run's report and its output; `BackendError` when they are not there."""
    line, _, output = body.partition(b"\n")
    report = _REPORT.read(line)
    return Ran(
        output,
        report["version"],
        report["digest"],
        report["duration_ms"],
        report["cold"],
        tuple(one_line(log, LOG_CHARACTERS) for log in report["logs"]),
        tuple(map(_read_file_row, report.get("files", []))),
    )


def _read_file_row(row: rows.FileRow) -> KeptFile:
    """Return the file of a row; `BackendError` for a name that would leave its folder."""
    if not FILE_ID.fullmatch(row["id"]) or not FILE_NAME.fullmatch(row["name"]):
        raise foreign_answer()
    return KeptFile(row["id"], row["name"], one_line(row["type"], 60), row["size"], row["until"])


def read_failure(body: bytes) -> tuple[dict[str, str], tuple[str, ...]] | None:
    """Return the fields of a failure and what its run had logged, each one clean line; None when
    the body is no failure of ours.
    """
    try:
        error = _ERROR.check(_read_object(body).get("error"))
    except BackendError:
        return None
    code: object = error.get("code")
    if not isinstance(code, str):
        return None
    fields = {
        "source": one_line(error.get("source", "")),
        "code": one_line(code),
        "message": one_line(error["message"]),
        "suggestion": one_line(error.get("suggestion", "")),
    }
    logs = tuple(one_line(log, LOG_CHARACTERS) for log in error.get("logs", []))
    return fields, logs


def _read_object(body: bytes) -> dict[str, Json]:
    try:
        return read_object(body)
    except UsageError:
        raise foreign_answer() from None


def _read_few(reader: RowReader[RowT], answer: dict[str, Json]) -> list[RowT]:
    items = reader.check_list(answer.get("items"))
    if len(items) > ITEMS_MOST:
        raise foreign_answer()
    return items


def _read_deployed(row: rows.ImportedRow, *, created: bool) -> Deployed:
    passed = _TESTS.check(row.get("tests"))["passed"]
    pending = tuple(one_line(permission) for permission in row["pending"])
    example = _read_example(row["example"]) if "example" in row else None
    return Deployed(_read_offer(row), created, passed, pending, row.get("expires_at"), example)


def _read_example(row: rows.ExampleRow) -> ExampleRun:
    return ExampleRun(row["input"], row.get("output"), one_line(row.get("problem", "")))


def _read_offer(row: rows.OfferRow) -> Offer:
    name = row["capability"]
    _require_name(name)
    if row["schema"].get("type") != "object" or row["version"] >= VERSION_MOST:
        raise foreign_answer()
    try:
        Ref.parse(f"{name}@{row['digest']}")
    except UsageError:
        raise foreign_answer() from None
    description = one_line(row["description"], DESCRIPTION_CHARACTERS)
    kind = row.get("kind", "wasm")
    return Offer(name, row["version"], row["digest"], description, row["schema"], row["pure"], kind)


def _require_name(name: str) -> None:
    if not (is_name(name) or is_full_name(name)):
        raise foreign_answer()
