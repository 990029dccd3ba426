"""Resources are judged in groups; one that fails does not take its group with it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from accounts.models import Organisation
from advisor.core.turns import MOST_GROUPS
from advisor.decisions.inventory import add_resource
from advisor.models import EvaluationGroup, Resource, ResourceKind, ResourceStatus
from advisor.pipeline import groups
from advisor.pipeline.groups import GROUP_SIZE, judge_alone, judge_group
from tests.advisor.scenario import NOW

pytestmark = pytest.mark.django_db


@pytest.fixture
def organisation() -> Organisation:
    return Organisation.objects.create(slug="acme", name="Acme")


@pytest.fixture
def three(organisation: Organisation) -> list[Resource]:
    return [
        add_resource(
            organisation=organisation,
            name=f"h1/{name}",
            kind=ResourceKind.DATASTORE,
            attachments=[("h1", name)],
        )
        for name in ("sda", "sdb", "sdc")
    ]


@pytest.fixture
def group(organisation: Organisation) -> int:
    return organisation.pk * MOST_GROUPS


def looked_at() -> set[str]:
    rows = ResourceStatus.objects.exclude(looked_at=None)
    return set(rows.values_list("resource__name", flat=True))


def test_members_are_as_their_rows_are_now(three: list[Resource], group: int) -> None:
    first = groups.members_of(group)
    assert [one.name for one in first] == ["h1/sda", "h1/sdb", "h1/sdc"]
    assert [a is b for a, b in zip(first, groups.members_of(group), strict=True)] == [True] * 3

    for capacity in (100.0, 200.0):
        Resource.objects.filter(pk=three[1].pk).update(capacity=capacity)
        assert [one.capacity for one in groups.members_of(group)] == [None, capacity, None]

    three[0].delete()
    assert [one.name for one in groups.members_of(group)] == ["h1/sdb", "h1/sdc"]


def test_group_of_nobody_is_empty(organisation: Organisation) -> None:
    assert groups.members_of((organisation.pk + 1) * MOST_GROUPS) == []


def test_every_resource_is_in_one_group(organisation: Organisation) -> None:
    Resource.objects.bulk_create(
        Resource(
            organisation=organisation, name=f"h{number}/sda", kind=ResourceKind.DATASTORE,
            unit="iops", mode="floor", threshold=30.0, activity_floor=10.0,
        )
        for number in range(2 * GROUP_SIZE + 1)
    )  # fmt: skip

    found = [number for _, number in groups.groups()]

    sizes = [len(groups.members_of(number)) for number in found]
    assert sizes == [GROUP_SIZE, GROUP_SIZE, 1]
    members = [one.pk for number in found for one in groups.members_of(number)]
    assert len(set(members)) == 2 * GROUP_SIZE + 1


def test_a_group_is_judged_together(three: list[Resource], group: int) -> None:
    judged = judge_group(group, now=NOW)

    assert judged is not None
    assert (judged.together, judged.alone) == (3, ())
    assert looked_at() == {"h1/sda", "h1/sdb", "h1/sdc"}
    group_row = EvaluationGroup.objects.get()
    assert group_row.began_at == NOW
    assert group_row.ended_at is not None


def test_after_a_failure_each_is_judged_alone_until_it_succeeds(
    three: list[Resource], group: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("poison")

    with monkeypatch.context() as broken:
        broken.setattr(groups, "judge_together", fail)
        with pytest.raises(RuntimeError, match="poison"):
            judge_group(group, now=NOW)

    judged = judge_group(group, now=NOW + timedelta(seconds=5))
    assert judged is not None
    assert (judged.together, judged.alone) == (0, tuple(one.pk for one in three))

    for one in three[:2]:
        judge_alone(one, now=NOW)
    judged = judge_group(group, now=NOW + timedelta(seconds=10))
    assert judged is not None
    assert (judged.together, judged.alone) == (2, (three[2].pk,))


def test_a_group_that_was_killed_is_judged_one_by_one(
    three: list[Resource], group: int, organisation: Organisation
) -> None:
    EvaluationGroup.objects.create(
        organisation=organisation, part=0, began_at=NOW - timedelta(minutes=2), ended_at=None
    )

    judged = judge_group(group, now=NOW)

    assert judged is not None
    assert judged.alone == tuple(one.pk for one in three)


def test_a_group_that_runs_is_left_to_who_began_it(
    three: list[Resource], group: int, organisation: Organisation
) -> None:
    EvaluationGroup.objects.create(
        organisation=organisation, part=0, began_at=NOW - timedelta(seconds=5), ended_at=None
    )

    assert judge_group(group, now=NOW) is None
    assert looked_at() == set()


def test_a_group_of_nobody_is_nothing_to_judge() -> None:
    assert judge_group(77 * MOST_GROUPS, now=NOW) == groups.Judged(together=0, alone=())
