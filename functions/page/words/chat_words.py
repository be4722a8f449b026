"""The texts of the pages of chats, in the languages that pages have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final


@dataclass(frozen=True, slots=True)
class ChatWords:
    """The texts of the pages of chats in one language. What stands in braces is filled in."""

    chats: str = "Chats"
    new_chat: str = "New chat"
    find_chat: str = "Find a chat"
    at_work: str = "at work"
    unread: str = "new"
    untitled: str = "a private chat"
    message: str = "Message {name}"
    send: str = "Send"
    stop: str = "Stop"
    attach: str = "Attach files"
    take_back: str = "Take back {name}"
    record: str = "Record a voice message"
    recording: str = "Recording · {seconds} s · tap again to send"
    no_microphone: str = "The microphone cannot be used: {why}"
    too_large: str = "{name} has more than {size}: send a smaller file, or a part of it."
    too_many: str = "A message brings at most {count} files: send the others with the next one."
    too_large_together: str = (
        "The files of a message have at most {size} together: send the others with the next one."
    )
    hint: str = "Enter sends · Shift+Enter breaks the line · / for commands"
    to_end: str = "To the newest message"
    thinking: str = "Thinking · {seconds} s"
    doubt: str = "A call failed: the answer may be checked once more."
    stopped: str = "Stopped here. This part of the answer is not kept."
    draft: str = "First draft, then checked"
    note: str = "Note of the runtime"
    scheduled: str = "Work that was scheduled"
    copy: str = "Copy"
    copied: str = "Copied"
    copy_table: str = "Copy as a table"
    again: str = "Ask again"
    earlier: str = "Show earlier messages"
    later: str = "Back to the newest messages"
    waits: str = "waits for its turn"
    arguments: str = "Arguments"
    result: str = "Result"
    no_result: str = "No result yet."
    running: str = "running"
    done: str = "done"
    failed: str = "failed"
    was_stopped: str = "stopped"
    window_left: str = "what is above left the model's window"
    window_left_one: str = "what is above left the model's window, and one tool with it"
    window_left_tools: str = "what is above left the model's window, and {count} tools with it"
    requests_one: str = "1 request"
    requests: str = "{count} requests"
    cost_tokens: str = "{prompt} → {completion} tokens"
    window: str = "The model's window"
    of_tokens: str = "of {window} tokens"
    part_system: str = "system"
    part_memory: str = "memory"
    part_talk: str = "talk"
    part_static: str = "always there"
    part_tool: str = "paged in"
    working_set: str = "Working set"
    no_tools: str = "No tools yet: what you ask for brings them in."
    always: str = "always"
    leaves: str = "leaves with the next message"
    found_by: str = "found by “{query}”"
    called: str = "called {count}×"
    left: str = "Left the window"
    tools_line_one: str = "1 tool · {tokens} tokens"
    tools_line: str = "{count} tools · {tokens} tokens"
    empty: str = "What shall it do?"
    example_1: str = "draw a bar chart of 3, 5, 8"
    example_2: str = "what is 15% of 240"
    example_3: str = "convert 5 miles to kilometers"
    read_only: str = "You read this chat. It goes on where its people write."
    looks_again: str = "A turn is at work, and this page looks again by itself."
    write_meanwhile: str = "Write meanwhile"
    connecting: str = "Connecting again …"
    signed_out: str = "You are signed out. Sign in, and your words are still here."
    sign_in: str = "Sign in"
    not_sent: str = "Not sent: {why}"
    again_soon: str = "the server cannot be reached. Try again."
    commands: str = "Commands"
    as_json: str = "as JSON"
    file: str = "file"
    closed_file: str = "could not be opened"


ENGLISH: Final = ChatWords()
WORDS: Final[Mapping[str, ChatWords]] = {
    "en": ENGLISH,
    "de": ChatWords(
        chats="Chats",
        new_chat="Neuer Chat",
        find_chat="Chat suchen",
        at_work="arbeitet",
        unread="neu",
        untitled="ein privater Chat",
        message="Nachricht an {name}",
        send="Senden",
        stop="Anhalten",
        attach="Dateien anhängen",
        take_back="{name} nicht anhängen",
        record="Sprachnachricht aufnehmen",
        recording="Aufnahme · {seconds} s · noch einmal tippen sendet sie",
        no_microphone="Das Mikrofon geht nicht: {why}",
        too_large="{name} hat mehr als {size}: sende eine kleinere Datei oder einen Teil davon.",
        too_many="Eine Nachricht bringt höchstens {count} Dateien mit: sende die anderen danach.",
        too_large_together=(
            "Die Dateien einer Nachricht haben zusammen höchstens {size}: sende die anderen danach."
        ),
        hint="Enter sendet · Umschalt+Enter bricht die Zeile um · / für Befehle",
        to_end="Zur neuesten Nachricht",
        thinking="Denkt nach · {seconds} s",
        doubt="Ein Aufruf ist fehlgeschlagen: die Antwort wird vielleicht noch einmal geprüft.",
        stopped="Hier angehalten. Dieser Teil der Antwort wird nicht aufbewahrt.",
        draft="Erster Entwurf, danach geprüft",
        note="Notiz der Laufzeit",
        scheduled="Geplante Arbeit",
        copy="Kopieren",
        copied="Kopiert",
        copy_table="Als Tabelle kopieren",
        again="Noch einmal fragen",
        earlier="Frühere Nachrichten zeigen",
        later="Zurück zu den neuesten Nachrichten",
        waits="wartet, bis sie an der Reihe ist",
        arguments="Argumente",
        result="Ergebnis",
        no_result="Noch kein Ergebnis.",
        running="läuft",
        done="fertig",
        failed="fehlgeschlagen",
        was_stopped="angehalten",
        window_left="was darüber steht, hat das Fenster des Modells verlassen",
        window_left_one=(
            "was darüber steht, hat das Fenster des Modells verlassen, und ein Werkzeug mit ihm"
        ),
        window_left_tools=(
            "was darüber steht, hat das Fenster des Modells verlassen, und {count} Werkzeuge mit"
            " ihm"
        ),
        requests_one="1 Anfrage",
        requests="{count} Anfragen",
        cost_tokens="{prompt} → {completion} Token",
        window="Das Fenster des Modells",
        of_tokens="von {window} Token",
        part_system="System",
        part_memory="Gedächtnis",
        part_talk="Gespräch",
        part_static="immer da",
        part_tool="hereingeholt",
        working_set="Arbeitssatz",
        no_tools="Noch keine Werkzeuge: was du fragst, holt sie herein.",
        always="immer",
        leaves="geht mit der nächsten Nachricht",
        found_by="gefunden mit „{query}“",
        called="{count}× aufgerufen",
        left="Aus dem Fenster gegangen",
        tools_line_one="1 Werkzeug · {tokens} Token",
        tools_line="{count} Werkzeuge · {tokens} Token",
        empty="Was soll es tun?",
        example_1="zeichne ein Balkendiagramm von 3, 5, 8",
        example_2="was sind 15% von 240",
        example_3="rechne 5 Meilen in Kilometer um",
        read_only="Du liest diesen Chat. Er geht dort weiter, wo seine Leute schreiben.",
        looks_again="Die Antwort entsteht noch, und diese Seite sieht von selbst nach.",
        write_meanwhile="Inzwischen schreiben",
        connecting="Verbindet wieder …",
        signed_out="Du bist abgemeldet. Melde dich an, deine Worte bleiben hier.",
        sign_in="Anmelden",
        not_sent="Nicht gesendet: {why}",
        again_soon="der Server ist nicht zu erreichen. Versuche es noch einmal.",
        commands="Befehle",
        as_json="als JSON",
        file="Datei",
        closed_file="ließ sich nicht öffnen",
    ),
    "zh": ChatWords(
        chats="聊天",
        new_chat="新聊天",
        find_chat="查找聊天",
        at_work="正在工作",
        unread="新消息",
        untitled="私人聊天",
        message="给 {name} 发消息",
        send="发送",
        stop="停止",
        attach="添加文件",
        take_back="移除 {name}",
        record="录制语音消息",
        recording="正在录音 · {seconds} 秒 · 再点一次发送",
        no_microphone="无法使用麦克风：{why}",
        too_large="{name} 超过 {size}：请发送较小的文件，或只发送其中一部分。",
        too_many="一条消息最多带 {count} 个文件：其余的请随下一条发送。",
        too_large_together="一条消息的文件合计最多 {size}：其余的请随下一条发送。",
        hint="Enter 发送 · Shift+Enter 换行 · / 查看命令",
        to_end="到最新消息",
        thinking="思考中 · {seconds} 秒",
        doubt="有一次调用失败：回答可能会再检查一次。",
        stopped="在此停止。这部分回答不会保留。",
        draft="初稿，之后已检查",
        note="运行时的说明",
        scheduled="计划的工作",
        copy="复制",
        copied="已复制",
        copy_table="复制为表格",
        again="再问一次",
        earlier="显示更早的消息",
        later="回到最新消息",
        waits="等待处理",
        arguments="参数",
        result="结果",
        no_result="还没有结果。",
        running="运行中",
        done="完成",
        failed="失败",
        was_stopped="已停止",
        window_left="以上内容已离开模型的窗口",
        window_left_one="以上内容已离开模型的窗口，还有 1 个工具",
        window_left_tools="以上内容已离开模型的窗口，还有 {count} 个工具",
        requests_one="1 次请求",
        requests="{count} 次请求",
        cost_tokens="{prompt} → {completion} 个 token",
        window="模型的窗口",
        of_tokens="共 {window} 个 token",
        part_system="系统",
        part_memory="记忆",
        part_talk="对话",
        part_static="一直在",
        part_tool="调入",
        working_set="工作集",
        no_tools="还没有工具：你的请求会把它们调入。",
        always="一直在",
        leaves="随下一条消息离开",
        found_by="由“{query}”找到",
        called="调用 {count} 次",
        left="已离开窗口",
        tools_line_one="1 个工具 · {tokens} 个 token",
        tools_line="{count} 个工具 · {tokens} 个 token",
        empty="要做什么？",
        example_1="画一个柱状图 3, 5, 8",
        example_2="240 的 15% 是多少",
        example_3="把 5 英里换算成公里",
        read_only="你正在查看此聊天。它在其成员发消息的地方继续。",
        looks_again="正在处理，此页面会自动刷新。",
        write_meanwhile="先写消息",
        connecting="正在重新连接 …",
        signed_out="你已退出。请登录，你输入的内容还在这里。",
        sign_in="登录",
        not_sent="未发送：{why}",
        again_soon="无法连接服务器，请重试。",
        commands="命令",
        as_json="JSON",
        file="文件",
        closed_file="无法打开",
    ),
}

SCRIPT: Final = (
    "take_back recording no_microphone too_large too_large_together too_many thinking copy copied"
    " copy_table connecting signed_out sign_in not_sent again_soon"
).split()
"""The texts that the script of the page shows itself."""


def load_words(language: str) -> ChatWords:
    """Return the texts in a language, English where there are none."""
    return WORDS.get(language, ENGLISH)


def list_script_words(words: ChatWords) -> dict[str, str]:
    """Return the texts that the script shows, by their names."""
    named = {each.name: getattr(words, each.name) for each in fields(words)}
    return {name: named[name] for name in SCRIPT}
