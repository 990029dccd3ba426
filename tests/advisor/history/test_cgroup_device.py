"""An allocation is about one device of its cgroup: attachments name it, cgroups number it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from accounts.models import Organisation
from advisor.decisions import inventory
from advisor.history.inventory import cgroup_device_numbers
from advisor.history.recent_rates import current_rates
from advisor.models import Allocation, ResourceKind
from tests.advisor.samples import send
from tests.advisor.scenario import NOW
from tests.advisor.stated_datastores import cgroup_allocation

VM = "/machine.slice/vm1.scope"
SDA, SDB = "8:0", "8:16"
SDA_IOPS, SDB_IOPS = 20, 70


@pytest.fixture
def allocation(db: None) -> Allocation:
    """A virtual machine's allocation on the second disk of its host."""
    organisation = Organisation.objects.create(slug="acme", name="Acme")
    resource = inventory.add_resource(
        organisation=organisation,
        name="h1/sdb",
        kind=ResourceKind.DATASTORE,
        attachments=[("h1", "sdb")],
        capacity=1000.0,
    )
    return cgroup_allocation(resource, "vm1", path=VM)


def send_counts(allocation: Allocation, *devices: str) -> None:
    """Two minutes of a cgroup that reads from these devices, each at its own rate."""
    rates = {SDA: SDA_IOPS, SDB: SDB_IOPS}
    lines = []
    for step in range(13):
        at = NOW + timedelta(seconds=10 * (step - 12))
        fields = ",".join(
            f"io.stat.{device}.rios={rates[device] * 10 * step}i,io.stat.{device}.wios=0i,"
            f"io.stat.{device}.rbytes=0i,io.stat.{device}.wbytes=0i"
            for device in devices
        )
        lines.append(f"cgroup,host=h1,path={VM} {fields} {int(at.timestamp())}000000000")
    send(allocation.resource.organisation, "\n".join(lines), now=NOW)


def send_numbers(allocation: Allocation, *, sdb: str = SDB) -> None:
    """What the host says of its disks."""
    at = f"{int(NOW.timestamp())}000000000"
    major, minor = sdb.split(":")
    lines = (
        f"block_device,host=h1,name=sda major=8i,minor=0i {at}\n"
        f"block_device,host=h1,name=sdb major={major}i,minor={minor}i {at}"
    )
    send(allocation.resource.organisation, lines, now=NOW)


@pytest.mark.parametrize("devices", [(SDA, SDB), (SDB,)], ids=["of several", "the only one"])
def test_device_that_is_attached_is_found_by_its_number(
    allocation: Allocation, devices: tuple[str, ...]
) -> None:
    send_counts(allocation, *devices)
    send_numbers(allocation)

    assert cgroup_device_numbers([allocation]) == {allocation.pk: SDB}


@pytest.mark.parametrize(
    ("devices", "expected"),
    [((SDB,), [SDB]), ((SDA, SDB), []), ((), [])],
    ids=["one device", "several", "none"],
)
def test_unknown_number_leaves_the_only_device_of_the_cgroup(
    allocation: Allocation, devices: tuple[str, ...], expected: list[str]
) -> None:
    if devices:
        send_counts(allocation, *devices)

    assert list(cgroup_device_numbers([allocation]).values()) == expected


def test_number_that_changed_counts_from_when_it_was_told(allocation: Allocation) -> None:
    send_counts(allocation, SDA, SDB)
    send_numbers(allocation, sdb="253:0")
    later = NOW + timedelta(minutes=1)
    line = f"block_device,host=h1,name=sdb major=8i,minor=16i {int(later.timestamp())}000000000"

    send(allocation.resource.organisation, line, now=later)

    assert cgroup_device_numbers([allocation]) == {allocation.pk: SDB}


def test_number_of_another_host_says_nothing(allocation: Allocation) -> None:
    send_counts(allocation, SDA, SDB)
    line = f"block_device,host=h2,name=sdb major=8i,minor=16i {int(NOW.timestamp())}000000000"

    send(allocation.resource.organisation, line, now=NOW)

    assert cgroup_device_numbers([allocation]) == {}


def test_current_rate_is_that_of_the_attached_device(allocation: Allocation) -> None:
    send_counts(allocation, SDA, SDB)
    send_numbers(allocation)

    rates = current_rates([allocation], now=NOW)

    assert rates == {allocation.pk: pytest.approx(SDB_IOPS)}


def test_current_rate_goes_on_where_the_tags_changed(allocation: Allocation) -> None:
    lines = []
    for second in range(-120, 1, 10):
        # 100 IOPS until 30 s ago; then the collector adds a tag, and it is 40 IOPS.
        tag, iops = ("", 100) if second <= -30 else ("rack=r2,", 40)
        fields = f"io.stat.{SDB}.rios={iops * (second + 1000)}i,io.stat.{SDB}.wios=0i"
        at = NOW + timedelta(seconds=second)
        fields += f",io.stat.{SDB}.rbytes=0i,io.stat.{SDB}.wbytes=0i"
        lines.append(f"cgroup,{tag}host=h1,path={VM} {fields} {int(at.timestamp())}000000000")
    send(allocation.resource.organisation, "\n".join(lines), now=NOW)

    rates = current_rates([allocation], now=NOW)

    # 30 s of 100 and 20 s of 40: nothing is known of the 10 s between the two series.
    assert rates == {allocation.pk: pytest.approx((30 * 100 + 20 * 40) / 50)}
