"""Replies leave as comments (https://docs.github.com/en/rest/issues/comments).

GitHub cannot recognise a repeated comment. So each ends with a mark that nobody sees, and before a
reply is sent, we look whether its part is there already.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from functions.channels.base import Reply
from functions.channels.github.about import ABOUT
from functions.channels.github.api import GitHubApi, GitHubRejected
from functions.channels.github.events import MARKER
from functions.channels.github.places import Answered, Issue
from functions.channels.render.github import render_comments
from functions.channels.replies.reply_parts import (
    divide_reply,
    list_unsent,
    write_buttons,
    write_file_notes,
)
from functions.texts.languages import find_texts
from sigil.errors import UsageError
from sigil.json_fields import as_integer, as_mapping, as_sequence, as_string

COMMENTS_MOST: Final = 3
"""Comments of one reply; of more, the last is a note."""
PAGE: Final = 100
PAGES_MOST: Final = 10
LOOK_BACK: Final = timedelta(days=1)
"""A reply that could not be sent is tried again for hours at most."""


def make_comments(reply: Reply) -> list[str]:
    """Return the comments of a reply. GitHub's API takes no files: a note says what is missing. It
    has no buttons either, so that their commands stand below the text.
    """
    text = write_buttons(reply.text, reply.buttons, ABOUT.command_sign)
    divided = divide_reply(text, COMMENTS_MOST, render_comments, len)
    notes = write_file_notes(divided, reply)
    comments = list(divided.messages)
    if notes:
        comments += render_comments("\n\n".join(notes), 1)
    return comments


@dataclass(frozen=True, slots=True)
class CommentSender:
    """Sends replies as the account with the id `own`."""

    api: GitHubApi
    own: int

    def send(self, reply: Reply, sent: Callable[[int], None]) -> None:
        """Send a reply, from its part `start` on; `UsageError` for a session that is not GitHub's,
        all else as `GitHubApi.call`.
        """
        issue = Issue.parse(reply.session)
        if issue is None:
            raise UsageError("EINVAL", "not a session of GitHub", source="github")
        answered = Answered.parse(reply.to) or Answered("issue")
        comments = make_comments(reply)
        for number, comment in list_unsent(comments, reply.start, sent):
            mark = f"{MARKER}{reply.key}-{number} -->" if reply.key else f"{MARKER}-->"
            # what follows the first cannot be there
            is_known = reply.key and number == reply.start
            if not is_known or not self._is_there(mark, issue, answered):
                answered = self._post(issue, answered, f"{comment}\n\n{mark}", mark, reply.text)

    def _post(self, issue: Issue, answered: Answered, body: str, mark: str, text: str) -> Answered:
        """Post a comment, and return what it answers there: the pull request itself where the
        thread of a review is gone.
        """
        try:
            self.api.call("POST", answered.name_answers(issue), {"body": body})
        except GitHubRejected as problem:
            if answered.thread and problem.status == 404:
                return self._post(issue, Answered("issue"), body, mark, text)
            note = f"{find_texts(text).part_not_taken}\n\n{mark}"
            if problem.status != 422 or body == note:
                raise
            return self._post(issue, answered, note, mark, text)
        return answered

    def _is_there(self, mark: str, issue: Issue, answered: Answered) -> bool:
        """Return whether a comment of ours with this mark is among those of the last day."""
        paths = dict.fromkeys((answered.name_comments(issue), issue.path))
        return any(self._is_among(mark, path) for path in paths)

    def _is_among(self, mark: str, path: str) -> bool:
        since = (datetime.now(UTC) - LOOK_BACK).strftime("%Y-%m-%dT%H:%M:%SZ")
        for page in range(1, PAGES_MOST + 1):
            query = {"since": since, "per_page": str(PAGE), "page": str(page)}
            rows = [as_mapping(row) for row in as_sequence(self.api.call("GET", path, query=query))]
            for row in rows:
                author = as_integer(as_mapping(row.get("user")).get("id"), 1)
                if author == self.own and mark in as_string(row.get("body")):
                    return True
            if len(rows) < PAGE:
                break
        return False
