"""A real web server on the test database, and a real browser in front of it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import quote

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from playwright.sync_api import Browser, Page, Response, ViewportSize

START_DEADLINE_S = 30.0
DESKTOP: ViewportSize = {"width": 1280, "height": 800}


def database_url() -> str:
    """The test database, as the server's environment names it."""
    place: dict[str, Any] = connection.settings_dict
    host = quote(str(place["HOST"]), safe="")
    return f"postgres://{place['USER']}@{host}:{place['PORT']}/{place['NAME']}"


@contextmanager
def web_server(log: Path) -> Iterator[str]:
    """The product's web server; gives its address and stops it afterwards."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    with log.open("w") as output:
        server = subprocess.Popen(
            [sys.executable, "-m", "appliance.web_server", f"--port={port}"],
            env={**os.environ, "DATABASE_URL": database_url()},
            stdout=output,
            stderr=output,
        )  # fmt: skip
        try:
            _wait_until_ready(address, server, log)
            yield address
        finally:
            server.terminate()
            server.wait(timeout=START_DEADLINE_S)


def _wait_until_ready(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_DEADLINE_S
    while time.monotonic() < deadline:
        assert server.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(f"{address}/login/", timeout=5):
                return
        except (URLError, ConnectionError, TimeoutError):
            time.sleep(0.05)
    raise AssertionError(log.read_text())


@dataclass(slots=True)
class Visit:
    """One person's tab; `complaints` is all that the console and the network had to say."""

    page: Page
    address: str
    complaints: list[str] = field(default_factory=list)

    def listen(self) -> None:
        self.page.on("console", lambda said: self.complaints.append(said.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("response", lambda answer: self.complaints.extend(_refusal(answer)))

    def go(self, path: str) -> None:
        self.page.goto(f"{self.address}{path}")

    def log_in(self, name: str) -> None:
        """Be logged in and see the home; `test_login_in_browser` alone types a password."""
        person = get_user_model().objects.get(username=name)
        client = Client()
        client.force_login(person)
        cookie = client.cookies[settings.SESSION_COOKIE_NAME]
        self.page.context.add_cookies(
            [{"name": cookie.key, "value": cookie.value, "url": self.address}]
        )
        self.go("/")


def _refusal(answer: Response) -> list[str]:
    return [f"{answer.status} {answer.url}"] if answer.status >= 400 else []


@contextmanager
def visit(
    browser: Browser, address: str, *, scheme: str = "light", size: ViewportSize = DESKTOP
) -> Iterator[Visit]:
    """A fresh tab of nobody."""
    context = browser.new_context(
        viewport=size,
        color_scheme="dark" if scheme == "dark" else "light",
        accept_downloads=True,
    )
    try:
        tab = Visit(page=context.new_page(), address=address)
        tab.listen()
        yield tab
    finally:
        context.close()
