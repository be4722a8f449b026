"""The questions for language and time zone."""

from __future__ import annotations

from pathlib import Path

from functions.cli.setup.flags import SetupFlags
from functions.cli.setup.questions import Questions, require_choice
from functions.cli.setup.settings_file import SettingsFile
from functions.texts.languages import find_code, list_codes, load_texts
from functions.time import time_zone
from sigil.errors import UsageError, one_line
from sigil.settings import read_variable

LOCAL_TIME = Path("/etc/localtime")


def choose_language(questions: Questions, flags: SetupFlags, file: SettingsFile) -> list[str]:
    """Ask for language and time zone and write them down; return the settings that changed."""
    known = file.values
    language = flags.language
    if language:
        require_choice("--language", language, list_codes())
    else:
        default = known.get("UNCAGED_LANGUAGE") or find_code(_find_locale()) or "en"
        names = {code: load_texts(code).name for code in list_codes()}
        language = questions.choose("Language", names, default, "--language")
    zone = _find_zone(flags.timezone) if flags.timezone else ""
    while not zone:
        default = known.get("UNCAGED_TIMEZONE") or _find_own_zone()
        try:
            zone = _find_zone(questions.ask("Time zone, or a city", default, "--timezone"))
        except UsageError as problem:
            if questions.yes:
                raise
            questions.printer.error(problem)
    return file.change({"UNCAGED_LANGUAGE": language, "UNCAGED_TIMEZONE": zone})


def _find_locale() -> str:
    """Return the language of this terminal as a tag, such as de-de."""
    locale = read_variable("LC_ALL") or read_variable("LANG")
    return locale.partition(".")[0].replace("_", "-").lower()


def _find_own_zone() -> str:
    """Return the time zone of this machine, UTC where it does not tell."""
    name = read_variable("TZ").lstrip(":")
    if not name:
        try:
            name = str(LOCAL_TIME.readlink()).partition("zoneinfo/")[2]
        except OSError:
            name = ""
    is_usable = name and name != "Etc/UTC" and time_zone.is_known(name)
    return name if is_usable else "UTC"


def _find_zone(words: str) -> str:
    """Return the zone that a person names, by its name or a city."""
    if words == "UTC":
        return words
    zone = time_zone.find_zone(words)
    if not zone:
        near = ", ".join(time_zone.suggest_zones(words, 0.0))
        raise UsageError(
            "EUSAGE",
            f"{one_line(words, 60)!r} is no time zone that this machine knows",
            suggestion=f"did you mean {near}?" if near else "use a name such as Europe/Berlin",
        )
    return zone
