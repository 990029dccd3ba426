"""What the operator allows the mechanism to touch."""

from dataclasses import dataclass
from pathlib import PurePosixPath

from enforcers.errors import ValueRefused
from enforcers.mechanisms.cgroup_io.iocost import Model, read_model


@dataclass(frozen=True, slots=True, kw_only=True)
class CgroupIoConfig:
    """The devices, and the paths below the cgroup mount, whose controls may be changed.

    Of the devices in `keep_iocost` iocost stays as it is. A text in `models` is a device and
    the six coefficients of its `io.cost.model`. For those in `capacity_is_measured` the capacity
    that the policy states is the model. Of those in `track_capacity` the agent corrects its own
    model, which rises above what is stated only if it is the capacity.
    """

    subtrees: frozenset[str] = frozenset()
    devices: frozenset[str] = frozenset()
    keep_iocost: frozenset[str] = frozenset()
    models: frozenset[str] = frozenset()
    capacity_is_measured: frozenset[str] = frozenset()
    track_capacity: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for subtree in sorted(self.subtrees):
            path = PurePosixPath(subtree)
            if not path.is_absolute() or str(path) != subtree or ".." in path.parts:
                rule = "must be paths below the cgroup mount, like /machine.slice"
                raise ValueRefused("subtrees", subtree, rule)
        for text in sorted(self.models):
            try:
                read_model(text.split()[1:])
            except ValueError as error:
                raise ValueRefused("models", text, str(error)) from error
        named = {
            "keep_iocost": self.keep_iocost,
            "models": self.modelled,
            "capacity_is_measured": self.capacity_is_measured,
            "track_capacity": self.track_capacity,
        }
        for key, devices in named.items():
            for device in sorted(devices - self.devices):
                raise ValueRefused(key, device, "must be one of cgroup_io.devices")

    @property
    def modelled(self) -> frozenset[str]:
        """The devices of which the operator states the coefficients."""
        return frozenset(text.split()[0] for text in self.models)

    def model(self, device: str) -> Model | None:
        """The operator's model of a device, by the name that `devices` has."""
        for text in sorted(self.models):
            name, *words = text.split()
            if name == device:
                return read_model(words)
        return None
