"""When a policy held ends, whatever happens to the clock."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcers.clocks import Moment
from enforcers.lease import Lease, begin, taken_over
from tests.enforcers.policies import NOON, document

LENGTH_S = 900.0
DOCUMENT = document()


def at(seconds: float, *, clock_error_s: float = 0.0, boot_id: str = "b") -> Moment:
    """So many seconds after noon, 1000 s after the boot, with a clock that may be wrong."""
    now = NOON + timedelta(seconds=seconds + clock_error_s)
    return Moment(now=now, boot_id=boot_id, boot_s=1000.0 + seconds)


errors_s = st.floats(-1e8, 1e8)


@given(error_s=errors_s, after_s=st.floats(0, 1e6))
def test_clock_that_is_set_changes_no_lease_of_its_boot(error_s: float, after_s: float) -> None:
    lease = begin(NOON + timedelta(seconds=LENGTH_S), at(0))

    assert lease.is_over(at(after_s, clock_error_s=error_s)) is (after_s >= LENGTH_S)


@given(error_s=errors_s, boot_id=st.sampled_from(["b", "c"]))
def test_lease_that_is_taken_over_lasts_no_longer_than_its_document(
    error_s: float, boot_id: str
) -> None:
    lease = begin(DOCUMENT.expires_at, at(0))

    start = at(5, clock_error_s=error_s, boot_id=boot_id)
    found = taken_over(lease, DOCUMENT, start)

    assert found.is_over(at(5 + LENGTH_S + 1e-3, clock_error_s=error_s, boot_id=boot_id))
    assert found.ends_at == lease.ends_at


@pytest.mark.parametrize(
    ("clock_error_s", "left_s"),
    [
        (0.0, 600.0),
        (120.0, 480.0),
        (-120.0, 720.0),
        # Before noon, when the document was made, but within what clocks may differ.
        (-400.0, LENGTH_S),
        # More than that: nobody knows how much is left.
        (-601.0, 0.0),
        (86_400.0, 600.0 - 86_400.0),
    ],
)
def test_lease_of_a_former_boot_goes_by_the_time_of_day(
    clock_error_s: float, left_s: float
) -> None:
    lease = begin(DOCUMENT.expires_at, at(0))

    found = taken_over(lease, DOCUMENT, at(300, clock_error_s=clock_error_s, boot_id="c"))

    assert found == Lease(
        ends_at=lease.ends_at, boot_id="c", ends_at_boot_s=pytest.approx(1300.0 + left_s)
    )


def test_lease_of_the_present_boot_is_taken_over_as_it_is() -> None:
    lease = begin(DOCUMENT.expires_at, at(0))

    assert taken_over(lease, DOCUMENT, at(300, clock_error_s=-86_400.0)) == lease


def test_lease_without_a_known_boot_is_cut_to_its_length() -> None:
    """Two boots that cannot be told apart: the later one has counted few seconds so far."""
    lease = Lease(ends_at=DOCUMENT.expires_at, boot_id="b", ends_at_boot_s=1e9)

    found = taken_over(lease, DOCUMENT, at(0))

    assert found.ends_at_boot_s == 1000.0 + LENGTH_S
