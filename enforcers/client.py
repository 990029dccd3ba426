"""Speaks with the service: fetches the policy document, delivers reports, hears other hosts."""

from http import HTTPStatus

from enforcers.config import ServerConfig
from enforcers.contract import DOCUMENT_MEDIA
from enforcers.errors import ServerError
from enforcers.http_exchange import Answer, HttpExchange

DOCUMENT_PATH = "/api/v1/enforcer/document"
REPORT_PATH = "/api/v1/enforcer/report"
EXCHANGE_PATH = "/api/v1/enforcer/exchange"
LIMITS_PATH = "/api/v1/enforcer/limits"
EXCHANGE_TIMEOUT_S = 2.0
"""An answer about four seconds is of no use much later."""
_TRY_AGAIN = {
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.TOO_MANY_REQUESTS,
}


class Client:
    """The agent's own exchanges with the service."""

    def __init__(self, config: ServerConfig) -> None:
        """Raises ConfigError if the certificate authority file is of no use."""
        self._http = HttpExchange(config)
        self._token = config.token

    def fetch_document(self) -> bytes:
        """The current policy document. Raises ServerError."""
        return self._exchange("GET", DOCUMENT_PATH, None)

    def send_report(self, report: bytes) -> None:
        """Deliver a report. Raises ServerError."""
        self._exchange("POST", REPORT_PATH, report)

    def exchange(self, told: bytes) -> bytes:
        """What this host does on a datastore for what all of its hosts do. Raises ServerError."""
        return self._exchange("POST", EXCHANGE_PATH, told, most_s=EXCHANGE_TIMEOUT_S)

    def share_limits(self, told: bytes) -> bytes:
        """What this host does under limits of several hosts for its parts. Raises ServerError."""
        return self._exchange("POST", LIMITS_PATH, told, most_s=EXCHANGE_TIMEOUT_S)

    def _exchange(
        self, method: str, path: str, body: bytes | None, *, most_s: float | None = None
    ) -> bytes:
        headers = {"Authorization": f"Bearer {self._token}", "Accept": DOCUMENT_MEDIA}
        if body is not None:
            headers["Content-Type"] = "application/json"
        answer = self._http.ask(method, path, body, headers, most_s=most_s)
        _check_status(answer)
        return answer.body


def _check_status(answer: Answer) -> None:
    if answer.status == HTTPStatus.OK:
        return
    is_final = 400 <= answer.status < 500 and answer.status not in _TRY_AGAIN
    raise ServerError(str(answer), is_final=is_final)
