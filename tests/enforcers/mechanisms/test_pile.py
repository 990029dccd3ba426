"""What has piled up in a device drains, and a device that works on many at once is left alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcers.mechanisms.cgroup_io.pile import Pile, model_ratio, next_pile

TRUE_IOPS, PERIOD_S = 2000.0, 0.5


class Device:
    """It completes 2000 a second and has `own` requests at work; all others pile up in it."""

    def __init__(self, *, own: float, piled: float) -> None:
        self._own, self._piled = own, piled

    def period(self, ratio: float) -> float:
        """How many it has in the mean of a period with this part of a true model."""
        before = self._piled
        self._piled = max(0.0, before - (1 - ratio) * TRUE_IOPS * PERIOD_S)
        return self._own + (before + self._piled) / 2


def queues(device: Device, periods: int, pile: Pile | None = None) -> tuple[Pile, list[float]]:
    pile, found, ratio = pile or Pile(), [], 1.0
    for _ in range(periods):
        found.append(device.period(ratio))
        pile = next_pile(pile, queue=found[-1])
        ratio = model_ratio(pile, queue=found[-1], ios_per_s=TRUE_IOPS, period_s=PERIOD_S)
    return pile, found


def test_first_requests_of_four_groups_are_gone_within_two_seconds() -> None:
    _, found = queues(Device(own=2.0, piled=126.0), 7)

    assert found[0] == 128.0
    assert found[4:] == pytest.approx([2.0] * 3, abs=6)


@given(st.floats(0.0, 300.0), st.floats(0.0, 400.0))
def test_model_is_lowered_by_a_tenth_at_most_and_never_raised(own: float, piled: float) -> None:
    device, pile = Device(own=own, piled=piled), Pile()
    for _ in range(20):
        queue = device.period(1.0)
        pile = next_pile(pile, queue=queue)

        ratio = model_ratio(pile, queue=queue, ios_per_s=TRUE_IOPS, period_s=PERIOD_S)

        assert 0.9 <= ratio <= 1.0


def test_device_that_always_has_many_requests_is_slowed_down_for_three_seconds_at_most() -> None:
    pile, _ = queues(Device(own=64.0, piled=0.0), 7)
    ratios = []
    for _ in range(20):
        pile = next_pile(pile, queue=64.0)
        ratios.append(model_ratio(pile, queue=64.0, ios_per_s=TRUE_IOPS, period_s=PERIOD_S))

    assert set(ratios) == {1.0}


def test_what_piles_up_beyond_the_many_that_are_usual_drains_all_the_same() -> None:
    pile, _ = queues(Device(own=64.0, piled=0.0), 7)

    _, found = queues(Device(own=64.0, piled=200.0), 5, pile)

    assert found[0] == 264.0
    assert found[-1] < 2 * 64


def test_device_without_io_gives_no_ratio_to_go_by() -> None:
    pile = next_pile(Pile(), queue=50.0)

    assert model_ratio(pile, queue=50.0, ios_per_s=0.0, period_s=PERIOD_S) == 1.0
