"""The services of a team: spawn teammates, write to them, shut them down, approve their plans.

Their names and answers are those that people know from the seed of all such teams.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from functions.agent.agents.identity import NO_ROLE, clean_role
from functions.agent.agents.record import is_name, join_name
from functions.agent.behaviours.pins import IDLE, SHUTDOWN_RESPONSE
from functions.agent.mailbox import Mail, Mailbox, describe_mails
from functions.agent.policy.act import OWN_WORK, Act
from functions.agent.posts import ASKS, MAILED, Ending, Post, ServiceAnswer
from functions.agent.sanitize import clean_text
from functions.agent.services.call_context import Arguments, CallContext, read_flag, read_text
from functions.agent.session.document import IDLE as IDLE_END
from functions.agent.session.document import WAITS
from functions.agent.team.examples import EXAMPLES
from functions.agent.team.gist import make_gist
from functions.agent.team.leg import OWN_MAIN
from functions.agent.team.member import Members, require_teammate
from functions.agent.team.report import LEAD, say_home
from functions.agent.team.request import (
    TEXT_CHARACTERS,
    TeamRequest,
    answer_request,
    find_request,
    keep_request,
    make_request_id,
    unknown_request,
)
from functions.agent.team.roster import format_roster, list_team
from functions.agent.team.shutdown import request_shutdown
from functions.agent.team.spawning import Order, spawn
from functions.agent.team.template import Template, find_example
from functions.agent.team.waking import require_workable
from functions.agent.team.work import mail_lead
from functions.texts.languages import load_texts
from sigil.errors import Refused, ToolError, UsageError, one_line
from sigil.protocol import Json
from sigil.storage.kv import keys

SPAWN, LIST, SEND, READ = "spawn-teammate", "list-teammates", "send-message", "read-inbox"
BROADCAST, STOP, PLAN = "broadcast", "shutdown-request", "plan-approval"
MESSAGE: Final = "message"
TYPES: Final = (
    MESSAGE,
    "broadcast",
    "shutdown_request",
    "shutdown_response",
    "plan_approval",
    "plan_approval_response",
)
"""What somebody may mean by a message."""
OF_LEAD: Final = ("shutdown_request", "plan_approval_response")
"""What only the lead of a team may mean by one."""
QUESTION_MARK: Final = re.compile("[?？؟]")
CONTENT_CHARACTERS: Final = 8_000
SHOWN_CHARACTERS: Final = 40


def name_teammate(arguments: Mapping[str, Json]) -> str:
    """Return the teammate that a call is about, as rules name it."""
    return one_line(str(arguments.get("name") or ""), SHOWN_CHARACTERS) or "*"


def spawn_teammate(context: CallContext, arguments: Arguments) -> ServiceAnswer:
    """Start a teammate, which works beside the chat and finds its own work after that."""
    app = context.app
    _require_lead(context)
    bundle = arguments.get("bundle") or []
    if not isinstance(bundle, list) or not all(isinstance(each, str) for each in bundle):
        raise UsageError("EINVAL", "bundle is a list of names of capabilities")
    role = clean_role(read_text(arguments, "role")) or NO_ROLE
    template = Template(read_text(arguments, "prompt"), role, tuple(map(str, bundle)))
    if not template.prompt:
        template = _find_template(template)
    order = Order(
        name=read_text(arguments, "name"),
        role=role,
        prompt=context.gate.redact(template.prompt),
        gist=context.gate.redact(make_gist(app, context.session, context.home, context.by)),
        bundle=template.bundle,
        model=read_text(arguments, "model"),
        home=context.home,
        by=context.by,
        call=context.call,
        stay=read_flag(arguments, "stay"),
        recall=read_flag(arguments, "recall") or template.recall,
        by_person=_is_asked_for(context),
    )
    context.posts.take(1, to=join_name(app.root, order.name))
    post = spawn(app, order, context.gate.require, context.find_holder())
    return ServiceAnswer(f"Spawned '{order.name}' (role: {order.role})", (post,))


def _find_template(wanted: Template) -> Template:
    """Return the teammate that comes along for a role, with the bundle that is wanted or its own.

    `UsageError` EINVAL where none does: such a one needs a prompt.
    """
    found = find_example(wanted.role.casefold())
    if found is None:
        raise UsageError(
            "EINVAL",
            "prompt: say what the teammate is to do",
            suggestion=f"it may be left out for the roles {', '.join(EXAMPLES)}",
        )
    return replace(found, bundle=wanted.bundle or found.bundle)


def list_mails(context: CallContext, arguments: Arguments) -> tuple[Act, ...]:
    """Return whom a message goes to, as an act that the policy decides on."""
    to = one_line(read_text(arguments, "to"), SHOWN_CHARACTERS)
    return (Act("mail", context.app.root if to == LEAD else to),)


def list_broadcast(context: CallContext, arguments: Arguments) -> tuple[Act, ...]:
    """Return whom a broadcast goes to."""
    names = _list_others_awake(context)
    return tuple(Act("mail", context.app.root if name == LEAD else name) for name in names)


def list_mails_to_lead(context: CallContext, arguments: Arguments) -> tuple[Act, ...]:
    """Return that a teammate writes to its lead; the lead's own calls write to nobody yet."""
    return (Act("mail", context.app.root),) if context.app.is_teammate else ()


def list_teammates(context: CallContext, arguments: Arguments) -> Json:
    """Return who is on the team and what they do."""
    app = context.app
    return format_roster(app, app.clock.now(), load_texts("en"))


def send_message(context: CallContext, arguments: Arguments) -> ServiceAnswer:
    """Put a message into the mailbox of a teammate or of the lead."""
    to = read_text(arguments, "to")
    kind = read_text(arguments, "msg_type") or MESSAGE
    if kind not in TYPES:
        raise UsageError(
            "EINVAL",
            f"Error: Invalid type '{one_line(kind, SHOWN_CHARACTERS)}'",
            suggestion=f"one of {', '.join(TYPES)}",
        )
    if kind in OF_LEAD:
        _require_lead(context)
    content = _read_content(context, arguments)
    posts = _deliver(context, to, content, kind)
    if to not in (LEAD, context.app.root):
        posts += _tell_chat(context, to, content)
    elif kind == MESSAGE and QUESTION_MARK.search(content):
        posts += _ask(context, content)
    return ServiceAnswer(f"Sent {kind} to {to}", posts)


def _ask(context: CallContext, question: str) -> tuple[Post, ...]:
    """Return what says a teammate's question in the chat that leads it, where a reply to it reaches
    the teammate; nothing where the policy keeps it from being said there. The lead reads the mail.
    """
    app = context.app
    home = context.home or (app.record.home if app.record else "")
    is_allowed = home and context.gate.decide("say", home).effect == "allow"
    if not (app.is_teammate and is_allowed):
        return ()
    context.posts.take(1)
    id = make_request_id(context.call)
    name = app.short_name
    text = question[:TEXT_CHARACTERS]
    request = TeamRequest("question", name, LEAD, app.clock.now(), text, home=home, by=context.by)
    keep_request(app.kv, app.root, id, request)
    said = context.texts.team_asks.format(name=name, id=id, text=question)
    return say_home(app.root, home, said, name, {MAILED: True})


def broadcast(context: CallContext, arguments: Arguments) -> ServiceAnswer:
    """Put a message into the mailboxes of all teammates that are awake, and of the lead."""
    names = _list_others_awake(context)
    content = _read_content(context, arguments)
    if names:
        context.posts.take_mail()
    posts: list[Post] = []
    full: list[str] = []
    for name in names:
        try:
            posts += _deliver(context, name, content, "broadcast", is_counted=True)
        except Refused as problem:
            if problem.code != "EQUOTA":
                raise
            full.append(name)
    posts += _tell_chat(context, "all", content)
    said = f"Broadcast to {len(names) - len(full)} teammates"
    if full:
        said += f", and not to {', '.join(full)}: too much mail that nobody has read"
    return ServiceAnswer(said, tuple(posts))


def read_inbox(context: CallContext, arguments: Arguments) -> ServiceAnswer:
    """Return the mail that has come since the last step; it is not shown again."""
    app = context.app
    scope = keys.escape(app.name) if context.work else context.session
    taken = app.sessions.open(context.session).document.taken
    mails, _ = Mailbox(app.kv, scope).read(taken)
    if not mails:
        return ServiceAnswer("No new mail. What comes is shown to you before your next step.")
    rows: list[Json] = [*describe_mails([mail for _, mail in mails])]
    return ServiceAnswer(rows, taken=tuple(name for name, _ in mails))


def shutdown_request(context: CallContext, arguments: Arguments) -> ServiceAnswer:
    """Shut a teammate down: at once, or with `graceful` after it was asked."""
    _require_lead(context)
    name = read_text(arguments, "teammate")
    context.posts.take(2, to=join_name(context.app.root, name))
    made = request_shutdown(
        context.app,
        name,
        by=LEAD,
        home=context.home,
        call=context.call,
        graceful=read_flag(arguments, "graceful"),
    )
    return ServiceAnswer(f"Shutdown request {made.id} sent to '{name}'", made.posts)


def shutdown_response(context: CallContext, arguments: Arguments) -> ServiceAnswer:
    """Answer a request to shut down; whoever approves it ends its work here."""
    app = context.app
    name = app.short_name
    id = read_text(arguments, "request_id")
    approve = read_flag(arguments, "approve")
    reason = context.gate.redact(clean_text(read_text(arguments, "reason")))
    context.gate.require("mail", app.root)

    def require(request: TeamRequest) -> None:
        if request.kind != "shutdown" or request.to != name:
            raise Refused(
                "EPERM", "Error: that is no request to shut you down", reason="other-request"
            )

    request = answer_request(app.kv, app.root, id, require, approve=approve, answer=reason)
    said = f"request_id={id} approve={str(approve).lower()} {reason}".strip()
    now = app.clock.now()
    mail = Mail(f"{id}:answer", name, said, now, "shutdown_response", context.by)
    context.posts.take(2)
    posts = mail_lead(app, request.home, mail)
    if approve:
        return ServiceAnswer("Shutdown approved", posts, ending=Ending(IDLE_END))
    return ServiceAnswer("Shutdown rejected", posts)


def plan_approval(context: CallContext, arguments: Arguments) -> ServiceAnswer:
    """Submit a plan to the lead, or let the lead answer one.

    A teammate's turn ends there, and its work goes on when somebody has answered.
    """
    # most turns have no plan
    from functions.agent.team.plan import PlanAnswer, answer_plan, hand_in

    app = context.app
    now = app.clock.now()
    if app.is_teammate:
        name = app.short_name
        plan = context.gate.redact(clean_text(read_text(arguments, "plan")))
        if not plan:
            raise UsageError("EINVAL", "plan: there is no plan to approve")
        id = make_request_id(context.call)
        home = context.home or (app.record.home if app.record else "")
        context.gate.require("mail", app.root)
        if home:
            context.gate.require("say", home)
        context.posts.take_mail()
        request = TeamRequest("plan", name, LEAD, now, plan, home=home, by=context.by)
        ending = None
        if context.work:
            hand_in(app, id, request)
            ending = Ending(WAITS)
        else:
            keep_request(app.kv, app.root, id, request)
        text = f"request_id={id}: {plan}"
        mail = Mail(context.call, name, text, now, "plan_approval", context.by)
        posts = mail_lead(app, home, mail, context.find_holder())
        said = context.texts.team_plan.format(name=name, id=id, text=plan)
        posts += say_home(app.root, home, said, name, {MAILED: bool(posts), ASKS: id})
        context.posts.take(len(posts))
        text = f"Plan submitted (request_id={id}). Waiting for approval."
        return ServiceAnswer(text, posts, ending=ending)
    _require_lead(context)
    id = read_text(arguments, "request_id")
    approve = read_flag(arguments, "approve")
    feedback = context.gate.redact(clean_text(read_text(arguments, "feedback")))
    found = find_request(app.kv, app.root, id)
    if found is None:
        raise unknown_request(id)
    full = join_name(app.root, found.sender)
    context.gate.require("mail", full)
    context.posts.take(1, to=full)
    context.posts.take_mail()
    is_asked_for = _is_asked_for(context)
    by = context.by if is_asked_for else ""
    is_owner = is_asked_for and context.role == "owner"
    answer = PlanAnswer(id, approve, by, is_owner, feedback, context.call)
    answered = answer_plan(app, answer)
    word = "approved" if approve else "rejected"
    return ServiceAnswer(f"Plan {word} for '{answered.request.sender}'", (answered.post,))


def idle(context: CallContext, arguments: Arguments) -> ServiceAnswer:
    """End a teammate's piece of work, so that it looks for another one."""
    if not (context.app.is_teammate and context.work):
        return ServiceAnswer("Lead does not idle.")
    return ServiceAnswer("Entering idle phase. Will poll for new tasks.", ending=Ending(IDLE_END))


def _deliver(
    context: CallContext, to: str, content: str, kind: str, *, is_counted: bool = False
) -> tuple[Post, ...]:
    """Put a message into a mailbox, and return what wakes whoever reads it.

    One that `is_counted` is a part of a broadcast, which counts as one mail of its sender.
    """
    app = context.app
    sender = LEAD if app.is_root else app.short_name
    now = app.clock.now()
    mail = Mail(f"{context.call}:{to}", sender, content, now, kind, context.by)
    if to in (LEAD, app.root) and app.is_teammate:
        home = context.home or (app.record.home if app.record else "")
        context.gate.require("mail", app.root)
        context.posts.take(1)
        if not is_counted:
            context.posts.take_mail()
        return mail_lead(app, home, mail, context.find_holder())
    if not is_name(to) or to == sender:
        require_teammate(None, one_line(to, SHOWN_CHARACTERS))
    member = require_teammate(Members(app.kv, app.root).read(to), to)
    require_workable(app, to, member, by_person=False)
    if member.find_status(now, app.team_idle) == "shutdown":
        raise ToolError(
            "ENOENT",
            f"Error: '{to}' has shut down, and reads nothing",
            suggestion="spawn it again with spawn-teammate",
            reason="shut-down",
        )
    full = join_name(app.root, to)
    context.gate.require("mail", full)
    context.posts.take(1, to=full)
    if not is_counted:
        context.posts.take_mail()
    Mailbox(app.kv, keys.escape(full)).deliver(mail, context.find_holder())
    return (Post("mail", full, OWN_MAIN, data={"home": context.home, "from": to}),)


def _tell_chat(context: CallContext, to: str, content: str) -> tuple[Post, ...]:
    """Return what says in the chat of a teammate's work what it writes to others, where the chat
    wants to hear that.
    """
    app = context.app
    if not (app.is_teammate and context.home):
        return ()
    # only the mail of teammates needs it
    from functions.agent.team.chat_notices import ALL, read_team_chat

    if read_team_chat(app.kv, app.root, context.home).mode != ALL:
        return ()
    try:
        context.posts.take(1)
    except ToolError:  # the mail is delivered, and its sender is not to send it again
        return ()
    text = context.texts.team_mail.format(name=app.short_name, to=to, text=content)
    return say_home(app.root, context.home, text, app.short_name)


def _list_others_awake(context: CallContext) -> list[str]:
    """Return who is awake on the team beside the agent itself, with the lead."""
    app = context.app
    own = app.short_name if app.is_teammate else LEAD
    team = list_team(app.kv, app.root, app.clock.now(), app.team_idle, app.hp)
    names = [each.name for each in team if each.name != own and each.status in ("working", "idle")]
    return [*names, LEAD] if app.is_teammate else names


def _read_content(context: CallContext, arguments: Arguments) -> str:
    content = clean_text(read_text(arguments, "content"))[:CONTENT_CHARACTERS]
    if not content:
        raise UsageError("EINVAL", "content: there is nothing to send")
    return context.gate.redact(content)


def _is_asked_for(context: CallContext) -> bool:
    """Return whether a person wants a call now: in their own message, or by approving it."""
    gate = context.gate
    return OWN_WORK not in gate.actor.labels or gate.approved is not None


def _require_lead(context: CallContext) -> None:
    """Raise `Refused` EPERM unless the root's own chat asks, which leads the team."""
    if not context.app.is_root:
        raise Refused(
            "EPERM",
            "Error: only the lead of a team does this",
            suggestion="write to the lead with send-message",
            reason="lead-only",
        )


SERVICES: Final = {
    SPAWN: spawn_teammate,
    LIST: list_teammates,
    SEND: send_message,
    READ: read_inbox,
    BROADCAST: broadcast,
    STOP: shutdown_request,
    SHUTDOWN_RESPONSE: shutdown_response,
    PLAN: plan_approval,
    IDLE: idle,
}
"""The services, by their names."""
