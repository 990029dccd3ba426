"""A WSGI layer that passes chunked bodies to Django, and refuses those too large.

Django reads as many bytes as Content-Length says. A chunked request has none, so Django would take
it for empty: Telegraf's batches would be answered as if they held nothing, and be lost.

A chunked body is read when it is asked for, so nothing is read of a sender who is refused.
"""

import json
from collections.abc import Callable, Collection, Iterable
from io import BytesIO
from typing import Any, BinaryIO

from ingest.body import BodyTooLargeError, UnreadableBodyError

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]

READ_BYTES = 64 * 1024
# A refused body is read on to this size, because a client whose connection is closed while it
# sends often misses the answer, and Telegraf needs the 413 to split its batch.
DRAINED_BYTES = 64 * 1024 * 1024


class ChunkedBody:
    """Wraps a WSGI application so that every body reaches it whole, with its length.

    Answers 413 above the limit, but on paths whose views have a limit of their own for what is
    announced. Its server must end the input where the body ends and say so, and raise an `OSError`
    where it was cut off; else a chunked body is left as it is.
    """

    def __init__(
        self,
        application: Application,
        *,
        max_body_bytes: int,
        paths_with_own_limit: Collection[str] = (),
    ) -> None:
        self.application = application
        self.max_body_bytes = max_body_bytes
        self.paths_with_own_limit = paths_with_own_limit

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request (PEP 3333)."""
        body: BinaryIO = environ["wsgi.input"]
        if not environ.get("HTTP_TRANSFER_ENCODING"):
            length_bytes = _content_length(environ)
            has_own_limit = environ.get("PATH_INFO") in self.paths_with_own_limit
            if length_bytes > self.max_body_bytes and not has_own_limit:
                _drain(body, min(length_bytes, DRAINED_BYTES))
                return self._too_large(start_response)
            return self.application(environ, start_response)
        if not environ.get("wsgi.input_terminated"):
            return self.application(environ, start_response)
        del environ["HTTP_TRANSFER_ENCODING"]
        environ["wsgi.input"] = LateBody(body, self.max_body_bytes)
        # Nobody may read more; the body ends where it ends.
        environ["CONTENT_LENGTH"] = str(self.max_body_bytes + 1)
        try:
            return self.application(environ, start_response)
        except BodyTooLargeError:
            return self._too_large(start_response)

    def _too_large(self, start_response: StartResponse) -> list[bytes]:
        return _answer(
            start_response,
            "413 Content Too Large",
            "request too large",
            too_large_text(self.max_body_bytes),
        )


class LateBody:
    """A chunked body, read whole when anything of it is asked for.

    Raises `BodyTooLargeError` then, or `UnreadableBodyError` if it is cut off.
    """

    def __init__(self, body: BinaryIO, max_body_bytes: int) -> None:
        self._body = body
        self._max_body_bytes = max_body_bytes
        self._content: BytesIO | None = None

    @property
    def size_bytes(self) -> int:
        """The size of the whole body."""
        return self._whole().getbuffer().nbytes

    def read(self, size: int = -1) -> bytes:
        return self._whole().read(size)

    def readline(self, size: int = -1) -> bytes:
        return self._whole().readline(size)

    def _whole(self) -> BytesIO:
        if self._content is None:
            try:
                content = _read(self._body, self._max_body_bytes + 1)
                if len(content) > self._max_body_bytes:
                    _drain(self._body, DRAINED_BYTES)
                    raise BodyTooLargeError(too_large_text(self._max_body_bytes))
            except OSError as error:
                raise UnreadableBodyError(f"the body ends too early: {error}") from error
            self._content = BytesIO(content)
        return self._content


def announced_bytes(environ: Environ) -> int:
    """The length of the body: as it was announced, or of a chunked one, which is read for that."""
    body = environ["wsgi.input"]
    return body.size_bytes if isinstance(body, LateBody) else _content_length(environ)


def too_large_text(max_body_bytes: int) -> str:
    return (
        f"the body is larger than {max_body_bytes} bytes; send it in smaller parts "
        "(SLUICE_MAX_BODY_BYTES sets the limit)"
    )


def _content_length(environ: Environ) -> int:
    """The announced length in bytes; 0 when there is none (left out or empty, PEP 3333)."""
    text = environ.get("CONTENT_LENGTH") or "0"
    return int(text) if text.isdecimal() else 0


def _read(body: BinaryIO, at_most: int) -> bytes:
    """The body up to a number of bytes."""
    parts = []
    while at_most > 0 and (part := body.read(min(READ_BYTES, at_most))):
        parts.append(part)
        at_most -= len(part)
    return b"".join(parts)


def _drain(body: BinaryIO, at_most: int) -> None:
    """Read and forget, up to a number of bytes."""
    while at_most > 0 and (part := body.read(min(READ_BYTES, at_most))):
        at_most -= len(part)


def _answer(
    start_response: StartResponse,
    status: str,
    code: str,
    message: str,
    *,
    headers: Iterable[tuple[str, str]] = (),
) -> list[bytes]:
    """A JSON answer in the form of the InfluxDB v2 interface."""
    content = json.dumps({"code": code, "message": message}).encode()
    start_response(
        status,
        [
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(content))),
            *headers,
        ],
    )
    return [content]
