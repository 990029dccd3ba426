"""What is asked of enforcement beyond storage on one host, and has no testbed in this tree yet."""

from __future__ import annotations

from bench.fleet.rows import Row, not_measured

_NETWORK = "no testbed of networks in this table yet"
_TWO_HOSTS = "no testbed of two hosts with one datastore yet"
_OPEN = (
    (
        "tiers 4:2:1 with reservations, 2 hosts, same class apart by",
        "ratio",
        "<= 0.05",
        _TWO_HOSTS,
    ),
    ("NetIOC study, steps a, b and c at 94 Mbit/s, off ideal by", "ratio", "<= 0.02", _NETWORK),
    ("12 workloads beside NFS and migration, below reservation", "kinds", "<= 0", _NETWORK),
    ("host ping while all classes are full, p99 beside unloaded", "ratio", "<= 1.15", _NETWORK),
    ("own ping of a workload limited to 1 Mbit/s, p50", "ms", "<= 40", _NETWORK),
    ("200 workloads, first policy", "s", "<= 0.3", "python -m bench.enforce measures it"),
    ("200 workloads, change of every limit", "s", "<= 0.1", "python -m bench.enforce measures it"),
    ("agent with 200 workloads, CPU of a pass on storage", "ms", "<= 15", "not written yet"),
    ("agent with 200 workloads, resident memory", "MB", "< 30", "not written yet"),
    ("reserved workload's ping beside 12 bulk senders", "ratio", "<= 1.15", _NETWORK),
    ("change of policy under load, throughput", "ratio", ">= 0.98", _NETWORK),
)


def open_rows() -> list[Row]:
    """One row each, which does not hold."""
    return [not_measured(what, unit, asked, why) for what, unit, asked, why in _OPEN]
