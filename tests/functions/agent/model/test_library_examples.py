"""Every example that a library capability carries, asked of the offline model.

An example that has all it needs is answered with the result. One that only stands for a kind of
request (`sort these lines alphabetically`) is answered with what is missing, and with the shape of
a whole request.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from functions import worker
from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from tests.fakes.bot_api import BotApi
from tests.functions.agent.talk import tell
from tests.functions.people import platform, update
from tests.selection import sample

LIBRARY = Path(__file__).parents[4] / "capabilities"
ANSWERS = {
    "add this text to the knowledge base": "^Write what it is called",
    "take this policy into the knowledge base": "^Write what it is called",
    "把这段文字加入知识库": "^请在一条消息里",
    "search the knowledge base for the refund period": "^Nothing in the knowledge base",
    "look up vacation days in our handbook": "^Nothing in the knowledge base",
    "在知识库里搜索退款期限": "^知识库里没有",
    "update the handbook in the knowledge base": "^My owner replaces",
    "correct the entry in the knowledge base": "^My owner replaces",
    "更新知识库里的条目": "^这要由主人",
    "what does the handbook say about holidays": "^Nothing in the knowledge base",
    "add this to the knowledge base": "^Write what it is called",
    "员工手册里怎么说": "^发送 `/kb",
    "在知识库里查一下": "^发送 `/kb",
    "what is 2^10 + 5*3": "^1039$",
    "calculate (3 + 4) * 12 / 7": "^12$",
    "what is 15% of 80": "^12$",
    "square root of 2: sqrt(2)": r"^1\.41421",
    "calculate factorial(25)": "^15511210043330985984000000$",
    "计算 128 * 46 等于多少": "^5888$",
    "convert userFirstName to snake_case": "^user_first_name$",
    "write hello world in camelCase": "^helloWorld$",
    "把 user_name 转成驼峰命名": "^userName$",
    "make a pie chart of the shares 40, 35 and 25": "(?s)SVG picture.*<svg",
    "convert the color #663399 to rgb and hsl": r"rgb\(102 51 153\)",
    "what is the contrast ratio of #777 on white": r"4\.47",
    "hex code of the css color tomato": "#ff6347",
    "把颜色 #ff8800 转成 rgb": r"rgb\(255 136 0\)",
    "crc32 of 123456789": "^cbf43926$",
    "modbus crc16 of the bytes 01 03 00 00 00 0A": "^cdc5$",
    "when does the cron expression 0 9 * * 1 run next after 2024-03-05": "^2024-03-11T09:00",
    "next five runs of crontab */15 * * * *": r"^20\d\d-\d\d-\d\dT\d\d:(?:00|15|30|45)",
    "check my cron schedule 30 4 1,15 * *": r"^20\d\d-\d\d-(?:01|15)T04:30",
    "cron表达式 0 0 * * 0 下次什么时候运行": r"^20\d\d-\d\d-\d\dT00:00",
    "exchange rate from USD to EUR": "Allow me to use `currency-rates`.*api.frankfurter.dev",
    "how much are 250 dollars in euros": "Allow me to use `currency-rates`.*api.frankfurter.dev",
    "what was the exchange rate of GBP to JPY on 2020-03-16": "Allow me to use `currency-rates`.*api.frankfurter.dev",
    "100 美元等于多少人民币，按现在的汇率": "可以让我使用 `currency-rates`.*api.frankfurter.dev",
    "how many business days are between 2024-03-01 and 2024-03-31": "Business days: 21",
    "when is easter in 2025": "2025-04-20",
    "show the calendar page of february 2024": "29",
    "which date is the fourth thursday of november 2024": "2024-11-28",
    "2024 年 3 月有多少个工作日": "Business days: 21",
    "add 30 days to 2024-01-31": "2024-03-01",
    "how many days are between 2024-01-01 and 2024-03-01": r"\b60\b",
    "what weekday is 29 February 2024": "Thursday",
    "3 weeks before March 1, 2024": "2024-02-09",
    "write 2024-03-05 as Tuesday, 5 March 2024": "Tuesday, 5 March 2024",
    "2024年1月1日到2024年12月25日有多少天": r"\b359\b",
    "encode hello world in base64": "^aGVsbG8gd29ybGQ=$",
    "decode aGVsbG8gd29ybGQ= from base64": "^hello world$",
    "url encode: a b&c=d": "^a%20b%26c%3Dd$",
    "what is hello in hex": "^68656c6c6f$",
    "把 hello world 用 base64 编码": "^aGVsbG8gd29ybGQ=$",
    "remind me tomorrow at nine to call Bob": r"^I will say “call Bob”: .* at 09:00 \(.*drop 1",
    "every weekday at 8 look at the exchange rates and tell me what moved": (
        r"^I will say “look at the .* moved”: every Monday to Friday at 08:00 .* Next: "
    ),
    "remind me in 20 minutes to turn off the oven": "^I will say “turn off the oven”: ",
    "明天上午九点提醒我给鲍勃打电话": "^到时我会说“给鲍勃打电话”：.* 09:00",
    "每个工作日早上八点提醒我写日报": "^到时我会说“写日报”：.* 08:00.*接下来：",
    "show my reminders and alarms": "^Nothing is scheduled here",
    "manage my reminders": "^Nothing is scheduled here",
    "查看我的日程和提醒": "^这里没有",
    "what are my reminders": "^Nothing is scheduled here",
    "show me everything that is scheduled here": "^Nothing is scheduled here",
    "which reminders do I have": "^Nothing is scheduled here",
    "我有哪些提醒": "^这里没有",
    "cancel the second reminder": "^Nothing is scheduled here",
    "pause reminder 1": "^Nothing is scheduled here",
    "delete my reminder number 3": "^Nothing is scheduled here",
    "取消第二个提醒": "^这里没有",
    "which files are there": "^There are no files here yet",
    "which files are in the workspace": "^There are no files here yet",
    "list my files": "^There are no files here yet",
    "工作区里有哪些文件": "^这里还没有文件",
    "save this as a file": "^What shall I save",
    "save this text as notes.md": r"^What shall I save\? .*notes\.md",
    "write the report into report.md": "^What shall I save",
    "把这个保存成文件": "^要保存什么",
    "把这段话存成 notes.md": "^要保存什么",
    "what changed in the file": "^Which file",
    "read me the file notes.md": "there is no file notes.md",
    "show me what is in plan.txt": "there is no file plan.txt",
    "看看 notes.md 里写了什么": "there is no file notes.md",
    "replace Monday by Tuesday in notes.md": "there is no file notes.md",
    "change milk to oats in list.md": "there is no file list.md",
    "把 notes.md 里的周一改成周二": "there is no file notes.md",
    "what changed in notes.md": "there is no file notes.md",
    "compare version 1 and 3 of plan.md": "there is no file plan.md",
    "notes.md 改了什么": "there is no file notes.md",
    "forget what I told you about my ex": "^I remember nothing about this",
    "delete from memory: the invoice number": "^I remember nothing about this",
    "forget everything about Ada": "^I remember nothing about this",
    "忘掉我的生日": "^关于这个我什么都不记得",
    "how far is 48.8566, 2.3522 from 51.5074, -0.1278 as the crow flies": r"343\.55",
    "bearing from 40.7128 N 74.006 W to 35.6762 N 139.6503 E": r"332\.99",
    "which point is 100 km north-east (bearing 45) of 0, 0": r"0\.63",
    "hash hello world with sha256": "^b94d27b9934d3e08a52e52d7da7dabfa",
    "md5 of hello world": "^5eb63bbbe01eeed093cb22bb8f5acdc3$",
    "sha512 checksum of: to be or not to be": "^[0-9a-f]{128}$",
    "计算 hello world 的 sha256 哈希": "^b94d27b9934d3e08a52e52d7da7dabfa",
    "decode html entities like &amp;eacute;": "^&eacute;$",
    "what becomes of 1000 at 5% compound interest in 10 years": r"1628\.89",
    "net present value of the cash flows -1000, 300, 420, 680 at 10%": r"130\.73",
    "irr of the cash flows -1000, 300, 420, 680": r"16\.3",
    "saving 200 a month for 20 years at 7 percent": r"104185|10\d{4}\.",
    "本金 10000，年利率 3%，复利 5 年后是多少": r"11592\.74",
    "subnet mask and host range of 192.168.1.10/24": r"255\.255\.255\.0",
    "is the ip 10.1.2.3 in the network 10.1.0.0/16": "(?i)contains.*yes|true",
    "split the subnet 10.0.0.0/22 into /24": r"10\.0\.3\.0/24",
    "计算 192.168.0.0/26 的子网掩码和可用地址": r"255\.255\.255\.192",
    'what changed between the json `{"a": 1}` and `{"a": 2}`': "op replace, path /a, value 2",
    'from the json `{"user": {"name": "Ann"}}` get `user.name`': "Ann",
    'query json `[{"price": 5}, {"price": 15}]` with `$[?(@.price < 10)]`': "5",
    'use jsonpath on `{"a": [1, 2, 3]}`: `a[-1]`': "^3$",
    'sum of the prices in `[{"p": 1}, {"p": 2}]` by `$[*].p | sum`': "^3$",
    '用路径查询 JSON `{"a": {"b": 1}}` 的 `a.b`': "^1$",
    'does `{"age": "x"}` fit the json schema `{"properties": {"age": {"type": "integer"}}}`': (
        '(?i)"?valid"?: (?:no|false)'
    ),
    "how many edits between kitten and sitting": "Distance: 3",
    "fuzzy match colour with color": "Distance: 1",
    "计算 kitten 和 sitting 的编辑距离": "Distance: 3",
    "monthly payment of a mortgage of 200000 at 6% over 30 years": r"1199\.1",
    "how long does it take to pay off a loan of 10000 with 250 a month at 8 percent": r"Months: \d\d",
    "贷款一百万，年利率 4%，三十年，月供多少": r"4774\.15",
    'make a markdown table of `[{"name": "Ann", "age": 7}]`': r"\| name",
    "determinant of the matrix [[1, 2], [3, 4]]": "^-2$",
    "multiply the matrices [[1, 2], [3, 4]] and [[5, 6], [7, 8]]": r"(?s)19.*22.*43.*50",
    "convert 255 to binary": "^11111111$",
    "what is 0xff in decimal": "^255$",
    "write -5 in 8-bit two's complement": "^11111011$",
    "把二进制 1011 转成十进制": "^11$",
    "format 1234567.891 with thousands separators and two decimals": r"^1,234,567\.89$",
    "write 0.1234 as a percent with one decimal": r"^12\.3%$",
    "show 1536000 bytes as a human readable size": "MB",
    "把 1234567 写成千分位格式": "^1,234,567$",
    "spell out 1234567 in english words": "^one million two hundred thirty-four thousand",
    "write the amount 1520.75 dollars in words for a cheque": "(?i)one thousand five hundred",
    "which number is two thousand and five": "2005",
    "数字 342 的英文写法": "^three hundred forty-two$",
    "把 1680.32 写成人民币大写": "^壹仟陆佰捌拾元叁角贰分$",
    "prime factors of 600851475143": "71 × 839 × 1471 × 6857",
    "is 1000000007 a prime number": "^1000000007 is a prime number",
    "factorize 360": "2³ × 3² × 5",
    "97 是不是质数": "^97 是质数",
    "make a qr code for https://example.com": "(?s)SVG picture.*<svg",
    "generate a uuid": "^[0-9a-f]{8}-",
    "make a strong random password of 24 characters": r"^\S{24}$",
    "roll 2d6+3": r"^\d+$",
    "pick two winners at random from Ann, Bob, Cleo and Dan": "^(?:Ann|Bob|Cleo|Dan)\n(?:A|B|C|D)",
    "生成一个 1 到 100 的随机数": r"^\d+$",
    "what do you know about me": "^I remember nothing about this",
    "recall the facts about Ada": "^I was not told that",
    "look up memory: my favourite tea": "^I was not told that",
    "你还记得我的生日吗": "^这个你没有告诉过我",
    "extract `\\d+` from `order 66 of 2024`": "^66\n2024$",
    "find all matches of `[\\w.]+@[\\w.]+` in `ask ann@example.com or bob@example.org`": (
        "^ann@example.com\nbob@example.org$"
    ),
    "use the regex `(?<key>\\w+)=(?<value>\\w+)` on `a=1 b=2`": '"key": "b"',
    "用正则 `\\d+` 提取 `房间 101 和 102` 里的数字": "^101\n102$",
    "remember that my daughter is allergic to nuts": "^Remembered: my daughter is allergic to nuts",
    "save to memory: the invoice number is 4711": "^Remembered: the invoice number is 4711",
    "keep in mind that I prefer tea": "^Remembered: I prefer tea",
    "记住我的生日是五月三日": "^记住了：我的生日是五月三日",
    "write 1994 in roman numerals": "^MCMXCIV$",
    "what number is the roman numeral MMXXIV": "^2024$",
    "convert XLII from roman": "^42$",
    "2024 的罗马数字怎么写": "^MMXXIV$",
    "what did I say about the trip last month": "^I remember nothing about this",
    "search the chat history for the address of the hotel": "^I remember nothing about this",
    "find the message in which we talked about the budget": "^I remember nothing about this",
    "在聊天记录里查找酒店地址": "^关于这个我什么都不记得",
    "area of a circle with radius 2": r"12\.566",
    "volume of a cylinder with radius 3 and height 10": r"282\.74",
    "angles of a triangle with the sides 3, 4 and 5": r"53\.13",
    "perimeter of a rectangle of 4 by 6": "Perimeter: 20",
    "半径为 3 的球的体积": r"113\.09",
    "make a url slug from Crème Brûlée & Co.": "^creme-brulee-and-co$",
    "slugify the title Hello, World!": "^hello-world$",
    "what is the median and standard deviation of 2, 4, 4, 5, 9": "Median: 4",
    "the average of these numbers: 3, 7, 11": "Mean: 7",
    "求 3, 5, 8, 13 的平均数和标准差": r"Mean: 7\.25",
    "render the template Hello {{name}} with name Ann": "^Hello Ann$",
    "jaro-winkler score of MARTHA and MARHTA": r"0\.961",
    "bigram overlap of night and nacht": r"0\.25",
    "how many words are in: to be or not to be": "Words: 6",
    "count the characters of: naïve café 🇫🇷": "Characters: 12",
    "统计字数：你好，世界": "Words: 4",
    "what is 2024-03-05 10:30 New York time in Tokyo": "2024-03-06T00:30",
    "convert 9:00 on 2024-11-04 in Berlin to UTC and Beijing time": "2024-11-04T16:00",
    "unix timestamp 1709600000 as a date": "2024-03-05T00:53:20",
    "北京时间 2024-03-05 15:00 是伦敦几点": "2024-03-05T07:00",
    "convert 10 km to miles": r"^10 kilometres = 6\.21371192237 miles$",
    "convert 100 fahrenheit to celsius": r"37\.77",
    "72 kg to pounds": r"158\.73",
    "convert 120 km/h to mph": r"74\.56",
    "convert 5 GB to MiB": r"4768\.37",
    "把 10 公里换算成英里": r"6\.21371192237 英里",
    "parse the url https://example.com:8080/a/b?x=1&y=2#top": "8080",
    "is the iban DE89 3704 0044 0532 0130 00 valid": "^Yes, ",
    "validate the card number 4111 1111 1111 1111": "^Yes, ",
    "is 978-0-306-40615-7 a correct isbn": "^Yes, ",
    "校验身份证号 11010519491231002X": "^是的，",
    "what is the weather in Bern": "Allow me to use `weather-now`.*open-meteo.com",
    "will it rain in London tomorrow": "Allow me to use `weather-now`.*open-meteo.com",
    "temperature in New York in fahrenheit": "Allow me to use `weather-now`.*open-meteo.com",
    "北京今天天气怎么样": "可以让我使用 `weather-now`.*open-meteo.com",
    "read https://example.com/news and sum it up": "Allow me to use `read-page`.*any public page",
    "what does the page at https://example.com say": "Allow me to use `read-page`",
    "list the links on https://example.com": "Allow me to use `read-page`",
    "lies https://example.com und fasse es zusammen": "Darf ich `read-page`",
    "打开 https://example.com 看看写了什么": "可以让我使用 `read-page`",
    "what is new about the James Webb telescope": "Allow me to use `web-search`",
    "search the web for a recipe of borscht": "Allow me to use `web-search`",
    "latest news about Berlin": "Allow me to use `web-search`",
    "google the opening hours of the Louvre": "Allow me to use `web-search`",
    "was gibt es Neues über die ISS": "Darf ich `web-search`",
    "上网搜索一下最新的人工智能新闻": "可以让我使用 `web-search`",
    "show your policy": "^Acts: call allow",
    "read the policy": "^Acts: call allow",
    # it pays nobody, and reads Chinese only where there is a phrase for it
    "make a payment to example.com": "^I found `cap_request_payment`",
    "request a payment for the hosting": "^I found `cap_request_payment`",
    "付款给供应商": "我只是离线模型",
    "查看你的策略": "我只是离线模型",
}
"""What the answer to an example has, where the example has all it needs."""
TEAMS = frozenset(
    "agents board broadcast claim-task create-subagent create-task get-task list-agents list-tasks"
    " list-teammates plan-approval read-inbox send-message shutdown-request spawn-teammate"
    " stop-agent team update-task".split()
)
"""Teams work with a language model. Without one a few plain wishes for the board are understood,
which have tests of their own, and all others are answered with a sentence.
"""
SIGNATURE = re.compile(r"\n\n—[^\n]*")
A_SENTENCE = r"(?s)^(?!.*\bE(?:KEY|INTERNAL|DAMAGED)\b)."


def list_examples() -> list[tuple[str, str]]:
    found = []
    for path in sorted(LIBRARY.glob("*/sigil.toml")):
        capability = tomllib.loads(path.read_text())["capability"]
        found.extend((capability["name"], example) for example in capability["examples"])
    return found


def test_every_example_of_the_library_is_answered_or_asked_about(
    runtime: Callable[..., AgentRuntime],
) -> None:
    home = runtime(library="builtin", tokens_per_day=0)
    wrong = []
    for place, (name, example) in enumerate(sample(list_examples(), 60)):
        (reply,) = tell(home, example, session=f"telegram:{1_000 + place}")
        answer = SIGNATURE.sub("", reply)
        wanted = A_SENTENCE if name in TEAMS else ANSWERS.get(example)
        wanted = wanted or rf"^(?:I need more for {name}: write everything in one|{name} 还缺内容)"
        if not re.search(wanted, answer):
            wrong.append((name, example, answer[:160]))

    assert not wrong, "\n".join(map(str, wrong))


def test_the_table_of_answers_has_no_example_that_is_gone() -> None:
    examples = {example for _, example in list_examples()}
    missing = sorted(ANSWERS.keys() - examples)

    assert not missing


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("is 9780306406157 a valid isbn", "^Yes, 9780306406157 "),
        ("is 9780306406158 a valid isbn?", "^No, 9780306406158 "),
        ("what is 26.2 miles in km", r"^26\.2 miles = 42\.1648128 kilometres"),
        ("How many kilometres are 26.2 miles?", r"^26\.2 miles = 42\.1648128 kilometres"),
        ("华氏100度是摄氏多少度", r"37\.77"),
        ("180 C oven in Fahrenheit", r"^180 °C = 356 Fahrenheit"),
        ("100 kmh in mph", r"^100 kilometres per hour = 62\.1\d+ miles per hour"),
        ("convert 1 mi to km", r"^1 mile = 1\.609344 kilometres"),
        ("1000 m to km", r"^1000 metres = 1 kilometre\n"),
        ("500 sqft in m2", r"^500 square feet = 46\.\d+ square metres"),
        ("2 GB in MB", r"^2 gigabytes = 2000 megabytes"),
        ("把 100 km 换算成 mi", r"^100 公里 = 62\.1\d+ 英里"),
    ],
)
def test_arguments_are_taken_whole_and_units_are_words(
    runtime: Callable[..., AgentRuntime], said: str, answer: str
) -> None:
    (reply,) = tell(runtime(library="builtin"), said)

    assert re.search(answer, reply)


def test_every_unit_of_the_library_has_a_word() -> None:
    source = (LIBRARY / "unit-convert" / "main.js").read_text(encoding="utf-8")
    table = source.partition("const QUANTITIES")[2].partition("\n};")[0]
    symbols = {quoted or plain for quoted, plain in re.findall(r'(?:"([^"]+)"|(\w+)): \[', table)}

    assert {symbol for symbol in symbols if not re.fullmatch("[一-鿿]", symbol)} == {
        *ENGLISH.unit_names
    }


def test_a_qr_code_reaches_telegram_as_a_picture(
    runtime: Callable[..., AgentRuntime], bot: BotApi
) -> None:
    home = runtime(library="builtin", **platform(bot))
    (event,) = (
        home.channels["telegram"]
        .read_update(orjson.dumps(update(1, "make a qr code for https://example.com")))
        .events
    )
    home.queue.put(event)
    delivery = home.queue.take(0.0)
    assert delivery is not None
    worker.process(delivery, home)

    assert bot.messages[0]["text"] == f"{ENGLISH.offline_svg}\n\n{ENGLISH.offline_signature}"
    (sent,) = [each for each in bot.requests if each.path.endswith("/sendPhoto")]
    assert b'filename="picture.png"' in sent.body
