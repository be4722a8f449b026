"""The words of the pages about runs, agents, safety and use, in each language that they are in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from functions.page.frame import PageRequest


class RunWords:
    """The words in English; a language is a class below this one that says all of them anew.

    Where a mapping has no word for a name, the name itself is shown.
    """

    code = "en"
    roll_back = "Roll back"
    roll_back_title = "Roll back proposal {id}"
    answer = "Your words"
    limit = "In the period {period}"
    source = "Source"
    whose = "Whose"
    more = "More"
    see_all = "All of them"
    write_first = "Write to it, and see here what it did."
    # runs
    text_of_file = "Text"
    runs = "Runs"
    running_now = "At work"
    no_runs = "Nothing was done yet."
    no_runs_found = "No run fits these filters."
    every = "all"
    clear = "Show all"
    older = "Older"
    newest = "Newest"
    agent = "Agent"
    chat = "Chat"
    outcome = "Outcome"
    reason = "Reason"
    began = "Began"
    run_in = "{reason} in {chat}"
    took = "Took"
    tokens_in = "Tokens in"
    tokens_out = "out"
    cached = "cached"
    requests = "Requests"
    calls = "Calls"
    failed = "failed"
    count_failed = "{count} failed"
    count_calls = "{count} calls"
    model = "Model"
    money = "Money"
    role = "Role"
    person = "Person"
    task = "Task"
    set_off_by = "Set off by"
    steps = "Steps"
    request = "request {number}"
    tokens = "{prompt} → {completion} tokens"
    cached_tokens = "{count} cached"
    tools = "{count} tools"
    characters = "{count} characters"
    sent = "→ {kind} {to}"
    lost = "lost in a crash"
    evicted = "{count} messages left the window"
    goes_on = "goes on with {behaviour}"
    sleeps = "sleeps"
    more_steps = "{count} more steps are not kept"
    more_runs = "{count} more runs are not in this tree"
    left_out = "left out"
    call = "call"
    message = "message"
    arguments = "arguments"
    result = "result"
    failure = "failure"
    finish = "finish"
    tools_tokens = "tokens of tools that were paged in"
    tries = "tries that failed"
    late = "late for the"
    fingerprint = "fingerprint"
    note = "It noted"
    open_run = "Open this run"
    the_rest = "{count} more characters"
    more_rows = "Rows {first} to {last} of {count}"
    next_rows = "Next {count}"
    first_rows = "The first {count}"
    stop = "Stop"
    stopping = "It was told to stop: it ends soon, or at its next step."
    look_again = "Look again"
    private = "These are private words of somebody else, so they are not shown."
    private_next = "UNCAGED_WEB_TEXTS=all shows them to owners, and the ledger says so."
    numbers_only = "You see the numbers; the texts are for whoever wrote them and for owners."
    details = "Details"
    outcomes: ClassVar[Mapping[str, str]] = {
        "said": "said",
        "silent": "silent",
        "failed": "failed",
        "stopped": "stopped",
        "skipped": "skipped",
        "given-up": "given up",
        "running": "at work",
        "waiting": "waits",
    }
    reasons: ClassVar[Mapping[str, str]] = {
        "message": "message",
        "command": "command",
        "control": "control",
        "joined": "joined",
        "refused": "refused",
        "wakeup": "wakeup",
        "mail": "mail",
        "task": "task",
        "say": "said",
        "memory": "memory",
    }
    states: ClassVar[Mapping[str, str]] = {
        "waiting": "waits",
        "running": "at work",
        "done": "done",
        "failed": "failed",
        "cancelled": "cancelled",
        "timed-out": "timed out",
        "enabled": "enabled",
        "disabled": "disabled",
        "archived": "archived",
        "purged": "purged",
        "damaged": "damaged",
        "sleeping": "sleeps",
        "no-hp": "exhausted",
        "pending": "open",
        "in_progress": "in progress",
        "completed": "done",
        "stuck": "stuck",
        "dropped": "dropped",
        "open": "waits",
        "approved": "approved",
        "denied": "denied",
        "lapsed": "lapsed",
        "applied": "applied",
        "rolled-back": "rolled back",
    }
    step_names: ClassVar[Mapping[str, str]] = {
        "evict": "evicted",
        "aside": "beside the talk",
        "verified": "verified",
        "verify": "verification",
        "stop": "stopped",
        "skip": "skipped",
        "held": "held back",
        "command": "command",
        "behaviour": "behaviour",
        "end": "end",
        "limit": "limit",
        "left-out": "left out",
        "wait": "waited",
        "gather": "gathered",
        "resume": "went on",
        "hand-on": "handed on",
        "joined": "joined",
        "refused": "refused",
        "control": "control",
        "approved": "approved",
        "given-up": "given up",
    }
    sent_names: ClassVar[Mapping[str, str]] = {
        "say": "message to",
        "mail": "mail to",
        "task": "work for",
    }
    # overview
    overview = "Overview"
    waiting_for_you = "Waits for you"
    nothing_waits = "Nothing waits for you."
    people_in = "{count} people"
    last_failures = "Last failures"
    no_failures = "Nothing failed lately."
    next_to_type = "Next thing to type"
    type_hello = "Write to it in a chat"
    today = "Today"
    chats_today = "Chats of the last 30 days"
    # agents and board
    agents = "Agents"
    no_agents = "There is no agent below {name} yet."
    no_agents_type = "uncaged agent new alice"
    name = "Name"
    state = "State"
    doing = "Does"
    hp = "HP"
    next_wakeup = "Next"
    kind = "Kind"
    parent = "Below"
    since = "Since"
    behaviours = "Behaviours"
    schedules = "Schedules"
    no_schedules = "Nothing is planned."
    no_schedules_type = "/remind tomorrow 9:00 water the plants"
    when = "When"
    text = "What for"
    coming = "Coming"
    its_runs = "Its runs"
    step_titles: ClassVar[Mapping[str, str]] = {
        "enable": "Enable {name}",
        "disable": "Disable {name}",
        "archive": "Archive {name}",
        "purge": "Remove {name} and all that it has, for good",
    }
    step_verbs: ClassVar[Mapping[str, str]] = {
        "enable": "Enable",
        "disable": "Disable",
        "archive": "Archive",
        "purge": "Remove for good",
    }
    board = "Board"
    no_tasks = "No task is {status}."
    no_tasks_type = "/tasks add dig a hole"
    number = "No."
    subject = "Task"
    owner = "Who"
    priority = "Priority"
    due = "Due"
    comments = "Comments"
    report = "Report"
    waits_for = "Waits for"
    blocks = "Blocks"
    add_task = "Add a task"
    change_task = "Change"
    statuses: ClassVar[Mapping[str, str]] = {"open": "open", "ended": "ended"}
    # safety
    safety = "Safety"
    halted = "Halted"
    halt = "Halt"
    halt_title = "Halt {name}: nothing more is done until you unlock it"
    unlock = "Unlock"
    unlock_title = "Unlock {name}"
    not_halted = "Nothing is halted."
    not_halted_type = "/halt"
    proposals = "Proposals"
    no_proposals = "Nothing waits for an owner's word."
    no_proposals_type = "/proposals"
    asks = "Asks for"
    by = "By"
    until = "Until"
    approve = "Approve"
    approve_title = "Approve proposal {id}"
    deny = "Deny"
    deny_title = "Deny proposal {id}"
    grants = "Grants"
    no_grants = "No permission waits."
    no_grants_type = "sigil grants"
    dead_letters = "Dead letters"
    no_dead_letters = "No message was given up."
    no_dead_letters_type = "uncaged inbox dead"
    retry = "Retry"
    retry_title = "Put {id} back into the queue"
    drop = "Drop"
    drop_title = "Delete {id}: nobody answers it any more"
    policy = "Policy"
    policy_version = "Version {version}"
    breakers = "Breakers"
    breakers_said = "{failed} of the last {operations} operations failed, {consecutive} in a row"
    # use
    usage = "Usage"
    of_limit = "of {most}"
    no_limit = "no limit"
    tokens_today = "Tokens today"
    days_shown = "The last {days} days"
    day = "Day"
    total = "Tokens"
    turns = "Turns"
    by_chat = "By chat"
    by_model = "By model"
    by_person = "By person"
    no_use = "No token was spent yet."
    no_use_type = "uncaged chat"
    saved = "Not counted for the budget"
    by_capability = "By capability"
    capability = "Capability"
    other_calls = "others"
    no_calls = "Nothing was called yet."
    no_calls_type = "what is the SHA-256 of hello?"
    all_tools = "What all tools in each request would have cost"
    all_tools_saved = "Saved, about"
    all_tools_each = "All definitions, in each request"
    all_tools_requests = "Requests"
    all_tools_resident = "What tools really took in them"
    all_tools_whole = (
        "An estimate: the definitions of {count} capabilities as they are today, times the"
        " requests, without what tools really took."
    )
    all_tools_part = (
        "An estimate: the definitions of the first {count} capabilities as they are today (there"
        " are more), times the requests, without what tools really took."
    )
    all_tools_left_out = "Of {count} more requests it is not known what was in them."
    all_tools_unknown = "Nothing is known of what was in the requests of these days."
    ledger = "Ledger"
    ledger_good = "{entries} entries, and the chain holds"
    ledger_bad = "The chain does not hold: {problem}"
    verify = "Verify"
    # people, knowledge, files, chats
    people = "People"
    waits_in = "Wait to be let in"
    code_help = "The code that they were told; it lets them in as members."
    code_name = "Code"
    let_in = "Let in"
    nobody = "Nobody was let in yet."
    nobody_type = "uncaged channel pair"
    remove = "Take out"
    remove_title = "Take {name} out: they may not write any more"
    seen = "In since"
    today_used = "Today"
    knowledge = "Knowledge"
    no_knowledge = "There is no document yet."
    no_knowledge_type = "uncaged kb add FILE"
    title = "Title"
    tags = "Tags"
    files = "Files"
    no_files = "There is no file yet."
    no_files_type = "uncaged files put FILE"
    path = "Path"
    size = "Size"
    version = "Version"
    versions = "Versions"
    skills = "Skills"
    no_skills = "There is no skill yet."
    no_skills_type = "uncaged skill add FOLDER"
    description = "What it is"
    documents = "Documents"
    chats = "Chats"
    no_chats = "Nobody asked the model yet."
    no_chats_type = "uncaged chat"
    last = "Last"
    # forms
    save = "Save"
    done = "Done."

    def name_outcome(self, name: str) -> str:
        """Return the word for an outcome of a run."""
        return self.outcomes.get(name, name)

    def name_reason(self, name: str) -> str:
        """Return the word for why there was a run."""
        return self.reasons.get(name, name)

    def name_state(self, name: str) -> str:
        """Return the word for a state of a call, an agent, a task or a proposal."""
        return self.states.get(name, name)

    def name_step(self, name: str) -> str:
        """Return the word for a kind of step."""
        return self.step_names.get(name, name)

    def name_sent(self, name: str) -> str:
        """Return the words for what a call sent to others."""
        return self.sent_names.get(name, name)


class GermanRunWords(RunWords):
    """See `RunWords`."""

    code = "de"
    roll_back = "Zurücknehmen"
    roll_back_title = "Vorschlag {id} zurücknehmen"
    answer = "Deine Worte"
    limit = "Im Zeitraum {period}"
    source = "Quelle"
    whose = "Wessen"
    more = "Mehr"
    see_all = "Alle"
    write_first = "Schreib ihm, und sieh hier, was er tat."
    text_of_file = "Text"
    runs = "Läufe"
    running_now = "Am Werk"
    no_runs = "Es wurde noch nichts getan."
    no_runs_found = "Kein Lauf passt zu diesen Filtern."
    every = "alle"
    clear = "Alle zeigen"
    older = "Ältere"
    newest = "Neueste"
    agent = "Agent"
    chat = "Chat"
    outcome = "Ausgang"
    reason = "Grund"
    began = "Begann"
    run_in = "{reason} in {chat}"
    took = "Dauer"
    tokens_in = "Tokens hinein"
    tokens_out = "heraus"
    cached = "im Cache"
    requests = "Anfragen"
    calls = "Aufrufe"
    failed = "fehlgeschlagen"
    count_failed = "{count} fehlgeschlagen"
    count_calls = "{count} Aufrufe"
    model = "Modell"
    money = "Geld"
    role = "Rolle"
    person = "Person"
    task = "Aufgabe"
    set_off_by = "Ausgelöst von"
    steps = "Schritte"
    request = "Anfrage {number}"
    tokens = "{prompt} → {completion} Tokens"
    cached_tokens = "{count} im Cache"
    tools = "{count} Werkzeuge"
    characters = "{count} Zeichen"
    sent = "→ {kind} {to}"
    lost = "in einem Absturz verloren"
    evicted = "{count} Nachrichten verließen das Fenster"
    goes_on = "weiter mit {behaviour}"
    sleeps = "schläft"
    more_steps = "{count} weitere Schritte sind nicht aufgehoben"
    more_runs = "{count} weitere Läufe sind nicht in diesem Baum"
    left_out = "ausgelassen"
    call = "Aufruf"
    message = "Nachricht"
    arguments = "Argumente"
    result = "Ergebnis"
    failure = "Fehler"
    finish = "Ende"
    tools_tokens = "Tokens der hereingeholten Werkzeuge"
    tries = "gescheiterte Versuche"
    late = "zu spät für"
    fingerprint = "Fingerabdruck"
    note = "Er notierte"
    open_run = "Diesen Lauf öffnen"
    the_rest = "{count} weitere Zeichen"
    more_rows = "Zeilen {first} bis {last} von {count}"
    next_rows = "Die nächsten {count}"
    first_rows = "Die ersten {count}"
    stop = "Anhalten"
    stopping = "Er soll aufhören: Er endet bald oder beim nächsten Schritt."
    look_again = "Noch einmal sehen"
    private = "Das sind private Worte von jemand anderem, darum stehen sie nicht hier."
    private_next = "UNCAGED_WEB_TEXTS=all zeigt sie Besitzern, und das Hauptbuch sagt es."
    numbers_only = (
        "Du siehst die Zahlen; die Texte sind für den, der sie schrieb, und für Besitzer."
    )
    details = "Einzelheiten"
    outcomes: ClassVar[Mapping[str, str]] = {
        "said": "gesagt",
        "silent": "still",
        "failed": "fehlgeschlagen",
        "stopped": "angehalten",
        "skipped": "übersprungen",
        "given-up": "aufgegeben",
        "running": "am Werk",
        "waiting": "wartet",
    }
    reasons: ClassVar[Mapping[str, str]] = {
        "message": "Nachricht",
        "command": "Befehl",
        "control": "Steuerung",
        "joined": "dazugekommen",
        "refused": "abgelehnt",
        "wakeup": "Wecker",
        "mail": "Post",
        "task": "Aufgabe",
        "say": "Gesagtes",
        "memory": "Gedächtnis",
    }
    states: ClassVar[Mapping[str, str]] = {
        "waiting": "wartet",
        "running": "am Werk",
        "done": "fertig",
        "failed": "fehlgeschlagen",
        "cancelled": "abgebrochen",
        "timed-out": "zu lange",
        "enabled": "eingeschaltet",
        "disabled": "ausgeschaltet",
        "archived": "abgelegt",
        "purged": "entfernt",
        "damaged": "beschädigt",
        "sleeping": "schläft",
        "no-hp": "erschöpft",
        "pending": "offen",
        "in_progress": "in Arbeit",
        "completed": "erledigt",
        "stuck": "festgefahren",
        "dropped": "verworfen",
        "open": "wartet",
        "approved": "erlaubt",
        "denied": "verweigert",
        "lapsed": "verfallen",
        "applied": "ausgeführt",
        "rolled-back": "zurückgenommen",
    }
    step_names: ClassVar[Mapping[str, str]] = {
        "evict": "ausgelagert",
        "aside": "neben dem Gespräch",
        "verified": "geprüft",
        "verify": "Prüfung",
        "stop": "angehalten",
        "skip": "übersprungen",
        "held": "zurückgehalten",
        "command": "Befehl",
        "behaviour": "Verhalten",
        "end": "Ende",
        "limit": "Grenze",
        "left-out": "ausgelassen",
        "wait": "gewartet",
        "gather": "gesammelt",
        "resume": "fortgesetzt",
        "hand-on": "weitergegeben",
        "joined": "dazugekommen",
        "refused": "abgelehnt",
        "control": "Steuerung",
        "approved": "erlaubt",
        "given-up": "aufgegeben",
    }
    sent_names: ClassVar[Mapping[str, str]] = {
        "say": "Nachricht an",
        "mail": "Post an",
        "task": "Arbeit für",
    }
    overview = "Übersicht"
    waiting_for_you = "Wartet auf dich"
    nothing_waits = "Nichts wartet auf dich."
    people_in = "{count} Personen"
    last_failures = "Letzte Fehler"
    no_failures = "In letzter Zeit schlug nichts fehl."
    next_to_type = "Als Nächstes eingeben"
    type_hello = "Schreib ihm in einem Chat"
    today = "Heute"
    chats_today = "Chats der letzten 30 Tage"
    agents = "Agenten"
    no_agents = "Unter {name} gibt es noch keinen Agenten."
    no_agents_type = "uncaged agent new alice"
    name = "Name"
    state = "Zustand"
    doing = "Tut"
    hp = "HP"
    next_wakeup = "Als Nächstes"
    kind = "Art"
    parent = "Unter"
    since = "Seit"
    behaviours = "Verhalten"
    schedules = "Zeitpläne"
    no_schedules = "Nichts ist geplant."
    no_schedules_type = "/remind morgen 9:00 Blumen gießen"
    when = "Wann"
    text = "Wofür"
    coming = "Kommt"
    its_runs = "Seine Läufe"
    step_titles: ClassVar[Mapping[str, str]] = {
        "enable": "{name} einschalten",
        "disable": "{name} ausschalten",
        "archive": "{name} ablegen",
        "purge": "{name} und alles, was er hat, für immer entfernen",
    }
    step_verbs: ClassVar[Mapping[str, str]] = {
        "enable": "Einschalten",
        "disable": "Ausschalten",
        "archive": "Ablegen",
        "purge": "Für immer entfernen",
    }
    board = "Tafel"
    no_tasks = "Keine Aufgabe ist {status}."
    no_tasks_type = "/tasks add ein Loch graben"
    number = "Nr."
    subject = "Aufgabe"
    owner = "Wer"
    priority = "Vorrang"
    due = "Fällig"
    comments = "Kommentare"
    report = "Bericht"
    waits_for = "Wartet auf"
    blocks = "Hält auf"
    add_task = "Eine Aufgabe hinzufügen"
    change_task = "Ändern"
    statuses: ClassVar[Mapping[str, str]] = {"open": "offen", "ended": "beendet"}
    safety = "Sicherheit"
    halted = "Angehalten"
    halt = "Anhalten"
    halt_title = "{name} anhalten: Nichts mehr geschieht, bis du wieder freigibst"
    unlock = "Freigeben"
    unlock_title = "{name} freigeben"
    not_halted = "Nichts ist angehalten."
    not_halted_type = "/halt"
    proposals = "Vorschläge"
    no_proposals = "Nichts wartet auf das Wort eines Besitzers."
    no_proposals_type = "/proposals"
    asks = "Bittet um"
    by = "Von"
    until = "Bis"
    approve = "Erlauben"
    approve_title = "Vorschlag {id} erlauben"
    deny = "Verweigern"
    deny_title = "Vorschlag {id} verweigern"
    grants = "Rechte"
    no_grants = "Kein Recht wartet."
    no_grants_type = "sigil grants"
    dead_letters = "Unzustellbares"
    no_dead_letters = "Keine Nachricht wurde aufgegeben."
    no_dead_letters_type = "uncaged inbox dead"
    retry = "Noch einmal"
    retry_title = "{id} wieder in die Schlange stellen"
    drop = "Löschen"
    drop_title = "{id} löschen: Niemand beantwortet es mehr"
    policy = "Regeln"
    policy_version = "Version {version}"
    breakers = "Sicherungen"
    breakers_said = (
        "{failed} der letzten {operations} Schritte schlugen fehl, {consecutive} in Folge"
    )
    usage = "Verbrauch"
    of_limit = "von {most}"
    no_limit = "keine Grenze"
    tokens_today = "Tokens heute"
    days_shown = "Die letzten {days} Tage"
    day = "Tag"
    total = "Tokens"
    turns = "Züge"
    by_chat = "Nach Chat"
    by_model = "Nach Modell"
    by_person = "Nach Person"
    no_use = "Noch wurde kein Token verbraucht."
    no_use_type = "uncaged chat"
    saved = "Zählt nicht für das Budget"
    by_capability = "Nach Fähigkeit"
    capability = "Fähigkeit"
    other_calls = "andere"
    no_calls = "Noch wurde nichts aufgerufen."
    no_calls_type = "was ist der SHA-256 von hallo?"
    all_tools = "Was alle Werkzeuge in jeder Anfrage gekostet hätten"
    all_tools_saved = "Gespart, etwa"
    all_tools_each = "Alle Beschreibungen, je Anfrage"
    all_tools_requests = "Anfragen"
    all_tools_resident = "Was Werkzeuge darin wirklich brauchten"
    all_tools_whole = (
        "Eine Schätzung: die Beschreibungen von {count} Fähigkeiten, wie sie heute sind, mal die"
        " Anfragen, ohne das, was Werkzeuge wirklich brauchten."
    )
    all_tools_part = (
        "Eine Schätzung: die Beschreibungen der ersten {count} Fähigkeiten, wie sie heute sind (es"
        " gibt mehr), mal die Anfragen, ohne das, was Werkzeuge wirklich brauchten."
    )
    all_tools_left_out = "Von {count} weiteren Anfragen ist nicht bekannt, was in ihnen war."
    all_tools_unknown = "Was in den Anfragen dieser Tage war, ist nicht bekannt."
    ledger = "Hauptbuch"
    ledger_good = "{entries} Einträge, und die Kette hält"
    ledger_bad = "Die Kette hält nicht: {problem}"
    verify = "Prüfen"
    people = "Personen"
    waits_in = "Warten darauf, eingelassen zu werden"
    code_help = "Der Code, der ihnen gesagt wurde; er lässt sie als Mitglieder ein."
    code_name = "Code"
    let_in = "Einlassen"
    nobody = "Noch wurde niemand eingelassen."
    nobody_type = "uncaged channel pair"
    remove = "Ausschließen"
    remove_title = "{name} ausschließen: Sie dürfen nicht mehr schreiben"
    seen = "Dabei seit"
    today_used = "Heute"
    knowledge = "Wissen"
    no_knowledge = "Es gibt noch kein Dokument."
    no_knowledge_type = "uncaged kb add DATEI"
    title = "Titel"
    tags = "Stichworte"
    files = "Dateien"
    no_files = "Es gibt noch keine Datei."
    no_files_type = "uncaged files put DATEI"
    path = "Pfad"
    size = "Größe"
    version = "Version"
    versions = "Versionen"
    skills = "Fertigkeiten"
    no_skills = "Es gibt noch keine Fertigkeit."
    no_skills_type = "uncaged skill add ORDNER"
    description = "Was es ist"
    documents = "Dokumente"
    chats = "Chats"
    no_chats = "Noch hat niemand das Modell gefragt."
    no_chats_type = "uncaged chat"
    last = "Zuletzt"
    save = "Speichern"
    done = "Erledigt."


class ChineseRunWords(RunWords):
    """See `RunWords`."""

    code = "zh"
    roll_back = "回退"
    roll_back_title = "回退提案 {id}"
    answer = "你的话"
    limit = "本周期 {period}"
    source = "来源"
    whose = "归属"
    more = "更多"
    see_all = "全部"
    write_first = "给它写点什么，这里会显示它做了什么。"
    text_of_file = "内容"
    runs = "运行"
    running_now = "正在进行"
    no_runs = "还没有做过任何事。"
    no_runs_found = "没有符合这些条件的运行。"
    every = "全部"
    clear = "显示全部"
    older = "更早"
    newest = "最新"
    agent = "智能体"
    chat = "聊天"
    outcome = "结果"
    reason = "原因"
    began = "开始"
    run_in = "{chat} 里的{reason}"
    took = "用时"
    tokens_in = "输入词元"
    tokens_out = "输出"
    cached = "缓存"
    requests = "请求"
    calls = "调用"
    failed = "失败"
    count_failed = "{count} 次失败"
    count_calls = "{count} 次调用"
    model = "模型"
    money = "费用"
    role = "角色"
    person = "用户"
    task = "任务"
    set_off_by = "由此引发"
    steps = "步骤"
    request = "请求 {number}"
    tokens = "{prompt} → {completion} 词元"
    cached_tokens = "{count} 缓存"
    tools = "{count} 个工具"
    characters = "{count} 个字符"
    sent = "→ {kind} {to}"
    lost = "崩溃中丢失"
    evicted = "{count} 条消息离开了窗口"
    goes_on = "继续 {behaviour}"
    sleeps = "休眠"
    more_steps = "还有 {count} 步没有保留"
    more_runs = "还有 {count} 次运行不在此树中"
    left_out = "省略"
    call = "调用"
    message = "消息"
    arguments = "参数"
    result = "结果"
    failure = "错误"
    finish = "结束方式"
    tools_tokens = "调入工具的词元"
    tries = "失败的尝试"
    late = "超过时限"
    fingerprint = "指纹"
    note = "它的备注"
    open_run = "打开这次运行"
    the_rest = "还有 {count} 个字符"
    more_rows = "第 {first} 到 {last} 行，共 {count} 行"
    next_rows = "后 {count} 行"
    first_rows = "前 {count} 行"
    stop = "停止"
    stopping = "已要求停止：很快或在下一步结束。"
    look_again = "再看一次"
    private = "这是别人的私密内容，因此不显示。"
    private_next = "UNCAGED_WEB_TEXTS=all 会向主人显示，并记入账本。"
    numbers_only = "你只看到数字；文字只给写的人和主人看。"
    details = "详情"
    outcomes: ClassVar[Mapping[str, str]] = {
        "said": "已回复",
        "silent": "无回复",
        "failed": "失败",
        "stopped": "已停止",
        "skipped": "已跳过",
        "given-up": "已放弃",
        "running": "进行中",
        "waiting": "等待中",
    }
    reasons: ClassVar[Mapping[str, str]] = {
        "message": "消息",
        "command": "命令",
        "control": "控制",
        "joined": "并入",
        "refused": "被拒绝",
        "wakeup": "定时唤醒",
        "mail": "邮件",
        "task": "任务",
        "say": "通知",
        "memory": "记忆",
    }
    states: ClassVar[Mapping[str, str]] = {
        "waiting": "等待中",
        "running": "进行中",
        "done": "完成",
        "failed": "失败",
        "cancelled": "已取消",
        "timed-out": "超时",
        "enabled": "启用",
        "disabled": "停用",
        "archived": "归档",
        "purged": "已清除",
        "damaged": "损坏",
        "sleeping": "休眠",
        "no-hp": "耗尽",
        "pending": "待办",
        "in_progress": "进行中",
        "completed": "完成",
        "stuck": "受阻",
        "dropped": "放弃",
        "open": "等待",
        "approved": "已批准",
        "denied": "已拒绝",
        "lapsed": "已失效",
        "applied": "已执行",
        "rolled-back": "已回退",
    }
    step_names: ClassVar[Mapping[str, str]] = {
        "evict": "移出窗口",
        "aside": "对话之外",
        "verified": "已核实",
        "verify": "核实",
        "stop": "停止",
        "skip": "跳过",
        "held": "暂缓",
        "command": "命令",
        "behaviour": "行为",
        "end": "结束",
        "limit": "限制",
        "left-out": "省略",
        "wait": "等待",
        "gather": "汇集",
        "resume": "继续",
        "hand-on": "移交",
        "joined": "并入",
        "refused": "被拒绝",
        "control": "控制",
        "approved": "已批准",
        "given-up": "放弃",
    }
    sent_names: ClassVar[Mapping[str, str]] = {
        "say": "发消息给",
        "mail": "发邮件给",
        "task": "派工作给",
    }
    overview = "概览"
    waiting_for_you = "等你处理"
    nothing_waits = "没有等你处理的事。"
    people_in = "{count} 人"
    last_failures = "最近的失败"
    no_failures = "最近没有失败。"
    next_to_type = "接下来可以输入"
    type_hello = "在聊天里给它写点什么"
    today = "今天"
    chats_today = "最近 30 天的聊天"
    agents = "智能体"
    no_agents = "{name} 之下还没有智能体。"
    no_agents_type = "uncaged agent new alice"
    name = "名称"
    state = "状态"
    doing = "职责"
    hp = "体力"
    next_wakeup = "下次"
    kind = "类型"
    parent = "上级"
    since = "始于"
    behaviours = "行为"
    schedules = "日程"
    no_schedules = "没有计划。"
    no_schedules_type = "/remind 明天上午九点浇花"
    when = "时间"
    text = "内容"
    coming = "接下来"
    its_runs = "它的运行"
    step_titles: ClassVar[Mapping[str, str]] = {
        "enable": "启用 {name}",
        "disable": "停用 {name}",
        "archive": "归档 {name}",
        "purge": "永久移除 {name} 及其所有内容",
    }
    step_verbs: ClassVar[Mapping[str, str]] = {
        "enable": "启用",
        "disable": "停用",
        "archive": "归档",
        "purge": "永久移除",
    }
    board = "看板"
    no_tasks = "没有{status}的任务。"
    no_tasks_type = "/tasks add 挖一个坑"
    number = "编号"
    subject = "任务"
    owner = "谁"
    priority = "优先级"
    due = "到期"
    comments = "评论"
    report = "报告"
    waits_for = "等待"
    blocks = "阻塞"
    add_task = "添加任务"
    change_task = "修改"
    statuses: ClassVar[Mapping[str, str]] = {"open": "未完成", "ended": "已结束"}
    safety = "安全"
    halted = "已停止"
    halt = "停止"
    halt_title = "停止 {name}：解锁之前什么都不做"
    unlock = "解锁"
    unlock_title = "解锁 {name}"
    not_halted = "没有被停止的。"
    not_halted_type = "/halt"
    proposals = "提案"
    no_proposals = "没有等待主人决定的事。"
    no_proposals_type = "/proposals"
    asks = "请求"
    by = "谁"
    until = "截止"
    approve = "批准"
    approve_title = "批准提案 {id}"
    deny = "拒绝"
    deny_title = "拒绝提案 {id}"
    grants = "授权"
    no_grants = "没有等待授予的权限。"
    no_grants_type = "sigil grants"
    dead_letters = "死信"
    no_dead_letters = "没有被放弃的消息。"
    no_dead_letters_type = "uncaged inbox dead"
    retry = "重试"
    retry_title = "把 {id} 放回队列"
    drop = "删除"
    drop_title = "删除 {id}：不会再有人回答"
    policy = "策略"
    policy_version = "版本 {version}"
    breakers = "断路器"
    breakers_said = "最近 {operations} 次操作中 {failed} 次失败，连续 {consecutive} 次"
    usage = "用量"
    of_limit = "上限 {most}"
    no_limit = "没有上限"
    tokens_today = "今日词元"
    days_shown = "最近 {days} 天"
    day = "日期"
    total = "词元"
    turns = "轮次"
    by_chat = "按聊天"
    by_model = "按模型"
    by_person = "按用户"
    no_use = "还没有用过词元。"
    no_use_type = "uncaged chat"
    saved = "不计入预算"
    by_capability = "按能力"
    capability = "能力"
    other_calls = "其他"
    no_calls = "还没有调用过任何能力。"
    no_calls_type = "hello 的 SHA-256 是多少？"
    all_tools = "如果每次请求都带上全部工具"
    all_tools_saved = "约节省"
    all_tools_each = "全部定义（每次请求）"
    all_tools_requests = "请求"
    all_tools_resident = "其中工具实际占用"
    all_tools_whole = "估算：今天的 {count} 个能力的定义乘以请求数，减去工具实际占用的部分。"
    all_tools_part = (
        "估算：今天前 {count} 个能力（还有更多）的定义乘以请求数，减去工具实际占用的部分。"
    )
    all_tools_left_out = "另有 {count} 次请求不知道带了哪些工具。"
    all_tools_unknown = "这些天的请求里带了哪些工具，没有记录。"
    ledger = "账本"
    ledger_good = "{entries} 条记录，链条完整"
    ledger_bad = "链条不完整：{problem}"
    verify = "核对"
    people = "用户"
    waits_in = "等待加入"
    code_help = "他们收到的代码；输入后他们成为成员。"
    code_name = "代码"
    let_in = "允许加入"
    nobody = "还没有人加入。"
    nobody_type = "uncaged channel pair"
    remove = "移出"
    remove_title = "移出 {name}：不能再写消息"
    seen = "加入于"
    today_used = "今天"
    knowledge = "知识"
    no_knowledge = "还没有文档。"
    no_knowledge_type = "uncaged kb add 文件"
    title = "标题"
    tags = "标签"
    files = "文件"
    no_files = "还没有文件。"
    no_files_type = "uncaged files put 文件"
    path = "路径"
    size = "大小"
    version = "版本"
    versions = "版本"
    skills = "技能"
    no_skills = "还没有技能。"
    no_skills_type = "uncaged skill add 文件夹"
    description = "说明"
    documents = "文档"
    chats = "聊天"
    no_chats = "还没有人问过模型。"
    no_chats_type = "uncaged chat"
    last = "最近"
    save = "保存"
    done = "完成。"


LANGUAGES: Final[Mapping[str, RunWords]] = {
    each.code: each for each in (RunWords(), GermanRunWords(), ChineseRunWords())
}


def load_words(code: str) -> RunWords:
    """Return the words of the language with this code, English where there are none."""
    return LANGUAGES.get(code, LANGUAGES["en"])


def words_of(page: PageRequest) -> RunWords:
    """Return the words of these pages in the viewer's language."""
    return load_words(page.language)
