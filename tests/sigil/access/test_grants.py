"""Grants and secrets lose nothing between two owners, in every store; lists turn page by page."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import pytest

from sigil.access.grant_admin import GrantAdmin
from sigil.access.grants import VERSIONS_MOST, Grant, GrantStore
from sigil.access.secret_store import SecretStore
from sigil.catalog.catalog import Catalog
from sigil.catalog.cursors import format_place, grant_place
from sigil.catalog.heads import Activation
from sigil.catalog.records import Record
from sigil.errors import Refused, UsageError
from sigil.manifest.model import Manifest
from sigil.protocol import LIBRARY, Caller, Json
from sigil.storage.kv import KV, Item, Key
from sigil.storage.kv.memory import MemoryKV
from tests.sigil.storage.kv.processes import finish, start
from tests.sigil.stores import SHARED, Place, place, pytest_generate_tests
from tests.tables import each_row
from tests.threads import in_parallel

__all__ = ["place", "pytest_generate_tests"]

OWNER = Caller("main", "telegram:1", owner=True)
MODEL = replace(OWNER, author="model")
HTTP = tuple(f"GET {name}.example.com/" for name in "abc")
ALL = frozenset(f"http:{text}" for text in HTTP)


@dataclass(frozen=True, slots=True)
class Desk:
    """Everything about grants over a store, as one process has it."""

    kv: KV
    catalog: Catalog = field(init=False)
    book: GrantStore = field(init=False)
    secrets: SecretStore = field(init=False)
    granting: GrantAdmin = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "catalog", Catalog(self.kv))
        object.__setattr__(self, "book", GrantStore(self.kv))
        object.__setattr__(self, "secrets", SecretStore(self.kv))
        object.__setattr__(self, "granting", GrantAdmin(self.catalog, self.book, self.secrets))

    def deploy(self, name: str, namespace: str = "main", http: tuple[str, ...] = HTTP) -> Record:
        """The next version of a capability that asks for these hosts."""
        head = self.catalog.load_head(namespace, name)
        made = record(name, (head.latest if head else 0) + 1, namespace, http)
        self.catalog.save_version(made, head, Activation(made.version, 0.0, "person", "deploy"))
        return made

    def remove(self, name: str, namespace: str = "main") -> None:
        head = self.catalog.load_head(namespace, name)
        if head and not head.removed:
            self.catalog.remove(head)


def record(
    name: str = "far", version: int = 1, namespace: str = "main", http: tuple[str, ...] = HTTP
) -> Record:
    manifest = Manifest.model_validate(
        {"name": name, "description": "It asks.", "permissions": {"http": http}}
    )
    return Record(
        namespace,
        name,
        version,
        f"sha256:{version:064x}",
        "js",
        "w",
        "s",
        manifest,
        "person",
        "",
        0.0,
    )


@pytest.fixture
def kv(place: Place) -> KV:
    return place.open()


@pytest.fixture
def desk(kv: KV) -> Desk:
    return Desk(kv)


class TestGrantbook:
    def test_what_is_granted_holds_for_one_version_until_it_is_revoked(self, kv: KV) -> None:
        book, one, two = GrantStore(kv, lambda: 7.0), record(), record(version=2)
        book.grant(one, ALL, "an owner")
        assert (book.granted_permissions(one), book.granted_permissions(two)) == (ALL, frozenset())
        assert book.list_grants("main", "far") == (
            Grant(one.digest, tuple(f"http:{text}" for text in HTTP), 7.0, "an owner"),
        )
        assert book.revoke("main", "far", f"http:{HTTP[0]}") == {f"http:{HTTP[0]}"}
        assert book.granted_permissions(one) == ALL - {f"http:{HTTP[0]}"}
        assert book.revoke("main", "far") == ALL - {f"http:{HTTP[0]}"}
        assert book.revoke("main", "far") == frozenset()
        assert book.list_grants("main", "far") == ()

    def test_grants_of_the_library_are_each_agents_own(self, kv: KV) -> None:
        book, shelf = GrantStore(kv), record(namespace=LIBRARY)
        book.grant(shelf, ALL, "an owner", "main")
        assert [book.granted_permissions(shelf, home) for home in ("main", "bob", LIBRARY)] == [
            ALL,
            frozenset(),
            frozenset(),
        ]
        assert [list(book.list_names(LIBRARY, home)) for home in ("main", "bob")] == [["far"], []]
        assert list(book.list_names("main")) == []

    def test_the_last_twenty_versions_keep_theirs(self, kv: KV) -> None:
        book = GrantStore(kv)
        for version in range(1, VERSIONS_MOST + 3):
            book.grant(record(version=version), ALL, "an owner")
        assert [grant.digest for grant in book.list_grants("main", "far")] == [
            record(version=n).digest for n in range(VERSIONS_MOST + 2, 2, -1)
        ]

    def test_an_owners_redeploy_takes_its_grants_along_and_nobody_elses_does(self, kv: KV) -> None:
        book, one, two, wide = (
            GrantStore(kv),
            record(http=HTTP[:2]),
            record(version=2, http=HTTP[:1]),
            record(version=3),
        )
        book.grant(one, ALL, "an owner")
        for caller in (MODEL, Caller("main", "telegram:9")):
            book.carry_over(one, two, caller)
        book.carry_over(one, wide, OWNER)
        assert [book.granted_permissions(each) for each in (two, wide)] == [frozenset()] * 2
        book.carry_over(one, two, OWNER)
        assert book.granted_permissions(two) == {f"http:{HTTP[0]}"}


class TestRaces:
    def test_two_grants_at_once_both_stand(self, place: Place) -> None:
        books = [GrantStore(place.open()) for _ in range(3)]
        in_parallel(
            3,
            lambda number: books[number].grant(record(version=number + 1), ALL, f"owner {number}"),
        )
        assert {grant.by for grant in books[0].list_grants("main", "far")} == {
            "owner 0",
            "owner 1",
            "owner 2",
        }

    @pytest.mark.usefixtures("fork_commands")
    @pytest.mark.parametrize("place", SHARED, indirect=True)
    def test_two_processes_that_grant_lose_nothing_of_each_other(self, place: Place) -> None:
        finish([start(GRANTS, place.url, first) for first in (1, 9)])
        grants = GrantStore(place.open()).list_grants("main", "far")
        assert sorted(grant.digest for grant in grants) == [
            record(version=version).digest for version in range(1, 17)
        ]

    @pytest.mark.parametrize("reads", [1, 2, 3])
    def test_what_is_granted_while_all_is_revoked_stands_whole_or_not_at_all(
        self, reads: int
    ) -> None:
        kv = Busy()
        book, one, two = GrantStore(kv), record(), record(version=2)
        book.grant(one, frozenset({f"http:{HTTP[0]}"}), "an owner")
        kv.after(reads, lambda: book.grant(two, ALL, "another"))
        book.revoke("main", "far")
        assert book.granted_permissions(one) == frozenset()
        assert book.granted_permissions(two) in (frozenset(), ALL)

    @pytest.mark.parametrize("reads", [1, 2, 3])
    def test_what_is_revoked_during_a_redeploy_does_not_come_along(self, reads: int) -> None:
        kv = Busy()
        book, one, two = GrantStore(kv), record(), record(version=2)
        book.grant(one, ALL, "an owner")
        kv.after(reads, lambda: book.revoke("main", "far"))
        book.carry_over(one, two, OWNER)
        kv.now()
        assert book.list_grants("main", "far") == ()

    def test_a_secret_that_two_set_at_once_is_one_of_both(self, place: Place) -> None:
        books = [SecretStore(place.open()) for _ in range(3)]
        in_parallel(2, lambda number: books[number].set("API_KEY", f"the value {number}", OWNER))
        assert books[2].read_value("main", "API_KEY") in ("the value 0", "the value 1")
        done = in_parallel(2, lambda number: books[number].remove("API_KEY", OWNER))
        assert {type(each) for each in done} <= {type(None), UsageError}
        assert not books[2].has_secret("main", "API_KEY")


class TestSecretbook:
    def test_a_secret_is_listed_without_its_value_and_forgotten(self, kv: KV) -> None:
        book = SecretStore(kv, lambda: 7.0)
        book.set("KEY", "hush-hush", OWNER)
        book.set("KEY", "hush-hush-hush", OWNER)
        book.set("KEY", "of-bob-alone", Caller("bob", owner=True))
        assert list(book.rows(OWNER)) == [{"secret": "KEY", "at": 7.0, "by": "telegram:1"}]
        assert [book.read_value(namespace, "KEY") for namespace in ("main", "bob", "carol")] == [
            "hush-hush-hush",
            "of-bob-alone",
            None,
        ]
        book.remove("KEY", OWNER)
        assert (book.has_secret("main", "KEY"), book.has_secret("bob", "KEY")) == (False, True)
        with pytest.raises(UsageError, match="ENOENT"):
            book.remove("KEY", OWNER)

    def test_the_longest_secret_fits_everywhere(self, kv: KV) -> None:
        book = SecretStore(kv)
        book.set("LONG", "語" * 8_192, OWNER)
        assert book.read_value("main", "LONG") == "語" * 8_192

    def test_only_an_owner_in_person_lists_or_changes_them(self, kv: KV) -> None:
        book = SecretStore(kv)
        for caller in (MODEL, Caller("main", "telegram:1")):
            for act in (
                lambda c: book.set("KEY", "hush-hush", c),
                book.rows,
                lambda c: book.remove("KEY", c),
            ):
                with pytest.raises(Refused, match="EPERM"):
                    act(caller)


class TestPages:
    """Of two rows at a time, while another process changes what is listed."""

    def test_grants_come_once_each_while_others_come_and_go(self, place: Place) -> None:
        desk, other, dice = Desk(place.open()), Desk(place.open()), random.Random(7)
        places = ("main~telegram:1", "main", LIBRARY)
        steady = [
            desk.deploy(f"s{number}", namespace) for number in range(4) for namespace in places
        ]
        for each in steady[::2]:
            desk.book.grant(
                each, frozenset(sorted(ALL)[: dice.randint(1, 3)]), "an owner", home(each)
            )

        def meddle() -> None:
            each, fleeting = dice.choice(steady), f"s{dice.randrange(4)}-{dice.randrange(3)}"
            for act in dice.sample(
                [
                    lambda: other.book.grant(each, ALL, "another", home(each)),
                    lambda: other.book.revoke(each.namespace, each.name, home=home(each)),
                    lambda: other.deploy(fleeting, each.namespace),
                    lambda: other.remove(fleeting, each.namespace),
                ],
                2,
            ):
                act()

        for _ in range(3):
            seen = [
                *turned(
                    lambda after: desk.granting.rows(OWNER, after),
                    lambda row: format_place(grant_place(row, OWNER)),
                    meddle,
                )
            ]
            keys = [
                (row["namespace"], row["capability"], row["digest"], row["state"]) for row in seen
            ]
            assert len(keys) == len(set(keys))
            assert {(each.namespace, each.name, each.digest) for each in steady} <= {
                key[:3] for key in keys
            }

    def test_secrets_come_once_each_while_others_come_and_go(self, place: Place) -> None:
        book, other, dice = SecretStore(place.open()), SecretStore(place.open()), random.Random(7)
        steady = {f"S{number}" for number in range(8)}
        for name in steady:
            book.set(name, "hush-hush", OWNER)

        def meddle() -> None:
            other.set(f"S{dice.randrange(8)}_{dice.randrange(3)}", "hush-hush", OWNER)
            gone = [row["secret"] for row in other.rows(OWNER) if "_" in row["secret"]]
            other.remove(dice.choice(gone), OWNER)

        seen = [
            row["secret"]
            for row in turned(
                lambda after: book.rows(OWNER, after), lambda row: row["secret"], meddle
            )
        ]
        assert len(seen) == len(set(seen))
        assert steady <= set(seen)

    def test_what_waits_in_chats_comes_behind_page_by_page(self, desk: Desk) -> None:
        chats = (
            "main~a",
            "main~slack:C1:T#2",
            "main~telegram:1",
            "main~telegram:1:2",
            "main~telegram:9",
            "main~語 x",
        )
        for number, namespace in enumerate((*chats, "main", "mainly~a", "bob~a")):
            desk.deploy("far", namespace)
            desk.deploy(f"n{number % 3}", namespace)
            desk.catalog.restart_log(namespace)
        rows = [
            *turned(
                lambda after: desk.granting.rows(OWNER, after),
                lambda row: format_place(grant_place(row, OWNER)),
                lambda: None,
            )
        ]
        assert [row["namespace"] for row in rows[:4]] == ["main~telegram:1"] * 2 + ["main"] * 2
        assert sorted(row["namespace"] for row in rows) == sorted(2 * [*chats, "main"])
        assert [row.get("chat") for row in rows] == [
            row["namespace"].partition("~")[2] or None for row in rows
        ]
        assert rows == list(desk.granting.rows(OWNER))

    def test_a_page_may_end_with_what_is_removed_before_the_next(self, desk: Desk) -> None:
        made = [desk.deploy(name) for name in ("a", "b", "c", "d")]
        desk.book.grant(made[3], ALL, "an owner")
        rows = list(desk.granting.rows(OWNER))
        assert [(row["capability"], row["state"]) for row in rows] == [
            ("a", "waits"),
            ("b", "waits"),
            ("c", "waits"),
            ("d", "stands"),
        ]
        after = format_place(grant_place(rows[1], OWNER))
        desk.remove("b")
        desk.remove("a")
        assert [row["capability"] for row in desk.granting.rows(OWNER, after)] == ["c", "d"]

    def test_what_was_partly_granted_or_is_gone_is_listed_as_it_stands(self, desk: Desk) -> None:
        old, new = desk.deploy("far"), desk.deploy("far", http=HTTP[:2])
        for each in (old, new):
            desk.book.grant(each, frozenset({f"http:{HTTP[0]}"}), "an owner")
        desk.deploy("gone")
        desk.remove("gone")
        rows = [
            (row["version"], row["state"], row["permissions"]) for row in desk.granting.rows(OWNER)
        ]
        kept, asked = f"http:{HTTP[0]}", f"http:{HTTP[1]}"
        assert rows == [(1, "stands", [kept]), (2, "waits", [asked]), (2, "stands", [kept])]
        desk.remove("far")
        assert [(row["version"], row["state"]) for row in desk.granting.rows(OWNER)] == [
            (None, "stands")
        ] * 2

    @each_row(
        "after",
        [
            "2",
            "0:far",
            "0:far:sha256:0:lies",
            "9:Far:sha256:0:waits",
            "0:far:sha256:0:waits\n",
            "é",
            "0::a:0:waits",
        ],
    )
    def test_a_place_that_no_page_ended_with_is_refused(self, after: str) -> None:
        kv = MemoryKV()
        with pytest.raises(UsageError, match="EINVAL"):
            Desk(kv).granting.rows(OWNER, after)
        with pytest.raises(UsageError, match="EINVAL"):
            SecretStore(kv).rows(OWNER, after)


GRANTS = """
from sigil.access.grants import GrantStore
from sigil.manifest.model import Manifest
from sigil.catalog.records import Record
from sigil.settings import Settings
from sigil.wiring import open_stores
url, first = sys.argv[1:]
manifest = Manifest.model_validate({"name": "far", "description": "It asks.", "permissions": {"http": ["GET a.example.com/"]}})
book = GrantStore(open_stores(Settings(store=url)).kv)
for number in range(int(first), int(first) + 8):
    made = Record("main", "far", number, f"sha256:{number:064x}", "js", "w", "s", manifest, "person", "", 0.0)
    book.grant(made, frozenset({"http:GET a.example.com/"}), "a process")
"""


class Busy(MemoryKV):
    """A store in which something else happens after so many reads."""

    left, then = 0, staticmethod(lambda: None)

    def after(self, reads: int, then: Callable[[], object]) -> None:
        self.left, self.then = reads, then  # type: ignore[assignment]

    def now(self) -> None:
        """Let it happen if it did not."""
        if self.left:
            self.left = 0
            self.then()

    def get(self, key: Key) -> Item | None:
        found = super().get(key)
        if self.left == 1:
            self.now()
        self.left = max(self.left - 1, 0)
        return found


def home(each: Record) -> str:
    return "main" if each.namespace == LIBRARY else each.namespace


def turned(
    rows: Callable[[str], Iterator[dict[str, Json]]],
    place_of: Callable[[dict[str, Json]], str],
    between: Callable[[], object],
) -> Iterator[dict[str, Json]]:
    """The rows of all pages."""
    after = ""
    while page := [row for row, _ in zip(rows(after), range(2), strict=False)]:
        yield from page
        after = place_of(page[-1])
        between()
