"""The skills of an agent, each a versioned document with files beside it.

What a search needs of all of them stands in one catalog. A skill is written first, then the catalog
and its head: after a crash between, writing the same again finishes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from hashlib import sha256
from typing import Final

from functions.agent.memory.documents import Doc, DocFile, Documents, decode_version
from functions.agent.sanitize import clean_text
from functions.agent.skills.catalog import (
    CATALOG,
    CATALOG_BYTES,
    HEAD,
    PINNED_CHARACTERS,
    PINNED_MOST,
    SKILLS_MOST,
    Catalog,
    PinnedSkill,
    SkillEntry,
    SkillsHead,
)
from functions.agent.skills.package import FILE_BYTES, SkillPackage
from functions.agent.skills.skill import (
    DESCRIPTION_CHARACTERS,
    FILE,
    PREFIX,
    Skill,
    is_skill_name,
    parse_skill,
    require_skill_name,
    split_front,
)
from sigil.errors import BackendError, Conflict, UsageError, one_line
from sigil.storage.kv import ABSENT, KV, Item, keys
from sigil.storage.kv.base import get_many
from sigil.storage.kv.update import scan_all, update
from sigil.storage.stored import dumps

TAGS_CHARACTERS: Final = 200
"""So many characters of the `tags` in a skill's metadata are searched."""
RACE_BYTES: Final = 20_000
"""Those who add skills at the same moment may go beyond the bound together, by so much."""
_PAGE: Final = 20


class Skills:
    """The skills of one agent. `now` returns seconds since 1970."""

    def __init__(self, kv: KV, agent: str, now: Callable[[], float]) -> None:
        self._kv = kv
        self._agent = agent
        self._now = now
        self.scope = keys.escape(agent)

    def read_catalog(self) -> Catalog:
        """Return what stands in the catalog; one that is damaged is made anew of the skills."""
        item = self._kv.get(keys.skill_catalog(self.scope))
        return self._decode_catalog(item.value if item else None)

    def read(self, name: str) -> Doc:
        """Return the newest version of a skill; `UsageError` ENOENT when there is none."""
        doc = self._versions(require_skill_name(name)).read(self.scope, f"{PREFIX}{name}")
        if not doc.text:
            known = [each.name for each in self.read_catalog().skills]
            near = get_close_matches(name, known, 3, 0.5)
            hint = f"there is {', '.join(near)}" if near else "`uncaged skill list` shows them"
            raise UsageError("ENOENT", f"there is no skill {name!r}", suggestion=hint)
        return doc

    def read_version(self, name: str, version: int) -> Doc:
        """Return one version of a skill; `UsageError` ENOENT when there was none of this number."""
        versions = self._versions(require_skill_name(name))
        return versions.read_version(self.scope, f"{PREFIX}{name}", version)

    def read_many(self, names: list[str]) -> list[Doc | None]:
        """Return the newest versions of some skills with one request, None where there is none."""
        places = [keys.document(self.scope, f"{PREFIX}{name}") for name in names]
        items = get_many(self._kv, places) if places else []
        return [self._decode(name, item) for name, item in zip(names, items, strict=True)]

    def list_versions(self, name: str) -> Iterator[Doc]:
        """Yield all versions of a skill that can be read, the newest first; an empty text is where
        it was removed.
        """
        versions = self._versions(require_skill_name(name))
        return versions.list_versions(self.scope, f"{PREFIX}{name}")

    def read_file(self, doc: Doc, path: str) -> bytes:
        """Return a file of a version; `UsageError` ENOENT when it has none of this path."""
        file = next((each for each in doc.files if each.path == path), None)
        if file is None and path == FILE:
            return f"{doc.text}\n".encode()
        if file is None:
            paths = ", ".join(each.path for each in doc.files[:20]) or "none"
            raise UsageError(
                "ENOENT",
                f"{_name_of(doc)} has no file {one_line(path, 80)!r}",
                suggestion=f"its files: {paths}",
            )
        item = self._kv.get(keys.skill_file(self.scope, file.digest))
        if item is None or sha256(item.value).hexdigest() != file.digest:
            raise BackendError(
                "EDAMAGED",
                f"{path} of the skill {_name_of(doc)} cannot be read",
                suggestion="add the skill again",
            )
        return item.value

    def pack(self, doc: Doc) -> SkillPackage:
        """Return a version with all its files, byte for byte as it was added."""
        files = {each.path: self.read_file(doc, each.path) for each in doc.files}
        body = files.pop(FILE, None)
        return SkillPackage(self.read_file(doc, FILE) if body is None else body, files)

    def write(
        self, package: SkillPackage, *, by: str, why: str = "", expect: int | None = None
    ) -> Doc:
        """Write the next version of a skill and return it; the same again writes nothing.

        `expect` is the version that it was made from: `Conflict` when somebody wrote since.
        `UsageError` for one that cannot be kept, or for which there is no room.
        """
        skill = package.parse()
        self.require_room({skill.name: package})
        doc = self._write_document(package, skill.name, by=by, why=why, expect=expect)
        self._note_version(doc)
        return doc

    def remove(self, name: str, *, by: str, why: str = "removed", expect: int | None = None) -> Doc:
        """Remove a skill; its versions stay, and one of them can be brought back.

        `Conflict` when somebody wrote it since the version `expect`.
        """
        self.read(name)
        versions = self._versions(name)
        doc = versions.write(self.scope, f"{PREFIX}{name}", "", by=by, why=why, expect=expect)
        self._note_version(doc)
        return doc

    def roll_back(self, name: str, version: int, *, by: str) -> Doc:
        """Write an earlier version again, as a new one."""
        before = self.read_version(name, version)
        if not before.text:
            raise UsageError(
                "EINVAL",
                f"version {version} of {name} is where it was removed",
                suggestion=f"`uncaged skill remove {name}` removes it",
            )
        self.require_room({name: self.pack(before)})
        doc = self._versions(name).roll_back(self.scope, f"{PREFIX}{name}", version, by)
        self._note_version(doc)
        return doc

    def pin(self, name: str, *, pinned: bool = True) -> SkillEntry:
        """Put a skill into the system message of every chat, or take it out again."""
        doc = self.read(name)
        self._note_version(doc)  # where a crash came between, the catalog does not know it yet
        if pinned:
            catalog = self.read_catalog()
            others = [each for each in catalog.skills if each.pinned and each.name != name]
            size = sum(each.size for each in others) + len(split_front(doc.text)[1])
            if len(others) >= PINNED_MOST or size > PINNED_CHARACTERS:
                raise UsageError(
                    "EQUOTA",
                    f"{name} is too much to pin: each request carries what is pinned",
                    suggestion=f"at most {PINNED_MOST} skills are pinned, of together"
                    f" {PINNED_CHARACTERS:,} characters; a search finds it all the same",
                )

        def decide(value: bytes | None) -> tuple[bytes | None, Catalog]:
            before = self._decode_catalog(value)
            entry = before.find(name)
            if entry is None or entry.pinned == pinned:
                return None, before
            after = _replace_entry(before, name, replace(entry, pinned=pinned))
            return dumps(after), after

        catalog = update(self._kv, keys.skill_catalog(self.scope), decide)
        self._write_head(catalog)
        entry = catalog.find(name)
        if entry is None:
            raise Conflict(f"the skill {name} was removed meanwhile")
        return entry

    def require_room(self, packages: Mapping[str, SkillPackage]) -> None:
        """Raise `UsageError` EQUOTA unless there is room for these skills, by name."""
        catalog = self.read_catalog()
        known = {each.name: each for each in catalog.skills}
        if len(known.keys() | packages.keys()) > SKILLS_MOST:
            raise UsageError(
                "EQUOTA",
                f"the agent has {len(known)} skills already, of {SKILLS_MOST}",
                suggestion="remove one first",
            )
        for name, package in packages.items():
            skill = package.parse()
            pinned = name in known and known[name].pinned
            known[name] = replace(_describe(skill), files=len(package.files), pinned=pinned)
        if len(dumps(tuple(known.values()))) > CATALOG_BYTES:
            raise _too_long_together()
        sizes = {each.name: each.size for each in known.values() if each.pinned}
        changed = sizes.keys() & packages.keys()
        if changed and sum(sizes.values()) > PINNED_CHARACTERS:
            name = min(changed)
            hint = f"`uncaged skill unpin {name}` first, or make it shorter"
            message = f"{name} is pinned, and this version is too long for that"
            raise UsageError("EQUOTA", message, suggestion=hint)

    def _write_document(
        self, package: SkillPackage, name: str, *, by: str, why: str, expect: int | None
    ) -> Doc:
        """Write the files, then the version that names them."""
        text = package.text
        written = dict(package.files)
        if package.body != f"{clean_text(text).strip()}\n".encode():
            # the document has the text as it is read, and this the bytes as they came
            written[FILE] = package.body
        files = []
        for path, body in sorted(written.items()):
            digest = sha256(body).hexdigest()
            files.append(DocFile(path, digest, len(body)))
            with suppress(Conflict):  # another version has the same file
                self._kv.put(keys.skill_file(self.scope, digest), body, expect=ABSENT)
        versions = self._versions(name)
        return versions.write(
            self.scope,
            f"{PREFIX}{name}",
            text,
            by=by,
            why=why,
            expect=expect,
            files=tuple(files),
        )

    def _note_version(self, doc: Doc) -> None:
        """Put a version into the catalog, and write its head."""
        name = _name_of(doc)
        entry = _make_entry(doc) if doc.text else None

        def decide(value: bytes | None) -> tuple[bytes | None, Catalog]:
            before = self._decode_catalog(value)
            known = before.find(name)
            if known and known.version >= doc.version:
                return None, before
            if known is None and entry is None:
                return None, before
            if entry is None:
                after = _replace_entry(before, name, None)
            else:
                pinned = known.pinned if known else False
                after = _replace_entry(before, name, replace(entry, pinned=pinned))
            data = dumps(after)
            # others may have added skills since there was room
            if len(after.skills) > SKILLS_MOST or len(data) > CATALOG_BYTES + RACE_BYTES:
                raise _too_long_together()
            return data, after

        self._write_head(update(self._kv, keys.skill_catalog(self.scope), decide))

    def _write_head(self, catalog: Catalog) -> None:
        """Write the head of a catalog, unless that of a later one stands there."""
        entries = [each for each in catalog.skills if each.pinned]
        docs = self.read_many([each.name for each in entries])
        pinned = []
        for entry, doc in zip(entries, docs, strict=True):
            if doc and doc.text:
                text = split_front(doc.text)[1]
                pinned.append(PinnedSkill(entry.name, doc.version, text, entry.tools))
        head = SkillsHead(catalog.generation, len(catalog.skills), tuple(pinned))

        def decide(value: bytes | None) -> tuple[bytes | None, None]:
            try:
                before = HEAD.read(value) if value else None
            except ValueError:
                before = None
            if before and before.generation >= head.generation:
                return None, None
            return dumps(head), None

        update(self._kv, keys.skill_head(self.scope), decide)

    def _decode_catalog(self, value: bytes | None) -> Catalog:
        if value is None:
            return Catalog()
        try:
            return CATALOG.read(value)
        except ValueError:
            return self._rebuild_catalog()

    def _rebuild_catalog(self) -> Catalog:
        """Return a catalog of the skills as they are stored; nothing is pinned in it.

        Its generation, of the time, is beyond every one that this catalog can have had.
        """
        partition = keys.document(self.scope, PREFIX).partition
        entries = []
        for sort, item in scan_all(self._kv, partition, PREFIX, page=_PAGE):
            name = sort.removeprefix(PREFIX)
            doc = self._decode(name, item) if is_skill_name(name) else None
            if doc and doc.text:
                entries.append(_make_entry(doc))
        return Catalog(int(self._now()), tuple(entries[:SKILLS_MOST]))

    def _decode(self, name: str, item: Item | None) -> Doc | None:
        return decode_version(self.scope, f"{PREFIX}{name}", item.value) if item else None

    def _versions(self, name: str) -> Documents:
        """Return the versions of a skill, as a document."""
        caps = {f"{PREFIX}{name}": FILE_BYTES}
        return Documents(self._kv, self._agent, self._now, caps=caps)


def _name_of(doc: Doc) -> str:
    return doc.name.removeprefix(PREFIX)


def _make_entry(doc: Doc) -> SkillEntry:
    files = sum(each.path != FILE for each in doc.files)
    entry = _describe(parse_skill(doc.text))
    return replace(entry, version=doc.version, files=files, at=doc.at, by=doc.by)


def _describe(skill: Skill) -> SkillEntry:
    """Return what the catalog has of a skill whose version is not known yet."""
    tags = skill.metadata.get("tags", "")[:TAGS_CHARACTERS].split(",")
    return SkillEntry(
        skill.name,
        one_line(skill.description, DESCRIPTION_CHARACTERS),
        0,
        skill.tools,
        tuple(filter(None, map(str.strip, tags))),
        len(skill.instructions),
    )


def _too_long_together() -> UsageError:
    return UsageError(
        "EQUOTA",
        "the names and descriptions of all skills are too long together",
        suggestion="remove a skill first, or shorten descriptions",
    )


def _replace_entry(catalog: Catalog, name: str, entry: SkillEntry | None) -> Catalog:
    """Return the next generation of a catalog, with another entry or none for a skill."""
    others = [each for each in catalog.skills if each.name != name]
    skills = sorted((*others, *filter(None, [entry])), key=lambda each: each.name)
    return replace(catalog, generation=catalog.generation + 1, skills=tuple(skills))
