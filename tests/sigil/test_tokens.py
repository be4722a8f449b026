"""Access tokens: shown once, kept as a hash, ended at once; scopes that mean one thing; the gate that asks for them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sigil.errors import BackendError, Refused, SigilError, UsageError
from sigil.gate import RATE, TRIES, Gate, demand_admin
from sigil.kv import keys
from sigil.kv.memory import MemoryKV
from sigil.protocol import Caller, Ref, capability_of, is_full_name, is_name, tool_of
from sigil.rates import BUCKETS_MOST, Rates
from sigil.scopes import Scope
from sigil.tokens import Tokens, Wish, is_well_typed, made

ADMIN = "an-admin-token-of-some-length"


@dataclass(slots=True)
class Clock:
    now: float = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class Counting(MemoryKV):
    """A store that counts what is written."""

    written = 0

    def put(self, *given: object, **options: object) -> str:
        self.written += 1
        return super().put(*given, **options)  # type: ignore[arg-type]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def kv(clock: Clock) -> Counting:
    return Counting(clock)


@pytest.fixture
def tokens(kv: Counting, clock: Clock) -> Tokens:
    return Tokens(kv, clock)


@pytest.fixture
def gate(tokens: Tokens, clock: Clock) -> Gate:
    return Gate(ADMIN, lambda: tokens, "main", RATE, clock)


def code(call: Callable[[], object]) -> str:
    with pytest.raises(SigilError) as caught:
        call()
    return caught.value.code


def admitted(gate: Gate, token: str, address: str = "192.0.2.1") -> str:
    """The id of whoever the token lets in, or why it does not."""
    try:
        return gate.admit(f"Bearer {token}", address).id
    except Refused as problem:
        return problem.code


def test_a_token_is_long_random_and_tells_when_it_is_mistyped() -> None:
    several = {made() for _ in range(100)}
    assert len(several) == 100
    assert all(re.fullmatch(r"sgl_[0-9A-Za-z]{38}", token) and is_well_typed(token) for token in several)


@given(st.integers(0, 37), st.sampled_from("0aZ9_-é "))
def test_one_wrong_letter_is_told(place: int, letter: str) -> None:
    token = made()
    wrong = token[: 4 + place] + letter + token[5 + place :]
    assert is_well_typed(wrong) == (wrong == token)
    assert not is_well_typed(token[:-1])
    assert not is_well_typed(token + "0")


def test_the_store_never_holds_a_token(kv: Counting, tokens: Tokens) -> None:
    value, holder = tokens.create(Wish("invoke", "for the shop"), "main")
    tokens.holder(value)
    stored = [(sort, item.value) for place in ("token", "token-use") for sort, item in kv.scan(place)]
    assert len(stored) == 2
    assert not [row for row in stored if value in f"{row}" or value[4:-6] in f"{row}"]
    assert tokens.holder(value) == holder
    assert "token" not in next(tokens.list())


def test_a_token_ends_at_its_time_and_is_listed_as_ended(clock: Clock, tokens: Tokens) -> None:
    value, holder = tokens.create(Wish("invoke", seconds=60), "main")
    assert holder.expires == clock.now + 60
    clock.now += 59
    assert tokens.holder(value).id == holder.id
    clock.now += 1
    assert code(lambda: tokens.holder(value)) == "EAUTH"
    assert [row["expired"] for row in tokens.list()] == [True]
    clock.now += 31 * 86_400
    assert list(tokens.list()) == []


def test_a_revoked_token_is_dead_at_once(tokens: Tokens) -> None:
    value, holder = tokens.create(Wish("deploy"), "main")
    tokens.revoke(holder.id)
    assert code(lambda: tokens.holder(value)) == "EAUTH"
    assert list(tokens.list()) == []
    assert code(lambda: tokens.revoke(holder.id)) == "ENOENT"


def test_a_name_revokes_only_when_it_is_one_tokens_alone(tokens: Tokens) -> None:
    for name in ("two", "two", "one"):
        tokens.create(Wish("invoke", name), "main")
    assert code(lambda: tokens.revoke("two")) == "EINVAL"
    assert code(lambda: tokens.revoke("")) == "ENOENT"
    assert tokens.revoke("one").name == "one"


def test_a_use_is_written_at_most_once_a_minute_and_never_brings_a_token_back(clock: Clock, kv: Counting, tokens: Tokens) -> None:
    value, holder = tokens.create(Wish("invoke"), "main")
    before = kv.written
    for _ in range(59):
        tokens.holder(value)
        clock.now += 1
    assert kv.written == before + 1
    clock.now += 1
    tokens.holder(value)
    assert [row["last_use"] for row in tokens.list()] == [clock.now]
    tokens.revoke(holder.id)
    kv.put(keys.token_use("0" * 64), b"1")
    assert list(tokens.list()) == []


def test_a_damaged_record_is_our_fault_and_lets_nobody_in(kv: Counting, tokens: Tokens) -> None:
    value, _ = tokens.create(Wish("invoke"), "main")
    sort, _ = kv.scan("token")[0]
    kv.put(keys.token(sort), b"{}")
    with pytest.raises(BackendError):
        tokens.holder(value)


@pytest.mark.parametrize("text", ["run:*", "run:alice/*", "run:alice/encode", "deploy:alice/*", "deploy:a-b/c-1", "run:library/*"])
def test_a_scope_reads_back_as_it_is_written(text: str) -> None:
    assert Scope.parse(text).text == text


@pytest.mark.parametrize(
    "text",
    [
        *("", "run", "run:", "*", "run:**", "run:alice", "run:alice/", "run:/x", "run:*/x", "run:*/*", "deploy:*", "deploy:library/*"),
        *("RUN:*", "run:alice/*/", "run:alice/a*", "run: *", "run:*\n", "run:älice/*", "read:*", "run:alice/x@1", "run:a/b/c", "run:a~1/*"),
    ],
)
def test_what_is_no_scope_is_refused(text: str, tokens: Tokens) -> None:
    assert code(lambda: Scope.parse(text)) == "EINVAL"
    assert code(lambda: tokens.create(Wish("deploy", scopes=(text,)), "main")) == "EINVAL"


@pytest.mark.parametrize(
    "wish",
    [
        Wish("admin"),
        Wish("owner"),
        Wish("invoke", scopes=("deploy:main/*",)),
        Wish("deploy", scopes=("deploy:bob/*",), namespace="alice"),
        Wish("deploy", scopes=("deploy:bob/*", "deploy:alice/*")),
        Wish("invoke", namespace="library"),
        Wish("invoke", namespace="main~telegram"),
        Wish("invoke", namespace="Main"),
        Wish("invoke", seconds=0),
        Wish("invoke", seconds=-1),
        Wish("invoke", seconds=float("nan")),
        Wish("invoke", seconds=1e12),
        Wish("invoke", "two\nlines"),
        Wish("invoke", "x" * 81),
        Wish("invoke", scopes=("run:*",) * 51),
    ],
    ids=str,
)
def test_a_token_that_makes_no_sense_is_not_made(wish: Wish, tokens: Tokens) -> None:
    with pytest.raises(UsageError):
        tokens.create(wish, "main")
    assert list(tokens.list()) == []


def test_the_namespace_is_given_or_what_the_scopes_name_or_the_agents(tokens: Tokens) -> None:
    places = [
        tokens.create(wish, "main")[1].namespace
        for wish in (
            Wish("invoke"),
            Wish("invoke", scopes=("run:alice/*", "run:library/*")),
            Wish("invoke", scopes=("run:alice/*", "run:bob/x")),
            Wish("invoke", scopes=("run:alice/*",), namespace="carol"),
            Wish("deploy", scopes=("deploy:alice/x", "run:*")),
        )
    ]
    assert places == ["main", "alice", "main", "carol", "alice"]


def test_without_scopes_a_token_reaches_what_its_namespace_sees(tokens: Tokens) -> None:
    deploy, invoke = (tokens.create(Wish(kind), "main")[1] for kind in ("deploy", "invoke"))
    assert (deploy.scopes, invoke.scopes) == (("deploy:main/*", "run:*"), ("run:*",))
    assert deploy.may_deploy("x")
    assert deploy.may_deploy("*")
    assert not invoke.may_deploy("x")
    assert deploy.caller() == Caller("main", token=deploy.id)


def test_a_narrow_token_reaches_nothing_else(tokens: Tokens) -> None:
    holder = tokens.create(Wish("deploy", scopes=("deploy:alice/one", "run:library/encode")), "main")[1]
    caller = holder.caller()
    assert (holder.may_deploy("one"), holder.may_deploy("two"), holder.may_deploy("*")) == (True, False, False)
    reached = [caller.reaches(*place) for place in (("alice", "one"), ("alice", "two"), ("library", "encode"), ("library", "hash"))]
    assert reached == [True, False, True, False]
    assert (caller.owner, caller.session, caller.author) == (False, "", "person")


def test_the_gate_knows_the_admin_and_every_token(gate: Gate, tokens: Tokens) -> None:
    value, holder = tokens.create(Wish("invoke"), "main")
    assert admitted(gate, ADMIN) == "admin"
    assert admitted(gate, value) == holder.id
    assert admitted(gate, f"  {value} ") == holder.id
    assert [admitted(gate, wrong) for wrong in ("", "x", ADMIN[:-1], ADMIN + "x", value[:-1], made(), "é", "\udcff")] == ["EAUTH"] * 8
    assert code(lambda: gate.admit(ADMIN, "")) == "EAUTH"
    assert code(lambda: gate.admit(f"Basic {ADMIN}", "")) == "EAUTH"
    demand_admin(gate.admit(f"bearer {ADMIN}", ""), "may")
    assert code(lambda: demand_admin(holder, "may")) == "EPERM"


def test_an_empty_admin_token_closes_the_gate_for_all(tokens: Tokens) -> None:
    value, _ = tokens.create(Wish("invoke"), "main")
    gate = Gate("", lambda: tokens)
    assert [admitted(gate, token) for token in ("", value, "None")] == ["EAUTH"] * 3


def test_a_mistyped_token_asks_no_store() -> None:
    def opened() -> Tokens:
        raise AssertionError

    gate = Gate(ADMIN, opened)
    assert admitted(gate, made()[:-1] + "!") == "EAUTH"
    with pytest.raises(Refused, match="mistyped"):
        gate.admit(f"Bearer {made()[:-2]}00", "")


def test_each_token_has_a_rate_of_its_own_and_the_admin_none(gate: Gate, tokens: Tokens, clock: Clock) -> None:
    (one, first), (other, second) = (tokens.create(Wish("invoke"), "main") for _ in range(2))
    assert {admitted(gate, one) for _ in range(RATE)} == {first.id}
    with pytest.raises(Refused) as caught:
        gate.admit(f"Bearer {one}", "")
    assert (caught.value.code, round(caught.value.retry_after, 3)) == ("ERATE", 0.1)
    assert admitted(gate, other) == second.id
    assert {admitted(gate, ADMIN) for _ in range(2 * RATE)} == {"admin"}
    clock.now += 0.11
    assert [admitted(gate, one) for _ in range(2)] == [first.id, "ERATE"]


def test_wrong_tokens_are_bounded_by_address_and_lock_nobody_out(gate: Gate, tokens: Tokens) -> None:
    value, holder = tokens.create(Wish("invoke"), "main")
    assert {admitted(gate, "wrong", "2001:db8::1") for _ in range(TRIES)} == {"EAUTH"}
    assert admitted(gate, "wrong", "2001:db8::2") == "ERATE"
    assert admitted(gate, made(), "2001:db8::ffff:1") == "ERATE"
    assert admitted(gate, "wrong", "2001:db8:0:1::1") == "EAUTH"
    assert admitted(gate, value, "2001:db8::1") == holder.id
    assert admitted(gate, ADMIN, "2001:db8::1") == "admin"
    assert {admitted(gate, "", "192.0.2.9") for _ in range(2 * TRIES)} == {"EAUTH"}


def test_a_short_admin_token_cannot_be_guessed_on_and_on(tokens: Tokens, clock: Clock) -> None:
    gate = Gate("hunter2", lambda: tokens, clock=clock)
    assert {admitted(gate, f"guess-{number}") for number in range(TRIES)} == {"EAUTH"}
    assert admitted(gate, "hunter2") == "ERATE"
    assert admitted(gate, "hunter2", "192.0.2.2") == "admin"
    clock.now += 1
    assert admitted(gate, "hunter2") == "admin"


def test_a_rate_remembers_a_bounded_number_of_keys(clock: Clock) -> None:
    rates = Rates(1, clock)
    for number in range(BUCKETS_MOST + 10):
        assert rates.take(str(number)) == 0
    assert len(rates._buckets) == BUCKETS_MOST
    assert rates.take(str(BUCKETS_MOST + 9)) == 60


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
    assert name is None or (tool_of(name) == f"cap_{rest}" and (is_name(name) or is_full_name(name)))


@pytest.mark.parametrize("text", ["/x", "x/", "a/b/c", "A/b", "a~b/c", "a/b@0", "a/b@", "a//b", "a/-b", "a@1/b"])
def test_what_names_nothing_is_refused(text: str) -> None:
    assert code(lambda: Ref.parse(text)) == "ENAME"


def test_a_full_name_has_to_fit_into_a_tool() -> None:
    assert is_full_name(f"abc/{'x' * 55}")
    assert not is_full_name(f"abc/{'x' * 56}")
