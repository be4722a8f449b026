"""The texts in German: what the offline model says. The rest stays English."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
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
        " kodiere viele viel dass".split()
    )
    greetings: ClassVar[frozenset[str]] = frozenset(
        "hallo moin servus danke tschüss tschüß tschuess guten hilfe".split()
    )

    offline_signature = (
        "— Offline-Modell (ein Planer, kein Sprachmodell; UNCAGED_LLM_URL schließt ein echtes an)"
    )
    offline_what_i_do = (
        "Ich bin das Offline-Modell: Ich verstehe schlichte Bitten an die Standardbibliothek, und"
        " die meisten nur auf Englisch. Zum Beispiel:\n\n"
        "- convert 26.2 miles to km\n"
        "- was ist 15% von 80\n"
        "- how many days are between 2024-03-01 and 2024-12-25\n"
        "- wie spät ist es?\n"
        "- Merke dir, dass ich Tee mag (dann: was mag ich?)\n\n"
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
        " und den JavaScript-Rumpf in einem Code-Block, zum Beispiel\n\nmake a capability"
        " reverse-text\n```js\nreturn [...input.text].reverse().join('')\n```"
    )
    offline_not_found = (
        "Das verstehe ich nicht: Ich bin nur das Offline-Modell. Frag „was kannst du?“, dann nenne"
        " ich Beispiele. Ein Sprachmodell (UNCAGED_LLM_URL) verstünde mehr."
    )
    offline_cannot = (
        "Das kann ich nicht: Ich bin nur das Offline-Modell. Frag „was kannst du?“, dann nenne ich"
        " Beispiele."
    )
    offline_too_long = (
        "Ich bin nur das Offline-Modell und lese höchstens {most:,} Zeichen auf einmal. Sende"
        " weniger, oder nimm ein Sprachmodell (UNCAGED_LLM_URL)."
    )
    offline_needs = (
        "Für {capability} fehlt mir etwas: Schreib alles in eine Nachricht, etwa so: {example}"
    )
    offline_needs_input = (
        "Ich habe `{tool}` gefunden ({description}), konnte deinen Worten aber die Eingabe"
        " ({parameters}) nicht entnehmen. Setz den Text in Anführungszeichen."
    )
    offline_failed = "Das ging nicht: {why}"
    offline_exists = "Es gibt schon eine Fähigkeit `{name}`: `{tool}` ist bereit."
    offline_not_made = "Ich konnte `{name}` nicht anlegen: {why}"
    offline_made = "`{name}` ist als `{tool}` angelegt (Version {version}). Sag, was es tun soll."
    offline_remembered = "Gemerkt: {words}"
    offline_forgotten = "Vergessen."
    offline_forgotten_what = "Vergessen: {words}"
    offline_forget_all = (
        "Ich vergesse nur eines nach dem anderen: /recall zeigt, was ich weiß, und `/forget ID`"
        " löscht es. Alles über einen Menschen löscht mein Besitzer mit `uncaged people erase`."
    )
    offline_recalled = "Das weiß ich:"
    offline_nothing_known = "Dazu weiß ich nichts."
    offline_not_told = "Das hat mir niemand gesagt. Schreib „merke dir, dass …“, dann weiß ich es."
    offline_could_keep = "Schreib „merke dir: {words}“, dann behalte ich es."
    offline_weeks = "{weeks} Wochen und {days} Tage"
    offline_svg = (
        "Dies ist ein SVG-Bild; ein Browser zeigt es, aus einer Datei, die auf .svg endet:"
    )
    offline_valid = "Ja, {what} ist gültig."
    offline_invalid = "Nein, {what} ist nicht gültig: {why}."
    offline_wrong_form = "die Form stimmt nicht"
    offline_prime = "{number} ist eine Primzahl."
    offline_no_factors = "{number} ist keine Primzahl und hat keine Primfaktoren."
    offline_factors = "{number} = {factors}. Das ist keine Primzahl."
    offline_yes = "ja"
    offline_no = "nein"
    offline_none = "keine"
    offline_nothing = "(nichts)"
    offline_empty = "(ein leerer Text)"

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


def _format_day(now: datetime) -> str:
    return f"{_WEEKDAYS[now.weekday()]}, der {now.day}. {_MONTHS[now.month - 1]} {now.year}"


TEXTS = German()
