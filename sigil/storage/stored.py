"""Store values as JSON and read them back by type, with the fields of other versions kept.

Two versions of this software may work on one store at the same time, and a newer one may be taken
back. So every value is read by a version that does not know one of its fields, and such a field is
written again with whatever the value became. A change that an older version could not live with
gets a higher `format`; a value of a newer format is refused and stays as it is (`NewerFormat`).
"""

from __future__ import annotations

import threading
import types
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from functools import cached_property, lru_cache
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Generic,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
import orjson

from sigil.errors import BackendError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")
HELP = "`sigil doctor` says which; restore a backup, or use another store"
FORMAT: Final = 1
"""The format of every value that names none."""
OF_CAPABILITIES: Final = "stored"
"""The kind of records that capabilities keep: no words of ours, whatever they look like."""
SINCE: Final = "since"
REST: Final = "_rest"
KEPT_BYTES: Final = 16 * 1024
"""The most bytes of JSON that stay with a value: large ones are few, and soon leave a window."""
_PREPARING: Final = threading.RLock()
"""Held while msgspec looks at a type for the first time.

It stores what it knows of a dataclass on the class before that is complete (0.22), and a second
thread that reads such a value meanwhile crashes the process.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """The base of values that are written again after they were read.

    `_rest` holds the fields that this version does not know, as another version wrote them. orjson
    leaves out fields whose names begin with `_`; `dumps` writes what is in it beside the others.
    """

    _rest: Mapping[str, object] | None = field(default=None, compare=False, repr=False)


class WrittenOften(Stored):
    """The base of values that are written many times before they change, as a message is at each
    checkpoint of its history. The JSON of one stays with it.
    """

    __slots__ = ("_json",)

    _json: orjson.Fragment
    """Absent until the value is first written, and while it is larger than `KEPT_BYTES`."""


def later(default: Any = msgspec.UNSET, **options: Any) -> Any:
    """A field that came after 0.1.0: while it holds its default it is not written at all.

    Version 0.1.0 takes a field that it does not know for damage, so a value that makes no use of
    the field has to read there as before.
    """
    if default is not msgspec.UNSET:
        options["default"] = default
    return field(**options, metadata={SINCE: "0.2.0"})


class NewerFormat(BackendError):
    """A value was written by a newer version in a format that this one cannot read."""

    def __init__(self, found: object) -> None:
        super().__init__(
            "EFORMAT",
            f"the store holds a value of format {found!r:.20}, and this version reads up to"
            f" {FORMAT}",
            suggestion="run the newer version that wrote it; nothing was changed",
        )


class Shape(Generic[T]):
    """A reader of JSON values of one type: a dataclass, or a tuple or mapping of them."""

    def __init__(
        self,
        kind: object,
        *,
        required: Collection[str] = (),
        read_part: Callable[[type, object], object] | None = None,
    ) -> None:
        """`required`: fields that every version writes, so that one that is gone is damage, though
        it has a default.

        `read_part` makes values of the types within `kind` that are no dataclasses.
        """
        self._kind = kind
        self._required = frozenset(required)
        self._read_part = read_part
        self._is_prepared = False

    def read(self, data: bytes) -> T:
        """Return the value in `data`. `ValueError` for another shape, `NewerFormat` as it says."""
        return self.convert(orjson.loads(data))

    def convert(self, raw: object) -> T:
        """Return the value whose JSON was parsed to `raw`; errors as `read`."""
        # The keys of a mapping are free, and one may be called `format`.
        if isinstance(self._kind, type) and is_dataclass(self._kind):
            require_format(raw)
        if self._required and not (isinstance(raw, dict) and self._required <= raw.keys()):
            raise ValueError("a field that every version writes is not there")
        if not self._is_prepared:
            # msgspec looks at the type, and at all types within it, while no other thread does
            with _PREPARING:
                msgspec.json.Decoder(self._kind, dec_hook=self._read_part)
                self._is_prepared = True
        try:
            value: object = msgspec.convert(raw, self._kind, dec_hook=self._read_part)
        except (msgspec.ValidationError, RecursionError) as problem:
            raise ValueError(str(problem)) from None
        return cast("T", _keep_unknown(self._form, value, raw))

    @cached_property
    def _form(self) -> _Form | None:
        """The form of the type, which is made when a value is first read."""
        return _form_of(self._kind)


def require_format(raw: object) -> None:
    """Raise `NewerFormat` unless this version knows the format that the value names."""
    found = raw.get("format", FORMAT) if isinstance(raw, dict) else FORMAT
    if found != FORMAT:
        raise NewerFormat(found)


def read_format(value: bytes) -> int:
    """Return the number of a stored value's format: the first one for a value that names none."""
    if b'"format"' not in value:
        return FORMAT
    try:
        raw = orjson.loads(value)
    except ValueError:
        return FORMAT
    found = raw.get("format", FORMAT) if isinstance(raw, dict) else FORMAT
    return found if type(found) is int else FORMAT


def dumps(value: object) -> bytes:
    """Return `value` (a dataclass, or tuples, lists and mappings of them) as JSON.

    What other versions wrote beside its fields is written as well. `TypeError` for a lone
    surrogate.
    """
    return orjson.dumps(plain(value))


def plain(value: object) -> object:
    """Return what orjson is to write for `value`: itself, or a dict where it keeps unknown
    fields.
    """
    if is_dataclass(value) and not isinstance(value, type):
        return _writer_of(type(value))(value)
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [plain(part) for part in value]
    return value


def row(value: DataclassInstance) -> dict[str, object]:
    """Return the fields of a dataclass for people, those of its parts too, without unknown ones."""
    return asdict(
        value, dict_factory=lambda pairs: {name: part for name, part in pairs if name != REST}
    )


def unknown(raw: Mapping[str, object], known: Iterable[str]) -> dict[str, object]:
    """Return the fields of `raw` that are not `known`: for records that are read by hand."""
    return {name: raw[name] for name in raw.keys() - set(known)}


def damaged(
    what: str = "the store holds a record that cannot be read",
    *,
    source: str = "",
    suggestion: str = "",
) -> BackendError:
    """Return the error for a stored value that this program cannot have written."""
    return BackendError("EDAMAGED", what, source=source, suggestion=suggestion or HELP)


@dataclass(frozen=True, slots=True)
class _Fields:
    """The fields that a dataclass of type `kind` stores: all names in their order, those that hold
    values of their own, and those that may be left out.
    """

    ordered: tuple[str, ...]
    names: frozenset[str]
    kind: type[DataclassInstance]
    inner: tuple[tuple[str, _Form], ...]
    later: tuple[tuple[str, object], ...]
    keeps: bool
    """True when it has a place for unknown fields."""


@dataclass(frozen=True, slots=True)
class _Items:
    """A tuple or a mapping of values that store fields of their own."""

    each: _Form


_Form = Union[_Fields, _Items]  # noqa: UP007  a name that its own parts refer to
_Writer = Callable[[Any], object]


@lru_cache(maxsize=256)
def _fields_of(kind: type[DataclassInstance]) -> _Fields:
    hints = get_type_hints(kind)
    inner: list[tuple[str, _Form]] = []
    later_fields: list[tuple[str, object]] = []
    stored = [each for each in fields(kind) if each.name != REST]
    for each in stored:
        form = _form_of(hints[each.name])
        if form is not None:
            inner.append((each.name, form))
        if SINCE in each.metadata:
            default = each.default
            if callable(each.default_factory):
                default = each.default_factory()
            later_fields.append((each.name, default))
    return _Fields(
        ordered=tuple(each.name for each in stored),
        names=frozenset(each.name for each in stored),
        kind=kind,
        inner=tuple(inner),
        later=tuple(later_fields),
        keeps=len(stored) < len(fields(kind)),
    )


def _form_of(kind: object) -> _Form | None:
    """Return the form of an annotation; None for plain values, which cannot hold unknown fields."""
    origin = get_origin(kind)
    if origin is Annotated:
        return _form_of(get_args(kind)[0])
    if isinstance(kind, type) and is_dataclass(kind):
        return _fields_of(kind)
    if origin in (Union, types.UnionType):
        return next((form for part in get_args(kind) if (form := _form_of(part))), None)
    if origin is tuple:
        each = _form_of(get_args(kind)[0])
        return _Items(each) if each else None
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        each = _form_of(get_args(kind)[1])
        return _Items(each) if each else None
    return None


def _keep_unknown(form: _Form | None, value: object, raw: object) -> object:
    """Return `value` with the unknown fields of `raw` in their places; mostly `value` itself."""
    if isinstance(form, _Fields):
        if isinstance(value, form.kind) and isinstance(raw, dict):
            return _keep_unknown_fields(form, value, raw)
    elif form is not None:
        if isinstance(value, tuple) and isinstance(raw, list | tuple):
            pairs = zip(value, raw, strict=True)
            parts = tuple([_keep_unknown(form.each, part, raw_part) for part, raw_part in pairs])
            if any(new is not old for new, old in zip(parts, value, strict=True)):
                return parts
        elif isinstance(value, Mapping) and isinstance(raw, Mapping):
            return {name: _keep_unknown(form.each, part, raw[name]) for name, part in value.items()}
    return value


def _keep_unknown_fields(
    form: _Fields, value: DataclassInstance, raw: Mapping[str, object]
) -> DataclassInstance:
    changed: dict[str, object] = {}
    for name, inner in form.inner:
        part = getattr(value, name)
        if part and name in raw:
            new_part = _keep_unknown(inner, part, raw[name])
            if new_part is not part:
                changed[name] = new_part
    if form.keeps and not raw.keys() <= form.names:
        changed[REST] = {name: part for name, part in raw.items() if name not in form.names}
    return replace(value, **changed) if changed else value


@lru_cache(maxsize=256)
def _writer_of(kind: type[DataclassInstance]) -> _Writer:
    """Return the function that makes what orjson writes for values of a class: a dict of their
    fields, themselves where nothing is left out or added, or the JSON that stays with them.
    """
    pick = _make_picker(_fields_of(kind))
    if not issubclass(kind, WrittenOften):
        return pick

    def write(value: Any) -> object:
        kept: orjson.Fragment | None = getattr(value, "_json", None)
        if kept is None:
            written = orjson.dumps(pick(value))
            kept = orjson.Fragment(written)
            if len(written) <= KEPT_BYTES:
                object.__setattr__(value, "_json", kept)
        return kept

    return write


def _make_picker(form: _Fields) -> _Writer:
    """Return the function that picks the fields of a class which are stored, made for it as
    `evolve` is: no loop over fields, and no more looked at than may differ.
    """
    inner = dict(form.inner)
    later_fields = dict(form.later)
    scope: dict[str, Any] = {f"default_{name}": value for name, value in form.later}
    scope |= {f"write_{name}": _make_part_writer(within) for name, within in form.inner}
    known = [name for name in form.ordered if name not in later_fields]
    if not (inner or later_fields):
        known_alone = ", ".join(f"{name!r}: value.{name}" for name in form.ordered)
        rest = f"{{{known_alone}, **value._rest}} if value._rest else value"
        lines = ["def pick(value):", f"    return {rest if form.keeps else 'value'}"]
    else:
        lines = ["def pick(value):", "    fields = {}"]
        for name in form.ordered:
            lines.append(f"    part = value.{name}")
            written = f"write_{name}(part) if part else part" if name in inner else "part"
            if name in known:
                lines.append(f"    fields[{name!r}] = {written}")
            else:
                lines.append(f"    if part is not default_{name} and part != default_{name}:")
                lines.append(f"        fields[{name!r}] = {written}")
        if form.keeps:
            lines += ["    if value._rest:", "        fields.update(value._rest)"]
        lines.append("    return fields")
    exec("\n".join(lines), scope)
    made: _Writer = scope["pick"]
    return made


def _make_part_writer(form: _Form) -> _Writer:
    """Return the function that makes what orjson writes for a field's value of this form."""
    if isinstance(form, _Fields):
        kind = form.kind
        write = _writer_of(kind)
        return lambda part: write(part) if isinstance(part, kind) else part
    write_each = _make_part_writer(form.each)
    is_often = isinstance(form.each, _Fields) and issubclass(form.each.kind, WrittenOften)

    def write_items(parts: object) -> object:
        if isinstance(parts, tuple | list):
            if is_often:  # a history is long, and most of it was written before
                return [getattr(part, "_json", None) or write_each(part) for part in parts]
            return [write_each(part) for part in parts]
        if isinstance(parts, Mapping):
            return {name: write_each(part) for name, part in parts.items()}
        return parts

    return write_items
