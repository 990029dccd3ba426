"""Which parts of joint limits stay as they stand when a policy comes, or an agent. Pure.

Others may have what this host has not, so a pass raises no such part: the loop does, once it may.
"""

from collections.abc import Mapping, Sequence

from enforcers.contract import Allocation, Unit
from enforcers.mechanisms.cgroup_io import controls
from enforcers.mechanisms.cgroup_io.observed import IO_MAX, IoObserved

Parts = Mapping[str, str]
"""What stands in io.max of a group, by its keys."""


def lent_parts(
    items: Sequence[Allocation], unit: Unit, standing: Mapping[str, Parts]
) -> dict[str, Parts]:
    """By group of a joint limit what stands, where it is less than the host's own part."""
    found: dict[str, Parts] = {}
    for item in items:
        group = item.selector.value
        together = controls.disks_of(item, items)
        own = controls.limit_over(together, unit)
        if item.joint_limit is None or own is None or rate_of(standing.get(group), unit) is None:
            continue
        if sum_of_parts(together, unit, standing, own=own) < own:
            found[group] = standing[group]
    return found


def sum_of_parts(
    together: Sequence[Allocation], unit: Unit, standing: Mapping[str, Parts], *, own: float
) -> float:
    """What the disks of one limit may do; one of which nothing stands has an equal part."""
    rates = [rate_of(standing.get(item.selector.value), unit) for item in together]
    return sum(own / len(together) if rate is None else rate for rate in rates)


def rate_of(parts: Parts | None, unit: Unit) -> float | None:
    """What parts let through, reads and writes; None if they do not limit both."""
    values = [(parts or {}).get(key, "") for key in controls.limit_keys(unit)]
    return float(sum(map(int, values))) if all(map(str.isdecimal, values)) else None


def parts_in_kernel(observed: IoObserved) -> dict[str, Parts]:
    """Of each group that an agent has limited before what stands."""
    noted = {(entry.thing, entry.identity) for entry in observed.entries}
    return {
        path: group.io_max
        for path, group in observed.groups.items()
        if group.io_max is not None
        and not noted.isdisjoint({(f"{path} {IO_MAX}", one) for one in (None, group.identity)})
    }
