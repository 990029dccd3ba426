"""The queue's server refuses what is new when it is full, forgets nothing, and takes it later."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
import redis
from django.utils import timezone
from redis.exceptions import OutOfMemoryError

from accounts.models import Organisation
from advisor.core.health.checks import Check, Condition, checks
from advisor.queries.health import health_figures
from advisor.tasks import detect_everywhere, learn_everywhere
from appliance.embedded.memory_bounds import queue_bytes
from appliance.embedded.postgres_memory import GIB, MIB, machine_memory_bytes
from config.scheduler_lease import SchedulerLease
from tests.config.queued import all_waiting, empty

FILLER = "filler"


@pytest.mark.parametrize(
    ("memory_bytes", "expected"),
    [(GIB, 64 * MIB), (16 * GIB, 512 * MIB), (1024 * GIB, GIB)],
)
def test_bound_follows_the_machine(memory_bytes: int, expected: int) -> None:
    assert queue_bytes(memory_bytes) == expected


@pytest.fixture
def server(valkey_url: str) -> Iterator[redis.Redis]:
    empty(valkey_url)
    with redis.Redis.from_url(valkey_url, decode_responses=True) as client:
        bound = client.config_get("maxmemory")["maxmemory"]
        yield client
        client.config_set("maxmemory", bound)
    empty(valkey_url)


def fill(server: redis.Redis) -> None:
    """Leave no room, as messages would that nobody takes."""
    # Other tests of this run have left something in it, if only buffers.
    bound = int(server.info("memory")["used_memory"]) + 8 * MIB
    server.set(FILLER, "x" * 16 * MIB)
    server.config_set("maxmemory", bound)


def make_room(server: redis.Redis) -> None:
    """A large value is freed by a thread of the server, some time after it was deleted."""
    server.delete(FILLER)
    deadline_s = time.monotonic() + 30
    while server.info("memory")["used_memory"] > 0.8 * int(
        server.config_get("maxmemory")["maxmemory"]
    ):
        assert time.monotonic() < deadline_s
        time.sleep(0.05)


@pytest.mark.valkey
def test_server_is_bounded_and_never_forgets_messages(server: redis.Redis) -> None:
    said = server.config_get("maxmemory*")

    assert said["maxmemory"] == str(queue_bytes(machine_memory_bytes()))
    assert said["maxmemory-policy"] == "noeviction"


@pytest.mark.valkey
def test_full_queue_refuses_what_is_new_and_takes_it_when_there_is_room(
    server: redis.Redis, valkey_url: str
) -> None:
    detect_everywhere.delay()
    kept = all_waiting(valkey_url)
    fill(server)

    with pytest.raises(OutOfMemoryError):
        learn_everywhere.delay()
    assert not SchedulerLease().take()
    assert all_waiting(valkey_url) == kept

    make_room(server)
    learn_everywhere.delay()
    assert SchedulerLease().take()
    assert [one.task for one in all_waiting(valkey_url)] == [
        "detect_everywhere",
        "learn_everywhere",
    ]


@pytest.mark.valkey
@pytest.mark.django_db
def test_health_says_that_the_queue_is_full_until_there_is_room(server: redis.Redis) -> None:
    organisation = Organisation.objects.create(slug="northgate")

    def shown() -> Check:
        figures = health_figures(
            organisation=organisation, now=timezone.now(), with_installation=True
        )
        (check,) = [one for one in checks(figures) if one.name == "Memory of the queues"]
        return check

    fill(server)
    full = shown()
    make_room(server)
    later = shown()

    assert (full.condition, full.needs_attention) == (Condition.LOW, True)
    assert "a full server takes no new work" in full.text
    assert later.condition == Condition.CLEAR
