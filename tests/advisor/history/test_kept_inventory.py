"""A worker keeps what it knows of resources until a row of it changes."""

from __future__ import annotations

import gc
from collections import OrderedDict
from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest

from accounts.models import Organisation
from advisor.history import inventory
from advisor.history.inventory import LARGE, Inventory, inventory_of, kept_inventory
from advisor.models import Allocation, Attachment, Resource, Workload
from ingest.core.figures import CGROUP_IO
from ingest.grid_reader import Subject
from ingest.models import Host
from tests.advisor.samples import send
from tests.advisor.scenario import NOW
from tests.advisor.stated_datastores import cgroup_allocation, stated_datastore


@pytest.fixture
def allocation(db: None) -> Allocation:
    organisation = Organisation.objects.create(slug="acme", name="Acme")
    resource = stated_datastore(organisation, "sdb", "h1", "h3", capacity=1000.0)
    _send(organisation, "sdb", 16)
    return cgroup_allocation(resource, "vm1", path="/vm1.scope")


def _send(organisation: Organisation, device: str, minor: int, *, later_s: int = 0) -> None:
    at = NOW + timedelta(seconds=later_s)
    line = f"block_device,host=h1,name={device} major=8i,minor={minor}i"
    send(organisation, f"{line} {int(at.timestamp())}000000000", now=at)


def _resource(allocation: Allocation) -> Resource:
    return Resource.objects.get(pk=allocation.resource_id)


def _rename_host(allocation: Allocation) -> None:
    Host.objects.filter(pk=allocation.host_id).update(name="h1.example")


def _set_capacity(allocation: Allocation) -> None:
    Resource.objects.filter(pk=allocation.resource_id).update(capacity=2000.0)


def _set_tier(allocation: Allocation) -> None:
    allocation.workload.tier = "high"
    allocation.workload.save()


def _set_limit(allocation: Allocation) -> None:
    Allocation.objects.filter(pk=allocation.pk).update(limit=500.0)


def _add_workload(allocation: Allocation) -> None:
    cgroup_allocation(allocation.resource, "vm2", path="/vm2.scope")


def _remove_workload(allocation: Allocation) -> None:
    Allocation.objects.filter(pk=allocation.pk).delete()


def _attach_host(allocation: Allocation) -> None:
    host = Host.objects.create(organisation=allocation.resource.organisation, name="h2")
    Attachment.objects.create(resource=allocation.resource, host=host, device="sdb")


def _number_anew(allocation: Allocation) -> None:
    _send(allocation.resource.organisation, "sdb", 32, later_s=10)


CHANGES = [
    _rename_host, _set_capacity, _set_tier, _set_limit, _add_workload, _remove_workload,
    _attach_host, _number_anew,
]  # fmt: skip


def test_what_is_known_is_read_once(
    allocation: Allocation, django_assert_num_queries: Callable[..., object]
) -> None:
    resource = _resource(allocation)
    first = kept_inventory([resource])
    with django_assert_num_queries(1):  # whether a row has changed
        assert kept_inventory([resource]) is first


def test_samples_change_nothing_that_is_known(allocation: Allocation) -> None:
    resource = _resource(allocation)
    first = kept_inventory([resource])
    _send(resource.organisation, "sdb", 16, later_s=10)
    assert kept_inventory([resource]) is first


@pytest.mark.parametrize("change", CHANGES)
def test_changed_row_is_known_at_the_next_look(
    allocation: Allocation, change: Callable[[Allocation], None]
) -> None:
    resource = _resource(allocation)
    before = kept_inventory([resource])
    change(allocation)
    after = kept_inventory([resource])
    assert after is not before
    read = inventory_of([_resource(allocation)])
    assert _told(after) == _told(read) != _told(before)


def test_cgroup_of_an_unnumbered_disk_is_known_once_it_sends(allocation: Allocation) -> None:
    resource = _resource(allocation)
    added = cgroup_allocation(resource, "vm2", path="/vm2.scope", host="h3")
    assert added.pk not in kept_inventory([resource]).numbers
    line = "cgroup,host=h3,path=/vm2.scope io.stat.8:0.rios=1i,io.stat.8:0.wios=0i"
    send(resource.organisation, f"{line} {int(NOW.timestamp())}000000000", now=NOW)
    assert kept_inventory([resource]).numbers[added.pk] == "8:0"


def _told(found: Inventory) -> str:
    """All that an inventory says, as text."""
    return repr(
        [
            [(one.host.name, one.device) for rows in found.attachments.values() for one in rows],
            [
                (one.workload.name, one.workload.tier, one.limit, one.resource.capacity)
                for rows in found.allocations.values()
                for one in rows
            ],
            found.numbers,
        ]
    )


def test_counters_that_are_sent_anew_are_read_at_the_next_look(allocation: Allocation) -> None:
    resource = _resource(allocation)
    path = Subject(host=allocation.host_id, name="/vm1.scope", device="8:16")

    def series() -> Sequence[int]:
        found = kept_inventory([resource])
        return found.series[CGROUP_IO].by_subject[found.subjects[CGROUP_IO].index(path)]

    assert not series()
    line = "cgroup,host=h1,path=/vm1.scope io.stat.8:16.rios=1i,io.stat.8:16.wios=0i"
    send(resource.organisation, f"{line} {int(NOW.timestamp())}000000000", now=NOW)
    assert len(series()) == 1


def test_part_of_what_is_known_is_that_of_its_resources_and_reads_nothing(
    allocation: Allocation, django_assert_num_queries: Callable[..., object]
) -> None:
    line = "cgroup,host=h1,path=/vm1.scope io.stat.8:16.rios=1i,io.stat.8:16.wios=0i"
    first = _resource(allocation)
    send(first.organisation, f"{line} {int(NOW.timestamp())}000000000", now=NOW)
    other = stated_datastore(first.organisation, "sdc", "h1", "h2")
    whole = kept_inventory([first, other])
    assert whole.series
    alone = [inventory_of([one]) for one in (first, other)]

    with django_assert_num_queries(0):
        parts = [whole.part([one]) for one in (first, other)]
        found = [(_told(part), _series(part), part.subjects) for part in parts]

    told = [(_told(one), _series(one), one.subjects) for one in alone]
    # The numbers of other resources' devices stay; nobody asks for them.
    assert [one[1:] for one in found] == [one[1:] for one in told]
    assert [part.allocations for part in parts] == [one.allocations for one in alone]
    assert whole.part([first, other]) is whole
    assert whole.part([first]) is parts[0]


def _series(found: Inventory) -> dict[str, list[list[int]]]:
    """The series of each subject, by the name of its kind."""
    return {kind.name: [list(one) for one in own.by_subject] for kind, own in found.series.items()}


def test_what_was_used_last_is_kept_up_to_a_number_of_rows(
    allocation: Allocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A disk and its allocation are two rows, a disk without one is one.
    first = _resource(allocation)
    others = [
        stated_datastore(first.organisation, name, "h1", capacity=1000.0)
        for name in ("sdc", "sdd")
    ]
    monkeypatch.setattr(inventory, "MOST_KEPT", 3)

    kept = [kept_inventory([one]) for one in (first, others[0])]
    assert [kept_inventory([one]) for one in (first, others[0])] == kept
    kept_inventory([others[1]])

    assert kept_inventory([others[0]]) is kept[1]
    assert kept_inventory([first]) is not kept[0]


@pytest.mark.parametrize("allocations", [1_000, 10], ids=["large", "small"])
def test_garbage_collector_goes_through_small_inventories_alone(
    allocation: Allocation, allocations: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inventory, "_kept", OrderedDict())
    _add_workloads(allocation, allocations)

    kept = kept_inventory([_resource(allocation)])
    gone_through = {id(one) for one in gc.get_objects()}
    gc.unfreeze()

    rows = kept.allocations[allocation.resource_id]
    assert len(rows) == 1 + allocations
    assert {id(row) in gone_through for row in rows} == {allocations < LARGE}


def _add_workloads(allocation: Allocation, count: int) -> None:
    workload, names = allocation.workload, [f"more-{number}" for number in range(count)]
    more = Workload.objects.bulk_create(
        Workload(organisation=workload.organisation, name=name, tier=workload.tier)
        for name in names
    )
    Allocation.objects.bulk_create(
        Allocation(
            resource=allocation.resource,
            host=allocation.host,
            workload=one,
            adapter_kind=allocation.adapter_kind,
            adapter=f"/{one.name}.scope",
        )
        for one in more
    )
