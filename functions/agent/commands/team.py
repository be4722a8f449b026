"""/team shows who works and who is idle, and ends their work; /inbox shows the mail of the lead."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from functions.agent.commands.command import Command, CommandCall, CommandResult, Commands
from functions.agent.mailbox import Mailbox
from functions.agent.posts import stamp_posts
from functions.agent.sanitize import clean_text
from functions.agent.team.report import LEAD
from functions.agent.team.roster import format_progress, format_roster, list_shown, list_team
from functions.agent.team.shutdown import request_shutdown
from sigil.errors import one_line
from sigil.storage.kv import keys

STOP: Final = "stop"
ALL: Final = "all"
MODES: Final = {"mute": "mute", ALL: ALL, "unmute": ""}
"""The words that say what the chat hears, and how that is kept."""
SHOWN_MOST: Final = 20
SHOWN_CHARACTERS: Final = 500
NAME_CHARACTERS: Final = 40


def run_team(call: CommandCall) -> CommandResult:
    """Show the team or a teammate, end the work of one or of all, or keep what the chat hears."""
    texts = call.texts
    word, _, rest = call.text.strip().lower().partition(" ")
    if word == STOP and rest.strip():
        return _stop(call, rest.strip())
    if rest or word == STOP:
        return call.reply(texts.team_how)
    if word in MODES:
        from functions.agent.team.chat_notices import set_mode

        set_mode(call.app.kv, call.app.root, call.event.session, MODES[word])
        return call.reply(texts.team_hears[MODES[word]])
    return call.reply(_show_teammate(call, word) if word else _show_team(call))


def _show_team(call: CommandCall) -> str:
    from functions.agent.team.chat_notices import read_team_chat
    from functions.agent.team.progress import read_progress

    app = call.app
    texts = call.texts
    now = app.clock.now()
    team = list_shown(app, now)
    if not team:
        return f"{texts.team_none} {texts.team_spawn_hint}"
    progress = read_progress(app, [each.name for each in team if each.status == "working"])
    roster = format_roster(app, now, texts, progress)
    mode = read_team_chat(app.kv, app.root, call.event.session).mode
    hears = texts.team_hears.get(mode, "") if mode else ""
    return f"{roster}\n{hears}".strip()


def _show_teammate(call: CommandCall, name: str) -> str:
    from functions.agent.team.progress import read_progress

    app = call.app
    now = app.clock.now()
    team = list_team(app.kv, app.root, now, app.team_idle)
    found = next((each for each in team if each.name == name), None)
    if found is None:
        shown = one_line(name, NAME_CHARACTERS).replace("`", "")
        return f"{call.texts.team_unknown.format(name=shown)} {call.texts.team_how}"
    progress = read_progress(app, [name] if found.status == "working" else [])
    line = f"{name} ({found.role}): {found.status}"
    if found.task:
        line += f" #{found.task}"
    line += f", {format_progress(found, progress.get(name), now, call.texts)}"
    return f"{line} — {found.trouble}" if found.trouble else line


def _stop(call: CommandCall, wanted: str) -> CommandResult:
    app = call.app
    event = call.event
    now = app.clock.now()
    team = list_team(app.kv, app.root, now, app.team_idle)
    awake = [each.name for each in team if each.status != "shutdown"]
    names = awake if wanted == ALL else [name for name in awake if name == wanted]
    if not names:
        shown = one_line(wanted, NAME_CHARACTERS).replace("`", "")
        none = call.texts.team_none if wanted == ALL else call.texts.team_unknown
        return call.reply(none.format(name=shown))
    document = call.document
    for name in names:
        made = request_shutdown(
            app, name, by=LEAD, home=event.session, call=f"{event.id}:stop:{name}"
        )
        posts = stamp_posts(made.posts, event, f"stop:{name}", now)
        document = replace(document, posts=(*document.posts, *posts))
    return CommandResult(call.texts.team_stopping.format(names=", ".join(names)), document)


def run_inbox(call: CommandCall) -> CommandResult:
    """Show the mail that teammates sent to this chat and that its next turn will read."""
    app = call.app
    mailbox = Mailbox(app.kv, keys.session_of(app.root, call.event.session))
    mails, _ = mailbox.read(call.document.taken)
    if not mails:
        return call.reply(call.texts.inbox_none)
    lines = [
        f"{one_line(mail.sender, NAME_CHARACTERS)} ({mail.type}):"
        f" {one_line(clean_text(mail.text), SHOWN_CHARACTERS)}"
        for _, mail in mails[:SHOWN_MOST]
    ]
    return call.reply("\n".join(lines))


def changes_team(words: str) -> bool:
    """Return whether these words end somebody's work."""
    return words.strip().lower().partition(" ")[0] == STOP


def changes_hearing(words: str) -> bool:
    """Return whether these words change what the chat hears."""
    return words.strip().lower() in MODES


COMMANDS: Final[Commands] = {
    "team": Command(
        run_team,
        arguments="[NAME | stop NAME | stop all | mute | unmute | all]",
        changes_chat=changes_hearing,
        changes_agent=changes_team,
    ),
    "inbox": Command(run_inbox),
}
