"""What an agent before this one has left of a policy that goes on. Pure.

Whoever takes over begins with it and writes nothing: the loop sets other values once it knows
what is wanted.
"""

from collections.abc import Mapping, Sequence

from enforcers.contract import Allocation, Unit
from enforcers.mechanisms.cgroup_io import controls
from enforcers.mechanisms.cgroup_io.lent_parts import Parts, parts_in_kernel, sum_of_parts
from enforcers.mechanisms.cgroup_io.observed import IO_WEIGHT, IoObserved
from enforcers.mechanisms.cgroup_io.pooled_limit import most_together


def left_parts(items: Sequence[Allocation], unit: Unit, observed: IoObserved) -> dict[str, Parts]:
    """By group its parts of a limit, as far as such parts can be of that limit.

    Those of limits that other hosts hold too are told by `lent_parts`.
    """
    standing, keys = parts_in_kernel(observed), controls.limit_keys(unit)
    found: dict[str, Parts] = {}
    for item in items:
        together = controls.disks_of(item, items)
        limit = controls.limit_over(together, unit)
        parts = standing.get(item.selector.value)
        if limit is None or item.joint_limit is not None or parts is None:
            continue
        if not all(parts[key].isdecimal() for key in keys):
            continue
        if sum_of_parts(together, unit, standing, own=limit) <= most_together(limit, unit):
            found[item.selector.value] = {key: parts[key] for key in keys}
    return found


def left_weights(items: Sequence[Allocation], observed: IoObserved) -> Mapping[str, int]:
    """By group the weight that was set, where one was."""
    noted = {(entry.thing, entry.identity) for entry in observed.entries}
    found: dict[str, int] = {}
    for item in items:
        path = item.selector.value
        group = observed.groups.get(path)
        if group is None or group.weight is None or not group.weight.isdecimal():
            continue
        if (f"{path} {IO_WEIGHT}", group.identity) in noted:
            found[path] = int(group.weight)
    return found
