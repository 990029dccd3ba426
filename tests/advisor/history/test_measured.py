"""Each subject is read once, from sealed hours and from the samples of open ones."""

from __future__ import annotations

from datetime import timedelta

import pytest

from advisor.history.measured import read_measured
from ingest.core.figures import DISK
from ingest.core.grid import grid_of
from ingest.grid_reader import Subject
from tests.ingest.scenario import disk_line, make_tenant, now, write_lines

pytestmark = pytest.mark.django_db

TEN_SECONDS = timedelta(seconds=10)


def test_subject_that_is_wanted_twice_is_read_once() -> None:
    tenant, end = make_tenant(), now().replace(second=0)
    write_lines(tenant, disk_line(end - TEN_SECONDS, count=10), disk_line(end, count=60))
    subject = Subject(host=tenant.host().pk, name="sda")

    found = read_measured({DISK: [subject, subject]}, grid_of(end - TEN_SECONDS, end, 10))

    assert found.growth[DISK].seconds.shape == (1, 1)
    assert found.figures(DISK, [subject, subject]).read_iops.tolist() == [[5, 5]]
