"""What the benchmark asks of the product: one function for each entry point, and nothing else.

Whoever changes an entry point changes it here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.db import connection

from accounts.models import Organisation
from advisor.advice.advise import advise
from advisor.advice.due import to_advise_on
from advisor.advice.host_placement.gather import reserved_uplinks
from advisor.advice.placement.decide.disk_inputs import PlacementInputs
from advisor.advice.placement.gather import placement_inputs
from advisor.advice.placement.kind import PLACEMENT
from advisor.advice.policy.calm import congested_lately, note_calm
from advisor.advice.policy.natural import LOOK, score_natural_changes
from advisor.advice.policy.recommend import recommend
from advisor.core.canonical import dumps
from advisor.core.reporting.period import DAY
from advisor.decisions import discovery
from advisor.decisions.pools import set_pool
from advisor.history.level_store import forget_points, stored_rows
from advisor.history.levels import newest_ends, read_levels
from advisor.models import LearntSizeTerm, Resource, ResourceStatus
from advisor.pipeline import learn_size_terms
from advisor.pipeline.detect import detect
from advisor.pipeline.full_days import foresee, resources_to_foresee
from advisor.pipeline.groups import GROUP_SIZE, judge_together
from advisor.pipeline.learn_thresholds import resources_to_learn
from advisor.pipeline.look_outside import look_where_due, resources_to_look_at
from advisor.pipeline.score import recent_predictions
from advisor.pipeline.store_history import store_history
from advisor.pipeline.upkeep import tidy
from advisor.queries.report import read_report
from advisor.reports.asked import AskedReport, period_of_asked, subject_of
from advisor.reports.pdf import pdf_of
from advisor.reports.printed import printed
from advisor.reports.written import written
from advisor.tasks import ADVISE_EVERY_S, STORE_EVERY_S
from config.celery import BEAT_SCHEDULE
from ingest.core.grid import moment
from ingest.partitions import PART
from ingest.services import maintenance


def judge(resources: Iterable[Resource], now: datetime) -> None:
    """Judge every window of these resources that is complete and was not judged."""
    rows = list(resources)
    for begin in range(0, len(rows), GROUP_SIZE):
        judge_together(rows[begin : begin + GROUP_SIZE], now=now)


def judge_one(resource: Resource, now: datetime) -> None:
    """The same of one resource by itself."""
    detect(resource=resource, now=now)


def judge_from(resources: Iterable[Resource], at: datetime) -> None:
    """The next look at them judges the windows that end after this time."""
    rows = list(resources)
    ResourceStatus.objects.filter(resource__in=rows).delete()
    ResourceStatus.objects.bulk_create(
        ResourceStatus(resource=one, judged_until=at) for one in rows
    )


def forget_windows(resource: Resource, *, since: datetime) -> None:
    """The windows from then on were never judged."""
    forget_points(resource, since=since)
    resource.incidents.filter(started_at__gte=since).delete()


def seal(organisation: Organisation, now: datetime) -> None:
    """Bring stored samples into the form that they are kept in."""
    store_history(organisation=organisation, now=now, limit_s=3600.0)


def drop_rows(before: datetime) -> None:
    """Drop the rows of samples that nobody needs once they are sealed."""
    maintenance.drop_sealed(before=before)


def days_of_rows() -> float:
    """So long sealed samples stay stored as rows at most."""
    kept = timedelta(hours=settings.SAMPLE_ROWS_HOURS)
    return (kept + PART + timedelta(seconds=_every_s("maintain-samples"))) / timedelta(days=1)


def discover(organisation: Organisation) -> None:
    """Make resources of the devices that send samples."""
    discovery.discover(organisation=organisation)


def advise_policy(resource: Resource, now: datetime) -> str:
    """Advice on shares, limits and reservations of one resource; why there is none, if so."""
    found = recommend(resource=resource, now=now)
    return found if isinstance(found, str) else ""


def gather_placement(resource: Resource, now: datetime) -> list[PlacementInputs]:
    """What placement on the datastores is decided from; empty if none is called for."""
    return placement_inputs(resource, now)


def plan_placement(inputs: Sequence[PlacementInputs]) -> object:
    """The plan that these inputs call for."""
    return [PLACEMENT.answer(dumps(one)) for one in inputs]


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """Periodic work, and the time between two rounds of it."""

    name: str
    every_s: float
    work: Callable[[datetime], object]


def rounds(organisation: Organisation) -> list[Round]:
    """All periodic work that is done for each resource, on those of an organisation.

    What only chooses whom to work on is measured without the work: nobody is chosen here.
    """
    resources = list(Resource.objects.filter(organisation=organisation).order_by("pk"))
    works: dict[str, tuple[float, Callable[[datetime], object]]] = {
        "judging": (_every_s("detect"), partial(judge, resources)),
        "load from outside": (_every_s("look-outside"), partial(look_outside, resources)),
        "policy advice": (_every_s("recommend"), advise_on_policies),
        "choice of other advice": (_every_s("advise"), lambda now: list(to_advise_on(now))),
        "other advice": (ADVISE_EVERY_S, advise_where_due),
        "reserved uplinks": (_every_s("place"), lambda _: list(reserved_uplinks())),
        "thresholds": (_every_s("learn"), lambda now: list(resources_to_learn(now=now))),
        "predictions": (_every_s("score"), lambda now: list(recent_predictions(now=now))),
        "discovery": (_every_s("discover"), lambda _: discover(organisation)),
        "stored history": (STORE_EVERY_S, partial(seal, organisation)),
        "tidying": (_every_s("tidy"), lambda now: tidy(now=now)),
    }
    return [
        Round(name=name, every_s=every_s, work=work) for name, (every_s, work) in works.items()
    ]


def advise_where_due(now: datetime) -> None:
    """Advice beside policies on all resources that may call for it."""
    for one in to_advise_on(now):
        advise(resource=one, now=now)


def advise_on_policies(now: datetime) -> None:
    """Advice on policies of all resources that were congested lately; that of others is noted."""
    note_calm(now)
    for one in congested_lately(now):
        advise_policy(one, now)


def look_outside(resources: Sequence[Resource], now: datetime) -> None:
    """Look for load from outside where an incident calls for it; advice waits for that."""
    keys = [one.pk for one in resources]
    for resource in resources_to_look_at(now=now).filter(pk__in=keys):
        look_where_due(resource=resource, now=now)


def _every_s(name: str) -> float:
    every = BEAT_SCHEDULE[name]["schedule"]
    assert isinstance(every, float)
    return every


def judged_until(resources: Iterable[int]) -> dict[int, datetime]:
    """By resource the end of its newest judged window."""
    return newest_ends(list(resources))


def judged_windows(resource: int, *, since: datetime, until: datetime) -> set[datetime]:
    """The ends of the windows in (since, until] that have a state."""
    row = Resource.objects.get(pk=resource)
    levels = read_levels([row], since=since, until=until)[resource]
    return {moment(at_us) for at_us in levels.at_us.tolist()}


def stored_states() -> int:
    """Rows that say in which state some resource was."""
    return stored_rows()


NATURAL_LOOK = LOOK


def score_natural(resource: Resource, now: datetime) -> int:
    """Score the forecast on workloads that switched by themselves; how many."""
    return score_natural_changes(resource=resource, now=now, limit_s=600.0)


def pool_half(uplink: Resource) -> None:
    """Put every second workload of an uplink into a pool that may have half of it."""
    names = list(uplink.allocations.order_by("pk").values_list("workload__name", flat=True))
    limit = (uplink.capacity or 1e10) / 2
    set_pool(resource=uplink, name="half", limit=limit, members=names[::2], may_exceed=True)


def promise_half(store: Resource) -> int:
    """Give every second workload of a datastore a reservation and a limit; how many have one."""
    rows = list(store.allocations.order_by("pk"))[::2]
    keys = [one.pk for one in rows]
    return store.allocations.filter(pk__in=keys).update(reservation=50.0, limit=5000.0)


def pdf_of_a_week(*, now: datetime) -> bytes:
    """The report of the seven days up to yesterday, of the whole organisation."""
    yesterday = now.date() - DAY
    asked = AskedReport(period=f"{yesterday - 6 * DAY}..{yesterday}")
    subject = subject_of(Organisation.objects.get(), asked)
    report = read_report(subject, period_of_asked(asked, now=now), now=now)
    return pdf_of(printed(written(report)))


def due_for_foresight(now: datetime) -> list[tuple[int, int]]:
    """The resources whose full day is not foretold from the newest day."""
    return resources_to_foresee(now=now)


def foresee_full_day(resource: Resource, now: datetime) -> bool:
    """Foretell the full day of a resource and of its pools."""
    return foresee(resource=resource, now=now, limit_s=600.0)


def learn_size_term(resource: Resource, now: datetime) -> LearntSizeTerm:
    """Learn the size term of a datastore, or note why that in force stays."""
    return learn_size_terms.learn_size_term(resource=resource, now=now)


def scan_rows(resource: Resource, *, since: datetime, until: datetime) -> int:
    """Read what advice on a datastore is made of and do nothing with it; the number of rows."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT count(*), sum(rios), sum(wios), sum(rbytes), sum(wbytes)
              FROM ingest_cgroup_sample
             WHERE time > %s AND time <= %s AND series_id = ANY(ARRAY(
                SELECT series.id FROM ingest_series AS series
                  JOIN advisor_allocation AS allocation
                    ON series.host_id = allocation.host_id AND series.subject = allocation.adapter
                 WHERE allocation.resource_id = %s AND series.measurement = 'cgroup'))
            """,
            [since, until, resource.pk],
        )
        rows: int = cursor.fetchone()[0]
        return rows
