"""What every page of the agent gets, and how it answers.

```python
def show_runs(page: PageRequest) -> Response:
    return render(page, "runs.html", title="Runs", rows=list_rows(page.deps.app))

ROUTES = (PageRoute("/runs", "GET", show_runs, PEOPLE),)
PAGES = (Page("Runs", "/runs", PEOPLE, {"de": "Läufe", "zh": "运行"}),)
```
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from functions.agent.agent_directory import AgentDirectory
from functions.agent.app import App
from functions.agent.workspace.received import BYTES_MOST
from functions.alerts import Notifier
from functions.channels.replies.http_replies import HttpReplies
from functions.events import Event
from functions.page.chat_cache import ChatCache
from functions.page.live import LiveChats
from functions.page.readings import Readings
from functions.queues.base import Queue
from functions.settings import Settings
from functions.turns_in_progress import TurnsInProgress
from sigil.access.authentication import Authenticator, RateLimiter
from sigil.http.page import frame
from sigil.http.page.forms import SentFile
from sigil.http.page.frame import (
    Page,
    accepts_json,
    answer_json,
    answer_problem,
    plain,
    redirect,
    render,
)
from sigil.storage.artifacts.base import Artifacts
from sigil.storage.kv import KV

if TYPE_CHECKING:
    from sigil.cli.doctor import Finding

__all__ = [
    "Page",
    "PageDeps",
    "PageRequest",
    "PageRoute",
    "SentFile",
    "accepts_json",
    "answer_json",
    "answer_problem",
    "plain",
    "redirect",
    "render",
    "take_page_parameters",
]


TRIES_A_MINUTE: Final = 10
"""So many codes may be tried from one address."""
EXPORTS_A_MINUTE: Final = 6
"""So often may somebody export what is kept of a person, for which the whole store is read."""


@dataclass(frozen=True, slots=True)
class PageDeps:
    """The root agent and what belongs to it, as for the owner's door over HTTP.

    `put` puts an event into the queue. `replies` has the answers to events of this process and of
    others. `live` shows the turns of this process, and is None where no turn runs in it; `is_live`
    says that a page may keep a stream open. `secure`: the pages are called over TLS alone. `chats`
    is what the process knows of the chats that its pages have shown. `check` runs the checks of the
    doctor, and is None where there is no command line. `files_bytes` are those that the files of a
    message may have together.
    """

    app: App
    settings: Settings
    kv: KV
    artifacts: Artifacts
    notifier: Notifier
    gate: Authenticator
    agents: AgentDirectory
    queue: Queue
    turns: TurnsInProgress
    replies: HttpReplies
    put: Callable[[Event], None]
    readings: Readings = field(default_factory=Readings)
    sign_in_tries: RateLimiter = field(default_factory=lambda: RateLimiter(TRIES_A_MINUTE))
    exports: RateLimiter = field(default_factory=lambda: RateLimiter(EXPORTS_A_MINUTE))
    live: LiveChats | None = None
    is_live: bool = False
    secure: bool = False
    files_bytes: int = BYTES_MOST
    chats: ChatCache = field(default_factory=ChatCache)
    check: Callable[[], list[Finding]] | None = None


PageRequest: TypeAlias = frame.PageRequest[PageDeps]
PageRoute: TypeAlias = frame.PageRoute[PageDeps]


def take_page_parameters(page: PageRequest) -> Mapping[str, str]:
    """Return the parameters of a request without those that say how its answer looks."""
    return {name: text for name, text in page.query.items() if name != "as"}
