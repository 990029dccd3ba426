"""Requests to servers of others that end: in time, and with so much."""

from __future__ import annotations

import io
import time
from typing import Any

import requests
from urllib3.exceptions import HTTPError

SILENT_S = 5.0
"""So long nothing may come."""
ALL_S = 10.0
"""So long an answer may take, if something comes all the time."""
LARGEST_BYTES = 1024 * 1024


class BoundedSession(requests.Session):
    """Ends a request whose answer is too slow or too large with a `RequestException`."""

    def request(self, method: Any, url: Any, *args: Any, **options: Any) -> requests.Response:
        options["timeout"] = SILENT_S
        # What is sent holds secrets, which are for nobody else.
        options["allow_redirects"] = False
        options["hooks"] = {"response": _read}
        return super().request(method, url, *args, **options)


def _read(response: requests.Response, **_: Any) -> None:
    """Read the body now; requests itself would wait for each piece anew."""
    until, body = time.monotonic() + ALL_S, bytearray()
    try:
        while piece := response.raw.read1(decode_content=True):
            body += piece
            if time.monotonic() > until:
                raise requests.Timeout(f"{response.url} takes longer than {ALL_S:.0f} s")
            if len(body) > LARGEST_BYTES:
                raise requests.RequestException(f"{response.url} answers more than 1 MiB")
    except HTTPError as error:
        raise requests.ConnectionError(str(error)) from error
    response.raw = io.BytesIO(bytes(body))
