"""What Sluice measures of itself; None stands for what could not be measured."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Durations of many resources, and the resource with the longest."""

    p50_s: float
    p99_s: float
    worst_s: float
    worst: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """How soon resources are evaluated.

    `recent` is the time from ten seconds after a window's end to its stored state, over the last
    ten minutes; `age` is the age of each resource's newest evaluation. `stale` counts resources
    without an evaluation for two minutes.
    """

    resources: int
    stale: int
    age: Spread | None
    recent: Spread | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """One queue of work: how many tasks wait, and the oldest of them since when."""

    name: str
    waiting: int
    oldest_s: float | None
    expires_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueMemory:
    """What the queue's server takes, and the bound beyond which it refuses what is new."""

    used_bytes: int
    most_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A worker or the scheduler, and how long ago it last gave a sign of life."""

    name: str
    kind: str
    queues: tuple[str, ...]
    silent_s: float
    as_root: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowTask:
    """The longest task of the last ten minutes; `subject` is empty if it has none to show."""

    task: str
    subject: str
    seconds: float
    is_running: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What the queue's server knows of queues and processes."""

    queues: tuple[Queue, ...]
    processes: tuple[Process, ...]
    slowest: SlowTask | None
    memory: QueueMemory | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLag:
    """How old the newest sample of a host is."""

    host: str
    lag_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingest:
    """How soon samples come: hosts in all, and those without a fresh sample.

    `lags` has every host that ever sent a sample, the longest lag first.
    """

    hosts: int
    silent: int
    lags: tuple[HostLag, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """Free and whole space where the data directory is, and the size of the database."""

    directory: str
    free_bytes: int | None
    total_bytes: int | None
    database_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Backups:
    """How old the last full backup is, and how far the log of the database is shipped.

    `period_s` None: none are made by themselves; `age_s` None: there is none yet, though they are
    expected for `expected_s`. `log_waiting_s` None: no piece of the log waits.
    """

    period_s: float | None
    age_s: float | None
    expected_s: float
    log_waiting_s: float | None
    silent_s: float
    has_failed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckIn:
    """When it was last said outside that all is well; None: never, or nobody knows.

    `faults` were told instead at the newest try, of which `answer` says what came.
    """

    good_s: float | None
    faults: int
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaUse:
    """What the organisation may send or have, by the key of programs and the words of people.

    `limit` is None where there is no quota, `used` where it cannot be known; rates are means of
    the last whole minute. `hit_s` is how long ago the quota was last used up, None for never;
    since then bodies were refused, which come again, and points were lost.
    """

    quota: str
    name: str
    limit: int | None
    used: float | None
    hit_s: float | None
    refused_bodies: int
    lost_points: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Work that failed; `solved_at` is None while it still fails."""

    task: str
    subject: str
    reason: str
    first_at: datetime
    last_at: datetime
    times: int
    solved_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """All of it, as one organisation sees it.

    `work` is None if the queue's server does not answer, `backups` if Sluice makes none,
    `check_in` if nobody watches outside. `failures` are the newest ones, those that still fail
    first. `failing` counts all that still fail and belong to the organisation,
    `failing_installation` those that belong to none, whoever
    may see their reasons.
    """

    evaluation: Evaluation
    work: Work | None
    ingest: Ingest
    quotas: tuple[QuotaUse, ...]
    storage: Storage
    backups: Backups | None
    check_in: CheckIn | None
    failing: int
    failing_installation: int
    failures: tuple[Failure, ...]
