"""On which datastore a virtual disk lies of which no collector tells it."""

from __future__ import annotations

import pytest

from ingest.core.identity.backing import Backing, Counted, Meter, Use
from ingest.core.identity.datastores import find_storage
from ingest.core.identity.facts import Facts
from ingest.core.identity.workloads import find_workloads
from ingest.core.mapping import Fact
from tests.ingest.core.identity.scenario import OTHER_WWN, WWN, disk, mount, workload

VM = workload("esx1", "vm/db", name="db")
ONE = disk("esx1", "naa.1", wwn=WWN)


def uses(facts: list[Fact]) -> list[Use]:
    """What the virtual machine on esx1 uses; its disk scsi0:0 is counted."""
    known = Facts.of(facts)
    counted = Counted(cgroups={}, numbers={}, guests=frozenset({("esx1", "vm/db", "scsi0:0")}))
    (found,) = find_workloads(known, {"esx1": "esx1", "esx2": "esx2"})
    return [use for _, use in Backing(known, find_storage(known), counted).uses(found)]


USE = Use(host="esx1", meter=Meter.VDISK, adapter="vm/db", instance="scsi0:0")


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        pytest.param([*VM, *ONE], [USE], id="the only one"),
        pytest.param([*VM, *ONE, *disk("esx2", "naa.2", wwn=OTHER_WWN)], [USE], id="others"),
        pytest.param([*VM, *ONE, *disk("esx1", "naa.2", wwn=OTHER_WWN)], [], id="two disks"),
        pytest.param([*VM, *ONE, *mount("esx1", "/n", "nas", "/v")], [], id="a disk and a mount"),
        pytest.param(VM, [], id="none"),
    ],
)
def test_untold_disk_lies_on_the_only_datastore_of_its_host(
    facts: list[Fact], expected: list[Use]
) -> None:
    assert uses(facts) == expected


def test_disk_that_is_told_elsewhere_does_not_lie_on_the_only_datastore() -> None:
    told = Fact(
        host="esx1",
        kind="workload",
        subject="vm/db",
        name="disk.scsi0:0",
        value="nas:/v/db.qcow2",
    )

    assert uses([*VM, told, *ONE]) == []
