"""The schedule."""

import re
from pathlib import Path

import pytest

from config.celery import BEAT_SCHEDULE, app
from config.queues import QUEUES


@pytest.mark.parametrize("name", sorted(BEAT_SCHEDULE))
def test_scheduled_task_exists(name):
    app.loader.import_default_modules()

    assert BEAT_SCHEDULE[name]["task"] in app.tasks


def test_violated_reservations_are_looked_for_as_often_as_the_advice_says() -> None:
    from advisor.advice.host_placement.decide.host_placement import FIX_WITHIN_S
    from advisor.advice.host_placement.gather import LOOK_EVERY

    every_s = BEAT_SCHEDULE["place"]["schedule"]

    assert every_s == LOOK_EVERY.total_seconds()
    # A tenth of the five minutes, so that nine tenths are left to move a workload.
    assert every_s <= FIX_WITHIN_S / 10


def test_queues_are_documented_as_they_are() -> None:
    document = (Path(__file__).resolve().parents[2] / "docs" / "architecture.md").read_text()
    rows = re.findall(
        r"^\| `(\w+)` \|[^|]*\| (\d+) \| (\d+) s, (\d+) s \| (\d+) s \|$", document, re.MULTILINE
    )

    assert [(name, *map(int, numbers)) for name, *numbers in rows] == [
        (one.name, one.slots, one.soft_limit_s, one.hard_limit_s, one.expires_s) for one in QUEUES
    ]
