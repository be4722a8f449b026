"""The words of the pages on which owners keep things: versions of texts, memory, people, the policy
and settings, in each language that they are in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final


class OwnerWords:
    """The words in English; a language is a class below this one that says all of them anew.

    Where a mapping has no word for a name, the name itself is shown.
    """

    code = "en"
    # texts with versions
    document = "Document"
    text = "Text"
    characters = "Characters"
    why = "Why"
    why_help = "What the change is for; it stands beside the version."
    edit = "Edit"
    what_changed = "What changed"
    go_back = "Go back to it"
    go_back_title = "Make version {version} of {name} the newest again"
    version_number = "version {version}"
    never_written = "Nobody wrote it yet."
    never_written_type = "uncaged agent doc edit {name}"
    same_text = "Nothing changed between these two."
    first_version = "before the first"
    versions_kept = (
        "Up to {count} earlier versions are kept, each for {days} days after it was replaced;"
        " fewer of long texts."
    )
    # memory
    memory = "Memory"
    of_agent = "Documents of the agent"
    of_chat = "Documents of this chat"
    of_chat_of = "Memory of {chat}"
    things = "Remembered"
    no_things = "Nothing is remembered here yet."
    no_things_type = "remember that the bins go out on Tuesday"
    things_versions = (
        "A thing has no versions: what is not true any more stays with its end, and a new thing"
        " says what holds since. What is forgotten is gone for good."
    )
    kind = "Kind"
    what = "What"
    source = "From"
    sure = "Sure"
    ended = "Ended"
    forget = "Forget"
    forget_title = "Forget this for good"
    shared_by_all = "Shared by all chats"
    still_there = "Forgotten. A line of the document memory still mentions it: edit that one too."
    forgotten = "Forgotten."
    newest_only = "The newest {count} are shown."
    things_kinds: ClassVar[Mapping[str, str]] = {"kv": "value", "fact": "fact", "event": "event"}
    # documents and skills
    scope_names: ClassVar[Mapping[str, str]] = {"agent": "the agent", "team": "the team"}
    delete = "Delete"
    delete_title = "Delete {name}"
    remove_skill = "Remove"
    remove_skill_title = "Remove the skill {name}; its versions stay"
    pin = "Pin"
    pin_title = "Put {name} into every chat's system message"
    unpin = "Unpin"
    unpin_title = "Take {name} out of the system message; a search still finds it"
    pinned = "Pinned"
    is_pinned = "in every system message"
    is_found = "found by a search"
    characters_count = "{count} characters"
    # people
    links = "Linked"
    link_requests = "Want to be linked"
    no_link_requests = "Nobody asks to be linked."
    no_link_requests_type = "/pair CODE me"
    same_as = "Same as"
    make_owner = "Make an owner"
    make_owner_title = "Make {name} an owner, who may do everything"
    make_member = "Make a member"
    make_member_title = "Make {name} a member, who decides for nobody else"
    link = "Link an id"
    link_title = "Link another id of {name}, which may do the same"
    link_help = "The code that the other id was told when it wrote to the agent."
    accept_title = "Link {id}: it is the same person as {first}"
    refuse_link = "Refuse"
    refuse_title = "Refuse to link {id} to {first}"
    unlink = "Unlink"
    unlink_title = "Unlink {name}: it is a stranger again"
    limits = "Limits and use"
    no_limits = "no limit"
    in_since = "In since"
    let_in_by = "Let in by"
    its_chats = "Chats"
    no_chats_of = "No chat of theirs asked the model in the last 30 days."
    no_chats_of_type = "uncaged chat"
    export = "Export"
    export_own = "Download what is kept of me"
    export_refused = "the private words of others are exported on the machine of the store"
    export_next = "uncaged people export {id}, or UNCAGED_WEB_TEXTS=all"
    export_often = "exports came too fast: each reads the whole store"
    export_wait = "wait a minute"
    erase = "Erase"
    erase_title = "Erase everything that is kept of {name}, for good"
    erase_lead = "Their chats, memory, files, use and traces go, and what they said in groups."
    erased = "Erased"
    erased_said = "{count} records were erased."
    erased_running = "A turn was still running: do it once more when it has ended."
    nothing_kept = "Nothing is kept of this person."
    nothing_kept_type = "uncaged channel pair --list"
    kept_all_the_same = "What stays"
    records = "Records"
    person_id = "Id"
    roles: ClassVar[Mapping[str, str]] = {"owner": "owner", "member": "member", "guest": "guest"}
    record_kinds: ClassVar[Mapping[str, str]] = {
        "conversations": "conversations",
        "waiting events": "waiting events",
        "mail between agents": "mail between agents",
        "handled events": "handled events",
        "replies": "replies",
        "damaged conversations": "damaged conversations",
        "history entries": "history entries",
        "statements that left a memory": "statements that left a memory",
        "overheard messages": "overheard messages",
        "files": "files",
        "versions of files": "versions of files",
        "marks": "marks",
        "documents": "documents",
        "document versions": "document versions",
        "things": "things",
        "search index": "search index",
        "links": "links",
        "access": "access",
        "sign-ins": "sign-ins",
        "names": "names",
        "usage": "usage",
        "dead letters": "dead letters",
        "traces": "traces",
        "values of capabilities": "values of capabilities",
        "schedules": "schedules",
        "hooks": "hooks",
        "proposals": "proposals",
        "tasks": "tasks",
        "knowledge documents": "knowledge documents",
        "messages in groups": "messages in groups",
        "notes on tasks": "notes on tasks",
        "large bodies": "large bodies",
    }
    # the policy and breakers
    policy_rules = "Rules"
    policy_preset = "Preset"
    policy_title = "Policy"
    policy_closed = "Nothing is allowed: {why}"
    policy_first = "Nobody changed it yet."
    policy_first_type = "uncaged policy edit"
    see_policy = "Policy and its versions"
    by_chat = "Breakers by chat"
    by_chat_lead = "The {count} chats that were at work last, with what failed there of late."
    no_breakers = "Nothing has failed in any chat of late, and none is held."
    no_breakers_type = "/status all"
    failed_of = "{failed} of {operations}"
    in_a_row = "In a row"
    state = "State"
    held = "Held because"
    last_failure = "Last failure"
    reasons: ClassVar[Mapping[str, str]] = {
        "frustration": "too many failures in a row",
        "loop": "the same again and again",
        "cascade": "too many failures",
        "fatal": "a failure that nothing helps",
        "budget": "the budget is used up",
        "agent-budget": "the agent's budget is used up",
        "session-budget": "the chat's budget is used up",
        "halted": "somebody halted it",
        "damaged": "its record is damaged",
    }
    waits_for_owners = "Waits for an owner"
    nothing_waits = "Nothing waits for an owner."
    # settings
    settings = "Settings"
    checks = "Checks"
    run_checks = "Run the checks"
    checks_lead = "The same as `uncaged doctor`: it asks the model and the platforms."
    checks_away = "They cannot run in this function: `uncaged doctor` runs them elsewhere."
    finding = "Found"
    remedy = "What helps"
    check_states: ClassVar[Mapping[str, str]] = {"ok": "good", "warn": "warning", "fail": "failed"}
    set_ones = "What is set"
    defaults = "What is as it comes"
    nothing_set = "Every setting is as it comes."
    nothing_set_type = "uncaged setup"
    setting = "Setting"
    value = "Value"
    meaning = "Meaning"
    from_environment = "environment"
    from_start = "start"
    is_secret = "set, never shown"
    channels = "Channels"
    channel = "Channel"
    lacks = "Lacks"
    last_turn = "Last turn"
    address = "Address"
    channel_states: ClassVar[Mapping[str, str]] = {
        "open": "works",
        "not-set": "not set",
        "polled": "fetched by the server",
        "no-webhook": "its webhook is refused",
    }
    no_channels = "No platform is set."
    no_channels_type = "uncaged setup telegram"
    tokens = "Access keys"
    no_tokens = "There is no access key."
    no_tokens_type = "sigil keys create --kind invoke --scope run:library/encode"
    scopes = "Good for"
    expires = "Ends"
    last_use = "Last use"
    revoke = "Revoke"
    revoke_title = "Revoke the key {name}: it opens nothing any more"
    token_kinds: ClassVar[Mapping[str, str]] = {
        "admin": "everything",
        "deploy": "deploys",
        "invoke": "runs",
    }
    sign_ins = "Sign-ins"
    way = "By"
    ways: ClassVar[Mapping[str, str]] = {"code": "code", "token": "admin token", "key": "key"}
    sign_out = "Sign out everywhere"
    sign_out_title = "End {count} sign-ins of {name}"
    hooks = "Hooks"
    no_hooks = "There is no hook."
    no_hooks_type = "uncaged hook add builds"
    works_for = "For"
    runs = "Runs"
    paused = "paused: {why}"
    takes = "takes what comes"
    backup = "Backup"
    no_backup = "There was no backup yet."
    no_backup_type = "uncaged backup FILE"
    last_backup = "The last one: {file}, {items} items"
    nothing_changes = "Nothing here changes a setting: they are read at the start of the process."

    def name_role(self, name: str) -> str:
        """Return the word for the role of a person."""
        return self.roles.get(name, name)


class GermanOwnerWords(OwnerWords):
    """See `OwnerWords`."""

    code = "de"
    document = "Dokument"
    text = "Text"
    characters = "Zeichen"
    why = "Wozu"
    why_help = "Wozu die Änderung gut ist; es steht neben der Fassung."
    edit = "Bearbeiten"
    what_changed = "Was sich änderte"
    go_back = "Dahin zurück"
    go_back_title = "Fassung {version} von {name} wieder zur neuesten machen"
    version_number = "Fassung {version}"
    never_written = "Noch hat es niemand geschrieben."
    never_written_type = "uncaged agent doc edit {name}"
    same_text = "Zwischen diesen beiden hat sich nichts geändert."
    first_version = "vor der ersten"
    versions_kept = (
        "Bis zu {count} frühere Fassungen bleiben, jede {days} Tage nachdem sie ersetzt wurde;"
        " bei langen Texten weniger."
    )
    memory = "Gedächtnis"
    of_agent = "Dokumente des Agenten"
    of_chat = "Dokumente dieses Chats"
    of_chat_of = "Gedächtnis von {chat}"
    things = "Gemerktes"
    no_things = "Hier ist noch nichts gemerkt."
    no_things_type = "merke dir, dass dienstags die Tonnen rausgehen"
    things_versions = (
        "Gemerktes hat keine Fassungen: Was nicht mehr stimmt, bleibt mit seinem Ende stehen, und"
        " was seither gilt, steht daneben. Vergessenes ist endgültig weg."
    )
    kind = "Art"
    what = "Was"
    source = "Von"
    sure = "Sicher"
    ended = "Galt bis"
    forget = "Vergessen"
    forget_title = "Dies für immer vergessen"
    shared_by_all = "Allen Chats gemeinsam"
    still_there = (
        "Vergessen. Eine Zeile des Dokuments memory erwähnt es noch: Bearbeite auch dieses."
    )
    forgotten = "Vergessen."
    newest_only = "Die neuesten {count} stehen hier."
    things_kinds: ClassVar[Mapping[str, str]] = {
        "kv": "Wert",
        "fact": "Tatsache",
        "event": "Ereignis",
    }
    scope_names: ClassVar[Mapping[str, str]] = {"agent": "der Agent", "team": "das Team"}
    delete = "Löschen"
    delete_title = "{name} löschen"
    remove_skill = "Entfernen"
    remove_skill_title = "Den Skill {name} entfernen; seine Fassungen bleiben"
    pin = "Anheften"
    pin_title = "{name} in die Systemnachricht jedes Chats setzen"
    unpin = "Lösen"
    unpin_title = "{name} aus der Systemnachricht nehmen; eine Suche findet ihn weiter"
    pinned = "Angeheftet"
    is_pinned = "in jeder Systemnachricht"
    is_found = "durch Suche gefunden"
    characters_count = "{count} Zeichen"
    links = "Verbunden"
    link_requests = "Möchten verbunden werden"
    no_link_requests = "Niemand bittet um eine Verbindung."
    no_link_requests_type = "/pair CODE me"
    same_as = "Dieselbe wie"
    make_owner = "Zum Besitzer machen"
    make_owner_title = "{name} zum Besitzer machen, der alles darf"
    make_member = "Zum Mitglied machen"
    make_member_title = "{name} zum Mitglied machen, das für niemanden sonst entscheidet"
    link = "ID verbinden"
    link_title = "Eine weitere ID von {name} verbinden, die dasselbe darf"
    link_help = "Der Code, den die andere ID bekam, als sie dem Agenten schrieb."
    accept_title = "{id} verbinden: dieselbe Person wie {first}"
    refuse_link = "Ablehnen"
    refuse_title = "Ablehnen, {id} mit {first} zu verbinden"
    unlink = "Trennen"
    unlink_title = "{name} trennen: Diese ID ist danach wieder fremd"
    limits = "Grenzen und Verbrauch"
    no_limits = "keine Grenze"
    in_since = "Dabei seit"
    let_in_by = "Eingelassen von"
    its_chats = "Chats"
    no_chats_of = "Keiner ihrer Chats fragte in den letzten 30 Tagen das Modell."
    no_chats_of_type = "uncaged chat"
    export = "Exportieren"
    export_own = "Herunterladen, was von mir aufgehoben ist"
    export_refused = "private Worte anderer werden auf der Maschine des Speichers exportiert"
    export_next = "uncaged people export {id}, oder UNCAGED_WEB_TEXTS=all"
    export_often = "Exporte kamen zu schnell: Jeder liest den ganzen Speicher"
    export_wait = "eine Minute warten"
    erase = "Tilgen"
    erase_title = "Alles, was von {name} aufgehoben ist, für immer tilgen"
    erase_lead = (
        "Ihre Chats, Gedächtnis, Dateien, Verbrauch und Spuren verschwinden, und was sie in Gruppen"
        " sagten."
    )
    erased = "Getilgt"
    erased_said = "{count} Datensätze wurden getilgt."
    erased_running = "Ein Zug lief noch: Tu es noch einmal, wenn er zu Ende ist."
    nothing_kept = "Von dieser Person ist nichts aufgehoben."
    nothing_kept_type = "uncaged channel pair --list"
    kept_all_the_same = "Was bleibt"
    records = "Datensätze"
    person_id = "Kennung"
    roles: ClassVar[Mapping[str, str]] = {
        "owner": "Besitzer",
        "member": "Mitglied",
        "guest": "Gast",
    }
    record_kinds: ClassVar[Mapping[str, str]] = {
        "conversations": "Gespräche",
        "waiting events": "wartende Ereignisse",
        "mail between agents": "Post zwischen Agenten",
        "handled events": "erledigte Ereignisse",
        "replies": "Antworten",
        "damaged conversations": "beschädigte Gespräche",
        "history entries": "Einträge des Verlaufs",
        "statements that left a memory": "Aussagen, die ein Gedächtnis verließen",
        "overheard messages": "mitgehörte Nachrichten",
        "files": "Dateien",
        "versions of files": "Fassungen von Dateien",
        "marks": "Merkzeichen",
        "documents": "Dokumente",
        "document versions": "Fassungen von Dokumenten",
        "things": "Gemerktes",
        "search index": "Suchverzeichnis",
        "links": "Verbindungen",
        "access": "Zugang",
        "sign-ins": "Anmeldungen",
        "names": "Namen",
        "usage": "Verbrauch",
        "dead letters": "Unzustellbares",
        "traces": "Spuren",
        "values of capabilities": "Werte von Fähigkeiten",
        "schedules": "Zeitpläne",
        "hooks": "Hooks",
        "proposals": "Vorschläge",
        "tasks": "Aufgaben",
        "knowledge documents": "Dokumente des Wissens",
        "messages in groups": "Nachrichten in Gruppen",
        "notes on tasks": "Notizen zu Aufgaben",
        "large bodies": "große Inhalte",
    }
    policy_rules = "Regeln"
    policy_preset = "Vorlage"
    policy_title = "Regeln"
    policy_closed = "Nichts ist erlaubt: {why}"
    policy_first = "Noch hat sie niemand geändert."
    policy_first_type = "uncaged policy edit"
    see_policy = "Regeln und ihre Fassungen"
    by_chat = "Sicherungen nach Chat"
    by_chat_lead = "Die {count} Chats, die zuletzt am Werk waren, mit dem, was dort fehlschlug."
    no_breakers = "In keinem Chat schlug zuletzt etwas fehl, und keiner ist angehalten."
    no_breakers_type = "/status all"
    failed_of = "{failed} von {operations}"
    in_a_row = "In Folge"
    state = "Zustand"
    held = "Angehalten wegen"
    last_failure = "Letzter Fehler"
    reasons: ClassVar[Mapping[str, str]] = {
        "frustration": "zu viele Fehler in Folge",
        "loop": "immer wieder dasselbe",
        "cascade": "zu viele Fehler",
        "fatal": "ein Fehler, gegen den nichts hilft",
        "budget": "das Budget ist verbraucht",
        "agent-budget": "das Budget des Agenten ist verbraucht",
        "session-budget": "das Budget des Chats ist verbraucht",
        "halted": "jemand hielt ihn an",
        "damaged": "sein Eintrag ist beschädigt",
    }
    waits_for_owners = "Wartet auf einen Besitzer"
    nothing_waits = "Nichts wartet auf einen Besitzer."
    settings = "Einstellungen"
    checks = "Prüfungen"
    run_checks = "Prüfen"
    checks_lead = "Dasselbe wie `uncaged doctor`: Es fragt das Modell und die Plattformen."
    checks_away = "In dieser Funktion laufen sie nicht: `uncaged doctor` prüft anderswo."
    finding = "Gefunden"
    remedy = "Was hilft"
    check_states: ClassVar[Mapping[str, str]] = {
        "ok": "gut",
        "warn": "Warnung",
        "fail": "fehlgeschlagen",
    }
    set_ones = "Was gesetzt ist"
    defaults = "Was ist, wie es kommt"
    nothing_set = "Jede Einstellung ist, wie sie kommt."
    nothing_set_type = "uncaged setup"
    setting = "Einstellung"
    value = "Wert"
    meaning = "Bedeutung"
    from_environment = "Umgebung"
    from_start = "Start"
    is_secret = "gesetzt, nie gezeigt"
    channels = "Kanäle"
    channel = "Kanal"
    lacks = "Es fehlt"
    last_turn = "Letzter Zug"
    address = "Adresse"
    channel_states: ClassVar[Mapping[str, str]] = {
        "open": "geht",
        "not-set": "nicht gesetzt",
        "polled": "vom Server abgeholt",
        "no-webhook": "sein Webhook wird abgelehnt",
    }
    no_channels = "Keine Plattform ist gesetzt."
    no_channels_type = "uncaged setup telegram"
    tokens = "Zugangsschlüssel"
    no_tokens = "Es gibt keinen Zugangsschlüssel."
    no_tokens_type = "sigil keys create --kind invoke --scope run:library/encode"
    scopes = "Gut für"
    expires = "Endet"
    last_use = "Zuletzt benutzt"
    revoke = "Widerrufen"
    revoke_title = "Den Schlüssel {name} widerrufen: Er öffnet nichts mehr"
    token_kinds: ClassVar[Mapping[str, str]] = {
        "admin": "alles",
        "deploy": "legt an",
        "invoke": "führt aus",
    }
    sign_ins = "Anmeldungen"
    way = "Mit"
    ways: ClassVar[Mapping[str, str]] = {
        "code": "Code",
        "token": "Admin-Token",
        "key": "Schlüssel",
    }
    sign_out = "Überall abmelden"
    sign_out_title = "{count} Anmeldungen von {name} beenden"
    hooks = "Hooks"
    no_hooks = "Es gibt keinen Hook."
    no_hooks_type = "uncaged hook add builds"
    works_for = "Für"
    runs = "Läufe"
    paused = "angehalten: {why}"
    takes = "nimmt, was kommt"
    backup = "Sicherung"
    no_backup = "Es gab noch keine Sicherung."
    no_backup_type = "uncaged backup DATEI"
    last_backup = "Die letzte: {file}, {items} Einträge"
    nothing_changes = (
        "Nichts hier ändert eine Einstellung: Sie werden beim Start des Prozesses gelesen."
    )


class ChineseOwnerWords(OwnerWords):
    """See `OwnerWords`."""

    code = "zh"
    document = "文档"
    text = "内容"
    characters = "字符"
    why = "原因"
    why_help = "为什么要改；会写在版本旁边。"
    edit = "编辑"
    what_changed = "改动"
    go_back = "回到此版本"
    go_back_title = "把 {name} 的版本 {version} 重新设为最新"
    version_number = "版本 {version}"
    never_written = "还没有人写过。"
    never_written_type = "uncaged agent doc edit {name}"
    same_text = "这两个版本没有差别。"
    first_version = "最初之前"
    versions_kept = "最多保留 {count} 个早期版本，每个在被替换后保留 {days} 天；长文本保留得更少。"
    memory = "记忆"
    of_agent = "智能体的文档"
    of_chat = "此聊天的文档"
    of_chat_of = "{chat} 的记忆"
    things = "记住的事"
    no_things = "这里还没有记住任何事。"
    no_things_type = "记住：每周二倒垃圾"
    things_versions = (
        "记住的事没有版本：不再成立的会保留并注明结束时间，之后成立的另记一条。忘掉的无法找回。"
    )
    kind = "种类"
    what = "内容"
    source = "来源"
    sure = "把握"
    ended = "有效至"
    forget = "忘记"
    forget_title = "永久忘记这一条"
    shared_by_all = "所有聊天共用"
    still_there = "已忘记。文档 memory 中仍有一行提到它：请一并编辑。"
    forgotten = "已忘记。"
    newest_only = "显示最新的 {count} 条。"
    things_kinds: ClassVar[Mapping[str, str]] = {"kv": "值", "fact": "事实", "event": "事件"}
    scope_names: ClassVar[Mapping[str, str]] = {"agent": "智能体", "team": "团队"}
    delete = "删除"
    delete_title = "删除 {name}"
    remove_skill = "移除"
    remove_skill_title = "移除技能 {name}；它的版本会保留"
    pin = "固定"
    pin_title = "把 {name} 放进每个聊天的系统消息"
    unpin = "取消固定"
    unpin_title = "把 {name} 移出系统消息；搜索仍能找到"
    pinned = "固定"
    is_pinned = "在每条系统消息里"
    is_found = "由搜索找到"
    characters_count = "{count} 个字符"
    links = "已关联"
    link_requests = "请求关联"
    no_link_requests = "没有人请求关联。"
    no_link_requests_type = "/pair CODE me"
    same_as = "等同于"
    make_owner = "设为所有者"
    make_owner_title = "把 {name} 设为所有者，可以做任何事"
    make_member = "设为成员"
    make_member_title = "把 {name} 设为成员，不再替别人决定"
    link = "关联编号"
    link_title = "关联 {name} 的另一个编号，权限相同"
    link_help = "另一个编号写信给智能体时收到的代码。"
    accept_title = "关联 {id}：与 {first} 是同一个人"
    refuse_link = "拒绝"
    refuse_title = "拒绝把 {id} 关联到 {first}"
    unlink = "取消关联"
    unlink_title = "取消关联 {name}：该编号之后又视为陌生人"
    limits = "限额与用量"
    no_limits = "没有限额"
    in_since = "加入于"
    let_in_by = "由谁允许"
    its_chats = "聊天"
    no_chats_of = "最近 30 天此人的聊天没有问过模型。"
    no_chats_of_type = "uncaged chat"
    export = "导出"
    export_own = "下载关于我的全部数据"
    export_refused = "他人的私人内容只能在存储所在的机器上导出"
    export_next = "uncaged people export {id}，或 UNCAGED_WEB_TEXTS=all"
    export_often = "导出太频繁：每次都要读取整个存储"
    export_wait = "等一分钟"
    erase = "抹除"
    erase_title = "永久抹除关于 {name} 的一切"
    erase_lead = "此人的聊天、记忆、文件、用量和痕迹都会消失，在群里说过的话也一样。"
    erased = "已抹除"
    erased_said = "抹除了 {count} 条记录。"
    erased_running = "还有一轮在运行：等它结束后再做一次。"
    nothing_kept = "没有保存关于此人的任何内容。"
    nothing_kept_type = "uncaged channel pair --list"
    kept_all_the_same = "保留的内容"
    records = "记录"
    person_id = "标识"
    roles: ClassVar[Mapping[str, str]] = {"owner": "所有者", "member": "成员", "guest": "访客"}
    record_kinds: ClassVar[Mapping[str, str]] = {
        "conversations": "对话",
        "waiting events": "等待的事件",
        "mail between agents": "智能体之间的邮件",
        "handled events": "已处理的事件",
        "replies": "回复",
        "damaged conversations": "损坏的对话",
        "history entries": "历史条目",
        "statements that left a memory": "离开记忆的陈述",
        "overheard messages": "旁听的消息",
        "files": "文件",
        "versions of files": "文件版本",
        "marks": "标记",
        "documents": "文档",
        "document versions": "文档版本",
        "things": "记住的事",
        "search index": "搜索索引",
        "links": "关联",
        "access": "访问权",
        "sign-ins": "登录",
        "names": "名字",
        "usage": "用量",
        "dead letters": "死信",
        "traces": "痕迹",
        "values of capabilities": "能力保存的值",
        "schedules": "日程",
        "hooks": "钩子",
        "proposals": "提议",
        "tasks": "任务",
        "knowledge documents": "知识文档",
        "messages in groups": "群里的消息",
        "notes on tasks": "任务备注",
        "large bodies": "大内容",
    }
    policy_rules = "规则"
    policy_preset = "预设"
    policy_title = "策略"
    policy_closed = "什么都不允许：{why}"
    policy_first = "还没有人改过。"
    policy_first_type = "uncaged policy edit"
    see_policy = "策略及其版本"
    by_chat = "各聊天的断路器"
    by_chat_lead = "最近工作的 {count} 个聊天，以及最近失败的情况。"
    no_breakers = "最近没有聊天失败，也没有被暂停的聊天。"
    no_breakers_type = "/status all"
    failed_of = "{operations} 次中 {failed} 次"
    in_a_row = "连续"
    state = "状态"
    held = "暂停原因"
    last_failure = "最近的失败"
    reasons: ClassVar[Mapping[str, str]] = {
        "frustration": "连续失败太多",
        "loop": "一再重复",
        "cascade": "失败太多",
        "fatal": "无法挽救的失败",
        "budget": "预算已用完",
        "agent-budget": "智能体的预算已用完",
        "session-budget": "此聊天的预算已用完",
        "halted": "有人暂停了它",
        "damaged": "记录已损坏",
    }
    waits_for_owners = "等待所有者"
    nothing_waits = "没有什么在等待所有者。"
    settings = "设置"
    checks = "检查"
    run_checks = "运行检查"
    checks_lead = "与 `uncaged doctor` 相同：会询问模型和各平台。"
    checks_away = "在此函数中无法运行：`uncaged doctor` 可在别处运行。"
    finding = "结果"
    remedy = "解决办法"
    check_states: ClassVar[Mapping[str, str]] = {"ok": "正常", "warn": "警告", "fail": "失败"}
    set_ones = "已设置"
    defaults = "默认值"
    nothing_set = "所有设置都是默认值。"
    nothing_set_type = "uncaged setup"
    setting = "设置"
    value = "值"
    meaning = "含义"
    from_environment = "环境变量"
    from_start = "启动时"
    is_secret = "已设置，不显示"
    channels = "频道"
    channel = "频道"
    lacks = "缺少"
    last_turn = "最近一轮"
    address = "地址"
    channel_states: ClassVar[Mapping[str, str]] = {
        "open": "可用",
        "not-set": "未设置",
        "polled": "由服务器拉取",
        "no-webhook": "webhook 被拒绝",
    }
    no_channels = "没有设置任何平台。"
    no_channels_type = "uncaged setup telegram"
    tokens = "访问密钥"
    no_tokens = "没有访问密钥。"
    no_tokens_type = "sigil keys create --kind invoke --scope run:library/encode"
    scopes = "用途"
    expires = "到期"
    last_use = "最近使用"
    revoke = "吊销"
    revoke_title = "吊销密钥 {name}：它不再能打开任何东西"
    token_kinds: ClassVar[Mapping[str, str]] = {
        "admin": "一切",
        "deploy": "部署",
        "invoke": "运行",
    }
    sign_ins = "登录"
    way = "方式"
    ways: ClassVar[Mapping[str, str]] = {"code": "代码", "token": "管理令牌", "key": "密钥"}
    sign_out = "全部登出"
    sign_out_title = "结束 {name} 的 {count} 个登录"
    hooks = "钩子"
    no_hooks = "没有钩子。"
    no_hooks_type = "uncaged hook add builds"
    works_for = "为谁"
    runs = "次数"
    paused = "已暂停：{why}"
    takes = "接收中"
    backup = "备份"
    no_backup = "还没有备份。"
    no_backup_type = "uncaged backup 文件"
    last_backup = "最近一次：{file}，{items} 项"
    nothing_changes = "这里不能修改设置：设置在进程启动时读取。"


LANGUAGES: Final[Mapping[str, OwnerWords]] = {
    each.code: each for each in (OwnerWords(), GermanOwnerWords(), ChineseOwnerWords())
}


def load_words(code: str) -> OwnerWords:
    """Return the words of the language with this code, English where there are none."""
    return LANGUAGES.get(code, LANGUAGES["en"])
