"""What load and harm are on a datastore and on an uplink, in the words of the answer."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """How the load of workloads and the harm they suffer were measured.

    `load` follows "66% of" and `harm` follows "the others'". So much harm is `unit` after
    multiplication by `per_unit`, and a difference of harm reads as in `shift`.
    """

    load: str
    harm: str
    unit: str
    per_unit: float
    shift: str

    def shifted(self, shift: float) -> str:
        """So much more harm for the others."""
        return self.shift.format(self.per_unit * shift)

    def told(self, harm: float, low: float, high: float) -> str:
        """So much harm, in the interval in which it lies, with its unit."""
        value, least, most = (f"{self.per_unit * one:.3g}" for one in (harm, low, high))
        return f"{value} ({least} to {most}) {self.unit}"


DEVICE_TIME = Measure(
    load="device time",
    harm="latency",
    unit="ms",
    per_unit=1.0,
    shift="{:+.1f} ms for others",
)
"""On a datastore, where harm is size-normalised latency."""
SENT = Measure(
    load="what was sent",
    harm="shortfall",
    unit="% of their due",
    per_unit=100.0,
    shift="others {:.0f}\N{NO-BREAK SPACE}% further below entitlement",
)
"""On an uplink, where harm is the part of a workload's due that it did not get."""
