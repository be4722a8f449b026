"""Makes a module of an MCP server's tool: the tool's document is in a data segment, and the code puts
the input behind it and asks the host.

The request is `{"op": "mcp", "arg": {"document": …, "input": …}}`; the host's answer is the module's
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

  ;; the address right behind the document; 0 when the input is too long
  (func (export "sigil_alloc") (param $len i32) (result i32)
    (if (i32.gt_u (local.get $len) (i32.const {most})) (then (return (i32.const 0))))
    (if (i32.eqz (call $reach (i32.add (i32.const {input}) (local.get $len)))) (then (return (i32.const 0))))
    (i32.const {input}))

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
    """Return the module of a package as WAT; `UsageError` EMANIFEST when its code is no document, or
    its permissions are not those that the document needs.
    """
    try:
        tool = document.read_document(package.code)
    except UsageError as problem:
        problem.source = problem.source or package.manifest.name
        raise
    _require_same_permissions(package, tool)
    head = b'{"op":"mcp","arg":{"document":' + tool.code + b',"input":'
    input_address = BEGIN + len(head)
    text = _MODULE.format(
        pages=(input_address + PAGE) // PAGE + 1,
        begin=BEGIN,
        head="".join(f"\\{byte:02x}" for byte in head),
        input=input_address,
        most=INPUT_BYTES,
    )
    return text.encode()


def _require_same_permissions(package: Package, tool: document.ServerToolDocument) -> None:
    """Refuse a manifest whose permissions differ from the document's: with fewer, a grant would not
    be all that it waits for, and with more, it could do more than its tool.
    """
    permissions = package.manifest.permissions
    declared = {"http": permissions.http, "secrets": permissions.secrets, "mcp": permissions.mcp}
    server = tool.server
    needed = {"http": server.http, "secrets": server.secrets, "mcp": server.mcp}
    problem = ""
    for field, texts in declared.items():
        if tuple(texts) != needed[field]:
            problem = f"permissions.{field} has to be {list(needed[field])}"
            break
    others = (permissions.call, permissions.kv, permissions.web, package.manifest.requires)
    if not problem and any(others):
        problem = "a tool of an MCP server has no other permissions"
    if problem:
        raise UsageError(
            "EMANIFEST",
            problem,
            source=package.manifest.name,
            suggestion="`sigil mcp add` writes them",
        )
