"""/team shows who works and who is idle, ends their work and wakes them; /inbox shows the mail of
the lead.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from functions.agent.commands.command import Command, CommandCall, CommandResult, Commands
from functions.agent.mailbox import Mailbox
from functions.agent.posts import stamp_posts
from functions.agent.sanitize import clean_text
from functions.agent.team.member import Members
from functions.agent.team.roster import describe_teammate, format_roster, list_shown, list_team
from functions.agent.team.shutdown import ALL, stop_team
from sigil.errors import one_line
from sigil.storage.kv import keys

STOP: Final = "stop"
WAKE: Final = "wake"
MODES: Final = {"mute": "mute", ALL: ALL, "unmute": ""}
"""The words that say what the chat hears, and how that is kept."""
SHOWN_MOST: Final = 20
SHOWN_CHARACTERS: Final = 500
NAME_CHARACTERS: Final = 40


def run_team(call: CommandCall) -> CommandResult:
    """Show the team or a teammate, end the work of one or of all or let it go on, or keep what the
    chat hears.
    """
    texts = call.texts
    word, _, rest = call.text.strip().lower().partition(" ")
    change = {STOP: _stop, WAKE: _wake}.get(word)
    if change and rest.strip():
        return change(call, rest.strip())
    if rest or change:
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
    working = [each.name for each in team if each.status == "working"]
    found = read_progress(app, working)
    progress = {name: found.get(name) for name in working}
    roster = format_roster(app, now, texts, reader=call.event.behalf, progress=progress)
    mode = read_team_chat(app.kv, app.root, call.event.session).mode
    hears = texts.team_hears.get(mode, "") if mode else ""
    return f"{roster}\n{hears}".strip()


def _show_teammate(call: CommandCall, name: str) -> str:
    from functions.agent.team.progress import read_progress

    app = call.app
    now = app.clock.now()
    team = list_team(app.kv, app.root, now, app.team_idle, app.hp)
    found = next((each for each in team if each.name == name), None)
    if found is None:
        return f"{_tell_unknown(call, name)} {call.texts.team_how}"
    work = read_progress(app, [name] if found.status == "working" else []).get(name)
    progress = {name: work}
    return describe_teammate(found, now, call.texts, reader=call.event.behalf, progress=progress)


def _stop(call: CommandCall, wanted: str) -> CommandResult:
    """Stop one teammate or all of them, until a person wakes them."""
    app = call.app
    event = call.event
    texts = call.texts
    names = [name for name, _ in Members(app.kv, app.root).scan()]
    if not (names if wanted == ALL else wanted in names):
        return call.reply(_tell_unknown(call, wanted))
    stopped = stop_team(
        app, wanted, person=event.behalf, home=event.session, call=f"{event.id}:stop"
    )
    lines = []
    if stopped.end:
        lines.append(texts.team_stopping.format(names=", ".join(stopped.end)))
    if stopped.down:
        lines.append(texts.team_stopped.format(names=", ".join(stopped.down)))
    posts = stamp_posts(stopped.posts, event, STOP, app.clock.now())
    document = replace(call.document, posts=(*call.document.posts, *posts))
    return CommandResult("\n".join(lines), document)


def _wake(call: CommandCall, wanted: str) -> CommandResult:
    """Let one teammate or all of them work again."""
    from functions.agent.team.resuming import wake_by_hand

    app = call.app
    event = call.event
    known = [name for name, _ in Members(app.kv, app.root).scan()]
    names = known if wanted == ALL else [name for name in known if name == wanted]
    if not names:
        return call.reply(_tell_unknown(call, wanted))
    resumed = wake_by_hand(app, names, by=event.behalf, cause=event.id)
    woken = call.texts.team_woken.format(names=", ".join(names))
    text = " ".join(filter(None, (woken, resumed.describe(call.texts))))
    document = replace(call.document, posts=(*call.document.posts, *resumed.events))
    return CommandResult(text, document)


def _tell_unknown(call: CommandCall, wanted: str) -> str:
    shown = one_line(wanted, NAME_CHARACTERS).replace("`", "")
    none = call.texts.team_none if wanted == ALL else call.texts.team_unknown
    return none.format(name=shown)


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
    """Return whether these words end somebody's work, or let it go on."""
    return words.strip().lower().partition(" ")[0] in (STOP, WAKE)


def changes_hearing(words: str) -> bool:
    """Return whether these words change what the chat hears."""
    return words.strip().lower() in MODES


COMMANDS: Final[Commands] = {
    "team": Command(
        run_team,
        arguments="[NAME | stop NAME | stop all | wake NAME | wake all | mute | unmute | all]",
        changes_chat=changes_hearing,
        changes_agent=changes_team,
    ),
    "inbox": Command(run_inbox),
}
