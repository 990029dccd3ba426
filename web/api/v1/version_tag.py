"""Tags of what can be changed, so that nobody changes what somebody else changed meanwhile."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from django.http import HttpRequest, HttpResponse

from web.api.v1.door import is_among
from web.api.v1.problem import Refused


def tag_of(*values: Any) -> str:
    """The ETag of something that has these values."""
    text = json.dumps(values, sort_keys=True, default=str)
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:24]}"'


def require_match(request: HttpRequest, tag: str) -> None:
    """Refuse a request whose If-Match names another state than that of now."""
    known = request.headers.get("If-Match", "")
    if known and not is_among(tag, known):
        raise Refused(
            412, "changed_meanwhile", f"it is another than {known[:80]} now; read it again",
            ETag=tag,
        )  # fmt: skip


def tagged(response: HttpResponse, tag: str) -> None:
    """Tell the tag with the answer."""
    response.headers["ETag"] = tag
