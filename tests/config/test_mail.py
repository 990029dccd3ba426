"""The mail server from its address."""

from __future__ import annotations

import pytest

from config.mail import mail_server


@pytest.mark.parametrize(
    ("url", "port", "tls"),
    [
        ("smtp://h", 25, (False, False)),
        ("smtp+starttls://h", 587, (False, True)),
        ("smtps://h", 465, (True, False)),
        ("smtps://h:1465", 1465, (True, False)),
    ],
)
def test_address_says_port_and_encryption(url: str, port: int, tls: tuple[bool, bool]) -> None:
    server = mail_server(url)

    assert server is not None
    assert (server.host, server.port) == ("h", port)
    assert (server.tls_at_once, server.tls_after_greeting) == tls


def test_user_and_password_are_unquoted() -> None:
    server = mail_server("smtps://a%40b:p%2Fw@h")

    assert server is not None
    assert (server.user, server.password) == ("a@b", "p/w")


def test_without_an_address_there_is_no_server() -> None:
    assert mail_server(None) is None


@pytest.mark.parametrize("url", ["http://h", "smtps://", "mail.example.org"])
def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match="SLUICE_MAIL_URL must be"):
        mail_server(url)
