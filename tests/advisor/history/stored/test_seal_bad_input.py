"""What wrong clocks, gaps, resets and lost series leave in the chunks."""

from __future__ import annotations

import numpy as np
import pytest

from ingest.models import OpenHour, Series
from tests.advisor.history.stored.hosts import (
    BYTES_SENT,
    HOUR,
    MINUTE,
    STEP,
    after,
    drop_samples,
    eth0,
    hour_of_tests,
    known_windows,
    read,
    seal_all,
    send_net,
    times,
)
from tests.ingest.scenario import Tenant, nanoseconds, write_lines

pytestmark = pytest.mark.django_db


def test_reset_hides_only_its_window(tenant: Tenant) -> None:
    hour = hour_of_tests()
    send_net(tenant, times(hour - MINUTE, hour + 30 * MINUTE))
    # After a restart the counter begins again.
    send_net(tenant, times(hour + 30 * MINUTE + STEP, hour + HOUR + MINUTE))

    seal_all(tenant, after(hour))

    found = read(tenant, [eth0(tenant)], hour, hour + HOUR)
    assert np.flatnonzero(found.seconds[:, 0] == 0).tolist() == [180]
    assert found.growth[BYTES_SENT].sum() == 359 * 70


def test_host_that_sends_every_five_minutes_is_kept_in_every_window(tenant: Tenant) -> None:
    hour = hour_of_tests()
    rare = times(hour - 10 * MINUTE, hour + HOUR + 10 * MINUTE, 5 * MINUTE)
    send_net(tenant, rare)

    seal_all(tenant, after(hour))

    found = read(tenant, [eth0(tenant)], hour, hour + HOUR)
    assert found.growth[BYTES_SENT].tolist() == [[70]] * 360


def test_clock_an_hour_behind_fills_the_hours_of_its_own_time(tenant: Tenant) -> None:
    """Nobody can tell a slow clock from late samples: they are kept where they say."""
    hour = hour_of_tests()
    send_net(tenant, times(hour - MINUTE, hour + HOUR + MINUTE), host="h1")
    send_net(tenant, times(hour - MINUTE - HOUR, hour + MINUTE), host="slow")

    seal_all(tenant, after(hour))

    slow = read(tenant, [eth0(tenant, "slow")], hour - HOUR, hour + HOUR)
    assert np.flatnonzero(slow.seconds[:, 0] > 0).tolist() == list(range(360 + 6))
    assert known_windows(read(tenant, [eth0(tenant)], hour, hour + HOUR)) == 360


def test_value_that_is_no_number_is_refused_before_it_is_stored(tenant: Tenant) -> None:
    hour = hour_of_tests()

    result = write_lines(tenant, f"system,host=h1 load1=NaN {nanoseconds(hour)}", at=hour + MINUTE)

    assert (result.accepted, result.rejected) == (0, 1)
    assert not OpenHour.objects.exists()


def test_series_that_vanishes_leaves_what_it_sent(tenant: Tenant) -> None:
    hour = hour_of_tests()
    send_net(tenant, times(hour - MINUTE, hour + 30 * MINUTE))
    seal_all(tenant, after(hour))

    drop_samples()
    Series.objects.all().delete()
    OpenHour.objects.create(host=tenant.host(), at=hour)
    seal_all(tenant, after(hour))

    assert known_windows(read(tenant, [eth0(tenant)], hour, hour + HOUR)) == 180


def test_body_that_comes_again_opens_no_hour(tenant: Tenant) -> None:
    hour = hour_of_tests()
    whole = times(hour - MINUTE, hour + HOUR + MINUTE)
    send_net(tenant, whole)
    seal_all(tenant, after(hour, hours=3))

    send_net(tenant, whole)

    assert not OpenHour.objects.exists()
