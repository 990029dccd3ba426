"""The address of the queue's server, from a setting. Its text is never shown: it may be secret."""

from __future__ import annotations

from urllib.parse import urlsplit

from accounts.sentinels import SCHEME, WrongAddress, sentinels
from config.env import SettingError

NAME = "REDIS_URL"
FORMS = (
    "redis://HOST:6379/0, rediss://HOST:6379/0, unix:///PATH "
    "or sentinel://HOST:26379,HOST:26379/0?master=NAME"
)


def queue_url(url: str | None) -> str | None:
    """The address as it was stated; None without one."""
    if not url:
        return None
    if url.startswith(SCHEME):
        try:
            sentinels(url)
        except WrongAddress as error:
            raise SettingError(f"{NAME} {error}") from None
    elif not _is_usable(url):
        raise SettingError(f"{NAME} is no address; state it as {FORMS}")
    return url


def _is_usable(url: str) -> bool:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    if parts.scheme == "unix":
        return bool(parts.path)
    return parts.scheme in ("redis", "rediss") and bool(parts.hostname) and port != 0
