"""Planted fleets of `bench.demand`: calm windows, then crowded ones, then under a policy."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from random import Random
from statistics import mean

from advisor.advice.policy.decide.policy_inputs import AdviceAllocation, summarize_rates
from advisor.advice.shared.decide.recommended_allocation import RecommendedAllocation
from advisor.core.allocation import Allocation, Node
from advisor.core.observation import (
    AllocationObservation,
    DatastoreObservation,
    HostLatency,
    Observation,
    UplinkObservation,
)
from advisor.core.resource import ResourceKind, Tier
from advisor.lab.simulation.cluster import Cluster, Run, simulate
from advisor.lab.simulation.datastore import SimulatedDatastore
from advisor.lab.simulation.load import SimulatedWorkload, SteadyIo, Transactions
from advisor.lab.simulation.uplink import SimulatedUplink, Stream, transmit

BEGAN_AT = datetime(2026, 1, 1, tzinfo=UTC)
WINDOW_S = 2.0
WINDOWS = 40
"""Calm windows, and as many crowded ones."""
PHASE_S = WINDOW_S * WINDOWS
SETTLED = 5
"""Of each phase the first windows are left out."""
UPLINK_BITS_PER_S = 100e6
PIECE_BYTES = 64 * 1024
FULL_RATIO = 0.95
SMALL, LARGE = 8_000, 64_000
# A large I/O takes as much longer as the product takes for granted (51 kB cost an access).
DISKS = SimulatedDatastore(servers=8, access_s=0.004, bytes_per_s=51_000 / 0.004)
FREE_DEPTH, HELD_DEPTH = 256.0, 24.0
"""I/Os a host keeps at the datastore without a policy, and with one, as in the evaluation of
policies. It costs a part of the peak: N / (D - 1 + N) is had with N at D servers."""
GROWN_RATIO, GROWN_PART = 1.3, 0.15
"""So many of the senders want so much more from the crowded phase on, which nobody can see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """Observations of both phases, the allocations, and a way to let a policy happen."""

    kind: ResourceKind
    observations: tuple[Observation, ...]
    allocations: tuple[AdviceAllocation, ...]
    threshold: float
    capacity: float | None
    happen: Callable[[Sequence[RecommendedAllocation]], list[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Senders:
    """Steady streams, what they grow to unseen, and one that sends all it can from then on."""

    calm: tuple[Stream, ...]
    later: tuple[Stream, ...]
    flows: tuple[float, ...]

    @property
    def greedy(self) -> str:
        return f"/link/w{len(self.calm)}"

    def before(self) -> list[list[float]]:
        """Rates per workload and window of the calm phase, the last workload nearly quiet."""
        quiet = Stream(path=self.greedy, rate_bits_per_s=2e6, ends_s=PHASE_S)
        return self._sent(self._unpoliced(), [*self.calm, quiet])

    def crowded(self, nodes: Sequence[Node] | None = None) -> list[list[float]]:
        """Rates per workload and window of the crowded phase; by connections without `nodes`."""
        return self._sent(nodes or self._unpoliced(), [*self.later, Stream(path=self.greedy)])

    def happen(self, allocations: Sequence[RecommendedAllocation]) -> list[float]:
        """The mean rate of each under a policy."""
        nodes = [
            Node(name=f"w{i}", reservation=one.reservation, limit=one.limit, shares=one.shares)
            for i, one in enumerate(allocations)
        ]
        return [mean(row[SETTLED:]) for row in self.crowded(nodes)]

    def _unpoliced(self) -> list[Node]:
        return [Node(name=f"w{i}", shares=shares) for i, shares in enumerate(self.flows)]

    def _sent(self, nodes: Sequence[Node], found: Sequence[Stream]) -> list[list[float]]:
        link = SimulatedUplink(
            capacity_bits_per_s=UPLINK_BITS_PER_S,
            tree=Node(name="link", children=tuple(nodes)),
            piece_bytes=PIECE_BYTES,
        )
        rows = transmit(link, found, duration_s=PHASE_S, bucket_s=WINDOW_S)
        return [list(rows[f"/link/w{i}"]) for i in range(len(self.flows))]


def uplink_fleet(random: Random) -> Fleet:
    """Workloads that send a steady rate, and one that sends all it can by many connections."""
    senders = _senders(random)
    count = len(senders.calm)
    phases = zip(senders.before(), senders.crowded(), strict=True)
    rows = [[*calm, *bad] for calm, bad in phases]
    allocations = _allocations(rows, _tiers(random, count), sizes=[None] * (count + 1))
    observations = tuple(
        UplinkObservation(
            at=at_window(index),
            window_s=WINDOW_S,
            tx_bits_per_s=sum(row[index] for row in rows),
            capacity_bits_per_s=UPLINK_BITS_PER_S,
            allocations=_seen(allocations, rows, index),
        )
        for index in range(2 * WINDOWS)
    )
    return Fleet(
        kind=ResourceKind.UPLINK,
        observations=observations,
        allocations=allocations,
        threshold=FULL_RATIO,
        capacity=UPLINK_BITS_PER_S,
        happen=senders.happen,
    )


def _senders(random: Random) -> _Senders:
    count = random.randint(3, 6)
    load = random.uniform(0.5, 0.85) * UPLINK_BITS_PER_S
    parts = [random.uniform(0.3, 1.0) for _ in range(count)]
    rates = [load * part / sum(parts) for part in parts]
    calm = [Stream(path=f"/link/w{i}", rate_bits_per_s=rate) for i, rate in enumerate(rates)]
    later = [
        replace(one, rate_bits_per_s=rate * (GROWN_RATIO if random.random() < GROWN_PART else 1.0))
        for one, rate in zip(calm, rates, strict=True)
    ]
    flows = [1.0] * count + [float(random.randint(2, 8))]
    return _Senders(calm=tuple(calm), later=tuple(later), flows=tuple(flows))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Clients:
    """Thinking clients and a job on one datastore; `seeds` of the past and of a policy."""

    loads: tuple[Transactions, ...]
    job: SteadyIo
    sizes: tuple[int, ...]
    seeds: tuple[int, int]

    def past(self) -> Run:
        """Both phases without a policy; the job begins with the second."""
        even = [Allocation(shares=1000.0)] * len(self.sizes)
        return self._run(even, since_s=PHASE_S, depth=FREE_DEPTH, seed=self.seeds[0])

    def happen(self, allocations: Sequence[RecommendedAllocation]) -> list[float]:
        """The rate of each under a policy."""
        # The host orders I/Os one by one; divided by their cost, shares are of device time.
        settings = [
            Allocation(one.reservation, one.limit, one.shares / _cost(size))
            for one, size in zip(allocations, self.sizes, strict=True)
        ]
        found = self._run(settings, since_s=0.0, depth=HELD_DEPTH, seed=self.seeds[1])
        return [found.of(f"w{i}", SETTLED * WINDOW_S).iops for i in range(len(self.sizes))]

    def _run(
        self, allocations: Sequence[Allocation], *, since_s: float, depth: float, seed: int
    ) -> Run:
        workloads = [
            SimulatedWorkload(name=f"w{i}", host="h1", load=load, allocation=allocations[i])
            for i, load in enumerate(self.loads)
        ]
        workloads.append(
            SimulatedWorkload(
                name=f"w{len(self.loads)}",
                host="h1",
                load=self.job,
                allocation=allocations[-1],
                active=((since_s, float("inf")),),
            )
        )
        cluster = Cluster(datastore=DISKS, workloads=tuple(workloads), queue_depth=depth)
        return simulate(cluster, duration_s=PHASE_S + since_s, bucket_s=WINDOW_S, seed=seed)


def datastore_fleet(random: Random) -> Fleet:
    """Clients that think between I/Os of 8 or 64 kB, and a job that keeps many outstanding."""
    clients = _clients(random)
    count = len(clients.loads)
    past = clients.past()
    rows = [[one.iops for one in past.workloads[f"w{i}"]] for i in range(count + 1)]
    tiers = _tiers(random, count)
    waits = [random.choice((None, True)) for _ in range(count + 1)]
    allocations = _allocations(rows, tiers, sizes=clients.sizes, waits=waits)
    latencies_ms = [_latency_ms(past, index) for index in range(2 * WINDOWS)]
    observations = tuple(
        DatastoreObservation(
            at=at_window(index),
            window_s=WINDOW_S,
            hosts=(
                HostLatency(
                    host="h1",
                    latency_ms=latencies_ms[index],
                    io_count=sum(row[index] for row in rows) * WINDOW_S,
                ),
            ),
            allocations=_seen(allocations, rows, index),
        )
        for index in range(2 * WINDOWS)
    )
    return Fleet(
        kind=ResourceKind.DATASTORE,
        observations=observations,
        allocations=allocations,
        threshold=1.3 * max(latencies_ms[SETTLED:WINDOWS]),
        capacity=None,
        happen=clients.happen,
    )


def _clients(random: Random) -> _Clients:
    count = random.randint(3, 6)
    sizes = [random.choice((SMALL, LARGE)) for _ in range(count + 1)]
    loads = [
        Transactions(
            clients=random.randint(6, 14),
            think_s=random.uniform(0.03, 0.12) * count / 3,
            ios_per_transaction=1,
            io_bytes=size,
        )
        for size in sizes[:-1]
    ]
    job = SteadyIo(outstanding_io=random.randint(40, 120), io_bytes=sizes[-1])
    seeds = (random.randrange(10**6), random.randrange(10**6))
    return _Clients(loads=tuple(loads), job=job, sizes=tuple(sizes), seeds=seeds)


def _tiers(random: Random, count: int) -> list[Tier]:
    return [random.choice((Tier.HIGH, Tier.MEDIUM)) for _ in range(count)] + [Tier.LOW]


def _latency_ms(past: Run, index: int) -> float:
    """The mean over all I/Os of one window."""
    windows = [buckets[index] for buckets in past.workloads.values()]
    total_s = sum(one.device_sum_s for one in windows)
    return total_s / max(1.0, sum(one.ios for one in windows)) * 1000


def _cost(size: int) -> float:
    return (51_000 + size) / (51_000 + SMALL)


def at_window(index: int) -> datetime:
    """When this window ended."""
    return BEGAN_AT + timedelta(seconds=WINDOW_S * (index + 1))


def _allocations(
    rows: Sequence[Sequence[float]],
    tiers: Sequence[Tier],
    *,
    sizes: Sequence[int | None],
    waits: Sequence[bool | None] | None = None,
) -> tuple[AdviceAllocation, ...]:
    return tuple(
        AdviceAllocation(
            allocation=index,
            workload=f"w{index}",
            host="h1",
            tier=tier,
            usual=summarize_rates(row[SETTLED:WINDOWS], span_days=1.0),
            congested=summarize_rates(row[WINDOWS + SETTLED :], span_days=1.0),
            calm_rates=tuple(row[SETTLED:WINDOWS]),
            congested_rates=tuple(row[WINDOWS + SETTLED :]),
            mean_io_bytes=size,
            backlogged=None if waits is None else waits[index],
        )
        for index, (row, tier, size) in enumerate(zip(rows, tiers, sizes, strict=True))
    )


def _seen(
    allocations: Sequence[AdviceAllocation], rows: Sequence[Sequence[float]], index: int
) -> tuple[AllocationObservation, ...]:
    return tuple(
        AllocationObservation(
            workload=allocation.workload,
            rate=row[index],
            shares=float(allocation.stated_shares),
            backlogged=allocation.backlogged,
            mean_io_bytes=allocation.mean_io_bytes,
            usual_rate=None if allocation.usual is None else allocation.usual.mean,
        )
        for allocation, row in zip(allocations, rows, strict=True)
    )
