"""The words of the manifests: what people type finds the right capability, and what none can do
finds none of them by a greedy word.
"""

from __future__ import annotations

from sigil.protocol import Caller
from sigil.registry import LocalRegistry
from tests.capabilities.conftest import FOLDER
from tests.tables import each_row

OF_BUNDLES = {
    "agents": ("create an agent for contracts", "创建智能体"),
    "board": ("task board", "kanban", "看板", "milestone"),
    "files": ("workspace", "my files", "文件夹", "meine Dateien", "mes fichiers"),
    "knowledge": ("our documents", "employee handbook", "资料库", "员工手册"),
    "schedule": ("scheduler", "日程安排", "Terminplaner", "planificateur"),
    "team": ("work in parallel", "团队", "teammates"),
}
BUNDLES = {query for queries in OF_BUNDLES.values() for query in queries}
ASKED = {
    "read-inbox": "messages of teammates | 收件箱 | Nachrichten vom Team",
    "plan-approval": "approve the plan of the teammate | 批准计划",
    "list-teammates": "who is on my team | 队里有谁 | wer ist im Team",
    "broadcast": "send everybody one message | 通知所有人 | sag allen Bescheid",
    "agents": " | ".join(OF_BUNDLES["agents"]),
    "board": " | ".join(OF_BUNDLES["board"]),
    "create-subagent": "create a subagent | 创建子代理",
    "list-agents": "list subagents | 智能体列表",
    "stop-agent": "stop a subagent | 停掉子代理",
    "calculate": "计算器 | 最大公约数",
    "cancel-wakeup": "cancel my reminder | 取消提醒 | lösche die Erinnerung | annule le rappel",
    "case-convert": "驼峰转下划线 | camel case",
    "chart-svg": "画一个柱状图 | 饼图 | pie chart",
    "claim-task": "claim task 4 | 认领任务",
    "color-convert": "颜色转换 | rgb转hex",
    "create-task": "add a task | 添加任务 | neue Aufgabe",
    "crc-checksum": "CRC校验",
    "cron-next": "cron表达式 | next cron run",
    "csv-convert": "csv转json",
    "currency-rates": "汇率换算 | 100美元换人民币 | exchange rate usd eur | wechselkurs",
    "date-calendar": "2024年3月有几个工作日 | easter 2025",
    "date-math": "两个日期相差几天 | what weekday was 1969-07-20",
    "diff-file": "what changed in the file | 文件改了什么 | was hat sich in der Datei geändert",
    "edit-file": "edit the file | 修改文件 | ändere die Datei | modifie le fichier",
    "encode": "base64编码 | decode base64",
    "files": " | ".join(OF_BUNDLES["files"]),
    "forget": "忘记我说的 | 从记忆中删除 | delete a fact from memory | forget my address",
    "geo-distance": "两地距离 | distance between two gps coordinates",
    "get-task": "show task 4 | 任务详情",
    "hash": "md5加密 | 哈希值",
    "html-to-text": "网页转文本 | strip html",
    "invest-value": "复利计算 | compound interest",
    "ip-subnet": "子网掩码计算 | subnet mask for /26",
    "json-diff": "比较两个json | difference between two json",
    "json-query": "查询JSON | jsonpath",
    "json-validate": "校验JSON结构 | validate json schema",
    "jwt-decode": "解析JWT | read a jwt",
    "levenshtein": "编辑距离 | edit distance",
    "kb-ingest": "add this to the knowledge base | 加入知识库",
    "kb-search": "search the knowledge base | 搜索知识库",
    "kb-update": "update the knowledge base | 更新知识库",
    "knowledge": " | ".join(OF_BUNDLES["knowledge"]),
    "list-files": "list files | 有哪些文件 | welche Dateien gibt es | liste des fichiers",
    "list-tasks": "what is on the board | 任务列表 | welche Aufgaben",
    "list-wakeups": "list my reminders | 我的提醒 | welche Erinnerungen | mes rappels",
    "loan-plan": "房贷月供计算 | mortgage payment",
    "markdown-table": "markdown表格",
    "matrix": "矩阵求逆 | solve linear equations",
    "number-base": "进制转换 | 十六进制转十进制 | binary to decimal",
    "number-format": "千分位格式 | bytes to human readable",
    "number-words": "人民币大写 | 数字转大写金额",
    "prime-factors": "是不是质数 | 分解质因数",
    "qr-svg": "把文本转成二维码 | 生成二维码 | qr code | QRコード",
    "random-values": "生成一个uuid | generate a uuid | 随机密码 | make me a strong password | 随机数",
    "read-file": "read the file | 打开文件 | lies die Datei | lis le fichier | look at a picture again",
    "read-page": "读一下这个网页 | read this web page | Webseite lesen",
    "read-policy": "what are you allowed to do | 你的权限 | was darfst du | ta politique",
    "recall": "你记得什么 | 查询记忆 | what do you know about me | recall facts about Ada",
    "regex-extract": "正则提取邮箱 | extract numbers from text",
    "remember": "记住我的生日 | 存入记忆 | remember this | save to memory",
    "request-payment": "pay the invoice | 申请付款 | Rechnung bezahlen | régler la facture",
    "roman-numerals": "罗马数字 | roman numerals of 1994",
    "schedule": " | ".join(OF_BUNDLES["schedule"]),
    "schedule-wakeup": "remind me | set an alarm | 提醒我 | 设闹钟 | erinnere mich | mets un rappel",
    "search-history": "聊天记录 | 之前说过什么 | what did we talk about last week | search earlier messages",
    "send-message": "message a teammate | 给队友发消息",
    "shape-area": "圆的面积 | volume of a sphere",
    "shutdown-request": "dismiss a teammate | 让队友下班 | Team auflösen",
    "slugify": "生成slug",
    "sort-list": "列表去重 | 排序 | remove duplicate lines",
    "spawn-teammate": "spawn a teammate | 派一个队友 | Teammitglied starten",
    "statistics": "平均数 | standard deviation",
    "team": " | ".join(OF_BUNDLES["team"]),
    "template-render": "模板渲染 | mail merge",
    "text-diff": "差异对比 | diff two texts",
    "text-replace": "把所有逗号替换成分号 | find and replace",
    "text-similarity": "最长公共子序列 | jaro winkler",
    "text-stats": "统计字数 | word count",
    "text-wrap": "自动换行 | wrap text at 80 columns",
    "time-zone": "时间戳转日期 | 北京时间转纽约时间 | convert unix timestamp 1700000000",
    "unit-convert": "单位换算 | 公斤换算成磅 | convert 5 miles to km",
    "update-task": "mark task 2 as done | 完成任务",
    "url-parts": "解析网址 | parse query string",
    "validate-id": "校验身份证 | 身份证号校验 | 统一社会信用代码验证 | luhn check",
    "web-search": "上网搜索 | search the web | im Internet suchen",
    "write-file": "save as a file | 存成文件 | speichere als Datei | enregistre dans un fichier",
    "weather-now": "天气 | 今天北京天气怎么样 | will it rain tomorrow in Paris | wetter",
}
GREEDY = {
    "convert pdf to text": {"color-convert", "csv-convert", "unit-convert", "case-convert"},
    "convert mp4 to mp3": {"color-convert", "csv-convert", "unit-convert", "case-convert"},
    "send an email to Bob": {"validate-id", "regex-extract"},
    "给鲍勃发邮件": {"validate-id", "regex-extract"},
    "generate a uuid": {"validate-id"},
    "生成一个UUID": {"validate-id"},
    "generate an image of a cat": {"random-values", "chart-svg", "qr-svg"},
    "book a flight to Rome": {"time-zone", "weather-now", "geo-distance"},
    "set a timer for ten minutes": {"time-zone", "date-math", "cron-next"},
    "remind me tomorrow at nine": {"time-zone", "date-math", "date-calendar"},
    "translate hello to french": {"encode", "number-words"},
    "playlist of my favourite songs": {"sort-list"},
    "who won the lottery yesterday": {"number-words"},
    "delete my account": {"text-replace", "loan-plan"},
    "my internet network is slow": {"levenshtein"},
}


def found(registry: LocalRegistry, query: str) -> list[str]:
    """The names of what is found; of a bundle the member that was found."""
    hits = registry.query(query, Caller("main")).hits
    return [hit.offer.name if query in BUNDLES else hit.loads[0].name for hit in hits]


def test_every_capability_is_asked_for_here() -> None:
    assert sorted(ASKED) == sorted(path.parent.name for path in FOLDER.glob("*/sigil.toml"))


@each_row("name", ASKED)
def test_what_people_type_finds_it_first(registry: LocalRegistry, name: str) -> None:
    queries = ASKED[name].split(" | ")
    assert {query: found(registry, query)[:1] for query in queries} == {
        query: [name] for query in queries
    }


@each_row("query", GREEDY)
def test_a_greedy_word_does_not_bring_it(registry: LocalRegistry, query: str) -> None:
    assert not GREEDY[query] & set(found(registry, query))
