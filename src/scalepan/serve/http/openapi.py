"""The OpenAPI document, made from the table of tools and the table of what can be read."""

from typing import Any

import msgspec

import scalepan
from scalepan.serve import answers, requests
from scalepan.serve.envelope import CODES
from scalepan.serve.http.answering import NAME
from scalepan.serve.http.answering import PATH as ANSWER
from scalepan.serve.http.calls import MOST_IN_ARRAY
from scalepan.serve.http.reads import READS, Read
from scalepan.serve.tools import TOOLS, AgentTool

SCHEMAS = "#/components/schemas/"
_JSON, _NDJSON = "application/json", "application/x-ndjson"
_ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
_WHO = [{"$ref": "#/components/parameters/Project"}, {"$ref": "#/components/parameters/Session"}]
_KEY = {"$ref": "#/components/parameters/Key"}
_ERRORS = {
    "400": "Not JSON, or a header that cannot be.",
    "401": "A token is needed, or this one opens nothing.",
    "403": "The policy, the token, the host or the origin forbids it.",
    "404": "What was named does not exist, or not for this caller.",
    "408": "The body did not come in time.",
    "409": "It conflicts with what is stored.",
    "413": "The body is too long.",
    "415": "The body is neither JSON nor NDJSON.",
    "422": "The request does not fit; every fault is named.",
    "429": "Too many requests; Retry-After says when to come again.",
    "500": "Something broke inside Scalepan; its log has the request id.",
    "503": "Too many requests at once.",
    "504": "It took longer than it may.",
}


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong, by its code."""

    code: str
    message: str
    line: int | None = None
    item: int | None = None


class Error(msgspec.Struct, frozen=True, kw_only=True):
    """The envelope of an error."""

    error: Problem
    request_id: str
    trace_id: str


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the server can do its work."""

    ok: bool
    version: str
    store: str


def document() -> dict[str, Any]:
    """The whole document."""
    types: list[type[Any]] = [Error, Health, *(type_ for tool in TOOLS for type_ in (tool.request, tool.answer))]
    types += [requests.AnswerRequest, *(read.answer for read in READS)]
    refs, schemas = _schemas(list(dict.fromkeys(types)))
    paths: dict[str, Any] = {tool.url: {"post": _call(tool, refs)} for tool in TOOLS}
    paths[ANSWER] = {"post": _answering(refs)}
    paths |= {read.path: {"get": _read(read, refs)} for read in READS}
    paths["/healthz"] = {"get": _health(refs)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Scalepan",
            "version": scalepan.__version__,
            "description": scalepan.__doc__.splitlines()[0] if scalepan.__doc__ else "",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}, {}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "parameters": {
                "Project": _header("Scalepan-Project", "Which project, where the token opens any."),
                "Session": _header("Scalepan-Session", "Which session: claims of scope session stay in theirs."),
                "Key": _header(
                    "Idempotency-Key",
                    "Yours, for one request: sent again under it, the request is applied once. Another is refused.",
                    "^[A-Za-z0-9._:/@+#=-]{1,200}$",
                ),
            },
            "responses": {code: _error(text) for code, text in _ERRORS.items()},
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "Made by 'scalepan serve token create'. Not needed on loopback while there is none.",
                }
            },
        },
    }


def _schemas(types: list[type[Any]]) -> tuple[dict[type[Any], Any], dict[str, Any]]:
    """A reference for each type, and the components that they refer to."""
    found, components = msgspec.json.schema_components(
        types, schema_hook=lambda _: {"type": "object"}, ref_template=SCHEMAS + "{name}"
    )
    for name, schema in components.items():
        if "description" in schema:
            schema["description"] = schema["description"].splitlines()[0]
        if name == "Problem":
            schema["properties"]["code"]["enum"] = list(CODES)
    return dict(zip(types, found, strict=True)), components


def _call(tool: AgentTool, refs: dict[type[Any], Any]) -> dict[str, Any]:
    request, answer = refs[tool.request], refs[tool.answer]
    # A batch may contain anything: an invalid item gets an error in its place.
    batch = {"type": "array", "maxItems": MOST_IN_ARRAY, "items": {"anyOf": [request, {}]}}
    answers = {"type": "array", "items": {"anyOf": [answer, refs[Error]]}}
    lines = {
        "type": "string",
        "description": "One request per line; one answer or error per line comes back, in order.",
    }
    return {
        "operationId": tool.name,
        "summary": tool.title,
        "description": tool.description,
        "parameters": [*_WHO, *([_KEY] if tool.keyed else [])],
        "requestBody": {
            "required": True,
            "content": {_JSON: {"schema": {"anyOf": [request, batch]}}, _NDJSON: {"schema": lines}},
        },
        "responses": {
            "200": {
                "description": "The answer, or an answer for each.",
                "content": {_JSON: {"schema": {"anyOf": [answer, answers]}}, _NDJSON: {"schema": {"type": "string"}}},
            },
            **_refs(_ERRORS),
        },
    }


def _answering(refs: dict[type[Any], Any]) -> dict[str, Any]:
    return {
        "operationId": NAME,
        "summary": "Answer a question that waits",
        "description": "Needs a token that may answer; whoever asked cannot.",
        "parameters": [_ID, *_WHO, _KEY],
        "requestBody": {"required": True, "content": {_JSON: {"schema": refs[requests.AnswerRequest]}}},
        "responses": {
            "200": {"description": "What came of it.", "content": {_JSON: {"schema": refs[answers.Decision]}}},
            **_refs(_ERRORS),
        },
    }


def _read(read: Read, refs: dict[type[Any], Any]) -> dict[str, Any]:
    return {
        "operationId": f"get_{read.name}",
        "summary": read.summary,
        "parameters": [*([_ID] if "{id}" in read.path else []), *_WHO],
        "responses": {
            "200": {"description": "What was asked for.", "content": {_JSON: {"schema": refs[read.answer]}}},
            **_refs(code for code in _ERRORS if code not in ("408", "409", "413", "415")),
        },
    }


def _health(refs: dict[type[Any], Any]) -> dict[str, Any]:
    content = {_JSON: {"schema": refs[Health]}}
    return {
        "operationId": "health",
        "summary": "Whether the server can do its work",
        "security": [],
        "responses": {
            "200": {"description": "It can.", "content": content},
            "503": {"description": "The store cannot be reached.", "content": content},
            **_refs(["403", "429"]),
        },
    }


def _refs(codes: Any) -> dict[str, Any]:
    return {code: {"$ref": f"#/components/responses/{code}"} for code in codes}


def _error(text: str) -> dict[str, Any]:
    return {"description": text, "content": {_JSON: {"schema": {"$ref": f"{SCHEMAS}Error"}}}}


def _header(name: str, text: str, pattern: str = "^[!-~]{1,200}$") -> dict[str, Any]:
    schema = {"type": "string", "pattern": pattern}
    return {"name": name, "in": "header", "required": False, "description": text, "schema": schema}
