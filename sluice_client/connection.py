"""One server and one token: what is asked and answered over HTTP."""

from __future__ import annotations

import json
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import Request, urlopen

Answer = TypeVar("Answer")
TIMEOUT_S = 60
MOST_BYTES = 256 * 1024 * 1024


class ApiError(Exception):
    """The server refused or cannot be reached; `status` is None for the latter."""

    def __init__(self, detail: str, *, status: int | None = None, code: str = "") -> None:
        super().__init__(detail)
        self.status, self.code = status, code


class Connection:
    """Asks a server as the person of a token."""

    def __init__(self, server: str, token: str, *, timeout_s: float = TIMEOUT_S) -> None:
        if urlsplit(server).scheme not in ("http", "https"):
            raise ApiError(f'"{server}" is no address of a server, such as https://sluice.example')
        self._server, self._token, self._timeout_s = server.rstrip("/"), token, timeout_s
        self.etag: str | None = None
        """The ETag of the last answer, for `if_match`."""

    def ask(
        self,
        method: str,
        path: str,
        kind: type[Answer],
        *,
        query: Mapping[str, Any] | None = None,
        body: object = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> Answer:
        """The answer as this kind; raises ApiError with the words of the server."""
        asked = {name: _text(value) for name, value in (query or {}).items() if value is not None}
        address = self._server + path + (f"?{urlencode(asked)}" if asked else "")
        content, kind_of_body = _written(body)
        request = Request(address, content, method=method)  # noqa: S310  http or https, see above
        request.add_header("Authorization", f"Bearer {self._token}")
        if content is not None:
            request.add_header("Content-Type", kind_of_body)
        for name, value in (headers or {}).items():
            if value is not None:
                request.add_header(name, value)
        content = self._sent(request)
        answer: Answer = decoded(kind, content if kind is bytes else self._read(content))
        return answer

    def _read(self, content: bytes) -> Any:
        try:
            return json.loads(content) if content else None
        except ValueError as error:
            raise ApiError(f"{self._server} does not speak the API of Sluice") from error

    def _sent(self, request: Request) -> bytes:
        try:
            with urlopen(request, timeout=self._timeout_s) as answer:  # noqa: S310  as above
                content: bytes = answer.read(MOST_BYTES + 1)
                self.etag = answer.headers.get("ETag")
        except HTTPError as error:
            raise _refusal(error) from error
        except (URLError, OSError) as error:
            reason = getattr(error, "reason", error)
            raise ApiError(f"{self._server} does not answer: {reason}") from error
        if len(content) > MOST_BYTES:
            raise ApiError(f"the answer has more than {MOST_BYTES} bytes; load it with curl")
        return content


def _written(body: object) -> tuple[bytes | None, str]:
    """The body as it is sent, and what it is: bytes are a file."""
    if body is None or isinstance(body, bytes):
        return body, "application/octet-stream"
    return json.dumps(to_plain(body)).encode(), "application/json"


def _refusal(error: HTTPError) -> ApiError:
    try:
        said = json.loads(error.read(MOST_BYTES))
        return ApiError(said["detail"], status=error.code, code=said["code"])
    except (ValueError, KeyError, TypeError):
        return ApiError(f"the server answers {error.code} {error.reason}", status=error.code)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def to_plain(value: Any) -> Any:
    """What JSON has of it; fields that are None where they need not be set are left out."""
    if is_dataclass(value):
        return {
            one.name: to_plain(found)
            for one in fields(value)
            if (found := getattr(value, one.name)) is not None or one.default is MISSING
        }
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, Mapping):
        return {key: to_plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(one) for one in value]
    return value


def decoded(kind: Any, value: Any) -> Any:
    """The value as this kind; a key that a later server added is passed over."""
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        kinds = [one for one in get_args(kind) if one is not types.NoneType]
        return None if value is None else decoded(kinds[0], value) if len(kinds) == 1 else value
    if origin is list:
        return [decoded(get_args(kind)[0], one) for one in value]
    if is_dataclass(kind):
        return _dataclass(cast("type[Any]", kind), value)
    if kind is datetime:
        return datetime.fromisoformat(value)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        # A word that a later server added stays a text.
        return kind(value) if value in set(kind) else value
    return float(value) if kind is float else value


def _dataclass(kind: type[Any], value: Any) -> Any:
    hints = get_type_hints(kind)
    try:
        return kind(
            **{
                one.name: decoded(hints[one.name], value[one.name])
                for one in fields(kind)
                if one.name in value or one.default is MISSING
            }
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ApiError(f"the answer is no {kind.__name__}: {error}") from error
