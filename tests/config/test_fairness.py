"""5,000 idle disks of one organisation beside three busy ones of another; real valkey.

Bound: with n organisations each has at least a n-th of the 500 places of a round, or all it asks
for. So the busy three are among the first six of each round, and the idle have all had a turn
after ceil(5000 / 497) = 11 rounds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
import redis

from accounts.models import Organisation
from advisor.decisions.inventory import add_resource
from advisor.models import Resource, ResourceKind, ResourceStatus
from advisor.tasks import MOST_EVALUATIONS, detect_everywhere, detect_resource
from tests.config.queued import empty, waiting

pytestmark = [pytest.mark.valkey, pytest.mark.django_db]

IDLE = 5000
ROUNDS = 11


@pytest.fixture
def queue(valkey_url: str) -> Iterator[str]:
    empty(valkey_url)
    yield valkey_url
    empty(valkey_url)


@pytest.fixture
def idle() -> set[int]:
    crowd = Organisation.objects.create(slug="crowd", name="Crowd")
    made = Resource.objects.bulk_create(
        Resource(
            organisation=crowd,
            name=f"h{number}/sda",
            kind=ResourceKind.DATASTORE,
            unit="iops",
            mode="floor",
            threshold=30.0,
            activity_floor=10.0,
        )
        for number in range(IDLE)
    )
    return {one.pk for one in made}


@pytest.fixture
def busy(idle: set[int]) -> set[int]:
    """Made last, so that only fairness brings them forward."""
    small = Organisation.objects.create(slug="small", name="Small")
    return {
        add_resource(
            organisation=small,
            name=name,
            kind=ResourceKind.DATASTORE,
            attachments=[("h1", name)],
        ).pk
        for name in ("sda", "sdb", "sdc")
    }


def take_all(url: str) -> list[int]:
    """Begin every waiting task, in order, as a worker does; the subjects."""
    taken = [int(message.args[0]) for message in waiting(url, "evaluate")]
    for subject in taken:
        detect_resource.before_start("id", (subject,), {})
    with redis.Redis.from_url(url) as client:
        client.delete("evaluate")
    return taken


def test_busy_are_first_in_every_round_and_all_idle_have_their_turn(
    queue: str, idle: set[int], busy: set[int]
) -> None:
    turns: Counter[int] = Counter()
    for _ in range(ROUNDS):
        detect_everywhere()
        taken = take_all(queue)

        assert len(taken) == MOST_EVALUATIONS
        assert busy <= set(taken[:6])
        turns.update(taken)

    assert {turns[one] for one in busy} == {ROUNDS}
    assert {turns[one] for one in idle} == {1, 2}


def test_busy_are_judged_again_while_the_idle_still_wait(
    queue: str, idle: set[int], busy: set[int]
) -> None:
    detect_everywhere()
    # The worker has come as far as the busy ones, and begins what was queued first.
    for message in waiting(queue, "evaluate")[:6]:
        detect_resource.apply(message.args, throw=True)
    with redis.Redis.from_url(queue) as client:
        client.ltrim("evaluate", 0, -7)

    detect_everywhere()

    looked = ResourceStatus.objects.exclude(looked_at=None)
    assert busy <= set(looked.values_list("resource", flat=True))
    # Six places were free; the busy have three of them again.
    assert len(waiting(queue, "evaluate")) == MOST_EVALUATIONS
    assert busy <= {message.args[0] for message in waiting(queue, "evaluate")[-6:]}
