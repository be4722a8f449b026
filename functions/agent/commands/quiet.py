"""/quiet shows and sets the hours in which nothing is said in a chat by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from functions.agent.commands.command import Command, CommandCall, CommandResult, Commands
from functions.agent.schedules.quiet_hours import parse_hours

OFF: Final = "off"
OFF_WORDS: Final = (OFF, "aus", "关", "关闭", "取消")


def run_quiet(call: CommandCall) -> CommandResult:
    """Show the quiet hours of the chat, set them, or end them and say what they held back."""
    texts = call.texts
    document = call.document
    zone = call.app.find_zone(document)
    if not call.text:
        shown = texts.quiet_none
        if document.quiet:
            shown = texts.quiet_now.format(hours=document.quiet, zone=zone)
        return call.reply(f"{shown} {texts.quiet_how}")
    if call.text.lower() in OFF_WORDS:
        said = "\n\n".join((texts.quiet_off, *document.held))
        return CommandResult(said, replace(document, quiet="", held=()))
    hours = parse_hours(call.text)
    if not hours:
        return call.reply(texts.quiet_how)
    text = texts.quiet_now.format(hours=hours, zone=zone)
    return CommandResult(text, replace(document, quiet=hours))


COMMANDS: Final[Commands] = {
    "quiet": Command(run_quiet, arguments=f"[22:00-07:00 | {OFF}]", changes_chat=bool),
}
