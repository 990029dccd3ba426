"""What an agent before this one has left of a policy that goes on. Pure.

Whoever takes over begins with it and writes nothing: the loop sets other values once it knows
what is wanted. What somebody has changed meanwhile is not of that agent.
"""

from collections.abc import Iterable, Mapping

from enforcers.mechanisms.cgroup_io.lent_parts import Parts
from enforcers.mechanisms.cgroup_io.observed import IO_MAX, IO_WEIGHT, IoObserved


def texts_of(limits: Mapping[str, Parts], weights: Mapping[str, int]) -> dict[str, str]:
    """By thing, of groups with parts of a limit, or a weight, what stands there."""
    return {
        **{f"{group} {IO_MAX}": _text(parts) for group, parts in limits.items()},
        **{f"{group} {IO_WEIGHT}": str(weight) for group, weight in weights.items()},
    }


def left_parts(
    groups: Iterable[str], keys: Iterable[str], observed: IoObserved, left: Mapping[str, str]
) -> dict[str, Parts]:
    """By group its parts of a limit, where they stand as they were left."""
    found: dict[str, Parts] = {}
    for path in groups:
        group = observed.groups.get(path)
        if group is None or group.io_max is None:
            continue
        parts = {key: group.io_max[key] for key in keys}
        if left.get(f"{path} {IO_MAX}") == _text(parts):
            found[path] = parts
    return found


def left_weights(
    groups: Iterable[str], observed: IoObserved, left: Mapping[str, str]
) -> dict[str, int]:
    """By group its weight, where it stands as it was left."""
    found: dict[str, int] = {}
    for path in groups:
        group, weight = observed.groups.get(path), left.get(f"{path} {IO_WEIGHT}")
        if group is not None and weight is not None and group.weight == weight:
            found[path] = int(weight)
    return found


def _text(parts: Parts) -> str:
    return " ".join(f"{key}={parts[key]}" for key in sorted(parts))
