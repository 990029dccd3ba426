"""How large the fleet is, and which part of its history is stored how densely."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

END = datetime(2026, 1, 15, 12, tzinfo=UTC)
"""The present of the data set: fixed, so that the same seed always makes the same rows."""

WINDOW_S = 10
COARSE_S = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetShape:
    """Workloads in groups; a group shares one datastore, one uplink and some hosts.

    Workload `w` is in group `w // group`, its cgroup on host `w // per_host`, its vNIC on the
    first host of its group, which carries the group's uplink.
    """

    workloads: int
    seed: int = 1
    most_per_group: int = 100
    per_host: int = 10

    def __post_init__(self) -> None:
        if self.workloads <= 0 or self.workloads % self.group or self.group % self.per_host:
            raise ValueError(
                f"{self.workloads} workloads cannot be cut into groups of {self.group} on hosts "
                f"of {self.per_host}"
            )

    @property
    def group(self) -> int:
        """Workloads that share a datastore and an uplink."""
        return min(self.workloads, self.most_per_group)

    @property
    def groups(self) -> int:
        """Datastores, and as many uplinks."""
        return self.workloads // self.group

    @property
    def hosts(self) -> int:
        """Hosts of the fleet."""
        return self.workloads // self.per_host

    @property
    def hosts_per_group(self) -> int:
        """Hosts that share a datastore."""
        return self.group // self.per_host


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What is stored: the older part in steps of `COARSE_S`, the rest in windows of `WINDOW_S`.

    The last `congested_s` of it are congested, on all datastores and uplinks. With `rows_s` all
    hours but the last are sealed, and so much is stored as rows too; 0 is all rows, none sealed.
    """

    fine_s: int
    congested_s: int
    coarse_s: int = 0
    rows_s: int = 0

    @property
    def first_at(self) -> datetime:
        """The first reading of every series."""
        return END - timedelta(seconds=self.coarse_s + self.fine_s)

    @property
    def calm_until(self) -> datetime:
        """The end of the last calm window."""
        return END - timedelta(seconds=self.congested_s)

    @property
    def rows_since(self) -> datetime:
        """From then on there are rows of all series."""
        return END - timedelta(seconds=self.rows_s) if self.rows_s else self.first_at

    @property
    def sealed_until(self) -> datetime:
        """The end of the newest hour that is sealed, if any is: the last hour waits."""
        return END - timedelta(hours=1)


MONTH = History(
    coarse_s=30 * 86400 - 25 * 3600, fine_s=25 * 3600, congested_s=3 * 3600, rows_s=6 * 3600
)
"""The history that is asked for: 30 days, 25 hours of them as windows to be judged."""

BRIEF = History(fine_s=20 * 60, congested_s=8 * 60)
"""The history of the fleets whose slope is measured."""
