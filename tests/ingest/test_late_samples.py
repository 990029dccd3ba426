"""A write notes from when on it changed windows that may have been judged."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from ingest.models import LateSamples
from tests.ingest.scenario import Tenant, disk_line, nanoseconds, write_lines

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def notes() -> list[tuple[str, float]]:
    """The host and the seconds after noon of each note."""
    rows = LateSamples.objects.order_by("pk").values_list("host__name", "changed_from")
    return [(host, (at - NOON).total_seconds()) for host, at in rows]


def heard(tenant: Tenant, *seconds: int, at_s: float, count: int = 1) -> None:
    write_lines(tenant, *(disk_line(after(one), count=count) for one in seconds), at=after(at_s))


def known(tenant: Tenant, *seconds: int) -> None:
    """The series has sent; that it began is forgotten."""
    heard(tenant, *seconds, at_s=seconds[-1] + 1)
    LateSamples.objects.all().delete()


@pytest.mark.parametrize(
    ("seconds", "at_s", "expected"),
    [
        # The window that ends at :20 waits until :30.
        pytest.param([20], 21, [], id="in time"),
        pytest.param([20], 31, [10], id="after the window's 10 s"),
        pytest.param([20], 26, [10], id="so close that it may be committed after them"),
        pytest.param([70], 71, [10], id="after a gap: all of the gap"),
        # 15 min make no rate: nothing between the two is known.
        pytest.param([1000], 1010, [1000], id="after a gap that makes no rate"),
        pytest.param([20, 30, 40], 45, [10], id="what was kept for a while"),
    ],
)
def test_sample_that_follows_notes_what_it_changes_if_it_is_late(
    tenant: Tenant, seconds: list[int], at_s: float, expected: list[float]
) -> None:
    known(tenant, 0, 10)

    heard(tenant, *seconds, at_s=at_s)

    assert notes() == [("h1", one) for one in expected]


def test_sample_between_others_changes_windows_from_the_one_before_on(tenant: Tenant) -> None:
    known(tenant, 0, 10, 20, 50)

    heard(tenant, 30, at_s=60)

    assert notes() == [("h1", 20.0)]


def test_sample_before_all_others_may_follow_one_whose_row_is_gone(tenant: Tenant) -> None:
    known(tenant, 5000)

    heard(tenant, 0, at_s=5010)

    # An interval of up to 15 minutes may end with it.
    assert notes() == [("h1", -900.0)]


def test_new_series_is_not_waited_for(tenant: Tenant) -> None:
    heard(tenant, 0, 10, 20, at_s=21)

    assert notes() == [("h1", 0.0)]


def test_fields_of_one_moment_may_come_in_two_bodies(tenant: Tenant) -> None:
    known(tenant, 0, 10)
    head = f"diskio,host=h1,name=sda iops_in_progress=3i {nanoseconds(after(10))}"

    write_lines(tenant, head, at=after(12))

    assert notes() == []


def test_body_that_changes_nothing_notes_nothing(tenant: Tenant) -> None:
    known(tenant, 0, 10)

    heard(tenant, 0, 10, at_s=600)

    assert notes() == []


def test_what_windows_are_not_made_of_notes_nothing(tenant: Tenant) -> None:
    write_lines(tenant, f"system,host=h1 load1=1 {nanoseconds(NOON)}", at=after(600))

    assert notes() == []


def test_one_note_per_host_of_a_body(tenant: Tenant) -> None:
    lines = [disk_line(after(10 * step), host=host, name=name)
             for step in range(3) for host in ("h1", "h2") for name in ("sda", "sdb")]  # fmt: skip

    write_lines(tenant, *lines, at=after(600))

    assert notes() == [("h1", 0.0), ("h2", 0.0)]
