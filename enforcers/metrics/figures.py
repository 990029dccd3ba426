"""What the agent's threads tell about themselves, for whoever asks /metrics."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from enforcers.clocks import Moment
from enforcers.contract import CorrectedModel, EnforcementState, Measurement
from enforcers.enforcement import PassResult
from enforcers.executor import Writes
from enforcers.metrics.in_force import InForce
from enforcers.policy_store import HeldPolicy


class Trouble(StrEnum):
    """What can go wrong in the loops of the agent."""

    POLICY = "policy"
    DEVICE = "device"
    ROUND = "round"
    PERIOD = "period"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """How often something was done, and how long it took."""

    count: int = 0
    total_s: float = 0.0
    longest_s: float = 0.0

    def plus(self, seconds: float) -> "Spent":
        """The same with one more."""
        return Spent(
            count=self.count + 1,
            total_s=self.total_s + seconds,
            longest_s=max(self.longest_s, seconds),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What the agent knew at the end of one round.

    `measured` is by allocation. `writes` are those since the agent started.
    """

    at: Moment
    state: EnforcementState
    held: HeldPolicy | None
    is_refused: bool
    result: PassResult
    measured: Mapping[str, Measurement]
    writes: Writes
    corrected: tuple[CorrectedModel, ...]
    reports_waiting: int
    reports_dropped: int


class Figures:
    """Written by the threads of the agent and read by that of /metrics, without a lock.

    Each attribute is replaced as a whole and has one writer, so a reader sees no half of one.
    """

    def __init__(self, *, in_force: InForce | None = None) -> None:
        """`in_force` is that of the process, which outlives a configuration."""
        self.in_force = in_force or InForce()
        self.last: Round | None = None
        self.rounds = Spent()
        self.passes = Spent()
        self.periods = Spent()
        self.troubles: dict[Trouble, int] = dict.fromkeys(Trouble, 0)

    def take_round(self, found: Round, *, round_s: float, pass_s: float) -> None:
        """Note a round that came to its end."""
        self.in_force.take(found.result, found.state, boot_s=found.at.boot_s)
        self.rounds = self.rounds.plus(round_s)
        self.passes = self.passes.plus(pass_s)
        if found.is_refused:
            self.count(Trouble.POLICY)
        if found.result.has_failed:
            self.count(Trouble.DEVICE)
        self.last = found

    def take_period(self, seconds: float, *, has_failed: bool) -> None:
        """Note a period of following."""
        self.periods = self.periods.plus(seconds)
        if has_failed:
            self.count(Trouble.PERIOD)

    def count(self, trouble: Trouble) -> None:
        """Note that something went wrong."""
        self.troubles[trouble] += 1
