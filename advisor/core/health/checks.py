"""The health of Sluice, check by check: a condition and its figures in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from advisor.core.duration import duration_text
from advisor.core.enumeration import listed
from advisor.core.health.figures import (
    Backups,
    CheckIn,
    Evaluation,
    Figures,
    Ingest,
    Process,
    QueueMemory,
    QuotaUse,
    SlowTask,
    Spread,
    Storage,
    Work,
)

SILENT_AFTER_S = 30.0
"""Workers and the scheduler give a sign of life every few seconds."""
QUOTA_HIT_S = 600.0
"""A quota that was used up so lately needs attention."""
LOW_BYTES, LOW_RATIO = 1 << 30, 0.05
"""Less free space than either is low."""
QUEUE_FULL_RATIO = 0.9
"""The queue's server with more of what it may take refuses soon, or already, what is new."""


KEEPER_SILENT_AFTER_S = 120.0
CHECK_IN_LATE_AFTER_S = 180.0
"""Three of its periods."""
LOG_BEHIND_AFTER_S = 600.0
"""A piece of the database's log that waits longer for its target needs attention."""


class Condition(StrEnum):
    """How something is; all but `clear` and `unknown` need attention."""

    CLEAR = "clear"
    BEHIND = "behind"
    SILENT = "silent"
    LIMITED = "limited"
    LOW = "low"
    FAILING = "failing"
    UNKNOWN = "unknown"


class Checked(StrEnum):
    """What a check is about; of queues and workers there are several."""

    INGEST = "ingest"
    QUOTAS = "quotas"
    EVALUATION = "evaluation"
    QUEUE = "queue"
    WORKER = "worker"
    SCHEDULER = "scheduler"
    SLOWEST_TASK = "slowest_task"
    STORAGE = "storage"
    BACKUP = "backup"
    CHECK_IN = "check_in"
    FAILED_WORK = "failed_work"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at, by the name that people read."""

    about: Checked
    name: str
    condition: Condition
    text: str

    @property
    def needs_attention(self) -> bool:
        return self.condition not in (Condition.CLEAR, Condition.UNKNOWN)


def checks(figures: Figures) -> tuple[Check, ...]:
    """Every check, in the order in which work flows."""
    return (
        _ingest(figures.ingest),
        *_quotas(figures.quotas),
        _evaluation(figures.evaluation),
        *_work(figures.work),
        _storage(figures.storage),
        _backups(figures.backups),
        _check_in(figures.check_in),
        _failed_work(figures.failing, figures.failing_installation),
    )


def _ingest(found: Ingest) -> Check:
    about, name = Checked.INGEST, "Ingest lag"
    if not found.hosts:
        return Check(about=about, name=name, condition=Condition.UNKNOWN, text="no hosts yet")
    worst = listed(f"{one.host} {_length(one.lag_s)}" for one in found.lags)
    text = f"{found.silent} of {found.hosts} hosts without a sample for two minutes"
    if worst:
        text += f"; age of the newest sample, oldest first: {worst}"
    condition = Condition.BEHIND if found.silent else Condition.CLEAR
    return Check(about=about, name=name, condition=condition, text=text)


def _quotas(found: Sequence[QuotaUse]) -> Iterator[Check]:
    """Nothing where there is no quota."""
    limited = [one for one in found if one.limit is not None]
    if not limited:
        return
    used_up = [one for one in limited if one.hit_s is not None and one.hit_s <= QUOTA_HIT_S]
    condition = Condition.LIMITED if used_up else Condition.CLEAR
    text = "; ".join(_quota(one) for one in used_up or limited)
    yield Check(about=Checked.QUOTAS, name="Quotas", condition=condition, text=text)


def _quota(found: QuotaUse) -> str:
    used = "use not known" if found.used is None else f"{found.used:,.0f}"
    text = f"{used} of {found.limit:,} {found.name}"
    return text if found.hit_s is None else f"{text}, used up {_length(found.hit_s)} ago"


def _evaluation(found: Evaluation) -> Check:
    about, name = Checked.EVALUATION, "Evaluation lag"
    if not found.resources:
        return Check(about=about, name=name, condition=Condition.UNKNOWN, text="no resources yet")
    recent = "nothing evaluated" if found.recent is None else _spread(found.recent)
    age = "never" if found.age is None else _spread(found.age)
    text = f"last 10 min: {recent}; time since the newest evaluation: {age}"
    if found.stale:
        text = f"{found.stale} of {found.resources} resources stale; {text}"
    condition = Condition.BEHIND if found.stale else Condition.CLEAR
    return Check(about=about, name=name, condition=condition, text=text)


def _spread(found: Spread) -> str:
    lengths = f"p50 {_length(found.p50_s)}, p99 {_length(found.p99_s)}"
    return f"{lengths}, worst {_length(found.worst_s)} ({found.worst})"


def _work(found: Work | None) -> Iterator[Check]:
    if found is None:
        yield Check(
            about=Checked.QUEUE,
            name="Queues",
            condition=Condition.SILENT,
            text="the queue's server does not answer, so queues and processes are not known",
        )
        return
    for queue in found.queues:
        waits = "empty"
        if queue.waiting:
            since = "" if queue.oldest_s is None else f", the oldest for {_length(queue.oldest_s)}"
            waits = f"{queue.waiting} waiting{since}"
        is_late = queue.oldest_s is not None and queue.oldest_s > queue.expires_s
        condition = Condition.BEHIND if is_late else Condition.CLEAR
        name = f"Queue {queue.name}"
        yield Check(about=Checked.QUEUE, name=name, condition=condition, text=waits)
    if found.memory is not None:
        yield _queue_memory(found.memory)
    for queue in found.queues:
        beats = [one for one in found.processes if queue.name in one.queues]
        yield _heartbeat(Checked.WORKER, f"Worker of {queue.name}", beats)
    beats = [one for one in found.processes if one.kind == "scheduler"]
    yield _heartbeat(Checked.SCHEDULER, "Scheduler", beats)
    yield _slowest(found.slowest)


def _queue_memory(found: QueueMemory) -> Check:
    is_low = found.used_bytes > QUEUE_FULL_RATIO * found.most_bytes
    text = f"{_size(found.used_bytes)} of {_size(found.most_bytes)}"
    return Check(
        about=Checked.QUEUE,
        name="Memory of the queues",
        condition=Condition.LOW if is_low else Condition.CLEAR,
        text=f"{text}; a full server takes no new work" if is_low else text,
    )


def _heartbeat(about: Checked, name: str, beats: Sequence[Process]) -> Check:
    if not beats:
        text = "no sign of life for an hour"
        return Check(about=about, name=name, condition=Condition.SILENT, text=text)
    newest = min(one.silent_s for one in beats)
    alive = sum(one.silent_s <= SILENT_AFTER_S for one in beats)
    condition = Condition.CLEAR if alive else Condition.SILENT
    others = f"; {len(beats) - alive} more silent" if 0 < alive < len(beats) else ""
    as_root = "; runs as root" if any(one.as_root for one in beats) else ""
    text = f"last sign of life {_length(newest)} ago{others}{as_root}"
    return Check(about=about, name=name, condition=condition, text=text)


def _slowest(found: SlowTask | None) -> Check:
    about, name = Checked.SLOWEST_TASK, "Slowest task"
    if found is None:
        text = "none ran in the last 10 min"
        return Check(about=about, name=name, condition=Condition.UNKNOWN, text=text)
    task = f"{found.task} of {found.subject}" if found.subject else found.task
    so_far = " so far" if found.is_running else ""
    text = f"{task}: {_length(found.seconds)}{so_far}"
    return Check(about=about, name=name, condition=Condition.CLEAR, text=text)


def _storage(found: Storage) -> Check:
    about, name = Checked.STORAGE, "Free disk"
    database = f"the database has {_size(found.database_bytes)}"
    if found.free_bytes is None or not found.total_bytes:
        text = f"{found.directory} is not there; {database}"
        return Check(about=about, name=name, condition=Condition.UNKNOWN, text=text)
    ratio = found.free_bytes / found.total_bytes
    is_low = found.free_bytes < LOW_BYTES or ratio < LOW_RATIO
    condition = Condition.LOW if is_low else Condition.CLEAR
    text = f"{_size(found.free_bytes)} ({ratio:.0%}) free in {found.directory}; {database}"
    return Check(about=about, name=name, condition=condition, text=text)


def _backups(found: Backups | None) -> Check:
    about, name = Checked.BACKUP, "Backup"
    if found is None:
        text = "none by Sluice: no target is set, or the database is that of DATABASE_URL"
        return Check(about=about, name=name, condition=Condition.UNKNOWN, text=text)
    text = "none yet" if found.age_s is None else f"the last full one {_length(found.age_s)} ago"
    if found.log_waiting_s is None:
        text += "; the log is at the target"
    else:
        text += f"; the log waits for the target since {_length(found.log_waiting_s)}"
    if found.has_failed:
        text += "; the last try failed"
    return Check(about=about, name=name, condition=_backup_condition(found), text=text)


def _backup_condition(found: Backups) -> Condition:
    if found.silent_s > KEEPER_SILENT_AFTER_S:
        return Condition.SILENT
    without_s = found.expected_s if found.age_s is None else found.age_s
    if found.period_s is not None and without_s > 2 * found.period_s:
        return Condition.BEHIND
    if found.log_waiting_s is not None and found.log_waiting_s > LOG_BEHIND_AFTER_S:
        return Condition.BEHIND
    return Condition.FAILING if found.has_failed else Condition.CLEAR


def _check_in(found: CheckIn | None) -> Check:
    about, name = Checked.CHECK_IN, "Check-in outside"
    if found is None:
        text = "nobody watches from outside: SLUICE_CHECK_IN_URL is not set"
        return Check(about=about, name=name, condition=Condition.UNKNOWN, text=text)
    since = "never" if found.good_s is None else f"{_length(found.good_s)} ago"
    text = f"last said that all is well {since}"
    if found.faults:
        text += f"; {found.faults} fault{'s' * (found.faults != 1)} told since"
    if found.answer:
        text += f"; the receiver: {found.answer}"
    if found.good_s is not None and found.good_s <= CHECK_IN_LATE_AFTER_S:
        condition = Condition.CLEAR
    else:
        condition = Condition.FAILING if found.faults else Condition.SILENT
    return Check(about=about, name=name, condition=condition, text=text)


def _failed_work(failing: int, of_installation: int) -> Check:
    parts = []
    if failing:
        parts.append("1 task fails" if failing == 1 else f"{failing} tasks fail")
    if of_installation:
        tasks = "1 task fails" if of_installation == 1 else f"{of_installation} tasks fail"
        parts.append(f"{tasks} that belong{'s' * (of_installation == 1)} to no organisation")
    condition = Condition.FAILING if parts else Condition.CLEAR
    return Check(
        about=Checked.FAILED_WORK,
        name="Failed work",
        condition=condition,
        text=" and ".join(parts) or "none",
    )


def _length(seconds: float) -> str:
    """Tenths of a second below ten seconds, else as everywhere."""
    if seconds < 10:
        return f"{max(0.0, seconds):.1f} s"
    return duration_text(timedelta(seconds=seconds))


def _size(count_bytes: int) -> str:
    for factor, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        # 999.7 MB would be rounded to 1000 MB.
        if count_bytes >= 0.9995 * factor:
            return _three_digits(count_bytes / factor, unit)
    return _three_digits(count_bytes / 1e3, "kB")


def _three_digits(value: float, unit: str) -> str:
    return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"
