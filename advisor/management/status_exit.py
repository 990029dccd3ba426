"""The exit status of `sluice status`, for scripts and monitoring."""

from enum import IntEnum


class StatusExit(IntEnum):
    """1 comes before 4 and 3, so that missing data never hides a known alarm.

    2 belongs to argparse: unknown arguments.
    """

    CLEAR = 0
    ALARM = 1
    STALE = 3
    NO_ANSWER = 4


MEANING = (
    "Exit status: 0 every resource is clear and was evaluated in the last two minutes; "
    "1 at least one is congested or stalled, even if others are stale; "
    "3 none is, but the state of at least one is stale or unknown; "
    "4 no answer: the database does not answer, or no resource was ever evaluated. "
    "A maintenance window excuses congestion, but not a stall."
)
