"""The queue's server as Celery and its clients reach it."""

from __future__ import annotations

import pytest
from kombu import Connection

from accounts.queue_server import SENTINEL_TIMEOUT_S
from config.broker import TIMEOUT_S, broker

SENTINELS = (
    "sentinel://sluice:p%40ss%3Bw@s1:26379,[fd00::2]:26380/2"
    "?master=queue&sentinel_user=watch&sentinel_password=other"
)


@pytest.mark.parametrize(
    ("redis_url", "expected"),
    [
        ("unix:///data/run/valkey.sock", "redis+socket:///data/run/valkey.sock"),
        ("redis://queue:6379/1", "redis://queue:6379/1"),
        ("rediss://queue:6380/0", "rediss://queue:6380/0"),
    ],
)
def test_address_of_one_server_is_spelled_for_celery(redis_url: str, expected: str) -> None:
    found = broker(redis_url)

    assert (found.url, found.options) == (expected, {})


def test_each_sentinel_is_an_address_with_the_login_of_the_servers() -> None:
    found = broker(SENTINELS)

    login = "sluice:p%40ss%3Bw"
    assert found.url == (f"sentinel://{login}@s1:26379/2;sentinel://{login}@[fd00::2]:26380/2")
    connection = Connection(found.url, transport_options=found.options)
    assert (connection.userid, connection.password) == ("sluice", "p@ss;w")
    assert (connection.virtual_host, len(connection.alt)) == ("2", 2)


def test_sentinels_are_asked_once_with_their_own_login_and_a_time_limit() -> None:
    options = broker(SENTINELS).options

    assert options["master_name"] == "queue"
    assert options["socket_timeout"] == options["socket_connect_timeout"] == TIMEOUT_S
    asked = options["sentinel_kwargs"]
    assert (asked["username"], asked["password"]) == ("watch", "other")
    assert asked["socket_timeout"] == asked["socket_connect_timeout"] == SENTINEL_TIMEOUT_S
    assert asked["retry"].get_retries() == 0


def test_secrets_are_not_shown() -> None:
    assert "p%40ss" not in repr(broker(SENTINELS))
