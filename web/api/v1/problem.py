"""How the API refuses: RFC 9457, with a code that programs can tell apart."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpResponse
from ninja.errors import HttpError, ValidationError

from accounts.authentication import AuthenticationError, ForbiddenError
from accounts.errors import AccountsError, NotAllowed, NotFound
from advisor.decisions.policy_file.decide.problems import PolicyFileError
from advisor.errors import AdvisorError

API_PATH = "/api/v1/"
CONTENT_TYPE = "application/problem+json"
RETRY_AFTER_S = 10
log = logging.getLogger(__name__)

_KNOWN: Mapping[type[Exception], tuple[int, str]] = {
    AuthenticationError: (401, "unauthorized"),
    ForbiddenError: (403, "forbidden"),
    NotAllowed: (403, "not_allowed"),
    NotFound: (404, "not_found"),
    Http404: (404, "not_found"),
    AccountsError: (409, "refused"),
    AdvisorError: (409, "refused"),
    RequestDataTooBig: (413, "too_large"),
    OperationalError: (503, "unavailable"),
    InterfaceError: (503, "unavailable"),
}
"""The status and code of each error; of several that fit the first counts."""


class Refused(Exception):
    """The request cannot be served; `status` and `code` tell programs why."""

    def __init__(self, status: int, code: str, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def problem_answer(
    status: int,
    code: str,
    detail: str,
    *,
    errors: Sequence[Mapping[str, Any]] = (),
    headers: Mapping[str, str] | None = None,
) -> HttpResponse:
    """One refusal as every route gives it; `errors` are the places that are wrong."""
    said: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "code": code,
        "detail": detail,
    }
    if errors:
        said["errors"] = list(errors)
    answer = HttpResponse(json.dumps(said), status=status, content_type=CONTENT_TYPE)
    answer.headers["Cache-Control"] = "no-store"
    if status == HTTPStatus.UNAUTHORIZED:
        answer.headers["WWW-Authenticate"] = 'Bearer realm="Sluice"'
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        answer.headers["Retry-After"] = str(RETRY_AFTER_S)
    for name, value in (headers or {}).items():
        answer.headers[name] = value
    return answer


def problem_of(error: Exception) -> HttpResponse:
    """The answer to a request that ended with this error."""
    match error:
        case Refused():
            return problem_answer(error.status, error.code, str(error), headers=error.headers)
        case ValidationError():
            return _invalid(error)
        case HttpError():
            # Only of a body that is no JSON.
            return problem_answer(error.status_code, "invalid", str(error))
        case PolicyFileError():
            wrong = [{"where": f"line {one.line}", "what": one.what} for one in error.problems]
            return problem_answer(409, "refused", str(error), errors=wrong)
    for kind, (status, code) in _KNOWN.items():
        if isinstance(error, kind):
            unavailable = status == HTTPStatus.SERVICE_UNAVAILABLE
            detail = "the database does not answer" if unavailable else str(error)
            return problem_answer(status, code, detail)
    log.error("request to the API failed", exc_info=error)
    return problem_answer(
        500, "failed", "something failed on our side; the log of the web process says what"
    )


def _invalid(error: ValidationError) -> HttpResponse:
    """Each wrong field, by its path."""
    wrong = [{"where": ".".join(map(str, one["loc"])), "what": one["msg"]} for one in error.errors]
    told = "; ".join(f"{one['where']}: {one['what']}" for one in wrong[:3])
    return problem_answer(422, "invalid", told, errors=wrong)
