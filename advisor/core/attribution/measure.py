"""What load and harm are on a datastore and on an uplink, in the words of the answer."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """How the load of workloads and the harm they suffer were measured.

    `load` follows "66% of" and `harm` follows "the others'". So much harm is `unit` after
    multiplication by `per_unit`.
    """

    load: str
    harm: str
    unit: str
    per_unit: float

    def told(self, harm: float, low: float, high: float) -> str:
        """So much harm, in the interval in which it lies, with its unit."""
        value, least, most = (f"{self.per_unit * one:.3g}" for one in (harm, low, high))
        return f"{value} ({least} to {most}) {self.unit}"


DEVICE_TIME = Measure(load="device time", harm="latency", unit="ms", per_unit=1.0)
"""On a datastore, where harm is size-normalised latency."""
SENT = Measure(load="what was sent", harm="shortfall", unit="% of their due", per_unit=100.0)
"""On an uplink, where harm is the part of a workload's due that it did not get."""
