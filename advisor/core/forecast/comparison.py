"""Two policies for the same allocations, simulated on the same history."""

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.core.allocation import ReservationMode
from advisor.core.forecast.past import HistoryWindow
from advisor.core.forecast.play import Played, Pressure, play
from advisor.core.grant import Grant
from advisor.core.number_checks import check_positive


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The policy in force and a candidate, with a grant per allocation in one order.

    The candidate has `capacity_ratio` times the capacity. With `before_as_measured` the first is
    the measured rate where known: without a policy no model knows which workload competes hardest.
    With `after_as_pressed` workloads compete as strongly under the second, held only by limits;
    this is for limits where shares are in force and did not help.
    """

    mode: ReservationMode
    before: Sequence[Grant]
    after: Sequence[Grant]
    capacity_ratio: float = 1.0
    before_as_measured: bool = False
    after_as_pressed: bool = False

    def __post_init__(self) -> None:
        check_positive("capacity_ratio", self.capacity_ratio)
        if len(self.before) != len(self.after):
            raise ValueError("both policies must have one grant per workload")

    def play(
        self, windows: Sequence[HistoryWindow], pressure: Pressure = ()
    ) -> tuple[Played, Played]:
        """The windows under each; `pressure` (windows, allocations) is empty if unknown."""
        return (
            play(
                windows,
                self.before,
                self.mode,
                pressure=pressure if self.before_as_measured else (),
            ),
            play(
                windows,
                self.after,
                self.mode,
                capacity_ratio=self.capacity_ratio,
                pressure=pressure if self.after_as_pressed else (),
            ),
        )
