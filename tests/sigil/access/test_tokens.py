"""Access tokens are shown once, stored as a hash and ended at once; scopes mean one thing."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sigil.access.tokens import Scope, TokenRequest, Tokens, is_well_typed, new_token
from sigil.catalog.cursors import require_token_id
from sigil.errors import BackendError, SigilError, UsageError
from sigil.protocol import Caller, Ref, capability_of, is_full_name, is_name, tool_of
from sigil.storage.kv import KV, keys
from sigil.storage.kv.base import Expect, Key
from sigil.storage.kv.memory import MemoryKV
from tests.fakes.clock import Clock
from tests.sigil.storage.kv.processes import finish, start
from tests.sigil.stores import SHARED, Place, place, pytest_generate_tests
from tests.tables import each_row
from tests.threads import in_parallel

__all__ = ["place", "pytest_generate_tests"]


in_memory = pytest.mark.parametrize("place", ["memory"], indirect=True)
"""For what never reaches a store."""


@pytest.fixture
def kv(place: Place, clock: Clock) -> KV:
    return place.open(clock)


@pytest.fixture
def tokens(kv: KV, clock: Clock) -> Tokens:
    return Tokens(kv, clock)


def code(call: Callable[[], object]) -> str:
    with pytest.raises(SigilError) as caught:
        call()
    return caught.value.code


def test_a_token_is_long_random_and_tells_when_it_is_mistyped() -> None:
    several = {new_token() for _ in range(100)}
    assert len(several) == 100
    assert all(
        re.fullmatch(r"sgl_[0-9A-Za-z]{38}", token) and is_well_typed(token) for token in several
    )


@given(st.integers(0, 37), st.sampled_from("0aZ9_-é "))
def test_one_wrong_letter_is_told(place: int, letter: str) -> None:
    token = new_token()
    wrong = token[: 4 + place] + letter + token[5 + place :]
    assert is_well_typed(wrong) == (wrong == token)
    assert not is_well_typed(token[:-1])
    assert not is_well_typed(token + "0")


def test_the_store_never_holds_a_token(kv: KV, tokens: Tokens) -> None:
    value, holder = tokens.create(TokenRequest("invoke", "for the shop"), "main")
    tokens.find_holder(value)
    stored = [
        (sort, item.value) for place in ("token", "token-use") for sort, item in kv.scan(place)
    ]
    assert len(stored) == 2
    assert not [row for row in stored if value in f"{row}" or value[4:-6] in f"{row}"]
    assert tokens.find_holder(value) == holder
    assert "token" not in next(tokens.list())


def test_a_token_ends_at_its_time_and_is_listed_as_ended(clock: Clock, tokens: Tokens) -> None:
    value, holder = tokens.create(TokenRequest("invoke", seconds=60), "main")
    assert holder.expires == clock.now + 60
    clock.now += 59
    assert tokens.find_holder(value).id == holder.id
    clock.now += 1
    assert code(lambda: tokens.find_holder(value)) == "EAUTH"
    assert [row["expired"] for row in tokens.list()] == [True]
    clock.now += 31 * 86_400
    assert list(tokens.list()) == []


def test_a_revoked_token_is_dead_at_once(tokens: Tokens) -> None:
    value, holder = tokens.create(TokenRequest("deploy"), "main")
    tokens.revoke(holder.id)
    assert code(lambda: tokens.find_holder(value)) == "EAUTH"
    assert list(tokens.list()) == []
    assert code(lambda: tokens.revoke(holder.id)) == "ENOENT"


def test_a_name_revokes_only_when_it_is_one_tokens_alone(tokens: Tokens) -> None:
    for name in ("two", "two", "one"):
        tokens.create(TokenRequest("invoke", name), "main")
    assert code(lambda: tokens.revoke("two")) == "EINVAL"
    assert code(lambda: tokens.revoke("")) == "ENOENT"
    assert tokens.revoke("one").name == "one"


def test_a_use_is_written_at_most_once_a_minute_and_never_brings_a_token_back(
    clock: Clock, kv: KV, tokens: Tokens
) -> None:
    value, holder = tokens.create(TokenRequest("invoke"), "main")
    written = set()
    for _ in range(59):
        tokens.find_holder(value)
        written.update(item.version for _, item in kv.scan("token-use"))
        clock.now += 1
    assert len(written) == 1
    clock.now += 1
    tokens.find_holder(value)
    assert [row["last_use"] for row in tokens.list()] == [clock.now]
    tokens.revoke(holder.id)
    kv.put(keys.token_use("0" * 64), b"1")
    assert list(tokens.list()) == []


def test_two_who_show_one_token_at_once_are_both_let_in(place: Place, clock: Clock) -> None:
    first, other = Tokens(place.open(clock), clock), Tokens(place.open(clock), clock)
    value, holder = first.create(TokenRequest("invoke"), "main")
    assert in_parallel(2, lambda number: (first, other)[number].find_holder(value)) == [
        holder,
        holder,
    ]
    assert [(row["id"], row["last_use"]) for row in other.list()] == [(holder.id, clock.now)]


def test_tokens_made_at_once_are_all_there(place: Place, clock: Clock) -> None:
    several = [Tokens(place.open(clock), clock) for _ in range(3)]
    made = in_parallel(
        3, lambda number: several[number].create(TokenRequest("invoke", f"of {number}"), "main")
    )
    assert {row["id"] for row in several[0].list()} == {holder.id for _, holder in made}
    assert [several[2].find_holder(value) for value, _ in made] == [holder for _, holder in made]


SHOWS = """
from sigil.errors import Refused, UsageError
from sigil.settings import Settings
from sigil.access.tokens import Tokens
from sigil.wiring import open_stores
url, value, id = sys.argv[1:]
tokens = Tokens(open_stores(Settings(store=url)).kv, clock=iter(range(0, 10**6, 100)).__next__)
try:
    for turn in range(1000):
        tokens.find_holder(value)
        if turn == 5:
            tokens.revoke(id)
except (Refused, UsageError) as problem:
    print(problem.code)
"""


@pytest.mark.usefixtures("fork_commands")
@pytest.mark.parametrize("place", SHARED, indirect=True)
def test_a_token_that_one_process_revokes_is_refused_to_all_and_leaves_nothing(
    place: Place,
) -> None:
    kv = place.open()
    value, holder = Tokens(kv).create(TokenRequest("invoke"), "main")
    said = finish([start(SHOWS, place.url, value, holder.id) for _ in range(2)])
    assert {each.strip() for each in said} <= {"EAUTH", "ENOENT"}
    assert [kv.scan(partition) for partition in ("token", "token-use")] == [[], []]


class Late(MemoryKV):
    """A store in which something happens just before the use of a token is written."""

    then: Callable[[], object] | None = None

    def put(
        self, key: Key, value: bytes, *, expect: Expect = None, ttl: float | None = None
    ) -> str:
        if self.then and key.partition == "token-use":
            then, self.then = self.then, None
            then()
        return super().put(key, value, expect=expect, ttl=ttl)


def test_of_a_token_that_is_revoked_while_it_is_used_nothing_stays(clock: Clock) -> None:
    kv = Late(clock)
    tokens = Tokens(kv, clock)
    value, holder = tokens.create(TokenRequest("invoke"), "main")
    kv.then = lambda: tokens.revoke(holder.id)
    tokens.find_holder(value)
    assert code(lambda: tokens.find_holder(value)) == "EAUTH"
    assert kv.scan("token-use") == []


def test_a_list_goes_on_behind_a_token_that_is_gone(kv: KV, tokens: Tokens) -> None:
    ids = sorted(tokens.create(TokenRequest("invoke"), "main")[1].id for _ in range(6))
    for gone in (ids[0], ids[2]):
        tokens.revoke(gone)
    later = tokens.create(TokenRequest("invoke"), "main")[1].id
    assert [row["id"] for row in tokens.list(ids[2])] == sorted(
        [*ids[3:], *([later] if later > ids[2] else [])]
    )
    assert [row["id"] for row in tokens.list(ids[5])] == ([later] if later > ids[5] else [])


@pytest.mark.parametrize(
    "after", ["2", "0123456789AB", "0123456789ab\n", "0123456789ab~", "é" * 12]
)
def test_a_place_that_is_no_tokens_id_is_refused(after: str) -> None:
    assert code(lambda: require_token_id(after)) == "EINVAL"


def test_a_damaged_record_is_our_fault_and_lets_nobody_in(kv: KV, tokens: Tokens) -> None:
    value, _ = tokens.create(TokenRequest("invoke"), "main")
    sort, _ = kv.scan("token")[0]
    kv.put(keys.token(sort), b"{}")
    with pytest.raises(BackendError):
        tokens.find_holder(value)


@each_row(
    "text",
    [
        "run:*",
        "run:alice/*",
        "run:alice/encode",
        "deploy:alice/*",
        "deploy:a-b/c-1",
        "run:library/*",
    ],
)
def test_a_scope_reads_back_as_it_is_written(text: str) -> None:
    assert Scope.parse(text).text == text


@in_memory
@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "run",
            "run:",
            "*",
            "run:**",
            "run:alice",
            "run:alice/",
            "run:/x",
            "run:*/x",
            "run:*/*",
            "deploy:*",
            "deploy:library/*",
        ),
        *(
            "RUN:*",
            "run:alice/*/",
            "run:alice/a*",
            "run: *",
            "run:*\n",
            "run:älice/*",
            "read:*",
            "run:alice/x@1",
            "run:a/b/c",
            "run:a~1/*",
        ),
    ],
)
def test_what_is_no_scope_is_refused(text: str, tokens: Tokens) -> None:
    assert code(lambda: Scope.parse(text)) == "EINVAL"
    assert code(lambda: tokens.create(TokenRequest("deploy", scopes=(text,)), "main")) == "EINVAL"


@in_memory
@pytest.mark.parametrize(
    "wish",
    [
        TokenRequest("admin"),
        TokenRequest("owner"),
        TokenRequest("invoke", scopes=("deploy:main/*",)),
        TokenRequest("deploy", scopes=("deploy:bob/*",), namespace="alice"),
        TokenRequest("deploy", scopes=("deploy:bob/*", "deploy:alice/*")),
        TokenRequest("invoke", namespace="library"),
        TokenRequest("invoke", namespace="main~telegram"),
        TokenRequest("invoke", namespace="Main"),
        TokenRequest("invoke", seconds=0),
        TokenRequest("invoke", seconds=-1),
        TokenRequest("invoke", seconds=float("nan")),
        TokenRequest("invoke", seconds=1e12),
        TokenRequest("invoke", "two\nlines"),
        TokenRequest("invoke", "x" * 81),
        TokenRequest("invoke", scopes=("run:*",) * 51),
    ],
    ids=str,
)
def test_a_token_that_makes_no_sense_is_not_made(wish: TokenRequest, tokens: Tokens) -> None:
    with pytest.raises(UsageError):
        tokens.create(wish, "main")
    assert list(tokens.list()) == []


def test_the_namespace_is_given_or_what_the_scopes_name_or_the_agents(tokens: Tokens) -> None:
    places = [
        tokens.create(wish, "main")[1].namespace
        for wish in (
            TokenRequest("invoke"),
            TokenRequest("invoke", scopes=("run:alice/*", "run:library/*")),
            TokenRequest("invoke", scopes=("run:alice/*", "run:bob/x")),
            TokenRequest("invoke", scopes=("run:alice/*",), namespace="carol"),
            TokenRequest("deploy", scopes=("deploy:alice/x", "run:*")),
        )
    ]
    assert places == ["main", "alice", "main", "carol", "alice"]


def test_without_scopes_a_token_reaches_what_its_namespace_sees(tokens: Tokens) -> None:
    deploy, invoke = (tokens.create(TokenRequest(kind), "main")[1] for kind in ("deploy", "invoke"))
    assert (deploy.scopes, invoke.scopes) == (("deploy:main/*", "run:*"), ("run:*",))
    assert deploy.may_deploy("x")
    assert deploy.may_deploy("*")
    assert not invoke.may_deploy("x")
    assert deploy.to_caller() == Caller("main", token=deploy.id, deployer=f"id:{deploy.id}")


def test_a_narrow_token_reaches_nothing_else(tokens: Tokens) -> None:
    holder = tokens.create(
        TokenRequest("deploy", scopes=("deploy:alice/one", "run:library/encode")), "main"
    )[1]
    caller = holder.to_caller()
    assert (holder.may_deploy("one"), holder.may_deploy("two"), holder.may_deploy("*")) == (
        True,
        False,
        False,
    )
    reached = [
        caller.reaches(*place)
        for place in (
            ("alice", "one"),
            ("alice", "two"),
            ("library", "encode"),
            ("library", "hash"),
        )
    ]
    assert reached == [True, False, True, False]
    assert (caller.owner, caller.session, caller.author) == (False, "", "person")


NAMES = st.from_regex(r"[a-z][a-z0-9]{0,3}(-[a-z0-9]{1,3}){0,3}", fullmatch=True)


@given(NAMES, NAMES, NAMES)
def test_no_two_capabilities_share_a_tool(namespace: str, name: str, plain: str) -> None:
    full = f"{namespace}/{name}"
    assert is_full_name(full)
    assert capability_of(tool_of(full)) == full
    assert capability_of(tool_of(plain)) == plain
    assert tool_of(full) != tool_of(plain)
    assert Ref.parse(f"{full}@3") == Ref(name, 3, namespace=namespace)


@given(st.text("abc_-/", max_size=12))
def test_a_tool_names_at_most_one_capability(rest: str) -> None:
    name = capability_of(f"cap_{rest}")
    assert name is None or (
        tool_of(name) == f"cap_{rest}" and (is_name(name) or is_full_name(name))
    )


@each_row("text", ["/x", "x/", "a/b/c", "A/b", "a~b/c", "a/b@0", "a/b@", "a//b", "a/-b", "a@1/b"])
def test_what_names_nothing_is_refused(text: str) -> None:
    assert code(lambda: Ref.parse(text)) == "ENAME"


def test_a_full_name_has_to_fit_into_a_tool() -> None:
    assert is_full_name(f"abc/{'x' * 55}")
    assert not is_full_name(f"abc/{'x' * 56}")
