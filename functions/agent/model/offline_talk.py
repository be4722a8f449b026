"""Small talk that the offline model answers without any tool.

It answers greetings, thanks, and questions about itself, the date and the time.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime

from functions.texts.en import SMALL_TALK_ABROAD, Texts
from functions.texts.languages import find_code, load_texts

_NAME = r"(?:\s+(?:there|again|all|everyone|everybody|bot|uncaged|friend|mate|buddy))?"
_WHAT_I_DO = ""
"""The topic of what it can do."""
_TALK = (
    (rf"(?:hi+|hello+|hey+|howdy|yo|greetings|hiya){_NAME}", "hello"),
    (
        r"(?:(?:hi|hello|hey)(?: there)?[\s,!.]+)?how are (?:you|things)(?: doing)?(?: today)?"
        r"|how (?:was|is) your (?:day|week|weekend|night|morning|evening)(?: going| so far)?",
        "how",
    ),
    (
        r"k|kk|got it|i see|nice one|good (?:one|job|work)|well done|ha(?:ha)+h?|he(?:he)+|rofl|wow"
        r"|sorry(?: about that)?|my bad|oops|no (?:problem|worries)|never ?mind|yeah|yep|yup|nope"
        r"|hm+",
        "fine",
    ),
    (
        r"(?:you(?:'|’)?re|you are|u r|ur) (?:the best|great|awesome|amazing|funny)|i love you",
        "thanks",
    ),
    (
        r"have a (?:nice|good|great) (?:day|evening|night|weekend|one)|see you (?:tomorrow|soon)",
        "bye",
    ),
    (r"thanks? a lot|thanks a million|tysm", "thanks"),
    (
        r"na du|was geht(?: ab)?|was machst du(?: so)?|wie (?:war|ist) dein tag"
        r"|wie war dein wochenende",
        "how de",
    ),
    (
        r"ok(?:ay)? passt|passt(?: schon)?|super|toll|stark|klar|ach so|aha|jo|jep|nö|ne"
        r"|haha(?:ha)*"
        r"|tut mir (?:sehr )?leid|entschuldigung|entschuldige|kein problem|macht nichts|verstanden",
        "fine de",
    ),
    (r"(?:du )?bist (?:der|die|das) beste|(?:du )?bist (?:toll|super|klasse|lieb)", "thanks de"),
    (r"sch[öo]ne[ns]? (?:tag|abend|wochenende|feierabend)(?: noch)?|bis (?:dann|gleich)", "bye de"),
    (r"(?:在吗|在么|在不在|有人吗)", "hello"),
    (
        r"(?:最近|今天)?(?:过得)?怎么样|吃了吗|吃饭了吗|今天过得(?:好吗|怎么样)|在干嘛|忙什么呢?",
        "how",
    ),
    (
        r"(?:嗯+|哦+|噢+|哈{2,}|呵{2,}|嘿{2,}|收到|明白了?|了解|知道了|6{3,}|赞|牛|厉害|不好意思|对不起|抱歉|没关系|没问题)",
        "fine",
    ),
    (
        r"你(?:真|太|好|很)(?:棒|厉害|聪明|好|可爱)(?:了|啊|呀)?|你(?:棒|厉害|聪明|可爱)|(?:您)?辛苦(?:了|啦)|谢啦|谢了",
        "thanks",
    ),
    (r"明天见|回头见|周末愉快|下次见", "bye"),
    (r"I(?:'m| am) (?:so |very |really )?(?:sad|unhappy|lonely|tired|depressed|bored)", "sad"),
    (r"ich bin (?:so |sehr )?(?:traurig|unglücklich|einsam|müde)", "sad de"),
    (
        r"(?:(?:hallo|hi|hey|moin|servus|guten tag)[\s,!.]+)?(?:na,? )?wie geht(?:['’]?s| es)?"
        r"(?: dir)?(?: heute)?|wie geht es ihnen|na",
        "how de",
    ),
    (
        r"mir geht(?:['’]?s| es) (?:auch )?(?:sehr )?gut(?:, danke)?|alles klar|prima|klasse|ja"
        r"|nein",
        "fine de",
    ),
    (
        r"(?:tschüss|tschüß|tschuess|auf wiedersehen|bis (?:bald|morgen|später)|gute nacht)",
        "bye de",
    ),
    (r"guten morgen", "morning de"),
    (r"guten abend", "evening de"),
    (rf"good morning{_NAME}", "morning"),
    (rf"good (?:afternoon|day){_NAME}", "day"),
    (rf"good evening{_NAME}", "evening"),
    (rf"(?:good ?night|bye+|good ?bye|see you(?: later)?|ciao|cya){_NAME}", "bye"),
    (
        r"(?:(?:ok(?:ay)?|great|perfect|super|nice|cool)[\s,!.]+)?(?:many )?(?:thanks|thank you"
        r"|thx|ty|cheers|much appreciated)"
        r"(?:\s+(?:a lot|so much|very much|again|a million|for .{1,40}))?"
        rf"{_NAME}(?:[\s,!.]+(?:that|this|it) (?:was|is) \w+(?: \w+)?)?",
        "thanks",
    ),
    (
        r"how are you(?: doing)?(?: today)?|how'?s it going|how do you do|what'?s up|sup",
        "how",
    ),
    (
        r"(?:ok(?:ay)?|great|perfect|nice|cool|good|well done|awesome|yes|no|sure|alright|lol)",
        "fine",
    ),
    (r"(?:hallo|guten tag|moin(?: moin)?|servus|grüß (?:gott|dich)|hi zusammen)", "hello de"),
    (r"grüezi|hallo zusammen|hallo du", "hello de"),
    (r"(?:danke|vielen dank|danke schön|dankeschön)(?: sehr| dir)?", "thanks de"),
    (r"(?:bonjour|salut)", "hello fr"),
    (r"merci(?: beaucoup)?", "thanks fr"),
    (r"(?:hola|buenos días|buenas)", "hello es"),
    (r"(?:muchas )?gracias", "thanks es"),
    (r"(?:你好|您好|嗨|哈喽|大家好)[呀啊吗]?", "hello"),
    (r"(?:早上好|早安|早)", "morning"),
    (r"晚上好", "evening"),
    (r"(?:下午好|中午好)", "day"),
    (r"(?:谢谢|多谢|感谢)(?:你|您|啦|了)?", "thanks"),
    (r"(?:再见|拜拜|晚安)", "bye"),
    (r"(?:你好[呀啊]?[，, ]*)?(?:你(?:还)?好吗|最近(?:还)?好吗|你怎么样)", "how"),
    (r"我(?:很|好|真)?(?:难过|伤心|累|孤独|无聊)(?:了)?", "sad"),
    (r"(?:好的?|行|嗯|可以|没事|不错|太好了|知道了|是的|不用了?)", "fine"),
    (
        r"(?:你|您)(?:能|会|可以)(?:做|干)?(?:些|点)?(?:什么|啥)(?:事)?|帮助|怎么用",
        _WHAT_I_DO,
    ),
    (r"(?:你|您)(?:是谁|叫什么(?:名字)?|是什么(?:模型)?)", _WHAT_I_DO),
    (
        r"(?:so )?what (?:can|do) you (?:do|know|help(?: me)? with)(?: for me)?|help(?: me)?"
        r"|what are you(?: (?:able to do|good (?:at|for)|capable of))?|how (?:can|do) (?:you help"
        r"(?: me)?|i use you|you work|i use this|this work)|who are you|what is your name"
        r"|what'?s your name|are you (?:a |an )?(?:bot|robot|ai|human|real|there|chatgpt|language"
        r" model|llm)(?: person)?|which model (?:are you|is this)|what is this",
        _WHAT_I_DO,
    ),
    (
        r"was kannst du(?: alles| so| für mich)*(?: tun| machen)?|wer bist du"
        r"|wie hei(?:ß|ss)t du|hilfe"
        r"|bist du (?:ein(?:e)? )?(?:mensch|bot|roboter|ki|echt|chatgpt)|wie funktionierst du",
        _WHAT_I_DO,
    ),
)
_TEAM = re.compile(
    r"(?:.*\s)?(?:spawn|hire)\s.+|(?:.*\s)?(?:start|bring in|get) (?:a |an |two |some )?"
    r"(?:\w+ )?(?:teammates?|helpers?|coworkers?)\b.*|.*(?:派|找|叫|开|生成)[^，。]{0,6}队友.*"
    r"|.*teammitglied.* (?:starten|holen).*"
    r"|(?:starte?|hole?|erstelle?) .*(?:teammitglied| namens ).*"
    r"|.*(?:派|找|叫|开|生成|创建|启动)一?(?:个|名)(?:名?叫|名为).+的.+"
    r"|(?:add|create|make|put) (?:the )?tasks with dependencies\b.*|.*aufgaben mit abhängigkeiten.*"
    r"|.*(?:添加|新建|创建|加).{0,6}依赖.{0,6}任务.*"
    r"|(?:add|create|make|put) (?:two|three|four|five|several|some|\d+) (?:tasks|todos)\b.*"
    r"|.*(?:zwei|drei|vier|fünf|mehrere|\d+) aufgaben.*(?:hinzu|an|erstellen)\b.*"
    r"|.*(?:添加|新建|创建|加)(?:两|三|四|五|几|\d+)个?任务.*",
    re.IGNORECASE | re.DOTALL,
)
"""What asks for teammates, or for several tasks at once, which need a language model."""
_SMALL_TALK = tuple((re.compile(pattern, re.IGNORECASE), topic) for pattern, topic in _TALK)
_ENDS = " \t\r\n.,;:!?~。，；：！？～👋🙏😀🙂😊👍❤️"
_SYMBOLS = re.compile("[\u2600-\u27bf\ufe0f\u200d\U0001f000-\U0001faff]+")
_LONE_NUMBER = re.compile(r"[-+]?\d{1,7}(?:[.,]\d{1,4})?")
_OPENING = re.compile(
    r"^(?:(?:hi|hello|hey)\b(?:\s*[,!.]\s*|\s+(?=(?:can|could|please|what|how|do)\b))"
    r"|(?:ok(?:ay)?|please|so|and|well)\b[\s,!.]+"
    r"|(?:can|could|would|will) you(?: please)?\s+|(?:hallo|bitte)\b[\s,!.]*(?=\S)"
    r"|(?:你好|您好|请问?|麻烦你?)[\s，,！!]*)+",
    re.IGNORECASE,
)
_WHICH_TIME = re.compile(
    r"(?:what time is it|what(?:'s| is) the time|current time)(?: now| right now)?"
    r"|(?:现在)?几点(?:了|钟)?|wie sp(?:ä|ae)t ist es(?: jetzt| gerade)?|wie viel uhr ist es",
    re.IGNORECASE,
)
_WHICH_DATE = re.compile(
    r"(?:what (?:date|day)(?: of the week)? is (?:it|today)(?: today)?"
    r"|what(?:'s| is) (?:the date|today'?s date)(?: today)?)"
    r"|(?:welches datum|welcher tag) (?:ist heute|haben wir(?: heute)?)"
    r"|was ist heute für ein tag"
    r"|今天(?:是)?(?:几号|星期几|几月几号)",
    re.IGNORECASE,
)


def answer_talk(words: str, now: datetime | None, zone: str, texts: Texts) -> str:
    """Return the answer to small talk; empty for anything else.

    `now` and `zone` are what the message's stamp says.
    """
    plain = words.strip(_ENDS)
    if any(unicodedata.category(each) == "So" for each in words):
        plain = _SYMBOLS.sub(" ", plain).strip(_ENDS)
        if not plain:
            return texts.offline_talk["fine"]
    if not plain:
        return texts.offline_what_i_do
    if _LONE_NUMBER.fullmatch(words.strip(" \t\r\n.?？。")):
        return texts.offline_lone_number.format(number=plain)
    if _TEAM.fullmatch(plain):
        return texts.offline_team
    for candidate in (plain, strip_opening(plain)):
        for pattern, topic in _SMALL_TALK:
            if pattern.fullmatch(candidate):
                return _answer_topic(topic, texts)
    if now and _WHICH_TIME.fullmatch(strip_opening(plain)):
        return texts.tell_time(now, zone)
    if now and _WHICH_DATE.fullmatch(strip_opening(plain)):
        return texts.tell_day(now)
    return ""


def _answer_topic(topic: str, texts: Texts) -> str:
    """Return the answer to a topic such as `hello` or `hello de`, which a file of that language
    answers, if there is one.
    """
    if topic == _WHAT_I_DO:
        return texts.offline_what_i_do
    name, _, language = topic.partition(" ")
    code = find_code(language)
    if code:
        return load_texts(code).offline_talk[name]
    return SMALL_TALK_ABROAD[topic] if language else texts.offline_talk[name]


def strip_opening(words: str) -> str:
    """Return words without a greeting or a polite phrase before them."""
    return _OPENING.sub("", words.strip()) or words
