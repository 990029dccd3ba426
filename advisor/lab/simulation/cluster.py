"""Simulate hosts and workloads on one datastore, and read what came of it.

The hosts run the product's own code: the tag scheduler orders I/O inside a host, the window law
divides the datastore between hosts, and the detector says when it was congested.
The same cluster and seed give the same run to the last bit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random

from advisor.core.detection.congestion import DetectorSettings, StatePoint, detect
from advisor.core.detection.observed import readings_of
from advisor.core.detection.threshold import FixedThreshold
from advisor.core.number_checks import check_amount, check_positive
from advisor.core.observation import DatastoreObservation
from advisor.lab.simulation.agenda import Agenda
from advisor.lab.simulation.control import WindowControl, WindowLoop, observe
from advisor.lab.simulation.datastore import DatastoreQueue, SimulatedDatastore
from advisor.lab.simulation.driver import drive
from advisor.lab.simulation.host import HostQueue
from advisor.lab.simulation.load import MOST_AT_ONCE, SimulatedWorkload
from advisor.lab.simulation.totals import Totals
from enforcers.exchange import PERIOD_S

BEGAN_AT = datetime(2000, 1, 1, tzinfo=UTC)
"""Simulated time 0, where code of the product wants a date."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Workloads on hosts that share a datastore; `control` None leaves every host its window."""

    datastore: SimulatedDatastore
    workloads: tuple[SimulatedWorkload, ...]
    control: WindowControl | None = None
    queue_depth: float = 256.0

    def __post_init__(self) -> None:
        check_positive("queue_depth", self.queue_depth)
        if self.queue_depth < 1:
            raise ValueError(f"queue_depth is {self.queue_depth!r}; a host needs at least 1")
        names = [each.name for each in self.workloads]
        if len(set(names)) < len(names):
            raise ValueError("two workloads have the same name")
        if not names:
            raise ValueError("a cluster needs a workload")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What happened, per workload in buckets of time, and per host at the end of each bucket."""

    bucket_s: float
    workloads: dict[str, tuple[Totals, ...]]
    windows: dict[str, tuple[float, ...]]
    observations: tuple[DatastoreObservation, ...]

    @property
    def times_s(self) -> tuple[float, ...]:
        """The end of each bucket."""
        count = len(next(iter(self.workloads.values())))
        return tuple(self.bucket_s * (index + 1) for index in range(count))

    def of(self, workload: str, from_s: float = 0.0, to_s: float | None = None) -> Totals:
        """What a workload did in the buckets between two times."""
        buckets = self.workloads[workload][self._part(from_s, to_s)]
        whole = sum(buckets, Totals())
        return Totals(
            seconds=self.bucket_s * len(buckets),
            ios=whole.ios,
            io_bytes=whole.io_bytes,
            latency_sum_s=whole.latency_sum_s,
            device_sum_s=whole.device_sum_s,
            outstanding_s=whole.outstanding_s,
            transactions=whole.transactions,
            transaction_sum_s=whole.transaction_sum_s,
        )

    def whole(self, from_s: float = 0.0, to_s: float | None = None) -> Totals:
        """What all workloads did together."""
        return sum((self.of(name, from_s, to_s) for name in self.workloads), Totals())

    def window(self, host: str, from_s: float = 0.0, to_s: float | None = None) -> float:
        """Mean window of a host."""
        part = self.windows[host][self._part(from_s, to_s)]
        if not part:
            raise ValueError(f"{host}: no bucket ends between {from_s!r} and {to_s!r} s")
        return sum(part) / len(part)

    def congestion(self, threshold_ms: float) -> tuple[StatePoint, ...]:
        """The detector's word on every period."""
        settings = DetectorSettings(activity_floor=10.0)
        found = detect(
            readings_of(self.observations),
            settings=settings,
            threshold=FixedThreshold(value=threshold_ms),
        )
        return found.points

    def _part(self, from_s: float, to_s: float | None) -> slice:
        end = None if to_s is None else round(to_s / self.bucket_s)
        return slice(round(from_s / self.bucket_s), end)


def simulate(cluster: Cluster, *, duration_s: float, bucket_s: float, seed: int) -> Run:
    """Let the cluster run for so long, and count in buckets of `bucket_s`."""
    check_positive("duration_s", duration_s)
    check_positive("bucket_s", bucket_s)
    check_amount("seed", seed)
    count = duration_s / bucket_s
    if count > MOST_AT_ONCE:
        raise ValueError(f"{count:g} buckets are too many; {MOST_AT_ONCE:,} can be counted")
    if cluster.control is not None and duration_s / cluster.control.period_s > MOST_AT_ONCE:
        raise ValueError(
            f"period_s is {cluster.control.period_s!r}; {MOST_AT_ONCE:,} periods can be simulated"
        )
    simulation = _Simulation(cluster, bucket_s=bucket_s, seed=seed)
    return simulation.run(max(1, round(count)))


class _Simulation:
    """The cluster at work."""

    def __init__(self, cluster: Cluster, *, bucket_s: float, seed: int) -> None:
        self._bucket_s = bucket_s
        self._control = cluster.control
        self._agenda = Agenda()
        random = Random(seed)  # noqa: S311  # Simulated service times, not secrets.
        datastore = DatastoreQueue(cluster.datastore, self._agenda, random)
        self._hosts = [
            HostQueue(
                name,
                [each for each in cluster.workloads if each.host == name],
                window=cluster.queue_depth,
                agenda=self._agenda,
                datastore=datastore,
            )
            for name in sorted({each.host for each in cluster.workloads})
        ]
        by_name = {host.name: host for host in self._hosts}
        for each in cluster.workloads:
            drive(
                each,
                host=by_name[each.host],
                datastore=datastore,
                agenda=self._agenda,
                random=random,
            )
        self._buckets = _Reader(self._hosts)
        self._periods = _Reader(self._hosts)
        self._observations: list[DatastoreObservation] = []
        self._loop = None if cluster.control is None else WindowLoop(cluster.control, self._hosts)

    def run(self, count: int) -> Run:
        """Run this many buckets."""
        counted: dict[str, list[Totals]] = {
            each.name: [] for host in self._hosts for each in host.workloads
        }
        windows: dict[str, list[float]] = {host.name: [] for host in self._hosts}
        self._agenda.at(self._period_s, self._end_period)
        for index in range(count):
            self._agenda.run_until(self._bucket_s * (index + 1))
            for host, totals in zip(self._hosts, self._buckets.since_last(self._now), strict=True):
                windows[host.name].append(host.window)
                for each, total in zip(host.workloads, totals, strict=True):
                    counted[each.name].append(total)
        return Run(
            bucket_s=self._bucket_s,
            workloads={name: tuple(totals) for name, totals in counted.items()},
            windows={name: tuple(values) for name, values in windows.items()},
            observations=tuple(self._observations),
        )

    @property
    def _now(self) -> float:
        return self._agenda.now

    @property
    def _period_s(self) -> float:
        return PERIOD_S if self._control is None else self._control.period_s

    def _end_period(self, _: object) -> None:
        counted = self._periods.since_last(self._now)
        observation = observe(
            self._hosts,
            counted,
            at_s=self._now,
            window_s=self._period_s,
            began_at=BEGAN_AT,
            size_normalized=self._control is None or self._control.size_normalized,
        )
        self._observations.append(observation)
        if self._loop is not None:
            self._loop.step(counted)
        self._agenda.at(self._now + self._period_s, self._end_period)


class _Reader:
    """Reads the meters of all hosts, each time what was counted since the last reading."""

    def __init__(self, hosts: Sequence[HostQueue]) -> None:
        self._hosts = hosts
        self._last = [[Totals() for _ in host.workloads] for host in hosts]

    def since_last(self, now: float) -> list[list[Totals]]:
        """Per host, per workload."""
        current = [
            [host.lanes[each.name].meter.read(now) for each in host.workloads]
            for host in self._hosts
        ]
        change = [
            [after - before for after, before in zip(new, old, strict=True)]
            for new, old in zip(current, self._last, strict=True)
        ]
        self._last = current
        return change
