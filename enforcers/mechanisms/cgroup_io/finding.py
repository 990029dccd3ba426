"""Finds the control groups of the workloads that allocations name, anew in each pass."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from enforcers.contract import Allocation
from enforcers.host_fs import HostFs
from enforcers.mechanism import Note, Unclaimed
from enforcers.mechanisms.cgroup_io.located import NAMING, located, places
from enforcers.mechanisms.cgroup_io.observed import io_mount

if TYPE_CHECKING:
    from enforcers.mechanisms.cgroup_io.names import GroupNames


class Finding:
    """Looks at and below the groups that may be changed."""

    def __init__(self, host_fs: HostFs, subtrees: frozenset[str]) -> None:
        self._host_fs = host_fs
        self._subtrees = subtrees

    @cached_property
    def _names(self) -> "GroupNames":
        """Imported for the first policy that names a workload."""
        from enforcers.mechanisms.cgroup_io.names import GroupNames

        return GroupNames(self._host_fs)

    def places(self, allocations: Sequence[Allocation]) -> dict[str, str | Note]:
        """By allocation that names a workload: its group, or why there is not just one."""
        kinds = {item.selector.kind for item in allocations} & set(NAMING)
        mount = io_mount(self._host_fs)
        if not kinds or mount is None:
            return {}
        names = self._names.read(mount, self._subtrees, kinds)
        return places(allocations, names, self._subtrees)

    def unclaimed(self, allocations: Sequence[Allocation]) -> tuple[Unclaimed, ...]:
        """The groups of workloads that no allocation means, with the names they go by."""
        from enforcers.reader.cgroup_names import named

        mount = io_mount(self._host_fs)
        if mount is None:
            return ()
        names = self._names.read(mount, self._subtrees, NAMING)
        known = places(allocations, names, self._subtrees)
        claimed = {item.selector.value for item in located(allocations, known)}
        return tuple(
            Unclaimed(place=path, names=tuple(f"{kind}={value}" for kind, value in sorted(own)))
            for path, own in sorted(names.items())
            if named(path) is not None
            and claimed.isdisjoint(str(above) for above in (path, *PurePosixPath(path).parents))
        )
