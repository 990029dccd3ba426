"""What load and harm are on a datastore and on an uplink, in the words of the answer."""

from enum import StrEnum
from typing import assert_never


class Measure(StrEnum):
    """How the load of workloads and the harm they suffer were measured.

    On a datastore load is device time, and harm is size-normalised latency in ms. On an uplink
    load is what was sent, and harm is the part of a workload's due that it did not get.
    """

    DEVICE_TIME = "device_time"
    SENT = "sent"

    @property
    def load(self) -> str:
        """Follows "66% of"."""
        match self:
            case Measure.DEVICE_TIME:
                return "device time"
            case Measure.SENT:
                return "what was sent"
            case _:
                assert_never(self)

    @property
    def harm(self) -> str:
        """Follows "the others'"."""
        match self:
            case Measure.DEVICE_TIME:
                return "latency"
            case Measure.SENT:
                return "shortfall"
            case _:
                assert_never(self)

    def told(self, harm: float, low: float, high: float) -> str:
        """So much harm, in the interval in which it lies, with its unit."""
        match self:
            case Measure.DEVICE_TIME:
                factor, unit = 1, "ms"
            case Measure.SENT:
                factor, unit = 100, "% of their due"
            case _:
                assert_never(self)
        return f"{factor * harm:.3g} ({factor * low:.3g} to {factor * high:.3g}) {unit}"
