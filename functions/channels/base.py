"""The contract of a chat platform: its webhooks become events, markdown becomes its messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol, TypedDict, runtime_checkable

from functions.events import Button, Event
from functions.overheard import OverheardMessage
from sigil.errors import BackendError, Refused, one_line

if TYPE_CHECKING:
    from functions.channels.drafts import DraftForm, DraftHealth
    from sigil.storage.kv import KV


@dataclass(frozen=True, slots=True)
class PlatformRequest:
    """A request to a webhook: header names in lower case, the query string's fields, the raw body.

    `path` is what stands behind the channel's name, without a slash before it; for most requests it
    is empty.
    """

    headers: Mapping[str, str]
    body: bytes = b""
    query: Mapping[str, str] = field(default_factory=dict)
    method: str = "POST"
    path: str = ""


@dataclass(frozen=True, slots=True)
class PlatformAnswer:
    """What the platform is answered: a challenge of its handshake, or that we have its events."""

    status: int = 200
    body: bytes = b""
    media: str = "application/json"


TAKEN: Final = PlatformAnswer(body=b'{"ok":true}')
"""The answer to a request that asks for no other."""


REPLY_ADDRESS_MOST: Final = 2_048
"""Bytes of an event's `reply_to`: a longer one is dropped, and its answer goes to the chat."""


@dataclass(frozen=True, slots=True)
class Undelivered:
    """A message to a session that the platform took and could not deliver, and why, in its words.

    `is_closed`: the chat takes nothing from us until the person in it writes again.
    """

    session: str
    reason: str
    is_closed: bool = False


@dataclass(frozen=True, slots=True)
class Received:
    """What a request of the platform brought. It is answered once every event is durable.

    `overheard` is what people of groups said to nobody in particular, `overheard_changes` what
    became of it since (without a text: it was deleted), and `undelivered` the messages of ours that
    do not arrive. `ignored` are the kinds, by the platform's own names, of what came and was left
    aside: whoever runs us finds them in the log.
    """

    events: tuple[Event, ...] = ()
    answer: PlatformAnswer = TAKEN
    overheard: tuple[OverheardMessage, ...] = ()
    undelivered: tuple[Undelivered, ...] = ()
    ignored: tuple[str, ...] = ()
    overheard_changes: tuple[OverheardMessage, ...] = ()


class Attachment(TypedDict):
    """A file of a message, as an event carries it, to be fetched later.

    `file_id` is what the platform's `fetch` needs, empty when nothing can be fetched; `size` is in
    bytes, 0 when unknown; other unknown fields are empty.
    """

    kind: str
    file_id: str
    name: str
    size: int
    mime: str


def make_unreadable(kind: str = "") -> Attachment:
    """Return what stands among the attachments of a message of a kind that nothing is read of: its
    sender is told so. `kind` is the platform's own name of it, empty where it has none.
    """
    shown = one_line(kind, 40) or "unsupported"
    return {"kind": shown, "file_id": "", "name": "", "size": 0, "mime": ""}


@dataclass(frozen=True, slots=True)
class AttachedFile:
    """A file that goes out below a reply. `read` returns its bytes; `UsageError` ENOENT when it is
    gone, `BackendError` when it cannot be read now. `link` is its public address, for a platform
    that takes files by these alone; empty where it has none. `size` is in bytes, 0 when unknown.
    """

    name: str
    type: str
    read: Callable[[], bytes]
    link: str = ""
    size: int = 0


def draw_nothing(svg: str) -> bytes | None:
    """Return None: nothing here draws."""
    return None


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply to a chat. Its parts are `text` (markdown), in one or more messages, and then the
    `files`, a part each. `buttons` stand below the text where the platform has them.

    `to` is the `reply_to` of the event that it answers. It may hold a token, so nobody is shown it.
    `key` is the same whenever this reply is sent again, and no other reply's, so that a platform
    can drop what it has had. The parts before `start` have left already: equal texts give equal
    parts. `is_repeated`: somebody has tried to send it before, and may not have lived to note that
    it left. With a `file_name` the text is one file of that name where the platform takes files.
    `goes_on`: it is the next piece of an `answer` whose first one is there, and points at nothing.
    `draw` makes a PNG of an SVG document, None where it cannot.
    """

    session: str
    text: str
    to: str = field(default="", repr=False)
    files: tuple[AttachedFile, ...] = ()
    buttons: tuple[Button, ...] = ()
    key: str = ""
    start: int = 0
    is_repeated: bool = False
    file_name: str = ""
    goes_on: bool = False
    answer: str = ""
    draw: Callable[[str], bytes | None] = draw_nothing

    @property
    def words(self) -> str:
        """Return the whole answer: its language is that of the notes that stand in for files."""
        return self.answer or self.text


class Busy(BackendError):
    """The platform asks us to slow down: try again after `retry_after` seconds (0: unknown)."""

    def __init__(self, message: str, *, source: str = "", retry_after: float | None = None) -> None:
        super().__init__("ERATE", message, source=source)
        self.retry_after = retry_after or 0.0


class MessagesUsedUp(Refused):
    """The platform takes no more messages from us until its next period begins: this one never
    leaves.
    """

    def __init__(self, message: str, *, source: str) -> None:
        super().__init__("EBLOCKED", message, source=source)


class ChatClosed(Refused):
    """The chat takes nothing from us until the person in it writes again: this never leaves."""

    def __init__(self, message: str, *, source: str) -> None:
        super().__init__("EBLOCKED", message, source=source)


class ChatEncrypted(Refused):
    """What is said in the chat is encrypted, and we can only write in the clear: this never
    leaves.
    """

    def __init__(self, message: str, *, source: str) -> None:
        super().__init__("EBLOCKED", message, source=source)


class Rejected(Refused):
    """The platform will never take this request as it is, and says why: in words, and mostly with
    a code of its own.
    """

    def __init__(
        self, platform: str, words: str, code: str | int | None = None, *, source: str
    ) -> None:
        refused = f"{platform} refused" if code is None else f"{platform} refused ({code})"
        super().__init__("EBLOCKED", one_line(f"{refused}: {words}"), source=source)


class NotAllowed(BackendError):
    """The bot may not do this until its owner allows it, as by a permission."""


@runtime_checkable
class FetchesFiles(Protocol):
    """A platform from which the files of a message can be fetched."""

    def fetch(self, attachment: Mapping[str, object], most: int) -> bytes:
        """Return the bytes of a file that an event names; `UsageError` ETOOBIG for more than
        `most`, `SigilError` when it cannot be fetched.
        """


@runtime_checkable
class SplitsAlbums(Protocol):
    """A platform that sends the photos of one message one by one, and does not tell that they
    belong together: the words of all stand with the first one.
    """

    splits_albums: bool


@runtime_checkable
class EditsMessages(Protocol):
    """A platform where a message of ours can be changed after it was sent."""

    def send_editable(self, session: str, text: str, key: str) -> str:
        """Send a short text (markdown) as one message, and return the name by which `edit` finds
        it, empty where the platform tells none. `key` is as in `Reply`; errors as `send`.
        """

    def edit(self, session: str, message: str, text: str) -> None:
        """Change a message that `send_editable` has sent to a chat. Errors as `send`; `Refused`
        also when the message is gone.
        """


@runtime_checkable
class LinksFiles(Protocol):
    """A platform that takes files by their public addresses alone: these stand in a reply's text
    where it names them.
    """

    @property
    def picture_types(self) -> frozenset[str]:
        """Return the types of the pictures that it shows."""


class Draft(Protocol):
    """What a chat shows of the answer to an event while the model writes it. It may be lost at any
    time: the answer leaves as any other. Its methods are called by one thread at a time.
    """

    @property
    def form(self) -> DraftForm:
        """Return how the platform shows drafts."""

    @property
    def health(self) -> DraftHealth:
        """Return what is known of the bot's drafts; all of them share it."""

    def show(self, text: str) -> None:
        """Show a text (markdown), the whole of it so far, in place of what was shown.

        `Busy`: not now; `NoDrafts`: the platform has none; any other `SigilError`: it failed.
        """

    def take_away(self) -> None:
        """Let nothing be left of what was shown, or may have been: no answer takes its place.
        Errors as `show`.
        """


@runtime_checkable
class Drafts(Protocol):
    """A platform that has a form for an answer which is still being written."""

    def open_draft(self, event: Event) -> Draft | None:
        """Return the draft of the answer to an event, None where there is none, as in a group.

        It shows nothing yet, waits for nothing and never raises.
        """


@runtime_checkable
class UsesStore(Protocol):
    """A platform of which a channel learns what its next process should know as well."""

    def use_store(self, kv: KV) -> None:
        """Keep that in a store from now on."""


@runtime_checkable
class TakesInvitations(Protocol):
    """A platform where we are in no group before we accept an invitation, which an event that has
    `joined` says.
    """

    def count_rooms(self) -> int:
        """Return how many rooms we are in; `BackendError` when the platform does not tell."""

    def decline(self, event: Event, reason: str) -> None:
        """Decline an invitation; `reason` is for whoever sent it. Best effort, never raises."""


@runtime_checkable
class FindsDeletedMessages(Protocol):
    """A platform that does not tell in which chat a message was that somebody deleted."""

    def find_sessions(self, event: Event) -> Sequence[str]:
        """Return the sessions in which the messages may wait that an event says were deleted;
        `BackendError` when the platform does not answer.
        """


@runtime_checkable
class AnswersRefused(Protocol):
    """A platform that has a form of its own for what is not verified."""

    def answer_refused(self, problem: Refused) -> PlatformAnswer:
        """Return the answer to a request that `receive` or `verify_head` refused."""


class Channel(Protocol):
    """A bot on a chat platform.

    The webhook uses `verify_head` and `receive`, which never wait for the network; the worker uses
    the rest.
    """

    @property
    def body_most(self) -> int:
        """Return how many bytes the body of a request may have."""

    def verify_head(self, request: PlatformRequest) -> bool:
        """Return whether the headers alone prove that the platform sent the request.

        Refuse with EAUTH what they show not to be the platform's. The body is not read yet, and
        empty here.
        """

    def receive(self, request: PlatformRequest) -> Received:
        """Verify and read a request, the body's raw bytes first: `Refused` EAUTH unless the
        platform itself sent it.

        `UsageError` for what the platform sent and we do not understand: it is answered as taken,
        or else the platform would send it again and again.
        """

    def accept(self, event: Event) -> Event | None:
        """Return the event as the turn should see it, with the names of those who speak; None for
        one that is for somebody else.

        It may ask the platform (`BackendError`), is called again when the event is handled again,
        and never makes somebody else the sender.
        """

    def send(self, reply: Reply, sent: Callable[[int], None]) -> None:
        """Send a reply, from its part `start` on.

        `sent(n)` is called when n parts have left and more follow. `BackendError` with EUNAVAILABLE
        and `Busy` (ERATE): try again later; `Refused` with EBLOCKED: this chat never gets it.
        """

    def show_waiting(self, event: Event) -> float:
        """Show that an answer to the event is on its way; return after how many seconds to show it
        again, 0 for never. Best effort, never raises.
        """

    def end_waiting(self, event: Event) -> None:
        """Take away what shows that an answer is on its way: the event ended without one. Best
        effort, never raises. An event that was answered before may come here again.
        """

    def acknowledge(self, event: Event) -> None:
        """Show that a press of a button came (`PRESS` in its `data`); best effort, never raises."""
