"""A workload on two hosts under one limit, with the real service: both kernels together hold it.

The hosts' disks complete 600 I/Os a second together, of which the workload may have 300.
"""

from __future__ import annotations

from statistics import fmean

import pytest

from tests.testbed.conftest import Laboratory
from tests.testbed.shared_datastore import arrangement, figures
from tests.testbed.shared_datastore.arrangement import CAPACITY_IOPS
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

LIMIT_IOPS = 300.0
ONE, OTHER = arrangement.HOSTS
SETTLED_S = 20
LONGER_S = 8


@pytest.fixture(scope="module")
def steps(laboratory: Laboratory, valkey_url: str) -> dict[str, figures.Seconds]:
    """Both want more; one is idle, comes back, and is cut off from the service."""
    hosts = arrangement.arrange_joint_limit(LIMIT_IOPS)
    seconds = SETTLED_S + LONGER_S
    with StorageGuest(KERNELS[0], laboratory.folder) as guest:
        found: dict[str, figures.Seconds] = guest.run(
            "tests.testbed.shared_datastore.trial",
            hosts=hosts,
            capacity_iops=CAPACITY_IOPS,
            service_port=laboratory.server.port,
            has_weights=False,
            steps=[
                {"name": "all", "seconds": seconds},
                {"name": "one is idle", "seconds": seconds, "idle": [OTHER]},
                {"name": "it is back", "seconds": seconds},
                {"name": "parted and idle", "seconds": seconds, "idle": [ONE], "parted": [OTHER]},
            ],
        )
    return found


def rates(seconds: figures.Seconds) -> dict[str, float]:
    return {host: fmean(second[host]["iops"][0] for second in seconds) for host in (ONE, OTHER)}


@pytest.mark.parametrize("step", ["all", "it is back"])
def test_hosts_that_want_more_have_the_same_and_together_the_limit(
    steps: dict[str, figures.Seconds], step: str
) -> None:
    found = rates(steps[step][SETTLED_S:])

    assert sum(found.values()) == pytest.approx(LIMIT_IOPS, rel=0.02)
    assert found[ONE] == pytest.approx(found[OTHER], rel=0.05)


def test_host_has_what_an_idle_one_leaves(steps: dict[str, figures.Seconds]) -> None:
    found = rates(steps["one is idle"][SETTLED_S:])

    assert found == pytest.approx({ONE: LIMIT_IOPS, OTHER: 0.0}, rel=0.02)


def test_sum_does_not_exceed_the_limit_where_a_host_comes_back(
    steps: dict[str, figures.Seconds],
) -> None:
    """Five percent of its part are open to a host that is idle, and its first second is double."""
    back = steps["it is back"]

    for at in range(2, SETTLED_S, 2):
        assert figures.total_iops(back[at : at + 2]) <= 1.08 * LIMIT_IOPS


def test_host_without_the_service_keeps_to_its_part_by_the_policy(
    steps: dict[str, figures.Seconds],
) -> None:
    found = rates(steps["parted and idle"][SETTLED_S:])

    assert found == pytest.approx({ONE: 0.0, OTHER: LIMIT_IOPS / 2}, rel=0.02)
