"""Speaks with the service: fetches the policy document, delivers reports, hears other hosts."""

import logging
import time
from collections.abc import Mapping
from http import HTTPStatus
from typing import Protocol

from enforcers.config import ServerConfig
from enforcers.errors import ServerError
from enforcers.http_exchange import Answer, HttpExchange
from enforcers.request_id import HEADER as REQUEST_ID_HEADER
from enforcers.request_id import begin_exchange, of_newest_exchange
from enforcers.signature import kind_of
from enforcers.wire_signatures import (
    REPORT_HEADER,
    document_media,
    newest_number_in,
    signed_report,
)

log = logging.getLogger(__name__)

DOCUMENT_PATH = "/api/v1/enforcer/document"
REPORT_PATH = "/api/v1/enforcer/report"
EXCHANGE_PATH = "/api/v1/enforcer/exchange"
LIMITS_PATH = "/api/v1/enforcer/limits"
EXCHANGE_TIMEOUT_S = 2.0
"""An answer about four seconds is of no use much later."""
NO_HEADERS: Mapping[str, str] = {}
_TRY_AGAIN = {
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.TOO_MANY_REQUESTS,
}


class Http(Protocol):
    """Carries one question to the service, and its answer back."""

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
        *,
        most_s: float | None = None,
    ) -> Answer:
        """The whole answer, whatever its status. Raises ServerError if there is none."""
        ...


class Client:
    """The agent's own exchanges with the service."""

    def __init__(self, config: ServerConfig, *, http: Http | None = None) -> None:
        """`http` None goes over the network.

        Raises ConfigError if the certificate authority file is of no use.
        """
        self._http = HttpExchange(config) if http is None else http
        self._token = config.token
        self._report_key = config.report_key
        self._media = document_media(kind_of(config.document_key))
        self._last_number = 0

    def fetch_document(self) -> bytes:
        """The current policy document. Raises ServerError."""
        return self._exchange("GET", DOCUMENT_PATH, None)

    def send_report(self, report: bytes) -> None:
        """Deliver a report, signed by the host's own key if it has one. Raises ServerError.

        Numbers grow with the clock. Where one was ahead when an agent of before ran, the service
        tells the newest that it took, and they go on from there.
        """
        if self._report_key is None:
            self._exchange("POST", REPORT_PATH, report)
            return
        try:
            self._send_signed(report, self._report_key)
        except ServerError as error:
            if error.newest_number is None:
                raise
            self._last_number = max(self._last_number, error.newest_number)
            self._send_signed(report, self._report_key)

    def _send_signed(self, report: bytes, key: bytes) -> None:
        self._last_number = max(self._last_number + 1, time.time_ns() // 1000)
        header = signed_report(report, number=self._last_number, secret=key)
        self._exchange("POST", REPORT_PATH, report, more={REPORT_HEADER: header})

    def exchange(self, told: bytes) -> bytes:
        """What this host does on a datastore for what all of its hosts do. Raises ServerError."""
        return self._exchange("POST", EXCHANGE_PATH, told, most_s=EXCHANGE_TIMEOUT_S)

    def share_limits(self, told: bytes) -> bytes:
        """What this host does under limits of several hosts for its parts. Raises ServerError."""
        return self._exchange("POST", LIMITS_PATH, told, most_s=EXCHANGE_TIMEOUT_S)

    def _exchange(
        self,
        method: str,
        path: str,
        body: bytes | None,
        *,
        most_s: float | None = None,
        more: Mapping[str, str] = NO_HEADERS,
    ) -> bytes:
        headers = {"Authorization": f"Bearer {self._token}", "Accept": self._media, **more}
        headers[REQUEST_ID_HEADER] = begin_exchange()
        if body is not None:
            headers["Content-Type"] = "application/json"
        began_s = time.monotonic()
        try:
            answer = self._http.ask(method, path, body, headers, most_s=most_s)
        except ServerError:
            _log(path, None, began_s)
            raise
        _log(path, answer.status, began_s)
        _check_status(answer)
        return answer.body


def _log(path: str, status: int | None, began_s: float) -> None:
    """A refusal is in the service's log too, under the same id; others are for who looks."""
    is_refused = status not in (None, HTTPStatus.OK)
    about = {
        **of_newest_exchange(),
        "path": path,
        "status": status or "none",
        "duration_ms": round((time.monotonic() - began_s) * 1000, 1),
    }
    log.log(logging.INFO if is_refused else logging.DEBUG, "exchange", extra=about)


def _check_status(answer: Answer) -> None:
    if answer.status == HTTPStatus.OK:
        return
    is_final = 400 <= answer.status < 500 and answer.status not in _TRY_AGAIN
    raise ServerError(str(answer), is_final=is_final, newest_number=newest_number_in(answer.body))
