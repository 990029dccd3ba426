"""A person who logs in and opens a page, with what every Python brings along."""

from __future__ import annotations

import re
import urllib.parse
import urllib.request
from http.cookiejar import CookieJar
from urllib.request import HTTPCookieProcessor, OpenerDirector

TIMEOUT_S = 600.0
"""An emulated processor takes minutes to check a password."""
FIRST_PASSWORD = re.compile(r"log in as (\S+) with the password (\S+)")
SHOWN_NAME = re.compile(r"<a [^>]*href=\"/resources/\d+/[^>]*>([^<]+)</a>")


def log_in(address: str, said: str) -> OpenerDirector:
    """With the name and the password that a first start has said.

    Raises LookupError where it said none, and PermissionError where they are refused.
    """
    if (told := FIRST_PASSWORD.search(said)) is None:
        raise LookupError(f"no password: {said}")
    browser = urllib.request.build_opener(HTTPCookieProcessor(CookieJar()))
    form = _open(browser, f"{address}/login/")
    hidden = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', form)
    fields = {
        "csrfmiddlewaretoken": hidden.group(1) if hidden else "",
        "login": told.group(1),
        "password": told.group(2),
    }
    body = urllib.parse.urlencode(fields).encode()
    if 'name="password"' in _open(browser, f"{address}/login/", body):
        raise PermissionError(f"{told.group(1)} is refused")
    return browser


def shown_resources(browser: OpenerDirector, address: str) -> list[str]:
    """The names of disks and uplinks that the pages of storage and networks show."""
    pages = [_open(browser, f"{address}/{one}/") for one in ("storage", "networks")]
    return sorted({name.strip() for page in pages for name in SHOWN_NAME.findall(page)})


def _open(browser: OpenerDirector, address: str, body: bytes | None = None) -> str:
    with browser.open(address, body, timeout=TIMEOUT_S) as answer:
        page: str = answer.read().decode()
    return page
