"""NetIOC's reservation experiment, scaled down, and how its outcome is judged."""

from dataclasses import dataclass

BITS_PER_MBIT = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """Workloads with equal shares on one uplink; the first has a reservation.

    `line_rate_mbps` is the nominal rate of the adapter, `capacity_mbps` what it carries.
    `expected_mbps` is the split once the reservation is enforced; `tolerance_ratio` says how
    far off, as a part of the capacity, a measured rate may be.
    """

    line_rate_mbps: float
    capacity_mbps: float
    reservations_mbps: tuple[float, ...]
    expected_mbps: tuple[float, ...]
    tolerance_ratio: float

    @property
    def tolerance_mbps(self) -> float:
        return self.tolerance_ratio * self.capacity_mbps


# 10 Gbit/s, of which 9.4 are usable, and a reservation of 7.5: at a hundredth of the rate. The
# expected split is the one HTB gives with packets of full size; the ideal is 81.3, 6.3, 6.3.
SEED_002 = Experiment(
    line_rate_mbps=100.0,
    capacity_mbps=94.0,
    reservations_mbps=(75.0, 0.0, 0.0),
    expected_mbps=(80.6, 6.7, 6.7),
    tolerance_ratio=0.03,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The reservation and rates of one workload, in Mbit/s; None means not measured.

    `before` and `measured` are means that the service computed from stored samples,
    `compliance` is its verdict on the agent's measurements.
    """

    workload: str
    reservation_mbps: float
    before_mbps: float | None
    entitled_mbps: float
    expected_mbps: float
    tolerance_mbps: float
    measured_mbps: float | None
    compliance: str
    verdict: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The whole demo: where it ran, the rate of every workload, and whether all was restored."""

    ran_on: str
    rows: tuple[Row, ...]
    restored: bool
    seconds: float

    @property
    def is_met(self) -> bool:
        """Whether every verdict is met and the kernel is as it was found."""
        return self.restored and all(row.verdict == "met" for row in self.rows)


def judge(
    *, measured_mbps: float | None, expected_mbps: float, tolerance_mbps: float, compliance: str
) -> str:
    """`met`, or what is wrong: the rate, or the server's verdict."""
    if measured_mbps is None:
        return "not measured"
    if abs(measured_mbps - expected_mbps) > tolerance_mbps:
        return "off"
    return compliance
