"""The rule before severity counted: three of five windows above raise an alarm, three low end it.

What severity and longer ends cost and bring is told by comparison with it.
"""

from collections.abc import Sequence

from advisor.core.detection.congestion import DetectorSettings
from advisor.core.detection.reading import Reading

ENTER, OF, LEAVE = 3, 5, 3


def three_of_five(
    readings: Sequence[Reading], threshold: float, settings: DetectorSettings
) -> list[bool]:
    """Whether each window is in alarm; one without a value changes nothing, an idle one is low."""
    alarm, below, found = False, 0, []
    recent: list[bool] = []
    for reading in readings:
        value = _value(reading, settings)
        if value is not None:
            recent = [*recent, value > threshold][-OF:]
            below = below + 1 if value <= settings.exit_ratio * threshold else 0
            if alarm and below >= LEAVE:
                alarm, recent = False, []
            elif not alarm:
                alarm = sum(recent) >= ENTER
        found.append(alarm)
    return found


def _value(reading: Reading, settings: DetectorSettings) -> float | None:
    is_idle = reading.load is not None and reading.load < max(settings.activity_floor, 1e-9)
    return 0.0 if reading.own_limit or is_idle else reading.value
