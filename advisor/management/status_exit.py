"""What the exit status of `sluice status` says, for scripts and monitoring."""

from enum import IntEnum


class StatusExit(IntEnum):
    """The first that holds of 1, 3 and 4 counts: a known alarm is never hidden by a gap.

    2 is left to argparse, which says so for words that it does not know.
    """

    CLEAR = 0
    ALARM = 1
    STALE = 3
    NO_ANSWER = 4


MEANING = (
    "Exit status: 0 every resource was evaluated lately and is clear; "
    "1 any is congested or stalled, also if others are stale; "
    "3 none is, but the state of some is stale or not known; "
    "4 no answer: no database answers, or no resource was ever judged. "
    "A maintenance window excuses congestion, but not a stall."
)
