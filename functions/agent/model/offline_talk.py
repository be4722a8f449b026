"""Small talk that the offline model answers without any tool.

It answers greetings, thanks, and questions about itself, the date and the time.
"""

from __future__ import annotations

import re
from datetime import datetime

WHAT_I_DO = """\
I am the offline model: I understand plain requests to the standard library, and nothing else. For \
example:

- convert 26.2 miles to km
- what is 15% of 80
- how many days are between 2024-03-01 and 2024-12-25
- is 978-0-306-40615-7 a valid isbn
- sort pear, apple, fig
- make a qr code for https://example.com
- remember that I prefer tea (then: what do I prefer?)

/help lists the commands. With a language model (UNCAGED_LLM_URL) you can talk to me about \
anything."""
WHAT_I_DO_CHINESE = """\
我是离线模型：我只懂标准库里的简单请求，比如：

- 把 10 公里换算成英里
- 25 * 16 等于多少
- 2024年1月1日到2024年12月25日有多少天
- 统计字数：你好，世界
- 记住我喜欢喝茶

/help 列出所有命令。接上语言模型（UNCAGED_LLM_URL）后，什么都可以聊。"""
_NAME = r"(?:\s+(?:there|again|all|everyone|everybody|bot|uncaged|friend|mate|buddy))?"
_ANSWERS = (
    (rf"(?:hi+|hello+|hey+|howdy|yo|greetings|hiya){_NAME}", "Hello! What can I compute for you?"),
    (rf"good morning{_NAME}", "Good morning! What can I compute for you?"),
    (rf"good (?:afternoon|day){_NAME}", "Good day! What can I compute for you?"),
    (rf"good evening{_NAME}", "Good evening! What can I compute for you?"),
    (rf"(?:good ?night|bye+|good ?bye|see you(?: later)?|ciao|cya){_NAME}", "Goodbye!"),
    (
        r"(?:(?:ok(?:ay)?|great|perfect|super|nice|cool)[\s,!.]+)?(?:many )?(?:thanks|thank you"
        r"|thx|ty|cheers|much appreciated)"
        r"(?:\s+(?:a lot|so much|very much|again|a million|for .{1,40}))?"
        rf"{_NAME}",
        "You are welcome!",
    ),
    (
        r"how are you(?: doing)?(?: today)?|how'?s it going|how do you do|what'?s up|sup",
        "I am a small program and always fine. What can I compute for you?",
    ),
    (
        r"(?:ok(?:ay)?|great|perfect|nice|cool|good|well done|awesome|yes|no|sure|alright|lol)",
        "All right. Tell me when there is something to compute.",
    ),
    (r"(?:hallo|guten tag|moin|servus|grüß gott|hi zusammen)", "Hallo! Was kann ich rechnen?"),
    (r"guten (?:morgen|abend)", "Guten Tag! Was kann ich rechnen?"),
    (r"(?:danke|vielen dank|danke schön|dankeschön)(?: sehr| dir)?", "Gern geschehen!"),
    (r"(?:bonjour|salut)", "Bonjour ! Que puis-je calculer ?"),
    (r"merci(?: beaucoup)?", "De rien !"),
    (r"(?:hola|buenos días|buenas)", "¡Hola! ¿Qué puedo calcular?"),
    (r"(?:muchas )?gracias", "¡De nada!"),
    (r"(?:你好|您好|嗨|哈喽|大家好)[呀啊吗]?", "你好！要我算点什么吗？"),
    (r"(?:早上好|早安|早)", "早上好！要我算点什么吗？"),
    (r"(?:晚上好|下午好|中午好)", "你好！要我算点什么吗？"),
    (r"(?:谢谢|多谢|感谢)(?:你|您|啦|了)?", "不客气！"),
    (r"(?:再见|拜拜|晚安)", "再见！"),
    (
        r"(?:你|您)(?:能|会|可以)(?:做|干)?(?:些|点)?(?:什么|啥)(?:事)?|帮助|怎么用",
        WHAT_I_DO_CHINESE,
    ),
    (r"(?:你|您)(?:是谁|叫什么(?:名字)?|是什么(?:模型)?)", WHAT_I_DO_CHINESE),
    (
        r"(?:so )?what (?:can|do) you (?:do|know|help(?: me)? with)(?: for me)?|help(?: me)?"
        r"|what are you(?: (?:able to do|good (?:at|for)|capable of))?|how (?:can|do) (?:you help"
        r"(?: me)?|i use you|you work|i use this|this work)|who are you|what is your name"
        r"|what'?s your name|are you (?:a |an )?(?:bot|robot|ai|human|real|there|chatgpt|language"
        r" model|llm)(?: person)?|which model (?:are you|is this)|what is this",
        WHAT_I_DO,
    ),
    (r"was kannst du(?: alles)?|wer bist du|hilfe", WHAT_I_DO),
)
_SMALL_TALK = tuple((re.compile(pattern, re.IGNORECASE), answer) for pattern, answer in _ANSWERS)
_ENDS = " \t\r\n.,;:!?~。，；：！？～👋🙏😀🙂😊👍❤️"
_OPENING = re.compile(
    r"^(?:(?:hi|hello|hey)\b(?:\s*[,!.]\s*|\s+(?=(?:can|could|please|what|how|do)\b))"
    r"|(?:ok(?:ay)?|please|so|and|well)\b[\s,!.]+"
    r"|(?:can|could|would|will) you(?: please)?\s+|(?:你好|您好|请问?|麻烦你?)[\s，,！!]*)+",
    re.IGNORECASE,
)
_WHICH_TIME = re.compile(
    r"(?:what time is it|what(?:'s| is) the time|current time)(?: now| right now)?"
    r"|(?:现在)?几点(?:了|钟)?|wie spät ist es",
    re.IGNORECASE,
)
_WHICH_DATE = re.compile(
    r"(?:what (?:date|day)(?: of the week)? is (?:it|today)(?: today)?"
    r"|what(?:'s| is) (?:the date|today'?s date)(?: today)?)|今天(?:是)?(?:几号|星期几|几月几号)",
    re.IGNORECASE,
)


def answer_talk(words: str, now: datetime | None, zone: str) -> str:
    """Return the answer to small talk; empty for anything else.

    `now` and `zone` are what the message's stamp says.
    """
    plain = words.strip(_ENDS)
    if not plain:
        return WHAT_I_DO
    for candidate in (plain, strip_opening(plain)):
        for pattern, answer in _SMALL_TALK:
            if pattern.fullmatch(candidate):
                return answer
    if now and _WHICH_TIME.fullmatch(strip_opening(plain)):
        return f"It is {now:%H:%M} ({zone}), {now:%A}, {now.day} {now:%B %Y}."
    if now and _WHICH_DATE.fullmatch(strip_opening(plain)):
        return f"Today is {now:%A}, {now.day} {now:%B %Y} ({now:%Y-%m-%d})."
    return ""


def strip_opening(words: str) -> str:
    """Return words without a greeting or a polite phrase before them."""
    return _OPENING.sub("", words.strip()) or words
