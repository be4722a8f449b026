"""The table of the HTTP API's routes, of which the server and its description are both made."""

from __future__ import annotations

from collections.abc import Mapping

from sigil import rows
from sigil.http import admin, capabilities, mcp_endpoint, public
from sigil.http.request import LIMIT_MOST, PAGE_MOST
from sigil.http.route import (
    BUNDLE_FILE,
    DEPLOY_SPEC,
    DOCS_PAGE,
    KEPT_FILE,
    MCP_MESSAGE,
    NAME_SCHEMA,
    OPENAPI_DOCUMENT,
    RUN_ARGUMENTS,
    RUN_OUTPUT,
    Access,
    Route,
    Schema,
)
from sigil.protocol import NAME_LIMIT

DEPLOY_BYTES, BUNDLE_BYTES = 4 << 20, 32 << 20

KEY_SCHEMA: Schema = {
    "type": "string",
    "description": "its id, or its name where only one has it",
    "required": True,
}
NUMBER = "[1-9][0-9]{0,7}"
SECRET_SCHEMA: Schema = {
    "type": "string",
    "pattern": "^[A-Z][A-Z0-9_]{0,62}$",
    "description": "a secret's name",
}
FILE_SCHEMA: Schema = {
    "type": "string",
    "pattern": "^[0-9a-f]{32}$",
    "description": "a file's id, as the report of its run has it",
}


def _number_schema(least: int, most: int, default: int | None, what: str) -> Schema:
    return {
        "type": "integer",
        "minimum": least,
        "maximum": most,
        "description": what,
        **({} if default is None else {"default": default}),
    }


def _flag_schema(what: str) -> Schema:
    return {"type": "string", "enum": ["0", "1"], "default": "0", "description": what}


def _after_schema(cursor: str) -> Schema:
    return {
        "type": "string",
        "pattern": f"^({cursor})?$",
        "description": "the `next` of the page before; without it the list begins",
    }


def _page_parameters(
    after: str, most: int = PAGE_MOST, default: int = PAGE_MOST
) -> dict[str, Schema]:
    return {
        "limit": _number_schema(1, most, default, "rows of a page"),
        "after": _after_schema(after),
    }


LIST_CURSOR = "[0-3]:[a-z][a-z0-9]*(-[a-z0-9]+)*"
GRANT_CURSOR = "[0-9]:[a-z][a-z0-9]*(-[a-z0-9]+)*:sha256:[0-9a-f]{1,128}:(waits|stands)(:[A-Za-z0-9_.~:@+=%-]{1,2000})?"
_QUERY: Mapping[str, Schema] = {
    "q": {
        "type": "string",
        "description": "what it should do, in your own words; the first 2,000 characters count",
    },
    "mode": {
        "type": "string",
        "enum": ["find", "explore"],
        "description": "`find` with `q` and `explore` without, unless it is given",
    },
    "limit": _number_schema(
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
_LIST = _page_parameters(LIST_CURSOR)
_LIST["after"] = {**_LIST["after"], "maxLength": 2 + NAME_LIMIT}
_REMOVE: Mapping[str, Schema] = {
    "name": {**NAME_SCHEMA, "description": "the capability's name, unless the body has it"}
}
_DIFF: Mapping[str, Schema] = {
    "from": _number_schema(
        1, 10**8, None, "the older version; the one before `to` unless it is given"
    ),
    "to": _number_schema(1, 10**8, None, "the newer version; the active one unless it is given"),
}
_DEPLOY: Mapping[str, Schema] = {
    "replace": _flag_schema("1: also where it hides the library's capability of its name"),
}
_IMPORT: Mapping[str, Schema] = {
    "public": _flag_schema("1: what was public stays public"),
    "replace": _flag_schema("1: over what keeps something here, or hides one of the library"),
}
_AUDIT: Mapping[str, Schema] = {
    "namespace": {
        "type": "string",
        "maxLength": 500,
        "description": "the token's own unless it is given",
    },
    "verify": _flag_schema(
        "1: whether the chain holds, and without a namespace all others, instead of entries"
    ),
    "limit": _number_schema(1, PAGE_MOST, 100, "entries of a page"),
    "after": {
        **_after_schema("[0-9]{1,12}"),
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

OPEN_ROUTES: tuple[Route, ...] = (
    Route("GET", "/health", public.get_health, Access.PUBLIC, {200: rows.HealthRow}),
    Route(
        "GET",
        "/_health",
        public.get_full_health,
        Access.OPTIONAL_TOKEN,
        {200: (rows.FullHealthRow, rows.HealthRow)},
    ),
    Route(
        "GET",
        "/_api/openapi.json",
        public.get_openapi_document,
        Access.PUBLIC,
        {200: OPENAPI_DOCUMENT},
        has_etag=True,
    ),
    Route(
        "GET",
        "/_api/docs",
        public.get_docs_page,
        Access.PUBLIC,
        {200: DOCS_PAGE},
        has_etag=True,
    ),
)
TOKEN_ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/_api/deploy",
        capabilities.deploy,
        Access.DEPLOY_TOKEN,
        _DEPLOYED,
        DEPLOY_SPEC,
        query=_DEPLOY,
        body_bytes=DEPLOY_BYTES,
        failures=(409, 422),
        slow=True,
    ),
    Route(
        "DELETE",
        "/_api/remove",
        capabilities.remove,
        Access.DEPLOY_TOKEN,
        {200: rows.RemovedRow},
        capabilities.RemoveBody,
        query=_REMOVE,
        failures=(404, 409),
    ),
    Route(
        "GET",
        "/_api/query",
        capabilities.query,
        Access.ANY_TOKEN,
        {200: (rows.QueryPage, rows.ExplorePage)},
        query=_QUERY,
        has_etag=True,
    ),
    Route(
        "GET",
        "/_api/inspect/{ref:path}",
        capabilities.inspect,
        Access.ANY_TOKEN,
        _INSPECTED,
        query=_INSPECT,
        has_etag=True,
    ),
    Route(
        "GET",
        "/_api/list",
        capabilities.list_capabilities,
        Access.ANY_TOKEN,
        {200: rows.ListPage},
        query=_LIST,
        has_etag=True,
    ),
    Route(
        "GET",
        _RUN,
        capabilities.run,
        Access.ANY_TOKEN,
        _RUNS,
        query=_ARGUMENTS,
        failures=(424,),
        slow=True,
    ),
    Route(
        "POST",
        _RUN,
        capabilities.run,
        Access.ANY_TOKEN,
        _RUNS,
        RUN_ARGUMENTS,
        query=_ARGUMENTS,
        failures=(424,),
        slow=True,
    ),
    Route(
        "GET",
        "/_api/files/{ref}",
        capabilities.get_file,
        Access.ANY_TOKEN,
        {200: KEPT_FILE},
        ref=FILE_SCHEMA,
        failures=(404,),
    ),
    Route(
        "GET",
        "/_api/versions/{ref}",
        admin.list_versions,
        Access.DEPLOY_TOKEN,
        {200: rows.VersionPage},
        ref=NAME_SCHEMA,
        query=_page_parameters(NUMBER),
        has_etag=True,
    ),
    Route(
        "GET",
        "/_api/diff/{ref}",
        admin.diff,
        Access.DEPLOY_TOKEN,
        {200: rows.VersionDiffRow},
        ref=NAME_SCHEMA,
        query=_DIFF,
        has_etag=True,
    ),
    Route(
        "POST",
        "/_api/rollback",
        admin.rollback,
        Access.DEPLOY_TOKEN,
        {200: rows.ChangedVersionRow},
        admin.RollbackBody,
        failures=(404, 409),
    ),
    Route(
        "POST",
        "/_api/yank",
        admin.yank,
        Access.DEPLOY_TOKEN,
        {200: rows.ChangedVersionRow},
        admin.YankBody,
        failures=(404, 409),
    ),
    Route(
        "POST",
        "/_api/publish",
        admin.publish,
        Access.ADMIN_TOKEN,
        _DEPLOYED,
        admin.PublishBody,
        failures=(404, 409, 422),
    ),
    Route(
        "POST",
        "/_api/export",
        admin.export,
        Access.DEPLOY_TOKEN,
        {200: BUNDLE_FILE},
        admin.ExportBody,
        failures=(404,),
    ),
    Route(
        "POST",
        "/_api/import",
        admin.import_bundle,
        Access.ADMIN_TOKEN,
        _IMPORTED,
        BUNDLE_FILE,
        query=_IMPORT,
        body_bytes=BUNDLE_BYTES,
        failures=(404, 409, 422),
        slow=True,
    ),
    Route(
        "GET",
        "/_api/grants",
        admin.list_grants,
        Access.DEPLOY_TOKEN,
        {200: rows.GrantPage},
        query=_page_parameters(GRANT_CURSOR),
    ),
    Route(
        "GET",
        "/_api/grants/{ref:path}",
        admin.get_permission_request,
        Access.DEPLOY_TOKEN,
        {200: rows.PermissionRequestRow},
    ),
    Route(
        "POST",
        "/_api/grant",
        admin.grant,
        Access.DEPLOY_TOKEN,
        {200: rows.PermissionRequestRow},
        admin.GrantBody,
        failures=(404, 409),
    ),
    Route(
        "POST",
        "/_api/revoke",
        admin.revoke,
        Access.DEPLOY_TOKEN,
        {200: rows.RevokedRow},
        admin.RevokeBody,
        failures=(404, 409),
    ),
    Route(
        "POST",
        "/_api/mcp/tools",
        admin.list_mcp_tools,
        Access.ADMIN_TOKEN,
        {200: rows.ServerToolList},
        admin.ToolsBody,
        failures=(404, 424),
        slow=True,
    ),
    Route(
        "GET",
        "/_api/secrets",
        admin.list_secrets,
        Access.ADMIN_TOKEN,
        {200: rows.SecretPage},
        query=_page_parameters("[A-Z][A-Z0-9_]{0,62}"),
    ),
    Route(
        "PUT",
        "/_api/secrets/{ref}",
        admin.set_secret,
        Access.ADMIN_TOKEN,
        {200: rows.StoredSecretRow},
        admin.SecretBody,
        ref=SECRET_SCHEMA,
    ),
    Route(
        "DELETE",
        "/_api/secrets/{ref}",
        admin.remove_secret,
        Access.ADMIN_TOKEN,
        {200: rows.RemovedRow},
        ref=SECRET_SCHEMA,
    ),
    Route(
        "GET",
        "/_api/keys",
        admin.list_keys,
        Access.ADMIN_TOKEN,
        {200: rows.TokenPage},
        query=_page_parameters("[0-9a-f]{12}"),
    ),
    Route(
        "POST",
        "/_api/keys",
        admin.create_key,
        Access.ADMIN_TOKEN,
        {201: rows.NewTokenRow},
        admin.KeyBody,
    ),
    Route(
        "DELETE",
        "/_api/keys",
        admin.revoke_key,
        Access.ADMIN_TOKEN,
        {200: rows.TokenRow},
        query={"id": KEY_SCHEMA},
        failures=(404,),
    ),
    Route(
        "GET",
        "/_api/audit",
        admin.read_audit,
        Access.ADMIN_TOKEN,
        {200: (rows.AuditPage, rows.AuditCheckRow)},
        query=_AUDIT,
    ),
    Route("GET", "/_api/whoami", admin.whoami, Access.ANY_TOKEN, {200: rows.TokenRow}),
    Route("GET", "/_api/status", admin.get_status, Access.DEPLOY_TOKEN, {200: rows.StatusRow}),
    Route(
        "POST",
        "/mcp",
        mcp_endpoint.answer_mcp,
        Access.ANY_TOKEN,
        _MCP,
        MCP_MESSAGE,
        slow=True,
        operation="send_mcp_message",
    ),
)
