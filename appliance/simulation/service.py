"""The service in this process: its real views and decisions, asked without a socket."""

from __future__ import annotations

import sys
from collections.abc import Callable
from io import BytesIO
from typing import Any

from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.core.signals import got_request_exception
from django.db import OperationalError

from appliance.simulation.database import FailingStatements, unharmed_transaction
from appliance.simulation.network import Question, Said
from appliance.simulation.trail import Trail

UNAVAILABLE = 503
Answered = Callable[[Question, Said], None]


class SimulatedService:
    """Answers questions, unless it is away or its database fails."""

    def __init__(self, trail: Trail, answered: Answered) -> None:
        """`answered` is told each answer before it is on its way."""
        self._trail = trail
        self._answered = answered
        self._handler = WSGIHandler()
        self._error: BaseException | None = None
        self.statements = FailingStatements(lambda: trail.fault("service", "statement fails"))
        self.is_away = False

    def serve(self, question: Question) -> Said | None:
        """The answer; None while it is away."""
        if self.is_away:
            return None
        self._error = None
        got_request_exception.connect(self._note_error)
        try:
            response = self._handler.get_response(WSGIRequest(_environment(question)))
        finally:
            got_request_exception.disconnect(self._note_error)
            # What fails does so within this question.
            self.statements.left = None
            unharmed_transaction()
        said = Said(status=response.status_code, body=b"".join(response))
        self._trail.require(
            said.status == UNAVAILABLE or said.status < 500,
            "never-an-error-unforeseen",
            f"the service answers {said.status} to {question.path}: {self._error!r}",
        )
        self._answered(question, said)
        return said

    def decide(self, act: Callable[[], object]) -> bool:
        """Let a person decide something on the server; False if the database fails meanwhile."""
        try:
            act()
        except OperationalError:
            return False
        finally:
            self.statements.left = None
            unharmed_transaction()
        return True

    def _note_error(self, **_: Any) -> None:
        self._error = sys.exc_info()[1]


def _environment(question: Question) -> dict[str, Any]:
    """The WSGI environment (PEP 3333) of a question from this machine."""
    headers = {
        f"HTTP_{name.upper().replace('-', '_')}": value
        for name, value in question.headers.items()
        if name != "Content-Type"
    }
    return {
        "REQUEST_METHOD": question.method,
        "PATH_INFO": question.path,
        "QUERY_STRING": "",
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "CONTENT_TYPE": question.headers.get("Content-Type", ""),
        "CONTENT_LENGTH": str(len(question.body)) if question.method == "POST" else "",
        "wsgi.input": BytesIO(question.body),
        "wsgi.url_scheme": "http",
        **headers,
    }
