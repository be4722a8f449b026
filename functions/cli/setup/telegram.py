"""The question for a Telegram bot, which is polled: its token is all that it needs."""

from __future__ import annotations

from contextlib import closing

from functions.channels.listening.updates import ReceivedElsewhere
from functions.channels.telegram.about import API
from functions.channels.telegram.channel import Telegram
from functions.cli.commands.channel import free_from_webhook
from functions.cli.setup.flags import SetupFlags
from functions.cli.setup.questions import Questions
from functions.cli.setup.settings_file import SettingsFile
from sigil.errors import BackendError, SigilError, UsageError, one_line
from sigil.settings import read_variable

VARIABLES = ("TELEGRAM_TOKEN", "TELEGRAM_BOT_TOKEN")
"""Where people already have a token."""


def connect_telegram(questions: Questions, flags: SetupFlags, file: SettingsFile) -> list[str]:
    """Ask for a bot's token, try it, and write it down; return the settings that changed."""
    known = file.values.get("TELEGRAM_TOKEN", "")
    is_wanted = flags.is_alone or flags.token_from or questions.yes
    if not is_wanted and not questions.confirm("Talk to it in Telegram?", default=bool(known)):
        return []
    while True:
        token = _ask_token(questions, flags, known)
        if not token:
            return []
        try:
            if token != known:
                file.refuse_foreign_address("TELEGRAM_API", "the bot's token")
            name = _check_bot(questions, flags, file, token, is_new=token != known)
        except SigilError as problem:
            if questions.yes:
                raise
            questions.printer.error(problem)
            if not questions.confirm("Try again?", default=True):
                raise
            flags = SetupFlags(is_alone=flags.is_alone)
            continue
        questions.printer.note(f"the bot is @{name}: https://t.me/{name}")
        return file.change({"TELEGRAM_TOKEN": token})


def _ask_token(questions: Questions, flags: SetupFlags, known: str) -> str:
    """Return the token of a variable, the one that is set, or what is typed; empty for none."""
    if flags.token_from:
        token = read_variable(flags.token_from).strip()
        if not token:
            raise UsageError(
                "EUSAGE",
                f"the environment has no {one_line(flags.token_from, 60)}",
                suggestion="--token-from takes the name of a variable that has the token",
            )
        return token
    for name in VARIABLES:
        token = read_variable(name).strip()
        if token and questions.confirm(f"Use the token in {name}?", default=True):
            return token
    if known and questions.confirm("Keep the token that is set?", default=True):
        return known
    if questions.yes and not flags.is_alone:
        return ""
    return questions.ask_secret(
        "Token of the bot (write /newbot to https://t.me/BotFather)", "--token-from NAME"
    )


def _check_bot(
    questions: Questions, flags: SetupFlags, file: SettingsFile, token: str, *, is_new: bool
) -> str:
    """Return the bot's name, once nobody else receives its messages."""
    api = read_variable("TELEGRAM_API") or file.values.get("TELEGRAM_API") or API
    with closing(Telegram(token, "", api)) as bot:
        try:
            with questions.printer.progress("asking Telegram"):
                name = bot.fetch_bot_name()
            decided = True if flags.take_webhook else None
            if questions.yes:
                decided = flags.take_webhook
            free_from_webhook("telegram", bot, take_webhook=decided)
            if is_new:  # our own server may poll the one that is set
                bot.fetch_updates("", 0)
        except ReceivedElsewhere:
            raise
        except BackendError as problem:
            if not problem.suggestion:
                problem.suggestion = "check this machine's network or proxy, then try again"
                raise
            raise UsageError(
                "EINVAL",
                "Telegram does not know this token",
                source="telegram",
                suggestion="copy it from @BotFather: /mybots, the bot, API Token",
            ) from None
    return name
