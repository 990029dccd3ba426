"""From where a request comes, with and without a proxy."""

from __future__ import annotations

import pytest
from django.test import RequestFactory

from web.client_address import client_address


@pytest.mark.parametrize(
    ("behind_proxy", "forwarded", "address"),
    [
        (False, "", "192.0.2.7"),
        (False, "203.0.113.9", "192.0.2.7"),
        (True, "203.0.113.9, 198.51.100.4", "198.51.100.4"),
        (True, "2001:db8::1", "2001:db8::1"),
        (True, "", ""),
        (True, "<script>", ""),
    ],
)
def test_address_is_what_cannot_be_made_up(
    settings: object, behind_proxy: bool, forwarded: str, address: str
) -> None:
    settings.BEHIND_PROXY = behind_proxy  # type: ignore[attr-defined]
    request = RequestFactory().get(
        "/", REMOTE_ADDR="192.0.2.7", headers={"X-Forwarded-For": forwarded}
    )

    assert client_address(request) == address
