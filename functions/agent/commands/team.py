"""/team shows who works and who is idle, tells one something, ends their work and wakes them;
/inbox shows the mail of the lead.

The plans of teammates wait beside the proposals: /proposals shows both, and /approve and /deny
answer either.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from functions.agent.agents.record import find_absence
from functions.agent.app import App
from functions.agent.commands import proposals
from functions.agent.commands.command import (
    Command,
    CommandCall,
    CommandResult,
    Commands,
    Run,
    always,
)
from functions.agent.conversation.messages import Message, user_message
from functions.agent.mailbox import Mailbox, find_answered
from functions.agent.posts import stamp_posts
from functions.agent.safety.failure_codes import explain_refusal
from functions.agent.sanitize import clean_text
from functions.agent.team.member import Members
from functions.agent.team.roster import describe_teammate, format_roster, list_shown, list_team
from functions.agent.team.shutdown import ALL, stop_team
from sigil.errors import SigilError, one_line
from sigil.storage.kv import keys

STOP: Final = "stop"
WAKE: Final = "wake"
TELL: Final = "tell"
ALL_WORDS: Final = frozenset(("alle", "全部", "所有"))
"""What a person may write for all teammates in other languages."""
MODES: Final = {"mute": "mute", ALL: ALL, "unmute": ""}
"""The words that say what the chat hears, and how that is kept."""
PLAN_DIGITS: Final = 8
"""The ids of plans have so many digits, and those of proposals never."""
PLAN_CHARACTERS: Final = 3_000
"""Of each of several plans so many characters are shown."""
TOLD_CHARACTERS: Final = 8_000
SHOWN_MOST: Final = 20
SHOWN_CHARACTERS: Final = 500
NAME_CHARACTERS: Final = 40


def run_team(call: CommandCall) -> CommandResult:
    """Show the team or a teammate, tell one something, end the work of one or of all or let it go
    on, or keep what the chat hears.
    """
    texts = call.texts
    said = call.text.split(None, 2)
    if len(said) == 3 and said[0].lower() == TELL:
        return _tell(call, said[1].lower().removeprefix("@"), said[2])
    word, _, rest = call.text.strip().lower().partition(" ")
    change = {STOP: _stop, WAKE: _wake}.get(word)
    if change and rest.strip():
        wanted = rest.strip().removeprefix("@")
        return change(call, ALL if wanted in ALL_WORDS else wanted)
    if rest or change or word == TELL:
        return call.reply(texts.team_how)
    if word in MODES:
        from functions.agent.team.chat_notices import set_mode

        set_mode(call.app.kv, call.app.root, call.event.session, MODES[word])
        return call.reply(texts.team_hears[MODES[word]])
    return call.reply(_show_teammate(call, word.removeprefix("@")) if word else _show_team(call))


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
    gone = [name for name in names if _is_gone(app, name)]
    names = [name for name in names if name not in gone]
    if not names:
        return call.reply(call.texts.team_reads_nothing.format(name=", ".join(gone)))
    resumed = wake_by_hand(app, names, by=event.behalf, cause=event.id)
    woken = call.texts.team_woken.format(names=", ".join(names))
    text = " ".join(filter(None, (woken, resumed.describe(call.texts))))
    document = replace(call.document, posts=(*call.document.posts, *resumed.events))
    return CommandResult(text, document)


def _is_gone(app: App, name: str) -> bool:
    """Return whether a teammate was archived or removed, so that it has to be spawned again."""
    return find_absence(app.kv.get(keys.agent_record(app.root, name))) not in ("", "disabled")


def _tell_unknown(call: CommandCall, wanted: str) -> str:
    shown = one_line(wanted, NAME_CHARACTERS).replace("`", "")
    none = call.texts.team_none if wanted == ALL else call.texts.team_unknown
    return none.format(name=shown)


def answer_question(call: CommandCall) -> CommandResult | None:
    """Pass on what a person replies to a teammate's question, which the chat's own history has too;
    None for any other message, and for guests.
    """
    id = find_answered(call.event)
    if not id or call.role == "guest":
        return None
    from functions.agent.team.telling import find_question

    question = find_question(call.app, id, call.event.session)
    if question is None:
        return None
    refusal = call.begin_turn()
    if refusal is not None:
        return call.reply(refusal)
    words = f"request_id={id}: {call.event.text}"
    told = _tell(call, question.sender, words)
    messages = (
        user_message(call.event, call.role, zone=call.app.find_zone(call.document)),
        Message("assistant", told.text, at=call.app.clock.now()),
    )
    return replace(told, document=told.document.add(*messages), name="team")


def _tell(call: CommandCall, name: str, words: str) -> CommandResult:
    """Tell a teammate something, which wakes it."""
    from functions.agent.team.telling import tell_teammate
    from functions.agent.team.waking import is_halted

    app = call.app
    event = call.event
    texts = call.texts
    # also where anybody may talk: a teammate takes this for a word of its lead
    if call.role == "guest":
        return call.reply(texts.team_not_for_guests)
    shown = one_line(name, NAME_CHARACTERS).replace("`", "")
    denial = call.find_denial("mail", shown)
    if denial:
        return call.reply(denial)
    try:
        post = tell_teammate(
            app,
            name,
            app.redact(clean_text(words))[:TOLD_CHARACTERS],
            by=event.behalf,
            key=event.id,
            home=event.session,
            holder=call.find_holder(),
        )
    except SigilError as problem:
        patterns = {"ENOENT": texts.team_unknown, "EINVAL": texts.team_reads_nothing}
        pattern = patterns.get(problem.code, texts.proposal_refused)
        if problem.reason == "stopped":
            pattern = texts.team_stopped
        why = explain_refusal(problem, texts)
        return call.reply(pattern.format(name=shown, names=shown, why=why))
    posts = stamp_posts([post], event, f"tell:{name}", app.clock.now())
    document = replace(call.document, posts=(*call.document.posts, *posts))
    pattern = texts.team_told_halted if is_halted(app, name) else texts.team_told
    return CommandResult(pattern.format(name=name), document)


def run_proposals(call: CommandCall) -> CommandResult:
    """Show the proposals and the plans that wait, or one of them, or roll a proposal back."""
    shown = proposals.run_proposals(call)
    plans = _list_plans(call)
    if not plans:
        return shown
    text = "\n".join([*plans, "", call.texts.plans_how])
    if shown.text != call.texts.proposals_none:
        text = f"{shown.text}\n\n{text}"
    return replace(shown, text=text)


def _list_plans(call: CommandCall) -> list[str]:
    """Return the lines of the plans that wait for an answer, in a group of those from there."""
    from functions.agent.team.plan import list_plans
    from functions.agent.team.request import TEXT_CHARACTERS

    event = call.event
    wanted = call.text.lower()
    if wanted and len(wanted) != PLAN_DIGITS:
        return []
    most = TEXT_CHARACTERS if wanted else PLAN_CHARACTERS
    return [
        call.texts.plan_line.format(
            id=id,
            name=plan.sender,
            by=plan.by or "nobody",
            session=plan.home,
            text=one_line(clean_text(plan.text), most),
        )
        for id, plan in list_plans(call.app.kv, call.app.root)[:SHOWN_MOST]
        if wanted in ("", id) and (event.private or plan.home == event.session)
    ]


def run_approve(call: CommandCall) -> CommandResult:
    """Approve a plan or a proposal."""
    return _decide(call, proposals.run_approve, approve=True)


def run_deny(call: CommandCall) -> CommandResult:
    """Deny a plan or a proposal."""
    return _decide(call, proposals.run_deny, approve=False)


def _decide(call: CommandCall, decide_proposal: Run, *, approve: bool) -> CommandResult:
    """Answer the plan of a teammate, with words perhaps, so that its work goes on; or decide on a
    proposal.
    """
    if not call.text:
        return run_proposals(call)
    if decides_proposal(call.text):
        return decide_proposal(call)
    from functions.agent.team.plan import PlanAnswer, PlanProblem, answer_plan

    event = call.event
    _, *rest = call.text.split(None, 1)
    words = call.app.redact(clean_text("".join(rest)))
    answer = PlanAnswer(
        _read_id(call.text).lower(),
        approve,
        event.behalf,
        owner=call.role == "owner",
        words=words,
        key=event.id,
    )
    try:
        answered = answer_plan(call.app, answer)
    except PlanProblem as problem:
        return call.reply(problem.describe(call.texts))
    posts = stamp_posts([answered.post], event, "plan", call.app.clock.now())
    document = replace(call.document, posts=(*call.document.posts, *posts))
    pattern = call.texts.plan_approved if approve else call.texts.plan_rejected
    said = pattern.format(name=answered.request.sender, id=answer.id)
    return CommandResult(said, document, entries=(answered.entry,))


def decides_proposal(words: str) -> bool:
    """Return whether the words behind a command decide on a proposal, as owners alone do; those of
    a plan name it first, and it has its own rules.
    """
    return not words or len(_read_id(words)) != PLAN_DIGITS


def _read_id(words: str) -> str:
    """Return the id that a person writes first, without what may stand around it."""
    return words.split(None, 1)[0].strip("#,:;.")


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


def sets_to_work(words: str) -> bool:
    """Return whether these words let a teammate do something."""
    return words.strip().lower().startswith(f"{TELL} ")


COMMANDS: Final[Commands] = {
    "team": Command(
        run_team,
        arguments=(
            "[NAME | tell NAME WORDS | stop NAME | stop all | wake NAME | wake all | mute | unmute"
            " | all]"
        ),
        changes_chat=changes_hearing,
        changes_agent=changes_team,
        stores=sets_to_work,
    ),
    "inbox": Command(run_inbox),
    "proposals": Command(
        run_proposals, "[ID | rollback ID]", changes_agent=always, for_owners=True
    ),
    "approve": Command(run_approve, "ID [WORDS]", changes_agent=decides_proposal, for_owners=True),
    "deny": Command(run_deny, "ID [WORDS]", changes_agent=decides_proposal, for_owners=True),
}
