"""The table of the HTTP API's routes. The server and the description of the API are both made of
it.
"""

from __future__ import annotations

from collections.abc import Mapping

from sigil import rows
from sigil.http import admin, admin_bodies, capabilities, mcp_endpoint, public
from sigil.http.admin_bodies import NAME
from sigil.http.request import LIMIT_MOST, PAGE_MOST
from sigil.http.route import (
    BUNDLE_FILE,
    DEPLOY_SPEC,
    DOCS_PAGE,
    MCP_MESSAGE,
    OPENAPI_DOCUMENT,
    RUN_ARGUMENTS,
    RUN_OUTPUT,
    Access,
    Route,
    Schema,
)
from sigil.protocol import NAME_LIMIT

DEPLOY_BYTES, BUNDLE_BYTES = 4 << 20, 32 << 20

KEY: Schema = {
    "type": "string",
    "description": "its id, or its name where only one has it",
    "required": True,
}
NUMBER = "[1-9][0-9]{0,7}"
SECRET: Schema = {
    "type": "string",
    "pattern": "^[A-Z][A-Z0-9_]{0,62}$",
    "description": "a secret's name",
}


def _number(least: int, most: int, default: int | None, what: str) -> Schema:
    return {
        "type": "integer",
        "minimum": least,
        "maximum": most,
        "description": what,
        **({} if default is None else {"default": default}),
    }


def _flag(what: str) -> Schema:
    return {"type": "string", "enum": ["0", "1"], "default": "0", "description": what}


def _after(place: str) -> Schema:
    return {
        "type": "string",
        "pattern": f"^({place})?$",
        "description": "the `next` of the page before; without it the list begins",
    }


def _pages(after: str, most: int = PAGE_MOST, default: int = PAGE_MOST) -> dict[str, Schema]:
    return {"limit": _number(1, most, default, "rows of a page"), "after": _after(after)}


LIST_PLACE = "[0-3]:[a-z][a-z0-9]*(-[a-z0-9]+)*"
GRANT_PLACE = "[0-9]:[a-z][a-z0-9]*(-[a-z0-9]+)*:sha256:[0-9a-f]{1,128}:(waits|stands)(:[A-Za-z0-9_.~:@+=%-]{1,2000})?"
_FIND: Mapping[str, Schema] = {
    "q": {
        "type": "string",
        "description": "what it shall do, in anybody's words; the first 2,000 characters count",
    },
    "mode": {
        "type": "string",
        "enum": ["find", "explore"],
        "description": "`find` with `q` and `explore` without, unless it is given",
    },
    "limit": _number(
        1,
        LIMIT_MOST,
        None,
        f"at most so many; {capabilities.FIND_LIMIT} to find, {capabilities.EXPLORE_LIMIT} to"
        " explore",
    ),
}
_INSPECT: Mapping[str, Schema] = {
    "view": {
        "type": "string",
        "enum": ["all", "interface"],
        "default": "all",
        "description": "`interface`: what no call changes",
    }
}
_LIST = _pages(LIST_PLACE)
_LIST["after"] = {**_LIST["after"], "maxLength": 2 + NAME_LIMIT}
_REMOVE: Mapping[str, Schema] = {
    "name": {**NAME, "description": "the capability's name, unless the body has it"}
}
_DIFF: Mapping[str, Schema] = {
    "from": _number(1, 10**8, None, "the older version; the one before `to` unless it is given"),
    "to": _number(1, 10**8, None, "the newer version; the active one unless it is given"),
}
_IMPORT: Mapping[str, Schema] = {
    "public": _flag("1: what was public stays public"),
    "replace": _flag("1: over what keeps something here"),
}
_AUDIT: Mapping[str, Schema] = {
    "namespace": {
        "type": "string",
        "maxLength": 500,
        "description": "the token's own unless it is given",
    },
    "verify": _flag("1: whether the chain holds, instead of its entries"),
    "limit": _number(1, PAGE_MOST, 100, "entries of a page"),
    "after": {
        **_after("[0-9]{1,12}"),
        "description": "entries beyond this number, oldest first; without it the last ones",
    },
}
_ARGUMENTS: Mapping[str, Schema] = {
    "*": {"type": "object", "description": "an argument each; a repeated one is a list"}
}

_DEPLOYED = {201: rows.DeployedRow, 200: rows.DeployedRow}
_IMPORTED = {201: rows.ImportedList, 200: rows.ImportedList}
_INSPECTED = {200: (rows.DetailRow, rows.InterfaceRow)}
_MCP = {200: MCP_MESSAGE, 202: None, 400: MCP_MESSAGE, 404: MCP_MESSAGE}
_RUN, _RUNS = "/run/{ref:path}", {200: RUN_OUTPUT}

OPEN: tuple[Route, ...] = (
    Route("GET", "/health", public.health, Access.PUBLIC, {200: rows.HealthRow}),
    Route(
        "GET",
        "/_health",
        public.wellbeing,
        Access.OPTIONAL_TOKEN,
        {200: (rows.FullHealthRow, rows.HealthRow)},
    ),
    Route(
        "GET",
        "/_api/openapi.json",
        public.document,
        Access.PUBLIC,
        {200: OPENAPI_DOCUMENT},
        kept=True,
    ),
    Route("GET", "/_api/docs", public.docs, Access.PUBLIC, {200: DOCS_PAGE}, kept=True),
)
GUARDED: tuple[Route, ...] = (
    Route(
        "POST",
        "/_api/deploy",
        capabilities.deploy,
        Access.DEPLOY_TOKEN,
        _DEPLOYED,
        DEPLOY_SPEC,
        most=DEPLOY_BYTES,
        fails=(409, 422),
        works=True,
    ),
    Route(
        "DELETE",
        "/_api/remove",
        capabilities.remove,
        Access.ADMIN_TOKEN,
        {200: rows.RemovedRow},
        admin_bodies.Remove,
        query=_REMOVE,
        fails=(404, 409),
    ),
    Route(
        "GET",
        "/_api/query",
        capabilities.query,
        Access.ANY_TOKEN,
        {200: (rows.QueryPage, rows.ExplorePage)},
        query=_FIND,
        kept=True,
    ),
    Route(
        "GET",
        "/_api/inspect/{ref:path}",
        capabilities.inspect,
        Access.ANY_TOKEN,
        _INSPECTED,
        query=_INSPECT,
        kept=True,
    ),
    Route(
        "GET",
        "/_api/list",
        capabilities.everything,
        Access.ANY_TOKEN,
        {200: rows.ListPage},
        query=_LIST,
        kept=True,
    ),
    Route(
        "GET",
        _RUN,
        capabilities.run,
        Access.ANY_TOKEN,
        _RUNS,
        query=_ARGUMENTS,
        fails=(424,),
        works=True,
    ),
    Route(
        "POST",
        _RUN,
        capabilities.run,
        Access.ANY_TOKEN,
        _RUNS,
        RUN_ARGUMENTS,
        query=_ARGUMENTS,
        fails=(424,),
        works=True,
    ),
    Route(
        "GET",
        "/_api/versions/{ref}",
        admin.versions,
        Access.DEPLOY_TOKEN,
        {200: rows.VersionPage},
        ref=NAME,
        query=_pages(NUMBER),
        kept=True,
    ),
    Route(
        "GET",
        "/_api/diff/{ref}",
        admin.diff,
        Access.DEPLOY_TOKEN,
        {200: rows.VersionDiffRow},
        ref=NAME,
        query=_DIFF,
        kept=True,
    ),
    Route(
        "POST",
        "/_api/rollback",
        admin.rollback,
        Access.ADMIN_TOKEN,
        {200: rows.ChangedVersionRow},
        admin_bodies.Rollback,
        fails=(404, 409),
    ),
    Route(
        "POST",
        "/_api/yank",
        admin.yank,
        Access.ADMIN_TOKEN,
        {200: rows.ChangedVersionRow},
        admin_bodies.Yank,
        fails=(404, 409),
    ),
    Route(
        "POST",
        "/_api/publish",
        admin.publish,
        Access.ADMIN_TOKEN,
        _DEPLOYED,
        admin_bodies.Publish,
        fails=(404, 409, 422),
    ),
    Route(
        "POST",
        "/_api/export",
        admin.export,
        Access.DEPLOY_TOKEN,
        {200: BUNDLE_FILE},
        admin_bodies.Export,
        fails=(404,),
    ),
    Route(
        "POST",
        "/_api/import",
        admin.import_bundle,
        Access.ADMIN_TOKEN,
        _IMPORTED,
        BUNDLE_FILE,
        query=_IMPORT,
        most=BUNDLE_BYTES,
        fails=(404, 409, 422),
        works=True,
    ),
    Route(
        "GET",
        "/_api/grants",
        admin.grants,
        Access.ADMIN_TOKEN,
        {200: rows.GrantPage},
        query=_pages(GRANT_PLACE),
    ),
    Route(
        "GET",
        "/_api/grants/{ref:path}",
        admin.asked,
        Access.ADMIN_TOKEN,
        {200: rows.PermissionRequestRow},
    ),
    Route(
        "POST",
        "/_api/grant",
        admin.grant,
        Access.ADMIN_TOKEN,
        {200: rows.PermissionRequestRow},
        admin_bodies.Grant,
        fails=(404, 409),
    ),
    Route(
        "POST",
        "/_api/revoke",
        admin.revoke,
        Access.ADMIN_TOKEN,
        {200: rows.RevokedRow},
        admin_bodies.Revoke,
        fails=(404, 409),
    ),
    Route(
        "POST",
        "/_api/mcp/tools",
        admin.mcp_tools,
        Access.ADMIN_TOKEN,
        {200: rows.ServerToolList},
        admin_bodies.Tools,
        fails=(404, 424),
        works=True,
    ),
    Route(
        "GET",
        "/_api/secrets",
        admin.secrets,
        Access.ADMIN_TOKEN,
        {200: rows.SecretPage},
        query=_pages("[A-Z][A-Z0-9_]{0,62}"),
    ),
    Route(
        "PUT",
        "/_api/secrets/{ref}",
        admin.set_secret,
        Access.ADMIN_TOKEN,
        {200: rows.StoredSecretRow},
        admin_bodies.Secret,
        ref=SECRET,
    ),
    Route(
        "DELETE",
        "/_api/secrets/{ref}",
        admin.remove_secret,
        Access.ADMIN_TOKEN,
        {200: rows.RemovedRow},
        ref=SECRET,
    ),
    Route(
        "GET",
        "/_api/keys",
        admin.keys,
        Access.ADMIN_TOKEN,
        {200: rows.TokenPage},
        query=_pages("[0-9a-f]{12}"),
    ),
    Route(
        "POST",
        "/_api/keys",
        admin.create_key,
        Access.ADMIN_TOKEN,
        {201: rows.NewTokenRow},
        admin_bodies.Key,
    ),
    Route(
        "DELETE",
        "/_api/keys",
        admin.revoke_key,
        Access.ADMIN_TOKEN,
        {200: rows.TokenRow},
        query={"id": KEY},
        fails=(404,),
    ),
    Route(
        "GET",
        "/_api/audit",
        admin.audit,
        Access.ADMIN_TOKEN,
        {200: (rows.AuditPage, rows.AuditCheckRow)},
        query=_AUDIT,
    ),
    Route("GET", "/_api/whoami", admin.whoami, Access.ANY_TOKEN, {200: rows.TokenRow}),
    Route("GET", "/_api/status", admin.status, Access.DEPLOY_TOKEN, {200: rows.StatusRow}),
    Route("POST", "/mcp", mcp_endpoint.serve, Access.ANY_TOKEN, _MCP, MCP_MESSAGE, works=True),
)
