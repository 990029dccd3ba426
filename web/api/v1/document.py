"""The OpenAPI document: what django-ninja derives from the routes, and what the door adds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from accounts.models.kept_answer import LONGEST_KEY
from web.api.v1.api import API
from web.api.v1.problem import API_PATH, CONTENT_TYPE

ABOUT = (
    "Reads and changes what the pages of Sluice show, as the person of a token. "
    "Times are RFC 3339 in UTC; a number is in the unit that its name or the field `unit` says; "
    "what is not known or not set is null. docs/api.md has examples."
)
REFUSALS = {
    "400": "the body is no JSON",
    "401": "no token that is valid",
    "403": "the scope of the token or the role of its person does not allow it",
    "404": "nothing there that this person can see",
    "409": "what is there does not allow it",
    "412": "it changed since it was read",
    "413": "the body is too large",
    "422": "a value is wrong",
    "429": "too many requests; wait as Retry-After says",
    "500": "something failed on our side",
    "503": "the database does not answer",
}
OF_WRITES = {"400", "409", "412", "413"}
MATCHED = ("put", "patch", "delete")
"""Beside these, what decides about something."""
DECIDING = (
    "approve_recommendation", "reject_recommendation", "roll_back_policy", "apply_policy",
    "go_on_with_rollout", "stop_all_rollouts", "resume_all_rollouts",
    "undo_class_change",
)  # fmt: skip
_TAG = {"type": "string", "maxLength": 100, "pattern": r'^[!#-~"]*$'}
_WHOLE = {"type": "integer", "minimum": 0}


def openapi() -> dict[str, Any]:
    """The document, in a stable order."""
    document = json.loads(json.dumps(API.get_openapi_schema(path_prefix=API_PATH)))
    document["info"]["description"] = ABOUT
    document["servers"] = [{"url": "/"}]
    components = document["components"]
    components["schemas"]["Problem"] = _PROBLEM
    components["responses"] = {f"Refused{code}": _refusal(why) for code, why in REFUSALS.items()}
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"token": []}]
    for method, operation in _operations(document):
        _complete(method, operation)
    return dict(document)


def openapi_text() -> str:
    """The document as it is committed."""
    return json.dumps(openapi(), indent=2, sort_keys=True) + "\n"


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path in document["paths"].values():
        yield from path.items()


LOADING = ("export_organisation",)
"""Their answer is a file."""
_ZIP = {"application/zip": {"schema": {"type": "string", "format": "binary"}}}
UPLOADING = ("upload_file",)
"""Their body is a file, as it is."""
_FILE = {
    "application/octet-stream": {
        "schema": {"type": "string", "format": "binary", "minLength": 1},
    }
}


def _complete(method: str, operation: dict[str, Any]) -> None:
    if operation["operationId"] in UPLOADING:
        operation["requestBody"] = {"required": True, "content": _FILE}
    parameters = [_plain_parameter(one) for one in operation.get("parameters", [])]
    writes, loads = method != "get", operation["operationId"] in LOADING
    if loads:
        operation["responses"]["200"] = {"description": "OK", "content": _ZIP}
    if writes and not loads:
        parameters.append(
            _header(
                "Idempotency-Key",
                "done once, however often it is sent within a day",
                {"type": "string", "maxLength": LONGEST_KEY, "pattern": "^[ -~]*$"},
            )
        )
    if method in MATCHED or operation["operationId"] in DECIDING:
        parameters.append(_header("If-Match", "the ETag of what was read", _TAG))
    operation["parameters"] = parameters
    for code, answer in operation["responses"].items():
        if code.startswith("2"):
            answer["headers"] = _HEADERS
            if code == "204":
                answer.pop("content", None)
    for code in REFUSALS:
        if writes or code not in OF_WRITES:
            operation["responses"][code] = {"$ref": f"#/components/responses/Refused{code}"}


def _plain_parameter(parameter: dict[str, Any]) -> dict[str, Any]:
    """In an address nothing is null: it is left out."""
    schema = parameter["schema"]
    kinds = [one for one in schema.get("anyOf", []) if one != {"type": "null"}]
    if len(kinds) == 1:
        rest = {name: value for name, value in schema.items() if name != "anyOf"}
        parameter = {**parameter, "schema": {**rest, **kinds[0]}}
    return parameter


def _header(name: str, about: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name, "in": "header", "required": False, "description": about, "schema": schema,
    }  # fmt: skip


def _refusal(why: str) -> dict[str, Any]:
    return {
        "description": why,
        "content": {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }


_HEADERS = {
    "ETag": {"description": "of what can be changed", "schema": {"type": "string"}},
    "RateLimit": {
        "description": "what is left of RateLimit-Policy, and until it is full again",
        "schema": {"type": "string"},
    },
    "RateLimit-Policy": {
        "description": "how often the token may ask", "schema": {"type": "string"},
    },
}  # fmt: skip
_PROBLEM = {
    "type": "object",
    "title": "Problem",
    "description": "A refusal (RFC 9457); `code` is for programs, `detail` for people.",
    "required": ["type", "title", "status", "code", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": _WHOLE,
        "code": {"type": "string"},
        "detail": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["where", "what"],
                "properties": {"where": {"type": "string"}, "what": {"type": "string"}},
            },
        },
    },
}
