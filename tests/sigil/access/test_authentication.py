"""Authentication admits good tokens, slows down the others, and lets nobody lock others out."""

from __future__ import annotations

import pytest

from sigil.access.authentication import (
    BUCKETS_MOST,
    RATE,
    TRIES,
    Authenticator,
    RateLimiter,
    require_admin,
)
from sigil.access.tokens import TokenRequest, Tokens, new_token
from sigil.errors import Refused
from sigil.storage.kv.memory import MemoryKV
from tests.fakes.clock import Clock
from tests.sigil.access.test_tokens import code

ADMIN = "an-admin-token-of-some-length"


@pytest.fixture
def tokens(clock: Clock) -> Tokens:
    return Tokens(MemoryKV(clock), clock)


@pytest.fixture
def gate(tokens: Tokens, clock: Clock) -> Authenticator:
    return Authenticator(ADMIN, lambda: tokens, "main", RATE, clock)


def admitted(gate: Authenticator, token: str, address: str = "192.0.2.1") -> str:
    """The id of whoever the token lets in, or why it does not."""
    try:
        return gate.admit(f"Bearer {token}", address).id
    except Refused as problem:
        return problem.code


def test_the_gate_knows_the_admin_and_every_token(gate: Authenticator, tokens: Tokens) -> None:
    value, holder = tokens.create(TokenRequest("invoke"), "main")
    assert admitted(gate, ADMIN) == "admin"
    assert admitted(gate, value) == holder.id
    assert admitted(gate, f"  {value} ") == holder.id
    assert [
        admitted(gate, wrong)
        for wrong in ("", "x", ADMIN[:-1], ADMIN + "x", value[:-1], new_token(), "é", "\udcff")
    ] == ["EAUTH"] * 8
    assert code(lambda: gate.admit(ADMIN, "")) == "EAUTH"
    assert code(lambda: gate.admit(f"Basic {ADMIN}", "")) == "EAUTH"
    require_admin(gate.admit(f"bearer {ADMIN}", ""), "may")
    assert code(lambda: require_admin(holder, "may")) == "EPERM"


def test_an_empty_admin_token_closes_the_gate_for_all(tokens: Tokens) -> None:
    value, _ = tokens.create(TokenRequest("invoke"), "main")
    gate = Authenticator("", lambda: tokens)
    assert [admitted(gate, token) for token in ("", value, "None")] == ["EAUTH"] * 3


def test_a_mistyped_token_asks_no_store() -> None:
    def opened() -> Tokens:
        raise AssertionError

    gate = Authenticator(ADMIN, opened)
    assert admitted(gate, new_token()[:-1] + "!") == "EAUTH"
    with pytest.raises(Refused, match="mistyped"):
        gate.admit(f"Bearer {new_token()[:-2]}00", "")


def test_each_token_has_a_rate_of_its_own_and_the_admin_none(
    gate: Authenticator, tokens: Tokens, clock: Clock
) -> None:
    (one, first), (other, second) = (
        tokens.create(TokenRequest("invoke"), "main") for _ in range(2)
    )
    assert {admitted(gate, one) for _ in range(RATE)} == {first.id}
    with pytest.raises(Refused) as caught:
        gate.admit(f"Bearer {one}", "")
    assert (caught.value.code, round(caught.value.retry_after, 3)) == ("ERATE", 0.1)
    assert admitted(gate, other) == second.id
    assert {admitted(gate, ADMIN) for _ in range(2 * RATE)} == {"admin"}
    clock.now += 0.11
    assert [admitted(gate, one) for _ in range(2)] == [first.id, "ERATE"]


def test_wrong_tokens_are_bounded_by_address_and_lock_nobody_out(
    gate: Authenticator, tokens: Tokens
) -> None:
    value, holder = tokens.create(TokenRequest("invoke"), "main")
    assert admitted(gate, value) == holder.id
    assert {admitted(gate, "wrong", "2001:db8::1") for _ in range(TRIES)} == {"EAUTH"}
    assert admitted(gate, "wrong", "2001:db8::2") == "ERATE"
    assert admitted(gate, new_token(), "2001:db8::ffff:1") == "ERATE"
    assert admitted(gate, "wrong", "2001:db8:0:1::1") == "EAUTH"
    assert admitted(gate, value, "2001:db8::1") == holder.id
    assert admitted(gate, ADMIN, "2001:db8::1") == "admin"
    assert {admitted(gate, "", "192.0.2.9") for _ in range(2 * TRIES)} == {"EAUTH"}


def test_whoever_has_used_up_the_tries_asks_no_store(tokens: Tokens, clock: Clock) -> None:
    asked: list[int] = []

    def opened() -> Tokens:
        asked.append(1)
        return tokens

    gate = Authenticator(ADMIN, opened, "main", RATE, clock)
    (value, holder), (other, second) = (
        tokens.create(TokenRequest("invoke"), "main") for _ in range(2)
    )
    assert admitted(gate, value) == holder.id
    codes = [admitted(gate, new_token()) for _ in range(300)]
    assert (codes.count("EAUTH"), codes.count("ERATE"), len(asked)) == (
        TRIES,
        300 - TRIES,
        TRIES + 1,
    )
    assert admitted(gate, value) == holder.id
    assert admitted(gate, other) == "ERATE"
    tokens.revoke(holder.id)
    assert [admitted(gate, value) for _ in range(2)] == ["ERATE", "ERATE"]
    assert len(asked) == TRIES + 3
    clock.now += 1.1
    assert admitted(gate, other) == second.id


def test_a_short_admin_token_cannot_be_guessed_on_and_on(tokens: Tokens, clock: Clock) -> None:
    gate = Authenticator("hunter2", lambda: tokens, clock=clock)
    assert {admitted(gate, f"guess-{number}") for number in range(TRIES)} == {"EAUTH"}
    assert admitted(gate, "hunter2") == "ERATE"
    assert admitted(gate, "hunter2", "192.0.2.2") == "admin"
    clock.now += 1
    assert admitted(gate, "hunter2") == "admin"


def test_a_rate_remembers_a_bounded_number_of_keys(clock: Clock) -> None:
    rates = RateLimiter(1, clock)
    for number in range(BUCKETS_MOST + 10):
        assert rates.take(str(number)) == 0
    assert len(rates._buckets) == BUCKETS_MOST
    assert rates.take(str(BUCKETS_MOST + 9)) == 60
