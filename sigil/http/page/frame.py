"""The frame of a site of pages: who looks, which page it is, what it was sent, and how it answers.

A page is a `PageRoute` whose handler takes a `PageRequest` and returns what `render` or `redirect`
make. What a handler raises becomes a page that says what went wrong, or JSON where the request asks
for it.
"""

from __future__ import annotations

import gzip
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Generic, Protocol, TypeVar

import orjson
from jinja2 import ChoiceLoader, Environment, FileSystemLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import compile_path
from starlette.types import Receive, Scope, Send

from sigil.access.authentication import RateLimiter
from sigil.errors import Refused, SigilError, UsageError, one_line
from sigil.http.page import filters, guard
from sigil.http.page.forms import FormLimits, SentFile, read_form
from sigil.http.page.guard import Guard
from sigil.http.page.static_files import StaticFiles
from sigil.http.page.viewer import STRANGER, VIEWERS, Role, Viewer
from sigil.http.page.words import ENGLISH, WORDS, Words, choose_language
from sigil.http.request_id import NUMBER, log_bug
from sigil.http.response import failure_response, json_response
from sigil.http.status_codes import status_of

PREFIX: Final = "/ui"
BASE: Final = "base_path"
"""The key of a request's scope for what a gateway has put before its path."""
REQUESTS_A_MINUTE: Final = 600
"""So many requests a minute may a sign-in make."""
COMPRESSED_BYTES: Final = 600
"""A text below this size gains nothing by being compressed."""
_UNSHOWN: Final = ("code", "token", "secret", "password", "value")
"""The fields of a form whose values are never shown again."""
_OWN: Final = Path(__file__).parent

D = TypeVar("D")


@dataclass(frozen=True, slots=True)
class Page:
    """A name in the bar of pages: in English, where it leads, who sees it, and the name in other
    languages by their codes. `below` are the paths of other pages that belong to it.
    """

    name: str
    path: str
    roles: frozenset[Role]
    names: Mapping[str, str] = field(default_factory=dict)
    below: tuple[str, ...] = ()

    def leads_to(self, path: str) -> bool:
        """Return whether a path is that of the page, or of one that belongs to it."""
        return any(path == each or path.startswith(f"{each}/") for each in (self.path, *self.below))


@dataclass(frozen=True)
class PageRequest(Generic[D]):
    """A request of a page: what the page needs, who looks, and what was sent.

    `path` has the values of the route's path, `query` and `form` the last value of each name.
    `language` is the code of one that there are texts in. `base` stands before every address.
    """

    deps: D
    viewer: Viewer
    request: Request
    site: Site[D]
    path: Mapping[str, str]
    query: Mapping[str, str]
    form: Mapping[str, str]
    files: Sequence[SentFile]
    language: str
    base: str

    @property
    def words(self) -> Words:
        """The texts of the frame in the viewer's language."""
        return WORDS.get(self.language, ENGLISH)

    @property
    def by(self) -> str:
        """Who did it, as it is written down: `web:PERSON`."""
        return f"web:{self.viewer.person}"

    @property
    def wants_json(self) -> bool:
        """Whether the request asks for the values of a page instead of the page."""
        return accepts_json(self.request)

    def url(self, path: str) -> str:
        """Return the address of a path of the pages, such as `/runs`."""
        return f"{self.base}{PREFIX}{'' if path == '/' else path}"

    def static(self, name: str) -> str:
        """Return the address of a static file; empty when there is none."""
        path = self.site.static.find_path(name)
        return self.url(path) if path else ""


Handler = Callable[[PageRequest[D]], Response | Awaitable[Response]]


@dataclass(frozen=True)
class PageRoute(Generic[D]):
    """A page, or a form's target: its path below the pages' own (`/runs/{id:path}`), its method,
    and who may call it. A plain `def` handler runs in a thread.

    `reads_form` reads the fields of a form, `takes_files` its files as well.
    """

    path: str
    method: str
    handler: Handler[D]
    roles: frozenset[Role] = VIEWERS
    reads_form: bool = False
    takes_files: bool = False


def note_nothing(*_: object, **__: object) -> None:
    """Write no log."""


class Visitors(Protocol):
    """Knows who has signed in."""

    def find_viewer(self, request: Request) -> Viewer | None:
        """Return who sent a request, by its cookie; None for somebody who has not signed in."""


@dataclass(frozen=True)
class SiteParts(Generic[D]):
    """What a site is made of: its pages, the bar of their names, and whatever differs between the
    agent and a registry alone.

    `templates` and `static` are folders beside the frame's own. `describe` returns what the bar
    says of the agent: `name`, `model`, `halted`. `language` is the one of people whose browser asks
    for none that there is. `note` takes what somebody did on the pages, for the log: `by`, the
    route and its status, and never what was sent.
    """

    routes: Sequence[PageRoute[D]]
    pages: Sequence[Page]
    visitors: Visitors
    guard: Guard
    describe: Callable[[D], Mapping[str, object]]
    templates: Sequence[Path] = ()
    static: Sequence[Path] = ()
    language: str = "en"
    files: FormLimits = FormLimits()
    sign_in_path: str = "/login"
    requests_a_minute: float = REQUESTS_A_MINUTE
    note: Callable[..., None] = note_nothing


class Site(Generic[D]):
    """The pages below `/ui` as an ASGI app. `open_deps` is called by each request."""

    def __init__(self, open_deps: Callable[[], D], parts: SiteParts[D]) -> None:
        self.parts = parts
        self.static = StaticFiles([_OWN / "static", *parts.static])
        self._open_deps = open_deps
        self._routes = [(compile_path(route.path)[0], route) for route in parts.routes]
        self._rates = RateLimiter(parts.requests_a_minute)
        folders = [*parts.templates, _OWN / "templates"]
        self._environment = Environment(
            loader=ChoiceLoader([FileSystemLoader(folder) for folder in folders]),
            autoescape=True,
            undefined=StrictUndefined,
            auto_reload=False,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters.update(filters.FILTERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        response = await self._respond(request)
        _compress(request, response)
        is_file = response.status_code == 200 and _find_path(request).startswith("/static/")
        guard.add_headers(response.headers, is_file=is_file)
        await response(scope, receive, send)

    def render_text(self, template: str, values: Mapping[str, object]) -> str:
        """Return a template with values, without the layout's own."""
        return self._environment.get_template(template).render(values)

    async def _respond(self, request: Request) -> Response:
        path = _find_path(request)
        page = self._make_request(request, STRANGER)
        try:
            self.parts.guard.require_known_host(request)
            self.parts.guard.require_sealed(request)
            if path.startswith("/static/"):
                return self._send_static(request, path.removeprefix("/static/"))
            guard.require_same_origin(request)
            deps = await run_in_threadpool(self._open_deps)
            viewer = await run_in_threadpool(self.parts.visitors.find_viewer, request)
            page = self._make_request(request, viewer or STRANGER, deps)
            if page.viewer.login:
                self._count(page.viewer)
            route, values = self._find_route(request.method, path)
            page = replace(page, path=values)
            if page.viewer.role not in route.roles:
                if route.reads_form:  # a sign-in may have ended while somebody typed
                    page = replace(page, form=await self._read_lost_form(request, route))
                return self._refuse(page)
            if route.reads_form or route.takes_files:
                limits = self.parts.files if route.takes_files else FormLimits()
                form = await read_form(request, limits)
                page = replace(page, form=form.fields, files=form.files)
            if inspect.iscoroutinefunction(route.handler):
                response = await route.handler(page)
            else:
                response = await run_in_threadpool(route.handler, page)
            assert isinstance(response, Response), f"{route.path} answers with no response"
            if request.method not in guard.SAFE_METHODS:
                where = {"route": f"{PREFIX}{route.path}", "status": response.status_code}
                self.parts.note("page", by=page.by, **where)
            return response
        except SigilError as problem:
            return await run_in_threadpool(answer_problem, page, problem)
        except Exception as problem:
            number = str(request.scope.get(NUMBER, ""))
            log_bug(number, type(problem).__name__)
            raise

    def _make_request(
        self,
        request: Request,
        viewer: Viewer,
        deps: D | None = None,
    ) -> PageRequest[D]:
        accepted = request.headers.get("accept-language", "")
        return PageRequest(
            deps,  # type: ignore[arg-type]  # pages of refusals need none
            viewer,
            request,
            self,
            {},
            dict(request.query_params),
            {},
            (),
            choose_language(accepted, self.parts.language),
            str(request.scope.get(BASE, "")) or self.parts.guard.find_base(request),
        )

    def _find_route(self, method: str, path: str) -> tuple[PageRoute[D], dict[str, str]]:
        """Return the route of a path, with the values in it; `UsageError` EROUTE or EMETHOD."""
        wanted = "GET" if method == "HEAD" else method
        is_known = False
        for pattern, route in self._routes:
            found = pattern.match(path)
            if found and route.method == wanted:
                return route, found.groupdict()
            is_known = is_known or bool(found)
        if is_known:
            raise UsageError("EMETHOD", f"this page takes no {one_line(method, 20)}", source="page")
        raise UsageError("EROUTE", f"there is no page {one_line(path, 120)}", source="page")

    def _send_static(self, request: Request, name: str) -> Response:
        if request.method not in guard.SAFE_METHODS:
            raise UsageError("EMETHOD", "a file is only read", source="page")
        version = request.query_params.get("v", "")
        response = self.static.respond(name, version, accepts_gzip=_accepts_gzip(request))
        if response is None:
            raise UsageError("EROUTE", "there is no such file", source="page")
        return response

    async def _read_lost_form(self, request: Request, route: PageRoute[D]) -> Mapping[str, str]:
        """Return the fields that somebody sent who may not, so that what they typed is not lost. A
        form for files has a part for them even where nobody chose one.
        """
        limits = self.parts.files if route.takes_files else FormLimits()
        try:
            return (await read_form(request, replace(limits, files_bytes=0))).fields
        except SigilError:
            return {}

    def _count(self, viewer: Viewer) -> None:
        wait = self._rates.take(viewer.login)
        if wait:
            raise Refused(
                "ERATE",
                "too many requests of this sign-in",
                source="page",
                suggestion="wait a minute",
                retry_after=wait,
            )

    def _refuse(self, page: PageRequest[D]) -> Response:
        """Answer somebody who may not see a page: a stranger is asked to sign in."""
        if page.viewer.role == "stranger":
            is_read = page.request.method in guard.SAFE_METHODS
            if is_read and not page.wants_json:
                if page.request.headers.get("sec-fetch-site") in ("cross-site", "same-site"):
                    return _come_again(page)
                return redirect(page, self.parts.sign_in_path)
            raise Refused(
                "EAUTH",
                "you are not signed in, or no longer",
                source="page",
                suggestion="open the page anew, and sign in",
            )
        raise Refused(
            "EPERM",
            "this page is not for your role",
            source="page",
            suggestion="ask an owner",
        )


def render(
    page: PageRequest[Any], template: str, *, title: str, status: int = 200, **values: object
) -> Response:
    """Return a page: a template, which extends `layout.html`, with its title and values.

    Templates have `page`, `words`, `url(PATH)`, `static(NAME)` and the bar's own values as well.
    """
    about: dict[str, object] = {"name": "", "model": "", "halted": False}
    if page.viewer.login:
        about |= page.site.parts.describe(page.deps)
    frame: dict[str, object] = {
        "page": page,
        "viewer": page.viewer,
        "words": page.words,
        "language": page.language,
        "url": page.url,
        "static": page.static,
        "title": title,
        "about": about,
        "bar": list_bar(page),
    }
    text = page.site.render_text(template, {**frame, **values})
    return Response(text, status, media_type="text/html")


def redirect(page: PageRequest[Any], path: str) -> Response:
    """Return the answer that leads a browser to another page of ours, which it gets with GET."""
    return Response(status_code=303, headers={"Location": page.url(path)})


def list_bar(page: PageRequest[Any]) -> list[tuple[str, str, bool]]:
    """Return the names in the bar that a viewer sees: the name, the path, and whether it is the
    page that is open.
    """
    here = _find_path(page.request)
    return [
        (
            each.names.get(page.language, each.name),
            each.path,
            each.leads_to(here),
        )
        for each in page.site.parts.pages
        if page.viewer.role in each.roles
    ]


def answer_problem(page: PageRequest[Any], problem: SigilError) -> Response:
    """Return the page that says what went wrong and what helps, with what was typed; JSON where the
    request asks for it.
    """
    status = status_of(problem)
    if problem.code == "EHOST":
        status = guard.WRONG_HOST
    if page.wants_json:
        failed = failure_response(problem)
        failed.status_code = status
        return failed
    typed = {name: text for name, text in page.form.items() if text and not _is_unshown(name)}
    response = render(
        page, "problem.html", title=page.words.problem, status=status, problem=problem, typed=typed
    )
    if problem.retry_after:
        response.headers["Retry-After"] = str(max(round(problem.retry_after), 1))
    return response


def answer_json(page: PageRequest[Any], value: object) -> Response:
    """Return the values of a page as JSON."""
    return json_response(value)


def plain(value: object) -> dict[str, Any]:
    """Return values as their JSON has them, which is what programs get."""
    made: dict[str, Any] = orjson.loads(orjson.dumps(value))
    return made


def accepts_json(request: Request) -> bool:
    """Return whether a request asks for JSON: by its header, or by `?as=json` of a link."""
    if request.query_params.get("as") == "json":
        return True
    kinds = request.headers.get("accept", "").lower().split(",")
    return kinds[0].partition(";")[0].strip() == "application/json"


def _come_again(page: PageRequest[Any]) -> Response:
    """Let a browser ask once more, from a page of ours: with a link on another site it sends no
    cookie, whether somebody has signed in or not (SameSite=Strict).
    """
    there = page.url(_find_path(page.request))
    query = page.request.url.query
    address = f"{there}?{query}" if query else there
    return render(page, "again.html", title=page.words.one_moment, address=address)


def _is_unshown(name: str) -> bool:
    return any(word in name.lower() for word in _UNSHOWN)


def _find_path(request: Request) -> str:
    """Return the path of a request below the pages' own; `/` is the first one."""
    path = str(request.scope["path"])
    return path.removeprefix(PREFIX).rstrip("/") or "/"


def _accepts_gzip(request: Request) -> bool:
    kinds = request.headers.get("accept-encoding", "").lower().split(",")
    return any(kind.replace(" ", "") in ("gzip", "gzip;q=1.0", "*") for kind in kinds)


def _compress(request: Request, response: Response) -> None:
    """Compress a text that is whole and long enough, for a browser that takes it."""
    body = response.body if hasattr(response, "body") else b""
    type = response.headers.get("content-type", "")
    is_text = type.startswith(("text/html", "application/json"))
    if not is_text or "content-encoding" in response.headers or len(body) < COMPRESSED_BYTES:
        return
    response.headers["Vary"] = "Accept-Encoding"
    if _accepts_gzip(request):
        response.body = gzip.compress(bytes(body), 6, mtime=0)
        response.headers["Content-Encoding"] = "gzip"
        response.headers["Content-Length"] = str(len(response.body))
