"""What somebody sees of the board, and what they may change there.

Tasks are as private as what was said in the chat that asked for them. In a private chat people see
the tasks that were made on their behalf, and whoever the policy lets see the board sees all of
them; in a group everybody sees those that were asked for there. An agent that works by itself sees
what the person sees on whose behalf it works.
"""

from __future__ import annotations

from dataclasses import dataclass

from functions.agent.policy.act import Act
from functions.agent.policy.gate import Gate, deny_act
from functions.agent.team.board import Board, unknown_task
from functions.agent.team.task import Task, list_distinct_blockers

TASK, BOARD = "task", "board"
"""The acts of a policy: to put a task on the board, and to see and change those of others."""


@dataclass(frozen=True, slots=True)
class BoardView:
    """The board as the person `by` sees it in a `chat`, which is `private` where nobody else is
    there. `member` is the short name of the agent that looks. Without a `gate` everything may be
    changed.
    """

    board: Board
    gate: Gate | None
    by: str
    chat: str
    private: bool
    sees_all: bool
    member: str = ""

    def may_see(self, task: Task) -> bool:
        """Return whether a task is shown here."""
        if self.sees_all or (self.chat and task.home == self.chat):
            return True
        return self.private and bool(self.by) and task.by == self.by

    def find(self, number: int) -> Task:
        """Return a task; `UsageError` ENOENT for one that is not there, or is not shown here."""
        task = self.board.read(number)
        if not self.may_see(task):
            raise unknown_task(number)
        return task

    def find_to_change(self, number: int) -> Task:
        """Return a task that may be changed here: one's own, or what the policy says. Errors are
        those of `find`, and `Refused` EPERM.
        """
        task = self.find(number)
        is_own = bool(self.by) and task.by == self.by
        is_at_work = bool(self.member) and task.owner == self.member
        if self.gate and not is_own and not is_at_work:
            decision = self.gate.decide(BOARD)
            if decision.effect != "allow":
                raise deny_act(decision, Act(BOARD))
        return task

    def list_open(self) -> list[Task]:
        """Return the open tasks that are shown here."""
        return [task for task in self.board.list_open() if self.may_see(task)]

    def list_ended(self, most: int) -> list[Task]:
        """Return the newest tasks that have ended and are shown here."""
        found = self.board.list_ended(most if self.sees_all else 10 * most)
        return [task for task in found if self.may_see(task)][:most]

    def require_visible(self, numbers: tuple[int, ...]) -> None:
        """Raise `UsageError` ENOENT for a number whose task is not shown here."""
        for number in list_distinct_blockers(numbers):
            self.find(number)


def open_view(
    board: Board,
    gate: Gate,
    *,
    by: str,
    chat: str,
    private: bool,
    is_owners_work: bool = False,
    member: str = "",
) -> BoardView:
    """Return what is seen of the board. `is_owners_work` says that an agent works by itself for an
    owner, in no chat or in one of theirs.
    """
    may_see = private and gate.decide(BOARD).effect == "allow"
    return BoardView(board, gate, by, chat, private, may_see or is_owners_work, member)
