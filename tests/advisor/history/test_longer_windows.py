"""Longer windows that are made of what was read are those that are read themselves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from accounts.models import Organisation
from advisor.history.measured import read_measured
from ingest.core.figures import CGROUP_IO
from ingest.core.grid import grid_of
from ingest.models import Host
from tests.ingest.random_samples import RandomSamples

UNTIL = datetime(2026, 11, 20, 0, 20, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.mark.django_db
@pytest.mark.parametrize("step_s", [10, 30, 60, 120])
@pytest.mark.parametrize("seed", range(2))
def test_windows_of_windows_are_those_that_are_read(seed: int, step_s: int) -> None:
    organisation = Organisation.objects.create(slug="acme", name="acme")
    host = Host.objects.create(organisation=organisation, name="h1")
    samples = RandomSamples(host, seed=seed, until=UNTIL)
    subjects = [one for number in range(3) for one in samples.cgroup(f"/vm{number}.scope")]
    wanted = {CGROUP_IO: subjects}
    longer = grid_of(UNTIL - HOUR / 2, UNTIL, step_s)

    found = read_measured(wanted, grid_of(UNTIL - HOUR, UNTIL, 10.0)).over(longer)

    assert found is not None
    alone = read_measured(wanted, longer).growth[CGROUP_IO]
    np.testing.assert_array_equal(found.growth[CGROUP_IO].growth, alone.growth)
    np.testing.assert_array_equal(found.growth[CGROUP_IO].seconds, alone.seconds)
    assert alone.seconds.any()


@pytest.mark.parametrize(
    ("since", "until", "step_s"),
    [
        (UNTIL - 2 * HOUR, UNTIL, 60.0),
        (UNTIL - HOUR, UNTIL + HOUR, 60.0),
        (UNTIL - HOUR, UNTIL, 15.0),
        (UNTIL - HOUR, UNTIL, 5.0),
    ],
    ids=["earlier", "later", "no multiple", "shorter"],
)
def test_windows_that_are_not_made_of_those_that_were_read_are_none(
    since: datetime, until: datetime, step_s: float
) -> None:
    measured = read_measured({CGROUP_IO: []}, grid_of(UNTIL - HOUR, UNTIL, 10.0))

    assert measured.over(grid_of(since, until, step_s)) is None
