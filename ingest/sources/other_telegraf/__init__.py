"""Inputs of Telegraf that say nothing of storage or network I/O: known, and left out."""

from __future__ import annotations

from ingest.core.mapping import Head, Source, Tags, host_of, nowhere

NAME = "other_telegraf"


def _head(_measurement: str, tags: Tags) -> Head:
    return Head(host=host_of(tags), place=nowhere)


SOURCE = Source(
    name=NAME,
    measurements=frozenset(
        {
            "conntrack",
            "cpu",
            "disk",
            "ethtool",
            "internal_*",
            "interrupts",
            "kernel_vmstat",
            "linux_cpu",
            "mem",
            "netstat",
            "processes",
            "procstat",
            "sensors",
            "soft_interrupts",
            "swap",
            "temp",
        }
    ),
    head=_head,
)
