"""5,000 idle disks of one organisation beside three busy ones of another; real valkey.

The idle are 25 groups of 200. Bound: organisations take turns, so the one group of the busy is
among the first two of each round, and each group of the idle has its turn in every round.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
import redis

from accounts.models import Organisation
from advisor.core.turns import MOST_GROUPS
from advisor.decisions.inventory import add_resource
from advisor.models import Resource, ResourceKind, ResourceStatus
from advisor.tasks import detect_everywhere, detect_group
from tests.config.queued import empty, waiting

pytestmark = [pytest.mark.valkey, pytest.mark.django_db]

IDLE = 5000
IDLE_GROUPS = 25
ROUNDS = 3


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
    """Begin every waiting task, in order, as a worker does; the groups."""
    taken = [int(message.args[0]) for message in waiting(url, "evaluate")]
    for group in taken:
        detect_group.before_start("id", (group,), {})
    with redis.Redis.from_url(url) as client:
        client.delete("evaluate")
    return taken


def group_of(resources: set[int]) -> int:
    (organisation,) = set(
        Resource.objects.filter(pk__in=resources).values_list("organisation", flat=True)
    )
    return organisation * MOST_GROUPS


def test_busy_are_first_in_every_round_and_all_idle_have_their_turn(
    queue: str, idle: set[int], busy: set[int]
) -> None:
    turns: Counter[int] = Counter()
    for _ in range(ROUNDS):
        detect_everywhere()
        taken = take_all(queue)

        assert group_of(busy) in taken[:2]
        turns.update(taken)

    first = group_of(idle)
    assert set(turns) == {group_of(busy), *range(first, first + IDLE_GROUPS)}
    assert set(turns.values()) == {ROUNDS}


def test_busy_are_judged_again_while_the_idle_still_wait(
    queue: str, idle: set[int], busy: set[int]
) -> None:
    detect_everywhere()
    # The worker has come as far as the busy ones, and begins what was queued first.
    for message in waiting(queue, "evaluate")[:2]:
        detect_group.apply(message.args, throw=True)
    with redis.Redis.from_url(queue) as client:
        client.ltrim("evaluate", 0, -3)

    detect_everywhere()

    looked = ResourceStatus.objects.exclude(looked_at=None)
    assert busy <= set(looked.values_list("resource", flat=True))
    # The rest of the idle still wait, and the busy wait again behind them.
    groups = [message.args[0] for message in waiting(queue, "evaluate")]
    assert len(groups) == IDLE_GROUPS + 1
    assert group_of(busy) in groups[-2:]
