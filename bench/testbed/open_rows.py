"""What is asked of enforcement beyond storage on one host, and has no testbed in this tree yet."""

from __future__ import annotations

from bench.fleet.rows import Row, not_measured

_TWO_HOSTS = "no testbed of two hosts with one datastore yet"
_OPEN = (
    (
        "tiers 4:2:1 with reservations, 2 hosts, same class apart by",
        "ratio",
        "<= 0.05",
        _TWO_HOSTS,
    ),
)


def open_rows() -> list[Row]:
    """One row each, which does not hold."""
    return [not_measured(what, unit, asked, why) for what, unit, asked, why in _OPEN]
