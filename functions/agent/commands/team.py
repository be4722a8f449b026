"""/team shows who works and who is idle, and ends their work; /inbox shows the mail of the lead."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from functions.agent.commands.command import Command, CommandCall, CommandResult, Commands
from functions.agent.mailbox import Mailbox
from functions.agent.posts import stamp_posts
from functions.agent.sanitize import clean_text
from functions.agent.team.report import LEAD
from functions.agent.team.roster import format_roster, list_team
from functions.agent.team.shutdown import request_shutdown
from sigil.errors import one_line
from sigil.storage.kv import keys

STOP: Final = "stop"
ALL: Final = "all"
SHOWN_MOST: Final = 20
SHOWN_CHARACTERS: Final = 500
NAME_CHARACTERS: Final = 40


def run_team(call: CommandCall) -> CommandResult:
    """Show the team, or end the work of one teammate or of all."""
    app = call.app
    texts = call.texts
    word, _, rest = call.text.partition(" ")
    if word.lower() == STOP and rest.strip():
        return _stop(call, rest.strip().lower())
    if word:
        return call.reply(texts.team_how)
    now = app.clock.now()
    roster = format_roster(app, now, texts)
    if roster == texts.team_none:
        roster = f"{roster} {texts.team_spawn_hint}"
    return call.reply(roster)


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
    return words.strip().lower().startswith(STOP)


COMMANDS: Final[Commands] = {
    "team": Command(run_team, arguments="[stop NAME | stop all]", changes_agent=changes_team),
    "inbox": Command(run_inbox),
}
