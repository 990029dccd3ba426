"""The figures of Sluice's health in the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from django.conf import settings
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from advisor.core.health.checks import checks
from advisor.core.health.figures import (
    Backups,
    CheckIn,
    Evaluation,
    Figures,
    QuotaUse,
    Spread,
    Work,
)
from advisor.queries.fleet_figures import FleetFigures
from web.fleet_metrics import gauge, gauges, of_fleet
from web.replica.watch import WATCH, replica_is_read

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4


def exposition(figures: Figures, fleet: FleetFigures) -> bytes:
    """All figures; what is not known is left out."""
    return generate_latest(_Figures(figures, fleet))


class _Figures(Collector):
    """Figures that were gathered for this one request."""

    def __init__(self, figures: Figures, fleet: FleetFigures) -> None:
        self.figures, self.fleet = figures, fleet

    def collect(self) -> Iterable[Metric]:
        """The metrics, in the order of the checks."""
        figures = self.figures
        yield from _ingest(figures)
        yield from _quotas(figures.quotas)
        yield from _evaluation(figures.evaluation)
        yield gauge("queue_server_up", "1 if the queue's server answers", figures.work is not None)
        if figures.work is not None:
            yield from _work(figures.work)
        yield from _storage(figures)
        yield from _backups(figures.backups)
        yield from _check_in(figures.check_in)
        if settings.HAS_REPLICA:
            yield from _replica()
        yield gauge("failed_work", "Tasks that have not succeeded since", figures.failing)
        about = "Tasks of no organisation that have not succeeded since"
        yield gauge("failed_work_of_installation", about, figures.failing_installation)
        yield from of_fleet(self.fleet)
        found = [([check.name], float(check.needs_attention)) for check in checks(figures)]
        yield gauges("check_needs_attention", "1 if it does", ["check"], found)


def _ingest(figures: Figures) -> Iterator[Metric]:
    found = figures.ingest
    yield gauge("hosts", "Hosts that send samples or have an agent", found.hosts)
    yield gauge("hosts_silent", "Hosts without a sample for two minutes", found.silent)
    lags = [([one.host], one.lag_s) for one in found.lags]
    yield gauges("ingest_lag_seconds", "Age of the host's newest sample", ["host"], lags)


def _quotas(found: Sequence[QuotaUse]) -> Iterator[Metric]:
    def rows(name: str) -> list[tuple[list[str], float | None]]:
        return [([one.quota], getattr(one, name)) for one in found]

    yield gauges("quota", "The organisation's quotas", ["quota"], rows("limit"))
    yield gauges("quota_used", "What it uses of each", ["quota"], rows("used"))
    about = "Time since a quota was last used up"
    yield gauges("quota_hit_seconds", about, ["quota"], rows("hit_s"))
    about = "Bodies that were refused, and are sent again"
    yield gauges("quota_refused_bodies", about, ["quota"], rows("refused_bodies"))
    about = "Points that were lost"
    yield gauges("quota_lost_points", about, ["quota"], rows("lost_points"))


def _evaluation(found: Evaluation) -> Iterator[Metric]:
    yield gauge("resources", "Datastores and uplinks", found.resources)
    yield gauge("resources_stale", "Those not evaluated for two minutes", found.stale)
    yield _spread("evaluation_lag_seconds", "Lag of evaluation, last 10 minutes", found.recent)
    yield _spread("evaluation_age_seconds", "Time since the newest evaluation", found.age)


def _spread(name: str, about: str, found: Spread | None) -> Metric:
    """Quantile 1 is the worst."""
    rows = []
    if found is not None:
        rows = [(["0.5"], found.p50_s), (["0.99"], found.p99_s), (["1"], found.worst_s)]
    return gauges(name, about, ["quantile"], rows)


def _work(found: Work) -> Iterator[Metric]:
    waiting = [([one.name], float(one.waiting)) for one in found.queues]
    yield gauges("queue_waiting", "Messages that wait", ["queue"], waiting)
    # An empty queue has no oldest message, and nothing waits in it.
    oldest = [
        ([one.name], one.oldest_s if one.waiting else 0.0)
        for one in found.queues
        if not one.waiting or one.oldest_s is not None
    ]
    yield gauges("queue_oldest_seconds", "Age of the oldest message", ["queue"], oldest)
    silent = [([one.kind, one.name], one.silent_s) for one in found.processes]
    about = "Time since the last sign of life"
    yield gauges("process_silent_seconds", about, ["kind", "process"], silent)
    slowest = [] if found.slowest is None else [([found.slowest.task], found.slowest.seconds)]
    about = "The longest task of the last 10 minutes"
    yield gauges("slowest_task_seconds", about, ["task"], slowest)


def _storage(figures: Figures) -> Iterator[Metric]:
    found = figures.storage
    if found.free_bytes is not None and found.total_bytes is not None:
        yield gauge("disk_free_bytes", "Free in the data directory", found.free_bytes)
        yield gauge("disk_bytes", "Size of the disk of the data directory", found.total_bytes)
    yield gauge("database_bytes", "Size of the database", found.database_bytes)


def _backups(found: Backups | None) -> Iterator[Metric]:
    if found is None:
        return
    if found.age_s is not None:
        yield gauge("backup_age_seconds", "Time since the last full backup", found.age_s)
    about = "How long the oldest piece of the database's log waits for the target; 0: none waits"
    yield gauge("backup_log_waiting_seconds", about, found.log_waiting_s or 0.0)
    yield gauge("backup_failed", "1 if the last full backup failed", found.has_failed)


def _check_in(found: CheckIn | None) -> Iterator[Metric]:
    if found is None:
        return
    if found.good_s is not None:
        about = "Time since it was last said outside that all is well"
        yield gauge("check_in_age_seconds", about, found.good_s)
    yield gauge("check_in_faults", "Faults that were told outside instead", found.faults)


def _replica() -> Iterator[Metric]:
    is_read = replica_is_read()
    yield gauge("replica_read", "1 if pages are read on the replica of the database", is_read)
    if WATCH.behind_s is not None:
        about = "How far the replica is behind the database"
        yield gauge("replica_lag_seconds", about, WATCH.behind_s)
