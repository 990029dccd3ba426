"""How the programs' interface answers: JSON, and errors with a code and a message."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse

from accounts.authentication import AuthenticationError, ForbiddenError
from advisor.errors import ReportRefused
from enforcers.contract import ContractError

RETRY_AFTER_S = 10

View = Callable[..., HttpResponse]


class RequestError(Exception):
    """The request cannot be served; `status` and `code` tell programs why."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def error_answer(status: int, code: str, message: str) -> HttpResponse:
    """One error as every endpoint of the interface gives it."""
    return JsonResponse({"code": code, "message": message}, status=status)


def answers_in_json(view: View) -> View:
    """Turn what can go wrong into `{"code", "message"}` with the fitting status."""

    @wraps(view)
    def answering(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except AuthenticationError as error:
            return error_answer(401, "unauthorized", str(error))
        except ForbiddenError as error:
            return error_answer(403, "forbidden", str(error))
        except ContractError as error:
            return error_answer(400, "invalid", str(error))
        except ReportRefused as error:
            return error_answer(422, "refused", str(error))
        except RequestError as error:
            return error_answer(error.status, error.code, str(error))
        except (OperationalError, InterfaceError):
            answer = error_answer(503, "unavailable", "the database does not answer; try later")
            answer.headers["Retry-After"] = str(RETRY_AFTER_S)
            return answer

    return answering
