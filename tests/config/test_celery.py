"""The queue's address and the schedule."""

import pytest

from config.celery import BEAT_SCHEDULE, app, broker_url


@pytest.mark.parametrize(
    ("redis_url", "expected"),
    [
        ("unix:///data/run/valkey.sock", "redis+socket:///data/run/valkey.sock"),
        ("redis://queue:6379/1", "redis://queue:6379/1"),
        ("rediss://queue:6380/0", "rediss://queue:6380/0"),
    ],
)
def test_broker_address_is_spelled_for_celery(redis_url, expected):
    assert broker_url(redis_url) == expected


@pytest.mark.parametrize("name", sorted(BEAT_SCHEDULE))
def test_scheduled_task_exists(name):
    app.loader.import_default_modules()

    assert BEAT_SCHEDULE[name]["task"] in app.tasks


def test_killed_worker_loses_no_task():
    # A task is acknowledged when it is done, and given back when its process dies.
    assert app.conf.task_acks_late
    assert app.conf.task_reject_on_worker_lost


def test_violated_reservations_are_looked_for_as_often_as_the_advice_says() -> None:
    from advisor.advice.inputs.placement_inputs import LOOK_EVERY
    from advisor.core.placement.host_placement import FIX_WITHIN_S

    every_s = BEAT_SCHEDULE["place"]["schedule"]

    assert every_s == LOOK_EVERY.total_seconds()
    # A tenth of the five minutes, so that nine tenths are left to move a workload.
    assert every_s <= FIX_WITHIN_S / 10
