"""What two hosts with one datastore gave each class of workloads, out of what was counted. Pure.

`Seconds` is what `trial` answers of a step: of each second, of each host, the IOPS of its
workloads in their order, and its disk's I/Os and latency.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

Seconds = Sequence[Mapping[str, Any]]
Classes = Mapping[str, Sequence[str]]
"""Of each host, the class of each of its workloads."""
WINDOW_S = 4


def class_iops(seconds: Seconds, classes: Classes) -> dict[str, dict[str, float]]:
    """Of each host and class, the mean IOPS of a workload."""
    return {host: _of_host(seconds, host, names) for host, names in classes.items()}


def apart(seconds: Seconds, classes: Classes) -> float:
    """By how much of their mean workloads of the same class differ most between hosts."""
    found = class_iops(seconds, classes)
    names = set.intersection(*(set(names) for names in classes.values()))
    return max(_spread([rates[name] for rates in found.values()]) for name in names)


def off_shares(seconds: Seconds, classes: Classes, shares: Mapping[str, float]) -> float:
    """By how much two classes of one host are furthest from the proportion of their shares."""
    found = class_iops(seconds, classes).values()
    for_a_share = [[rates[name] / own for name, own in shares.items()] for rates in found]
    return max(max(rates) / min(rates) - 1 for rates in for_a_share)


def beside_low(seconds: Seconds, classes: Classes) -> dict[str, float]:
    """The other classes of each host beside its low one; a host is named by its workloads."""
    return {
        f"{name} of {len(classes[host])}": rate / rates["low"]
        for host, rates in class_iops(seconds, classes).items()
        for name, rate in rates.items()
        if name != "low"
    }


def settled_after_s(seconds: Seconds, classes: Classes, *, within: float) -> int | None:
    """From when on no four seconds are further apart than this; None if not before the end."""
    begins = range(len(seconds) - WINDOW_S + 1)
    wrong = [at for at in begins if apart(seconds[at : at + WINDOW_S], classes) > within]
    after = wrong[-1] + 1 if wrong else 0
    return after if after in begins else None


def total_iops(seconds: Seconds) -> float:
    """Mean of all workloads together."""
    return fmean(sum(sum(host["iops"]) for host in second.values()) for second in seconds)


def latency_ms(seconds: Seconds) -> float:
    """Mean over all I/Os of all hosts."""
    hosts = [host for second in seconds for host in second.values() if host["ios"]]
    ios: int = sum(host["ios"] for host in hosts)
    waited_ms: float = sum(host["ios"] * host["latency_ms"] for host in hosts)
    return waited_ms / ios


def _of_host(seconds: Seconds, host: str, names: Sequence[str]) -> dict[str, float]:
    rates = [fmean(column) for column in zip(*(s[host]["iops"] for s in seconds), strict=True)]
    return {
        name: fmean(rate for rate, own in zip(rates, names, strict=True) if own == name)
        for name in dict.fromkeys(names)
    }


def _spread(rates: Sequence[float]) -> float:
    return (max(rates) - min(rates)) / fmean(rates)
