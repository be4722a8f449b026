"""`uncaged team`: teammates that find their own work."""

from __future__ import annotations

import sys
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from functions.cli.local_agent import BY, Json, open_agent, print_result, require_chat
from sigil.cli.printing import Printer
from sigil.cli.times import format_time
from sigil.errors import UsageError, one_line

if TYPE_CHECKING:
    from functions.agent.management.team import Arranged
    from functions.agent.team.template import Template
    from functions.settings import Settings

HOME: Final = "terminal:main"
TEXT_CHARACTERS: Final = 8_000
SHOWN_CHARACTERS: Final = 60
cli = typer.Typer(
    name="team", help="Look after teammates, which find their own work.", no_args_is_help=True
)
Name = Annotated[str, typer.Argument(help="Their name, such as alice.", metavar="NAME")]


@cli.command()
def spawn(
    name: Name,
    *,
    file: Annotated[
        str,
        typer.Option(
            help="A file with their role and prompt, `-` for the standard input, or one of those"
            " that come along: coder, researcher, reviewer."
        ),
    ] = "",
    role: Annotated[str, typer.Option(help="What they are, such as coder.")] = "",
    prompt: Annotated[str, typer.Option(help="What they are to do.")] = "",
    home: Annotated[
        str, typer.Option(help="The chat that hears of their work, such as `telegram:42`.")
    ] = HOME,
    stay: Annotated[bool, typer.Option("--stay", help="They wait for work for ever.")] = False,
    recall: Annotated[
        bool, typer.Option("--recall", help="They come back when there is work for them.")
    ] = False,
    json: Json = False,
) -> None:
    """Start a teammate, as a file or these options say.

    Example: uncaged team spawn alice --file coder --home telegram:42
    """
    from dataclasses import replace

    from functions.agent.agents.identity import clean_role
    from functions.agent.management.team import spawn_by_hand
    from functions.agent.team.template import Template

    if not (file or prompt):
        raise UsageError(
            "EUSAGE", "say what they are to do", suggestion="with --prompt TEXT, or --file FILE"
        )
    template = _read_template(file) if file else Template(prompt)
    template = replace(
        template,
        prompt=prompt or template.prompt,
        role=clean_role(role) or template.role,
        stay=stay or template.stay,
        recall=recall or template.recall,
    )
    with open_agent(switch=True) as (app, settings):
        require_chat(home)
        call = f"cli:{uuid.uuid4().hex[:12]}"
        _put(
            spawn_by_hand(app, name, template, home=home, by=BY, call=call),
            settings,
            json,
            name=name,
        )
    if not settings.endpoint:
        Printer(json=json).note(
            f"no model is connected, so {name} does no more than the offline model can;"
            " `uncaged setup model` connects one"
        )


@cli.command("list")
def list_team(json: Json = False) -> None:
    """List the teammates: who works, who is idle, who has shut down.

    Example: uncaged team list
    """
    from functions.agent.management.team import describe_team
    from functions.agent.team.progress import read_progress
    from functions.agent.team.roster import list_shown
    from functions.texts.en import TEXTS

    with open_agent(switch=True) as (app, _):
        found = list_shown(app, app.clock.now())
        row = describe_team(app)
        names = [each.name for each in found if each.status == "working"]
        progress = {name: work.format(TEXTS) for name, work in read_progress(app, names).items()}
    printer = Printer(json=json)
    if json:
        printer.document(row)
    elif not found:
        printer.note("No teammates. `uncaged team spawn NAME --file coder` starts one")
    else:
        printer.table(
            ("name", "role", "status", "since", "task", "progress", "trouble"),
            [
                (
                    each.name,
                    each.role,
                    "stopped" if each.stopped and each.status == "shutdown" else each.status,
                    format_time(each.since),
                    f"#{each.task}" if each.task else "",
                    progress.get(each.name, ""),
                    f"waits for an answer to its plan {each.plan}"
                    if each.plan
                    else one_line(each.trouble, SHOWN_CHARACTERS),
                )
                for each in found
            ],
        )


@cli.command()
def stop(
    name: Annotated[str, typer.Argument(help="Their name, or `all`.", metavar="NAME")],
    *,
    graceful: Annotated[
        bool, typer.Option("--graceful", help="They are asked first, and may say why they go on.")
    ] = False,
    json: Json = False,
) -> None:
    """Shut a teammate down, at their next step; their task goes back to the board.

    They stay so until somebody spawns or wakes them.

    Example: uncaged team stop alice
    """
    from functions.agent.management.team import stop_by_hand

    with open_agent(switch=True) as (app, settings):
        call = f"cli:{uuid.uuid4().hex[:12]}"
        made = stop_by_hand(app, name, by=BY, call=call, graceful=graceful)
        _put(made, settings, json, name=name)


@cli.command()
def wake(
    name: Annotated[str, typer.Argument(help="Their name, or `all`.", metavar="NAME")],
    json: Json = False,
) -> None:
    """Let a teammate work again that was stopped.

    Example: uncaged team wake alice
    """
    from functions.agent.management.team import wake_team

    with open_agent(switch=True) as (app, settings):
        call = f"cli:{uuid.uuid4().hex[:12]}"
        _put(wake_team(app, name, by=BY, call=call), settings, json, name=name)


@cli.command()
def mail(
    name: Name,
    text: Annotated[str, typer.Argument(help="What they read before their next step.")],
    json: Json = False,
) -> None:
    """Write to a teammate, which wakes them.

    Example: uncaged team mail alice "the tests are red"
    """
    from functions.agent.management.team import mail_by_hand
    from functions.agent.sanitize import clean_text

    said = clean_text(text)[:TEXT_CHARACTERS].strip()
    if not said:
        raise UsageError("EUSAGE", "there is nothing to send")
    with open_agent(switch=True) as (app, settings):
        call = f"cli:{uuid.uuid4().hex[:12]}"
        _put(mail_by_hand(app, name, said, by=BY, call=call), settings, json, name=name)


@cli.command()
def save(
    name: Name,
    file: Annotated[
        str, typer.Argument(help="Where to write it; without it it is printed.", metavar="[FILE]")
    ] = "",
) -> None:
    """Write a teammate's role and prompt as a file, from which others can be spawned elsewhere.

    Example: uncaged team save alice coder.md
    """
    from functions.agent.management.team import save_template

    with open_agent(switch=True) as (app, _):
        text = save_template(app, name).format()
    if not file:
        sys.stdout.write(text)
        return
    try:
        Path(file).write_text(text, encoding="utf-8")
    except OSError as problem:
        raise UsageError(
            "EFILE", f"cannot write {file}: {problem.strerror}", suggestion="choose another file"
        ) from None
    Printer().line(f"written to {file}")


def _read_template(file: str) -> Template:
    """Return the teammate of a file, or one of those that come along."""
    from functions.agent.team.template import find_example, parse_template

    example = find_example(file)
    if example and not Path(file).exists():
        return example
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        why = getattr(problem, "strerror", None) or "it is no text"
        raise UsageError("EINVAL", f"{file} cannot be read: {why}") from None
    return parse_template(text)


def _put(arranged: Arranged, settings: Settings, json: bool, *, name: str) -> None:
    from functions.wiring import open_ingress_queue

    queue = open_ingress_queue(settings)
    for event in arranged.events:
        queue.put(event)
    print_result({"name": name, "done": arranged.text}, arranged.text, json)
