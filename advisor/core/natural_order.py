"""Names in the order that people expect: `web-9` comes before `web-10`."""

from __future__ import annotations

import re
from functools import lru_cache

_NUMBER = re.compile(r"[0-9]+")


@lru_cache(maxsize=65536)
def natural_key(text: str) -> str:
    """What the text is compared by: small letters, and each number behind its length."""
    return _NUMBER.sub(_by_length, text.lower())


def _by_length(found: re.Match[str]) -> str:
    digits = found[0].lstrip("0")
    return f"{len(digits):03}{digits}"
