"""Whatever becomes of the drafts of an answer, the answer comes once, whole and in time.

The platforms are the fakes of six, in this process. Time is the test's own. What a request about
a draft meets is drawn by lot: it is slow, refused, put off, lost on its way there or back, or comes
when the answer is there already; and processes are killed between a draft and its answer.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import httpx

from functions import worker
from functions.agent.model.base import ModelReply, ModelRequest
from functions.channels.base import Channel
from functions.channels.dingtalk.channel import DingTalk
from functions.channels.discord.channel import Discord
from functions.channels.discord.reply_address import InteractionAddress
from functions.channels.feishu.channel import Feishu
from functions.channels.matrix.channel import Matrix
from functions.channels.slack.channel import Slack
from functions.channels.telegram.channel import Telegram
from functions.events import Event, Sender
from functions.sent_parts import SentParts
from functions.texts.languages import find_texts
from functions.wiring import AgentRuntime
from sigil.errors import BackendError
from tests.fakes import dingtalk as dingtalk_fake
from tests.fakes import feishu as feishu_fake
from tests.fakes import slack as slack_fake
from tests.fakes.bot_api import BotApi
from tests.fakes.dingtalk import DingTalkServer
from tests.fakes.discord import DiscordServer
from tests.fakes.feishu import FeishuServer
from tests.fakes.matrix import BOT, SECRET, SERVER, TOKEN, FakeRoom, Homeserver, make_event, text
from tests.fakes.server import Answer, Recorded, RecordingServer, json_answer
from tests.fakes.slack import OPEN, SlackWorkspace
from tests.fakes.speaking_model import SpeakingModel, Speech, Word, speak
from tests.fakes.virtual_time import VirtualTime
from tests.selection import sample

ANSWERS = 1_000
PLATFORMS = ("telegram", "discord", "matrix", "slack", "feishu", "dingtalk")
GROWING = ("slack", "feishu", "dingtalk")
"""Where the answer completes its draft."""
FATES = {
    "taken": 60,
    "slow": 8,
    "put off": 6,
    "put off for long": 2,
    "broken": 6,
    "refused": 4,
    "lost": 5,
    "answer lost": 5,
    "late": 4,
}
"""What becomes of requests about drafts, and how often."""
KILLS = (
    *("",) * 7,
    "while it is written",
    "in a draft",
    "before it leaves",
    "before it is noted",
    "before it is noted",
)
UNRECOGNISED = ("/sendMessage", "/chat.postMessage", "/batchSend", "/groupMessages/send")
"""Messages that are sent again after a crash come twice there: no platform knows them again."""
DELAY_MOST = 0.5
PROCESS_ANSWERS = 5
"""A process that had three failures in a row shows no more drafts: another one takes its place."""


class Killed(BaseException):
    """A process ends here."""


@dataclass
class World:
    """The time, the chance and the network between an agent and its platforms.

    `written_at` is when the model was ready, `answered_at` when the first request of the answer
    left, `late` what is still on its way, and `drafts` counts the requests about drafts. `kill` says
    when the process ends, at the request whose number `kill_at` counts down to; then it `is_dead`.
    """

    time: VirtualTime
    chance: Random = field(default_factory=Random)
    kill: str = ""
    kill_at: int = 1
    is_dead: bool = False
    fates: dict[str, int] = field(default_factory=lambda: FATES)
    busy: bool = False
    written_at: float | None = None
    answered_at: float | None = None
    late: list[tuple[RecordingServer, Recorded]] = field(default_factory=list)
    came_late: int = 0
    deaths: int = 0
    drafts: Counter[str] = field(default_factory=Counter)

    def comes_to(self, kill: str) -> bool:
        """Return whether the process ends here."""
        if self.kill != kill:
            return False
        self.kill_at -= 1
        self.is_dead = self.kill_at <= 0
        self.deaths += self.is_dead
        return self.is_dead

    def deliver_late(self) -> None:
        """Let arrive what is still on its way."""
        while self.late:
            server, request = self.late.pop(0)
            self.came_late += 1
            server.answer(request)


def read(answer: Answer) -> httpx.Response:
    assert isinstance(answer.body, bytes)
    return httpx.Response(answer.status, stream=httpx.ByteStream(answer.body))


class Network(httpx.BaseTransport):
    """The way of one process to one platform; `is_alive` ends with the process."""

    def __init__(self, world: World, server: RecordingServer, put_off: Callable[[float], Answer]):
        self._world = world
        self._server = server
        self._put_off = put_off
        self.is_alive = True

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        path = request.url.raw_path.decode()
        recorded = Recorded(request.method, path, headers, request.read())
        name = threading.current_thread().name
        if not self.is_alive or self._world.is_dead:
            if name in ("draft", "waiting"):
                raise httpx.ConnectError("the process was killed")
            raise Killed
        match name:
            case "draft":
                return self._send_draft(recorded)
            case "waiting":
                return read(self._server.answer(recorded))
        return self._send_answer(recorded)

    def _send_answer(self, request: Recorded) -> httpx.Response:
        world = self._world
        if world.written_at is None:
            return read(self._server.answer(request))
        if world.answered_at is None:
            world.answered_at = world.time.now
        is_sending = request.method != "GET"
        if is_sending and world.comes_to("before it leaves"):
            raise Killed
        if is_sending and world.busy:
            world.busy = False
            return read(self._put_off(1.0))
        answer = read(self._server.answer(request))
        if request.path.partition("?")[0].endswith(UNRECOGNISED):
            world.kill = ""
        if is_sending and world.comes_to("before it is noted"):
            raise Killed
        return answer

    def _send_draft(self, request: Recorded) -> httpx.Response:
        world = self._world
        fate = world.chance.choices(list(world.fates), list(world.fates.values()))[0]
        world.drafts[fate] += 1
        if world.comes_to("in a draft"):
            if fate != "lost":
                self._server.answer(request)
            raise httpx.ReadError("the process was killed")
        world.time.pause(world.chance.uniform(0.02, 0.3))
        match fate:
            case "slow":
                world.time.pause(world.chance.uniform(0.3, 2.4))
            case "put off":
                return read(self._put_off(world.chance.uniform(0.5, 4.0)))
            case "put off for long":
                return read(self._put_off(60.0))
            case "broken":
                return httpx.Response(500, stream=httpx.ByteStream(b""))
            case "refused":
                return read(json_answer({"ok": False, "errcode": "M_FORBIDDEN", "code": 1}, 403))
            case "lost" | "late" | "answer lost":
                if fate == "answer lost":
                    self._server.answer(request)
                if fate == "late":
                    world.late.append((self._server, request))
                world.time.pause(2.5)
                raise httpx.ReadTimeout("no answer")
        return read(self._server.answer(request))


class Author(SpeakingModel):
    """A model that says the same to the same question, each time that it is asked."""

    world: World
    answers: dict[str, Speech]

    def chat(self, request: ModelRequest) -> ModelReply:
        self.world.written_at = None
        asked = str(request.messages[-1]["content"]).split()[-1]
        self.script[:] = [self.answers[asked]]
        reply = super().chat(request)
        self.world.written_at = self.time_now()
        self.world.answered_at = None
        return reply

    def time_now(self) -> float:
        return self.clock.monotonic()


@dataclass
class Places:
    """The platforms as people see them."""

    world: World
    telegram: BotApi
    discord: DiscordServer
    matrix: Homeserver
    slack: SlackWorkspace
    feishu: FeishuServer
    dingtalk: DingTalkServer
    networks: list[Network] = field(default_factory=list)
    withdrawn: int = 0

    def open_channels(self, runtime: AgentRuntime) -> dict[str, Channel]:
        """What a process speaks to them with."""
        self.networks = [
            Network(self.world, self.telegram, put_off_telegram),
            Network(self.world, self.discord, put_off_discord),
            Network(self.world, self.matrix, put_off_matrix),
            Network(self.world, self.slack, put_off_slack),
            Network(self.world, self.feishu, put_off_feishu),
            Network(self.world, self.dingtalk, put_off_dingtalk),
        ]
        telegram, discord, matrix, slack, feishu, dingtalk = self.networks
        url = "http://127.0.0.1:9"
        account = Matrix(url, BOT, TOKEN, SECRET, drafts="on", transport=lambda: matrix)
        account.use_store(runtime.stores.kv)
        server = self.discord
        clock = self.world.time.clock
        workspace = Slack(self.slack.token, "secret", url, transport=lambda: slack, now=clock.now)
        app = Feishu(
            feishu_fake.APP,
            feishu_fake.APP_SECRET,
            feishu_fake.SECRETS,
            url,
            transport=lambda: feishu,
            now=clock.now,
        )
        robot = DingTalk(
            dingtalk_fake.APP,
            dingtalk_fake.SECRET,
            card_template=dingtalk_fake.TEMPLATE,
            api=url,
            old_api=url,
            transport=lambda: dingtalk,
            now=clock.now,
        )
        for channel in (workspace, app, robot):
            channel.use_store(runtime.stores.kv)
        return {
            "slack": workspace,
            "feishu": app,
            "dingtalk": robot,
            "telegram": Telegram(self.telegram.token, "secret", url, transport=lambda: telegram),
            "discord": Discord(
                server.token,
                server.public_key,
                url,
                files=url,
                pauses=(),
                transport=lambda: discord,
            ),
            "matrix": account,
        }

    def ask(self, platform: str, number: int, again: int = 0) -> Event:
        """A person's question with a number, mostly in a chat of its own; and questions `again`
        there.
        """
        sender, session, reply_to = f"{platform}:{number}", f"{platform}:{number}", str(number)
        if platform == "discord":
            sent = self.discord.command("ask", "hi", channel=number)
            self.discord.take_answer(sent, 200, b'{"type":5}')
            address = InteractionAddress.read(sent)
            assert address
            reply_to = address.write()
        elif platform == "matrix":
            person, room = f"@u{number}:{SERVER}", f"!r{number}:{SERVER}"
            self.matrix.rooms[room] = FakeRoom({BOT: "sigil", person: "Ada"})
            said = self.matrix.say(make_event(text("hi"), person, room))
            sender, session, reply_to = f"matrix:{person}", f"matrix:{room}", said["event_id"]
        elif platform == "slack":
            thread = f"17800{number:05d}.000100"
            channel = slack_fake.DIRECT if number % 2 else slack_fake.CHAT
            sender = f"slack:{slack_fake.TEAM}.{slack_fake.ADA}"
            session = f"{sender if number % 2 else f'slack:{channel}'}:{thread}"
            reply_to = f"{channel}/17800{number:05d}.{again:06d}"
        elif platform == "feishu":
            sender, reply_to = f"feishu:{feishu_fake.ALICE}", f"om_{number}_{again}"
            session = f"feishu:oc_{number}" if number % 2 else f"feishu:ou_{number}"
        elif platform == "dingtalk":
            self.dingtalk.staff.add(f"u{number}")
            sender, reply_to = f"dingtalk:u{number}", f"msg{number}{again}== {dingtalk_fake.GROUP}"
            group = dingtalk_fake.GROUP.rstrip("=").replace("/", "_").replace("+", "-")
            session = f"dingtalk:group:{group}" if number % 4 > 1 else sender
        return Event(
            f"{platform}:e{number}.{again}",
            "message",
            "main",
            session,
            Sender(sender),
            f"tell me #{number}",
            1_800_000_000.0,
            str(number),
            reply_to=reply_to,
            private=True,
        )

    def take_texts(self) -> list[str]:
        """Everything that people see but the drafts that are left; they look away then."""
        texts = [message["text"] for message in self.telegram.messages]
        texts += [message["content"]["body"] for message in self.matrix.messages]
        for asked in self.discord.interactions.values():
            shown = [asked.original] if asked.original else []
            texts += [each["content"] for each in (*shown, *asked.followups)]
        texts += [message["content"] for message in self.discord.posted]
        texts += [each["seen"] for each in self.slack.messages if each.get("state") != OPEN]
        texts += [text_of(each) for each in self.feishu.messages if not is_left(each)]
        withdrawn = find_texts("").draft_withdrawn
        cards = [each for each in self.dingtalk.messages if each.get("is_last", True)]
        texts += [each["content"]["text"] for each in cards]
        self.withdrawn += texts.count(withdrawn)
        texts = [text for text in texts if text != withdrawn]
        for seen in (
            self.telegram.messages,
            self.matrix.messages,
            self.discord.posted,
        ):
            seen.clear()
        self.discord.interactions.clear()
        if not self.count_stubs():
            self.slack.messages.clear()
            self.feishu.messages.clear()
            self.dingtalk.messages.clear()
        return texts

    def count_stubs(self) -> int:
        """Drafts that nobody completed or removed."""
        stubs = [each for each in self.slack.messages if each.get("state") == OPEN]
        stubs += [each for each in self.feishu.messages if is_left(each)]
        stubs += [each for each in self.dingtalk.messages if not each.get("is_last", True)]
        return len(stubs)


def put_off_telegram(seconds: float) -> Answer:
    told = {"retry_after": max(round(seconds), 1)}
    return json_answer({"ok": False, "description": "Too Many Requests", "parameters": told}, 429)


def put_off_discord(seconds: float) -> Answer:
    return json_answer({"message": "You are being rate limited.", "retry_after": seconds}, 429)


def put_off_matrix(seconds: float) -> Answer:
    body = {"errcode": "M_LIMIT_EXCEEDED", "retry_after_ms": round(seconds * 1000)}
    return json_answer(body, 429)


def put_off_slack(seconds: float) -> Answer:
    answer = json_answer({"ok": False, "error": "ratelimited"}, 429)
    return replace(answer, headers={**answer.headers, "retry-after": str(max(round(seconds), 1))})


def put_off_feishu(seconds: float) -> Answer:
    answer = json_answer({"code": 99991400, "msg": "request trigger frequency limit"}, 429)
    reset = {"x-ogw-ratelimit-reset": str(max(round(seconds), 1))}
    return replace(answer, headers={**answer.headers, **reset})


def put_off_dingtalk(seconds: float) -> Answer:
    return json_answer({"code": "Forbidden.AccessDenied.QpsLimitForApi", "message": "no"}, 403)


def is_left(message: Mapping[str, Any]) -> bool:
    """Return whether a message of Feishu is a card that still says that it is being written."""
    return bool(
        not message.get("recalled")
        and message["msg_type"] == "interactive"
        and message["content"]["config"].get("streaming_mode")
    )


def text_of(message: Mapping[str, Any]) -> str:
    """Return what people see of a message of Feishu."""
    return "" if message.get("recalled") else feishu_fake.read_text(message)


@dataclass
class Agent:
    """An agent in one process after another, whose events are handed out until they are done."""

    world: World
    places: Places
    model: Author
    runtime: AgentRuntime

    def restart(self) -> None:
        """Another process takes the place of this one, which does nothing any more."""
        for network in self.places.networks:
            network.is_alive = False
        self.world.is_dead = False
        self.runtime = replace(
            self.runtime,
            channels=self.places.open_channels(self.runtime),
            sent_parts=SentParts(),
        )

    def answer(self, event: Event) -> list[float]:
        """Answer a question, and return the seconds from the model's last word to the first
        request of the answer, of each time that it began to leave.
        """
        delays = []
        for _ in range(20):
            is_done = False
            try:
                worker.handle_event(event, self.runtime)
                is_done = not self.world.is_dead
                if not is_done:
                    raise Killed
            except Killed:
                self.restart()
                self.world.kill = ""
                # nobody else has the chat before its lease ends, and no request takes so long
                self.world.time.pause(self.runtime.settings.lease)
                self.world.deliver_late()
            except BackendError:
                self.world.time.pause(5.0)
            if self.world.written_at is not None and self.world.answered_at is not None:
                delays.append(self.world.answered_at - self.world.written_at)
                self.world.written_at = self.world.answered_at = None
            if is_done:
                return delays
        raise AssertionError(f"{event.id} was never answered")

    def answer_calmly(self, event: Event) -> None:
        """Answer a question while nothing goes wrong."""
        self.model.answers = {event.text.split()[-1]: speak("well " * 200, 5.0)}
        self.world.kill, self.world.busy, self.world.fates = "", False, {"taken": 1}
        self.restart()
        self.answer(event)
        self.world.fates = FATES


@contextmanager
def open_agent(runtime: AgentRuntime) -> Iterator[Agent]:
    time = VirtualTime({"draft"})
    world = World(time)
    model = Author(time.clock)
    model.world, model.answers = world, {}
    with ExitStack() as stack:
        places = Places(
            world,
            stack.enter_context(BotApi()),
            stack.enter_context(DiscordServer()),
            stack.enter_context(Homeserver()),
            stack.enter_context(SlackWorkspace()),
            stack.enter_context(FeishuServer()),
            stack.enter_context(DingTalkServer()),
        )
        for server in (places.slack, places.feishu, places.dingtalk):
            server.pace.now = time.clock.monotonic
        app = replace(runtime.app, clock=time.clock, model=model)
        agent = Agent(world, places, model, replace(runtime, app=app))
        agent.restart()
        yield agent


def make_speech(world: World, words: list[str]) -> Speech:
    """An answer in some seconds, which is taken back once or ends with its process."""
    chance = world.chance
    spoken = speak(" ".join(words), chance.uniform(0.5, 25.0))

    def say() -> Iterator[Word]:
        if chance.random() < 0.2:
            yield from speak("This is what the first try had said before it broke off", 2.0).words
            yield 0.1, None
        for number, word in enumerate(spoken.words):
            is_far = number == len(words) * 3 // 4
            if world.is_dead or (is_far and world.comes_to("while it is written")):
                raise Killed
            yield word

    return Speech(Again(say))


@dataclass(frozen=True)
class Again(Iterable[Word]):
    """Words that come again when they are asked for again."""

    begin: Callable[[], Iterator[Word]]

    def __iter__(self) -> Iterator[Word]:
        return self.begin()


def test_no_answer_is_lost_doubled_or_late_by_its_drafts(
    runtime: Callable[..., AgentRuntime],
) -> None:
    opened = runtime(access="open", guest_turns=0, guest_tokens=0, llm_url="http://127.0.0.1:9")
    wrong: list[str] = []
    left = 0
    with open_agent(opened) as agent:
        world, places = agent.world, agent.places
        for count, number in enumerate(sample(range(1, ANSWERS + 1), 60)):
            if count % PROCESS_ANSWERS == 0:
                agent.restart()
            platform = PLATFORMS[number % len(PLATFORMS)]
            world.chance.seed(number)
            world.kill = world.chance.choice(KILLS)
            is_any = world.kill == "in a draft" or platform in GROWING
            world.kill_at = world.chance.choice([1, 2, 3]) if is_any else 1
            world.busy = world.chance.random() < 0.1
            world.came_late = world.deaths = 0
            size = world.chance.choice([5, 80, 200, 200, 500, 900])
            words = [f"n{number}w{place}" for place in range(size)]
            agent.model.answers = {f"#{number}": make_speech(world, words)}
            delays = agent.answer(places.ask(platform, number))
            world.time.pause(30.0)
            world.deliver_late()
            left += places.count_stubs()
            seen = " ".join(places.take_texts()).split()
            if seen != words:
                wrong.append(f"{number} {platform} {world.kill}: {seen[:3]} … {len(seen)}/{size}")
            if not delays or max(delays) > DELAY_MOST + 1e-6:
                wrong.append(f"{number} {platform} {world.kill}: {delays}")
            if places.count_stubs():
                # no crash leaves one, only a beginning that comes behind its answer, or of which
                # nobody heard and that could not be removed then
                assert world.came_late or not world.deaths, f"{number} {platform}"
                agent.answer_calmly(places.ask(platform, number, again=1))
                assert not places.count_stubs(), f"{number} {platform}"
                places.take_texts()
    assert not wrong, "\n".join(wrong)
    assert left + places.withdrawn <= (count + 1) / 20
    assert set(world.drafts) == set(FATES)
    assert world.drafts.total() > 3 * (count + 1)
