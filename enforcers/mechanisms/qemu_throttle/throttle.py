"""The throttling of one virtual disk, as QEMU shows it and takes it. Pure.

Names are those of `block_set_io_throttle` (qapi/block-core.json): `iops` and `bps` are totals of
reads and writes, 0 is no limit, `_max` is a burst and `_max_length` its seconds.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from enforcers.contract import Allocation, IoCount, Unit
from enforcers.qmp import Order

OWN_GROUP = "sluice/"
"""So begins the name of each throttle group that the agent makes: its mark."""
COMMAND = "block_set_io_throttle"
COUNTED_BYTES = 32 * 1024
_TOTALS = {Unit.IOPS: "iops", Unit.BYTES_PER_S: "bps"}
_RATES = ("bps", "bps_rd", "bps_wr", "iops", "iops_rd", "iops_wr")
_IOPS_SIZE = "iops_size"
_MORE = (*(f"{rate}{end}" for rate in _RATES for end in ("_max", "_max_length")), _IOPS_SIZE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Throttle:
    """Values above 0 by name, and the group of disks that they hold together.

    Nothing is limited without a rate; then QEMU keeps no group either.
    """

    values: Mapping[str, int] = field(default_factory=dict)
    group: str | None = None

    @property
    def is_own(self) -> bool:
        """Whether it carries the agent's mark."""
        return (self.group or "").startswith(OWN_GROUP)

    def total(self, unit: Unit) -> float | None:
        """The limit of reads and writes together, None if there is none."""
        value = self.values.get(_TOTALS[unit])
        return None if value is None else float(value)

    def values_beside(self, unit: Unit) -> dict[str, int]:
        """The values that a limit in this unit leaves alone."""
        own = _TOTALS[unit]
        return {name: value for name, value in self.values.items() if not name.startswith(own)}

    def order(self, disk: str) -> Order:
        """What sets it, for the device of a guest at this place in QEMU's tree of objects."""
        arguments: dict[str, Any] = {"id": disk, **dict.fromkeys(_RATES, 0), **self.values}
        if self.group is not None:
            arguments["group"] = self.group
        return Order(command=COMMAND, arguments=arguments)

    def __str__(self) -> str:
        if not self.values:
            return "no limit"
        said = [f"{name}={value}" for name, value in sorted(self.values.items())]
        return f"{' '.join(said)} in group {self.group}"


NO_LIMIT = Throttle()


def read_throttle(inserted: Mapping[str, Any]) -> Throttle:
    """Out of what `query-block` says of a disk."""
    numbers = {name: inserted.get(name) for name in (*_RATES, *_MORE)}
    values = {name: value for name, value in numbers.items() if type(value) is int and value > 0}
    group = inserted.get("group")
    if not any(name in values for name in _RATES) or not isinstance(group, str):
        return NO_LIMIT
    return Throttle(values=values, group=group)


def wanted_throttle(
    item: Allocation, limit: float | None, *, unit: Unit, found: Throttle, group: str
) -> Throttle:
    """The limit in the policy's unit, and what was found in the other one."""
    values = found.values_beside(unit)
    if limit is not None:
        values[_TOTALS[unit]] = int(limit)
        if unit is Unit.IOPS and item.io_count is IoCount.PER_32_KIB:
            values[_IOPS_SIZE] = COUNTED_BYTES
    if not any(name in values for name in _RATES):
        return NO_LIMIT
    return Throttle(values=values, group=group)


def to_text(throttle: Throttle) -> str:
    """As the ledger keeps it."""
    return json.dumps({**throttle.values, "group": throttle.group}, sort_keys=True)


def from_text(text: str) -> Throttle:
    """Out of the ledger. Raises ValueError if it is none."""
    plain = json.loads(text)
    if not isinstance(plain, dict):
        raise ValueError(f"no throttle of a disk: {text}")  # noqa: TRY004  (a text that was read)
    return read_throttle(plain)
