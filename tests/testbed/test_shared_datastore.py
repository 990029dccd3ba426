"""Two hosts with one datastore and the real service: what is approved there holds on both kernels.

The disks of both complete 600 I/Os a second together; workloads of 12 and 4 want all they get.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from advisor.models import Enforcer
from tests.testbed.conftest import Laboratory
from tests.testbed.shared_datastore import arrangement, figures
from tests.testbed.shared_datastore.arrangement import CAPACITY_IOPS, RESERVED_IOPS, THRESHOLD_MS
from tests.testbed.storage.guest import KERNELS, StorageGuest

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.root,
    pytest.mark.guests,
    pytest.mark.valkey,
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.timeout(600),
]

SETTLED_S = 20
CLASSES = arrangement.CLASSES
ONE, OTHER = CLASSES


@dataclass(frozen=True, kw_only=True)
class Seen:
    """The seconds of each step, and which hosts reported their policy to be in force."""

    steps: dict[str, figures.Seconds]
    reported: set[str]


@pytest.fixture(scope="module")
def seen(laboratory: Laboratory, valkey_url: str) -> Seen:
    """Both hosts from the start of their agents; one is idle for a while."""
    fleet, hosts = arrangement.arrange()
    with StorageGuest(KERNELS[0], laboratory.folder) as guest:
        steps = guest.run(
            "tests.testbed.shared_datastore.trial",
            hosts=hosts,
            capacity_iops=CAPACITY_IOPS,
            service_port=laboratory.server.port,
            steps=[
                {"name": "all", "seconds": SETTLED_S + 8},
                {"name": "one is idle", "seconds": SETTLED_S, "idle": [OTHER]},
                {"name": "it is back", "seconds": SETTLED_S + 8},
            ],
        )
    enforcers = Enforcer.objects.filter(host__organisation=fleet.organisation)
    reported = set(enforcers.exclude(applied_revision=None).values_list("host__name", flat=True))
    return Seen(steps=steps, reported=reported)


def test_both_hosts_report_the_policy_of_the_service(seen: Seen) -> None:
    assert seen.reported == {ONE, OTHER}


@pytest.mark.parametrize("step", ["all", "it is back"])
def test_same_class_gets_the_same_on_both_hosts(seen: Seen, step: str) -> None:
    assert figures.apart(seen.steps[step][SETTLED_S:], CLASSES) <= 0.05


@pytest.mark.parametrize("step", ["all", "it is back"])
def test_tiers_are_as_four_two_and_one(seen: Seen, step: str) -> None:
    for rates in figures.class_iops(seen.steps[step][SETTLED_S:], CLASSES).values():
        assert rates["high"] == pytest.approx(2 * rates["medium"], rel=0.05)
        assert rates["medium"] == pytest.approx(2 * rates["low"], rel=0.07)


@pytest.mark.parametrize("step", ["all", "it is back"])
def test_reservation_is_kept_on_both_hosts(seen: Seen, step: str) -> None:
    for rates in figures.class_iops(seen.steps[step][SETTLED_S:], CLASSES).values():
        assert rates["reserved"] >= 0.95 * RESERVED_IOPS


@pytest.mark.parametrize("step", ["all", "it is back"])
def test_datastore_is_used_and_not_late(seen: Seen, step: str) -> None:
    settled = seen.steps[step][SETTLED_S:]

    assert figures.total_iops(settled) >= 0.85 * CAPACITY_IOPS
    assert figures.latency_ms(settled) <= 1.25 * THRESHOLD_MS


def test_part_of_an_idle_host_goes_to_the_other(seen: Seen) -> None:
    step = seen.steps["one is idle"]

    assert figures.total_iops(step[:4]) <= 0.8 * CAPACITY_IOPS
    assert figures.total_iops(step[-4:]) >= 0.85 * CAPACITY_IOPS
