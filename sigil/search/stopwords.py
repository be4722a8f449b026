"""Words that carry nothing in a query: grammar, courtesy and greetings. Documents keep them."""

from __future__ import annotations

from typing import Final

_WORDS: Final = """
    a an the this that these those here there and or but if then else than so of at by for with about to from up down in out on
    off over under into onto as is am are was were be been being do does did doing done have has had having can could will would
    shall should may might must not no nor too very just also only any some all each both few more most other such same own
    i me my mine myself we us our ours you your yours he him his she her it its they them their
    what which who whom whose when where why how s t d ll m o re ve don
    please tell want need help give let like know get find show use looking provide
    hello hi hey thanks thank sorry ok okay yes bye good great nice today
    的 了 吗 呢 吧 啊 呀 我 你 您 他 她 它 们 是 在 有 和 与 就 都 也 很 请 帮 要 想 把 被 给 这 那 个 么 怎 谁 哪 谢
    你好 您好 你们 我们 他们 谢谢 什么 怎么 怎样 请问 请帮 帮我 一下 我想 我要 想要 可以 这个 那个 再见 是谁
"""
STOP_WORDS: Final = frozenset(_WORDS.split())
