"""A guest may ask its host only for what was granted, and gets a clear refusal for the rest."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from sigil.sandbox.pool import Sandbox
from sigil.sandbox.program import Grants
from tests.sigil.sandbox.modules import CALL, TAKE, asking, data, guest, program, script
from tests.tables import each_row

ALL = Grants(clock=True, random=True, log=True)


def ask(sandbox: Sandbox, request: str, grants: Grants = ALL) -> Any:
    return json.loads(sandbox.run(program(asking(request)), b"{}", grants).output)


def test_a_granted_clock_tells_the_time(sandbox: Sandbox) -> None:
    assert abs(ask(sandbox, '{"op":"clock"}')["ok"] / 1000 - time.time()) < 60


def test_granted_entropy_is_as_long_as_asked_and_new_each_time(sandbox: Sandbox) -> None:
    drawn = [
        base64.b64decode(ask(sandbox, '{"op":"random","arg":{"n":48}}')["ok"]) for _ in range(2)
    ]
    assert [len(each) for each in drawn] == [48, 48]
    assert drawn[0] != drawn[1]


@each_row("argument", ["0", "65537", "-1", "1.5", "true", '"8"', "null", "1e400", "9" * 5000])
def test_entropy_of_an_odd_size_is_refused(argument: str, sandbox: Sandbox) -> None:
    answer = ask(sandbox, f'{{"op":"random","arg":{{"n":{argument}}}}}')
    assert answer is None or answer["error"]["code"] == "EINVAL"


def test_log_lines_come_back_clean_with_the_outcome(sandbox: Sandbox) -> None:
    request = json.dumps(
        {"op": "log", "arg": {"level": "warn", "text": "two\nlines \u202eand\x1b[31m" + "x" * 5000}}
    )
    outcome = sandbox.run(program(asking(request)), b"{}", ALL)
    assert len(outcome.logs) == 1
    assert outcome.logs[0].startswith("warn: two lines  and [31mxxx")
    assert len(outcome.logs[0]) == 1000


def test_a_runner_that_can_open_no_file_any_more_answers_its_first_request(
    opened: Callable[..., Sandbox],
) -> None:
    sandbox = opened()
    for first in (script("return 1"), program(guest())):
        sandbox.run(first, b"{}")
        logging = script("console.log('heard'); return Math.random() < 1")
        outcome = sandbox.run(logging, b"{}", ALL)
        assert (outcome.output, outcome.logs) == (b"true", ("heard",))
    assert sandbox.stats()["killed"] == 0


def test_a_hundred_log_lines_are_kept(sandbox: Sandbox) -> None:
    request = '{"op":"log","arg":{"level":"info","text":"again"}}'
    module = guest(
        f"""(local $i i32) (loop $l (drop (call $call (i32.const 4096) (i32.const {len(request)})))
            (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 150))))
            (global.set $n (local.get 1)) (i32.const 0)""",
        imports=CALL + TAKE,
        more=data(4096, request),
    )
    assert sandbox.run(program(module), b"{}", ALL).logs == ("again",) * 100


@pytest.mark.parametrize("operation", ["clock", "random", "log"])
def test_what_is_not_declared_is_refused_with_the_way_out(operation: str, sandbox: Sandbox) -> None:
    answer = ask(sandbox, f'{{"op":"{operation}","arg":{{"n":1,"text":"x"}}}}', Grants())
    assert answer == {
        "error": {
            "code": "EPERM",
            "message": f"{operation} is not declared: add permissions.{operation} to the manifest",
        }
    }


@pytest.mark.parametrize(
    ("operation", "permission"),
    [("http.fetch", "http"), ("kv.get", "kv"), ("kv.delete", "kv"), ("call", "call")],
)
def test_what_leaves_the_sandbox_is_refused_unless_it_is_declared(
    operation: str, permission: str, sandbox: Sandbox
) -> None:
    request = f'{{"op":"{operation}","arg":{{}}}}'
    message = f"{operation} is not declared: add permissions.{permission} to the manifest"
    assert ask(sandbox, request)["error"] == {"code": "EPERM", "message": message}


def test_an_unknown_operation_is_refused_in_one_clean_line(sandbox: Sandbox) -> None:
    assert ask(sandbox, '{"op":"process\\n\\u202eexec"}')["error"] == {
        "code": "EINVAL",
        "message": "no such operation: process exec",
    }


NOT_REQUESTS = (
    "",
    "nonsense",
    "[]",
    '"clock"',
    "{}",
    '{"op":1}',
    '{"op":"clock","extra":1}',
    '{"op":NaN}',
    "[" * 100_000,
    # deeper than any version of Python reads: 3.11 reads 1,000 levels, 3.13 10,000
    '{"op":"clock","arg":' + "[" * 50_000 + "]" * 50_000 + "}",
    '{"op":"clock","arg":' + "9" * 5000 + "}",
)


@pytest.mark.parametrize("text", NOT_REQUESTS)
def test_what_is_not_a_request_is_answered_with_minus_one(text: str, sandbox: Sandbox) -> None:
    assert ask(sandbox, text) is None


def test_a_request_that_is_not_utf8_is_none(sandbox: Sandbox) -> None:
    module = asking('{"op":"XX"}').replace(b"XX", b"\xff\xfe")
    assert sandbox.run(program(module), b"{}").output == b"null"


def test_a_request_outside_the_memory_is_none(sandbox: Sandbox) -> None:
    module = guest(
        "(global.set $n (local.get 1)) (i32.sub (i32.const -1) (call $call (i32.const -8)"
        " (i32.const 100)))",
        imports=CALL,
    )
    assert sandbox.run(program(module), b"1").output == b"1"


def test_an_answer_can_be_taken_once(sandbox: Sandbox) -> None:
    module = guest(
        """(global.set $n (call $call (i32.const 4096) (i32.const 13))) (call $take (i32.const 8192))
           (memory.fill (i32.const 8192) (i32.const 32) (i32.const 100)) (call $take (i32.const 8192))
           (i32.store8 (i32.const 8192) (i32.const 49)) (i32.const 0)""",
        imports=CALL + TAKE,
        out_ptr="(i32.const 8192)",
        more=data(4096, '{"op":"nope"}'),
    )
    assert sandbox.run(program(module), b"{}").output.strip() == b"1"
