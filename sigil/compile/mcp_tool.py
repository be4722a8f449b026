"""A tool of an MCP server as a module: its document in a data segment, and a way to put the input
behind it and ask the host.

It asks with `{"op": "mcp", "arg": {"document": …, "input": …}}`; what the host answers is its
output, or its failure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sigil.errors import UsageError
from sigil.run.mcp_client import document

if TYPE_CHECKING:
    from sigil.manifest.package import Package

PAGE, BEGIN, INPUT_BYTES = 65_536, 1_024, 1 << 20

_MODULE = """\
(module
  (import "sigil" "call" (func $call (param i32 i32) (result i32)))
  (import "sigil" "take" (func $take (param i32)))
  (memory (export "memory") {pages})
  (data (i32.const {begin}) "{head}")
  (global $at (mut i32) (i32.const 0))
  (global $len (mut i32) (i32.const 0))

  ;; room right behind the document; 0 when there is none
  (func (export "sigil_alloc") (param $len i32) (result i32)
    (if (i32.gt_u (local.get $len) (i32.const {most})) (then (return (i32.const 0))))
    (if (i32.eqz (call $reach (i32.add (i32.const {room}) (local.get $len)))) (then (return (i32.const 0))))
    (i32.const {room}))

  ;; memory up to `end` and two bytes more
  (func $reach (param $end i32) (result i32)
    (local $pages i32)
    (local.set $pages (i32.sub (i32.add (i32.shr_u (local.get $end) (i32.const 16)) (i32.const 2)) (memory.size)))
    (if (i32.le_s (local.get $pages) (i32.const 0)) (then (return (i32.const 1))))
    (i32.ne (memory.grow (local.get $pages)) (i32.const -1)))

  (func (export "sigil_run") (param $input i32) (param $size i32) (result i32)
    (local $end i32)
    (local $count i32)
    (local.set $end (i32.add (local.get $input) (local.get $size)))
    (i32.store16 (local.get $end) (i32.const 0x7d7d)) ;; }}}}
    (local.set $end (i32.add (local.get $end) (i32.const 2)))
    (local.set $count (call $call (i32.const {begin}) (i32.sub (local.get $end) (i32.const {begin}))))
    (if (i32.lt_s (local.get $count) (i32.const 8)) (then (unreachable)))
    (if (i32.eqz (call $reach (i32.add (local.get $end) (local.get $count)))) (then (unreachable)))
    (call $take (local.get $end))
    (if (i32.eq (i32.load8_u offset=2 (local.get $end)) (i32.const 0x6f)) ;; {{"ok":…}}
      (then
        (global.set $at (i32.add (local.get $end) (i32.const 6)))
        (global.set $len (i32.sub (local.get $count) (i32.const 7)))
        (return (i32.const 0))))
    (global.set $at (i32.add (local.get $end) (i32.const 9))) ;; {{"error":…}}
    (global.set $len (i32.sub (local.get $count) (i32.const 10)))
    (i32.const 1))

  (func (export "sigil_out_ptr") (result i32) (global.get $at))
  (func (export "sigil_out_len") (result i32) (global.get $len)))
"""


def write_module(package: Package) -> bytes:
    """The module of a package as WAT; `UsageError` EMANIFEST when its code is no document, or asks
    for something else than it declares.
    """
    try:
        wanted = document.read(package.code)
    except UsageError as problem:
        problem.source = problem.source or package.manifest.name
        raise
    _require_declared(package, wanted)
    head = b'{"op":"mcp","arg":{"document":' + wanted.code + b',"input":'
    room = BEGIN + len(head)
    pages = (room + PAGE) // PAGE + 1
    return _MODULE.format(
        pages=pages, begin=BEGIN, head=_escaped(head), room=room, most=INPUT_BYTES
    ).encode()


def _require_declared(package: Package, wanted: document.ServerToolDocument) -> None:
    """What it may do is what it says: nothing less, so that a grant is all that it waits for, and
    nothing more.
    """
    permissions, server = package.manifest.permissions, wanted.server
    declared = {"http": permissions.http, "secrets": permissions.secrets, "mcp": permissions.mcp}
    asked = {"http": server.http, "secrets": server.secrets, "mcp": server.mcp}
    odd = next((field for field, texts in declared.items() if tuple(texts) != asked[field]), None)
    if odd or permissions.call or permissions.kv or package.manifest.requires:
        shown = (
            f"permissions.{odd} has to be {list(asked[odd])}"
            if odd
            else "a tool of an MCP server has no other permissions"
        )
        raise UsageError(
            "EMANIFEST",
            shown,
            source=package.manifest.name,
            suggestion="`sigil mcp add` writes them",
        )


def _escaped(data: bytes) -> str:
    return "".join(f"\\{byte:02x}" for byte in data)
