"""A client that goes through the pages of a served agent as a browser does, without a script."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import httpx

from tests.functions.serving import TOKEN
from tests.machine import within

OURS = {"sec-fetch-site": "same-origin"}


@dataclass
class Browser:
    """A browser with cookies of its own; `language` is that of its person."""

    url: str
    language: str = "en"
    client: httpx.Client = field(init=False)

    def __post_init__(self) -> None:
        self.client = httpx.Client(
            base_url=self.url, headers={"accept-language": self.language}, timeout=within(40)
        )

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    def get(self, path: str, **headers: str) -> httpx.Response:
        """Open a page; redirects are not followed."""
        return self.client.get(f"/ui{path}", headers={"accept": "text/html", **headers})

    def peek(self, path: str) -> httpx.Response:
        """Open a page without reading it: a stream would not end."""
        address = f"/ui{path}"
        with self.client.stream("GET", address, headers={"accept": "text/html"}) as answer:
            return answer

    def get_json(self, path: str) -> httpx.Response:
        return self.client.get(f"/ui{path}", headers={"accept": "application/json"})

    def post(
        self,
        path: str,
        fields: Mapping[str, str] | None = None,
        headers: Mapping[str, str] = OURS,
        **given: object,
    ) -> httpx.Response:
        """Send a form as a page of ours does; `headers` without `OURS` is another site's."""
        sent = {"accept": "text/html", **headers}
        return self.client.post(f"/ui{path}", data=dict(fields or {}), headers=sent, **given)  # type: ignore[arg-type]

    def sign_in(self, code: str = TOKEN) -> httpx.Response:
        """Sign in with a code, by default as the bearer of the admin token."""
        return self.post("/login", {"code": code})
