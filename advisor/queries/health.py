"""The figures of Sluice's own health, gathered for one organisation.

Numbers about queues, processes and storage are of the whole installation; names and lags of
resources and hosts, and failed work, are of the organisation alone. Of work that belongs to no
organisation everybody learns how much fails, and those who run the installation learn the reasons.
"""

from __future__ import annotations

import shutil
from datetime import datetime

import redis
from django.conf import settings
from django.db import connection
from django.db.models import F, Q

from accounts.models import Organisation
from advisor.core.freshness import STALE_AFTER, is_stale
from advisor.core.health.distribution import bucket_quantile_s, quantile_s
from advisor.core.health.figures import (
    Backups,
    CheckIn,
    Evaluation,
    Failure,
    Figures,
    HostLag,
    Ingest,
    Process,
    Queue,
    QueueMemory,
    QuotaUse,
    SlowTask,
    Spread,
    Storage,
    Work,
)
from advisor.models import FailedWork, Resource
from advisor.pipeline import work_figures
from advisor.pipeline.backup_state import read_last, read_log
from ingest.core.quota.limits import WORDS
from ingest.models import Host
from ingest.quotas.figures import quota_figures

MOST_FAILURES = 50
P50, P99 = 0.5, 0.99


def health_figures(
    *, organisation: Organisation, now: datetime, with_installation: bool
) -> Figures:
    """Everything that is known now.

    With the installation, failed work that belongs to no organisation is among `failures`.
    """
    whose = Q(organisation=organisation)
    if with_installation:
        whose |= Q(organisation=None)
    failed = FailedWork.objects.filter(whose)
    newest = failed.order_by(F("solved_at").desc(nulls_first=True), "-last_at", "-pk")
    return Figures(
        evaluation=_evaluation(organisation, now),
        work=_work(organisation, now),
        ingest=_ingest(organisation, now),
        quotas=_quotas(organisation, now),
        storage=_storage(),
        backups=_backups(now),
        check_in=_check_in(now),
        failing=_failing(organisation),
        failing_installation=_failing(None),
        failures=tuple(
            _failure(row)
            for row in newest.select_related("resource", "recommendation")[:MOST_FAILURES]
        ),
    )


def _failing(organisation: Organisation | None) -> int:
    return FailedWork.objects.filter(organisation=organisation, solved_at=None).count()


def _evaluation(organisation: Organisation, now: datetime) -> Evaluation:
    rows = list(
        Resource.objects.filter(organisation=organisation)
        .order_by("pk")
        .values_list("pk", "name", "created_at", "status__looked_at")
    )
    ages = [
        ((now - looked_at).total_seconds(), name) for _, name, _, looked_at in rows if looked_at
    ]
    return Evaluation(
        resources=len(rows),
        # A resource that was added just now has had no time to be evaluated.
        stale=sum(is_stale(looked_at or made_at, now=now) for _, _, made_at, looked_at in rows),
        age=_age_spread(ages),
        recent=_recent_lag(organisation, {pk: name for pk, name, _, _ in rows}, now),
    )


def _age_spread(ages: list[tuple[float, str]]) -> Spread | None:
    lengths_s = [age_s for age_s, _ in ages]
    p50_s, p99_s = (quantile_s(lengths_s, part) for part in (P50, P99))
    if p50_s is None or p99_s is None:
        return None
    worst_s, worst = max(ages)
    return Spread(p50_s=p50_s, p99_s=p99_s, worst_s=worst_s, worst=worst)


def _recent_lag(organisation: Organisation, names: dict[int, str], now: datetime) -> Spread | None:
    try:
        counts, worst = work_figures.lags(organisation=organisation.pk, now=now)
    except redis.RedisError:
        return None
    p50_s, p99_s = (bucket_quantile_s(counts, part) for part in (P50, P99))
    if p50_s is None or p99_s is None or worst is None:
        return None
    resource, worst_s = worst
    # A bucket ends a little later than the longest lag in it.
    p50_s, p99_s = min(p50_s, worst_s), min(p99_s, worst_s)
    name = names.get(resource, "a removed resource")
    return Spread(p50_s=p50_s, p99_s=p99_s, worst_s=worst_s, worst=name)


def _work(organisation: Organisation, now: datetime) -> Work | None:
    try:
        states = work_figures.queue_states([one.name for one in settings.WORK_QUEUES], now=now)
        beats = work_figures.beats(now=now)
        run = work_figures.slowest_run(now=now)
        memory = work_figures.memory()
    except redis.RedisError:
        return None
    return Work(
        queues=tuple(
            Queue(name=one.name, waiting=waiting, oldest_s=oldest_s, expires_s=one.expires_s)
            for one, (waiting, oldest_s) in zip(settings.WORK_QUEUES, states, strict=True)
        ),
        processes=tuple(
            Process(
                name=beat.name,
                kind=beat.kind,
                queues=beat.queues,
                silent_s=max(0.0, now.timestamp() - beat.at),
                as_root=beat.as_root,
            )
            for beat in beats
        ),
        slowest=None if run is None else _slow_task(run, organisation),
        memory=None if memory is None else QueueMemory(used_bytes=memory[0], most_bytes=memory[1]),
    )


def _slow_task(run: work_figures.Run, organisation: Organisation) -> SlowTask:
    return SlowTask(
        task=run.task,
        subject=_subject_name(run.subject, organisation),
        seconds=run.seconds,
        is_running=run.is_running,
    )


def _subject_name(subject: str, organisation: Organisation) -> str:
    """What people call it; empty if it is not the organisation's."""
    kind, _, pk = subject.partition(" ")
    match kind:
        case "resource":
            found = Resource.objects.filter(organisation=organisation, pk=pk)
            return found.values_list("name", flat=True).first() or ""
        case "recommendation":
            own = organisation.recommendations.filter(pk=pk).exists()
            return subject if own else ""
        case "organisation" if int(pk) == organisation.pk:
            return organisation.slug
    return ""


def _ingest(organisation: Organisation, now: datetime) -> Ingest:
    # Hosts of which there are only imported files send nothing.
    only_files = Q(heard_at=None) & ~Q(last_sample_at=None)
    hosts = Host.objects.filter(organisation=organisation).exclude(only_files)
    is_late = Q(last_sample_at=None) | Q(last_sample_at__lt=now - STALE_AFTER)
    oldest = hosts.exclude(last_sample_at=None).order_by("last_sample_at", "name")
    return Ingest(
        hosts=hosts.count(),
        silent=hosts.filter(is_late).count(),
        lags=tuple(
            HostLag(host=name, lag_s=max(0.0, (now - at).total_seconds()))
            for name, at in oldest.values_list("name", "last_sample_at")
            if at is not None
        ),
    )


def _quotas(organisation: Organisation, now: datetime) -> tuple[QuotaUse, ...]:
    return tuple(
        QuotaUse(
            quota=one.quota,
            name=WORDS[one.quota],
            limit=one.limit,
            used=one.used,
            hit_s=(
                None
                if one.last_hit_at is None
                else max(0.0, (now - one.last_hit_at).total_seconds())
            ),
            refused_bodies=one.refused_bodies,
            lost_points=one.lost_points,
        )
        for one in quota_figures(organisation, now=now)
    )


def _storage() -> Storage:
    directory = settings.DATA_DIR.root
    try:
        usage = shutil.disk_usage(directory)
    except OSError:
        usage = None
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        (database_bytes,) = cursor.fetchone()
    return Storage(
        directory=str(directory),
        free_bytes=usage.free if usage else None,
        total_bytes=usage.total if usage else None,
        database_bytes=database_bytes,
    )


def _backups(now: datetime) -> Backups | None:
    """None where Sluice makes no backups; before the keeper looked once it is silent."""
    if not settings.BACKUP_TARGET:
        return None
    folder = settings.DATA_DIR.backup
    last, log = read_last(folder), read_log(folder)

    def since_s(at: datetime | None) -> float | None:
        return None if at is None else max(0.0, (now - at).total_seconds())

    hours = settings.BACKUP_EVERY_HOURS
    return Backups(
        period_s=hours * 3600.0 if hours else None,
        age_s=since_s(last.made_at),
        expected_s=0.0 if log is None else since_s(log.since) or 0.0,
        log_waiting_s=None if log is None else since_s(log.waiting_since),
        silent_s=0.0 if log is None else since_s(log.looked_at) or 0.0,
        has_failed=last.failed_at is not None,
    )


def _check_in(now: datetime) -> CheckIn | None:
    if not settings.CHECK_IN_URL:
        return None
    try:
        newest, good = work_figures.check_ins()
    except redis.RedisError:
        return CheckIn(good_s=None, faults=0, answer="the queue's server does not answer")
    return CheckIn(
        good_s=None if good is None else max(0.0, now.timestamp() - good.at),
        faults=0 if newest is None else newest.faults,
        answer="" if newest is None else newest.answer,
    )


def _failure(row: FailedWork) -> Failure:
    if row.resource is not None:
        subject = row.resource.name
    elif row.recommendation is not None:
        subject = f"recommendation {row.recommendation.pk}"
    else:
        subject = "" if row.organisation_id is None else "organisation"
    return Failure(
        task=row.task,
        subject=subject,
        reason=row.reason,
        first_at=row.first_at,
        last_at=row.last_at,
        times=row.times,
        solved_at=row.solved_at,
    )
