"""The sentences of the description that hold for every route."""

from __future__ import annotations

from typing import Final

TITLE: Final = "Sigil"
LEAD: Final = (
    "Sigil is a registry of capabilities: small sandboxed programs that are deployed, found and run"
    " over HTTP. The examples are real: with `SIGIL_URL` set to the address of a registry and"
    " `SIGIL_TOKEN` to a token for it, they run as they are. Some need what another one made:"
    " deploy before you run, remove last."
)
RULES: Final = (
    (
        "Tokens",
        (
            "Every route but the health checks and this description takes `Authorization: Bearer"
            " TOKEN`: the admin token, or one that `sigil keys create` made. An invoke token finds"
            " and runs, a deploy token also deploys and changes what was deployed with it, the"
            " admin token may everything."
        ),
    ),
    (
        "Rates",
        (
            "Each access token has a rate, 600 requests a minute unless `SIGIL_RATE` says"
            " otherwise; `RateLimit-Policy` and `RateLimit` tell it and what is left. The admin"
            " token has none. Beyond it, and after 60 wrong tokens a minute from one address, the"
            " answer is 429, and `Retry-After` has the seconds to wait."
        ),
    ),
    (
        "Pages",
        (
            "A list answers with `items` and, when there are more, with `next`, the `after` of the"
            " next page, which `Link` links to. A page ends at a place in the list, so a row that"
            " is there all the while is listed once, whatever comes and goes in between."
        ),
    ),
    (
        "Caches",
        (
            "What describes capabilities has a strong `ETag` over its very bytes. Send it back as"
            " `If-None-Match`, and what did not change is a 304. How often a capability was called"
            " is part of what `inspect` answers: `?view=interface` leaves that out. HEAD works"
            " wherever GET does. A change takes no condition: `If-Match` is answered 412, and"
            " nothing is done."
        ),
    ),
    (
        "Bodies",
        (
            "A body is one JSON object in UTF-8, at most 1 MiB (a deploy 4 MiB), nested at most 100"
            " deep; of two equal keys the last counts, and a number is a 64-bit integer or a"
            " double. A body that calls itself something else is answered 415, a compressed one"
            " too. Answers are JSON whatever `Accept` says; they are not compressed."
        ),
    ),
    (
        "Failures",
        (
            "Every failure has one shape: `source`, a `code` for programs, a `message` and a"
            " `suggestion` for people. Only a 5xx, 429 and 409 `ECONFLICT` are worth another try."
        ),
    ),
    (
        "Browsers",
        (
            "No page of another origin may use this API: there are no CORS headers. Every answer"
            " has `X-Request-Id`, yours if you sent one; the log of the server has it too."
        ),
    ),
)
STATUSES: Final = {
    304: "it is as you know it",
    400: "the input, the manifest or the JSON is wrong",
    401: "the token is missing or wrong",
    403: "policy says no, or the token is not for this",
    404: "there is no such thing",
    408: "the body did not arrive in time",
    409: "the name is somebody else's, or somebody else wrote first",
    412: "the request has a condition, which no change takes",
    413: "too large",
    415: "the body is of a type that this route does not take",
    422: "a module that may not run, tests that failed, something required that does not exist",
    424: "the capability itself failed or was stopped; the code is its own",
    429: "too often or too much",
    503: "something that Sigil depends on failed, or the capability rests after failures",
}
HEADERS: Final = {
    "X-Request-Id": ("the number of the request, yours if you sent one", True),
    "ETag": ("of the very bytes; what to send as `If-None-Match`", True),
    "Cache-Control": ("who may keep the answer", True),
    "Vary": ("what the answer depends on", False),
    "Link": ("the address of the next page, `rel=next`", False),
    "Retry-After": ("the seconds to wait", True),
    "WWW-Authenticate": ("`Bearer`", True),
    "RateLimit-Policy": (
        "the rate of the token: `q` requests in `w` seconds; not for the admin token",
        False,
    ),
    "RateLimit": ("what is left of it: `r` requests now, all of them in `t` seconds", False),
    "X-Content-Type-Options": ("`nosniff`", True),
    "Content-Security-Policy": ("keeps a browser from doing anything with the answer", True),
    "X-Sigil-Version": ("the version that ran", True),
    "X-Sigil-Digest": ("its digest", True),
    "X-Sigil-Duration-Ms": ("how long it took", True),
    "X-Sigil-Cold-Start": ("`true` when it was loaded for this call", True),
}
"""The meaning of a header, and if an answer that may have it always has it."""
GROUPS: Final = {
    "capabilities": ("Capabilities", "Deploy, find, look at and run them."),
    "admin": ("Keeping", "Versions, bundles, grants, secrets, tokens and the audit."),
    "mcp_endpoint": ("MCP", "The Model Context Protocol, over one route."),
    "public": ("About", "What asks for no token."),
}
"""The modules of `sigil.http` that routes lead to, in the order of the page."""
ACCESS: Final = {
    "PUBLIC": "no token",
    "OPTIONAL_TOKEN": "no token; more with a deploy token or the admin's",
    "ANY_TOKEN": "any token",
    "DEPLOY_TOKEN": "a deploy token or the admin's",
    "ADMIN_TOKEN": "the admin token",
}
