"""Queries that ask for nothing: greetings, thanks, praise, and a number or letter alone.

Models pass on to a search whatever people write. Each word of `how was your day` occurs in some
capability, but nobody who writes it wants one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from sigil.search.words import normalize_phrase

MOST_CHARACTERS: Final = 60
"""A longer text is no mere greeting."""
_LONE: Final = re.compile(r"\s*(?:[-+]?\d{1,7}(?:[.,]\d{1,4})?\s*%?|[A-Za-z])\s*[.?。？]*\s*")
"""A number or a letter alone: what is to become of it is not said."""
_ADDRESSED: Final = (
    "there|all|everyone|everybody|guys|team|folks|friends?|mate|buddy|bro|dude|man|dear|bot|my|again"
    "|today|now|then|too|you|so|very|really|much|a lot|lots|a million|a bunch|indeed|and|oh|well"
    "|but"
)
_ENGLISH: Final = (
    "hi+|hey+|hello+|heya|hiya|howdy|yo|greetings|sup|gm|gn"
    "|good (?:morning|afternoon|evening|night|day|one|job|work|luck|point|bye)|morning|goodnight"
    "|thanks|thank you|thx|ty|tysm|cheers|many thanks|(?:much|really) appreciated|i appreciate it"
    "|ok+|okay|k|kk|cool|nice(?: one)?|great|super|awesome|perfect|wonderful|amazing|excellent"
    "|sweet"
    "|fine|lovely|well done|brilliant|good|got it|i see|understood|makes sense|sounds good"
    "|all right"
    "|alright|sure|yes|yeah|yep|yup|no|nope|maybe|please|no problem|no worries|never ?mind|welcome"
    "|you re welcome|(?:you re|you are|u r|ur) (?:the best|great|awesome|amazing|funny|welcome"
    "|right)"
    "|love (?:it|you)|i love (?:it|you)|sorry|my bad|pardon|excuse me|oops"
    "|lol|lmao|rofl|omg|wow|haha(?:ha)*|hehe(?:he)*|ha+h?|hmm+|uh+|oh+|ah+|wtf|nah"
    "|how are (?:you|things)(?: doing)?|how s (?:it going|life|everything|your day)|how do you do"
    "|how (?:was|is) (?:your|the) (?:day|night|week|weekend|morning|evening)(?: going)?"
    "|what ?s up|what is up|whats new|are you (?:there|ok|okay)|you there|anybody there"
    "|bye+|goodbye|bye bye|ciao|cya|see (?:you|ya)(?: (?:later|soon|tomorrow|around))?|take care"
    "|(?:have|enjoy) (?:a|your) (?:nice |good |great |lovely )?(?:day|evening|night|weekend|week"
    "|one)"
    "|what a (?:day|night|week)|sleep well|happy (?:birthday|new year)|merry christmas|congrat\\w*"
    "|test(?:ing)?"
)
_GERMAN: Final = (
    "hallo|hallochen|hi|hey|moin(?: moin)?|servus|gruss (?:gott|dich)|gruezi|na(?: du)?|tach|huhu"
    "|guten (?:morgen|tag|abend|appetit)|gute (?:nacht|besserung)|mahlzeit"
    "|danke(?: schon| sehr| dir| euch| ihnen)?|dankeschon|vielen dank(?: dir)?|tausend dank|merci"
    "|besten dank|bitte(?: schon| sehr)?|gern geschehen|keine ursache"
    "|ok|okay|passt(?: schon)?|alles (?:klar|gut)|klar|super|toll|prima|klasse|spitze|geil|stark"
    "|gut(?: gemacht)?|schon|verstanden|ach so|aha|genau|stimmt|richtig|ja|jo|jep|joa|nein|nee|ne"
    "|doch|egal|macht nichts|kein problem|schade|haha(?:ha)*|hihi|hehe|lustig|hm+|oh|ach|wow|krass"
    "|(?:du )?bist (?:der|die|das) beste|(?:du )?bist (?:toll|super|klasse|nett|lieb|lustig)"
    "|tut mir (?:sehr )?leid|sorry|entschuldigung|entschuldige|verzeihung"
    "|wie geht(?: ?s| es)?(?: dir| euch| ihnen)?(?: heute)?|was geht(?: ab)?|was machst du(?: so)?"
    "|wie (?:war|ist) (?:dein|euer|der) (?:tag|abend|morgen)|wie war (?:deine nacht"
    "|dein wochenende)"
    "|mir geht ?(?:s|es) gut|bist du da|jemand da"
    "|tschuss|tschuess|tschau|ciao|auf wiedersehen|bis (?:morgen|bald|spater|dann|gleich|nachher)"
    "|schlaf gut|schone[ns]? (?:tag|abend|wochenende|feierabend|nacht|feiertage)(?: noch)?"
    "|einen schonen (?:tag|abend)(?: noch)?|frohe weihnachten|alles gute(?: zum geburtstag)?"
    "|dir auch|euch auch|gleichfalls|ebenso|test"
)
_CHINESE: Final = re.compile(
    "(?:你好|您好|大家好|在吗|在不在|在么|嗨|哈喽|哈啰|嘿|喂|早上好|上午好|中午好|下午好|晚上好|早安|晚安|早|午安|好久不见|初次见面"
    "|谢谢|多谢|感谢|非常感谢|太感谢|谢了|谢啦|辛苦|不客气|不用谢|麻烦你|拜托"
    "|好的|好吧|好呀|好啊|好|行|可以|没问题|嗯|哦|噢|喔|收到|明白|知道|了解|懂|对|是的|没错|ok|okay|赞|棒|厉害|牛|不错|太好|真好"
    "|漂亮|完美|加油|[0-9]*6{2,}|哈|呵|嘻|嘿|呜|唉|哎|哇|天哪|天啊|最近怎么样|怎么样|你好吗|还好吗|过得怎么样|今天过得|吃了|吃饭了"
    "|忙什么|忙不忙|干嘛|在干嘛|在忙|睡了|累|无聊|再见|拜拜|拜|明天见|回见|回头见|一会儿?见|下次见|周末愉快|新年快乐|生日快乐|节日快乐|圣诞快乐"
    "|不好意思|对不起|抱歉|没事|没关系|算|随便|你真|你很|你太|真|太|很|我|你|您|的|了|啦|啊|呀|吗|吧|呢|嘛|哟|哈|聪明|可爱|好人|有意思"
    "|请问|都|也|今天|测试)"
)
_ONLY_FILL: Final = re.compile(
    "我|你|您|的|了|今天|请问|都|也|真|太|很|早|对|累|知道|随便|吗|呢|吧"
)
"""Characters that are small talk only beside others."""
_LATIN: Final = re.compile(f"{_ENGLISH}|{_GERMAN}|{_ADDRESSED}")
_ONLY_ADDRESSED: Final = re.compile(_ADDRESSED)
LONGEST: Final = 7
"""Words of the longest phrase in a row, and characters of the longest one in Chinese."""


def is_small_talk(text: str) -> bool:
    """Return whether a text asks for nothing that a capability could do."""
    if len(text) > MOST_CHARACTERS:
        return False
    if _LONE.fullmatch(text):
        return True
    words = [word for word in normalize_phrase(text).split() if word[0].isalnum()]
    if _is_made_of(words, " ", _LATIN):
        return not _is_made_of(words, " ", _ONLY_ADDRESSED)
    characters = [*"".join(words)]
    if _is_made_of(characters, "", _CHINESE):
        return not _is_made_of(characters, "", _ONLY_FILL)
    return False


def _is_made_of(parts: Sequence[str], between: str, phrase: re.Pattern[str]) -> bool:
    """Return whether parts are phrases in a row. Each place is looked at once: one pattern for a
    whole row would try all the ways to cut it.
    """
    reached = {0}
    for start in range(len(parts)):
        if start not in reached:
            continue
        for end in range(start + 1, min(start + LONGEST, len(parts)) + 1):
            if phrase.fullmatch(between.join(parts[start:end])):
                reached.add(end)
    return bool(parts) and len(parts) in reached
