"""The texts in German.

German sets a point where English sets a comma into a number, and Python cannot: numbers stand here
without either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import ClassVar, Final

from functions.texts.en import Texts

_WEEKDAYS: Final = (
    "Montag",
    "Dienstag",
    "Mittwoch",
    "Donnerstag",
    "Freitag",
    "Samstag",
    "Sonntag",
)
_MONTHS: Final = (
    "Januar",
    "Februar",
    "März",
    "April",
    "Mai",
    "Juni",
    "Juli",
    "August",
    "September",
    "Oktober",
    "November",
    "Dezember",
)


class German(Texts):
    """The texts in German."""

    code = "de"
    name = "Deutsch"
    words: ClassVar[frozenset[str]] = frozenset(
        "ich bist ist sind dir mich dich mein meine meinen meinem meiner dein deine der das ein"
        " eine einen einem und oder nicht kein keine auch wie wer wo wann warum weshalb welche"
        " welcher welches kannst kann können heißt heiße heisst heute morgen gestern bitte für"
        " mit von zum zur über"
        " weißt weisst vergiss merke merk notiere erinnere erzähl erzähle rechne wandle"
        " kodiere viele viel dass ergibt mal hoch wurzel grad meilen kilometer meter pfund stunden"
        " minuten sekunden tage wochen euro als nach aus zwischen ob wird werden wurde hat haben"
        " habe wir uns unser sie ihr euch jetzt gerade dieser diese dieses noch schon nur mehr sehr"
        " mach mache macht gib zeig zeige sortiere würfle wirf schreibe schreib konvertiere"
        " dekodiere zähle binär hexadezimal primzahl zufallszahl wochentag werktag geht"
        " runde auf stellen bedeutet kostet".split()
    )
    decimal_mark = ","
    greetings: ClassVar[frozenset[str]] = frozenset(
        "hallo moin servus danke tschüss tschüß tschuess guten hilfe".split()
    )

    hello = (
        "Hallo, ich bin {name}. Schreib mir einfach, was du brauchst: Ich finde das passende"
        " Werkzeug oder baue eins, und merke mir, was du mir sagst."
    )
    hello_without_making = (
        "Hallo, ich bin {name}. Schreib mir einfach, was du brauchst: Ich finde das passende"
        " Werkzeug dafür, und merke mir, was du mir sagst."
    )
    try_examples = "Probier eins davon:"
    examples: ClassVar[Mapping[str, str]] = {
        "unit-convert": "wandle 10 km in Meilen um",
        "date-math": "wie viele Tage sind es vom 1.1.2027 bis zum 25.12.2027",
        "encode": "kodiere hallo welt in base64",
    }
    more_help = "/help zeigt, was du sonst noch senden kannst."
    help_head = "Schreib einfach, was du brauchst. Diese Befehle helfen:"
    help_owner_head = "Für dich, weil ich dir gehöre:"
    help_group = "In einer Gruppe nenn mich oder antworte mir, damit ich weiß, dass du mich meinst."
    help_hints: ClassVar[Mapping[str, str]] = {
        "slack": "Schreib in Slack `!` statt `/`, etwa `!status`, oder `/uncaged status`.",
        "matrix": "Schreib auf Matrix `!` statt `/`, etwa `!status`.",
    }
    help_offline = (
        "Noch hat niemand ein Sprachmodell angeschlossen, darum verstehe ich nur schlichte Bitten."
        " Mein Besitzer schließt eins an: `uncaged setup model` (oder `UNCAGED_LLM_URL`)."
    )
    help_no_deploy = "Ich nehme die Werkzeuge, die es gibt; neue baue ich hier nicht."
    meanings: ClassVar[Mapping[str, str]] = {
        "start": "sagt hallo, mit Beispielen zum Probieren",
        "help": "zeigt, was du senden kannst",
        "new": "beginnt ein neues Gespräch; was ich mir gemerkt habe, bleibt",
        "language": "zeigt oder ändert die Sprache meiner eigenen Nachrichten",
        "timezone": "zeigt oder ändert die Zeitzone dieses Chats",
        "remind": "erinnert dich zu einer Zeit, etwa morgen um neun Bob anrufen",
        "snooze": "sagt die letzte Erinnerung später noch einmal, etwa in 10 Minuten",
        "done": "hakt die letzte Erinnerung ab, so dass sie nicht noch einmal kommt",
        "tasks": "zeigt die Aufgaben; fügt eine hinzu, beendet, vergibt oder öffnet sie",
        "wakeups": "zeigt, was ich hier von selbst tue und wann; hält es an oder löscht es",
        "quiet": "zeigt oder setzt die Stunden, in denen ich hier nichts von selbst sage",
        "heartbeat": "zeigt oder setzt, wie oft ich von selbst nachsehe, ob es Neues gibt",
        "files": "zeigt meine Dateien hier; mit einem Pfad eine davon, oder ihre Änderungen",
        "hooks": "zeigt, wo mir Programme etwas bringen können; löscht eines davon",
        "tools": "zeigt die Werkzeuge, die ich hier zur Hand habe",
        "listen": "zeigt, ob ich in einer Gruppe mitlese; Besitzer schalten es an oder aus",
        "status": "zeigt, wie es mir geht und was ich gerade tue",
        "usage": "zeigt, wie viele Token hier verbraucht wurden und was noch übrig ist",
        "spent": "zeigt die Token der letzten Tage und was sie gekostet haben",
        "context": "zeigt, was mein Fenster füllt",
        "compact": "schafft Platz: ältere Nachrichten kommen ins Archiv",
        "history": "zeigt die letzten Nachrichten dieses Gesprächs",
        "export": "gibt dir dieses Gespräch als Datei",
        "model": "zeigt, welches Modell hier antwortet, oder wählt ein anderes vom selben Anbieter",
        "btw": "beantwortet eine Zwischenfrage, von der nichts bleibt",
        "whoami": "zeigt, wer du für mich bist und was du heute noch nutzen kannst",
        "link": "lässt deine privaten Chats mit mir teilen, was ich mir merke",
        "web": "schickt dir einen Code, der meine Seite im Browser öffnet",
        "unlink": "gibt diesem Chat wieder ein eigenes Gedächtnis",
        "pair": "zeigt, wer mit mir reden darf, lässt jemanden herein oder nimmt ihn wieder heraus",
        "soul": "zeigt, wer ich bin; Besitzer ändern es mit Worten",
        "policy": "zeigt und ändert, was ich tun darf",
        "skills": "zeigt meine Skills, die Regeln für bestimmte Aufgaben; auch zum Anheften",
        "proposals": "zeigt, was auf deine Zustimmung wartet; nimmt Änderungen zurück",
        "approve": "lässt einen Vorschlag zu, oder den Plan eines Teammitglieds",
        "deny": "lehnt einen Vorschlag oder einen Plan ab; Worte sagen, warum",
        "mem": "nimmt ins Gedächtnis auf, was hier gesagt wurde, und deine Worte dazu",
        "recall": "zeigt, was ich mir hier gemerkt habe; mit Worten sucht es auch im Gesagten",
        "kb": "sucht die Antwort auf eine Frage in der Wissensdatenbank",
        "forget": "vergisst eine Sache, mit der ID, die /recall zeigt",
        "stop": "beendet, was ich gerade tue",
        "halt": "hält mich in jedem Chat an, oder nur hier",
        "agents": "zeigt die Agenten unter mir, hält einen an, schaltet ihn ein oder aus",
        "agent": "zeigt, welcher Agent in diesem Chat antwortet, oder wechselt ihn",
        "team": "zeigt das Team und seinen Stand, sagt einem etwas, oder beendet Arbeit",
        "inbox": "zeigt, was Teammitglieder an diesen Chat geschrieben haben",
        "unlock": "lässt mich weitermachen, nachdem ich angehalten wurde",
    }
    arguments: ClassVar[Mapping[str, str]] = {
        "start": "[Wort]",
        "language": "[CODE | auto]",
        "timezone": "[STADT | auto]",
        "tasks": "[N | all | add TEXT | done N | drop N | assign N NAME | reopen N]",
        "wakeups": "[pause | resume | now | drop N]",
        "hooks": "[drop NAME]",
        "status": "[all]",
        "files": "[PFAD | diff PFAD | history PFAD]",
        "remind": "ZEIT TEXT",
        "snooze": "[N] [ZEIT]",
        "done": "[N]",
        "spent": "[N]",
        "quiet": "[22:00-07:00 | off]",
        "heartbeat": "[30m | off]",
        "listen": "[on | off]",
        "history": "[N]",
        "model": "[NAME | auto | reset]",
        "btw": "FRAGE",
        "link": "[CODE]",
        "pair": "[CODE [me] | ID member | remove ID]",
        "soul": "[Worte | history | rollback N]",
        "policy": "[REGEL | drop N | preset NAME | history | rollback N]",
        "skills": "[NAME | pin NAME | unpin NAME | remove NAME | rollback NAME N]",
        "proposals": "[ID | rollback ID]",
        "approve": "ID [TEXT]",
        "deny": "ID [TEXT]",
        "mem": "[Worte | history | rollback N]",
        "recall": "[Worte]",
        "kb": "FRAGE",
        "forget": "ID",
        "agent": "[NAME | enable]",
        "team": (
            "[NAME | tell NAME TEXT | stop NAME | stop all | wake NAME | wake all | mute | unmute"
            " | all]"
        ),
        "agents": "[stop | enable | disable | archive NAME]",
        "halt": "[here]",
        "unlock": "[here]",
    }

    with_space = "Schreib `/{name}`, mit einem Leerzeichen vor dem, was folgt."
    without_space = "Schreib `/{name}`, ohne Leerzeichen nach dem Schrägstrich."
    unknown_command = "Den Befehl /{name} kenne ich nicht.{hint} /help zeigt alle Befehle."
    did_you_mean = " Meinst du /{name}?"
    takes_no_argument = "Nach /{name} kommt nichts mehr. Sende `/{name}` allein."
    owners_only = "Das kann nur mein Besitzer."
    not_here = "In einer Gruppe kann das nur mein Besitzer."
    send_alone = "Sende es allein, oder mit `here` für diesen Chat."
    # --- ein Team ---
    task_done = "#{id} von {owner} erledigt: {text}"
    task_done_by_nobody = "#{id} erledigt: {text}"
    task_stuck = "#{id} kommt nicht voran: {text}"
    task_dropped = "#{id} wurde verworfen: {text}"
    task_files = "Dateien: {files}"
    team_said = "{name}: {text}"
    team_mail = "{name} an {to}: {text}"
    team_since = "seit {span}"
    team_leg = "Abschnitt {leg}"
    team_step = "letzter Schritt {step}"
    team_thinks = "fragt das Modell"
    team_at_work = "bei der Arbeit"
    team_elsewhere = "arbeitet für einen anderen Chat"
    team_progress_ended = "Team: Es arbeitet niemand mehr."
    team_hears: ClassVar[Mapping[str, str]] = {
        "": (
            "Ich sage hier, was herauskommt, was gefragt wird und wie es vorangeht. `/team mute`"
            " lässt weg, wie es vorangeht; `/team all` fügt hinzu, was sie einander schreiben."
        ),
        "mute": (
            "Ich sage hier nur, was herauskommt und was gefragt wird. `/team unmute` beendet das."
        ),
        "all": (
            "Ich sage hier alles, auch was sie einander schreiben. `/team unmute` beendet das."
        ),
    }
    team_stuck = "{name} kommt nicht voran: {why}"
    limits_reached: ClassVar[Mapping[str, str]] = {
        "steps": (
            "nach {most:,} Schritten war Schluss, mehr darf eine Arbeit nicht"
            " brauchen (`UNCAGED_TICKS`)"
        ),
        "legs": (
            "nach {most:,} Durchgängen war es nicht fertig, und mehr darf eine"
            " Arbeit nicht brauchen"
        ),
        "seconds": "es dauerte länger als {span}, und mehr darf ein Durchgang nicht brauchen",
        "workers": (
            "es wurde {most:,}-mal weitergereicht, und öfter darf ein Durchgang das nicht werden"
        ),
        "chain": (
            "alles, was ein Anlass auslöst, darf {most:,} Token verbrauchen"
            " (`UNCAGED_CHAIN_TOKENS`), und dies hat {spent:,} verbraucht"
        ),
        "max_steps": "`max_steps` ({most:,}) ist erreicht",
        "max_tokens": "`max_tokens` ({most:,}) ist erreicht",
        "max_walltime": "`max_walltime` ({most:,}) ist erreicht",
    }
    own_limit = "Ich habe etwas beendet, das ich von mir aus tat: {why}."
    said_last = "Bisher: {text}"
    team_has_shut_down = "{name} hat sich beendet."
    team_plan = (
        "{name} bittet um die Freigabe eines Plans (request_id={id}):\n{text}\n\n`/approve {id}`"
        " gibt ihn frei, `/deny {id} TEXT` sagt, warum nicht. Bis dahin wartet {name}."
    )
    team_waits = "wartet auf eine Antwort auf den Plan {id}"
    team_asks = (
        "{name} fragt ({id}): {text}\n\nAntworte auf diese Nachricht, oder sende"
        " /team tell {name} TEXT."
    )
    team_told = "{name} liest das jetzt."
    team_told_halted = "Ich bin angehalten; {name} liest das, wenn ich entsperrt bin."
    team_reads_nothing = (
        "{name} hat sich beendet und liest nichts. Bitte mich, {name} noch einmal zu starten."
    )
    team_not_for_guests = "Gäste geben hier niemandem Arbeit."
    team_none = "Es gibt keine Teammitglieder."
    team_head = "Team: {name}"
    team_spawn_hint = (
        "Bitte um eines, etwa: Starte alice als Programmiererin, die sich selbst Arbeit sucht."
    )
    team_stopping = "{names} hört sofort auf."
    team_stopped = (
        "{names} war schon beendet, und niemand weckt sie, bevor du es tust: `/team wake NAME`."
    )
    team_woken = "Geweckt: {names}."
    team_stopped_by_you = "von dir angehalten"
    team_stopped_by_person = "von einem Menschen angehalten"
    team_goes_on = "Es geht weiter mit: {names}."
    team_waiting = "Wartende Aufgaben: {count} ({tasks})."
    team_anybody = "für alle"
    limit_setting = "Die Einstellung ist `{setting}`."
    team_unknown = "Es gibt kein Teammitglied {name}."
    team_how = (
        "`/team NAME` sagt, wie weit jemand ist, `/team tell NAME TEXT` sagt jemandem etwas."
        " `/team stop NAME` oder `/team stop all` beendet die Arbeit; mit `/team wake NAME` geht"
        " sie weiter. `/team mute`, `/team unmute` und `/team all` legen fest, was ich hier sage."
    )
    offline_task_after = (
        "Soll sie auf eine andere Aufgabe warten? Dann schreibe `/tasks add BETREFF nach #1`."
        " Es wurde nichts hinzugefügt."
    )
    offline_team = (
        "Teammitglieder, und mehrere Aufgaben auf einmal, brauchen ein Sprachmodell, und es ist"
        " keines verbunden: `uncaged setup model` verbindet eines. Ohne eines fügt"
        " `/tasks add TEXT` eine Aufgabe hinzu, und `/team` zeigt, wer da ist."
    )
    inbox_none = "Keine neue Post."
    agent_now = "In diesem Chat antwortet {name}."
    agent_how = "Mit `/agent NAME` antworten auch: {names}."
    agent_none = (
        "Einen anderen gibt es nicht: `uncaged agent create NAME` auf dem Rechner legt einen an."
    )
    agent_set = "Von jetzt an antwortet {name} in diesem Chat."
    agent_back = "`/agent {name}` holt mich zurück."
    agent_unknown = "Kein Agent {name} kann hier antworten."
    agent_away = "(Der Agent {name} ist abgeschaltet oder weg, darum antworte hier ich.)"
    new_session = "Ein neues Gespräch beginnt."
    stays_locked = " Gesperrt bleibt es. {notice}"

    policy_denies = "Meine Richtlinie erlaubt das nicht: {rule}."
    policy_in_private = "Meine Richtlinie zeige und ändere ich nur in einem privaten Chat."
    policy_meanwhile = (
        "Gerade hat jemand anders die Richtlinie geändert; sie bleibt, wie sie dann war."
    )
    policy_kept = "Die Richtlinie bleibt, wie sie ist: {why}."
    policy_never_changed = "Die Richtlinie wurde nie geändert."
    policy_changed = (
        "Erledigt: Die Richtlinie hat jetzt Version {version}. Sie gilt ab der nächsten Nachricht."
    )
    policy_preset = "Meine Richtlinie ist die Vorlage `{name}`, und diese Regeln gehen ihr vor:"
    policy_preset_alone = "Meine Richtlinie ist die Vorlage `{name}`, ohne weitere Regeln."
    policy_spending = "Grenzen: {payment} je Zahlung, {day} am Tag, {task} je Aufgabe."
    policy_how = (
        "`/policy deny guest call web-search` fügt eine Regel hinzu, `/policy drop N` nimmt eine"
        " weg, `/policy preset careful` wählt eine andere Vorlage; `/policy history` und"
        " `/policy rollback N` zeigen frühere Versionen und bringen sie zurück."
    )
    proposal_waits = (
        "Das wartet auf die Zustimmung meines Besitzers: {acts}, mit `{arguments}`. Er kann bis"
        " {time} `/approve {id}` oder `/deny {id}` senden."
    )
    proposal_for_owner = (
        "{by} braucht in {session} deine Zustimmung: {acts}, mit `{arguments}`. Sende bis {time}"
        " `/approve {id}` oder `/deny {id}`."
    )
    grant_waits = (
        "Darf ich `{name}` benutzen? Damit kann ich {reach}. Mein Besitzer entscheidet bis {time}:"
        " `/approve {id}` heißt ja, `/deny {id}` heißt nein."
    )
    grant_asked_before = (
        "Ein anderer Chat hat zuerst gefragt und erfährt davon: Frag mich danach noch einmal."
    )
    grant_for_owner = (
        "Darf ich `{name}` benutzen? {by} braucht es in {session}. Damit kann ich {reach}. Bis"
        " {time} heißt `/approve {id}` ja, `/deny {id}` nein."
    )
    permission_meanings: ClassVar[Mapping[str, str]] = {
        "web": "im Web suchen und jede öffentliche Seite lesen (GET, HEAD)",
        "http": "`{target}` senden",
        "secret": "das Geheimnis `{target}` verwenden",
        "call": "`{target}` aufrufen",
    }
    button_yes = "Ja"
    button_no = "Nein"
    proposal_approved = "(Genehmigt, Vorschlag {id}: {acts}.)"
    proposal_denied = "Mein Besitzer hat Vorschlag {id} abgelehnt: {acts}. Es wird nicht getan."
    proposal_lapsed = (
        "Über Vorschlag {id} hat einen Tag lang niemand entschieden: {acts}. Es wird nicht getan."
    )
    proposal_undone = (
        "Vorschlag {id} wurde genehmigt, konnte aber nicht ausgeführt werden: {acts}. Bitte noch"
        " einmal darum, wenn es noch gewünscht ist."
    )
    proposal_rolled_back = (
        "Vorschlag {id} wurde zurückgenommen: {acts}. Alles ist wieder wie davor, als eigene"
        " Fassung."
    )
    proposal_more = "(Es sind noch {count:,} Zeichen mehr; `/proposals {id}` zeigt sie.)"
    proposals_none = "Nichts wartet auf deine Zustimmung."
    proposal_line = "- {id}: {acts}, mit `{arguments}`, für {by} in {session}, bis {time}"
    proposals_how = (
        "`/approve ID` lässt es zu, `/deny ID` nicht. `/proposals rollback ID` nimmt eine Änderung"
        " zurück, die schon gemacht ist."
    )
    proposal_runs = "Genehmigt: {acts}. In {session} geht es jetzt weiter."
    proposal_dropped = "Abgelehnt: {acts}. Es wird nicht getan."
    proposal_refused = "Nichts wurde geändert: {why}."
    plan_line = "- {id}: Plan von {name}, für {by} in {session}: {text}"
    plans_how = (
        "`/approve ID` gibt einen Plan frei, `/deny ID TEXT` sagt, warum nicht; bis dahin wartet"
        " das Teammitglied."
    )
    plan_approved = "Freigegeben. {name} macht mit dem Plan {id} weiter."
    plan_rejected = "Abgelehnt. {name} liest das und kann statt {id} einen anderen Plan vorlegen."
    plan_problems: ClassVar[Mapping[str, str]] = {
        "unknown": "Es gibt keinen Plan {id}. `/proposals` zeigt die, die warten.",
        "stranger": "Den Plan {id} von {name} beantwortet nur mein Besitzer oder wer die Arbeit"
        " wollte.",
        "approved": "Der Plan {id} von {name} ist schon freigegeben.",
        "rejected": "Der Plan {id} von {name} ist schon abgelehnt.",
        "replaced": "{name} hat statt {id} einen anderen Plan vorgelegt: {newer}.",
        "shut_down": "{name} hat sich beendet, und damit ist der Plan {id} hinfällig.",
        "disabled": "{name} ist abgeschaltet; mit dem Plan {id} würde nichts geschehen. Schalte"
        " {name} zuerst ein.",
        "ended": "{name} wartet nicht mehr auf eine Antwort auf den Plan {id}.",
        "halted": "Ich bin angehalten; mit dem Plan {id} würde nichts geschehen. Sende zuerst"
        " /unlock.",
    }
    button_approve = "Zustimmen {id}"
    button_deny = "Ablehnen {id}"
    policy_closed = (
        "(Ich kann zurzeit nur reden: {why}. `uncaged policy check` auf meinem Rechner sagt, was"
        " daran falsch ist.)"
    )

    language_now = "Meine eigenen Nachrichten schreibe ich auf {name}. Ich kann: {known}."
    language_how = (
        "`/language CODE` wählt eine Sprache, `/language auto` richtet sich danach, wie du"
        " schreibst."
    )
    language_set = "Ab jetzt schreibe ich meine eigenen Nachrichten auf {name}."
    language_auto = "Ab jetzt sind meine eigenen Nachrichten in der Sprache, in der du schreibst."
    language_unknown = "Die Sprache {name} kann ich nicht. Ich kann: {known}."

    zone_now = "Die Zeitzone dieses Chats ist {zone} (UTC{offset}); dort ist es {time} Uhr."
    zone_kept = "Was hier schon geplant ist, behält seine Zeiten in {zones}; `/wakeups` zeigt es."
    zone_of_settings = (
        "Dieser Chat hat keine eigene Zeitzone; ich nehme {zone}, dort ist es {time} Uhr."
    )
    zone_how = (
        "`/timezone STADT` ändert sie, zum Beispiel `/timezone {city}`; `/timezone auto` nimmt das"
        " zurück."
    )
    zone_unknown = "Die Zeitzone{name} kenne ich nicht."
    zone_near = "Meinst du {zones}?"
    zone_name_city = (
        "Nenn eine Stadt oder eine Zone der IANA-Datenbank, zum Beispiel `/timezone {city}`."
    )
    zone_question = (
        "(Deine Zeitzone kenne ich nicht und nehme UTC: `/timezone STADT` ändert das, zum Beispiel"
        " `/timezone {city}`.)"
    )
    zone_example = "Europe/Berlin"
    time_words: ClassVar[str] = (
        r"\b(?:heute|gestern|vorgestern|übermorgen|(?<!guten )(?<!bis )morgen|nächste woche"
        r"|(?:am|bis|nächsten?|diesen) (?:montag|dienstag|mittwoch|donnerstag|freitag|samstag"
        r"|sonntag)|wie spät|wie viel uhr|\d\d?(?::\d\d)? ?uhr|(?:um|bis|ab|vor|nach) \d\d?:\d\d"
        r"|welche[rsn]? (?:tag|datum))\b"
    )

    tools_always = "Immer zur Hand: {names}."
    tools_here = "In diesem Gespräch gefunden:"
    tools_none = (
        "Ein anderes Werkzeug war in diesem Gespräch noch nicht nötig; wenn doch, suche ich eins."
    )
    status_ready = "Mir geht es gut, und ich bin bereit für dich."
    status_troubled = (
        "Ich bin bereit für dich, aber zuletzt gingen {failed} von {steps} Schritten schief:"
        " `/status all` sagt, was."
    )
    status_weak = (
        "Ich bin bereit für dich, aber zu schwach für eigene Arbeit: `/status all` sagt, warum."
    )
    status_how = "`/status` sagt, wie es mir geht, und `/status all` sagt es ausführlich."
    status_working = "Ich arbeite gerade an einer Nachricht."
    status_waiting = "Ich warte auf das Modell, das im Moment nicht antwortet."
    status_request = "Die {number}. Anfrage an das Modell läuft seit {seconds} s."
    status_calls = "Seit {seconds} s läuft: {names}."
    status_task = "Aufgabe {id} läuft seit {seconds} s: {name}."
    hp_now = "HP für eigene Arbeit: {hp:,.0f} von {most:,.0f}."
    hp_full = "Um {time} sind alle wieder da."
    hp_ended = "Ich habe eigene Arbeit beendet, bevor sie fertig war: Es fehlten HP."
    hp_asleep = "Das ist zu wenig: Von selbst tue ich nichts bis etwa {time}."
    hp_damaged = (
        "Was ich darüber gespeichert habe, ist nicht lesbar; von selbst tue ich nichts bis etwa"
        " {time}."
    )
    hp_disabled = "Von selbst tue ich nichts, bis ein Besitzer `/agent enable` schreibt."
    hp_gone = (
        "{name} hat alle HP für eigene Arbeit verbraucht und tut von jetzt an nichts mehr von"
        " selbst. Chats gehen weiter, und nichts ist verloren. Ein Besitzer lässt es "
        "weiterarbeiten: `{enable}` hier, oder `uncaged agent enable {name}` auf dem "
        "Rechner."
    )
    hp_enabled = "{name} arbeitet wieder von selbst, mit {hp:,.0f} von {most:,.0f} HP."
    status_agent = "Der Agent {name} verbrauchte {spent} aller Token{limit}."
    status_model = "Modell: {model}, sein Fenster von {window} Token ist zu {share} belegt."
    status_next = "Als Nächstes hier von selbst: „{title}“, {time}."
    status_version = "Version {version}, läuft seit {uptime}."
    status_version_only = "Version {version}."
    status_last_failures = "Was zuletzt schiefging:"
    status_last_turn = "Letzte Antwort: {tokens}"
    usage_here = "In diesem Chat: {tokens}"
    usage_all = "In {period}: {own} Token in diesem Chat, {total}{limit} in allen{unlocked}"
    usage_total = "Token in {period}: {total}{limit}, davon {own} hier{unlocked}"
    usage_own = "Token in {period}: {own} in diesem Chat"
    usage_limit = " von {most}"
    usage_unlocked = "; seit der Entsperrung zählen {spent} von {most}"
    usage_tokens = "{prompt} Token Anfragen{cached}, {completion} Antworten"
    usage_cost = ", {cost}"
    usage_left = "Übrig: {left} Token."
    usage_cached = " ({share} davon aus dem Zwischenspeicher)"
    chain_spent = (
        "Ich höre hier auf (ELIMIT): Alles, was ein Anlass auslöst, darf zusammen {most} Token"
        " verbrauchen, und dies hat {spent} verbraucht. Die Einstellung heißt `{setting}`."
    )
    spent_all = "Seit {day}, in allen Chats: {used}"
    spent_here = "Seit {day}, in diesem Chat: {used}"
    spent_line = "- {what}: {used}"
    spent_tokens = "{tokens} Token"
    spent_uncounted = " ({tokens} weitere zählen nicht)"
    spent_cached = ", {share} der Eingaben aus dem Zwischenspeicher"
    spent_agents = "Nach Agenten:"
    spent_works = "Nach Art der Arbeit:"
    spent_chains = "Was ein einzelner Anlass am meisten auslöste, in allen Agenten:"
    spent_chain = "{tokens} Token in {events} Ereignissen"
    spent_cause = "„{words}“ ({event})"
    spent_nothing = "Seit {day} wurden keine Token verbraucht."
    spent_how = "`/spent 30` zeigt die letzten 30 Tage, höchstens 90."
    spent_kinds: ClassVar[Mapping[str, str]] = {
        "chat": "Nachrichten",
        "command": "Befehle",
        "memory": "Gedächtnis",
        "wakeup": "Wecken",
        "mail": "Post",
        "task": "Aufgaben",
    }

    model_now = "Das Modell hier ist `{name}`."
    model_how = (
        "`/model NAME` wählt für diesen Chat ein anderes vom selben Anbieter, `/model auto` kehrt"
        " zu dem der Einstellungen zurück."
    )
    model_only = "Ein anderes gibt es nicht: Kein Sprachmodell ist angeschlossen."
    model_set = "In diesem Chat antwortet ab jetzt `{name}`."
    model_back = "In diesem Chat antwortet wieder das Modell der Einstellungen, `{name}`."
    model_learnt = "Von seinem Anbieter habe ich gelernt (`/model reset` vergisst es):"
    model_forgot = "Das Gelernte ist vergessen: Es gelten wieder die Einstellungen."
    model_bad = "So heißt kein Modell: höchstens 100 Zeichen, ohne Leerzeichen."
    model_refused = "`{name}` antwortet nicht ({why}), darum bleibt alles, wie es war."
    model_missing = "Ein Modell `{name}` hat der Anbieter nicht, darum bleibt alles, wie es war."
    model_words = "Sein Anbieter sagt: {detail}"

    context_head = "Mein Fenster hat {window} Token; etwa {used} davon ({share}) sind belegt:"
    context_line = "- {part}: {count}"
    context_parts: ClassVar[Mapping[str, str]] = {
        "instructions": "wer ich bin und woran ich mich halte",
        "memory": "was ich mir gemerkt habe",
        "tools": "Werkzeuge",
        "people": "was mir gesagt wurde",
        "answers": "was ich gesagt und aufgerufen habe",
        "results": "was Werkzeuge geantwortet haben",
    }
    compact_nothing = "Es gibt nichts wegzuräumen: Dieses Gespräch hat {count} Nachrichten."
    compacted = (
        "Ältere Nachrichten sind jetzt im Archiv ({count}), die neuesten ({kept}) sind hier. Nichts"
        " ist verloren: /recall WORTE findet, was gesagt wurde."
    )
    history_none = "In diesem Gespräch wurde noch nichts gesagt."
    history_how = (
        "Sende `/history`, oder `/history N` für die letzten N Nachrichten, höchstens {most}."
    )
    history_you = "du"
    export_cut = "(Was davor gesagt wurde, fehlt hier.)"
    btw_how = (
        "Sende `/btw` mit einer Frage: Ich beantworte sie, und keiner von uns beiden behält sie."
    )

    group_greeting = (
        "Hallo, ich bin {name}. Hier antworte ich, wenn ihr mich ansprecht: {mention}antwortet auf"
        " eine meiner Nachrichten, oder sendet einen Befehl wie /help. Was ihr zueinander sagt,"
        " lese ich nicht."
    )
    group_mention = "schreibt @{name} in eure Nachricht, "
    group_by_name = "schreibt meinen Namen mit @ in eure Nachricht, "
    group_only: ClassVar[Mapping[str, str]] = {
        "members": (
            " Ich rede nur mit Leuten, die mein Besitzer hereingelassen hat: Schreib mir erst in"
            " einem privaten Chat."
        ),
        "owners": " Ich rede nur mit meinem Besitzer.",
    }
    listen_begins = (
        "Ab jetzt lese ich in dieser Gruppe mit. Wer mich anspricht, zeigt mir, was seit meiner"
        " letzten Antwort gesagt wurde: bis zu {most} Nachrichten, und keine davon behalte ich"
        " länger als einen Tag. Ein Besitzer beendet das mit `/listen off`."
    )
    listen_hints: ClassVar[Mapping[str, str]] = {
        "telegram": (
            " Telegram zeigt mir Nachrichten an andere nur, wenn mein Privatsphäre-Modus aus ist"
            " (@BotFather, `/setprivacy`), oder wenn ich hier Administrator bin."
        ),
    }
    listen_ends = (
        "Ich lese in dieser Gruppe nicht mehr mit, und was ich behalten hatte, ist gelöscht. Ich"
        " antworte, wenn mich jemand anspricht."
    )
    listen_is_on = "Ich lese in dieser Gruppe mit; ein Besitzer beendet das mit `/listen off`."
    listen_is_off = (
        "Ich lese in dieser Gruppe nicht mit; ein Besitzer ändert das mit `/listen on`. Ich"
        " antworte, wenn mich jemand anspricht."
    )
    listen_private = "Hier lese ich alles, was du schreibst. `/listen` ist für Gruppen."
    listen_impossible = (
        "Wo ich laufe, kann ich nicht mitlesen: Mein Webhook behält nur Nachrichten an mich. Wer"
        " mich betreibt, kann das mit `UNCAGED_LISTEN=yes` ändern."
    )
    listen_how = "Sende `/listen on` oder `/listen off`."

    file_kinds: ClassVar[Mapping[str, str]] = {
        "photo": "Fotos",
        "voice": "Sprachnachrichten",
        "video": "Videos",
        "video_note": "Videonachrichten",
        "audio": "Tondateien",
        "animation": "Animationen",
        "document": "Dateien",
        "story": "Storys",
        "paid_media": "bezahlte Medien",
        "game": "Spiele",
        "invoice": "Rechnungen",
        "": "Nachrichten dieser Art",
    }
    cannot_open = "{kinds} kann ich noch nicht öffnen. Schreib mir bitte, was ich wissen soll."
    cannot_open_beside = (
        "{kinds} kann ich noch nicht öffnen, darum antworte ich auf das, was du geschrieben hast."
    )
    file_problems: ClassVar[Mapping[str, str]] = {
        "empty": "{name} ist leer. Schick die Datei bitte noch einmal.",
        "too_large": (
            "{name} ist mir zu groß. Schick bitte eine kleinere Datei oder einen Teil davon."
        ),
        "too_slow": (
            "{name} zu öffnen dauert zu lange. Schick bitte eine kleinere Datei oder einen Teil"
            " davon."
        ),
        "encrypted": "{name} ist durch ein Passwort geschützt. Schick die Datei bitte ohne eins.",
        "broken": "{name} ist beschädigt oder unvollständig. Schick die Datei bitte noch einmal.",
        "not_supported": (
            "Dateien wie {name} kann ich nicht öffnen. Ich öffne JPEG, PNG, WebP, GIF, PDF, docx,"
            " pptx, xlsx, xls, ods, HTML und einfachen Text."
        ),
        "no_reader": "Hier öffne ich nur einfachen Text, darum habe ich {name} nicht gelesen.",
        "too_many": "Ich öffne 6 Dateien einer Nachricht. Schick {name} bitte in einer anderen.",
        "used_up": (
            "Die 100 MB an Dateien, die an einem Tag in diesen Chat kommen dürfen, sind verbraucht:"
            " {name} habe ich nicht geöffnet. Schick die Datei bitte morgen."
        ),
        "members_alone": (
            "Dateien öffne ich nur für Mitglieder, deshalb habe ich {name} nicht geöffnet."
        ),
        "not_fetched": "Ich konnte {name} nicht holen. Schick die Datei bitte noch einmal.",
        "no_such_page": "Diese Seite gibt es in {name} nicht.",
        "package_missing": (
            "{name} kann ich nicht öffnen: Ein Paket dafür ist nicht installiert. Wem ich gehöre,"
            " installiert es mit: {command}"
        ),
        "no_speech": (
            "{name} kann ich nicht hören: Hier ist nichts eingerichtet, das Sprache in Text"
            " umwandelt. Wem ich gehöre, stellt es mit UNCAGED_STT_URL ein. Bitte schreib, was ich"
            " wissen soll."
        ),
        "speech_away": (
            "{name} konnte ich nicht hören: Was Sprache in Text umwandelt, antwortet gerade nicht."
            " Schick es bitte später noch einmal, oder schreib, was du gesagt hast."
        ),
        "speech_key": (
            "{name} konnte ich nicht hören: Was Sprache in Text umwandelt, nimmt meinen Schlüssel"
            " nicht an. Wem ich gehöre, stellt ihn mit UNCAGED_STT_KEY ein. Bitte schreib, was du"
            " gesagt hast."
        ),
        "no_words": (
            "In {name} habe ich keine Worte gehört. Schick es bitte noch einmal, oder schreib, was"
            " du gesagt hast."
        ),
        "too_long": "{name} ist länger als 10 Minuten. Schick bitte eine kürzere Aufnahme.",
        "sound_type": (
            "{name} kann ich nicht hören: Es ist eine Aufnahme vom Typ {command}. Ich höre ogg,"
            " mp3, m4a, wav, webm und flac."
        ),
    }
    file_named = "„{name}“"
    file_unnamed = "diese Datei"
    no_pictures = (
        "Das Modell, das ich benutze, nimmt keine Bilder, also habe ich deines nicht gesehen."
        " /model zeigt andere."
    )

    offline_signature = (
        "— Offline-Modell (ein Planer, kein Sprachmodell; uncaged setup model gibt mir eins)"
    )
    offline_what_i_do = (
        "Ich bin das Offline-Modell: Ich verstehe schlichte Bitten an die Standardbibliothek,"
        " manche nur auf Englisch. Zum Beispiel:\n\n"
        "- 10 Meilen in km\n"
        "- was ist 15% von 80\n"
        "- wie viele Tage sind es bis Weihnachten?\n"
        "- ist 97 eine Primzahl?\n"
        "- sortiere Birne, Apfel, Kirsche\n"
        "- Merke dir, dass ich Tee mag (dann: was mag ich?)\n"
        "- erinnere mich morgen um neun an den Zahnarzt\n\n"
        "/help nennt die Befehle. Mit einem Sprachmodell (UNCAGED_LLM_URL) geht es um alles."
    )
    offline_talk: ClassVar[Mapping[str, str]] = {
        "hello": "Hallo! Was kann ich rechnen?",
        "morning": "Guten Morgen! Was kann ich rechnen?",
        "day": "Guten Tag! Was kann ich rechnen?",
        "evening": "Guten Abend! Was kann ich rechnen?",
        "bye": "Auf Wiedersehen!",
        "thanks": "Gern geschehen!",
        "how": "Ich bin ein kleines Programm, mir geht es immer gut. Was kann ich rechnen?",
        "fine": "Gut. Sag mir, wenn es etwas zu rechnen gibt.",
        "sad": "Das tut mir leid. Helfen kann ich als kleines Programm dabei leider nicht.",
    }
    offline_how = (
        "Das Offline-Modell kann keine Fähigkeit schreiben, aber du kannst es: Sende einen Namen"
        " und den JavaScript-Rumpf in einem Code-Block, zum Beispiel\n\n````\nmake a capability"
        " reverse-text ```js\nreturn [...input.text].reverse().join('')\n```\n````"
    )
    offline_not_found = (
        "Das verstehe ich nicht: Ich bin nur das Offline-Modell. Frag „was kannst du?“, dann nenne"
        " ich Beispiele. Ein Sprachmodell (UNCAGED_LLM_URL) verstünde mehr."
    )
    offline_cannot = (
        "Das kann ich nicht: Ich bin nur das Offline-Modell. Frag „was kannst du?“, dann nenne ich"
        " Beispiele."
    )
    offline_alarm = "Es ist so weit."
    offline_saved = "Gespeichert als `{path}`, Version {version} ({size} Bytes)."
    offline_save_what = "Was soll ich speichern? Schreib „speichere als {path}: der Text“."
    offline_which_file = "Welche Datei? Schreib ihren Namen, etwa `notizen.md`."
    offline_part = "(Das ist der erste von {parts} Teilen.)"
    offline_which = "Welche? Nenne die Nummer."
    offline_too_long = (
        "Ich bin nur das Offline-Modell und lese höchstens {most} Zeichen auf einmal. Sende"
        " weniger, oder nimm ein Sprachmodell (UNCAGED_LLM_URL)."
    )
    offline_needs = (
        "Für {capability} fehlt mir etwas: Schreib alles in eine Nachricht, etwa so: {example}"
    )
    offline_unread = (
        "Was „{words}“ dabei heißen soll, weiß ich nicht, und ich rate nicht. Schreib es etwa so:"
        " {example}"
    )
    offline_unread_words = "Was „{words}“ dabei heißen soll, weiß ich nicht, und ich rate nicht."
    offline_base64 = "Das ist Base64. Da steht: {text}"
    offline_language = "Diese Sprache kenne ich nicht. Ich kenne Deutsch, Englisch und Chinesisch."
    offline_lone_number = (
        "Was soll ich mit {number} tun? Schreib es in einem Satz, etwa: {number} Meilen in km"
    )
    offline_needs_input = (
        "Ich habe `{tool}` gefunden ({description}), konnte deinen Worten aber die Eingabe"
        " ({parameters}) nicht entnehmen. Setz den Text in Anführungszeichen."
    )
    offline_waits = "Das kann ich tun, sobald mein Besitzer zustimmt."
    offline_failed = "Das ging nicht: {why}"
    offline_exists = "Es gibt schon eine Fähigkeit `{name}`: `{tool}` ist bereit."
    offline_not_made = "Ich konnte `{name}` nicht anlegen: {why}"
    offline_made = "`{name}` ist als `{tool}` angelegt (Version {version}). Sag, was es tun soll."
    offline_remembered = "Gemerkt: {words}"
    offline_over = "Gilt nicht mehr: {words}"
    offline_is_over = (
        "Ändert das „{words}“?"
        " Dann schreib „merke dir, dass …“ mit dem, was jetzt stimmt, oder „vergiss {words}“."
    )
    offline_forgotten = "Vergessen."
    offline_forgotten_what = "Vergessen: {words}"
    offline_forget_all = (
        "Ich vergesse nur eines nach dem anderen: /recall zeigt, was ich weiß, und `/forget ID`"
        " löscht es. Alles über einen Menschen löscht mein Besitzer mit `uncaged people erase`."
    )
    offline_kb_added = "In die Wissensdatenbank aufgenommen: {title}, aus {source}."
    offline_kb_known = "Das steht schon in der Wissensdatenbank: {title}, aus {source}."
    offline_kb_update = (
        "Das macht mein Besitzer auf meinem Rechner: `uncaged kb list` zeigt die IDs, und"
        " `uncaged kb update ID DATEI` gibt einem Dokument einen neuen Text."
    )
    offline_kb_how = (
        "Schreib in einer Nachricht, wie es heißt, woher es ist und den Text: `add to the knowledge"
        " base: Rückgabe (source: das Handbuch): Waren kann man 30 Tage lang zurückgeben.`"
    )
    offline_recalled = "Das weiß ich:"
    offline_nothing_known = "Dazu weiß ich nichts."
    offline_not_told = "Das hat mir niemand gesagt. Schreib „merke dir, dass …“, dann weiß ich es."
    offline_could_keep = "Schreib „merke dir: {words}“, dann behalte ich es."
    offline_weeks = "{weeks} Wochen und {days} Tage"
    setup_first_message = "Hallo! Was kannst du?"
    offline_page = "Von {url}, Teil {part} von {parts}."
    offline_svg = (
        "Dies ist ein SVG-Bild; ein Browser zeigt es, aus einer Datei, die auf .svg endet:"
    )
    unit_names: ClassVar[Mapping[str, str]] = {
        "m": "Meter",
        "km": "Kilometer",
        "dm": "Dezimeter",
        "cm": "Zentimeter",
        "mm": "Millimeter",
        "µm": "Mikrometer",
        "nm": "Nanometer",
        "in": "Zoll",
        "ft": "Fuß",
        "yd": "Yard|Yards",
        "mi": "Meile|Meilen",
        "nmi": "Seemeile|Seemeilen",
        "au": "Astronomische Einheit|Astronomische Einheiten",
        "ly": "Lichtjahr|Lichtjahre",
        "kg": "Kilogramm",
        "g": "Gramm",
        "mg": "Milligramm",
        "µg": "Mikrogramm",
        "t": "Tonne|Tonnen",
        "lb": "angloamerikanisches Pfund|angloamerikanische Pfund",
        "oz": "Unze|Unzen",
        "st": "Stone",
        "short ton": "amerikanische Tonne|amerikanische Tonnen",
        "long ton": "britische Tonne|britische Tonnen",
        "ct": "Karat",
        "C": "Grad Celsius",
        "F": "Grad Fahrenheit",
        "K": "Kelvin",
        "R": "Grad Rankine",
        "L": "Liter",
        "mL": "Milliliter",
        "cL": "Zentiliter",
        "dL": "Deziliter",
        "m3": "Kubikmeter",
        "cm3": "Kubikzentimeter",
        "in3": "Kubikzoll",
        "ft3": "Kubikfuß",
        "gal": "Gallone|Gallonen",
        "qt": "Quart|Quarts",
        "pt": "Pint|Pints",
        "cup": "Cup|Cups",
        "fl oz": "Flüssigunze|Flüssigunzen",
        "tbsp": "Esslöffel",
        "tsp": "Teelöffel",
        "imp gal": "britische Gallone|britische Gallonen",
        "imp pt": "britisches Pint|britische Pints",
        "bbl": "Barrel",
        "m2": "Quadratmeter",
        "km2": "Quadratkilometer",
        "cm2": "Quadratzentimeter",
        "mm2": "Quadratmillimeter",
        "ha": "Hektar",
        "acre": "Acre|Acres",
        "ft2": "Quadratfuß",
        "in2": "Quadratzoll",
        "yd2": "Quadratyard|Quadratyards",
        "mi2": "Quadratmeile|Quadratmeilen",
        "m/s": "Meter pro Sekunde",
        "km/h": "Kilometer pro Stunde",
        "mph": "Meile pro Stunde|Meilen pro Stunde",
        "ft/s": "Fuß pro Sekunde",
        "kn": "Knoten",
        "km/s": "Kilometer pro Sekunde",
        "speed of light": "-fache Lichtgeschwindigkeit",
        "s": "Sekunde|Sekunden",
        "ms": "Millisekunde|Millisekunden",
        "µs": "Mikrosekunde|Mikrosekunden",
        "ns": "Nanosekunde|Nanosekunden",
        "min": "Minute|Minuten",
        "h": "Stunde|Stunden",
        "d": "Tag|Tage",
        "week": "Woche|Wochen",
        "fortnight": "mal zwei Wochen",
        "month": "Monat|Monate",
        "year": "Jahr|Jahre",
        "decade": "Jahrzehnt|Jahrzehnte",
        "century": "Jahrhundert|Jahrhunderte",
        "B": "Byte",
        "kB": "Kilobyte",
        "MB": "Megabyte",
        "GB": "Gigabyte",
        "TB": "Terabyte",
        "PB": "Petabyte",
        "KiB": "Kibibyte",
        "MiB": "Mebibyte",
        "GiB": "Gibibyte",
        "TiB": "Tebibyte",
        "PiB": "Pebibyte",
        "bit": "Bit",
        "kbit": "Kilobit",
        "Mbit": "Megabit",
        "Gbit": "Gigabit",
        "Tbit": "Terabit",
        "Kibit": "Kibibit",
        "Mibit": "Mebibit",
        "Gibit": "Gibibit",
        "Pa": "Pascal",
        "hPa": "Hektopascal",
        "kPa": "Kilopascal",
        "MPa": "Megapascal",
        "bar": "Bar",
        "mbar": "Millibar",
        "atm": "Atmosphäre|Atmosphären",
        "psi": "Pfund pro Quadratzoll",
        "mmHg": "Millimeter Quecksilbersäule",
        "torr": "Torr",
        "inHg": "Zoll Quecksilbersäule",
        "J": "Joule",
        "kJ": "Kilojoule",
        "MJ": "Megajoule",
        "cal": "Kalorie|Kalorien",
        "kcal": "Kilokalorie|Kilokalorien",
        "Wh": "Wattstunde|Wattstunden",
        "kWh": "Kilowattstunde|Kilowattstunden",
        "MWh": "Megawattstunde|Megawattstunden",
        "BTU": "britische Wärmeeinheit|britische Wärmeeinheiten",
        "eV": "Elektronenvolt",
        "ft-lb": "Foot-pound|Foot-pounds",
        "W": "Watt",
        "mW": "Milliwatt",
        "kW": "Kilowatt",
        "MW": "Megawatt",
        "GW": "Gigawatt",
        "hp": "britische PS",
        "PS": "PS",
        "N": "Newton",
        "kN": "Kilonewton",
        "lbf": "Pound-force",
        "kgf": "Kilopond",
        "dyn": "Dyn",
        "Hz": "Hertz",
        "kHz": "Kilohertz",
        "MHz": "Megahertz",
        "GHz": "Gigahertz",
        "rpm": "Umdrehung pro Minute|Umdrehungen pro Minute",
        "km/L": "Kilometer pro Liter",
        "L/100km": "Liter auf 100 km",
        "mpg": "Meile pro Gallone|Meilen pro Gallone",
        "imp mpg": "Meile pro britische Gallone|Meilen pro britische Gallone",
        "deg": "Grad",
        "rad": "Radiant",
        "mrad": "Milliradiant",
        "grad": "Gon",
        "arcmin": "Bogenminute|Bogenminuten",
        "arcsec": "Bogensekunde|Bogensekunden",
        "turn": "Umdrehung|Umdrehungen",
    }
    offline_valid = "Ja, {what} ist gültig."
    offline_invalid = "Nein, {what} ist nicht gültig: {why}."
    offline_wrong_form = "die Form stimmt nicht"
    offline_prime = "{number} ist eine Primzahl."
    offline_no_factors = "{number} ist keine Primzahl und hat keine Primfaktoren."
    offline_factors = "{number} = {factors}. Das ist keine Primzahl."
    offline_if_no_holiday = "Ja, wenn es kein Feiertag ist"
    offline_figures: ClassVar[Mapping[str, str]] = {"mean": "Mittelwert", "median": "Median"}
    offline_judged = "{verdict}. {day}"
    offline_yes = "ja"
    offline_no = "nein"
    offline_none = "keine"
    offline_nothing = "(nichts)"
    offline_empty = "(ein leerer Text)"

    nothing_runs = "Gerade läuft nichts."
    tasks_stopping = "Ich halte an, was als Aufgabe läuft: {names}."
    task_stopped = (
        "Aufgabe {id} ({name}) wurde angehalten. Ob sie etwas bewirkt hat, ist nicht bekannt."
    )
    stop_waits = "Ich warte auf ein Modell, das nicht antwortet. Ich höre in wenigen Sekunden auf."
    stop_not_yours = (
        "In einer Gruppe kann nur mein Besitzer beenden, worum jemand anderes gebeten hat."
    )
    halted = "Angehalten, in jedem Chat. Mit `/unlock` mache ich weiter."
    halted_agent = (
        "Angehalten: {name}, in jedem Chat. Mit `/unlock` geht es weiter; `/halt all` hält"
        " mich und alle meine Agenten an."
    )
    halted_here = "In diesem Chat angehalten. Mit `/unlock` mache ich weiter."
    unlocked = "Entsperrt."
    stopped = "Beendet."
    told_to_stop = "Ich höre gleich damit auf."

    unlock = (
        "Mein Besitzer kann mich entsperren: `/unlock` hier, oder `uncaged unlock` auf meinem"
        " Rechner."
    )
    your_unlock = (
        "Du kannst mich entsperren: `/unlock` hier, oder `uncaged unlock` auf meinem Rechner."
    )
    reasons: ClassVar[Mapping[str, str]] = {
        "frustration": "Fünfmal nacheinander ist mir etwas misslungen, darum mache ich hier Halt.",
        "loop": (
            "Ich habe dafür so viele Schritte getan, wie eine Aufgabe haben darf: Das sieht nach"
            " einer Endlosschleife aus. Soll ich weitermachen, und wie?"
        ),
        "cascade": "Acht meiner letzten zehn Schritte gingen schief, darum habe ich angehalten.",
        "fatal": (
            "Etwas ging so schief, dass ich es nicht selbst beheben kann. Darum habe ich"
            " angehalten."
        ),
        "budget": "Mein Vorrat an Token ist aufgebraucht, darum habe ich aufgehört.",
        "agent-budget": (
            "Der eigene Vorrat dieses Agenten an Token ist aufgebraucht, darum hat er aufgehört."
        ),
        "session-budget": (
            "Der Vorrat dieses Chats an Token ist aufgebraucht, darum habe ich hier aufgehört."
        ),
        "halted": "Ich wurde angehalten und tue nichts, bis mich jemand entsperrt.",
        "damaged": (
            "Etwas, was ich von diesem Chat behalten habe, ist unlesbar, darum ist er gesperrt."
        ),
    }
    own_reasons: ClassVar[Mapping[str, str]] = {
        "frustration": (
            "Etwas, was ich von mir aus getan habe, ist fünfmal hintereinander fehlgeschlagen,"
            " darum habe ich es beendet."
        ),
        "loop": (
            "Etwas, was ich von mir aus getan habe, brauchte so viele Schritte, wie eine Aufgabe"
            " haben darf: Das sieht nach einer Endlosschleife aus, darum habe ich es beendet."
        ),
    }
    then: ClassVar[Mapping[str, str]] = {
        "frustration": "Was soll ich anders machen? Sobald du antwortest, geht es weiter.",
    }
    budget_resets = "Um {time} gibt es einen neuen Vorrat."
    nearly_used: ClassVar[Mapping[str, str]] = {
        "budget": (
            "({share} meines Vorrats an Token sind verbraucht. Um {time} gibt es einen neuen;"
            " /usage zeigt, was noch übrig ist.)"
        ),
        "agent-budget": (
            "({share} vom eigenen Token-Vorrat dieses Agenten sind verbraucht. Um {time} gibt es"
            " einen neuen; /usage zeigt, was noch übrig ist.)"
        ),
        "session-budget": (
            "({share} vom Token-Vorrat dieses Chats sind verbraucht. Um {time} gibt es einen neuen;"
            " /usage zeigt, was noch übrig ist.)"
        ),
    }
    not_a_guests = (
        "Die Antwort muss von meinem Besitzer kommen, oder von jemandem, den er hereingelassen hat."
    )
    last_failed = "Zuletzt misslang {tool}: {message}."
    failed_search = "die Suche nach einer Fähigkeit"
    failed_deploy = "eine Fähigkeit, die ich anlegen wollte"
    code_meanings: ClassVar[Mapping[str, str]] = {
        "EPERM": "das darf es nicht",
        "EAPPROVAL": "ein Besitzer muss erst zustimmen",
        "EASK": "erst muss gesagt sein, was gemeint ist",
        "EAUTH": "ein Token fehlt oder ist falsch",
        "EACCES": "die andere Seite lässt es nicht herein",
        "ENOENT": "das Gesuchte gibt es nicht",
        "EEXIST": "der Name gehört schon jemand anderem",
        "EINVAL": "die Eingabe passt nicht",
        "EJSON": "die Angaben sind kein JSON-Objekt",
        "ENOTOOL": "ein Werkzeug dieses Namens wurde nicht angeboten",
        "ENOTRESIDENT": "es ist vorhanden, muss aber erst wieder gefunden werden",
        "ENAME": "so heißt keine Fähigkeit",
        "EMANIFEST": "was eine Fähigkeit über sich sagt, stimmt nicht",
        "ESCHEMA": "ein Schema, das kein Modell annimmt",
        "EMODULE": "der Code lässt sich nicht übersetzen oder darf nicht laufen",
        "ETESTS": "die Tests beim Anlegen schlugen fehl",
        "EREQUIRES": "eine Fähigkeit, die es aufruft, gibt es nicht",
        "ECYCLE": "Fähigkeiten würden sich im Kreis aufrufen",
        "ETOOBIG": "es ist größer, als es sein darf",
        "EQUOTA": "dafür ist kein Platz mehr",
        "ELIMIT": "mehr Aufrufe, Ausgabe oder Tiefe, als ein Lauf haben darf",
        "ETIMEDOUT": "es dauerte länger als erlaubt",
        "ESTACK": "eine Rekursion ohne Ende",
        "ETRAP": "das Modul hielt sich selbst an",
        "ETHROWN": "ein Fehler, den der Code nicht benannt hat",
        "EOUTPUT": "was herauskam, ist ungültig",
        "ENOSYS": "so etwas gibt es in der Sandbox nicht",
        "EPENDING": "ein Promise, das nie fertig wird",
        "EGUEST": "die Fähigkeit sagt, dass es ihr misslang",
        "EREMOTE": "ein entferntes Werkzeug sagt, dass es ihm misslang",
        "ENOMEM": "es brauchte mehr Speicher als erlaubt",
        "ENET": "der Server ist nicht erreichbar",
        "ERATE": "zu oft; eine Pause hilft",
        "EBUSY": "jemand anderes nutzt es gerade",
        "ECONFLICT": "jemand anderes hat zuerst geschrieben",
        "EDEGRADED": "nach mehreren Fehlern ruht es eine Weile",
        "EUNAVAILABLE": "der Speicher, das Verzeichnis oder die Sandbox ist gerade nicht da",
        "EDAMAGED": "was gespeichert ist, lässt sich nicht lesen",
        "EINTERNAL": "die Laufzeit selbst machte einen Fehler",
        "EINTERRUPTED": "ein Absturz oder Stopp unterbrach es, und ob es wirkte, ist unbekannt",
        "EHOSTMEM": "der Rechner selbst hat keinen Speicher mehr",
        "EBREACH": "der Sandbox-Prozess tat etwas, was keine Fähigkeit können darf",
        "ESTOPPED": "es wurde abgebrochen, bevor es begann",
        "": "ein eigener Fehlercode der Fähigkeit",
    }
    failure_reasons: ClassVar[Mapping[str, str]] = {
        "taken": "die Aufgabe hat schon jemand im Team",
        "role": "die Aufgabe ist für eine andere Rolle",
        "blocked": "die Aufgabe wartet auf andere, die noch nicht fertig sind",
        "circle": "eine Aufgabe würde auf sich selbst warten",
        "no-task": "diese Aufgabe gibt es nicht",
        "not-yours": "die Aufgabe hat jemand anderes",
        "stuck": "die Aufgabe steckt fest, bis jemand sie wieder öffnet",
        "ended": "die Aufgabe ist schon beendet",
        "no-teammate": "so heißt niemand im Team",
        "no-name": "so kann niemand im Team heißen",
        "no-request": "diese Anfrage gibt es nicht",
        "plan": "diesen Plan kann gerade niemand beantworten, oder nicht von hier aus",
        "other-request": "die Anfrage ist von anderer Art oder für jemand anderen",
        "at-work": "der Agent arbeitet gerade",
        "disabled": "der Agent ist ausgeschaltet, bis ein Besitzer ihn einschaltet",
        "removed": "ein Agent dieses Namens wird gerade entfernt",
        "name-taken": "so heißt schon ein anderer Agent",
        "personal": "die Aufgabe gehört einem Menschen allein",
        "no-hp": "der Agent hat keine HP mehr für eigene Arbeit",
        "stopped": "ein Mensch hat das Teammitglied angehalten",
        "shut-down": "wer angeschrieben wurde, hat aufgehört und liest nichts mehr",
        "lead-only": "das darf nur, wer das Team leitet",
        "root-only": "nur der oberste Agent legt andere an und beendet sie",
        "owner-only": "das darf hier nur ein Besitzer",
        "private": "es enthält etwas, das seinen Chat nicht verlassen darf",
        "no-guests": "Gäste dürfen das nicht",
        "no-chat": "die Arbeit gehört zu keinem Chat",
        "other-chat": "das ist kein Chat der Person, für die gearbeitet wird",
        "other-files": "die Datei gehört nicht zu denen, die benutzt werden dürfen",
        "no-file": "diese Datei gibt es nicht",
        "no-version": "diese Version davon gibt es nicht",
        "own-work": "das gibt es nur bei Arbeit, die ich von mir aus tue",
        "known-document": "dieses Dokument ist schon in der Wissensdatenbank",
        "behaviours": "in diesem Durchgang darf kein weiteres Verhalten folgen",
        "run-ended": "der Durchgang ist schon zu Ende",
        "turn": "so viel darf ein Durchgang nicht tun",
        "chain": "was ein Anlass auslöst, hat seine Token verbraucht",
        "mails": "für einen Anlass hat ein Agent schon so viel Post verschickt, wie er darf",
        "hops": "für einen Anlass haben sich Agenten zu oft gegenseitig angestoßen",
        "no-room": "es fand keinen freien Platz und fing nie an",
        "policy": "eine Regel meiner Richtlinie erlaubt es nicht",
        "not-granted": "kein Besitzer hat es bisher erlaubt",
    }
    # --- schedules ---
    skills_none = (
        "Ich habe noch keine Skills. Ein Skill ist eine Regel für eine Art von Aufgaben, als Datei"
        " SKILL.md geschrieben: `uncaged skill add ORDNER` auf meinem Rechner fügt einen hinzu."
    )
    skills_how = (
        "`/skills NAME` zeigt einen, mit `/skills pin NAME` gilt er in jedem Chat,"
        " `/skills remove NAME` löscht ihn."
    )
    skills_private = "Meine Skills zeige und ändere ich nur in einem privaten Chat."
    skill_is_pinned = "immer"
    skill_pinned = "`{name}` gilt jetzt in jedem Chat, von der nächsten Nachricht an."
    skill_unpinned = "`{name}` gilt nicht mehr immer; ich finde ihn, wenn eine Aufgabe ihn braucht."
    skill_removed = "`{name}` ist weg. `/skills rollback {name} {version}` holt ihn zurück."
    skill_back = "`{name}` ist wieder wie vorher, als Version {version}."
    skill_unknown = "Es gibt keinen Skill und keine Version `{name}`; `/skills` zeigt, was es gibt."
    hooks_none = (
        "Kein Programm kann mir etwas bringen. `uncaged hook add NAME` auf meinem Rechner"
        " erlaubt es einem."
    )
    hooks_how = "`/hooks drop NAME` löscht eines davon."
    hooks_private = "Hooks zeige ich nur in einem privaten Chat."
    hook_unknown = "Es gibt keinen Hook `{name}`; `/hooks` zeigt, was es gibt."
    hook_dropped = "Gelöscht: `{name}`. Sein Token gilt nicht mehr."
    files_none = "Hier gibt es noch keine Dateien. Sag „speichere das als notizen.md“."
    files_line = "- `{path}` · {size} Bytes · Version {version} · {time}"
    files_more = "… und {count} weitere."
    files_how = (
        "`/files PFAD` zeigt eine davon, `/files diff PFAD` ihre letzte Änderung, "
        "`/files history PFAD` ihre Versionen."
    )
    files_same = "Version {first} und Version {last} sind gleich."
    files_removed = "entfernt"
    text_cut = "… und {count:,} weitere Zeichen."
    files_refused = "Das geht nicht: {why}."
    tasks_none = "Es stehen keine Aufgaben an. `/tasks add TEXT` fügt eine hinzu."
    tasks_how = (
        "`/tasks add TEXT`, `done N`, `drop N`, `assign N NAME` und `reopen N` ändern die Aufgaben;"
        " `/tasks N` zeigt eine, `/tasks all` auch die beendeten."
    )
    tasks_more = "… und {count} weitere."
    task_after_unclear = (
        "Soll das auf {tasks} warten? Dann schreib `nach {tasks}`. Gehört eine Zahl zum Betreff,"
        " setz sie in Anführungszeichen. Hinzugefügt wurde nichts."
    )
    task_owner_unknown = (
        "Es gibt kein Teammitglied {name}. Ich kenne: {known}. Lass mich zuerst {name}"
        " starten, oder nenn jemand anderen. Geändert wurde nichts."
    )
    task_owner_alone = (
        "Es gibt kein Teammitglied {name}, und auch kein anderes. Lass mich zuerst {name}"
        " starten, oder lass den Namen weg. Geändert wurde nichts."
    )
    task_full = (
        "Mehr Aufgaben gehen nicht. Wer eine wollte, beendet sie mit `/tasks done N` oder"
        " `/tasks drop N`; Besitzer beenden alle."
    )
    task_unknown = "{why}; `/tasks` zeigt, was es gibt."
    task_refused = "Das geht nicht: {why}."
    task_added = "Neu ist #{id}: {subject}"
    task_is_done = "#{id} ist erledigt: {subject}"
    task_is_dropped = "#{id} ist gestrichen: {subject}"
    task_is_open = "#{id} ist wieder offen: {subject}"
    task_assigned = "#{id} ist für {owner}: {subject}"
    task_for_anybody = "#{id} kann jeder übernehmen: {subject}"
    task_assign_how = "Sag, wer es macht: `/tasks assign N NAME`, oder `niemand` für alle."
    task_unchanged = "Es hat sich nichts geändert:\n{line}"
    task_frees = "Jetzt geht {tasks}."
    task_nobody = "Niemand ist wach, der es macht; bitte mich um Unterstützung im Team."
    task_yours = "Sie bleibt deine; `/tasks assign {id} anybody` gibt sie dem Team."
    task_blocked = "wartet auf {tasks}"
    task_blocks = "Darauf wartet {tasks}"
    task_priority = "Priorität {priority}"
    task_role = "Rolle {role}"
    task_due = "fällig {time}"
    task_why = "Grund: {why}"
    wakeups_none = "Hier ist nichts geplant."
    wakeups_how = (
        "`/wakeups pause N`, `resume N`, `now N` und `drop N` ändern eines davon, nach seiner"
        " Nummer."
    )
    wakeup_of_agent = "{title} ({agent})"
    wakeups_all_how = (
        "`/wakeups drop ID` löscht eines davon, und `/wakeups` zeigt die in diesem Chat."
    )
    wakeups_private = "Was ich in allen Chats tue, zeige ich nur im privaten Chat eines Besitzers."
    wakeups_more = "… und {count} weitere, die `uncaged wake list` auf meinem Rechner zeigt."
    wakeup_of_person = "`{id}` {title} · von `{by}` · `{session}`"
    wakeup_no_id = "Es gibt kein `{id}`; `/wakeups all` zeigt alles, was geplant ist."
    wakeup_unknown = "Nichts hier hat die Nummer {number}; `/wakeups` zeigt, was es gibt."
    wakeup_runs = "„{title}“ läuft jetzt einmal; die eigenen Zeiten bleiben."
    wakeup_dropped = "Gelöscht: „{title}“."
    wakeup_is_paused = "Angehalten: „{title}“. `/wakeups resume {number}` lässt es weitergehen."
    wakeup_is_over = "„{title}“ hat keine Zeiten mehr."
    wakeup_resumed = "„{title}“ geht weiter, das nächste Mal um {time}."
    wakeup_due_since = "fällig seit {time}; hier läuft nichts: `uncaged serve`"
    wakeup_next = "nächstes Mal {time}"
    wakeup_pause = "angehalten ({why})"
    wakeup_pauses: ClassVar[Mapping[str, str]] = {
        "paused": "von Hand",
        "failures": "immer wieder fehlgeschlagen",
        "nobody may": "wer es wollte, darf nicht mehr mit mir sprechen",
    }
    wakeup_last = "zuletzt {time}: {outcome}"
    wakeup_outcomes: ClassVar[Mapping[str, str]] = {
        "said": "etwas gesagt",
        "silent": "nichts zu sagen",
        "failed": "fehlgeschlagen",
        "skipped": "ausgelassen",
        "held": "von der Ruhezeit zurückgehalten",
    }
    wakeup_cost = "{tokens:,} Token"
    wakeup_skipped = "{count}-mal ausgelassen"
    wakeup_not_there = "{count}-mal verpasst"
    quiet_none = "Hier gibt es keine Ruhezeit."
    quiet_now = (
        "Von {hours} ({zone}) sage ich hier nichts von selbst; was dann anfällt, wartet bis zum"
        " Ende."
    )
    quiet_how = "`/quiet 22:00-07:00` setzt sie, und `/quiet off` beendet sie."
    quiet_off = "Hier gibt es keine Ruhezeit mehr."
    quiet_over = "Das kam in der Ruhezeit:"
    heartbeat_name = "Herzschlag"
    heartbeat_off = "Der Herzschlag ist aus: Ich sehe nicht von selbst nach, ob es Neues gibt."
    heartbeat_how = (
        "Mit `/heartbeat 30m` sehe ich alle 30 Minuten nach, von einer Minute (`1m`) bis zu einem"
        " Tag (`1d`); `/heartbeat off` beendet es."
    )
    heartbeat_set = (
        "Ich sehe im Abstand von {span} nach, ob es für mich Neues gibt, das nächste Mal um {time}."
        " Was wichtig ist, sage ich hier. Gibt es nichts Neues, so kostet das nichts, und der"
        " Abstand verdoppelt sich, bis zu einem Tag; eine Nachricht oder Post setzt ihn zurück."
        " `/heartbeat off` beendet es."
    )
    heartbeat_ended = "Der Herzschlag ist jetzt aus."
    heartbeat_now = (
        "Ich sehe im Abstand von {span} nach, ob es für mich Neues gibt; das nächste Mal um {time}."
    )
    heartbeat_paused = (
        "Ich sehe im Abstand von {span} nach, ob es für mich Neues gibt, aber jetzt nicht: {why}."
    )
    heartbeat_elsewhere = "Was wichtig ist, sage ich in {chat}."
    heartbeat_cost = (
        "Nachsehen ohne Neues kostet nichts; Läufe in den letzten 30 Tagen: {runs:,}, mit"
        " {tokens:,} Token."
    )
    snooze_how = "`/snooze 10m` oder `/snooze morgen um neun`, und `/snooze 3 1h` für die Nummer 3."
    snooze_none = "Hier kam keine Erinnerung, die ich noch einmal sagen könnte."
    snooze_set = "Ich sage „{text}“ noch einmal: {when}. `/done` nimmt es zurück."
    snooze_keeps = "Die eigenen Zeiten bleiben."
    reminder_done = "Erledigt: „{text}“."
    reminder_is_done = "„{text}“ ist schon erledigt."
    button_ten_minutes = "In 10 Min."
    button_hour = "In 1 Std."
    button_tomorrow = "Morgen"
    button_done = "Erledigt"
    reminder_again = "Sie kommt wieder um {time}; `/wakeups` beendet sie ganz."
    wakeup_snoozed = "noch einmal"
    remind_how = (
        "`/remind ZEIT TEXT`, etwa `/remind morgen um neun Bob anrufen` oder"
        " `/remind jeden Werktag um 8 Tabletten nehmen`."
    )
    remind_of_what = (
        "Woran soll ich dich erinnern? `/remind morgen um neun Bob anrufen` sagt beides."
    )
    remind_too_long = "Eine Erinnerung hat höchstens {most:,} Zeichen."
    remind_full = (
        "Mehr lässt sich nicht planen. `/wakeups` zeigt, was in diesem Chat geplant ist, und"
        " `/wakeups drop N` macht Platz; Besitzer beenden auch das anderer, mit `/wakeups all`."
    )
    places_taken: ClassVar[Mapping[str, str]] = {
        "all": "Alle {most} Plätze sind vergeben.",
        "reserve": "Von {most} Plätzen sind {own} vergeben, die letzten {share} sind für Besitzer.",
        "person": "Du hast {own} von {most} Plätzen, und eine Person hat höchstens {share}.",
        "guest": "Du hast {own} von {most} Plätzen, und ein Gast hat höchstens {share}.",
        "guests": "Gäste haben {own} von {most} Plätzen, und zusammen höchstens {share}.",
    }
    remind_over = "Diese Zeit ist vorbei."
    remind_set = "Ich sage dann „{text}“: {when}. `/wakeups drop {number}` nimmt es zurück."
    remind_known = "Das habe ich schon, als Nummer {number}: „{text}“, {when}."
    remind_at_terminal = (
        "(Das kommt, während `uncaged serve` läuft; was vorher dran war, wenn es startet.)"
    )
    wakeup_missed = (
        "(Das war schon um {time} dran, und insgesamt {count}-mal, während ich nicht lief.)"
    )
    wakeup_late = "(Das war um {time} dran; da lief ich nicht.)"
    wakeup_too_late = (
        "Ich lief nicht, als das um {time} dran war, und lasse es aus: „{title}“ (verpasst:"
        " {count})."
    )
    wakeup_paused = (
        "„{title}“ ist {count}-mal hintereinander fehlgeschlagen, darum mache ich damit Pause."
        " `/wakeups resume {number}` lässt es weitergehen."
    )

    missed_meanwhile = (
        "Die {count} Nachrichten, die inzwischen kamen, bearbeite ich nicht: Sende später noch"
        " einmal, was noch wichtig ist."
    )
    missed_before = (
        "Während ich angehalten war, kam etwas, das ich nicht bearbeitet habe ({messages}): Sende"
        " noch einmal, was noch wichtig ist."
    )

    gave_up = (
        "Bei deiner letzten Nachricht ging mehr als einmal etwas schief, darum habe ich sie"
        " aufgegeben. Mit der nächsten fange ich neu an."
    )
    too_long = (
        "Deine Nachricht passt nicht in das Fenster des Modells ({window} Token). Sende sie bitte"
        " in Teilen, oder kürzer."
    )
    newer_version = (
        "Diesen Chat führt eine neuere Version von mir, und ich kann ihn nicht lesen. Nichts ist"
        " verloren: Deine Nachricht wartet bei den unzustellbaren, bis mein Besitzer wieder die"
        " neuere Version startet."
    )
    lost_memory = (
        "An deiner letzten Nachricht konnte ich nicht arbeiten: Mein Gedächtnis dieses Chats ist"
        " unlesbar. Mein Besitzer findet sie bei den unzustellbaren."
    )
    agents_how = (
        "`/agents stop NAME` hält einen an; enable schaltet ihn ein, disable aus, archive beendet"
        " ihn."
    )
    agents_unknown = "Einen Agenten `{name}` gibt es nicht; `/agents` zeigt alle."
    agents_changed = "`{name}` ist jetzt {state}."
    agents_refused = "`{name}` ist {state}. Von dort aus geht: {steps}."
    agent_states: ClassVar[Mapping[str, str]] = {
        "running": "arbeitet gerade",
        "enabled": "eingeschaltet",
        "disabled": "ausgeschaltet",
        "archived": "archiviert",
        "purged": "beim Löschen",
        "working": "an der Arbeit",
        "idle": "ohne Aufgabe",
        "shutdown": "beendet",
    }
    subagent_report = "`{name}` berichtet:\n{text}"
    subagent_stuck = "`{name}` kommt nicht weiter: {why}. Zuletzt hieß es:"
    nothing_reported = "Berichtet hat er nichts."
    out_of_time = (
        "Dafür reichte die Zeit nicht. Was bisher getan ist, bleibt: Bitte mich weiterzumachen."
    )
    no_answer = "Das Modell gab darauf keine Antwort. Frag bitte noch einmal, oder anders."
    cut_length = "(Hier endet die Antwort: Länger darf sie beim Modell nicht sein.)"
    cut_filtered = "(Hier hat der Filter des Modellanbieters die Antwort abgeschnitten.)"
    cut_refused = "(Das Modell wollte darauf nicht antworten, oder nicht weiter.)"
    withheld_filtered = (
        "Der Filter des Modellanbieters hat die Antwort darauf zurückgehalten. Sag es bitte anders."
    )
    withheld_refused = "Das Modell wollte darauf nicht antworten. Sag es bitte anders."
    tool_failed = "(`{tool}` misslang: {meaning}.)"
    could_not_answer = "Ich bekam keine Antwort: {why}."
    model_failures: ClassVar[Mapping[str, str]] = {
        "key": (
            "das Modell nimmt meinen Schlüssel nicht an. Noch einmal zu fragen hilft erst, wenn "
            "mein Besitzer das angesehen hat"
        ),
        "money": (
            "das Guthaben für das Modell ist verbraucht. Noch einmal zu fragen hilft erst, wenn "
            "mein Besitzer das angesehen hat"
        ),
        "rate": "das Modell nimmt im Moment keine Anfragen mehr an",
        "window": (
            "das ist zu lang für das Fenster des Modells. Beginne mit /new neu, oder sende weniger"
        ),
        "refused": (
            "der Anbieter des Modells will darauf nicht antworten. Andere Worte können helfen, "
            "dieselben nicht"
        ),
        "unreachable": "das Modell ist nicht erreichbar",
        "late": "das Modell hat nicht rechtzeitig geantwortet",
        "empty": "das Modell hat nichts geantwortet",
        "down": "das Modell ist im Moment gestört",
        "other": (
            "das Modell nimmt diese Anfrage nicht an. Andere Worte oder /new können helfen, "
            "dieselben nicht; mein Besitzer kann sehen, warum"
        ),
        "model": (
            "das Modell, das ich benutzen soll, gibt es nicht mehr. Noch einmal zu fragen hilft "
            "erst, wenn mein Besitzer ein anderes gewählt hat"
        ),
    }
    model_busy = "Das Modell nimmt im Moment keine Anfragen mehr an."
    model_away = "Das Modell antwortet gerade nicht."
    work_waits = "Was hier von selbst läuft, wartet und geht weiter, sobald das Modell antwortet."
    try_again_in = "Deine Nachricht geht nicht verloren: In {time} versuche ich es wieder."
    please_try_in = "Versuch es bitte in {time} noch einmal."
    please_try_soon = "Versuch es bitte gleich noch einmal."

    used_up = "Für heute hast du deine {allowed} aufgebraucht. {reset}"
    used_today = "Heute genutzt: {parts}. {reset}"
    used_part = "{used} von {most}"
    resets = "Um {time} wird neu gezählt, in {hours} h {minutes} min."

    your_code = (
        "Dein Code ist `{code}`; er gilt {minutes} Minuten. Gib ihn meinem Besitzer: Der sendet mir"
        " `/pair {code}`, oder gibt auf meinem Rechner `uncaged channel pair {code}` ein. Deine ID"
        " hier ist `{id}`."
    )
    stranger = "Ich rede nur mit Leuten, die mein Besitzer hereingelassen hat. {your_code}"
    code_still_valid = (
        "Dein Code gilt noch. Gib ihn meinem Besitzer; in {minutes} Minuten kannst du einen neuen"
        " bekommen."
    )
    no_owner: ClassVar[Mapping[str, str]] = {
        "open": "Ich habe noch keinen Besitzer.",
        "members": (
            "Ich rede nur mit Leuten, die mein Besitzer hereingelassen hat, und ich habe noch"
            " keinen."
        ),
        "owners": "Ich rede nur mit meinem Besitzer, und ich habe noch keinen.",
    }
    at_the_machine = (
        "Wenn du mich betreibst: Starte `uncaged serve` in einem Terminal auf meinem Rechner und"
        " sende mir den Code, der dort erscheint, oder setze `UNCAGED_OWNERS={id}` und"
        " starte mich neu."
    )
    let_yourself_in = (
        "Willst du mit mir reden, ohne mein Besitzer zu sein, dann gib dort `uncaged channel pair"
        " {code}` ein; ein Besitzer würde mir `/pair {code}` senden. Dieser Code gilt {minutes}"
        " Minuten."
    )
    owners_talk = "Ich rede nur mit meinem Besitzer. Deine ID hier ist `{id}`."
    let_in = (
        "Mein Besitzer hat dich hereingelassen. Schreib, was du brauchst; /help zeigt, was ich"
        " kann."
    )
    linked_in = (
        "Für mich bist du jetzt dieselbe Person wie `{who}`. Schreib, was du brauchst; /help zeigt,"
        " was ich kann."
    )
    link_waits = (
        "{person} wartet auf meinen Besitzer: Er entscheidet, ob du das bist. Ich sage dir hier"
        " Bescheid. Sagt er binnen {hours} Stunden nichts, bleibt es jemand Fremdes."
    )
    link_asked = (
        "{who} sagt, dass {person} die eigene ID auf einer anderen Plattform ist. Verbunden darf"
        " sie, was ein Mitglied darf: mit mir reden, im gemeinsamen Rahmen eines Tages. Frag nach,"
        " ob das stimmt. Dann schick mir `/pair accept {id} as {first}` oder `/pair refuse {id} as"
        " {first}`. Es wartet {hours} Stunden."
    )
    link_asked_head = "Warten auf eine Verbindung:"
    link_asked_line = (
        "- {person} mit `{first}`, einem Mitglied: `/pair accept {id} as {first}` oder `refuse`"
    )
    link_accepted = (
        "{person} ist für mich jetzt dieselbe Person wie `{first}` und darf, was ein Mitglied darf."
    )
    link_refused = "Mein Besitzer verbindet {person} nicht mit `{first}`; es bleibt jemand Fremdes."
    link_confirm = (
        "{person} wäre du, und damit **mein Besitzer**: Die ID dürfte alles, was du darfst, etwa"
        " Leute hereinlassen, mich ändern und genehmigen, was ich tue. Gehört das Konto dir, und"
        " habe ich ihm den Code vor deinen Augen gegeben? Dann schick mir binnen {minutes} Minuten"
        " `/pair confirm {code}`. Hat dich jemand anders darum gebeten, dann tu nichts."
    )
    now_owner = (
        "Jetzt gehöre ich dir. /help zeigt, was ich kann, und /pair, wer sonst mit mir reden darf."
    )
    now_member = "Du bist jetzt Mitglied und nicht mehr mein Besitzer. /help zeigt, was ich kann."
    wrong_code = "Das ist nicht der Code. Du hast noch {tries}."
    last_wrong_code = (
        "Das ist nicht der Code, und es war dein letzter Versuch. `uncaged serve` zeigt beim"
        " nächsten Start einen neuen."
    )
    no_tries_left = (
        "Du hast keinen Versuch mehr. `uncaged serve` zeigt beim nächsten Start einen neuen Code."
    )
    ask_privately = "Frag mich das in einem privaten Chat: Die Antwort nennt Leute."
    guest_again = "{person} ist wieder Gast."
    linked_now = (
        "{person} bist jetzt du und darf, was du darfst. Chats und Gedächtnis bleiben getrennt."
    )
    may_talk_now = "{person} darf jetzt mit mir reden."
    you_are = "Du bist `{who}`: {role}{since}."
    you_are_unpaired = "Du bist `{who}` auf {platform} und nicht mit mir gekoppelt."
    since_day = ", hereingelassen am {day} von `{by}`"
    role_names: ClassVar[Mapping[str, str]] = {
        "owner": "Besitzer",
        "member": "Mitglied",
        "guest": "Gast",
    }
    this_chat = "Dieser Chat ist `{session}`."
    waiting_head = "Es warten:"
    waiting_line = "- {person}, noch {minutes} Minuten"
    let_in_head = "Hereingelassen:"
    let_in_line = "- {person}, {role} seit {day}, von `{by}`"
    same_line = "- {person}, dieselbe Person wie `{first}`, {role} seit {day}"
    more_people = "- und {count} mehr: `uncaged channel pair --list`"
    settings_owners = "Besitzer nach den Einstellungen: {owners}"
    nobody = "Niemand wartet, und niemand wurde hereingelassen."
    pair_how = (
        "`/pair CODE` lässt jemanden herein, `/pair CODE me` dich selbst von einer anderen"
        " Plattform, `/pair ID member` jemanden über seine ID; `/pair remove ID` nimmt ihn wieder"
        " heraus."
    )
    refused_because: ClassVar[Mapping[str, str]] = {
        "EINVAL": (
            "Das passt nicht: Ein Code besteht aus Buchstaben und Ziffern, wie 4F7K-9QXZ, und eine"
            " ID sieht aus wie telegram:123."
        ),
        "ENOENT": (
            "Das finde ich nicht: Der Code ist nicht offen oder abgelaufen, oder diese ID wurde nie"
            " hereingelassen. Sieh bitte noch einmal nach."
        ),
        "ELIMIT": "Es ist voll: Nimm erst jemanden mit `/pair remove ID` heraus.",
        "ELAST": "Das ist der letzte Besitzer: Mach erst jemand anderen dazu.",
        "ECONFLICT": (
            "Dieser Code ist schon benutzt. Wer herein möchte, schreibt mir noch einmal und bekommt"
            " einen neuen."
        ),
    }

    soul_updated = "Seele geändert."
    soul_kept = "Die Seele bleibt, wie sie war."
    soul_never_changed = "Die Seele wurde nie geändert."
    soul_began = "- 0: wie sie war, bevor jemand sie änderte"
    soul_which = "Sag, welche Version: `/soul rollback N`; `/soul history` zeigt alle."
    soul_back = "Die Seele ist wieder wie in Version {version}."
    soul_meanwhile = "Inzwischen hat sie jemand anderes geändert; sende es noch einmal."
    soul_unfinished = "Das Modell wurde mit seiner Antwort nicht fertig."
    soul_none = "Die Antwort des Modells war keine Seele."
    soul_too_long = "Das Modell schrieb {count} Zeichen; höchstens {most} behalte ich."
    version_line = "- {version}: {written} von {by}"
    version_size = " ({count} Zeichen)"

    version_refused: ClassVar[Mapping[str, str]] = {
        "ENOENT": "Diese Version gibt es nicht.",
        "EINVAL": "Diese Version gibt es nicht.",
        "EDAMAGED": "Diese Version ist unlesbar; nimm eine andere.",
        "ETOOBIG": "Diese Version ist zu lang; nimm eine andere.",
    }

    mem_nothing_new = "Es gibt keine neuen Nachrichten zu merken."
    mem_triggered = "Ich habe mir gemerkt, was hier gesagt wurde."
    noting = "merkt sich die älteren Nachrichten; Strg-C verschiebt das"
    while_away = "in der Zwischenzeit"
    unread_lost = "{count} ältere Nachrichten sind fort: die letzten {most} werden aufbewahrt"
    thinking = "denkt nach …"
    words_were_draft = "der Text oben war nur ein Entwurf"
    words_stop_here = "hier angehalten"
    mem_failed = "Das Merken ist misslungen."
    mem_never = "In das Gedächtnis dieses Chats wurde noch nie etwas geschrieben."
    mem_back = (
        "Das Gedächtnis dieses Chats ist wieder wie in Version {version}; `/mem history` zeigt"
        " alle."
    )
    mem_kept = "Das Gedächtnis bleibt, wie es war."
    mem_which = "Sag, welche Version: `/mem rollback N`; `/mem history` zeigt alle."
    memory_refused = (
        "Ich habe behalten, was ich von diesem Chat weiß: Das Modell schrieb mein Gedächtnis"
        " zweimal neu und ließ {lost} von {count} Dingen weg, darum habe ich nur das Neue"
        " hinzugefügt. `/mem history` zeigt, wie es sich änderte, `/mem rollback N` holt eine"
        " Version zurück."
    )
    self_preferences = (
        "Ich habe aufgeschrieben, wie ich mich in allen Chats verhalten soll, als Version {version}"
        " meines Dokuments `self`. `uncaged agent doc history self` zeigt es,"
        " `uncaged agent doc rollback self N` nimmt es zurück."
    )
    memory_shortened = (
        "Mein Gedächtnis dieses Chats war voll, darum schrieb das Modell es kürzer: {lost} von"
        " {count} Dingen sind weg oder anders. `/recall WORTE` findet sie, `/mem history` zeigt,"
        " wie es sich änderte, `/mem rollback N` holt eine Version zurück."
    )
    nothing_remembered = "Von diesem Chat habe ich mir noch nichts gemerkt."
    mem_takes = " Mit /mem merke ich mir, was hier gesagt wurde."
    kb_how = "Sende `/kb FRAGE`, und ich suche die Antwort in der Wissensdatenbank."
    kb_nothing = "Dazu steht nichts in der Wissensdatenbank."
    kb_passage = "**{title}** ({place}):\n> {text}\n\nQuelle: {source}, {day}\n{added}"
    kb_added = "Aufgenommen von `{by}`"
    kb_stated = "Verfasst von: {author} (so angegeben vom Eigentümer `{by}`)"
    nothing_found = (
        "Dazu finde ich nichts, weder in dem, was ich mir gemerkt habe, noch im Gesagten."
    )
    forget_how = "Sende `/forget ID`, mit einer ID, die /recall zeigt."
    nothing_with_id = "Mit dieser ID habe ich mir hier nichts gemerkt."
    forgotten = "Vergessen: {words}"
    still_in_memory = (
        "Im Gedächtnis dieses Chats steht es noch: „{line}“. `/mem` mit deinen Worten kann das"
        " ändern, und `uncaged agent doc edit memory --session CHAT` auf meinem Rechner entfernt"
        " die Zeile."
    )
    remembered_last = "Zuletzt gemerkt:"
    remembered = "Gemerkt:"
    said = "Gesagt:"
    disputed = ", umstritten"
    memory_over = " (gilt seit {day} nicht mehr: {words})"
    ended = ", bis {day}"

    link_private = (
        "Sende mir das in einem privaten Chat: Was ich mir von dir merke, ist nichts für eine"
        " Gruppe."
    )
    link_withdrawn = (
        "Andere haben diesen Code hier gesehen, darum gilt er nicht mehr. Sende /link in deinem"
        " privaten Chat mit mir für einen neuen, und den Code in deinem anderen privaten Chat."
    )
    link_code = (
        "Dein Code ist `{code}`; er gilt {minutes} Minuten, und nur einmal. Sende mir `/link"
        " {code}` in deinem anderen privaten Chat mit mir, auf welcher Plattform auch immer. Von da"
        " an teilen beide, was ich mir merke: Was ich mir in einem merken soll, weiß ich auch"
        " im anderen. Was gesagt wird, bleibt in seinem Chat, und /unlink trennt sie wieder. Gib"
        " den Code niemandem: Er würde lesen, was ich mir von dir gemerkt habe."
    )
    link_shared = "Dieser Chat teilt sein Gedächtnis mit {chats}."
    link_done = (
        "Ab jetzt haben dieser Chat und {chats} ein gemeinsames Gedächtnis: Was ich mir hier merke,"
        " weiß ich dort, und umgekehrt. Was gesagt wird, bleibt in seinem Chat. /recall zeigt das"
        " Gedächtnis, und /unlink trennt sie wieder."
    )
    link_came = "Von hier mitgekommen: {things}. Nichts ging verloren."
    link_told = (
        "Ab jetzt teilt dieser Chat sein Gedächtnis mit {chat}: Was ich mir hier merke, weiß ich"
        " dort, und umgekehrt. Was gesagt wird, bleibt in seinem Chat. Wenn das nicht dein Chat"
        " ist: Lass mich mit /forget vergessen, was er nicht wissen soll, und sende dann /unlink."
    )
    link_no_code = (
        "Diesen Code gibt es nicht, oder nicht mehr. Sende /link in deinem anderen Chat für einen"
        " neuen."
    )
    link_other_person = (
        "Dieser Code ist aus {chat}; das ist für mich jemand anders. Wer dort schreibt, würde alles"
        " lesen, was ich mir hier merke, und könnte es ändern. Ist das dein Chat? Dann sende mir"
        " binnen {minutes} Minuten `/link {code}`. Hat dich jemand anders darum gebeten, dann tu"
        " nichts."
    )
    link_own_code = "Dieser Code ist für einen anderen Chat von dir: Sende ihn dort."
    link_too_often = "Das war zu oft. Versuch es bitte in einer Stunde noch einmal."
    link_taken = (
        "Dieser Chat teilt sein Gedächtnis schon. Sende /link hier, und den Code im anderen Chat,"
        " oder vorher /unlink."
    )
    link_too_many = "Höchstens {most} Chats teilen ein Gedächtnis."
    link_too_large = (
        "Was ich mir in beiden Chats gemerkt habe, ist zu viel für ein Gedächtnis. Lass mich mit"
        " /forget vergessen, was du nicht mehr brauchst, und beginne noch einmal mit /link."
    )
    web_private = "Sende mir das in einem privaten Chat: Wer den Code hat, ist auf meiner Seite du."
    web_for_members = "Meine Seite ist für Leute, die mein Besitzer hereingelassen hat."
    web_code = (
        "Dein Code ist `{code}`; er gilt {minutes} Minuten, und nur einmal. Öffne meine Seite im"
        " Browser und gib ihn dort ein: Sie endet auf `/ui`, und mein Besitzer kennt ihre Adresse."
        " Gib den Code niemandem sonst: Er wäre dort du."
    )
    unlink_alone = "Dieser Chat teilt sein Gedächtnis mit keinem anderen. /link ändert das."
    unlink_done = (
        "Dieser Chat hat wieder ein eigenes Gedächtnis. Was ich mir bisher gemerkt habe, bleibt in"
        " beiden: hier und in {chats}. Was ab jetzt kommt, bleibt, wo es gesagt wird."
    )
    unlink_told = (
        "{chat} teilt das Gedächtnis dieses Chats nicht mehr. Was ich mir bisher gemerkt habe,"
        " bleibt in beiden. Was ab jetzt kommt, bleibt, wo es gesagt wird."
    )

    part_not_taken = (
        "(Diesen Teil meiner Antwort nahm die Plattform nicht an. Bitte mich, es anders zu sagen.)"
    )
    no_file = (
        "(Die Antwort geht noch {rest} Zeichen weiter, und dieser Chat nimmt keine Dateien von mir."
        " Bitte mich um den Rest, in Teilen.)"
    )
    draft_withdrawn = "(Was beim Schreiben hier stand, ist zurückgezogen. Es ist keine Antwort.)"
    no_picture = (
        "(Hierher gehört ein Bild, und dieser Chat nimmt keine Dateien von mir. Bitte mich in einem"
        " privaten Chat darum.)"
    )
    no_file_here = (
        "(Hierher gehört eine Datei: {name}. Diese Plattform nimmt keine Dateien von mir. Frag"
        " mich, was darin steht.)"
    )
    file_is_gone = (
        "(Hierher gehörte eine Datei: {name}. Sie war eine Woche aufgehoben und ist nicht mehr da.)"
    )
    whole_answer = "Die ganze Antwort: {count} Zeichen."
    invitation_declined = (
        "Ich wurde zuletzt zu oft eingeladen, oder ich bin schon in so vielen Räumen, wie ich sein"
        " darf. Bitte lass mich von einer Person einladen, der ich gehöre."
    )
    encrypted_room = (
        "Dieser Raum ist verschlüsselt, und verschlüsselte Nachrichten kann ich nicht lesen. Ich"
        " schreibe hier auch nichts mehr, nicht einmal Erinnerungen, die für diesen Raum gedacht"
        " waren. Lade mich bitte in einen Raum ohne Verschlüsselung ein: Dort antworte ich."
    )
    answered_too_fast = (
        "Ich habe {count} Nachrichten hintereinander beantwortet, die alle wenige Sekunden nach"
        " meiner Antwort kamen. Falls hier ein Programm schreibt, lasse ich diese unbeantwortet,"
        " damit wir nicht endlos weiterreden. Wenn du ein Mensch bist, schreib in einer halben"
        " Minute noch einmal."
    )
    changed_too_late = (
        "Eine Nachricht, die später geändert wird, sehe ich mir nicht noch einmal an. Schick mir"
        " bitte als neue Nachricht, was anders ist."
    )

    # --- Discord's commands ---
    discord_ask = "Dem Agenten etwas sagen"
    discord_text = "Was du sagst"
    discord_file = "Eine Datei, die dazugehört"
    discord_words = "Was hinter dem Befehl steht"

    when_no_time = (
        "Darin sehe ich keine Zeit. Schreib sie etwa so: `morgen um neun Bob anrufen` oder"
        " `jeden Werktag um 8 Nachrichten lesen`."
    )
    when_past = "{words} ist vorbei. Wann soll es sein?"
    when_past_at = "{time} ist vorbei. Wann soll es sein?"
    when_two_readings = "Meinst du {first} oder {second}?"
    when_no_such_date = (
        "Dieses Datum gibt es nicht: {words}. Schreib es etwa so: `24. Dezember um 18 Uhr`."
    )
    when_no_workdays = "Werktage zähle ich nicht. Schreib es etwa als `am Montag um 9`."
    when_no_such_clock = (
        "Diese Uhrzeit gibt es nicht: {words}. Schreib sie etwa so: `um 18:30 Uhr`."
    )
    when_too_often = (
        "Öfter als einmal in der Minute kann ich nicht. Schreib es etwa so: `alle 5 Minuten`."
    )
    when_no_zone = "Ich kenne keine Zeitzone {words}. {hint}"
    when_zone_example = "Schreib sie etwa so: `Europe/Berlin` oder `Berliner Zeit`."
    when_no_cron = (
        "{words} ist kein Cron-Ausdruck, der je eintritt. Seine fünf Felder sind Minute, Stunde,"
        " Tag, Monat und Wochentag, etwa `0 8 * * 1-5`."
    )
    when_which_clock = "Um wie viel Uhr? Schreib es etwa so: `heute um 18 Uhr`."
    when_which_times = "Zu welchen Uhrzeiten? Schreib sie etwa so: `jeden Tag um 9:00 und 18:00`."
    when_unread = (
        "Ich weiß nicht, was {words} dort heißt. Schreib die Zeit etwa so: `morgen um 19:30` oder"
        " `jeden Montag und Donnerstag um 9`."
    )
    when_unit = "Minuten, Stunden oder Tage? Schreib es etwa so: `in 10 Minuten`."
    when_how_often = "Wie oft? Schreib es etwa so: `jede Stunde` oder `jeden Tag um 9`."
    when_which_start = (
        "Um wie viel Uhr soll es beginnen ({day})? Schreib es etwa so: `ab Montag um 8`."
    )
    when_which_day = "An welchem Tag des Monats? Schreib es etwa so: `jeden Januar am 1. um 9`."
    when_which_date = "An welchem Datum? Schreib es etwa so: `jedes Jahr am 14. Februar um 9`."
    when_too_many = "Das sind zu viele Zeiten für eine Erinnerung. Mach mehrere daraus."
    when_no_end = "Bis wann? Schreib es etwa so: `bis Freitag` oder `bis 24. Dezember`."
    when_which_one = (
        "Welche davon? Nenn eine Zeit, etwa `morgen um 9`, oder schreib"
        " `jeden Montag und Donnerstag um 9`."
    )
    when_no_exception = (
        "Ausnahmen kenne ich nicht. Nenn die Tage, an denen es kommt, etwa"
        " `jeden Montag bis Donnerstag um 8`."
    )
    when_never = "Das Ende liegt vor dem ersten Mal, also kommt es nie. Wann soll es enden?"
    when_no_calendar = (
        "Ich kann nach Minuten, Stunden, Tagen und Wochen wiederholen, und nach 1, 2, 3, 4, 6 oder"
        " 12 Monaten. Was soll es sein?"
    )
    weekday_names: ClassVar[Mapping[int, str]] = dict(enumerate((_WEEKDAYS[-1], *_WEEKDAYS[:-1])))
    list_mark = ", "
    when_at = "{day}, um {clock} Uhr ({zone})"
    when_calendar = "{days} um {clocks} Uhr ({zone})"
    when_hours = "{days}, jede Stunde von {first} bis {last} Uhr ({zone})"
    when_span = "jeweils nach {span} ({zone})"
    when_cron = "so oft {cron} es sagt ({zone})"
    when_from = "{when}, Beginn: {start}"
    when_until = "{when}, Ende: {end}"
    when_times = "{when}, {count}-mal"
    when_day = "jeden Tag"
    when_days = "alle {count} Tage"
    when_workdays = "montags bis freitags"
    when_weekdays = "jeden {names}"
    when_weeks = "alle {count} Wochen am {names}"
    when_month = "am {days}. jedes Monats"
    when_months = "am {days}. im {months}"
    when_months_end = "am letzten Tag im {months}"
    when_nth_months = "jeden {nth} {name} im {months}"
    when_in_months = "{days} im {months}"
    when_month_end = "am letzten Tag jedes Monats"
    when_nth = "am {nth} {name} jedes Monats"
    when_nth_names: ClassVar[Mapping[int, str]] = dict(
        enumerate((*("letzten", "ersten", "zweiten", "dritten", "vierten", "fünften"),))
    )
    when_year = "jedes Jahr am {date}"
    when_next = "Als Nächstes: {times} ({zone})."

    def tell_time(self, now: datetime, zone: str) -> str:
        """See `Texts`."""
        where = f" ({zone})" if zone else ""
        return f"Es ist {now:%H:%M} Uhr{where}, {_format_day(now)}."

    def tell_day(self, now: datetime) -> str:
        """See `Texts`."""
        return f"Heute ist {_format_day(now)} ({now:%Y-%m-%d})."

    def tell_date(self, day: datetime) -> str:
        """See `Texts`."""
        return f"Das ist {_format_day(day)} ({day:%Y-%m-%d})."

    def format_day(self, day: date) -> str:
        return _format_day(day)

    def format_year_day(self, month: int, day: int) -> str:
        return f"{day}. {_MONTHS[month - 1]}"

    def name_month(self, month: int) -> str:
        return _MONTHS[month - 1]

    def format_exact_span(self, minutes: int) -> str:
        if minutes % 60:
            return f"{minutes} Minuten" if minutes > 1 else "einer Minute"
        return f"{minutes // 60} Stunden" if minutes > 60 else "einer Stunde"

    def join_words(self, words: Sequence[str]) -> str:
        """See `Texts`."""
        return " und ".join(words)

    def count_turns(self, count: int) -> str:
        """See `Texts`."""
        return "1 Antwort" if count == 1 else f"{count} Antworten"

    def count_tokens(self, count: int) -> str:
        """See `Texts`."""
        return f"{count} Token"

    def count_things(self, count: int) -> str:
        """See `Texts`."""
        return "1 Erinnerung" if count == 1 else f"{count} Erinnerungen"

    def count_tries(self, count: int) -> str:
        """See `Texts`."""
        return "1 Versuch" if count == 1 else f"{count} Versuche"

    def more_than(self, count: int) -> str:
        """See `Texts`."""
        return f"mehr als {count}"

    def count_messages(self, count: str) -> str:
        """See `Texts`."""
        return "eine Nachricht" if count == "1" else f"{count} Nachrichten"

    def format_span(self, seconds: float) -> str:
        """See `Texts`; a preposition such as `in` or `seit` is before it."""
        if seconds < 50:
            return f"{max(round(seconds / 5) * 5, 5)} Sekunden"
        minutes = round(seconds / 60)
        if minutes < 60:
            return f"{minutes} Minuten" if minutes > 1 else "einer Minute"
        hours = round(minutes / 60)
        if hours < 48:
            return f"{hours} Stunden" if hours > 1 else "einer Stunde"
        return f"{round(hours / 24)} Tagen"


def _format_day(now: date) -> str:
    return f"{_WEEKDAYS[now.weekday()]}, der {now.day}. {_MONTHS[now.month - 1]} {now.year}"


TEXTS = German()
