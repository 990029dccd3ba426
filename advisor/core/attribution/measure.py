"""What load and harm mean on a datastore and on an uplink."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """The measures of load and harm, with the words for sentences.

    `load` follows "66% of" and `harm` follows "the others'". So much harm is `unit` after
    multiplication by `per_unit`, and a difference of harm reads as in `shift`.
    """

    load: str
    harm: str
    unit: str
    per_unit: float
    shift: str

    def shifted(self, shift: float) -> str:
        """The extra harm to the others."""
        return self.shift.format(self.per_unit * shift)

    def told(self, harm: float, low: float, high: float) -> str:
        """The harm with its interval and unit, such as `43.3 (40.1 to 46) ms`."""
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
    load="the traffic",
    harm="shortfall",
    unit="% of their entitlement",
    per_unit=100.0,
    shift="others {:.0f}\N{NO-BREAK SPACE}% further below entitlement",
)
"""On an uplink, where harm is the fraction of its entitlement that a workload did not get."""
