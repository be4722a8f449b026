"""What `sigil init` writes: a capability that works, small enough to be read."""

from __future__ import annotations

_MANIFEST = """\
[capability]
name = "{name}"
description = "{description}"
tags = ["example"]
examples = ["{example}"]

[build]
lang = "{lang}"
source = "main.{lang}"

[input]
type = "object"
required = ["text"]

[input.properties.text]
type = "string"
description = "{parameter}"

[[test]]
input = {{ text = "Ada" }}
output = {output}

[[test]]
input = {{}}
error = "EINVAL"
"""

_JS = """\
// The body of `async (input, env) => {…}`: return a string or anything that JSON can say.
// `input` has been checked against the schema. To fail, throw an error with a code.
if (!input.text.trim()) throw Object.assign(new Error("whom shall I greet?"), { code: "EINVAL" });
return `Hello, ${input.text.trim()}!`;
"""

_C = """\
// `answer` returns 0 when what was put is the answer. `sigil.h` says what there is to read the input and to write.
#include "sigil.h"

int answer(void)
{
    sigil_text text = sigil_get_text("text");
    if (!text.size) return sigil_fail("EINVAL", "whom shall I greet?");
    char *greeting = malloc(text.size + sizeof "Hello, !");
    if (!greeting) return sigil_fail("ENOMEM", "the name is too long");
    memcpy(greeting, "Hello, ", 7);
    memcpy(greeting + 7, text.at, text.size);
    greeting[7 + text.size] = '!';
    sigil_put_text(greeting, text.size + 8);
    return 0;
}
"""

_WAT = """\
;; The ABI sigil/1: JSON in, JSON out. This module answers what it is given.
(module
  (memory (export "memory") 17)
  (global $at (mut i32) (i32.const 0))
  (global $len (mut i32) (i32.const 0))

  ;; room for the input; 0 when there is none
  (func (export "sigil_alloc") (param $len i32) (result i32)
    (select (i32.const 1024) (i32.const 0) (i32.le_u (local.get $len) (i32.const 1048576))))

  ;; 0: the output is the answer; 1: it is a failure, {"code", "message"}
  (func (export "sigil_run") (param $at i32) (param $len i32) (result i32)
    (global.set $at (local.get $at))
    (global.set $len (local.get $len))
    (i32.const 0))

  (func (export "sigil_out_ptr") (result i32) (global.get $at))
  (func (export "sigil_out_len") (result i32) (global.get $len)))
"""

_README = """\
# {name}

{description}

    sigil test          # run the golden tests of sigil.toml here
    sigil deploy        # check, test and activate it
    sigil run {name} --arg text=Ada
"""

_GREETING = {
    "description": "Greet somebody by name.",
    "example": "greet Ada",
    "parameter": "Whom to greet.",
    "output": '"Hello, Ada!"',
}
_ECHO = {
    "description": "Give the input back as it came.",
    "example": "echo Ada",
    "parameter": "What to give back.",
    "output": '{ text = "Ada" }',
}


def files_for(name: str, lang: str) -> dict[str, str]:
    """The files of a new capability in `lang` (js, c or wat), by name."""
    words = _ECHO if lang == "wat" else _GREETING
    return {
        "sigil.toml": _MANIFEST.format(name=name, lang=lang, **words),
        f"main.{lang}": {"js": _JS, "c": _C, "wat": _WAT}[lang],
        "README.md": _README.format(name=name, description=words["description"]),
    }
