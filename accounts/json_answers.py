"""How programs are answered: JSON, and a refusal with a code and a message."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from http import HTTPStatus
from types import MappingProxyType
from typing import Any

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse

from accounts.authentication import AuthenticationError, ForbiddenError

RETRY_AFTER_S = 10
NO_DETAILS: Mapping[str, object] = MappingProxyType({})

View = Callable[..., HttpResponse]
Refusals = Mapping[type[Exception], tuple[int, str]]
"""The status and code of each error."""


class RequestError(Exception):
    """The request cannot be served; `status` and `code` tell programs why."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def error_answer(
    status: int,
    code: str,
    message: str,
    *,
    retry_after_s: int | None = None,
    details: Mapping[str, object] = NO_DETAILS,
) -> HttpResponse:
    """One error as every endpoint gives it; `details` are for programs."""
    answer = JsonResponse({"code": code, "message": message, **details}, status=status)
    if retry_after_s is None and status == HTTPStatus.SERVICE_UNAVAILABLE:
        retry_after_s = RETRY_AFTER_S
    if retry_after_s is not None:
        # Telegraf understands seconds only, no dates.
        answer.headers["Retry-After"] = str(retry_after_s)
    return answer


def answers_in_json(refusals: Refusals, *, no_database: str) -> Callable[[View], View]:
    """Turn what can go wrong into `{"code", "message"}` with the fitting status.

    `refusals` are the errors of these views beside those of authentication and `RequestError`; one
    with `retry_after_s` says so in a header, and one with `details` has them beside its message;
    `no_database` says what it means for the request that the database does not answer.
    """
    known: dict[type[Exception], tuple[int, str]] = {
        AuthenticationError: (401, "unauthorized"),
        ForbiddenError: (403, "forbidden"),
        **refusals,
    }

    def decorate(view: View) -> View:
        @wraps(view)
        def answering(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            try:
                return view(request, *args, **kwargs)
            except RequestError as error:
                return error_answer(error.status, error.code, str(error))
            except (OperationalError, InterfaceError):
                return error_answer(503, "unavailable", no_database)
            except tuple(known) as error:
                status, code = next(known[kind] for kind in known if isinstance(error, kind))
                return error_answer(
                    status,
                    code,
                    str(error),
                    retry_after_s=getattr(error, "retry_after_s", None),
                    details=getattr(error, "details", NO_DETAILS),
                )

        return answering

    return decorate
