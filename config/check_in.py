"""Where Sluice checks in while it is healthy, from a setting."""

from urllib.parse import urlsplit

from config.env import SettingError

NAME = "SLUICE_CHECK_IN_URL"


def check_in_url(url: str | None) -> str:
    """The address as it was stated; empty where nobody watches. Its text is never shown."""
    if not url:
        return ""
    try:
        parts = urlsplit(url)
        is_known = parts.scheme in ("https", "http") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_known = False
    if not is_known or not url.isascii() or not url.isprintable() or " " in url:
        raise SettingError(f"{NAME} is no address; state it as https://HOST/PATH")
    if parts.username is not None or parts.fragment:
        raise SettingError(f"{NAME} has a user or a fragment, which receivers of this have not")
    return url
