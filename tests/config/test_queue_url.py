"""The address of the queue's server is refused with what to do, and never shown."""

from __future__ import annotations

import pytest

from config.env import SettingError
from config.queue_url import queue_url


@pytest.mark.parametrize(
    "url",
    [
        "redis://queue:6379/0",
        "redis://:word@queue",
        "rediss://user:word@queue:6380/1?ssl_cert_reqs=none",
        "unix:///data/run/valkey.sock?db=1",
        "sentinel://:word@s1:26379,s2:26379,s3/0?master=queue",
    ],
)
def test_address_is_taken_as_it_is(url: str) -> None:
    assert queue_url(url) == url


@pytest.mark.parametrize("url", [None, ""])
def test_no_address_is_none(url: str | None) -> None:
    assert queue_url(url) is None


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("queue:6379", "is no address; state it as redis://HOST"),
        ("amqp://:word@queue", "is no address"),
        ("redis://", "is no address"),
        ("redis://:word@queue:many/0", "is no address"),
        ("redis://queue:0", "is no address"),
        ("redis://[::1", "is no address"),
        ("unix://", "is no address"),
        ("sentinels://:word@s1?master=queue", "is no address"),
        ("sentinel://:word@s1", r"names no master; end it with \?master=NAME"),
        ("sentinel://:word@s1:x?master=queue", "has a sentinel that is not HOST"),
    ],
)
def test_wrong_address_is_refused_without_its_text(url: str, said: str) -> None:
    with pytest.raises(SettingError, match=f"^REDIS_URL {said}") as refused:
        queue_url(url)

    assert "word" not in str(refused.value)
    assert refused.value.__cause__ is None
