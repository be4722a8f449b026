"""Where people talk on GitHub: an issue or a pull request is a chat, and an answer goes below it or
into the thread of a review.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, Self

REPOSITORY: Final = re.compile(
    r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,38})/(?!\.{1,2}(?:\Z|\s))[A-Za-z0-9._-]{1,100}", re.ASCII
)
_SESSION: Final = re.compile(
    r"[a-z][a-z0-9-]*:([A-Za-z0-9][A-Za-z0-9_-]{0,38})\.([A-Za-z0-9._-]{1,100})\.([1-9][0-9]{0,9})",
    re.ASCII,
)
_ANSWERED: Final = re.compile(r"(issue|comment|review):([0-9]{1,19})(?::([1-9][0-9]{0,18}))?")

Kind = Literal["issue", "comment", "review"]


@dataclass(frozen=True, slots=True)
class Issue:
    """An issue or a pull request, by its repository (`octocat/hello`) and its number there."""

    repository: str
    number: int

    @classmethod
    def parse(cls, session: str) -> Self | None:
        """Return the issue of a session; None for one that is not GitHub's."""
        match = _SESSION.fullmatch(session)
        if match is None:
            return None
        repository = f"{match[1]}/{match[2]}"
        return cls(repository, int(match[3])) if REPOSITORY.fullmatch(repository) else None

    def name_session(self, channel: str) -> str:
        """Return the session of a channel for this issue."""
        return f"{channel}:{self.repository.replace('/', '.', 1)}.{self.number}"

    @property
    def path(self) -> str:
        """Return the path of the issue's own comments."""
        return f"/repos/{self.repository}/issues/{self.number}/comments"


@dataclass(frozen=True, slots=True)
class Answered:
    """What an answer is for: the `issue` itself, a `comment` below it, or one in a `review`, whose
    `thread` begins with the comment with that id. `id`: 0 for an issue.
    """

    kind: Kind
    id: int = 0
    thread: int = 0

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Return what `write` wrote; None for any other text."""
        match = _ANSWERED.fullmatch(text)
        if match is None:
            return None
        kind: Kind = "issue"
        if match[1] == "comment":
            kind = "comment"
        elif match[1] == "review":
            kind = "review"
        return cls(kind, int(match[2]), int(match[3] or 0))

    def write(self) -> str:
        """Return it as the text that an event carries."""
        thread = f":{self.thread}" if self.thread else ""
        return f"{self.kind}:{self.id}{thread}"

    def name_comments(self, issue: Issue) -> str:
        """Return the path of the comments among which the answer stands."""
        if self.thread:
            return f"/repos/{issue.repository}/pulls/{issue.number}/comments"
        return issue.path

    def name_answers(self, issue: Issue) -> str:
        """Return the path to which the answer is posted."""
        path = self.name_comments(issue)
        return f"{path}/{self.thread}/replies" if self.thread else path

    def name_reactions(self, issue: Issue) -> str:
        """Return the path of the reactions to it."""
        match self.kind:
            case "comment":
                return f"/repos/{issue.repository}/issues/comments/{self.id}/reactions"
            case "review":
                return f"/repos/{issue.repository}/pulls/comments/{self.id}/reactions"
        return f"/repos/{issue.repository}/issues/{issue.number}/reactions"
