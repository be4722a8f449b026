"""Random source text: JavaScript, WAT and C from pieces that each mean something."""

from __future__ import annotations

from random import Random

_JS = """
return|throw|new|function|=>|async|await|yield|class|{|}|(|)|[|]|;|,|.|?.|...|=|==|===|+|-|*|**|/|%|<<|>>>|&|\\||^|~|!|??|?|:|`
${|}`|'|"|/*|*/|//|\n
input|env|globalThis|this|null|undefined|NaN|0|1|-1|1e308|0n|2n**64n|'x'|"\\ud800"|`t`|/(a+)+$/|/./u|Symbol.iterator|__proto__
constructor|prototype
for|while|do|if|else|try|catch|finally|switch|case|default|break|continue|let|const|var|of|in|typeof|void|delete|instanceof|with
import|export|eval
Array(1e9)|'a'.repeat(1e6)|new Uint8Array(1e8)|JSON.parse|JSON.stringify|Object.defineProperty|Proxy|Reflect.ownKeys(globalThis)
Promise.reject(1)
new Error('x')|Object.assign(new Error('m'),{code:'EX'})|structuredClone|crypto.randomUUID()|Date.now()|Math.random()|console.log
fetch('http://x')
setTimeout|queueMicrotask|new URL('http://a')|TextDecoder|atob('!')|String.raw|Array.from({length:1e7})|(function f(){f()})()|for(;;){}
class A{constructor(){return new Proxy(this,{get(){for(;;);}})}}|Object.prototype.toJSON=()=>{throw 1}|Array.prototype.push=null
Object.freeze(globalThis)
"""
_WAT = """
(module|(|)|func|(func|(param|(result|i32|i64|f32|f64|v128|funcref|externref|(memory|1|65536|(export|"memory"|"sigil_run"|(import
"sigil"|"call"|(data|"x"
(i32.const|0|-1|0x7fffffff|1e400|nan:0x1|inf)|(local.get|$a|(call|(block|(loop|(br|(if|(then|(else|(global|(mut|(table|(elem
(type|(rec|(struct|(tag|(start
i32.add|i64.extend_i32_s|memory.grow|table.grow|ref.null|call_indirect|return_call|v128.const|i8x16.swizzle|;; x\n|(;|;)
"\\00\\ff"|(@custom|unreachable
"""
_C = """
#include|<stdio.h>|<stdlib.h>|"sigil.h"|"/etc/passwd"|<../../x.h>|\n|#define|X|(x)|#|##|%:|?" "?=|\\\n|/*|*/|//|__has_include
_Pragma|#embed|#if|#endif|#pragma
int main(void)|int answer(void)|{|}|(|)|;|,|return|0|1|while(1)|char a[1<<30]|int x[]|={1}|"\\x00"|'a'|sizeof|struct s|*|&
__asm__(".incbin \\"/etc/passwd\\"")
sigil_put("1")|puts("1")|malloc(1)|__builtin_trap()|_Static_assert(1,"")|typeof(0)|static|extern|inline
__attribute__((constructor))|void f(void)
"""


def _pieces(text: str) -> list[str]:
    return [piece for line in text.strip("\n").split("\n") for piece in line.split("|")] + [
        "\n",
        " ",
    ]


EXPRESSIONS = _JS.strip("\n").split("\n")[-7:]
JS, WAT, C = _pieces(_JS), _pieces(_WAT), _pieces(_C)


def script(random: Random) -> str:
    """JavaScript that mostly parses: expressions one after the other, each free to fail."""
    pieces = [
        piece for line in EXPRESSIONS for piece in line.split("|") if not piece.startswith("class")
    ]
    chosen = random.choices(pieces, k=random.randrange(1, 8))
    lines = [f"try {{ x = [{piece}, x]; }} catch (e) {{ x = e; }}" for piece in chosen]
    return "\n".join(
        ["let x = input;", *lines, random.choice(("return x;", "throw x;", "return typeof x;", ""))]
    )


def text(random: Random, pieces: list[str]) -> str:
    """Up to sixty pieces, now and then one of them many times over."""
    chosen = random.choices(pieces, k=random.randrange(1, 60))
    if random.random() < 0.1:
        chosen[random.randrange(len(chosen))] = random.choice(pieces) * random.choice(
            (50, 1000, 5000)
        )
    return random.choice((" ", "", " ")).join(chosen)
