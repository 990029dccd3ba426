"""The kernel's values of a group in the words of the policy. Pure."""

from collections.abc import Mapping

from enforcers.contract import Allocation, Setting, Unit
from enforcers.mechanism import Counters, Seen
from enforcers.mechanisms.cgroup_io import controls
from enforcers.mechanisms.cgroup_io.controls import Controls
from enforcers.mechanisms.cgroup_io.io_text import UNLIMITED, WEIGHT_FOLLOWS_DEFAULT
from enforcers.mechanisms.cgroup_io.observed import Group, IoObserved


def setting(
    item: Allocation,
    io_max: Mapping[str, str],
    weight: int | None,
    *,
    wanted: Controls,
    observed: IoObserved,
) -> Setting:
    """What these values mean; those that are wanted mean what the policy says.

    A weight that is not the wanted one shows as the shares that it would stand for.
    """
    limits = {key: io_max[key] for key in wanted.io_max}
    native = f"{observed.number} {' '.join(f'{key}={limits[key]}' for key in limits)}"
    if weight is not None:
        native = f"{native} weight={weight}"
    if item.id in observed.places:
        # Where the workload was found that the policy names.
        native = f"{native} in {item.selector.value}"
    is_due = weight is not None and weight == wanted.weight
    return Setting(
        reservation=item.reservation if is_due and item.reservation > 0 else None,
        limit=_limit(item, limits, wanted),
        shares=_shares(item, weight, wanted.weight),
        native=native,
    )


def seen(
    item: Allocation, present: Group, unit: Unit, *, wanted: Controls, observed: IoObserved
) -> Seen:
    """What the kernel shows for one allocation; a weight counts where iocost is on."""
    weight = present.weight if observed.iocost.is_enabled else None
    if weight == WEIGHT_FOLLOWS_DEFAULT:
        weight = str(controls.DEFAULT_WEIGHT)
    shown = None if weight is None else int(weight)
    counters = None
    if present.stat is not None:
        total = sum(present.stat.get(key, 0) for key in controls.stat_keys(unit))
        looks = observed.standing.looks.get(item.selector.value)
        counters = Counters(
            total=float(total),
            drops=None,
            overlimits=None,
            backlog_bytes=None,
            short_looks=None if looks is None else looks.count,
            full_looks=None if looks is None else looks.full,
        )
    return Seen(
        setting=None
        if present.io_max is None
        else setting(item, present.io_max, shown, wanted=wanted, observed=observed),
        counters=counters,
        thing=present.identity,
    )


def _limit(item: Allocation, limits: Mapping[str, str], wanted: Controls) -> float | None:
    if limits == dict(wanted.io_max) and UNLIMITED not in limits.values():
        return None if item.limit is None else float(int(item.limit))
    if UNLIMITED in limits.values():
        return None
    return max(float(value) for value in limits.values())


def _shares(item: Allocation, weight: int | None, wanted: int | None) -> float | None:
    if weight is None:
        return None
    return round(weight * item.shares / (wanted or item.shares), 3)
